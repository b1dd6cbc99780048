"""Grounding without replacement: two body literals of one predicate and sign never ground to the same atom.

FastLAS's `#ground_without_replacement` adds an inequality for each two such literals of a rule.
"""

import itertools
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from nsl_bench.logic.las.bits import Bits
from nsl_bench.logic.las.enumeration.building_blocks import Part
from nsl_bench.logic.las.language_bias import placeholders
from nsl_bench.logic.las.tables.literals import BodyLiteral, Vocabulary
from nsl_bench.logic.las.terms import Leaves, leaf_pairs, leaves, unequal_text

_ALL, _NONE = ~np.uint64(0), np.uint64(0)


class Distinctness:
    """Where literals are different ground atoms."""

    def __init__(self, vocabulary: Vocabulary, literals: Sequence[BodyLiteral]) -> None:
        self._vocabulary = vocabulary
        self._literals = literals
        self._equal: dict[tuple[str, bool, str, bool], Bits] = {}

    def mask(self, one: Part, other: Part, types: Sequence[str]) -> Bits | None:
        """uint64 [size or 1 of each of `types`, 1]: all bits where two literals differ; None: everywhere.

        Args:
            one, other: literals and the variables at their places.
        """
        pairs = _pairs(self._literals, one, other)
        if pairs is None:
            return None
        equal = np.full((1,) * (len(types) + 1), _ALL)
        for left, right in pairs:
            if left == right:
                continue
            if isinstance(left, str) and isinstance(right, str):
                return None
            equal = equal & self._where_equal(left, right, types)
        return ~equal

    def _where_equal(self, left: int | str, right: int | str, types: Sequence[str]) -> Bits:
        if isinstance(left, str) or (isinstance(right, int) and left > right):
            left, right = right, left
        assert isinstance(left, int)
        names = [(types[x], True) if isinstance(x, int) else (x, False) for x in (left, right)]
        key = (*names[0], *names[1])
        result = self._equal.get(key)
        if result is None:
            values = [self._values(*name) for name in names]
            result = np.where(values[0][:, None] == values[1][None, :], _ALL, _NONE)
            self._equal[key] = result
        shape = [1] * (len(types) + 1)
        for variable, size in zip((left, right), result.shape, strict=True):
            if isinstance(variable, int):
                shape[variable] = size
        return result.reshape(shape)

    def _values(self, name: str, is_type: bool) -> npt.NDArray[np.str_]:
        if not is_type:
            return np.array([name])
        return np.array([str(value) for value in self._vocabulary.domain(name).values], np.str_)


def _pairs(
    literals: Sequence[BodyLiteral], one: Part, other: Part
) -> list[tuple[int | str, int | str]] | None:
    """What stands at equal places of two literals; None if they never are the same atom."""
    first, second = literals[one[0]], literals[other[0]]
    if first.family is None or first.family != second.family:
        return None
    return leaf_pairs(_leaves(first, one[1]), _leaves(second, other[1]))


def _leaves(literal: BodyLiteral, variables: Sequence[int]) -> Leaves:
    assert literal.atom is not None
    return leaves(literal.atom, variables, literal.constants)


def inequalities(parts: Sequence[Part], names: Sequence[str], literals: Sequence[BodyLiteral]) -> list[str]:
    """The inequalities that a rule needs, as text."""
    result = []
    for one, other in itertools.combinations(parts, 2):
        first, second = literals[one[0]], literals[other[0]]
        if first.family is None or first.family != second.family:
            continue
        sides = [
            zip(literal.arguments([names[v] for v in variables]), _grounds(literal), strict=True)
            for literal, (_, variables) in ((first, one), (second, other))
        ]
        differing = [pair for pair in zip(*sides, strict=True) if pair[0][0] != pair[1][0]]
        if any(left_ground and right_ground for (_, left_ground), (_, right_ground) in differing):
            continue
        result.append(unequal_text([(left, right) for (left, _), (right, _) in differing]))
    return result


def _grounds(literal: BodyLiteral) -> list[bool]:
    """Whether each argument is ground once constants are filled in."""
    assert literal.atom is not None
    return [all(p.kind == "const" for p in placeholders([term])) for term in literal.atom.arguments]
