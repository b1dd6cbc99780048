"""Distinct contexts, as columns of bit tables: one bit a context, 64 to a word.

Examples with equal contexts share a column; grounding and rule coverage are computed once for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nsl_bench.types import WeightedExample

__all__ = ["Bits", "Columns", "indices", "pack", "unpack"]

Bits = npt.NDArray[np.uint64]
"""uint64 [..., words]: bit ``c % 64`` of word ``c // 64`` belongs to column ``c``."""


def pack(flags: npt.NDArray[np.bool_]) -> Bits:
    """Packs bool [..., n] into uint64 [..., ceil(n / 64)]."""
    n = flags.shape[-1]
    octets = np.packbits(flags, axis=-1, bitorder="little")
    padding = -octets.shape[-1] % 8
    if padding:
        octets = np.concatenate(
            [octets, np.zeros((*octets.shape[:-1], padding), np.uint8)], axis=-1, dtype=np.uint8
        )
    if n == 0:
        return np.zeros((*flags.shape[:-1], 0), np.uint64)
    return np.ascontiguousarray(octets).view(np.uint64)


def unpack(bits: Bits, n: int) -> npt.NDArray[np.bool_]:
    """The bool [..., n] that `pack` packed."""
    octets = np.ascontiguousarray(bits).view(np.uint8)
    return np.unpackbits(octets, axis=-1, count=n, bitorder="little").view(np.bool_)


def indices(bits: Bits, n: int) -> npt.NDArray[np.intp]:
    """The columns whose bit is set in uint64 [words], ascending."""
    return np.flatnonzero(unpack(bits, n))


@dataclass(frozen=True, eq=False)
class Columns:
    """The distinct contexts of some examples.

    Attributes:
        of_example: intp [n_examples]: the column of each example.
        statements: the distinct statements of all contexts.
        rows, cols: intp [k]: statement ``rows[i]`` is in the context of column ``cols[i]``.
        n: number of columns.
    """

    of_example: npt.NDArray[np.intp]
    statements: tuple[str, ...]
    rows: npt.NDArray[np.intp]
    cols: npt.NDArray[np.intp]
    n: int

    @property
    def words(self) -> int:
        """Words of a packed row."""
        return -(-self.n // 64)

    @property
    def full(self) -> Bits:
        """uint64 [words]: all columns."""
        return pack(np.ones(self.n, np.bool_))

    @classmethod
    def of(cls, examples: Sequence[WeightedExample]) -> Columns:
        """The columns of `examples`, in the order in which contexts first occur."""
        contexts: dict[frozenset[str], int] = {}
        statements: dict[str, int] = {}
        of_example: list[int] = []
        rows: list[int] = []
        cols: list[int] = []
        for example in examples:
            context = frozenset(example.context)
            column = contexts.get(context)
            if column is None:
                column = contexts[context] = len(contexts)
                for statement in dict.fromkeys(example.context):
                    rows.append(statements.setdefault(statement, len(statements)))
                    cols.append(column)
            of_example.append(column)
        return cls(
            np.array(of_example, np.intp),
            tuple(statements),
            np.array(rows, np.intp),
            np.array(cols, np.intp),
            len(contexts),
        )

    def membership(self) -> Bits:
        """uint64 [statements, words]: which contexts hold each statement."""
        bits = np.zeros((len(self.statements), self.words), np.uint64)
        one = np.uint64(1) << (self.cols % 64).astype(np.uint64)
        np.bitwise_or.at(bits, (self.rows, self.cols // 64), one)
        return bits
