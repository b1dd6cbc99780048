"""docs/add-a-learner.md, followed word by word, gives a table with the new learner beside FFNSL."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest
from click.testing import CliRunner

from nsl_bench.cli import main

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "add-a-learner.md"

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="learners are isolated on POSIX systems")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new user's folder, with what the page shows from the repository."""
    folder = tmp_path_factory.mktemp("user")
    shutil.copytree(ROOT / "examples", folder / "examples")
    (learner,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    (folder / "my_learner.py").write_text(learner)
    return folder


@pytest.fixture(scope="module")
def environment(home: Path) -> dict[str, str]:
    """A fresh virtual environment in which nsl-bench is installed (its dependencies from this one)."""
    place = home / "env"
    venv.create(place, with_pip=False, symlinks=True)
    (site,) = place.glob("lib/python*/site-packages")
    (site / "dependencies.pth").write_text("\n".join(path for path in sys.path if "site-packages" in path))
    install = [sys.executable, "-m", "pip", "--python", str(place / "bin" / "python"), "install", "--quiet"]
    install += ["--no-deps", "--no-build-isolation", "--force-reinstall", str(ROOT)]
    done = subprocess.run(install, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"there is no pip here that can install: {done.stderr[-200:]}")
    return {
        **os.environ,
        "PATH": f"{place / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "VIRTUAL_ENV": str(place),
    }


def commands() -> list[str]:
    """Every command of the page, but those that make the environment."""
    blocks = re.findall(r"```console\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    lines = [line.removeprefix("$ ") for block in blocks for line in block.splitlines()]
    return [line for line in lines if line.startswith("nsl-bench")]


@pytest.mark.slow
def test_the_page_word_by_word(home: Path, environment: dict[str, str]) -> None:
    lines = commands()
    assert len(lines) == 7
    for line in lines:
        if line.startswith("nsl-bench score"):
            for folder in (home / "folders").iterdir():
                answer = [str(home / "env" / "bin" / "python"), "examples/command_nearest.py", str(folder)]
                subprocess.run(answer, cwd=home, env=environment, check=True, capture_output=True)
        done = subprocess.run(
            ["sh", "-c", line], cwd=home, env=environment, capture_output=True, text=True, timeout=900
        )
        print(f"$ {line}\n{done.stdout}{done.stderr}")
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
        if line.startswith("nsl-bench check"):
            assert done.stdout.splitlines()[-1] == "No problems found."
        if line.startswith("nsl-bench report"):
            rows = [row for row in done.stdout.splitlines() if row.startswith("|")]
            for learner in ("my_learner.py:Nearest", "ffnsl"):
                assert sum(f"| {learner} " in row for row in rows) == 2


def test_the_page_in_short(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page's learner beside FFNSL, with true concepts and in this environment."""
    monkeypatch.chdir(home)
    sweep = "run sudoku_4x4 --track symbolic --learner my_learner.py:Nearest --learner ffnsl "
    sweep += "--repeats 1 --jobs 1 --out short/"
    for line in (sweep, "report short/ --no-curves"):
        result = CliRunner().invoke(main, line.split(), standalone_mode=False)
        assert not result.exception and not result.return_value, result.output
    assert "| my_learner.py:Nearest " in result.stdout and "| ffnsl " in result.stdout
