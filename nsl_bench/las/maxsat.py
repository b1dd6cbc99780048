"""Weighted partial MaxSAT: one small interface, two solvers.

RC2 of python-sat does the work; clingo's optimisation is the alternative, and takes over when a
deadline asks for a best answer so far.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import Literal

__all__ = ["Backend", "MaxSat", "Optimum"]

Backend = Literal["rc2", "clingo"]


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

    def solve(self, backend: Backend = "rc2", deadline: float | None = None) -> Optimum:
        """Solves it.

        Args:
            backend: which solver.
            deadline: `time.monotonic` value at which to stop; None: never. Ctrl-C stops it, too.
        """
        return self._rc2(deadline) if backend == "rc2" else self._clingo(deadline)

    def _rc2(self, deadline: float | None) -> Optimum:
        from pysat.examples.rc2 import RC2Stratified
        from pysat.formula import WCNF

        formula = WCNF()
        for clause in self.hard:
            formula.append(clause)
        for literal, weight in self.soft.items():
            formula.append([literal], weight=weight)
        formula.nv = max(formula.nv, self.variables)
        with RC2Stratified(formula, solver="g4", adapt=True, exhaust=True, minz=True) as solver:
            outcome: list[list[int] | None] = []
            thread = threading.Thread(
                target=lambda: outcome.append(solver.compute(expect_interrupt=True)), daemon=True
            )
            thread.start()
            stopped = False
            while thread.is_alive():
                try:
                    thread.join(0.2)
                except KeyboardInterrupt:
                    stopped = True
                stopped = stopped or (deadline is not None and time.monotonic() >= deadline)
                if stopped:
                    solver.interrupt()
                    thread.join()
            model = outcome[0] if outcome else None
            if model is None:
                return Optimum(None, 0, int(solver.cost), not stopped)
            return Optimum(frozenset(v for v in model if v > 0), int(solver.cost), int(solver.cost), True)

    def _clingo(self, deadline: float | None) -> Optimum:
        from clingo import Control

        control = Control(["--warn=none", "--opt-strategy=bb,lin", "--parallel-mode=1"])
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
                left = None if deadline is None else max(deadline - time.monotonic(), 0.0)
                if not handle.wait(left):
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
