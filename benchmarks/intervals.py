"""How often intervals cover, and how large standard errors are where test images are re-used, by simulation.

    python benchmarks/intervals.py [--draws 400] [--submissions FOLDER --board FILE]

The first table: learners whose accuracy varies with the train split and whose errors vary with the test
example; an interval of the mean over train splits covers if the accuracy over all splits and examples lies in
it. The second: differences to FFNSL with the variances that the board's entries have; an interval of the
board covers if it holds the true difference; the last column is without errors by image. Folds are as
correlated as Nadeau and Bengio (2003) assume.
The third: tests of 1,000 examples that show images of a pool, dealt out as the benchmark deals them, some of
which the network misreads; the true standard error is the spread of the accuracy over pools.
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
from scipy.sparse import csr_array
from scipy.stats import t

from nsl_bench.run.sampled import Sampled
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
        split, image, example, rest: of train splits, of the images that an example shows, of test examples,
            and of what varies with both train split and example.
        shows: sparse [examples of all test sets, images], which images an example shows; None where examples
            are independent.
    """

    mean: float
    split: float
    image: float
    example: float
    rest: float
    shows: csr_array | None

    @classmethod
    def of(cls, table: np.ndarray, tests: Sampled, images: np.ndarray | None) -> Parts:
        """The effects that a table of differences shows, estimated without bias where they are above 0."""
        k, n = table.shape
        sizes = (~np.isnan(table)).sum(axis=1)
        means = np.nanmean(table, axis=1)
        if tests.shared:
            rest = table - table.mean(axis=0) - means[:, None] + table.mean()
            of_rest = (rest**2).sum() / max(1, (k - 1) * (n - 1))
            each = table.mean(axis=0)
            of_example = max(0.0, each.var(ddof=1) - of_rest / k)
            noise = of_rest / n
        else:  # an example comes once, with whatever varies
            each, of_rest = (table - means[:, None])[~np.isnan(table)], 0.0
            of_example = each.var(ddof=k)
            noise = of_example / sizes.mean()
        of_split = max(0.0, means.var(ddof=1) - noise)
        shows = None if images is None else shown(images[None] if tests.shared else images, table, tests)
        of_image = 0.0
        if shows is not None:
            deviations = each - each.mean()
            common = shows @ shows.T
            common.setdiag(0)
            share = (deviations @ (common @ deviations)) / common.multiply(common).sum()
            of_image = min(max(0.0, share * shows.sum() / shows.shape[0]), of_example)
        parts = np.sqrt([of_split, of_image, of_example - of_image, of_rest])
        return cls(float(means.mean()), *parts.tolist(), shows)

    def drawn(self, rng: np.random.Generator, there: np.ndarray, tests: Sampled) -> np.ndarray:
        """A table of train splits and examples, of one test set or one for each split.

        Args:
            there: bool [splits, examples], what is no end of a smaller test set.
        """
        k, n = there.shape
        total = int(there.sum()) if not tests.shared else n
        example = self.example * rng.normal(size=total)
        if self.shows is not None:  # an example is as hard as what it shows
            seen = self.shows @ rng.normal(size=self.shows.shape[1])
            example = example + self.image * seen / np.sqrt(self.shows.sum() / self.shows.shape[0])
        effects = self.split * rng.normal(size=(k, 1)) + self.rest * rng.normal(size=(k, n))
        effects = np.where(there, effects, np.nan)
        effects[there] += example if not tests.shared else np.tile(example, k)
        shared = tests.task.overlap / (1 + tests.task.overlap)
        within = (self.image**2 + self.example**2 + self.rest**2) / there.sum(axis=1).mean()
        of_all = np.sqrt(shared * (self.split**2 + within)) * rng.normal()
        return self.mean + np.sqrt(1 - shared) * effects + of_all


def shown(images: np.ndarray, table: np.ndarray, tests: Sampled) -> csr_array:
    """Which images the examples [splits, examples, slots] of a table show, each test set's after another."""
    there = np.ones(images.shape[:2], bool) if tests.shared else ~np.isnan(table)
    rows, slots = np.nonzero(images[there] >= 0)
    _, image = np.unique(images[there][rows, slots], return_inverse=True)
    found = csr_array(
        (np.ones(len(rows)), (rows, image.reshape(-1))), shape=(int(there.sum()), image.max() + 1)
    )
    found.data[:] = 1.0
    return found


def board_coverage(draws: int, submissions: Path, path: Path) -> pd.DataFrame:
    """The second table: a row for each contest and metric."""
    board, rows = read_board(submissions, path), []
    for contest, metric in itertools.product(board.contests, ("framework_accuracy", "brier_score")):
        reference, tests = board.reference(contest), tests_of(contest)
        key = contest.name, metric
        if reference is None or key not in reference.examples:
            continue
        told = tests.of(metric, reference.track)
        rng, hits = np.random.default_rng(1), []
        for entry in board.differences(contest, metric):
            table = (entry.examples[key] - reference.examples[key]).astype(float)
            there = ~np.isnan(table)
            if np.ptp(table[there]) == 0:  # of which the board says no interval
                continue
            parts = Parts.of(table, tests, told["images"])
            drawn = [parts.drawn(rng, there, tests) for _ in range(draws)]
            tables = np.stack([np.where(there, 0.0, np.nan), *drawn])
            found = []
            for way in (told, told | {"images": None}):
                made = Comparison(range(draws + 1), tables, **way)
                ends = [made.difference(draw, 0) for draw in range(1, draws + 1)]
                found.append(np.mean([one.low <= parts.mean <= one.high for one in ends]))
            hits.append([entry.slug, *found])
        if hits:
            frame = pd.DataFrame(hits, columns=["entry", "coverage", "without images"])
            about = {"contest": contest.name, "metric": metric, "train splits": contest.repeats}
            about |= {"learners": len(frame), "coverage": frame["coverage"].mean()}
            about |= {"least": frame["coverage"].min(), "most": frame["coverage"].max()}
            rows.append(about | {"without images": frame["without images"].mean()})
    return pd.DataFrame(rows)


def dealt(rng: np.random.Generator, pool: int, slots: int, n: int = 1000) -> np.ndarray:
    """The images [n, slots] of a test set: each image comes once before any comes twice."""
    rounds = -(-n * slots // pool)
    return np.concatenate([rng.permutation(pool) for _ in range(rounds)])[: n * slots].reshape(n, slots)


def image_errors(draws: int) -> pd.DataFrame:
    """The third table."""
    rows = []
    pools = (89, 1), (89, 4), (89, 12), (198, 1), (198, 4), (198, 12), (198, 40)
    for pool, slots in (*pools, (2000, 4), (2700, 4), (3500, 4), (20000, 4)):
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
                "an image is shown": 1000 * slots / min(pool, 1000 * slots),
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
