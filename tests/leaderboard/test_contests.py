"""The board's own contests are ones that can be entered."""

from __future__ import annotations

from pathlib import Path

import pytest
from nsl_bench.leaderboard.contests import Cell, Contest, contest_of, read_contests
from nsl_bench.leaderboard.published import ffnsl2023

from nsl_bench import registry
from nsl_bench.data.splits import make_source
from nsl_bench.errors import UserError
from nsl_bench.run.job import plan
from nsl_bench.shift import named_shifts


@pytest.mark.parametrize("contest", read_contests(), ids=lambda contest: contest.name)
def test_a_contest_is_installed(contest: Contest) -> None:
    task = registry.create("benchmark", contest.benchmark)
    source = make_source(task, contest.source)
    assert contest.version == task.version and contest.size in task.sizes
    assert set(contest.shifts) <= set(named_shifts(task, source))
    published = set(ffnsl2023(contest.benchmark)["shift"])
    assert set(contest.paper) <= set(contest.shifts) and set(contest.paper.values()) <= published


def test_every_planned_run_has_its_cell() -> None:
    contests = read_contests()
    (contest,) = [c for c in contests if c.name == "sudoku_4x4"]
    jobs = plan(
        "sudoku_4x4",
        ["majority"],
        shifts=contest.shifts,
        percents=contest.percents,
        repeats=range(1, contest.repeats + 1),
    )
    places = [contest_of(contests, job) for job in jobs]
    assert {cell for _, cell in filter(None, places)} == set(contest.cells)
    assert len(jobs) == len(contest.cells) == 33
    assert str(Cell("rotate90", 50, 2)) == "rotate90 50 % repeat 2"
    (other,) = plan("sudoku_4x4", ["majority"], repeats=[4])
    assert contest_of(contests, other) is None


@pytest.mark.parametrize("text", ["", "[[contest]]\nname = 1", "[[contest", "contest = 3"])
def test_a_broken_file_gets_a_sentence(tmp_path: Path, text: str) -> None:
    (tmp_path / "board.toml").write_text(text)
    with pytest.raises(UserError, match=r"board\.toml"):
        read_contests(tmp_path / "board.toml")
