"""The main job: what it runs, and the command that runs it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from nsl_bench.api import main_job
from nsl_bench.cli import main
from nsl_bench.core.errors import UserError


def test_its_parts_are_there() -> None:
    tasks = [task for task, _, _ in main_job.GRIDS]
    assert tasks == ["follow_suit", "sudoku_4x4", "sudoku_9x9"]
    assert all({"ffnsl", "majority"} < set(learners) for _, _, learners in main_job.GRIDS)


def test_the_command_prints_a_table_and_resumes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(main_job, "GRIDS", (("sudoku_4x4", "rotate90", ("majority",)),))
    monkeypatch.setattr(os, "cpu_count", lambda: 1)  # no worker is started
    words = ["bench", "--repeats", "1", "--out", str(tmp_path / "bench")]
    first, again = (CliRunner().invoke(main, words, standalone_mode=False) for _ in range(2))
    assert first.return_value == 0, first.output
    assert "3 runs done, 0 failed, 0 already done" in first.stderr and "| majority" in first.stdout
    assert "0 runs done, 0 failed, 3 already done" in again.stderr
    assert again.stdout.splitlines()[:-1] == first.stdout.splitlines()[:-1]
    assert [path.suffix for path in (tmp_path / "bench" / "curves").iterdir()] == [".png"]


def test_no_repeats_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"repeats must be 1 or more; got 0\."):
        main_job.run_main_job(tmp_path / "bench", repeats=0)
