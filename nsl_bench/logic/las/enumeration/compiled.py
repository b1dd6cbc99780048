"""Tables of conjunctions by a compiled kernel, for large tables, on all processors.

The kernel (`kernels`) is loaded only where tables can get large: that takes half a second and 150 MiB.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from nsl_bench.logic.las.bits import Bits
from nsl_bench.logic.las.enumeration.building_blocks import Blocks, Conjunction, Limits, Placement, Relevance
from nsl_bench.logic.las.enumeration.canonical import LANES, Order, keys, strides
from nsl_bench.logic.las.enumeration.evaluation import Extension, Tables
from nsl_bench.logic.las.tables.literals import Vocabulary

if TYPE_CHECKING:
    from nsl_bench.logic.las.enumeration.kernels import Join

_COMPILED_BYTES = 1 << 24
"""Tables from which on the compiled kernel is worth loading."""
_COMPILER_BYTES = 1 << 28
"""Room that loading it needs: numba and LLVM take some 150 MiB."""
_RENAMED_BYTES = 1 << 27
_THREADED_BYTES = 1 << 23
"""Tables that are worth several threads."""
_SHARES = 4
"""Parts of a table for each thread, as some take longer than others."""


@cache
def compiled_kernels() -> tuple[ModuleType | None, str]:
    """The module of compiled kernels; or None and why there is none."""
    try:
        from nsl_bench.logic.las.enumeration import kernels
    except Exception as error:  # numba raises errors of many kinds where it or its cache does not work
        return None, f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
    return kernels, ""


def make_tables(
    vocabulary: Vocabulary,
    blocks: Blocks,
    fixed: tuple[str, ...],
    limits: Limits,
    relevance: Relevance | None,
) -> tuple[Tables, str]:
    """Tables of conjunctions, compiled where they can get large.

    Returns:
        The tables; and why they are computed by numpy where the kernel was meant to, nothing if they are not.
    """
    tables = Tables(vocabulary, blocks, fixed, limits, relevance)
    spare = max(0, limits.variables - len(fixed))
    several = blocks.types - vocabulary.single
    widest = max((tables.volume([kind]) for kind in several), default=0) // tables.volume([])
    large = tables.volume(fixed) * widest**spare > _COMPILED_BYTES
    if not large or vocabulary.without_replacement or limits.budget.room() <= _COMPILER_BYTES:
        return tables, ""
    kernels, failure = compiled_kernels()
    if kernels is None:
        return tables, failure
    return CompiledTables(kernels, vocabulary, blocks, fixed, limits, relevance), ""


def _threads() -> int:
    """Threads that this process may use for numbers."""
    allowed = os.environ.get("OMP_NUM_THREADS", "")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, int(allowed)) if allowed.isdecimal() and int(allowed) else cores


class CompiledTables(Tables):
    """Tables of conjunctions by the compiled kernel."""

    renamed_bytes = _RENAMED_BYTES

    def __init__(self, kernels: ModuleType, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._kernels = kernels
        base = self._base(self._fixed, range(len(self._fixed)))
        shape = (*self.sizes(self._fixed), self._words)
        self._rows = np.array(np.broadcast_to(base, shape)).reshape(-1, self._words)

    def extend(self, state: Conjunction, extension: Extension) -> tuple[Bits, list[bytes]]:
        """See `Tables.extend`."""
        types, first = extension.types, len(self._fixed)
        placements = (*state.placements, extension.placement)
        join = self._join(types, placements, range(len(types)), first, extension.orders)
        join = join._replace(base=self._rows, masked=first)
        projection = np.zeros((*self.sizes(self._fixed), self._words), np.uint64)
        digests = self._run(join, projection.reshape(-1, self._words), shared=first > 0)
        return projection, [digest.tobytes() for digest in digests]

    def without_first(self, types: tuple[str, ...], placements: Sequence[Placement]) -> Bits:
        """See `Tables.without_first`."""
        self._limits.budget.take(self.volume(types[1:]), "tables of stars")
        axes = (*range(1, len(types)), 0)
        join = self._join(types, placements, axes, len(types) - 1, [])
        projection = np.zeros((*self.sizes(types[1:]), self._words), np.uint64)
        self._run(join, projection.reshape(-1, self._words), shared=len(types) > 1)
        return projection

    def _join(
        self,
        types: Sequence[str],
        placements: Sequence[Placement],
        axes: Sequence[int],
        first: int,
        orders: Sequence[Order],
    ) -> Join:
        """A conjunction with variables in the order `axes`, projected onto the `first` ones."""
        sizes = self.sizes([types[variable] for variable in axes])
        axis = {variable: i for i, variable in enumerate(axes)}
        factors = sorted(placements, key=lambda placement: max(axis[v] for v in placement[1]))
        steps = np.zeros((len(factors), len(axes)), np.int64)
        for row, (index, variables) in zip(steps, factors, strict=True):
            shape = self._blocks.items[index].table.shape
            for place, variable in enumerate(variables):
                row[axis[variable]] = math.prod(shape[place + 1 :])
        last = [max(axis[v] for v in variables) for _, variables in factors]
        join: Join = self._kernels.Join(
            pool=self._blocks.pool,
            starts=np.array([self._blocks.starts[index] for index, _ in factors], np.int64),
            steps=steps,
            until=np.searchsorted(last, range(len(axes) + 1)).astype(np.int64),
            sizes=np.array(sizes, np.int64),
            kept=np.array(
                [math.prod(sizes[i + 1 : first]) * (i < first) for i in range(len(axes))], np.int64
            ),
            base=np.zeros((0, self._words), np.uint64),
            masked=0,
            orders=strides(sizes, orders),
            keys=keys(self._words),
        )
        return join

    def _run(self, join: Join, projection: Bits, *, shared: bool) -> Bits:
        """Runs the kernel; returns the digests.

        Args:
            projection: uint64 [rows, words]: zeros; where it holds.
            shared: each value of the first variable has rows of its own in `projection`.
        """
        threads = 1 if 8 * self._words * join.sizes.prod() < _THREADED_BYTES else _threads()
        shares = min(_SHARES * threads, int(join.sizes[0])) if threads > 1 else 1
        bounds = [int(join.sizes[0]) * k // shares for k in range(shares + 1)]

        def part(low: int, high: int) -> tuple[Bits, Bits]:
            rows = projection if shared or shares == 1 else np.zeros_like(projection)
            digests = np.zeros((len(join.orders), LANES), np.uint64)
            self._kernels.join_tables(join, low, high, rows, digests)
            return rows, digests

        if shares == 1:
            return part(*bounds)[1]
        from concurrent.futures import ThreadPoolExecutor  # small tasks need none

        parts = []
        with ThreadPoolExecutor(threads) as pool:
            for part_rows in pool.map(part, bounds, bounds[1:]):
                parts.append(part_rows)
                self._limits.budget.pause()
        if not shared:
            for rows, _ in parts:
                projection |= rows
        total: Bits = np.sum([digests for _, digests in parts], axis=0, dtype=np.uint64)
        return total
