"""Uncertainty metrics against brute force over all orders of ties, and against sklearn."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import f1_score, roc_auc_score, roc_curve

from nsl_bench.core.metrics.predictions import (
    aurc,
    detection_auroc,
    f1_scores,
    fpr_at_95,
    least_confidence,
    macro_f1,
)

pairs = st.lists(st.tuples(st.integers(0, 3), st.booleans()), min_size=1, max_size=6)
many = st.lists(st.tuples(st.integers(0, 9), st.booleans()), min_size=2, max_size=60)


def risk(uncertainty: np.ndarray, correct: np.ndarray) -> float:
    """The mean over all orders by uncertainty of the mean error rate over coverages."""
    n = len(correct)
    orders = [
        order
        for order in itertools.permutations(range(n))
        if all(uncertainty[a] <= uncertainty[b] for a, b in itertools.pairwise(order))
    ]
    areas = [np.mean([np.mean(~correct[list(order[:k])]) for k in range(1, n + 1)]) for order in orders]
    return float(np.mean(areas))


@given(pairs)
def test_selective_risk_is_the_mean_over_all_orders(examples: list[tuple[int, bool]]) -> None:
    uncertainty, correct = (np.array(column) for column in zip(*examples, strict=True))
    assert aurc(uncertainty, correct) == pytest.approx(risk(uncertainty, correct))


@given(many)
def test_detection_is_that_of_sklearn(examples: list[tuple[int, bool]]) -> None:
    uncertainty, shifted = (np.array(column) for column in zip(*examples, strict=True))
    if shifted.all() or not shifted.any():
        assert math.isnan(detection_auroc(uncertainty, shifted)) and math.isnan(
            fpr_at_95(uncertainty, shifted)
        )
        return
    assert detection_auroc(uncertainty, shifted) == pytest.approx(roc_auc_score(shifted, uncertainty))
    false, true, _ = roc_curve(shifted, uncertainty, drop_intermediate=False)
    assert fpr_at_95(uncertainty, shifted) == pytest.approx(false[np.argmax(true >= 0.95 - 1e-12)])


def test_nineteen_of_twenty_are_95_percent() -> None:
    uncertainty = np.array([*range(1, 21), 1.5])
    shifted = np.array([True] * 20 + [False])
    assert fpr_at_95(uncertainty, shifted) == 0


def test_ends() -> None:
    right = np.array([True, True, False])
    assert aurc([0, 1, 2], right) == pytest.approx(1 / 9) and aurc([2, 1, 0], right) == pytest.approx(11 / 18)
    assert aurc([0, 0, 0], right) == pytest.approx(1 / 3) and aurc([5.0], [True]) == 0
    assert math.isnan(aurc([], []))
    assert detection_auroc([0, 1], [False, True]) == 1 and fpr_at_95([0, 1], [True, False]) == 1
    assert least_confidence([[0.25, 0.5], [0.9, 0.1]]).tolist() == pytest.approx([0.5, 0.1])


@pytest.mark.parametrize("metric", [aurc, detection_auroc, fpr_at_95])
def test_what_has_no_order(metric: object) -> None:
    with pytest.raises(ValueError, match="NaN"):
        metric([0.1, math.nan], [True, False])  # type: ignore[operator]
    with pytest.raises(ValueError, match="must match"):
        metric([0.1], [True, False])  # type: ignore[operator]


@given(st.lists(st.tuples(st.integers(-2, 3), st.integers(0, 3)), min_size=1, max_size=30))
def test_f1_is_that_of_sklearn(examples: list[tuple[int, int]]) -> None:
    predicted, labels = (np.array(column) for column in zip(*examples, strict=True))
    found = f1_scores(predicted, labels, 4)
    known = f1_score(labels, predicted, labels=range(4), average=None, zero_division=np.nan)
    assert found == pytest.approx(known, nan_ok=True)
    assert macro_f1(predicted, labels, 4) == pytest.approx(np.nanmean(known))
