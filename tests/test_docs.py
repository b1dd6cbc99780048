"""What the documentation shows works."""

from __future__ import annotations

import json
import os
import re
import runpy
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from nsl_bench.cli import main

ROOT = Path(__file__).parents[1]


def python_blocks(page: str) -> list[str]:
    """The Python examples of a page."""
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)


def run(*commands: Sequence[str | Path], path: Path) -> str:
    """Run commands of the program, in one process with another package's folder on the path."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(path), os.environ.get("PYTHONPATH", "")])}
    lines = json.dumps([[str(word) for word in words] for words in commands])
    done = subprocess.run(
        [sys.executable, "-c", ALL, lines], env=env, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


ALL = """
import json, sys
from nsl_bench.cli import main
for words in json.loads(sys.argv[1]):
    assert not main(words, standalone_mode=False)
"""


def example(code: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """What a page's example prints."""
    (folder / "page.py").write_text(code)
    runpy.run_path(str(folder / "page.py"), run_name="__main__")
    return capsys.readouterr().out


@pytest.fixture
def other_package(tmp_path: Path) -> Path:
    """Another package, installed, that adds the task and the shifts of docs/extending.md."""
    for name, code in zip(("task", "shift", "option"), python_blocks("docs/extending.md"), strict=True):
        (tmp_path / f"my_{name}.py").write_text(code)
    info = tmp_path / "my_package-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-package\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[nsl_bench.benchmarks]\nleft_is_larger = my_task:LeftIsLarger\n"
        "[nsl_bench.shifts]\nnegative = my_shift:Negative\ndarker = my_option:Darker\n"
    )
    return tmp_path


def test_a_fifth_task_is_one_module_and_one_entry_point(other_package: Path) -> None:
    results = other_package / "results"
    sweep = ["run", "left_is_larger", "--learner", "ffnsl", "--learner", "random_forest", "--repeats", "1"]
    sweep += ["--jobs", "1", "--track", "symbolic", "--out", str(results)]
    report = ["report", results, "--no-curves", "--metric", "hypothesis_accuracy"]
    said = run(sweep, report, ["list", "tasks"], path=other_package)
    assert re.search(r"ffnsl +\| 1 +\| 1\.000", said), said
    assert "left_is_larger" in said.rpartition("| ffnsl")[2]


def test_a_shift_in_ten_lines(other_package: Path) -> None:
    words = ["generate", "sudoku_4x4", "--repeats", "1", "--train", "9", "--test", "9"]
    words += ["--shift", "negative+darker:share=0.2"]
    run([*words, "--out", other_package / "grids"], path=other_package)


def test_the_readme_learner_runs(tmp_path: Path) -> None:
    (guess,) = (block for block in python_blocks("README.md") if "class Guess" in block)
    (tmp_path / "guess.py").write_text(guess)
    words = ["run", "follow_suit", "--learner", f"{tmp_path / 'guess.py'}:Guess", "--track", "symbolic"]
    words += ["--repeats", "1", "--jobs", "1", "--out", str(tmp_path / "results")]
    result = CliRunner().invoke(main, words, standalone_mode=False)
    assert result.return_value == 0, result.output


def test_the_readme_python_example_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = (block for block in python_blocks("README.md") if "nsl_bench.load" in block)
    example(code, tmp_path, capsys)


def test_the_pytorch_page_learns_concepts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = python_blocks("docs/pytorch.md")
    assert len(code.splitlines()) < 40
    lines = example(code, tmp_path, capsys).splitlines()
    standard, shifted = (float(line.rpartition(" ")[2]) for line in lines)
    assert standard > 0.9 > 0.6 > shifted


def test_the_python_page_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = example("\n".join(python_blocks("docs/python.md")), tmp_path, capsys)
    assert "sharp shares" in said and "p_value" in said


def test_the_page_on_structure_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = example("\n".join(python_blocks("docs/structure.md")), tmp_path, capsys)
    assert "follow_suit 1.0.0 -> follow_suit:players=3" in said
    assert "not_applicable" in said and "('my_game:players=3'" in said


def test_links_in_the_documentation_resolve() -> None:
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page}: {target}"


def test_every_package_is_installed() -> None:
    import tomllib

    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    found = {
        ".".join(init.parent.relative_to(ROOT).parts)
        for top in ("nsl_bench", "generators", "leaderboard")
        for init in (ROOT / top).rglob("__init__.py")
    }
    found = {name if name.startswith("nsl_bench") else f"nsl_bench.{name}" for name in found}
    assert set(listed) == found
