"""An instance as weighted partial MaxSAT, solved by RC2 of python-sat.

Ignatiev, Morgado, Marques-Silva: "RC2: an efficient MaxSAT solver", JSAT 2019. It can be stopped at any
time and then knows its best model and its bound: each call of the SAT solver runs in a second thread, so
that the first one can watch the budget.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from pysat.examples.rc2 import RC2Stratified
from pysat.formula import WCNF

from nsl_bench.core.budget import Budget
from nsl_bench.logic.las.set_cover.instance import Choice, Flags, Instance, integers

_OFFER_SECONDS = 0.25


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


def solve_by_maxsat(
    instance: Instance, incumbent: Choice, budget: Budget | None = None, conflicts: int | None = None
) -> Choice:
    """The choice of least score.

    Args:
        conflicts: of the solver, after which to stop; None: never.
    """
    problem, chosen = encoded(instance.capped(incumbent.score))
    formula = WCNF()
    formula.extend(problem.hard)
    formula.extend([[literal] for literal in problem.soft], weights=list(problem.soft.values()))
    formula.nv = max(formula.nv, problem.variables)
    solver = _CoreGuided(formula, problem.soft, budget, conflicts)
    try:
        proven = solver.run()
    finally:
        solver.close()
    rules, score = incumbent.rules, incumbent.score
    if solver.best is not None and solver.best_cost + instance.constant < score:
        model = set(solver.best)
        rules = instance.named(i for i, variable in enumerate(chosen) if variable in model)
        score = solver.best_cost + instance.constant
    low = max(incumbent.bound, solver.bound + instance.constant)
    return Choice(rules, score, score if proven else min(score, low), proven)


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


class _Stopped(Exception):
    """The budget or the work allowed is used up."""


class _Rc2(RC2Stratified):  # type: ignore[misc]
    """RC2 that asks before and reports after each call of its SAT solver."""

    watcher: _CoreGuided
    minimizing = False

    def minimize_core(self) -> None:
        self.minimizing = True
        super().minimize_core()
        self.minimizing = False

    def _call_oracle(self, assumptions: Sequence[int] = (), expect_interrupt: bool = False) -> Any:
        left = self._conflicts_left()
        # cores are minimized under a budget of RC2's own
        if left is not None and not self.minimizing:
            self.oracle.conf_budget(left)
        result = self.oracle.solve_limited(assumptions=list(assumptions), expect_interrupt=True)
        if self._conflicts_left() is not None and result is None and not self.minimizing:
            raise _Stopped
        if result and time.monotonic() > self.watcher.next_offer:
            self.watcher.offer(self.oracle.get_model())
            self.watcher.next_offer = time.monotonic() + _OFFER_SECONDS
        return result

    def _conflicts_left(self) -> int | None:
        """Conflicts that are still allowed, None for any number."""
        if self.watcher.stop.is_set():
            raise _Stopped
        if self.watcher.conflicts is None:
            return None
        left = self.watcher.conflicts - int(self.oracle.accum_stats()["conflicts"])
        if left <= 0:
            raise _Stopped
        return left


class _CoreGuided:
    """One MaxSAT problem.

    Attributes:
        best: variables that are true in the best model so far, None without one.
        bound: no model violates less.
        conflicts: how many the SAT solver may have; None: any number.
    """

    def __init__(
        self, formula: Any, soft: Mapping[int, int], budget: Budget | None, conflicts: int | None = None
    ) -> None:
        self.budget = budget
        self.conflicts = conflicts
        self.stop = threading.Event()
        self.best: tuple[int, ...] | None = None
        self.best_cost = 0
        self.bound = 0
        self.next_offer = 0.0
        self._literals = np.array(list(soft), np.int64)
        self._weights = integers(soft.values())
        self._solver = _Rc2(formula, solver="g4", adapt=True, exhaust=True, minz=True)
        self._solver.watcher = self

    def offer(self, model: Sequence[int]) -> None:
        """Takes in a model of the hard clauses."""
        values = np.asarray(model, np.int64)
        signs = np.zeros(int(np.abs(values).max(initial=0)) + 1, np.bool_)
        signs[values[values > 0]] = True
        is_encoded = np.abs(self._literals) < len(signs)
        true = np.where(is_encoded, signs[np.where(is_encoded, np.abs(self._literals), 0)], False)
        cost = int(self._weights[true != (self._literals > 0)].sum())
        if self.best is None or cost < self.best_cost:
            self.best, self.best_cost = tuple(np.flatnonzero(signs).tolist()), cost

    def run(self) -> bool:
        """Solves until done or stopped; whether that is a proof."""
        outcome: list[list[int] | None] = []
        failures: list[BaseException] = []

        def work() -> None:
            try:
                outcome.append(self._solver.compute(expect_interrupt=True))
            except _Stopped:
                pass
            except BaseException as error:  # handed to the caller's thread
                failures.append(error)

        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        try:
            while thread.is_alive():
                thread.join(0.05)
                if self.budget is not None and self.budget.expired():
                    self._halt()
        finally:
            # the SAT solver must not be freed while it works
            while thread.is_alive():
                self._halt()
                thread.join(0.05)
        if failures:
            raise failures[0]
        self.bound = int(self._solver.cost)
        if not outcome:
            return False
        if outcome[0] is not None:
            self.best = tuple(v for v in outcome[0] if v > 0)
            self.best_cost = self.bound
        return True

    def _halt(self) -> None:
        self.stop.set()
        self._solver.oracle.interrupt()

    def close(self) -> None:
        """Frees the SAT solver."""
        self._solver.delete()
