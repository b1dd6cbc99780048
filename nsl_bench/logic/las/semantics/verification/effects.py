"""Rules told apart by what they derive, where that depends on no other rule.

If what rules read has one answer set in each context, a rule is as good as the atoms that it derives there,
and of rules that derive the same the cheapest will do. If moreover nothing else reads these atoms, an example
asks for some of them and forbids others, and clingo chooses rules by that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import clingo

from nsl_bench.logic.las.semantics.verification.plain import PlainTask
from nsl_bench.logic.las.semantics.verification.solving import Unverifiable, answer_sets
from nsl_bench.logic.las.semantics.verification.statements import Statements, asked_by

__all__ = ["Effects", "effects_of"]

Cells = frozenset[clingo.Symbol]
"""Atoms of the examples' copies, each with its context's number."""


@dataclass(frozen=True)
class Effects:
    """What rules derive.

    Attributes:
        rules: one rule of each kind, with its cost.
        cells: what each of them derives.
        conditions: of each example: the atoms that it needs beside what holds anyway, and those that it
            forbids; None in the place of an example that nothing satisfies. Empty if more depends on rules.
    """

    rules: dict[str, int]
    cells: dict[str, Cells]
    conditions: tuple[tuple[Cells, Cells] | None, ...] = ()


def effects_of(task: PlainTask, rules: Mapping[str, int], stop: Callable[[], None]) -> Effects | None:
    """What the rules of a space derive; None if that depends on other rules, or on an answer set.

    Args:
        task: the task.
        rules: the rules with their costs.
        stop: is called now and then, and may raise what ends the work.
    """
    statements = Statements(task, rules)
    feeds, reads = statements.dependence()
    if feeds:
        return None
    contexts = list(dict.fromkeys(example.context for example in task.examples))
    lines = [f"copy(0..{len(contexts) - 1}).", *statements.common(violation=True)]
    for i, context in enumerate(contexts):
        lines += statements.context(i, context, violation=True)
    try:
        models = answer_sets([*lines, *statements.derivations()], 2, stop)
    except Unverifiable:
        return None
    if len(models) != 1:
        return None
    found: list[set[clingo.Symbol]] = [set() for _ in rules]
    for symbol in models[0]:
        if symbol.match("derived", 2):
            found[symbol.arguments[0].number].add(symbol.arguments[1])
    is_plain = not reads and "#const" not in task.background
    conditions = _conditions(task, statements, contexts, set(models[0])) if is_plain else ()
    asked = {cell for each in conditions if each is not None for part in each for cell in part}
    cheapest: dict[Cells, tuple[int, str]] = {}
    for (text, cost), derived in zip(rules.items(), found, strict=True):
        cells = frozenset(derived & asked if is_plain else derived)
        if cells:
            cheapest[cells] = min(cheapest.get(cells, (cost, text)), (cost, text))
    kinds = {text: cost for cost, text in cheapest.values()}
    return Effects(kinds, {text: cells for cells, (_, text) in cheapest.items()}, tuple(conditions))


def _conditions(
    task: PlainTask,
    statements: Statements,
    contexts: Sequence[tuple[str, ...]],
    base: set[clingo.Symbol],
) -> list[tuple[Cells, Cells] | None]:
    number = {context: i for i, context in enumerate(contexts)}
    found: list[tuple[Cells, Cells] | None] = []
    for example in task.examples:
        inclusions, exclusions, context = asked_by(example)
        i = number[context]
        needs, bans = (
            frozenset(clingo.parse_term(statements.atom(i, text)) for text in texts)
            for texts in (inclusions, exclusions)
        )
        violated = clingo.Function("violated", [clingo.Number(i)])
        possible = violated not in base and not bans & base
        found.append((needs - base, bans | {violated}) if possible else None)
    return found
