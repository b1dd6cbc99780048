"""All rule bodies that may matter, for heads with given variables.

A body falls into parts that share no variable: one that holds the head's variables, and closed ones,
true or false of a whole context. Each kind is enumerated by `Search` and the parts are joined.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from nsl_bench.las.clock import Budget
from nsl_bench.las.columns import Bits
from nsl_bench.las.conjunction import Conjunction, Interest, Limits
from nsl_bench.las.pieces import (
    LEAF,
    Part,
    Piece,
    Resources,
    leaf_types,
    make_piece,
    recall_places,
    single_pieces,
)
from nsl_bench.las.program import Undecided
from nsl_bench.las.search import Search
from nsl_bench.las.tables import BodyLiteral, Vocabulary

__all__ = ["Bodies", "Body"]

_MOST_BODIES = 2_000_000


@dataclass(frozen=True, eq=False)
class Body:
    """A rule body.

    Attributes:
        holds: uint64 [sizes of head variables..., words].
        used: its resources; `variables` counts the head's too.
        parts: its literals; variables are numbers, the head's first.
        types: type of each variable.
    """

    holds: Bits
    used: Resources
    parts: tuple[Part, ...]
    types: tuple[str, ...]


class Bodies:
    """Enumerates bodies for one task."""

    def __init__(self, vocabulary: Vocabulary, budget: Budget) -> None:
        bias = vocabulary.bias
        self.vocabulary = vocabulary
        self.literals: list[BodyLiteral] = vocabulary.literals()
        places = recall_places(self.literals)
        most = {lit.mode.mode: lit.mode.recall or 0 for lit in self.literals if lit.mode.recall is not None}
        self.limits = Limits(
            bias.max_variables, bias.body_limit, tuple(most[mode] for mode in places), budget
        )
        self.evaluated = 0
        self.complete = True
        self._full = vocabulary.columns.full
        rigid = vocabulary.rigid
        ground = {lit.family for lit in self.literals if not lit.types}
        if rigid and not ground.isdisjoint({lit.family for lit in self.literals if lit.types}):
            raise Undecided("a predicate with and without variables, without replacement")
        self.singles = single_pieces(self.literals, self._full, rigid=rigid)

    def bodies(
        self, head_types: tuple[str, ...], interest: Interest, hopeless: Callable[[Bits, int], bool]
    ) -> list[Body]:
        """The distinct bodies for heads whose variables have these types, cheapest first.

        Args:
            head_types: types of the head's variables, in order of their first occurrence.
            interest: where it matters whether a body holds.
            hopeless: says of where a body holds (uint64 [sizes..., words]) and its cost that neither it
                nor any longer one can pay.

        Raises:
            Undecided: there are too many.
        """
        leaves = frozenset() if self.vocabulary.rigid else leaf_types(self.literals, frozenset(head_types))
        limits = self.limits
        pieces = self._pieces(leaves)
        grounded = [piece for piece in pieces if not piece.types]
        open_pieces = [piece for piece in pieces if piece.types]
        closed = [self._as_body(c, pieces) for c in self._ground_conjunctions(grounded, pieces)]
        sizes = tuple(self.vocabulary.domain(kind).size for kind in head_types)

        def flat(holds: Bits, cost: int) -> bool:
            return hopeless(np.broadcast_to(holds, (*sizes, len(holds))), cost)

        spare = replace(limits, variables=limits.variables - len(head_types))
        search = Search(self.vocabulary, open_pieces, self.literals, (), spare, flat)
        for conjunction in search.run():
            if not conjunction.unbound:
                closed.append(self._as_body(conjunction, open_pieces))
        self._account(search)
        zero = Resources(0, 0, len(head_types), (0,) * len(self.limits.recall))
        if head_types:
            search = Search(self.vocabulary, open_pieces, self.literals, head_types, limits, hopeless, interest)
            attached = [
                self._as_body(conjunction, open_pieces)
                for conjunction in search.run()
                if not conjunction.unbound
            ]
            self._account(search)
        else:
            attached = [Body(interest.cells, zero, (), ())]
        return self._join(attached, _distinct(closed, limits), limits, interest, hopeless)

    def _ground_conjunctions(self, grounded: Sequence[Piece], pieces: Sequence[Piece]) -> list[Conjunction]:
        """Pieces without open variables, as conjunctions of one."""
        place = {id(piece): i for i, piece in enumerate(pieces)}
        return [
            Conjunction((), ((place[id(piece)], ()),), piece.used, piece.table, frozenset())
            for piece in grounded
            if piece.varies
        ]

    def _pieces(self, leaves: frozenset[str]) -> list[Piece]:
        """Single literals without leaf variables, and the stars of each leaf type."""
        core = [piece for piece in self.singles if leaves.isdisjoint(piece.types)]
        stars: list[Piece] = []
        for leaf in sorted(leaves):
            stars += self._stars(leaf, [piece for piece in self.singles if leaf in piece.types])
        return _cheapest_pieces([*core, *stars], self.limits)

    def _stars(self, leaf: str, around: Sequence[Piece]) -> list[Piece]:
        """The distinct stars of one variable of type `leaf`, projected onto its neighbours."""
        search = Search(
            self.vocabulary,
            around,
            self.literals,
            (leaf,),
            self.limits,
            lambda holds, cost: False,
            through_first=True,
        )
        stars = []
        for conjunction in search.run():
            if not conjunction.placements or 0 in conjunction.unbound:
                continue
            table = search.table(conjunction.types, conjunction.placements, slice(None))
            parts = tuple(
                (literal, tuple(mapping[place] - 1 for place in places))
                for index, mapping in conjunction.placements
                for literal, places in around[index].parts
            )
            assert all(LEAF in variables for _, variables in parts)
            used = replace(conjunction.used, variables=1)
            projected = np.bitwise_or.reduce(table, axis=0)
            self.limits.budget.take(projected.nbytes, "tables of literals around one variable")
            stars.append(make_piece(conjunction.types[1:], projected, parts, used, self.literals, self._full))
        self._account(search)
        return stars

    def _account(self, search: Search) -> None:
        self.evaluated += search.evaluated
        self.complete &= search.complete

    def _constrained(self, body: Body, other: Body) -> bool:
        """Whether literals of the two must differ as ground atoms, so that `Search` has joined them."""
        open_literals = [
            {self.literals[i].family for i, _ in b.parts if self.literals[i].types} - {None}
            for b in (body, other)
        ]
        return not open_literals[0].isdisjoint(open_literals[1])

    def _as_body(self, conjunction: Conjunction, pieces: Sequence[Piece]) -> Body:
        """The conjunction with a variable of its own for each leaf."""
        types = list(conjunction.types)
        parts: list[Part] = []
        for index, mapping in conjunction.placements:
            piece = pieces[index]
            leaf = len(types)
            for literal, places in piece.parts:
                parts.append((literal, tuple(leaf if p == LEAF else mapping[p] for p in places)))
                for place, kind in zip(places, self.literals[literal].types, strict=True):
                    if place == LEAF and len(types) == leaf:
                        types.append(kind)
        return Body(conjunction.projection, conjunction.used, tuple(parts), tuple(types))

    def _join(
        self,
        attached: Sequence[Body],
        closed: Sequence[Body],
        limits: Limits,
        interest: Interest,
        hopeless: Callable[[Bits, int], bool],
    ) -> list[Body]:
        """Each distinct conjunction of one attached part and closed parts."""
        seen: dict[bytes, list[tuple[int, ...]]] = {}
        queue: list[tuple[int, int, int, Body]] = []
        counter = itertools.count()
        found: list[Body] = []

        def offer(body: Body) -> None:
            weight = limits.key(body.used)
            known = seen.setdefault(body.holds.tobytes(), [])
            if any(_covers(other, weight) for other in known):
                return
            known.append(weight)
            heapq.heappush(queue, (body.used.cost, body.used.literals, next(counter), body))

        for body in attached:
            offer(body)
        rigid = self.vocabulary.rigid
        tables = np.array([body.holds for body in closed], np.uint64).reshape(len(closed), len(self._full))
        while queue:
            if limits.budget.expired():
                self.complete = False
                break
            body = heapq.heappop(queue)[-1]
            weight = limits.key(body.used)
            if any(o != weight and _covers(o, weight) for o in seen[body.holds.tobytes()]):
                continue
            found.append(body)
            if len(found) > _MOST_BODIES:
                raise Undecided("too many rule bodies")
            # columns in which the body fails everywhere cannot tell the narrower ones apart
            words = np.flatnonzero(body.holds.reshape(-1, len(self._full)).any(axis=0))
            holds = body.holds[..., None, words]
            narrower = tables[:, words] & holds
            axes = (*range(narrower.ndim - 2), narrower.ndim - 1)
            alive = (narrower != 0).any(axis=axes) & (narrower != holds).any(axis=axes)
            for k in np.flatnonzero(alive).tolist():
                other = closed[k]
                used = body.used + other.used
                if not limits.allow(used) or (rigid and self._constrained(body, other)):
                    continue
                joint = body.holds & tables[k]
                if not rigid and interest.spares(body.holds, joint):
                    continue
                if not hopeless(joint, used.cost):
                    offer(_joined(body, other, joint, used))
            self.evaluated += int(alive.sum())
        return found


def _joined(body: Body, other: Body, holds: Bits, used: Resources) -> Body:
    shift = len(body.types)
    parts = tuple((literal, tuple(v + shift for v in variables)) for literal, variables in other.parts)
    return Body(holds, used, body.parts + parts, body.types + other.types)


def _distinct(bodies: Sequence[Body], limits: Limits) -> list[Body]:
    """Without bodies that another one equals at no higher cost."""
    best: dict[bytes, list[tuple[int, ...]]] = {}
    kept = []
    for body in sorted(bodies, key=lambda b: (b.used.cost, b.used.literals)):
        weight = limits.key(body.used)
        known = best.setdefault(body.holds.tobytes(), [])
        if not any(_covers(other, weight) for other in known):
            known.append(weight)
            kept.append(body)
    return kept


def _cheapest_pieces(pieces: Sequence[Piece], limits: Limits) -> list[Piece]:
    """Without pieces whose table another one has, with the same safety, at no higher price."""
    best: dict[tuple[object, ...], list[tuple[int, ...]]] = {}
    kept = []
    for piece in sorted(pieces, key=lambda p: (p.used.cost, p.used.variables, p.used.literals)):
        if piece.family is not None:
            kept.append(piece)
            continue
        key = (piece.types, piece.binds, piece.table.tobytes())
        weight = limits.key(piece.used)
        known = best.setdefault(key, [])
        if not any(_covers(other, weight) for other in known):
            known.append(weight)
            kept.append(piece)
    return kept


def _covers(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    return all(x <= y for x, y in zip(a, b, strict=True))
