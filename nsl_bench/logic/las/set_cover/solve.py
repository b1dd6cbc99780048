"""Chooses rules at a proven optimum: from cheap methods to dear ones, as far as it takes.

First come reduction, a greedy choice and independent parts. A part goes to branch and bound by price, which
is quick where few rules compete under heavy noise, and to MaxSAT, which is quick where many rules hardly
interact. Where many rules compete for the same examples, neither finishes within the work that it is allowed;
then branch and bound with cost splitting goes on.
"""

from collections.abc import Sequence
from itertools import product

import numpy as np

from nsl_bench.core.budget import Budget
from nsl_bench.logic.las.set_cover.branch_and_bound import UNLIMITED, branch_and_bound
from nsl_bench.logic.las.set_cover.instance import Choice, Indices, Instance, prune, split

_FEW_RULES = 12
_SHARE_OF_MAXSAT = 0.6
_CONFLICTS = 30_000
_SECONDS_A_RULE = 1e-5
"""What MaxSAT takes to read that a rule touches a target, on a slow machine."""
_SECONDS_A_CELL, _BYTES_A_CELL = 1e-7, 24
"""What branch and bound takes to look at the matrix of rules and targets, on a slow machine."""


def solve(instance: Instance, budget: Budget | None = None) -> Choice:
    """The choice of least score; `rules` are candidates' indices.

    On a deadline, the best choice so far, with a bound.
    """
    incumbent = _chosen(instance, (), instance.score(()))
    instance = prune(instance, incumbent.score)
    if len(instance.rules) > _FEW_RULES:
        picked, score = greedy(instance, budget)
        if score < incumbent.score:
            incumbent = _chosen(instance, picked, score)
        instance = prune(instance, incumbent.score)
    if not len(instance.rules):
        return incumbent._replace(bound=incumbent.score, proven=True)
    parts = split(instance)
    if len(parts) > 1:
        return _by_parts(instance, parts, incumbent, budget)
    incumbent = _by_branching(instance, incumbent, budget)
    if incumbent.proven:
        return incumbent
    return _by_bounds(prune(instance, incumbent.score), incumbent, budget)


def _chosen(instance: Instance, picked: Sequence[int], score: int) -> Choice:
    """A choice (indices into `rules`) whose only proven bound is what every choice pays."""
    return Choice(instance.named(picked), score, instance.constant, False)


def _by_parts(instance: Instance, parts: Sequence[Instance], best: Choice, budget: Budget | None) -> Choice:
    """What the parts give together, or the choice known if that is no worse."""
    choices = [solve(part, budget) for part in parts]
    score = instance.constant + sum(choice.score for choice in choices)
    bound = instance.constant + sum(choice.bound for choice in choices)
    proven = all(choice.proven for choice in choices)
    if score < best.score:
        rules = tuple(sorted(rule for choice in choices for rule in choice.rules or ()))
        best = Choice(rules, score, bound, proven)
    return best._replace(bound=best.score if proven else min(bound, best.score), proven=proven)


def _by_branching(
    instance: Instance, incumbent: Choice, budget: Budget | None, work: int | None = None
) -> Choice:
    """Branch and bound by price, from a known choice and bound."""
    result = branch_and_bound(instance, incumbent.score, budget, work)
    bound = result.score if result.proven else min(max(incumbent.bound, result.bound), result.score)
    return result._replace(rules=incumbent.rules if result.rules is None else result.rules, bound=bound)


def _by_bounds(instance: Instance, incumbent: Choice, budget: Budget | None) -> Choice:
    """MaxSAT, and what is next where it does not finish."""
    from nsl_bench.logic.las.set_cover.configurations import is_searchable
    from nsl_bench.logic.las.set_cover.encoding import solve_by_maxsat

    timed = budget is not None and budget.deadline is not None
    share = budget.before(_SHARE_OF_MAXSAT) if budget is not None else None
    searchable = is_searchable(instance.capped(incumbent.score))
    touched = int(instance.supports.sum()) + int(instance.violates.sum())
    if searchable or share is None or share.allows(_SECONDS_A_RULE * touched):
        incumbent = solve_by_maxsat(instance, incumbent, share, _CONFLICTS if searchable else None)
    if incumbent.proven:
        return incumbent
    if not searchable:
        return _by_what_is_left(instance, incumbent, budget) if budget is not None and timed else incumbent
    from nsl_bench.logic.las.set_cover.lagrangian_search import search

    return search(instance, incumbent, budget)


def _by_what_is_left(instance: Instance, incumbent: Choice, budget: Budget) -> Choice:
    """A better choice or bound in the rest of the time, where many rules compete in many examples."""
    cells = len(instance.rules) * (len(instance.supports) + len(instance.weights))
    fits = _BYTES_A_CELL * cells < budget.room() and budget.allows(_SECONDS_A_CELL * cells)
    return _by_branching(instance, incumbent, budget, UNLIMITED) if fits else incumbent


_MOST_RULES_POLISHED = 400
_MOST_CHOSEN_POLISHED = 16
_EXCHANGES = 48


def greedy(instance: Instance, budget: Budget | None = None) -> tuple[tuple[int, ...], int]:
    """A good choice (indices into `rules`), and its score.

    Rules are added (Chvátal: "A greedy heuristic for the set-covering problem", Mathematics of Operations
    Research 1979), dropped and exchanged while that lowers the score.
    """
    return min((_greedy(instance, caution, budget) for caution in (0, 1)), key=lambda choice: choice[1])


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
    for old, new in product(sorted(best), offers):
        if new not in best and (exchanged := instance.score(sorted((best - {old}) | {new}))) < score:
            best, score = (best - {old}) | {new}, exchanged
            break
    return (best, score) if score < current else None
