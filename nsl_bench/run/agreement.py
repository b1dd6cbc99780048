"""Whether the rules that a learner hands in are what it answers with.

A learner could answer with one thing and hand in another, such as the rule that everybody knows. So what ASP
rules derive is compared with what the learner answers, on the test examples' true concepts and on those that
the network sees. Where they agree on at least `BOUND` of the examples of each evaluation, the rules are the
learner's: hypothesis accuracy and label probabilities are theirs, and their atoms and equivalence count.
Elsewhere its own answers count, and its rules are a surrogate, as a forest's first tree is.
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
    """How far rules and answers agree.

    Attributes:
        labels: int16 [n] by evaluation: what the rules derive.
        share: the least share of examples of an evaluation on which the answers are the same; None where
            there is nothing to compare with.
    """

    labels: Mapping[str, npt.NDArray[np.int16]]
    share: float | None

    @property
    def holds(self) -> bool:
        """Whether the rules count as the learner's."""
        return self.share is not None and self.share >= BOUND


def agreement(
    benchmark: Benchmark,
    hypothesis: Hypothesis,
    split: Split,
    predictions: Predictions | None,
    answers: Mapping[str, Answered],
    allowance: Allowance | None = None,
) -> Agreement:
    """Compare what ASP rules derive with what a learner answers.

    Args:
        benchmark: the task.
        hypothesis: its rules are ASP.
        split: the test examples.
        predictions: what the network sees in them, if there is one.
        answers: labels int16 [n] and probabilities of the learner by evaluation, ``"hypothesis"`` and
            ``"framework"``.
        allowance: what answering with the rules may use. Rules that cannot be asked agree with nothing.
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
    """int16 [n]: the label that rules derive from concepts [n, slots] and a split's meta-data.

    Repeats share the test set, and often the rules, so answers are kept.

    Raises:
        UserError: the rules cannot be asked.
        Ended: they used up what they may use.
    """
    metadata = tuple((name, column.tobytes()) for name, column in sorted(split.metadata.items()))
    asked = (benchmark.name, benchmark.version, rules, concepts.tobytes(), concepts.shape, metadata)
    if asked not in _known:
        while len(_known) >= _KEPT:
            _known.pop(next(iter(_known)))
        contexts = benchmark.contexts(concepts, split.metadata)
        _known[asked] = crisp(rules, benchmark.background, contexts, benchmark.labels, allowance=allowance)
    return _known[asked]
