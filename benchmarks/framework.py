"""The study of all tasks: every learner and network at every share of shift, a page a task.

    python benchmarks/framework.py --shared ../shared --jobs 2

FFNSL with Softmax, with EDL-GEN and with constant penalties, and the paper's baselines, at 0, 10, ..., 90,
95 and 100 % shift, as many test examples shifted as train examples; five train sets, one of `indoor_scene`.
The first train set of every task is done first, then the second, so that what is there can be shown.
Runs are kept in results/framework, a folder a task: a second call does only what is missing. Then the tables
and pages are written to docs/results (`framework_pages`); `--page` writes the pages from the tables.

Sudoku has real MNIST digits where `--shared` has them, else scikit-learn's; all other images are embedded.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import framework_pages as pages
from kept import say

from nsl_bench.core import registry
from nsl_bench.core.benchmark import Benchmark
from nsl_bench.run.bench import Bench
from nsl_bench.run.job import Job
from nsl_bench.run.plan import plan
from nsl_bench.run.store import Store
from nsl_bench.run.sweep import Executor, sweep

PERCENTS = (*range(0, 100, 10), 95, 100)
REPEATS = 5
NETWORKS = ("softmax", "edl_gen")


@dataclass(frozen=True)
class Task:
    """A task of the study.

    Attributes:
        benchmark: its name.
        shifts: of the images.
        baselines: who learns besides FFNSL.
        digits: whether its images may be MNIST's.
    """

    benchmark: str
    shifts: tuple[str, ...]
    baselines: tuple[str, ...] = ("random_forest", "fcn")
    digits: bool = False

    def source(self, shared: Path) -> str | None:
        """Its images: MNIST where that is there, else the embedded ones."""
        mnist = shared / "data" / "mnist"
        return f"mnist:{mnist}" if self.digits and mnist.is_dir() else None

    def jobs(self, repeat: int, shared: Path) -> list[Job]:
        """The runs of a train set: baselines use Softmax only, as in the paper."""
        task: Benchmark = registry.create("benchmark", self.benchmark)
        if repeat > task.repeats:
            return []
        softmax, edl_gen = NETWORKS
        learners = {softmax: (pages.FFNSL, pages.CONSTANT, *self.baselines), edl_gen: (pages.FFNSL,)}
        jobs: list[Job] = []
        for shift in self.shifts:
            for network, own in learners.items():
                jobs += plan(
                    self.benchmark,
                    own,
                    shifts=[shift],
                    percents=PERCENTS,
                    repeats=[repeat],
                    sources=self.source(shared),
                    networks=network,
                )
        return jobs


TASKS = (
    Task("follow_suit", ("noir", "adversarial_noir")),
    Task("sudoku_4x4", ("rotate90",), ("random_forest", "fcn", "cnn_lstm"), digits=True),
    Task("crop_yield", ("hue",)),
    Task("indoor_scene", ("blur_hue_rotate",)),
    Task("sudoku_9x9", ("rotate90",), ("random_forest", "fcn", "cnn_lstm"), digits=True),
)


def rounds(tasks: Sequence[Task], repeats: int, shared: Path) -> Iterator[tuple[str, int, list[Job]]]:
    """Folder, train set and runs in the order in which they are done: first all tasks' first train sets."""
    for repeat in range(1, repeats + 1):
        for task in tasks:
            yield task.benchmark, repeat, task.jobs(repeat, shared)


def main() -> int:
    """Do what is missing, write the pages."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("task", nargs="*", help="names; all by default")
    parser.add_argument("--shared", type=Path, default=Path("../shared"))
    parser.add_argument("--results", type=Path, default=Path("results/framework"))
    parser.add_argument("--docs", type=Path, default=Path("docs/results"))
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="runs at once")
    parser.add_argument("--page", action="store_true", help="write the pages from their tables")
    options = parser.parse_args()
    known = {task.benchmark: task for task in TASKS}
    if strangers := set(options.task) - set(known):
        parser.error(f"there is no task {min(strangers)}; the tasks are {', '.join(known)}")
    tasks = [known[name] for name in options.task] or list(TASKS)
    bench, clock = Bench(), time.perf_counter()
    for name, repeat, jobs in [] if options.page else rounds(tasks, options.repeats, options.shared):
        if not jobs:
            continue
        tally = sweep(jobs, Store(options.results / name), bench, say, executor=Executor(options.jobs))
        took = time.perf_counter() - clock
        print(f"{name} {repeat}: {tally.done} done, {tally.failed} failed; {took:.0f} s", flush=True)
    stores = {} if options.page else {task: Store(options.results / task.benchmark) for task in tasks}
    for task, store in stores.items():
        if store.done():
            seen = pages.Seen(task.source(options.shared), NETWORKS, task.shifts)
            pages.measure(task.benchmark, seen, store, options.docs)
    if len(stores) == len(TASKS) and all(store.done() for store in stores.values()):
        pages.measure_means({task.benchmark: store for task, store in stores.items()}, options.docs)
    for task in tasks:
        pages.write(task.benchmark, options.docs)
    if len(tasks) == len(TASKS):
        pages.summary(options.docs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
