"""Dense evaluation: what a ground program derives in every state of the slots that matter, at once.

An atom is a Boolean array with an axis for each slot that it depends on, so that an atom over two cards
has 53 x 53 entries however many cards there are. Arrays that would be too large are refused before they
are made.
"""

from collections.abc import Iterable
from functools import reduce
from math import prod

import numpy as np

from nsl_bench.core.types import Array, Bools
from nsl_bench.logic.inference.program.domains import Domains
from nsl_bench.logic.inference.program.ground import NEVER, GroundRule

Support = tuple[int, ...]


class TooLarge(Exception):
    """The program depends on too many slots at once for arrays."""


class _Table:
    """Arrays over a support are kept with one axis a slot of it, ascending."""

    def __init__(self, sizes: tuple[int, ...], most: int, work: int) -> None:
        self.sizes, self.most, self.left = sizes, most, work

    def spread(self, array: Array, support: Support, over: Support) -> Array:
        """The array with axes of extent 1 for the slots that it does not depend on."""
        if support == over:
            return array
        return array.reshape([self.sizes[s] if s in support else 1 for s in over])

    def shape(self, support: Support) -> list[int]:
        """The shape of arrays over a support; the work of one pass is charged."""
        size = prod(self.sizes[s] for s in support)
        self.left -= size
        if size > self.most or self.left < 0:
            raise TooLarge
        return [self.sizes[s] for s in support]


def _union(supports: Iterable[Support]) -> Support:
    return tuple(sorted({slot for support in supports for slot in support}))


def outcome_table(
    domains: Domains, most: int = 100_000_000, work: int = 4_000_000_000
) -> tuple[Support, Array]:
    """The outcome of every state.

    Args:
        domains: the program and its classes of values.
        most: entries of the largest array.
        work: entries of all arrays that are passed over.

    Returns:
        The slots that the outcome depends on, ascending; whole numbers, uint8 if they fit, with an axis
        each: a label's index, then `undecided`, then `ambiguous`.
    """
    program = domains.program
    table = _Table(domains.sizes, most, work)
    tables: dict[int, tuple[Support, Bools]] = {}
    for atom, (slot, value) in domains.atoms.items():
        tables[atom] = (slot,), np.arange(domains.sizes[slot]) == value
    false = (), np.zeros((), np.bool_)
    for component in program.components:
        heads = dict.fromkeys(rule.head for rule in component)
        tables.update(dict.fromkeys(heads, false))
        recursive = any(atom in heads for rule in component for atom, _ in rule.body)
        while True:
            changed = False
            for head in heads:
                rules = [rule for rule in component if rule.head == head]
                support, values = _any(rules, tables, table)
                before = tables[head]
                same = before[0] == support and np.array_equal(before[1], values)
                changed |= not same
                tables[head] = support, values
            if not (recursive and changed):
                break
    return _outcomes(domains, tables, table)


def _any(
    rules: Iterable[GroundRule], tables: dict[int, tuple[Support, Bools]], table: _Table
) -> tuple[Support, Bools]:
    """Where some rule fires; bodies over the same slots are joined before they are spread."""
    fires_on: dict[Support, Bools] = {}
    for rule in rules:
        support = _union(tables[atom][0] for atom, _ in rule.body if atom in tables)
        if any(positive and atom not in tables for atom, positive in rule.body) and not rule.weights:
            continue
        shape = table.shape(support)
        if support not in fires_on:
            fires_on[support] = np.zeros(shape, np.bool_)
        literals = [
            (table.spread(tables[atom][1], tables[atom][0], support), positive)
            if atom in tables
            else (np.zeros((), np.bool_), positive)
            for atom, positive in rule.body
        ]
        if rule.weights:
            total = np.zeros(shape, np.int64)
            for (values, positive), weight in zip(literals, rule.weights, strict=True):
                total += weight * (values if positive else ~values)
            fires_on[support] |= total >= rule.bound
        else:
            fires = reduce(
                np.logical_and, (v if positive else ~v for v, positive in literals), np.ones((), np.bool_)
            )
            fires_on[support] |= fires
    support = _union(fires_on)
    if len(fires_on) == 1:
        return support, fires_on[support]
    result = np.zeros(table.shape(support), np.bool_)
    for own, values in fires_on.items():
        table.shape(support)
        result |= table.spread(values, own, support)
    return support, result


def _outcomes(
    domains: Domains, table_of: dict[int, tuple[Support, Bools]], table: _Table
) -> tuple[Support, Array]:
    program = domains.program
    n = len(program.goals)
    goals = {
        k: table_of[goal]
        for k, goal in enumerate(program.goals)
        if goal not in (None, NEVER) and goal in table_of
    }
    violated = table_of.get(program.violated)
    supports = [support for support, _ in goals.values()] + ([violated[0]] if violated else [])
    support = _union(supports)
    kind = np.min_scalar_type(n + 1)
    count = np.zeros(table.shape(support), kind)
    default = program.goals.index(None) if None in program.goals else n
    result = np.full(count.shape, default, kind)
    for k, (own, values) in goals.items():
        spread = table.spread(values, own, support)
        count += spread
        np.copyto(result, kind.type(k), where=spread)
    result[count > 1] = n + 1
    if violated:
        np.copyto(result, kind.type(n), where=table.spread(violated[1], violated[0], support))
    return support, result
