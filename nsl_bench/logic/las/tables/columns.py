"""Distinct contexts, as columns of bit tables: one bit a context, 64 to a word.

Examples with equal contexts share a column; grounding and rule coverage are computed once for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from nsl_bench.core.types import WeightedExample
from nsl_bench.logic.las.bits import Bits, pack


class Columns(NamedTuple):
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
