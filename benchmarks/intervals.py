"""How often intervals cover, and how large standard errors are where test images are re-used, by simulation.

    python benchmarks/intervals.py [--draws 400]

The first table: learners whose accuracy varies with the train split and whose errors vary with the test
example; an interval of the mean over train splits covers if the accuracy over all splits and examples lies in
it. The second: tests of 1,000 examples that show images of a small pool, dealt out as the benchmark deals
them, some of which the network misreads; the true standard error is the spread of the accuracy over pools.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np
import pandas as pd
from scipy.stats import t

from nsl_bench.run.statistics import image_std_err, interval, nested_bootstrap

EXAMPLES = 400
LEVEL = 0.05
SPREADS = {"train split": (0.6, 0.3), "test example": (0.1, 2.0), "both": (0.4, 1.5)}
"""Standard deviations, in logits, of what a train split and what a test example contributes."""


def scores(rng: np.random.Generator, splits: int, spreads: tuple[float, float], shared: bool) -> np.ndarray:
    """Right or wrong [splits, examples], the easier half of the examples at 0.95 or so."""
    skill = rng.normal(0, spreads[0], (splits, 1))
    ease = rng.normal(0, spreads[1], (1 if shared else splits, EXAMPLES))
    return (rng.random((splits, EXAMPLES)) < 1 / (1 + np.exp(-1.5 - skill - ease))).astype(float)


def covers(table: np.ndarray, truth: float, shared: bool, seed: int) -> Iterator[tuple[str, bool]]:
    """Whether the interval of each method covers."""
    means = table.mean(axis=1)
    k = len(means)
    reach = t.isf(LEVEL / 2, k - 1) * means.std(ddof=1) / np.sqrt(k)
    yield "over train splits only", abs(means.mean() - truth) <= reach
    drawn = nested_bootstrap(table, shared_test=shared, draws=200, seed=seed)
    low, high = np.quantile(drawn, [LEVEL / 2, 1 - LEVEL / 2])
    yield "percentiles of the bootstrap", low <= truth <= high
    found = interval(table, shared_test=shared, draws=200, seed=seed)
    yield "`interval`", found.low <= truth <= found.high


def coverage(draws: int) -> pd.DataFrame:
    """The first table."""
    rows = []
    for name, spreads in SPREADS.items():
        rng = np.random.default_rng(1)
        truth = float(scores(rng, 5000, spreads, False).mean())
        for shared in (True, False):
            for k in (3, 5, 10):
                hits: dict[str, list[bool]] = {}
                for seed in range(draws):
                    for method, hit in covers(scores(rng, k, spreads, shared), truth, shared, seed):
                        hits.setdefault(method, []).append(bool(hit))
                about = {
                    "varies most": name,
                    "test set": "one" if shared else "one a split",
                    "train splits": k,
                }
                rows.append({**about, **{method: float(np.mean(each)) for method, each in hits.items()}})
    return pd.DataFrame(rows)


def dealt(rng: np.random.Generator, pool: int, slots: int, n: int = 1000) -> np.ndarray:
    """The images [n, slots] of a test set: each image comes once before any comes twice."""
    rounds = -(-n * slots // pool)
    return np.concatenate([rng.permutation(pool) for _ in range(rounds)])[: n * slots].reshape(n, slots)


def image_errors(draws: int) -> pd.DataFrame:
    """The second table."""
    rows = []
    for pool, slots in ((89, 1), (89, 4), (89, 12), (198, 1), (198, 4), (198, 12), (198, 40), (20000, 4)):
        rng = np.random.default_rng(pool + slots)
        misread = 1 - 0.8 ** (1 / slots)  # about a fifth of the examples are wrong
        found: dict[str, list[float]] = {"accuracy": [], "usual": [], "by image": []}
        for _ in range(draws):
            bad = rng.random(pool) < misread
            images = dealt(rng, pool, slots)
            right = 1.0 - bad[images].any(axis=1)
            found["accuracy"].append(float(right.mean()))
            found["usual"].append(float(right.std(ddof=1)) / np.sqrt(len(right)))
            found["by image"].append(image_std_err(right, images))
        rows.append(
            {
                "images": pool,
                "images an example": slots,
                "true error": float(np.std(found["accuracy"], ddof=1)),
                "usual error": float(np.sqrt(np.mean(np.square(found["usual"])))),
                "error by image": float(np.sqrt(np.mean(np.square(found["by image"])))),
            }
        )
    return pd.DataFrame(rows)


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=400)
    draws = parser.parse_args().draws
    for table in (coverage(draws), image_errors(draws // 2)):
        print(table.to_markdown(index=False, floatfmt=".3f", intfmt=",", tablefmt="github"), end="\n\n")


if __name__ == "__main__":
    main()
