"""Tests of equivalence and difference of two means with known standard errors.

Two one-sided tests (Schuirmann 1987) show equivalence: the difference is significantly above minus the margin
and significantly below the margin. A t test shows a difference: Welch's of independent means, the paired one
where both sides have values of the same train splits. Both use Satterthwaite's degrees of freedom, so the two
means may have different variances and numbers of repeats. If neither is shown, nothing is known.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from nsl_bench.core.types import Floats, Ints

LEVEL = 0.05
"""Of each of the tests."""

POWER = 0.8
"""The least chance that equal means are shown to be equivalent."""

_QUANTILES = 200
_MOST_REPEATS = 1000
_NOTHING = 1e-12


@dataclass(frozen=True)
class Mean:
    """A mean over repeats.

    Attributes:
        std_err: its standard error, the sample standard deviation over the square root of `repeats`.
    """

    value: float
    std_err: float
    repeats: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Mean:
        """The mean of one or more values; the standard error of a single value is 0."""
        n, mean = len(values), float(np.mean(values))
        spread = float(np.std(values, ddof=1)) / math.sqrt(n) if n > 1 else 0.0
        rounded = spread < 1e-12 * max(1.0, abs(mean))  # equal values whose sums were rounded
        return cls(mean, 0.0 if rounded else spread, n)


@dataclass(frozen=True)
class Comparison:
    """The comparison of two means.

    Attributes:
        difference: first minus second.
        df: Satterthwaite's degrees of freedom; infinite if no variance was estimated.
        p_equivalent: the greater p value of the two one-sided tests.
        p_different: the two-sided p value of Welch's test.
        power: probability of showing equivalence if the means are equal.
    """

    difference: float
    std_err: float
    df: float
    margin: float
    p_equivalent: float
    p_different: float
    power: float

    @property
    def equivalent(self) -> bool:
        """Whether equivalence is shown, by a test with sufficient power."""
        return self.p_equivalent < LEVEL and self.power >= POWER

    @property
    def different(self) -> bool:
        """Whether a difference is shown."""
        return self.p_different < LEVEL

    @property
    def word(self) -> str:
        """``"equivalent"``, ``"different"``, or ``"open"`` where neither is shown."""
        return "equivalent" if self.equivalent else "different" if self.different else "open"


def compare_means(
    first: Mean, second: Mean, margin: float, known_std_err: float = 0.0, *trainings: Mean
) -> Comparison:
    """Compare two independent means.

    Args:
        margin: equivalence margin, above 0.
        known_std_err: known standard error of what is the same over repeats but differs between the two
            means, such as test images.
        trainings: the mean over trainings of a network, where `first` is one over several and `second` is of
            one training more. What that one would differ from the mean is a part of the error.
    """
    return _compared(first.value - second.value, (first, second), margin, known_std_err, *trainings)


def compare_paired(
    first: Sequence[float],
    second: Sequence[float],
    margin: float,
    known_std_err: float = 0.0,
    *trainings: Mean,
) -> Comparison:
    """Compare two methods that share their train splits by the differences in each.

    Args:
        first, second: values by train split.
        margin, known_std_err, trainings: as in `compare_means`.
    """
    differences = Mean.of([a - b for a, b in zip(first, second, strict=True)])
    return _compared(differences.value, (differences,), margin, known_std_err, *trainings)


def _compared(
    difference: float, means: Sequence[Mean], margin: float, known_std_err: float, *trainings: Mean
) -> Comparison:
    """A difference whose variance is the sum of those of independent means and of a known one."""
    apart = [replace(mean, std_err=mean.std_err * math.sqrt(mean.repeats + 1)) for mean in trainings]
    error, df = _error((*means, *apart), known_std_err)
    if error <= _NOTHING:
        equal, alike = abs(difference) <= _NOTHING, abs(difference) < margin
        return Comparison(
            difference, 0.0, math.inf, margin, float(not alike), float(equal), power=float(margin > 0)
        )
    p_equivalent = _beyond((margin - abs(difference)) / error, df)
    p_different = 2 * _beyond(abs(difference) / error, df)
    return Comparison(difference, error, df, margin, p_equivalent, p_different, _power(margin / error, df))


def _error(means: Sequence[Mean], known_std_err: float) -> tuple[float, float]:
    """The standard error of a sum and Satterthwaite's degrees of freedom; what is known has infinite ones."""
    parts = [(mean.std_err**2, mean.repeats - 1) for mean in means]
    error = math.sqrt(sum(variance for variance, _ in parts) + known_std_err**2)
    total = sum(variance**2 / n for variance, n in parts if variance > 0 and n > 0)
    return error, error**4 / total if total > 0 else math.inf


def _beyond(value: float, df: float) -> float:
    """The chance that Student's t, normal for infinitely many degrees of freedom, is above a value."""
    from scipy.special import ndtr, stdtr

    return float(ndtr(-value) if math.isinf(df) else stdtr(df, -value))


def _power(margin: float, df: float) -> float:
    """The power of the two one-sided tests at equal means, with the margin in standard errors.

    Given the ratio u of estimated to true standard error, equivalence is shown if the difference is less than
    ``margin - u q`` with the quantile q; the mean over u is taken over quantiles of its distribution.
    """
    from scipy.special import chdtri, ndtr, ndtri, stdtrit

    if math.isinf(df):
        u, critical = np.ones(1), -float(ndtri(LEVEL))
    else:
        at = (np.arange(_QUANTILES) + 0.5) / _QUANTILES
        u, critical = np.sqrt(chdtri(df, at) / df), -float(stdtrit(df, LEVEL))
    room = np.maximum(margin - u * critical, 0.0)
    return float(np.mean(2 * ndtr(room) - 1))


def image_error(scores: Floats, strata: Ints) -> float:
    """The standard error of a difference of two means over the same examples, shown by other images.

    Examples are the same on both sides, so only the variance within each of them counts. That within a
    stratum of like examples is at least as large, and can be seen.

    Args:
        scores: [examples], of one side.
        strata: [examples], e.g. a number for each label of shifted and of other examples.
    """
    _, which, sizes = np.unique(strata, return_inverse=True, return_counts=True)
    means = np.bincount(which, scores) / sizes
    squares = np.bincount(which, (scores - means[which]) ** 2)
    variance = (squares / np.maximum(sizes - 1, 1) * sizes).sum() / len(scores)
    return float(np.sqrt(2 * variance / len(scores)))


def known_error(value: float, unit: float, tested: int, printed: float, sides: int = 2) -> float:
    """The standard error of two means' difference that repeats do not show.

    Sides have that of their test examples, and what is printed with few digits that of rounding.

    Args:
        value: one of the means.
        unit: what the paper calls 1.
        tested: test examples behind each mean; 0 if they are not charged.
        printed: the last digit that the paper prints.
        sides: how many of the two are samples.
    """
    share = min(max(value / unit, 0.0), 1.0)
    sampling = unit * (sides * share * (1 - share) / tested) ** 0.5 if tested else 0.0
    return math.hypot(printed / 12**0.5, sampling)


def repeats_needed(
    first: Mean, second: Mean | None, margin: float, known_std_err: float = 0.0, *trainings: Mean
) -> int | None:
    """The fewest repeats of `first` with which equivalence could be shown with enough power.

    Its standard deviation is taken to stay what it is.

    Args:
        second: the other mean; None if `first` is that of paired differences.
        margin, known_std_err, trainings: as in `compare_means`.

    Returns:
        None where a thousand would not do: the error of the other side is too large.
    """
    deviation = first.std_err * math.sqrt(first.repeats)

    def enough(n: int) -> bool:
        planned = replace(first, std_err=deviation / math.sqrt(n), repeats=n)
        means = (planned,) if second is None else (planned, second)
        return _compared(0.0, means, margin, known_std_err, *trainings).power >= POWER

    if not enough(_MOST_REPEATS):
        return None
    low, high = 2, _MOST_REPEATS
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle + 1, high)
    return low
