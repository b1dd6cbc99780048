"""Chance that is the same everywhere: numbers that depend on nothing but a key.

Only `SeedSequence` and a bit generator's raw output are used, whose streams numpy promises never to
change; the floats are exact multiples of 2**-53.
"""

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from nsl_bench.core.types import Floats, Ints, UInts64

_T = TypeVar("_T")

_BLOCK = 512
"""Numbers made at a time."""


def uniforms(n: int, *key: int) -> Floats:
    """float64 [n] in [0, 1), decided by the key, non-negative integers."""
    raw = np.random.PCG64(np.random.SeedSequence(key)).random_raw(n)
    return (np.asarray(raw, np.uint64) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def permutation(n: int, *key: int) -> Ints:
    """int64 [n]: 0..n-1 in an order decided by the key."""
    return np.argsort(uniforms(n, *key), kind="stable").astype(np.int64)


def scattered(indices: Ints, n: int, key: int) -> Floats:
    """float64 [m, n] in [0, 1): n numbers for each index, decided by the index and the key alone.

    SplitMix64 (Steele, Lea, Flood 2014), whole numbers only; much faster than a generator for each index.
    """
    with np.errstate(over="ignore"):
        places = np.asarray(indices, np.int64)[:, None] * n + np.arange(1, n + 1)
        state: UInts64 = places.astype(np.uint64) + np.uint64(key % 2**64)
        state *= np.uint64(0x9E3779B97F4A7C15)
        state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        state ^= state >> np.uint64(31)
    return (state >> np.uint64(11)).astype(np.float64) * 2.0**-53


class Dice:
    """A stream of chance decided by a key, for drawing one picture.

    Args:
        key: non-negative integers.
    """

    def __init__(self, *key: int) -> None:
        self._key = key
        self._blocks = 0
        self._left: Floats = np.empty(0)

    def many(self, n: int) -> Floats:
        """float64 [n] in [0, 1)."""
        while len(self._left) < n:
            block = uniforms(max(_BLOCK, n), *self._key, self._blocks)
            self._blocks += 1
            self._left = np.concatenate((self._left, block))
        taken, self._left = self._left[:n], self._left[n:]
        return taken

    def between(self, low: float, high: float) -> float:
        """A number in [low, high)."""
        return low + float(self.many(1)[0]) * (high - low)

    def whole(self, low: int, high: int) -> int:
        """A whole number from low to high, both included."""
        return min(high, low + int(self.between(0, high - low + 1)))

    def chance(self, share: float) -> bool:
        """True in this share of all cases."""
        return self.between(0, 1) < share

    def pick(self, options: Sequence[_T]) -> _T:
        """One of these."""
        return options[self.whole(0, len(options) - 1)]

    def around(self, colour: tuple[float, float, float], spread: float) -> tuple[float, float, float]:
        """A colour near another: all channels moved by one amount, and each a little on its own."""
        moved = self.between(-spread, spread)
        red, green, blue = (
            min(255.0, max(0.0, level + moved + self.between(-spread / 2, spread / 2))) for level in colour
        )
        return red, green, blue
