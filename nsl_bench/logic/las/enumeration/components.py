"""Bodies from parts that share no variable: one with the head's variables, and closed ones.

A closed part is true or false of a whole context.
"""

import heapq
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from nsl_bench.core.budget import Undecided
from nsl_bench.logic.las.bits import Bits, digest
from nsl_bench.logic.las.enumeration.building_blocks import (
    Limits,
    Part,
    Positions,
    Relevance,
    Resources,
    Shape,
    counted,
)
from nsl_bench.logic.las.tables.dominance import Fronts

_MOST_BODIES = 2_000_000
_DIGESTED = 64
_MOST_WORDS = 1 << 26
"""Words that are looked at to find weaker parts."""
_MOST_WEAKER = 4

_Added = tuple[int, ...]
"""Closed parts of a body, by their numbers."""

Component = tuple[int, tuple[str, ...], tuple[tuple[Shape, tuple[int, ...]], ...]]
"""What constraints see of a part: how many variables it shares, the types of its own, and its blocks."""

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
        families: predicates and signs of its literals with variables, where literals are grounded without
            replacement: no part that has one of them may be added.
        shared: how many of its first variables are the head's, where it is to be added to others.
        shape: what constraints see of the parts that it is made of, in order, where rules are held to some.
    """

    positions: Positions
    holds: Bits
    used: Resources
    parts: tuple[Part, ...]
    types: tuple[str, ...]
    families: frozenset[tuple[str, int, bool]] = frozenset()
    shared: int = 0
    shape: tuple[Component, ...] = ()

    @property
    def name(self) -> tuple[object, ...]:
        """Equal for bodies that hold at the same positions and that the same parts may be added to."""
        text = self.positions.tobytes() + self.holds.tobytes()
        if len(text) >= _DIGESTED:
            text = digest(text)
        return text, self.families, counted(self.shape)[0]

    def weight(self, limits: Limits) -> tuple[int, ...]:
        """What a body that may stand for it must not have more of."""
        return (*limits.key(self.used), *counted(self.shape)[1])


def distinct(bodies: Sequence[Body], limits: Limits) -> list[Body]:
    """Without bodies that another one equals at no higher cost."""
    fronts = Fronts()
    cheapest_first = sorted(bodies, key=lambda b: (b.used.cost, b.used.literals))
    return [body for body in cheapest_first if fronts.admits(body.name, body.weight(limits))]


class Joining:
    """Joins attached and closed parts to bodies, the cheapest first.

    Args:
        redundancy: a body of which every unwanted case would be excluded without one of its parts, or with a
            weaker one, is no better than that; not so where literals are grounded without replacement.
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
        self._unwanted = relevance.restrict(relevance.unwanted)
        self._weaker = self._all_weaker() if redundancy else None
        self._fronts = Fronts()

    def run(self, attached: Sequence[Body]) -> list[Body]:
        """Each distinct body of one attached part and closed parts; fewer where the budget expires."""
        queue: list[tuple[int, int, int, tuple[object, ...], Body, Body, _Added]] = []
        counter = itertools.count()
        result: list[Body] = []
        new: Iterable[tuple[Body, Body, _Added]] = ((body, body, ()) for body in attached)
        while True:
            for body, base, added in new:
                name = body.name
                if self._fronts.admits(name, body.weight(self._limits)):
                    used = body.used
                    entry = (used.cost, used.literals, next(counter), name, body, base, added)
                    heapq.heappush(queue, entry)
            expired = self._limits.budget.expired()
            if expired or not queue:
                self.complete = not expired
                left = [(name, body) for *_, name, body, _, _ in sorted(queue)]
                new_ones = (b for name, b in left if not self._fronts.surpasses(name, b.weight(self._limits)))
                return [*result, *new_ones]
            *_, name, body, base, added = heapq.heappop(queue)
            new = ()
            if self._fronts.surpasses(name, body.weight(self._limits)):
                continue
            result.append(body)
            if len(result) > _MOST_BODIES:
                raise Undecided("too many rule bodies")
            new = self._longer(body, base, added)

    def _longer(self, body: Body, base: Body, added: _Added) -> Iterator[tuple[Body, Body, _Added]]:
        """The bodies with one closed part more."""
        narrower = self._tables[:, body.positions] & body.holds
        bad = body.holds & self._unwanted[body.positions]
        lost = bad & ~narrower if self._weaker is not None else body.holds & ~narrower
        alive = np.flatnonzero(narrower.any(axis=1) & (lost.any(axis=1) | bool(body.shape)))
        if self._weaker is not None and len(alive):
            for excluded in self._excluded(base, added):
                some = np.flatnonzero(excluded)
                alive = alive[(self._tables[alive[:, None], some] & excluded[some]).any(axis=1)]
        self.evaluated += len(alive)
        for k in alive.tolist():
            if self._limits.budget.expired():
                break
            other = self._closed[k]
            if not self._limits.allow(body.used, other.used) or not body.families.isdisjoint(other.families):
                continue
            if self._weaker is not None:
                useless = (lost[k] & self._tables[w, body.positions] for w in self._weaker[k])
                if not all(each.any() for each in useless):
                    continue
            some = np.flatnonzero(narrower[k])
            positions, holds = body.positions[some], narrower[k, some]
            used = body.used.plus(other.used)
            if not self._unprofitable(positions, holds, used.cost):
                yield _joined(body, other, positions, holds, used), base, (*added, k)

    def _excluded(self, base: Body, added: _Added) -> Iterator[Bits]:
        """uint64 [positions]: for each part and what may stand for it, the unwanted cases that it excludes.

        A part of which nothing is left there does no more in a body than what may stand for it, which uses up
        less; nor does it in a longer body.
        """
        assert self._weaker is not None
        whole = np.zeros_like(self._unwanted)
        whole[base.positions] = base.holds & self._unwanted[base.positions]
        for k in added:
            others = [self._tables[other] for other in added if other != k]
            alone = np.bitwise_and.reduce([whole, ~self._tables[k], *others])
            yield alone
            for w in self._weaker[k]:
                yield alone & self._tables[w]

    def _all_weaker(self) -> list[list[int]]:
        """For each closed part, some that hold wherever it does and use up less."""
        tables = self._tables
        result: list[list[int]] = [[] for _ in self._closed]
        if tables.size * len(tables) > _MOST_WORDS:
            return result
        weights = np.array([(*self._limits.key(b.used), b.used.literals) for b in self._closed], np.int64)
        for k, (table, weight) in enumerate(zip(tables, weights, strict=True)):
            less = (weights <= weight).all(axis=1) & (weights < weight).any(axis=1)
            others = np.flatnonzero(less)
            if not len(others):
                continue
            others = others[~(table & ~tables[others]).any(axis=1)]
            sizes = np.bitwise_count(tables[others]).sum(axis=1)
            for w in others[np.argsort(sizes, kind="stable")].tolist():
                if all((tables[v] & ~tables[w]).any() for v in result[k]):
                    result[k].append(w)
                    if len(result[k]) == _MOST_WEAKER:
                        break
        return result


def _joined(body: Body, other: Body, positions: Positions, holds: Bits, used: Resources) -> Body:
    shift, shared = len(body.types) - other.shared, other.shared
    parts = tuple(
        (literal, tuple(v if v < shared else v + shift for v in variables))
        for literal, variables in other.parts
    )
    families = body.families | other.families
    types, shape = body.types + other.types, tuple(sorted(body.shape + other.shape))
    return Body(positions, holds, used, body.parts + parts, types, families, 0, shape)
