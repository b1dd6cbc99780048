"""Limits, versions and machine of a run, as its record has them."""

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
    """The limits as JSON values."""
    if limits is None:
        return {}
    return {"time_limit": limits.time, "memory_limit": limits.memory, "threads": limits.threads}


@memoise
def versions() -> dict[str, str]:
    """Versions of nsl-bench, Python, and the libraries that results may depend on."""
    found = {"nsl-bench": __version__, "python": platform.python_version()}
    for name in _LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


@memoise
def environment() -> dict[str, Any]:
    """Operating system, processor and number of cores of this machine."""
    return {"system": platform.platform(), "machine": platform.machine(), "cores": os.cpu_count() or 1}
