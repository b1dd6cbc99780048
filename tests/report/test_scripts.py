"""Every script of benchmarks/ can be imported: what it uses of nsl-bench is still there."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import pytest

from .conftest import BENCHMARKS


@pytest.mark.parametrize("name", sorted(path.stem for path in BENCHMARKS.glob("*.py")))
def test_it_can_be_imported(script: Callable[[str], ModuleType], name: str) -> None:
    assert script(name).__doc__
