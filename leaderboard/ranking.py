"""Who is better, and is it chance? Paired bootstrap over repeats, shared ranks, groups that do not differ.

Learners are compared over the same runs only: all values come as one matrix, learners by repeats, in which
a column is one train set. What repeats share (an easy train set, a test set) cancels in the differences.

The bootstrap draws repeats with replacement (all draws are enumerated where there are few). With three to
five repeats the plain percentile interval is too narrow, so its deviations are widened by
``t(n-1) / z * sqrt(n / (n-1))``, which keeps false alarms for
normal differences near the level: 5.1 % for three repeats, 5.4 % for five (Hesterberg: "What Teachers
Should Know About the Bootstrap", The American Statistician 2015, section 4.3 on narrowness bias).
Quantiles are those of the draws themselves: interpolated between the 27 draws of three repeats they would
give 7.4 %.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

__all__ = ["Placing", "difference_interval", "differs", "groups", "mean_ranks", "place"]

_ENUMERATED = 5
"""Up to so many repeats all draws are enumerated (5 ** 5 = 3125)."""

_DRAWS = 4000
_LEVEL = 0.05

Matrix = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Placing:
    """A learner's place among those of its track.

    Attributes:
        index: which row of the matrix.
        rank: 1 is best; learners that do not differ from the best one of their group share it.
        mean: of its values.
        std_err: standard error of the mean over repeats; NaN for one repeat.
    """

    index: int
    rank: int
    mean: float
    std_err: float


@cache
def _weights(n: int) -> Matrix:
    """float64 [draws, n]: how often each repeat is in a draw, over n."""
    if n <= _ENUMERATED:
        draws = np.array(list(itertools.product(range(n), repeat=n)))
    else:
        draws = np.random.default_rng(n).integers(0, n, (_DRAWS, n))
    return np.apply_along_axis(np.bincount, 1, draws, minlength=n).astype(np.float64) / n


def difference_interval(first: Matrix, second: Matrix, level: float = _LEVEL) -> tuple[float, float]:
    """The interval of the mean paired difference, first minus second.

    Args:
        first: float64 [repeats].
        second: float64 [repeats], of the same repeats.
        level: 0.05 for a 95 % interval.

    Returns:
        Its ends; (-inf, inf) for fewer than two repeats.
    """
    difference = first - second
    n = len(difference)
    if n < 2:
        return -np.inf, np.inf
    from scipy.stats import norm, t

    mean = float(difference.mean())
    widening = t.ppf(1 - level / 2, n - 1) / norm.ppf(1 - level / 2) * np.sqrt(n / (n - 1))
    deviations = _weights(n) @ difference - mean
    low, high = np.quantile(deviations, [level / 2, 1 - level / 2], method="inverted_cdf")
    return mean + widening * float(low), mean + widening * float(high)


def differs(first: Matrix, second: Matrix, level: float = _LEVEL) -> bool:
    """Whether the paired difference is significant: its interval does not hold zero.

    Differences that are rounding errors of equal values are none.
    """
    low, high = difference_interval(first, second, level)
    return low > 1e-12 or high < -1e-12


def _order(values: Matrix, higher_is_better: bool) -> list[int]:
    means = values.mean(axis=1)
    order = np.argsort(-means if higher_is_better else means, kind="stable")
    return [int(k) for k in order]


def place(values: Matrix, *, higher_is_better: bool = True, level: float = _LEVEL) -> list[Placing]:
    """Ranks, best first.

    Going down the means, a learner shares the rank of its group's best one unless it is significantly worse
    than that one; then it opens the next group, whose rank is its place.

    Args:
        values: float64 [learners, repeats].
        higher_is_better: the direction of the metric.
        level: of each comparison; comparisons are not corrected for their number.
    """
    placed: list[Placing] = []
    leader, rank = -1, 1
    for position, index in enumerate(_order(values, higher_is_better), start=1):
        if leader < 0 or differs(values[leader], values[index], level):
            leader, rank = index, position
        row = values[index]
        error = float(row.std(ddof=1) / np.sqrt(len(row))) if len(row) > 1 else float("nan")
        placed.append(Placing(index, rank, float(row.mean()), error))
    return placed


def groups(values: Matrix, *, higher_is_better: bool = True, level: float = _LEVEL) -> list[tuple[int, ...]]:
    """The largest runs of neighbours, by mean, of which no two differ: a critical-difference picture's bars.

    Returns:
        Rows of the matrix, best first; groups of one are left out.
    """
    order = _order(values, higher_is_better)
    found: list[tuple[int, int]] = []
    for start in range(len(order)):
        stop = start + 1
        while stop < len(order) and not any(
            differs(values[order[k]], values[order[stop]], level) for k in range(start, stop)
        ):
            stop += 1
        if stop - start > 1 and (not found or stop > found[-1][1]):
            found.append((start, stop))
    return [tuple(order[start:stop]) for start, stop in found]


def mean_ranks(values: Matrix, *, higher_is_better: bool = True) -> Matrix:
    """float64 [learners]: the mean over columns of each learner's rank in it; ties share their mean rank.

    Demsar: "Statistical Comparisons of Classifiers over Multiple Data Sets", JMLR 2006.
    """
    from scipy.stats import rankdata

    ranks: Matrix = rankdata(-values if higher_is_better else values, axis=0).mean(axis=1)
    return ranks
