"""Canonical forms of conjunctions: one representative of all renamings of variables of one type.

Two sets of placed blocks are the same up to renaming if their least renamings are equal; two tables, if the
least of their digests over all renamings are (`digests`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from nsl_bench.logic.las.enumeration.building_blocks import BuildingBlock, Placement

_MOST_ORDERS = 720
"""Renamings that are tried; beyond, variables are told apart by their use first, and may stay unmatched."""

Order = tuple[int, ...]
"""Variables in a new order: the fixed ones first and unchanged, the others by type."""


class Renamings:
    """Renamings of the variables of conjunctions.

    Args:
        n_fixed: how many variables, the first ones, keep their numbers.
    """

    def __init__(self, blocks: Sequence[BuildingBlock], n_fixed: int) -> None:
        self._blocks = blocks
        self._n_fixed = n_fixed
        self._known: dict[tuple[str, ...], list[Order]] = {}

    def orders(self, types: tuple[str, ...], placements: Sequence[Placement]) -> list[Order]:
        """The orders of variables to compare under: all that keep the fixed ones and sort the others by type.

        Where these are very many, only orders that differ among variables of equal use, and one if these
        are too many as well: equal conjunctions may then be taken for different ones.
        """
        found = self._known.get(types)
        if found is None:
            found = self._known[types] = self._orders([(kind,) for kind in types])
        if found:
            return found
        uses = self._uses(len(types), placements)
        keys = [(kind, *use) for kind, use in zip(types, uses, strict=True)]
        fixed = range(self._n_fixed)
        rest = sorted(range(self._n_fixed, len(types)), key=lambda v: keys[v])
        return self._orders(keys) or [(*fixed, *rest)]

    def _orders(self, keys: Sequence[tuple[object, ...]]) -> list[Order]:
        """The orders that sort the variables that are not fixed by their keys; none if there are too many."""
        free = sorted(range(self._n_fixed, len(keys)), key=lambda v: keys[v])
        groups = [list(group) for _, group in itertools.groupby(free, key=lambda v: keys[v])]
        if math.prod(math.factorial(len(group)) for group in groups) > _MOST_ORDERS:
            return []
        fixed = tuple(range(self._n_fixed))
        return [
            fixed + tuple(itertools.chain.from_iterable(choice))
            for choice in itertools.product(*(itertools.permutations(group) for group in groups))
        ]

    def _uses(self, n: int, placements: Sequence[Placement]) -> list[tuple[object, ...]]:
        """How each variable is used, told without the names of the variables that are not fixed."""
        uses: list[list[tuple[int, ...]]] = [[] for _ in range(n)]
        for index, variables in placements:
            known = tuple(v if v < self._n_fixed else -1 for v in variables)
            if self._blocks[index].symmetric:
                known = tuple(sorted(known))
            for place, variable in enumerate(variables):
                uses[variable].append((index, 0 if self._blocks[index].symmetric else place, *known))
        return [tuple(sorted(each)) for each in uses]

    def least(
        self, types: tuple[str, ...], placements: Sequence[Placement], orders: Sequence[Order]
    ) -> tuple[tuple[str, ...], tuple[Placement, ...], Order]:
        """Sorted types, the least renaming of the placements, and the order that gives it.

        Args:
            orders: the orders of variables to try, from `orders`.
        """
        best: tuple[Placement, ...] | None = None
        chosen = orders[0]
        for order in orders:
            number = {variable: i for i, variable in enumerate(order)}
            renamed = []
            for index, variables in placements:
                new = tuple([number[v] for v in variables])
                if self._blocks[index].symmetric and new[0] > new[1]:
                    new = (new[1], new[0])
                renamed.append((index, new))
            renamed.sort()
            candidate = tuple(renamed)
            if best is None or candidate < best:
                best, chosen = candidate, order
        assert best is not None
        return tuple(types[v] for v in chosen), best, chosen
