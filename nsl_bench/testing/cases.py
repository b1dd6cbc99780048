"""What the test classes have in common: pytest collects only classes that are derived from them."""

from __future__ import annotations

from typing import Any, ClassVar

__all__ = ["Tests"]


class Tests:
    """Tests that are collected in derived classes only.

    A module that imports a class of `nsl_bench.testing` does not run its tests, whatever pytest's
    ``python_classes`` says. A derived class that holds tests for further ones says ``__test__ = False``.
    """

    __test__: ClassVar[bool] = False

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.__test__ = cls.__dict__.get("__test__", True)
