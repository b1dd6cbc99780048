"""Conjunctions of placed blocks, and where it matters whether they hold."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from nsl_bench.logic.las.enumeration.building_blocks import Placement
from nsl_bench.logic.las.enumeration.resources import Resources
from nsl_bench.logic.las.tables.columns import Bits

__all__ = ["Conjunction", "Positions", "Relevance"]

Positions = npt.NDArray[np.intp]
"""intp [k]: positions of a `Relevance`."""


@dataclass(frozen=True, eq=False)
class Relevance:
    """Where it matters whether a body holds: elsewhere its rules fill no cell that an example asks about.

    A position is a word of `cells` that is not zero, numbered in order.

    Attributes:
        cells: uint64 [sizes of the head's variables..., words]: where it matters.
        unwanted: of the same shape: where holding hurts some example.
    """

    cells: Bits
    unwanted: Bits

    @cached_property
    def positions(self) -> Positions:
        """intp [positions]: index of each position in the flat `cells`."""
        return np.flatnonzero(self.cells)

    def restrict(self, holds: Bits) -> Bits:
        """uint64 [positions]: where a body holds that is given over the head's variables, or as [words]."""
        if holds.shape == self.cells.shape:
            return holds.reshape(-1)[self.positions]
        return holds[self.positions % len(holds)]

    def as_harmful(self, parent: Bits, child: Bits) -> bool:
        """Whether a child holds wherever its parent does and is unwanted, so that the parent is no worse.

        Args:
            parent: uint64, of the shape of `cells`: where the parent holds.
            child: the same of the child.
        """
        return not ((parent ^ child) & self.unwanted).any()


class Conjunction(NamedTuple):
    """A set of placed blocks.

    Attributes:
        types: types of its variables, the fixed ones first, the others sorted.
        placements: sorted.
        used: resources; fixed variables are counted.
        projection: uint64 [sizes of fixed variables..., words]: where it holds.
        unbound: variables without type guard that no positive literal binds yet.
        key: equal for conjunctions that behave alike in all rules.
        counts: how often it has each member of its shape; what has more of one may be forbidden.
    """

    types: tuple[str, ...]
    placements: tuple[Placement, ...]
    used: Resources
    projection: Bits
    unbound: frozenset[int]
    key: tuple[object, ...] = ()
    counts: tuple[int, ...] = ()
