"""`Tests`, the base class of the test classes: pytest collects only classes derived from them."""

from __future__ import annotations

from typing import Any, ClassVar


class Tests:
    """Tests that are collected only in derived classes.

    Importing a class of `nsl_bench.testing` into a module does not run its tests, whatever pytest's
    ``python_classes`` says. A derived class that is itself a base class sets ``__test__ = False``.
    """

    __test__: ClassVar[bool] = False

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.__test__ = cls.__dict__.get("__test__", True)
