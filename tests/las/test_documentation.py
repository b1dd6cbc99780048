"""What docs/rule-learner.md shows works."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from nsl_bench.cli.rules import learn
from nsl_bench.logic.las import LasTask, solve

PAGE = (Path(__file__).parents[2] / "docs" / "rule-learner.md").read_text(encoding="utf-8")


def test_the_python_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(compile(block, "docs/rule-learner.md", "exec"), {})
    assert capsys.readouterr().out.endswith("optimal 2 2 A\n")


def test_the_task_in_full_is_solved() -> None:
    text = next(block for block in re.findall(r"```\n(.*?)```", PAGE, re.DOTALL) if "#modeh" in block)
    assert solve(LasTask.parse(text)).score == 2


def test_the_example_of_a_conflict_is_what_is_printed(tmp_path: Path) -> None:
    section = PAGE.partition("## Where nothing is found")[2]
    text, shown = re.findall(r"```\n(.*?)```", section, re.DOTALL)[:2]
    path = tmp_path / "task.las"
    path.write_text(text)
    result = CliRunner().invoke(learn, [str(path)], catch_exceptions=False)
    assert result.stdout + result.stderr == shown
