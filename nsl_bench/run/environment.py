"""Limits, versions and machine of a run, as its record has them."""

from __future__ import annotations

import contextlib
import os
import platform
from functools import cache as memoise
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from nsl_bench import __version__
from nsl_bench.sandbox.limits import Limits

LIBRARIES = (
    "clingo",
    "numba",
    "numpy",
    "opencv-python-headless",
    "pillow",
    "python-sat",
    "scikit-learn",
    "scipy",
    "torch",
    "torchvision",
)
"""Libraries whose versions results may depend on."""

VARIABLES = (
    "ATEN_CPU_CAPABILITY",
    "MKL_CBWR",
    "NPY_DISABLE_CPU_FEATURES",
    "OMP_NUM_THREADS",
    "ONEDNN_MAX_CPU_ISA",
    "OPENBLAS_CORETYPE",
)
"""Environment variables by which libraries choose instructions and threads."""

_INSTRUCTIONS = ("sse4_1", "avx", "avx2", "fma", "avx512f", "avx512_bf16", "amx_bf16", "asimd", "sve", "bf16")
"""Flags of processors by which libraries choose what computes."""


def limits_said(limits: Limits | None) -> dict[str, Any]:
    """The limits as JSON values."""
    if limits is None:
        return {}
    return {"time_limit": limits.time, "memory_limit": limits.memory, "threads": limits.threads}


@memoise
def versions() -> dict[str, str]:
    """Versions of nsl-bench, Python, and the libraries that results may depend on."""
    result = {"nsl-bench": __version__, "python": platform.python_version()}
    for name in LIBRARIES:
        try:
            result[name] = version(name)
        except PackageNotFoundError:
            continue
    return result


@memoise
def processor() -> dict[str, str]:
    """Model and instruction sets of the processor, as far as the system tells them."""
    told: dict[str, str] = {}
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            name, _, value = line.partition(":")
            told.setdefault(name.strip(), value.strip())
    flags = told.get("flags", told.get("Features", "")).split()
    result = {
        "processor": told.get("model name") or platform.processor(),
        "instructions": " ".join(flag for flag in _INSTRUCTIONS if flag in flags),
    }
    return {name: value for name, value in result.items() if value}


def environment() -> dict[str, Any]:
    """Operating system, processor, number of cores, and variables by which libraries choose what computes."""
    chosen = " ".join(f"{name}={os.environ[name]}" for name in VARIABLES if name in os.environ)
    return {
        "system": platform.platform(),
        "machine": platform.machine(),
        "cores": os.cpu_count() or 1,
        **processor(),
        **({"variables": chosen} if chosen else {}),
    }
