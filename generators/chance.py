"""Chance that is the same everywhere: numbers that depend on nothing but a key.

Only `SeedSequence` and a bit generator's raw output are used, whose streams numpy promises never to
change; the floats are exact multiples of 2**-53.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["permutation", "uniforms"]


def uniforms(n: int, *key: int) -> npt.NDArray[np.float64]:
    """float64 [n] in [0, 1), decided by the key, non-negative integers."""
    raw = np.random.PCG64(np.random.SeedSequence(key)).random_raw(n)
    return (np.asarray(raw, np.uint64) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def permutation(n: int, *key: int) -> npt.NDArray[np.int64]:
    """int64 [n]: 0..n-1 in an order decided by the key."""
    return np.argsort(uniforms(n, *key), kind="stable").astype(np.int64)
