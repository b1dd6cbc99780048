"""Ranks: the same data, paired, and no difference where chance explains it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from nsl_bench.leaderboard.ranking import difference_interval, differs, groups, mean_ranks, place

values = arrays.arrays(
    np.float64, st.tuples(st.integers(1, 6), st.integers(2, 5)), elements=st.floats(0, 1, width=16)
)


def test_pairing_sees_what_means_hide() -> None:
    easy_and_hard = np.array([0.9, 0.5, 0.7, 0.3, 0.6])
    assert differs(easy_and_hard + 0.01, easy_and_hard)
    assert not differs(easy_and_hard, easy_and_hard[::-1])


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


@pytest.mark.parametrize("repeats", [3, 5, 8])
def test_false_alarms_stay_near_the_level(repeats: int) -> None:
    rng = np.random.default_rng(repeats)
    alarms = np.mean([differs(rng.normal(size=repeats), np.zeros(repeats)) for _ in range(1000)])
    assert alarms < 0.10


def test_three_repeats_reach_from_the_least_draw_to_the_largest() -> None:
    low, high = difference_interval(np.array([0.0, 1.0, 5.0]), np.zeros(3))
    widening = 4.302653 / 1.959964 * np.sqrt(1.5)
    assert (low, high) == pytest.approx((2 - 2 * widening, 2 + 3 * widening), rel=1e-5)


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
    low, high = difference_interval(rows[0], rows[-1])
    mean = float((rows[0] - rows[-1]).mean())
    assert low <= mean + 1e-9 and mean - 1e-9 <= high
