"""What is in the wheel is enough: commands in an empty folder, far from the checkout."""

import csv
import os
import shutil
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

from nsl_bench.core import registry
from nsl_bench.core.types import Part
from nsl_bench.data.splits import symbolic_split
from nsl_bench.run.store import Store

ROOT = Path(__file__).parents[1]
TREES = ("nsl_bench", "generators", "leaderboard")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of a copy of the sources, so that nothing is left in the checkout."""
    sources = tmp_path_factory.mktemp("sources")
    for name in TREES:
        shutil.copytree(ROOT / name, sources / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, sources)
    make = "import sys; from setuptools import build_meta; build_meta.build_wheel(sys.argv[1])"
    line = [sys.executable, "-c", make, str(sources / "dist")]
    (sources / "dist").mkdir()
    subprocess.run(line, cwd=sources, check=True, capture_output=True, timeout=300)
    (made,) = (sources / "dist").glob("*.whl")
    return made


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the wheel holds."""
    folder = tmp_path_factory.mktemp("installed")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def started(installed: Path, folder: Path, *words: str | Path) -> subprocess.Popen[str]:
    code = (
        "import sys, nsl_bench, nsl_bench.generators as generators, nsl_bench.leaderboard as board\n"
        "from nsl_bench.cli import run\n"
        f"assert all(m.__file__.startswith({str(installed)!r}) for m in (nsl_bench, generators, board))\n"
        "run(sys.argv[1:])"
    )
    line = [sys.executable, "-P", "-c", code, *map(str, words)]
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    return subprocess.Popen(line, cwd=folder, env=environment, text=True, stdout=-1, stderr=-1)


def program(
    installed: Path, folder: Path, *words: str | Path, timeout: float = 300
) -> subprocess.CompletedProcess[str]:
    with started(installed, folder, *words) as process:
        out, errors = process.communicate(timeout=timeout)
    return subprocess.CompletedProcess(words, process.returncode, out, errors)


def test_the_wheel_holds_what_a_first_run_needs(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    paths = [path for name in TREES for path in (ROOT / name).rglob("*") if path.is_file()]
    wanted = {path.relative_to(ROOT).as_posix() for path in paths if "__pycache__" not in path.parts}
    # The repository has these besides: a first run needs none of them.
    wanted = {n for n in wanted if not n.startswith("leaderboard/submissions/") and "_seed" not in n}
    wanted.discard("nsl_bench/logic/README.md")
    wanted = {name if name.startswith("nsl_bench/") else f"nsl_bench/{name}" for name in wanted}
    assert held == wanted
    assert wheel.stat().st_size < 21e6


def test_the_board_is_built_from_the_wheel(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "none").mkdir()
    words = ["leaderboard", "build", "--no-pictures", "--submissions", "none", "--out", "site"]
    done = program(installed, tmp_path, *words)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "site" / "index.html").is_file() and "0 entries" in done.stdout


@pytest.mark.parametrize("words", [("build", "--out", "site"), ("rescore",)])
def test_what_needs_the_submissions_says_where_they_are(
    installed: Path, tmp_path: Path, words: tuple[str, ...]
) -> None:
    done = program(installed, tmp_path, "leaderboard", *words)
    assert done.returncode == 2 and not (tmp_path / "site").exists()
    (sentence,) = done.stderr.splitlines()
    assert "not part of the installed package; run this command in a checkout" in sentence


def write_splits(folder: Path) -> None:
    """Small splits of Sudoku 4x4 in the paper's form."""
    task = registry.create("benchmark", "sudoku_4x4")
    parts: list[tuple[Part, int, str]] = [("test", 1, "test.csv")]
    parts += [("train", repeat, f"small/train_{repeat}.csv") for repeat in range(1, 6)]
    for part, repeat, name in parts:
        split = symbolic_split(task, part, "small", repeat)
        path = folder / "sudoku_4x4" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w", encoding="utf-8", newline="") as file:
            lines = csv.writer(file)
            lines.writerow(["puzzle", "label"])
            for cells, label in zip(split.concepts[:40] + 1, split.labels[:40], strict=True):
                lines.writerow([" ".join(map(str, cells.tolist())), ("valid", "invalid")[label]])


REPRODUCE = ["reproduce", "ffnsl2023", "--task", "sudoku_4x4", "--no-images", "--data", "data", "--out"]


def test_reproducing_says_which_data_it_needs(installed: Path, tmp_path: Path) -> None:
    done = program(installed, tmp_path, *REPRODUCE, "out")
    said = "nsl-bench: --data: the folder of splits data/ffnsl_splits/sudoku_4x4 does not exist;"
    assert done.returncode == 2 and done.stderr.startswith(said)


def test_reproducing_starts_with_the_users_data(installed: Path, tmp_path: Path) -> None:
    write_splits(tmp_path / "data" / "ffnsl_splits")
    out = tmp_path / "out"
    process = started(installed, tmp_path, *REPRODUCE, "out")
    deadline = time.monotonic() + 300
    while process.poll() is None and time.monotonic() < deadline:
        if (out / "store.json").exists() and len(Store(out).done()) > 0:
            break
        time.sleep(0.05)
    process.kill()
    assert {record.status for record in Store(out)} == {"ok"}, process.communicate()[1]


@pytest.mark.slow
def test_a_paper_is_reproduced_with_the_users_data(installed: Path, tmp_path: Path) -> None:
    write_splits(tmp_path / "data" / "ffnsl_splits")
    done = program(installed, tmp_path, *REPRODUCE, "out")
    assert done.returncode == 0, done.stderr
    assert "20 runs done, 0 failed" in done.stdout and list((tmp_path / "out").glob("*.md"))


@pytest.mark.slow
def test_the_main_job_runs_from_the_wheel(installed: Path, tmp_path: Path) -> None:
    done = program(installed, tmp_path, "bench", "--repeats", "1", "--out", "bench", timeout=1800)
    assert done.returncode == 0, done.stderr
    assert len(list((tmp_path / "bench" / "curves").glob("*.png"))) == 3
    again = program(installed, tmp_path, "bench", "--repeats", "1", "--out", "bench")
    assert "0 runs done, 0 failed" in again.stderr
    assert again.stdout.splitlines()[:-1] == done.stdout.splitlines()[:-1]


def test_a_copy_of_the_repository_has_all_parts() -> None:
    """Python that is started there finds its folder nsl_bench before the installed package."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import nsl_bench.generators as g; print(g.__path__[0])"
    )
    line = [sys.executable, "-I", "-S", "-c", code, str(ROOT)]
    assert subprocess.run(line, capture_output=True, text=True, check=True).stdout.strip() == str(
        ROOT / "generators"
    )
