"""Scripts of the folder benchmarks, whose pages are tested here."""

import importlib.util
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
Script = Callable[[str], ModuleType]


@pytest.fixture(scope="session")
def script() -> Iterator[Script]:
    """Imports a script from its file, as `benchmarks.NAME`: pytest makes modules of folders named like it."""

    def load(name: str) -> ModuleType:
        full = f"benchmarks.{name}"
        if full not in sys.modules:
            spec = importlib.util.spec_from_file_location(full, BENCHMARKS / f"{name}.py")
            assert spec is not None and spec.loader is not None
            module = sys.modules[full] = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
        return sys.modules[full]

    sys.path.insert(0, str(BENCHMARKS))
    try:
        yield load
    finally:
        sys.path.remove(str(BENCHMARKS))
