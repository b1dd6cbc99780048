"""Tier C: any task without cautious examples, as one optimisation on clingo.

Recursion, choice rules in background or contexts, negation without stratification: as positive examples
are brave, the task is one program with a copy for each example (`encoding`). The space is written down
level by level; a cut space still proves an optimum that costs no more than any rule beyond the cut.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Literal

from nsl_bench.budget import Budget, Expired
from nsl_bench.las.bias.space import Space, SpaceRule, growing_space
from nsl_bench.las.clingo_tiers.encoding import Demand, Joint, Outcome, demands
from nsl_bench.las.semantics.coverage import Score, score
from nsl_bench.las.task import LasTask, Solution

__all__ = ["Best", "chosen_rules", "solve_tier_c", "spaces", "unsatisfiable"]

_FEW = 100
"""Rules of the first part of a space that is tried, and by what factor the next ones grow."""
_GROWTH = 2
_GRACE = 3.0
"""Seconds that the scoring of what was found may take after time is up."""


def solve_tier_c(task: LasTask, budget: Budget | None = None) -> Solution:
    """Solve a task whose negative examples, if it has any, need no cautious reasoning.

    Args:
        task: the task.
        budget: when it expires, the best so far is returned; where memory is full, tier D takes over.

    Raises:
        UserError: the task's rules cannot be written down.
    """
    from nsl_bench.las.clingo_tiers.conflict_driven import solve_tier_d

    budget = budget or Budget()
    wanted = demands(task)
    best = Best(task, budget)
    statistics: dict[str, float] = {"distinct_examples": len(wanted)}
    for space in spaces(task, budget, statistics):
        joint = Joint(task, space.rules)
        if not joint.deterministic and any(demand.negative for demand in wanted):
            return solve_tier_d(task, budget, best)
        ground = time.monotonic()
        whole = joint.add(wanted, budget)
        statistics["seconds_ground"] = time.monotonic() - ground
        if budget.expired():
            break
        if not whole:
            return solve_tier_d(task, budget, best)
        searched = time.monotonic()
        outcome = joint.optimise(budget, best.total)
        statistics["seconds_solve"] = time.monotonic() - searched
        best.offer(chosen_rules(space.rules, outcome))
        best.raise_bound(outcome, space)
        if best.total is None and outcome.proven and space.horizon is None:
            return unsatisfiable(task, joint.clash(wanted, budget), statistics, "C")
        if best.is_proven or budget.expired():
            break
    return best.finish(statistics, "C", budget.ended_by)


def spaces(task: LasTask, budget: Budget, statistics: dict[str, float]) -> Iterator[Space]:
    """Larger and larger parts of the hypothesis space, until it is whole or `budget` has expired."""
    if budget.expired():
        return
    started = time.monotonic()
    least = _FEW
    untried: Space | None = None
    for space in growing_space(task, budget=budget):
        statistics["seconds_space"] = statistics.get("seconds_space", 0.0) + time.monotonic() - started
        statistics["rules"] = len(space.rules)
        untried = space
        if len(space.rules) >= least and not budget.expired():
            untried = None
            least = _GROWTH * len(space.rules)
            yield space
        started = time.monotonic()
    if untried is not None and not budget.expired():
        yield untried


def chosen_rules(rules: Sequence[SpaceRule], outcome: Outcome) -> tuple[str, ...] | None:
    """The texts of the rules that an outcome chose."""
    return None if outcome.chosen is None else tuple(rules[k].text for k in outcome.chosen)


def unsatisfiable(
    task: LasTask, clash: Sequence[Demand], statistics: dict[str, float], tier: Literal["C", "D"]
) -> Solution:
    """The answer to a task whose hard examples clash."""
    contents = [demand.content for demand in clash]
    names = [
        e.id
        for e in task.examples
        if e.penalty is None and (e.inclusions, e.exclusions, e.context) in contents
    ]
    shown = ", ".join(names[:10]) + (", ..." if len(names) > 10 else "")
    return Solution(
        "unsatisfiable",
        None,
        0,
        tier=tier,
        statistics=statistics,
        message=f"No hypothesis covers these examples together, and each must be covered: {shown}.",
    )


class Best:
    """The best hypothesis so far, scored by the independent coverage check, and the best bound."""

    def __init__(self, task: LasTask, budget: Budget) -> None:
        self._task = task
        self._budget = budget.with_grace(_GRACE)
        self._rules: tuple[str, ...] | None = None
        self._score: Score | None = None
        self.bound = 0
        self.offer(())

    @property
    def total(self) -> int | None:
        """The best score; None while no hypothesis is known that covers what must be covered."""
        return None if self._score is None else self._score.total

    @property
    def is_proven(self) -> bool:
        """Whether the best score is the bound."""
        return self.total is not None and self.total <= self.bound

    def offer(self, rules: tuple[str, ...] | None) -> Score | None:
        """Score a hypothesis and keep it if it is better; its score, None if there is no time for that."""
        if rules is None:
            return None
        try:
            found = score(self._task, rules, self._budget)
        except Expired:
            return None
        if not found.broken and (self._score is None or found.total < self._score.total):
            self._rules, self._score = rules, found
        return found

    def raise_bound(self, outcome: Outcome, space: Space) -> None:
        """Use the lower bound of an optimisation over a space that may be cut."""
        lower = outcome.lower
        if outcome.proven and outcome.chosen is None and self.total is None:
            lower = space.horizon or 0
        self.bound = max(self.bound, lower if space.horizon is None else min(lower, space.horizon))

    def finish(self, statistics: dict[str, float], tier: Literal["C", "D"], message: str = "") -> Solution:
        """What to answer."""
        if self._score is None or self._rules is None:
            text = message or "No hypothesis that covers all examples that must be covered was found in time."
            return Solution("feasible", None, self.bound, tier=tier, statistics=statistics, message=text)
        examples = list(zip(self._task.examples, self._score.covered, strict=True))
        return Solution(
            "optimal" if self.is_proven else "feasible",
            self._score.total,
            min(self.bound, self._score.total),
            self._rules,
            self._score.cost,
            tier,
            tuple(e.id for e, ok in examples if ok),
            tuple((e.id, e.penalty) for e, ok in examples if not ok and e.penalty is not None),
            statistics,
            message,
        )
