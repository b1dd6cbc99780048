"""What `nsl-bench reproduce` does for a paper: its runs, and what is made of them."""

import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial
from itertools import chain
from pathlib import Path

from nsl_bench.core.errors import UserError, counted
from nsl_bench.run.job import Job
from nsl_bench.run.store import Store

from .ffnsl import compare, further_splits, in_workshop
from .figures import Figure
from .grid import PRESETS, TASKS, grid, of_workshop
from .papers import paper
from .tabulated import QUICK_MINUTES, UNKNOWN, compare_rows, planned

FOLDER_VARIABLE = "NSL_BENCH_UCI"
"""Environment variable with the folder of UCI tables."""


@dataclass(frozen=True)
class Reproduction:
    """The runs of a paper and what is made of them.

    Attributes:
        jobs: each once.
        compare: the figures of the finished runs in a results folder.
        minutes: CPU time that runs are estimated to take.
        further: the runs on further train splits that the figures need.
        lacking: which figures have no runs because the data lack something.
    """

    jobs: Sequence[Job]
    compare: Callable[[Store], list[Figure]]
    minutes: Callable[[Sequence[Job]], float]
    further: Callable[[Store], list[Job]] = lambda _: []
    lacking: Sequence[str] = ()


def reproduction(
    name: str, preset: str, data: Path, tasks: Sequence[str] = (), *, images: bool = True
) -> Reproduction:
    """What `nsl-bench reproduce` does for a paper.

    Args:
        tasks: of the FFNSL papers; all if empty.
        images: whether Sudoku is also run on MNIST, if it is there.
    """
    if name.startswith("ffnsl"):
        return _of_ffnsl(name, preset, data, tasks or TASKS, images=images)
    if (data / "uci").is_dir():
        os.environ.setdefault(FOLDER_VARIABLE, str(data / "uci"))
    cost = partial(minutes, name)
    rows = planned(name, preset, data)
    once = {job.key(): job for row in rows for job in chain(row.jobs, row.others, *row.under)}
    reasons = Counter(row.reason for row in rows if row.reason not in ("", row.rule.reason, UNKNOWN))
    if not once:
        raise UserError(f"--data: {data} has nothing to reproduce {name} with. {next(iter(reasons))}")
    jobs = [job for job in once.values() if preset == "paper" or cost([job]) <= QUICK_MINUTES]
    lacking = [f"{counted(n, 'figure')} without runs: {reason}" for reason, n in reasons.items()]
    return Reproduction(jobs, partial(compare_rows, rows), cost, lacking=lacking)


def _of_ffnsl(name: str, preset: str, data: Path, tasks: Sequence[str], *, images: bool) -> Reproduction:
    """That of one of the FFNSL papers."""
    mnist = data / "mnist"
    wanted = images and any(task.startswith("sudoku") for task in tasks)
    seen = wanted and mnist.is_dir()
    without = f"Figures of Sudoku on images have no runs: the folder {mnist} does not exist."
    jobs = grid(tasks, PRESETS[preset], data / "ffnsl_splits", mnist if seen else None)
    shown: Callable[[Figure], bool] | None = None
    if name == "ffnsl2021":
        jobs, shown = of_workshop(jobs), in_workshop
    if not jobs:
        raise UserError(
            f"{name} has runs of Sudoku on images only, which need the folder {mnist}; leave out "
            "--no-images and --task follow_suit."
        )
    return Reproduction(
        jobs,
        lambda store: list(filter(shown, compare(jobs, store))),
        partial(minutes, "ffnsl2023"),
        partial(further_splits, jobs, shown) if PRESETS[preset].whole else lambda _: [],
        [without] if wanted and not seen else [],
    )


def minutes(name: str, jobs: Sequence[Job]) -> float:
    """The CPU minutes that a paper's runs are estimated to take.

    Runs that differ in the test task alone count once.
    """
    known = paper(name).minutes
    texts = {job.fit_key(): f"{job.benchmark} {job.learner} {job.size}" for job in jobs}
    return sum(
        next(cost for pattern, cost in known.items() if fnmatchcase(text, pattern)) for text in texts.values()
    )
