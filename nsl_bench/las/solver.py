"""Solve learning tasks: by tables if they apply, otherwise with clingo, and check the answer.

Modules that few tasks need are imported where they are used, because starting takes longer than solving a
small task.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, get_args

from nsl_bench.budget import Budget, Expired, Undecided, heeding_interrupts
from nsl_bench.errors import UserError
from nsl_bench.las.checks import check_task
from nsl_bench.las.language_bias import LARGEST
from nsl_bench.las.semantics.verification import is_small
from nsl_bench.las.tabular import solve_by_tables, tabular_tier
from nsl_bench.las.task import LasTask, Solution, Tier

if TYPE_CHECKING:
    from nsl_bench.las.set_cover.maxsat import Backend

__all__ = ["solve"]

_TIERS: tuple[Tier, ...] = get_args(Tier)


def solve(
    task: LasTask,
    *,
    time_limit: float | None = None,
    memory_limit: int | None = None,
    backend: Backend = "rc2",
    progress: Callable[[str], None] | None = None,
    verify: bool = False,
    first_tier: Tier = "A",
    found: Callable[[Solution], None] | None = None,
) -> Solution:
    """Find the hypothesis with the least score.

    Args:
        task: the learning task.
        time_limit: time limit in seconds. When it is reached, the best hypothesis so far is returned, with a
            lower bound.
        memory_limit: memory limit of this process in bytes.
        backend: MaxSAT solver.
        progress: called with a short description at the start of each step.
        verify: check score and optimality by the definition (`nsl_bench.las.semantics.verification`) if the
            task is small enough. By default, only the score of very small tasks is checked.
        first_tier: the first tier to try; earlier tiers are skipped.
        found: called with the best answer so far before steps that the time limit cannot interrupt.

    Raises:
        UserError: the task cannot be learned from, e.g. because it has no examples.
    """
    budget = Budget.of(time_limit, memory_limit)
    say = progress or _say_nothing
    with heeding_interrupts(budget):
        _check(task)
        tell = found or _say_nothing
        solution = _search(task, budget, backend, say, first_tier, tell)
        if not verify and not is_small(task, solution):
            return solution
        from nsl_bench.las.semantics.verification.check import checked

        tell(solution)
        if verify:
            say("verification")
        return checked(task, solution, budget, thorough=verify)


def _say_nothing(said: object) -> None:
    """Tells nobody."""


def _check(task: LasTask) -> None:
    if not task.examples:
        raise UserError(f"{task.name}: the task has no examples, so there is nothing to learn from.")
    bias = task.bias
    if not bias.heads and not bias.rules and not bias.meta_modes:
        raise UserError(
            f"{task.name}: no '#modeh' declares what rules may derive, so there is nothing to learn."
        )
    for example in task.examples:
        if example.penalty is not None and not 0 <= example.penalty <= LARGEST:
            raise UserError(
                f"{task.name}: the penalty of example '{example.id}' must be between 0 and {LARGEST}; "
                f"got {example.penalty}."
            )
    check_task(task)


def _search(
    task: LasTask,
    budget: Budget,
    backend: Backend,
    say: Callable[[str], None],
    first_tier: Tier,
    tell: Callable[[Solution], None],
) -> Solution:
    """The answer of the first tier that takes the task, or the best that the last ones found."""
    if first_tier not in _TIERS[:2]:
        return _by_clingo(task, budget, say, first_tier, "", tell)
    say(f"{len(task.examples)} examples, tier A or B")
    try:
        return solve_by_tables(task, budget, backend)
    except Undecided as reason:
        tier = tabular_tier(task)
        timed_out = isinstance(reason, Expired) and budget.expired()
        why = "" if timed_out else f"Tier {tier} does not apply: {reason}."
    solution = _by_clingo(task, budget, say, "C", why, tell)
    return replace(solution, tiers=(tier, *solution.tiers))


def _by_clingo(
    task: LasTask,
    budget: Budget,
    say: Callable[[str], None],
    first_tier: Tier,
    before: str,
    tell: Callable[[Solution], None],
) -> Solution:
    """The answer of tier C, or of tier D where that gives up.

    Args:
        task: the task.
        budget: when to stop.
        say: is told in a few words what begins.
        first_tier: ``"C"`` or ``"D"``.
        before: why the tiers before do not apply.
        tell: is handed each better answer.
    """
    from nsl_bench.las.clingo_tiers.conflict_driven import search_by_conflicts
    from nsl_bench.las.clingo_tiers.demands import Problem
    from nsl_bench.las.clingo_tiers.incumbent import Incumbent
    from nsl_bench.las.clingo_tiers.one_shot import search_at_once
    from nsl_bench.las.clingo_tiers.space_parts import space_parts

    problem = Problem.of(task, budget)
    incumbent = Incumbent(task, problem, budget, tell)
    statistics: dict[str, float] = {"distinct_examples": len(problem.demands)}
    notes = [before] if before else []
    for tier in _TIERS[_TIERS.index(first_tier) :]:
        search = search_at_once if tier == "C" else search_by_conflicts
        say(f"tier {tier}{', for: ' + notes[-1] if notes else ''}")
        incumbent.enter(tier)
        try:
            core = search(problem, space_parts(task, budget, statistics), incumbent, budget, statistics)
        except Undecided as reason:
            if not budget.expired():
                notes.append(f"Tier {tier} gave up: {reason}.")
            continue
        if core is not None:
            return incumbent.unsatisfiable(core, statistics)
        break
    ended = "" if incumbent.is_proven else budget.ended_by
    return incumbent.answer(statistics, " ".join([ended, *notes]).strip())
