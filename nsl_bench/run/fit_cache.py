"""Learners that have learned, kept for the next runs of a sweep: those that differ in their test set only.

Only learners that come with nsl-bench and declare ``answers_alike = True`` are kept: what these answer
depends on what they learned and on the question, not on earlier questions. Any other learner learns anew for
every run, so that no run can tell the next one anything.
"""

from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from typing import Any

from nsl_bench.core import registry
from nsl_bench.core.code_files import comes_with_us
from nsl_bench.learners.command import is_command
from nsl_bench.run.job import Job
from nsl_bench.run.scoring import Learned, Measured


@dataclass(frozen=True)
class Shared:
    """A learner that learned in an earlier run.

    Attributes:
        learner: as that run made it; ends with `stack`.
        stack: closes the learner.
    """

    key: str
    learner: Any
    learned: Learned
    fit_key: str
    stack: ExitStack


class FitCache:
    """Keeps the learner of the last run for the next one, between `start` and `release`."""

    def __init__(self) -> None:
        self._sharing = False
        self._kept: Shared | None = None

    def start(self) -> None:
        """Keep learners from now on."""
        self._sharing = True

    def release(self) -> None:
        """Close what is kept, and keep nothing more."""
        self._sharing = False
        self._close()

    def _close(self) -> None:
        shared, self._kept = self._kept, None
        if shared is not None:
            shared.stack.close()

    def take(self, job: Job, stack: ExitStack) -> Shared | None:
        """The learner that learned what a job's is to learn; from now on `stack` closes it."""
        shared = self._kept
        if shared is None or shared.fit_key != job.fit_key():
            self._close()
            return None
        self._kept = None
        stack.enter_context(shared.stack)
        return shared

    def keep(
        self, job: Job, learner: Any, measured: Measured, stack: ExitStack, shared: Shared | None
    ) -> None:
        """Take the learner of a run that ended well from its `stack`, if it can be shared."""
        if not self._sharing or measured.learned is None or not _answers_alike(job.learner):
            return
        key = shared.key if shared else job.key()
        self._kept = Shared(key, learner, measured.learned, job.fit_key(), stack.pop_all())


@cache
def _answers_alike(learner: str) -> bool:
    """Whether what a learner answers does not depend on what it was asked before."""
    if is_command(learner) or not comes_with_us(learner):
        return False
    return bool(getattr(registry.create("learner", learner, seed=0), "answers_alike", False))


def in_order(jobs: Iterable[Job]) -> list[Job]:
    """The jobs, with those that may share a fit one after the other; else by their test set.

    Runs with the same test set share its images, and often what a hypothesis answers. A process that takes
    over half of another's runs (`nsl_bench.run.processes`) so gets test sets of its own.
    """
    fits: dict[str, list[Job]] = {}
    for job in jobs:
        fits.setdefault(job.fit_key(), []).append(job)
    tests: dict[tuple[str, str, str, float], list[Job]] = {}
    for group in fits.values():
        first = group[0]
        test = (first.task, first.source, first.test_shift, first.test_percent)
        tests.setdefault(test, []).extend(group)
    return [job for group in tests.values() for job in group]
