"""Chooses rules at a proven optimum: from cheap methods to dear ones, as far as it takes.

First come reduction, a greedy choice and independent parts. A part goes to branch and bound by price, which
is quick where few rules compete under heavy noise, and to MaxSAT, which is quick where many rules hardly
interact. Where many rules compete for the same examples, neither finishes within the work that it is allowed;
then branch and bound with cost splitting goes on.
"""

from __future__ import annotations

from collections.abc import Sequence

from nsl_bench.core.budget import Budget
from nsl_bench.logic.las.set_cover.branch_and_bound import UNLIMITED, branch_and_bound
from nsl_bench.logic.las.set_cover.greedy import greedy
from nsl_bench.logic.las.set_cover.instance import Choice, Instance
from nsl_bench.logic.las.set_cover.reduction import prune, split

_FEW_RULES = 12
_SHARE_OF_MAXSAT = 0.6
_CONFLICTS = 30_000


def solve(instance: Instance, budget: Budget | None = None) -> Choice:
    """The choice of least score; `rules` are candidates' indices.

    On a deadline, the best choice so far, with a bound.
    """
    known = _chosen(instance, (), instance.score(()))
    instance = prune(instance, known.score)
    if len(instance.rules) > _FEW_RULES:
        picked, score = greedy(instance, budget)
        if score < known.score:
            known = _chosen(instance, picked, score)
        instance = prune(instance, known.score)
    if not len(instance.rules):
        return known._replace(bound=known.score, proven=True)
    parts = split(instance)
    if len(parts) > 1:
        return _by_parts(instance, parts, known, budget)
    known = _by_branching(instance, known, budget)
    if known.proven:
        return known
    return _by_bounds(prune(instance, known.score), known, budget)


def _chosen(instance: Instance, picked: Sequence[int], score: int) -> Choice:
    """A choice (indices into `rules`) about which nothing is proven but what no choice avoids."""
    return Choice(instance.named(picked), score, instance.constant, False)


def _by_parts(instance: Instance, parts: Sequence[Instance], known: Choice, budget: Budget | None) -> Choice:
    """What the parts give together, or the choice known if that is no worse."""
    choices = [solve(part, budget) for part in parts]
    score = instance.constant + sum(choice.score for choice in choices)
    bound = instance.constant + sum(choice.bound for choice in choices)
    proven = all(choice.proven for choice in choices)
    if score < known.score:
        rules = tuple(sorted(rule for choice in choices for rule in choice.rules or ()))
        known = Choice(rules, score, bound, proven)
    return known._replace(bound=known.score if proven else min(bound, known.score), proven=proven)


def _by_branching(
    instance: Instance, known: Choice, budget: Budget | None, work: int | None = None
) -> Choice:
    """Branch and bound by price, from a known choice and bound."""
    found = branch_and_bound(instance, known.score, budget, work)
    bound = found.score if found.proven else min(known.bound, found.score)
    return found._replace(rules=known.rules if found.rules is None else found.rules, bound=bound)


def _by_bounds(instance: Instance, known: Choice, budget: Budget | None) -> Choice:
    """MaxSAT, and what is next where it does not finish."""
    from nsl_bench.logic.las.set_cover.configurations import is_searchable
    from nsl_bench.logic.las.set_cover.encoding import solve_by_maxsat

    timed = budget is not None and budget.deadline is not None
    share = budget.before(_SHARE_OF_MAXSAT) if budget is not None else None
    searchable = is_searchable(instance.capped(known.score))
    known = solve_by_maxsat(instance, known, share, _CONFLICTS if searchable else None)
    if known.proven:
        return known
    if not searchable:
        return _by_branching(instance, known, budget, UNLIMITED) if timed else known
    from nsl_bench.logic.las.set_cover.lagrangian_search import search

    return search(instance, known, budget)
