"""Imports point downwards: the order of layers is written in pyproject.toml."""

import importlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from one_tree import ROOT, link_tree


def lint(place: Path) -> str:
    """What the contracts of pyproject.toml find in the package that lies in a folder; empty: nothing."""
    code = "from importlinter.cli import lint_imports; raise SystemExit(lint_imports(no_cache=True))"
    env = {**os.environ, "PYTHONPATH": str(place)}
    found = subprocess.run(
        [sys.executable, "-c", code], cwd=place, env=env, capture_output=True, text=True, check=False
    )
    return found.stdout[-3000:] + found.stderr[-1000:] if found.returncode else ""


def test_imports_point_downwards(tmp_path: Path) -> None:
    """The whole package, generators and leaderboard included, which lie elsewhere in the checkout."""
    package = link_tree(tmp_path)
    assert lint(tmp_path) == ""
    (package / "run").unlink()
    shutil.copytree(ROOT / "nsl_bench" / "run", package / "run")
    with (package / "run" / "job.py").open("a", encoding="utf-8") as job:
        job.write("\nimport nsl_bench.cli.running\n")
    assert "nsl_bench.run is not allowed to import nsl_bench.cli" in lint(tmp_path)


def test_no_module_has_the_name_of_what_its_package_offers() -> None:
    """`from package import name` would give the one or the other, depending on what was imported before."""
    for init in [
        path
        for top in ("nsl_bench", "generators", "leaderboard")
        for path in (ROOT / top).rglob("__init__.py")
    ]:
        package = ".".join(init.parent.relative_to(ROOT).parts)
        package = package if package.startswith("nsl_bench") else f"nsl_bench.{package}"
        offered = set(getattr(importlib.import_module(package), "__all__", ()))
        modules = {path.stem for path in init.parent.glob("*.py")} | {
            path.parent.name for path in init.parent.glob("*/__init__.py")
        }
        assert offered & modules == set(), package
