"""Tests that every part passes: derive a class, say what the part is, and run pytest.

Imports all rooms but `cli`. Begin with `tasks`. Each kind of part that a package can add has a class here:
`TaskTests`, `SourceTests`, `ShiftTests`, `NetworkTests`, `LearnerTests`, and `EntrantTests` for learners with
an environment of their own. The parts of nsl-bench pass the same tests. A whole test module for a task::

    from nsl_bench.testing import TaskTests


    class TestMyTask(TaskTests):
        spec = "my_task"

``spec`` is what you would write on the command line: a registered name with its options. A task, an image
source or a learner without an entry point overrides ``make`` instead and returns the object. The attributes
of each class are in its docstring. You can add tests of your own to the class; they can use its fixtures.

The classes need pytest (``pip install nsl-bench[testing]``).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

try:
    import pytest
except ModuleNotFoundError:
    raise ModuleNotFoundError(
        "nsl_bench.testing needs pytest; install it with `pip install nsl-bench[testing]`.", name="pytest"
    ) from None

if TYPE_CHECKING:
    from nsl_bench.testing.entrants import EntrantTests
    from nsl_bench.testing.learners import LearnerTests
    from nsl_bench.testing.networks import NetworkTests
    from nsl_bench.testing.shifts import ShiftTests
    from nsl_bench.testing.sources import SourceTests
    from nsl_bench.testing.tasks import TaskTests

__all__ = ["EntrantTests", "LearnerTests", "NetworkTests", "ShiftTests", "SourceTests", "TaskTests"]

_MODULES = {
    "EntrantTests": "nsl_bench.testing.entrants",
    "LearnerTests": "nsl_bench.testing.learners",
    "NetworkTests": "nsl_bench.testing.networks",
    "ShiftTests": "nsl_bench.testing.shifts",
    "SourceTests": "nsl_bench.testing.sources",
    "TaskTests": "nsl_bench.testing.tasks",
}

# So that a failed assertion shows its values, as in a test module.
pytest.register_assert_rewrite(*_MODULES.values())


class Tests:
    """Tests that are collected only in derived classes.

    Importing a class of `nsl_bench.testing` into a module does not run its tests, whatever pytest's
    ``python_classes`` says. A derived class that is itself a base class sets ``__test__ = False``.
    """

    __test__: ClassVar[bool] = False

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.__test__ = cls.__dict__.get("__test__", True)


def __getattr__(name: str) -> Any:
    if name in _MODULES:  # a test of a task need not import torch
        return getattr(import_module(_MODULES[name]), name)
    raise AttributeError(f"module 'nsl_bench.testing' has no attribute '{name}'")
