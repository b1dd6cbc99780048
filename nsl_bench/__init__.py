"""nsl-bench: the benchmark for neural-symbolic learning under distributional shift.

The public functions are imported on first use, so that ``import nsl_bench`` is fast.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

from nsl_bench.core.errors import UserError

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec

    from nsl_bench.api.evaluation import evaluate, views
    from nsl_bench.api.explanation import explain
    from nsl_bench.api.learning import learn
    from nsl_bench.api.networks import train_network
    from nsl_bench.api.parts import list_parts, part_info, register
    from nsl_bench.api.results import Results, compare, results
    from nsl_bench.api.rule_classifier import RuleClassifier
    from nsl_bench.api.rules import predict
    from nsl_bench.api.tasks import list_tasks
    from nsl_bench.api.verification import verify
    from nsl_bench.data.load import as_sequences, load
    from nsl_bench.leaderboard.interface import accept_submission, build_site, score_submission, submit
    from nsl_bench.learners.answering import answer
    from nsl_bench.run.grid import Options
    from nsl_bench.run.logs import logger
    from nsl_bench.run.shortcuts import count_shortcuts
    from nsl_bench.sandbox.limits import Limits

__all__ = [
    "Limits",
    "Options",
    "Results",
    "RuleClassifier",
    "UserError",
    "__version__",
    "accept_submission",
    "answer",
    "as_sequences",
    "build_site",
    "compare",
    "count_shortcuts",
    "evaluate",
    "explain",
    "learn",
    "list_parts",
    "list_tasks",
    "load",
    "logger",
    "part_info",
    "predict",
    "register",
    "results",
    "score_submission",
    "submit",
    "train_network",
    "verify",
    "views",
]

__version__ = "0.2.0"


class _Beside:
    """Finds the two packages beside this folder where Python is started in a copy of the repository.

    It then finds this folder before an installed package, which has them inside.
    """

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if name not in ("nsl_bench.generators", "nsl_bench.leaderboard"):
            return None
        from importlib.util import spec_from_file_location
        from pathlib import Path

        folder = Path(__file__).resolve().parents[1] / name.removeprefix("nsl_bench.")
        return spec_from_file_location(name, folder / "__init__.py", submodule_search_locations=[str(folder)])


sys.meta_path.append(_Beside)

_HOME = {
    "Limits": "nsl_bench.sandbox.limits",
    "Options": "nsl_bench.api.evaluation",
    "Results": "nsl_bench.api.results",
    "RuleClassifier": "nsl_bench.api.rule_classifier",
    "accept_submission": "nsl_bench.leaderboard.interface",
    "answer": "nsl_bench.learners.answering",
    "as_sequences": "nsl_bench.data.load",
    "build_site": "nsl_bench.leaderboard.interface",
    "compare": "nsl_bench.api.results",
    "count_shortcuts": "nsl_bench.run.shortcuts",
    "evaluate": "nsl_bench.api.evaluation",
    "explain": "nsl_bench.api.explanation",
    "learn": "nsl_bench.api.learning",
    "list_parts": "nsl_bench.api.parts",
    "list_tasks": "nsl_bench.api.tasks",
    "load": "nsl_bench.data.load",
    "logger": "nsl_bench.run.logs",
    "part_info": "nsl_bench.api.parts",
    "predict": "nsl_bench.api.rules",
    "register": "nsl_bench.api.parts",
    "results": "nsl_bench.api.results",
    "score_submission": "nsl_bench.leaderboard.interface",
    "submit": "nsl_bench.leaderboard.interface",
    "train_network": "nsl_bench.api.networks",
    "verify": "nsl_bench.api.verification",
    "views": "nsl_bench.api.evaluation",
}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module 'nsl_bench' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
