"""Digests of tables: equal for equal tables, under any order of their variables.

A row of a table, the words of one cell, is hashed by NH (Black et al.: "UMAC: fast and secure message
authentication", 1999), in three lanes with keys of their own; a row that is zero everywhere counts for
nothing. The digest is the sum of the rows' hashes, each mixed with the row's position. So a renaming of
variables only changes positions, and words may come a chunk at a time. Two tables that differ get the same
digest with a chance of 2^-96.

`nsl_bench.logic.las.enumeration.kernels` computes the same.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from nsl_bench.logic.las.bits import Bits
from nsl_bench.logic.las.enumeration.canonical import Order

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
    found = ((state ^ (state >> np.uint64(31))) >> _HALF).astype(np.uint32)
    return np.ascontiguousarray(found.reshape(words, LANES, 2).transpose(1, 2, 0))


def strides(sizes: Sequence[int], orders: Sequence[Order]) -> npt.NDArray[np.int64]:
    """int64 [orders, variables]: what a step along each variable adds to a row's position, in each order.

    Args:
        orders: orders of them; positions are row-major in each.
    """
    found = np.zeros((len(orders), len(sizes)), np.int64)
    for row, order in zip(found, orders, strict=True):
        stride = 1
        for variable in reversed(order):
            row[variable] = stride
            stride *= sizes[variable]
    return found


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
        found = np.flatnonzero(some)
        lower, upper = (self._keys[:, half, None, first : first + chunk] for half in (0, 1))
        nothing = np.multiply(lower, upper, dtype=np.uint64).sum(axis=-1)
        step = max(1, _BLOCK // chunk)
        for start in range(0, len(found), step):
            index = found[start : start + step]
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
