"""Building blocks of rule bodies: single literals, and stars of literals around one leaf variable.

A leaf type is one whose variables never meet each other in a literal nor another leaf type's: digits,
rows, columns or blocks beside cells. All literals of a leaf variable form a star; the star is a derived
literal over the remaining variables, in which the leaf has been projected out. Enumerating stars first
keeps tables small: bodies are then conjunctions over the core variables alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from nsl_bench.las.tables.columns import Bits
from nsl_bench.las.tables.literals import BodyLiteral

__all__ = ["LEAF", "Part", "Piece", "Resources", "leaf_types", "placed_view", "single_pieces"]

LEAF = -1

Part = tuple[int, tuple[int, ...]]
"""A literal (its index) and the variables in its places; `LEAF` in a piece for the leaf's places."""


@dataclass(frozen=True)
class Resources:
    """What a conjunction uses up.

    Attributes:
        cost: of its literals.
        literals: how many.
        variables: how many, leaves included.
        recall: uses of each declaration with a recall, by its place among those.
    """

    cost: int = 0
    literals: int = 0
    variables: int = 0
    recall: tuple[int, ...] = ()

    def __add__(self, other: Resources) -> Resources:
        recall = tuple(a + b for a, b in zip(self.recall, other.recall, strict=True))
        return Resources(
            self.cost + other.cost,
            self.literals + other.literals,
            self.variables + other.variables,
            recall,
        )


@dataclass(frozen=True, eq=False)
class Piece:
    """A building block.

    Attributes:
        types: types of its places, one a distinct variable.
        table: uint64 [sizes..., words].
        parts: its literals; variables are places, or `LEAF`.
        used: its resources; `variables` counts the leaf alone.
        symmetric: exchanging its two places changes nothing.
        varies: its truth differs from column to column.
        binds: places that a positive literal of it makes safe.
        family: predicate and sign of a single literal, where equal ground literals are ruled out.
    """

    types: tuple[str, ...]
    table: Bits
    parts: tuple[Part, ...]
    used: Resources
    symmetric: bool
    varies: bool
    binds: frozenset[int]
    family: tuple[str, int, bool] | None = None


def make_piece(
    types: tuple[str, ...],
    table: Bits,
    parts: tuple[Part, ...],
    used: Resources,
    literals: Sequence[BodyLiteral],
    full: Bits,
) -> Piece:
    """The piece with what can be read off its table."""
    symmetric = len(types) == 2 and types[0] == types[1] and np.array_equal(table, np.swapaxes(table, 0, 1))
    varies = bool(((table != 0) & (table != full)).any())
    binds = frozenset(
        variable for i, variables in parts if literals[i].binds for variable in variables if variable >= 0
    )
    return Piece(types, table, parts, used, symmetric, varies, binds)


def recall_places(literals: Iterable[BodyLiteral]) -> dict[int, int]:
    """Declarations with a recall, each with its place in `Resources.recall`."""
    modes = dict.fromkeys(x.mode.mode for x in literals if x.mode.recall is not None)
    return {mode: place for place, mode in enumerate(modes)}


def single_pieces(literals: Sequence[BodyLiteral], full: Bits, *, rigid: bool = False) -> list[Piece]:
    """One piece for each literal and each way in which its places may share variables.

    Args:
        literals: what to make pieces of.
        full: uint64 [words], all columns.
        rigid: literals of one predicate and sign must differ as ground atoms.
    """
    places = recall_places(literals)
    pieces: list[Piece] = []
    for index, literal in enumerate(literals):
        recall = [0] * len(places)
        if literal.mode.recall is not None:
            recall[places[literal.mode.mode]] = 1
        used = Resources(literal.cost, 1, 0, tuple(recall))
        for pattern in _patterns(literal.types):
            if literal.mode.anti_reflexive and len(set(pattern)) < len(pattern):
                continue
            table = _diagonal(literal.table, pattern)
            if not table.any():
                continue
            types = tuple(literal.types[pattern.index(k)] for k in range(max(pattern, default=-1) + 1))
            piece = make_piece(types, table, ((index, pattern),), used, literals, full)
            pieces.append(replace(piece, symmetric=False, family=literal.family) if rigid else piece)
    return pieces


def _patterns(types: tuple[str, ...]) -> list[tuple[int, ...]]:
    """Ways to give places variables, numbered by first occurrence; places that share one share a type."""
    found: list[tuple[int, ...]] = [()]
    for kind in types:
        longer = []
        for pattern in found:
            known = max(pattern, default=-1) + 1
            for variable in range(known + 1):
                if variable == known or types[pattern.index(variable)] == kind:
                    longer.append((*pattern, variable))
        found = longer
    return found


def _diagonal(table: Bits, pattern: tuple[int, ...]) -> Bits:
    """The table over distinct variables: places that share a variable keep the diagonal."""
    k = max(pattern, default=-1) + 1
    if k == len(pattern):
        return table
    letters = [*pattern, 25]
    out = [*range(k), 25]
    return np.ascontiguousarray(np.einsum(table, letters, out))


def placed_view(table: Bits, mapping: tuple[int, ...], n: int) -> Bits:
    """A piece's table with an axis for each of `n` variables, of extent 1 where it has none."""
    order = sorted(range(len(mapping)), key=lambda place: mapping[place])
    transposed = table.transpose(*order, len(mapping))
    sizes = dict(zip(sorted(mapping), transposed.shape, strict=False))
    return transposed.reshape(*(sizes.get(v, 1) for v in range(n)), table.shape[-1])


def leaf_types(literals: Sequence[BodyLiteral], kept: frozenset[str]) -> frozenset[str]:
    """Types whose variables can be projected out first: an independent set of the types that meet.

    Args:
        literals: all body literals.
        kept: types that must stay, e.g. those of head variables.
    """
    meets: dict[str, set[str]] = {}
    for literal in literals:
        for i, kind in enumerate(literal.types):
            others = literal.types[:i] + literal.types[i + 1 :]
            meets.setdefault(kind, set()).update(others)
    candidates = [kind for kind in sorted(meets) if kind not in kept and kind not in meets[kind]]
    candidates.sort(key=lambda kind: (len(meets[kind]), kind))
    chosen: set[str] = set()
    for kind in candidates:
        if meets[kind].isdisjoint(chosen):
            chosen.add(kind)
    return frozenset(chosen)
