"""The plain hypothesis space: every rule of the mode declarations, up to renaming of variables.

Rules are made level by level, one body literal more at a time, without a look at the examples; only a
redundant rule, whose body holds an atom and its negation or the rule's own head, is left out. This is what
the tiers on clingo choose from. A space too large to write down is cut off after a whole level;
`Space.horizon` then bounds from below what a rule beyond the cut costs, so that an optimum over the cut space
that scores no more than the horizon is one over the whole space.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from nsl_bench.core.budget import Budget, Expired
from nsl_bench.logic.asp.program import Rule
from nsl_bench.logic.las.bias.additive import additive_costs, all_heads
from nsl_bench.logic.las.bias.costs import flat_costs, is_monotone, rule_costs
from nsl_bench.logic.las.bias.hypothesis import rule_parts
from nsl_bench.logic.las.bias.program import is_plain
from nsl_bench.logic.las.bias.types import Domains, domains
from nsl_bench.logic.las.language_bias import (
    Compound,
    LanguageBias,
    ModeAtom,
    ModeComparison,
    ModeLiteral,
    Placeholder,
)
from nsl_bench.logic.las.task import LasTask
from nsl_bench.logic.las.terms import inequalities, literal_text, pattern_text, patterns, terms_text
from nsl_bench.logic.las.thresholds import bound_count, priced, spelled

MAX_RULES = 100_000
"""Rules that a space may hold unless told otherwise."""

_MOST_FORMS = 20_000
"""Literals whose costs are looked at one by one."""
_WATCHED = 256
"""Rules between two looks at the clock."""
_GRACE = 0.3
"""Seconds after the time limit in which a first rule is looked for."""


@dataclass(frozen=True)
class SpaceRule:
    """A rule of the space: head (None: a constraint), body with type guards, and cost.

    Attributes:
        given: the rule, where the task gives it whole; it may hold more than atoms and comparisons.
        marks: what `#bias` says of it for `#final_bias`.
    """

    head: str | None
    body: tuple[str, ...]
    cost: int
    given: Rule | None = None
    marks: frozenset[str] = frozenset()

    @property
    def text(self) -> str:
        """The rule with its full stop."""
        if self.given is not None:
            return self.given.text.removeprefix("#false ")  # as clingo prints constraints
        if not self.body:
            return f"{self.head}."
        return f"{self.head or ''} :- {', '.join(self.body)}.".lstrip()

    def __str__(self) -> str:
        return f"{self.cost} ~ {self.text}"


@dataclass(frozen=True)
class Space:
    """A hypothesis space.

    Attributes:
        horizon: None if these are all; else no rule that is missing costs less than this.
    """

    rules: tuple[SpaceRule, ...]
    horizon: int | None

    def __str__(self) -> str:
        return "\n".join(map(str, self.rules))


def hypothesis_space(task: LasTask, max_rules: int = MAX_RULES, budget: Budget | None = None) -> Space:
    """All rules that the language bias of `task` allows, or the cheapest levels of them.

    Args:
        task: the task.
        max_rules: how many rules to write down at most.
        budget: the space is cut when it expires; None: never.
    """
    *_, largest = growing_space(task, max_rules, budget)
    return largest


def listed_space(
    task: LasTask, max_rules: int = MAX_RULES, budget: Budget | None = None
) -> Iterator[tuple[list[SpaceRule], int | None]]:
    """Yield the rules of `hypothesis_space` as they become known, each once, with the horizon so far.

    Where a later rule may equal an earlier one and cost less, all rules come at the end.
    """
    early = is_monotone(task.bias) and not task.bias.given
    listed: set[SpaceRule] = set()
    space = Space((), 0)
    for space in growing_space(task, max_rules, budget):
        if early:
            yield [rule for rule in space.rules if rule not in listed], space.horizon
            listed.update(space.rules)
    if not early:
        yield list(space.rules), space.horizon


def growing_space(
    task: LasTask, max_rules: int = MAX_RULES, budget: Budget | None = None, *, useful: bool = False
) -> Iterator[Space]:
    """Yield the space after each level, up to the one that `hypothesis_space` gives.

    Args:
        useful: leave out constraints where no example is negative: they only take answer sets away.
    """
    budget = budget or Budget()
    bias = task.bias
    type_domains = domains(task)
    type_domains.check_constants(bias)
    constraints = bias.constraints and not (useful and all(example.positive for example in task.examples))
    maker = RuleMaker(bias, type_domains)
    rules: list[SpaceRule] = []
    for given in bias.given:
        rules.append(SpaceRule(*rule_parts(given.parsed), given.cost, given.parsed))
        if budget.expired():
            yield Space(_sorted(rules), 0)
            return
    patient = budget.with_grace(_GRACE)
    patient.memory = budget.memory
    least = maker.least_literal()
    horizon = 0
    level: list[Conjunction] | None = list(maker.heads(constraints))
    for size in itertools.count():
        assert level is not None
        clock = budget if rules else patient
        try:
            costs = rule_costs(bias, [maker.parts(rule) for rule in level], clock)
        except Expired:
            yield Space(_sorted(rules), horizon)
            return
        for number, (rule, cost) in enumerate(zip(level, costs, strict=True)):
            if number % _WATCHED == 0 and clock.expired():
                yield Space(_sorted(rules), horizon)
                return
            if cost is not None and (rule.literals or rule.head is not None) and maker.is_allowed(rule):
                rules.append(SpaceRule(*maker.guarded(rule), cost, marks=maker.marks(rule)))
        if least is not None:
            level = [rule for rule, cost in zip(level, costs, strict=True) if cost is not None]
            horizon = min((cost for cost in costs if cost is not None), default=0) + least
        level = [] if size == bias.body_limit else maker.extend(level, max_rules - len(rules), clock)
        yield Space(_sorted(rules), None if level == [] else horizon)
        if not level:
            return


def _sorted(rules: Iterable[SpaceRule]) -> tuple[SpaceRule, ...]:
    """The rules, the cheapest first; of those with equal head and body the cheapest alone."""
    result: dict[tuple[str | None, frozenset[str]], SpaceRule] = {}
    for rule in sorted(rules, key=lambda rule: (rule.cost, len(rule.body), rule.text)):
        result.setdefault((rule.head, frozenset(rule.body)), rule)
    return tuple(result.values())


class RuleMaker:
    """Makes the rules of one language bias."""

    def __init__(self, bias: LanguageBias, type_domains: Domains) -> None:
        self._bias = bias
        self._known = type_domains
        self._literals = bias.literals
        self._heads = bias.heads
        self._texts: dict[Instance, str] = {}
        self._values: dict[ModeAtom | ModeComparison, list[tuple[str, ...]]] = {}
        index = {(str(literal.literal), literal.negated): i for i, literal in enumerate(self._literals)}
        self._opposite = {
            i: index[str(literal.literal), not literal.negated]
            for i, literal in enumerate(self._literals)
            if (str(literal.literal), not literal.negated) in index
        }
        self._own = [index.get((str(head.atom), False), -1) for head in self._heads]

    @cached_property
    def _ambiguous(self) -> frozenset[int]:
        """The literals that another one's instance may equal: of the same predicate or operator and sign."""
        groups: dict[tuple[object, bool], list[int]] = {}
        for i, literal in enumerate(self._literals):
            atom = literal.literal
            name = (atom.predicate, len(atom.arguments)) if isinstance(atom, ModeAtom) else atom.operator
            groups.setdefault((name, literal.negated), []).append(i)
        return frozenset(i for group in groups.values() if len(group) > 1 for i in group)

    def plain(
        self, instance: Instance, *, head: bool = False
    ) -> tuple[str, tuple[Argument, ...], bool] | None:
        """Predicate, arguments and sign of an atom over variables and constants; None if it is none."""
        mode = None if head else self._literals[instance[0]]
        atom = self._heads[instance[0]].atom if mode is None else mode.literal
        if not isinstance(atom, ModeAtom) or atom.is_classical or atom.has_thresholds:
            return None
        if any(isinstance(term, Compound) for term in atom.arguments):
            return None
        values = iter(instance[1])
        arguments = tuple([each if isinstance(each, str) else next(values) for each in atom.arguments])
        return atom.predicate, arguments, mode is not None and mode.negated

    def heads(self, constraints: bool) -> Iterator[Conjunction]:
        """The rules without a body, and what constraints begin with."""
        if constraints:
            yield Conjunction(None, frozenset(), ())
        seen: set[object] = set()
        for i, mode in enumerate(self._heads):
            for arguments, types in self._fillings(mode.atom, ()):
                rule = canonical(Conjunction((i, arguments), frozenset(), types))
                key = (pattern_text(mode.atom, *_names(arguments)), rule.types)
                if key not in seen:
                    seen.add(key)
                    yield rule

    def extend(self, level: Sequence[Conjunction], room: int, budget: Budget) -> list[Conjunction] | None:
        """The rules with one literal more; None if there are more than `room` or time is up."""
        result: dict[Conjunction, None] = {}
        for rule in level:
            budget.pause()
            if budget.expired():
                return None
            for longer in self.refinements(rule):
                result[longer] = None
                if len(result) > room:
                    return None
        return list(result)

    def refinements(self, rule: Conjunction) -> Iterator[Conjunction]:
        """A rule with one literal more."""
        for instance, types in self.literals(rule):
            yield rule.plus(instance, types)

    def literals(
        self, rule: Conjunction, *, joined: bool = False
    ) -> Iterator[tuple[Instance, tuple[str, ...]]]:
        """Literals that a rule may have besides, each with the types of all variables then.

        Args:
            joined: literals with variables have one of the rule's, if it has any.
        """
        count = len(rule.types)
        for i, literal in enumerate(self._literals):
            if literal.recall is not None and self._uses(rule, literal.mode) >= literal.recall:
                continue
            for arguments, types in self._fillings(literal.literal, rule.types):
                variables = [each for each in arguments if isinstance(each, int)] if joined and count else ()
                if variables and min(variables) >= count:
                    continue
                if self._is_allowed((i, arguments), rule):
                    yield (i, arguments), types

    def _is_allowed(self, instance: Instance, rule: Conjunction) -> bool:
        """Whether a rule may have this literal besides: it is no repetition and makes it not redundant."""
        index, arguments = instance
        if self._literals[index].anti_reflexive and len(set(arguments)) < len(arguments):
            return False
        if instance in rule.literals or self._is_redundant(instance, rule):
            return False
        if index not in self._ambiguous:
            return True
        return self._text(instance) not in {self._text(each) for each in rule.literals}

    def _is_redundant(self, instance: Instance, rule: Conjunction) -> bool:
        """Whether a rule with this literal derives nothing new: it is its head or contradicts its body."""
        if self._bias.final:
            return False  # it may make a hypothesis cheaper
        index, arguments = instance
        if rule.head is not None and instance == (self._own[rule.head[0]], rule.head[1]):
            return True
        opposite = self._opposite.get(index)
        return opposite is not None and (opposite, arguments) in rule.literals

    def _uses(self, rule: Conjunction, mode: int) -> int:
        return sum(self._literals[i].mode == mode for i, _ in rule.literals)

    def _fillings(
        self, literal: ModeAtom | ModeComparison, types: tuple[str, ...]
    ) -> Iterator[tuple[tuple[Argument, ...], tuple[str, ...]]]:
        """Every way to fill placeholders with constants, bounds, known variables and the next new ones."""
        values = self._values.get(literal)
        if values is None:
            values = self._values[literal] = self._known.fillings(literal)
        return self._filled(list(zip(literal.placeholders, values, strict=True)), types)

    def _filled(
        self, places: Sequence[tuple[Placeholder, tuple[str, ...]]], types: tuple[str, ...]
    ) -> Iterator[tuple[tuple[Argument, ...], tuple[str, ...]]]:
        if not places:
            yield (), types
            return
        (first, values), rest = places[0], places[1:]
        if first.kind != "var":
            for value in values:
                for arguments, after in self._filled(rest, types):
                    yield (value, *arguments), after
            return
        for variable, kind in enumerate(types):
            if kind == first.type:
                for arguments, after in self._filled(rest, types):
                    yield (variable, *arguments), after
        if len(types) < self._bias.max_variables:
            for arguments, after in self._filled(rest, (*types, first.type)):
                yield (len(types), *arguments), after

    def is_allowed(self, rule: Conjunction) -> bool:
        """Whether the rule is safe, and its body not too long, thresholds counted."""
        limit = self._bias.body_limit
        texts = [each for _, arguments in rule.literals for each in arguments if isinstance(each, str)]
        if limit is not None and len(rule.literals) + sum(map(bound_count, texts)) > limit:
            return False
        return self.is_safe(rule)

    def is_safe(self, rule: Conjunction) -> bool:
        """Whether each variable has a guard or a positive atom that binds it; comparisons bind none."""
        bound = {variable for variable, kind in enumerate(rule.types) if kind in self._known.guarded}
        for i, arguments in rule.literals:
            literal = self._literals[i]
            if not literal.negated and isinstance(literal.literal, ModeAtom):
                bound |= {a for a in arguments if isinstance(a, int)}
        return len(bound) == len(rule.types)

    def least_literal(self) -> int | None:
        """What one more body literal costs at least; None if it may lower a cost or lift a constraint."""
        uniform = flat_costs(self._bias)
        named = (literal.literal for literal in self._literals)
        if uniform is not None and all(is_plain(str(atom)) for atom in named):
            return uniform[1]
        forms = (text for literal in self._literals for text in self._forms(literal))
        forms = (text for form in forms for text in priced([form]))
        texts = list(itertools.islice(forms, _MOST_FORMS + 1))
        if len(texts) <= _MOST_FORMS:
            heads = all_heads(self._bias, self._known.constants.__getitem__)
            costs = additive_costs(self._bias, heads, texts)
            if costs is not None:
                return min(costs[1], default=0)
        return 0 if is_monotone(self._bias) else None

    def _forms(self, literal: ModeLiteral) -> Iterator[str]:
        """The literal up to names of variables, with each choice of constants."""
        values = zip(literal.literal.placeholders, self._known.fillings(literal.literal), strict=True)
        allowed = [each for slot, each in values if slot.kind != "var"]
        for pattern in patterns(literal.literal.variable_types):
            for constants in itertools.product(*allowed):
                yield literal_text(literal, map(_variable, pattern), constants)

    def parts(self, rule: Conjunction) -> tuple[str | None, tuple[str, ...]]:
        """Head and body without type guards and inequalities, which cost nothing."""
        head = self._head(rule)
        return head, tuple(priced(self._body(rule), head or ""))

    def _head(self, rule: Conjunction) -> str | None:
        if rule.head is None:
            return None
        index, arguments = rule.head
        return pattern_text(self._heads[index].atom, *_names(arguments))

    def _body(self, rule: Conjunction) -> list[str]:
        return [self._text(instance) for instance in sorted(rule.literals, key=str)]

    def marks(self, rule: Conjunction) -> frozenset[str]:
        """What `#bias` says of the rule for `#final_bias`."""
        if not self._bias.final:
            return frozenset()
        from nsl_bench.logic.las.bias.hypothesis import marks

        return marks(self._bias, [self.parts(rule)])[0]

    def guarded(self, rule: Conjunction) -> tuple[str | None, tuple[str, ...]]:
        """Head and body with its type guards and, where the bias asks for them, its inequalities."""
        head, literals = self._head(rule), self._body(rule)
        guards = [
            f"{kind}({_variable(v)})" for v, kind in enumerate(rule.types) if kind in self._known.guarded
        ]
        unequal = self._inequalities(rule) if self._bias.ground_without_replacement else []
        return head, tuple(dict.fromkeys(spelled([*literals, *guards, *unequal], head or "")))

    def _text(self, instance: Instance) -> str:
        result = self._texts.get(instance)
        if result is None:
            literal = self._literals[instance[0]]
            result = literal_text(literal, *_names(instance[1]))
            self._texts[instance] = result
        return result

    def _inequalities(self, rule: Conjunction) -> list[str]:
        atoms: list[tuple[object, tuple[str, ...]]] = []
        for i, arguments in sorted(rule.literals, key=str):
            literal = self._literals[i]
            if isinstance(literal.literal, ModeAtom):
                terms = terms_text(literal.literal, *_names(arguments))
                atoms.append(((literal.literal.predicate, len(terms), literal.negated), terms))
        return inequalities(atoms)


def _variable(number: int) -> str:
    return f"V{number + 1}"


def _names(arguments: Sequence[Argument]) -> tuple[list[str], list[str]]:
    """The variables and the constants among arguments, as text."""
    variables = [_variable(each) for each in arguments if isinstance(each, int)]
    return variables, [each for each in arguments if isinstance(each, str)]


Argument = int | str
"""What fills a placeholder: the number of a variable, or a constant."""

Instance = tuple[int, tuple[Argument, ...]]
"""A literal: index into the bias's literals (or heads), and what fills its placeholders."""


@dataclass(frozen=True)
class Conjunction:
    """A rule: a head (None: a constraint) and literals over numbered variables."""

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
