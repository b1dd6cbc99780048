"""Sweeps: the runs that a results folder lacks, each saved as soon as it finishes.

An *executor* does the runs: this process, processes of this machine, or a Dask cluster. The result of a run
depends only on its job, so it is the same everywhere. Only this process writes results. Runs of killed
workers are repeated. Several sweeps can share a results folder: each does the runs that no other does
(`nsl_bench.run.claims`).
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from nsl_bench.core.errors import UserError, counted
from nsl_bench.core.interrupts import patient
from nsl_bench.run.claims import Turns
from nsl_bench.run.fit_cache import in_order
from nsl_bench.run.grid import Options, Rerun
from nsl_bench.run.job import Job
from nsl_bench.run.processes import check_workers, identity, identity_on_worker, run_on_dask, side_by_side
from nsl_bench.run.record import Record
from nsl_bench.run.store import Store

if TYPE_CHECKING:
    from nsl_bench.run.bench import Bench, Outcome

_DASK_SECONDS = 20.0
"""How long to wait for a scheduler's first answer, and until a run that does not end is asked about."""

_CLOSE_SECONDS = 5.0

_OF_CLIENTS = ("distributed.client", "distributed.comm", "distributed.core", "distributed.utils", "tornado")
"""Loggers of Dask that speak for this process, not for a scheduler or workers in it."""

_AHEAD = 2
"""Runs handed out for each thread of a Dask cluster, so that none waits for the next."""

Notify = Callable[[Record, int, int, str], Any]
"""Called with a record, the numbers of runs done and to do, and the time that is left, in words."""

_WELL = {"ok", "not_applicable"}
"""Statuses of runs that did not fail."""

_MOST_DEATHS = 3
"""How often in a row workers may die before any run ends."""

_BAR = "{l_bar}{bar}| {n_fmt}/{total_fmt} [{elapsed}{postfix}]"
"""A progress bar without the time that is left, which `TimeLeft` knows better."""

_WAIT_SECONDS = 0.5
"""How often a sweep that waits for others looks whether their runs ended."""


class SchedulerLost(UserError):
    """The scheduler of a Dask cluster ended during a sweep. Its text says how to go on."""

    def __init__(self, scheduler: str) -> None:
        super().__init__(
            f"The Dask scheduler {scheduler} ended or cannot be reached any more; the runs that are done are "
            "kept. Start it again, and resume with the same command."
        )


@dataclass(frozen=True)
class Executor:
    """Where runs are done.

    Attributes:
        jobs: number of parallel runs; 1 on this machine means in this process.
        scheduler: address of a Dask cluster, e.g. ``"tcp://host:8786"``; None for this machine.
    """

    jobs: int = 1
    scheduler: str | None = None

    @classmethod
    def processes(cls, jobs: int | None = None) -> Executor:
        """Processes on this machine; with one job, the main process.

        Args:
            jobs: number of parallel runs; by default one per processor core.
        """
        return cls(jobs or os.cpu_count() or 1)

    @classmethod
    def dask(cls, scheduler: str) -> Executor:
        """A Dask cluster, with one run at a time in each of its workers.

        Install it with ``pip install 'nsl-bench[dask]'``. Workers need nsl-bench and the data.

        Args:
            scheduler: address of the Dask scheduler, e.g. ``tcp://127.0.0.1:8786``.
        """
        return cls(scheduler=scheduler)


EXECUTORS: Mapping[str, Callable[..., Executor]] = {"processes": Executor.processes, "dask": Executor.dask}
"""Executors by the name that ``nsl-bench run --executor`` takes."""


@dataclass(frozen=True)
class Tally:
    """Counts of a sweep.

    Attributes:
        done: runs that succeeded now, or that do not apply to their learner.
        failed: runs that failed now.
        before: runs that had succeeded before.
        failed_before: runs that had failed before, or failed in another sweep, and were not repeated.
        elsewhere: runs that another sweep on the same folder did meanwhile.
    """

    done: int
    failed: int
    before: int
    failed_before: int
    elsewhere: int = 0

    def __str__(self) -> str:
        counts = f"{counted(self.done, 'run')} done, {self.failed} failed, {self.before} already done"
        if self.elsewhere:
            counts += f", {self.elsewhere} done by another sweep"
        if self.failed_before:
            counts += f", {self.failed_before} had failed before (--rerun failed repeats them)"
        return counts

    def __add__(self, other: Tally) -> Tally:
        """Of two sweeps together."""
        return Tally(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    @property
    def exit_code(self) -> int:
        """1 if any of the runs failed, now or before."""
        return 1 if self.failed or self.failed_before else 0


class TimeLeft:
    """How long the rest of a sweep takes: as long, run by run, as earlier runs of the same task and learner.

    Args:
        jobs: the runs that are to be done.
    """

    def __init__(self, jobs: Iterable[Job]) -> None:
        self._begun = time.monotonic()
        self._left = Counter((job.benchmark, job.learner) for job in jobs)
        self._spent: dict[tuple[str, str], float] = defaultdict(float)
        self._done: Counter[tuple[str, str]] = Counter()

    def after(self, record: Record) -> str:
        """The time that is left after a run, in words."""
        kind = record.job.benchmark, record.job.learner
        self._left[kind] -= 1
        self._done[kind] += 1
        self._spent[kind] += record.seconds
        spent = max(sum(self._spent.values()), 1e-9)
        mean = spent / sum(self._done.values())
        work = sum(
            n * (self._spent[k] / self._done[k] if self._done[k] else mean) for k, n in self._left.items()
        )
        return duration(work * (time.monotonic() - self._begun) / spent)


def duration(seconds: float) -> str:
    """A duration in words: ``40 s``, ``12 min``, ``3 h 20 min``."""
    minutes = round(seconds / 60)
    if minutes < 2:
        return f"{seconds:.0f} s"
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"


def _is_repeated(status: str, rerun: Rerun) -> bool:
    """Whether a run with a record of some status is to be done."""
    return rerun == "all" or (rerun == "failed" and status not in _WELL)


def to_do(jobs: Sequence[Job], statuses: Mapping[str, str], rerun: Rerun) -> list[Job]:
    """The jobs to do, given those that have a record."""
    with_status = ((job, statuses.get(job.key())) for job in jobs)
    return [job for job, status in with_status if status is None or _is_repeated(status, rerun)]


def sweep(
    jobs: Sequence[Job],
    store: Store,
    bench: Bench,
    on_failure: Callable[[Record], None] = lambda record: None,
    *,
    executor: Executor | None = None,
    rerun: Rerun = "missing",
    notify: Notify = lambda *_: None,
) -> Tally:
    """Do the jobs that the store lacks, with a progress bar on a terminal and in a notebook.

    Args:
        bench: does the jobs, or describes to other processes how to do them.
        executor: where to do them; None for this process, one after the other.
        rerun: which jobs that have a record to repeat.
        notify: called with every record, the numbers of runs done and to do, and the time that is left.

    Raises:
        UserError: the data or the network of a job cannot be created, or workers are killed repeatedly. What
            was done before is kept.
    """
    from tqdm.auto import tqdm

    executor = executor or Executor()
    visible = sys.stderr.isatty() or "ipykernel" in sys.modules
    with patient(), Turns(store, lambda status: _is_repeated(status, rerun)) as turns:
        statuses = {} if rerun == "all" else store.statuses()
        missing = {job.key(): job for job in in_order(to_do(jobs, statuses, rerun))}
        statuses_done = [statuses[key] for key in {job.key() for job in jobs} - missing.keys()]
        before = sum(status in _WELL for status in statuses_done)
        bar_of = partial(tqdm, total=len(missing), disable=not visible, dynamic_ncols=True, bar_format=_BAR)
        with store.unfinished(jobs), bar_of() as bar:
            doing = _Doing(missing, store, turns, bar, on_failure, notify)
            doing.all(bench, executor)
    failed_before = len(statuses_done) - before + doing.failed_elsewhere
    return Tally(doing.done, doing.failed, before, failed_before, doing.elsewhere)


class _Doing:
    """The runs of a sweep that are yet to be done, and what became of the others."""

    def __init__(
        self,
        missing: dict[str, Job],
        store: Store,
        turns: Turns,
        bar: Any,
        on_failure: Callable[[Record], None],
        notify: Notify,
    ) -> None:
        self.missing, self._store, self._turns, self._bar = missing, store, turns, bar
        self._on_failure, self._notify = on_failure, notify
        self._total, self._time = len(missing), TimeLeft(missing.values())
        self.done = self.failed = self.elsewhere = self.failed_elsewhere = 0

    def all(self, bench: Bench, executor: Executor) -> None:
        """Do them, those excepted that other sweeps do; return when all are done."""
        deaths, warned = 0, False
        while self.missing:
            before = len(self.missing)
            outcomes = _outcomes(list(self.missing.values()), bench, executor, self._turns.begin)
            try:
                with contextlib.closing(outcomes):  # which ends the workers now, whatever holds it
                    for outcome in outcomes:
                        self._keep(outcome)
            except _deaths() as error:
                self._turns.drop()
                deaths = 0 if len(self.missing) < before else deaths + 1
                if deaths >= _MOST_DEATHS:
                    fewer = (
                        ""
                        if executor.scheduler
                        else f", or use fewer than {executor.jobs} parallel runs (--jobs)"
                    )
                    raise UserError(
                        f"Worker processes were killed repeatedly; missing runs: {len(self.missing)} "
                        f"({type(error).__name__}). Check their memory{'' if executor.scheduler else fewer}."
                    ) from error
                continue
            self._count_others()
            if self.missing and not warned:
                warned = True
                waiting = counted(len(self.missing), "run is", "runs are")
                waiting += " in progress in another sweep; waiting."
                print(f"{self._store.folder}: {waiting}", file=sys.stderr)
            while self.missing and not any(map(self._turns.is_free, self.missing.values())):
                time.sleep(_WAIT_SECONDS)
                self._count_others()

    def _keep(self, outcome: Outcome) -> None:
        record = outcome.record
        keep(self._store, outcome)
        self._turns.end(record.key)
        del self.missing[record.key]
        if record.status in _WELL:
            self.done += 1
        else:
            self.failed += 1
            self._on_failure(record)
        left = self._time.after(record)
        self._notify(record, self._total - len(self.missing), self._total, left)
        self._bar.set_postfix_str(f"about {left} left, {self.failed} failed, {record.job}", refresh=False)
        self._bar.update()

    def _count_others(self) -> None:
        """Take note of the runs that other sweeps did meanwhile."""
        for key, status in self._turns.done_elsewhere().items():
            if self.missing.pop(key, None) is not None:
                self.elsewhere += status in _WELL
                self.failed_elsewhere += status not in _WELL
                self._bar.update()


def keep(store: Store, outcome: Outcome) -> None:
    """Store the record, the predictions and the log of a run."""
    record = outcome.record
    if outcome.log:
        head = f"{record.job}\n{record.started}: {record.status} {record.message}\n\n"
        with contextlib.suppress(OSError):  # a log is not worth a run
            store.log(record.key).write_text(head + outcome.log, encoding="utf-8")
    if outcome.predictions is not None:
        store.add_predictions(record.key, outcome.predictions)
    store.add(record)


def _outcomes(
    jobs: Sequence[Job], bench: Bench, executor: Executor, begin: Callable[[Job], bool]
) -> Generator[Outcome]:
    """Do jobs where an executor says; those that `begin` refuses when their turn comes are left out."""
    if executor.scheduler is None and min(executor.jobs, len(jobs)) == 1:
        bench.fits.start()
        try:
            yield from map(bench.run, filter(begin, jobs))
        finally:
            bench.fits.release()
        return
    if executor.scheduler is None:
        yield from side_by_side(jobs, bench.options, executor.jobs, begin)
        return
    with _hushed():
        yield from _on_dask(jobs, bench.options, executor.scheduler, begin)


def _on_dask(
    jobs: Sequence[Job], options: Options, scheduler: str, begin: Callable[[Job], bool]
) -> Iterator[Outcome]:
    """Do jobs on a Dask cluster; yields each outcome as soon as it is known."""
    client = _client(scheduler)
    from distributed import CancelledError
    from distributed.comm.core import CommClosedError

    left, running = filter(begin, jobs), set[Any]()
    try:
        check_workers(client.run(identity_on_worker(), on_error="return"))
        while True:
            ahead = _AHEAD * max(1, sum(client.nthreads().values()))
            for job in islice(left, max(0, ahead - len(running))):
                running.add(client.submit(run_on_dask, job, options, identity(), pure=False))
            if not running:
                return
            for future in _next_of(running, client):
                running.remove(future)
                yield future.result()
    except CancelledError as error:
        raise SchedulerLost(scheduler) from error
    except OSError as error:
        # The client hears on another connection, maybe later, that the scheduler ended.
        if client.status == "running" and not isinstance(error, CommClosedError):
            raise
        raise SchedulerLost(scheduler) from error
    finally:
        client.close(timeout=_CLOSE_SECONDS)


@contextlib.contextmanager
def _hushed() -> Iterator[None]:
    """Keep what Dask prints of lost connections, futures and workers; the sweep has sentences for them.

    A task of asyncio is complained about when it is forgotten, which may be after the block.
    """
    from asyncio import CancelledError

    try:
        from distributed.client import AllExit
    except ImportError as error:
        raise UserError(
            "The executor dask needs the package distributed: pip install 'nsl-bench[dask]'."
        ) from error

    def is_told(record: logging.LogRecord) -> bool:
        return not record.name.startswith(_OF_CLIENTS)

    def is_news(record: logging.LogRecord) -> bool:
        return not (record.exc_info and isinstance(record.exc_info[1], (AllExit, OSError, CancelledError)))

    logging.getLogger("asyncio").addFilter(is_news)
    handlers = list(logging.getLogger("distributed").handlers)
    for handler in handlers:
        handler.addFilter(is_told)
    try:
        yield
    finally:
        for handler in handlers:
            handler.removeFilter(is_told)


def _next_of(running: set[Any], client: Any) -> set[Any]:
    """The futures that are done, once there are any; says why there are none for long."""
    from distributed import wait as untyped

    wait: Any = untyped
    warned = False
    while True:
        try:
            with client.as_current():
                result = wait(running, timeout=_DASK_SECONDS, return_when="FIRST_COMPLETED")
            return set(result.done)
        except TimeoutError:
            states = [one["status"] for one in client.scheduler_info(n_workers=-1)["workers"].values()]
            if "running" not in states and not warned:
                warned = True
                paused = f"All {len(states)} Dask workers are paused, because their memory is nearly full"
                print(f"{paused if states else 'The Dask cluster has no workers'}; waiting.", file=sys.stderr)


def _client(scheduler: str) -> Any:
    from distributed import Client

    try:
        return Client(scheduler, timeout=_DASK_SECONDS, set_as_default=False)  # type: ignore[no-untyped-call]
    except (OSError, ValueError, ImportError) as error:
        raise UserError(f"The Dask scheduler {scheduler} cannot be reached: {error}.") from error


def _deaths() -> tuple[type[BaseException], ...]:
    """The errors that a killed worker raises."""
    from joblib.externals.loky.process_executor import BrokenProcessPool

    distributed = sys.modules.get("distributed")
    return (BrokenProcessPool,) if distributed is None else (BrokenProcessPool, distributed.KilledWorker)
