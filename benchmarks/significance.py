"""False alarms and power of the board's comparisons, by simulation.

    python benchmarks/significance.py [--draws 4000]

Paired differences of two learners are drawn as normal, and as differences of accuracies near 1 over 1,000
test examples (skewed, with steps of 0.001). A board holds five tables of seven learners, all of them equal
for false alarms; for power one is worse by a number of standard deviations of the difference.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
import pandas as pd
from nsl_bench.leaderboard.ranking import adjusted_p_values

from nsl_bench.run.statistics import paired_p_values

TABLES, LEARNERS, LEVEL = 5, 7, 0.05
Draw = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]


def normal(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Values whose paired differences have a standard deviation of 1."""
    return rng.normal(size=shape) / np.sqrt(2)


def accuracies(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Accuracies of train sets around 0.98, in units of the differences' standard deviation."""
    found = rng.binomial(1000, rng.beta(98, 2, size=shape)) / 1000
    return found / 0.0207


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=4000)
    draws = parser.parse_args().draws
    rows = []
    kinds: dict[str, Draw] = {"normal": normal, "accuracies near 1": accuracies}
    for name, draw in kinds.items():
        for repeats in (3, 5, 10):
            rng = np.random.default_rng(repeats)
            differences = np.array([np.subtract(*draw(rng, (2, repeats))) for _ in range(draws)])
            boards = [draw(rng, (TABLES, LEARNERS, repeats)) for _ in range(draws // 10)]
            row: dict[str, object] = {"differences": name, "train splits": repeats}
            row["false alarms, a pair"] = np.mean(paired_p_values(differences) < LEVEL)
            row["any false alarm, a board"] = np.mean(
                [min(p.min() for p in adjusted_p_values(list(board))) < LEVEL for board in boards]
            )
            for effect in (1, 2, 4):
                row[f"power at {effect} sd"] = np.mean(paired_p_values(differences + effect) < LEVEL)
            for effect in (4, 8):
                worse = np.zeros((TABLES, LEARNERS, 1))
                worse[0, 0] = effect
                row[f"power at {effect} sd, on a board"] = np.mean(
                    [adjusted_p_values(list(board - worse))[0][0, 1] < LEVEL for board in boards]
                )
            rows.append(row)
    print(pd.DataFrame(rows).to_markdown(index=False, floatfmt=".3f", tablefmt="github"))


if __name__ == "__main__":
    main()
