"""What a record says of where and with what a run was made."""

from __future__ import annotations

import os
import platform
from functools import cache as memoise
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from nsl_bench import __version__
from nsl_bench.isolation.limits import Limits

__all__ = ["environment", "limits_said", "versions"]

_LIBRARIES = ("clingo", "numpy", "python-sat", "scikit-learn", "torch", "torchvision")


def limits_said(limits: Limits | None) -> dict[str, Any]:
    """The limits as a record says them."""
    if limits is None:
        return {}
    return {"time_limit": limits.time, "memory_limit": limits.memory, "threads": limits.threads}


@memoise
def versions() -> dict[str, str]:
    """Of nsl-bench, Python, and the libraries that results may depend on."""
    found = {"nsl-bench": __version__, "python": platform.python_version()}
    for name in _LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


@memoise
def environment() -> dict[str, Any]:
    """The machine."""
    return {"system": platform.platform(), "machine": platform.machine(), "cores": os.cpu_count() or 1}
