"""Equivalence and difference of means: against scipy and simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_ind

from nsl_bench.report.published.equivalence import POWER, Mean, compare_means, repeats_needed

means = st.builds(Mean, st.floats(0, 1), st.floats(0.001, 0.1), st.integers(2, 20))


def test_the_difference_is_tested_as_scipy_does() -> None:
    rng = np.random.default_rng(0)
    for n, m in ((2, 5), (5, 5), (10, 3)):
        first, second = rng.normal(0, 1, n), rng.normal(0.5, 3, m)
        known = ttest_ind(first, second, equal_var=False)
        found = compare_means(Mean.of(first.tolist()), Mean.of(second.tolist()), 0.5)
        assert found.p_different == pytest.approx(known.pvalue) and found.df == pytest.approx(known.df)
        above = ttest_ind(first + 0.5, second, equal_var=False, alternative="greater").pvalue
        below = ttest_ind(first - 0.5, second, equal_var=False, alternative="less").pvalue
        assert found.p_equivalent == pytest.approx(max(above, below))


def simulated(difference: float, margin: float, repeats: int, draws: int) -> float:
    """How often two one-sided tests of samples of equal spread 1 show equivalence."""
    rng = np.random.default_rng(repeats)
    first, second = rng.normal(difference, 1, (draws, repeats)), rng.normal(0, 1, (draws, repeats))
    shown = 0
    for a, b in zip(first, second, strict=True):
        shown += compare_means(Mean.of(a.tolist()), Mean.of(b.tolist()), margin).p_equivalent < 0.05
    return shown / draws


def test_equivalence_is_hardly_ever_shown_at_the_margin() -> None:
    assert simulated(1.5, 1.5, 5, 500) < 0.08


def test_the_power_is_that_of_a_simulation() -> None:
    """At equal means and equal spreads, with the true standard error for the estimated one."""
    from nsl_bench.report.published.equivalence import _power

    error = math.sqrt(2 / 8)
    assert _power(1.5 / error, 14) == pytest.approx(simulated(0, 1.5, 8, 800), abs=0.04)


def test_without_spread_what_is_seen_counts() -> None:
    one = Mean(1.0, 0.0, 5)
    same = compare_means(one, one, 0.02)
    assert same.equivalent and not same.different and math.isinf(same.df)
    near = compare_means(Mean(0.99, 0.0, 5), one, 0.02)
    assert near.equivalent and near.different
    far = compare_means(Mean(0.9, 0.0, 5), one, 0.02)
    assert far.different and not far.equivalent


def test_a_known_error_counts_without_degrees_of_freedom() -> None:
    exact = Mean(0.5, 0.0, 5)
    found = compare_means(exact, exact, 0.02, known_std_err=0.02)
    assert math.isinf(found.df) and not found.equivalent and found.power < 0.1


@given(means, means, st.floats(0.001, 0.2))
def test_sides_can_be_exchanged(first: Mean, second: Mean, margin: float) -> None:
    one, other = compare_means(first, second, margin), compare_means(second, first, margin)
    assert (one.p_equivalent, one.p_different) == pytest.approx((other.p_equivalent, other.p_different))
    assert one.power == pytest.approx(other.power) and 0 <= one.power <= 1


def test_a_lucky_equivalence_does_not_count() -> None:
    found = compare_means(Mean(0.5, 0.006, 5), Mean(0.5, 0.007, 5), 0.02)
    assert found.p_equivalent < 0.05 and found.power < POWER and not found.equivalent


def test_the_repeats_that_it_takes() -> None:
    theirs, ours = Mean(0.5, 0.002, 5), Mean(0.5, 0.02, 5)
    n = repeats_needed(ours, theirs, 0.02)
    assert n is not None and n > 5

    def power(k: int) -> float:
        planned = Mean(0.5, 0.02 * math.sqrt(5 / k), k)
        return compare_means(planned, theirs, 0.02).power

    assert power(n) >= POWER > power(n - 1)
    assert repeats_needed(ours, Mean(0.5, 0.02, 5), 0.02) is None
