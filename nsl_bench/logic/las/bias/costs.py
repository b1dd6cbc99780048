"""The costs of rules under a language bias.

FastLAS scores a rule by a logic program over what is in it (Law, Russo, Bertino, Broda, Lobo: "FastLAS:
scalable inductive logic programming incorporating domain-specific optimisation criteria", AAAI 2020):
`in_head(A)` and `in_body(A)` are facts, variables standing as constants, `neg(A)` for a literal under
`not` and `binop("!=",A,B)` for a comparison; the weights of the derived `penalty(weight, reason)` add
up, and a violated constraint forbids the rule. Where `invert(K)` is derived, a rule costs K divided by that
sum, rounded down. ILASP counts the literals.

A penalty is one atom: two literals that derive the same one are charged once.
"""

import itertools
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from clingo import Function, Symbol

from nsl_bench.core.budget import Budget
from nsl_bench.core.errors import UserError
from nsl_bench.logic.las.bias.batch import GroundBias
from nsl_bench.logic.las.bias.program import (
    FORBIDDEN,
    BiasProgram,
    bias_program,
    is_plain,
    too_many_ground_rules,
)
from nsl_bench.logic.las.bias.reification import in_body, in_head, renamed, variables_of
from nsl_bench.logic.las.language_bias import LanguageBias

RuleParts = tuple[str | None, tuple[str, ...]]
"""A rule's head (None: a constraint) and its body literals without type guards, as text."""


class ForbiddenRule(UserError):
    """A constraint of `#bias` forbids a rule: the hypothesis space does not hold it."""


_FEW = 2
"""Rules that are priced one by one, for that takes less than pricing them together."""
_MOST_CELLS = 1 << 24
"""Literals times rules that are priced together."""
_MOST_SUMMED = 10
"""Literals over which a sum may be assigned to a variable: clingo grounds one rule a possible sum."""
_MOST_PERMUTED = 4
"""Variables all of whose orders are tried."""

Atoms = frozenset[Symbol]
"""A rule as the facts ``in_head(...)`` and ``in_body(...)``."""


def is_monotone(bias: LanguageBias) -> bool:
    """Whether it is proven that one more body literal neither makes a rule cheaper nor lifts a constraint."""
    return bias_program(bias).is_monotone


def flat_costs(bias: LanguageBias) -> tuple[int, int] | None:
    """What a head and what each body literal costs, where the bias says no more than that."""
    uniform = bias_program(bias).uniform
    return None if uniform is None else (uniform.rule + uniform.head, uniform.literal)


def rule_costs(
    bias: LanguageBias, rules: Sequence[RuleParts], budget: Budget | None = None
) -> list[int | None]:
    """The cost of each rule; None for one that a constraint of the bias forbids.

    Args:
        budget: is heeded between rules and by clingo's grounder; None: no limit.
    """
    program = bias_program(bias)
    uniform = program.uniform
    if uniform is not None and all(is_plain(literal) for _, body in rules for literal in body):
        alone, head = uniform.rule, uniform.rule + uniform.head
        return [(alone if name is None else head) + uniform.literal * len(set(body)) for name, body in rules]
    reified = [_atoms(head, body) for head, body in rules]
    costs = _costs(program, reified, budget)
    if program.compares_variables:
        _check_names(program, rules, reified, costs, budget)
    return costs


def _atoms(head: str | None, body: Iterable[str]) -> Atoms:
    result = [in_body(literal) for literal in body]
    return frozenset(result if head is None else [in_head(head), *result])


def _costs(program: BiasProgram, rules: Sequence[Atoms], budget: Budget | None) -> list[int | None]:
    if len(rules) > _FEW:
        _alone(program, rules[0], budget)  # a program that grounds without end is told from one rule
        choices = tuple(dict.fromkeys(atom for rule in rules for atom in sorted(rule)))
        if not program.enumerates_sums or len(choices) <= _MOST_SUMMED:
            check = None if budget is None else budget.check
            try:
                return _together(GroundBias(program, choices=choices, check=check), choices, rules, budget)
            except MemoryError:
                pass  # all literals together have more ground rules than each rule alone
    return [_alone(program, rule, budget) for rule in rules]


def _alone(program: BiasProgram, rule: Atoms, budget: Budget | None) -> int | None:
    """The cost of one rule."""
    if budget is not None:
        budget.check()
    try:
        result = GroundBias(program, facts=rule, check=None if budget is None else budget.check)
    except MemoryError:
        raise too_many_ground_rules() from None
    return _known(int(result.costs(np.zeros((0, 1), np.bool_))[0]))


def _together(
    ground: GroundBias, choices: Sequence[Symbol], rules: Sequence[Atoms], budget: Budget | None
) -> list[int | None]:
    """The costs of rules over some choices: sums where they are, else bit by bit."""
    weights = ground.weights()
    if weights is not None:
        constant, of_choice = weights
        weight = {symbol: of_choice[atom] for symbol, atom in zip(choices, ground.choices, strict=True)}
        return [constant + sum(weight[atom] for atom in rule) for rule in rules]
    row = {symbol: i for i, symbol in enumerate(choices)}
    result: list[int | None] = []
    size = max(1, _MOST_CELLS // len(choices))
    for batch in (rules[start : start + size] for start in range(0, len(rules), size)):
        if budget is not None:
            budget.check()
        held = np.zeros((len(choices), len(batch)), np.bool_)
        for i, rule in enumerate(batch):
            held[[row[atom] for atom in rule], i] = True
        result += map(_known, ground.costs(held).tolist())
    return result


def _known(cost: int) -> int | None:
    return None if cost == FORBIDDEN else cost


def _check_names(
    program: BiasProgram,
    rules: Sequence[RuleParts],
    reified: Sequence[Atoms],
    costs: Sequence[int | None],
    budget: Budget | None,
) -> None:
    """Raise a UserError if the cost of a rule changes with the names of its variables."""
    origins: list[int] = []
    variants: list[Atoms] = []
    for i, rule in enumerate(reified):
        names = sorted({name for atom in rule for name in variables_of(atom)})
        for order in _orders(len(names)) if len(names) > 1 else ():
            other = {name: Function(f"V{k:09}") for name, k in zip(names, order, strict=True)}
            origins.append(i)
            variants.append(frozenset(renamed(atom, other) for atom in rule))
    for i, cost in zip(origins, _costs(program, variants, budget), strict=True):
        if cost != costs[i]:
            head, body = rules[i]
            raise UserError(
                f"#bias must compare variables only by = and !=; the cost of '{head or ''} :- "
                f"{', '.join(body)}.' depends on the order of variable names."
            )


def _orders(n: int) -> Iterator[tuple[int, ...]]:
    """Orders of so many variables: all of few; of many the two straight ones and all that swap neighbours."""
    if n <= _MOST_PERMUTED:
        yield from itertools.permutations(range(n))
        return
    straight = list(range(n))
    yield tuple(straight)
    yield tuple(reversed(straight))
    for i in range(n - 1):
        yield (*straight[:i], i + 1, i, *straight[i + 2 :])
