"""Times the rule learner on whole sequences, whose rules are recursive: `addition` and `hanoi`.

    python benchmarks/recursion.py [--tasks addition hanoi] [--sequences 5 10 20] [--noise 0 20] [--limit 300]

Each sequence is one example with the true concepts of its images. With noise, all images of a share of the
sequences show something at random, with the lower penalties that an unsure network would give. Prints one
row a task: examples that some hypothesis tells apart, rules of the hypothesis space, seconds until the proof,
and the share of longer sequences on which the learned rules answer every step rightly.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence

import numpy as np

from nsl_bench.core import registry
from nsl_bench.core.benchmark import Benchmark
from nsl_bench.core.sequences import all_of
from nsl_bench.core.types import BLANK, Split, WeightedExample
from nsl_bench.logic.inference.crisp import crisp_labels
from nsl_bench.logic.las import LasTask, solve

LONGER = {"addition": "addition:digits=20,test=200", "hanoi": "hanoi:disks=7,window=5,test=200"}
"""For each task, a member of its family with longer sequences."""


def sequences(task: Benchmark, n: int, noise: int, seed: int) -> LasTask:
    """The learning task of `n` sequences, `noise` % of them with images that show something at random."""
    task.sizes = {"timed": n}
    split = task.generate("train", "timed", 1, np.random.default_rng(seed))
    rng = np.random.default_rng([seed, noise])
    wrong = rng.permutation(n) < noise * n // 100
    chance = rng.integers(0, len(task.concept_space), split.concepts.shape)
    noisy = wrong[split.sequences][:, None] & (split.concepts != BLANK)
    concepts = np.where(noisy, chance, split.concepts).astype(np.int16)
    penalties = np.where(wrong, rng.integers(26, 60, n), rng.integers(85, 101, n)).tolist()
    contexts = task.sequence_contexts(concepts, split.metadata, split.steps)
    examples = [
        WeightedExample(f"e{k}", penalties[k], *_atoms(task, split, k), contexts[k]) for k in range(n)
    ]
    return LasTask.build(examples, task.background, task.bias, task.name)


def _atoms(task: Benchmark, split: Split, k: int) -> Iterator[tuple[str, ...]]:
    """The atoms that a sequence requires and forbids."""
    rows = np.flatnonzero(split.sequences == k).tolist()
    for atoms in (task.labels.inclusions, task.labels.exclusions):
        yield tuple(
            task.step_atom(atom, int(split.steps[i])) for i in rows for atom in atoms(int(split.labels[i]))
        )


def right_when_longer(rules: Sequence[str], spec: str) -> float:
    """The share of a task's test sequences on which rules answer every step rightly."""
    task = registry.create("benchmark", spec)
    split = task.generate("test", "small", 1, np.random.default_rng(0))
    contexts = task.contexts(split.concepts, split.metadata, split.steps)
    found = crisp_labels(rules, task.background, contexts, task.labels)
    return float(all_of(split.steps, found == split.labels).mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--tasks", nargs="+", choices=list(LONGER), default=list(LONGER))
    parser.add_argument("--sequences", nargs="+", type=int, default=[5, 10, 20, 40, 80, 160, 320])
    parser.add_argument("--noise", nargs="+", type=int, default=[0, 20], help="%% of the sequences")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds for each learning task")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    print("| task | noise (%) | sequences | told apart | rules | CPU s | score | bound | longer right (%) |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    for name in given.tasks:
        for noise in given.noise:
            for n in given.sequences:
                task = sequences(registry.create("benchmark", name), n, noise, given.seed)
                clock = time.process_time()
                found = solve(task, time_limit=given.limit)
                seconds = time.process_time() - clock
                counts = [int(found.statistics.get(each, 0)) for each in ("distinct_examples", "rules")]
                right = 100 * right_when_longer(found.hypothesis, LONGER[name])
                cells = [name, noise, n, *counts, f"{seconds:.1f}", found.score, found.bound, f"{right:.0f}"]
                print(f"| {' | '.join(map(str, cells))} |", flush=True)


if __name__ == "__main__":
    main()
