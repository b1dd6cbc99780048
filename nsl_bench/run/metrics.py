"""How predictions become numbers (protocol: metrics)."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

__all__ = ["METRICS", "Metric", "accuracy", "brier_score", "calibration_error", "probabilistic_accuracy"]

Labels = npt.NDArray[np.integer]
Probabilities = npt.NDArray[np.floating]


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
    confidence = probabilities.max(axis=1)
    right = probabilities.argmax(axis=1) == labels
    bin_of = np.clip(np.ceil(confidence * bins).astype(int) - 1, 0, bins - 1)
    count = np.bincount(bin_of, minlength=bins)
    gap = np.bincount(bin_of, right - confidence.astype(np.float64), minlength=bins)
    return float(np.abs(gap)[count > 0].sum() / len(labels))


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
        "atoms": Metric("atoms", False, 1),
        "rules": Metric("rules", False, 1),
        "fidelity": Metric("surrogate fidelity", True, 3),
        "learning_time": Metric("learning time (s)", False, 2),
        "weight_penalty_ratio": Metric("weight penalty ratio", True, 3),
        "incorrect_examples": Metric("incorrect examples", False, 3),
        "concept_accuracy_train": Metric("concept accuracy, train images", True, 3),
        "concept_accuracy_test": Metric("concept accuracy, test images", True, 3),
        "equivalent": Metric("equivalent to the true rule", True, 2),
        "undecided": Metric("undecided", False, 3),
        "ambiguous": Metric("ambiguous", False, 3),
    }
)
"""The metrics of a run by name, in the order in which tables show them."""
