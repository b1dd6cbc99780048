"""Standard errors and intervals of mean scores, covering every factor that varied.

A mean over runs varies with the train split, the test sample, and the seeds of network and learner. Each of
these factors that was drawn several times has a variance component. A factor that was drawn once has none,
and the interval then holds only for that draw.

Standard errors are in closed form. Intervals take their shape from a nested bootstrap, which resamples train
splits, seeds and test examples together, and their width from Student's t with Satterthwaite's degrees of
freedom: percentiles of the bootstrap alone are too narrow for three to ten train splits.
`benchmarks/intervals.py` simulates how often they cover; its tables are in docs/leaderboard.md.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nsl_bench.core.types import AnyInts, Array, Floats

SPLITS = "train splits"
"""The name of the first factor; `EXAMPLES` or `IMAGES` is that of the last one."""

EXAMPLES, IMAGES = "test examples", "test images"
_LEVEL = 0.05
_DRAWS = 1000

NOTHING = 1e-12
"""Differences that are rounding errors of equal values are none."""


@dataclass(frozen=True)
class Interval:
    """A mean with its interval and standard error.

    Attributes:
        low, high: ends of the interval; NaN where nothing varied, which says nothing of other draws.
        std_err: standard error of the mean, from all components.
        components: standard error due to each factor alone, by the factor's name. Factors are not quite
            independent, so the squares may sum to more than the square of `std_err`.
        df: Satterthwaite's degrees of freedom.
    """

    mean: float
    low: float
    high: float
    std_err: float
    components: Mapping[str, float]
    df: float

    @property
    def p_value(self) -> float:
        """Of the hypothesis that the mean is 0, two-sided."""
        return float(p_values(np.array(self.mean), np.array(self.std_err), np.array(self.df)))


def interval(
    scores: npt.ArrayLike,
    *,
    factors: Sequence[str] = (SPLITS,),
    images: npt.ArrayLike | None = None,
    shared_test: bool = True,
    overlap: float = 0.0,
    level: float = _LEVEL,
    draws: int = _DRAWS,
    bounds: tuple[float, float] = (-math.inf, math.inf),
    seed: int = 0,
) -> Interval:
    """The interval of a mean score.

    Args:
        scores: [*factors, examples], e.g. 1 for a correct prediction and 0 for a wrong one.
        factors: names of all axes but the last, e.g. ``("train splits", "network seeds")``.
        images: [examples, slots], the image in each slot, negative for none; [splits, examples, slots] if
            each train split has its own test set. Give it if test examples share images and are therefore not
            independent.
        shared_test: whether all train splits have the same test examples; otherwise each train split (the
            first factor) has its own, and the scores of a smaller test set end in NaN.
        overlap: test examples for each train example where train splits share examples, as folds do, else 0.
            The variance of a mean over k splits then is (1 / k + overlap) times theirs (Nadeau and Bengio:
            "Inference for the Generalization Error", Machine Learning 2003).
        level: 0.05 for 95 % intervals.
        draws: number of bootstrap samples; without any, the interval is symmetric.
        bounds: least and greatest possible mean.

    Raises:
        ValueError: the shapes do not match, or there are no scores.
    """
    table = np.asarray(scores, np.float64)
    if table.ndim != len(factors) + 1 or not table.size:
        raise ValueError(
            f"scores must have one axis per factor ({', '.join(factors)}); got shape {table.shape}"
        )
    if shared_test and np.isnan(table).any():
        raise ValueError("scores of a shared test set must not be NaN")
    mean = _mean(table)
    parts = _variances(table, factors, None if images is None else np.asarray(images), shared_test, overlap)
    variance = _total(table, parts, shared_test)
    weight = sum(part**2 / df for part, df in parts.values())
    error, df = math.sqrt(variance), variance**2 / weight if weight > 0 else math.inf
    low, high = _ends(table, shared_test, error, df, level, draws, seed)
    components = {name: math.sqrt(part) for name, (part, _) in parts.items()}
    return Interval(mean, max(low, bounds[0]), min(high, bounds[1]), error, components, df)


def std_err(values: Floats) -> float:
    """The standard error of the mean of [n] values; NaN for one."""
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else math.nan


def padded(rows: Sequence[npt.ArrayLike], filling: float) -> Array:
    """Arrays [n, ...] of different lengths n as one, the shorter ones filled up at their ends."""
    arrays = [np.asarray(row) for row in rows]
    longest = max(map(len, arrays))
    return np.stack(
        [
            np.concatenate([array, np.full((longest - len(array), *array.shape[1:]), filling, array.dtype)])
            for array in arrays
        ]
    )


def _mean(table: Floats) -> float:
    """The mean score; where test sets differ in size, each counts alike."""
    return float(np.nanmean(table, axis=-1).mean() if np.isnan(table).any() else table.mean())


def _each_mean(table: Floats, axis: int) -> Floats:
    """The mean score of each level of a factor."""
    others = tuple(other for other in range(table.ndim) if other != axis)
    if not np.isnan(table).any():
        means: Floats = table.mean(axis=others)
        return means
    of_split = np.nanmean(table, axis=-1)
    means = of_split.mean(axis=tuple(other for other in range(of_split.ndim) if other != axis))
    return means


def _own_part(each: Floats) -> float:
    """The variance of the mean that comes of the test examples.

    Args:
        each: [examples], or [splits, examples] where a smaller test set ends in NaN.
    """
    counts = np.sum(~np.isnan(each), axis=-1)
    if each.ndim == 1 or len(np.unique(counts)) == 1:
        return float(np.nanvar(each, axis=-1, ddof=1).mean()) / int(counts.sum())
    return float((np.nanvar(each, axis=-1, ddof=1) / counts).sum()) / len(each) ** 2


def _variances(
    table: Floats, factors: Sequence[str], images: AnyInts | None, shared_test: bool, overlap: float
) -> dict[str, tuple[float, float]]:
    """By factor that was drawn several times: the variance of the mean that comes of it, and its degrees."""
    result: dict[str, tuple[float, float]] = {}
    for axis, name in enumerate(factors):
        k = table.shape[axis]
        if k > 1:
            means = _each_mean(table, axis)
            result[name] = float(means.var(ddof=1)) * (1 / k + (0.0 if axis else overlap)), k - 1.0
    rest = tuple(range(0 if shared_test else 1, table.ndim - 1))
    each = table.mean(axis=rest)  # [examples], or [splits, examples]
    n = each.shape[-1]
    if n > 1:
        there = ~np.isnan(each)
        if images is None:
            result[EXAMPLES] = _own_part(each), float(there.sum() - each.size // n)
        else:
            if images.shape[:-1] != each.shape:
                raise ValueError(
                    f"images of shape {images.shape} and examples of shape {each.shape} do not match"
                )
            image_of = images[there]
            error = image_std_err(each[there], image_of)
            result[IMAGES] = error**2, max(1.0, len(np.unique(image_of[image_of >= 0])) - 1.0)
    return result


def _total(table: Floats, parts: Mapping[str, tuple[float, float]], shared_test: bool) -> float:
    """The variance of the mean: the components', less what several of them count.

    With one test set, what neither train split nor example explains is in the components of both; with a
    test set each, the spread of the splits' means holds all of the test sample's.
    """
    variances = [variance for variance, _ in parts.values()]
    if not variances:
        return 0.0
    total = sum(variances)
    if shared_test:
        residual, df = table - table.mean(), table.size - 1.0
        for axis, k in enumerate(table.shape):
            others = tuple(other for other in range(table.ndim) if other != axis)
            residual = residual - (table.mean(axis=others, keepdims=True) - table.mean())
            df -= k - 1
        if df > 0:
            total -= (len(variances) - 1) * float((residual**2).sum()) / df / table.size
    elif table.shape[0] > 1 and table.shape[-1] > 1:
        each = table.mean(axis=tuple(range(1, table.ndim - 1)))
        total -= _own_part(each)
    return max(total, *variances)


def _ends(
    table: Floats, shared_test: bool, error: float, df: float, level: float, draws: int, seed: int
) -> tuple[float, float]:
    """The bootstrap's percentiles, stretched around the mean to the width that Student's t gives.

    They share the width between both sides as skew as the means are.
    """
    mean = _mean(table)
    if error <= NOTHING:
        return math.nan, math.nan
    reach = half_width(error, df, level)
    if not draws:
        return mean - reach, mean + reach
    result = nested_bootstrap(table, shared_test=shared_test, draws=draws, seed=seed) - mean
    low, high = np.quantile(result, [level / 2, 1 - level / 2]).tolist()
    if not low < 0 < high:
        return mean - reach, mean + reach
    stretch = 2 * reach / (high - low)
    return mean + low * stretch, mean + high * stretch


def half_width(error: float, df: float, level: float = _LEVEL) -> float:
    """Half the width of the interval that Student's t gives for a standard error."""
    from scipy.special import ndtri, stdtrit

    return -float(ndtri(level / 2) if math.isinf(df) else stdtrit(df, level / 2)) * error


def nested_bootstrap(
    scores: npt.ArrayLike, *, shared_test: bool = True, draws: int = _DRAWS, seed: int = 0
) -> Floats:
    """Means of bootstrap samples: all factors and the test examples are drawn with replacement.

    Args:
        scores: [*factors, examples].
        shared_test: whether all train splits get the same examples; otherwise each entry of the first axis
            gets its own, and a smaller test set ends in NaN.

    Returns:
        float64 [draws], the means.
    """
    table, rng = np.asarray(scores, np.float64), np.random.default_rng(seed)
    n = table.shape[-1]

    def shares(k: int) -> Floats:
        result: Floats = rng.multinomial(k, np.full(k, 1 / k), size=draws) / k
        return result

    if shared_test:
        means = (shares(n) @ table.reshape(-1, n).T).reshape(draws, *table.shape[:-1])
    else:
        rows = [part.reshape(-1, n) for part in table]
        rows = [part[:, ~np.isnan(part[0])] for part in rows]
        each = [(shares(part.shape[1]) @ part.T).reshape(draws, *table.shape[1:-1]) for part in rows]
        means = np.stack(each, axis=1)
    while means.ndim > 1:
        weights = shares(means.shape[1])
        means = (means * weights.reshape(*weights.shape, *(1,) * (means.ndim - 2))).sum(axis=1)
    result: Floats = means
    return result


def image_std_err(scores: npt.ArrayLike, images: npt.ArrayLike) -> float:
    """The standard error of the mean score of examples that share images.

    It is the first-order (Hajek) projection onto images: the sum over images of
    ``(sum of (score - mean) over the examples that show it)^2``, divided by the square of the number of
    examples. In econometrics this is one-way clustering by image (Cameron, Gelbach, Miller: "Robust Inference
    With Multiway Clustering", 2011). The sum has an example's own deviation once for each of its images; the
    surplus is subtracted, so that the result is the usual standard error if no image occurs twice. If an
    example shows a large part of all images, the sum is scaled up for the images that could have been drawn.

    Args:
        scores: [n], scores of the examples.
        images: [n, slots], the image in each slot, negative for none.

    Returns:
        At least the usual standard error, which treats examples as independent; 0 for fewer than two.
    """
    values, image_of = np.asarray(scores, np.float64), np.asarray(images)
    n = len(values)
    if n < 2:
        return 0.0
    deviations = values - values.mean()
    usual = float((deviations**2).sum()) / (n - 1) / n
    example, slot = np.nonzero(image_of >= 0)
    _, image = np.unique(image_of[example, slot], return_inverse=True)
    pairs = np.unique(np.stack([example, image.reshape(-1)]), axis=1)
    m = int(pairs[1].max()) + 1 if pairs.size else 0
    if m < 2:
        return math.sqrt(usual)
    sums = np.bincount(pairs[1], deviations[pairs[0]], minlength=m)
    too_often = np.bincount(pairs[0], minlength=n) - 1
    variance = float((sums**2).sum() - (too_often * deviations**2).sum()) / n**2
    others = max(m - pairs.shape[1] / n, (m - 1) / 2)  # images that an example does not show
    return math.sqrt(max(variance * m * (m - 1) / others**2, usual))


@dataclass(frozen=True)
class Pairs:
    """Differences of the mean scores of all pairs of learners, row minus column.

    Attributes:
        differences: float64 [m, m].
        std_errs: float64 [m, m], standard errors as `interval` computes them from a table of differences.
        df: float64 [m, m], degrees of freedom.
        p_values: float64 [m, m], two-sided; 1 on the diagonal.
    """

    differences: Floats
    std_errs: Floats
    df: Floats
    p_values: Floats


def pairwise(
    scores: npt.ArrayLike, *, images: AnyInts | None = None, shared_test: bool = True, overlap: float = 0.0
) -> Pairs:
    """Compare all pairs of learners on the same train splits and test examples.

    All variances are sums of squares of numbers that are linear in the scores. So those of a difference
    follow from inner products of the learners' own, and no table of differences is made.

    Args:
        scores: [learners, splits, examples]; a smaller test set ends in NaN.
        images, shared_test, overlap: as for `interval`.
    """
    table = np.asarray(scores, np.float64)
    _, k, n = table.shape
    there = ~np.isnan(table[0])
    means = np.nanmean(table, axis=2).mean(axis=1)
    parts: list[tuple[Floats, float]] = []

    def squares(rows: Floats) -> Floats:
        product = rows @ rows.T
        own = np.diag(product)
        result: Floats = np.maximum(own[:, None] + own[None, :] - 2 * product, 0.0)
        return result

    of_splits = np.nanmean(table, axis=2)
    if k > 1:
        centred = of_splits - of_splits.mean(axis=1, keepdims=True)
        parts.append((squares(centred) / (k - 1) * (1 / k + overlap), k - 1.0))
    each = table.mean(axis=1)[:, None] if shared_test else table
    sizes = (~np.isnan(each[0])).sum(axis=1)
    residuals = np.nan_to_num(each - np.nanmean(each, axis=2, keepdims=True))
    own = squares(
        (residuals / (len(sizes) * np.sqrt(np.maximum(sizes - 1, 1) * sizes))[:, None]).reshape(
            len(table), -1
        )
    )
    if n > 1 and images is None:
        parts.append((own, float(sizes.sum() - len(sizes))))
    elif n > 1:
        assert images is not None
        flat = each[:, there if not shared_test else there[:1]]
        parts.append(_by_image(flat, images[there] if not shared_test else images, squares))
    total = sum((variance for variance, _ in parts), np.zeros((len(table),) * 2))
    if shared_test and k > 1 and n > 1:
        whole = table.mean(axis=(1, 2), keepdims=True)
        rest = table - table.mean(axis=1, keepdims=True) - table.mean(axis=2, keepdims=True) + whole
        df = (k - 1.0) * (n - 1)
        total -= (len(parts) - 1) * squares(rest.reshape(len(table), -1)) / df / (k * n)
    elif k > 1 and n > 1:
        total -= own
    total = np.maximum(total, np.max([variance for variance, _ in parts], axis=0, initial=0.0))
    weight = sum((variance**2 / df for variance, df in parts), np.zeros_like(total))
    with np.errstate(divide="ignore", invalid="ignore"):
        df = np.where(weight > 0, total**2 / weight, math.inf)
    differences, errors = means[:, None] - means[None, :], np.sqrt(total)
    return Pairs(differences, errors, df, p_values(differences, errors, df))


def _by_image(flat: Floats, images: AnyInts, squares: Callable[[Floats], Floats]) -> tuple[Floats, float]:
    """The variances of `image_std_err` for all pairs, and their degrees of freedom."""
    from scipy.sparse import csr_array

    n = flat.shape[1]
    deviations = flat - flat.mean(axis=1, keepdims=True)
    usual = squares(deviations) / (n - 1) / n
    example, slot = np.nonzero(images >= 0)
    _, image = np.unique(images[example, slot], return_inverse=True)
    pairs = np.unique(np.stack([example, image.reshape(-1)]), axis=1)
    m = int(pairs[1].max()) + 1 if pairs.size else 0
    if m < 2:
        return usual, max(1.0, m - 1.0)
    shows = csr_array((np.ones(pairs.shape[1]), (pairs[1], pairs[0])), shape=(m, n))
    too_often = np.sqrt(np.maximum(np.bincount(pairs[0], minlength=n) - 1.0, 0.0))
    none = np.bincount(pairs[0], minlength=n) == 0  # shows no image: its own deviation counts once
    sums = squares((shows @ deviations.T).T)
    surplus = squares(deviations * too_often) - squares(deviations * none)
    others = max(m - pairs.shape[1] / n, (m - 1) / 2)
    scaled = (sums - surplus) / n**2 * m * (m - 1) / others**2
    return np.maximum(scaled, usual), m - 1.0


def p_values(differences: Floats, std_errs: Floats, df: Floats) -> Floats:
    """Two-sided p values of differences with their standard errors, by Student's t; 1 where none is known."""
    from scipy.special import ndtr, stdtr

    has_error = std_errs > NOTHING
    with np.errstate(divide="ignore", invalid="ignore"):
        t = -np.abs(differences) / np.where(has_error, std_errs, 1.0)
        finite = np.where(np.isinf(df), 1.0, df)
        two_sided = 2 * np.where(np.isinf(df), ndtr(t), stdtr(finite, t))
    return np.where(has_error, two_sided, 1.0)


def verdict(better: float, p_value: float) -> str:
    """What a difference, above 0 where it is better, shows: better, worse or tie; empty if not known."""
    if math.isnan(p_value):
        return ""
    return "tie" if p_value >= _LEVEL else "better" if better > 0 else "worse"


def holm(plain: Floats) -> Floats:
    """float64 [m]: p values corrected for m tests, by Holm's step-down method.

    Holm: "A Simple Sequentially Rejective Multiple Test Procedure", Scandinavian Journal of Statistics 1979.
    """
    m = len(plain)
    order = np.argsort(plain, kind="stable")
    stepped = np.maximum.accumulate(plain[order] * np.arange(m, 0, -1))
    corrected = np.empty(m)
    corrected[order] = np.minimum(stepped, 1.0)
    return corrected


def paired_p_values(differences: Floats) -> Floats:
    """float64 [m]: two-sided p values of the paired t test.

    Args:
        differences: float64 [m, pairs].

    Returns:
        1 for fewer than two pairs and for equal values; 0 if all differences are equal and not zero.
    """
    from scipy.stats import ttest_1samp

    m, n = differences.shape
    if n < 2:
        return np.ones(m)
    varied = differences.std(axis=1, ddof=1) / np.sqrt(n) > NOTHING
    result = np.zeros(m)
    if varied.any():
        result[varied] = ttest_1samp(differences[varied], 0.0, axis=1).pvalue
    result[np.abs(differences).max(axis=1) <= NOTHING] = 1.0
    return result


def paired_interval(differences: Floats, level: float = _LEVEL) -> tuple[float, float]:
    """The interval of a mean paired difference, by the paired t test.

    Returns:
        Its lower and upper end; (-inf, inf) for fewer than two pairs.
    """
    if len(differences) < 2:
        return -math.inf, math.inf
    if np.ptp(differences) <= NOTHING:  # scipy gives no interval of length 0
        return float(differences.mean()), float(differences.mean())
    from scipy.stats import ttest_1samp

    result = ttest_1samp(differences, 0.0).confidence_interval(1 - level)
    return float(result.low), float(result.high)
