"""What a run costs besides learning: images a second from pool to prediction, and a sweep's other time.

    python benchmarks/pipeline.py

For each task with shipped weights, standard and shifted images: rendering, hashing and predicting them from
an empty cache, beside the network's module alone on the same images, on one thread. Then the main job's
learners on Sudoku 4x4 from an empty cache: the share of the processes' time that is neither `fit` nor
`predict`.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time

import numpy as np
import pandas as pd

SHIFTS = {"follow_suit": "noir", "sudoku_4x4": "rotate90", "sudoku_9x9": "rotate90", "crop_yield": "hue"}
LEARNERS = ("ffnsl", "random_forest", "cnn_lstm", "majority")


def images(task: str, name: str, n: int) -> dict[str, object]:
    """Images a second of a task's train pool: all that `predict` does, and the module alone."""
    from nsl_bench.core import registry
    from nsl_bench.core.shift import resolve
    from nsl_bench.data.splits import make_source
    from nsl_bench.perception.predict import predict
    from nsl_bench.perception.trained_networks import trained

    benchmark = registry.create("benchmark", task)
    source = make_source(benchmark)
    network, shift = trained("softmax", benchmark, source), resolve(name, benchmark, source)
    wanted = np.arange(min(n, len(source.labels("a"))))
    drawn = source.render("a", wanted, source.variants[0])
    network.predict_proba(drawn[:16])
    clock = time.perf_counter()
    network.predict_proba(drawn)
    alone = time.perf_counter() - clock
    clock = time.perf_counter()
    predict(network, source, "a", shift, wanted)
    whole = time.perf_counter() - clock
    return {
        "task": task,
        "images": f"{len(wanted)} {name}",
        "pool to prediction (images/s)": round(len(wanted) / whole),
        "network alone (images/s)": round(len(wanted) / alone),
        "ratio": round(whole / alone, 2),
    }


def sweep_share(jobs: int) -> str:
    """A sentence on a sweep's time that is not learning."""
    import nsl_bench

    with tempfile.TemporaryDirectory() as out:
        clock = time.perf_counter()
        results = nsl_bench.evaluate(
            list(LEARNERS),
            "sudoku_4x4",
            shift="rotate90",
            shares=[0, 50, 90],
            repeats=3,
            out=out,
            options=nsl_bench.Options(jobs=jobs),
        )
        wall = time.perf_counter() - clock
        learning = float(results.frame[["learning_time", "prediction_time"]].sum().sum())
    return (
        f"{len(results.frame)} runs in {wall:.1f} s on {jobs} processes: {learning:.1f} s of learning and "
        f"answering, {1 - learning / (wall * jobs):.0%} of the processes' time is neither."
    )


def main() -> None:
    """Print the numbers."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--images", type=int, default=1000, help="of each kind, at most")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as cache:
        os.environ["NSL_BENCH_CACHE"] = cache
        import torch

        torch.set_num_threads(1)
        rows = [
            images(task, name, options.images)
            for task, shift in SHIFTS.items()
            for name in ("standard", shift)
        ]
        print(pd.DataFrame(rows).to_markdown(index=False), flush=True)
        print(sweep_share(options.jobs))


if __name__ == "__main__":
    main()
