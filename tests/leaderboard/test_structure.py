"""Contests with a test task of another size, and of tasks whose rows are steps of sequences."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import parity
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from nsl_bench.leaderboard.board import read_board
from nsl_bench.leaderboard.contests import contest_of, read_contests
from nsl_bench.leaderboard.safe_files import LIMITS
from nsl_bench.leaderboard.score_report import SCORES, ScoreReport, write_scores
from nsl_bench.leaderboard.scoring import _scored_here
from nsl_bench.leaderboard.site.build import build_site
from nsl_bench.leaderboard.submission import MANIFEST, PREDICTIONS, RUNS, write_submission
from packed import pack, unpacked

from nsl_bench.core.errors import UserError
from nsl_bench.run.bench import Bench
from nsl_bench.run.plan import plan
from nsl_bench.run.store import Store
from nsl_bench.run.sweep import sweep

BOARD = """
[[contest]]
name = "bits"
benchmark = "parity"
version = "1.0.0"
source = "sklearn_digits"
shifts = ["rotate90"]
percents = [0]
repeats = 2

[[contest]]
name = "more_bits"
benchmark = "parity"
version = "1.0.0"
source = "sklearn_digits"
shifts = ["rotate90"]
percents = [0]
repeats = 2
test_task = "parity:length=5"
"""

LONGER = "parity:length=5"


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The task, as if another package had it."""
    parity.installed(monkeypatch)


def test_a_learner_is_scored_on_longer_sequences(tmp_path: Path) -> None:
    board = tmp_path / "board.toml"
    board.write_text(BOARD, encoding="utf-8")
    contests = read_contests(board)
    jobs = plan(
        "parity", ["majority"], repeats=[1, 2], track="symbolic", test_tasks=["parity", "parity:length=5"]
    )
    places = [contest_of(contests, job) for job in jobs]
    assert [place[0].name for place in places if place] == ["bits", "more_bits"] * 2
    assert contest_of(contests, replace(jobs[1], test_task="parity:length=4")) is None
    assert "--test-task parity:length=5" in contests[1].command("majority", "symbolic")
    results = Store(tmp_path / "results")
    assert sweep(jobs, results, Bench(limits=None)).failed == 0
    submission = tmp_path / "accepted" / "majority"
    write_submission(results, submission, contests, name="majority", licence="MIT", date="2026-01-01")
    report = ScoreReport.from_plain(_scored_here(submission, contests, LIMITS, (), "code"))  # parity is here
    assert report.accepted, report.problems
    by_run = {record.key: record.metrics for record in results.latest().values()}
    for run in report.runs:
        for name in ("hypothesis_accuracy", "hypothesis_sequence_accuracy"):
            assert run.metrics[name] == by_run[run.run][name]
    spread = {(s.contest, s.metric) for s in report.spreads}
    assert spread >= {("more_bits", "hypothesis_accuracy"), ("bits", "hypothesis_sequence_accuracy")}
    write_scores(report, submission / SCORES)
    build_site(read_board(tmp_path / "accepted", board), tmp_path / "site")
    page = (tmp_path / "site" / "benchmark" / "more_bits.html").read_text(encoding="utf-8")
    assert "20 sequences of parity:length=5" in page


def test_a_contest_that_is_not_applicable_is_said(
    tmp_path: Path, resign: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    board = tmp_path / "board.toml"
    board.write_text(BOARD, encoding="utf-8")
    contests = read_contests(board)
    monkeypatch.setattr(
        "nsl_bench.run.bench.changed_sizes",
        lambda task, tested, fixed: ["more bits"] * (task != tested and bool(fixed)),
    )
    learners = ["majority", "random_forest"]
    results = Store(tmp_path / "results")
    jobs = plan("parity", learners, track="symbolic", repeats=[1, 2], test_tasks=["parity", LONGER])
    sweep(jobs, results, Bench(limits=None))
    for learner in learners:
        folder = tmp_path / "accepted" / learner
        manifest, counts, _ = write_submission(
            results, folder, contests, name=learner, licence="MIT", learner=learner
        )
        report = ScoreReport.from_plain(_scored_here(folder, contests, LIMITS, (), "code"))
        assert report.accepted, report.problems
        write_scores(report, folder / SCORES)
    assert manifest.not_applicable == ("more_bits",) and counts == {"bits": 2}
    build_site(read_board(tmp_path / "accepted", board), tmp_path / "site")
    pages = tmp_path / "site" / "benchmark"
    assert "Not applicable to: random_forest." in (pages / "more_bits.html").read_text(encoding="utf-8")
    assert "Not applicable" not in (pages / "bits.html").read_text(encoding="utf-8")
    none = Store(tmp_path / "none")
    sweep([job for job in jobs if job.learner == "random_forest" and job.test_task], none, Bench(limits=None))
    with pytest.raises(UserError, match=r"has no run to submit: the learner cannot take more_bits\.$"):
        write_submission(none, tmp_path / "nothing", contests, name="random_forest", licence="MIT")
    told = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    for name, said in (("bits", "of which there are runs"), ("more_bit", "Did you mean 'more_bits'?")):
        (folder / MANIFEST).write_text(json.dumps({**told, "not_applicable": [name]}), encoding="utf-8")
        resign(folder)
        report = ScoreReport.from_plain(_scored_here(folder, contests, LIMITS, (), "code"))
        assert len(report.problems) == 1 and said in report.problems[0]


@pytest.mark.parametrize(
    ("test_task", "said"),
    [
        ("sudoku_9x9", "is not in the family of parity"),
        ("parity", "test_task must name another task than benchmark"),
        ("parity:length=05", "must be written as in results: 'parity:length=5'"),
    ],
)
def test_a_wrong_test_task_is_refused(tmp_path: Path, test_task: str, said: str) -> None:
    board = tmp_path / "board.toml"
    board.write_text(BOARD.replace("parity:length=5", test_task), encoding="utf-8")
    with pytest.raises(UserError, match=said):
        read_contests(board)


Runs = list[dict[str, Any]]


@pytest.fixture
def bits(tmp_path: Path) -> tuple[Path, Path]:
    """A board, and a submission to both of its contests."""
    board = tmp_path / "board.toml"
    board.write_text(BOARD, encoding="utf-8")
    tasks = ["parity", "parity:length=5"]
    jobs = plan("parity", ["majority"], repeats=[1, 2], track="symbolic", test_tasks=tasks)
    results = Store(tmp_path / "results")
    assert sweep(jobs, results, Bench(limits=None)).failed == 0
    folder = tmp_path / "submission"
    write_submission(results, folder, read_contests(board), name="majority", licence="MIT", date="2026-01-01")
    return board, folder


def edit(folder: Path, change: Callable[[Runs], object], file: str = RUNS) -> None:
    """Change the runs of a submission, or the rows of its predictions."""
    if file == RUNS:
        runs = [json.loads(line) for line in unpacked(folder / RUNS).splitlines()]
        change(runs)
        pack(folder / RUNS, "".join(json.dumps(run) + "\n" for run in runs))
    else:
        table = pq.read_table(folder / file)
        rows = table.to_pylist()
        change(rows)
        pq.write_table(pa.Table.from_pylist(rows, schema=table.schema), folder / file)


def without_two_steps(rows: Runs) -> None:
    """Answers that end within the last sequence."""
    labels = len(rows[0]["probabilities"]) // len(rows[0]["predicted"])
    rows[0]["predicted"] = rows[0]["predicted"][:-2]
    rows[0]["probabilities"] = rows[0]["probabilities"][: -2 * labels]


def of_another_family(runs: Runs) -> None:
    for run in runs:
        run["job"]["test_task"] = "sudoku_9x9"


def not_applicable(runs: Runs) -> None:
    for run in runs:
        if run["job"]["test_task"]:
            run["status"] = "not_applicable"


@pytest.mark.parametrize(
    ("change", "file", "words"),
    [
        (without_two_steps, PREDICTIONS, ("must have 60 labels and 120 probabilities; got 58 and 116",)),
        (of_another_family, RUNS, ("belong", "contest")),
        (not_applicable, RUNS, ("The contest more_bits is not applicable to this learner", "leave its runs")),
    ],
)
def test_a_bad_submission_is_refused_in_a_sentence_and_kept(
    bits: tuple[Path, Path],
    resign: Callable[[Path], None],
    change: Callable[[Runs], object],
    file: str,
    words: tuple[str, ...],
) -> None:
    board, folder = bits
    edit(folder, change, file)
    resign(folder)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    contests = read_contests(board)
    report = ScoreReport.from_plain(_scored_here(folder, contests, LIMITS, (), "code"))
    (sentence,) = report.problems
    assert all(word in sentence for word in words), sentence
    assert sentence.endswith(".") and "\n" not in sentence
    assert before == {path.name: path.read_bytes() for path in folder.iterdir()}
