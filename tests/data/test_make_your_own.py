"""What docs/make-your-own.md shows works, command by command."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from nsl_bench.data.manifest import Manifest

PAGE = (Path(__file__).parents[2] / "docs" / "make-your-own.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def commands() -> list[list[str]]:
    """The words of each command of the page but those that ask the Hub."""
    text = "\n".join(blocks("console")).replace("\\\n", " ")
    lines = [shlex.split(line.removeprefix("$ nsl-bench ")) for line in text.splitlines()]
    return [words for words in lines if words and (words[0] != "publish" or "--dry-run" in words)]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the recipe and the page's package, installed."""
    folder = tmp_path_factory.mktemp("own")
    recipe, *entry_points = blocks("toml")
    (folder / "recipe.toml").write_text(recipe)
    use, shift, task = blocks("python")
    (folder / "use.py").write_text(use)
    (folder / "my_shift.py").write_text(shift)
    (folder / "my_task.py").write_text(task)
    info = folder / "mine-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n")
    lines = "\n".join(entry_points).replace("project.entry-points.", "").replace('"', "")
    (info / "entry_points.txt").write_text(lines)
    return folder


def run(place: Path, *line: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(place), os.environ.get("PYTHONPATH", "")])
    env = {**os.environ, "PYTHONPATH": path}
    return subprocess.run(
        [sys.executable, *line], cwd=place, env=env, capture_output=True, text=True, timeout=300
    )


ALL = """
import shlex, sys
from click.testing import CliRunner
from nsl_bench.cli import main
for line in sys.stdin.read().splitlines():
    result = CliRunner().invoke(main, shlex.split(line))
    if result.exit_code:
        raise SystemExit(f"{line}: {result.output} {result.exception!r}")
"""


def test_every_command_works(place: Path) -> None:
    path = os.pathsep.join([str(place), os.environ.get("PYTHONPATH", "")])
    lines = "\n".join(shlex.join(line) for line in commands())
    done = subprocess.run(
        [sys.executable, "-c", ALL],
        input=lines,
        cwd=place,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    assert Manifest.read(place / "grids") == Manifest.read(place / "again")
    tricks = Manifest.read(place / "tricks")
    assert tricks.configs["noir"]["train_2"].rows == 100 and len(tricks.concepts) == 26
    assert set(tricks.configs["noir"]["train"].percents) == {"50", "90"}
    assert Manifest.read(place / "negative").shifts == {"negative": "negative"}
    assert (place / "sheet.png").is_file() and (place / "grids.png").is_file()
    use = run(place, "use.py")
    assert use.returncode == 0, use.stderr
