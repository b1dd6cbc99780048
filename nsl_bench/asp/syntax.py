"""Pieces of ASP, parsed by clingo."""

from __future__ import annotations

import re
from collections.abc import Callable

from nsl_bench.asp.text import check_text, directive
from nsl_bench.errors import UserError

__all__ = ["check_program", "parse_program"]

_PLACE = re.compile(r"^<string>:(\d+):(\d+)(?:-[\d:]+)?: error: (.*)", re.DOTALL)


def parse_program(
    text: str,
    name: str,
    place: tuple[int, int] | None = None,
    callback: Callable[..., None] | None = None,
) -> None:
    """Hands each statement of `text` to `callback` as clingo's syntax tree.

    Args:
        text: an ASP program.
        name: what errors call it.
        place: line and column of `text` in the file that it is from.
        callback: is called with each `clingo.ast.AST`.

    Raises:
        UserError: it does not parse, or runs scripts or includes files.
    """
    from clingo.ast import AST, ASTType, parse_string

    messages: list[str] = []
    line, column = place or (1, 1)

    def take(statement: AST) -> None:
        if statement.ast_type == ASTType.Script:
            place = statement.location.begin
            raise UserError(
                f"{name}, line {place.line}, column {place.column}: "
                "scripts are refused: a task file must not run code."
            )
        if callback is not None:
            callback(statement)

    try:
        check_text(text, name)
    except UserError as error:
        raise UserError(f"{name}: {error}") from None
    if directive(text) == "include":
        raise UserError(f"{name}: includes are refused: a task must be whole.")
    try:
        parse_string(text, take, logger=lambda _, message: messages.append(message))
    except RuntimeError as error:
        if place not in (None, (1, 1)):
            # once more, where it stands in the file
            parse_program("\n" * (line - 1) + " " * (column - 1) + text, name)
        raise _located(messages, name, place, error) from error


def check_program(text: str, name: str, place: tuple[int, int] | None = None) -> None:
    """Raises `UserError` if `text` is no ASP program; see `parse_program`."""
    parse_program(text, name, place)


def _located(messages: list[str], name: str, place: tuple[int, int] | None, error: RuntimeError) -> UserError:
    for message in messages:
        match = _PLACE.match(message)
        if match:
            line, column, what = match.groups()
            return UserError(f"{name}, line {line}, column {column}: {' '.join(what.split())}.")
    line_column = f", line {place[0]}, column {place[1]}" if place else ""
    return UserError(f"{name}{line_column}: {' '.join(' '.join(messages).split()) or error}.")
