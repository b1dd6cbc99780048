"""Runs of accepted entries are done again."""

import json
import re
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from nsl_bench.leaderboard import rerun
from nsl_bench.leaderboard.board import read_board
from nsl_bench.leaderboard.contests import read_contests
from nsl_bench.leaderboard.site.pages import rows_of
from nsl_bench.leaderboard.submission import MANIFEST, RUNS, write_submission
from packed import COMMITTED
from sealed import LEARNER, TASK, Played, call, edit, right

from nsl_bench.core.errors import UserError
from nsl_bench.run.bench import Bench
from nsl_bench.run.plan import plan
from nsl_bench.run.store import Store
from nsl_bench.run.sweep import sweep
from nsl_bench.sandbox import kernel

pytestmark = pytest.mark.skipif(not kernel.landlock_version(), reason="a sealed round needs Landlock")


def test_a_reveal_leaves_the_front_page_of_the_public_contests_as_it_was(
    played: Played, reported: tuple[Path, Path], tmp_path: Path
) -> None:
    accepted = Path(shutil.copytree(played.accepted, tmp_path / "all"))
    shutil.copytree(reported[1], accepted / "majority")
    board = read_board(accepted, played.public / "board.toml")
    rows = [row for contest in board.contests for row in rows_of(board, contest)]
    assert len(rows) == 4
    for row in rows:
        assert row.areas["framework_accuracy"] and row.rank.first is not None, row.entry.title


@pytest.fixture
def reported(sealed: Played, tmp_path: Path) -> tuple[Path, Path]:
    """A public entry: the folder of accepted submissions, and its own."""
    store, contests = Store(tmp_path / "results"), read_contests(sealed.public / "board.toml")
    sweep(plan(TASK, ["majority"], shifts=["rotate90"], percents=[0, 100]), store, Bench())
    write_submission(store, tmp_path / "sent", contests, name="Majority", licence="MIT")
    words = ["--accept", tmp_path / "accepted", *sealed.board]
    said = right(call("score-submission", tmp_path / "sent", *words))
    assert "Self-reported: the submitter made the predictions" in said
    return tmp_path / "accepted", tmp_path / "accepted" / "majority"


def test_runs_are_done_again(sealed: Played, reported: tuple[Path, Path], tmp_path: Path) -> None:
    accepted, entry = reported
    said = right(call("leaderboard", "rerun", entry, "--runs", "1", "--seed", "3", *sealed.board))
    assert "Verified: 1 of 2 runs were done again" in said and "no number by more than 0 (" in said
    kept = json.loads((entry / "rerun.json").read_text())
    assert kept["same"] and kept["seed"] == 3 and kept["differing_labels"] == 0
    words = ["--submissions", accepted, "--no-pictures", "--out", tmp_path / "site", *sealed.board]
    right(call("leaderboard", "build", *words))
    assert set(pd.read_csv(tmp_path / "site/data/tables/overview.csv")["standing"]) == {"verified"}
    assert "1 of 2 runs were done again" in (tmp_path / "site/learner/majority.html").read_text()
    # It is about these very files.
    edit(entry, RUNS, lambda run: run.update(started="2020"))
    (entry_now,) = read_board(accepted, sealed.public / "board.toml").entries
    assert entry_now.standing.word == "self-reported"


def test_a_run_with_an_older_network_is_not_compared_with_the_installed_one(tmp_path: Path) -> None:
    entry = Path(shutil.copytree(COMMITTED / "ffnsl", tmp_path / "ffnsl"))
    edit(entry, RUNS, lambda run: run["job"].update(network_version="0"))
    done = call("leaderboard", "rerun", entry, "--runs", "1")
    assert isinstance(done.exception, UserError)
    assert re.search(r"used version \d of the network \w+, and version \d, which is", str(done.exception))


def test_runs_are_done_again_in_their_time_and_failed_ones_are_not(
    sealed: Played, reported: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    accepted, entry = reported
    words = ["--runs", "2", *sealed.board]
    longest = {0: "", 100: 77.5}
    edit(entry, RUNS, lambda run: run["environment"].update(time_limit=longest[run["job"]["test_percent"]]))
    right(call("leaderboard", "rescore", entry.name, "--submissions", accepted, *sealed.board))
    built = ["--submissions", accepted, "--no-pictures", "--out", tmp_path / "site", *sealed.board]
    right(call("leaderboard", "build", *built))
    for page in ("learner/majority.html", "data/runs/majority/grids.js"):
        text = re.sub("<[^>]*>", "", (tmp_path / "site" / page).read_text())
        assert "--time-limit 77.5 --out results/" in text, page
    limits = []
    with monkeypatch.context() as patched:
        patched.setattr(rerun, "_run", lambda bench, *_: limits.append(bench.limits.time))
        for given in (60, 90):
            said = right(call("leaderboard", "rerun", entry, *words, "--time-limit", given), 1)
            assert "Not verified: 2 of 2 runs done again failed" in said
    assert sorted(limits) == [60, 60, 77.5, 90]
    edit(entry, RUNS, lambda run: run["environment"].update(time_limit="nan"))
    edit(entry, RUNS, lambda run: run.update(status="timeout" if run["job"]["test_percent"] else "ok"))
    assert "Verified: 1 of 1 runs" in right(call("leaderboard", "rerun", entry, *words))
    edit(entry, RUNS, lambda run: run.update(status="timeout"))
    done = call("leaderboard", "rerun", entry, *words)
    assert "has no run of a contest of the board that did not fail" in str(done.exception)


def test_runs_that_come_out_otherwise(sealed: Played, reported: tuple[Path, Path]) -> None:
    _, entry = reported
    words = ["--runs", "1", "--seed", "3", *sealed.board]
    said = right(call("leaderboard", "rerun", entry, *words, "--learner", "random_forest:trees=3"), 1)
    assert "Not verified: 1 of 2 runs" in said
    assert json.loads((entry / "rerun.json").read_text())["same"] is False
    edit(entry, MANIFEST, lambda values: values.update(learner="../their.py:Learner"))
    done = call("leaderboard", "rerun", entry, *words)
    assert "is not installed; give the submitter's file" in str(done.exception)
    known = SimpleNamespace(learner="tuned:env:figs,trials=2")
    assert rerun._spec(known, None) == known.learner  # type: ignore[arg-type]
    with pytest.raises(UserError, match=r"'env:\.\./figs' is not installed"):
        rerun._spec(SimpleNamespace(learner="env:../figs"), None)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("claimed", "made", "differs", "slower"),
    [
        ({"atoms": 2, "learning_time": 10}, {"atoms": 8, "learning_time": 10}, 0.75, 1.0),
        ({"learning_time": 1, "prediction_time": 1}, {"learning_time": 1, "prediction_time": 59}, 0.0, 30.0),
        ({"learning_time": 0.01}, {"learning_time": 0.9}, 0.0, 0.0),
        ({"learning_time": 4}, {"learning_time": 60, "learning_cpu_time": 6}, 0.0, 1.5),
        ({"learning_time": 4}, {"learning_time": 8, "learning_cpu_time": 15}, 0.0, 2.0),
        ({"atoms": 0}, {"atoms": 0}, 0.0, 0.0),
    ],
)
def test_atoms_and_times_are_compared(claimed: Any, made: Any, differs: float, slower: float) -> None:
    rows = {"framework": np.zeros(3)}
    record = SimpleNamespace(metrics=made)
    labels, differences, times = rerun._compared(record, rows, rows, claimed)  # type: ignore[arg-type]
    assert (labels, differences["atoms"], times) == (0.0, differs, slower)


def test_entries_by_code_are_done_again_too(played: Played, tmp_path: Path) -> None:
    entry = Path(shutil.copytree(played.accepted / "autumn--by-code", tmp_path / "entry"))
    (tmp_path / "learner.py").write_text(LEARNER)
    learner = ["--learner", f"{tmp_path / 'learner.py'}:FromConcepts"]
    said = right(call("leaderboard", "rerun", entry, "--runs", "1", *learner, *played.board))
    assert "Verified: 1 of 2 runs" in said and "at most 0 %" in said
