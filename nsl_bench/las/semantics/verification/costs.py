"""What a hypothesis costs: each rule read against the mode declarations, and priced by `#bias` by itself.

A rule can be read in more ways than one (as one given whole and as one of the modes, with a literal as type
guard or as one of the body); it costs what the cheapest reading does.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

import clingo
from clingo import ast

from nsl_bench.las.language_bias import LanguageBias, WeightedRule
from nsl_bench.las.semantics.verification.reading import (
    OPERATORS,
    Reader,
    Reading,
    is_constraint,
    variables_of,
)
from nsl_bench.las.semantics.verification.solving import Unverifiable, answer_sets, grounded, parse
from nsl_bench.las.semantics.verification.statements import Statements, derived_by
from nsl_bench.las.task import LasTask

__all__ = ["Pricing", "normal_form", "price"]

_STRING_OR_VARIABLE = re.compile(r'"(?:\\.|[^"\\])*"|\b[_\']*[A-Z][\w\']*')
_FACT = re.compile(r"([a-z]\w*)(?:\(([\w\s,+-]+)\))?")
_MOST_PERMUTED = 6


class Pricing:
    """What rules cost under a task's language bias.

    Args:
        task: the task.
        stop: is called now and then, and may raise what ends the check.
    """

    def __init__(self, task: LasTask, stop: Callable[[], None]) -> None:
        self._task = task
        self._bias = task.bias
        self._stop = stop
        self._derived = self._derived_types()
        self._is_strict = False
        self._reader = Reader(task.bias, self.is_guarded, self._is_constant)
        self._constants: dict[str, tuple[str, ...]] = {}
        self._given: dict[tuple[str, ...], list[WeightedRule]] = {}
        for each in (*self._bias.rules, *self._bias.instances):
            self._given.setdefault(_words(each.rule), []).append(each)

    def _derived_types(self) -> set[str]:
        """The names of predicates with one argument that background, contexts or rules can derive."""
        texts = dict.fromkeys(text for example in self._task.examples for text in example.context)
        plain = {text: match for text in texts if (match := _FACT.fullmatch(text))}
        rest = [self._task.background, *(f"{text}." for text in texts if text not in plain)]
        found = derived_by(parse("\n".join(rest))) | self._bias.learned
        unary = {match[1] for match in plain.values() if match[2] and "," not in match[2]}
        return unary | {name for name, arity in found if arity == 1}

    def is_guarded(self, kind: str) -> bool:
        """Whether variables of a type are guarded by its predicate."""
        return kind in self._derived

    def _is_constant(self, kind: str, text: str) -> bool:
        """Whether a type has a constant; only looked up where a rule is given whole as well."""
        return not self._is_strict or text in self.constants(kind)

    def constants(self, kind: str) -> tuple[str, ...]:
        """The constants of a type: by ``#constant``, and by what background and contexts can derive."""
        if kind not in self._constants:
            found = {value: None for k, value in self._bias.constants if k == kind}
            for symbol in sorted(self._possible.get(kind, ())):
                found[str(symbol)] = None
            self._constants[kind] = tuple(found)
        return self._constants[kind]

    @cached_property
    def _possible(self) -> dict[str, set[clingo.Symbol]]:
        """The arguments of all possible atoms with one argument, by predicate."""
        statements = Statements(self._task)
        contexts = list(dict.fromkeys(example.context for example in self._task.examples))
        lines = [f"copy(0..{len(contexts)}).", *statements.common(violation=True)]
        for i, context in enumerate(contexts):
            lines += statements.context(i, context, violation=True)
        found: dict[str, set[clingo.Symbol]] = {}
        control = grounded(lines, self._stop)
        for atom in control.symbolic_atoms:
            prefix, _, name = atom.symbol.name.partition("_")
            arguments = atom.symbol.arguments
            if prefix in ("p", "pe") and len(arguments) == len(prefix):
                found.setdefault(name, set()).add(arguments[-1])
        return found

    def of_hypothesis(self, rules: Sequence[str]) -> int:
        """What distinct rules cost together."""
        return sum(self.of_rule(rule) for rule in dict.fromkeys(rules))

    def of_rule(self, text: str) -> int:
        """What a rule costs.

        Raises:
            Unverifiable: neither is it given whole nor do the mode declarations allow it.
        """
        self._stop()
        statements = parse(text)
        if len(statements) != 1 or statements[0].ast_type != ast.ASTType.Rule:
            raise Unverifiable(f"'{text}' is not one rule")
        rule = statements[0]
        similar = self._given.get(_words(text), [])
        form = normal_form(text) if similar else ""
        prices = [each.cost for each in similar if normal_form(each.rule) == form]
        self._is_strict = bool(prices)
        shapes = {self._shape(rule, reading) for reading in self._reader.readings(rule)}
        found = [cost for shape in shapes if (cost := self.of_shape(*shape)) is not None]
        if not prices + found:
            raise Unverifiable(f"the rule '{text}' is not read as one of the hypothesis space")
        return min(prices + found)

    def _shape(self, rule: ast.AST, reading: Reading) -> tuple[str | None, tuple[str, ...]]:
        counted = tuple(sorted({str(literal) for literal, _ in reading.counted}))
        return None if is_constraint(rule.head) else str(rule.head), counted

    def of_shape(self, head: str | None, body: Sequence[str]) -> int | None:
        """What a rule with this head and these counted literals costs; None if `#bias` forbids it."""
        return price(self._bias, head, body, self._stop)


def price(bias: LanguageBias, head: str | None, body: Sequence[str], stop: Callable[[], None]) -> int | None:
    """What `#bias` says that a rule costs, its variables standing as constants; None if it forbids the rule.

    Args:
        bias: the language bias.
        head: None for a constraint.
        body: the counted literals, without repetition.
        stop: is called now and then.
    """
    literals = len(body) + (head is not None)
    plain = literals if bias.dialect == "ilasp" else 0
    if bias.penalties is None:
        return plain
    program = "\n".join(bias.penalties)
    texts = [program, head or "", *body]
    prefix = next(p for i in itertools.count() if not any((p := f"v{i}_") in text for text in texts))
    lines = [program, "#show.", "#show penalty/2.", "#show invert/1."]
    lines += [f"in_head({_constants(parse(f'{head}.')[0].head.atom, prefix)})."] if head is not None else []
    lines += [f"in_body({_reified(text, prefix)})." for text in body]
    models = answer_sets(lines, 2, stop)
    if not models:
        return None
    if len(models) > 1:
        raise Unverifiable("#bias has several answer sets")
    weights = [symbol.arguments[0].number for symbol in models[0] if symbol.name == "penalty"]
    inverted = [symbol.arguments[0].number for symbol in models[0] if symbol.name == "invert"]
    derives = any(re.match(r"\s*penalty\(", str(s.head)) for s in parse(program) if hasattr(s, "head"))
    total = sum(weights) if derives else plain
    if inverted:
        return inverted[0] // total if total else None
    return total


def _reified(text: str, prefix: str) -> str:
    """A body literal as the argument of ``in_body``."""
    literal = parse(f":- {text}.")[0].body[0]
    atom = literal.atom
    if atom.ast_type == ast.ASTType.Comparison:
        guard = atom.guards[0]
        sides = f"{_constants(atom.term, prefix)},{_constants(guard.term, prefix)}"
        shown = f'binop("{OPERATORS[guard.comparison]}",{sides})'
    else:
        shown = _constants(atom, prefix)
    return f"neg({shown})" if literal.sign == ast.Sign.Negation else shown


class _Constants(ast.Transformer):
    """Turns variables into constants of their own."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix

    def visit_Variable(self, node: ast.AST) -> ast.AST:
        return ast.SymbolicTerm(node.location, clingo.Function(self._prefix + node.name.lstrip("_'").lower()))


def _constants(node: ast.AST, prefix: str) -> str:
    return str(_Constants(prefix).visit(node))


def _words(text: str) -> tuple[str, ...]:
    """The names in a rule, which rules that are equal up to order and variables share."""
    return tuple(sorted(re.findall(r"\b[a-z]\w*", text)))


def normal_form(text: str) -> str:
    """The same text for rules that are equal up to the order of their bodies and the names of variables.

    Rules with very many variables keep their names.
    """
    rule = parse(text)[0]
    texts = [str(rule.head), *dict.fromkeys(map(str, rule.body))]
    variables = variables_of(rule)
    if len(variables) > _MOST_PERMUTED:
        return " ".join([texts[0], *sorted(texts[1:])])
    forms = []
    for order in itertools.permutations(range(len(variables))):
        names = {variable: f"V{i + 1}" for variable, i in zip(variables, order, strict=True)}
        first, *rest = (_renamed(each, names) for each in texts)
        forms.append(" ".join([first, *sorted(rest)]))
    return min(forms)


def _renamed(text: str, names: Mapping[str, str]) -> str:
    """A text with its variables renamed, strings aside."""
    return _STRING_OR_VARIABLE.sub(lambda match: names.get(match.group(), match.group()), text)
