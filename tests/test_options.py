"""Options are declared once: what a declaration excludes is refused with one sentence, in every part."""

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

from nsl_bench.core import registry
from nsl_bench.core.errors import UserError
from nsl_bench.core.options import REQUIRED, HasOptions, Option, choices_of, option, options_of
from nsl_bench.core.shift import PixelShift


def excluded(one: Option) -> Iterator[object]:
    """Values that a declaration excludes: beyond its bounds, and of other types."""
    choices = choices_of(one.hint)
    if not registry._is_written(one.hint):
        return
    yield object()
    small = 1 if float not in choices else 1e-6
    for bound, beyond in ((one.least, -small), (one.most, small), (one.above, 0), (one.below, 0)):
        if bound is not None:
            yield bound + beyond
    if str not in choices and Path not in choices:
        yield "nonsense"
    if {int, float} & set(choices):
        yield from (True, float("nan"))


DECLARED = [
    (kind, name)
    for kind in registry.KINDS
    for name in registry.names(kind)
    if options_of(registry.factory(kind, name))
]


@pytest.mark.parametrize(("kind", "name"), DECLARED)
def test_what_a_declaration_excludes_is_one_sentence(kind: registry.Kind, name: str) -> None:
    make = registry.factory(kind, name)
    declared = options_of(make) or {}
    right = {int: 3, float: 30.0}
    needed = {key: right.get(one.hint, "x") for key, one in declared.items() if one.default is REQUIRED}
    for key, one in declared.items():
        for value in excluded(one):
            with pytest.raises(UserError, match=rf"^\w+: {key} must be .+; got .+\.$"):
                make(**{**needed, key: value})


class Base(HasOptions):
    """A base.

    Attributes:
        double: twice the size.
    """

    name = "base"
    size: int = option(1, "of it", least=1, most=9, unit="pixels")
    seed: int = option(0, "random seed")

    def __post_init__(self) -> None:
        self.double = 2 * self.size


class Derived(Base):
    """With more."""

    name = "derived"
    share: float = option(0.5, "how much of it", above=0, most=1)
    kind: Literal["a", "b"] | None = option(None, "which", after="size", later=True)
    size = 4


class Plain(Base):
    """With a constructor of its own."""

    def __init__(self, depth: int = 3) -> None:
        super().__init__(depth)


class Negative(PixelShift):
    """A shift without options."""

    spec = "negative"

    def apply(self, images, indices):
        return 255 - images


def test_a_class_without_options_stays_as_it_is() -> None:
    assert Negative().spec == "negative" and Negative().option_values() == {} and options_of(Negative) == {}


def test_a_class_gets_its_constructor_and_its_docstring() -> None:
    assert list(inspect.signature(Derived).parameters) == ["share", "size", "kind", "seed"]
    assert Base(np.int64(3)).double == 6 and Derived().double == 8 and Base().size == 1
    assert Derived(0.25, kind="b").option_values() == {"share": 0.25, "size": 4, "kind": "b", "seed": 0}
    assert "kind" not in Derived().option_values()
    told = "\n\nArgs:\n    size: of it.\n    seed: random seed.\n\nAttributes:\n    double:"
    assert told in str(Base.__doc__)
    assert Plain(5).size == 5 and list(inspect.signature(Plain).parameters) == ["depth"]
    with pytest.raises(TypeError):
        Base(sise=3)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"size": 10}, "derived: size must be between 1 and 9 pixels; got 10."),
        ({"size": 1.5}, "derived: size must be a whole number between 1 and 9 pixels; got 1.5."),
        ({"share": 0}, "derived: share must be above 0 and at most 1; got 0."),
        ({"share": "x"}, "derived: share must be a number above 0 and at most 1; got 'x'."),
        ({"kind": "c"}, "derived: kind must be one of a, b; got 'c'."),
    ],
)
def test_the_sentence_says_what_would_be_right(given: dict[str, object], sentence: str) -> None:
    with pytest.raises(UserError) as caught:
        Derived(**given)
    assert str(caught.value) == sentence
