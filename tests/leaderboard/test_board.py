"""The board: failed runs count, labels alone have no Brier score, means say how sure they are."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from nsl_bench.leaderboard.board import Board, Rank, read_board
from nsl_bench.leaderboard.contests import Contest
from nsl_bench.leaderboard.entries import NAMES, Entry
from nsl_bench.leaderboard.score_report import SCORES, comment, write_scores
from nsl_bench.leaderboard.site.build import _environment, build_site
from nsl_bench.leaderboard.site.pages import rows_of
from nsl_bench.leaderboard.submission import RUNS, write_submission
from packed import Rows, Scored, edit_predictions, edit_rows, edit_runs, lines_of, pack, unpacked
from sealed import call, resign, right

from nsl_bench.core import registry
from nsl_bench.learners.base import told_the_answer, version_of
from nsl_bench.run.record import Record
from nsl_bench.run.store import Store

Change = Callable[[Path], None]


def fail(folder: Path, repeat: int, percent: float) -> str:
    """Mark a run as one that timed out; its name."""
    names: list[str] = []

    def change(lines: Rows) -> None:
        for line in lines:
            if (line["job"]["repeat"], line["job"]["test_percent"]) == (repeat, percent):
                line["status"] = "timeout"
                names.append(line["run"])

    edit_runs(folder, change)
    (name,) = names
    return name


def rewrite(folder: Path, change: Callable[[dict[str, Any]], dict[str, Any] | None]) -> None:
    """Change the rows of predictions, or drop those for which there is none."""
    edit_predictions(folder, lambda rows: rows.__setitem__(slice(None), filter(None, map(change, rows))))


def entry_of(folder: Path, board_file: Path) -> tuple[Board, Entry]:
    board = read_board(folder.parent, board_file)
    return board, board.entries[0]


# Failures.


@pytest.mark.parametrize("with_rows", [True, False])
def test_a_failed_run_counts_as_the_majority_whatever_was_sent(
    forest: Path, scored: Scored, board_file: Path, tmp_path: Path, with_rows: bool
) -> None:
    honest = {run.run: run.metrics for run in scored(forest).runs}
    name = fail(forest, 1, 0)
    if not with_rows:
        rewrite(forest, lambda row: row if row["run"] != name else None)
    report = scored(resign(forest))
    assert report.accepted and "1 run failed (timeout: 1). A failed run counts as" in comment(report)
    (failed,) = (run for run in report.runs if run.status == "timeout")
    assert failed.run == name and failed.metrics["framework_accuracy"] == 0.5 and not failed.looks
    assert failed.metrics["brier_score"] == 1.0 and "atoms" not in failed.metrics
    assert all(run.metrics == honest[run.run] for run in report.runs if run.run != name)
    write_scores(report, forest / SCORES)
    board, entry = entry_of(forest, board_file)
    (contest,) = board.contests
    assert entry.failures(contest) == 1 and entry.whole(contest)
    for metric in ("framework_accuracy", "atoms", "learning_time", "brier_score"):
        area = board.area(entry, contest, metric)
        assert area is not None and not np.isnan(area.mean), metric
    build_site(board, tmp_path / "site", pictures=False)
    page = (tmp_path / "site/learner/forest.html").read_text()
    assert 'class="failed" title="timeout">✗1</a>' in page and "✗ 1 failed" in page
    assert "✗ 1 failed" in (tmp_path / "site/index.html").read_text()
    assert '"status":"timeout"' in (tmp_path / "site/data/runs/forest/grids.js").read_text()


def test_no_mean_gets_better_by_failing(accepted: Path, board_file: Path, tmp_path: Path) -> None:
    """A run that fails counts no better than the worst that did not, whatever the majority class has."""
    folder = tmp_path / "accepted"
    shutil.copytree(accepted / "random_forest", folder / "forest")

    def grade(lines: Rows) -> None:
        for k, line in enumerate(line for line in lines if "run" in line):
            accuracy, score = 0.2 + 0.1 * k, 1.0 - 0.1 * k
            line["metrics"] = {"framework_accuracy": accuracy, "brier_score": score, "atoms": 10.0 * k}

    edit_runs(folder / "forest", grade, SCORES)
    before = read_board(folder, board_file).entries[0].values["grids"]
    failed = {"status": "crashed", "metrics": {"framework_accuracy": 0.5, "brier_score": 0.4}}
    edit_runs(folder / "forest", lambda lines: lines[3].update(failed), SCORES)
    after = read_board(folder, board_file).entries[0].values["grids"]
    changed = np.flatnonzero((np.nan_to_num(before) != np.nan_to_num(after)).any(axis=1))
    assert len(changed) == 1
    found = dict(zip(NAMES, after[changed[0]].tolist(), strict=True))
    assert (found["framework_accuracy"], found["brier_score"], found["atoms"]) == (0.2, 1.0, 20.0)
    assert np.isnan(found["log_loss"])


def test_failed_runs_are_submitted_and_those_of_the_harness_are_not(
    results: Store, contests: tuple[Contest, ...], scored: Scored, tmp_path: Path
) -> None:
    store = Store(tmp_path / "store")
    records = [r for r in results.latest().values() if r.job.learner == "majority"]
    for k, record in enumerate(records):
        status = ("out_of_memory", "failed", "ok", "ok")[k]
        if status == "ok":
            store.add_predictions(record.key, results.predictions(record.key))
        store.add(Record(record.job, status, record.metrics, content_hash=record.content_hash))  # type: ignore[arg-type]
    write_submission(store, tmp_path / "out", contests, name="Majority", licence="MIT")
    assert sorted(line["status"] for line in lines_of(tmp_path / "out" / RUNS)) == [
        "ok",
        "ok",
        "out_of_memory",
    ]
    report = scored(tmp_path / "out")
    assert "1 of 4 runs is missing" in report.problems[0]


# Labels without probabilities.


def test_labels_alone_have_no_brier_score(
    forest: Path, scored: Scored, board_file: Path, tmp_path: Path
) -> None:
    honest = {run.run: run.metrics for run in scored(forest).runs}
    rewrite(forest, lambda row: {**row, "probabilities": None})
    report = scored(resign(forest))
    assert report.accepted, report.problems
    for run in report.runs:
        assert run.metrics["framework_accuracy"] == honest[run.run]["framework_accuracy"]
        assert not {"brier_score", "log_loss", "calibration_error", "invalid_mass"} & run.metrics.keys()
        assert run.looks["framework"].contrary == 0
    assert {spread.metric for spread in report.spreads} == {"hypothesis_accuracy", "framework_accuracy"}
    write_scores(report, forest / SCORES)
    board, entry = entry_of(forest, board_file)
    assert board.area(entry, board.contests[0], "brier_score") is None
    build_site(board, tmp_path / "site", pictures=False)
    data = (tmp_path / "site/data/runs/forest/grids.js").read_text()
    assert '"framework":{"labels":"' in data and '"true":' not in data


def test_half_of_the_probabilities_are_none(forest: Path, scored: Scored) -> None:
    edit_rows(forest, lambda rows: [row.update(probabilities=row["probabilities"][:10]) for row in rows])
    assert "2000 probabilities; got 1000 and 10" in scored(resign(forest)).problems[0]


def test_probabilities_of_rules_that_are_not_the_learners_do_not_count(rules: Path, scored: Scored) -> None:
    """Answers of the majority class beside the true rules and what they say."""

    def sly(row: dict[str, Any]) -> dict[str, Any]:
        uncertain = np.array(row["probabilities"]).reshape(-1, 2) * 0.9 + 0.05
        return {**row, "predicted": [0] * 1000, "probabilities": uncertain.reshape(-1).tolist()}

    rewrite(rules, sly)
    for run in scored(resign(rules)).runs:
        assert run.metrics["hypothesis_accuracy"] == 0.5 and "brier_score" not in run.metrics


# How sure the means are.


def test_means_say_how_sure_they_are(board: Board) -> None:
    (contest,) = board.contests
    entries = {entry.title: entry for entry in board.entries}
    area = board.area(entries["random_forest"], contest, "framework_accuracy")
    assert area is not None and area.spread is not None
    assert list(area.spread.components) == ["train splits", "test images"]
    assert area.std_err >= max(area.spread.components.values())
    assert 0 <= area.spread.low < area.mean < area.spread.high <= 1
    known = entries["random_forest"].spreads[contest.name, "hypothesis_accuracy"]
    assert list(known.components) == ["train splits", "test examples"], "true concepts show no images"
    right = entries["ffnsl"]
    assert not right.spreads, "what never varies has no interval"
    assert set(right.examples) == {("grids", "hypothesis_accuracy"), ("grids", "brier_score")}


def test_the_site_names_what_varies(site: Path) -> None:
    page = (site / "learner/random-forest.html").read_text()
    assert "framework accuracy, mean over shares, 95 %" in page and "test images 0." in page
    assert "mean over shares" in page and "rea under shift" not in page
    assert "mean over shares" in (site / "index.html").read_text()


# What is kept of predictions.


def test_scores_are_written_anew(accepted: Path, board_file: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(accepted, tmp_path / "accepted"))
    path = folder / "majority" / SCORES
    known = unpacked(path)
    assert "shown" not in known and '"command"' not in known  # what the predictions and the job say
    pack(path, known.replace('"framework_accuracy": ', '"framework_accuracy": 0'))
    words = ["--submissions", folder, "--board", board_file]
    done = call("leaderboard", "rescore", "majority", *words)
    assert done.return_value == 0 and "majority: 4 runs scored" in done.output, done.output
    assert unpacked(path) == known
    wrong = call("leaderboard", "rescore", "majorety", *words)
    assert "Did you mean 'majority'" in str(wrong.exception)
    # One that is not accepted any more keeps its scores.
    pack(folder / "majority" / RUNS, "{}")
    assert "not accepted" in right(call("leaderboard", "rescore", *words), 1)
    assert unpacked(path) == known


# Fronts and several contests.


def with_values(board: Board, contests: tuple[Contest, ...], values: dict[str, list[list[float]]]) -> Board:
    """A board whose entries have, in each contest, these accuracy, atoms and seconds in every run."""
    model = next(entry for entry in board.entries if entry.title == "random_forest")
    columns = [NAMES.index(name) for name in ("framework_accuracy", "atoms", "learning_time")]
    entries = []
    for title, rows in values.items():
        tables, spans = {}, {}
        for contest, row in zip(contests, rows, strict=True):
            cells = contest.cells_of(model.track)
            table = np.full((len(cells), len(NAMES)), np.nan)
            table[:, columns] = row
            tables[contest.name], spans[contest.name] = table, [(0, 1)] * len(cells)
        accuracy = np.random.default_rng(1).random((contest.repeats, 1000)) < rows[0][0]
        examples = {(contest.name, "framework_accuracy"): accuracy.astype(np.float32) for contest in contests}
        known = {"values": tables, "spans": spans, "spreads": {}, "examples": examples}
        entries.append(replace(model, title=title, slug=title, **known))
    return Board(contests, tuple(entries))


def test_a_pareto_front_of_accuracy_atoms_and_time(board: Board) -> None:
    rows = {"a": [[0.9, 50, 1.0]], "b": [[0.8, 5, 1.0]], "c": [[0.8, 50, 2.0]], "d": [[0.7, 5, float("nan")]]}
    made = with_values(board, board.contests, rows)
    found = made.front(made.contests[0], "pretrained")
    assert [(entry.title, on) for entry, on in found] == [("a", True), ("b", True), ("c", False)]


def test_who_was_told_the_answer_is_shown_without_a_rank(board: Board, tmp_path: Path) -> None:
    (contest,) = board.contests
    made = with_values(board, (contest,), {"a": [[0.9, 5, 1.0]], "b": [[0.8, 5, 1.0]]})
    first, second = made.entries
    told = replace(first, manifest=replace(first.manifest, told_the_answer=True))
    made = Board((contest,), (told, second))
    assert made.rank(told, contest) == Rank(None, None, 1) and made.rank(second, contest) == Rank(1, 1, 1)
    assert [entry.title for entry, _ in made.front(contest, "pretrained")] == ["b"]
    macros = _environment().get_template("macros.html").module
    assert "told the answer" in str(macros.tags(told.manifest))  # type: ignore[attr-defined]


def test_whose_runs_all_failed_is_shown_without_a_rank(board: Board, tmp_path: Path) -> None:
    (contest,) = board.contests
    made = with_values(board, (contest,), {"a": [[0.5, 5, 1.0]], "b": [[0.4, 5, 1.0]]})
    first, second = made.entries
    n = len(contest.cells_of(first.track))
    once = replace(first, failed={contest.name: ("timeout", *[""] * (n - 1))})
    assert Board((contest,), (once, second)).rank(once, contest).of == 2
    always = replace(first, failed={contest.name: ("timeout",) * n})
    made = Board((contest,), (always, second))
    assert made.rank(always, contest) == Rank(None, None, 1) and made.rank(second, contest) == Rank(1, 1, 1)
    assert [entry.title for entry, _ in made.front(contest, "pretrained")] == ["b"]
    (row,) = (row for row in rows_of(made, contest) if row.entry is always)
    assert row.why_unranked == "all of its runs failed" and row.areas["framework_accuracy"] is not None


@pytest.mark.parametrize(("spec", "told"), [("neuid3:tests=optimal", True), ("neuid3:tests=union", False)])
def test_a_learner_says_that_it_was_told(spec: str, told: bool) -> None:
    assert told_the_answer(version_of(registry.create("learner", spec), spec)) == told
