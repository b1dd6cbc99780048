"""Choosing rules, where each example asks for some filled cells and some empty ones.

This is weighted partial set cover with forbidden sets: conditions of examples become an
`nsl_bench.las.set_cover.instance.Instance`, examples that no choice tells apart merged.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from nsl_bench.budget import Budget
from nsl_bench.las.enumeration.candidates import Candidate
from nsl_bench.las.enumeration.cells import Cells
from nsl_bench.las.set_cover.instance import Choice, Flags, Instance, prune, solve_part, split
from nsl_bench.las.set_cover.maxsat import Backend
from nsl_bench.las.tables.conditions import Target
from nsl_bench.las.tables.formulas import Demands, demands

__all__ = ["Choice", "CoverProblem"]


class CoverProblem:
    """One choice among candidates, for targets whose conditions are `Demands` or False.

    Raises:
        ValueError: a condition is something else.
    """

    def __init__(
        self,
        candidates: Sequence[Candidate],
        targets: Sequence[Target],
        cells: Cells,
        budget: Budget | None = None,
        beside: int = 0,
    ) -> None:
        # more than anything else together, the most that is paid `beside` this choice included
        costs = sum(c.rule.cost for c in candidates)
        self.hard_weight = 1 + sum(t.penalty or 0 for t in targets) + costs + beside
        self.costs = np.array([c.rule.cost for c in candidates], np.int64)
        wanted: list[tuple[tuple[int, ...], tuple[int, ...], int]] = []
        unions: dict[tuple[tuple[int, ...], int], int] = {}
        asks: dict[int, Demands | None] = {}
        self.constant = 0
        for target in targets:
            weight = self.hard_weight if target.penalty is None else target.penalty
            if target.condition is False:
                self.constant += weight
                continue
            if id(target.condition) not in asks:
                asks[id(target.condition)] = demands(target.condition)
            asked = asks[id(target.condition)]
            if asked is None:
                raise ValueError("a condition is more than needs and bans")
            sides = [asked.needs, (asked.bans,) if asked.bans else ()]
            needs, bans = (
                tuple(unions.setdefault((atoms, target.column), len(unions)) for atoms in side)
                for side in sides
            )
            wanted.append((needs, bans, weight))
        if budget is not None:
            budget.take(len(unions) * len(candidates), "the matrix of rules and examples")
        self._matrix = _fill_matrix(candidates, unions, cells)
        self._demands = wanted
        self.targets = targets

    def solve(
        self,
        below: int | None = None,
        backend: Backend = "rc2",
        budget: Budget | None = None,
        statistics: dict[str, float] | None = None,
    ) -> Choice:
        """The choice of least score, if that is less than `below`.

        Raises nothing on a deadline: the best choice so far comes back, with a bound.
        """
        counts = statistics if statistics is not None else {}
        start = time.perf_counter()
        instance = self._reduce()
        most = int(self.costs.sum()) + int(instance.weights.sum()) + instance.constant + 1
        limit = most if below is None else below
        instance = prune(instance, limit, dominance=False)
        parts = split(instance)
        _count(counts, "distinct", len(self.costs))
        _count(counts, "solved", len(instance.rules))
        _count(counts, "seconds_reducing", time.perf_counter() - start)
        start = time.perf_counter()
        choices = [solve_part(part, backend, budget) for part in parts]
        score = instance.constant + sum(choice.score for choice in choices)
        bound = instance.constant + sum(choice.bound for choice in choices)
        proven = all(choice.proven for choice in choices)
        _count(counts, "seconds_solving", time.perf_counter() - start)
        if below is not None and score >= below:
            # what was pruned could only lead to `below` or more
            return Choice(None, score, min(bound, below), proven)
        rules = tuple(sorted(rule for choice in choices for rule in choice.rules or ()))
        return Choice(rules, score, score if proven else bound, proven)

    def _reduce(self) -> Instance:
        """The instance where targets are merged that no rule tells apart."""
        rules = np.arange(len(self.costs))
        matrix = self._matrix
        classes, class_of = _unique_rows(matrix)
        constant = self.constant
        spoilers: dict[tuple[int, ...], tuple[bytes, Flags]] = {}
        reduced: dict[tuple[int, bytes], int] = {}
        rows: dict[bytes, int] = {}
        fill_rows: list[Flags] = []
        hit_rows: list[Flags] = []
        weights: list[int] = []
        asks: list[tuple[int, ...]] = []
        place: dict[tuple[tuple[int, ...], bytes], int] = {}
        keys: dict[tuple[tuple[int, ...], tuple[int, ...]], int] = {}
        of = class_of.tolist()
        for positive, negative, weight in self._demands:
            key = (
                tuple(sorted({of[c] for c in positive})),
                tuple(sorted({of[c] for c in negative})),
            )
            keys[key] = keys.get(key, 0) + weight
        for (positive, negative), weight in keys.items():
            spoiled = spoilers.get(negative)
            if spoiled is None:
                hit = np.asarray(classes[list(negative)].any(axis=0), np.bool_)
                spoiled = spoilers[negative] = (hit.tobytes(), hit)
            signature, hit = spoiled
            needs: set[int] = set()
            possible = True
            for cell in positive:
                known = reduced.get((cell, signature))
                if known is None:
                    fill = classes[cell] & ~hit
                    text = fill.tobytes()
                    known = rows.setdefault(text, len(rows)) if fill.any() else -1
                    if known == len(fill_rows):
                        fill_rows.append(fill)
                    reduced[(cell, signature)] = known
                possible &= known >= 0
                needs.add(known)
            if not possible:
                constant += weight
                continue
            if not needs and not hit.any():
                continue
            joint = (tuple(sorted(needs)), signature)
            at = place.setdefault(joint, len(weights))
            if at == len(weights):
                weights.append(weight)
                asks.append(joint[0])
                hit_rows.append(hit)
            else:
                weights[at] += weight
        width = len(rules)
        return Instance(
            rules,
            self.costs[rules],
            np.array(weights, np.int64),
            tuple(asks),
            np.array(fill_rows, np.bool_).reshape(len(fill_rows), width),
            np.array(hit_rows, np.bool_).reshape(len(hit_rows), width),
            constant,
        )


def _fill_matrix(
    candidates: Sequence[Candidate], unions: dict[tuple[tuple[int, ...], int], int], cells: Cells
) -> Flags:
    """bool [unions, candidates]: which rules fill a cell of each union of atoms in one column."""
    sizes = np.array([len(atoms) for atoms, _ in unions], np.intp)
    rows = np.array([cells.row[atom] for atoms, _ in unions for atom in atoms], np.intp)
    keys = rows * cells.n + np.repeat(np.array([column for _, column in unions], np.intp), sizes)
    order = np.argsort(keys, kind="stable")
    keys, of = keys[order], np.repeat(np.arange(len(sizes)), sizes)[order]
    matrix = np.zeros((len(unions), len(candidates)), np.bool_)
    for k, candidate in enumerate(candidates):
        row, column = candidate.cells()
        filled = row * cells.n + column
        first, last = np.searchsorted(keys, filled, "left"), np.searchsorted(keys, filled, "right")
        counts = last - first
        start = np.repeat(first - np.cumsum(counts) + counts, counts)
        matrix[of[start + np.arange(len(start))], k] = True
    return matrix


def _unique_rows(matrix: Flags) -> tuple[Flags, npt.NDArray[np.intp]]:
    """The distinct rows, and which of them each row is."""
    if not matrix.size:
        return matrix[:1], np.zeros(len(matrix), np.intp)
    packed = np.ascontiguousarray(np.packbits(matrix, axis=1))
    view = packed.view(np.dtype((np.void, packed.shape[1]))).reshape(-1)
    _, first, inverse = np.unique(view, return_index=True, return_inverse=True)
    return matrix[first], inverse.reshape(-1)


def _count(counts: dict[str, float], name: str, value: float) -> None:
    counts[name] = round(counts.get(name, 0) + value, 4)
