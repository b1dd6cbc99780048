"""Pareto fronts against their definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from nsl_bench.leaderboard.ranking import front

tables = arrays.arrays(
    np.float64, st.tuples(st.integers(0, 8), st.just(3)), elements=st.sampled_from([0.0, 1.0, 2.0])
)


@given(tables)
def test_nobody_on_the_front_is_dominated(rows: np.ndarray) -> None:
    costs = [(-a, b, c) for a, b, c in rows.tolist()]
    known = [not any(o != r and all(x <= y for x, y in zip(o, r, strict=True)) for o in costs) for r in costs]
    assert front(rows, (True, False, False)).tolist() == known


def test_a_front() -> None:
    rows = np.array([[0.9, 10], [0.8, 5], [0.7, 7], [0.9, 10]])
    assert front(rows, (True, False)).tolist() == [True, True, False, True]
    with pytest.raises(ValueError, match="must have a number"):
        front(np.array([[np.nan, 1]]), (True, False))
