"""Equivalence margins for comparing measured figures with published ones, and their reasons.

Margins are derived from what the paper reports and how it counts, never from our results.
"""

from __future__ import annotations

from dataclasses import dataclass

from nsl_bench.core.registry import Spec

__all__ = ["MARGINS", "Margin", "margin_of"]


@dataclass(frozen=True)
class Margin:
    """An equivalence margin.

    Attributes:
        about: description of the figures that it applies to.
        metrics: names of their metrics.
        least: the margin, in the metric's unit.
        share: alternative margin as a share of the published value, used if it is greater.
        why: the reason, from the paper.
    """

    about: str
    metrics: frozenset[str]
    least: float
    share: float
    why: str


_ACCURACY = Margin(
    "accuracies",
    frozenset({"hypothesis_accuracy", "framework_accuracy", "framework_accuracy_problog"}),
    0.02,
    0.0,
    "The paper's claims are about differences of several hundredths between learners, which its figures plot "
    "on an axis from 0 to 1; 0.02 changes none of them, and is 20 of its 1,001 test examples.",
)
_BRIER = Margin(
    "Brier scores",
    frozenset({"brier_score"}),
    0.04,
    0.0,
    "The paper's score is summed over labels and lies between 0 and 2; of crisp answers it is twice the "
    "error rate, so that 0.04 is what 0.02 of accuracy is.",
)
_SHARES = Margin(
    "weight penalty ratio and incorrect examples",
    frozenset({"weight_penalty_ratio", "incorrect_examples"}),
    0.02,
    0.0,
    "Shares of train examples, like accuracies; 0.02 is two or six of the paper's 104 and 320.",
)
_RULES = Margin(
    "atoms and rules of FFNSL",
    frozenset({"atoms", "rules"}),
    1.0,
    0.0,
    "The paper counts whole literals and rules and prints the hypotheses: one more or less is the least by "
    "which two of them can differ.",
)
_TREES = Margin(
    "atoms and rules of trees",
    frozenset({"atoms", "rules"}),
    1.0,
    0.1,
    "The paper plots them on a logarithmic axis over three decades and reads factors from it; a tenth of "
    "the value is about the height of its markers. At least one atom or rule.",
)
MARGINS = (_ACCURACY, _BRIER, _SHARES, _RULES, _TREES)
"""All of them; of times there is none, they are not comparable."""


def margin_of(metric: str, learner: str, published: float) -> float:
    """The margin of a published figure.

    Args:
        metric: name of the metric.
        learner: the learner's spec; FFNSL learns rules, all others have trees.
        published: the published figure.

    Raises:
        KeyError: figures of this metric are not comparable.
    """
    ours = Spec.parse(learner).name == "ffnsl"
    for margin in MARGINS:
        if metric in margin.metrics and (margin is not _RULES or ours):
            return max(margin.least, margin.share * abs(published))
    raise KeyError(metric)
