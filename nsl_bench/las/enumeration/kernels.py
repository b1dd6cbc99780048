"""Compiled inner loops for large tables, through numba; without numba the caller uses numpy.

Arrays have six axes: up to five variables and the words, unused variables of extent 1.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["AXES", "Kernels", "kernels", "six"]

AXES = 5

Array = npt.NDArray[Any]


class Kernels:
    """The compiled functions.

    Attributes:
        intersect: ``(out, view)``: ANDs `view` into `out`.
        probe: ``(parent, view, guard, orders, first_word, digests, projection)``: of the AND of the first
            three, adds each order's digest (uint64 [orders, 2]) and ORs the projection.
    """

    def __init__(self, intersect: Callable[..., None], probe: Callable[..., None]) -> None:
        self.intersect = intersect
        self.probe = probe


def six(array: Array, shape: tuple[int, ...] | None = None) -> Array:
    """The array [sizes..., words] with six axes, broadcast to `shape` [sizes..., words]."""
    if shape is not None:
        array = np.broadcast_to(array, shape)
    missing = AXES + 1 - array.ndim
    index = (slice(None),) * (array.ndim - 1) + (None,) * missing
    return array[index]


@cache
def kernels() -> Kernels | None:
    """The compiled functions; None where numba is not installed or cannot compile here."""
    try:
        import numba
    except ImportError:
        return None
    word = numba.uint64
    open_type = numba.types.Array(word, AXES + 1, "A")
    view_type = numba.types.Array(word, AXES + 1, "A", readonly=True)
    dense_type = numba.types.Array(word, AXES + 1, "C")
    orders_type = numba.types.Array(numba.int64, 2, "C")
    digests_type = numba.types.Array(word, 2, "C")
    none = numba.void
    try:
        compiled = [
            numba.njit(signature, cache=True, nogil=True)(function)
            for function, signature in (
                (_intersect, none(dense_type, view_type)),
                (
                    _probe,
                    none(
                        view_type,
                        view_type,
                        view_type,
                        orders_type,
                        numba.int64,
                        digests_type,
                        open_type,
                    ),
                ),
            )
        ]
    except (RuntimeError, OSError):
        return None
    return Kernels(*compiled)


def _intersect(out: Array, view: Array) -> None:
    n0, n1, n2, n3, n4, n5 = out.shape
    for a in range(n0):
        for b in range(n1):
            for c in range(n2):
                for d in range(n3):
                    for e in range(n4):
                        for w in range(n5):
                            out[a, b, c, d, e, w] &= view[a, b, c, d, e, w]


def _probe(
    parent: Array,
    view: Array,
    guard: Array,
    orders: Array,
    first_word: int,
    digests: Array,
    projection: Array,
) -> None:
    # the digest is a sum of mixed (word, position) pairs, so that chunks and renamings need no copies
    n0, n1, n2, n3, n4, n5 = parent.shape
    k0 = 1 if projection.shape[0] > 1 else 0
    k1 = 1 if projection.shape[1] > 1 else 0
    k2 = 1 if projection.shape[2] > 1 else 0
    k3 = 1 if projection.shape[3] > 1 else 0
    k4 = 1 if projection.shape[4] > 1 else 0
    zero = np.uint64(0)
    for a in range(n0):
        for b in range(n1):
            for c in range(n2):
                for d in range(n3):
                    for e in range(n4):
                        for w in range(n5):
                            v = parent[a, b, c, d, e, w] & view[a, b, c, d, e, w] & guard[a, b, c, d, e, w]
                            if v == zero:
                                continue
                            projection[a * k0, b * k1, c * k2, d * k3, e * k4, w] |= v
                            for o in range(orders.shape[0]):
                                position = (
                                    a * orders[o, 0]
                                    + b * orders[o, 1]
                                    + c * orders[o, 2]
                                    + d * orders[o, 3]
                                    + e * orders[o, 4]
                                    + w
                                    + first_word
                                )
                                p = np.uint64(position + 1)
                                z = v + p * np.uint64(0x9E3779B97F4A7C15)
                                z ^= z >> np.uint64(30)
                                z *= np.uint64(0xBF58476D1CE4E5B9)
                                z ^= z >> np.uint64(27)
                                z *= np.uint64(0x94D049BB133111EB)
                                z ^= z >> np.uint64(31)
                                digests[o, 0] += z
                                z = v ^ (p * np.uint64(0xD6E8FEB86659FD93))
                                z *= np.uint64(0xFF51AFD7ED558CCD)
                                z ^= z >> np.uint64(33)
                                z *= np.uint64(0xC4CEB9FE1A85EC53)
                                z ^= z >> np.uint64(29)
                                digests[o, 1] += z
