"""Contests with another test task, of steps of sequences, and with a test set for each train split."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import parity
import pytest
from mutations import contest
from nsl_bench.leaderboard.board import read_board
from nsl_bench.leaderboard.contests import contest_of, read_contests
from nsl_bench.leaderboard.safe_files import LIMITS
from nsl_bench.leaderboard.score_report import SCORES, ScoreReport, write_scores
from nsl_bench.leaderboard.scoring import _scored_here, score
from nsl_bench.leaderboard.site.build import build_site
from nsl_bench.leaderboard.submission import PREDICTIONS, RUNS, write_submission
from packed import Rows, edit_manifest, edit_rows, edit_runs
from sealed import resign

from nsl_bench.api.results import Results
from nsl_bench.core.errors import UserError
from nsl_bench.report.intervals import intervals
from nsl_bench.run.bench import Bench
from nsl_bench.run.job import Job
from nsl_bench.run.plan import plan
from nsl_bench.run.store import Store
from nsl_bench.run.sweep import sweep

LONGER = "parity:length=5"
BOARD = contest("bits", "parity", percents=[0])
BOARD += contest("more_bits", "parity", percents=[0], test_task=LONGER)


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The task, as if another package had it."""
    parity.installed(monkeypatch)


@pytest.fixture
def bits(tmp_path: Path) -> Path:
    (tmp_path / "board.toml").write_text(BOARD, encoding="utf-8")
    return tmp_path / "board.toml"


def swept(folder: Path, *learners: str) -> tuple[list[Job], Store]:
    jobs = plan("parity", learners, repeats=[1, 2], track="symbolic", test_tasks=["parity", LONGER])
    results = Store(folder / "results")
    assert sweep(jobs, results, Bench(limits=None)).failed == 0
    return jobs, results


def submit(results: Store, folder: Path, board: Path, learner: str = "majority") -> Any:
    about = {"name": learner, "learner": learner, "licence": "MIT", "date": "2026-01-01"}
    return write_submission(results, folder, read_contests(board), **about)  # type: ignore[arg-type]


def scored(folder: Path, board: Path) -> ScoreReport:
    """Scored in this process, which knows the task."""
    return ScoreReport.from_plain(_scored_here(folder, read_contests(board), LIMITS, (), "code"))


def page_of(board: Path, name: str) -> str:
    """A contest's page of the site of what was accepted."""
    site = board.parent / "site"
    build_site(read_board(board.parent / "accepted", board), site)
    return (site / "benchmark" / f"{name}.html").read_text(encoding="utf-8")


def test_a_learner_is_scored_on_longer_sequences(bits: Path, tmp_path: Path) -> None:
    contests, (jobs, results) = read_contests(bits), swept(tmp_path, "majority")
    places = [contest_of(contests, job) for job in jobs]
    assert [place[0].name for place in places if place] == ["bits", "more_bits"] * 2
    assert contest_of(contests, replace(jobs[1], test_task="parity:length=4")) is None
    assert "--test-task parity:length=5" in contests[1].command("majority", "symbolic")
    submission = tmp_path / "accepted" / "majority"
    submit(results, submission, bits)
    report = scored(submission, bits)
    assert report.accepted, report.problems
    by_run = {record.key: record.metrics for record in results.latest().values()}
    for run in report.runs:
        for name in ("hypothesis_accuracy", "hypothesis_sequence_accuracy"):
            assert run.metrics[name] == by_run[run.run][name]
    spread = {(s.contest, s.metric) for s in report.spreads}
    assert spread >= {("more_bits", "hypothesis_accuracy"), ("bits", "hypothesis_sequence_accuracy")}
    write_scores(report, submission / SCORES)
    assert "20 sequences of parity:length=5" in page_of(bits, "more_bits")


def test_a_contest_that_is_not_applicable_is_said(
    bits: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "nsl_bench.run.bench.changed_sizes",
        lambda task, tested, fixed: ["more bits"] * (task != tested and bool(fixed)),
    )
    learners = ["majority", "random_forest"]
    jobs, results = swept(tmp_path, *learners)
    for learner in learners:
        folder = tmp_path / "accepted" / learner
        manifest, counts, _ = submit(results, folder, bits, learner)
        report = scored(folder, bits)
        assert report.accepted, report.problems
        write_scores(report, folder / SCORES)
    assert manifest.not_applicable == ("more_bits",) and counts == {"bits": 2}
    assert "Not applicable to: random_forest." in page_of(bits, "more_bits")
    assert "Not applicable" not in page_of(bits, "bits")
    none = Store(tmp_path / "none")
    sweep([job for job in jobs if job.learner == "random_forest" and job.test_task], none, Bench(limits=None))
    with pytest.raises(UserError, match=r"has no run to submit: the learner cannot take more_bits\.$"):
        submit(none, tmp_path / "nothing", bits, "random_forest")
    for name, said in (("bits", "of which there are runs"), ("more_bit", "Did you mean 'more_bits'?")):
        edit_manifest(folder, not_applicable=[name])
        (problem,) = scored(resign(folder), bits).problems
        assert said in problem


@pytest.mark.parametrize(
    ("test_task", "said"),
    [
        ("sudoku_9x9", "is not in the family of parity"),
        ("parity", "test_task must name another task than benchmark"),
        ("parity:length=05", "must be written as in results: 'parity:length=5'"),
    ],
)
def test_a_wrong_test_task_is_refused(bits: Path, test_task: str, said: str) -> None:
    bits.write_text(BOARD.replace(LONGER, test_task), encoding="utf-8")
    with pytest.raises(UserError, match=said):
        read_contests(bits)


def without_two_steps(rows: Rows) -> None:
    """Answers that end within the last sequence."""
    labels = len(rows[0]["probabilities"]) // len(rows[0]["predicted"])
    rows[0]["predicted"] = rows[0]["predicted"][:-2]
    rows[0]["probabilities"] = rows[0]["probabilities"][: -2 * labels]


def of_another_family(runs: Rows) -> None:
    for run in runs:
        run["job"]["test_task"] = "sudoku_9x9"


def not_applicable(runs: Rows) -> None:
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
    bits: Path, tmp_path: Path, change: Callable[[Rows], object], file: str, words: tuple[str, ...]
) -> None:
    folder = tmp_path / "submission"
    submit(swept(tmp_path, "majority")[1], folder, bits)
    (edit_runs if file == RUNS else edit_rows)(folder, change)
    resign(folder)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    (sentence,) = scored(folder, bits).problems
    assert all(word in sentence for word in words), sentence
    assert sentence.endswith(".") and "\n" not in sentence
    assert before == {path.name: path.read_bytes() for path in folder.iterdir()}


def test_folds_of_different_sizes_on_the_board(tmp_path: Path) -> None:
    """Train splits with test sets of their own, and no true rule."""
    board_file = tmp_path / "board.toml"
    board_file.write_text(contest("zoo", "zoo", percents=[0, 50]), encoding="utf-8")
    results = Store(tmp_path / "results")
    jobs = plan("zoo", ["random_forest:trees=3"], repeats=[1, 2], track="symbolic")
    assert sweep(jobs, results, Bench("cpu")).failed == 0
    accuracies = [record.metrics["hypothesis_accuracy"] for record in results.latest().values()]
    (row,) = intervals(Results(results.folder)).to_dict("records")
    assert abs(row["accuracy"] - sum(accuracies) / 2) < 1e-12 and row["low"] < row["accuracy"] < row["high"]
    submission = tmp_path / "accepted" / "forest"
    submit(results, submission, board_file, "random_forest:trees=3")
    report = score(submission, read_contests(board_file))
    assert report.accepted, report.problems
    assert {spread.metric for spread in report.spreads} >= {"hypothesis_accuracy"}
    write_scores(report, submission / SCORES)
    page = page_of(board_file, "zoo")
    assert "<dt>Equivalence to the true rule</dt><dd>not defined</dd>" in page
