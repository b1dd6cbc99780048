"""A generated data set that the tests of this folder share; who changes it takes a copy."""

import shutil
from pathlib import Path

import pytest

from nsl_bench.core import registry
from nsl_bench.data.generate import generate
from nsl_bench.data.recipe import Recipe

BENCHMARKS = [
    name
    for name in registry.names("benchmark")
    if registry.create("benchmark", name).sources[0] in registry.names("source")
]
"""Those whose images come with the package."""

RECIPE = Recipe("sudoku_4x4", train=24, test=20, repeats=2, percents=(50.0,), images="all")


@pytest.fixture(scope="session")
def grids(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Little grids, standard and turned."""
    out = tmp_path_factory.mktemp("sets") / "grids"
    generate(RECIPE, out)
    return out


@pytest.fixture
def copied(grids: Path, tmp_path: Path) -> Path:
    """A copy of `grids` that a test may spoil."""
    return Path(shutil.copytree(grids, tmp_path / "copy"))
