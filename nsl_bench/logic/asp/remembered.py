"""What is read from a part of a rule, remembered by its text: learned rules repeat their literals."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from clingo import ast

__all__ = ["by_text"]

_REMEMBERED = 1 << 16

Value = TypeVar("Value")


def by_text(read: Callable[[ast.AST], Value]) -> Callable[[ast.AST], Value]:
    """The function, called once for equal parts of rules.

    Args:
        read: takes a part of a rule; its value follows from the part's kind and text, and nobody changes it.
    """
    known: dict[tuple[ast.ASTType, str], Value] = {}

    def remembered(node: ast.AST) -> Value:
        part = (node.ast_type, str(node))
        if part not in known:
            if len(known) >= _REMEMBERED:
                known.clear()
            known[part] = read(node)
        return known[part]

    return remembered
