"""Fit a learner and measure it in hypothesis and framework evaluation.

In hypothesis evaluation the learner gets the test set's true concepts. In framework evaluation it gets the
network's predictions for the test set's images (FFNSL paper, section 5).
"""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter, process_time  # as they are now: a learner in this process may replace them
from typing import TYPE_CHECKING, Any

import numpy as np

from nsl_bench.core.benchmark import Benchmark
from nsl_bench.core.budget import MEBIBYTE
from nsl_bench.core.errors import NotApplicable, UserError, named
from nsl_bench.core.metrics import METRICS, Answers, compute
from nsl_bench.core.metrics import predictions as measure
from nsl_bench.core.seeding import generator
from nsl_bench.core.types import AMBIGUOUS, BLANK, UNDECIDED, Floats, Hypothesis, Ints16, Split, one_hot
from nsl_bench.learners.answering import answering
from nsl_bench.learners.base import (
    InvalidOutput,
    Unanswered,
    answers_of,
    check_examples,
    hypothesis_of,
    takes_validation,
    tuning_of,
)
from nsl_bench.learners.view import View
from nsl_bench.logic.guarded.child import Allowance, Ended
from nsl_bench.run.agreement import Answered, agreement, tests_on
from nsl_bench.run.concepts import (
    concept_metrics,
    concept_probabilities,
    intervened,
    seen_concepts,
    told_concepts,
)
from nsl_bench.run.error_analysis import analyse_errors, perceived
from nsl_bench.run.material import Data, Material
from nsl_bench.run.true_rule import example_quality, is_true_rule
from nsl_bench.sandbox.command import CommandLearner, FolderLearner
from nsl_bench.sandbox.host import IsolatedLearner
from nsl_bench.sandbox.limits import Failure, Lost

if TYPE_CHECKING:
    import pandas as pd


class Costs:
    """Measures the costs of a learner.

    Wall time includes what the harness does for the learner, such as rendering the images that it asks for,
    and increases on a busy machine. It excludes computing a view's literals and trying a stranger's rules.
    CPU time is the learner's own if the learner has its own process: the kernel's count, without a gap from
    one measured block to the next, so that work between them counts, too.

    Args:
        learner: the learner. One without a process of its own works in this process, and its memory cannot be
            measured.
    """

    def __init__(self, learner: Any) -> None:
        self._learner = learner
        self._apart = isinstance(learner, IsolatedLearner)
        self._counted: float | None = None
        self.numbers: dict[str, float] = {}

    def _cpu(self) -> float:
        if not self._apart:
            return process_time()
        used = self._learner.usage()
        if used.peak_memory:
            self.numbers["peak_memory"] = used.peak_memory / MEBIBYTE
        return float(used.cpu_seconds)

    @contextlib.contextmanager
    def of(self, doing: str, *views: View) -> Iterator[None]:
        """Measure a block. The results are ``DOING_time`` and ``DOING_cpu_time``, in seconds.

        Blocks of one name are added up.

        Args:
            doing: name of the numbers.
            views: what the learner is handed; the time of computing their literals does not count.
        """
        clock = self._clock(views)
        before = self._counted if self._apart and self._counted is not None else self._cpu()
        cpu = before - self._given_cpu(views)
        yield
        self._add(f"{doing}_time", self._clock(views) - clock)
        self._counted = self._cpu()
        self._add(f"{doing}_cpu_time", self._counted - self._given_cpu(views) - cpu)

    def _clock(self, views: Sequence[View]) -> float:
        vetting = self._learner.vetting_time if self._apart else 0.0
        return perf_counter() - _given(views, 0) - vetting

    def _add(self, name: str, seconds: float) -> None:
        self.numbers[name] = self.numbers.get(name, 0.0) + max(0.0, seconds)

    def _given_cpu(self, views: Sequence[View]) -> float:
        """What was used in this process, which is not that of a learner with processes of its own."""
        return 0.0 if self._apart else _given(views, 1)


def _given(views: Sequence[View], which: int) -> float:
    return sum(view.given_time[which] for view in views)


@dataclass(frozen=True)
class Learned:
    """A learner that has learned, and what that cost.

    Attributes:
        learner: that `fit` returned.
        validation_hash: of the validation set that it took; empty: none.
    """

    learner: Any
    numbers: Mapping[str, float]
    validation_hash: str


@dataclass
class Measured:
    """The metrics and predictions of a learner."""

    learned: Learned | None = None
    numbers: dict[str, float] = field(default_factory=dict)
    hypothesis: Hypothesis | None = None
    predictions: pd.DataFrame | None = None
    timed_out: bool = False
    inference: dict[str, Any] = field(default_factory=dict)
    perception: dict[str, Any] = field(default_factory=dict)
    validation_hash: str = ""
    tuning: dict[str, Any] = field(default_factory=dict)


def measure_learner(
    learner: Any,
    material: Material,
    allowance: Allowance,
    interventions: Sequence[int] = (),
    learned: Learned | None = None,
) -> Measured:
    """Fit a learner and measure its hypothesis and its predictions.

    Args:
        allowance: resources for evaluating its rules.
        interventions: numbers of slots whose true concepts it gets, each in an evaluation of its own.
        learned: the learner, already fitted to this train set; it is not fitted again.

    Raises:
        Failure: the learner failed; the message says in which step.
        InvalidOutput: its output has a wrong shape or wrong values.
    """
    result = Measured()
    costs = Costs(learner)
    if learned is None:
        learner = _fitted(learner, material, result, costs)
        learned = Learned(learner, dict(costs.numbers), result.validation_hash)
    learner, result.learned, result.validation_hash = learned.learner, learned, learned.validation_hash
    costs.numbers.update(learned.numbers)
    views = material.tests()
    answers = _answers(learner, views, costs)
    asked: dict[str, float] = {}
    concepts: Ints16 | None = None
    if "framework" in answers:
        asked, concepts = _asked_more(learner, material, views, interventions, costs)
    with blaming("rules"), costs.of("prediction"):
        hypothesis = hypothesis_of(learner, material.benchmark)
    numbers = learner.effort() if isinstance(learner, FolderLearner) else costs.numbers
    result.numbers = {**numbers, **asked}
    own = hypothesis  # whose probabilities and atoms are the learner's
    if hypothesis is not None and hypothesis.language == "tree":
        hypothesis = own = replace(hypothesis, atoms=tests_on(hypothesis.rules))
    if hypothesis is not None and (hypothesis.language == "asp" or not _is_ours(learner)):
        own, hypothesis = _counting(hypothesis, material, answers, result.numbers, allowance)
    result.hypothesis = hypothesis
    if hypothesis is not None and hypothesis.fidelity is not None:
        result.numbers["fidelity"] = hypothesis.fidelity
    if own is not None:
        result.numbers["atoms"], result.numbers["rules"] = float(own.atoms), float(len(own.rules))
        if own.language == "asp" and material.tested.true_rule:
            # Rules may be beyond deciding (not stratified, too hard): then the number is left out.
            with contextlib.suppress(UserError):
                same = is_true_rule(own.rules, material.tested, allowance.memory)
                result.numbers["equivalent"] = float(same)
    _count(result, material, own, answers, allowance, concepts)
    if hasattr(learner, "examples_") and material.benchmark.true_rule:
        with blaming("examples_"):
            check_examples(learner.examples_, type(learner).__name__)
            result.numbers.update(example_quality(learner.examples_, material.benchmark))
    result.timed_out = bool(getattr(learner, "timed_out_", False))
    result.tuning = tuning_of(learner)
    return result


def _fitted(learner: Any, material: Material, measured: Measured, costs: Costs) -> Any:
    """The learner that learned, which may be another object."""
    train = material.view(material.train)
    more: dict[str, View] = {}
    if material.validation is not None and takes_validation(learner):
        validation = material.validation()
        measured.validation_hash = validation.content_hash
        more = {"validation": material.view(validation)}
    with blaming("fit"), costs.of("learning", train, *more.values()):
        fitted = learner.fit(train, **more)
    return answering(learner if fitted is None else fitted)


def _answers(learner: Any, views: Mapping[str, View], costs: Costs) -> dict[str, Answered]:
    """What a learner answers, by evaluation; the time of all counts, as it may learn in any of them."""
    answering = "command" if isinstance(learner, CommandLearner) else "predict"
    answers: dict[str, Answered] = {}
    for name, view in views.items():
        with contextlib.suppress(Unanswered), blaming(answering), costs.of("prediction", view):
            answers[name] = answers_of(learner, view)
    return answers


def _asked_more(
    learner: Any, material: Material, views: Mapping[str, View], interventions: Sequence[int], costs: Costs
) -> tuple[dict[str, float], Ints16 | None]:
    """How good the concepts are that a learner sees, and its accuracy where it is given some true ones.

    Returns:
        The numbers; and int16 [n, slots], the concepts, None of a learner that returns none.
    """
    result: dict[str, float] = {}
    seen_here: Ints16 | None = None
    test = material.test
    if hasattr(learner, "predict_concepts"):
        with blaming("predict_concepts"), costs.of("prediction", views["framework"]):
            answer = learner.predict_concepts(views["framework"])
            if answer is not None:
                given = concept_probabilities(answer, test.split)
                result.update(concept_metrics(given, test.split))
                seen_here = seen_concepts(given, test.split)
    if test.predictions is None or material.resolved.job.track != "pretrained":
        return result, seen_here
    for k in interventions:
        rng = generator("interventions", material.tested.name, material.tested.version)
        seen = replace(test, predictions=intervened(test.split, test.predictions, k, rng))
        view = material.view(seen, labelled=False)
        with contextlib.suppress(Unanswered), blaming("predict"), costs.of("prediction", view):
            labels, _ = answers_of(learner, view)
            result[f"accuracy_given_{k}"] = measure.accuracy(labels, test.split.labels.astype(np.int64))
    return result, seen_here


def _is_ours(learner: Any) -> bool:
    """Whether a learner comes with nsl-bench, whose trees say themselves what they stand for."""
    bundled = getattr(learner, "comes_with_us", None) if isinstance(learner, IsolatedLearner) else None
    return type(learner).__module__.startswith("nsl_bench.learners.") if bundled is None else bool(bundled)


def _counting(
    hypothesis: Hypothesis,
    material: Material,
    answers: dict[str, Answered],
    numbers: dict[str, float],
    allowance: Allowance,
) -> tuple[Hypothesis | None, Hypothesis]:
    """The rules that count as the learner's, None if it answers otherwise, and the rules to be shown.

    Where ASP rules count, they answer in hypothesis evaluation.
    """
    benchmark, test = material.tested, material.test
    compared = agreement(benchmark, hypothesis, test.split, test.predictions, answers, allowance)
    if compared.share is not None:
        numbers["agreement"] = compared.share
    if not compared.holds:
        return None, replace(hypothesis, fidelity=compared.share)
    if hypothesis.language == "asp" and "hypothesis" in compared.labels:
        derived, (_, given) = compared.labels["hypothesis"], answers["hypothesis"]
        certain = None if given is None else one_hot(derived, len(benchmark.labels))
        answers["hypothesis"] = derived, certain
    return hypothesis, hypothesis


def _count(
    measured: Measured,
    material: Material,
    hypothesis: Hypothesis | None,
    answers: dict[str, Answered],
    allowance: Allowance,
    concepts: Ints16 | None = None,
) -> None:
    """Turn answers into numbers, and keep them, with the concepts [n, slots] that a learner saw."""
    import pandas as pd

    benchmark, test = material.tested, material.test
    labels = test.split.labels.astype(np.int64)
    analysis = analyse_errors(
        benchmark, test.split, test.predictions, hypothesis, answers, allowance=allowance
    )
    last = next(iter(answers))
    frames = []
    for name in reversed(answers):
        predicted, own = answers[name]
        probabilities, causes = (analysis.probabilities, analysis.causes) if name == last else (own, None)
        frame = _frame(name, benchmark, test.split, predicted, probabilities, causes)
        if concepts is not None and name == "framework":
            frame["concepts"] = told_concepts(concepts)
        frames.append(frame)
        answered = Answers(
            labels,
            predicted,
            benchmark.labels.names,
            name,
            name == last,
            probabilities,
            shifted=test.split.shifted,
            network_uncertainty=_network_uncertainty(test),
            rules=hypothesis,
            record=measured.numbers,
            steps=test.split.steps if benchmark.sequential else None,
            images=(test.split.concepts != BLANK).sum(axis=1),
        )
        measured.numbers.update(compute(METRICS, answered))
    measured.numbers.update(analysis.numbers)
    measured.predictions = pd.concat(frames, ignore_index=True)
    measured.inference = analysis.inference
    for part, data in (("train", material.train), ("test", test)):
        if material.resolved.job.track == "pretrained" and data.predictions is not None:
            right = (data.predictions.concepts == data.split.concepts)[data.split.concepts != BLANK]
            measured.numbers[f"concept_accuracy_{part}"] = float(right.mean())
            measured.perception[part] = perceived(material.benchmark, data.split, data.predictions)


def _network_uncertainty(data: Data) -> Floats | None:
    """float64 [n]: an example is as sure as the least sure of its images; None without images."""
    if data.predictions is None or data.shift is None:
        return None
    least: Floats = data.predictions.confidence.min(axis=1).astype(np.float64)
    return 1.0 - least


def imputed(material: Material) -> Measured:
    """Metrics and predictions of a failed run: the train set's majority class for every example."""
    counts = np.bincount(material.train.split.labels, minlength=len(material.benchmark.labels))
    often = dict(zip(material.benchmark.labels.names, counts.tolist(), strict=True))
    names = material.tested.labels.names
    n_labels = len(names)
    majority = int(np.argmax([often.get(name, 0) for name in names]))
    predicted = np.full(len(material.test.split), majority, np.int16)
    result = Measured()
    answers: dict[str, Answered] = {
        name: (predicted, one_hot(predicted, n_labels)) for name in material.tests()
    }
    _count(result, material, None, answers, Allowance(None))
    return result


@contextlib.contextmanager
def blaming(doing: str) -> Iterator[None]:
    """Turn exceptions of the learner within the block into a `Failure` that names the step."""
    try:
        yield
    except (Lost, InvalidOutput, Unanswered):
        raise
    except Failure as failure:
        if failure.status == "not_applicable":
            raise
        raise Failure(failure.status, f"{doing}: {failure}", failure.output) from failure
    except MemoryError as error:
        raise Failure("out_of_memory", f"{doing}: Out of memory: {error}".removesuffix(": ")) from error
    except Ended as ended:
        raise Failure(ended.status, f"{doing}: {ended}") from ended
    except NotApplicable as error:
        raise Failure("not_applicable", str(error)) from error
    except UserError as error:
        raise Failure("crashed", f"{doing}: {error}") from error
    except Exception as error:  # a learner may be anybody's code, and may raise anything
        lines = "".join(traceback.format_exception(error)).splitlines()
        raise Failure("crashed", f"{doing}: {named(error)}", "\n".join(lines[-10:])) from error


def _frame(
    evaluation: str,
    benchmark: Benchmark,
    split: Split,
    predicted: Ints16,
    probabilities: Floats | None,
    causes: list[str] | None = None,
) -> pd.DataFrame:
    import pandas as pd

    names = {UNDECIDED: "undecided", AMBIGUOUS: "ambiguous", **dict(enumerate(benchmark.labels.names))}
    columns: dict[str, Any] = {
        "evaluation": evaluation,
        "example": split.ids(),
        "label": [names[label] for label in split.labels.tolist()],
        "predicted": [names[label] for label in predicted.tolist()],
    }
    if probabilities is not None:
        columns.update({f"p_{name}": probabilities[:, k] for k, name in enumerate(benchmark.labels.names)})
    if causes is not None:
        columns["repaired_by"] = causes
    if benchmark.sequential:
        columns["step"] = split.steps
        columns["images"] = (split.concepts != BLANK).sum(axis=1)
    return pd.DataFrame(columns)
