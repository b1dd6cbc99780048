"""Inference engines against ProbLog: the same examples, vectors and rules, in one run.

    python benchmarks/inference.py --shared ../shared

Follow Suit on vectors around the cards of 1,001 test tricks, peaked and flat; Sudoku on 1,000 test grids
with what the Softmax CNN sees in real MNIST digits (`--shared`; else scikit-learn's), all examples at 0 %
shift, half of them shifted at 50 %. ProbLog (exact, SDD where PySDD is installed) answers as many examples
as fit into `--seconds`; ours answers all, compiling included. Compiled code of numba is loaded before.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import time
from pathlib import Path

import numpy as np
import numpy.typing as npt

from nsl_bench.core import registry
from nsl_bench.core.benchmark import Benchmark
from nsl_bench.core.shift import resolve
from nsl_bench.data.splits import make_source, make_split
from nsl_bench.learners.queries import query_of
from nsl_bench.logic.inference import engines
from nsl_bench.logic.inference.engines import Auto, Exact
from nsl_bench.logic.inference.problog.engine import ProbLog
from nsl_bench.logic.inference.problog.translation import translate
from nsl_bench.logic.inference.query import Query, checked_vectors
from nsl_bench.perception.predict import predictions_of
from nsl_bench.perception.trained_networks import trained

SHARPNESS = {"peaked": 0.02, "flat": 20.0}


def tricks(benchmark: Benchmark, kind: str) -> npt.NDArray[np.float64]:
    """[1001, 4, 52]: Dirichlet vectors whose most likely concept is, mostly, the true one."""
    rng = np.random.default_rng(0)
    concepts = benchmark.generate("test", "small", 0, rng).concepts
    certain = np.eye(len(benchmark.concept_space))[concepts]
    noise = rng.dirichlet(np.full(len(benchmark.concept_space), SHARPNESS[kind]), concepts.shape)
    share = {"peaked": 0.3, "flat": 1.0}[kind]
    return np.asarray((1 - share) * certain + share * noise)


def grids(benchmark: Benchmark, source: str | None, percent: float) -> npt.NDArray[np.float32]:
    """[1000, slots, digits]: what the Softmax CNN sees in the test grids."""
    images = make_source(benchmark, source)
    network = trained("softmax", benchmark, images)
    split = make_split(benchmark, images, "test", "small", 1, percent=percent)
    shift = resolve("rotate90", benchmark, images) if percent else None
    return predictions_of(split, images, shift, network, workers=os.cpu_count() or 1).probabilities


def measure(name: str, query: Query, vectors: npt.NDArray[np.floating], seconds: float) -> dict[str, object]:
    """Time ours on all examples, ProbLog on as many as fit, and compare the numbers."""
    engines.clear()
    clock = time.perf_counter()
    ours = Auto()(query, vectors)
    took = time.perf_counter() - clock
    clock = time.perf_counter()
    Auto()(query, vectors)
    again = time.perf_counter() - clock
    used = {e: ours.engines.count(e) for e in sorted(set(ours.engines))}
    row: dict[str, object] = {
        "inputs": name,
        "examples": len(vectors),
        "compile_s": round(float(ours.details["compile_seconds"]), 3),
        "ours_s": round(took, 3),
        "ours_ms_an_example": round(1000 * took / len(vectors), 4),
        "compiled_before_ms_an_example": round(1000 * again / len(vectors), 4),
        "engines": used,
        "width_at_most_1e-3": round(float(np.mean(ours.width <= 1e-3 + 1e-12)), 4),
        "largest_std_err": round(float(ours.std_err.max()), 6),
    }
    if seconds:
        answered, gap = [], 0.0
        given, text = checked_vectors(query, vectors).kept, translate(query)
        assert not text.grounded
        end = time.perf_counter() + seconds
        for i in np.random.default_rng(1).permutation(len(given)).tolist():
            left = end - time.perf_counter()
            if left <= 0:
                break
            theirs = ProbLog(seconds=max(left, 0.1))(query, given[i : i + 1])
            if theirs.engines[0] == "problog":
                answered.append(theirs.details["seconds"][0])
                outside = np.maximum(ours.low[i] - theirs.probabilities[0], 0)
                outside = np.maximum(outside, theirs.probabilities[0] - ours.high[i])
                gap = max(gap, float(outside.max()))
        row["problog_examples"] = len(answered)
        if answered:
            row["problog_s_an_example"] = round(float(np.mean(answered)), 4)
            row["ratio"] = round(float(np.mean(answered)) / (took / len(vectors)))
            row["largest_gap"] = gap
        else:
            row["ratio"] = f"ProbLog finishes none in {seconds:g} s"
    print(json.dumps(row), flush=True)
    return row


def main() -> None:
    """Run all, print a line of JSON each."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--shared", type=Path, default=Path("../shared"))
    parser.add_argument("--seconds", type=float, default=60.0, help="for ProbLog, each input")
    parser.add_argument("only", nargs="*", help="follow_suit, sudoku_4x4, sudoku_9x9; default: all")
    options = parser.parse_args()
    mnist = options.shared / "data" / "mnist"
    source = f"mnist:{mnist}" if mnist.is_dir() else None
    for name in options.only or ("follow_suit", "sudoku_4x4", "sudoku_9x9"):
        task = registry.create("benchmark", name)
        query = query_of(task, task.true_rule.strip().splitlines())
        warm = np.zeros((1, len(task.slots), query.width))
        warm[0, :4, :2] = 0.5
        Exact()(query, warm)
        engines.compiled(query).forward.run(
            engines.compiled(query).domains.probabilities(warm), budget=0.1, work=9.0
        )
        if name == "follow_suit":
            for kind in SHARPNESS:
                measure(f"{name}, {kind} vectors", query, tricks(task, kind), options.seconds)
            continue
        for percent in (0.0, 50.0, 100.0):
            vectors = grids(task, source, percent)
            # ProbLog does not finish one 9x9 grid in minutes: one try is enough.
            seconds = options.seconds if name == "sudoku_4x4" or percent == 0 else 0.0
            measure(f"{name}, {percent:g} % shifted, {source or task.sources[0]}", query, vectors, seconds)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(json.dumps({"peak_memory_gb": round(peak, 2), "cores": len(os.sched_getaffinity(0))}))


if __name__ == "__main__":
    main()
