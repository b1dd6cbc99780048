"""The best hypothesis so far and the best lower bound, whichever tier found them, and their answer."""

import time
from collections.abc import Callable, Mapping, Sequence

from nsl_bench.core.budget import Budget, Expired
from nsl_bench.logic.las.bias.space import Space
from nsl_bench.logic.las.clingo_tiers.demands import Demand, Problem
from nsl_bench.logic.las.clingo_tiers.optimisation import Outcome
from nsl_bench.logic.las.semantics.coverage import Content, Score, content, score
from nsl_bench.logic.las.task import LasTask, Solution, Tier, uncoverable

_GRACE = 0.3
"""Seconds that the scoring of what was found may take after time is up."""
_PAUSE = 4
"""For how many times the seconds of scoring none is scored again, while the search goes on."""


class Incumbent:
    """The best hypothesis so far, scored by the coverage check, and the best bound.

    Args:
        problem: the same task as the tiers see it.
        budget: when to stop; what was found by then is still scored, for some seconds.
        tell: is handed each better answer.
        before: the tiers that have been tried.

    Attributes:
        problem: the same task as the tiers see it.
        budget: when to stop.
        bound: no hypothesis has a score below this one.
        empty: the score of the empty hypothesis; None if there was no time for that.
        contradiction: what shows that bound or score is wrong, if something does; nothing is optimal then.
    """

    def __init__(
        self,
        task: LasTask,
        problem: Problem,
        budget: Budget,
        tell: Callable[[Solution], None] = lambda solution: None,
        before: Sequence[Tier] = (),
    ) -> None:
        self._task = task
        self.problem = problem
        self._tell = tell
        self.budget = budget
        self._late = budget.with_grace(_GRACE)
        self._rules: tuple[str, ...] | None = None
        self._score: Score | None = None
        self._tiers: list[Tier] = []
        self._found_by: Tier | None = None
        self._proven_by: Tier | None = None
        self.bound = 0
        self.contradiction = ""
        self.empty = self.offer(())
        self._tiers += before

    @property
    def total(self) -> int | None:
        """The best score; None while no hypothesis is known that covers what must be covered."""
        return None if self._score is None else self._score.total

    @property
    def is_proven(self) -> bool:
        """Whether the best score is the bound."""
        return self.total is not None and self.total == self.bound and not self.contradiction

    @property
    def has_rules(self) -> bool:
        """Whether the best hypothesis is more than the empty one."""
        return bool(self._rules)

    def enter(self, tier: Tier) -> None:
        """A tier begins: what is found and proven from now on is its work."""
        self._tiers.append(tier)
        if self._score is not None:
            self._tell(self.answer({}))

    def offer(self, rules: tuple[str, ...], *, final: bool = False) -> Score | None:
        """Score a hypothesis and keep it if it is better; its score, None if there is no time for that.

        Args:
            rules: the hypothesis.
            final: an optimisation ended with it. It is kept even if it is only as good as the best so far,
                which may have been met by chance.
        """
        try:
            result = score(self._task, rules, self._late)
        except Expired:
            return None
        most = self.problem.max_cost
        allowed = not result.broken and (most is None or result.cost <= most)
        if allowed and (self._score is None or result.total < self._score.total + final):
            self._rules, self._score = rules, result
            self._found_by = self._tiers[-1] if self._tiers else None
            self._compare()
            if self._tiers:
                self._tell(self.answer({}))
        return result

    def follow(self, space: Space) -> Callable[[Outcome], None]:
        """A callback that takes over better hypotheses and bounds while an optimisation runs."""

        next_offer = time.monotonic()

        def improved(outcome: Outcome) -> None:
            nonlocal next_offer
            chosen, started = outcome.chosen, time.monotonic()
            if chosen is not None and started >= next_offer:
                if self.total is None or outcome.cost < self.total:
                    self.offer(tuple(space.rules[k].text for k in chosen))
                next_offer = time.monotonic() + _PAUSE * (time.monotonic() - started)
            self.raise_bound(outcome, space)

        return improved

    def missed(self, score: Score, *, positive: bool | None = None) -> set[Content]:
        """The contents of the demands of uncovered examples.

        Args:
            score: the score of a hypothesis.
            positive: whether positive or negative examples are asked for; None for both.
        """
        pairs = zip(self._task.examples, score.covered, strict=True)
        return {self.problem.content(e) for e, ok in pairs if not ok and positive in (None, e.positive)}

    def raise_bound(self, outcome: Outcome, space: Space) -> None:
        """Use the lower bound of an optimisation over a space that may be cut.

        Args:
            outcome: the result of an optimisation.
            space: the hypothesis space that it ran over.
        """
        before, lower = self.bound, outcome.lower
        if outcome.proven and outcome.chosen is None and self.total is None:
            lower = space.horizon or 0
        self.bound = max(self.bound, lower if space.horizon is None else min(lower, space.horizon))
        self._compare()
        if self.bound > before and not self.contradiction:
            self._tell(self.answer({}))

    def _compare(self) -> None:
        if self.total is None:
            return
        if self.total < self.bound:
            self.contradiction = f"a hypothesis has a score of {self.total}, below the bound of {self.bound}"
        elif self.total == self.bound and self._tiers and self._proven_by is None:
            self._proven_by = self._tiers[-1]

    @property
    def _bounded(self) -> str:
        most = self.problem.max_cost
        return "" if most is None else f" of a cost of at most {most}"

    def unsatisfiable(self, core: Sequence[Demand], statistics: Mapping[str, float]) -> Solution:
        """The answer to a task whose hard examples no hypothesis covers together.

        Args:
            core: demands that no hypothesis meets together.
            statistics: of the search.
        """
        contents = {demand.content for demand in core}
        # of positive examples that are alike, those of one content are enough, and of negative ones
        named: dict[tuple[Content, bool], Content] = {}
        names = [
            e.id
            for e in self._task.examples
            if e.penalty is None
            and (key := self.problem.content(e)) in contents
            and named.setdefault((key, e.positive), content(e)) == content(e)
        ]
        return Solution(
            status="unsatisfiable",
            score=None,
            bound=0,
            tier=self._tiers[-1],
            statistics=statistics,
            message=uncoverable(names, self._bounded),
            tiers=tuple(self._tiers),
            conflict=tuple(names),
        )

    def answer(self, statistics: Mapping[str, float], message: str = "") -> Solution:
        """The answer: the best hypothesis, proven or not, or that none was found.

        Args:
            statistics: of the search.
            message: what the user should know, e.g. why the search ended early.
        """
        if self.contradiction:
            message += f" The search contradicts itself: {self.contradiction}. Please report the task."
        message = message.strip()
        if self._score is None or self._rules is None:
            return Solution(
                "feasible", None, self.bound, tier=self._tiers[-1], statistics=statistics, message=message,
                tiers=tuple(self._tiers),
            )  # fmt: skip
        pairs = list(zip(self._task.examples, self._score.covered, strict=True))
        proven = self.is_proven
        return Solution(
            status="optimal" if proven else "feasible",
            score=self._score.total,
            bound=0 if self.contradiction else min(self.bound, self._score.total),
            hypothesis=self._rules,
            cost=self._score.cost,
            tier=(self._proven_by if proven else self._found_by) or self._tiers[-1],
            covered=tuple(e.id for e, ok in pairs if ok),
            uncovered=tuple((e.id, e.penalty) for e, ok in pairs if not ok and e.penalty is not None),
            statistics=statistics,
            message=message,
            tiers=tuple(self._tiers),
        )
