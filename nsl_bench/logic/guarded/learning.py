"""Solve a learning task in a separate process, as ``nsl-bench learn`` does.

A task can make clingo ground forever or crash. The file is therefore read, solved and explained in a child
process (`nsl_bench.logic.guarded.call`). The child reports its best hypothesis as soon as it has one, so it
is known even if the time limit ends the child during grounding.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nsl_bench.core.processes.messages import restored
from nsl_bench.logic.guarded.call import guarded
from nsl_bench.logic.guarded.child import Allowance, Ended
from nsl_bench.logic.guarded.worker import stage, tell

if TYPE_CHECKING:
    from nsl_bench.core.budget import Budget
    from nsl_bench.logic.las.language_bias import Dialect
    from nsl_bench.logic.las.task import LasTask, Progress, Solution

_GRACE = 0.9
"""Seconds that a solver may take beyond its time limit, e.g. to score what it found."""

_EXPLAINING_SECONDS = 60.0
_DIAGNOSIS_SECONDS = 10.0
_LEAST_EXPLAINING_SECONDS = 0.3
"""What explaining the rules, or why there are none, may take if the time limit is used up."""
_RULES_AT_ONCE = 1_000
_MORE_MEMORY = 1.25
"""A solver that keeps an eye on its memory has stopped before it takes so many times its limit."""


@dataclass(frozen=True)
class Learned:
    """The result of solving a task.

    Attributes:
        answer: the fields of a `Solution`, as JSON values.
        seconds: wall time in seconds from the call to the answer, including reading.
        rules: explanation of each rule (the fields of a `RuleExplanation`), if requested and found.
        explanation: the same as text.
        ended: a sentence if the process ended before it had finished; `answer` is then the best hypothesis so
            far. Otherwise empty.
        dialect: dialect in which the task was read.
    """

    answer: Mapping[str, Any]
    seconds: float
    rules: tuple[Mapping[str, Any], ...] = ()
    explanation: str | None = None
    ended: str = ""
    dialect: str = ""

    @property
    def solution(self) -> Solution:
        """The answer as a `Solution`."""
        return _solution_of(self.answer)


def _solution_of(answer: Mapping[str, Any]) -> Solution:
    from nsl_bench.logic.las.task import Solution

    solution: Solution = restored(Solution, answer)
    return solution


def _exact(name: str) -> Any:
    from nsl_bench.logic.las.solver import solve

    return solve


def solve_isolated(
    source: Path | str | LasTask,
    *,
    dialect: Dialect | None = None,
    constraints: bool = True,
    rule_learner: str = "exact",
    find: Callable[[str], Any] = _exact,
    time_limit: float | None = None,
    memory_limit: int | None = None,
    options: Mapping[str, Any] | None = None,
    explain: bool = False,
    verify: bool = False,
    progress: Callable[[Progress], None] | None = None,
    warned: Callable[[str], None] | None = None,
) -> Learned:
    """Solve a task.

    On the first Ctrl-C the solver finishes with the best hypothesis so far, if it can. A second one ends it.

    Args:
        source: a task file, the text of a task, or a task.
        dialect: dialect of a file or text (`LasTask.read`); None: what its statements tell, or the rule
            learner's.
        constraints: whether ILASP's spaces hold constraints (`LasTask.parse`).
        rule_learner: name of the rule learner.
        find: finds the rule learner of a name, in the child; can be pickled.
        time_limit: time limit in seconds for reading, solving, checking and explaining; the process is ended
            less than a second later.
        memory_limit: memory limit in bytes; a process that uses much more is ended.
        options: further arguments of the rule learner.
        explain: whether to explain each rule.
        verify: whether to check the answer by the definition (`nsl_bench.logic.las.semantics.verification`).
        progress: called when a step begins, and whenever a better hypothesis or bound is found.
        warned: called with each sentence on what was ignored in the task.

    Raises:
        Ended: the process ended before it had found a hypothesis.
    """
    from nsl_bench.logic.las.task import Progress

    started = time.monotonic()
    best: dict[str, Any] = {}
    seconds, dialect_read = 0.0, ""

    def receive(event: dict[str, Any]) -> None:
        nonlocal seconds, dialect_read
        if "dialect" in event:
            dialect_read = event["dialect"]
        elif "warning" in event:
            if warned is not None:
                warned(event["warning"])
        else:
            if (solution := event["solution"]) is not None:
                best.update(solution if isinstance(solution, Mapping) else vars(solution))
                seconds = time.monotonic() - started
            if progress is not None:
                so_far = _solution_of(best) if best else None
                progress(Progress(time.monotonic() - started, event["doing"], so_far))

    work = _Work(
        source, dialect, constraints, rule_learner, find, time_limit, memory_limit, dict(options or {}),
        explain, verify,
    )  # fmt: skip
    try:
        explained = work.in_child(_solve, receive)
    except Ended as ended:
        if not best:
            raise
        best["message"] = " ".join(filter(None, [best["message"], str(ended)]))
        best["unverified"] = best["unverified"] or "there was no time for it"
        return Learned(best, seconds, ended=str(ended), dialect=dialect_read)
    return Learned(best, seconds, tuple(explained["rules"]), explained["explanation"], dialect=dialect_read)


def list_space(
    source: Path | str | LasTask,
    *,
    dialect: Dialect | None = None,
    constraints: bool = True,
    time_limit: float | None = None,
    memory_limit: int | None = None,
    listed: Callable[[list[tuple[int, str]]], None],
    warned: Callable[[str], None] = lambda words: None,
) -> int | None:
    """List the hypothesis space of a task.

    Args:
        source: a task file, the text of a task, or a task.
        dialect: dialect of a file or text.
        constraints: whether ILASP's spaces hold constraints.
        time_limit: time limit in seconds, after which the space is cut.
        memory_limit: memory limit in bytes, likewise.
        listed: called with more and more rules, each with its cost.
        warned: called with each sentence on what was ignored in the task.

    Returns:
        None if these are all rules; otherwise no rule that is missing costs less than this.
    """

    def receive(event: dict[str, Any]) -> None:
        if "rules" in event:
            listed([(cost, rule) for cost, rule in event["rules"]])
        else:
            warned(event["warning"])

    work = _Work(source, dialect, constraints, "exact", _exact, time_limit, memory_limit, {}, False, False)
    horizon: int | None = work.in_child(_list, receive)["horizon"]
    return horizon


@dataclass(frozen=True)
class _Work:
    """What the child is asked to do: the arguments of `solve_isolated`."""

    source: Path | str | LasTask
    dialect: Dialect | None
    constraints: bool
    rule_learner: str
    find: Callable[[str], Any]
    time_limit: float | None
    memory_limit: int | None
    options: dict[str, Any]
    explain: bool
    verify: bool
    started: float = field(default_factory=time.monotonic)
    """When the caller began; starting the process counts, too."""

    @property
    def name(self) -> str:
        """Of the task, in a sentence."""
        return str(self.source) if isinstance(self.source, Path) else "the task"

    def in_child(self, function: Callable[[_Work], Any], on_event: Callable[[dict[str, Any]], None]) -> Any:
        """What a function makes of this, within its limits."""
        memory = None if self.memory_limit is None else int(_MORE_MEMORY * self.memory_limit)
        return guarded(
            function,
            self,
            doing=f"Reading {self.name}",
            allowance=Allowance(self.time_limit, memory, _GRACE),
            on_event=on_event,
            interruptible=True,
        )

    def task(self) -> LasTask:
        """The task, read."""
        from nsl_bench.logic.las.task import LasTask

        dialect = self.dialect
        if dialect is None and self.rule_learner in ("fastlas", "ilasp"):
            dialect = "ilasp" if self.rule_learner == "ilasp" else "fastlas"
        if isinstance(self.source, Path):
            return LasTask.read(self.source, dialect, constraints=self.constraints)
        if isinstance(self.source, str):
            return LasTask.parse(self.source, "the task", dialect, constraints=self.constraints)
        return self.source


def _list(work: _Work) -> dict[str, int | None]:
    """Tell the hypothesis space of a task, in the child."""
    from nsl_bench.core.budget import Budget, heeding_interrupts
    from nsl_bench.logic.las.bias.space import listed_space
    from nsl_bench.logic.las.checks import check_task

    clock = _Clock(work)
    clock.stage(f"Reading {work.name}")
    task = work.task()
    for warning in task.warnings:
        tell({"warning": warning})
    if note := check_task(task):
        tell({"warning": note})
    clock.stage(f"Listing the hypothesis space of {work.name}")
    budget = Budget.of(clock.left, work.memory_limit)
    listed: dict[str, int | None] = {"horizon": 0}
    with heeding_interrupts(budget):
        for rules, listed["horizon"] in listed_space(task, budget=budget):
            for start in range(0, len(rules), _RULES_AT_ONCE):
                tell({"rules": [(r.cost, r.text) for r in rules[start : start + _RULES_AT_ONCE]]})
    return listed


def _solve(work: _Work) -> dict[str, Any]:
    """Solve a task and tell what is found, in the child."""
    from nsl_bench.core.budget import Budget

    solver = work.find(work.rule_learner)
    clock = _Clock(work)
    clock.stage(f"Reading {work.name}")
    task = work.task()
    tell({"dialect": task.bias.dialect})
    for warning in task.warnings:
        tell({"warning": warning})
    options = dict(work.options)
    if "progress" in signature(solver).parameters:
        options["progress"] = _Teller()
    clock.stage(f"Solving {work.name}")
    solution = solver(task, time_limit=clock.left, memory_limit=work.memory_limit, **options)
    _tell("solved", solution)
    if work.verify:
        clock.stage(f"Verifying the answer to {work.name}")
        solution = _verified(task, solution, Budget.of(clock.left, work.memory_limit))
        _tell("verified", solution)
    if work.rule_learner == "exact" and (solution.score is None or (work.explain and solution.uncovered)):
        solution = _diagnosed(task, solution, clock, work)
        _tell("explained", solution)
    if not work.explain or solution.score is None:
        return {"rules": [], "explanation": None}
    seconds = clock.stage(f"Explaining the hypothesis of {work.name}", _EXPLAINING_SECONDS)
    return _explained(task, solution, Budget.of(seconds, None))


class _Clock:
    """The time limit of all stages together."""

    def __init__(self, work: _Work) -> None:
        self._seconds = work.time_limit
        self._deadline = None if work.time_limit is None else work.started + work.time_limit

    @property
    def left(self) -> float | None:
        """Seconds left; None for no limit."""
        return None if self._deadline is None else max(0.0, self._deadline - time.monotonic())

    def stage(self, doing: str, most: float | None = None) -> float | None:
        """Start a stage, which may take what is left.

        Args:
            doing: what it does, as a sentence begins.
            most: seconds that it may take at most; it then has a moment even if nothing is left.

        Returns:
            Its seconds; None for no limit.
        """
        left = self.left
        if self._seconds is None or left is None:
            stage(doing, most, _GRACE)
            return most
        # the whole limit is what a message names, and what ends the process
        stage(doing, self._seconds, _GRACE + left - self._seconds)
        return left if most is None else min(most, max(left, _LEAST_EXPLAINING_SECONDS))


class _Teller:
    """Tells the parent of a search's progress, and of each answer once."""

    def __init__(self) -> None:
        self._reported: Solution | None = None

    def __call__(self, progress: Progress) -> None:
        new = progress.solution if progress.solution is not self._reported else None
        self._reported = progress.solution
        _tell(progress.doing, new)


def _tell(doing: str, solution: Solution | None) -> None:
    tell({"doing": doing, "solution": solution})


def _verified(task: LasTask, solution: Solution, budget: Budget) -> Solution:
    """The answer, checked by the definition."""
    from nsl_bench.core.budget import heeding_interrupts
    from nsl_bench.logic.las.semantics.verification.check import checked

    with heeding_interrupts(budget):
        return checked(task, solution, budget, thorough=True)


def _diagnosed(task: LasTask, solution: Solution, clock: _Clock, work: _Work) -> Solution:
    """The answer, with why nothing was found or examples are uncovered, in what is left of the time."""
    from nsl_bench.core.budget import Budget, heeding_interrupts
    from nsl_bench.logic.las.diagnosis import diagnosed

    seconds = clock.stage(f"Looking for reasons in {work.name}", _DIAGNOSIS_SECONDS)
    budget = Budget.of(seconds, work.memory_limit)
    with heeding_interrupts(budget):
        return diagnosed(task, solution, budget)


def _explained(task: LasTask, solution: Solution, budget: Budget) -> dict[str, Any]:
    from nsl_bench.core.budget import Expired
    from nsl_bench.logic.las.semantics.coverage import explain

    try:
        explanation = explain(task, solution, budget)
    except Expired as reason:
        return {"rules": [], "explanation": f"No explanation: {reason}."}
    return {"rules": [asdict(rule) for rule in explanation.rules], "explanation": str(explanation)}
