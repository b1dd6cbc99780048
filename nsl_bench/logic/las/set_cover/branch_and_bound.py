"""Branch and bound over sets of rules, for instances where few rules compete under heavy noise.

A set is built from its rule of highest price downwards, the price being the rule's cost and the weight of
covered targets that it violates. If rule ``i`` is the dearest of those that are added, they gain at most
the weight of the targets that rules up to ``i`` in order of price can cover, less the price of ``i``.
That bound sees what linear relaxations miss: rules that violate the same targets do not share the damage.
Branch and bound: Land, Doig: "An automatic method of solving discrete programming problems", 1960.

Where many rules compete, targets also share the costs of rules: a rule pays off no target above the share
that the target has in all that the rule can cover.
"""

import numpy as np

from nsl_bench.core.budget import Budget
from nsl_bench.core.types import Floats
from nsl_bench.logic.las.set_cover.instance import Choice, Flags, Indices, Instance

UNLIMITED = 1 << 60
"""So much work that only the budget ends it."""

_WORK = 150_000_000
MOST_RULES = 600
_FEW_RULES = 30
_DENSE = 0.1
_ROUNDING = float(np.finfo(np.float32).eps)
# sums below it are exact in float64
_EXACT = 1 << 52


class _Exhausted(Exception):
    """The work allowed is done."""


def branch_and_bound(
    instance: Instance, limit: int, budget: Budget | None = None, work: int | None = None
) -> Choice:
    """The choice of least score, if that is less than `limit`; else no rules, and `limit` as the score.

    Args:
        limit: only lower scores are of interest.
        work: elementary steps allowed; counted, so that the outcome does not depend on the machine. None: as
            many as are worth trying where other methods may follow.
    """
    capped = instance.capped(limit)
    total = int(capped.costs.sum()) + int(capped.weights.sum())
    large = len(instance.rules) > MOST_RULES
    if total >= _EXACT or (large and work != UNLIMITED):
        return Choice(None, limit, instance.constant, False)
    if work is None:
        sparse = instance.violates.mean() < _DENSE and len(instance.rules) > _FEW_RULES
        work = _WORK // 20 if sparse else _WORK
    search = _Search(capped, limit - instance.constant, budget, work, shared=large)
    try:
        search.run()
        proven = True
    except _Exhausted:
        proven = False
    score = int(search.limit) + instance.constant
    rules = None if search.best is None else instance.named(search.best)
    bound = min(score, int(np.ceil(search.bound)) + instance.constant)
    return Choice(rules, score, score if proven else bound, proven)


class _Search:
    """Depth-first search; scores are without the constant.

    Attributes:
        bound: no set has a lower score, as far as the search got.
        shared: targets share the costs of rules.
    """

    def __init__(
        self, instance: Instance, limit: int, budget: Budget | None, work: int, *, shared: bool
    ) -> None:
        n = len(instance.rules)
        self.costs = instance.costs.astype(np.float64)
        self.weights = instance.weights.astype(np.float64)
        self.padded = instance.padded
        self.supports = np.concatenate([instance.supports.T, np.zeros((n, 1), np.bool_)], axis=1)
        self.violates = np.ascontiguousarray(instance.violates.T)
        self.damage = self.violates * self.weights
        self.limit = float(limit)
        self.best: tuple[int, ...] | None = None
        self.budget = budget
        self.left = work
        self.bound = 0.0
        self.shared = shared

    def run(self) -> None:
        """Looks at all sets."""
        supported = np.zeros(self.supports.shape[1], np.bool_)
        supported[-1] = True
        offers = np.arange(len(self.costs))
        self.visit((), offers, supported, np.zeros(len(self.weights), np.bool_), 0.0)

    def visit(
        self, chosen: tuple[int, ...], offers: Indices, supported: Flags, violated: Flags, cost: float
    ) -> None:
        """Looks at all sets that add some of `offers` to `chosen`.

        Args:
            offers: intp [m]: rules that may be added.
            supported: bool [k + 1]: needs that are supported; the last stands for padding.
            violated: bool [t]: targets that are violated.
        """
        met = supported[self.padded].all(axis=1)
        covered = met & ~violated
        score = cost + float(self.weights[~covered].sum())
        if score < self.limit:
            self.limit, self.best = score, chosen
        self.left -= len(offers) * (self.padded.size + len(self.weights)) + 20_000
        if self.left < 0 or (self.budget is not None and self.budget.expired()):
            raise _Exhausted
        if not len(offers):
            return
        price = self.costs[offers] + self.damage[offers] @ covered
        useful = (self.supports[offers] & ~supported).any(axis=1)
        offers, price = offers[useful], price[useful]
        order = np.argsort(price, kind="stable")
        offers, price = offers[order], price[order]
        # targets still open, and what the rules up to each one can cover of them
        open_rows = np.flatnonzero(~met & ~violated)
        if self.shared:
            gain = self.shares(offers, open_rows, supported) - (price - self.costs[offers])
        else:
            reach = np.logical_or.accumulate(self.supports[offers], axis=0) | supported
            gain = reach[:, self.padded[open_rows]].all(axis=2) @ self.weights[open_rows] - price
        for k in np.argsort(-gain, kind="stable").tolist():
            if score - gain[k] >= self.limit:
                break
            if not chosen:
                self.bound = score - float(gain[k])
            rule = int(offers[k])
            self.visit(
                (*chosen, rule),
                offers[:k],
                supported | self.supports[rule],
                violated | self.violates[rule],
                cost + float(self.costs[rule]),
            )

    def shares(self, offers: Indices, open_rows: Indices, supported: Flags) -> Floats:
        """float64 [m]: what rules up to each one can cover of open targets, less their shares in costs.

        Each target that is covered in the end pays for one rule at least, and the more the less its rule
        could cover.
        """
        own, needs = self.weights[open_rows].astype(np.float32), self.padded[open_rows]
        error = _ROUNDING * (len(own) + 9) * float(own.sum())
        new = self.supports[offers] & ~supported
        most = new[:, needs].any(axis=2).astype(np.float32) @ own + error
        kept = np.maximum(0, 1 - self.costs[offers] / np.maximum(most, 1)).astype(np.float32)
        reach = np.maximum.accumulate(new * kept[:, None], axis=0)
        reach[:, supported] = 1
        return np.asarray(reach[:, needs].min(axis=2) @ own + error, np.float64)
