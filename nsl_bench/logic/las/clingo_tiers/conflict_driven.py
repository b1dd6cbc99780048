"""Tier D: conflict-driven learning, for cautious examples and for groundings that are too large.

As ILASP 4 (Law: "Conflict-driven inductive logic programming", 2021) it proposes the best hypothesis
under what is known so far, looks for what that misses, and adds it: an example that is not covered is
grounded (and with it the dearest others that are missed), and an answer set that satisfies a negative
example becomes a condition on the rules under which it is an answer set no more (`counterexamples`). Each
proposal's score is a lower bound; once one scores on all examples what it was proposed for, it is an optimum.

Every round adds an example or a condition that the proposal violates, so that none is proposed twice at
the same cost. A round that adds nothing ends the search: its bounds stand, its best hypothesis is feasible.
"""

import time
from collections.abc import Iterable, Sequence

from nsl_bench.core.budget import Budget, Undecided
from nsl_bench.logic.las.bias.space import Space, SpaceRule
from nsl_bench.logic.las.clingo_tiers.counterexamples import Oracle, forbid
from nsl_bench.logic.las.clingo_tiers.demands import Demand, Problem
from nsl_bench.logic.las.clingo_tiers.encoding import Encoding
from nsl_bench.logic.las.clingo_tiers.incumbent import Incumbent
from nsl_bench.logic.las.clingo_tiers.optimisation import Outcome, optimise, unsatisfiable_core

_FIRST_EXAMPLES = 16


def search_by_conflicts(
    problem: Problem,
    parts: Iterable[Space],
    incumbent: Incumbent,
    budget: Budget,
    statistics: dict[str, float],
) -> tuple[Demand, ...] | None:
    """Search a space part by part until the incumbent is proven or the budget is used up.

    Args:
        parts: larger and larger parts of the hypothesis space.
        incumbent: is offered what is found.
        statistics: is told the number of proposals and of counterexamples.

    Returns:
        Hard demands that no hypothesis meets together, if there are such; else None.
    """
    statistics.update(proposals=0, counterexamples=0)
    for space in parts:
        search = _Search(problem, space, budget)
        core = search.run(incumbent, statistics)
        if core is not None or incumbent.is_proven:
            return core
    return None


class _Search:
    """The search of one part of the space: the proposer, and the oracle that finds counterexamples.

    Args:
        space: the part of the hypothesis space.
    """

    def __init__(self, problem: Problem, space: Space, budget: Budget) -> None:
        self._problem = problem
        self._space = space
        self._budget = budget
        self._oracle: Oracle | None = None
        negative = [demand for demand in problem.demands if demand.negative]
        priced = [demand for demand in negative if demand.price]
        self._payments = {demand.content: i for i, demand in enumerate(priced)}
        self._proposer = Encoding(problem, space.rules, prices=[demand.price for demand in priced])
        grounded = list(problem.demands)
        self._cautious: list[Demand] = []
        if not self._proposer.deterministic:
            grounded = [demand for demand in grounded if demand.positive]
            self._cautious = negative
        self._order = sorted(grounded, key=lambda d: (not d.is_hard, -max(d.penalty, d.price)))
        self._proposed: set[tuple[tuple[int, ...], int]] = set()

    @property
    def _rules(self) -> Sequence[SpaceRule]:
        return self._space.rules

    def run(self, incumbent: Incumbent, statistics: dict[str, float]) -> tuple[Demand, ...] | None:
        """Propose and refute until the part's optimum is known; see `search_by_conflicts`."""
        started = time.monotonic()
        pending = self._order
        step = _FIRST_EXAMPLES
        while True:
            if not self._proposer.ground(pending[:step], self._budget):
                raise Undecided("time or memory ran out while examples were grounded")
            step *= 2
            outcome = optimise(
                self._proposer, self._budget, lambda: incumbent.total, incumbent.follow(self._space)
            )
            statistics["proposals"] += 1
            statistics["seconds"] = statistics.get("seconds", 0.0) + time.monotonic() - started
            started = time.monotonic()
            incumbent.raise_bound(outcome, self._space)
            if outcome.chosen is None:
                return self._core(outcome, incumbent)
            score = incumbent.offer(tuple(self._rules[k].text for k in outcome.chosen))
            if incumbent.is_proven:
                return None
            if score is None or not outcome.proven:
                raise Undecided("time or memory ran out")
            if score.total == outcome.cost and not score.broken:
                return None
            self._check_progress(outcome)
            uncovered = incumbent.missed(score, positive=True)
            violated = incumbent.missed(score, positive=False)
            is_grounded = self._proposer.is_grounded
            pending = [d for d in self._order if d.content in uncovered | violated and not is_grounded(d)]
            refuted = self._refute([d for d in self._cautious if d.content in violated], outcome.chosen)
            statistics["counterexamples"] += refuted
            if not pending and not refuted:
                raise Undecided("no counterexample to the last proposal was found in time and memory")

    def _core(self, outcome: Outcome, incumbent: Incumbent) -> tuple[Demand, ...] | None:
        """The unsatisfiable core where no hypothesis is left; None where the incumbent stands."""
        if not outcome.proven:
            raise Undecided("time or memory ran out")
        if incumbent.total is not None or self._space.horizon is not None:
            return None
        grounded = [demand for demand in self._order if self._proposer.is_grounded(demand)]
        return unsatisfiable_core(self._proposer, self._problem, grounded, self._budget)

    def _check_progress(self, outcome: Outcome) -> None:
        """Raise `Undecided` where a hypothesis is proposed again although what it misses was added."""
        assert outcome.chosen is not None
        proposal = (outcome.chosen, outcome.cost)
        if proposal in self._proposed:
            raise Undecided("a hypothesis was proposed again after it had been refuted")
        self._proposed.add(proposal)

    def _refute(self, violated: Sequence[Demand], chosen: Sequence[int]) -> int:
        """Add a condition for each answer set found that satisfies a negative example; how many."""
        if not violated:
            return 0
        if self._oracle is None:
            self._oracle = Oracle(self._problem, self._rules)
        oracle = self._oracle
        witnesses = oracle.witnesses(violated, chosen, self._budget)
        own = [self._proposer.literal("chosen", k) for k in range(len(self._rules))]
        literals = {literal: own[k] for literal, k in oracle.chosen_literals.items()}
        chosen_literals = {literal: mine for literal, mine in literals.items() if mine is not None}
        relaxed = self._proposer.literal("relaxed")
        for demand, ground, true in witnesses:
            with self._proposer.control.backend() as backend:
                stays = forbid(backend, ground, true, chosen_literals)
                if demand.forbidden:
                    backend.add_rule([], [stays, *([] if relaxed is None else [-relaxed])])
                if demand.price:
                    paid = self._proposer.literal("paid", self._payments[demand.content])
                    backend.add_rule([], [stays, *([] if paid is None else [-paid])])
        if oracle.is_spent:
            self._oracle = None
        return len(witnesses)
