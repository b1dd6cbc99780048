"""Damaged predictions cost a sentence, never the process that scores."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from damage import damaged
from guarded_calls import aborts
from nsl_bench.leaderboard import predictions, scoring
from nsl_bench.leaderboard.contests import Contest
from nsl_bench.leaderboard.scoring import score
from nsl_bench.leaderboard.submission import PREDICTIONS

from nsl_bench.logic.guarded.child import Ended

Change = Callable[[Path], object]
FILES = 2000
pytestmark = pytest.mark.skipif(os.name != "posix", reason="the child process needs a POSIX system")


def test_a_submission_that_ends_the_scorer_is_not_accepted(
    good: dict[str, Path], contests: tuple[Contest, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scoring, "_scored_here", aborts)
    (problem,) = score(good["majority"], contests).problems
    assert problem == "Scoring the submission crashed (SIGABRT): a file is damaged."


@pytest.mark.parametrize("column", ["run", "predicted", "probabilities"])
def test_a_row_group_of_another_column_is_refused(
    good: dict[str, Path], contests: tuple[Contest, ...], resign: Change, tmp_path: Path, column: str
) -> None:
    folder = Path(shutil.copytree(good["majority"], tmp_path / "submission"))
    data = (folder / PREDICTIONS).read_bytes()
    before, _, behind = data.rpartition(column.encode())
    (folder / PREDICTIONS).write_bytes(before + b"x" * len(column) + behind)
    resign(folder)
    (problem,) = score(folder, contests).problems
    assert problem == f"{PREDICTIONS}: its row group has a missing or extra column."


def test_a_site_says_which_predictions_are_damaged(
    good: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(predictions, "_read", aborts)
    path = good["majority"] / PREDICTIONS
    with pytest.raises(Ended, match=rf"^Reading {path} crashed \(SIGABRT\): it is damaged\.$"):
        predictions.read_accepted(path)


@pytest.mark.slow
def test_no_damaged_file_ends_the_scorer(
    good: dict[str, Path], contests: tuple[Contest, ...], resign: Change, tmp_path: Path
) -> None:
    """2,000 files; minutes."""
    folder = Path(shutil.copytree(good["majority"], tmp_path / "submission"))
    whole = (folder / PREDICTIONS).read_bytes()
    ends: Counter[str] = Counter()
    for seed in range(FILES):
        (folder / PREDICTIONS).write_bytes(damaged(whole, seed))
        resign(folder)
        report = score(folder, contests)
        assert all(len(problem.splitlines()) == 1 for problem in report.problems), report
        died = any(" crashed " in problem for problem in report.problems)
        ends["accepted" if report.accepted else "a child died" if died else "refused"] += 1
    print(f"\n{dict(ends)}")
    assert ends["refused"] > FILES // 20
