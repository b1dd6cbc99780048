"""Stars: all literals around one leaf variable, as one derived literal without that variable.

A leaf type is one whose variables never meet each other in a literal, nor another leaf type's: digits,
rows, columns or blocks beside cells. A leaf variable and its literals form a star, which the rest of a
body sees as a table over the other variables, the leaf projected out. Enumerating stars first keeps
tables small: bodies are then conjunctions over the core variables alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from nsl_bench.logic.las.enumeration.building_blocks import LEAF, BlockMaker, Blocks, BuildingBlock
from nsl_bench.logic.las.enumeration.resources import Limits
from nsl_bench.logic.las.enumeration.search import Search
from nsl_bench.logic.las.tables.body_literals import BodyLiteral
from nsl_bench.logic.las.tables.literals import Vocabulary

__all__ = ["leaf_types", "stars"]


def leaf_types(literals: Sequence[BodyLiteral], kept: frozenset[str]) -> frozenset[str]:
    """Types whose variables can be projected out first: an independent set of the types that meet.

    Args:
        literals: all body literals.
        kept: types that must stay, e.g. those of head variables.
    """
    meets: dict[str, set[str]] = {}
    for literal in literals:
        for i, kind in enumerate(literal.types):
            others = literal.types[:i] + literal.types[i + 1 :]
            meets.setdefault(kind, set()).update(others)
    candidates = [kind for kind in sorted(meets) if kind not in kept and kind not in meets[kind]]
    candidates.sort(key=lambda kind: (len(meets[kind]), kind))
    chosen: set[str] = set()
    for kind in candidates:
        if meets[kind].isdisjoint(chosen):
            chosen.add(kind)
    return frozenset(chosen)


def stars(
    vocabulary: Vocabulary,
    leaf: str,
    around: Blocks,
    maker: BlockMaker,
    limits: Limits,
    account: Callable[[Search], None],
) -> list[BuildingBlock]:
    """The distinct stars of one variable of type `leaf`, projected onto its neighbours.

    Args:
        vocabulary: domains.
        leaf: a leaf type.
        around: the literals that hold a variable of it.
        maker: makes the stars.
        limits: bounds of a rule.
        account: is told of the finished search.

    Raises:
        Undecided: there are too many, or their tables take too much memory.
    """
    # stars are part of bodies that may gain anything
    search = Search(vocabulary, around, (leaf,), limits, lambda holds, cost: False, through_first=True)
    found = []
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
        used = replace(conjunction.used, variables=1)
        found.append(maker.make(conjunction.types[1:], table, parts, used))
    account(search)
    return found
