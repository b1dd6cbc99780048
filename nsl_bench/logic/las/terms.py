"""Mode declarations as text and as patterns of ground terms."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from nsl_bench.logic.las.language_bias import (
    Compound,
    ModeAtom,
    ModeComparison,
    ModeLiteral,
    ModeTerm,
    Placeholder,
)

if TYPE_CHECKING:
    from clingo import Symbol

__all__ = ["Leaves", "atom_text", "leaf_pairs", "leaves", "literal_text", "match_term", "term_text"]


def term_text(term: ModeTerm, variables: Iterator[str], constants: Iterator[str]) -> str:
    """The term with placeholders filled from left to right.

    Args:
        term: a term of a mode declaration.
        variables: names for the places of ``var(type)``.
        constants: values for the places of ``const(type)``.
    """
    if isinstance(term, Placeholder):
        return next(variables if term.kind == "var" else constants)
    if isinstance(term, Compound):
        return term.written([term_text(argument, variables, constants) for argument in term.arguments])
    return term


def atom_text(atom: ModeAtom, variables: Iterator[str], constants: Iterator[str]) -> str:
    """The atom with placeholders filled from left to right."""
    if not atom.arguments:
        return atom.predicate
    return f"{atom.predicate}({','.join(term_text(t, variables, constants) for t in atom.arguments)})"


def literal_text(mode: ModeLiteral, variables: Iterator[str], constants: Iterator[str]) -> str:
    """The literal with placeholders filled from left to right."""
    literal, sign = mode.literal, "not " if mode.negated else ""
    if isinstance(literal, ModeComparison):
        left = term_text(literal.left, variables, constants)
        return f"{sign}{left} {literal.operator} {term_text(literal.right, variables, constants)}"
    return sign + atom_text(literal, variables, constants)


def match_term(term: ModeTerm, symbol: Symbol, variables: list[Symbol], constants: list[Symbol]) -> bool:
    """Whether `symbol` is an instance of `term`; appends what its placeholders stand for.

    Args:
        term: a term of a mode declaration.
        symbol: a ground term.
        variables: gets what stands at each ``var(type)``.
        constants: gets what stands at each ``const(type)``.
    """
    from clingo import SymbolType

    if isinstance(term, Placeholder):
        (variables if term.kind == "var" else constants).append(symbol)
        return True
    if isinstance(term, Compound):
        if symbol.type != SymbolType.Function or symbol.name != term.name:
            return False
        if len(symbol.arguments) != len(term.arguments):
            return False
        return all(
            match_term(inner, argument, variables, constants)
            for inner, argument in zip(term.arguments, symbol.arguments, strict=True)
        )
    return str(symbol) == term


Leaves = list[tuple[tuple[int | str, ...], int | str]]
"""Paths into an atom's arguments, each with the variable or ground term there."""


def leaves(atom: ModeAtom, variables: Sequence[int], constants: Sequence[str]) -> Leaves:
    """(path, variable or ground text) of each leaf of the atom's arguments."""
    names, values = iter(variables), iter(constants)
    found: Leaves = []

    def walk(term: ModeTerm, path: tuple[int | str, ...]) -> None:
        if isinstance(term, Placeholder):
            found.append((path, next(names) if term.kind == "var" else next(values)))
        elif isinstance(term, Compound):
            for i, inner in enumerate(term.arguments):
                walk(inner, (*path, f"{term.name}/{len(term.arguments)}", i))
        else:
            found.append((path, term))

    for i, term in enumerate(atom.arguments):
        walk(term, (i,))
    return found


def leaf_pairs(a: Leaves, b: Leaves) -> list[tuple[int | str, int | str]] | None:
    """Leaves at equal places; None if the two can never be equal by their shape."""
    if [path for path, _ in a] != [path for path, _ in b]:
        return None
    return [(x, y) for (_, x), (_, y) in zip(a, b, strict=True)]
