"""Enumerating conjunctions of pieces in order of cost, each distinct table once.

A conjunction over some variables is a set of placed pieces; its table is the AND of theirs. Two
conjunctions whose tables are equal up to renaming variables of one type behave alike in all rules, so
only the cheaper is kept (with what it uses up as part of the comparison). Tables are not stored but
computed again from the pieces, a chunk of columns at a time, so memory stays bounded.
"""

from __future__ import annotations

import hashlib
import heapq
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from nsl_bench.asp.ground_program import Undecided
from nsl_bench.las.enumeration.building_blocks import Piece, Resources, placed_view
from nsl_bench.las.enumeration.conjunctions import Conjunction, Interest, Limits, Placement, covers
from nsl_bench.las.enumeration.kernels import AXES, Kernels, kernels, six
from nsl_bench.las.tables.columns import Bits
from nsl_bench.las.tables.literals import BodyLiteral, Vocabulary

__all__ = ["Search"]

_CHUNK_BYTES = 1 << 26
_RENAMED_BYTES = 1 << 21
_COMPILED_BYTES = 1 << 24
_MOST_STATES = 400_000
_TEMPORARIES = 8
"""Tables as large as a chunk that are held at a time, at most."""
_COMPILER_BYTES = 1 << 28
"""Room that loading the compiled kernels needs: numba and LLVM take some 150 MiB."""
_WATCHED = 64
"""Conjunctions between two looks at the memory."""


_Plan = tuple[
    Placement,
    tuple[str, ...],
    tuple[str, ...],
    tuple[Placement, ...],
    tuple[int, ...],
    "list[tuple[int, ...]]",
    Resources,
]
"""A child to look at: what is placed, the parent's types and the new ones, the child's sorted types and
placements, the order that sorts them, all orders to compare tables under, and the child's resources."""


@dataclass
class Search:
    """Enumerates conjunctions that grow from some fixed variables, or from nothing.

    Attributes:
        vocabulary: domains.
        pieces: what conjunctions are made of.
        literals: what pieces are made of.
        fixed: types of variables that are kept apart, e.g. those of a head.
        limits: bounds.
        hopeless: says of a projection and a cost that no rule that contains them can pay.
        interest: where projections matter; None: everywhere.
        through_first: each piece has to contain variable 0 (stars).
        evaluated: how many tables were computed.
        complete: `run` has found all.
    """

    vocabulary: Vocabulary
    pieces: Sequence[Piece]
    literals: Sequence[BodyLiteral]
    fixed: tuple[str, ...]
    limits: Limits
    hopeless: Callable[[Bits, int], bool]
    interest: Interest | None = None
    through_first: bool = False
    evaluated: int = 0
    complete: bool = False
    _seen: dict[tuple[object, ...], list[tuple[int, ...]]] = field(default_factory=dict)
    _tried: dict[tuple[object, ...], tuple[int, ...]] = field(default_factory=dict)
    _extensions: dict[tuple[str, ...], list[tuple[Placement, tuple[str, ...], bool]]] = field(
        default_factory=dict
    )

    _kernels: tuple[Kernels | None] | None = None

    def __post_init__(self) -> None:
        domain = self.vocabulary.domain
        self._unguarded = {
            kind
            for kind in {*self.fixed, *itertools.chain.from_iterable(p.types for p in self.pieces)}
            if not domain(kind).guarded
        }
        self._rigid = self.vocabulary.rigid
        self._words = self.vocabulary.columns.words
        # fixed from the start: digests of tables are those of their chunks
        self._chunk_bytes = min(_CHUNK_BYTES, self.limits.budget.room() // _TEMPORARIES)

    def run(self) -> list[Conjunction]:
        """All distinct conjunctions that may pay, cheapest first; fewer where the budget expires.

        Raises:
            Undecided: there are too many.
        """
        found: list[Conjunction] = []
        queue: list[tuple[int, int, int, Conjunction]] = []
        counter = itertools.count()
        for start in self._starts():
            heapq.heappush(queue, (start.used.cost, start.used.literals, next(counter), start))
        while queue and not self.limits.budget.expired():
            state = heapq.heappop(queue)[-1]
            if self._beaten(state):
                continue
            found.append(state)
            if len(found) % _WATCHED == 0:
                self.limits.budget.take(0, "rule bodies")
            if len(found) > _MOST_STATES:
                raise Undecided("too many rule bodies")
            for child in self._children(state):
                heapq.heappush(queue, (child.used.cost, child.used.literals, next(counter), child))
        self.complete = not queue
        return found

    def projected(self, types: Sequence[str], placements: Sequence[Placement]) -> Bits:
        """uint64 [sizes[1:]..., words]: where some value of the first variable makes the pieces hold."""
        step = self._chunk(math.prod(self._sizes(types)))
        chunks = (slice(first, first + step) for first in range(0, max(self._words, 1), step))
        tables = (self.table(types, placements, words) for words in chunks)
        return np.concatenate([np.bitwise_or.reduce(table, axis=0) for table in tables], axis=-1)

    def table(self, types: Sequence[str], placements: Sequence[Placement], words: slice) -> Bits:
        """uint64 [sizes..., words]: where the placed pieces hold together."""
        compiled = self._compiled()
        if compiled is not None and len(types) <= AXES:
            result = np.ascontiguousarray(self._base(types, words))
            for index, mapping in placements:
                view = self._view((index, mapping), len(types))[..., words]
                compiled.intersect(six(result), six(view, result.shape))
            return result
        result = self._base(types, words)
        for index, mapping in placements:
            result = result & self._view((index, mapping), len(types))[..., words]
        if self._rigid:
            for a, b in itertools.combinations(placements, 2):
                differ = self._differ(a, b, types)
                if differ is not None:
                    result = np.where(differ[..., None], result, np.uint64(0))
        return np.ascontiguousarray(np.broadcast_to(result, (*self._sizes(types), result.shape[-1])))

    def _base(self, types: Sequence[str], words: slice = slice(None)) -> Bits:
        """uint64 [sizes..., words]: where variables of these types have values and that matters."""
        guard = self.vocabulary.guard(types, words)
        if self.interest is None:
            return guard
        cells = self.interest.cells[..., words]
        kept = len(self.fixed)
        return guard & cells.reshape(*cells.shape[:-1], *(1,) * (len(types) - kept), cells.shape[-1])

    def _starts(self) -> list[Conjunction]:
        zero = Resources(0, 0, len(self.fixed), (0,) * len(self.limits.recall))
        if self.fixed:
            guard = self._base(self.fixed)
            unbound = frozenset(i for i, kind in enumerate(self.fixed) if kind in self._unguarded)
            start = Conjunction(self.fixed, (), zero, guard, unbound)
            self._beaten(start, self._digest_of(start))
            return [start]
        empty = Conjunction((), (), zero, self.vocabulary.columns.full, frozenset())
        grown = [
            ((i, tuple(range(len(piece.types)))), piece.types)
            for i, piece in enumerate(self.pieces)
            if piece.varies
        ]
        return self._grow(empty, grown)

    def _children(self, state: Conjunction) -> list[Conjunction]:
        extensions = self._extensions.get(state.types)
        if extensions is None:
            extensions = self._extensions[state.types] = self._make_extensions(state.types)
        present = set(state.placements)
        families = {self.pieces[index].family for index, _ in state.placements} - {None}
        return self._grow(
            state,
            [
                (placement, new)
                for placement, new, joined in extensions
                if placement not in present and (joined or self.pieces[placement[0]].family in families)
            ],
        )

    def _make_extensions(self, types: tuple[str, ...]) -> list[tuple[Placement, tuple[str, ...], bool]]:
        """Each way to place a piece on these variables and new ones; whether it shares one of these.

        Without replacement, literals of one predicate constrain each other without sharing a variable.
        """
        found = []
        by_type: dict[str, list[int]] = {}
        for variable, kind in enumerate(types):
            by_type.setdefault(kind, []).append(variable)
        spare = self.limits.variables - len(types)
        for index, piece in enumerate(self.pieces):
            options = [[*by_type.get(kind, ()), None] for kind in piece.types]
            for choice in itertools.product(*options):
                known = [variable for variable in choice if variable is not None]
                if len(set(known)) < len(known) or (not known and choice and not self._rigid):
                    continue
                if not choice and self.through_first:
                    continue
                if self.through_first and 0 not in known:
                    continue
                if choice.count(None) > spare or not choice:
                    continue
                if piece.symmetric and len(known) == 2 and known[0] > known[1]:
                    continue
                if piece.symmetric and choice[0] is None and choice[1] is not None:
                    continue
                new: list[str] = []
                mapping = []
                for variable, kind in zip(choice, piece.types, strict=True):
                    mapping.append(len(types) + len(new) if variable is None else variable)
                    if variable is None:
                        new.append(kind)
                found.append(((index, tuple(mapping)), tuple(new), bool(known)))
        return found

    def _grow(
        self, state: Conjunction, extensions: Sequence[tuple[Placement, tuple[str, ...]]]
    ) -> list[Conjunction]:
        """The children of `state` that are new and within the limits."""
        planned = []
        for placement, new in extensions:
            piece = self.pieces[placement[0]]
            used = state.used + piece.used
            used = Resources(used.cost, used.literals, used.variables + len(new), used.recall)
            if not self.limits.allow(used):
                continue
            raw = (*state.types, *new)
            placements = (*state.placements, placement)
            orders = self._orders(raw)
            types, canonical, order = self._canonical(raw, placements, orders)
            if len(orders) * self.volume(raw) > (_RENAMED_BYTES if self._compiled() is None else 1 << 27):
                orders = [order]
            weight = self.limits.key(used)
            known = self._tried.get((types, canonical))
            if known is not None and known <= weight:
                continue
            self._tried[(types, canonical)] = weight
            planned.append((placement, raw, types, canonical, order, orders, used))
        if not planned:
            return []
        self.evaluated += len(planned)
        digests, projections = self._evaluate(state, planned)
        children = []
        for plan, digest, projection in zip(planned, digests, projections, strict=True):
            _, _, types, canonical, _, _, used = plan
            if not projection.any() or self.hopeless(projection, used.cost):
                continue
            bound = {mapping[place] for i, mapping in canonical for place in self.pieces[i].binds}
            unbound = frozenset(
                v for v, kind in enumerate(types) if kind in self._unguarded and v not in bound
            )
            if self._idle(state, projection, types, unbound):
                continue
            child = Conjunction(types, canonical, used, projection, unbound)
            if not self._beaten(child, digest):
                children.append(child)
        return children

    def _idle(
        self, state: Conjunction, projection: Bits, types: tuple[str, ...], unbound: frozenset[int]
    ) -> bool:
        """Whether a child of `state` does no more than cost more and fill less.

        Without further variables that is true of whatever grows from it, too.
        """
        return (
            self.interest is not None
            and not self._rigid
            and types == self.fixed
            and unbound == state.unbound
            and self.interest.spares(state.projection, projection)
        )

    def _evaluate(self, state: Conjunction, planned: Sequence[_Plan]) -> tuple[list[bytes], list[Bits]]:
        """Digest (least over renamings) and projection of each planned child."""
        compiled = self._compiled()
        if compiled is not None and max(len(plan[1]) for plan in planned) <= AXES:
            return self._evaluate_compiled(state, planned, compiled)
        hashers = [[hashlib.blake2b(digest_size=16) for _ in plan[5]] for plan in planned]
        kept = len(self.fixed)
        projections: list[list[Bits]] = [[] for _ in planned]
        largest = max(math.prod(self._sizes(plan[1])) for plan in planned)
        step = self._chunk(largest)
        for first in range(0, max(self._words, 1), step):
            words = slice(first, first + step)
            parent = self.table(state.types, state.placements, words)
            for k, (placement, raw, _, _, _, orders, _) in enumerate(planned):
                n_new = len(raw) - len(state.types)
                child = parent.reshape(*parent.shape[:-1], *(1,) * n_new, parent.shape[-1])
                child = child & self._view(placement, len(raw))[..., words]
                if n_new:
                    child = child & self._new_guard(raw, len(state.types))[..., words]
                if self._rigid:
                    for other in state.placements:
                        differ = self._differ(other, placement, raw)
                        if differ is not None:
                            child = np.where(differ[..., None], child, np.uint64(0))
                for hasher, order in zip(hashers[k], orders, strict=True):
                    hasher.update(np.ascontiguousarray(child.transpose(*order, len(raw))).tobytes())
                axes = tuple(range(kept, len(raw)))
                projections[k].append(np.bitwise_or.reduce(child, axis=axes) if axes else child)
        digests = [min(h.digest() for h in hs) for hs in hashers]
        return digests, [np.concatenate(p, axis=-1) if len(p) > 1 else p[0] for p in projections]

    def _chunk(self, volume: int) -> int:
        """How many words of a table with so many cells are computed at a time."""
        return max(1, self._chunk_bytes // (8 * volume))

    def _compiled(self) -> Kernels | None:
        """The compiled kernels, where tables can get large enough to pay for loading them."""
        if self._kernels is None:
            spare = max(0, self.limits.variables - len(self.fixed))
            types = {kind for piece in self.pieces for kind in piece.types}
            widest = max((self.vocabulary.domain(kind).size for kind in types), default=1)
            volume = 8 * self._words * math.prod(self._sizes(self.fixed)) * widest**spare
            large = volume > _COMPILED_BYTES and not self._rigid
            self._kernels = (kernels() if large and self.limits.budget.room() > _COMPILER_BYTES else None,)
        return self._kernels[0]

    def _evaluate_compiled(
        self,
        state: Conjunction,
        planned: Sequence[_Plan],
        compiled: Kernels,
    ) -> tuple[list[bytes], list[Bits]]:
        kept = len(self.fixed)
        digests = [np.zeros((len(plan[5]), 2), np.uint64) for plan in planned]
        strides = [self._strides(plan[1], plan[5]) for plan in planned]
        results = [
            np.zeros((*self._sizes(plan[1][:kept]), *(1,) * (len(plan[1]) - kept), self._words), np.uint64)
            for plan in planned
        ]
        step = self._chunk(math.prod(self._sizes(state.types)))
        for first in range(0, max(self._words, 1), step):
            words = slice(first, first + step)
            parent = self.table(state.types, state.placements, words)
            for k, (placement, raw, *_rest) in enumerate(planned):
                n_new = len(raw) - len(state.types)
                shape = (*self._sizes(raw), parent.shape[-1])
                extended = parent.reshape(*parent.shape[:-1], *(1,) * n_new, parent.shape[-1])
                view = self._view(placement, len(raw))[..., words]
                guard = self._new_guard(raw, len(state.types))[..., words]
                compiled.probe(
                    six(extended, shape),
                    six(view, shape),
                    six(guard, shape),
                    strides[k],
                    first,
                    digests[k],
                    six(results[k][..., words]),
                )
        found = [min(row.tobytes() for row in digest) for digest in digests]
        flat = [r.reshape(*r.shape[:kept], self._words) for r in results]
        return found, flat

    def _strides(self, types: tuple[str, ...], orders: Sequence[tuple[int, ...]]) -> npt.NDArray[np.int64]:
        """int64 [orders, AXES]: what a step along each variable adds to a position, in each order."""
        sizes = self._sizes(types)
        found = np.zeros((len(orders), AXES), np.int64)
        for row, order in zip(found, orders, strict=True):
            stride = self._words
            for variable in reversed(order):
                row[variable] = stride
                stride *= sizes[variable]
        return found

    def _new_guard(self, types: Sequence[str], known: int) -> Bits:
        """uint64 [1 or size..., words]: where the variables from `known` on have values."""
        result = self.vocabulary.columns.full.reshape((1,) * len(types) + (-1,))
        for axis in range(known, len(types)):
            guards = self.vocabulary.domain(types[axis]).guards
            shape = [1] * len(types) + [self._words]
            shape[axis] = len(guards)
            result = result & guards.reshape(shape)
        return result

    def _digest_of(self, state: Conjunction) -> bytes:
        hashers = [hashlib.blake2b(digest_size=16) for _ in self._orders(state.types)]
        for hasher, order in zip(hashers, self._orders(state.types), strict=True):
            table = self.table(state.types, state.placements, slice(None))
            hasher.update(np.ascontiguousarray(table.transpose(*order, len(state.types))).tobytes())
        return min(h.digest() for h in hashers)

    def _beaten(self, state: Conjunction, digest: bytes | None = None) -> bool:
        """Whether an equal table was seen that uses no more; remembers this one if `digest` is given."""
        weight = self.limits.key(state.used)
        if digest is None:
            known = self._seen[(state.types, state.unbound, state.digest)]
            return any(o != weight and covers(o, weight) for o in known)
        object.__setattr__(state, "digest", digest + (str(state.placements).encode() if self._rigid else b""))
        known = self._seen.setdefault((state.types, state.unbound, state.digest), [])
        if any(covers(o, weight) for o in known):
            return True
        known[:] = [o for o in known if not covers(weight, o)]
        known.append(weight)
        return False

    def _canonical(
        self,
        raw: tuple[str, ...],
        placements: Sequence[Placement],
        orders: Sequence[tuple[int, ...]],
    ) -> tuple[tuple[str, ...], tuple[Placement, ...], tuple[int, ...]]:
        """Sorted types, the least renaming of the placements, and the order that gives it."""
        best: tuple[Placement, ...] | None = None
        chosen = orders[0]
        for order in orders:
            place = {variable: i for i, variable in enumerate(order)}
            renamed = []
            for index, mapping in placements:
                new = tuple(place[v] for v in mapping)
                if self.pieces[index].symmetric and new[0] > new[1]:
                    new = (new[1], new[0])
                renamed.append((index, new))
            candidate = tuple(sorted(renamed))
            if best is None or candidate < best:
                best, chosen = candidate, order
        assert best is not None
        return tuple(raw[v] for v in chosen), best, chosen

    def _orders(self, types: tuple[str, ...]) -> list[tuple[int, ...]]:
        """Orders of the variables that keep the fixed ones and sort the others by type."""
        found = _ORDERS.get((types, len(self.fixed)))
        if found is None:
            kept = tuple(range(len(self.fixed)))
            free = sorted(range(len(self.fixed), len(types)), key=lambda v: types[v])
            groups = [list(g) for _, g in itertools.groupby(free, key=lambda v: types[v])]
            found = [
                kept + tuple(itertools.chain.from_iterable(choice))
                for choice in itertools.product(*(itertools.permutations(g) for g in groups))
            ]
            _ORDERS[(types, len(self.fixed))] = found
        return found

    def _sizes(self, types: Sequence[str]) -> tuple[int, ...]:
        return tuple(self.vocabulary.domain(kind).size for kind in types)

    def volume(self, types: Sequence[str]) -> int:
        """Bytes of a table over variables of these types."""
        return 8 * self._words * math.prod(self._sizes(types))

    def _view(self, placement: Placement, n: int) -> Bits:
        """The piece's table with an axis for each of `n` variables, of extent 1 where it has none."""
        index, mapping = placement
        return placed_view(self.pieces[index].table, mapping, n)

    def _differ(self, a: Placement, b: Placement, types: Sequence[str]) -> npt.NDArray[np.bool_] | None:
        """Where two literals of one family are different ground atoms; None: everywhere."""
        sides = []
        for index, mapping in (a, b):
            literal, places = self.pieces[index].parts[0]
            sides.append((self.literals[literal], [mapping[place] for place in places]))
        return self.vocabulary.differ(*sides[0], *sides[1], types)


_ORDERS: dict[tuple[tuple[str, ...], int], list[tuple[int, ...]]] = {}
