"""Rules over numbered variables, and one agreed numbering for all renamings of a rule."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

Argument = int | str
"""What fills a placeholder: the number of a variable, or a constant."""

Instance = tuple[int, tuple[Argument, ...]]
"""A literal: index into the bias's literals (or heads), and what fills its placeholders."""


@dataclass(frozen=True)
class Conjunction:
    """A rule: a head (None: a constraint) and literals over numbered variables.

    Attributes:
        head: the head.
        literals: the body.
        types: the type of each variable.
    """

    head: Instance | None
    literals: frozenset[Instance]
    types: tuple[str, ...]

    def plus(self, literal: Instance, types: tuple[str, ...]) -> Conjunction:
        """The rule with one more literal, which may have new variables."""
        return canonical(Conjunction(self.head, self.literals | {literal}, types))

    def without(self, literal: Instance) -> Conjunction:
        """The same rule without one of its literals."""
        literals = self.literals - {literal}
        parts = [*literals, self.head] if self.head is not None else literals
        used = sorted({a for _, arguments in parts for a in arguments if isinstance(a, int)})
        names = {variable: number for number, variable in enumerate(used)}
        shorter = Conjunction(self.head, literals, self.types)
        return canonical(_renamed(shorter, names))


def canonical(rule: Conjunction) -> Conjunction:
    """The same rule with its variables numbered in one agreed way: the least of all renamings.

    Variables of the head keep their order of occurrence, which is already the same for all renamings.
    """
    fixed: dict[int, int] = {}
    for argument in rule.head[1] if rule.head is not None else ():
        if isinstance(argument, int):
            fixed.setdefault(argument, len(fixed))
    free = [v for v in range(len(rule.types)) if v not in fixed]
    if not free:
        return rule if all(k == v for k, v in fixed.items()) else _renamed(rule, fixed)
    by_use: dict[tuple[object, ...], list[int]] = {}
    for variable in free:
        uses = sorted(_use(variable, i, a, fixed) for i, a in rule.literals if variable in a)
        by_use.setdefault((rule.types[variable], tuple(uses)), []).append(variable)
    groups = [by_use[key] for key in sorted(by_use, key=str)]
    best: tuple[list[Instance], Conjunction] | None = None
    several = any(len(group) > 1 for group in groups)
    for orders in itertools.product(*(itertools.permutations(group) for group in groups)):
        names = dict(fixed)
        for variable in itertools.chain.from_iterable(orders):
            names[variable] = len(names)
        candidate = _renamed(rule, names)
        if not several:
            return candidate
        key = sorted(candidate.literals, key=str)
        if best is None or str(key) < str(best[0]):
            best = (key, candidate)
    if best is None:
        return rule
    return best[1]


def _use(variable: int, index: int, arguments: tuple[Argument, ...], fixed: dict[int, int]) -> str:
    """How a literal uses a variable, told without the names of other free variables."""
    parts = [
        "#" if a == variable else f"v{fixed.get(a, '?')}" if isinstance(a, int) else f"c{a}"
        for a in arguments
    ]
    return f"{index}({','.join(parts)})"


def _renamed(rule: Conjunction, names: dict[int, int]) -> Conjunction:
    def swap(arguments: tuple[Argument, ...]) -> tuple[Argument, ...]:
        return tuple(names[a] if isinstance(a, int) else a for a in arguments)

    types = [rule.types[variable] for variable in sorted(names, key=names.__getitem__)]
    head = None if rule.head is None else (rule.head[0], swap(rule.head[1]))
    return Conjunction(head, frozenset((i, swap(a)) for i, a in rule.literals), tuple(types))
