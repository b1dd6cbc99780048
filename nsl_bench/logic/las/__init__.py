"""The rule learner: noisy learning from answer sets, exact, on tasks in FastLAS's and ILASP's syntax."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nsl_bench.logic.las.bias.space import hypothesis_space
    from nsl_bench.logic.las.language_bias import LanguageBias
    from nsl_bench.logic.las.solver import solve
    from nsl_bench.logic.las.task import LasTask, Progress, Solution

__all__ = ["LanguageBias", "LasTask", "Progress", "Solution", "hypothesis_space", "solve"]

_HOMES = {
    "LanguageBias": "nsl_bench.logic.las.language_bias",
    "LasTask": "nsl_bench.logic.las.task",
    "Progress": "nsl_bench.logic.las.task",
    "Solution": "nsl_bench.logic.las.task",
    "hypothesis_space": "nsl_bench.logic.las.bias.space",
    "solve": "nsl_bench.logic.las.solver",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
