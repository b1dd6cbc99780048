"""Weighted partial MaxSAT: one small interface, two solvers.

RC2 of python-sat does the work. clingo's optimisation is the alternative where all weights together fit into
32 bits.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from nsl_bench.budget import Budget

__all__ = ["Backend", "MaxSat", "Optimum"]

Backend = Literal["rc2", "clingo"]

_CLINGO_MOST = (1 << 31) - 1


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

    def solve(
        self, backend: Backend = "rc2", budget: Budget | None = None, conflicts: int | None = None
    ) -> Optimum:
        """Solves it.

        Args:
            backend: which solver; RC2 stands in for clingo where the weights together exceed 32 bits.
            budget: when to stop; None: never.
            conflicts: of the solver, after which to stop; None: never.
        """
        if backend == "clingo" and sum(self.soft.values()) <= _CLINGO_MOST:
            return self._clingo(budget, conflicts)
        return self._rc2(budget, conflicts)

    def _rc2(self, budget: Budget | None, conflicts: int | None) -> Optimum:
        from pysat.formula import WCNF

        from nsl_bench.las.set_cover.rc2 import CoreGuided

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

    def _clingo(self, budget: Budget | None, conflicts: int | None) -> Optimum:
        from clingo import Control

        limit = [] if conflicts is None else [f"--solve-limit={conflicts}"]
        control = Control(["--warn=none", "--opt-strategy=bb,lin", "--parallel-mode=1", *limit])
        with control.backend() as backend:
            for variable in range(1, self.variables + 1):
                backend.add_atom()
                backend.add_rule([variable], [], choice=True)
            for clause in self.hard:
                backend.add_rule([], [-literal for literal in clause])
            backend.add_minimize(0, [(-literal, weight) for literal, weight in self.soft.items()])
        best: frozenset[int] | None = None
        cost = 0
        proven = False
        with control.solve(yield_=True, async_=True) as handle:
            while True:
                handle.resume()
                while not handle.wait(0.1):
                    if budget is not None and budget.expired():
                        break
                if not handle.wait(0):
                    handle.cancel()
                    break
                model = handle.model()
                if model is None:
                    result = handle.get()
                    proven = bool(result.exhausted)
                    break
                cost = model.cost[0] if model.cost else 0
                best = frozenset(v for v in range(1, self.variables + 1) if model.is_true(v))
        return Optimum(best, cost, cost if proven else 0, proven)
