"""What a run is made of: its job with every name looked up, and the data of its train and test set."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nsl_bench.core import registry
from nsl_bench.core.annotation import Annotation
from nsl_bench.core.benchmark import Benchmark
from nsl_bench.core.errors import UserError
from nsl_bench.core.shift import Shift, resolve
from nsl_bench.core.source import ImageSource
from nsl_bench.core.types import ConceptSpace, Part, Predictions, Split
from nsl_bench.data.content import content_hash
from nsl_bench.data.splits import make_source, make_split, mislabelled, symbolic_split, task_of_split
from nsl_bench.learners.view import View
from nsl_bench.run.job import PROTOCOL, Job
from nsl_bench.run.structural_shift import covering, with_concepts, with_concepts_of
from nsl_bench.sandbox.sealing import DataSeed, seed_of

if TYPE_CHECKING:
    from nsl_bench.perception.network import Network

_KEPT: dict[Part, int] = {"train": 4, "validation": 4, "test": 32}
"""How many parts are kept: learners share a train set in turn, repeats share all the test sets."""


@dataclass(frozen=True, eq=False)
class ResolvedSet:
    """What the train or the test set of a job is made of.

    Attributes:
        of_split: the task as the run's train split has it, with the concepts of train and test task.
        shift: shift of the images of shifted examples; None if there is none.
        percent: share of shifted examples, 0..100.
    """

    task: Benchmark
    of_split: Benchmark
    source: ImageSource
    shift: Shift | None
    percent: float


@dataclass(frozen=True, eq=False)
class ResolvedJob:
    """A job with all that its names stand for; whoever has it looks up nothing again.

    Attributes:
        train, test: what its sets are made of.
        network: the trained network; None in tracks without one.
        seed: the seed of the data; a text is a secret one.
    """

    job: Job
    train: ResolvedSet
    test: ResolvedSet
    concept_space: ConceptSpace
    network: Network | None
    seed: int | str

    def of(self, part: Part) -> ResolvedSet:
        """What a part is made of; the validation set is made as the train set is."""
        return self.test if part == "test" else self.train

    def split(self, part: Part) -> Split:
        """The examples of a part, with images unless the track is symbolic."""
        job, chosen = self.job, self.of(part)
        which, splits = (job.size, job.repeat), None if job.splits is None else Path(job.splits)
        asked: dict[str, Any] = {"seed": self.seed, "splits": splits}
        if job.track == "symbolic":
            split = symbolic_split(chosen.task, part, *which, **asked)
            return job.split_annotation.labelled(split, chosen.task, *which, self.seed)
        asked |= {"percent": chosen.percent, "annotation": job.split_annotation}
        return make_split(chosen.task, chosen.source, part, *which, **asked)


@dataclass(frozen=True)
class Data:
    """One part of a run's examples, with the network's predictions."""

    split: Split
    shift: Shift | None
    predictions: Predictions | None
    content_hash: str


@dataclass(frozen=True)
class Material:
    """Everything that a run needs except its learner.

    Attributes:
        validation: creates the validation set, for learners that take one; None if there is none.
        device: where learners should compute.
    """

    resolved: ResolvedJob
    train: Data
    test: Data
    validation: Callable[[], Data] | None
    device: str

    @property
    def benchmark(self) -> Benchmark:
        """The task of the train set, as the run's train split has it."""
        return self.resolved.train.of_split

    @property
    def tested(self) -> Benchmark:
        """The task of the test set."""
        return self.resolved.test.of_split

    def view(self, data: Data, *, labelled: bool = True, truth: bool = False) -> View:
        """The view of a part that the learner receives.

        Args:
            truth: whether the view has true concepts instead of images and the network's predictions.
        """
        side, track = self.resolved.of(data.split.part), self.resolved.job.track
        predictions = data.predictions
        if truth:
            predictions = Predictions.certain(data.split.concepts, len(side.of_split.concept_space))
        view = View(
            data.split,
            side.of_split,
            track,
            predictions=predictions,
            source=None if truth or track == "symbolic" else side.source,
            shift=None if truth else data.shift,
            labelled=labelled,
        )
        view.device = self.device
        return view

    def tests(self) -> dict[str, View]:
        """The view of the test set for each evaluation.

        Framework evaluation comes first, before the learner gets the true concepts of the same examples.
        """
        views: dict[str, View] = {}
        track = self.resolved.job.track
        if track != "symbolic":
            views["framework"] = self.view(self.test, labelled=False)
        if track in ("symbolic", "pretrained", "concept_labels", "few_labels"):
            views["hypothesis"] = self.view(self.test, labelled=False, truth=True)
        return views


class Materials:
    """Makes the material of jobs, and keeps what they share: tasks, sources, networks, recent data."""

    def __init__(self, device: str, workers: int) -> None:
        self._device, self._workers = device, workers
        self._tasks: dict[tuple[str, str], tuple[Benchmark, ImageSource]] = {}
        self._networks: dict[tuple[Any, ...], Network] = {}
        self._data: dict[Part, dict[tuple[Any, ...], Data]] = {part: {} for part in _KEPT}

    def of(self, job: Job, data_seed: DataSeed | None) -> Material:
        """The material of a job."""
        resolved = self.resolve(job, data_seed)
        return Material(
            resolved,
            self._part(resolved, "train"),
            self._part(resolved, "test"),
            partial(self._part, resolved, "validation") if job.splits is None else None,
            "cpu" if self._device == "auto" else self._device,
        )

    def test(self, job: Job) -> tuple[ResolvedJob, Data]:
        """What a job's test set is made of, and the test set."""
        resolved = self.resolve(job, None)
        return resolved, self._part(resolved, "test")

    def resolve(self, job: Job, data_seed: DataSeed | None) -> ResolvedJob:
        """Look up all that a job names.

        Raises:
            UserError: another protocol, version or source than the job's, or a secret seed that is not known
                here.
        """
        if job.protocol != PROTOCOL:
            raise UserError(
                f"The run {job} follows protocol {job.protocol}; this version of nsl-bench runs {PROTOCOL}."
            )
        seed = seed_of(job.seed, job.sealed, data_seed)
        train = test = self._installed(
            job, job.task, job.benchmark, job.benchmark_version, job.source_fingerprint
        )
        if job.test_task:
            named = (job.test_task, job.test_task_version, job.test_source_fingerprint)
            test = self._installed(job, job.tested, *named)
        dials = Annotation.parse(job.annotation)
        train, test = ((task, mislabelled(source, dials)) for task, source in (train, test))
        widest = covering(train[0], test[0])
        space = widest.concept_space
        network = self._network(job, *(train if widest is train[0] else test)) if job.network else None

        def resolved(task: Benchmark, source: ImageSource, shift: str, percent: float) -> ResolvedSet:
            change = None if job.track == "symbolic" else resolve(shift, task, source)
            of_split = with_concepts_of(task_of_split(task, job.repeat, seed), space)
            return ResolvedSet(task, of_split, source, change, percent)

        return ResolvedJob(
            job,
            resolved(*train, job.train_shift, job.train_percent),
            resolved(*test, job.test_shift, job.test_percent),
            space,
            network,
            seed,
        )

    def _installed(
        self, job: Job, spec: str, name: str, version: str, fingerprint: str
    ) -> tuple[Benchmark, ImageSource]:
        """A task and its images, if they are those that the job was made for."""
        key = (spec, job.source)
        if key not in self._tasks:
            task: Benchmark = registry.create("benchmark", spec)
            self._tasks[key] = task, make_source(task, job.source)
        task, source = self._tasks[key]
        if (task.version, source.fingerprint()) != (version, fingerprint):
            raise UserError(
                f"The run needs {name} {version} with the images {fingerprint}; this installation has "
                f"version {task.version} and {source.fingerprint()}."
            )
        return task, source

    def _network(self, job: Job, task: Benchmark, source: ImageSource) -> Network:
        """The trained network of a job: a shipped one, a cached one, or a new one."""
        from nsl_bench.perception.trained_networks import trained

        assert job.network is not None
        key = (job.network, task.spec, job.source, source.network_fingerprint())
        if key not in self._networks:
            self._networks[key] = trained(job.network, task, source, device=self._device)
        return self._networks[key]

    def _part(self, resolved: ResolvedJob, part: Part) -> Data:
        """A part of a job's data; several jobs share it."""
        job, chosen = resolved.job, resolved.of(part)
        own = part != "test" or chosen.task.own_tests or job.splits is not None
        key = (
            *(job.benchmark, job.benchmark_version, job.test_task, job.test_task_version, job.source),
            *(job.seed, job.sealed, job.splits, job.network, job.track == "symbolic"),
            *("" if part == "test" else job.size, job.repeat if own else 0),
            *(chosen.shift and chosen.shift.spec, chosen.percent, job.annotation),
        )
        recent = self._data[part]
        if key not in recent:
            while len(recent) >= _KEPT[part]:
                recent.pop(next(iter(recent)))
            recent[key] = self._make(resolved, chosen, part)
        return recent[key]

    def _make(self, resolved: ResolvedJob, chosen: ResolvedSet, part: Part) -> Data:
        from nsl_bench.perception.predict import image_digests, predictions_of

        space, task, source, shift = resolved.concept_space, chosen.task, chosen.source, chosen.shift
        split = resolved.split(part)
        if resolved.job.track == "symbolic":
            digest = content_hash(split, task)
            split = with_concepts(split, space)
            return Data(split, None, Predictions.certain(split.concepts, len(space)), digest)
        predictions = None
        if resolved.network is not None:
            predictions = predictions_of(split, source, shift, resolved.network, workers=self._workers)
        digests = image_digests(split, source, shift, workers=self._workers)
        return Data(with_concepts(split, space), shift, predictions, content_hash(split, task, digests))
