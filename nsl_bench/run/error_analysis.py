"""Label probabilities in framework evaluation, and the cause of each error.

A rule learner predicts the label that its rules derive from the most likely concepts. Its label probabilities
come from probabilistic inference over the network's whole output. The cause of an error is what would have
corrected it: the true concepts, the true rule, either of them, or only both together. A task without a true
rule has no causes.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nsl_bench.core.benchmark import Benchmark
from nsl_bench.core.errors import UserError
from nsl_bench.core.metrics import predictions as measure
from nsl_bench.core.types import BLANK, Bools, Floats, Hypothesis, Ints8, Ints16, Predictions, Split
from nsl_bench.learners.queries import answer_of
from nsl_bench.logic.guarded.child import Allowance
from nsl_bench.perception.trained_networks import histogram
from nsl_bench.run.agreement import Answered, labels_by_rules

CAUSES = ("concepts", "rule", "either", "both")
"""What repairs an error: true concepts alone, the true rule alone, either, or only both together."""


@dataclass(frozen=True)
class ErrorAnalysis:
    """Errors of a learner and their causes.

    Attributes:
        numbers: share of errors by cause.
        probabilities: float64 [n, labels], of framework evaluation if there was one; None for a learner that
            gives labels only.
        causes: cause of each example's error, one of `CAUSES`, or ``""`` for a correct prediction; None
            without framework evaluation or a true rule.
        inference: summary of probabilistic inference: the engine, the numbers of exact, bounded and sampled
            examples, the widest interval and the largest standard error; or the reason why the rules were
            evaluated on the most likely concepts only. Empty if the learner's own probabilities were used.
    """

    numbers: dict[str, float]
    probabilities: Floats | None
    causes: list[str] | None = None
    inference: dict[str, Any] = field(default_factory=dict)


def analyse_errors(
    benchmark: Benchmark,
    split: Split,
    predictions: Predictions | None,
    hypothesis: Hypothesis | None,
    answers: Mapping[str, Answered],
    engine: str = "auto",
    allowance: Allowance | None = None,
) -> ErrorAnalysis:
    """Compute label probabilities and the causes of errors.

    Args:
        answers: the learner's predictions from true concepts (``"hypothesis"``) and from the network's
            concepts or images (``"framework"``); one may be missing.
    """
    labels = split.labels.astype(np.int64)
    if "framework" not in answers:
        return ErrorAnalysis({}, answers["hypothesis"][1])
    framework, own = answers["framework"]
    inference = _infer(benchmark, hypothesis, split, predictions, own, engine, allowance)
    if "hypothesis" not in answers or predictions is None:
        return ErrorAnalysis({}, inference.probabilities, None, inference.used)
    right = framework == labels
    if inference.probabilities is not None:
        right = measure.most_probable(inference.probabilities) == labels
    crisp = {"error_inference": float(np.mean((framework != labels) & right))}
    if not benchmark.true_rule:
        return ErrorAnalysis(crisp, inference.probabilities, None, inference.used)
    cause = _causes(benchmark, split, predictions, framework, answers["hypothesis"][0])
    result = {**{f"error_{name}": float(np.mean(cause == k)) for k, name in enumerate(CAUSES)}, **crisp}
    words = [*CAUSES, ""]
    return ErrorAnalysis(result, inference.probabilities, [words[c] for c in cause.tolist()], inference.used)


@dataclass(frozen=True)
class _Inference:
    probabilities: Floats | None
    used: dict[str, Any] = field(default_factory=dict)


def _infer(
    benchmark: Benchmark,
    hypothesis: Hypothesis | None,
    split: Split,
    predictions: Predictions | None,
    own: Floats | None,
    engine: str,
    allowance: Allowance | None,
) -> _Inference:
    """The label probabilities of a learner, by probabilistic inference if it is a crisp rule learner.

    Args:
        own: float64 [n, labels], what the learner itself gives; it stays where the learner has no ASP
            rules, or where its probabilities are not all 0 or 1. None: it gives labels alone.
    """
    crisp = own is not None and bool(np.isin(own, (0.0, 1.0)).all())
    if hypothesis is None or hypothesis.language != "asp" or predictions is None or not crisp:
        return _Inference(own)
    try:
        inputs = split.metadata, split.steps, predictions.probabilities
        answer = answer_of(benchmark, hypothesis.rules, *inputs, engine, allowance)
    except UserError as error:
        # Rules that inference cannot read or ground (several answer sets, say) have their crisp answers.
        return _Inference(own, {"engine": "crisp", "reason": str(error)})
    return _Inference(
        answer.probabilities,
        {
            "engine": engine,
            **Counter(answer.engines),
            "widest_interval": float(answer.width.max(initial=0.0)),
            "largest_std_err": float(answer.std_err.max(initial=0.0)),
        },
    )


def _causes(
    benchmark: Benchmark,
    split: Split,
    predictions: Predictions,
    framework: Ints16,
    with_true_concepts: Ints16,
) -> Ints8:
    """int8 [n]: what repairs the error of each example, an index into `CAUSES`; -1 where there is none.

    Args:
        with_true_concepts: the labels that the same learner predicts from the true concepts.
    """
    labels = split.labels
    rule = np.zeros(len(labels), np.bool_)
    if benchmark.true_rule:
        rule = labels_by_rules(benchmark, (benchmark.true_rule,), split, predictions.concepts) == labels
    concepts = with_true_concepts == labels
    result = np.where(concepts & rule, 2, np.where(concepts, 0, np.where(rule, 1, 3)))
    result[framework == labels] = -1
    return result.astype(np.int8)


def perceived(benchmark: Benchmark, split: Split, predictions: Predictions) -> dict[str, Any]:
    """Counts of a network's predicted concepts in a split, and a histogram of its confidence.

    Returns:
        ``concepts``: count of each concept; ``confidence``: counts in `BINS`; where no
        slot is blank, under the names of `Benchmark.recognised`, how many are right, and of how many.
    """
    filled = split.concepts != BLANK
    counts = np.bincount(predictions.concepts[filled], minlength=len(split.concept_space))
    recognised: Mapping[str, Bools] = {}
    if filled.all():
        recognised = benchmark.recognised(split.concepts, predictions.concepts, split.labels)
    return {
        "concepts": dict(zip(split.concept_space.concepts, counts.tolist(), strict=True)),
        "confidence": histogram(predictions.confidence[filled]).tolist(),
        **{name: [int(right.sum()), right.size] for name, right in recognised.items()},
    }
