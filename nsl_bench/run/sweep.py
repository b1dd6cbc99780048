"""Many runs: those that are missing from a results folder, one after the other, each kept when known."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nsl_bench.run.job import Job
from nsl_bench.run.store import Record, Store

if TYPE_CHECKING:
    from nsl_bench.run.evaluate import Bench

__all__ = ["Tally", "sweep"]


@dataclass(frozen=True)
class Tally:
    """How a sweep went: runs done now, failed now, and already there before."""

    done: int
    failed: int
    before: int


def sweep(
    jobs: Sequence[Job],
    store: Store,
    bench: Bench,
    on_failure: Callable[[Record], None] = lambda record: None,
) -> Tally:
    """Do the jobs that the store lacks, with a progress bar on a terminal.

    Args:
        jobs: what to do; failed runs of an earlier call are tried again.
        store: where records go.
        bench: does them.
        on_failure: told of every failed record.

    Raises:
        UserError: the data or the network of a job cannot be made; what was done before is kept.
    """
    from tqdm import tqdm

    done = store.done()
    missing = [job for job in jobs if job.key() not in done]
    failed = 0
    with tqdm(missing, unit="run", disable=not sys.stderr.isatty(), dynamic_ncols=True) as bar:
        for job in bar:
            bar.set_postfix_str(str(job), refresh=True)
            outcome = bench.run(job)
            if outcome.predictions is not None:
                store.add_predictions(job.key(), outcome.predictions)
            store.add(outcome.record)
            if outcome.record.status == "failed":
                failed += 1
                on_failure(outcome.record)
    return Tally(len(missing) - failed, failed, len(jobs) - len(missing))
