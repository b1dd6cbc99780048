"""Tested reasons for differences between reproduced and published figures.

A reason is a condition under which the published figure was obtained and ours was not. It is tested by
repeating the runs under that condition. The reason holds if the figure changes significantly (paired t test
over the same train splits) and then no longer differs from the published one. Otherwise the difference has no
reason.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np

from nsl_bench.core import registry
from nsl_bench.core.benchmark import Benchmark
from nsl_bench.core.metrics.predictions import accuracy
from nsl_bench.core.registry import Spec
from nsl_bench.core.seeding import generator
from nsl_bench.core.types import BLANK, Predictions, Split
from nsl_bench.data.splits import symbolic_split
from nsl_bench.learners.base import hypothesis_of, labels_of
from nsl_bench.learners.view import View
from nsl_bench.run.job import Job
from nsl_bench.run.record import Record
from nsl_bench.run.statistics import paired_p_values

from .equivalence import LEVEL, Comparison, Mean, compare_means
from .papers import ffnsl2023, margin_of

PUBLISHED_CODE = "cnn_lstm:published=true"
"""The CNN-LSTM as the paper's code has it; as ``cnn_lstm`` it is what the paper's text describes."""

_CLEAN = 0.02
"""Up to so large a share of spoilt train examples true concepts stand for predicted ones."""


@dataclass(frozen=True)
class Tested:
    """A reason and its tests.

    Attributes:
        condition: description, which follows "with".
        measured: the figure under the condition.
        compared: its comparison with the published figure.
        p_moved: p value of the paired t test of the figure with and without the condition.
    """

    condition: str
    measured: Mean
    compared: Comparison
    p_moved: float

    @property
    def holds(self) -> bool:
        """Whether the condition changes the figure so that it no longer differs from the published one."""
        return self.p_moved < LEVEL and not self.compared.different

    def __str__(self) -> str:
        value, error, differs = self.measured.value, self.measured.std_err, self.compared.p_different
        return (
            f"tested: with {self.condition} it is {value:.4g} ± {error:.2g} (moved, p = {self.p_moved:.2g}; "
            f"against the published figure p = {differs:.2g})"
        )


def check_reason(
    condition: str, plain: Mapping[int, float], under: Mapping[int, float], published: Mean, margin: float
) -> Tested | None:
    """Test a reason.

    Args:
        condition: description, which follows "with".
        plain: the figure by train split, without the condition.
        under: the figure by train split, under the condition.

    Returns:
        The tests; None if both have fewer than two train splits in common.
    """
    both = sorted(plain.keys() & under.keys())
    if len(both) < 2:
        return None
    first, second = (np.array([values[repeat] for repeat in both]) for values in (plain, under))
    measured = Mean.of(second.tolist())
    p_moved = float(paired_p_values((first - second)[None])[0])
    return Tested(condition, measured, compare_means(measured, published, margin), p_moved)


def misread(split: Split, task: Benchmark, share: float, rng: np.random.Generator) -> Split:
    """Train examples as read by a network with random errors: one concept of some examples is replaced.

    Args:
        split: examples of a task in which an example is wrong if and only if one of its knowledge features
            is (Sudoku).
        share: of examples whose label does not follow from what is read; as many are misread as it takes.
        rng: decides which examples, and what is read.
    """
    concepts, order = split.concepts.copy(), rng.permutation(len(split))
    k = len(task.concept_space)
    for example in order.tolist():
        slot = rng.choice(np.flatnonzero(concepts[example] != BLANK))
        concepts[example, slot] = (concepts[example, slot] + rng.integers(1, k)) % k
    invalid = split.labels == task.labels.names.index("invalid")
    spoilt = task.knowledge_features(concepts, split.metadata).any(axis=1) != invalid
    enough = np.flatnonzero(np.cumsum(spoilt[order]) >= round(share * len(split)))
    n = int(enough[0]) + 1 if len(enough) else len(split)
    concepts[order[n:]] = split.concepts[order[n:]]
    return replace(split, concepts=concepts)


def _seen(split: Split, task: Benchmark) -> View:
    certain = Predictions.certain(split.concepts, len(task.concept_space))
    return View(split, task, "pretrained", predictions=certain)


def tested_reasons(
    records: Sequence[Record],
    metric: str,
    plain: Mapping[int, float],
    by_code: Mapping[int, float],
    published: Mean,
) -> str:
    """The reasons of a difference that hold when they are tested; empty if none does.

    Args:
        plain: our values by repeat.
        by_code: those of the learner as the paper's code has it.
    """
    job = records[0].job
    margin = margin_of(metric, job.learner, published.value)
    reasons: list[Tested | None] = []
    if job.learner == "cnn_lstm" and by_code:
        condition = f"the network of the paper's code instead of the one in its text ({PUBLISHED_CODE})"
        reasons.append(check_reason(condition, plain, by_code, published, margin))
    spoilt = _spoilt(job.benchmark)
    if job.track == "symbolic" and Spec.parse(job.learner).name != "ffnsl" and spoilt > _CLEAN:
        condition = (
            f"digits misread at random until {spoilt:.0%} of the train examples are incorrect, the same "
        )
        condition += "share as with the paper's network, instead of true concepts"
        under = _under_misreading(tuple(record.job for record in records), spoilt)
        reasons.append(check_reason(condition, plain, under.get(metric, {}), published, margin))
    return "; ".join(str(one) for one in reasons if one is not None and one.holds)


def _spoilt(benchmark: str) -> float:
    """The paper's share of train examples whose label does not follow from what its network reads, at 0 %."""
    table = ffnsl2023(benchmark)
    rows = table[
        (table["metric"] == "incorrect_examples") & (table["percent"] == 0) & (table["network"] == "softmax")
    ]
    return float(rows["mean"].max()) if len(rows) else 0.0


@cache
def _under_misreading(jobs: tuple[Job, ...], share: float) -> dict[str, dict[int, float]]:
    """What learners learn from misread train examples: by metric and repeat.

    Args:
        jobs: runs of one learner on true concepts that differ in the repeat.
        share: of train examples that are spoilt, as for `misread`.

    Returns:
        ``hypothesis_accuracy`` on true concepts; ``atoms`` and ``rules`` where there are rules.
    """
    results: dict[str, dict[int, float]] = {}
    for job in jobs:
        task: Benchmark = registry.create("benchmark", job.benchmark)
        folder = None if job.splits is None else Path(job.splits)
        train, test = (
            symbolic_split(task, part, job.size, job.repeat, seed=job.seed, splits=folder)
            for part in ("train", "test")
        )
        read = misread(train, task, share, generator("misread", job.benchmark, job.size, job.repeat))
        learner = registry.create("learner", job.learner, seed=job.learner_seed())
        learner = learner.fit(_seen(read, task)) or learner
        right = accuracy(labels_of(learner, _seen(test, task)), test.labels)
        results.setdefault("hypothesis_accuracy", {})[job.repeat] = right
        rules = hypothesis_of(learner, task)
        if rules is not None:
            results.setdefault("atoms", {})[job.repeat] = float(rules.atoms)
            results.setdefault("rules", {})[job.repeat] = float(len(rules.rules))
    return results
