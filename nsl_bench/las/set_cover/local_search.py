"""Improves a choice of rules by tabu search (Glover, "Tabu Search - Part I", ORSA J. Computing 1989).

Each step adds or drops the rule that changes the score for the best, even if that is for the worse; a rule
that has just been moved stays for a while. The search is seeded, so that it always ends alike.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from nsl_bench.budget import Budget
from nsl_bench.las.set_cover.instance import Instance

__all__ = ["tabu_search"]

_SHORTEST, _LONGEST = 5, 15
_CHECKED = 64

Floats = npt.NDArray[np.float64]


def tabu_search(
    instance: Instance,
    start: Sequence[int],
    steps: int,
    budget: Budget | None = None,
    seed: int = 0,
) -> tuple[tuple[int, ...], int]:
    """The best choice met on a walk (indices into `rules`), and its score.

    Args:
        instance: what to choose in.
        start: the rules with which the walk begins.
        steps: rules added or dropped.
        budget: when to stop; None: never.
        seed: of how long rules stay.
    """
    rng = np.random.default_rng(seed)
    state = _State(instance, start)
    best, lowest = np.flatnonzero(state.chosen), state.score()
    allowed = np.zeros(len(instance.rules))
    for step in range(steps if len(instance.rules) else 0):
        if step % _CHECKED == 0 and budget is not None and budget.expired():
            break
        score, change = state.score(), state.change()
        rule = int(np.where((allowed > step) & (score + change >= lowest), np.inf, change).argmin())
        state.flip(rule)
        allowed[rule] = step + 1 + int(rng.integers(_SHORTEST, _LONGEST))
        if state.score() < lowest:
            best, lowest = np.flatnonzero(state.chosen), state.score()
    rules = tuple(best.tolist())
    return rules, instance.score(rules)


class _State:
    """A choice, with how often it supports each need and violates each target."""

    def __init__(self, instance: Instance, start: Sequence[int]) -> None:
        self.costs = instance.costs.astype(np.float64)
        self.weights = instance.weights.astype(np.float64)
        self.supports = np.ascontiguousarray(instance.supports.T, np.float64)
        self.violates = np.ascontiguousarray(instance.violates.T, np.float64)
        self.n_needs = np.array([len(needs) for needs in instance.needs], np.intp)
        self.target = np.repeat(np.arange(len(self.weights)), self.n_needs)
        self.need = np.array([need for needs in instance.needs for need in needs], np.intp)
        self.chosen = np.zeros(len(self.costs), np.bool_)
        self.chosen[list(start)] = True
        self.n_supports = self.supports[self.chosen].sum(axis=0)
        self.n_violates = self.violates[self.chosen].sum(axis=0)
        self._look()

    def _look(self) -> None:
        supported = (self.n_supports > 0)[self.need]
        self.unmet = self.n_needs - np.bincount(self.target, supported, len(self.weights))
        self.covered = (self.unmet == 0) & (self.n_violates == 0)

    def score(self) -> float:
        """Cost and penalties, without the constant."""
        return float(self.costs[self.chosen].sum() + self.weights[~self.covered].sum())

    def change(self) -> Floats:
        """float64 [r]: by how much the score rises if the rule is added or dropped.

        Exact where no target has several needs that one rule supports.
        """
        n_needs = self.supports.shape[1]
        inviolate = self.n_violates == 0
        waits = ((self.unmet == 1) & inviolate)[self.target] & (self.n_supports == 0)[self.need]
        gain = np.bincount(self.need, self.weights[self.target] * waits, n_needs)
        hangs = self.covered[self.target] & (self.n_supports == 1)[self.need]
        loss = np.bincount(self.need, self.weights[self.target] * hangs, n_needs)
        freed = self.weights * ((self.n_violates == 1) & (self.unmet == 0))
        added = self.costs - self.supports @ gain + self.violates @ (self.weights * self.covered)
        dropped = self.supports @ loss - self.violates @ freed - self.costs
        return np.asarray(np.where(self.chosen, dropped, added), np.float64)

    def flip(self, rule: int) -> None:
        """Adds the rule, or drops it."""
        sign = -1.0 if self.chosen[rule] else 1.0
        self.chosen[rule] = not self.chosen[rule]
        self.n_supports += sign * self.supports[rule]
        self.n_violates += sign * self.violates[rule]
        self._look()
