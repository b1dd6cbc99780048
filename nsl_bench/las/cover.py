"""Choosing rules, where each example asks for some filled cells and some empty ones.

This is weighted partial set cover with forbidden sets. The instance is reduced first: examples that no
choice tells apart are merged, rules that another one dominates or that cost more than a known solution
are dropped. What is left goes to MaxSAT.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nsl_bench.las.candidates import Candidate, Cells
from nsl_bench.las.columns import unpack
from nsl_bench.las.conditions import Target, conjunction
from nsl_bench.las.maxsat import Backend, MaxSat

__all__ = ["Choice", "CoverProblem"]

Flags = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Choice:
    """Rules chosen.

    Attributes:
        rules: indices of candidates, ascending; None if there is no choice better than asked for.
        score: their cost and the penalties of uncovered examples.
        bound: no choice has a lower score.
        proven: `rules` is optimal.
    """

    rules: tuple[int, ...] | None
    score: int
    bound: int
    proven: bool


@dataclass(frozen=True, eq=False)
class _Reduced:
    """An instance.

    Attributes:
        rules: intp [r]: indices of the candidates that are left.
        costs: int64 [r].
        weights: int64 [t]; the weight of examples that must be covered is `hard_weight`.
        asks: for each target, rows of `fills` of which each needs a rule.
        fills: bool [k, r]: the rules that meet each demand.
        hits: bool [t, r]: the rules that spoil a target.
        constant: penalties that no choice avoids.
    """

    rules: npt.NDArray[np.intp]
    costs: Ints
    weights: Ints
    asks: tuple[tuple[int, ...], ...]
    fills: Flags
    hits: Flags
    constant: int


class CoverProblem:
    """One choice among candidates, for targets whose conditions are conjunctions.

    Raises:
        ValueError: a condition is not a conjunction.
    """

    def __init__(self, candidates: Sequence[Candidate], targets: Sequence[Target], cells: Cells) -> None:
        self.hard_weight = 1 + sum(t.penalty or 0 for t in targets) + sum(c.rule.cost for c in candidates)
        self.costs = np.array([c.rule.cost for c in candidates], np.int64)
        demands: list[tuple[tuple[int, ...], tuple[int, ...], int, int]] = []
        cell_ids: dict[tuple[int, int], int] = {}
        self.constant = 0
        self.impossible: list[Target] = []
        for target in targets:
            asked = False if target.condition is False else conjunction(target.condition)
            if asked is None:
                raise ValueError("a condition is not a conjunction")
            weight = self.hard_weight if target.penalty is None else target.penalty
            if asked is False:
                self._fail(target, weight)
                continue
            ids = [
                tuple(cell_ids.setdefault((cells.row[a], target.column), len(cell_ids)) for a in side)
                for side in asked
            ]
            demands.append((ids[0], ids[1], weight, target.column))
        self._matrix = _fill_matrix(candidates, cell_ids, cells)
        self._demands = demands
        self.targets = targets

    def _fail(self, target: Target, weight: int) -> None:
        self.constant += weight
        if target.penalty is None:
            self.impossible.append(target)

    def solve(
        self,
        below: int | None = None,
        backend: Backend = "rc2",
        deadline: float | None = None,
        statistics: dict[str, float] | None = None,
    ) -> Choice:
        """The choice of least score, if that is less than `below`."""
        counts = statistics if statistics is not None else {}
        start = time.perf_counter()
        instance = self._reduce(np.arange(len(self.costs)))
        upper = _greedy(instance)
        best = instance.rules[list(upper[0])]
        limit = min(upper[1], below) if below is not None else upper[1]
        while len(instance.rules):
            kept = _worth(instance, limit)
            kept &= ~_dominated(instance, kept)
            if kept.all():
                break
            instance = self._reduce(instance.rules[kept])
        counts["distinct"] = counts.get("distinct", 0) + len(self.costs)
        counts["solved"] = counts.get("solved", 0) + len(instance.rules)
        counts["seconds_reducing"] = counts.get("seconds_reducing", 0.0) + time.perf_counter() - start
        start = time.perf_counter()
        chosen, score, bound, proven = _solve(instance, limit, backend, deadline)
        counts["seconds_solving"] = counts.get("seconds_solving", 0.0) + time.perf_counter() - start
        if chosen is not None and score <= upper[1]:
            best, value = chosen, score
        else:
            value = upper[1]
        if proven and chosen is None:
            bound = limit
        if below is not None and value >= below:
            return Choice(None, value, min(bound, value), proven)
        return Choice(tuple(sorted(best.tolist())), value, min(bound, value), proven)

    def _reduce(self, rules: npt.NDArray[np.intp]) -> _Reduced:
        """The instance with these rules: targets merged that they do not tell apart."""
        matrix = self._matrix[:, rules]
        classes, class_of = _unique_rows(matrix)
        constant = self.constant
        merged: dict[tuple[tuple[int, ...], bytes], int] = {}
        spoilers: dict[tuple[int, ...], tuple[bytes, Flags]] = {}
        reduced: dict[tuple[int, bytes], int] = {}
        rows: dict[bytes, int] = {}
        fill_rows: list[Flags] = []
        hit_rows: list[Flags] = []
        weights: list[int] = []
        asks: list[tuple[int, ...]] = []
        place: dict[tuple[tuple[int, ...], bytes], int] = {}
        del merged
        keys: dict[tuple[tuple[int, ...], tuple[int, ...]], int] = {}
        of = class_of.tolist()
        for positive, negative, weight, _ in self._demands:
            key = (
                tuple(sorted({of[c] for c in positive})),
                tuple(sorted({of[c] for c in negative})),
            )
            keys[key] = keys.get(key, 0) + weight
        for (positive, negative), weight in keys.items():
            spoiled = spoilers.get(negative)
            if spoiled is None:
                hit = classes[list(negative)].any(axis=0)
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
        return _Reduced(
            rules,
            self.costs[rules],
            np.array(weights, np.int64),
            tuple(asks),
            np.array(fill_rows, np.bool_).reshape(len(fill_rows), width),
            np.array(hit_rows, np.bool_).reshape(len(hit_rows), width),
            constant,
        )


def _fill_matrix(
    candidates: Sequence[Candidate], cell_ids: dict[tuple[int, int], int], cells: Cells
) -> Flags:
    """bool [cells, candidates]: which rules fill each cell."""
    rows = np.array([row for row, _ in cell_ids], np.intp)
    columns = np.array([column for _, column in cell_ids], np.intp)
    matrix = np.zeros((len(rows), len(candidates)), np.bool_)
    of_row = [np.flatnonzero(rows == row) for row in range(len(cells.row))]
    for k, candidate in enumerate(candidates):
        for leaf, bits in zip(candidate.leaves.tolist(), candidate.fills, strict=True):
            at = of_row[leaf]
            if len(at):
                matrix[at, k] |= unpack(bits, cells.n)[columns[at]]
    return matrix


def _unique_rows(matrix: Flags) -> tuple[Flags, npt.NDArray[np.intp]]:
    """The distinct rows, and which of them each row is."""
    if not matrix.size:
        return matrix[:1], np.zeros(len(matrix), np.intp)
    packed = np.ascontiguousarray(np.packbits(matrix, axis=1))
    view = packed.view(np.dtype((np.void, packed.shape[1]))).reshape(-1)
    _, first, inverse = np.unique(view, return_index=True, return_inverse=True)
    return matrix[first], inverse.reshape(-1)


def _met(instance: _Reduced) -> Flags:
    """bool [t, r]: targets that the rule alone covers."""
    alone = np.ones((len(instance.weights), len(instance.rules)), np.bool_)
    for t, needs in enumerate(instance.asks):
        for need in needs:
            alone[t] &= instance.fills[need]
    return alone & ~instance.hits


def _greedy(instance: _Reduced) -> tuple[tuple[int, ...], int]:
    """A good choice by adding, dropping and exchanging rules, and its score."""
    weights, costs = instance.weights, instance.costs
    n_rules = len(costs)
    width = max((len(needs) for needs in instance.asks), default=0)
    padded = np.full((len(weights), width), len(instance.fills), np.intp)
    for t, needs in enumerate(instance.asks):
        padded[t, : len(needs)] = needs
    fills = np.concatenate([instance.fills, np.ones((1, n_rules), np.bool_)])
    chosen: set[int] = set()

    def score(rules: set[int]) -> int:
        index = sorted(rules)
        filled = fills[:, index].any(axis=1)
        filled[-1] = True
        ok = filled[padded].all(axis=1) & ~instance.hits[:, index].any(axis=1)
        return int(weights[~ok].sum() + costs[index].sum())

    current = score(chosen)
    while n_rules:
        index = sorted(chosen)
        filled = fills[:, index].any(axis=1)
        filled[-1] = True
        spoiled = instance.hits[:, index].any(axis=1)
        # a target with several needs counts as reached where this rule meets one that is open
        open_needs = ~filled[padded]
        needed = np.zeros((len(weights), n_rules), np.bool_)
        for j in range(width):
            needed |= open_needs[:, j, None] & fills[padded[:, j]]
        met = needed & (open_needs.sum(axis=1) == 1)[:, None] & ~spoiled[:, None] & ~instance.hits
        covered = ~open_needs.any(axis=1) & ~spoiled
        gain = weights @ met - weights @ (instance.hits & covered[:, None]) - costs
        order = np.argsort(-gain, kind="stable")
        best = int(order[0])
        improved = False
        if best not in chosen and gain[best] > 0:
            chosen.add(best)
            current = score(chosen)
            improved = True
        for rule in sorted(chosen):
            without = score(chosen - {rule})
            if without <= current:
                chosen.discard(rule)
                current = without
                improved = improved or without < current
        if not improved:
            pairs = _exchange(chosen, order[:64].tolist(), score, current)
            if pairs is None:
                break
            chosen, current = pairs
    return tuple(sorted(chosen)), current + instance.constant


def _exchange(chosen: set[int], offers: Sequence[int], score, current: int):  # type: ignore[no-untyped-def]
    """A better choice that exchanges one rule for another, with its score; None if there is none."""
    for old in sorted(chosen):
        for new in offers:
            if new not in chosen:
                other = (chosen - {old}) | {new}
                value = score(other)
                if value < current:
                    return other, value
    return None


def _worth(instance: _Reduced, limit: int) -> Flags:
    """bool [r]: rules that a choice with a score below `limit` may hold."""
    lost = instance.weights @ instance.hits
    reach = np.zeros(len(instance.rules), np.int64)
    for t, needs in enumerate(instance.asks):
        some = np.zeros(len(instance.rules), np.bool_)
        for need in needs:
            some |= instance.fills[need]
        reach += np.where(some, instance.weights[t], 0)
    kept: Flags = (instance.costs + lost + instance.constant < limit) & (reach > instance.costs)
    return kept


def _dominated(instance: _Reduced, kept: Flags) -> Flags:
    """bool [r]: rules that another kept one can always replace."""
    n = len(instance.rules)
    dominated = np.zeros(n, np.bool_)
    if n < 2:
        return dominated
    fills = np.packbits(instance.fills, axis=0).T.copy()
    hits = np.packbits(instance.hits, axis=0).T.copy()
    sizes = instance.fills.sum(axis=0)
    spoils = instance.hits.sum(axis=0)
    order = np.lexsort((np.arange(n), spoils, -sizes, instance.costs))
    alive: list[int] = []
    for r in order[kept[order]].tolist():
        rivals = np.array(alive, np.intp)
        if len(rivals):
            rivals = rivals[(sizes[rivals] >= sizes[r]) & (spoils[rivals] <= spoils[r])]
        if len(rivals):
            better = ~((fills[r] & ~fills[rivals]).any(axis=1) | (hits[rivals] & ~hits[r]).any(axis=1))
            if better.any():
                dominated[r] = True
                continue
        alive.append(r)
    return dominated


def _solve(
    instance: _Reduced, limit: int, backend: Backend, deadline: float | None
) -> tuple[npt.NDArray[np.intp] | None, int, int, bool]:
    """Rules, score, bound, and whether that is proven."""
    if not len(instance.rules) or not len(instance.weights):
        return (
            np.empty(0, np.intp),
            int(instance.weights.sum()) + instance.constant
            if len(instance.rules) == 0
            else instance.constant,
            instance.constant,
            True,
        )
    problem = MaxSat()
    xs = [problem.new() for _ in instance.rules]
    for x, cost in zip(xs, instance.costs.tolist(), strict=True):
        problem.prefer(-x, cost)
    filled = [_group(problem, row, xs, True) for row in instance.fills]
    clean: dict[bytes, int] = {}
    for t, needs in enumerate(instance.asks):
        parts = [filled[need] for need in needs]
        hit = instance.hits[t]
        if hit.any():
            key = hit.tobytes()
            if key not in clean:
                clean[key] = _group(problem, hit, xs, False)
            parts.append(clean[key])
        weight = int(instance.weights[t])
        if len(parts) == 1:
            problem.prefer(parts[0], weight)
            continue
        y = problem.new()
        for part in parts:
            problem.hard.append([-y, part])
        problem.prefer(y, weight)
    optimum = problem.solve(backend, deadline, limit - instance.constant)
    bound = optimum.bound + instance.constant
    if optimum.model is None:
        return None, 0, bound, optimum.proven
    rules = instance.rules[[i for i, x in enumerate(xs) if x in optimum.model]]
    return rules, optimum.cost + instance.constant, bound, optimum.proven


def _group(problem: MaxSat, row: Flags, xs: Sequence[int], some: bool) -> int:
    """A literal that implies that some (or: none) of the rules in `row` is chosen."""
    members = [xs[i] for i in np.flatnonzero(row).tolist()]
    if len(members) == 1:
        return members[0] if some else -members[0]
    literal = problem.new()
    if some:
        problem.hard.append([-literal, *members])
    else:
        problem.hard.extend([-literal, -member] for member in members)
    return literal
