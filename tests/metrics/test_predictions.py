"""Metrics are what the protocol says."""

from __future__ import annotations

import re

import numpy as np
import pytest

from nsl_bench.core.metrics import predictions as metrics
from nsl_bench.core.metrics.predictions import (
    accuracy,
    brier_score,
    calibration_error,
    probabilistic_accuracy,
)


def test_accuracy_counts_undecided_and_ambiguous_as_wrong() -> None:
    assert accuracy(np.array([0, 1, -1, -2]), np.array([0, 0, 0, 0])) == 0.25


def test_brier_score_is_not_divided_by_the_number_of_labels() -> None:
    right, wrong, none = [1.0, 0.0], [0.0, 1.0], [0.0, 0.0]
    labels = np.array([0])
    assert brier_score(np.array([right]), labels) == 0
    assert brier_score(np.array([wrong]), labels) == 2
    assert brier_score(np.array([none]), labels) == 1
    assert brier_score(np.array([[0.7, 0.3], [0.7, 0.3]]), np.array([0, 1])) == pytest.approx(
        (0.18 + 0.98) / 2
    )


def test_probabilistic_accuracy() -> None:
    assert probabilistic_accuracy(np.array([[0.7, 0.3], [0.4, 0.6]]), np.array([0, 0])) == pytest.approx(0.55)


def test_calibration_error() -> None:
    sure = np.tile([0.9, 0.1], (10, 1))
    assert calibration_error(sure, np.array([0] * 9 + [1])) == pytest.approx(0.0)
    assert calibration_error(sure, np.array([0] * 4 + [1] * 6)) == pytest.approx(0.5)


def test_metrics_of_probabilities() -> None:
    labels = np.array([0, 1, 1])
    given = np.array([[0.75, 0.25], [0.0, 0.5], [0.0, 0.0]])
    assert metrics.invalid_mass(given) == pytest.approx(0.5)
    assert metrics.log_loss(given, labels) == pytest.approx(-np.log([0.75, 0.5, 1e-15]).mean())
    assert metrics.most_probable(given).tolist() == [0, 1, -1]
    assert metrics.most_probable(np.array([[0.5, 0.5]])).tolist() == [0]
    count, confidence, right = metrics.reliability(given, labels, bins=4)
    assert count.tolist() == [1, 1, 1, 0] and right.tolist() == [0, 1, 1, 0]
    assert confidence.tolist() == [0, 0.5, 0.75, 0]
    assert metrics.calibration_error(given, labels, bins=4) == pytest.approx((0 + 0.5 + 0.25) / 3)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ([[0.5, 0.5], [np.nan, 1.0]], "NaN or infinity for 1 of 2 examples, first for example 1: [nan, 1.0]"),
        ([[np.inf, -np.inf]], "NaN or infinity for 1 of 1 examples, first for example 0: [inf, -inf]"),
        (
            [[0.9, 0.9], [0.9, 0.9]],
            "invalid probabilities for 2 of 2 examples, first for example 0: [0.9, 0.9]",
        ),
        ([[1.5, -0.5]], "invalid probabilities for 1 of 1 examples, first for example 0: [1.5, -0.5]"),
        (
            [[[1, 0], [1, 0]], [[1, 0], [0.5, 0.6]]],
            "invalid probabilities for 1 of 2 examples, first for example 1",
        ),
    ],
)
def test_what_is_no_probability_is_said(given: list[object], told: str) -> None:
    with pytest.raises(ValueError, match=re.escape(told) + "$"):
        metrics.checked_probabilities(np.array(given))


def test_probabilities_may_be_off_by_rounding() -> None:
    given = np.array([[1 + 1e-7, -1e-7], [0.2, 0.3]], np.float32)
    checked = metrics.checked_probabilities(given)
    assert checked.dtype == np.float32 and checked.min() == 0 and checked.max() == 1
    assert metrics.checked_probabilities(np.empty((0, 3))).shape == (0, 3)
    assert metrics.checked_probabilities(np.empty((0, 2, 3))).shape == (0, 2, 3)
