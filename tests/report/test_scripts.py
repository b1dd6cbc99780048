"""Scripts of benchmarks/: every one can be imported, and these do what their pages say."""

import csv
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from nsl_bench.leaderboard.contests import BOARD, Contest, read_contests
from packed import COMMITTED

from nsl_bench.core.errors import UserError
from nsl_bench.core.types import Hypothesis
from nsl_bench.logic.las import LasTask, solve
from nsl_bench.report.published.papers import table
from nsl_bench.report.published.reproduce import Reproduction
from nsl_bench.run.bench import Bench, Outcome
from nsl_bench.run.job import Job
from nsl_bench.run.plan import plan
from nsl_bench.run.record import Record
from nsl_bench.run.store import Store
from nsl_bench.run.sweep import Executor

from .conftest import BENCHMARKS, Script


@pytest.mark.parametrize("name", sorted(path.stem for path in BENCHMARKS.glob("*.py")))
def test_it_can_be_imported(script: Script, name: str) -> None:
    assert script(name).__doc__


# The table circuit alone on simulated digits.


@pytest.mark.parametrize("rounds", [0, 2])
def test_the_circuit_finds_the_rule(script: Script, rounds: int, capsys: pytest.CaptureFixture[str]) -> None:
    script("ntoc_circuit").circuit(20, n=4000, rounds=rounds)
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1].startswith("20 epochs, ")
    assert "0 of 200 entries wrong" in lines[-1]
    assert sum("worlds after" in line for line in lines) == rounds


# Structural-shift curves, on few runs.


def test_the_page_says_what_is_not_applicable_and_where_ffnsl_is_behind(tmp_path: Path) -> None:
    words = ["follow_suit", "--repeats", "1", "--share", "0", "--jobs", "1", "--docs", tmp_path / "docs"]
    words += ["--results", tmp_path / "runs"]
    for learner in ("ffnsl", "random_forest", "majority"):
        words += ["--learner", learner]
    script = BENCHMARKS / "structure.py"
    done = subprocess.run([sys.executable, script, *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "docs" / "structure.md").read_text(encoding="utf-8")
    assert "Nowhere in these runs." in page
    assert "Not applicable to other sizes" in page and "follow_suit: random_forest." in page
    with (tmp_path / "docs" / "structure" / "means.csv").open(encoding="utf-8") as table:
        means = [(row["learner"], row["metric"], row["mean"]) for row in csv.DictReader(table)]
    assert means.count(("ffnsl", "hypothesis accuracy", "1.000")) == 4
    assert means.count(("random_forest", "hypothesis accuracy", "not applicable")) == 3
    assert list((tmp_path / "docs" / "structure").rglob("*.png"))
    again = subprocess.run([sys.executable, script, *words, "--page"], capture_output=True, text=True)
    assert again.returncode == 0 and "ok:" not in again.stdout


DOCS = BENCHMARKS.parent / "docs" / "results"


@pytest.mark.parametrize(
    ("page", "name", "more"),
    [
        ("decks", "real_images", ["decks"]),
        ("leaves", "real_images", ["leaves"]),
        ("structure", "structure", []),
        ("processors", "processors", []),
    ],
)
def test_a_page_is_made_of_its_tables(
    script: Script, tmp_path: Path, page: str, name: str, more: list[str]
) -> None:
    shutil.copytree(DOCS / page, tmp_path / page)
    assert script(name).write(*more, tmp_path).read_text() == (DOCS / f"{page}.md").read_text()


def test_no_figure_of_a_paper_waits_for_train_splits() -> None:
    reports = [pd.read_csv(path) for path in DOCS.glob("*/report.csv")]
    assert len(reports) == 5
    assert not [
        one.to_dict() for report in reports for _, one in report.iterrows() if "enough" in one["badge"]
    ]


# Learners of ours beside published values.


def test_every_published_value_has_a_setting_and_a_source(script: Script) -> None:
    for name, task in script("neighbours").tasks().items():
        published = table(name)
        assert {one.name for one in task.settings} >= set(published["setting"]), name
        assert set(task.metrics) == set(published["metric"]) and published["source"].all(), name


def test_a_verdict_needs_a_published_spread(script: Script, tmp_path: Path) -> None:
    neighbours, store = script("neighbours"), Store(tmp_path / "runs")
    setting = neighbours.Setting("N", "addition:test=4", {"sizes": "4"})
    learners = {"FFNSL": "ffnsl", "the majority": "majority"}
    task = neighbours.Task("T", "Q?", "M.", learners, {"right": "sequence_accuracy"}, (setting,), 100.0, 1.0)
    parts = [(setting, name, task.jobs(setting, name, 3, tmp_path)) for name in learners]
    for value, (_, _, jobs) in zip((0.92, 0.5), parts, strict=True):
        for job in jobs:
            store.add(Record(job, "ok", {"sequence_accuracy": value + job.repeat / 1000}))
    own = pd.DataFrame(list(neighbours.measured(task, store, parts)))
    numbers = {"method": ["near", "far", "bare"], "mean": [92.3, 99.0, 90.0], "std": [0.2, 0.2, None]}
    shared = {"setting": "N", "metric": "right", "n_repeats": 10, "source": "a paper"}
    rows = list(neighbours.beside(task, own, pd.DataFrame({**numbers, **shared})))
    assert [row["verdict"] for row in rows] == [
        *("equivalent", "behind", "no spread published"),
        *("behind", "behind", "no spread published"),
    ]
    neighbours.kept(tmp_path, "page", "measured", own)
    neighbours.kept(tmp_path, "page", "verdicts", rows)
    page = neighbours.write("page", task, tmp_path).read_text(encoding="utf-8")
    assert "**FFNSL is behind 1, ahead of 0, equivalent to 1 of 3 published values.**" in page
    assert "FFNSL is behind in 2 of 3 comparisons, in 1 with an interval below 0" in page


def test_a_table_keeps_rows_whose_runs_are_not_here(script: Script, tmp_path: Path) -> None:
    pages = script("pages")
    assert pages.with_kept(tmp_path, "page", "t", [], ["a"]).empty
    pages.kept(tmp_path, "page", "t", [{"a": "old", "b": 1}, {"a": "both", "b": 2}, {"a": "gone", "b": 3}])
    found = pages.with_kept(tmp_path, "page", "t", [{"a": "both", "b": 4}, {"a": "new", "b": 5}], ["a"])
    ordered = pages.in_order(found, {"a": ["new", "both", "old"]})
    assert ordered.to_numpy().tolist() == [["new", 5], ["both", 4], ["old", 1]]
    assert len(pages.with_kept(tmp_path, "page", "t", [], ["a"])) == 3


# Records of long studies that the repository keeps.


def record(repeat: int) -> Record:
    job = Job("b", "1", "s", "f", *("standard", 0.0) * 2, "small", repeat, "l", "pretrained", "n")
    return Record(job, "ok", {"framework_accuracy": repeat / 10})


def test_figures_without_runs_stay_as_in_the_last_report(
    script: Script, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    papers, name = script("papers"), "ffnsl2023"
    old = [one for one in papers.read_figures(papers.DOCS / name / "report.csv") if one.percent == 10]
    of_runs = [replace(one, percent=10) for one in old[:3]]  # a whole number, as in plans
    of_runs[0], of_runs[1] = replace(of_runs[0], measured=0.5), replace(of_runs[1], repeats=1)
    of_runs[2] = replace(of_runs[2], metric="other")
    gone = replace(old[0], benchmark="sudoku_4x4:folds=5")
    papers.write_report([*old, gone], tmp_path / name, "command", tmp_path / f"{name}.md")
    jobs = [job for task in {one.benchmark for one in old} for job in plan(task, ["ffnsl"])]
    monkeypatch.setattr(papers, "reproduction", lambda *_: Reproduction(jobs, lambda _: of_runs, len))
    figures, told = papers.figures_of(name, tmp_path, tmp_path / "results", tmp_path)
    assert ([one.which for one in figures], told) == (
        [one.which for one in old],
        "Made from the last report.",
    )
    Store(tmp_path / "results" / name)
    figures, told = papers.figures_of(name, tmp_path, tmp_path / "results", tmp_path)
    assert [one.which for one in figures] == [one.which for one in (*old, of_runs[2])]
    assert figures[0].measured == 0.5 and figures[1].repeats == old[1].repeats > 1
    assert told == f"2 of {len(old) + 1} lines of the report made from runs, the others kept."
    explained = next(one for one in old if one.badge == "differs" and one.reason)
    of_runs[:] = [replace(explained, measured=0.123, reason="")]
    figures, _ = papers.figures_of(name, tmp_path, tmp_path / "results", tmp_path)
    assert 0.123 not in [one.measured for one in figures]
    by_code = next(one for one in old if "(cnn_lstm:published=true)" in one.reason)
    own = next(one for one in old if one.which == replace(by_code, learner="cnn_lstm:published=true").which)
    of_runs[:] = [replace(own, badge="differs", repeats=own.repeats + 1)]
    figures, _ = papers.figures_of(name, tmp_path, tmp_path / "results", tmp_path)
    (found,) = [one for one in figures if one.which == by_code.which]
    assert (found.reason, found.measured) == ("", by_code.measured)
    differs = next(one for one in old if one.badge == "differs" and not one.reason)
    of_runs[:] = [replace(differs, measured=0.5, reason="tested: so"), replace(old[0], measured=0.5)]
    figures, _ = papers.figures_of(name, tmp_path, tmp_path / "results", tmp_path, only_reasons=True)
    (found,) = [one for one in figures if one.which == differs.which]
    assert (found.reason, found.measured) == ("tested: so", differs.measured)
    assert figures[0].measured == old[0].measured


def test_what_is_kept_starts_the_next_study(script: Script, tmp_path: Path) -> None:
    kept = script("kept")
    first, folder = Store(tmp_path / "first"), tmp_path / "docs" / "runs" / "study"
    for repeat, language in ((1, "asp"), (2, "asp"), (3, "tree")):
        first.add(replace(record(repeat), hypothesis=Hypothesis(("a.",), 1, language)))
    keys = {record(repeat).key for repeat in (1, 2)}
    assert kept.keep(first, keys, folder) == 2 and kept.keep(first, keys, folder) == 0
    assert kept.keep(first, {record(3).key}, folder) == 1
    assert {path.suffix for path in folder.iterdir()} == {".json", ".parquet"}
    assert [one.hypothesis is None for one in Store(folder)] == [False, False, True]
    second = Store(tmp_path / "second")
    second.add(record(2))
    for _ in range(2):
        kept.take(folder, second)
        assert sorted(one.job.repeat for one in second) == [1, 2, 3]
    kept.take(tmp_path / "nothing", second)


@pytest.mark.parametrize("folder", sorted((DOCS / "runs").glob("*/")), ids=lambda path: path.name)
def test_kept_records_are_read(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    records = Store(folder, must_exist=True).latest()
    assert records and not capsys.readouterr().err


# Task files of other repositories.


BIAS = """max_vars(3). max_body(2).
head_pred(gp,2). body_pred(par,2). type(gp,(p,p)). type(par,(p,p)).
:- clause(C), #count{V : var_type(C,V,p)} > 3.
"""
BACKGROUND = ":- discontiguous par/2.\npar(a,b). par(b,c). par(a,d).\n"
EXAMPLES = "pos(gp(a,c)).\nneg(gp(a,b)).\nneg(gp(a,d)).\n"


def popper(folder: Path, background: str = BACKGROUND) -> Path:
    folder.mkdir()
    for name, text in (("bias.pl", BIAS), ("bk.pl", background), ("exs.pl", EXAMPLES)):
        (folder / name).write_text(text)
    return folder


def test_a_task_of_popper_is_rewritten(script: Script, tmp_path: Path) -> None:
    text = script("public_tasks").popper_task(popper(tmp_path / "kin"))
    task = LasTask.parse(text, dialect="ilasp", constraints=False)
    solution = solve(task)
    assert (solution.status, solution.hypothesis) == ("optimal", ("gp(V1,V2) :- par(V1,V3), par(V3,V2).",))
    lists = popper(tmp_path / "lists", "head([H|_],H).\n")
    with pytest.raises(UserError, match="Prolog that is no ASP"):
        script("public_tasks").popper_task(lists)


def test_fastlas_rules_are_scored_again(script: Script) -> None:
    text = '#modeh(p). #modeb(q). #bias("penalty(1, in_head(X)) :- in_head(X)."). #pos(a, {p}, {}, {q.}). '
    task = LasTask.parse(text + "#pos(b@5, {}, {p}, {}).", dialect="fastlas")
    rescored = script("public_tasks").rescored
    assert rescored(task, "p.\n") == 6
    assert rescored(task, '% Optimal hypothesis\np :- q.\n{\n"Length": 1\n}\n% Optimal hypothesis\np.\n') == 1
    assert rescored(task, "UNSATISFIABLE") == "unsatisfiable"
    assert rescored(task, "") == "leaves a uncovered"


def test_each_file_has_a_row(
    script: Script, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    popper(tmp_path / "kin")
    (tmp_path / "bad.las").write_text("#modeh(p)")
    out = tmp_path / "table.csv"
    words = ["public_tasks", f"popper:{tmp_path}", f"ilasp:{tmp_path}", "--out", str(out)]
    monkeypatch.setattr(sys, "argv", words)
    script("public_tasks").main()
    rows = list(csv.DictReader(out.open(encoding="utf-8")))
    found = [(row["file"], row["outcome"], row["verified"]) for row in rows]
    assert found == [("kin", "proven", "optimality"), ("bad.las", "refused", "")]
    shown = capsys.readouterr().out
    assert "| all | 2 | 1 | 0 | 0 | 0 | 1 | 0 | 0 | 1 | 0 |" in shown
    assert "the statement that starts here has no full stop. | 1 |" in shown
    script("public_tasks").main()  # resumes: both files have their row
    assert list(csv.DictReader(out.open(encoding="utf-8"))) == rows


# The board's runs.


class Told(Bench):
    """Ends runs as it was told, by learner and share of shifted images."""

    def __init__(self, ends: dict[tuple[str, float], Any]) -> None:
        super().__init__()
        self.ends, self.started = ends, list[Job]()

    def run(self, job: Job, given: Any = None) -> Outcome:
        self.started.append(job)
        return Outcome(Record(job, status=self.ends[job.learner, job.percent], started="now"), None, "")


def little_zoo() -> Contest:
    zoo = next(contest for contest in read_contests(BOARD) if contest.name == "zoo")
    return replace(zoo, shifts=zoo.shifts[:1], percents=(0.0, 50.0), repeats=2)


@pytest.mark.parametrize("status", ["timeout", "crashed", "not_applicable", "ok"])
def test_what_timed_out_at_0_is_not_started_again(script: Script, tmp_path: Path, status: str) -> None:
    reference = script("reference")
    contest = little_zoo()
    entries = [one for one in reference.ENTRIES if one.learner in ("majority", "random_forest")]
    jobs = [job for entry in entries for job in reference.jobs_of(entry, contest)]
    assert len(jobs) == 8
    others = {("majority", 0.0): "ok", ("majority", 50.0): "timeout"}
    bench = Told({("random_forest", 0.0): status, ("random_forest", 50.0): "ok", **others})
    store = Store(tmp_path)
    tally = reference.run(contest, jobs, store, bench, Executor(1))
    late = [record for record in store.latest().values() if record.job.percent]
    given_up = [record for record in late if record.message == reference.GIVEN_UP]
    assert len(late) == (2 if status == "not_applicable" else 4)
    assert len(bench.started) == 4 + len(late) - len(given_up)
    assert len(given_up) == (2 if status == "timeout" else 0)
    for record in given_up:
        cell = contest.cell(record.job)
        assert cell and record.status == "timeout" and not record.started
        assert record.content_hash == reference.Truth(record.job, contest, cell).hashes
    assert tally.failed == 2 + (2 if status in ("timeout", "crashed") else 0)


def test_what_is_on_the_board_is_not_done_again(script: Script, tmp_path: Path) -> None:
    """Nor does what was given up there start, now that other runs of the contest are missing."""
    reference = script("reference")
    contest = little_zoo()
    rules = next(one for one in reference.ENTRIES if one.track == "symbolic")  # needs no network
    told, versions = reference.on_the_board(COMMITTED / "ffnsl-on-true-concepts")
    assert {job.key() for job in reference.jobs_of(rules, contest)} <= told.keys() and len(versions) == 1
    majority = next(one for one in reference.ENTRIES if one.learner == "majority")
    jobs = list(reference.jobs_of(majority, contest))
    told = {job.key(): "ok" for job in jobs}
    bench, store = Told({("majority", 50.0): "ok"}), Store(tmp_path)
    assert reference.run(contest, jobs, store, bench, Executor(1), told).failed == 0
    assert not bench.started and not store.latest()
    first = {job.key(): "ok" for job in jobs if not job.percent}
    reference.run(contest, jobs, store, bench, Executor(1), first)
    assert [job.percent for job in bench.started] == [50.0, 50.0]
    late = Store(tmp_path / "late")
    reference.run(contest, jobs, late, bench, Executor(1), dict.fromkeys(first, "timeout"))
    assert len(bench.started) == 2
    assert reference.on_the_board(tmp_path) == ({}, set())
