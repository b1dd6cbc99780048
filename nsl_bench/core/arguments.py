"""Checked arguments: a wrong one of a public function gets a sentence, in place of a traceback from inside.

    @checked_arguments({"repeat": Allowed("a whole number of 1 or more", whole(1))})
    def load(benchmark, *, repeat=1): ...

An unknown keyword is answered with the nearest known one.
"""

from __future__ import annotations

import functools
import inspect
import math
import reprlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

from nsl_bench.core.errors import UserError, did_you_mean

__all__ = ["Allowed", "checked_arguments", "number", "of", "whole"]

P = ParamSpec("P")
R = TypeVar("R")

_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 80


@dataclass(frozen=True)
class Allowed:
    """Allowed values of an argument.

    Attributes:
        words: text after "must be": ``"a whole number of 1 or more"``.
        test: whether a value is allowed.
    """

    words: str
    test: Callable[[Any], bool]


def whole(least: int, most: float = math.inf) -> Callable[[Any], bool]:
    """A test for whole numbers in a range; True and 1.0 fail."""
    return lambda value: isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def number(least: float, most: float) -> Callable[[Any], bool]:
    """A test for numbers in a range; True and NaN fail."""
    return lambda value: (
        isinstance(value, int | float) and not isinstance(value, bool) and least <= value <= most
    )


def of(*types: type) -> Callable[[Any], bool]:
    """A test for values of these types."""
    return lambda value: isinstance(value, types)


def checked_arguments(allowed: Mapping[str, Allowed]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorator that checks the arguments of a function before the call.

    Args:
        allowed: allowed values of each argument. A default value is always allowed. NumPy scalars count as
            Python numbers.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        signature = inspect.signature(function)
        name = function.__name__

        @functools.wraps(function)
        def checked(*args: P.args, **kwargs: P.kwargs) -> R:
            for key in kwargs:
                if key not in signature.parameters:
                    nearest = did_you_mean(key, signature.parameters)
                    raise UserError(f"{name} has no argument '{key}'.{nearest}")
            try:
                bound = signature.bind(*args, **kwargs)
            except TypeError as error:
                raise UserError(f"{name}: {error}.") from None
            for key, value in bound.arguments.items():
                bound.arguments[key] = _checked(
                    key, value, allowed.get(key), signature.parameters[key].default
                )
            return function(*bound.args, **bound.kwargs)

        return checked

    return decorate


def _checked(name: str, value: Any, allowed: Allowed | None, default: Any) -> Any:
    if type(value).__module__ == "numpy" and getattr(value, "ndim", None) == 0:
        value = value.item()
    if allowed is None or value is default or allowed.test(value):
        return value
    raise UserError(f"{name} must be {allowed.words}; got {_SHORT.repr(value)}.")
