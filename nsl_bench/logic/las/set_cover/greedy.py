"""A good choice of rules, quickly: rules are added, dropped and exchanged while that lowers the score.

The first part is the greedy heuristic of set cover (Chvátal, Mathematics of Operations Research 1979).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nsl_bench.core.budget import Budget
from nsl_bench.logic.las.set_cover.instance import Indices, Instance

_MOST_RULES_POLISHED = 400
_MOST_CHOSEN_POLISHED = 16
_EXCHANGES = 48


def greedy(instance: Instance, budget: Budget | None = None) -> tuple[tuple[int, ...], int]:
    """A good choice (indices into `rules`), and its score."""
    return min((_greedy(instance, caution, budget) for caution in (0, 1)), key=lambda found: found[1])


def _greedy(instance: Instance, caution: int, budget: Budget | None) -> tuple[tuple[int, ...], int]:
    """Greedy choice; with `caution`, rules that violate what is not covered yet come later."""
    n_rules = len(instance.rules)
    weights, costs = instance.weights.astype(np.float64), instance.costs.astype(np.float64)
    target, need, rule = _supports(instance)
    violated, violator = np.nonzero(instance.violates)
    chosen: set[int] = set()
    current = instance.score(())
    supported = np.zeros(len(instance.supports) + 1, np.bool_)
    supported[-1] = True
    violates = np.zeros(len(weights), np.bool_)
    improving = True
    while n_rules and improving and not (budget is not None and budget.expired()):
        unmet = (~supported[instance.padded]).sum(axis=1)
        last = (unmet == 1) & ~violates
        covered = (unmet == 0) & ~violates
        met = weights[target] * (last[target] & ~supported[need])
        gain = np.bincount(rule, met, n_rules) - costs
        gain -= np.bincount(violator, (weights * covered)[violated], n_rules)
        worth = gain - caution * np.bincount(violator, (weights * ~violates)[violated], n_rules)
        ranked = np.where(gain > 0, -worth, np.inf)
        best = int(ranked.argmin())
        if best not in chosen and gain[best] > 0:
            chosen.add(best)
            supported[:-1] |= instance.supports[:, best]
            violates |= instance.violates[:, best]
            continue
        improving = False
        if n_rules <= _MOST_RULES_POLISHED and len(chosen) <= _MOST_CHOSEN_POLISHED:
            offers = np.argsort(ranked, kind="stable")[:_EXCHANGES].tolist()
            better = _polished(instance, chosen, offers, current)
            if better is not None:
                chosen, current = better
                index = sorted(chosen)
                supported[:-1] = instance.supports[:, index].any(axis=1)
                violates = np.asarray(instance.violates[:, index].any(axis=1), np.bool_)
                improving = True
    return tuple(sorted(chosen)), instance.score(sorted(chosen))


def _supports(instance: Instance) -> tuple[Indices, Indices, Indices]:
    """(target, need, rule) of each way in which a rule supports a need of a target."""
    pairs = [(t, need) for t, needs in enumerate(instance.needs) for need in needs]
    supporters = [np.flatnonzero(row) for row in instance.supports]
    sizes = [len(supporters[need]) for _, need in pairs]
    targets = np.repeat(np.array([t for t, _ in pairs], np.intp), sizes)
    needs = np.repeat(np.array([need for _, need in pairs], np.intp), sizes)
    rules = np.concatenate([np.empty(0, np.intp), *(supporters[need] for _, need in pairs)])
    return targets, needs, rules


def _polished(
    instance: Instance, chosen: set[int], offers: Sequence[int], current: int
) -> tuple[set[int], int] | None:
    """A choice better than `current`, after dropping and exchanging rules, with its score."""
    best = set(chosen)
    score = instance.score(sorted(best))
    for rule in sorted(best):
        without = instance.score(sorted(best - {rule}))
        if without <= score:
            best.discard(rule)
            score = without
    exchanged = _exchange(instance, best, offers, score)
    if exchanged is not None:
        best, score = exchanged
    return (best, score) if score < current else None


def _exchange(
    instance: Instance, chosen: set[int], offers: Sequence[int], current: int
) -> tuple[set[int], int] | None:
    """A better choice that exchanges one rule for another, with its score."""
    for old in sorted(chosen):
        for new in offers:
            if new not in chosen:
                other = (chosen - {old}) | {new}
                score = instance.score(sorted(other))
                if score < current:
                    return other, score
    return None
