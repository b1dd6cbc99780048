"""All rule bodies that may matter, for heads with given variables.

A body falls into parts that share no variable: one that holds the head's variables, and closed ones. Each
kind is enumerated by `search` over building blocks, and the parts are joined (`components`).

A leaf type is one whose variables never meet each other in a literal, nor another leaf type's: digits,
rows, columns or blocks beside cells. A leaf variable and its literals form a star, which the rest of a
body sees as a table over the other variables, the leaf projected out. Enumerating stars first keeps
tables small: bodies are then conjunctions over the core variables alone.
"""

import itertools
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from nsl_bench.core.budget import Budget, Undecided
from nsl_bench.logic.las.bits import Bits
from nsl_bench.logic.las.enumeration.building_blocks import (
    LEAF,
    BlockMaker,
    Blocks,
    BuildingBlock,
    Conjunction,
    Limits,
    Part,
    Relevance,
    Resources,
    limited_modes,
    placed_view,
)
from nsl_bench.logic.las.enumeration.components import Body, Component, Joining, Unprofitable, distinct
from nsl_bench.logic.las.enumeration.search import Search
from nsl_bench.logic.las.tables.dominance import undominated
from nsl_bench.logic.las.tables.literals import BodyLiteral, Vocabulary


class Bodies:
    """Enumerates bodies for one task.

    Args:
        share: of the time that is left, which making the bodies may take.

    Attributes:
        failure: why tables are computed by numpy where compiled kernels were meant to, if so.
    """

    def __init__(self, vocabulary: Vocabulary, budget: Budget, share: float = 1.0) -> None:
        bias = vocabulary.bias
        self.vocabulary = vocabulary
        self.budget = budget
        budget = budget.before(share)
        self.literals: list[BodyLiteral] = vocabulary.literals()
        modes = limited_modes(self.literals)
        most = {lit.mode.mode: lit.mode.recall or 0 for lit in self.literals if lit.mode.recall is not None}
        self.limits = Limits(bias.max_variables, bias.body_limit, tuple(most[mode] for mode in modes), budget)
        self.evaluated = 0
        self.failure = ""
        self.nothing = Resources(0, 0, 0, (0,) * len(modes))
        distinct_atoms = vocabulary.without_replacement
        ground = {lit.family for lit in self.literals if not lit.types}
        if distinct_atoms and not ground.isdisjoint({lit.family for lit in self.literals if lit.types}):
            raise Undecided("a predicate with and without variables, without replacement")
        types = {kind for literal in self.literals for kind in literal.types}
        unguarded = frozenset(kind for kind in types if not vocabulary.domain(kind).guarded)
        self._sighted = vocabulary.sight is not None
        self._maker = BlockMaker(self.literals, vocabulary.columns.full, unguarded, self._sighted)
        self.complete = vocabulary.complete
        self._singles = self._maker.of_literals(bias.max_variables, without_replacement=distinct_atoms)

    def bodies(
        self, head_types: tuple[str, ...], relevance: Relevance, unprofitable: Unprofitable
    ) -> list[Body]:
        """The distinct bodies for heads whose variables have these types, cheapest first.

        Args:
            head_types: types of the head's variables, in order of their first occurrence.
        """
        limits, vocabulary = self.limits, self.vocabulary
        grounded, blocks = self._blocks(head_types)

        def loses(holds: Bits, cost: int) -> bool:
            result = relevance.restrict(holds)
            positions = np.flatnonzero(result)
            return unprofitable(positions, result[positions], cost)

        def search(
            types: tuple[str, ...], bounds: Limits, where: Relevance | None, blocks: Blocks = blocks
        ) -> list[Body]:
            result = Search(vocabulary, blocks, types, bounds, loses, where)
            bodies = [self._body(each, blocks.items, relevance) for each in result.run() if not each.unbound]
            self._account(result)
            return bodies

        ground = [Conjunction((), ((i, ()),), b.used, b.table, frozenset()) for i, b in enumerate(grounded)]
        closed = [self._body(each, grounded, relevance) for each in ground]
        spare = limits.variables - len(head_types)
        closed += search((), limits._replace(variables=spare), None, self._elsewhere(head_types, blocks))
        guarded = all(vocabulary.domain(kind).guarded for kind in head_types)
        linked = spare and any(len(block.types) > 1 for block in blocks.items)
        if head_types and (linked or not guarded or vocabulary.without_replacement):
            attached = search(head_types, limits, relevance)
        else:
            attached = [self._everywhere(head_types, relevance)]
            placed = self._placed(head_types, blocks.items)
            closed += [self._body(each, blocks.items, relevance, shared=len(head_types)) for each in placed]
        joining = Joining(
            distinct(closed, limits),
            limits,
            relevance,
            unprofitable,
            redundancy=not vocabulary.without_replacement and not self._sighted,
        )
        joined = joining.run(attached)
        self.evaluated += joining.evaluated
        self.complete &= joining.complete
        return joined

    def ground_parts(self, head_types: tuple[str, ...], relevance: Relevance) -> list[Body]:
        """The literals as bodies of their own, where a rule's variables are the head's alone.

        Args:
            relevance: cells that a rule should fill, and cells that it should not.
        """
        guarded = all(self.vocabulary.domain(kind).guarded for kind in head_types)
        with_variables = [block for block in self._singles if block.types]
        spare = self.limits.variables > len(head_types)
        if self.vocabulary.without_replacement or not guarded or (with_variables and spare):
            raise Undecided("#bias prices rules as a whole, and bodies have variables of their own")
        ground = [block for block in self._singles if not block.types]
        parts = [Conjunction((), ((i, ()),), b.used, b.table, frozenset()) for i, b in enumerate(ground)]
        result = [self._body(each, ground, relevance) for each in parts]
        placed = self._placed(head_types, with_variables, mirrored=True)
        shared = len(head_types)
        return [*result, *(self._body(each, with_variables, relevance, shared=shared) for each in placed)]

    def _blocks(self, head_types: tuple[str, ...]) -> tuple[list[BuildingBlock], Blocks]:
        """Literals and stars that vary and have no variables, and those that have some."""
        leaves: frozenset[str] = frozenset()
        if not self.vocabulary.without_replacement:
            leaves = _leaf_types(self.literals, frozenset(head_types))
        result = [block for block in self._singles if leaves.isdisjoint(block.types)]
        for leaf in sorted(leaves):
            around = Blocks.of([block for block in self._singles if leaf in block.types], self.literals)
            result += _stars(self.vocabulary, leaf, around, self._maker, self.limits, self._account)
        result = self._undominated(result)
        self.complete &= not self.limits.budget.expired()
        grounded = [block for block in result if not block.types and (block.varies or self._sighted)]
        result = [block for block in result if block.types]
        return grounded, Blocks.of(result, self.literals)

    def _elsewhere(self, head_types: tuple[str, ...], blocks: Blocks) -> Blocks:
        """The blocks for bodies without the head's variables, which may be about other values than these.

        Where a type never has two members, a second variable of it says what the head's would say.
        """
        alone = self.vocabulary.single & set(head_types)
        if not alone:
            return blocks
        return Blocks.of([each for each in blocks.items if alone.isdisjoint(each.types)], self.literals)

    def _undominated(self, blocks: list[BuildingBlock]) -> list[BuildingBlock]:
        """The blocks without those that another one of the same places makes superfluous."""
        if self.vocabulary.without_replacement:
            return blocks
        blocks.sort(key=lambda b: (b.used.cost, b.used.variables, b.used.literals))
        kinds = [(block.types, block.binds, block.shape) for block in blocks]
        prices = [self.limits.key(block.used) for block in blocks]
        front = undominated(kinds, [block.table for block in blocks], prices, self.vocabulary.interest)
        return [blocks[i] for i in front]

    def _placed(
        self, head_types: tuple[str, ...], blocks: Sequence[BuildingBlock], *, mirrored: bool = False
    ) -> Iterator[Conjunction]:
        """Each block on each choice of the head's variables, where none links these with others.

        Args:
            mirrored: also where exchanging the variables of a symmetric block changes the text alone.
        """
        sizes = tuple(self.vocabulary.domain(kind).size for kind in head_types)
        for index, block in enumerate(blocks):
            options = [[v for v, own in enumerate(head_types) if own == kind] for kind in block.types]
            for variables in itertools.product(*options):
                backwards = block.symmetric and variables[0] > variables[-1] and not mirrored
                crowded = len(head_types) + block.used.variables > self.limits.variables
                if len(set(variables)) < len(variables) or crowded or backwards:
                    continue
                view = placed_view(block.table, variables, len(head_types))
                holds = np.broadcast_to(view, (*sizes, view.shape[-1]))
                yield Conjunction((), ((index, variables),), block.used, holds, frozenset())

    def _everywhere(self, head_types: tuple[str, ...], relevance: Relevance) -> Body:
        """The empty body."""
        used = self.nothing._replace(variables=len(head_types))
        guard = np.broadcast_to(self.vocabulary.guard(head_types), relevance.cells.shape)
        return self._body(Conjunction(head_types, (), used, guard, frozenset()), (), relevance)

    def _body(
        self,
        conjunction: Conjunction,
        blocks: Sequence[BuildingBlock],
        relevance: Relevance,
        *,
        shared: int = 0,
    ) -> Body:
        """The conjunction with a variable of its own for each leaf, beside `shared` ones of the head."""
        types = list(conjunction.types)
        parts: list[Part] = []
        for index, variables in conjunction.placements:
            leaf = len(types)
            for literal, places in blocks[index].parts:
                parts.append((literal, tuple(shared + leaf if p == LEAF else variables[p] for p in places)))
                for place, kind in zip(places, self.literals[literal].types, strict=True):
                    if place == LEAF and len(types) == leaf:
                        types.append(kind)
        families: set[tuple[str, int, bool]] = set()
        if self.vocabulary.without_replacement:
            all_families = (self.literals[i].family for i, variables in parts if variables)
            families = {family for family in all_families if family is not None}
        holds = relevance.restrict(conjunction.projection)
        where = np.flatnonzero(holds)
        shape: tuple[Component, ...] = ()
        if self._sighted:
            seen = sorted((blocks[i].shape, variables) for i, variables in conjunction.placements)
            shape = ((shared, conjunction.types, tuple(seen)),)
        own = tuple(parts), tuple(types), frozenset(families)
        return Body(where, holds[where], conjunction.used, *own, shared, shape)

    def _account(self, search: Search) -> None:
        self.evaluated += search.evaluated
        self.complete &= search.complete
        self.failure = self.failure or search.failure


def _leaf_types(literals: Sequence[BodyLiteral], types_used: frozenset[str]) -> frozenset[str]:
    """Types whose variables can be projected out first: an independent set of the types that meet.

    Args:
        types_used: types that must stay, e.g. those of head variables.
    """
    meets: dict[str, set[str]] = {}
    for literal in literals:
        for i, kind in enumerate(literal.types):
            others = literal.types[:i] + literal.types[i + 1 :]
            meets.setdefault(kind, set()).update(others)
    candidates = [kind for kind in sorted(meets) if kind not in types_used and kind not in meets[kind]]
    candidates.sort(key=lambda kind: (len(meets[kind]), kind))
    chosen: set[str] = set()
    for kind in candidates:
        if meets[kind].isdisjoint(chosen):
            chosen.add(kind)
    return frozenset(chosen)


def _stars(
    vocabulary: Vocabulary,
    leaf: str,
    around: Blocks,
    maker: BlockMaker,
    limits: Limits,
    account: Callable[[Search], None],
) -> list[BuildingBlock]:
    """The distinct stars of one variable of type `leaf`, projected onto its neighbours."""
    # stars are part of bodies that may gain anything
    search = Search(vocabulary, around, (leaf,), limits, lambda holds, cost: False, through_first=True)
    result = []
    for conjunction in search.run():
        if limits.budget.expired():
            break
        if not conjunction.placements or 0 in conjunction.unbound:
            continue
        parts = tuple(
            (literal, tuple(variables[place] - 1 for place in places))
            for index, variables in conjunction.placements
            for literal, places in around.items[index].parts
        )
        assert all(LEAF in variables for _, variables in parts)
        table = search.tables.without_first(conjunction.types, conjunction.placements)
        used = conjunction.used._replace(variables=1)
        result.append(maker.make(conjunction.types[1:], table, parts, used))
    account(search)
    return result
