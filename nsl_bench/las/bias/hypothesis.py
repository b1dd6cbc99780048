"""Rules as text, read against a language bias: what they cost, and which type guards they lack."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from clingo import ast

from nsl_bench.asp.rules import parse_statements
from nsl_bench.errors import UserError
from nsl_bench.las.bias.costs import rule_costs
from nsl_bench.las.bias.types import Domains, domains
from nsl_bench.las.task import Compound, LasTask, ModeAtom, ModeComparison, ModeTerm, Placeholder

if TYPE_CHECKING:
    from nsl_bench.benchmark import Benchmark

__all__ = [
    "count_atoms",
    "hypothesis_cost",
    "normal_form",
    "parse_rules",
    "rule_parts",
    "rules_in",
    "with_type_guards",
]

_VARIABLE = re.compile(r"\b[_']*[A-Z]\w*")
_MOST_PERMUTED = 6


def parse_rules(text: str, what: str = "the hypothesis") -> tuple[str, ...]:
    """The rules of a program, one text each, as clingo writes them.

    Raises:
        UserError: it does not parse, or holds something that is no rule (`#script`, `#include`, ...).
    """
    statements = parse_statements(text, what)
    for statement in statements:
        if statement.ast_type != ast.ASTType.Rule:
            raise UserError(f"'{statement}' in {what} is no rule.")
    return tuple(re.sub(r";(?=(?:[^\"]*\"[^\"]*\")*[^\"]*$) ", ", ", str(s)) for s in statements)


def rules_in(texts: Sequence[str], what: str = "the hypothesis") -> tuple[str, ...]:
    """The rules that texts hold together, one each, however many stand in one text.

    Raises:
        UserError: they do not parse, or hold what is neither rule nor constant.
    """
    statements = parse_statements("\n".join(texts), what)
    return tuple(str(s) for s in statements if s.ast_type == ast.ASTType.Rule)


def count_atoms(benchmark: Benchmark, texts: Sequence[str], what: str = "the hypothesis") -> int:
    """Literals of heads and bodies as the benchmark's language bias scores them (`hypothesis_cost`).

    Rules that are outside of the bias's language are counted literal by literal, heads included.

    Raises:
        UserError: a rule does not parse.
    """
    rules = rules_in(texts, what)
    try:
        task = LasTask.build([], benchmark.background, benchmark.bias, benchmark.name)
        return hypothesis_cost(task, rules)
    except UserError:
        parts = [_parts(rule) for rule in rules]
        return sum((head is not None) + len(body) for head, body in parts)


def _parts(rule: str) -> tuple[str | None, list[ast.AST]]:
    statement = parse_statements(rule, f"the rule '{rule}'")[0]
    head = statement.head
    if head.ast_type == ast.ASTType.Literal and head.atom.ast_type == ast.ASTType.BooleanConstant:
        return None, list(statement.body)
    return str(head), list(statement.body)


def rule_parts(rule: str) -> tuple[str | None, tuple[str, ...]]:
    """Head (None: a constraint) and body literals of a rule made of atoms and comparisons.

    Raises:
        UserError: it is a choice or holds an aggregate.
    """
    statement = parse_statements(rule, f"the rule '{rule}'")[0]
    simple = (ast.ASTType.SymbolicAtom, ast.ASTType.Comparison, ast.ASTType.BooleanConstant)
    for literal in (statement.head, *statement.body):
        plain = literal.ast_type == ast.ASTType.Literal and literal.atom.ast_type in simple
        if not plain or literal.sign == ast.Sign.DoubleNegation:
            raise UserError(f"The rule '{rule}' holds '{literal}'; a learned rule has atoms and comparisons.")
    head, body = _parts(rule)
    return head, tuple(str(literal) for literal in body)


@lru_cache(maxsize=65536)
def normal_form(rule: str) -> str:
    """The rule with its body in an agreed order and variables renamed: equal for equal rules.

    Rules with very many variables keep their names.
    """
    head, literals = _parts(rule)
    texts = [head or "", *dict.fromkeys(str(literal) for literal in literals)]
    variables = list(dict.fromkeys(_VARIABLE.findall(" ".join(texts))))
    if len(variables) > _MOST_PERMUTED:
        return f"{texts[0]} :- {', '.join(sorted(texts[1:]))}."
    forms = []
    for order in itertools.permutations(range(len(variables))):
        names = {variable: f"V{i + 1}" for variable, i in zip(variables, order, strict=True)}
        first, *rest = (_renamed(text, names) for text in texts)
        forms.append((first, sorted(rest)))
    first, rest = min(forms)
    return f"{first} :- {', '.join(rest)}."


def _renamed(text: str, names: Mapping[str, str]) -> str:
    return _VARIABLE.sub(lambda match: names[match.group()], text)


def hypothesis_cost(task: LasTask, rules: Sequence[str]) -> int:
    """What the rules cost under the task's language bias; type guards are free.

    A text may hold several rules, all of which count; equal ones count once. A rule that is given whole and
    that the modes allow as well costs what is less.

    Raises:
        UserError: a rule does not parse, or a constraint of ``#bias`` forbids it.
    """
    distinct = dict.fromkeys(rules_in(rules))
    if not distinct:
        return 0
    known = domains(task)
    given: dict[str, int] = {}
    for instance in (*task.bias.rules, *task.bias.instances()):
        form = normal_form(instance.rule)
        given[form] = min(instance.cost, given.get(form, instance.cost))
    total = 0
    scored = []
    for rule in distinct:
        whole = given.get(normal_form(rule))
        if whole is None or _by_modes(task, known, rule):
            scored.append((_shape(task, known, rule), whole))
        else:
            total += whole
    prices = rule_costs(task.bias, [shape for shape, _ in scored])
    for (shape, whole), cost in zip(scored, prices, strict=True):
        costs = [each for each in (whole, cost) if each is not None]
        if not costs:
            raise UserError(f"A constraint in #bias forbids the rule '{shape[0] or ''} :- {shape[1]}'.")
        total += min(costs)
    return total


def _by_modes(task: LasTask, known: Domains, rule: str) -> bool:
    """Whether the mode declarations allow the rule."""
    bias = task.bias
    statement = parse_statements(rule, f"the rule '{rule}'")[0]
    counted = set(_shape(task, known, rule)[1])
    types: dict[str, str] = {}
    heads: list[tuple[ModeAtom | ModeComparison, bool]] = [(mode.atom, False) for mode in bias.heads]
    literals = [(statement.head, heads)]
    modes = [(mode.literal, mode.negated) for mode in bias.literals]
    literals += [(literal, modes) for literal in statement.body if str(literal) in counted]
    if any(mode.recall is not None for mode in bias.literals) or len(literals) - 1 > (
        bias.body_limit or 1 << 30
    ):
        return False
    for literal, options in literals:
        if literal.ast_type != ast.ASTType.Literal:
            return False
        for mode, negated in options:
            found = _instance(literal, mode, known) if negated == bool(literal.sign) else None
            if found is not None and all(types.get(v, kind) == kind for v, kind in found.items()):
                types |= found
                break
        else:
            return False
    return len(types) <= bias.max_variables


def _instance(literal: ast.AST, mode: ModeAtom | ModeComparison, known: Domains) -> dict[str, str] | None:
    """The type of each variable, if the literal is an instance of the mode, its sign aside."""
    if isinstance(mode, ModeComparison):
        return None
    symbol = getattr(literal.atom, "symbol", None)
    if symbol is None or symbol.ast_type not in (ast.ASTType.Function, ast.ASTType.SymbolicTerm):
        return None
    arguments = list(getattr(symbol, "arguments", []))
    name = symbol.name if symbol.ast_type == ast.ASTType.Function else str(symbol)
    if (name, len(arguments)) != mode.signature:
        return None
    found = dict(_types(arguments, mode.arguments))
    constants = [
        str(term) in known.constants.get(place.type, ())
        for term, place in zip(arguments, mode.arguments, strict=True)
        if isinstance(place, Placeholder) and place.kind == "const"
    ]
    return found if "" not in found and all(constants) else None


def _shape(task: LasTask, known: Domains, rule: str) -> tuple[str | None, tuple[str, ...]]:
    """Head and counted body literals: without type guards and the inequalities that replacement asks."""
    head, literals = _parts(rule)
    guards = [literal for literal in literals if _is_guard(literal, known)]
    counted = [literal for literal in literals if literal not in guards]
    used = set(_VARIABLE.findall(" ".join([head or "", *map(str, counted)])))
    counted += [literal for literal in guards if not set(_VARIABLE.findall(str(literal))) <= used]
    if task.bias.ground_without_replacement:
        unequal = {
            str(mode.literal.operator)
            for mode in task.bias.bodies
            if isinstance(mode.literal, ModeComparison) and mode.literal.operator == "!="
        }
        counted = [x for x in counted if unequal or not _is_inequality(x)]
    return head, tuple(str(literal) for literal in counted)


def _is_guard(literal: ast.AST, known: Domains) -> bool:
    if literal.ast_type != ast.ASTType.Literal or literal.sign != ast.Sign.NoSign:
        return False
    if literal.atom.ast_type != ast.ASTType.SymbolicAtom:
        return False
    symbol = literal.atom.symbol
    if symbol.ast_type != ast.ASTType.Function or symbol.name not in known.guarded:
        return False
    return len(symbol.arguments) == 1 and symbol.arguments[0].ast_type == ast.ASTType.Variable


def _is_inequality(literal: ast.AST) -> bool:
    if literal.ast_type != ast.ASTType.Literal or literal.atom.ast_type != ast.ASTType.Comparison:
        return False
    return bool(literal.atom.guards[0].comparison == ast.ComparisonOperator.NotEqual)


def with_type_guards(task: LasTask, rule: str) -> str:
    """The rule with the guard ``type(V)`` of each variable whose type it tells by a mode declaration."""
    known = domains(task)
    statement = parse_statements(rule, f"the rule '{rule}'")[0]
    types: dict[str, str] = {}
    atoms = [(statement.head, [mode.atom for mode in task.bias.heads])]
    bodies = [mode.literal for mode in task.bias.bodies if isinstance(mode.literal, ModeAtom)]
    atoms += [(literal, bodies) for literal in statement.body]
    for literal, modes in atoms:
        if literal.ast_type != ast.ASTType.Literal or literal.atom.ast_type != ast.ASTType.SymbolicAtom:
            continue
        symbol = literal.atom.symbol
        if symbol.ast_type != ast.ASTType.Function:
            continue
        for mode in modes:
            if (symbol.name, len(symbol.arguments)) != mode.signature:
                continue
            found = dict(_types(symbol.arguments, mode.arguments))
            if None not in found.values() and "" not in found:
                types = {**types, **{k: v for k, v in found.items() if k not in types}}
                break
    body = [str(literal) for literal in statement.body]
    missing = [f"{kind}({v})" for v, kind in types.items() if kind in known.guarded]
    parts = [*body, *(guard for guard in missing if guard not in body)]
    head = (
        ""
        if statement.head.ast_type == ast.ASTType.Literal and str(statement.head) == "#false"
        else str(statement.head)
    )
    return f"{head} :- {', '.join(parts)}.".lstrip() if parts else f"{head}."


def _types(terms: Sequence[ast.AST], modes: Sequence[ModeTerm]) -> Iterator[tuple[str, str]]:
    """(variable, type) for each place; ("", "") where a term cannot be an instance of its mode."""
    for term, mode in zip(terms, modes, strict=True):
        variable = term.ast_type == ast.ASTType.Variable
        if isinstance(mode, Placeholder):
            if variable == (mode.kind == "var"):
                if variable:
                    yield term.name, mode.type
            else:
                yield "", ""
        elif isinstance(mode, Compound):
            if term.ast_type != ast.ASTType.Function or term.name != mode.name:
                yield "", ""
            elif len(term.arguments) == len(mode.arguments):
                yield from _types(term.arguments, mode.arguments)
            else:
                yield "", ""
        elif str(term) != mode:
            yield "", ""
