"""The cheapest hypothesis of an encoding with a lower bound, and cores of what cannot be met together."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from clingo import Model

from nsl_bench.core.budget import Budget
from nsl_bench.logic.las.clingo_tiers.demands import Demand, Problem
from nsl_bench.logic.las.clingo_tiers.encoding import Encoding

_FIRST_CONFLICTS = 20_000
_MOST_MINIMISED = 60
"""Demands of a core up to which each of them is left out once."""


@dataclass
class Outcome:
    """The result of one optimisation.

    Attributes:
        chosen: numbers of the chosen rules, None if no model was found.
        cost: the model's cost: an upper bound.
        lower: no hypothesis costs less.
        proven: `cost` is the optimum, or, without a model, there is none (that is cheap enough).
    """

    chosen: tuple[int, ...] | None = None
    cost: int = 0
    lower: int = 0
    proven: bool = False


def optimise(
    encoding: Encoding,
    budget: Budget,
    upper: Callable[[], int | None] = lambda: None,
    improved: Callable[[Outcome], None] = lambda outcome: None,
    proven: Callable[[], int] = lambda: 0,
) -> Outcome:
    """The cheapest hypothesis, with a bound, until `budget` expires.

    Unsatisfiable cores and branch and bound take turns, each with more conflicts.

    Args:
        encoding: what to search.
        upper: says what the best hypothesis that is known elsewhere costs; only cheaper ones are looked for.
        improved: is told of better hypotheses and bounds while the search goes on.
        proven: says what every hypothesis costs at least, as far as it is known elsewhere.
    """
    outcome = Outcome()
    conflicts = _FIRST_CONFLICTS
    solver = encoding.control.configuration.solver
    solving = encoding.control.configuration.solve
    turn = 0
    while True:
        costs = [upper(), outcome.cost if outcome.chosen is not None else None]
        bound = min((cost for cost in costs if cost is not None), default=None)
        outcome.lower = max(outcome.lower, proven() if bound is None else min(proven(), bound))
        if bound is not None and bound <= outcome.lower:
            outcome.proven = True
            return outcome
        solver.opt_strategy = "usc,stratify" if turn % 2 == 0 else "bb,lin"  # type: ignore[union-attr]
        solving.opt_mode = "opt" if bound is None else f"opt,{bound - 1}"  # type: ignore[union-attr]
        solving.solve_limit = f"{conflicts}"  # type: ignore[union-attr]
        finished = _solve(encoding, outcome, bound, budget, improved, proven)
        if finished:
            outcome.proven = True
            bounds = [bound, outcome.cost if outcome.chosen is not None else None]
            outcome.lower = min((cost for cost in bounds if cost is not None), default=0)
            return outcome
        if budget.expired() or budget.full():
            return outcome
        improved(outcome)
        turn += 1
        if turn % 2 == 0:
            conflicts *= 3


def _solve(
    encoding: Encoding,
    outcome: Outcome,
    bound: int | None,
    budget: Budget,
    improved: Callable[[Outcome], None],
    proven: Callable[[], int],
) -> bool:
    """One call of clingo; True if it ended by itself: with an optimum, or without a better model."""
    reported = [outcome.chosen]

    def keep(model: Model) -> None:
        chosen = tuple(sorted(symbol.number for symbol in model.symbols(shown=True)))
        outcome.cost, outcome.chosen = encoding.cost(model, chosen), chosen

    def enough() -> bool:
        if outcome.chosen != reported[-1]:
            reported.append(outcome.chosen)
            improved(outcome)
        return outcome.chosen is not None and outcome.cost <= proven()

    relaxed = encoding.literal("relaxed")
    result, _ = encoding.search([] if relaxed is None else [-relaxed], budget, keep, enough)
    lower = encoding.control.statistics["summary"].get("lower", [])
    if lower:
        # what is cheaper than `bound` costs at least that; all else costs `bound` or more
        least = int(sum(lower))
        outcome.lower = max(outcome.lower, least if bound is None else min(least, bound))
    return bool(result.exhausted)


def unsatisfiable_core(
    encoding: Encoding, problem: Problem, wanted: Sequence[Demand], budget: Budget
) -> tuple[Demand, ...]:
    """A set of hard demands that no hypothesis meets together, made small while time lasts.

    Args:
        encoding: where they are grounded.
        problem: the problem, all of whose hard demands are the set where no smaller one is found.
        wanted: the demands to choose from.
        budget: when to be content with a larger set.
    """
    solving = encoding.control.configuration.solve
    solving.opt_mode = "ignore"  # type: ignore[union-attr]
    solving.solve_limit = "umax"  # type: ignore[union-attr]
    hard = [d for d in wanted if d.required or (d.forbidden and encoding.deterministic)]
    core = _core(encoding, hard, budget)
    for demand in core or ():
        if core is None or len(core) > _MOST_MINIMISED or budget.expired():
            break
        smaller = _core(encoding, [each for each in core if each is not demand], budget)
        if smaller is not None:
            core = smaller
    return tuple(core or (demand for demand in problem.demands if demand.is_hard))


def _core(encoding: Encoding, wanted: Sequence[Demand], budget: Budget) -> list[Demand] | None:
    """The part of `wanted` that clingo used to refute it; None if it can be met or time is up."""
    owners: dict[int, Demand] = {}
    for demand in wanted:
        literal = encoding.covered(demand)
        forbidden = demand.forbidden and encoding.deterministic
        if demand.required and (literal is None or forbidden):
            return [demand]
        if literal is not None:
            owners[literal if demand.required else -literal] = demand
    relaxed = encoding.literal("relaxed")
    result, core = encoding.search([*owners, *([] if relaxed is None else [relaxed])], budget)
    return [owners[literal] for literal in core if literal in owners] if result.unsatisfiable else None
