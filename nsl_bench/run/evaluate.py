"""One run: make its data, fit its learner, measure what was learned and how the whole system does.

Hypothesis evaluation asks the learner about the test set's true concepts; framework evaluation about what
the network sees in the test set's images, as many of them shifted as in training (FFNSL paper, section 5).
"""

from __future__ import annotations

import contextlib
import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from nsl_bench import registry
from nsl_bench.benchmark import Benchmark
from nsl_bench.data.content import content_hash
from nsl_bench.data.splits import make_source, make_split, symbolic_split
from nsl_bench.errors import UserError
from nsl_bench.isolation.command import CommandLearner
from nsl_bench.isolation.guard import Allowance, Ended
from nsl_bench.isolation.host import IsolatedLearner
from nsl_bench.isolation.limits import Failure, Limits, Lost
from nsl_bench.isolation.process import Process
from nsl_bench.learners.base import InvalidOutput, Unanswered, hypothesis_of, labels_of, probabilities_of
from nsl_bench.learners.command import is_command
from nsl_bench.learners.view import View
from nsl_bench.run import metrics as measure
from nsl_bench.run.account import account, perceived
from nsl_bench.run.agreement import agreement
from nsl_bench.run.effort import Effort
from nsl_bench.run.environment import environment, limits_said, versions
from nsl_bench.run.job import Job
from nsl_bench.run.quality import example_quality, is_true_rule
from nsl_bench.run.record import Record, Status
from nsl_bench.sealing import DataSeed, check_in_force, check_limits, seed_of
from nsl_bench.shift import Shift, resolve
from nsl_bench.source import ImageSource
from nsl_bench.types import AMBIGUOUS, BLANK, UNDECIDED, Hypothesis, Part, Predictions, Split, one_hot

if TYPE_CHECKING:
    import pandas as pd

    from nsl_bench.perception.network import Network

__all__ = ["Bench", "Outcome", "Setup"]

_KEPT: dict[Part, int] = {"train": 4, "test": 32}
"""How many parts are kept: learners share a train set in turn, repeats share all the test sets."""


@dataclass(frozen=True)
class Outcome:
    """What a run gave.

    Attributes:
        record: what is kept of it.
        predictions: what was predicted for each test example; None if it failed.
        log: what the learner printed.
    """

    record: Record
    predictions: pd.DataFrame | None
    log: str = ""


@dataclass(frozen=True)
class _Data:
    """One part of a run's examples, with what the network sees in their images."""

    split: Split
    predictions: Predictions | None
    content_hash: str


@dataclass(frozen=True)
class Setup:
    """How a `Bench` works; the arguments of its constructor."""

    device: str = "auto"
    workers: int = 1
    limits: Limits | None = None
    data_seed: DataSeed | None = None


class Bench:
    """Runs jobs, keeping what several of them share: sources, networks, data of the last setting.

    Args:
        device: where networks run.
        workers: processes that render images where it pays; results do not depend on it.
        limits: each learner runs in a process of its own, held to these; None: in this process.
        data_seed: the secret seed that sealed jobs' data follow.
    """

    def __init__(
        self,
        device: str = "auto",
        workers: int = 1,
        *,
        limits: Limits | None = None,
        data_seed: DataSeed | None = None,
    ) -> None:
        self.device = device
        self.workers = workers
        self.limits = limits
        self.data_seed = data_seed
        self._lost = self._apart = False
        self._networks: dict[tuple[str, str, str], Network] = {}
        self._sources: dict[tuple[str, str], tuple[Benchmark, ImageSource]] = {}
        self._data: dict[Part, dict[tuple[Any, ...], _Data]] = {"train": {}, "test": {}}

    @property
    def setup(self) -> Setup:
        """How to make an equal one in another process, where runs are already side by side."""
        return Setup(self.device, 1, self.limits, self.data_seed)

    @classmethod
    def of(cls, setup: Setup) -> Bench:
        """The bench of a setup."""
        return cls(setup.device, setup.workers, limits=setup.limits, data_seed=setup.data_seed)

    def run(self, job: Job, given: Any = None) -> Outcome:
        """Do a job. What the learner raises makes a failed record, not an exception.

        Args:
            job: what to do.
            given: a learner to use in place of the one that the job names.

        Raises:
            UserError: the data or the network cannot be made.
        """
        started, clock = datetime.now(UTC).isoformat(timespec="seconds"), time.perf_counter()
        benchmark, source = self._parts(job)
        shift = resolve(job.shift, benchmark, source)
        train = self._part(job, "train", benchmark, source, shift)
        test = self._part(job, "test", benchmark, source, shift)
        if job.sealed and given is None:
            self._check_apart()
        measured = _Measured()
        status: Status = "ok"
        message = output = log = ""
        isolation: dict[str, Any] = {}
        with contextlib.ExitStack() as stack:
            learner: Any = None
            try:
                learner = stack.enter_context(self._learner(job, given))
                measured = _measure(learner, job, benchmark, source, shift, train, test, self._allowance)
            except Lost:
                if self._lost:
                    raise UserError(
                        "The processes in which learners run are killed again and again."
                    ) from None
                self._lost = True
                stack.close()
                return self.run(job, given)
            except Failure as failure:
                status, message, output = failure.status, str(failure), failure.output
            except InvalidOutput as error:
                status, message = "invalid_output", str(error)
            if isinstance(learner, IsolatedLearner | CommandLearner):
                isolation, log = learner.isolation, learner.log()
                output = output or (learner.last_lines() if status != "ok" else "")
        self._lost = False
        record = Record(
            job,
            status=status,
            metrics=measured.numbers,
            hypothesis=measured.hypothesis,
            content_hash={"train": train.content_hash, "test": test.content_hash},
            versions=versions(),
            environment={**self._environment(job), **limits_said(self.limits), "isolation": isolation},
            started=started,
            seconds=round(time.perf_counter() - clock, 3),
            message=message,
            output=output,
            timed_out=measured.timed_out,
            inference=measured.inference,
            perception=measured.perception,
        )
        return Outcome(record, measured.predictions, log or output)

    def _check_apart(self) -> None:
        """Refuse to show data of a secret seed to learners that are not kept apart."""
        limits = check_limits(self.limits)
        if not self._apart:
            with contextlib.closing(Process(limits)) as process:
                check_in_force(process.force)
            self._apart = True

    @property
    def _allowance(self) -> Allowance:
        """What evaluating learned rules may use, where the harness itself does it."""
        return Allowance(None) if self.limits is None else Allowance(self.limits.time, self.limits.memory)

    def views(self, job: Job) -> tuple[View, View]:
        """The train and the test set of a job as its learner sees them.

        Raises:
            UserError: the data or the network cannot be made.
        """
        benchmark, source = self._parts(job)
        shift = resolve(job.shift, benchmark, source)
        parts = [self._part(job, part, benchmark, source, shift) for part in ("train", "test")]
        seen, views = _views(job, benchmark, source, shift, *parts)
        return seen, next(iter(views.values()))

    @contextlib.contextmanager
    def _learner(self, job: Job, given: Any) -> Iterator[Any]:
        """The learner of a job, in this process or in one of its own."""
        if given is not None or is_command(job.learner):
            yield given or CommandLearner(job.learner, job.learner_seed(), self.limits)
            return
        if self.limits is None:
            with _blaming("make"):
                made = registry.create("learner", job.learner, seed=job.learner_seed())
            yield made
            return
        with _blaming("make"):
            learner = IsolatedLearner(job.learner, job.learner_seed(), self.limits)
        well = False
        try:
            yield learner
            well = True
        finally:
            learner.close(keep_modules=well)

    def _parts(self, job: Job) -> tuple[Benchmark, ImageSource]:
        key = (job.benchmark, job.source)
        if key not in self._sources:
            benchmark: Benchmark = registry.create("benchmark", job.benchmark)
            self._sources[key] = (benchmark, make_source(benchmark, job.source))
        benchmark, source = self._sources[key]
        if (benchmark.version, source.fingerprint()) != (job.benchmark_version, job.source_fingerprint):
            raise UserError(
                f"The run is of {job.benchmark} {job.benchmark_version} with the images "
                f"{job.source_fingerprint}; here are version {benchmark.version} and {source.fingerprint()}."
            )
        return benchmark, source

    def network(self, job: Job) -> Network:
        """The trained network of a job: shipped, cached, or trained now."""
        from nsl_bench.perception.library import trained

        if job.network is None:
            raise ValueError("the job's track uses no network")
        key = (job.network, job.benchmark, job.source)
        if key not in self._networks:
            benchmark, source = self._parts(job)
            self._networks[key] = trained(job.network, benchmark, source, device=self.device)
        return self._networks[key]

    def _environment(self, job: Job) -> dict[str, Any]:
        if job.network is None:
            return environment()
        return {**environment(), "network_fingerprint": self.network(job).fingerprint()}

    def _part(
        self, job: Job, part: Part, benchmark: Benchmark, source: ImageSource, shift: Shift | None
    ) -> _Data:
        repeat = job.repeat if part == "train" else 0
        size = job.size if part == "train" else ""
        key = (
            *(
                job.benchmark,
                job.source,
                job.seed,
                job.sealed,
                job.splits,
                job.network,
                job.track == "symbolic",
            ),
            *(size, repeat, job.shift, job.percent),
        )
        kept = self._data[part]
        if key not in kept:
            while len(kept) >= _KEPT[part]:
                kept.pop(next(iter(kept)))
            kept[key] = self._make_part(job, part, benchmark, source, shift)
        return kept[key]

    def _seed(self, job: Job) -> int | str:
        """The seed that a job's data follow.

        Raises:
            UserError: it is a secret one that is not known here.
        """
        return seed_of(job.seed, job.sealed, self.data_seed)

    def _make_part(
        self, job: Job, part: Part, benchmark: Benchmark, source: ImageSource, shift: Shift | None
    ) -> _Data:
        folder = None if job.splits is None else Path(job.splits)
        if job.track == "symbolic":
            split = symbolic_split(benchmark, part, job.size, job.repeat, seed=self._seed(job), splits=folder)
            certain = Predictions.certain(split.concepts, len(benchmark.concept_space))
            return _Data(split, certain, content_hash(split, benchmark))
        from nsl_bench.perception.predict import image_digests, predictions_of

        split = make_split(
            benchmark,
            source,
            part,
            job.size,
            job.repeat,
            percent=job.percent,
            seed=self._seed(job),
            splits=folder,
        )
        seen = None
        if job.network:
            seen = predictions_of(split, source, shift, self.network(job), workers=self.workers)
        digests = image_digests(split, source, shift, workers=self.workers)
        return _Data(split, seen, content_hash(split, benchmark, digests))


@dataclass
class _Measured:
    """What was measured of a learner."""

    numbers: dict[str, float] = field(default_factory=dict)
    hypothesis: Hypothesis | None = None
    predictions: pd.DataFrame | None = None
    timed_out: bool = False
    inference: dict[str, Any] = field(default_factory=dict)
    perception: dict[str, Any] = field(default_factory=dict)


def _views(
    job: Job, benchmark: Benchmark, source: ImageSource, shift: Shift | None, train: _Data, test: _Data
) -> tuple[View, dict[str, View]]:
    """What a learner is handed: its train set, and for each evaluation the test set.

    What is in the images is asked before the true concepts of the same examples are shown.
    """
    images = None if job.track == "symbolic" else source
    seen = View(train.split, benchmark, job.track, predictions=train.predictions, source=images, shift=shift)
    views: dict[str, View] = {}
    if job.track != "symbolic":
        views["framework"] = View(
            test.split,
            benchmark,
            job.track,
            predictions=test.predictions,
            source=images,
            shift=shift,
            labelled=False,
        )
    if job.track in ("symbolic", "pretrained"):
        truth = Predictions.certain(test.split.concepts, len(benchmark.concept_space))
        views["hypothesis"] = View(test.split, benchmark, job.track, predictions=truth, labelled=False)
    return seen, views


def _measure(
    learner: Any,
    job: Job,
    benchmark: Benchmark,
    source: ImageSource,
    shift: Shift | None,
    train: _Data,
    test: _Data,
    allowance: Allowance,
) -> _Measured:
    import pandas as pd

    seen, views = _views(job, benchmark, source, shift, train, test)
    answering = "command" if isinstance(learner, CommandLearner) else "predict"
    effort = Effort(learner)
    with _blaming("fit"), effort.of("learning"):
        fitted = learner.fit(seen)
    learner = learner if fitted is None else fitted
    labels = test.split.labels.astype(np.int64)
    answers: dict[str, tuple[npt.NDArray[np.int16], npt.NDArray[np.float64]]] = {}
    for name, view in views.items():
        timed = contextlib.nullcontext() if answers else effort.of("prediction")
        with contextlib.suppress(Unanswered), _blaming(answering), timed:
            probabilities = probabilities_of(learner, view)
            answers[name] = labels_of(learner, view, probabilities), probabilities
    with _blaming("rules"):
        hypothesis = hypothesis_of(learner, benchmark)
    numbers = learner.effort() if hasattr(learner, "effort") else effort.numbers
    own: Hypothesis | None = hypothesis  # whose probabilities and atoms are the learner's
    if hypothesis is not None and hypothesis.language == "asp":
        compared = agreement(benchmark, hypothesis, test.split, test.predictions, answers, allowance)
        if compared.share is not None:
            numbers["agreement"] = compared.share
        if not compared.holds:
            own, hypothesis = None, replace(hypothesis, fidelity=compared.share)
        elif "hypothesis" in compared.labels:
            derived = compared.labels["hypothesis"]
            answers["hypothesis"] = derived, one_hot(derived, len(benchmark.labels))
    told = account(benchmark, test.split, test.predictions, own, answers, allowance=allowance)
    frames = []
    for name in reversed(answers):
        predicted, probabilities = answers[name]
        numbers[f"{name}_accuracy"] = measure.accuracy(predicted, labels)
        if name == "framework":
            frames.append(_frame(name, benchmark, test.split, predicted, told.probabilities, told.causes))
        else:
            frames.append(_frame(name, benchmark, test.split, predicted, probabilities))
    numbers.update(told.numbers)
    numbers["undecided"] = float(np.mean(predicted == UNDECIDED))
    numbers["ambiguous"] = float(np.mean(predicted == AMBIGUOUS))
    perception: dict[str, Any] = {}
    for name, data in (("train", train), ("test", test)):
        if job.network and data.predictions is not None:
            numbers[f"concept_accuracy_{name}"] = _concept_accuracy(data.split, data.predictions)
            perception[name] = perceived(data.split, data.predictions)
    if hypothesis is not None and hypothesis.fidelity is not None:
        numbers["fidelity"] = hypothesis.fidelity
    if own is not None:
        numbers["atoms"], numbers["rules"] = float(own.atoms), float(len(own.rules))
        if own.language == "asp":
            # Rules may be beyond deciding (not stratified, too hard): then the number is left out.
            with contextlib.suppress(UserError):
                numbers["equivalent"] = float(is_true_rule(own.rules, job.benchmark, allowance.memory))
    if hasattr(learner, "examples_"):
        with _blaming("examples_"):
            numbers.update(example_quality(learner.examples_, benchmark))
    late = bool(getattr(learner, "timed_out_", False))
    frame = pd.concat(frames, ignore_index=True)
    return _Measured(numbers, hypothesis, frame, late, told.inference, perception)


@contextlib.contextmanager
def _blaming(doing: str) -> Iterator[None]:
    """Whatever the learner raises in the block is its own failure, whose message says what it was doing."""
    try:
        yield
    except (Lost, InvalidOutput, Unanswered):
        raise
    except Failure as failure:
        raise Failure(failure.status, f"{doing}: {failure}", failure.output) from failure
    except MemoryError as error:
        raise Failure("out_of_memory", f"{doing}: Out of memory: {error}".removesuffix(": ")) from error
    except Ended as ended:
        raise Failure(ended.status, f"{doing}: {ended}") from ended
    except UserError as error:
        raise Failure("crashed", f"{doing}: {error}") from error
    except Exception as error:  # a learner may be anybody's code, and may raise anything
        raise Failure("crashed", f"{doing}: {type(error).__name__}: {error}", _last_lines(error)) from error


def _last_lines(error: Exception) -> str:
    lines = "".join(traceback.format_exception(error)).splitlines()
    return "\n".join(lines[-10:])


def _frame(
    evaluation: str,
    benchmark: Benchmark,
    split: Split,
    predicted: npt.NDArray[np.int16],
    probabilities: npt.NDArray[np.float64],
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
    columns.update({f"p_{name}": probabilities[:, k] for k, name in enumerate(benchmark.labels.names)})
    if causes is not None:
        columns["repaired_by"] = causes
    return pd.DataFrame(columns)


def _concept_accuracy(split: Split, predictions: Predictions) -> float:
    shown = split.concepts != BLANK
    return float(np.mean(predictions.concepts[shown] == split.concepts[shown]))
