"""All rule bodies that may matter, for heads with given variables.

A body falls into parts that share no variable: one that holds the head's variables, and closed ones,
true or false of a whole context. Each kind is enumerated by `Search` and the parts are joined.
"""

from __future__ import annotations

import hashlib
import heapq
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from nsl_bench.asp.ground_program import Undecided
from nsl_bench.budget import Budget
from nsl_bench.las.enumeration.building_blocks import (
    LEAF,
    Part,
    Piece,
    Resources,
    leaf_types,
    make_piece,
    placed_view,
    recall_places,
    single_pieces,
)
from nsl_bench.las.enumeration.conjunctions import Conjunction, Interest, Limits, covers
from nsl_bench.las.enumeration.search import Search
from nsl_bench.las.tables.columns import Bits
from nsl_bench.las.tables.literals import BodyLiteral, Vocabulary

__all__ = ["Bodies", "Body", "Places"]

_MOST_BODIES = 2_000_000
_DIGESTED = 64

Places = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Body:
    """A rule body.

    Attributes:
        places: intp [k]: the positions of `Interest` in which it holds anywhere, ascending.
        holds: uint64 [k]: where it holds there.
        used: its resources; `variables` counts the head's too.
        parts: its literals; variables are numbers, the head's first.
        types: type of each variable.
    """

    places: Places
    holds: Bits
    used: Resources
    parts: tuple[Part, ...]
    types: tuple[str, ...]

    @property
    def name(self) -> bytes:
        """Equal for bodies that hold in the same places."""
        text = self.places.tobytes() + self.holds.tobytes()
        return text if len(text) < _DIGESTED else hashlib.blake2b(text, digest_size=16).digest()


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
        self.nothing = Resources(0, 0, 0, (0,) * len(places))
        self._full = vocabulary.columns.full
        rigid = vocabulary.rigid
        ground = {lit.family for lit in self.literals if not lit.types}
        if rigid and not ground.isdisjoint({lit.family for lit in self.literals if lit.types}):
            raise Undecided("a predicate with and without variables, without replacement")
        self.singles = single_pieces(self.literals, self._full, rigid=rigid)

    def bodies(
        self, head_types: tuple[str, ...], interest: Interest, hopeless: Callable[[Places, Bits, int], bool]
    ) -> list[Body]:
        """The distinct bodies for heads whose variables have these types, cheapest first.

        Args:
            head_types: types of the head's variables, in order of their first occurrence.
            interest: where it matters whether a body holds.
            hopeless: says of where a body holds (positions and words, as in `Body`) and its cost that
                neither it nor any longer one can pay.

        Raises:
            Undecided: there are too many.
        """
        leaves = frozenset() if self.vocabulary.rigid else leaf_types(self.literals, frozenset(head_types))
        limits = self.limits
        pieces = self._pieces(leaves)
        grounded = [piece for piece in pieces if not piece.types]
        open_pieces = [piece for piece in pieces if piece.types]

        def loses(holds: Bits, cost: int) -> bool:
            found = interest.spread(holds)
            places = np.flatnonzero(found)
            return hopeless(places, found[places], cost)

        def as_bodies(found: Iterable[Conjunction], pieces: Sequence[Piece]) -> list[Body]:
            return [self._as_body(each, pieces, interest) for each in found if not each.unbound]

        closed = as_bodies(self._ground_conjunctions(grounded, pieces), pieces)
        spare = replace(limits, variables=limits.variables - len(head_types))
        search = Search(self.vocabulary, open_pieces, self.literals, (), spare, loses)
        closed += as_bodies(search.run(), open_pieces)
        self._account(search)
        guarded = all(self.vocabulary.domain(kind).guarded for kind in head_types)
        if head_types and (spare.variables or not guarded or self.vocabulary.rigid):
            search = Search(self.vocabulary, open_pieces, self.literals, head_types, limits, loses, interest)
            attached = as_bodies(search.run(), open_pieces)
            self._account(search)
        else:
            used = replace(self.nothing, variables=len(head_types))
            guard = np.broadcast_to(self.vocabulary.guard(head_types), interest.cells.shape)
            everywhere = Conjunction(head_types, (), used, guard, frozenset())
            attached = as_bodies([everywhere], ())
            closed += as_bodies(self._placed(head_types, open_pieces), open_pieces)
        return self._join(attached, _distinct(closed, limits), limits, interest, hopeless)

    def ground_parts(self, head_types: tuple[str, ...], interest: Interest) -> list[Body]:
        """The literals as bodies of their own, where a rule's variables are the head's alone.

        Raises:
            Undecided: bodies may have other variables.
        """
        open_pieces = [piece for piece in self.singles if piece.types]
        guarded = all(self.vocabulary.domain(kind).guarded for kind in head_types)
        spare = self.limits.variables > len(head_types)
        if self.vocabulary.rigid or not guarded or (open_pieces and spare):
            raise Undecided("#bias prices rules as a whole, and bodies have variables of their own")
        ground = [piece for piece in self.singles if not piece.types]
        parts = [Conjunction((), ((i, ()),), p.used, p.table, frozenset()) for i, p in enumerate(ground)]
        found = [self._as_body(each, ground, interest) for each in parts]
        placed = self._placed(head_types, open_pieces)
        return [*found, *(self._as_body(each, open_pieces, interest) for each in placed)]

    def _placed(self, head_types: tuple[str, ...], pieces: Sequence[Piece]) -> Iterator[Conjunction]:
        """Each piece on each choice of the head's variables, where a rule may have no others."""
        sizes = tuple(self.vocabulary.domain(kind).size for kind in head_types)
        for index, piece in enumerate(pieces):
            options = [[v for v, own in enumerate(head_types) if own == kind] for kind in piece.types]
            for mapping in itertools.product(*options):
                backwards = piece.symmetric and mapping[0] > mapping[-1]
                if len(set(mapping)) < len(mapping) or piece.used.variables or backwards:
                    continue
                view = placed_view(piece.table, mapping, len(head_types))
                holds = np.broadcast_to(view, (*sizes, view.shape[-1]))
                yield Conjunction((), ((index, mapping),), piece.used, holds, frozenset())

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
            parts = tuple(
                (literal, tuple(mapping[place] - 1 for place in places))
                for index, mapping in conjunction.placements
                for literal, places in around[index].parts
            )
            assert all(LEAF in variables for _, variables in parts)
            used = replace(conjunction.used, variables=1)
            self.limits.budget.take(search.volume(conjunction.types[1:]), "tables of pieces")
            projected = search.projected(conjunction.types, conjunction.placements)
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

    def _as_body(self, conjunction: Conjunction, pieces: Sequence[Piece], interest: Interest) -> Body:
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
        holds = interest.spread(conjunction.projection)
        where = np.flatnonzero(holds)
        return Body(where, holds[where], conjunction.used, tuple(parts), tuple(types))

    def _join(
        self,
        attached: Sequence[Body],
        closed: Sequence[Body],
        limits: Limits,
        interest: Interest,
        hopeless: Callable[[Places, Bits, int], bool],
    ) -> list[Body]:
        """Each distinct conjunction of one attached part and closed parts."""
        seen: dict[bytes, list[tuple[int, ...]]] = {}
        queue: list[tuple[int, int, int, bytes, Body]] = []
        counter = itertools.count()
        found: list[Body] = []

        def offer(body: Body) -> None:
            weight = limits.key(body.used)
            name = body.name
            known = seen.setdefault(name, [])
            if any(covers(other, weight) for other in known):
                return
            known.append(weight)
            heapq.heappush(queue, (body.used.cost, body.used.literals, next(counter), name, body))

        for body in attached:
            offer(body)
        rigid = self.vocabulary.rigid
        limits.budget.take(8 * len(closed) * len(interest.places), "tables of what rules may hold")
        tables = np.zeros((len(closed), len(interest.places)), np.uint64)
        for row, body in zip(tables, closed, strict=True):
            row[body.places] = body.holds
        unwanted = interest.spread(interest.unwanted)
        while queue:
            if limits.budget.expired():
                self.complete = False
                break
            *_, name, body = heapq.heappop(queue)
            weight = limits.key(body.used)
            if any(o != weight and covers(o, weight) for o in seen[name]):
                continue
            found.append(body)
            if len(found) > _MOST_BODIES:
                raise Undecided("too many rule bodies")
            narrower = tables[:, body.places] & body.holds
            lost = narrower ^ body.holds
            if not rigid:
                lost &= unwanted[body.places]  # what hurts nowhere less makes no better rule
            alive = narrower.any(axis=1) & lost.any(axis=1)
            for k in np.flatnonzero(alive).tolist():
                other = closed[k]
                used = body.used + other.used
                if not limits.allow(used) or (rigid and self._constrained(body, other)):
                    continue
                some = np.flatnonzero(narrower[k])
                places, holds = body.places[some], narrower[k, some]
                if not hopeless(places, holds, used.cost):
                    offer(_joined(body, other, places, holds, used))
            self.evaluated += int(alive.sum())
        return found


def _joined(body: Body, other: Body, places: Places, holds: Bits, used: Resources) -> Body:
    shift = len(body.types) if other.types else 0
    parts = tuple((literal, tuple(v + shift for v in variables)) for literal, variables in other.parts)
    return Body(places, holds, used, body.parts + parts, body.types + other.types)


def _distinct(bodies: Sequence[Body], limits: Limits) -> list[Body]:
    """Without bodies that another one equals at no higher cost."""
    best: dict[bytes, list[tuple[int, ...]]] = {}
    kept = []
    for body in sorted(bodies, key=lambda b: (b.used.cost, b.used.literals)):
        weight = limits.key(body.used)
        known = best.setdefault(body.name, [])
        if not any(covers(other, weight) for other in known):
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
        if not any(covers(other, weight) for other in known):
            known.append(weight)
            kept.append(piece)
    return kept
