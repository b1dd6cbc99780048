"""Enumerating conjunctions of building blocks, the cheapest first, each distinct table once.

A conjunction over some variables is a set of placed blocks; its table is the AND of theirs. Conjunctions
whose tables are equal up to renaming variables of one type, and whose variables are as safe, behave alike in
all rules, so one is kept only if none of its like uses up less.
"""

import heapq
import itertools
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence

import numpy as np

from nsl_bench.core.budget import Undecided
from nsl_bench.logic.las.bits import Bits
from nsl_bench.logic.las.enumeration.building_blocks import (
    Blocks,
    BuildingBlock,
    Conjunction,
    Limits,
    Placement,
    Relevance,
    Resources,
    Shape,
    counted,
)
from nsl_bench.logic.las.enumeration.canonical import Order, Renamings
from nsl_bench.logic.las.enumeration.compiled import make_tables
from nsl_bench.logic.las.enumeration.evaluation import Extension
from nsl_bench.logic.las.tables.comparisons import Settled
from nsl_bench.logic.las.tables.dominance import Fronts, undominated
from nsl_bench.logic.las.tables.literals import Vocabulary

_MOST_STATES = 400_000
_MOST_BYTES = 1 << 24
"""Tables of tests that are compared at a time."""
_WATCHED = 64
"""Conjunctions between two looks at the memory."""

_Option = tuple[Placement, tuple[str, ...], bool]
"""A way to place a block beside others: the new variables' types, and whether it shares a variable."""


class Search:
    """Enumerates conjunctions that grow from some fixed variables, or from nothing.

    Args:
        fixed: types of variables that are kept apart, e.g. those of a head.
        unprofitable: says of a projection and a cost that no rule that contains them can pay.
        relevance: where projections matter; None: everywhere.
        through_first: each block has to contain variable 0 (stars).

    Attributes:
        failure: why tables are computed by numpy where compiled kernels were meant to, if so.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        blocks: Blocks,
        fixed: tuple[str, ...],
        limits: Limits,
        unprofitable: Callable[[Bits, int], bool],
        relevance: Relevance | None = None,
        *,
        through_first: bool = False,
    ) -> None:
        self.tables, self.failure = make_tables(vocabulary, blocks, fixed, limits, relevance)
        self.evaluated = 0
        self.complete = False
        self._blocks: Sequence[BuildingBlock] = blocks.items
        self._distinct_uses: dict[Resources, int] = {}
        self._uses = [
            self._distinct_uses.setdefault(block.used._replace(cost=0), len(self._distinct_uses))
            for block in blocks.items
        ]
        self._fitting: dict[Resources, set[tuple[int, int]]] = {}
        self._literals = blocks.literals
        self._fixed = fixed
        self._limits = limits
        self._unprofitable = unprofitable
        self._relevance = relevance
        self._through_first = through_first
        self._full = vocabulary.columns.full
        self._unguarded = {kind for kind in {*fixed, *blocks.types} if not vocabulary.domain(kind).guarded}
        self._single = vocabulary.single
        self._without_replacement = vocabulary.without_replacement
        self._sighted = vocabulary.sight is not None
        self._interest = vocabulary.interest
        tests = (i for i, b in enumerate(self._blocks) if b.types == fixed and not b.varies)
        self._tests = set(tests) if through_first else set()
        settled = vocabulary.settled(fixed[0]) if self._tests else None
        self._sieve: Sieve | None = None
        if settled is not None:
            self._sieve = Sieve(self._blocks, self._tests, settled, limits, sighted=self._sighted)
        self._known_useful: dict[tuple[tuple[str, ...], tuple[Placement, ...]], set[int]] = {}
        self._renamings = Renamings(self._blocks, len(fixed))
        self._options: dict[tuple[str, ...], list[_Option]] = {}
        self._tried: set[tuple[tuple[str, ...], tuple[Placement, ...]]] = set()
        self._fronts = Fronts()

    def run(self) -> list[Conjunction]:
        """All distinct conjunctions that may pay, cheapest first; fewer where the budget expires."""
        result: list[Conjunction] = []
        queue: list[tuple[int, int, int, Conjunction]] = []
        counter = itertools.count()
        children = self._starts()
        while True:
            for child in children:
                heapq.heappush(queue, (child.used.cost, child.used.literals, next(counter), child))
            if not queue or self._limits.budget.expired():
                break
            state = heapq.heappop(queue)[-1]
            children = iter(())
            if self._fronts.surpasses(state.key, self._weight(state)):
                continue
            result.append(state)
            if len(result) % _WATCHED == 0:
                self._limits.budget.take(0, "rule bodies")
            if len(result) > _MOST_STATES:
                raise Undecided("too many rule bodies")
            children = self._children(state)
        self.complete = not queue and not self._limits.budget.expired()
        left = (entry[-1] for entry in sorted(queue))
        return [*result, *(each for each in left if not self._fronts.surpasses(each.key, self._weight(each)))]

    def _starts(self) -> Iterator[Conjunction]:
        used = Resources(0, 0, len(self._fixed), (0,) * len(self._limits.recall))
        if self._fixed:
            projection, digests = self.tables.start()
            unbound = frozenset(i for i, kind in enumerate(self._fixed) if kind in self._unguarded)
            key = (self._fixed, digests[0], tuple(sorted(unbound)), ())
            start = Conjunction(self._fixed, (), used, projection, unbound, key)
            self._fronts.admits(start.key, self._weight(start))
            return iter([start])
        empty = Conjunction((), (), used, self._full, frozenset())
        placed = [
            ((i, tuple(range(len(block.types)))), block.types)
            for i, block in enumerate(self._blocks)
            if block.varies or self._sighted
        ]
        return self._grow(empty, placed)

    def _children(self, state: Conjunction) -> Iterator[Conjunction]:
        options = self._options.get(state.types)
        if options is None:
            options = self._options[state.types] = self._all_options(state.types)
        useful = self._useful(state)
        fitting = self._fitting_beside(state.used)
        present = set(state.placements)
        families = {self._blocks[index].family for index, _ in state.placements} - {None}
        placed = [
            (placement, new)
            for placement, new, joined in options
            if (self._uses[placement[0]], len(new)) in fitting
            and placement not in present
            and placement[0] in useful
            and (joined or self._blocks[placement[0]].family in families)
        ]
        return itertools.chain(self._grow(state, placed), self._pairs(state))

    def _fitting_beside(self, used: Resources) -> set[tuple[int, int]]:
        """The numbers of what blocks use up, and of new variables, that are allowed beside `used`."""
        key = used._replace(cost=0)
        result = self._fitting.get(key)
        if result is None:
            counts = range(max((len(block.types) for block in self._blocks), default=0) + 1)
            pairs = itertools.product(self._distinct_uses.items(), counts)
            result = {(i, n) for (more, i), n in pairs if self._limits.allow(key, more, n)}
            self._fitting[key] = result
        return result

    def _pairs(self, state: Conjunction) -> Iterator[Conjunction]:
        """The extensions of `state` by two tests that say something together only."""
        if self._sieve is None or not state.placements or not self._is_loose(state):
            return
        if any(each[0] in self._tests for each in state.placements):
            return
        for first, others in self._sieve.pairs.items():
            more = self._blocks[first].used
            if self._limits.allow(state.used, more):
                placements = (*state.placements, (first, (0,)))
                between = state._replace(placements=placements, used=state.used.plus(more))
                yield from self._grow(between, [((other, (0,)), ()) for other in others])

    def _is_loose(self, state: Conjunction) -> bool:
        """See `Sieve.is_loose`."""
        core = [i for i, _ in state.placements if i not in self._tests]
        literals = (self._literals[k] for i in core for k, _ in self._blocks[i].parts)
        return self._sieve is not None and self._sieve.is_loose([each.mode.negated for each in literals])

    def _useful(self, state: Conjunction) -> Collection[int]:
        """The blocks that may be added, without tests of a star's leaf that others make superfluous.

        A test, such as a comparison with a constant, holds the same in every column. It says nothing alone,
        and beside other blocks of a star no more than any that holds for the same values there.
        """
        if not self._tests:
            return range(len(self._blocks))
        core = tuple(each for each in state.placements if each[0] not in self._tests)
        tests = [i for i, _ in state.placements if i in self._tests]
        if self._sieve is not None and self._is_loose(state):
            return self._beside_negated(tests)
        result = self._known_useful.get((state.types, core))
        if result is None:
            result = set(range(len(self._blocks))) - self._tests
            if core or self._sighted:
                result |= self._undominated_tests(state.types, core)
            self._known_useful[state.types, core] = result
        if self._sieve is not None and tests:
            return result & self._sieve.worthwhile(tests)
        return result

    def _beside_negated(self, tests: Sequence[int]) -> Collection[int]:
        """The blocks that may be added where but negated literals and some tests are about the leaf."""
        assert self._sieve is not None
        if tests and not self._sieve.is_vain(tests):
            return self._sieve.worthwhile(tests)
        result = set(self._sieve.witnesses) if self._sighted else set()
        return (
            result if tests else result | set(self._sieve.alone) | set(range(len(self._blocks))) - self._tests
        )

    def _undominated_tests(self, types: tuple[str, ...], core: tuple[Placement, ...]) -> set[int]:
        """The tests that are left beside some placed blocks."""
        if self.tables.volume(types) * len(self._tests) > _MOST_BYTES:
            return set(self._tests)
        tests = sorted(self._tests)
        blocks = [self._blocks[i] for i in tests]
        kinds = [(block.binds, block.shape) for block in blocks]
        prices = [(*self._limits.key(block.used), block.used.literals) for block in blocks]
        tables = self.tables.tested(types, core, tests)
        return {tests[k] for k in undominated(kinds, tables, prices, self._interest)}

    def _all_options(self, types: tuple[str, ...]) -> list[_Option]:
        """Each way to place a block on these variables and new ones.

        Without replacement, literals of one predicate constrain each other without sharing a variable.
        """
        result: list[_Option] = []
        by_type: dict[str, list[int]] = {}
        for variable, kind in enumerate(types):
            by_type.setdefault(kind, []).append(variable)
        spare = self._limits.variables - len(types)
        for index, block in enumerate(self._blocks):
            if self._limits.budget.expired():
                break
            if not block.types:
                continue
            options = [self._places(by_type.get(kind, []), kind) for kind in block.types]
            for choice in itertools.product(*options):
                old_variables = [variable for variable in choice if variable is not None]
                if len(set(old_variables)) < len(old_variables) or choice.count(None) > spare:
                    continue
                if not old_variables and not self._without_replacement:
                    continue
                if (self._through_first and 0 not in old_variables) or _is_mirrored(block, choice):
                    continue
                numbers = itertools.count(len(types))
                variables = tuple(next(numbers) if v is None else v for v in choice)
                new = tuple(kind for v, kind in zip(choice, block.types, strict=True) if v is None)
                result.append(((index, variables), new, bool(old_variables)))
        return result

    def _places(self, variables: list[int], kind: str) -> list[int | None]:
        """The variables of a type that a block may have: the known ones, or a new one (None)."""
        return [*variables] if variables and kind in self._single else [*variables, None]

    def _grow(
        self, state: Conjunction, placed: Sequence[tuple[Placement, tuple[str, ...]]]
    ) -> Iterator[Conjunction]:
        """The extensions of `state` that are new, within the limits, may pay and are not dominated."""
        for extension in self._extensions(state, placed):
            self._limits.budget.pause()
            if self._limits.budget.expired():
                return
            self.evaluated += 1
            projection, digests = self.tables.extend(state, extension)
            if not projection.any() or self._unprofitable(projection, extension.used.cost):
                continue
            child = self._child(extension, projection, digests)
            if self._is_redundant(state, child):
                continue
            if self._fronts.admits(child.key, self._weight(child)):
                yield child

    def _extensions(
        self, state: Conjunction, placed: Sequence[tuple[Placement, tuple[str, ...]]]
    ) -> Iterator[Extension]:
        for placement, new in placed:
            more = self._blocks[placement[0]].used
            if not self._limits.allow(state.used, more, len(new)):
                continue
            if self._limits.budget.expired():
                return
            types = (*state.types, *new)
            placements = (*state.placements, placement)
            orders = self._renamings.orders(types, placements)
            canonical = self._renamings.least(types, placements, orders)
            if canonical[:2] in self._tried:
                continue
            self._tried.add(canonical[:2])
            compared = self.tables.compared(types, orders, canonical[2])
            yield Extension(placement, types, compared, state.used.plus(more, len(new)), canonical)

    def _child(self, extension: Extension, projection: Bits, digests: Sequence[bytes]) -> Conjunction:
        types, placements, order = extension.canonical
        bound = {variables[place] for i, variables in placements for place in self._blocks[i].binds}
        unbound = {v for v, kind in enumerate(types) if kind in self._unguarded and v not in bound}
        result = Conjunction(types, placements, extension.used, projection, frozenset(unbound))
        if self._without_replacement:
            return result._replace(key=(types, placements))
        raw = {order[v] for v in unbound}
        keys = (
            (digest, tuple(i for i, v in enumerate(each) if v in raw), *self._shape(placements, order, each))
            for digest, each in zip(digests, extension.orders, strict=True)
        )
        digest, missing, seen, counts = min(keys)
        return result._replace(key=(types, digest, missing, seen), counts=counts)

    def _shape(
        self, placements: Sequence[Placement], order: Order, other: Order
    ) -> tuple[tuple[tuple[Shape, tuple[int, ...]], ...], tuple[int, ...]]:
        """What constraints see of placed blocks, and how often (`counted`), under another order of variables.

        Args:
            placements: the blocks, their variables in the order `order`.
            order, other: variables in that order and in the other one.
        """
        if not self._sighted:
            return (), ()
        place = {variable: i for i, variable in enumerate(other)}
        return counted(
            sorted((self._blocks[i].shape, tuple(place[order[v]] for v in vs)) for i, vs in placements)
        )

    def _is_redundant(self, state: Conjunction, child: Conjunction) -> bool:
        """Whether a child of `state` costs more and fills less.

        Without further variables that is true of whatever grows from it, too.
        """
        return (
            self._relevance is not None
            and not self._without_replacement
            and not self._sighted
            and child.types == self._fixed
            and child.unbound == state.unbound
            and self._relevance.as_harmful(state.projection, child.projection)
        )

    def _weight(self, state: Conjunction) -> tuple[int, ...]:
        return (*self._limits.key(state.used), *state.counts)


def _is_mirrored(block: BuildingBlock, choice: Sequence[int | None]) -> bool:
    """Whether a placement is another one with the places of a symmetric block exchanged."""
    if not block.symmetric:
        return False
    first, second = choice
    return second is not None and (first is None or first > second)


class Sieve:
    """Which tests of a leaf type are worth adding to those that a star has.

    A test holds of some of the leaf's values in all columns (`nsl_bench.logic.las.tables.comparisons`). One
    that holds of all values that the others leave adds nothing but its cost. Where but negated literals are
    about the leaf, tests say nothing as long as they leave a value that no literal names: then two of them
    are added at once that leave none.

    Args:
        tests: the indices of the tests among them.
        settled: the leaf's values.
        sighted: constraints may ask for more literals.

    Attributes:
        witnesses: of each kind, the cheapest test that holds of a value that no literal names.
        alone: the tests that leave no such value.
        pairs: those that leave none together, but others: each with the later ones.
    """

    def __init__(
        self,
        blocks: Sequence[BuildingBlock],
        tests: set[int],
        settled: Settled,
        limits: Limits,
        *,
        sighted: bool,
    ) -> None:
        order = sorted(tests, key=lambda i: limits.key(blocks[i].used))
        self._rows = {i: _number((blocks[i].table != 0).any(axis=-1)) for i in order}
        self._kinds: dict[int, Hashable] = {i: (blocks[i].binds, blocks[i].shape) for i in order}
        self._order, self._sighted = order, sighted
        unnamed = np.flatnonzero(settled.unnamed)
        self._unnamed = _number(settled.unnamed)
        parts = np.array([(blocks[i].table != 0).any(axis=-1)[unnamed] for i in order], np.bool_)
        parts = parts.reshape(len(order), len(unnamed))
        edges = np.diff(parts.astype(np.int8), axis=1, prepend=0) == 1
        self._in_pairs = bool(len(unnamed)) and not (edges.sum(axis=1) > 1).any()
        self._witness = settled.witness
        self.witnesses: frozenset[int] = frozenset()
        if settled.witness is not None:
            holding = [i for i in order if self._rows[i] >> settled.witness & 1]
            self.witnesses = frozenset({self._kinds[i]: i for i in reversed(holding)}.values())
        self.alone = [i for i in order if not self._rows[i] & self._unnamed]
        self.pairs: dict[int, list[int]] = {}
        if self._in_pairs:
            some = [k for k in range(len(order)) if parts[k].any()]
            left = parts[some].astype(np.float32)
            for k, j in np.argwhere(np.triu(left @ left.T == 0)).tolist():
                one, other = order[some[k]], order[some[j]]
                if self._rows[one] & self._rows[other]:
                    self.pairs.setdefault(one, []).append(other)

    def is_loose(self, negated: Sequence[bool]) -> bool:
        """Whether tests beside such other literals of the leaf say nothing while they leave some value.

        Args:
            negated: whether each of the others is negated.
        """
        if not negated:
            return self._witness is not None
        return self._in_pairs and all(negated)

    def is_vain(self, tests: Sequence[int]) -> bool:
        """Whether tests leave a value that no literal names."""
        return self._left(tests) & self._unnamed != 0

    def worthwhile(self, tests: Sequence[int]) -> set[int]:
        """The tests that leave fewer values than these do, and those that constraints may want besides."""
        left = self._left(tests)
        result: set[int] = set()
        kinds = {self._kinds[i] for i in tests} if self._sighted else set(self._kinds.values())
        for i in self._order:
            rest = left & self._rows[i]
            if rest and (rest != left or self._kinds[i] not in kinds):
                result.add(i)
                kinds |= {self._kinds[i]} if rest == left else set()
        return result

    def _left(self, tests: Sequence[int]) -> int:
        left = -1
        for i in tests:
            left &= self._rows[i]
        return left


def _number(flags: np.typing.NDArray[np.bool_]) -> int:
    return int.from_bytes(np.packbits(flags, bitorder="little").tobytes(), "little")
