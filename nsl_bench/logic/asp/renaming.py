"""Renaming predicates apart: atoms get another name and one more, first argument."""

from __future__ import annotations

from collections.abc import Callable

from clingo import ast

from nsl_bench.logic.asp.program import Signature

__all__ = ["Renaming"]


class Renaming(ast.Transformer):
    """Gives the atoms of some predicates another name and one more, first argument.

    Args:
        rename: the new name of a predicate, given whether the atom is classically negated; None leaves it
            as it is. The sign becomes part of the new name.
        argument: the argument that is put before the others.
    """

    def __init__(self, rename: Callable[[Signature, bool], str | None], argument: ast.AST) -> None:
        self._rename = rename
        self._argument = argument

    def visit_SymbolicAtom(self, node: ast.AST) -> ast.AST:
        """An atom with its new name."""
        return node.update(symbol=self._term(node.symbol, False))

    def _term(self, term: ast.AST, negated: bool) -> ast.AST:
        if term.ast_type == ast.ASTType.UnaryOperation:
            inner = self._term(term.argument, not negated)
            return inner if inner is not term.argument else term
        if term.ast_type == ast.ASTType.Pool:
            return term.update(arguments=[self._term(each, negated) for each in term.arguments])
        if term.ast_type == ast.ASTType.Function:
            name = self._rename((term.name, len(term.arguments)), negated)
            if name is not None:
                return term.update(name=name, arguments=[self._argument, *term.arguments])
        return term
