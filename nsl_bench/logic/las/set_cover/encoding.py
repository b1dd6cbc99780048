"""An instance as weighted partial MaxSAT, solved by RC2 of python-sat."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from nsl_bench.core.budget import Budget
from nsl_bench.logic.las.set_cover.instance import Choice, Flags, Instance

__all__ = ["MaxSat", "solve_by_maxsat"]


@dataclass
class MaxSat:
    """A problem: hard clauses, and literals with a weight each that should be true."""

    variables: int = 0
    hard: list[list[int]] = field(default_factory=list)
    soft: dict[int, int] = field(default_factory=dict)

    def new(self) -> int:
        """A new variable."""
        self.variables += 1
        return self.variables

    def prefer(self, literal: int, weight: int) -> None:
        """Makes violating `literal` cost `weight` more."""
        if weight:
            self.soft[literal] = self.soft.get(literal, 0) + weight

    def solve(self, budget: Budget | None = None, conflicts: int | None = None) -> Choice:
        """The true variables of the best model (None: there is none, or none yet), and what it violates.

        Args:
            budget: when to stop; None: never.
            conflicts: of the solver, after which to stop; None: never.
        """
        from pysat.formula import WCNF

        from nsl_bench.logic.las.set_cover.rc2 import CoreGuided

        formula = WCNF()
        for clause in self.hard:
            formula.append(clause)
        for literal, weight in self.soft.items():
            formula.append([literal], weight=weight)
        formula.nv = max(formula.nv, self.variables)
        solver = CoreGuided(formula, self.soft, budget, conflicts)
        try:
            proven = solver.run()
            return Choice(solver.best, solver.best_cost, solver.bound, proven)
        finally:
            solver.close()


def solve_by_maxsat(
    instance: Instance, known: Choice, budget: Budget | None = None, conflicts: int | None = None
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
    if optimum.rules is not None and optimum.score + instance.constant < score:
        model = set(optimum.rules)
        rules = instance.named(i for i, variable in enumerate(chosen) if variable in model)
        score = optimum.score + instance.constant
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
