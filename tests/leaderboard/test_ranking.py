"""Ranks: the same data, paired, and no difference where chance explains it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from nsl_bench.leaderboard.ranking import adjusted_p_values, groups, mean_ranks, place
from scipy.special import stdtr
from scipy.stats import ttest_rel

from nsl_bench.run.statistics import holm, paired_interval, paired_p_values

values = arrays.arrays(
    np.float64, st.tuples(st.integers(1, 6), st.integers(2, 5)), elements=st.floats(0, 1, width=16)
)


def p_value(first: np.ndarray, second: np.ndarray) -> float:
    return float(paired_p_values((first - second)[None])[0])


def test_pairing_sees_what_means_hide() -> None:
    easy_and_hard = np.array([0.9, 0.5, 0.7, 0.3, 0.6])
    noise = np.array([0.001, -0.001, 0.0, 0.002, -0.002])
    assert p_value(easy_and_hard + 0.01 + noise, easy_and_hard) < 0.05
    assert p_value(easy_and_hard, easy_and_hard[::-1]) > 0.05


def test_equal_learners_share_a_rank() -> None:
    rows = np.array([[0.9, 0.8, 0.85], [0.85, 0.9, 0.8], [0.3, 0.2, 0.25]])
    placed = place(rows)
    assert [p.rank for p in placed] == [1, 1, 3]
    assert {p.index for p in placed[:2]} == {0, 1} and placed[2].index == 2
    assert placed[2].mean == pytest.approx(0.25)
    assert placed[2].std_err == pytest.approx(0.05 / np.sqrt(3))
    assert groups(rows) == [(0, 1)]


def test_less_can_be_better() -> None:
    rows = np.array([[0.9, 0.9], [0.1, 0.1]])
    assert [p.index for p in place(rows, higher_is_better=False)] == [1, 0]
    assert mean_ranks(rows, higher_is_better=False).tolist() == [2, 1]


def test_one_repeat_shows_no_difference() -> None:
    rows = np.array([[0.9], [0.1]])
    assert [p.rank for p in place(rows)] == [1, 1]
    assert np.isnan(place(rows)[0].std_err)


@pytest.mark.parametrize("repeats", [3, 5, 10])
def test_false_alarms_stay_near_the_level(repeats: int) -> None:
    rng = np.random.default_rng(repeats)
    alarms = np.mean([p_value(rng.normal(size=repeats), np.zeros(repeats)) < 0.05 for _ in range(300)])
    assert alarms < 0.075


@pytest.mark.parametrize("repeats", [3, 5])
def test_a_table_of_equals_has_hardly_ever_a_false_alarm(repeats: int) -> None:
    rng = np.random.default_rng(repeats)
    tables = rng.normal(size=(300, 6, repeats))
    found = [adjusted_p_values([table])[0] for table in tables]
    assert np.mean([p_values.min() < 0.05 for p_values in found]) < 0.085
    ranks = [max(p.rank for p in place(table, p_values=p)) for table, p in zip(tables, found, strict=True)]
    assert np.mean([rank > 1 for rank in ranks]) < 0.085


def test_the_pairs_are_compared_as_scipy_does() -> None:
    rng = np.random.default_rng(0)
    for n in (3, 5, 10):
        first, second = rng.normal(size=(2, n))
        known = ttest_rel(first, second)
        assert p_value(first, second) == pytest.approx(known.pvalue)
        interval = known.confidence_interval(0.95)
        assert paired_interval(first - second) == pytest.approx((interval.low, interval.high))


def test_the_test_is_students_formula() -> None:
    """The p values are those that the board had when it computed them itself (Student's t, paired)."""
    rng = np.random.default_rng(3)
    for n in (2, 5, 9):
        tables = [rng.normal(size=(4, n)) * 10.0**scale + 0.1 for scale in (-6, 0, 2)]
        for first, second in ((table[0], table[1]) for table in tables):
            difference = first - second
            t = abs(difference.mean()) / (difference.std(ddof=1) / np.sqrt(n))
            assert p_value(first, second) == pytest.approx(2 * stdtr(n - 1, -t), abs=1e-9)


def test_equal_values_do_not_differ_and_a_constant_difference_does() -> None:
    values = np.array([0.9, 0.8, 0.7])
    assert p_value(values, values + 1e-15) == 1.0
    assert p_value(values, values - 0.1) < 1e-10
    assert paired_interval(values - values) == (0.0, 0.0)


def test_the_correction_is_holms() -> None:
    assert holm(np.array([0.01, 0.04, 0.03])).tolist() == pytest.approx([0.03, 0.06, 0.06])
    assert holm(np.array([0.5, 0.9])).tolist() == pytest.approx([1.0, 1.0])


def test_pairs_are_corrected_over_all_tables() -> None:
    rng = np.random.default_rng(1)
    tables = [rng.normal(size=(k, 5)) for k in (3, 1, 2)]
    plain = [p_value(a[i], a[j]) for a in tables for i in range(len(a)) for j in range(i + 1, len(a))]
    found = adjusted_p_values(tables)
    assert [matrix.shape for matrix in found] == [(3, 3), (1, 1), (2, 2)]
    upper = [matrix[i, j] for matrix in found for i in range(len(matrix)) for j in range(i + 1, len(matrix))]
    assert upper == pytest.approx(holm(np.array(plain)))
    assert all((matrix == matrix.T).all() and (np.diag(matrix) == 1).all() for matrix in found)
    assert adjusted_p_values([]) == []


def test_a_rank_can_rest_on_the_p_values_of_a_whole_board() -> None:
    rows = np.array([[0.9, 0.91, 0.92], [0.1, 0.12, 0.11]])
    assert [p.rank for p in place(rows)] == [1, 2]
    assert [p.rank for p in place(rows, p_values=np.ones((2, 2)))] == [1, 1]


@given(values)
def test_ranks_are_places(rows: np.ndarray) -> None:
    placed = place(rows)
    ranks = [p.rank for p in placed]
    assert sorted(p.index for p in placed) == list(range(len(rows)))
    assert ranks[0] == 1 and ranks == sorted(ranks)
    assert all(rank <= k for k, rank in enumerate(ranks, start=1))
    means = [p.mean for p in placed]
    assert means == sorted(means, reverse=True)


@given(values)
def test_the_interval_holds_the_mean_difference(rows: np.ndarray) -> None:
    low, high = paired_interval(rows[0] - rows[-1])
    mean = float((rows[0] - rows[-1]).mean())
    assert low <= mean + 1e-9 and mean - 1e-9 <= high
