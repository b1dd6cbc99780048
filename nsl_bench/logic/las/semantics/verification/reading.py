"""Reading a rule against the mode declarations: which of its literals count, and which are there for safety.

A body holds literals that a declaration allows, which count; the guard ``type(V)`` of each variable whose
type has a predicate; and, without replacement, inequalities. One rule can be read in several ways.
"""

import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from clingo import Symbol, SymbolType, ast

from nsl_bench.logic.las.semantics.verification.plain import Mode, PlainTask
from nsl_bench.logic.las.semantics.verification.solving import parse

OPERATORS = {
    ast.ComparisonOperator.Equal: "=",
    ast.ComparisonOperator.NotEqual: "!=",
    ast.ComparisonOperator.LessThan: "<",
    ast.ComparisonOperator.LessEqual: "<=",
    ast.ComparisonOperator.GreaterThan: ">",
    ast.ComparisonOperator.GreaterEqual: ">=",
}
_NUMERIC = "number of "
"""Begins the type of a variable that stands for ``num_var(type)``, which no other literal may have."""
_VARIABLE = re.compile(r"\b[_']*[A-Z][\w']*")

Types = dict[str, str]
"""The type of each variable."""


@dataclass(frozen=True)
class Reading:
    """One way to read a rule: which body literals count, by which declaration, and what they say of types.

    Attributes:
        counted: body literals, each with its declaration.
        guards: type and variable of each literal that guards a variable.
        inequalities: those that keep two literals from grounding to the same atom.
        bounds: variable, operator and number of each comparison that is a threshold.
    """

    types: Types = field(default_factory=dict)
    counted: tuple[tuple[ast.AST, Mode], ...] = ()
    guards: tuple[tuple[str, str], ...] = ()
    inequalities: tuple[ast.AST, ...] = ()
    bounds: tuple[tuple[str, str, int], ...] = ()

    @property
    def thresholds(self) -> tuple[str, ...]:
        """The thresholds as ``in_body`` has them."""
        return tuple(threshold(*bound) for bound in self.bounds)


def threshold(variable: str, operator: str, number: int) -> str:
    """A threshold as FastLAS puts it into ``in_body``; of whole numbers, ``V > 5`` is ``V >= 6``."""
    if operator in ("<", ">"):
        return threshold(variable, f"{operator}=", number - 1 if operator == "<" else number + 1)
    return f'binop({variable},"{operator}",{number})'


class Reader:
    """Reads rules against the mode declarations.

    Args:
        is_guarded: whether a type's variables are guarded by its predicate.
        is_constant: whether a type has a constant.
    """

    def __init__(
        self, task: PlainTask, is_guarded: Callable[[str], bool], is_constant: Callable[[str, str], bool]
    ) -> None:
        self._task = task
        self._is_guarded = is_guarded
        self._is_constant = is_constant
        literals = {mode.literal for mode in (*task.heads, *task.bodies)}
        self._forms = {literal: parse(f":- {literal}.")[0].body[0].atom for literal in literals}

    def readings(self, rule: ast.AST) -> Iterator[Reading]:
        """Every way to read a rule by the mode declarations."""
        head = rule.head
        starts: list[Types | None] = []
        if is_constraint(head):
            starts += [{}] if self._task.constraints else []
        elif head.ast_type == ast.ASTType.Literal and head.sign == ast.Sign.NoSign:
            starts += [self._matches(head.atom, mode, {}) for mode in self._task.heads]
        for types in starts:
            for reading in () if types is None else self._bodies(list(rule.body), Reading(types)):
                if self._is_allowed(rule, reading):
                    yield reading

    def _bodies(self, literals: Sequence[ast.AST], reading: Reading) -> Iterator[Reading]:
        if not literals:
            yield reading
            return
        first, rest = literals[0], literals[1:]
        if first.ast_type != ast.ASTType.Literal or first.sign == ast.Sign.DoubleNegation:
            return
        for mode in self._task.bodies:
            if (first.sign == ast.Sign.Negation) == mode.negated:
                types = self._matches(first.atom, mode, reading.types)
                if types is not None:
                    counted = (*reading.counted, (first, mode))
                    yield from self._bodies(rest, replace(reading, types=types, counted=counted))
        if bound := _bound(first):
            yield from self._bodies(rest, replace(reading, bounds=(*reading.bounds, bound)))
        if guard := _guard(first):
            yield from self._bodies(rest, replace(reading, guards=(*reading.guards, guard)))
        elif self._task.without_replacement and _is_inequality(first):
            yield from self._bodies(rest, replace(reading, inequalities=(*reading.inequalities, first)))

    def _is_allowed(self, rule: ast.AST, reading: Reading) -> bool:
        """Whether the declarations allow what the reading takes for the body."""
        task, types = self._task, reading.types
        counted = {str(literal): mode for literal, mode in reading.counted}
        if any(
            types.get(variable) != kind or not self._is_guarded(kind) for kind, variable in reading.guards
        ):
            return False
        numeric = {variable for variable, kind in types.items() if kind.startswith(_NUMERIC)}
        if set(variables_of(rule)) - set(types) or len(types) - len(numeric) > task.max_variables:
            return False
        sides = [(variable, operator[0]) for variable, operator, _ in reading.bounds]
        if len(set(sides)) < len(sides) or {variable for variable, _ in sides} - numeric:
            return False
        if task.max_body is not None and len(counted) + len(sides) > task.max_body:
            return False
        if is_constraint(rule.head) and not counted:
            return False
        modes = [mode.declaration for mode in counted.values()]
        if any(
            mode.recall is not None and modes.count(mode.declaration) > mode.recall
            for mode in counted.values()
        ):
            return False
        texts = {str(literal) for literal in rule.body}
        if any(self._is_guarded(kind) and f"{kind}({v})" not in texts for v, kind in types.items()):
            return False
        return {_sides(x) for x in reading.inequalities} <= _replacements([x for x, _ in reading.counted])

    def _matches(self, atom: ast.AST, mode: Mode, types: Types) -> Types | None:
        """All types, if an atom or comparison is an instance of a mode with types known before."""
        result = dict(types)
        values: list[str] = []
        pairs: list[tuple[ast.AST, ast.AST]] = []
        form = self._forms[mode.literal]
        if atom.ast_type != form.ast_type:
            return None
        if atom.ast_type == ast.ASTType.Comparison:
            if len(atom.guards) != 1 or atom.guards[0].comparison != form.guards[0].comparison:
                return None
            pairs += [(atom.term, form.term), (atom.guards[0].term, form.guards[0].term)]
        elif atom.ast_type == ast.ASTType.SymbolicAtom:
            pairs.append((atom.symbol, form.symbol))
        else:
            return None
        while pairs:
            term, wanted = pairs.pop()
            place = _place(wanted)
            if place is not None:
                values.append(str(term))
            if place is not None and place[0] == "num_var":
                if term.ast_type != ast.ASTType.Variable or term.name in result:
                    return None
                result[term.name] = _NUMERIC + place[1]
            elif place is not None and place[0] == "var":
                if (
                    term.ast_type != ast.ASTType.Variable
                    or result.setdefault(term.name, place[1]) != place[1]
                ):
                    return None
            elif place is not None:
                if variables_of(term) or not self._is_constant(place[1], str(term)):
                    return None
            elif wanted.ast_type == ast.ASTType.Function and wanted.arguments:
                same = term.ast_type == ast.ASTType.Function and term.name == wanted.name
                if not same or len(term.arguments) != len(wanted.arguments):
                    return None
                pairs += zip(term.arguments, wanted.arguments, strict=True)
            elif wanted.ast_type == term.ast_type == ast.ASTType.BinaryOperation:
                if term.operator_type != wanted.operator_type:
                    return None
                pairs += [(term.left, wanted.left), (term.right, wanted.right)]
            elif wanted.ast_type == term.ast_type == ast.ASTType.UnaryOperation:
                if term.operator_type != wanted.operator_type:
                    return None
                pairs.append((term.argument, wanted.argument))
            elif str(term) != str(wanted):
                return None
        return None if mode.distinct and len(set(values)) < len(values) else result


def _place(term: ast.AST) -> tuple[str, str] | None:
    """Kind and type of a place."""
    kinds = ("var", "const", "num_var")
    if term.ast_type != ast.ASTType.Function or term.name not in kinds or len(term.arguments) != 1:
        return None
    return term.name, str(term.arguments[0])


def is_constraint(head: ast.AST) -> bool:
    """Whether a rule's head says that the rule is a constraint."""
    return bool(
        head.ast_type == ast.ASTType.Literal
        and head.atom.ast_type == ast.ASTType.BooleanConstant
        and head.atom.value == 0
    )


def placed(values: Sequence[Symbol], literal: str) -> list[Symbol] | None:
    """What stands at the places of a mode's atom with these arguments; None if it can't have them."""
    result: list[Symbol] = []
    terms = parse(f":- {literal}.")[0].body[0].atom.symbol.arguments
    pairs = list(zip(terms, values, strict=True))
    while pairs:
        term, value = pairs.pop(0)
        if _place(term) is not None:
            result.append(value)
        elif term.ast_type == ast.ASTType.Function and term.arguments:
            same = value.type == SymbolType.Function and value.name == term.name
            if not same or len(value.arguments) != len(term.arguments):
                return None
            pairs = [*zip(term.arguments, value.arguments, strict=True), *pairs]
        elif str(value) != str(term):
            return None
    return result


def _bound(literal: ast.AST) -> tuple[str, str, int] | None:
    """Variable, operator and number of a comparison of a variable with a number."""
    if literal.sign != ast.Sign.NoSign or literal.atom.ast_type != ast.ASTType.Comparison:
        return None
    guards = literal.atom.guards
    if len(guards) != 1 or literal.atom.term.ast_type != ast.ASTType.Variable:
        return None
    operator, text = OPERATORS[guards[0].comparison], str(guards[0].term)
    if operator not in ("<", "<=", ">", ">=") or not re.fullmatch(r"-?\d+", text):
        return None
    return literal.atom.term.name, operator, int(text)


def _guard(literal: ast.AST) -> tuple[str, str] | None:
    """Type and variable of ``type(V)``."""
    if literal.sign != ast.Sign.NoSign or literal.atom.ast_type != ast.ASTType.SymbolicAtom:
        return None
    symbol = literal.atom.symbol
    if symbol.ast_type != ast.ASTType.Function or len(symbol.arguments) != 1:
        return None
    variable = symbol.arguments[0]
    return (symbol.name, variable.name) if variable.ast_type == ast.ASTType.Variable else None


def _is_inequality(literal: ast.AST) -> bool:
    atom = literal.atom
    return bool(
        literal.sign == ast.Sign.NoSign
        and atom.ast_type == ast.ASTType.Comparison
        and len(atom.guards) == 1
        and atom.guards[0].comparison == ast.ComparisonOperator.NotEqual
    )


Sides = frozenset[tuple[str, ...]]


def _sides(literal: ast.AST) -> Sides:
    """The two sides of an inequality, each as the texts of its terms."""
    sides = []
    for term in (literal.atom.term, literal.atom.guards[0].term):
        tuple_ = term.ast_type == ast.ASTType.Function and not term.name
        sides.append(tuple(map(str, term.arguments)) if tuple_ else (str(term),))
    return frozenset(sides)


def _replacements(literals: Sequence[ast.AST]) -> set[Sides]:
    """The inequalities that keep two atoms of one predicate from grounding to the same atom."""
    atoms = []
    for literal in literals:
        if literal.atom.ast_type == ast.ASTType.SymbolicAtom:
            symbol, negative = literal.atom.symbol, False
            if symbol.ast_type == ast.ASTType.UnaryOperation:
                symbol, negative = symbol.argument, True
            kind = (symbol.name, len(symbol.arguments), literal.sign, negative)
            atoms.append((kind, list(map(str, symbol.arguments))))
    result = set()
    for (one, left), (two, right) in itertools.combinations(atoms, 2):
        if one == two:
            pairs = [(a, b) for a, b in zip(left, right, strict=True) if a != b]
            if pairs:
                result.add(frozenset(zip(*pairs, strict=True)))
    return result


def variables_of(node: ast.AST) -> list[str]:
    """The names of the variables in a syntax tree, in order of occurrence."""
    text = re.sub(r'"(?:\\.|[^"\\])*"', "", str(node))
    return list(dict.fromkeys(_VARIABLE.findall(text)))
