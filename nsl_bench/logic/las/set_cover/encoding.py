"""An instance as weighted partial MaxSAT."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nsl_bench.core.budget import Budget
from nsl_bench.logic.las.set_cover.instance import Choice, Flags, Instance
from nsl_bench.logic.las.set_cover.maxsat import MaxSat

__all__ = ["solve_by_maxsat"]


def solve_by_maxsat(
    instance: Instance,
    known: Choice,
    budget: Budget | None = None,
    conflicts: int | None = None,
) -> Choice:
    """The choice of least score.

    Args:
        instance: what to choose in.
        known: a choice so far (indices of candidates), which comes back if nothing is better.
        budget: when to stop; None: never.
        conflicts: of the solver, after which to stop; None: never.
    """
    problem, chosen = encoded(instance.capped(known.score))
    optimum = problem.solve(budget, conflicts)
    rules, score = known.rules, known.score
    if optimum.model is not None and optimum.cost + instance.constant < score:
        picked = [i for i, variable in enumerate(chosen) if variable in optimum.model]
        rules = tuple(sorted(instance.rules[picked].tolist()))
        score = optimum.cost + instance.constant
    low = max(known.bound, optimum.bound + instance.constant)
    return Choice(rules, score, score if optimum.proven else min(score, low), optimum.proven)


def encoded(instance: Instance) -> tuple[MaxSat, list[int]]:
    """The problem, whose violated weight is the score less the constant, and each rule's variable."""
    problem = MaxSat()
    chosen = [problem.new() for _ in instance.rules]
    for variable, cost in zip(chosen, instance.costs.tolist(), strict=True):
        problem.prefer(-variable, cost)
    met = [_implying(problem, row, chosen, some=True) for row in instance.supports]
    inviolate: dict[bytes, int] = {}
    for needs, violators, weight in zip(
        instance.needs, instance.violates, instance.weights.tolist(), strict=True
    ):
        conditions = [met[need] for need in needs]
        if violators.any():
            key = violators.tobytes()
            if key not in inviolate:
                inviolate[key] = _implying(problem, violators, chosen, some=False)
            conditions.append(inviolate[key])
        if len(conditions) == 1:
            problem.prefer(conditions[0], weight)
            continue
        covered = problem.new()
        problem.hard.extend([-covered, condition] for condition in conditions)
        problem.prefer(covered, weight)
    return problem, chosen


def _implying(problem: MaxSat, row: Flags, chosen: Sequence[int], *, some: bool) -> int:
    """A literal that implies that some (or none) of the rules in `row` is chosen."""
    members = [chosen[i] for i in np.flatnonzero(row).tolist()]
    if len(members) == 1:
        return members[0] if some else -members[0]
    literal = problem.new()
    if some:
        problem.hard.append([-literal, *members])
    else:
        problem.hard.extend([-literal, -member] for member in members)
    return literal
