"""Canonical forms of conjunctions: one representative of all renamings of variables of one type.

Two sets of placed blocks are the same up to renaming if their least renamings are equal; two tables, if the
least of their digests over all renamings are.

A row of a table, the words of one cell, is hashed by NH (Black et al.: "UMAC: fast and secure message
authentication", 1999), in three lanes with keys of their own; a row that is zero everywhere counts for
nothing. The digest is the sum of the rows' hashes, each mixed with the row's position. So a renaming of
variables only changes positions, and words may come a chunk at a time. Two tables that differ get the same
digest with a chance of 2^-96. `nsl_bench.logic.las.enumeration.kernels` computes the same.
"""

import itertools
import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from nsl_bench.core.types import Ints
from nsl_bench.logic.las.bits import Bits
from nsl_bench.logic.las.enumeration.building_blocks import BuildingBlock, Placement

_MOST_ORDERS = 720
"""Renamings that are tried; beyond, variables are told apart by their use first, and may stay unmatched."""

Order = tuple[int, ...]
"""Variables in a new order: the fixed ones first and unchanged, the others by type."""


class Renamings:
    """Renamings of the variables of conjunctions.

    Args:
        n_fixed: how many variables, the first ones, keep their numbers.
    """

    def __init__(self, blocks: Sequence[BuildingBlock], n_fixed: int) -> None:
        self._blocks = blocks
        self._n_fixed = n_fixed
        self._known: dict[tuple[str, ...], list[Order]] = {}

    def orders(self, types: tuple[str, ...], placements: Sequence[Placement]) -> list[Order]:
        """The orders of variables to compare under: all that keep the fixed ones and sort the others by type.

        Where these are very many, only orders that differ among variables of equal use, and one if these
        are too many as well: equal conjunctions may then be taken for different ones.
        """
        result = self._known.get(types)
        if result is None:
            result = self._known[types] = self._orders([(kind,) for kind in types])
        if result:
            return result
        uses = self._uses(len(types), placements)
        keys = [(kind, *use) for kind, use in zip(types, uses, strict=True)]
        fixed = range(self._n_fixed)
        rest = sorted(range(self._n_fixed, len(types)), key=lambda v: keys[v])
        return self._orders(keys) or [(*fixed, *rest)]

    def _orders(self, keys: Sequence[tuple[object, ...]]) -> list[Order]:
        """The orders that sort the variables that are not fixed by their keys; none if there are too many."""
        free = sorted(range(self._n_fixed, len(keys)), key=lambda v: keys[v])
        groups = [list(group) for _, group in itertools.groupby(free, key=lambda v: keys[v])]
        if math.prod(math.factorial(len(group)) for group in groups) > _MOST_ORDERS:
            return []
        fixed = tuple(range(self._n_fixed))
        return [
            fixed + tuple(itertools.chain.from_iterable(choice))
            for choice in itertools.product(*(itertools.permutations(group) for group in groups))
        ]

    def _uses(self, n: int, placements: Sequence[Placement]) -> list[tuple[object, ...]]:
        """How each variable is used, told without the names of the variables that are not fixed."""
        uses: list[list[tuple[int, ...]]] = [[] for _ in range(n)]
        for index, variables in placements:
            fixed = tuple(v if v < self._n_fixed else -1 for v in variables)
            if self._blocks[index].symmetric:
                fixed = tuple(sorted(fixed))
            for place, variable in enumerate(variables):
                uses[variable].append((index, 0 if self._blocks[index].symmetric else place, *fixed))
        return [tuple(sorted(each)) for each in uses]

    def least(
        self, types: tuple[str, ...], placements: Sequence[Placement], orders: Sequence[Order]
    ) -> tuple[tuple[str, ...], tuple[Placement, ...], Order]:
        """Sorted types, the least renaming of the placements, and the order that gives it.

        Args:
            orders: the orders of variables to try, from `orders`.
        """
        best: tuple[Placement, ...] | None = None
        chosen = orders[0]
        for order in orders:
            number = {variable: i for i, variable in enumerate(order)}
            renamed = []
            for index, variables in placements:
                new = tuple([number[v] for v in variables])
                if self._blocks[index].symmetric and new[0] > new[1]:
                    new = (new[1], new[0])
                renamed.append((index, new))
            renamed.sort()
            candidate = tuple(renamed)
            if best is None or candidate < best:
                best, chosen = candidate, order
        assert best is not None
        return tuple(types[v] for v in chosen), best, chosen


LANES = 3
STEPS = np.array([0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93, 0xA0761D6478BD642F], np.uint64)
FACTORS = np.array([0xBF58476D1CE4E5B9, 0xFF51AFD7ED558CCD, 0xE7037ED1A0B428DB], np.uint64)
MIXERS = np.array([0x94D049BB133111EB, 0xC4CEB9FE1A85EC53, 0x8EBC6AF09C88C6E3], np.uint64)
"""Odd numbers of each lane by which positions are mixed in."""
_SEED = 0x6E736C
_HALF, _QUARTER = np.uint64(32), np.uint64(29)
_BLOCK = 1 << 15
"""Words that are hashed at a time."""


@lru_cache(maxsize=4)
def keys(words: int) -> npt.NDArray[np.uint32]:
    """uint32 [LANES, 2, words]: NH's keys for the lower and the upper half of each word.

    They are the upper halves of what SplitMix64 gives (Steele, Lea, Flood: "Fast splittable pseudorandom
    number generators", 2014); loading numpy's generators takes longer than solving a small task.
    """
    state = np.arange(1, 2 * LANES * words + 1, dtype=np.uint64) * STEPS[0] + np.uint64(_SEED)
    state = (state ^ (state >> np.uint64(30))) * FACTORS[0]
    state = (state ^ (state >> np.uint64(27))) * MIXERS[0]
    result = ((state ^ (state >> np.uint64(31))) >> _HALF).astype(np.uint32)
    return np.ascontiguousarray(result.reshape(words, LANES, 2).transpose(1, 2, 0))


def strides(sizes: Sequence[int], orders: Sequence[Order]) -> Ints:
    """int64 [orders, variables]: what a step along each variable adds to a row's position, in each order.

    Args:
        orders: orders of them; positions are row-major in each.
    """
    result = np.zeros((len(orders), len(sizes)), np.int64)
    for row, order in zip(result, orders, strict=True):
        stride = 1
        for variable in reversed(order):
            row[variable] = stride
            stride *= sizes[variable]
    return result


class TableDigest:
    """Collects a table's digest, a chunk of words at a time."""

    def __init__(self, sizes: Sequence[int], words: int) -> None:
        self._sizes = tuple(sizes)
        self._keys = keys(words)
        cells = math.prod(self._sizes)
        self._sums = np.zeros((LANES, cells), np.uint64)
        self._some = np.zeros(cells, np.bool_)

    def add(self, table: Bits, first: int) -> None:
        """Takes in uint64 [sizes..., chunk], the words from `first` on."""
        chunk = table.shape[-1]
        rows = table.reshape(-1, chunk)
        some = rows.any(axis=1)
        self._some |= some
        columns = np.flatnonzero(some)
        lower, upper = (self._keys[:, half, None, first : first + chunk] for half in (0, 1))
        nothing = np.multiply(lower, upper, dtype=np.uint64).sum(axis=-1)
        step = max(1, _BLOCK // chunk)
        for start in range(0, len(columns), step):
            index = columns[start : start + step]
            part = rows[index]
            low = lower + part.astype(np.uint32)
            high = upper + (part >> _HALF).astype(np.uint32)
            self._sums[:, index] += np.multiply(low, high, dtype=np.uint64).sum(axis=-1) - nothing

    def under(self, orders: Sequence[Order]) -> list[bytes]:
        """The digest under each order of the variables."""
        index = np.flatnonzero(self._some)
        at = np.array(np.unravel_index(index, self._sizes), np.int64).reshape(len(self._sizes), len(index))
        position = (strides(self._sizes, orders) @ at + 1).astype(np.uint64)
        mixed = self._sums[:, index] ^ (position[:, None, :] * STEPS[:, None])
        mixed *= FACTORS[:, None]
        mixed ^= mixed >> _HALF
        mixed *= MIXERS[:, None]
        mixed ^= mixed >> _QUARTER
        return [each.tobytes() for each in mixed.sum(axis=-1)]
