"""Concept metrics of learners that predict concepts, and interventions with true concepts.

A learner with ``predict_concepts(test) -> [n, slots, concepts]`` predicts concepts in framework evaluation,
or gives None where it recognises none. An intervention replaces the network's predictions for k random slots
of every test example with the true concepts (Koh et al.: "Concept Bottleneck Models", ICML 2020).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from nsl_bench.core.metrics import predictions as measure
from nsl_bench.core.types import BLANK, AnyInts, Ints, Ints16, Predictions, Split
from nsl_bench.learners.base import InvalidOutput

Probabilities = npt.NDArray[np.float64]


def seen_concepts(given: Probabilities, split: Split) -> Ints16:
    """int16 [n, slots]: the concepts that a learner predicts, `BLANK` where no image is.

    Args:
        given: its concept probabilities, [n, slots, concepts].
    """
    return np.where(split.concepts == BLANK, BLANK, given.argmax(axis=2)).astype(np.int16)


def concept_metrics(given: Probabilities, split: Split) -> dict[str, float]:
    """Accuracy, calibration error and collapse of the concepts that a learner predicts.

    Args:
        given: its concept probabilities, [n, slots, concepts].
    """
    filled = split.concepts != BLANK
    error = measure.calibration_error(given[filled], split.concepts[filled].astype(np.int64))
    scores = concept_scores(seen_concepts(given, split), split.concepts)
    return {**scores, "learner_concept_calibration_error": error}


def concept_scores(predicted: AnyInts, concepts: AnyInts) -> dict[str, float]:
    """Accuracy and collapse of predicted concepts [n, slots], of images whose concepts are these."""
    filled = concepts != BLANK
    labels, truth = (which[filled].astype(np.int64) for which in (predicted, concepts))
    return {
        "learner_concept_accuracy": measure.accuracy(labels, truth),
        "concept_collapse": concept_collapse(labels, truth),
    }


def told_concepts(concepts: AnyInts) -> list[str]:
    """Each example's concepts [n, slots] in one text, e.g. ``"3 -1 1"``: indices, `BLANK` for no image."""
    return [" ".join(map(str, row)) for row in concepts.tolist()]


def read_concepts(texts: Sequence[str]) -> Ints:
    """int64 [n, slots]: the concepts in the texts of `told_concepts`."""
    return np.array([text.split() for text in texts]).astype(np.int64)


def concept_collapse(predicted: AnyInts, truth: AnyInts) -> float:
    """1 minus the number of predicted concepts over the number of true concepts; at least 0.

    Predicting one concept for several is a reasoning shortcut: labels can be correct in spite of it.
    Bortolotti et al.: "A Neuro-Symbolic Benchmark Suite for Concept Quality and Reasoning Shortcuts",
    NeurIPS 2024.
    """
    there = np.unique(truth)
    return float(max(0.0, 1.0 - len(np.intersect1d(predicted, there)) / len(there))) if len(there) else 0.0


def concept_probabilities(answer: Any, split: Split) -> Probabilities:
    """float64 [n, slots, concepts]: what a learner returned of a split's concepts."""
    shape = (*split.concepts.shape, len(split.concept_space))
    try:
        given = np.asarray(answer, np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidOutput(f"predict_concepts must return an array of numbers: {error}.") from error
    if given.shape != shape:
        raise InvalidOutput(f"predict_concepts must return an array of shape {shape}; got {given.shape}.")
    try:
        return measure.checked_probabilities(given)
    except ValueError as error:
        raise InvalidOutput(f"predict_concepts returned {error}.") from error


def intervened(split: Split, predictions: Predictions, k: int, rng: np.random.Generator) -> Predictions:
    """Replace a network's predictions for k random slots of each example with the true concepts.

    Args:
        k: number of slots that are not blank; all if an example has fewer.
        rng: chooses the slots; those of a smaller k are a subset of those of a larger k.
    """
    n, slots = split.concepts.shape
    order = rng.random((n, slots))
    order[split.concepts == BLANK] = np.inf
    chosen = (np.argsort(np.argsort(order, axis=1), axis=1) < k) & (split.concepts != BLANK)
    truth = Predictions.certain(split.concepts, len(split.concept_space)).probabilities
    return Predictions(
        np.where(chosen[:, :, None], truth, predictions.probabilities), predictions.blank & ~chosen
    )
