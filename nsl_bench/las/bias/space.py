"""The plain hypothesis space: every rule of the mode declarations, up to renaming of variables.

Rules are made level by level, one body literal more at a time, without a look at the examples; only a
body that holds an atom and its negation, or the rule's own head, is left out. This is what the tiers on
clingo choose from. A space too large to write down is cut off after a whole level; `Space.horizon` then
bounds from below what a rule beyond the cut costs, so that an optimum over the cut space that scores no
more than the horizon is one over the whole space.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from nsl_bench.budget import Budget
from nsl_bench.las.bias.costs import flat_costs, is_monotone, rule_costs
from nsl_bench.las.bias.hypothesis import rule_parts
from nsl_bench.las.bias.types import Domains, domains
from nsl_bench.las.task import (
    Compound,
    LanguageBias,
    LasTask,
    ModeAtom,
    ModeComparison,
    ModeLiteral,
    ModeTerm,
    Placeholder,
)

__all__ = ["MAX_RULES", "Space", "SpaceRule", "growing_space", "hypothesis_space"]

MAX_RULES = 100_000
"""Rules that a space may hold unless told otherwise."""

_INFIX = ("+", "-", "*", "/", "\\", "**")

Argument = int | str
"""What fills a placeholder: the number of a variable, or a constant."""
Instance = tuple[int, tuple[Argument, ...]]
"""A literal: index into the bias's literals (or heads), and what fills its placeholders."""


@dataclass(frozen=True)
class SpaceRule:
    """A rule of the space: head (None: a constraint), body with type guards, and cost."""

    head: str | None
    body: tuple[str, ...]
    cost: int

    @property
    def text(self) -> str:
        """The rule with its full stop."""
        if not self.body:
            return f"{self.head}."
        return f"{self.head or ''} :- {', '.join(self.body)}.".lstrip()


@dataclass(frozen=True)
class Space:
    """A hypothesis space.

    Attributes:
        rules: its rules, the cheapest first.
        horizon: None if these are all; else no rule that is missing costs less than this.
    """

    rules: tuple[SpaceRule, ...]
    horizon: int | None


@dataclass(frozen=True)
class _Body:
    """Literals over numbered variables; `types` gives each variable's type."""

    head: Instance | None
    literals: frozenset[Instance]
    types: tuple[str, ...]


def hypothesis_space(task: LasTask, max_rules: int = MAX_RULES, budget: Budget | None = None) -> Space:
    """All rules that the language bias of `task` allows, or the cheapest levels of them.

    Args:
        task: the task.
        max_rules: how many rules to write down at most.
        budget: the space is cut when it expires; None: never.

    Raises:
        UserError: a type has no constant.
    """
    *_, largest = growing_space(task, max_rules, budget)
    return largest


def growing_space(task: LasTask, max_rules: int = MAX_RULES, budget: Budget | None = None) -> Iterator[Space]:
    """The space after each level, up to the one that `hypothesis_space` gives."""
    budget = budget or Budget()
    maker = _Maker(task.bias, domains(task), budget)
    monotone = is_monotone(task.bias)
    rules: list[SpaceRule] = []
    for whole in (*task.bias.rules, *task.bias.instances()):
        if budget.expired():
            yield Space(_sorted(rules), 0)
            return
        rules.append(SpaceRule(*rule_parts(whole.rule), whole.cost))
    level: list[_Body] = list(maker.heads())
    limit = task.bias.body_limit
    for size in itertools.count():
        costs = rule_costs(task.bias, [maker.shape(body) for body in level])
        kept = [
            (body, cost)
            for body, cost in zip(level, costs, strict=True)
            if cost is not None and (body.literals or body.head is not None) and maker.is_safe(body)
        ]
        rules.extend(SpaceRule(*maker.parts(body), cost) for body, cost in kept)
        lowest = min((cost for cost in costs if cost is not None), default=0)
        horizon = lowest + maker.least_literal() if monotone else 0
        if monotone:
            level = [body for body, cost in zip(level, costs, strict=True) if cost is not None]
        following = [] if size == limit else maker.extend(level, max_rules - len(rules))
        yield Space(_sorted(rules), None if following == [] else horizon)
        if not following:
            return
        level = following


def _sorted(rules: Sequence[SpaceRule]) -> tuple[SpaceRule, ...]:
    return tuple(sorted(dict.fromkeys(rules), key=lambda rule: (rule.cost, len(rule.body), rule.text)))


class _Maker:
    def __init__(self, bias: LanguageBias, known: Domains, budget: Budget) -> None:
        self._bias = bias
        self._budget = budget
        self._known = known
        self._literals = bias.literals
        self._heads = bias.heads
        index = {(str(literal.literal), literal.negated): i for i, literal in enumerate(self._literals)}
        self._opposite = {
            i: index[str(literal.literal), not literal.negated]
            for i, literal in enumerate(self._literals)
            if (str(literal.literal), not literal.negated) in index
        }
        self._own = [index.get((str(head.atom), False), -1) for head in self._heads]

    def heads(self) -> Iterator[_Body]:
        """The rules without a body; constraints, if no head is declared."""
        if not self._heads:
            if not self._bias.meta_modes and self._bias.bodies:
                yield _Body(None, frozenset(), ())
            return
        seen: set[object] = set()
        for i, mode in enumerate(self._heads):
            for arguments, types in self._fillings(mode.atom.placeholders, ()):
                body = _canonical(_Body((i, arguments), frozenset(), types))
                key = (self._text(mode.atom, arguments), body.types)
                if key not in seen:
                    seen.add(key)
                    yield body

    def extend(self, level: Sequence[_Body], room: int) -> list[_Body] | None:
        """The rules with one literal more; None if there are more than `room` or time is up."""
        found: dict[_Body, None] = {}
        for body in level:
            if self._budget.expired():
                return None
            for i, literal in enumerate(self._literals):
                if literal.recall is not None and self._uses(body, literal.mode) >= literal.recall:
                    continue
                for arguments, types in self._fillings(literal.literal.placeholders, body.types):
                    if not _allowed(literal, arguments):
                        continue
                    if literal.symmetric:
                        arguments = tuple(sorted(arguments, key=str))
                    if (i, arguments) in body.literals or self._is_idle(i, arguments, body):
                        continue
                    found[_canonical(_Body(body.head, body.literals | {(i, arguments)}, types))] = None
                    if len(found) > room:
                        return None
        return list(found)

    def _is_idle(self, index: int, arguments: tuple[Argument, ...], body: _Body) -> bool:
        """Whether the rule derives nothing with this literal: it is its head or contradicts its body."""
        if body.head is not None and (index, arguments) == (self._own[body.head[0]], body.head[1]):
            return True
        opposite = self._opposite.get(index)
        return opposite is not None and (opposite, arguments) in body.literals

    def _uses(self, body: _Body, mode: int) -> int:
        return sum(self._literals[i].mode == mode for i, _ in body.literals)

    def _fillings(
        self, places: Sequence[Placeholder], types: tuple[str, ...]
    ) -> Iterator[tuple[tuple[Argument, ...], tuple[str, ...]]]:
        """Every way to fill placeholders with constants, known variables and the next new ones."""
        if not places:
            yield (), types
            return
        first, rest = places[0], places[1:]
        if first.kind == "const":
            for value in self._known.constants[first.type]:
                for arguments, after in self._fillings(rest, types):
                    yield (value, *arguments), after
            return
        for variable, kind in enumerate(types):
            if kind == first.type:
                for arguments, after in self._fillings(rest, types):
                    yield (variable, *arguments), after
        if len(types) < self._bias.max_variables:
            for arguments, after in self._fillings(rest, (*types, first.type)):
                yield (len(types), *arguments), after

    def is_safe(self, body: _Body) -> bool:
        """Whether each variable has a guard or a positive literal that binds it."""
        bound = {variable for variable, kind in enumerate(body.types) if kind in self._known.guarded}
        for i, arguments in body.literals:
            literal = self._literals[i]
            if not literal.negated and isinstance(literal.literal, ModeAtom):
                bound |= {a for a in arguments if isinstance(a, int)}
        return len(bound) == len(body.types)

    def least_literal(self) -> int:
        """A lower bound of what one more body literal costs."""
        flat = flat_costs(self._bias)
        return flat[1] if flat else 0

    def shape(self, body: _Body) -> tuple[str | None, tuple[str, ...]]:
        """What `rule_costs` asks for."""
        head = None if body.head is None else self._text(self._heads[body.head[0]].atom, body.head[1])
        return head, tuple(self._literal(instance) for instance in sorted(body.literals, key=str))

    def parts(self, body: _Body) -> tuple[str | None, tuple[str, ...]]:
        """Head and body with its type guards and, where the bias asks for them, its inequalities."""
        head, literals = self.shape(body)
        guards = [
            f"{kind}({_variable(v)})" for v, kind in enumerate(body.types) if kind in self._known.guarded
        ]
        unequal = self._inequalities(body) if self._bias.ground_without_replacement else []
        return head, (*literals, *(guard for guard in guards if guard not in literals), *unequal)

    def _literal(self, instance: Instance) -> str:
        literal = self._literals[instance[0]]
        return ("not " if literal.negated else "") + self._text(literal.literal, instance[1])

    def _text(self, atom: ModeAtom | ModeComparison, arguments: Sequence[Argument]) -> str:
        filling = iter(arguments)
        if isinstance(atom, ModeComparison):
            left, right = _filled(atom.left, filling), _filled(atom.right, filling)
            return f"{left} {atom.operator} {right}"
        if not atom.arguments:
            return atom.predicate
        return f"{atom.predicate}({','.join(_filled(term, filling) for term in atom.arguments)})"

    def _inequalities(self, body: _Body) -> list[str]:
        atoms = []
        for i, arguments in sorted(body.literals, key=str):
            literal = self._literals[i]
            if isinstance(literal.literal, ModeAtom):
                filling = iter(arguments)
                terms = tuple(_filled(term, filling) for term in literal.literal.arguments)
                atoms.append(((literal.literal.signature, literal.negated), terms))
        found = []
        for (name, left), (other, right) in itertools.combinations(atoms, 2):
            if name != other:
                continue
            differing = [(a, b) for a, b in zip(left, right, strict=True) if a != b]
            if len(differing) == 1:
                found.append(f"{differing[0][0]} != {differing[0][1]}")
            elif differing:
                one, two = (",".join(side) for side in zip(*differing, strict=True))
                found.append(f"({one}) != ({two})")
        return found


def _allowed(literal: ModeLiteral, arguments: Sequence[Argument]) -> bool:
    return not literal.anti_reflexive or len(set(arguments)) == len(arguments)


def _variable(number: int) -> str:
    return f"V{number + 1}"


def _filled(term: ModeTerm, filling: Iterator[Argument]) -> str:
    if isinstance(term, Placeholder):
        value = next(filling)
        return _variable(value) if isinstance(value, int) else value
    if isinstance(term, Compound):
        parts = [_filled(each, filling) for each in term.arguments]
        if term.name in _INFIX and len(parts) == 2:
            return f"({parts[0]} {term.name} {parts[1]})"
        inner = ",".join(parts)
        trailing = "," if not term.name and len(term.arguments) == 1 else ""
        return f"{term.name}({inner}{trailing})"
    return term


def _canonical(body: _Body) -> _Body:
    """The same rule with its variables numbered in one agreed way: the least of all renamings.

    Variables of the head keep their order of occurrence, which is already the same for all renamings.
    """
    fixed: dict[int, int] = {}
    for argument in body.head[1] if body.head is not None else ():
        if isinstance(argument, int):
            fixed.setdefault(argument, len(fixed))
    free = [v for v in range(len(body.types)) if v not in fixed]
    if not free:
        return body if all(k == v for k, v in fixed.items()) else _renamed(body, fixed)
    by_use: dict[tuple[object, ...], list[int]] = {}
    for variable in free:
        uses = sorted(_use(variable, i, a, fixed) for i, a in body.literals if variable in a)
        by_use.setdefault((body.types[variable], tuple(uses)), []).append(variable)
    groups = [by_use[key] for key in sorted(by_use, key=str)]
    best: tuple[list[Instance], _Body] | None = None
    for orders in itertools.product(*(itertools.permutations(group) for group in groups)):
        names = dict(fixed)
        for variable in itertools.chain.from_iterable(orders):
            names[variable] = len(names)
        candidate = _renamed(body, names)
        key = sorted(candidate.literals, key=str)
        if best is None or str(key) < str(best[0]):
            best = (key, candidate)
    if best is None:
        return body
    return best[1]


def _use(variable: int, index: int, arguments: tuple[Argument, ...], fixed: dict[int, int]) -> str:
    """How a literal uses a variable, told without the names of other free variables."""
    parts = [
        "#" if a == variable else f"v{fixed.get(a, '?')}" if isinstance(a, int) else f"c{a}"
        for a in arguments
    ]
    return f"{index}({','.join(parts)})"


def _renamed(body: _Body, names: dict[int, int]) -> _Body:
    def swap(arguments: tuple[Argument, ...]) -> tuple[Argument, ...]:
        return tuple(names[a] if isinstance(a, int) else a for a in arguments)

    types = [""] * len(body.types)
    for variable, kind in enumerate(body.types):
        types[names[variable]] = kind
    head = None if body.head is None else (body.head[0], swap(body.head[1]))
    return _Body(head, frozenset((i, swap(a)) for i, a in body.literals), tuple(types))
