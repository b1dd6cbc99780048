"""Multi-valued decision diagrams: a table of outcomes by slot, with equal parts shared.

Reduced and ordered, a diagram is the smallest one for its order of slots (Bryant: "Graph-based algorithms for
Boolean function manipulation", 1986; with several values: Srinivasan, Ham, Malik, Brayton: "Algorithms for
discrete function manipulation", 1990). A batch of examples is answered by a chain of sparse matrix products,
one a slot.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from nsl_bench.core.types import Array, Floats, Ints
from nsl_bench.logic.inference.exact.truth_table import TooLarge

_AT_ONCE = 128
_EDGES_AT_ONCE = 4_000_000
_MOST_EDGES = 10_000_000
"""Larger diagrams are refused: where little of a table repeats they would take gigabytes."""

_MOST_STATES = 300_000
"""Terms that lead to more states are refused."""

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

    @classmethod
    def of_terms(
        cls,
        signals: Sequence[Sequence[Sequence[tuple[int, int]]]],
        values: Mapping[int, Sequence[int]],
        outcome: Callable[[int], int],
    ) -> Self:
        """The diagram of disjunctions of terms, for functions whose table would be too large.

        Slot after slot is read. Worlds with the same rests of terms alive and the same disjunctions true are
        one state, a number with a bit for each of both. Then equal states are joined, from the last slot on.

        Args:
            signals: for each disjunction its terms: slots, ascending, each with the set of its values as the
                bits of a number; () is true.
            values: for each slot the values of its axis.
            outcome: of the disjunctions that are true, bits of a number.

        Raises:
            TooLarge: there are too many states.
        """
        slots = tuple(sorted({slot for terms in signals for term in terms for slot, _ in term}))
        states: dict[int, int] = {sum(1 << k for k, terms in enumerate(signals) if () in terms): 0}
        raw, count, step = [], 0, _Reading(signals)
        for slot in slots:
            reached: dict[int, int] = {}
            moves = [step.moves(slot, value) for value in values[slot]]
            level = [[reached.setdefault(step.after(s, m), len(reached)) for m in moves] for s in states]
            count += len(reached)
            if count > _MOST_STATES:
                raise TooLarge
            raw.append(np.array(level, np.int64))
            states = reached
        leaves, nodes = np.unique([outcome(state) for state in states], return_inverse=True)
        levels = []
        for level_ in reversed(raw):
            rows, nodes = _distinct(np.ascontiguousarray(nodes[level_]))
            levels.append(rows)
        return cls(slots, tuple(reversed(levels)), leaves)

    def follow(self, values: Ints) -> Array:
        """[n]: the outcomes of rows of values, int64 [n, slots], in the order of `slots`."""
        node = np.zeros(len(values), np.int64)
        for level, own in zip(self.levels, values.T, strict=True):
            node = level[node, own]
        return self.leaves[node]

    def rows(self, outcome: int, most: int, rng: np.random.Generator) -> Ints:
        """int64 [n, slots]: all rows of values with an outcome, or so many at random where there are more."""
        below = [(self.leaves == outcome).astype(np.float64)]
        for level in reversed(self.levels):
            below.append(below[-1][level].sum(axis=1))
        total = float(below.pop()[0])
        few = total <= most
        rank = np.arange(int(total)) + 0.5 if few else rng.random(most) * total
        node, result = np.zeros(len(rank), np.int64), np.zeros((len(rank), len(self.slots)), np.int64)
        for column, (level, weights) in enumerate(zip(self.levels, reversed(below), strict=True)):
            up_to = weights[level].cumsum(axis=1)[node]
            result[:, column] = own = (rank[:, None] >= up_to).sum(axis=1).clip(max=level.shape[1] - 1)
            rank = rank - np.where(own > 0, up_to[np.arange(len(own)), own - 1], 0.0)
            node = level[node, own]
        return result

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


class _Reading:
    """What a value of a slot does to a state: bits of disjunctions that are true, then of rests of terms."""

    def __init__(self, signals: Sequence[Sequence[Sequence[tuple[int, int]]]]) -> None:
        self._starts: dict[int, list[tuple[int, Any]]] = {}
        self._waits: dict[int, list[tuple[int, Any]]] = {}
        self._bits: dict[tuple[int, Any], int] = {}
        self._rests = [0] * len(signals)
        for k, terms in enumerate(signals):
            for term in map(tuple, terms):
                if term:
                    self._starts.setdefault(term[0][0], []).append((k, term))
                for at in range(1, len(term)):
                    if (k, term[at:]) not in self._bits:
                        bit = self._bits[k, term[at:]] = 1 << (len(signals) + len(self._bits))
                        self._rests[k] |= bit
                        self._waits.setdefault(term[at][0], []).append((k, term[at:]))

    def moves(self, slot: int, value: int) -> tuple[int, int, list[tuple[int, int]]]:
        """Bits that end here, bits that come whatever the state, and for some bits of a state another one."""
        ends, come, further = 0, 0, list[tuple[int, int]]()
        for k, term in self._starts.get(slot, ()):
            if term[0][1] >> value & 1:
                come |= self._bits[k, term[1:]] if term[1:] else 1 << k
        for k, rest in self._waits.get(slot, ()):
            bit = self._bits[k, rest]
            ends |= bit
            if rest[0][1] >> value & 1:
                further.append((bit, self._bits[k, rest[1:]] if rest[1:] else 1 << k))
        joined = {to: 0 for _, to in further}
        for bit, to in further:
            joined[to] |= bit
        return ends, come, [(bits, to) for to, bits in joined.items()]

    def after(self, state: int, moves: tuple[int, int, list[tuple[int, int]]]) -> int:
        """The state after a value."""
        ends, come, further = moves
        result = state & ~ends | come
        for bits, to in further:
            if state & bits:
                result |= to
        for k, rests in enumerate(self._rests):
            if result >> k & 1:
                result &= ~rests
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
