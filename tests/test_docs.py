"""What the documentation shows works."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def python_blocks(page: str) -> list[str]:
    """The Python examples of a page."""
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)


def run(*words: str | Path, path: Path) -> subprocess.CompletedProcess[str]:
    """Run the program with another package's folder on the path."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(path), os.environ.get("PYTHONPATH", "")])}
    line = [sys.executable, "-m", "nsl_bench", *map(str, words)]
    return subprocess.run(line, env=env, capture_output=True, text=True, timeout=600)


@pytest.fixture
def other_package(tmp_path: Path) -> Path:
    """Another package, installed, that adds the task and the shift of docs/extending.md."""
    task, shift = python_blocks("docs/extending.md")
    (tmp_path / "my_task.py").write_text(task)
    (tmp_path / "my_shift.py").write_text(shift)
    info = tmp_path / "my_package-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-package\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[nsl_bench.benchmarks]\nleft_is_larger = my_task:LeftIsLarger\n"
        "[nsl_bench.shifts]\nnegative = my_shift:Negative\n"
    )
    return tmp_path


def test_a_fifth_task_is_one_module_and_one_entry_point(other_package: Path) -> None:
    results = other_package / "results"
    words = ["run", "left_is_larger", "--learner", "ffnsl", "--learner", "random_forest", "--repeats", "1"]
    words += ["--jobs", "1"]
    done = run(*words, "--track", "symbolic", "--out", results, path=other_package)
    assert done.returncode == 0, done.stderr
    report = run("report", results, "--no-curves", "--metric", "hypothesis_accuracy", path=other_package)
    assert re.search(r"ffnsl +\| 1 +\| 1\.000", report.stdout), report.stdout
    listed = run("list", "benchmarks", path=other_package)
    assert "left_is_larger" in listed.stdout


def test_a_shift_in_ten_lines(other_package: Path) -> None:
    out = other_package / "grids"
    words = [
        "generate",
        "sudoku_4x4",
        "--repeats",
        "1",
        "--shift",
        "negative",
        "--out",
        out,
    ]
    done = run(*words, path=other_package)
    assert done.returncode == 0, done.stderr


def test_the_readme_learner_runs(tmp_path: Path) -> None:
    (guess,) = (block for block in python_blocks("README.md") if "class Guess" in block)
    (tmp_path / "guess.py").write_text(guess)
    words = ["run", "follow_suit", "--learner", f"{tmp_path / 'guess.py'}:Guess", "--track", "symbolic"]
    done = run(*words, "--repeats", "1", "--jobs", "1", "--out", tmp_path / "results", path=tmp_path)
    assert done.returncode == 0, done.stderr


def test_the_readme_python_example_runs(tmp_path: Path) -> None:
    (example,) = (block for block in python_blocks("README.md") if "nsl_bench.load" in block)
    (tmp_path / "example.py").write_text(example)
    done = subprocess.run([sys.executable, str(tmp_path / "example.py")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_pytorch_page_learns_concepts(tmp_path: Path) -> None:
    (example,) = python_blocks("docs/pytorch.md")
    assert len(example.splitlines()) < 40
    (tmp_path / "example.py").write_text(example)
    done = subprocess.run([sys.executable, str(tmp_path / "example.py")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    standard, shifted = (float(line.rpartition(" ")[2]) for line in done.stdout.splitlines())
    assert standard > 0.9 > 0.6 > shifted


def test_the_python_page_runs(tmp_path: Path) -> None:
    (tmp_path / "page.py").write_text("\n".join(python_blocks("docs/python.md")))
    done = subprocess.run([sys.executable, str(tmp_path / "page.py")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "sharp shares" in done.stdout and "p_value" in done.stdout


def test_the_page_on_structure_runs(tmp_path: Path) -> None:
    (tmp_path / "page.py").write_text("\n".join(python_blocks("docs/structure.md")))
    done = subprocess.run([sys.executable, str(tmp_path / "page.py")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "follow_suit 1.0.0 -> follow_suit:players=3" in done.stdout
    assert "not_applicable" in done.stdout and "('my_game:players=3'" in done.stdout


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
