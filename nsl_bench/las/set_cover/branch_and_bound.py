"""Branch and bound over sets of rules, for instances where few rules compete under heavy noise.

A set is built from its rule of highest price downwards, the price being the rule's cost and the weight of
covered targets that it spoils. If rule ``i`` is the dearest of those that are added, they gain at most
the weight of the targets that rules up to ``i`` in order of price can cover, less the price of ``i``.
That bound sees what linear relaxations miss: rules that spoil the same targets do not share the damage.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from nsl_bench.budget import Budget

__all__ = ["Branched", "branch_and_bound"]

_WORK = 150_000_000
_MOST_RULES = 600
_FEW_RULES = 30
_DENSE = 0.1

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Branched:
    """What branch and bound found.

    Attributes:
        rules: the best set, None if none is better than asked for.
        score: its cost and the weight of targets that it leaves uncovered.
        proven: nothing is better than `rules`, or than the limit if it is None.
    """

    rules: tuple[int, ...] | None
    score: int
    proven: bool


class _Exhausted(Exception):
    """The work allowed is done."""


def branch_and_bound(
    costs: Array,
    weights: Array,
    padded: Array,
    fills: Array,
    hits: Array,
    limit: int,
    budget: Budget | None = None,
    work: int = _WORK,
) -> Branched:
    """The set of rules of least score, if that is less than `limit`.

    Args:
        costs: int64 [r].
        weights: int64 [t].
        padded: intp [t, w]: needs of each target, padded with k.
        fills: bool [k, r]: the rules that meet each need.
        hits: bool [t, r]: the rules that spoil each target.
        limit: only lower scores are of interest.
        budget: when to stop; None: never.
        work: elementary steps allowed; counted, so that the outcome does not depend on the machine.
    """
    if len(costs) > _MOST_RULES or limit >= 1 << 52:
        return Branched(None, limit, False)
    if work == _WORK and hits.mean() < _DENSE and len(costs) > _FEW_RULES:
        work //= 20
    search = _Search(costs, weights, padded, fills, hits, limit, budget, work)
    n = len(costs)
    filled = np.zeros(len(fills) + 1, np.bool_)
    filled[-1] = True
    try:
        search.visit((), np.arange(n), filled, np.zeros(len(weights), np.bool_), 0.0)
        proven = True
    except _Exhausted:
        proven = False
    rules = None if search.best is None else tuple(sorted(int(r) for r in search.best))
    return Branched(rules, int(search.limit), proven)


class _Search:
    def __init__(
        self,
        costs: Array,
        weights: Array,
        padded: Array,
        fills: Array,
        hits: Array,
        limit: int,
        budget: Budget | None,
        work: int,
    ) -> None:
        self.costs = costs.astype(np.float64)
        self.weights = weights.astype(np.float64)
        self.padded = padded
        self.fills = np.concatenate([fills.T, np.zeros((len(costs), 1), np.bool_)], axis=1)
        self.hits = np.ascontiguousarray(hits.T)
        self.damage = self.hits * self.weights
        self.limit = float(limit)
        self.best: tuple[int, ...] | None = None
        self.budget = budget
        self.left = work

    def visit(
        self, chosen: tuple[int, ...], offers: Array, filled: Array, spoiled: Array, cost: float
    ) -> None:
        """Looks at all sets that add some of `offers` to `chosen`.

        Args:
            chosen: rules in the set.
            offers: intp [m]: rules that may be added.
            filled: bool [k + 1]: needs that are met; the last stands for padding.
            spoiled: bool [t]: targets that are hit.
            cost: of the chosen rules.
        """
        met = filled[self.padded].all(axis=1)
        covered = met & ~spoiled
        score = cost + float(self.weights[~covered].sum())
        if score < self.limit:
            self.limit, self.best = score, chosen
        self.left -= len(offers) * (self.padded.size + len(self.weights)) + 20_000
        if self.left < 0 or (self.budget is not None and self.budget.expired()):
            raise _Exhausted
        if not len(offers):
            return
        price = self.costs[offers] + self.damage[offers] @ covered
        useful = (self.fills[offers] & ~filled).any(axis=1)
        offers, price = offers[useful], price[useful]
        order = np.argsort(price, kind="stable")
        offers, price = offers[order], price[order]
        # targets still open, and what the rules up to each one can cover of them
        open_rows = np.flatnonzero(~met & ~spoiled)
        reach = np.logical_or.accumulate(self.fills[offers], axis=0) | filled
        gain = reach[:, self.padded[open_rows]].all(axis=2) @ self.weights[open_rows] - price
        for k in np.argsort(-gain, kind="stable").tolist():
            if score - gain[k] >= self.limit:
                break
            rule = int(offers[k])
            self.visit(
                (*chosen, rule),
                offers[:k],
                filled | self.fills[rule],
                spoiled | self.hits[rule],
                cost + float(self.costs[rule]),
            )
