"""Solving a learning task: the fast path where it applies, the general tiers where it does not."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from nsl_bench.asp.ground_program import Undecided
from nsl_bench.budget import Budget, heeding_interrupts
from nsl_bench.errors import UserError
from nsl_bench.las.checks import check_task
from nsl_bench.las.enumeration.bodies import Bodies
from nsl_bench.las.enumeration.candidates import (
    Candidate,
    Cells,
    Rule,
    candidates,
    given_candidates,
    head_forms,
    rule_text,
)
from nsl_bench.las.set_cover.maxsat import Backend
from nsl_bench.las.set_cover.problem import CoverProblem
from nsl_bench.las.set_cover.unsatisfiable_core import unsatisfiable_core
from nsl_bench.las.tables.columns import Columns
from nsl_bench.las.tables.formulas import Formula, Target, assign, choice_atom, demands, evaluate, targets
from nsl_bench.las.tables.grounding import ground
from nsl_bench.las.tables.literals import Vocabulary
from nsl_bench.las.task import LasTask, Solution, WeightedRule

__all__ = ["solve"]

_MOST_BRANCHES = 64
_ENUMERATION_SHARE = 0.7


def solve(
    task: LasTask,
    *,
    time_limit: float | None = None,
    memory_limit: int | None = None,
    backend: Backend = "rc2",
    progress: Callable[[str], None] | None = None,
) -> Solution:
    """The hypothesis of least score.

    Args:
        task: what to learn.
        time_limit: seconds; afterwards the best hypothesis so far is returned, with a lower bound.
        memory_limit: bytes that this process may hold.
        backend: MaxSAT solver.
        progress: is told in a few words what begins.

    Raises:
        UserError: the task is not one that can be learned from, e.g. it has no examples.
    """
    budget = Budget.of(time_limit, memory_limit)
    say = progress or _say_nothing
    with heeding_interrupts(budget):
        _check(task)
        try:
            say(f"{len(task.examples)} examples, tier A or B")
            return _Fast(task, budget, backend).solve()
        except Undecided as reason:
            from nsl_bench.las.clingo_tiers.one_shot import solve_tier_c

            say(f"tier C, for A and B do not apply: {reason}")
            solution = solve_tier_c(task, budget)
            return replace(solution, message=solution.message or f"tier A and B do not apply: {reason}")


def _say_nothing(words: str) -> None:
    """Tells nobody."""


def _check(task: LasTask) -> None:
    if not task.examples:
        raise UserError(f"{task.name}: the task has no examples, so there is nothing to learn from.")
    bias = task.bias
    if not bias.heads and not bias.rules and not bias.meta_modes:
        raise UserError(f"{task.name}: no '#modeh' says what rules may derive, so there is nothing to learn.")
    check_task(task)


@dataclass
class _Branch:
    """One way to choose the rules that are given whole."""

    chosen: tuple[int, ...]
    cost: int
    targets: list[Target]

    @property
    def floor(self) -> int:
        """What any choice of other rules costs at least."""
        return self.cost + sum(t.penalty or 0 for t in self.targets if t.condition is False)


class _Fast:
    """Tiers A and B: tables, enumeration, choice of rules."""

    def __init__(self, task: LasTask, budget: Budget, backend: Backend) -> None:
        self.task = task
        self.budget = budget
        self.backend = backend
        self.given: list[WeightedRule] = [*task.bias.instances(), *task.bias.rules]
        self.statistics: dict[str, float] = {}
        self._clock = time.perf_counter()

    def _lap(self, phase: str) -> None:
        now = time.perf_counter()
        self.statistics[f"seconds_{phase}"] = round(now - self._clock, 4)
        self._clock = now

    def solve(self) -> Solution:
        task = self.task
        columns = Columns.of(task.examples)
        grounding = ground(task, columns, [rule.rule for rule in self.given], self.budget)
        self._lap("grounding")
        goals = targets(task, grounding, len(self.given), self.budget)
        branches = self._branches(goals)
        cells = Cells([branch.targets for branch in branches], columns.words, columns.n)
        vocabulary = Vocabulary(task, grounding, self.budget)
        forms = head_forms(vocabulary, cells)
        self._lap("conditions")
        bodies = Bodies(vocabulary, self.budget.before(_ENUMERATION_SHARE))
        self._lap("tables")
        rules = candidates(bodies, forms, cells)
        if len(branches) == 1:
            rules += given_candidates(self.given, cells)
        self._lap("enumeration")
        self.statistics.update(
            examples=len(task.examples), contexts=columns.n, evaluated=bodies.evaluated, distinct=len(rules)
        )
        best: tuple[int, _Branch, tuple[int, ...]] | None = None
        bound: int | None = None
        proven = True
        for branch in sorted(branches, key=lambda b: b.cost):
            given = sum(rule.cost for rule in self.given)
            problem = CoverProblem(rules, branch.targets, cells, self.budget, given)
            below = None if best is None else best[0] - branch.cost
            choice = problem.solve(below, self.backend, self.budget, self.statistics)
            proven &= choice.proven
            low = choice.bound + branch.cost
            bound = low if bound is None else min(bound, low)
            if choice.rules is not None and (best is None or choice.score + branch.cost < best[0]):
                best = (choice.score + branch.cost, branch, choice.rules)
        assert best is not None and bound is not None
        self._lap("choice")
        score, branch, chosen = best
        if not bodies.complete:
            # rules that were not enumerated can do anything but cover the examples that none can cover
            proven, bound = False, min(branch.floor for branch in branches)
        return self._solution(
            score, min(bound, score), proven, branch, chosen, rules, bodies, vocabulary, cells
        )

    def _branches(self, goals: Sequence[Target]) -> list[_Branch]:
        """Choices of given rules that leave no more than needs and bans to the rest.

        Where that is all that there is from the start, given rules are candidates like others.
        """
        n = len(self.given)
        conditions = {id(goal.condition): goal.condition for goal in goals}.values()
        if all(each is False or demands(each) is not None for each in conditions):
            return [_Branch((), 0, list(goals))]
        if 2**n > _MOST_BRANCHES:
            raise Undecided("too many rules given whole")
        branches = []
        for chosen in itertools.product((False, True), repeat=n):
            values = {choice_atom(i): value for i, value in enumerate(chosen)}
            known: dict[int, Formula] = {}
            for goal in goals:
                if id(goal.condition) not in known:
                    condition = known[id(goal.condition)] = assign(goal.condition, values)
                    if condition is not False and demands(condition) is None:
                        raise Undecided("conditions that are more than needs and bans")
            simpler = [
                Target(goal.column, goal.penalty, known[id(goal.condition)], goal.examples) for goal in goals
            ]
            picked = tuple(i for i, value in enumerate(chosen) if value)
            branches.append(_Branch(picked, sum(self.given[i].cost for i in picked), simpler))
        return branches

    def _solution(
        self,
        score: int,
        bound: int,
        proven: bool,
        branch: _Branch,
        chosen: tuple[int, ...],
        rules: Sequence[Candidate],
        bodies: Bodies,
        vocabulary: Vocabulary,
        cells: Cells,
    ) -> Solution:
        picked = [Rule(self.given[i].cost, given=self.given[i].rule) for i in branch.chosen]
        picked += [rules[i].rule for i in chosen]
        tier: Literal["A", "B"] = "B" if self.given else "A"
        covered = self._covered(branch, [rules[i] for i in chosen], cells)
        missed = [i for i, holds in enumerate(covered) if not holds]
        required = [self.task.examples[i].id for i in missed if self.task.examples[i].penalty is None]
        if required:
            return Solution(
                status="unsatisfiable" if proven else "feasible",
                score=None,
                bound=0,
                tier=tier,
                statistics=dict(self.statistics),
                message=self._clash(branch, rules, cells),
            )
        ids = [example.id for example in self.task.examples]
        return Solution(
            status="optimal" if proven else "feasible",
            score=score,
            bound=score if proven else bound,
            hypothesis=tuple(rule_text(rule, bodies.literals, vocabulary) for rule in picked),
            cost=sum(rule.cost for rule in picked),
            tier=tier,
            covered=tuple(name for name, holds in zip(ids, covered, strict=True) if holds),
            uncovered=tuple((ids[i], self.task.examples[i].penalty or 0) for i in missed),
            statistics=dict(self.statistics),
        )

    def _clash(self, branch: _Branch, rules: Sequence[Candidate], cells: Cells) -> str:
        """Which examples cannot be covered together."""
        hard = [target for target in branch.targets if target.penalty is None]
        names = [f"'{self.task.examples[t.examples[0]].id}'" for t in unsatisfiable_core(hard, rules, cells)]
        if len(names) == 1:
            return f"no hypothesis covers example {names[0]}, which must be covered."
        listed = ", ".join(names[:-1]) + f" and {names[-1]}"
        return f"no hypothesis covers the examples {listed} together, which must all be covered."

    def _covered(self, branch: _Branch, chosen: Sequence[Candidate], cells: Cells) -> list[bool]:
        """Which examples the chosen rules cover."""
        filled = np.zeros((len(cells.row), cells.n), np.bool_)
        for candidate in chosen:
            filled[candidate.cells()] = True
        covered = [False] * len(self.task.examples)
        for target in branch.targets:
            column = filled[:, target.column]
            holds = evaluate(target.condition, lambda atom, column=column: bool(column[cells.row[atom]]))  # type: ignore[misc]
            for example in target.examples:
                covered[example] = holds
        return covered
