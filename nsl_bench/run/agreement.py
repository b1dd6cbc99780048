"""Check whether a learner's rules give the learner's predictions.

A learner could predict by other means and report rules that everybody knows. The labels that its ASP rules
derive are therefore compared with its predictions, on the test examples' true concepts and on the network's
concepts. If they agree on at least `BOUND` of the examples of each evaluation, hypothesis accuracy and label
probabilities are computed from the rules, and their atoms and equivalence count. Otherwise the learner's own
predictions count, and its rules are a surrogate, like a random forest's first tree.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from nsl_bench.benchmark import Benchmark
from nsl_bench.errors import UserError
from nsl_bench.guarded.call import Allowance, Ended
from nsl_bench.guarded.rules import crisp
from nsl_bench.types import Hypothesis, Predictions, Split

__all__ = ["BOUND", "Agreement", "agreement", "labels_by_rules"]

BOUND = 0.99
"""The least share of agreeing answers, in each evaluation, with which rules count as the learner's."""

_KEPT = 256
_known: dict[tuple[Any, ...], npt.NDArray[np.int16]] = {}

Concepts = npt.NDArray[np.int16]

Answered = tuple[npt.NDArray[np.int16], npt.NDArray[np.float64] | None]
"""Predicted labels [n], label probabilities [n, labels]; None of a learner that gives labels alone."""


@dataclass(frozen=True)
class Agreement:
    """Agreement between rules and predictions.

    Attributes:
        labels: by evaluation, the labels that the rules derive, int16 [n].
        share: share of examples on which they agree, in the evaluation where it is smallest; None if nothing
            can be compared.
    """

    labels: Mapping[str, npt.NDArray[np.int16]]
    share: float | None

    @property
    def holds(self) -> bool:
        """Whether the rules agree on enough examples to count."""
        return self.share is not None and self.share >= BOUND


def agreement(
    benchmark: Benchmark,
    hypothesis: Hypothesis,
    split: Split,
    predictions: Predictions | None,
    answers: Mapping[str, Answered],
    allowance: Allowance | None = None,
) -> Agreement:
    """Compare the labels that ASP rules derive with a learner's predictions.

    Args:
        benchmark: the task.
        hypothesis: the learned ASP rules.
        split: the test examples.
        predictions: the network's predictions for them, if there is a network.
        answers: the learner's labels, int16 [n], and probabilities by evaluation, ``"hypothesis"`` and
            ``"framework"``.
        allowance: resources for evaluating the rules. Rules that cannot be evaluated agree on no example.
    """
    concepts: dict[str, Concepts] = {"hypothesis": split.concepts}
    if predictions is not None:
        concepts["framework"] = predictions.concepts
    labels, shares = {}, []
    try:
        for name in answers.keys() & concepts.keys():
            labels[name] = labels_by_rules(benchmark, hypothesis.rules, split, concepts[name], allowance)
            shares.append(float(np.mean(labels[name] == answers[name][0])))
    except (UserError, Ended):
        return Agreement({}, None)
    return Agreement(labels, min(shares, default=None))


def labels_by_rules(
    benchmark: Benchmark,
    rules: tuple[str, ...],
    split: Split,
    concepts: Concepts,
    allowance: Allowance | None = None,
) -> npt.NDArray[np.int16]:
    """int16 [n]: the labels that rules derive from concepts [n, slots] and a split's meta-data.

    Results are cached, because train splits share the test set and often the rules.

    Raises:
        UserError: the rules cannot be evaluated.
        Ended: the evaluation exceeded its resources.
    """
    metadata = tuple((name, column.tobytes()) for name, column in sorted(split.metadata.items()))
    steps = split.steps.tobytes() if benchmark.sequential else b""
    asked = (benchmark.name, benchmark.version, rules, concepts.tobytes(), concepts.shape, metadata, steps)
    if asked not in _known:
        while len(_known) >= _KEPT:
            _known.pop(next(iter(_known)))
        contexts = benchmark.contexts(concepts, split.metadata, split.steps)
        _known[asked] = crisp(rules, benchmark.background, contexts, benchmark.labels, allowance=allowance)
    return _known[asked]
