"""Solve a learning task in a separate process, as ``nsl-bench learn`` does.

A task can make clingo ground forever or crash. The file is therefore read, solved and explained in a child
process (`nsl_bench.guarded.call`). The child reports its best hypothesis as soon as it has one, so it is
known even if the time limit ends the child during grounding.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nsl_bench.guarded.call import Allowance, Ended, guarded
from nsl_bench.guarded.worker import stage, tell

if TYPE_CHECKING:
    from nsl_bench.las.language_bias import Dialect
    from nsl_bench.las.task import LasTask, Solution

__all__ = ["Learned", "list_space", "solve_isolated"]

_GRACE = 5.0
"""Seconds that a solver may take beyond its time limit: scoring what it found takes up to three."""

_GRACE_SHARE = 0.1
"""Of the time limit, which it may take besides."""

_EXPLAINING_SECONDS = 60.0
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
        from nsl_bench.las.task import Solution

        lists = {
            name: tuple(tuple(each) if isinstance(each, list) else each for each in value)
            for name, value in self.answer.items()
            if isinstance(value, list)
        }
        return Solution(**{**self.answer, **lists})


def solve_isolated(
    source: Path | str | LasTask,
    *,
    dialect: Dialect | None = None,
    rule_learner: str = "exact",
    time_limit: float | None = None,
    memory_limit: int | None = None,
    options: Mapping[str, Any] | None = None,
    explain: bool = False,
    verify: bool = False,
    heard: Callable[[str, str], None] = lambda kind, words: None,
) -> Learned:
    """Solve a task.

    On the first Ctrl-C the solver finishes with the best hypothesis so far, if it can. A second one ends it.

    Args:
        source: a task file, the text of a task, or a task.
        dialect: dialect of a file or text (`LasTask.read`).
        rule_learner: name of the rule learner.
        time_limit: time limit in seconds for solving; the process is ended a few seconds later.
        memory_limit: memory limit in bytes; a process that uses much more is ended.
        options: further arguments of the rule learner.
        explain: whether to explain each rule.
        verify: whether to check the answer by the definition (`nsl_bench.las.semantics.verification`).
        heard: called with ``"warning"`` or ``"progress"`` and a sentence.

    Raises:
        UserError: the task cannot be read or solved.
        Ended: the process ended before it had found a hypothesis.
    """
    started = time.monotonic()
    best: dict[str, Any] = {}
    read = {"dialect": ""}

    def hear(event: dict[str, Any]) -> None:
        if "solution" in event:
            best.update(event["solution"], seconds=time.monotonic() - started)
        elif "dialect" in event:
            read.update(event)
        else:
            heard(event["kind"], event["words"])

    work = _Work(
        source, dialect, rule_learner, time_limit, memory_limit, dict(options or {}), explain, verify
    )
    memory = None if memory_limit is None else int(_MORE_MEMORY * memory_limit)
    try:
        told = guarded(
            _solve,
            work,
            doing=f"Reading {work.name}",
            allowance=Allowance(time_limit, memory, work.grace),
            heard=hear,
            interruptible=True,
        )
    except Ended as ended:
        if not best:
            raise
        seconds = best.pop("seconds")
        best["message"] = " ".join(filter(None, [best["message"], str(ended)]))
        return Learned(best, seconds, ended=str(ended), dialect=read["dialect"])
    seconds = best.pop("seconds")
    return Learned(best, seconds, tuple(told["rules"]), told["explanation"], dialect=read["dialect"])


def list_space(
    source: Path | str | LasTask,
    *,
    dialect: Dialect | None = None,
    time_limit: float | None = None,
    memory_limit: int | None = None,
    listed: Callable[[list[tuple[int, str]]], None],
    heard: Callable[[str, str], None] = lambda kind, words: None,
) -> int | None:
    """List the hypothesis space of a task.

    Args:
        source: a task file, the text of a task, or a task.
        dialect: dialect of a file or text.
        time_limit: time limit in seconds, after which the space is cut.
        memory_limit: memory limit in bytes, likewise.
        listed: called with more and more rules, each with its cost.
        heard: called with ``"warning"`` and a sentence.

    Returns:
        None if these are all rules; otherwise no rule that is missing costs less than this.

    Raises:
        UserError: the task cannot be read, or the process ended.
    """

    def hear(event: dict[str, Any]) -> None:
        if "rules" in event:
            listed([(cost, rule) for cost, rule in event["rules"]])
        else:
            heard(event["kind"], event["words"])

    work = _Work(source, dialect, "exact", time_limit, memory_limit, {}, False, False)
    memory = None if memory_limit is None else int(_MORE_MEMORY * memory_limit)
    allowance = Allowance(time_limit, memory, work.grace)
    found = guarded(
        _list, work, doing=f"Reading {work.name}", allowance=allowance, heard=hear, interruptible=True
    )
    horizon: int | None = found["horizon"]
    return horizon


@dataclass(frozen=True)
class _Work:
    """What the child is asked to do: the arguments of `solve_isolated`."""

    source: Path | str | LasTask
    dialect: Dialect | None
    rule_learner: str
    time_limit: float | None
    memory_limit: int | None
    options: dict[str, Any]
    explain: bool
    verify: bool

    @property
    def name(self) -> str:
        """Of the task, in a sentence."""
        return str(self.source) if isinstance(self.source, Path) else "the task"

    def task(self) -> LasTask:
        """The task, read."""
        from nsl_bench.las.task import LasTask

        if isinstance(self.source, Path):
            return LasTask.read(self.source, dialect=self.dialect)
        if isinstance(self.source, str):
            return LasTask.parse(self.source, name="the task", dialect=self.dialect)
        return self.source

    @property
    def grace(self) -> float:
        """Seconds beyond its time limit after which a solver does not heed it."""
        return _GRACE + _GRACE_SHARE * (self.time_limit or 0)


def _list(work: _Work) -> dict[str, int | None]:
    """Tell the hypothesis space of a task, in the child."""
    from nsl_bench.budget import Budget, heeding_interrupts
    from nsl_bench.las.bias.space import listed_space
    from nsl_bench.las.checks import check_task

    stage(f"Reading {work.name}", work.time_limit, work.grace)
    task = work.task()
    for warning in task.warnings:
        tell({"kind": "warning", "words": warning})
    check_task(task)
    stage(f"Listing the hypothesis space of {work.name}", work.time_limit, work.grace)
    budget = Budget.of(work.time_limit, work.memory_limit)
    found: dict[str, int | None] = {"horizon": 0}
    with heeding_interrupts(budget):
        for rules, found["horizon"] in listed_space(task, budget=budget):
            for start in range(0, len(rules), _RULES_AT_ONCE):
                tell({"rules": [(r.cost, r.text) for r in rules[start : start + _RULES_AT_ONCE]]})
    return found


def _solve(work: _Work) -> dict[str, Any]:
    """Solve a task and tell what is found, in the child."""
    from nsl_bench import registry

    solver = registry.factory("rule_learner", work.rule_learner)
    stage(f"Reading {work.name}", work.time_limit, work.grace)
    task = work.task()
    tell({"dialect": task.bias.dialect})
    for warning in task.warnings:
        tell({"kind": "warning", "words": warning})
    options = dict(work.options)
    known = signature(solver).parameters
    if "progress" in known:
        options["progress"] = lambda words: tell({"kind": "progress", "words": words})
    if "found" in known:
        options["found"] = _tell_solution
    stage(f"Solving {work.name}", work.time_limit, work.grace)
    started = time.monotonic()
    solution = solver(task, time_limit=work.time_limit, memory_limit=work.memory_limit, **options)
    _tell_solution(solution)
    if work.verify:
        stage(f"Verifying the answer to {work.name}", work.time_limit, work.grace)
        solution = _verified(task, solution, work, started)
        _tell_solution(solution)
    if not work.explain or solution.score is None:
        return {"rules": [], "explanation": None}
    stage(f"Explaining the hypothesis of {work.name}", _EXPLAINING_SECONDS, _GRACE)
    return _explained(task, solution)


def _tell_solution(solution: Solution) -> None:
    tell({"solution": {each.name: getattr(solution, each.name) for each in fields(solution)}})


def _verified(task: LasTask, solution: Solution, work: _Work, started: float) -> Solution:
    """The answer, checked by the definition in what is left of the time."""
    from nsl_bench.budget import Budget, heeding_interrupts
    from nsl_bench.las.semantics.verification.check import checked

    left = None if work.time_limit is None else max(0.0, started + work.time_limit - time.monotonic())
    budget = Budget.of(left, work.memory_limit)
    with heeding_interrupts(budget):
        return checked(task, solution, budget, thorough=True)


def _explained(task: LasTask, solution: Solution) -> dict[str, Any]:
    from nsl_bench.budget import Budget, Expired
    from nsl_bench.las.semantics.explanation import explain

    try:
        found = explain(task, solution, Budget.of(_EXPLAINING_SECONDS, None))
    except Expired as reason:
        return {"rules": [], "explanation": f"No explanation: {reason}."}
    return {"rules": [asdict(rule) for rule in found.rules], "explanation": str(found)}
