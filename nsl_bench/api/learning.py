"""Learn rules from a task of noisy learning from answer sets."""

from __future__ import annotations

import contextlib
import os
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nsl_bench.core.errors import UserError

if TYPE_CHECKING:
    from nsl_bench.logic.las.language_bias import Dialect
    from nsl_bench.logic.las.task import LasTask, Progress, Solution

_STATEMENT = re.compile(r"#\s*\w+|~|:-|\.\s*$")


def rule_learner_of(name: str) -> Any:
    """The rule learner of a name in the group ``nsl_bench.rule_learners``.

    Raises:
        UserError: an unknown rule learner, or one that cannot be imported.
    """
    from nsl_bench.core import registry

    return registry.factory("rule_learner", name)


def learn(
    task: str | Path | LasTask,
    *,
    dialect: Dialect | None = None,
    constraints: bool = True,
    time_limit: float | None = None,
    memory_limit: int | None = None,
    verify: bool = False,
    explain: bool = False,
    rule_learner: str = "exact",
    threads: int = 1,
    progress: Callable[[Progress], None] | None = None,
) -> Solution:
    """Find the hypothesis with the lowest score for a learning task.

    The task is read and solved in a separate process, which is ended if it exceeds its limits or crashes.
    Ctrl-C gives the best hypothesis so far. Notes on the task are issued as warnings.

    Args:
        task: a file in the syntax of FastLAS or ILASP, the text of such a file, or a task.
        dialect: ``"fastlas"`` or ``"ilasp"``, whose defaults apply to a file or text; None: what its
            statements tell.
        constraints: whether rules without a head belong to the space of a file or text in ILASP's dialect.
        time_limit: time limit in seconds, kept to within a second. The best hypothesis so far is then
            returned, with a lower bound.
        memory_limit: memory limit in megabytes.
        verify: whether to check the score by the definition, and optimality too if the space is small.
        explain: whether to say in `Solution.why` why examples are uncovered, too. It always says why nothing
            was found.
        rule_learner: ``"exact"``, ``"fastlas"`` or ``"ilasp"``.
        threads: threads with which clingo proves an optimum. The answer is the same with any number.
        progress: called when a step begins, and whenever a better hypothesis or bound is found, with the
            best hypothesis so far, its score, the bound and the gap.

    Returns:
        The rules, their score with a lower bound, and the examples that they do not cover. Print it for a
        summary.

    Raises:
        UserError: the task cannot be read or solved, or the process ended before it had found a hypothesis.
    """
    from nsl_bench.core.budget import MEBIBYTE
    from nsl_bench.logic.guarded.learning import solve_isolated

    notes: list[str] = []
    solution = solve_isolated(
        _source(task, dialect),
        dialect=dialect,
        constraints=constraints,
        rule_learner=rule_learner,
        find=rule_learner_of,
        time_limit=time_limit,
        memory_limit=None if memory_limit is None else memory_limit * MEBIBYTE,
        verify=verify,
        explain=explain,
        options={"threads": threads} if threads != 1 else {},
        progress=progress,
        warned=notes.append,
    ).solution
    for note in notes:
        warnings.warn(note, UserWarning, stacklevel=2)
    return solution


def _source(task: object, dialect: Dialect | None) -> Path | str | LasTask:
    """A path, a text or a task, told apart."""
    from nsl_bench.logic.las.task import LasTask

    if isinstance(task, LasTask):
        if dialect not in (None, task.bias.dialect):
            raise UserError(
                f"dialect applies to a file or text; this task was read as {task.bias.dialect}'s already."
            )
        return task
    if isinstance(task, os.PathLike):
        return Path(task)
    if not isinstance(task, str):
        raise UserError(f"task must be a path, the text of a task or a LasTask; got a {type(task).__name__}.")
    with contextlib.suppress(OSError, ValueError):  # a text may be too long for a name
        if task and Path(task).exists():
            return Path(task)
    if _STATEMENT.search(task):
        return task
    text = repr(task if len(task) <= 60 else f"{task[:60]}...")
    raise UserError(
        f"{text} is neither an existing file nor the text of a task, which has statements such as "
        "'#modeh(p).' and '#pos(e1, {p}, {}).'."
    )
