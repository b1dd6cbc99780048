"""Reading a rule by the mode declarations: which of its literals count, and what type each variable has.

Type guards are free, and so are the inequalities that `#ground_without_replacement` asks for. Which literal
is one of these depends on the types of the variables, and a literal may follow from several declarations: a
rule has one reading for each way to tell them apart.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

from clingo import ast

from nsl_bench.logic.asp.parsing import by_text, variables_in
from nsl_bench.logic.asp.program import Rule
from nsl_bench.logic.las.bias.reification import ARITHMETIC, COMPARISONS
from nsl_bench.logic.las.bias.types import Domains
from nsl_bench.logic.las.language_bias import (
    Compound,
    LanguageBias,
    ModeAtom,
    ModeComparison,
    ModeLiteral,
    ModeTerm,
    Placeholder,
)
from nsl_bench.logic.las.terms import Unequal, unequal_pairs
from nsl_bench.logic.las.thresholds import price_text

_MOST_STEPS = 20_000
"""Literals that are tried for the readings of one rule."""

Types = dict[str, str]
"""The type of each variable."""


@dataclass(frozen=True)
class Reading:
    """One way to read a rule by the mode declarations.

    Attributes:
        literals: the body literals that count, each once.
    """

    head: str | None
    literals: tuple[str, ...]
    types: Mapping[str, str]


def readings(bias: LanguageBias, type_domains: Domains, rule: Rule, *, exact: bool) -> Iterator[Reading]:
    """The readings of a rule, those that count fewer literals first; none if the modes do not allow it.

    Args:
        exact: it is written as the hypothesis space holds it; else guards and inequalities may be missing.
    """
    if rule.is_open:
        return
    reader = _Reader(bias, type_domains, rule, exact=exact)
    yield from reader.readings()


def types_told(bias: LanguageBias, type_domains: Domains, rule: Rule) -> Types:
    """The types of variables that the literals of a rule tell one by one, also of one not allowed."""
    types: Types = {}
    if not rule.is_open:
        reader = _Reader(bias, type_domains, rule, exact=False)
        pairs: list[tuple[ast.AST, ModeAtom | ModeComparison]] = []
        pairs += [(rule.node.head, mode.atom) for mode in bias.heads]
        pairs += [(literal, mode.literal) for literal in rule.node.body for mode in bias.bodies]
        for literal, mode in pairs:
            if literal.ast_type == ast.ASTType.Literal:
                types = reader.match(literal, mode, types) or types
    return types


@dataclass
class _State:
    """The literals read so far."""

    types: Types
    counted: list[tuple[str, ModeLiteral]] = field(default_factory=list)
    guards: list[tuple[str, str]] = field(default_factory=list)
    unequal: list[Unequal] = field(default_factory=list)
    bounds: list[tuple[str, str, int]] = field(default_factory=list)

    def with_literal(self, text: str, literal: ModeLiteral, types: Types) -> Self:
        return replace(self, types=types, counted=[*self.counted, (text, literal)])

    @property
    def texts(self) -> tuple[str, ...]:
        """The literals that count, as `#bias` sees them."""
        return (*(text for text, _ in self.counted), *(price_text(*bound) for bound in self.bounds))


class _Reader:
    """Tries every way to read the literals of one rule."""

    def __init__(self, bias: LanguageBias, type_domains: Domains, rule: Rule, *, exact: bool) -> None:
        self._bias = bias
        self._known = type_domains
        self._head = None if rule.head == "constraint" else rule.node.head
        self._body = list({str(literal): literal for literal in rule.node.body}.items())
        self._literals = bias.literals
        self._has_thresholds = any(mode.literal.has_thresholds for mode in bias.bodies)
        self._exact = exact
        self._left = _MOST_STEPS

    def readings(self) -> Iterator[Reading]:
        """The readings, without repetition."""
        head = None if self._head is None else str(self._head)
        seen: set[tuple[tuple[str, ...], tuple[tuple[str, str], ...]]] = set()
        for types in self._head_types():
            for state in self._read(0, _State(types)):
                literals = state.texts
                key = (literals, tuple(sorted(state.types.items())))
                if key not in seen and self._is_valid(state):
                    seen.add(key)
                    yield Reading(head, literals, state.types)

    def _head_types(self) -> Iterator[Types]:
        bias = self._bias
        if self._head is None:
            if bias.constraints:
                yield {}
            return
        for mode in bias.heads:
            types = self.match(self._head, mode.atom, {})
            if types is not None:
                yield types

    def _read(self, index: int, state: _State) -> Iterator[_State]:
        if index == len(self._body):
            yield state
            return
        text, literal = self._body[index]
        guard = guard_of(literal)
        if guard is not None and guard[0] in self._known.guarded:
            yield from self._read(index + 1, replace(state, guards=[*state.guards, guard]))
        unequal = _unequal_of(literal) if self._bias.ground_without_replacement else None
        if unequal is not None:
            yield from self._read(index + 1, replace(state, unequal=[*state.unequal, unequal]))
        bound = _bound_of(literal) if self._has_thresholds else None
        if bound is not None:
            yield from self._read(index + 1, replace(state, bounds=[*state.bounds, bound]))
        for form in self._literals:
            self._left -= 1
            if self._left < 0:
                return
            if literal.ast_type != ast.ASTType.Literal or _SIGNS.get(literal.sign) != form.negated:
                continue
            types = self.match(literal, form.literal, state.types)
            if types is not None and _allows(form, literal):
                yield from self._read(index + 1, state.with_literal(text, form, types))

    def match(self, literal: ast.AST, mode: ModeAtom | ModeComparison, types: Types) -> Types | None:
        """The types of the variables if the literal is an instance of the mode, its sign aside."""
        pairs = _pairs(literal, mode)
        if pairs is None:
            return None
        result = dict(types)
        return result if all(self._match_term(term, mode, result) for term, mode in pairs) else None

    def _match_term(self, term: ast.AST, mode: ModeTerm, types: Types) -> bool:
        """Whether a term is an instance of a mode's; notes the types of its variables."""
        is_variable = term.ast_type == ast.ASTType.Variable
        if isinstance(mode, Placeholder):
            if mode.kind == "const":
                values = self._known.constants.get(mode.type)
                return not variables_in(term) and (not values or str(term) in values)
            if mode.kind == "num_var":  # a variable of its own
                own = is_variable and term.name not in types
                if own and term.name != "_":
                    types[term.name] = str(mode)
                return own
            return is_variable and term.name != "_" and types.setdefault(term.name, mode.type) == mode.type
        if isinstance(mode, Compound):
            arguments = _arguments(term, mode.name)
            if arguments is None or len(arguments) != len(mode.arguments):
                return False
            pairs = zip(arguments, mode.arguments, strict=True)
            return all(self._match_term(inner, other, types) for inner, other in pairs)
        return not is_variable and str(term) == mode

    def _is_valid(self, state: _State) -> bool:
        """Whether limits are kept and each free literal is free."""
        bias = self._bias
        counted = [literal for _, literal in state.counted]
        if sum(not _is_bounded(kind) for kind in state.types.values()) > bias.max_variables:
            return False
        if bias.body_limit is not None and len(state.texts) > bias.body_limit:
            return False
        if not self._are_thresholds(state):
            return False
        uses = [literal.mode for literal in counted]
        if any(form.recall is not None and uses.count(form.mode) > form.recall for form in counted):
            return False
        if any(state.types.get(variable) != kind for kind, variable in state.guards):
            return False
        guards = {(kind, name) for name, kind in state.types.items() if kind in self._known.guarded}
        asked = unequal_pairs(self._counted_atoms(state)) if bias.ground_without_replacement else set()
        if not asked.issuperset(state.unequal) or not self._is_safe(state):
            return False
        if not self._exact:
            return True
        written = {text for text, _ in state.counted}
        missing = {f"{kind}({name})" for kind, name in guards - set(state.guards)}
        return missing <= written and asked <= set(state.unequal)

    def _are_thresholds(self, state: _State) -> bool:
        """Whether each bound is on a variable of ``num_var(type)``, at most one from each side."""
        if any(not _is_bounded(state.types.get(variable, "")) for variable, _, _ in state.bounds):
            return False
        sides = [(variable, operator[0]) for variable, operator, _ in state.bounds]
        return len(set(sides)) == len(sides)

    def _is_safe(self, state: _State) -> bool:
        bound = {name for name, kind in state.types.items() if kind in self._known.guarded}
        nodes = dict(self._body)
        for text, form in state.counted:
            if not form.negated and isinstance(form.literal, ModeAtom):
                bound |= variables_in(nodes[text])
        return bound >= set(state.types)

    def _counted_atoms(self, state: _State) -> list[tuple[object, tuple[str, ...]]]:
        nodes = dict(self._body)
        result: list[tuple[object, tuple[str, ...]]] = []
        for text, form in state.counted:
            if isinstance(form.literal, ModeAtom):
                terms = arguments_of(nodes[text], form.literal) or ()
                kind = (form.literal.predicate, len(terms), form.negated)
                result.append((kind, tuple(map(str, terms))))
        return result


_SIGNS = {ast.Sign.NoSign: False, ast.Sign.Negation: True}


def _is_bounded(kind: str) -> bool:
    """Whether this is the type of a variable that stands for ``num_var(type)``."""
    return kind.endswith(")")


def _bound_of(literal: ast.AST) -> tuple[str, str, int] | None:
    """Variable, operator and number of a comparison such as ``V1 >= 6``; None for another literal."""
    if literal.ast_type != ast.ASTType.Literal or literal.sign != ast.Sign.NoSign:
        return None
    atom = literal.atom
    if atom.ast_type != ast.ASTType.Comparison or len(atom.guards) != 1:
        return None
    operator, term = COMPARISONS[atom.guards[0].comparison], atom.guards[0].term
    if operator in ("=", "!=") or atom.term.ast_type != ast.ASTType.Variable or variables_in(term):
        return None
    text = str(term)
    return (atom.term.name, operator, int(text)) if re.fullmatch(r"-?\d{1,10}", text) else None


def arguments_of(literal: ast.AST, mode: ModeAtom) -> Sequence[ast.AST] | None:
    """The arguments of a literal's atom; None if it is not of the mode's predicate and sign."""
    symbol = literal.atom.symbol if literal.atom.ast_type == ast.ASTType.SymbolicAtom else None
    if symbol is not None and symbol.ast_type == ast.ASTType.UnaryOperation:
        symbol = symbol.argument if mode.is_classical else None
    elif mode.is_classical:
        symbol = None
    if symbol is None or symbol.ast_type != ast.ASTType.Function:
        return None
    arguments: Sequence[ast.AST] = symbol.arguments
    return arguments if (symbol.name, len(arguments)) == mode.signature else None


@by_text
def guard_of(literal: ast.AST) -> tuple[str, str] | None:
    """Type and variable of a literal such as ``cell(V1)``; None if it has another form."""
    if literal.ast_type != ast.ASTType.Literal or literal.sign != ast.Sign.NoSign:
        return None
    atom = literal.atom
    if atom.ast_type != ast.ASTType.SymbolicAtom or atom.symbol.ast_type != ast.ASTType.Function:
        return None
    terms = atom.symbol.arguments
    if len(terms) != 1 or terms[0].ast_type != ast.ASTType.Variable or terms[0].name == "_":
        return None
    return atom.symbol.name, terms[0].name


def _unequal_of(literal: ast.AST) -> Unequal | None:
    """The pairs of which an inequality says that some differ; None for another literal."""
    if literal.ast_type != ast.ASTType.Literal or literal.sign != ast.Sign.NoSign:
        return None
    atom = literal.atom
    if atom.ast_type != ast.ASTType.Comparison or len(atom.guards) != 1:
        return None
    if atom.guards[0].comparison != ast.ComparisonOperator.NotEqual:
        return None
    sides = [_tuple(atom.term), _tuple(atom.guards[0].term)]
    if len(sides[0]) != len(sides[1]):
        return None
    return frozenset(frozenset(pair) for pair in zip(*sides, strict=True))


def _tuple(term: ast.AST) -> list[str]:
    if term.ast_type == ast.ASTType.Function and not term.name:
        return [str(each) for each in term.arguments]
    return [str(term)]


def _pairs(literal: ast.AST, mode: ModeAtom | ModeComparison) -> list[tuple[ast.AST, ModeTerm]] | None:
    """The terms of a literal, each with the mode's; None if it is another predicate's or operator's."""
    atom = literal.atom
    if isinstance(mode, ModeAtom):
        terms = arguments_of(literal, mode)
        return None if terms is None else list(zip(terms, mode.arguments, strict=True))
    if atom.ast_type != ast.ASTType.Comparison or len(atom.guards) != 1:
        return None
    if COMPARISONS[atom.guards[0].comparison] != mode.operator:
        return None
    return [(atom.term, mode.left), (atom.guards[0].term, mode.right)]


def _arguments(term: ast.AST, name: str) -> Sequence[ast.AST] | None:
    """The arguments of a term with this function symbol or operator; None for another term."""
    if term.ast_type == ast.ASTType.Function and term.name == name:
        result: Sequence[ast.AST] = term.arguments
        return result
    if term.ast_type == ast.ASTType.BinaryOperation and ARITHMETIC[term.operator_type] == name:
        return term.left, term.right
    return None


def _placed(term: ast.AST, mode: ModeTerm) -> Iterator[str]:
    """What stands in the places of a mode's term."""
    if isinstance(mode, Placeholder):
        yield str(term)
    elif isinstance(mode, Compound):
        for inner, other in zip(_arguments(term, mode.name) or (), mode.arguments, strict=True):
            yield from _placed(inner, other)


def _allows(form: ModeLiteral, literal: ast.AST) -> bool:
    """Whether the literal, an instance of the declaration, keeps the declaration's options."""
    if not form.anti_reflexive:
        return True
    placed = [text for pair in _pairs(literal, form.literal) or () for text in _placed(*pair)]
    return len(set(placed)) == len(placed)
