"""Building blocks of rule bodies: single literals, and stars of literals around one leaf variable.

A block is a Boolean table over its variables. Bodies are conjunctions of placed blocks; see `search`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from nsl_bench.core.budget import Budget
from nsl_bench.logic.las.bits import Bits
from nsl_bench.logic.las.tables.literals import BodyLiteral
from nsl_bench.logic.las.terms import patterns


class Resources(NamedTuple):
    """The literals and variables that a conjunction uses of its limits.

    Attributes:
        recall: uses of each declaration with a recall, by its place among those.
    """

    cost: int = 0
    literals: int = 0
    variables: int = 0
    recall: tuple[int, ...] = ()

    def plus(self, other: Resources, variables: int = 0) -> Resources:
        """Both together, with `variables` more variables."""
        return Resources(
            self.cost + other.cost,
            self.literals + other.literals,
            self.variables + other.variables + variables,
            tuple(a + b for a, b in zip(self.recall, other.recall, strict=True)),
        )


class Limits(NamedTuple):
    """Bounds on a rule.

    Attributes:
        recall: most uses of each declaration with a recall.
    """

    variables: int
    literals: int | None
    recall: tuple[int, ...]
    budget: Budget

    def allow(self, used: Resources, more: Resources, variables: int = 0) -> bool:
        """Whether `used`, `more` and `variables` more variables together keep to the bounds.

        Args:
            variables: number of variables besides those of both.
        """
        return (
            used.variables + more.variables + variables <= self.variables
            and (self.literals is None or used.literals + more.literals <= self.literals)
            and all(a + b <= c for a, b, c in zip(used.recall, more.recall, self.recall, strict=True))
        )

    def key(self, used: Resources) -> tuple[int, ...]:
        """The resources of which a dominating conjunction must not use more."""
        literals = () if self.literals is None else (used.literals,)
        return (used.cost, used.variables, *literals, *used.recall)


_Seen = TypeVar("_Seen")

LEAF = -1

Part = tuple[int, tuple[int, ...]]
"""A literal (its index) and the variable at each of its places; `LEAF` stands for a star's leaf variable."""

Shape = tuple[tuple[int, tuple[int, ...]], ...]
"""What constraints see of literals: the kind of each (`BodyLiteral.kind`) and its variables, in order."""

Placement = tuple[int, tuple[int, ...]]
"""A block (its index) and the variable at each of its places."""

Positions = npt.NDArray[np.intp]
"""intp [k]: positions of a `Relevance`."""


class BuildingBlock(NamedTuple):
    """A building block.

    Attributes:
        types: types of its places, each place a variable of its own.
        parts: its literals; variables are places, or `LEAF`.
        used: its resources; `variables` counts the leaf alone.
        symmetric: exchanging its two places changes nothing, neither its table nor what it binds.
        varies: its truth differs from column to column.
        binds: places that a positive literal of it makes safe and no type guard does.
        family: predicate and sign of a single literal, where equal ground literals are ruled out.
        shape: what constraints see of its parts, where rules are held to some: kinds and places.
    """

    types: tuple[str, ...]
    table: Bits
    parts: tuple[Part, ...]
    used: Resources
    symmetric: bool
    varies: bool
    binds: frozenset[int]
    family: tuple[str, int, bool] | None = None
    shape: Shape = ()


@dataclass(frozen=True, eq=False)
class Blocks:
    """The blocks of a search, their tables one after the other in one array.

    Attributes:
        literals: what their parts are indices into.
        pool: uint64 [cells]: all tables; each block's table is a view.
    """

    items: tuple[BuildingBlock, ...]
    literals: Sequence[BodyLiteral]
    pool: Bits
    starts: tuple[int, ...]

    @classmethod
    def of(cls, blocks: list[BuildingBlock], literals: Sequence[BodyLiteral]) -> Blocks:
        """Moves the tables of `blocks` into one array; empties the list, so that no table is held twice."""
        sizes = [block.table.size for block in blocks]
        starts = np.cumsum([0, *sizes]).tolist()
        pool = np.empty(starts[-1], np.uint64)
        moved = []
        blocks.reverse()
        for start, size in zip(starts, sizes, strict=False):
            block = blocks.pop()
            table = pool[start : start + size].reshape(block.table.shape)
            table[...] = block.table
            moved.append(block._replace(table=table))
        return cls(tuple(moved), literals, pool, tuple(starts[:-1]))

    @cached_property
    def types(self) -> frozenset[str]:
        """The types of all places."""
        return frozenset(kind for block in self.items for kind in block.types)


class BlockMaker(NamedTuple):
    """Makes blocks, with what can be read off their tables.

    Attributes:
        literals: what parts are indices into.
        full: uint64 [words], all columns.
        unguarded: types whose variables only positive literals make safe.
        sighted: blocks have shapes.
    """

    literals: Sequence[BodyLiteral]
    full: Bits
    unguarded: frozenset[str]
    sighted: bool = False

    def make(
        self, types: tuple[str, ...], table: Bits, parts: tuple[Part, ...], used: Resources
    ) -> BuildingBlock:
        """The block of these types, table, parts and resources (see `BuildingBlock`)."""
        binds = frozenset(
            variable
            for i, variables in parts
            if self.literals[i].binds
            for variable in variables
            if variable >= 0 and types[variable] in self.unguarded
        )
        exchangeable = len(types) == 2 and types[0] == types[1] and len(binds) != 1
        symmetric = exchangeable and np.array_equal(table, np.swapaxes(table, 0, 1))
        varies = _varies(table, self.full)
        if not self.sighted:
            return BuildingBlock(types, table, parts, used, symmetric, varies, binds)
        shape = tuple(sorted((self.literals[i].kind, variables) for i, variables in parts))
        return BuildingBlock(types, table, parts, used, False, varies, binds, None, shape)

    def of_literals(self, most_variables: int, *, without_replacement: bool = False) -> list[BuildingBlock]:
        """One block for each literal and each way in which its places may share variables.

        Args:
            without_replacement: literals of one predicate and sign must differ as ground atoms.
        """
        places = limited_modes(self.literals)
        blocks: list[BuildingBlock] = []
        for index, literal in enumerate(self.literals):
            recall = [0] * len(places)
            if literal.mode.recall is not None:
                recall[places[literal.mode.mode]] = 1
            for pattern in patterns(literal.types, most_variables):
                twice = any(len(set(each)) < len(each) for each in (pattern, literal.constants))
                if literal.mode.anti_reflexive and twice:
                    continue
                table = _diagonal(literal.table, pattern)
                if not table.any():
                    continue
                types = tuple(literal.types[pattern.index(k)] for k in range(max(pattern, default=-1) + 1))
                used = Resources(literal.costs[pattern], literal.size, 0, tuple(recall))
                block = self.make(types, table, ((index, pattern),), used)
                if without_replacement:
                    block = block._replace(symmetric=False, family=literal.family)
                blocks.append(block)
        return blocks


def _varies(table: Bits, full: Bits) -> bool:
    """Whether some cell holds in one column and not in another."""
    if len(full) == 1:
        return bool(((table != 0) & (table != full)).any())
    some = (table != 0).any(axis=-1)
    return bool((some & (table != full).any(axis=-1)).any())


def limited_modes(literals: Iterable[BodyLiteral]) -> dict[int, int]:
    """Declarations with a recall, each with its place in `Resources.recall`."""
    modes = dict.fromkeys(x.mode.mode for x in literals if x.mode.recall is not None)
    return {mode: place for place, mode in enumerate(modes)}


def _diagonal(table: Bits, pattern: tuple[int, ...]) -> Bits:
    """The table over distinct variables: places that share a variable keep the diagonal."""
    k = max(pattern, default=-1) + 1
    if k == len(pattern):
        return table
    words = len(pattern)
    return np.ascontiguousarray(np.einsum(table, [*pattern, words], [*range(k), words]))


def placed_view(table: Bits, variables: tuple[int, ...], n: int) -> Bits:
    """A block's table with an axis for each of `n` variables, of extent 1 where it has none.

    Args:
        variables: the variable at each of its places, all different.
    """
    order = sorted(range(len(variables)), key=lambda place: variables[place])
    transposed = table.transpose(*order, len(variables))
    sizes = dict(zip(sorted(variables), transposed.shape, strict=False))
    return transposed.reshape(*(sizes.get(v, 1) for v in range(n)), table.shape[-1])


def counted(shape: Sequence[_Seen]) -> tuple[tuple[_Seen, ...], tuple[int, ...]]:
    """The different members of a sorted shape, and how often each is there.

    A body of the same members is allowed if another one is that has none of them less often.
    """
    if not shape:
        return (), ()
    result = Counter(shape)
    return tuple(result), tuple(result.values())


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
        """
        return not ((parent ^ child) & self.unwanted).any()


class Conjunction(NamedTuple):
    """A set of placed blocks.

    Attributes:
        types: types of its variables, the fixed ones first, the others sorted.
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
