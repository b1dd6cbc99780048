"""Bodies where a language bias prices rules as a whole: sets of literals that are true together.

Costs that do not add up tell nothing of a longer body, so every body that holds where it is wanted is
written down, and all are priced at once. Bodies may have no variables but the head's.
"""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from functools import reduce

import numpy as np

from nsl_bench.core.budget import Budget, Undecided
from nsl_bench.logic.las.bias.batch import Pricing
from nsl_bench.logic.las.bits import Bits, unpack
from nsl_bench.logic.las.enumeration.bodies import Bodies
from nsl_bench.logic.las.enumeration.building_blocks import Relevance, Resources
from nsl_bench.logic.las.enumeration.components import Body
from nsl_bench.logic.las.enumeration.heads import HeadForm

_MOST_BODIES = 1_000_000
_BATCH = 1 << 15
_WATCHED = 256
"""Bodies between two looks at the clock."""

Literals = tuple[int, ...]


def true_sets(
    bodies: Bodies, head_types: tuple[str, ...], relevance: Relevance, wanted: Bits, forms: Sequence[HeadForm]
) -> Iterator[tuple[Body, list[int]]]:
    """Every body that holds in some wanted case, shorter ones first, with its rule's cost under each head.

    Args:
        bodies: the task's literals and limits.
        head_types: types of the head's variables.
        relevance: where it matters whether a body holds.
        wanted: uint64, as `relevance.cells`: where holding can help.
        forms: heads with variables of these types.

    Yields:
        A body and the costs, `FORBIDDEN` (`nsl_bench.logic.las.bias.batch`) where a constraint of the bias
        says so.
    """
    atoms = bodies.ground_parts(head_types, relevance)
    tables = np.zeros((len(atoms), len(relevance.positions)), np.uint64)
    for row, atom in zip(tables, atoms, strict=True):
        row[atom.positions] = atom.holds
    everywhere = relevance.restrict(
        np.broadcast_to(bodies.vocabulary.guard(head_types), relevance.cells.shape)
    )
    cases = _cases(tables, relevance.restrict(wanted) & everywhere, bodies.budget)
    sets = _subsets(cases, bodies.limits.literals, bodies.budget)
    if bodies.limits.recall:
        limits, none = bodies.limits, bodies.nothing
        sets = [
            each
            for each in sets
            if limits.allow(reduce(Resources.plus, (atoms[k].used for k in each), none), none)
        ]
    names = [f"V{i + 1}" for i in range(len(head_types))]
    texts = [_text(bodies, atom, names) for atom in atoms]
    pricing = Pricing(bodies.vocabulary.bias, [form.text(names) for form in forms], texts)
    for start in range(0, len(sets), _BATCH):
        if bodies.limits.budget.expired():
            bodies.complete = False
            return
        batch = sets[start : start + _BATCH]
        held = np.zeros((len(atoms), len(batch)), np.bool_)
        for i, chosen in enumerate(batch):
            held[list(chosen), i] = True
        costs = [pricing.costs(f, held).tolist() for f in range(len(forms))]
        bodies.evaluated += len(batch)
        for i, chosen in enumerate(batch):
            if i % _WATCHED == 0 and bodies.limits.budget.expired():
                bodies.complete = False
                return
            table = everywhere
            for k in chosen:
                table = table & tables[k]
            positions = np.flatnonzero(table)
            parts = tuple(part for k in chosen for part in atoms[k].parts)
            body = Body(positions, table[positions], bodies.nothing, parts, head_types)
            yield body, [each[i] for each in costs]


def _text(bodies: Bodies, atom: Body, names: Sequence[str]) -> str:
    literal, variables = atom.parts[0]
    return bodies.literals[literal].text([names[v] for v in variables])


def _cases(tables: Bits, wanted: Bits, budget: Budget) -> set[Literals]:
    """The literals that are true in each wanted case, each such set once."""
    result: set[Literals] = set()
    for place in np.flatnonzero(wanted).tolist():
        budget.check()
        bits = np.ascontiguousarray(tables[:, place])[:, None]
        flags = unpack(bits, 64)
        for case in np.flatnonzero(unpack(wanted[place : place + 1], 64)).tolist():
            result.add(tuple(np.flatnonzero(flags[:, case]).tolist()))
    return result


def _subsets(cases: Iterable[Literals], limit: int | None, budget: Budget) -> list[Literals]:
    """All subsets of the cases with at most `limit` literals, each once, shorter ones first."""
    result: set[Literals] = set()
    for case in cases:
        for size in range(min(len(case), len(case) if limit is None else limit) + 1):
            budget.check()
            for chosen in itertools.combinations(case, size):
                result.add(chosen)
                if len(result) > _MOST_BODIES:
                    raise Undecided("too many rule bodies, and #bias prices each as a whole")
    return sorted(result, key=lambda each: (len(each), each))
