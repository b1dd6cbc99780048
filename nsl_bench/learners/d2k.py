"""D2K: from a network's predictions to the weighted examples that a rule learner learns from.

FFNSL paper (Cunnington et al. 2023), section 3: an example's context is the facts of all predictions and
the meta-data; its penalty grows with the confidence of the least certain prediction.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from nsl_bench.core.sequences import first_rows, with_earlier
from nsl_bench.core.types import Floats, Ints, WeightedExample
from nsl_bench.learners.view import View

if TYPE_CHECKING:
    from nsl_bench.logic.las import LasTask

TNorm = Literal["goedel", "product", "lukasiewicz"]
"""How the confidences of an example's predictions become one: the least, the product, or
``max(0, sum - (m - 1))``."""

Penalty = Literal["network", "floor", "constant"]
"""Penalties from the network's confidence, the same less 1, or the same for all (the paper's control)."""


ExamplesOf = Literal["sequences", "steps"]
"""Where rows are steps: an example for each whole sequence, or one for each step with all earlier ones."""


def confidence(each: Floats, t_norm: TNorm = "goedel") -> Floats:
    """float64 [n]: how far all predictions of an example are to be trusted, from each one's [n, images]."""
    if t_norm == "product":
        combined = each.prod(axis=1)
    elif t_norm == "lukasiewicz":
        combined = np.maximum(0.0, 1.0 - (1.0 - each).sum(axis=1))
    else:
        combined = each.min(axis=1, initial=1.0)
    return np.asarray(combined, np.float64)


def penalties(view: View, t_norm: TNorm = "goedel") -> Ints:
    """int64 [n]: ``floor(100 W) + 1`` with W the confidence of a row's images, and of its earlier steps'.

    It is 0 where one of them was predicted as background.
    """
    space = view.concept_space
    each = view.predictions.confidence.astype(np.float64)
    is_detected = np.ones((len(view), 1), np.bool_)
    if space.background is not None:
        is_detected = ~(view.concept_ids == space.ids[space.background]).any(axis=1, keepdims=True)
    if view.sequential:
        each, is_detected = with_earlier(view.steps, each, 1.0), with_earlier(view.steps, is_detected, True)
    weights = np.floor(100 * confidence(each, t_norm)).astype(np.int64) + 1
    return np.where(is_detected.all(axis=1), weights, 0)


def weighted_examples(
    view: View,
    penalty: Penalty = "network",
    constant: int = 10,
    t_norm: TNorm = "goedel",
    examples: ExamplesOf = "sequences",
) -> list[WeightedExample]:
    """The weighted examples of a train split; one with an image predicted as background makes none.

    Args:
        penalty: ``"network"``: that of `penalties`; ``"floor"``: one less; ``"constant"``: `constant`.
        t_norm: how W comes from the confidences of the single images.
        examples: ``"sequences"``: a sequence is one example, with the facts, labels and images of all steps;
            ``"steps"``: each step is one, with the facts and images of its own and earlier steps. Without
            sequences there is no difference.
    """
    weights = penalties(view, t_norm)
    if penalty == "floor":
        weights = np.maximum(weights - 1, 0)
    elif penalty == "constant":
        weights = np.where(weights > 0, constant, 0)
    if view.sequential and examples == "sequences":
        return _of_sequences(view, weights[np.append(view.steps[1:], 1) == 1])
    labels, contexts, label_space = view.labels, view.contexts, view.label_space
    return [
        WeightedExample(
            id=f"{view.part}-{i}",
            penalty=int(weights[i]),
            inclusions=label_space.inclusions(int(labels[i])),
            exclusions=label_space.exclusions(int(labels[i])),
            context=contexts[i],
        )
        for i in np.flatnonzero(weights).tolist()
    ]


def _of_sequences(view: View, weights: Ints) -> list[WeightedExample]:
    """One example for each sequence, with weights [sequences]; those of weight 0 make none."""
    space, labels, steps = view.label_space, view.labels.tolist(), view.steps.tolist()
    starts = [*first_rows(view.steps).tolist(), len(view)]
    result = []
    for k, context in enumerate(view.sequence_contexts):
        if not weights[k]:
            continue
        rows = range(starts[k], starts[k + 1])
        required, forbidden = (
            tuple(view.step_atom(atom, steps[i]) for i in rows for atom in atoms_of(labels[i]))
            for atoms_of in (space.inclusions, space.exclusions)
        )
        result.append(WeightedExample(f"{view.part}-{k}", int(weights[k]), required, forbidden, context))
    return result


def learning_task(
    view: View,
    penalty: Penalty = "network",
    constant: int = 10,
    t_norm: TNorm = "goedel",
    examples: ExamplesOf = "sequences",
) -> LasTask:
    """The learning task of a train split: its weighted examples, background knowledge and language bias."""
    from nsl_bench.logic.las import LasTask

    weighted = weighted_examples(view, penalty, constant, t_norm, examples)
    return LasTask.build(weighted, view.background, view.bias, view.benchmark_name)
