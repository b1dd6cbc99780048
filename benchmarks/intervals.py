"""How often intervals cover, and how large standard errors are where test images are re-used, by simulation.

    python benchmarks/intervals.py [--draws 400] [--submissions FOLDER --board FILE]

The first table: learners whose accuracy varies with the train split and whose errors vary with the test
example; an interval of the mean over train splits covers if the accuracy over all splits and examples lies in
it. The second: differences to FFNSL with the variances that the board's entries have; an interval of the
board covers if it holds the true difference. Folds are as correlated as Nadeau and Bengio (2003) assume. The
third: tests of 1,000 examples that show images of a small pool, dealt out as the benchmark deals them, some
of which the network misreads; the true standard error is the spread of the accuracy over pools.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from nsl_bench.leaderboard.board import SUBMISSIONS, read_board
from nsl_bench.leaderboard.comparing import Comparison
from nsl_bench.leaderboard.contests import BOARD
from nsl_bench.leaderboard.truth import tests_of
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


@dataclass(frozen=True)
class Parts:
    """A table of differences [splits, examples]: its mean, and standard deviations of its effects.

    Attributes:
        mean: the true difference.
        split, example, rest: of train splits, of test examples, and of both together.
        shows: [examples, images], which images an example shows; None where examples are independent.
    """

    mean: float
    split: float
    example: float
    rest: float
    shows: np.ndarray | None

    @classmethod
    def of(cls, table: np.ndarray, images: np.ndarray | None) -> Parts:
        """The effects that a table of differences shows, estimated without bias where they are above 0."""
        k, n = table.shape
        rest = table - table.mean(axis=0) - table.mean(axis=1, keepdims=True) + table.mean()
        of_rest = (rest**2).sum() / max(1, (k - 1) * (n - 1))
        of_split = max(0.0, table.mean(axis=1).var(ddof=1) - of_rest / n)
        of_example = max(0.0, table.mean(axis=0).var(ddof=1) - of_rest / k)
        shows = None
        if images is not None:
            numbers = np.unique(images[images >= 0])
            shows = np.stack([(images == number).any(axis=1) for number in numbers], axis=1).astype(float)
        return cls(table.mean(), *np.sqrt([of_split, of_example, of_rest]), shows)

    def drawn(self, rng: np.random.Generator, k: int, n: int, overlap: float, own: bool) -> np.ndarray:
        """A table of k train splits and n examples, of one test set or one for each split."""
        if self.shows is None:
            example = rng.normal(size=(k if own else 1, n))
        else:  # an example is as hard as what it shows
            example = (self.shows @ rng.normal(size=self.shows.shape[1]))[None]
            example /= np.sqrt(self.shows.sum(axis=1).mean())
        effects = self.split * rng.normal(size=(k, 1)) + self.example * example
        effects = effects + self.rest * rng.normal(size=(k, n))
        shared = overlap / (1 + overlap)
        of_all = np.sqrt(shared * (self.split**2 + (self.example**2 + self.rest**2) / n)) * rng.normal()
        return self.mean + np.sqrt(1 - shared) * effects + of_all


def board_coverage(draws: int, submissions: Path, path: Path) -> pd.DataFrame:
    """The second table: a row for each contest and metric."""
    board, rows = read_board(submissions, path), []
    for contest, metric in itertools.product(board.contests, ("framework_accuracy", "brier_score")):
        reference, tests = board.reference(contest), tests_of(contest)
        key = contest.name, metric
        if reference is None or key not in reference.examples:
            continue
        rng, shares = np.random.default_rng(1), []
        images = tests.images if tests.shared else None
        if images is not None and (images >= 0).sum() < 2 * len(np.unique(images[images >= 0])):
            images = None
        for entry in board.differences(contest, metric):
            table = (entry.examples[key] - reference.examples[key]).astype(float)
            table = table[:, ~np.isnan(table).any(axis=0)]
            parts, (k, n) = Parts.of(table, images), table.shape
            hits = []
            for _ in range(draws):
                drawn = parts.drawn(rng, k, n, tests.overlap, not tests.shared)
                both = np.stack([drawn, np.zeros_like(drawn)])
                made = Comparison(
                    [0, 1], both, images=images, shared_test=tests.shared, overlap=tests.overlap
                )
                one = made.difference(0, 1)
                hits.append(one.low <= parts.mean <= one.high)
            shares.append(float(np.mean(hits)))
        if shares:
            about = {"contest": contest.name, "metric": metric, "train splits": k, "learners": len(shares)}
            least, most = min(shares), max(shares)
            rows.append({**about, "coverage": float(np.mean(shares)), "least": least, "most": most})
    return pd.DataFrame(rows)


def dealt(rng: np.random.Generator, pool: int, slots: int, n: int = 1000) -> np.ndarray:
    """The images [n, slots] of a test set: each image comes once before any comes twice."""
    rounds = -(-n * slots // pool)
    return np.concatenate([rng.permutation(pool) for _ in range(rounds)])[: n * slots].reshape(n, slots)


def image_errors(draws: int) -> pd.DataFrame:
    """The third table."""
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
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=400)
    parser.add_argument("--submissions", type=Path, default=SUBMISSIONS)
    parser.add_argument("--board", type=Path, default=BOARD)
    options = parser.parse_args()
    draws = options.draws
    of_board = board_coverage(draws, options.submissions, options.board)
    for table in (coverage(draws), of_board, image_errors(draws // 2)):
        print(table.to_markdown(index=False, floatfmt=".3f", intfmt=",", tablefmt="github"), end="\n\n")


if __name__ == "__main__":
    main()
