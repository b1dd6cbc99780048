"""What the statements of a logic program define and depend on, by predicate name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from clingo import ast

from nsl_bench.asp.dependencies import strong_components
from nsl_bench.asp.text import check_text, directive
from nsl_bench.errors import UserError

__all__ = [
    "Shape",
    "arity_of",
    "atoms_in",
    "is_atom",
    "parse_statements",
    "recursive_through_negation",
    "shape_of",
    "shape_of_parts",
    "signature_of",
]

_PLAIN = r'[^()";{}|:]|"[^"\\]*"'
_NESTED = rf"(?:{_PLAIN}|\((?:{_PLAIN}|\((?:{_PLAIN})*\))*\))*"
_FACT = re.compile(rf"[_']*[a-z]\w*(?:\({_NESTED}\))?")
_INNER = re.compile(r'"[^"\\]*"|\([^()]*\)')
_LITERALS = 1 << 14
"""Literals that are remembered: the rules of a space hold the same ones again and again."""
_SKIPPED = (
    ast.ASTType.Comment,
    ast.ASTType.Defined,
    ast.ASTType.Minimize,
    ast.ASTType.ShowSignature,
    ast.ASTType.ShowTerm,
)


def parse_statements(text: str, what: str) -> list[ast.AST]:
    """The rules (and constants) of a logic program.

    Args:
        text: statements with their full stops.
        what: names the text in errors, e.g. ``"the hypothesis"``.

    Raises:
        UserError: a syntax error, a text that clingo cannot take, or a statement that is no rule (`#script`,
            `#include`, ...).
    """
    messages: list[str] = []
    statements: list[ast.AST] = []
    check_text(text, what)
    if directive(text):
        raise UserError(f"#script and #include are refused; {what} has one of them.")
    try:
        ast.parse_string(text, statements.append, logger=lambda _, message: messages.append(message))
    except RuntimeError:
        detail = messages[0].splitlines()[0].removeprefix("<string>:") if messages else "not a program"
        raise UserError(f"A syntax error in {what}: {detail}.") from None
    rules: list[ast.AST] = []
    for statement in statements:
        kind = statement.ast_type
        if kind in (ast.ASTType.Rule, ast.ASTType.Definition):
            rules.append(statement)
        elif kind == ast.ASTType.Program:
            if statement.name != "base" or statement.parameters:
                raise UserError(f"#program parts are not supported; {what} has '{statement}'.")
        elif kind not in _SKIPPED:
            raise UserError(f"'{statement}' in {what} is no rule; write normal rules, choices, constraints.")
    return rules


@dataclass
class Shape:
    """What a rule's head defines and what it depends on, by predicate name."""

    heads: set[str] = field(default_factory=set)
    body: set[str] = field(default_factory=set)
    negative: set[str] = field(default_factory=set)
    derives: set[tuple[str, int]] = field(default_factory=set)
    is_open: bool = False
    bounded: bool = False


class _Atoms(ast.Transformer):
    """Collects the atoms of a node: (name, arity, classically negated, sign is plain)."""

    def __init__(self) -> None:
        self.found: list[tuple[str, int, bool, bool]] = []
        self.plain = True

    def visit_Literal(self, node: ast.AST) -> ast.AST:
        before, self.plain = self.plain, self.plain and node.sign == ast.Sign.NoSign
        self.visit_children(node)
        self.plain = before
        return node

    def visit_BodyAggregate(self, node: ast.AST) -> ast.AST:
        return self._aggregate(node)

    def visit_Aggregate(self, node: ast.AST) -> ast.AST:
        return self._aggregate(node)

    def visit_ConditionalLiteral(self, node: ast.AST) -> ast.AST:
        return self._aggregate(node) if node.condition else self._children(node)

    def _aggregate(self, node: ast.AST) -> ast.AST:
        before, self.plain = self.plain, False
        self.visit_children(node)
        self.plain = before
        return node

    def _children(self, node: ast.AST) -> ast.AST:
        self.visit_children(node)
        return node

    def visit_SymbolicAtom(self, node: ast.AST) -> ast.AST:
        terms = [(node.symbol, False)]
        while terms:
            term, negated = terms.pop()
            if term.ast_type == ast.ASTType.UnaryOperation:
                terms.append((term.argument, not negated))
            elif term.ast_type == ast.ASTType.Pool:
                terms.extend((each, negated) for each in term.arguments)
            elif term.ast_type == ast.ASTType.Function:
                self.found.append((term.name, len(term.arguments), negated, self.plain))
            else:  # a constant p is a symbolic term
                self.found.append((str(term), 0, negated, self.plain))
        return node

    def visit_TheoryAtom(self, node: ast.AST) -> ast.AST:
        raise UserError(f"Theory atoms such as '{node}' are not supported.")


def atoms_in(nodes: Iterable[ast.AST]) -> list[tuple[str, int, bool, bool]]:
    """The atoms in `nodes`: name, arity, classically negated, outside negation and aggregates."""
    collector = _Atoms()
    for node in nodes:
        collector.visit(node)
    return collector.found


def shape_of(rule: ast.AST) -> Shape:
    """The shape of a rule.

    Raises:
        UserError: a theory atom, or another head that is not supported.
    """
    shape = Shape()
    head = rule.head
    defined: list[ast.AST] = []
    conditions: list[ast.AST] = []
    if head.ast_type == ast.ASTType.Literal:
        defined.append(head)
    elif head.ast_type in (ast.ASTType.Disjunction, ast.ASTType.Aggregate, ast.ASTType.HeadAggregate):
        shape.is_open = True
        shape.bounded = head.ast_type != ast.ASTType.Disjunction and (
            head.left_guard is not None or head.right_guard is not None
        )
        for element in head.elements:
            inner = element if head.ast_type != ast.ASTType.HeadAggregate else element.condition
            defined.append(inner.literal)
            conditions.extend(inner.condition)
    else:
        raise UserError(f"The head of '{rule}' is not supported.")
    shape.derives = {(name, arity) for name, arity, _, _ in atoms_in(defined)}
    shape.heads = {name for name, _ in shape.derives}
    for name, _, _, plain in atoms_in([*rule.body, *conditions]):
        (shape.body if plain else shape.negative).add(name)
    return shape


def recursive_through_negation(shapes: Sequence[Shape]) -> frozenset[str]:
    """The predicates on a cycle of dependencies that goes through a negation or an aggregate."""
    edges: dict[str, set[str]] = {}
    for shape in shapes:
        for head in shape.heads:
            edges.setdefault(head, set()).update(shape.body | shape.negative)
    component = strong_components(edges)
    return frozenset(
        head
        for shape in shapes
        for head in shape.heads
        if any(component.get(head) == component.get(name) for name in shape.negative if name in component)
    )


def arity_of(rest: str) -> int:
    """How many arguments a fact has, given what follows its opening bracket."""
    if not rest:
        return 0
    inner = rest[:-1]
    while (shorter := _INNER.sub("_", inner)) != inner:
        inner = shorter
    return inner.count(",") + 1


def is_atom(text: str) -> bool:
    """Whether `text` is one atom without ``not``, pools or aggregates: name and arguments."""
    return _FACT.fullmatch(text.removeprefix("-")) is not None


@lru_cache(maxsize=_LITERALS)
def signature_of(literal: str) -> tuple[str, int] | None:
    """Name and arity of the atom of a rule's literal; None for a comparison."""
    atom = literal.removeprefix("not ")
    if not is_atom(atom):
        return None
    return _signature(atom)


def _signature(atom: str) -> tuple[str, int]:
    name, _, rest = atom.removeprefix("-").partition("(")
    return name, arity_of(rest)


def shape_of_parts(head: str | None, body: Sequence[str]) -> Shape:
    """The shape of a rule whose head and body literals are atoms or comparisons, given as text."""
    shape = Shape()
    if head is not None:
        shape.derives = {signature_of(head) or _signature(head)}
        shape.heads = {name for name, _ in shape.derives}
    for literal in body:
        if signature := signature_of(literal):
            (shape.negative if literal.startswith("not ") else shape.body).add(signature[0])
    return shape
