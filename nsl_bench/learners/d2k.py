"""D2K: from a network's predictions to the weighted examples that a rule learner learns from.

FFNSL paper (Cunnington et al. 2023), section 3: an example's context is the facts of all predictions and
the meta-data; its penalty grows with the confidence of the least certain prediction.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from nsl_bench.learners.view import View
from nsl_bench.types import Predictions, WeightedExample

if TYPE_CHECKING:
    from nsl_bench.las import LasTask

__all__ = ["Penalty", "TNorm", "confidence", "learning_task", "weighted_examples"]

TNorm = Literal["goedel", "product", "lukasiewicz"]
"""How the confidences of an example's predictions become one: the least, the product, or
``max(0, sum - (m - 1))``."""

Penalty = Literal["network", "constant"]
"""Penalties from the network's confidence, or the same for all (the paper's control)."""


def confidence(predictions: Predictions, t_norm: TNorm = "goedel") -> npt.NDArray[np.float64]:
    """float64 [n]: how far all predictions of an example are to be trusted; blank slots do not count."""
    each = predictions.confidence.astype(np.float64)
    if t_norm == "product":
        combined = each.prod(axis=1)
    elif t_norm == "lukasiewicz":
        combined = np.maximum(0.0, 1.0 - (1.0 - each).sum(axis=1))
    else:
        combined = each.min(axis=1, initial=1.0)
    return np.asarray(combined, np.float64)


def weighted_examples(
    view: View, penalty: Penalty = "network", constant: int = 10, t_norm: TNorm = "goedel"
) -> list[WeightedExample]:
    """The weighted examples of a train split; one with an image predicted as background makes none.

    Args:
        view: examples with labels.
        penalty: ``"network"``: ``floor(100 W) + 1`` with W the confidence; ``"constant"``: `constant`.
        constant: the constant penalty.
        t_norm: how W comes from the confidences of the single images.

    Raises:
        TrackError: the view has no labels or no concepts.
    """
    space = view.concept_space
    ids = view.concept_ids
    kept = np.ones(len(view), np.bool_)
    if space.background is not None:
        kept = ~(ids == space.ids[space.background]).any(axis=1)
    weights = np.floor(100 * confidence(view.predictions, t_norm)).astype(np.int64) + 1
    if penalty == "constant":
        weights = np.full(len(view), constant)
    labels, contexts, label_space = view.labels, view.contexts, view.label_space
    return [
        WeightedExample(
            id=f"{view.part}-{i}",
            penalty=int(weights[i]),
            inclusions=label_space.inclusions(int(labels[i])),
            exclusions=label_space.exclusions(int(labels[i])),
            context=contexts[i],
        )
        for i in np.flatnonzero(kept).tolist()
    ]


def learning_task(
    view: View, penalty: Penalty = "network", constant: int = 10, t_norm: TNorm = "goedel"
) -> LasTask:
    """The learning task of a train split: its weighted examples, background knowledge and language bias.

    Raises:
        TrackError: the view has no labels or no concepts.
        UserError: a syntax error in the background knowledge or the language bias.
    """
    from nsl_bench.las import LasTask

    examples = weighted_examples(view, penalty, constant, t_norm)
    return LasTask.build(examples, view.background, view.bias, view.benchmark_name)
