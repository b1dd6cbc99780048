"""Metrics of uncertainty: selective prediction, and detection of shifted examples.

An uncertainty is any number per example that is greater where the learner or network is less sure, such as
one minus the largest probability, or the entropy. Only its order matters. Ties are averaged over all orders.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
_FOUND = 0.95


def least_confidence(probabilities: npt.ArrayLike) -> Floats:
    """float64 [n]: one minus the largest of an example's probabilities [n, k]."""
    result: Floats = 1.0 - np.asarray(probabilities, np.float64).max(axis=1)
    return result


def _blocks(uncertainty: npt.ArrayLike, marked: npt.ArrayLike) -> tuple[Floats, Floats]:
    """How many examples, and how many marked ones, have each uncertainty, the least first."""
    values, marks = np.asarray(uncertainty, np.float64), np.asarray(marked, np.bool_)
    if values.ndim != 1 or values.shape != marks.shape:
        raise ValueError(
            f"uncertainty has shape {values.shape} and marks have shape {marks.shape}; they must match"
        )
    if np.isnan(values).any():
        raise ValueError("uncertainty must not contain NaN")
    _, place = np.unique(values, return_inverse=True)
    return np.bincount(place).astype(np.float64), np.bincount(place, marks).astype(np.float64)


def aurc(uncertainty: npt.ArrayLike, correct: npt.ArrayLike) -> float:
    """The area under the risk-coverage curve: the mean error rate over all coverages; less is better.

    At coverage k/n the k surest examples are answered, and the risk is the share of wrong answers among them.
    Geifman, Uziel, El-Yaniv: "Bias-Reduced Uncertainty Estimation for Deep Neural Classifiers", ICLR 2019.

    Args:
        uncertainty: [n].
        correct: bool [n], which answers are right.

    Returns:
        In 0..1; NaN without examples.
    """
    count, right = _blocks(uncertainty, correct)
    n = int(count.sum())
    if not n:
        return float("nan")
    wrong = count - right
    before, wrong_before = np.cumsum(count) - count, np.cumsum(wrong) - wrong
    block = np.repeat(np.arange(len(count)), count.astype(int))
    covered = np.arange(1, n + 1)
    errors = wrong_before[block] + (covered - before[block]) * (wrong / count)[block]
    return float(np.mean(errors / covered))


def detection_auroc(uncertainty: npt.ArrayLike, shifted: npt.ArrayLike) -> float:
    """Area under the ROC curve of detecting shifted examples by their uncertainty.

    It is the probability that a shifted example is more uncertain than an unshifted one; ties count half.

    Args:
        uncertainty: [n].
        shifted: bool [n].

    Returns:
        In 0..1; NaN if all examples, or none, are shifted.
    """
    count, hits = _blocks(uncertainty, shifted)
    others = count - hits
    pairs = float(hits.sum() * others.sum())
    if not pairs:
        return float("nan")
    below = np.cumsum(others) - others
    return float((hits * (below + others / 2)).sum()) / pairs


def fpr_at_95(uncertainty: npt.ArrayLike, shifted: npt.ArrayLike) -> float:
    """False-positive rate at which 95 % of the shifted examples are detected; lower is better.

    The threshold is the largest that at least 95 % of the shifted examples reach. The rate is the share of
    unshifted examples that reach it.

    Args:
        uncertainty: [n].
        shifted: bool [n].

    Returns:
        In 0..1; NaN if all examples, or none, are shifted.
    """
    count, hits = _blocks(uncertainty, shifted)
    others = count - hits
    if not hits.sum() or not others.sum():
        return float("nan")
    found = np.cumsum(hits[::-1])
    # In whole examples: 0.95 times their number is no exact float.
    enough = int(np.argmax(found * 100 >= hits.sum() * round(100 * _FOUND)))
    return float(np.cumsum(others[::-1])[enough] / others.sum())
