"""Mode declarations as text and as patterns of ground terms."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
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

Pattern = tuple[int, ...]
"""The variable at each place of a literal, numbered by first occurrence."""


def patterns(types: Sequence[str], most: int | None = None) -> list[Pattern]:
    """Ways to give places variables; places that share a variable share a type.

    Args:
        most: the most variables; None: any number.
    """
    result: list[Pattern] = [()]
    for kind in types:
        longer = []
        for pattern in result:
            used = max(pattern, default=-1) + 1
            for variable in range(used + 1 if most is None else min(used + 1, most)):
                if variable == used or types[pattern.index(variable)] == kind:
                    longer.append((*pattern, variable))
        result = longer
    return result


def term_text(term: ModeTerm, variables: Iterator[str], constants: Iterator[str]) -> str:
    """The term with placeholders filled from left to right.

    Args:
        variables: names for the places of ``var(type)``.
        constants: values for the places of ``const(type)``.
    """
    if isinstance(term, Placeholder):
        return next(variables if term.kind == "var" else constants)
    if isinstance(term, Compound):
        return term.written([term_text(argument, variables, constants) for argument in term.arguments])
    return term


def terms_text(
    pattern: ModeAtom | ModeComparison, variables: Iterable[str], constants: Iterable[str]
) -> tuple[str, ...]:
    """The terms of an atom or comparison with placeholders filled from left to right."""
    names, values = iter(variables), iter(constants)
    return tuple(term_text(term, names, values) for term in pattern.terms)


def pattern_text(
    pattern: ModeAtom | ModeComparison, variables: Iterable[str], constants: Iterable[str]
) -> str:
    """The atom or comparison with placeholders filled from left to right."""
    terms = terms_text(pattern, variables, constants)
    if isinstance(pattern, ModeComparison):
        return f"{terms[0]} {pattern.operator} {terms[1]}"
    return f"{pattern.predicate}({','.join(terms)})" if terms else pattern.predicate


def literal_text(mode: ModeLiteral, variables: Iterable[str], constants: Iterable[str]) -> str:
    """The literal with placeholders filled from left to right."""
    return ("not " if mode.negated else "") + pattern_text(mode.literal, variables, constants)


def match_term(term: ModeTerm, symbol: Symbol, variables: list[Symbol], constants: list[Symbol]) -> bool:
    """Whether `symbol` is an instance of `term`; appends what its placeholders stand for.

    Args:
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
    result: Leaves = []

    def walk(term: ModeTerm, path: tuple[int | str, ...]) -> None:
        if isinstance(term, Placeholder):
            result.append((path, next(names) if term.kind == "var" else next(values)))
        elif isinstance(term, Compound):
            for i, inner in enumerate(term.arguments):
                walk(inner, (*path, f"{term.name}/{len(term.arguments)}", i))
        else:
            result.append((path, term))

    for i, term in enumerate(atom.arguments):
        walk(term, (i,))
    return result


def leaf_pairs(a: Leaves, b: Leaves) -> list[tuple[int | str, int | str]] | None:
    """Leaves at equal places; None if the two can never be equal by their shape."""
    if [path for path, _ in a] != [path for path, _ in b]:
        return None
    return [(x, y) for (_, x), (_, y) in zip(a, b, strict=True)]


Unequal = frozenset[frozenset[str]]
"""Pairs of terms of which some pair differs: what an inequality of terms or of tuples says."""

_Atoms = Sequence[tuple[object, tuple[str, ...]]]
"""Of each atom of a body: predicate and sign, by which atoms are compared, and its arguments as text."""


def inequalities(atoms: _Atoms) -> list[str]:
    """The inequalities that `#ground_without_replacement` asks for: no two literals become equal."""
    return [unequal_text(pairs) for pairs in _differing(atoms)]


def unequal_text(pairs: Sequence[tuple[str, str]]) -> str:
    """That some pair differs, e.g. ``V1 != V2`` or ``(V1,V2) != (V3,V4)``."""
    one, two = (",".join(side) for side in zip(*pairs, strict=True))
    return f"{one} != {two}" if len(pairs) == 1 else f"({one}) != ({two})"


def unequal_pairs(atoms: _Atoms) -> set[Unequal]:
    """The inequalities, whatever way they are written."""
    return {frozenset(frozenset(pair) for pair in pairs) for pairs in _differing(atoms)}


def _differing(atoms: _Atoms) -> Iterator[list[tuple[str, str]]]:
    """The arguments that differ, for each two atoms of one predicate and sign."""
    for (name, left), (other, right) in itertools.combinations(atoms, 2):
        if name == other and left != right:
            yield [(a, b) for a, b in zip(left, right, strict=True) if a != b]
