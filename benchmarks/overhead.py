"""What the harness costs over the learner's own time: isolated from warm processes, and in one process.

    python benchmarks/overhead.py [--runs 1000]

Prints the median and the mean of (run - fit - predict) in milliseconds, data and networks being there
already, and the time of a sweep of the majority learner.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from nsl_bench.learners.trees import Majority
from nsl_bench.logic.guarded.child import Allowance
from nsl_bench.run.bench import Bench
from nsl_bench.run.plan import plan
from nsl_bench.run.scoring import measure_learner
from nsl_bench.run.store import Store
from nsl_bench.run.sweep import Executor, sweep
from nsl_bench.sandbox.limits import Limits


def wall(call: Any) -> tuple[float, float]:
    """Wall seconds of a call, and seconds that this process computed."""
    clock, cpu = time.perf_counter(), time.process_time()
    call()
    return time.perf_counter() - clock, time.process_time() - cpu


def bare(bench: Bench, job: Any) -> float:
    """Seconds of what any harness must do: fit, predict, measure."""
    material = bench.material(job)
    return wall(lambda: measure_learner(Majority(), material, Allowance(None)))[0]


def overhead(limits: Limits | None, repeats: int) -> list[float]:
    """Milliseconds of the harness in each run."""
    bench = Bench("cpu", limits=limits)
    (job,) = plan("sudoku_4x4", ["majority"], track="symbolic")
    for _ in range(3):
        bench.run(job)
    return [1000 * (wall(lambda: bench.run(job))[0] - bare(bench, job)) for _ in range(repeats)]


def main() -> None:
    """Print the numbers."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=1000, help="of the sweep")
    parser.add_argument("--repeats", type=int, default=40, help="of each single measurement")
    options = parser.parse_args()
    for name, limits, most in (("isolated", Limits(), 150), ("in one process", None, 5)):
        took = overhead(limits, options.repeats)
        print(
            f"{name}: median {statistics.median(took):.1f} ms, mean {statistics.mean(took):.1f} ms, least "
            f"{min(took):.1f} ms a run (wanted: below {most} ms)"
        )
    jobs = plan("sudoku_4x4", ["majority"], track="symbolic", repeats=range(1, options.runs + 1))
    with tempfile.TemporaryDirectory() as place:
        store = Store(Path(place) / "results")
        executor = Executor(os.cpu_count() or 1)
        before = os.times()
        seconds, _ = wall(lambda: sweep(jobs, store, Bench("cpu", limits=Limits()), executor=executor))
        spent = os.times()
        cpu = spent.user + spent.system - before.user - before.system
        print(
            f"{len(store.done())} isolated runs of the majority learner, {executor.jobs} at once: "
            f"{seconds:.1f} s (the driver computed for {cpu:.1f} s; wanted: below 120 s for 1000 on 2 cores)"
        )


if __name__ == "__main__":
    main()
