"""The compiled inner loop for large tables. Importing this module loads numba, and compiles once per machine.

A conjunction's table is computed row by row from those of its blocks, without ever being held: variables are
given values one after the other, and whatever makes a row zero everywhere cuts off all that follows.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from nsl_bench.core.compiling import numba
from nsl_bench.core.types import Ints
from nsl_bench.logic.las.bits import Bits
from nsl_bench.logic.las.enumeration.canonical import FACTORS, LANES, MIXERS, STEPS

_ZERO, _ALL = np.uint64(0), ~np.uint64(0)
_LOW, _HALF, _QUARTER = np.uint64(0xFFFFFFFF), np.uint64(32), np.uint64(29)


class Join(NamedTuple):
    """A conjunction. Its variables are numbered in the order in which they are given values.

    Attributes:
        pool: uint64 [cells]: tables, the words of a cell beside each other.
        starts: int64 [factors]: where each factor's table begins in `pool`.
        steps: int64 [factors, variables]: what a step along each variable adds to a place in it.
        until: int64 [variables + 1]: variable ``v`` completes the factors ``until[v]`` to ``until[v + 1]``.
        sizes: int64 [variables].
        kept: int64 [variables]: what a step along each variable adds to the row of the projection; 0 for a
            variable that is projected out.
        base: uint64 [rows, words]: what the projected rows are ANDed with.
        masked: after how many variables that is done: 0 for never.
        orders: int64 [orders, variables]: what it adds to a row's position under each order
            (`digests.strides`).
        keys: uint32 [LANES, 2, words], as `digests.keys`.
    """

    pool: Bits
    starts: Ints
    steps: Ints
    until: Ints
    sizes: Ints
    kept: Ints
    base: Bits
    masked: int
    orders: Ints
    keys: npt.NDArray[np.uint32]


Function = TypeVar("Function", bound=Callable[..., Any])


def _array(kind: Any, axes: int) -> Any:
    return numba.types.Array(kind, axes, "C")


def _compiled(signature: Any) -> Callable[[Function], Function]:
    compiled: Callable[[Function], Function] = numba.njit(signature, cache=True, nogil=True)
    return compiled


_word, _step, _nothing = numba.uint64, numba.int64, numba.void
_row, _table = _array(_word, 1), _array(_word, 2)
_keys = _array(numba.uint32, 3)
_join: Any = numba.types.NamedTuple(  # type: ignore[no-untyped-call]
    [_row, *(_array(_step, axes) for axes in (1, 2, 1, 1, 1)), *(_table, _step, _array(_step, 2), _keys)],
    Join,
)


@_compiled(_word(_row, _row, _row))
def _intersect(above: Bits, factor: Bits, row: Bits) -> np.uint64:
    """Writes the AND of two rows into a third; returns a word that is zero only where all are."""
    some = _ZERO
    for w in range(len(row)):
        value = above[w] & factor[w]
        row[w] = value
        some |= value
    return some


@_compiled(_nothing(_row, _keys, _row))
def _hash_row(row: Bits, keys: npt.NDArray[np.uint32], hashes: Bits) -> None:
    """Writes a row's hash in each lane."""
    for lane in range(LANES):
        total = _ZERO
        for w in range(len(row)):
            low, high = np.uint64(keys[lane, 0, w]), np.uint64(keys[lane, 1, w])
            value = row[w]
            total += ((value + low) & _LOW) * (((value >> _HALF) + high) & _LOW) - low * high
        hashes[lane] = total


@_compiled(_nothing(_row, _step, _row))
def _add_mixed(hashes: Bits, position: int, digest: Bits) -> None:
    """Adds a row's hash, mixed with its position (from 0), to a digest."""
    for lane in range(LANES):
        mixed = (hashes[lane] ^ (np.uint64(position + 1) * STEPS[lane])) * FACTORS[lane]
        mixed = (mixed ^ (mixed >> _HALF)) * MIXERS[lane]
        digest[lane] += mixed ^ (mixed >> _QUARTER)


@_compiled(_nothing(_join, _step, _step, _table, _table))
def join_tables(join: Join, low: int, high: int, projection: Bits, digests: Bits) -> None:
    """Goes through the rows of a conjunction's table where the first variable is from `low` to `high`.

    Args:
        low, high: values of the first variable.
        projection: uint64 [rows, words]: where the rows' OR goes.
        digests: uint64 [orders, LANES]: what the rows' hashes are added to.
    """
    n, words, n_orders = len(join.sizes), projection.shape[1], len(join.orders)
    rows = np.empty((n + 1, words), np.uint64)
    rows[0, :] = _ALL
    at = np.zeros(n, np.int64)
    at[0] = low
    bases = join.starts.copy()  # where the factors of a variable begin, the variables before it having values
    targets = np.zeros(n + 1, np.int64)
    positions = np.zeros((n + 1, n_orders), np.int64)
    hashes = np.empty(LANES, np.uint64)
    v = 0
    while True:
        if at[v] == (high if v == 0 else join.sizes[v]):
            if v == 0:
                break
            v -= 1
            at[v] += 1
            continue
        above = rows[v]
        some = _ALL
        for f in range(join.until[v], join.until[v + 1]):
            place = bases[f] + at[v] * join.steps[f, v]
            some = _intersect(above, join.pool[place : place + words], rows[v + 1])
            above = rows[v + 1]
        targets[v + 1] = targets[v] + at[v] * join.kept[v]
        if v + 1 == join.masked:
            some = _intersect(above, join.base[targets[v + 1]], rows[v + 1])
            above = rows[v + 1]
        if some == _ZERO:
            at[v] += 1
            continue
        if v + 1 != join.masked and join.until[v] == join.until[v + 1]:
            rows[v + 1, :] = above
        for o in range(n_orders):
            positions[v + 1, o] = positions[v, o] + at[v] * join.orders[o, v]
        if v + 1 < n:
            v += 1
            at[v] = 0
            for f in range(join.until[v], join.until[v + 1]):
                bases[f] = join.starts[f]
                for u in range(v):
                    bases[f] += at[u] * join.steps[f, u]
            continue
        row, target = rows[n], projection[targets[n]]
        for w in range(words):
            target[w] |= row[w]
        if n_orders:
            _hash_row(row, join.keys, hashes)
            for o in range(n_orders):
                _add_mixed(hashes, positions[n, o], digests[o])
        at[v] += 1
