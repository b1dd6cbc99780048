"""Heads and body literals as terms: what `in_head` and `in_body` hold of a rule in a `#bias` program.

Each literal is exactly one term. A variable is a constant with the variable's own name, a name with an
upper-case letter that no program can write, so that no constant of a user's equals it. The same holds for
what stands for arithmetic (a function named `+`), for pools and intervals, and for literals that no mode
declaration allows, such as aggregates: each of them is one constant whose name is its text.
"""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from clingo import Function, Number, String, Symbol, SymbolType, ast

from nsl_bench.logic.asp.parsing import parse_text

COMPARISONS = {
    ast.ComparisonOperator.Equal: "=",
    ast.ComparisonOperator.NotEqual: "!=",
    ast.ComparisonOperator.LessThan: "<",
    ast.ComparisonOperator.LessEqual: "<=",
    ast.ComparisonOperator.GreaterThan: ">",
    ast.ComparisonOperator.GreaterEqual: ">=",
}
ARITHMETIC = {
    ast.BinaryOperator.XOr: "^",
    ast.BinaryOperator.Or: "?",
    ast.BinaryOperator.And: "&",
    ast.BinaryOperator.Plus: "+",
    ast.BinaryOperator.Minus: "-",
    ast.BinaryOperator.Multiplication: "*",
    ast.BinaryOperator.Division: "/",
    ast.BinaryOperator.Modulo: "\\",
    ast.BinaryOperator.Power: "**",
}
_UNARY = {ast.UnaryOperator.Minus: "-", ast.UnaryOperator.Negation: "~", ast.UnaryOperator.Absolute: "|"}
_REMEMBERED = 1 << 16
_MOST = 1 << 31


@lru_cache(maxsize=_REMEMBERED)
def in_head(head: str) -> Symbol:
    """The atom `in_head(...)` of a rule's head, given as text."""
    node = _parsed(f"{head}.").head
    return Function("in_head", [_Reification().head(node)])


@lru_cache(maxsize=_REMEMBERED)
def in_body(literal: str) -> Symbol:
    """The atom `in_body(...)` of a body literal, given as text, e.g. ``"not row(V1,V2)"``."""
    node = _parsed(f":- {literal}.").body[0]
    return Function("in_body", [_Reification().literal(node)])


def atoms_as_rules(atoms: Iterable[Symbol], *, choice: bool = False) -> Iterator[ast.AST]:
    """Statements that say that the atoms ``in_head(...)`` and ``in_body(...)`` hold, or that they may hold.

    They are syntax trees, for there is no text of such terms. (Atoms that clingo gets by its backend would
    not do: it matches literals with anonymous variables against the first of them alone.)
    """
    place = ast.Location(ast.Position("<rule>", 1, 1), ast.Position("<rule>", 1, 1))
    terms: dict[str, list[ast.AST]] = {}
    for atom in atoms:
        terms.setdefault(atom.name, []).append(_node(place, atom.arguments[0]))
    for name, pool in terms.items():
        function = ast.Function(place, name, [ast.Pool(place, pool)], 0)
        literal = ast.Literal(place, ast.Sign.NoSign, ast.SymbolicAtom(function))
        element = ast.ConditionalLiteral(place, literal, [])
        yield ast.Rule(place, ast.Aggregate(place, None, [element], None) if choice else literal, [])


def _node(place: ast.Location, term: Symbol) -> ast.AST:
    """The syntax tree of a term; clingo forgets the sign of a symbol that is one node."""
    if term.type != SymbolType.Function or all(
        part.type != SymbolType.Function or part.positive for part in _subterms(term)
    ):
        return ast.SymbolicTerm(place, term)
    node = ast.Function(place, term.name, [_node(place, each) for each in term.arguments], 0)
    return node if term.positive else ast.UnaryOperation(place, ast.UnaryOperator.Minus, node)


def _parsed(rule: str) -> ast.AST:
    return next(node for node in parse_text(rule, f"the rule '{rule}'") if node.ast_type == ast.ASTType.Rule)


class _Reification:
    """Turns the parts of one head or literal into terms."""

    def __init__(self) -> None:
        self._anonymous = itertools.count(1)

    def head(self, node: ast.AST) -> Symbol:
        """The term of a head; of a choice or disjunction, its text."""
        return self.literal(node) if node.ast_type == ast.ASTType.Literal else _opaque(node)

    def literal(self, node: ast.AST) -> Symbol:
        """The term of a body literal."""
        if node.ast_type != ast.ASTType.Literal:
            return _opaque(node)
        kind = node.atom.ast_type
        if kind == ast.ASTType.SymbolicAtom:
            term = self.term(node.atom.symbol)
        elif kind == ast.ASTType.Comparison:
            parts = [self.term(node.atom.term)]
            for guard in node.atom.guards:
                parts += [String(COMPARISONS[guard.comparison]), self.term(guard.term)]
            # binop("<",A,B), and binop("<",A,B,"<",C) for a chain
            term = Function("binop", [parts[1], parts[0], *parts[2:]])
        else:
            return _opaque(node)
        for _ in range({ast.Sign.NoSign: 0, ast.Sign.Negation: 1}.get(node.sign, 2)):
            term = Function("neg", [term])
        return term

    def term(self, node: ast.AST) -> Symbol:
        """The term that stands for a term of the rule."""
        kind = node.ast_type
        if kind == ast.ASTType.Variable:
            return Function(f"_{next(self._anonymous)}" if node.name == "_" else node.name)
        if kind == ast.ASTType.SymbolicTerm:
            constant: Symbol = node.symbol
            return constant
        if kind == ast.ASTType.Function:
            return Function(node.name, self._terms(node.arguments))
        if kind == ast.ASTType.Pool:
            return Function(";", self._terms(node.arguments))
        if kind == ast.ASTType.Interval:
            return Function("..", self._terms([node.left, node.right]))
        if kind == ast.ASTType.UnaryOperation:
            return _unary(_UNARY[node.operator_type], self.term(node.argument))
        if kind == ast.ASTType.BinaryOperation:
            left, right = self._terms([node.left, node.right])
            return _binary(ARITHMETIC[node.operator_type], left, right)
        return _opaque(node)

    def _terms(self, nodes: Iterable[ast.AST]) -> list[Symbol]:
        return [self.term(node) for node in nodes]


def _opaque(node: ast.AST) -> Symbol:
    return Function(f"({node})")


def _unary(operator: str, argument: Symbol) -> Symbol:
    if operator == "-" and argument.type == SymbolType.Number and argument.number > -_MOST:
        return Number(-argument.number)
    if operator == "-" and argument.type == SymbolType.Function and argument.name and not is_own(argument):
        return Function(argument.name, argument.arguments, not argument.positive)
    return Function(operator, [argument])


def _binary(operator: str, left: Symbol, right: Symbol) -> Symbol:
    """The number that sums, differences and products of numbers are; else a function of the operator."""
    if left.type == right.type == SymbolType.Number:
        a, b = left.number, right.number
        value = {"+": a + b, "-": a - b, "*": a * b}.get(operator)
        if value is not None and -_MOST <= value < _MOST:
            return Number(value)
    return Function(operator, [left, right])


def is_own(symbol: Symbol) -> bool:
    """Whether a term's function is one that no program can write."""
    if symbol.type != SymbolType.Function or not symbol.name:
        return False
    first = symbol.name.lstrip("_'")[:1]
    return not ("a" <= first <= "z")


def _is_variable(symbol: Symbol) -> bool:
    first = symbol.name.lstrip("_'")[:1]
    return not symbol.arguments and (first.isupper() or (symbol.name[0] == "_" and first.isdigit()))


def variables_of(symbol: Symbol) -> tuple[Symbol, ...]:
    """The variables in a term, in order of their first occurrence, each once."""
    result: dict[Symbol, None] = {}
    for part in _subterms(symbol):
        if part.type == SymbolType.Function and part.name and _is_variable(part):
            result[part] = None
    return tuple(result)


def _subterms(symbol: Symbol) -> Iterator[Symbol]:
    left = [symbol]
    while left:
        part = left.pop()
        yield part
        if part.type == SymbolType.Function:
            left += reversed(part.arguments)


def renamed(symbol: Symbol, names: Mapping[Symbol, Symbol]) -> Symbol:
    """The term with other names for its variables."""
    if symbol.type != SymbolType.Function:
        return symbol
    if not symbol.arguments:
        return names.get(symbol, symbol)
    arguments: Sequence[Symbol] = [renamed(argument, names) for argument in symbol.arguments]
    return Function(symbol.name, arguments, symbol.positive)
