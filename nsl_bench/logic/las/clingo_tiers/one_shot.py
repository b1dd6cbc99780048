"""Tier C: any task without cautious examples, as one optimisation on clingo.

Recursion, choice rules in background or contexts, negation without stratification: as positive examples
are brave, the task is one program with a replica for each example (`encoding`). The space is written down
level by level; a cut space still proves an optimum that costs no more than any rule beyond the cut.
"""

from __future__ import annotations

import time
from collections.abc import Iterable

from nsl_bench.core.budget import Budget, Undecided
from nsl_bench.logic.las.bias.space import Space
from nsl_bench.logic.las.clingo_tiers.demands import Demand, Problem
from nsl_bench.logic.las.clingo_tiers.encoding import Encoding
from nsl_bench.logic.las.clingo_tiers.incumbent import Incumbent
from nsl_bench.logic.las.clingo_tiers.optimisation import Outcome, optimise, unsatisfiable_core
from nsl_bench.logic.las.clingo_tiers.prover import Prover

__all__ = ["search_at_once"]


def search_at_once(
    problem: Problem,
    parts: Iterable[Space],
    incumbent: Incumbent,
    budget: Budget,
    statistics: dict[str, float],
    threads: int = 1,
) -> tuple[Demand, ...] | None:
    """Search a space part by part until the incumbent is proven or the budget is used up.

    Args:
        problem: the problem; negative examples are allowed where no hypothesis has several answer sets.
        parts: larger and larger parts of the hypothesis space.
        incumbent: is offered what is found.
        budget: when to stop.
        statistics: is told the seconds of grounding and search.
        threads: of clingo.

    Returns:
        Hard demands that no hypothesis meets together, if there are such; else None.

    Raises:
        Undecided: another tier is needed: the examples do not fit into memory, or negative ones need
            cautious reasoning.
        UserError: costs and penalties are more than clingo can hold.
    """
    negative = any(demand.negative for demand in problem.demands)
    for space in parts:
        encoding = Encoding(problem, space.rules)
        if negative and not encoding.deterministic:
            raise Undecided("negative examples have several answer sets to be checked")
        started = time.monotonic()
        complete = encoding.ground(problem.demands, budget)
        statistics["seconds_ground"] = time.monotonic() - started
        if budget.expired():
            return None
        if not complete:
            raise Undecided("the examples do not fit into memory together")
        started = time.monotonic()
        outcome = _optimum(problem, space, encoding, incumbent, budget, threads)
        statistics["seconds_solve"] = time.monotonic() - started
        if outcome.chosen is not None:
            incumbent.offer(tuple(space.rules[k].text for k in outcome.chosen), final=True)
        incumbent.raise_bound(outcome, space)
        if not outcome.proven and not budget.expired():
            raise Undecided("memory ran out in the search")
        if outcome.proven and outcome.chosen is None and incumbent.total is None and space.horizon is None:
            return unsatisfiable_core(encoding, problem, problem.demands, budget)
        if incumbent.is_proven or budget.expired():
            return None
    return None


def _optimum(
    problem: Problem, space: Space, encoding: Encoding, incumbent: Incumbent, budget: Budget, threads: int
) -> Outcome:
    """The outcome of the search by one thread, helped by the proof of others."""
    if threads < 2:
        return optimise(encoding, budget, lambda: incumbent.total, incumbent.follow(space))

    def encode(own: Budget) -> Encoding | None:
        other = Encoding(problem, space.rules)
        return other if other.ground(problem.demands, own) else None

    prover = Prover(encode, threads - 1, incumbent.total, budget)
    try:
        return optimise(
            encoding, budget, lambda: incumbent.total, incumbent.follow(space), known=lambda: prover.lower
        )
    finally:
        prover.stop()
