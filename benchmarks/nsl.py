"""The study of the NSL paper: NSL and its baselines on Zoo and Sudoku 4x4, five folds, 0 to 100 % shift.

    python benchmarks/nsl.py --shared ../shared --jobs 2

NSL with Softmax, with EDL-GEN and with constant penalties, a random forest, and the paper's network (an FNN
on Zoo, a CNN-LSTM on Sudoku), on scikit-learn's digits and on MNIST where `--shared` has it. Two settings:
train and test images shifted alike, and *run-time shift*, where train images are standard. Runs are kept in
results/nsl, a folder a task and source: a second call does only what is missing. Then `nsl_page` writes
docs/results/nsl.md from tables of the runs; `--page` writes it from the tables that are there. `--paper`
takes the paper's LeNet-5 and EDL-GEN and its equation for penalties; give it a `--docs` folder of its own.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import nsl_page as page
from kept import say

from nsl_bench.run.bench import Bench
from nsl_bench.run.grid import Grid
from nsl_bench.run.job import Job
from nsl_bench.run.plan import jobs_of
from nsl_bench.run.store import Store
from nsl_bench.run.sweep import Executor, sweep

FOLDS = 5
TENTHS = tuple(range(0, 101, 10))
SHIFT = "rotate90"


@dataclass(frozen=True)
class Task:
    """A task of the study.

    Attributes:
        benchmark: its spec.
        network: the paper's neural baseline.
    """

    benchmark: str
    network: str


TASKS = {"zoo": Task("zoo", "nsl_fnn"), "sudoku_4x4": Task("sudoku_4x4:folds=5", "nsl_cnn_lstm")}
SOURCES = ("sklearn_digits", "mnist")


def jobs(task: Task, source: str, folds: int, shares: tuple[float, ...]) -> list[Job]:
    """The runs of a task on a source; baselines get what Softmax sees, as in the paper."""
    baselines = (page.CONSTANT, "random_forest", task.network)
    learners = {page.SOFTMAX: (page.NSL, *baselines), page.EDL_GEN: (page.NSL,)}
    return jobs_of(
        [
            Grid(
                task.benchmark,
                own,
                (SHIFT,),
                **{"percents" if alike else "test_percents": shares},  # type: ignore[arg-type]
                repeats=tuple(range(1, folds + 1)),
                sources=(source,),
                networks=(network,),
            )
            for network, own in learners.items()
            for alike in (True, False)
        ]
    )


def main() -> int:
    """Do what is missing, write the page."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--shared", type=Path, default=Path("../shared"))
    parser.add_argument("--results", type=Path, default=Path("results/nsl"))
    parser.add_argument("--docs", type=Path, default=Path("docs/results"))
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument("--sources", nargs="+", choices=SOURCES, default=list(SOURCES))
    parser.add_argument("--folds", type=int, default=FOLDS)
    parser.add_argument("--shares", type=float, nargs="+", default=TENTHS)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="runs at once")
    parser.add_argument("--page", action="store_true", help="write the page from its tables")
    parser.add_argument("--paper", action="store_true", help="the paper's networks and penalties")
    options = parser.parse_args()
    if options.paper:
        page.NSL, page.SOFTMAX, page.EDL_GEN = page.PAPERS
    mnist = options.shared / "data" / "mnist"
    specs = {"sklearn_digits": "sklearn_digits", "mnist": f"mnist:{mnist}"}
    bench, clock, parts = Bench(), time.perf_counter(), []
    for source in [] if options.page else options.sources:
        if source == "mnist" and not mnist.is_dir():
            print(f"{mnist} is not there; MNIST is left out", file=sys.stderr)
            continue
        for name in options.tasks:
            task, store = TASKS[name], Store(options.results / f"{name}_{source}")
            todo = jobs(task, specs[source], options.folds, tuple(options.shares))
            tally = sweep(todo, store, bench, say, executor=Executor(options.jobs))
            print(f"{name}, {source}: {tally}; {time.perf_counter() - clock:.0f} s", flush=True)
            if store.done():
                parts.append(page.Part(name, task.benchmark, source, specs[source], task.network, store))
    if not options.page and len(parts) == len(options.sources) * len(options.tasks):
        page.measure(parts, options.docs)
    page.write(options.docs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
