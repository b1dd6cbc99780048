"""The main job: FFNSL and baselines on the three tasks, on embedded images, at 0, 50 and 90 % shift.

    python benchmarks/main_job.py --out results/bench

`make bench` calls it. It resumes: a second call does only what is missing and prints the table again.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

from nsl_bench.report.curves import draw
from nsl_bench.report.tables import render
from nsl_bench.run.evaluate import Bench
from nsl_bench.run.job import plan
from nsl_bench.run.record import Record
from nsl_bench.run.store import Store
from nsl_bench.run.sweep import Executor, sweep

GRID = {
    "follow_suit": ("noir", ["ffnsl", "random_forest", "fcn", "majority"]),
    "sudoku_4x4": ("rotate90", ["ffnsl", "random_forest", "cnn_lstm", "majority"]),
    "sudoku_9x9": ("rotate90", ["ffnsl", "random_forest", "random_forest_knowledge", "cnn_lstm", "majority"]),
}


def main() -> int:
    """Run the grid, print the table, draw the curves."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("results/bench"))
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    clock = time.perf_counter()
    store, repeats = Store(options.out), range(1, options.repeats + 1)
    jobs = [
        job
        for benchmark, (shift, learners) in GRID.items()
        for job in plan(benchmark, learners, shifts=[shift], percents=[0, 50, 90], repeats=repeats)
    ]

    def heard(record: Record, done: int, total: int) -> None:
        took = time.perf_counter() - clock
        if done % 10 == 0 or done == total:
            print(f"{done} of {total} runs; {took:.0f} s", file=sys.stderr)

    tally = sweep(
        jobs,
        store,
        Bench(),
        lambda record: print(record.job, record.message, file=sys.stderr),
        executor=Executor(os.cpu_count() or 1),
        heard=heard,
    )
    print(tally, file=sys.stderr)
    runs = store.frame()
    print(render(runs))
    for path in draw(runs, options.out / "curves"):
        print(f"Curves: {path}")
    print(f"Done in {time.perf_counter() - clock:.0f} s.")
    return tally.exit_code


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("Interrupted; finished runs are kept, the same command goes on from there.", file=sys.stderr)
        sys.exit(130)
