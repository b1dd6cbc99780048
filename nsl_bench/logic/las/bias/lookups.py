"""Predicates of the background that only compare values, such as ``greater_than(X,Y)`` over 0..1000.

They hold the same in every context and are not grounded: numpy compares the values that matter.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import numpy.typing as npt
from clingo import SymbolType, ast

from nsl_bench.logic.asp.atoms import read_atom
from nsl_bench.logic.asp.parsing import nodes_in, variables_in
from nsl_bench.logic.asp.program import Program, Rule, Signature, statement
from nsl_bench.logic.las.bias.reification import COMPARISONS
from nsl_bench.logic.las.language_bias import ModeAtom, Placeholder
from nsl_bench.logic.las.task import LasTask

if TYPE_CHECKING:
    from clingo import Symbol

_Keys = npt.NDArray[np.int64]
_Flags = npt.NDArray[np.bool_]
_Any = TypeVar("_Any", bound=np.generic)

_OPERATORS: dict[str, Callable[[_Keys, _Keys], _Flags]] = {
    "=": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}
_SUMS: dict[int, Callable[[_Keys, _Keys], _Keys]] = {
    ast.BinaryOperator.Plus: np.add,
    ast.BinaryOperator.Minus: np.subtract,
    ast.BinaryOperator.Multiplication: np.multiply,
}
_BEYOND = 1 << 40
"""What is no number is above all numbers, apart from ``#inf``."""


def lookups(task: LasTask, texts: Iterable[str]) -> frozenset[Signature]:
    """The predicates of comparisons that body literals alone read, and that no context or hypothesis changes.

    Args:
        task: the task. Only predicates that are compared with constants are looked for: of one variable.
        texts: the statements of contexts, and the atoms that examples ask about.
    """
    program, bias = task.program, task.bias
    atoms = [mode.literal for mode in bias.bodies if isinstance(mode.literal, ModeAtom)]
    result = {atom.signature for atom in atoms} - {atom.signature for atom in atoms if not _compares(atom)}
    constants = {node.name for node in program.constants}
    result &= {head for rule in program.rules for head in rule.derives if rule.body}
    for rule in program.rules:
        if rule.derives & result and not _is_comparison(rule, constants):
            result -= rule.derives
    if not result or program.classical:
        return frozenset()
    stated = _signatures_of(texts)
    given = [rule.parsed for rule in bias.given]
    result -= bias.learned | {(p.type, 1) for each in bias.patterns for p in each.placeholders} | stated
    result = result.difference(*(rule.signatures for rule in given), *(rule.body for rule in program.rules))
    changed = (bias.learned | stated).union(*(rule.derives for rule in given))
    changed = changed.union(
        program.cycles_through_negation, *(rule.derives for rule in program.rules if rule.is_open)
    )
    return frozenset(result - program.dependents(changed))


def _compares(atom: ModeAtom) -> bool:
    """Whether a declaration has one variable and constants, each an argument of its own."""
    kinds = [place.kind for place in atom.placeholders]
    plain = all(isinstance(term, Placeholder | str) for term in atom.arguments)
    return plain and kinds.count("var") == 1 and set(kinds) == {"var", "const"}


def _is_comparison(rule: Rule, constants: set[str]) -> bool:
    """Whether a rule's body has but types of the head's variables, and comparisons of these with numbers."""
    if rule.head != "atom" or rule.node.head.atom.symbol.ast_type != ast.ASTType.Function:
        return False
    terms = rule.node.head.atom.symbol.arguments
    if not all(map(_is_plain, terms)):
        return False
    variables = {term.name for term in terms if term.ast_type == ast.ASTType.Variable}
    for literal in rule.node.body:
        if literal.ast_type != ast.ASTType.Literal:
            return False
        atom = literal.atom
        if atom.ast_type == ast.ASTType.SymbolicAtom:
            inner = atom.symbol
            if inner.ast_type != ast.ASTType.Function or len(inner.arguments) != 1:
                return False
            if not _is_plain(inner.arguments[0]):
                return False
        elif atom.ast_type != ast.ASTType.Comparison or not all(
            map(_is_term, (atom.term, *(guard.term for guard in atom.guards)))
        ):
            return False
        if not variables_in(atom) <= variables:
            return False
    return constants.isdisjoint(str(each) for each in nodes_in(rule.node, ast.ASTType.SymbolicTerm))


def _is_plain(term: ast.AST) -> bool:
    return term.ast_type in (ast.ASTType.Variable, ast.ASTType.SymbolicTerm)


def _is_term(term: ast.AST) -> bool:
    if term.ast_type == ast.ASTType.BinaryOperation and term.operator_type in _SUMS:
        return _is_term(term.left) and _is_term(term.right)
    if term.ast_type == ast.ASTType.UnaryOperation and term.operator_type == ast.UnaryOperator.Minus:
        return _is_term(term.argument)
    return _is_plain(term)


def _signatures_of(texts: Iterable[str]) -> set[Signature]:
    """The predicates of some statements."""
    result: set[Signature] = set()
    for text in texts:
        atom = read_atom(text)
        if atom is not None:
            result.add(atom.signature)
        else:
            result = result.union(*(rule.signatures for rule in statement(text).rules))
    return result


def without(program: Program, signatures: frozenset[Signature]) -> Program:
    """The program without the rules that derive one of these predicates."""
    return replace(program, rules=tuple(rule for rule in program.rules if not rule.derives & signatures))


def ordered(operator: str, left: Sequence[Symbol], right: Sequence[Symbol]) -> _Flags:
    """bool [left, right]: whether a comparison of two values holds, in clingo's order of terms."""
    ranks = _ranks([*left, *right])
    return _OPERATORS[operator](_keys(left, ranks)[:, None], _keys(right, ranks)[None, :])


def compared(
    program: Program,
    signature: Signature,
    places: Sequence[Sequence[Symbol]],
    members: Callable[[str], Collection[Symbol]],
) -> _Flags:
    """bool [values...]: whether an atom of one of the `lookups` holds.

    Args:
        places: the values at each place.
        members: says of what a unary predicate holds.
    """
    rules = [rule.node for rule in program.rules if signature in rule.derives]
    terms = [each.symbol for rule in rules for each in nodes_in(rule, ast.ASTType.SymbolicTerm)]
    ranks = _ranks([*terms, *(value for values in places for value in values)])
    result = np.zeros([len(values) for values in places], np.bool_)
    for rule in rules:
        result |= _Instances(rule, places, members, ranks).hold()
    return result


class _Instances:
    """The instances of one rule, an axis for each place of its head."""

    def __init__(
        self,
        rule: ast.AST,
        places: Sequence[Sequence[Symbol]],
        members: Callable[[str], Collection[Symbol]],
        ranks: dict[Symbol, int],
    ) -> None:
        self._rule, self._members, self._ranks = rule, members, ranks
        self._axes: dict[str, tuple[int, Sequence[Symbol]]] = {}
        self._n = len(places)
        self._holds = self._always = np.ones((1,) * self._n, np.bool_)
        self._zero = self._always.astype(np.int64) - 1, self._always
        for axis, (term, values) in enumerate(zip(rule.head.atom.symbol.arguments, places, strict=True)):
            own = self._along(axis, _keys(values, ranks))
            if term.ast_type == ast.ASTType.SymbolicTerm or term.name in self._axes:
                self._holds = self._holds & (own == self._value(term)[0])
            else:
                self._axes[term.name] = axis, values

    def hold(self) -> _Flags:
        """bool [values..., extents of 1 possible]."""
        for literal in self._rule.body:
            if literal.atom.ast_type == ast.ASTType.SymbolicAtom:
                holds, is_defined = self._member(literal.atom.symbol), self._always
            else:
                holds, is_defined = self._compare(literal.atom)
            if literal.sign == ast.Sign.Negation:
                holds = ~holds
            self._holds = self._holds & holds & is_defined
        return self._holds

    def _member(self, atom: ast.AST) -> _Flags:
        members = self._members(atom.name)
        (term,) = atom.arguments
        if term.ast_type == ast.ASTType.SymbolicTerm:
            return np.full((1,) * self._n, term.symbol in members)
        axis, values = self._axes[term.name]
        return self._along(axis, np.array([value in members for value in values], np.bool_))

    def _compare(self, comparison: ast.AST) -> tuple[_Flags, _Flags]:
        """Where it holds, and where its terms have values."""
        left, is_defined = self._value(comparison.term)
        holds = self._always
        for guard in comparison.guards:
            right, defined = self._value(guard.term)
            holds = holds & _OPERATORS[COMPARISONS[guard.comparison]](left, right)
            left, is_defined = right, is_defined & defined
        return holds, is_defined

    def _value(self, term: ast.AST) -> tuple[_Keys, _Flags]:
        """The keys of a term's values, and whether it has one: what is no number has no sum."""
        if term.ast_type == ast.ASTType.SymbolicTerm:
            return _keys([term.symbol], self._ranks).reshape((1,) * self._n), self._always
        if term.ast_type == ast.ASTType.Variable:
            axis, values = self._axes[term.name]
            return self._along(axis, _keys(values, self._ranks)), self._always
        if term.ast_type == ast.ASTType.UnaryOperation:
            operator = _SUMS[ast.BinaryOperator.Minus]
            (left, one), (right, other) = self._zero, self._value(term.argument)
        else:
            operator = _SUMS[term.operator_type]
            (left, one), (right, other) = self._value(term.left), self._value(term.right)
        is_defined = one & other & (abs(left) < _BEYOND) & (abs(right) < _BEYOND)
        sums = operator(np.where(is_defined, left, 0), np.where(is_defined, right, 0))
        return sums.astype(np.int32).astype(np.int64), is_defined  # clingo's integers have 32 bits

    def _along(self, axis: int, values: npt.NDArray[_Any]) -> npt.NDArray[_Any]:
        return values.reshape([-1 if k == axis else 1 for k in range(self._n)])


def _ranks(symbols: Iterable[Symbol]) -> dict[Symbol, int]:
    """The places of what is no number in clingo's order of terms."""
    others = {symbol for symbol in symbols if symbol.type != SymbolType.Number}
    return {
        symbol: -_BEYOND if symbol.type == SymbolType.Infimum else _BEYOND + i
        for i, symbol in enumerate(sorted(others))
    }


def _keys(symbols: Sequence[Symbol], ranks: dict[Symbol, int]) -> _Keys:
    """int64: the symbols in clingo's order of terms."""
    return np.array([s.number if s.type == SymbolType.Number else ranks[s] for s in symbols], np.int64)
