"""The inequalities that `#ground_without_replacement` asks for: no two literals of a rule become equal."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

__all__ = ["Unequal", "inequalities", "unequal_pairs"]

Unequal = frozenset[frozenset[str]]
"""Pairs of terms of which some pair differs: what an inequality of terms or of tuples says."""

_Atoms = Sequence[tuple[object, tuple[str, ...]]]
"""Of each atom of a body: predicate and sign, by which atoms are compared, and its arguments as text."""


def inequalities(atoms: _Atoms) -> list[str]:
    """The inequalities as text, e.g. ``V1 != V2`` or ``(V1,V2) != (V3,V4)``."""
    found = []
    for pairs in _differing(atoms):
        if len(pairs) == 1:
            found.append(f"{pairs[0][0]} != {pairs[0][1]}")
        else:
            one, two = (",".join(side) for side in zip(*pairs, strict=True))
            found.append(f"({one}) != ({two})")
    return found


def unequal_pairs(atoms: _Atoms) -> set[Unequal]:
    """The inequalities, whatever way they are written."""
    return {frozenset(frozenset(pair) for pair in pairs) for pairs in _differing(atoms)}


def _differing(atoms: _Atoms) -> Iterator[list[tuple[str, str]]]:
    """The arguments that differ, for each two atoms of one predicate and sign."""
    for (name, left), (other, right) in itertools.combinations(atoms, 2):
        if name == other and left != right:
            yield [(a, b) for a, b in zip(left, right, strict=True) if a != b]
