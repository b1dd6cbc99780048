"""Weighted partial MaxSAT: one small interface, two solvers.

RC2 of python-sat does the work; clingo's optimisation is the alternative, and takes over when a
deadline asks for a best answer so far.
"""

from __future__ import annotations

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

    def solve(
        self, backend: Backend = "rc2", deadline: float | None = None, below: int | None = None
    ) -> Optimum:
        """Solves it.

        Args:
            backend: which solver.
            deadline: `time.monotonic` value at which to stop; None: never.
            below: only models of less cost are of interest; finding that there is none is a proof too,
                given as no model with `bound` at least `below`.
        """
        if backend == "rc2":
            return self._rc2(deadline, below)
        return self._clingo(deadline, below)

    def _rc2(self, deadline: float | None, below: int | None) -> Optimum:
        from pysat.examples.rc2 import RC2Stratified
        from pysat.formula import WCNF

        formula = WCNF()
        for clause in self.hard:
            formula.append(clause)
        formula.nv = max(formula.nv, self.variables)
        for literal, weight in self.soft.items():
            formula.append([literal], weight=weight)
        with RC2Stratified(formula, solver="g4", adapt=True, exhaust=True, minz=True, incr=False) as solver:
            timer = None
            if deadline is not None:
                import threading

                timer = threading.Timer(max(deadline - time.monotonic(), 0.01), solver.interrupt)
                timer.start()
            try:
                model = solver.compute(expect_interrupt=deadline is not None)
            finally:
                if timer is not None:
                    timer.cancel()
            if model is not None:
                return Optimum(frozenset(v for v in model if v > 0), solver.cost, solver.cost, True)
            stopped = deadline is not None and time.monotonic() >= deadline
            return Optimum(None, 0, solver.cost if stopped else 0, not stopped)

    def _clingo(self, deadline: float | None, below: int | None) -> Optimum:
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
