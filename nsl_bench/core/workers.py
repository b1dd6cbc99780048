"""Work spread over processes: results in the order of the jobs, the same for any number of processes."""

import multiprocessing
import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from multiprocessing import resource_tracker
from typing import Any, TypeVar

from nsl_bench.core.errors import UserError
from nsl_bench.core.interrupts import leave_to_parent, starting_processes

Job = TypeVar("Job")
Result = TypeVar("Result")

_AHEAD = 2
"""Jobs handed out for each process before the first result is taken, so that results do not pile up."""


def usable_cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def spread(
    work: Callable[[Any, Job], Result], shared: Any, jobs: Sequence[Job], workers: int
) -> Iterator[Result]:
    """``work(shared, job)`` for each job, in order.

    Args:
        work: a function that a process can import.
        shared: what every job needs; sent to each process once.
        jobs: one for each result.
        workers: processes; with one, or one job, the work is done in this process.
    """
    if workers <= 1 or len(jobs) < 2:
        for job in jobs:
            yield work(shared, job)
        return
    # Fresh processes: forking one that already runs threads (torch, Arrow) can deadlock.
    context = multiprocessing.get_context("spawn")
    waiting: deque[Future[Any]] = deque()
    left = iter(jobs)
    with ProcessPoolExecutor(min(workers, len(jobs)), context, _Process.start, (work, shared)) as pool:
        try:
            with starting_processes(resource_tracker):
                waiting.extend(pool.submit(_Process.run, job) for job in islice(left, _AHEAD * workers))
            while waiting:
                result = waiting.popleft().result()
                waiting.extend(pool.submit(_Process.run, job) for job in islice(left, 1))
                yield result
        except BrokenProcessPool as error:
            raise UserError(
                "A worker process ended unexpectedly. Use fewer workers to save memory; in a script, "
                "put your code under 'if __name__ == \"__main__\":'."
            ) from error
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


class _Process:
    """What a process keeps between jobs: a source, say, draws its decks once, not for each job."""

    work: Callable[[Any, Any], Any]
    shared: Any

    @classmethod
    def start(cls, work: Callable[[Any, Any], Any], shared: Any) -> None:
        leave_to_parent()  # the job at hand is finished
        cls.work, cls.shared = staticmethod(work), shared

    @classmethod
    def run(cls, job: Any) -> Any:
        return cls.work(cls.shared, job)
