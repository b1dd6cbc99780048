"""Bodies from parts that share no variable: one with the head's variables, and closed ones.

A closed part is true or false of a whole context.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from nsl_bench.budget import Undecided
from nsl_bench.las.bits import digest
from nsl_bench.las.enumeration.building_blocks import Part
from nsl_bench.las.enumeration.conjunctions import Positions, Relevance
from nsl_bench.las.enumeration.resources import Limits, Resources, covers
from nsl_bench.las.tables.columns import Bits

__all__ = ["Body", "Joining", "Unprofitable", "distinct"]

_MOST_BODIES = 2_000_000
_DIGESTED = 64

Unprofitable = Callable[[Positions, Bits, int], bool]
"""Says of where a body holds (`Body.positions`, `Body.holds`) and its cost that neither it nor a longer one
can pay."""


class Body(NamedTuple):
    """A rule body.

    Attributes:
        positions: intp [k]: the positions of a `Relevance` in which it holds anywhere, ascending.
        holds: uint64 [k]: where it holds there.
        used: its resources; `variables` counts the head's too.
        parts: its literals; variables are numbers, the head's first.
        types: type of each variable.
        families: predicates and signs of its literals with variables, where literals are grounded without
            replacement: no part that has one of them may be added.
    """

    positions: Positions
    holds: Bits
    used: Resources
    parts: tuple[Part, ...]
    types: tuple[str, ...]
    families: frozenset[tuple[str, int, bool]] = frozenset()

    @property
    def name(self) -> tuple[object, ...]:
        """Equal for bodies that hold at the same positions and that the same parts may be added to."""
        text = self.positions.tobytes() + self.holds.tobytes()
        if len(text) >= _DIGESTED:
            text = digest(text)
        return (text, self.families) if self.families else (text,)


def distinct(bodies: Sequence[Body], limits: Limits) -> list[Body]:
    """Without bodies that another one equals at no higher cost.

    Args:
        bodies: the bodies.
        limits: the bounds of the language bias, by which costs are compared.
    """
    best: dict[tuple[object, ...], list[tuple[int, ...]]] = {}
    kept = []
    for body in sorted(bodies, key=lambda b: (b.used.cost, b.used.literals)):
        weight = limits.key(body.used)
        known = best.setdefault(body.name, [])
        if not any(covers(other, weight) for other in known):
            known.append(weight)
            kept.append(body)
    return kept


class Joining:
    """Joins attached and closed parts to bodies, the cheapest first.

    Args:
        closed: closed parts.
        limits: bounds.
        relevance: where it matters whether a body holds.
        unprofitable: what cannot pay.
        redundancy: a part that takes away nothing that is unwanted makes no better body; not so where
            literals are grounded without replacement.

    Attributes:
        evaluated: how many bodies were looked at.
        complete: `run` has found all.
    """

    def __init__(
        self,
        closed: Sequence[Body],
        limits: Limits,
        relevance: Relevance,
        unprofitable: Unprofitable,
        *,
        redundancy: bool,
    ) -> None:
        self.evaluated = 0
        self.complete = True
        self._closed = closed
        self._limits = limits
        self._unprofitable = unprofitable
        n = len(relevance.positions)
        limits.budget.take(8 * len(closed) * n, "tables of what rules may hold")
        self._tables = np.zeros((len(closed), n), np.uint64)
        for row, body in zip(self._tables, closed, strict=True):
            row[body.positions] = body.holds
        self._unwanted = relevance.restrict(relevance.unwanted) if redundancy else None
        self._seen: dict[tuple[object, ...], list[tuple[int, ...]]] = {}

    def run(self, attached: Sequence[Body]) -> list[Body]:
        """Each distinct body of one attached part and closed parts; fewer where the budget expires.

        Raises:
            Undecided: there are too many.
        """
        queue: list[tuple[int, int, int, tuple[object, ...], Body]] = []
        counter = itertools.count()
        found: list[Body] = []
        new: Sequence[Body] = attached
        while True:
            for body in new:
                name = body.name
                if self._remember(name, body):
                    used = body.used
                    heapq.heappush(queue, (used.cost, used.literals, next(counter), name, body))
            expired = self._limits.budget.expired()
            if expired or not queue:
                self.complete = not expired
                return found
            *_, name, body = heapq.heappop(queue)
            weight = self._limits.key(body.used)
            new = ()
            if any(other != weight and covers(other, weight) for other in self._seen[name]):
                continue
            found.append(body)
            if len(found) > _MOST_BODIES:
                raise Undecided("too many rule bodies")
            new = self._longer(body)

    def _remember(self, name: tuple[object, ...], body: Body) -> bool:
        """Whether no body of this name uses up as little; remembers it then."""
        weight = self._limits.key(body.used)
        known = self._seen.setdefault(name, [])
        if any(covers(other, weight) for other in known):
            return False
        known.append(weight)
        return True

    def _longer(self, body: Body) -> list[Body]:
        """The bodies with one closed part more."""
        narrower = self._tables[:, body.positions] & body.holds
        lost = narrower ^ body.holds
        if self._unwanted is not None:
            lost &= self._unwanted[body.positions]
        alive = np.flatnonzero(narrower.any(axis=1) & lost.any(axis=1)).tolist()
        self.evaluated += len(alive)
        found = []
        for k in alive:
            if self._limits.budget.expired():
                break
            other = self._closed[k]
            if not self._limits.allow(body.used, other.used) or not body.families.isdisjoint(other.families):
                continue
            some = np.flatnonzero(narrower[k])
            positions, holds = body.positions[some], narrower[k, some]
            used = body.used + other.used
            if not self._unprofitable(positions, holds, used.cost):
                found.append(_joined(body, other, positions, holds, used))
        return found


def _joined(body: Body, other: Body, positions: Positions, holds: Bits, used: Resources) -> Body:
    shift = len(body.types) if other.types else 0
    parts = tuple((literal, tuple(v + shift for v in variables)) for literal, variables in other.parts)
    families = body.families | other.families
    return Body(positions, holds, used, body.parts + parts, body.types + other.types, families)
