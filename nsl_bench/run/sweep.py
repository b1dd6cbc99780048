"""Sweeps: the runs that a results folder lacks, each saved as soon as it finishes.

An *executor* does the runs: this process, processes of this machine, or a Dask cluster. The result of a run
depends only on its job, so it is the same everywhere. Only this process writes results. Runs of killed
workers are repeated.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from multiprocessing import resource_tracker
from typing import TYPE_CHECKING, Any, Literal

from nsl_bench.errors import UserError
from nsl_bench.interrupts import patient, starting_processes
from nsl_bench.run.fits import in_order
from nsl_bench.run.job import Job
from nsl_bench.run.processes import run_in_worker, side_by_side
from nsl_bench.run.record import Record
from nsl_bench.run.store import Store

if TYPE_CHECKING:
    from nsl_bench.run.evaluate import Bench, Outcome

__all__ = ["EXECUTORS", "Executor", "Rerun", "Tally", "keep", "sweep", "to_do"]

Rerun = Literal["missing", "failed", "all"]
"""Which jobs are done: those without a record, also those whose last record is a failure, or all."""

_DASK_SECONDS = 20.0

_WELL = {"ok", "not_applicable"}
"""Statuses of runs that did not fail."""

_MOST_DEATHS = 3
"""How often in a row workers may die before any run ends."""


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
        failed_before: runs that had failed before and were not repeated.
    """

    done: int
    failed: int
    before: int
    failed_before: int

    def __str__(self) -> str:
        said = f"{self.done} runs done, {self.failed} failed, {self.before} already done"
        if self.failed_before:
            said += f", {self.failed_before} had failed before (--rerun failed repeats them)"
        return said

    def __add__(self, other: Tally) -> Tally:
        """Of two sweeps together."""
        return Tally(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    @property
    def exit_code(self) -> int:
        """1 if any of the runs failed, now or before."""
        return 1 if self.failed or self.failed_before else 0


def to_do(jobs: Sequence[Job], statuses: Mapping[str, str], rerun: Rerun) -> list[Job]:
    """The jobs to do, given those that have a record.

    Args:
        jobs: all jobs.
        statuses: status of the last run of each key.
        rerun: which jobs that have a record to repeat.
    """
    known = {} if rerun == "all" else statuses
    skipped = _WELL if rerun == "failed" else set(known.values())
    return [job for job in jobs if known.get(job.key()) not in skipped]


def sweep(
    jobs: Sequence[Job],
    store: Store,
    bench: Bench,
    on_failure: Callable[[Record], None] = lambda record: None,
    *,
    executor: Executor | None = None,
    rerun: Rerun = "missing",
    heard: Callable[[Record, int, int], None] = lambda record, done, total: None,
) -> Tally:
    """Do the jobs that the store lacks, with a progress bar on a terminal and in a notebook.

    Args:
        jobs: the jobs.
        store: store of the records.
        bench: does the jobs, or describes to other processes how to do them.
        on_failure: called with every failed record.
        executor: where to do them; None for this process, one after the other.
        rerun: which jobs that have a record to repeat.
        heard: called with every record, the number of runs done, and the number of runs to do.

    Raises:
        UserError: the data or the network of a job cannot be created, or workers are killed repeatedly. What
            was done before is kept.
    """
    from tqdm.auto import tqdm

    executor = executor or Executor()
    statuses = {} if rerun == "all" else store.statuses()
    missing = {job.key(): job for job in in_order(to_do(jobs, statuses, rerun))}
    kept = [statuses[key] for key in {job.key() for job in jobs} - missing.keys()]
    well = sum(status in _WELL for status in kept)
    before_now = well, len(kept) - well
    total, failed, deaths = len(missing), 0, 0
    visible = sys.stderr.isatty() or "ipykernel" in sys.modules
    show = tqdm(total=total, unit="run", disable=not visible, dynamic_ncols=True)
    with patient(), show as bar:
        while missing:
            before = len(missing)
            try:
                for outcome in _outcomes(list(missing.values()), bench, executor):
                    keep(store, outcome)
                    del missing[outcome.record.job.key()]
                    if outcome.record.status not in _WELL:
                        failed += 1
                        on_failure(outcome.record)
                    heard(outcome.record, total - len(missing), total)
                    bar.set_postfix_str(f"{failed} failed, {outcome.record.job}", refresh=False)
                    bar.update()
            except _deaths() as error:
                deaths = 0 if len(missing) < before else deaths + 1
                if deaths >= _MOST_DEATHS:
                    fewer = f", or use fewer than {executor.jobs} parallel runs (--jobs)"
                    raise UserError(
                        f"Worker processes were killed repeatedly; {len(missing)} runs are missing "
                        f"({type(error).__name__}). Check their memory{'' if executor.scheduler else fewer}."
                    ) from error
    return Tally(total - failed, failed, *before_now)


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


def _outcomes(jobs: Sequence[Job], bench: Bench, executor: Executor) -> Iterator[Outcome]:
    if executor.scheduler is None and min(executor.jobs, len(jobs)) == 1:
        bench.fits.start()
        try:
            yield from map(bench.run, jobs)
        finally:
            bench.fits.release()
        return
    if executor.scheduler is None:
        yield from side_by_side(jobs, bench.setup, executor.jobs)
        return
    import joblib

    with _client(executor.scheduler) as client, joblib.parallel_config("dask", client=client, n_jobs=-1):
        # One job a batch and results as they come: what is known is on the disk at once.
        parallel = joblib.Parallel(return_as="generator_unordered", batch_size=1)
        with starting_processes(resource_tracker):
            outcomes = parallel(joblib.delayed(run_in_worker)(job, bench.setup, None) for job in jobs)
        yield from outcomes


def _client(scheduler: str) -> Any:
    try:
        from distributed import Client
    except ImportError as error:
        raise UserError(
            "The executor dask needs the package distributed: pip install 'nsl-bench[dask]'."
        ) from error
    try:
        return Client(scheduler, timeout=_DASK_SECONDS, set_as_default=False)  # type: ignore[no-untyped-call]
    except (OSError, ValueError, ImportError) as error:
        raise UserError(f"The Dask scheduler {scheduler} cannot be reached: {error}.") from error


def _deaths() -> tuple[type[BaseException], ...]:
    """What is raised where a worker was killed."""
    from joblib.externals.loky.process_executor import BrokenProcessPool

    distributed = sys.modules.get("distributed")
    return (BrokenProcessPool,) if distributed is None else (BrokenProcessPool, distributed.KilledWorker)
