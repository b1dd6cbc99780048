"""`Metric`: a named number of a run, computed from its predictions, its rules or its record."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from nsl_bench.core.types import AnyInts, Bools, Floats, Hypothesis, Ints

Evaluation = Literal["hypothesis", "framework", "last"]
Need = Literal["probabilities", "shifted", "network", "rules", "record", "sequences"]


@dataclass(frozen=True)
class Answers:
    """A learner's predictions in one evaluation, and what else is known of the run.

    Attributes:
        labels: int64 [n], the true labels.
        predicted: int16 [n], the predicted labels; `UNDECIDED` and `AMBIGUOUS` are below 0.
        label_names: names of the task's labels.
        evaluation: ``"hypothesis"`` or ``"framework"``.
        is_last: whether it is the last evaluation of the track, which most metrics use: framework evaluation
            wherever there are images.
        probabilities: float64 [n, labels]; None for a label-only learner.
        shifted: bool [n], which examples are shifted; None if unknown.
        network_uncertainty: float64 [n], one minus the network's confidence in the image that it is least
            sure of; None without a network.
        rules: learned rules, if the learner predicts with them.
        record: other numbers of the run by name: times, memory, atoms, and the metrics before this one.
        steps: int [n], place of each row in its sequence, from 1; None unless rows are steps of sequences.
        images: int [n], number of images of each row; None if unknown.
    """

    labels: Ints
    predicted: AnyInts
    label_names: tuple[str, ...]
    evaluation: str = "framework"
    is_last: bool = True
    probabilities: Floats | None = None
    shifted: Bools | None = None
    network_uncertainty: Floats | None = None
    rules: Hypothesis | None = None
    record: Mapping[str, float] = field(default_factory=dict)
    steps: AnyInts | None = None
    images: AnyInts | None = None

    def has(self, need: Need) -> bool:
        """Whether it has an input that a metric needs."""
        if need == "shifted":
            return self.shifted is not None and 0 < int(self.shifted.sum()) < len(self.shifted)
        given = {
            "probabilities": self.probabilities,
            "network": self.network_uncertainty,
            "rules": self.rules,
            "record": self.record or None,
            "sequences": self.steps,
        }
        return given[need] is not None


@dataclass(frozen=True)
class Metric:
    """A number of a run.

    Attributes:
        name: column name, unique.
        title: name in tables and figures.
        higher_is_better: direction; None if neither is better.
        digits: decimals in tables.
        bounds: least and greatest value.
        evaluation: evaluation from which it is computed; ``"last"`` for the track's last one.
        needs: inputs of `compute` besides labels; without them the metric is missing.
        compute: function that returns the number; None for numbers measured during a run (times, memory).
        per_example: function that returns float64 [n], whose mean is the number; if it needs sequences,
            float64 [sequences]. It replaces `compute` and makes intervals cover the test examples.
        per_label: function that returns float64 [labels], one number per label, NaN where there is none. It
            replaces `compute`: the metric is then a family, whose numbers are named ``NAME_LABEL``.
        logarithmic: whether figures use a logarithmic axis.
        of_true_rule: whether it compares with the task's true rule; for a task without one, tables say
            "not defined".
    """

    name: str
    title: str
    higher_is_better: bool | None
    digits: int = 3
    bounds: tuple[float, float] = (0.0, 1.0)
    evaluation: Evaluation = "last"
    needs: tuple[Need, ...] = ()
    compute: Callable[[Answers], float] | None = None
    per_example: Callable[[Answers], Floats] | None = None
    per_label: Callable[[Answers], Floats] | None = None
    logarithmic: bool = False
    of_true_rule: bool = False

    def applies(self, answers: Answers) -> bool:
        """Whether it can be computed from these predictions."""
        if self.compute is None and self.per_example is None:
            return False
        mine = answers.is_last if self.evaluation == "last" else answers.evaluation == self.evaluation
        return mine and all(map(answers.has, self.needs))

    def of_label(self, label: str) -> Metric:
        """The member of a family (`per_label`) for one label, e.g. ``f1_valid`` of ``f1``."""
        per_label = self.per_label
        if per_label is None:
            raise ValueError(f"the metric {self.name} has no number per label")

        def of(answers: Answers) -> float:
            names = answers.label_names
            return float(per_label(answers)[names.index(label)]) if label in names else math.nan

        title = f"{self.title} of {label}"
        return replace(self, name=f"{self.name}_{label}", title=title, per_label=None, compute=of)

    def value(self, answers: Answers) -> float | None:
        """The number; None if it cannot be computed or is not finite."""
        if not self.applies(answers):
            return None
        if self.per_example is not None:
            result = float(np.mean(self.per_example(answers)))
        else:
            assert self.compute is not None
            result = float(self.compute(answers))
        return result if math.isfinite(result) else None


def compute(metrics: Mapping[str, Metric], answers: Answers) -> dict[str, float]:
    """All numbers that can be computed from one evaluation, in the order of the metrics."""
    result: dict[str, float] = {}
    record = dict(answers.record)
    seen = replace(answers, record=record)
    for metric in metrics.values():
        family = metric.per_label is not None
        for one in map(metric.of_label, answers.label_names) if family else (metric,):
            value = one.value(seen)
            if value is not None:
                result[one.name] = record[one.name] = value
    return result
