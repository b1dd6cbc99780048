"""Tier C: any task without cautious examples, as one optimisation on clingo.

Recursion, choice rules in background or contexts, negation without stratification: as positive examples
are brave, the task is one program with a replica for each example (`encoding`). The space is written down
level by level; a cut space still proves an optimum that costs no more than any rule beyond the cut.
"""

import threading
import time
from collections.abc import Callable, Iterable

from clingo import Model

from nsl_bench.core.budget import Budget, Undecided
from nsl_bench.logic.las.bias.space import Space
from nsl_bench.logic.las.clingo_tiers.demands import Demand, Problem
from nsl_bench.logic.las.clingo_tiers.encoding import Encoding
from nsl_bench.logic.las.clingo_tiers.incumbent import Incumbent
from nsl_bench.logic.las.clingo_tiers.optimisation import Outcome, optimise, unsatisfiable_core


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
        statistics: is told the seconds of grounding and search.
        threads: of clingo.

    Returns:
        Hard demands that no hypothesis meets together, if there are such; else None.
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

    prover = _Prover(encode, threads - 1, incumbent.total, budget)
    try:
        return optimise(
            encoding, budget, lambda: incumbent.total, incumbent.follow(space), proven=lambda: prover.lower
        )
    finally:
        prover.stop()


class _Prover:
    """Proves in the background what the optimum costs.

    Several threads of clingo find different optima from run to run. They are therefore only asked what the
    optimum costs, over an encoding of their own. The hypothesis always comes from the search by one thread,
    which ends as soon as it has one that costs so much: the answer is the same with any number of threads.

    Args:
        encode: makes an encoding with all examples grounded; None if time ran out before.
        threads: threads of clingo.
        upper: only hypotheses cheaper than this are looked for.

    Attributes:
        lower: no hypothesis costs less.
    """

    def __init__(
        self, encode: Callable[[Budget], Encoding | None], threads: int, upper: int | None, budget: Budget
    ) -> None:
        self.lower = 0
        self._encode = encode
        self._threads = threads
        self._upper = upper
        self._budget = Budget(budget.deadline, budget.memory)
        threading.Thread(target=self._run).start()

    def stop(self) -> None:
        """End the search; its thread ends at its next look at the budget."""
        self._budget.interrupted = True

    def _run(self) -> None:
        try:
            encoding = self._encode(self._budget)
            if encoding is not None:
                self._prove(encoding)
        except Exception:  # the search by one thread finds the same fault, or does without this one
            return

    def _prove(self, encoding: Encoding) -> None:
        solving = encoding.control.configuration.solve
        solving.parallel_mode = f"{self._threads},compete"  # type: ignore[union-attr]
        solving.opt_mode = "opt" if self._upper is None else f"opt,{self._upper - 1}"  # type: ignore[union-attr]
        costs: list[int] = []

        def keep(model: Model) -> None:
            chosen = [symbol.number for symbol in model.symbols(shown=True)]
            costs.append(encoding.cost(model, chosen))

        relaxed = encoding.literal("relaxed")
        result, _ = encoding.search([] if relaxed is None else [-relaxed], self._budget, keep)
        if result.exhausted and (costs or self._upper is not None):
            self.lower = min(costs) if costs else self._upper or 0
