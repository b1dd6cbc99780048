"""Multi-valued decision diagrams: a table of outcomes by slot, with equal parts shared.

Reduced and ordered, a diagram is the smallest one for its order of slots (Bryant: "Graph-based algorithms for
Boolean function manipulation", 1986; with several values: Srinivasan, Ham, Malik, Brayton: "Algorithms for
discrete function manipulation", 1990). A batch of examples is answered by a chain of sparse matrix products,
one a slot.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from nsl_bench.core.types import Array, Floats, Ints
from nsl_bench.logic.inference.exact.truth_table import TooLarge

_AT_ONCE = 128
_EDGES_AT_ONCE = 4_000_000
_MOST_EDGES = 10_000_000
"""Larger diagrams are refused: where little of a table repeats they would take gigabytes."""

_MANY = 1_000
"""Diagrams with more nodes are tried in other orders of the slots."""


@dataclass(frozen=True, eq=False)
class Diagram:
    """A function of some slots to outcomes.

    Attributes:
        slots: the slots that it reads, in order.
        levels: for each slot int64 [nodes, values]: the node of the next level; the last level leads to
            `leaves`.
        leaves: [m], outcomes, of the table's type.
    """

    slots: tuple[int, ...]
    levels: tuple[Ints, ...]
    leaves: Array

    @classmethod
    def of(cls, slots: tuple[int, ...], table: Array) -> Self:
        """The diagram of a table with an axis for each slot.

        Its size depends on the order in which the slots are read: where that is large in the given
        order, each slot is tried as the first and as the last.

        Args:
            slots: the slots of the table's axes.
            table: the outcome for every combination of values, with one axis for each slot.
        """
        best = cls._in_order(slots, table)
        n = len(slots)
        for k in range(2 * n if n > 1 else 0):
            if best is not None and best.nodes <= _MANY:
                break
            rest = [i for i in range(n) if i != k % n]
            axes = [k % n, *rest] if k < n else [*rest, k % n]
            turned = np.ascontiguousarray(table.transpose(axes))
            diagram = cls._in_order(tuple(slots[i] for i in axes), turned)
            best = min((d for d in (best, diagram) if d), key=lambda d: d.nodes, default=None)
        if best is None:
            raise TooLarge
        return best

    @classmethod
    def _in_order(cls, slots: tuple[int, ...], table: Array) -> Self | None:
        """The diagram that reads the slots in an order; None if it is too large."""
        leaves = np.flatnonzero(np.bincount(table.ravel(), minlength=1)).astype(table.dtype)
        rank = np.zeros(np.iinfo(table.dtype).max + 1, table.dtype)
        rank[leaves] = np.arange(len(leaves))
        nodes: Array = rank[table]
        levels = []
        edges = 0
        for _ in slots:
            *outer, values = nodes.shape
            rows = np.ascontiguousarray(nodes.reshape(-1, values))
            representatives, inverse = _distinct(rows)
            edges += representatives.size
            if edges > _MOST_EDGES:
                return None
            levels.append(representatives.astype(np.int64))
            nodes = inverse.reshape(outer)
        return cls(slots, tuple(reversed(levels)), leaves)

    @property
    def nodes(self) -> int:
        """The number of inner nodes."""
        return sum(len(level) for level in self.levels)

    def evaluate(self, probabilities: Floats, n_outcomes: int) -> Floats:
        """float64 [n, outcomes]: the weight of the states with each outcome.

        Args:
            probabilities: float64 [n, slots, values] of every slot, also of those that are not read.
            n_outcomes: how many there are.
        """
        from scipy import sparse

        steps: list[Any] = []
        widths = [*(len(level) for level in self.levels[1:]), len(self.leaves)]
        # Without a level there is one leaf, and nothing to multiply.
        for level, width in zip(self.levels, widths, strict=False):
            count = level.size
            matrix = sparse.csr_matrix(
                (np.ones(count), (level.ravel(), np.arange(count))), shape=(width, count)
            )
            steps.append(matrix)
        n = len(probabilities)
        result = np.zeros((n, n_outcomes))
        widest = max((level.size for level in self.levels), default=1)
        at_once = max(1, min(_AT_ONCE, _EDGES_AT_ONCE // widest))
        for start in range(0, n, at_once):
            rows = probabilities[start : start + at_once]
            weights = np.ones((1, len(rows)))
            for slot, level, matrix in zip(self.slots, self.levels, steps, strict=True):
                own = rows[:, slot, : level.shape[1]].T
                edges = (weights[:, None, :] * own[None, :, :]).reshape(level.size, len(rows))
                weights = matrix @ edges
            result[start : start + at_once, self.leaves] = weights.T
        return result


def _distinct(rows: Array) -> tuple[Array, Ints]:
    """The distinct rows of a matrix, and for each row which one it is."""
    factors = np.random.default_rng(0).integers(0, 2**64, rows.shape[1], np.uint64, endpoint=False)
    digest = np.zeros(len(rows), np.uint64)
    for column, factor in enumerate(factors):
        digest += rows[:, column].astype(np.uint64) * factor
    _, first, inverse = np.unique(digest, return_index=True, return_inverse=True)
    result = rows[first]
    inverse = inverse.ravel()
    if not np.array_equal(result[inverse], rows):  # two rows with one digest, once in ten billion years
        result, inverse = np.unique(rows, axis=0, return_inverse=True)
        inverse = inverse.ravel()
    return result, inverse.astype(np.int64)
