"""Which tests of a star's leaf are worth adding to those that it has.

A test holds of some of the leaf's values in all columns (`nsl_bench.logic.las.tables.comparisons`). One that
holds of all values that the others leave adds nothing but its cost. Where but negated literals are about the
leaf, tests say nothing as long as they leave a value that no literal names: then two of them are added at
once that leave none.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from nsl_bench.logic.las.enumeration.building_blocks import BuildingBlock
from nsl_bench.logic.las.enumeration.resources import Limits
from nsl_bench.logic.las.tables.comparisons import Settled


class Sieve:
    """The tests of one leaf type.

    Args:
        tests: the indices of the tests among them.
        settled: the leaf's values.
        sighted: constraints may ask for more literals.

    Attributes:
        witnesses: of each kind, the cheapest test that holds of a value that no literal names.
        alone: the tests that leave no such value.
        pairs: those that leave none together, but others: each with the later ones.
    """

    def __init__(
        self,
        blocks: Sequence[BuildingBlock],
        tests: set[int],
        settled: Settled,
        limits: Limits,
        *,
        sighted: bool,
    ) -> None:
        order = sorted(tests, key=lambda i: limits.key(blocks[i].used))
        self._rows = {i: _number((blocks[i].table != 0).any(axis=-1)) for i in order}
        self._kinds: dict[int, Hashable] = {i: (blocks[i].binds, blocks[i].shape) for i in order}
        self._order, self._sighted = order, sighted
        unnamed = np.flatnonzero(settled.unnamed)
        self._unnamed = _number(settled.unnamed)
        parts = np.array([(blocks[i].table != 0).any(axis=-1)[unnamed] for i in order], np.bool_)
        parts = parts.reshape(len(order), len(unnamed))
        edges = np.diff(parts.astype(np.int8), axis=1, prepend=0) == 1
        self._in_pairs = bool(len(unnamed)) and not (edges.sum(axis=1) > 1).any()
        self._witness = settled.witness
        self.witnesses: frozenset[int] = frozenset()
        if settled.witness is not None:
            holding = [i for i in order if self._rows[i] >> settled.witness & 1]
            self.witnesses = frozenset({self._kinds[i]: i for i in reversed(holding)}.values())
        self.alone = [i for i in order if not self._rows[i] & self._unnamed]
        self.pairs: dict[int, list[int]] = {}
        if self._in_pairs:
            some = [k for k in range(len(order)) if parts[k].any()]
            left = parts[some].astype(np.float32)
            for k, j in np.argwhere(np.triu(left @ left.T == 0)).tolist():
                one, other = order[some[k]], order[some[j]]
                if self._rows[one] & self._rows[other]:
                    self.pairs.setdefault(one, []).append(other)

    def is_loose(self, negated: Sequence[bool]) -> bool:
        """Whether tests beside such other literals of the leaf say nothing while they leave some value.

        Args:
            negated: whether each of the others is negated.
        """
        if not negated:
            return self._witness is not None
        return self._in_pairs and all(negated)

    def is_vain(self, tests: Sequence[int]) -> bool:
        """Whether tests leave a value that no literal names."""
        return self._left(tests) & self._unnamed != 0

    def worthwhile(self, tests: Sequence[int]) -> set[int]:
        """The tests that leave fewer values than these do, and those that constraints may want besides."""
        left = self._left(tests)
        found: set[int] = set()
        known = {self._kinds[i] for i in tests} if self._sighted else set(self._kinds.values())
        for i in self._order:
            rest = left & self._rows[i]
            if rest and (rest != left or self._kinds[i] not in known):
                found.add(i)
                known |= {self._kinds[i]} if rest == left else set()
        return found

    def _left(self, tests: Sequence[int]) -> int:
        left = -1
        for i in tests:
            left &= self._rows[i]
        return left


def _number(flags: np.typing.NDArray[np.bool_]) -> int:
    return int.from_bytes(np.packbits(flags, bitorder="little").tobytes(), "little")
