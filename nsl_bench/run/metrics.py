"""How predictions become numbers (protocol: metrics)."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

__all__ = [
    "METRICS",
    "Metric",
    "accuracy",
    "brier_score",
    "calibration_error",
    "f1_scores",
    "invalid_mass",
    "log_loss",
    "macro_f1",
    "most_probable",
    "probabilistic_accuracy",
    "reliability",
]

Labels = npt.NDArray[np.integer]
Probabilities = npt.NDArray[np.floating]

_LEAST = 1e-15


def accuracy(predicted: Labels, labels: Labels) -> float:
    """Share of right labels; `UNDECIDED` and `AMBIGUOUS` predictions are wrong."""
    return float(np.mean(predicted == labels))


def brier_score(probabilities: Probabilities, labels: Labels) -> float:
    """Mean over examples of ``sum_k (p_k - y_k)^2``, in 0..2.

    Args:
        probabilities: [n, labels]; a row may sum to less than 1 (no label, or several, were derived).
        labels: [n].
    """
    truth = np.eye(probabilities.shape[1])[labels]
    return float(np.mean(np.sum((probabilities - truth) ** 2, axis=1)))


def probabilistic_accuracy(probabilities: Probabilities, labels: Labels) -> float:
    """Mean probability given to the true label."""
    return float(np.mean(probabilities[np.arange(len(labels)), labels]))


def calibration_error(probabilities: Probabilities, labels: Labels, bins: int = 15) -> float:
    """Expected calibration error over equal-width bins of the greatest probability.

    Guo, Pleiss, Sun, Weinberger: "On Calibration of Modern Neural Networks", ICML 2017, equation 3.
    """
    count, confidence, right = reliability(probabilities, labels, bins)
    return float(np.abs(right - confidence).sum() / count.sum())


def reliability(
    probabilities: Probabilities, labels: Labels, bins: int = 15
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """What a reliability diagram shows: by equal-width bins of the greatest probability.

    Args:
        probabilities: [n, labels].
        labels: [n].
        bins: how many.

    Returns:
        For each bin: the number of examples, the sum of their greatest probabilities, and how many of them
        have their most probable label right.
    """
    confidence = probabilities.max(axis=1).astype(np.float64)
    right = most_probable(probabilities) == labels
    bin_of = np.clip(np.ceil(confidence * bins).astype(int) - 1, 0, bins - 1)
    return (
        np.bincount(bin_of, minlength=bins).astype(np.int64),
        np.bincount(bin_of, confidence, minlength=bins).astype(np.float64),
        np.bincount(bin_of, right, minlength=bins).astype(np.float64),
    )


def most_probable(probabilities: Probabilities) -> npt.NDArray[np.int16]:
    """int16 [n]: the label of greatest probability, the first on ties, -1 where all are zero."""
    best: npt.NDArray[np.int16] = probabilities.argmax(axis=1).astype(np.int16)
    best[probabilities.max(axis=1) <= 0] = -1
    return best


def log_loss(probabilities: Probabilities, labels: Labels) -> float:
    """Mean of ``-log p`` of the true label, p no less than 1e-15."""
    given = probabilities[np.arange(len(labels)), labels].astype(np.float64)
    return float(-np.mean(np.log(np.clip(given, _LEAST, 1.0))))


def invalid_mass(probabilities: Probabilities) -> float:
    """Mean probability that is given to no label: of worlds with no label or several."""
    return float(np.mean(np.clip(1.0 - probabilities.sum(axis=1), 0.0, 1.0)))


def f1_scores(predicted: Labels, labels: Labels, n_labels: int) -> npt.NDArray[np.float64]:
    """float64 [n_labels]: the harmonic mean of precision and recall of each label.

    Args:
        predicted: [n]; what is no label (`UNDECIDED`, `AMBIGUOUS`) is a miss of the true one and no false
            alarm of any.
        labels: [n].
        n_labels: how many labels there are.

    Returns:
        NaN for a label that is neither there nor predicted.
    """
    hits = np.bincount(labels[predicted == labels], minlength=n_labels)
    said = np.bincount(predicted[predicted >= 0], minlength=n_labels)
    there = np.bincount(labels, minlength=n_labels)
    with np.errstate(invalid="ignore"):
        scores: npt.NDArray[np.float64] = 2 * hits / (said + there)
    return scores


def macro_f1(predicted: Labels, labels: Labels, n_labels: int) -> float:
    """The mean of `f1_scores` over the labels that are there or predicted; each counts alike."""
    return float(np.nanmean(f1_scores(predicted, labels, n_labels)))


@dataclass(frozen=True)
class Metric:
    """What a column of a table is: its title, whether more is better, and its digits."""

    title: str
    higher_is_better: bool | None
    digits: int


METRICS = MappingProxyType(
    {
        "hypothesis_accuracy": Metric("hypothesis accuracy", True, 3),
        "framework_accuracy": Metric("framework accuracy", True, 3),
        "brier_score": Metric("Brier score", False, 3),
        "probabilistic_accuracy": Metric("probabilistic accuracy", True, 3),
        "calibration_error": Metric("calibration error", False, 3),
        "log_loss": Metric("log loss", False, 3),
        "invalid_mass": Metric("invalid mass", False, 3),
        "framework_accuracy_probabilistic": Metric("accuracy of the most probable label", True, 3),
        "macro_f1": Metric("macro F1", True, 3),
        "aurc": Metric("area under the risk-coverage curve", False, 3),
        "shift_auroc": Metric("AUROC, learner's uncertainty finds shifted examples", True, 3),
        "shift_fpr95": Metric("FPR at 95 % of shifted examples found, learner", False, 3),
        "network_shift_auroc": Metric("AUROC, network's uncertainty finds shifted examples", True, 3),
        "network_shift_fpr95": Metric("FPR at 95 % of shifted examples found, network", False, 3),
        "learner_concept_accuracy": Metric("accuracy of the learner's concepts", True, 3),
        "learner_concept_calibration_error": Metric("calibration error of the learner's concepts", False, 3),
        "concept_collapse": Metric("concept collapse", False, 3),
        "atoms": Metric("atoms", False, 1),
        "rules": Metric("rules", False, 1),
        "agreement": Metric("agreement of rules and answers", True, 3),
        "fidelity": Metric("surrogate fidelity", True, 3),
        "learning_time": Metric("learning time (s)", False, 2),
        "learning_cpu_time": Metric("learning, CPU time (s)", False, 2),
        "prediction_time": Metric("prediction time (s)", False, 2),
        "prediction_cpu_time": Metric("prediction, CPU time (s)", False, 2),
        "peak_memory": Metric("peak memory (MiB)", False, 0),
        "weight_penalty_ratio": Metric("weight penalty ratio", True, 3),
        "incorrect_examples": Metric("incorrect examples", False, 3),
        "concept_accuracy_train": Metric("concept accuracy, train images", True, 3),
        "concept_accuracy_test": Metric("concept accuracy, test images", True, 3),
        "equivalent": Metric("equivalent to the true rule", True, 2),
        "undecided": Metric("undecided", False, 3),
        "ambiguous": Metric("ambiguous", False, 3),
        "error_concepts": Metric("errors that true concepts repair", False, 3),
        "error_rule": Metric("errors that the true rule repairs", False, 3),
        "error_either": Metric("errors that either repairs", False, 3),
        "error_both": Metric("errors that only both repair", False, 3),
        "error_inference": Metric("errors that the most probable label repairs", False, 3),
    }
)
"""The metrics of a run by name, in the order in which tables show them."""
