"""Metrics are what the protocol says: of predictions, of their uncertainty, and their registry."""

import itertools
import math
import re
from importlib.metadata import EntryPoint

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import f1_score, roc_auc_score, roc_curve

from nsl_bench.core import metrics
from nsl_bench.core.errors import UserError
from nsl_bench.core.metrics import METRICS, Answers, Metric, compute, predictions
from nsl_bench.core.metrics.predictions import aurc, detection_auroc, fpr_at_95, least_confidence, macro_f1

LABELS = np.array([0, 1, 1, 0])
PREDICTED = np.array([0, 1, 0, -1])
PROBABILITIES = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.0, 0.0]])
SHIFTED = np.array([False, False, True, True])


def answers(**more: object) -> Answers:
    return Answers(LABELS, PREDICTED, ("no", "yes"), **more)  # type: ignore[arg-type]


def test_what_labels_alone_have() -> None:
    found = compute(METRICS, answers())
    assert found["framework_accuracy"] == 0.5 and found["undecided"] == 0.25 and "macro_f1" in found
    assert not {"hypothesis_accuracy", "brier_score", "aurc", "shift_auroc"} & found.keys()


def test_what_probabilities_add() -> None:
    found = compute(METRICS, answers(probabilities=PROBABILITIES))
    assert found["brier_score"] == pytest.approx((0.02 + 0.08 + 0.72 + 1.0) / 4)
    assert {"log_loss", "aurc", "framework_accuracy_probabilistic"} <= found.keys()
    assert "shift_auroc" not in found


def test_what_shifted_examples_add() -> None:
    own = compute(METRICS, answers(probabilities=PROBABILITIES, shifted=SHIFTED))
    assert own["shift_auroc"] == 1.0 and "network_shift_auroc" not in own
    network = compute(METRICS, answers(network_uncertainty=np.array([0.1, 0.2, 0.3, 0.4]), shifted=SHIFTED))
    assert network["network_shift_auroc"] == 1.0 and "shift_auroc" not in network
    none = compute(METRICS, answers(probabilities=PROBABILITIES, shifted=np.zeros(4, bool)))
    assert "shift_auroc" not in none


def test_of_the_first_evaluation_only_accuracy_counts() -> None:
    found = compute(METRICS, answers(evaluation="hypothesis", is_last=False, probabilities=PROBABILITIES))
    assert found == {"hypothesis_accuracy": 0.5}
    alone = compute(METRICS, answers(evaluation="hypothesis", probabilities=PROBABILITIES))
    assert "brier_score" in alone and "framework_accuracy_probabilistic" not in alone


def test_a_metric_may_be_made_of_others() -> None:
    def per_atom(a: Answers) -> float:
        return a.record["framework_accuracy"] / a.record.get("atoms", float("nan"))

    made = Metric("per_atom", "accuracy an atom", True, needs=("record",), compute=per_atom)
    own = {**METRICS, "per_atom": made}
    assert compute(own, answers(record={"atoms": 4.0}))["per_atom"] == 0.125
    assert "per_atom" not in compute(own, answers(record={"rules": 4.0}))  # no finite number


def test_each_class_has_an_f1_that_names_it() -> None:
    found = compute(METRICS, answers())
    assert found["f1_no"] == pytest.approx(2 / 4) and found["f1_yes"] == pytest.approx(2 / 3)
    assert found["macro_f1"] == pytest.approx((found["f1_no"] + found["f1_yes"]) / 2)
    assert "f1" not in found
    one = METRICS["f1_yes"]
    assert one.title == "F1 of yes" and one.value(answers()) == found["f1_yes"]
    assert compute({"f1_yes": one}, answers()) == {"f1_yes": found["f1_yes"]}


def test_a_label_that_a_task_lacks_has_no_f1() -> None:
    assert METRICS["f1_maybe"].value(answers()) is None
    assert "f1_no" in METRICS and "f1_" not in METRICS and "macro_f1_no" not in METRICS
    with pytest.raises(ValueError, match="macro_f1 has no number per label"):
        METRICS["macro_f1"].of_label("no")


def kappa(answers: Answers) -> float:
    return 0.0


KAPPA = Metric("kappa", "Cohen's kappa", True, bounds=(-1.0, 1.0), compute=kappa)
TWICE = Metric("atoms", "atoms", False, compute=kappa)
WRONG = "kappa"


def added(monkeypatch: pytest.MonkeyPatch, *names: str) -> metrics._Metrics:
    points = [EntryPoint("standard", "nsl_bench.core.metrics.standard:METRICS", metrics.GROUP)]
    points += [EntryPoint(f"x{k}", f"{__name__}:{name}", metrics.GROUP) for k, name in enumerate(names)]
    monkeypatch.setattr(metrics, "entry_points", lambda group: points)
    return metrics._Metrics()


def test_other_packages_add_metrics(monkeypatch: pytest.MonkeyPatch) -> None:
    found = added(monkeypatch, "KAPPA")
    assert list(found) == [*METRICS, "kappa"] and compute(found, answers())["kappa"] == 0.0


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("TWICE", "Two metrics are named 'atoms'"),
        ("WRONG", "must be a Metric or a tuple of metrics; got 'kappa'"),
        ("MISSING", "cannot be imported: AttributeError"),
    ],
)
def test_what_is_no_metric_is_named(monkeypatch: pytest.MonkeyPatch, name: str, words: str) -> None:
    with pytest.raises(UserError, match=words):
        len(added(monkeypatch, name))


# Of predictions.


def test_accuracy_counts_undecided_and_ambiguous_as_wrong() -> None:
    assert predictions.accuracy(np.array([0, 1, -1, -2]), np.array([0, 0, 0, 0])) == 0.25


def test_brier_score_is_not_divided_by_the_number_of_labels() -> None:
    for one, score in (([1.0, 0.0], 0), ([0.0, 1.0], 2), ([0.0, 0.0], 1), ([0.7, 0.3], 0.18)):
        assert predictions.brier_score(np.array([one]), np.array([0])) == pytest.approx(score)
    assert predictions.brier_score(np.array([[0.7, 0.3]] * 2), np.array([0, 1])) == pytest.approx(
        (0.18 + 0.98) / 2
    )


def test_probabilistic_accuracy() -> None:
    assert predictions.probabilistic_accuracy(
        np.array([[0.7, 0.3], [0.4, 0.6]]), np.array([0, 0])
    ) == pytest.approx(0.55)


def test_calibration_error() -> None:
    sure = np.tile([0.9, 0.1], (10, 1))
    assert predictions.calibration_error(sure, np.array([0] * 9 + [1])) == pytest.approx(0.0)
    assert predictions.calibration_error(sure, np.array([0] * 4 + [1] * 6)) == pytest.approx(0.5)


def test_metrics_of_probabilities() -> None:
    labels = np.array([0, 1, 1])
    given = np.array([[0.75, 0.25], [0.0, 0.5], [0.0, 0.0]])
    assert predictions.invalid_mass(given) == pytest.approx(0.5)
    assert predictions.log_loss(given, labels) == pytest.approx(-np.log([0.75, 0.5, 1e-15]).mean())
    assert predictions.most_probable(given).tolist() == [0, 1, -1]
    sure = np.array([0.2, 0.7, 0.1, 0.7])
    area = predictions.label_auroc(np.stack([1 - sure, sure], axis=1), [0, 0, 1, 1])
    assert area == pytest.approx(roc_auc_score([0, 0, 1, 1], sure))
    assert math.isnan(predictions.label_auroc(given, [0, 0, 0]))
    assert predictions.most_probable(np.array([[0.5, 0.5]])).tolist() == [0]
    count, confidence, right = predictions.reliability(given, labels, bins=4)
    assert count.tolist() == [1, 1, 1, 0] and right.tolist() == [0, 1, 1, 0]
    assert confidence.tolist() == [0, 0.5, 0.75, 0]
    assert predictions.calibration_error(given, labels, bins=4) == pytest.approx((0 + 0.5 + 0.25) / 3)


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ([[0.5, 0.5], [np.nan, 1.0]], "NaN or infinity for 1 of 2 examples, first for example 1: [nan, 1.0]"),
        ([[np.inf, -np.inf]], "NaN or infinity for 1 of 1 examples, first for example 0: [inf, -inf]"),
        ([[0.9, 0.9]] * 2, "invalid probabilities for 2 of 2 examples, first for example 0: [0.9, 0.9]"),
        ([[1.5, -0.5]], "invalid probabilities for 1 of 1 examples, first for example 0: [1.5, -0.5]"),
        ([[[1, 0]] * 2, [[1, 0], [0.5, 0.6]]], "probabilities for 1 of 2 examples, first for example 1"),
    ],
)
def test_what_is_no_probability_is_said(values: list[object], told: str) -> None:
    with pytest.raises(ValueError, match=re.escape(told) + "$"):
        predictions.checked_probabilities(np.array(values))


def test_probabilities_may_be_off_by_rounding() -> None:
    given = np.array([[1 + 1e-7, -1e-7], [0.2, 0.3]], np.float32)
    checked = predictions.checked_probabilities(given)
    assert checked.dtype == np.float32 and checked.min() == 0 and checked.max() == 1
    assert predictions.checked_probabilities(np.empty((0, 3))).shape == (0, 3)
    assert predictions.checked_probabilities(np.empty((0, 2, 3))).shape == (0, 2, 3)


# Of uncertainty: against brute force over all orders of ties, and against sklearn.

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
        assert math.isnan(detection_auroc(uncertainty, shifted))
        assert math.isnan(fpr_at_95(uncertainty, shifted))
        return
    assert detection_auroc(uncertainty, shifted) == pytest.approx(roc_auc_score(shifted, uncertainty))
    false, true, _ = roc_curve(shifted, uncertainty, drop_intermediate=False)
    assert fpr_at_95(uncertainty, shifted) == pytest.approx(false[np.argmax(true >= 0.95 - 1e-12)])


def test_ends() -> None:
    # Nineteen of twenty are 95 %.
    assert fpr_at_95(np.array([*range(1, 21), 1.5]), np.array([True] * 20 + [False])) == 0
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
    found = predictions.f1_scores(predicted, labels, 4)
    known = f1_score(labels, predicted, labels=range(4), average=None, zero_division=np.nan)
    assert found == pytest.approx(known, nan_ok=True)
    assert macro_f1(predicted, labels, 4) == pytest.approx(np.nanmean(known))
