"""Numbers of predictions and of their uncertainty, as functions of arrays (protocol: metrics).

An uncertainty is any number per example that is greater where the learner or network is less sure, such as
one minus the largest probability, or the entropy. Only its order matters. Ties are averaged over all orders.
"""

from typing import TypeVar

import numpy as np
import numpy.typing as npt

from nsl_bench.core.types import Floats, Ints, Ints16

Labels = npt.NDArray[np.integer]
Probabilities = npt.NDArray[np.floating]
Float = TypeVar("Float", bound=np.floating)

_LEAST = 1e-15
_FOUND = 0.95

_MOST = 1 + 1e-3
_ROUNDING = 1e-6
"""How far below 0 a probability may be by the rounding of 32-bit numbers, such as 1 - p."""


def checked_probabilities(given: npt.NDArray[Float]) -> npt.NDArray[Float]:
    """Given values, checked to be probabilities in 0..1.

    A row may sum to less than 1: there are outcomes that it does not count. It may be beyond 0 and 1 by as
    much as rounding explains.

    Args:
        given: [n, ..., outcomes].
    """
    rest = tuple(range(1, given.ndim))
    with np.errstate(invalid="ignore"):  # infinity - infinity
        beyond = (given < -_ROUNDING).any(axis=rest) | (given.sum(axis=-1) > _MOST).any(axis=rest[:-1])
    for what, bad in (
        ("NaN or infinity", ~np.isfinite(given).all(axis=rest)),
        ("invalid probabilities", beyond),
    ):
        if bad.any():
            first = int(bad.argmax())
            row = f": {given[first].tolist()}" if given.ndim == 2 else ""
            raise ValueError(
                f"{what} for {bad.sum()} of {len(given)} examples, first for example {first}{row}"
            )
    return given.clip(0, 1)


def accuracy(predicted: Labels, labels: Labels) -> float:
    """Share of correct labels; `UNDECIDED` and `AMBIGUOUS` predictions count as wrong."""
    return float(np.mean(predicted == labels))


def brier_score(probabilities: Probabilities, labels: Labels) -> float:
    """Mean over examples of ``sum_k (p_k - y_k)^2``, in 0..2.

    Args:
        probabilities: [n, labels]; a row may sum to less than 1 (no label, or several, were derived).
        labels: [n].
    """
    return float(np.mean(brier_scores(probabilities, labels)))


def brier_scores(probabilities: Probabilities, labels: Labels) -> Floats:
    """float64 [n]: each example's ``sum_k (p_k - y_k)^2``."""
    truth = np.eye(probabilities.shape[1])[labels]
    scores: Floats = np.sum((probabilities - truth) ** 2, axis=1)
    return scores


def probabilistic_accuracy(probabilities: Probabilities, labels: Labels) -> float:
    """Mean probability given to the true label."""
    return float(np.mean(probabilities[np.arange(len(labels)), labels]))


def calibration_error(probabilities: Probabilities, labels: Labels, bins: int = 15) -> float:
    """Expected calibration error over equal-width bins of the largest probability.

    Guo, Pleiss, Sun, Weinberger: "On Calibration of Modern Neural Networks", ICML 2017, equation 3.
    """
    count, confidence, right = reliability(probabilities, labels, bins)
    return float(np.abs(right - confidence).sum() / count.sum())


def reliability(probabilities: Probabilities, labels: Labels, bins: int = 15) -> tuple[Ints, Floats, Floats]:
    """Data of a reliability diagram, by equal-width bins of the largest probability.

    Args:
        probabilities: [n, labels].
        labels: [n].

    Returns:
        For each bin: the number of examples, the sum of their largest probabilities, and the number of
        examples whose most probable label is correct.
    """
    confidence = probabilities.max(axis=1).astype(np.float64)
    right = most_probable(probabilities) == labels
    bin_of = np.clip(np.ceil(confidence * bins).astype(int) - 1, 0, bins - 1)
    return (
        np.bincount(bin_of, minlength=bins).astype(np.int64),
        np.bincount(bin_of, confidence, minlength=bins).astype(np.float64),
        np.bincount(bin_of, right, minlength=bins).astype(np.float64),
    )


def most_probable(probabilities: Probabilities) -> Ints16:
    """int16 [n]: the most probable label, the first on ties, -1 where all are zero."""
    best: Ints16 = probabilities.argmax(axis=1).astype(np.int16)
    best[probabilities.max(axis=1) <= 0] = -1
    return best


def log_loss(probabilities: Probabilities, labels: Labels) -> float:
    """Mean of ``-log p`` of the true label, with p at least 1e-15."""
    given = probabilities[np.arange(len(labels)), labels].astype(np.float64)
    return float(-np.mean(np.log(np.clip(given, _LEAST, 1.0))))


def invalid_mass(probabilities: Probabilities) -> float:
    """Mean probability of worlds with no label or several."""
    return float(np.mean(np.clip(1.0 - probabilities.sum(axis=1), 0.0, 1.0)))


def f1_scores(predicted: Labels, labels: Labels, n_labels: int) -> Floats:
    """float64 [n_labels]: the harmonic mean of precision and recall of each label.

    Args:
        predicted: [n]; what is no label (`UNDECIDED`, `AMBIGUOUS`) is a miss of the true one and no false
            alarm of any.
        labels: [n].

    Returns:
        NaN for a label that is neither there nor predicted.
    """
    hits = np.bincount(labels[predicted == labels], minlength=n_labels)
    n_predicted = np.bincount(predicted[predicted >= 0], minlength=n_labels)
    there = np.bincount(labels, minlength=n_labels)
    with np.errstate(invalid="ignore"):
        scores: Floats = 2 * hits / (n_predicted + there)
    return scores


def macro_f1(predicted: Labels, labels: Labels, n_labels: int) -> float:
    """Mean of `f1_scores` over the labels that occur or are predicted, each weighted equally."""
    return float(np.nanmean(f1_scores(predicted, labels, n_labels)))


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


def label_auroc(probabilities: Probabilities, labels: npt.ArrayLike) -> float:
    """Area under the ROC curve of telling each label by its probability, a mean over labels; NaN for one."""
    found = [
        detection_auroc(column, np.equal(labels, k)) for k, column in enumerate(np.transpose(probabilities))
    ]
    known = [area for area in found if area == area]
    return float(np.mean(known)) if known else float("nan")


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
    true_positives = np.cumsum(hits[::-1])
    # In whole examples: 0.95 times their number is no exact float.
    enough = int(np.argmax(true_positives * 100 >= hits.sum() * round(100 * _FOUND)))
    return float(np.cumsum(others[::-1])[enough] / others.sum())
