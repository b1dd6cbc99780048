"""The main job: FFNSL and baselines on three tasks, on embedded images, at 0, 50 and 90 % shift."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from nsl_bench.api.evaluation import Evaluation
from nsl_bench.api.results import Results
from nsl_bench.core.errors import UserError
from nsl_bench.run.grid import Grid, Options
from nsl_bench.run.record import Record

_SHARES = (0.0, 50.0, 90.0)
_EVERY = 10

GRIDS = (
    ("follow_suit", "noir", ("ffnsl", "random_forest", "fcn", "majority")),
    ("sudoku_4x4", "rotate90", ("ffnsl", "random_forest", "cnn_lstm", "majority")),
    ("sudoku_9x9", "rotate90", ("ffnsl", "random_forest", "random_forest_knowledge", "cnn_lstm", "majority")),
)
"""Task, shift and learners."""


@dataclass(frozen=True)
class MainJob:
    """The result of the main job.

    Attributes:
        failed: how many runs failed, now or before.
    """

    results: Results
    pictures: tuple[Path, ...]
    failed: int
    seconds: float


def run_main_job(
    out: str | Path,
    *,
    repeats: int = 3,
    on_failure: Callable[[Record], None] = lambda record: None,
    notify: Callable[[str], None] = lambda line: None,
) -> MainJob:
    """Run the main job's grid and draw its curves; only what `out` lacks is run."""
    if repeats < 1:
        raise UserError(f"repeats must be 1 or more; got {repeats}.")
    clock = time.perf_counter()

    grids = [
        Grid(
            benchmark=task,
            learners=learners,
            shifts=(shift,),
            percents=_SHARES,
            repeats=tuple(range(1, repeats + 1)),
        )
        for task, shift, learners in GRIDS
    ]
    evaluation = Evaluation(grids, Path(out), Options(limits=None))

    def progress(record: Record, done: int, total: int, left: str) -> None:
        if done % _EVERY == 0 or done == total:
            notify(f"{done} of {total} runs; {time.perf_counter() - clock:.0f} s, about {left} left")

    tally = evaluation.run(on_failure, progress)
    notify(f"{tally}; {time.perf_counter() - clock:.0f} s")
    results = Results(out)
    pictures = tuple(results.curves(Path(out) / "curves"))
    return MainJob(results, pictures, tally.failed + tally.failed_before, time.perf_counter() - clock)
