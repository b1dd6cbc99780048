"""Distributional shift: a named, parametrised, deterministic change of an example's images.

A shift changes images, never concepts or labels. Shifts are found by name in the entry-point group
``nsl_bench.shifts`` and identified by their spec (``rotate:90``). Shifts joined by ``+``
(``gaussian_blur:9,3+rotate:180``) are applied one after the other.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import partial
from typing import ClassVar

from nsl_bench.core import registry
from nsl_bench.core.benchmark import Benchmark, not_here
from nsl_bench.core.errors import UserError
from nsl_bench.core.options import HasOptions
from nsl_bench.core.source import ImageSource
from nsl_bench.core.types import Ints, PoolPart, UInts8

STANDARD = "standard"
"""The name of "no shift"."""

_JOINT = "+"

_BEYOND = 40
"""No image has an index of as many bits."""


class Shift(HasOptions, ABC):
    """A change of images.

    Attributes:
        spec: name and parameters, e.g. ``"rotate:90"``.
        version: changes whenever the same parameters give other pixels.
        examples: specs that show what it does, from slight to strong; for pictures of all shifts.
    """

    spec: str
    version: str = "1"
    examples: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        values = [f"{v:.10g}" if isinstance(v, float) else str(v) for v in self.option_values().values()]
        if values:
            self.spec = f"{getattr(self, 'name', '')}:{','.join(values)}"

    @abstractmethod
    def render(self, source: ImageSource, part: PoolPart, indices: Ints) -> UInts8:
        """uint8 [m, height, width, channels]: shifted versions of these images of the pool."""

    def check(self, source: ImageSource) -> None:
        """Raise a UserError if this shift cannot be applied to the source."""


class PixelShift(Shift):
    """A shift that operates on pixels, seeded by image."""

    @abstractmethod
    def apply(self, images: UInts8, indices: Ints) -> UInts8:
        """Change unshifted images, uint8 [m, height, width, channels]; `indices` seed the randomness."""

    def render(self, source: ImageSource, part: PoolPart, indices: Ints) -> UInts8:
        return self.apply(source.render(part, indices, source.variants[0]), indices)


class Sequence(Shift):
    """Shifts applied one after the other; all but the first operate on pixels."""

    def __init__(self, shifts: tuple[Shift, ...]) -> None:
        """Join shifts.

        Raises:
            UserError: a shift after the first does not operate on pixels, such as a deck swap.
        """
        self.first, *rest = shifts
        self.rest: list[PixelShift] = []
        for shift in rest:
            if not isinstance(shift, PixelShift):
                raise UserError(
                    f"'{shift.spec}' changes the image source and must come first in a sequence of shifts."
                )
            self.rest.append(shift)
        self.spec = _JOINT.join(shift.spec for shift in shifts)
        versions = [shift.version for shift in shifts]
        self.version = "1" if set(versions) == {"1"} else _JOINT.join(versions)

    def check(self, source: ImageSource) -> None:
        """Raise a UserError unless every shift can be applied to the source."""
        for shift in (self.first, *self.rest):
            shift.check(source)

    def render(self, source: ImageSource, part: PoolPart, indices: Ints) -> UInts8:
        images = self.first.render(source, part, indices)
        before = [_name(self.first)]
        for shift in self.rest:
            # What comes again comes with other chance.
            again = before.count(_name(shift))
            images = shift.apply(images, indices + (again << _BEYOND))
            before.append(_name(shift))
        return images


def _name(shift: Shift) -> str:
    return registry.Spec.parse(shift.spec).name


def named_shifts(benchmark: Benchmark, source: ImageSource) -> Mapping[str, str]:
    """Specs of the shifts of a benchmark on a source, by short name."""
    return {**benchmark.named_shifts, **source.named_shifts}


def _shifts_of(benchmark: Benchmark, short: Mapping[str, str], other: Benchmark) -> Mapping[str, str]:
    """The named shifts of another benchmark on its usual images; those of the first one are `short`."""
    if other is benchmark:
        return short
    return named_shifts(other, registry.create("source", other.sources[0], concept_space=other.concept_space))


def resolve(text: str, benchmark: Benchmark, source: ImageSource) -> Shift | None:
    """The shift named by a short name, a spec, or several joined by ``+``; None for ``"standard"``."""
    if text == STANDARD:
        return None
    short = named_shifts(benchmark, source)
    steps = [step for piece in text.split(_JOINT) for step in short.get(piece.strip(), piece).split(_JOINT)]
    shifts = []
    for step in steps:
        if registry.Spec.parse(step).name not in registry.names("shift"):
            general = [STANDARD, *registry.names("shift")]
            raise not_here("shift", step, benchmark, partial(_shifts_of, benchmark, short), general)
        shift: Shift = registry.create("shift", step)
        shift.check(source)
        shifts.append(shift)
    return shifts[0] if len(shifts) == 1 else Sequence(tuple(shifts))


def short_name(shift: Shift | None, benchmark: Benchmark, source: ImageSource) -> str:
    """The name of a shift in results: its short name if it has one, else its spec."""
    if shift is None:
        return STANDARD
    by_spec = {spec: short for short, spec in named_shifts(benchmark, source).items()}
    return by_spec.get(shift.spec, shift.spec)
