"""Conjunctions of placed pieces, and the bounds that a rule has to keep to."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from nsl_bench.budget import Budget
from nsl_bench.las.enumeration.building_blocks import Resources
from nsl_bench.las.tables.columns import Bits

__all__ = ["Conjunction", "Interest", "Limits", "Placement", "covers"]


@dataclass(frozen=True)
class Limits:
    """Bounds on a rule.

    Attributes:
        variables: most variables.
        literals: most body literals; None: no limit.
        recall: most uses of each declaration with a recall.
        budget: time and memory.
    """

    variables: int
    literals: int | None
    recall: tuple[int, ...]
    budget: Budget

    def allow(self, used: Resources) -> bool:
        """Whether `used` keeps to the bounds."""
        return (
            used.variables <= self.variables
            and (self.literals is None or used.literals <= self.literals)
            and all(a <= b for a, b in zip(used.recall, self.recall, strict=True))
        )

    def key(self, used: Resources) -> tuple[int, ...]:
        """What a dominating conjunction must not use more of."""
        literals = () if self.literals is None else (used.literals,)
        return (used.cost, used.variables, *literals, *used.recall)


@dataclass(frozen=True, eq=False)
class Interest:
    """Where it matters whether a body holds: elsewhere its rules fill no cell that an example asks about.

    A position is a word of `cells` that is not zero, numbered in order.

    Attributes:
        cells: uint64 [sizes of the head's variables..., words]: where it matters.
        unwanted: of the same shape: where holding hurts some example.
    """

    cells: Bits
    unwanted: Bits

    @cached_property
    def places(self) -> npt.NDArray[np.intp]:
        """intp [positions]: index of each position in the flat `cells`."""
        return np.flatnonzero(self.cells)

    def spread(self, holds: Bits) -> Bits:
        """uint64 [positions]: where a body holds that is given over the head's variables, or as [words]."""
        if holds.shape == self.cells.shape:
            return holds.reshape(-1)[self.places]
        return holds[self.places % len(holds)]

    def spares(self, parent: Bits, child: Bits) -> bool:
        """Whether a child holds wherever its parent does and is unwanted, so that the parent is no worse."""
        return not ((parent ^ child) & self.unwanted).any()


Placement = tuple[int, tuple[int, ...]]
"""A piece (its index) and the variable in each of its places."""


@dataclass(frozen=True, eq=False)
class Conjunction:
    """A set of placed pieces.

    Attributes:
        types: types of its variables, the fixed ones first, the others sorted.
        placements: sorted.
        used: resources; fixed variables are counted.
        projection: uint64 [sizes of fixed variables..., words]: where it holds.
        unbound: variables without type guard that no positive literal binds yet.
    """

    types: tuple[str, ...]
    placements: tuple[Placement, ...]
    used: Resources
    projection: Bits
    unbound: frozenset[int]
    digest: bytes = b""


def covers(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    """Whether what uses `a` uses nowhere more than `b` (`Limits.key`)."""
    return all(x <= y for x, y in zip(a, b, strict=True))
