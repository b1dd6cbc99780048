"""Parallel runs in processes of this machine, each of which takes runs that share their data.

Besides learning, a run needs rendering, perception and splits, which runs on the same task and images share.
Each process therefore takes a whole group of such runs. When no group is left, it takes the second half of
another process's remaining runs.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from functools import partial
from multiprocessing import resource_tracker
from typing import TYPE_CHECKING, Any

from nsl_bench.core.errors import UserError
from nsl_bench.core.folders import temporary
from nsl_bench.core.interrupts import leave_to_parent, starting_processes
from nsl_bench.run.job import Job
from nsl_bench.sandbox.control_groups import remove_left

if TYPE_CHECKING:
    from nsl_bench.run.bench import Bench, Outcome
    from nsl_bench.run.grid import Options

_MOST_MEMORY = 0.6
"""Share of a Dask worker's memory above which it forgets the data of earlier runs; Dask stops it at 0.8."""

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def side_by_side(
    jobs: Sequence[Job], options: Options, processes: int, begin: Callable[[Job], bool] = lambda job: True
) -> Iterator[Outcome]:
    """Do jobs in several processes; yields each outcome as soon as it is known.

    Args:
        begin: asked before a job is handed to a process; a job for which it says False is left out.
    """
    from joblib.externals.loky.backend import resource_tracker as lokys

    left = Groups(jobs)
    threads = str(max(1, (os.cpu_count() or 1) // processes))
    env = {name: os.environ.get(name, threads) for name in _THREADS}
    running: dict[Future[Any], int] = {}

    def hand_out(worker: int) -> None:
        todo = iter(partial(left.next_for, worker), None)
        job = next(filter(begin, todo), None)
        if job is not None:
            running[workers[worker].submit(run_in_worker, job, options)] = worker

    # Workers that are killed leave their temporary files.
    with temporary() as place:
        env["TMPDIR"] = str(place)
        workers: list[Any] = []
        done = False
        try:
            with starting_processes(resource_tracker, lokys):
                workers += (_worker(env) for _ in range(min(processes, len(jobs))))
                for worker in range(len(workers)):
                    hand_out(worker)
            while running:
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    worker = running.pop(future)
                    outcome: Outcome = future.result()
                    hand_out(worker)
                    yield outcome
            done = True
        finally:
            for pool in workers:
                pool.shutdown(wait=True, kill_workers=not done)
            if not done:
                remove_left()


def _worker(env: Mapping[str, str]) -> Any:
    """A process that takes jobs, and ends with this one, even before it has a job."""
    from joblib.externals.loky.process_executor import ProcessPoolExecutor

    return ProcessPoolExecutor(1, env=env, initializer=_begin, initargs=(os.getpid(),))


def _begin(parent: int) -> None:
    from joblib.externals.loky import process_executor

    leave_to_parent()
    process_executor._USE_PSUTIL = False  # else loky ends it: it takes the data that a bench keeps for a leak
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


class Groups:
    """The jobs that no worker has started, in groups that share a task and images."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        groups: dict[tuple[str, str], deque[Job]] = {}
        for job in jobs:
            groups.setdefault((job.task, job.source), deque()).append(job)
        self._free = deque(groups.values())
        self._own: dict[int, deque[Job]] = {}

    def next_for(self, worker: int) -> Job | None:
        """The next job for a worker; None if no job is left."""
        own = self._own.get(worker)
        if not own:
            own = self._own[worker] = self._free.popleft() if self._free else self._half()
        return own.popleft() if own else None

    def _half(self) -> deque[Job]:
        """The later half of what the worker with most jobs has yet to do."""
        largest = max(self._own.values(), key=len)
        first_half = deque[Job]()
        for _ in range((len(largest) + 1) // 2):
            first_half.appendleft(largest.pop())
        return first_half


_local = threading.local()


def run_in_worker(job: Job, options: Options, *, keep_fits: bool = True) -> Outcome:
    """Do a job in a worker, which keeps data and networks for its next job.

    Args:
        keep_fits: whether to keep learners, too, which must then end with this process.
    """
    from nsl_bench.run.bench import Bench

    if getattr(_local, "options", None) != options:
        _local.bench, _local.options = Bench.of(options), options
        if keep_fits:
            _local.bench.fits.start()
    bench: Bench = _local.bench
    return bench.run(job)


def run_on_dask(job: Job, options: Options, own: tuple[str, str]) -> Outcome:
    """Do a job in a worker of a Dask cluster.

    Args:
        own: `identity` of the process that started the sweep.
    """
    import psutil
    from distributed import get_worker

    worker = get_worker()
    check_workers({worker.address: identity()}, own)
    limit = worker.memory_manager.memory_limit
    if limit and psutil.Process().memory_info().rss > _MOST_MEMORY * limit:
        _local.bench = _local.options = None  # else Dask would pause the worker, and never go on
    return run_in_worker(job, options, keep_fits=False)


def identity_on_worker() -> Callable[[], tuple[str, str]]:
    """`identity` for a worker of any version: a function that is sent as code, not by its name."""

    def found() -> tuple[str, str]:
        import nsl_bench
        from nsl_bench.run.job import PROTOCOL

        return nsl_bench.__version__, str(PROTOCOL)

    return found


def identity() -> tuple[str, str]:
    """What a run depends on besides its job: the versions of nsl-bench and of its protocol."""
    return identity_on_worker()()


def check_workers(identities: Mapping[str, Any], own: tuple[str, str] | None = None) -> None:
    """Check the versions of nsl-bench on workers.

    Args:
        identities: what `identity` gave, or the exception that it raised, by the worker's address.
        own: what it must be; by default that of this process.
    """
    version, protocol = own or identity()
    for address, one in identities.items():
        if isinstance(one, Exception):
            raise UserError(f"The Dask worker {address} cannot import nsl-bench {version}: {one}.")
        if tuple(one) != (version, protocol):
            raise UserError(
                f"The Dask worker {address} has nsl-bench {one[0]} (protocol {one[1]}), but this sweep is of "
                f"{version} (protocol {protocol}); install the same version there, and restart the worker."
            )


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)
