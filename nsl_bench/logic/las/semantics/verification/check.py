"""What stands behind the word ``optimal``: an answer checked by programs that share nothing with the search.

The task is read once more, from its text, by a reader of its own (`plain`). The score is what the definition
gives: each rule priced by itself (`costs`), each example decided by clingo on a plain copy of the task
(`coverage`). Optimality is confirmed over the whole hypothesis space, written down without pruning (`space`),
by one plain optimisation (`optimum`).
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from nsl_bench.core.budget import Budget, Expired
from nsl_bench.logic.las.semantics.verification.costs import NotInSpace, Pricing
from nsl_bench.logic.las.semantics.verification.optimum import find_better
from nsl_bench.logic.las.semantics.verification.plain import PlainTask, read_plain
from nsl_bench.logic.las.semantics.verification.solving import Unverifiable
from nsl_bench.logic.las.semantics.verification.space import rules_with_costs
from nsl_bench.logic.las.semantics.verification.statements import covered_examples
from nsl_bench.logic.las.task import LasTask, Solution

_SECONDS = 0.5
"""What the check of a score that nobody asked for may take."""
_THOROUGH_SECONDS = 300.0
MOST_RULES = 2_000
"""Rules of the largest hypothesis space over which optimality is confirmed."""
_MOST_COPIES = 200_000
"""Rules times distinct examples, likewise."""
_GRACE = 0.3
"""Seconds that the check of the score may take after time is up, where it was asked for."""
_REPORT = "This is a fault of nsl-bench; please report the task."


@dataclass(frozen=True)
class _Score:
    cost: int
    penalties: int
    covered: tuple[bool, ...]
    valid: bool

    @property
    def total(self) -> int:
        return self.cost + self.penalties


def checked(task: LasTask, solution: Solution, budget: Budget, *, thorough: bool = False) -> Solution:
    """The solution, with what was verified of it; corrected where the check contradicts it.

    Args:
        thorough: check the score of a task of any size, and optimality and unsatisfiability where the space
            is small enough; else only the score.

    Returns:
        The solution with `verified` set, and with the reason in `unverified` where a thorough check could not
        go further. A contradicted answer is ``"feasible"``, with its true score and a message.
    """
    if solution.score is None and not thorough:
        return solution
    seconds = _THOROUGH_SECONDS if thorough else _SECONDS
    stop = _stop(budget.with_grace(_GRACE) if thorough else budget, seconds)
    try:
        text, dialect, constraints = task.stated
        plain = read_plain(text, dialect, constraints=constraints)
        if solution.status == "unsatisfiable":
            return _verify_unsatisfiable(plain, solution, stop)
        if solution.score is None:
            return replace(solution, unverified="no hypothesis to check was found")
        result = _score(plain, solution.hypothesis, stop, solution)
    except (Unverifiable, Expired) as reason:
        if isinstance(reason, NotInSpace) and solution.solver == "exact":
            return _refuted(solution, str(reason))
        return replace(solution, unverified=str(reason) if thorough else "")
    if not result.valid or result.total != solution.score:
        return _corrected(plain, solution, result)
    solution = replace(solution, verified="score")
    return _verify_optimality(plain, solution, stop) if thorough else solution


def _stop(budget: Budget, seconds: float) -> Callable[[], None]:
    deadline = time.monotonic() + seconds

    def stop() -> None:
        if budget.expired():
            raise Expired("interrupted" if budget.interrupted else "time ran out")
        if time.monotonic() > deadline:
            raise Expired(f"it takes more than {seconds:g} seconds")
        if budget.full():
            raise Expired("memory ran out")

    return stop


def _score(
    task: PlainTask, hypothesis: tuple[str, ...], stop: Callable[[], None], claimed: Solution | None = None
) -> _Score:
    """The score of a hypothesis.

    Args:
        claimed: the answer that has this hypothesis. Its cost is taken where the rules cannot be priced, but
            other examples are left uncovered than the answer says.
    """
    covered = covered_examples(task, hypothesis, stop)
    missed = [example for example, ok in zip(task.examples, covered, strict=True) if not ok]
    penalties = sum(example.penalty or 0 for example in missed)
    try:
        cost = Pricing(task, stop).of_hypothesis(hypothesis)
    except Unverifiable:
        if claimed is None or penalties == sum(penalty for _, penalty in claimed.uncovered):
            raise
        cost = claimed.cost
    return _Score(
        cost=cost,
        penalties=penalties,
        covered=tuple(covered),
        valid=all(example.penalty is not None for example in missed)
        and (task.max_cost is None or cost <= task.max_cost),
    )


def _corrected(task: PlainTask, solution: Solution, score: _Score) -> Solution:
    """The same hypothesis as a feasible answer, with its true score."""
    pairs = list(zip(task.examples, score.covered, strict=True))
    if not score.valid:
        broken = ", ".join(e.id for e, ok in pairs if not ok and e.penalty is None)
        if not broken:
            return _refuted(solution, f"the hypothesis costs {score.cost}, more than #max_penalty allows")
        return _refuted(solution, f"the hypothesis leaves {broken} uncovered, which must be covered")
    what = f"the score of the hypothesis is {score.total}, not {solution.score}"
    return replace(
        solution,
        status="feasible",
        score=score.total,
        bound=0,
        cost=score.cost,
        covered=tuple(e.id for e, ok in pairs if ok),
        uncovered=tuple((e.id, e.penalty) for e, ok in pairs if not ok and e.penalty is not None),
        verified="score",
        message=_joined(solution, what),
    )


def _refuted(solution: Solution, what: str) -> Solution:
    """The answer with status and message, but without its hypothesis, which is wrong."""
    return replace(
        solution, status="feasible", score=None, bound=0, hypothesis=(), cost=0, covered=(), uncovered=(),
        verified=None, message=_joined(solution, what),
    )  # fmt: skip


def _joined(solution: Solution, what: str) -> str:
    return f"{solution.message} The check by the definition finds that {what}. {_REPORT}".lstrip()


def _written_down(task: PlainTask, stop: Callable[[], None]) -> dict[str, int]:
    """The hypothesis space, if it is small enough for the task's examples."""
    distinct = len({(e.inclusions, e.exclusions, e.context) for e in task.examples})
    most = min(MOST_RULES, _MOST_COPIES // max(1, distinct))
    return rules_with_costs(task, most, stop)


def _verify_optimality(task: PlainTask, solution: Solution, stop: Callable[[], None]) -> Solution:
    if solution.status != "optimal":
        return replace(solution, unverified="the answer is not proven optimal")
    try:
        best = find_better(task, _written_down(task, stop), solution.score, stop)
    except (Unverifiable, Expired) as reason:
        return replace(solution, unverified=str(reason))
    if best is None:
        what = f"no hypothesis of the space has a score of {solution.score}"
        return replace(solution, status="feasible", bound=0, message=_joined(solution, what))
    if best.score == solution.score:
        return replace(solution, verified="optimality")
    result = _score(task, best.hypothesis, stop)
    what = f"a hypothesis has a score of {result.total}, less than {solution.score}"
    better = replace(solution, hypothesis=best.hypothesis, message=_joined(solution, what))
    return replace(_corrected(task, better, result), message=better.message)


def _verify_unsatisfiable(task: PlainTask, solution: Solution, stop: Callable[[], None]) -> Solution:
    best = find_better(task, _written_down(task, stop), None, stop)
    if best is None:
        return replace(solution, verified="optimality")
    result = _score(task, best.hypothesis, stop)
    better = replace(
        solution,
        hypothesis=best.hypothesis,
        message=_joined(replace(solution, message=""), "some hypothesis covers all that must be covered"),
    )
    return replace(_corrected(task, better, result), message=better.message)
