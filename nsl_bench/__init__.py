"""nsl-bench: the benchmark for neural-symbolic learning under distributional shift."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nsl_bench.errors import UserError

if TYPE_CHECKING:
    from nsl_bench.data.load import load

__all__ = ["UserError", "__version__", "load"]

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name == "load":
        from nsl_bench.data.load import load

        return load
    raise AttributeError(f"module 'nsl_bench' has no attribute '{name}'")
