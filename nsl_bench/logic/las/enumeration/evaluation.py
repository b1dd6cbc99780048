"""Tables of conjunctions of placed blocks: computed by numpy when needed, and never kept.

One chunk of columns of a table is held at a time, so that memory stays bounded. For large tables there is
`compiled`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nsl_bench.logic.las.bits import Bits
from nsl_bench.logic.las.enumeration.building_blocks import (
    Blocks,
    Conjunction,
    Limits,
    Placement,
    Relevance,
    Resources,
    placed_view,
)
from nsl_bench.logic.las.enumeration.canonical import Order, TableDigest
from nsl_bench.logic.las.tables.literals import Vocabulary

if TYPE_CHECKING:
    from nsl_bench.logic.las.enumeration.without_replacement import Distinctness

_CHUNK_BYTES = 1 << 26
_TEMPORARIES = 8
"""Tables as large as a chunk that are held at a time, at most."""
_RENAMED_BYTES = 1 << 21
"""Tables that are compared under all renamings: bytes times renamings."""


class Extension(NamedTuple):
    """A conjunction with one placed block more.

    Attributes:
        orders: the orders of variables to compare its table under.
        canonical: sorted types and placements, and the order that sorts them (`Renamings.least`).
    """

    placement: Placement
    types: tuple[str, ...]
    orders: Sequence[Order]
    used: Resources
    canonical: tuple[tuple[str, ...], tuple[Placement, ...], Order]


class Tables:
    """Tables of conjunctions.

    Args:
        fixed: types of the variables that are kept in projections, the first ones of each conjunction.
        relevance: where they matter; None: everywhere.
    """

    renamed_bytes = _RENAMED_BYTES

    def __init__(
        self,
        vocabulary: Vocabulary,
        blocks: Blocks,
        fixed: tuple[str, ...],
        limits: Limits,
        relevance: Relevance | None,
    ) -> None:
        self._vocabulary = vocabulary
        self._blocks = blocks
        self._fixed = fixed
        self._relevance = relevance
        self._words = vocabulary.columns.words
        self._limits = limits
        self._sizes = {kind: vocabulary.domain(kind).size for kind in {*fixed, *blocks.types}}
        self._distinctness: Distinctness | None = None
        if vocabulary.without_replacement:
            from nsl_bench.logic.las.enumeration.without_replacement import Distinctness

            self._distinctness = Distinctness(vocabulary, blocks.literals)
        self._chunk_bytes = min(_CHUNK_BYTES, limits.budget.room() // _TEMPORARIES)
        self._parent: tuple[Conjunction, slice, Bits] | None = None

    def sizes(self, types: Sequence[str]) -> tuple[int, ...]:
        """The extents of tables over variables of these types."""
        return tuple(self._sizes[kind] for kind in types)

    def volume(self, types: Sequence[str]) -> int:
        """Bytes of a table over variables of these types."""
        return 8 * self._words * math.prod(self.sizes(types))

    def compared(self, types: Sequence[str], orders: Sequence[Order], chosen: Order) -> Sequence[Order]:
        """The orders to take digests under: all, or one for a large table."""
        return [chosen] if len(orders) * self.volume(types) > self.renamed_bytes else orders

    def start(self) -> tuple[Bits, list[bytes]]:
        """Where the empty conjunction over the fixed variables holds, and its digest."""
        base = self._base(self._fixed, range(len(self._fixed)))
        table = np.ascontiguousarray(np.broadcast_to(base, (*self.sizes(self._fixed), self._words)))
        digest = TableDigest(self.sizes(self._fixed), self._words)
        digest.add(table, 0)
        return table, digest.under([tuple(range(len(self._fixed)))])

    def extend(self, state: Conjunction, extension: Extension) -> tuple[Bits, list[bytes]]:
        """Projection and digests (one under each of its orders) of an extension of `state`.

        Where literals are grounded without replacement there are no digests: what else may be added depends
        on the literals, so that equal tables do not make conjunctions equal.
        """
        types = extension.types
        digest = None if self._distinctness else TableDigest(self.sizes(types), self._words)
        projections = []
        for words in self._chunks(types):
            table = self._extended(state, extension, words)
            if digest is not None:
                digest.add(table, words.start)
            axes = tuple(range(len(self._fixed), len(types)))
            projections.append(np.bitwise_or.reduce(table, axis=axes) if axes else table)
        projection = projections[0] if len(projections) == 1 else np.concatenate(projections, axis=-1)
        return projection, [] if digest is None else digest.under(extension.orders)

    def tested(
        self, types: Sequence[str], placements: Sequence[Placement], tests: Iterable[int]
    ) -> list[Bits]:
        """The table of placed blocks with each of some blocks of the first variable alone."""
        table = self._table(types, placements, slice(None))
        return [table & self._view((index, (0,)), len(types)) for index in tests]

    def without_first(self, types: tuple[str, ...], placements: Sequence[Placement]) -> Bits:
        """uint64 [sizes[1:]..., words]: where some value of the first variable makes the blocks hold."""
        self._limits.budget.take(self.volume(types[1:]), "tables of stars")
        tables = (self._table(types, placements, words) for words in self._chunks(types))
        return np.concatenate([np.bitwise_or.reduce(table, axis=0) for table in tables], axis=-1)

    def _chunks(self, types: Sequence[str]) -> Iterator[slice]:
        """The words of a table over variables of these types that are computed at a time."""
        step = max(1, self._chunk_bytes * self._words // max(1, self.volume(types)))
        return (slice(first, first + step) for first in range(0, self._words, step))

    def _extended(self, state: Conjunction, extension: Extension, words: slice) -> Bits:
        """uint64 [sizes..., words]: the table of an extension, from that of `state`."""
        if self._parent is None or self._parent[0] is not state or self._parent[1] != words:
            self._parent = None
            self._parent = (state, words, self._table(state.types, state.placements, words))
        parent = self._parent[2]
        n = len(extension.types)
        table = parent.reshape(*parent.shape[:-1], *(1,) * (n - len(state.types)), parent.shape[-1])
        table = table & self._view(extension.placement, n)[..., words]
        for other in state.placements if self._distinctness else ():
            mask = self._mask(other, extension.placement, extension.types)
            if mask is not None:
                table &= mask
        return table

    def _table(self, types: Sequence[str], placements: Sequence[Placement], words: slice) -> Bits:
        """uint64 [sizes..., words]: where the placed blocks hold together and that matters."""
        bound = {variable for _, variables in placements for variable in variables}
        result = self._base(types, [v for v in range(len(types)) if v not in bound], words)
        for placement in placements:
            result = result & self._view(placement, len(types))[..., words]
        for one, other in itertools.combinations(placements, 2) if self._distinctness else ():
            mask = self._mask(one, other, types)
            if mask is not None:
                result = result & mask
        return np.ascontiguousarray(np.broadcast_to(result, (*self.sizes(types), result.shape[-1])))

    def _base(self, types: Sequence[str], free: Sequence[int], words: slice = slice(None)) -> Bits:
        """uint64 [size or 1 of each of `types`, words]: where free variables have values and that matters."""
        result = self._vocabulary.guard(types, words, free)
        if self._relevance is None:
            return result
        cells = self._relevance.cells[..., words]
        spare = len(types) - len(self._fixed)
        return result & cells.reshape(*cells.shape[:-1], *(1,) * spare, cells.shape[-1])

    def _view(self, placement: Placement, n: int) -> Bits:
        index, variables = placement
        return placed_view(self._blocks.items[index].table, variables, n)

    def _mask(self, one: Placement, other: Placement, types: Sequence[str]) -> Bits | None:
        """Where the literals of two blocks are different ground atoms (`Distinctness.mask`)."""
        assert self._distinctness is not None
        parts = []
        for index, variables in (one, other):
            literal, places = self._blocks.items[index].parts[0]
            parts.append((literal, tuple(variables[place] for place in places)))
        return self._distinctness.mask(parts[0], parts[1], types)
