"""Metrics of a submission's predictions, and intervals of the means over shares.

A learner that gives labels without probabilities has no metrics of probabilities. A failed run has the
metrics of the majority class of its train labels, whatever predictions were sent.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from nsl_bench.core.metrics import METRICS, Answers, compute
from nsl_bench.core.sequences import mean_of
from nsl_bench.core.types import AnyInts, Floats, Hypothesis, Ints16, one_hot
from nsl_bench.run.concepts import concept_scores
from nsl_bench.run.sampled import Sampled
from nsl_bench.run.statistics import interval, padded

from .entries import contest_weights
from .likeness import look_at
from .predictions import Predicted, text_of
from .reading import Run
from .score_report import COMPARED, TEN_THOUSAND, ExampleScores, Look, Spread
from .truth import Truth, tests_of

PROBABILISTIC = frozenset(name for name, metric in METRICS.items() if "probabilities" in metric.needs)
"""The numbers of label probabilities."""

SPREAD = frozenset(name for name, metric in METRICS.items() if metric.per_example is not None)
"""The numbers whose spread is kept: means over test examples."""

Labels = npt.NDArray[np.int64]


def _always(label: int, n: int, n_labels: int) -> Predicted:
    """Answers that give one label with probability 1."""
    codes = np.full(n, label, np.int16)
    return codes, one_hot(codes, n_labels).astype(np.float32)


class Numbers:
    """Accumulates the metrics of a submission's runs, row by row.

    Args:
        truths: the own data of each run, by its name.

    Attributes:
        metrics: metrics by run.
        answers: labels by run and evaluation, of successful runs.
        looks: summaries of the predictions, by run and evaluation.
        unsure: runs with a label that is not the most probable one.
    """

    def __init__(self, track: str, truths: Mapping[str, Truth]) -> None:
        self._truths, self._means = truths, _Means(track)
        self.metrics: dict[str, dict[str, float]] = {run: {} for run in truths}
        self.answers: dict[str, dict[str, Ints16]] = {run: {} for run in truths}
        self.looks: dict[str, dict[str, Look]] = {run: {} for run in truths}
        self.unsure: set[str] = set()

    def add(self, run: Run, evaluation: str, predicted: Predicted) -> None:
        """Add a row of predictions."""
        self._count(run, evaluation, predicted)
        look = replace(look_at(predicted), labels=text_of(predicted[0]))
        self.answers[run.id][evaluation] = predicted[0]
        self.looks[run.id][evaluation] = look
        if look.contrary > 0:
            self.unsure.add(run.id)

    def add_rules(self, run: Run, rules: Hypothesis) -> None:
        """Add the rules of a run, if they agree with its predictions, and compute metrics of rules."""
        truth, mine = self._truths[run.id], self.metrics[run.id]
        answered = Answers(
            truth.labels,
            self.answers[run.id][truth.evaluations[-1]],
            truth.tested.labels.names,
            rules=rules,
            record=mine,
        )
        mine.update(compute({name: m for name, m in METRICS.items() if "rules" in m.needs}, answered))

    def add_concepts(self, run: Run, concepts: Ints16) -> None:
        """Add the concepts that a learner returned, int16 [n * slots]."""
        right = self._truths[run.id].concepts
        self.metrics[run.id].update(concept_scores(concepts.reshape(right.shape), right))

    def impute(self, run: Run) -> None:
        """Add a failed run."""
        truth = self._truths[run.id]
        predicted = _always(truth.majority, len(truth.labels), len(truth.tested.labels))
        for evaluation in truth.evaluations:
            self._count(run, evaluation, predicted)

    def _count(self, run: Run, evaluation: str, predicted: Predicted) -> None:
        truth, (codes, given) = self._truths[run.id], predicted
        answered = Answers(
            truth.labels,
            codes,
            truth.tested.labels.names,
            evaluation,
            evaluation == truth.evaluations[-1],
            None if given is None else given.astype(np.float64),
            truth.shifted(evaluation),
            **truth.sequences,
        )
        self.metrics[run.id].update(compute(METRICS, answered))
        scores = {
            name: metric.per_example(answered)
            for name, metric in METRICS.items()
            if metric.per_example is not None and metric.applies(answered)
        }
        if answered.steps is not None:  # whole sequences are resampled
            scores = {name: self._of_sequences(answered.steps, each) for name, each in scores.items()}
        self._means.add(truth, scores)

    @staticmethod
    def _of_sequences(steps: AnyInts, each: Floats) -> Floats:
        """Scores of sequences, from those of rows; of a metric of sequences as they are."""
        return mean_of(steps, each) if len(each) == len(steps) else each

    def means(self, finished: Sequence[Run]) -> tuple[list[Spread], list[ExampleScores]]:
        """Of the means over shares that all successful runs have: intervals, and scores of test examples."""
        lacking = set()
        for run in finished:
            of = self._truths[run.id].contest.name, run.job.network or ""
            lacking |= {(*of, metric) for metric in SPREAD - self.metrics[run.id].keys()}
        whole = [key for key in self._means.whole() if key not in lacking]
        spreads = [spread for key in whole if (spread := self._means.spread(key)) is not None]
        return spreads, [self._means.examples(key) for key in whole if key[2] in COMPARED]


class _Means:
    """Each test example's mean score over shares, by train split: what the spread of a mean is made of."""

    def __init__(self, track: str) -> None:
        self._track = track
        self._tables: dict[tuple[str, str, str], dict[int, Floats]] = {}
        self._left: dict[tuple[str, str, str], float] = {}
        self._tests: dict[str, Sampled] = {}

    def add(self, truth: Truth, scores: Mapping[str, Floats]) -> None:
        """Take a run.

        Args:
            scores: float64 [n] by metric.
        """
        contest, cell, network = truth.contest, truth.cell, truth.job.network or ""
        at = contest.cells_of(self._track).index(cell)
        weight = float(contest_weights(contest, self._track)[cell.repeat - 1, at])
        self._tests.setdefault(contest.name, tests_of(contest))
        for metric, each in scores.items():
            key = contest.name, network, metric
            table = self._tables.setdefault(key, {})
            table[cell.repeat] = table.get(cell.repeat, np.zeros(len(each))) + weight * each
            self._left[key] = self._left.get(key, float(contest.repeats)) - weight

    def whole(self) -> list[tuple[str, str, str]]:
        """Contest, network and metric of the means that are complete."""
        return [key for key, left in self._left.items() if abs(left) < 1e-6]

    def examples(self, key: tuple[str, str, str]) -> ExampleScores:
        """The scores of test examples in ten-thousandths, by train split."""
        table = self._tables[key]
        rows = (np.rint(TEN_THOUSAND * table[repeat]).astype(np.int64) for repeat in sorted(table))
        return ExampleScores(*key, tuple(tuple(row.tolist()) for row in rows))

    def spread(self, key: tuple[str, str, str]) -> Spread | None:
        """The interval of a mean; None where nothing varied."""
        contest, _, metric = key
        table = self._tables[key]
        result = interval(
            padded([table[repeat] for repeat in sorted(table)], np.nan),
            bounds=METRICS[metric].bounds,
            **self._tests[contest].of(metric, self._track),
        )
        if math.isnan(result.low):
            return None
        return Spread(*key, result.low, result.high, result.std_err, dict(result.components))
