"""What a training costs: with and without freed memory being kept, on one thread and on several.

    python benchmarks/training.py follow_suit sudoku_4x4 --network softmax --network edl_gen

Each is a process of its own, which renders the images first and then trains for a few epochs. Printed are
seconds by the clock and of the processor, page faults, and how many times as long as the first the others
took. On a machine that does other work, compare the processor's seconds.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator

import pandas as pd

from nsl_bench.core import registry
from nsl_bench.data.splits import make_source
from nsl_bench.perception import trained_networks, training

WAYS = {
    "kept, 1 thread": (True, 1),
    "kept, 2 threads": (True, 2),
    "given back, 1 thread": (False, 1),
    "given back, 2 threads": (False, 2),
}


def measure(
    benchmark: str, network: str, images: int, epochs: int, kept: bool, threads: int
) -> dict[str, float]:
    """Train in this process; what the training alone took."""
    import contextlib
    import resource
    import time

    import torch

    if not kept:
        training.kept_memory = contextlib.nullcontext  # type: ignore[assignment]
    task = registry.create("benchmark", benchmark)
    source = make_source(task)
    made = registry.create("network", f"{network}{',' if ':' in network else ':'}epochs={epochs}")
    labels = source.labels("network")
    rows = training.first_of_each(labels, images)
    pictures = source.render("network", rows, source.variants[0])
    basis = made.basis(source.shape)
    if basis is not None:
        made.start = trained_networks.trained(basis.name, task, source)
    training.on_threads = lambda wanted: contextlib.nullcontext()  # type: ignore[assignment]
    torch.set_num_threads(threads)
    before, started = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    made.fit(lambda rows: pictures[rows], labels[rows], task.concept_space.concepts, device="cpu")
    clock, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_SELF)
    return {
        "seconds": clock,
        "cpu": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        "faults": after.ru_minflt - before.ru_minflt,
        "peak": after.ru_maxrss / 1024,
    }


def in_processes(options: argparse.Namespace) -> Iterator[dict[str, object]]:
    """A row for each task, network and way."""
    for benchmark in options.benchmark:
        for network in options.network:
            first: dict[str, float] | None = None
            for way, (kept, threads) in WAYS.items():
                call = [benchmark, network, options.images, options.epochs, kept, threads]
                command = [sys.executable, __file__, "--one", json.dumps(call), "-"]
                done = subprocess.run(command, capture_output=True, text=True, check=True)
                found = json.loads(done.stdout.splitlines()[-1])
                first = first or found
                yield {
                    "task": benchmark,
                    "network": network,
                    "memory and threads": way,
                    "seconds": f"{found['seconds']:.1f}",
                    "CPU seconds": f"{found['cpu']:.1f}",
                    "page faults": f"{found['faults']:,.0f}",
                    "peak (MB)": f"{found['peak']:,.0f}",
                    "times the first": f"{found['seconds'] / first['seconds']:.2f}",
                    "times its CPU": f"{found['cpu'] / first['cpu']:.2f}",
                }


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("benchmark", nargs="+")
    parser.add_argument("--network", action="append", help="network; repeatable")
    parser.add_argument("--images", type=int, default=40, help="of each concept")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(*json.loads(options.one))))
        return
    options.network = options.network or ["softmax", "edl_gen"]
    rows = list(in_processes(options))
    print(pd.DataFrame(rows).to_markdown(index=False, tablefmt="github", disable_numparse=True))


if __name__ == "__main__":
    main()
