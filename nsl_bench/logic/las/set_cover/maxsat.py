"""Weighted partial MaxSAT by RC2 of python-sat."""

from __future__ import annotations

from dataclasses import dataclass, field

from nsl_bench.core.budget import Budget

__all__ = ["MaxSat", "Optimum"]


@dataclass(frozen=True)
class Optimum:
    """What a solver found.

    Attributes:
        model: the variables that are true, None if there is no model (yet).
        cost: weight of the violated soft clauses in `model`.
        bound: no model violates less.
        proven: `model` is optimal, or it is None and the hard clauses are unsatisfiable.
    """

    model: frozenset[int] | None
    cost: int
    bound: int
    proven: bool


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

    def solve(self, budget: Budget | None = None, conflicts: int | None = None) -> Optimum:
        """Solves it.

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
            return Optimum(solver.best, solver.best_cost, solver.bound, proven)
        finally:
            solver.close()
