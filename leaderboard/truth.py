"""The task's own data, with which a submission is compared: hashes, labels, and a network's predictions."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from nsl_bench.core.benchmark import Benchmark
from nsl_bench.core.shift import resolve
from nsl_bench.core.source import ImageSource
from nsl_bench.core.types import BLANK, Bools, ConceptSpace, Ints, Ints16, Part, Split
from nsl_bench.data.content import content_hash
from nsl_bench.data.splits import make_source, make_split, symbolic_split
from nsl_bench.run.job import Job
from nsl_bench.run.sampled import Sampled, sampled, task_named
from nsl_bench.run.structural_shift import covering, with_concepts

from .contests import Cell, Contest

PARTS: tuple[Part, ...] = ("train", "test")
"""The parts that have a content hash."""


@dataclass(frozen=True)
class Truth:
    """The task's own data of a run."""

    job: Job
    contest: Contest
    cell: Cell

    @property
    def seed(self) -> int | str:
        """The seed that the data follow; a text is a secret one."""
        return self.contest.data_seed(self.cell)

    @property
    def tested(self) -> Benchmark:
        """The task that is tested."""
        return task_named(self.job.tested)

    @property
    def evaluations(self) -> tuple[str, ...]:
        """The evaluations of a whole run; the last one's probabilities are scored."""
        return self.contest.evaluations(self.job.track)

    @property
    def test_number(self) -> int:
        """Which test set the run has: 1 unless train sets have test sets of their own."""
        return self.tested.test_number(self.job.repeat)

    @property
    def hashes(self) -> Mapping[str, str]:
        """The content hashes of the parts, or those of what was handed out of them."""
        handed_out = self.contest.hashes(self.cell)
        return handed_out or {part: self._hash(part) for part in PARTS}

    def _hash(self, part: Part) -> str:
        job = self.job
        dial = (job.test_shift, job.test_percent) if part == "test" else (job.train_shift, job.train_percent)
        shift, percent = ("", 0.0) if job.track == "symbolic" else (dial[0], float(dial[1]))
        place = self._test if part == "test" else (job.size, job.repeat)
        task = job.tested if part == "test" else job.task
        return _true_hash(task, job.source, part, *place, shift, percent, job.seed)

    @property
    def _test(self) -> tuple[str, int]:
        """The size and the number under which the test set is made."""
        return next(iter(self.tested.sizes)), self.test_number

    @property
    def labels(self) -> Ints:
        """The labels of the test set."""
        return _labels(self.job.tested, self.seed, *self._test)

    @property
    def space(self) -> ConceptSpace:
        """The concepts of the train or the test task, whichever has more."""
        return covering(task_named(self.job.task), self.tested).concept_space

    @property
    def concepts(self) -> Ints16:
        """int16 [n, slots]: the concepts of the test images, indices into `space`."""
        split = symbolic_split(self.tested, "test", *self._test, seed=self.seed)
        return with_concepts(split, self.space).concepts

    @property
    def seen_by_network(self) -> Ints16:
        """int16 [n, slots]: the concepts that the network sees in the test images, indices into `space`."""
        job = self.job
        assert job.network is not None
        names = job.tested, job.task, job.source, job.network, job.test_shift
        return _network_sees(*names, job.test_percent, self.seed, *self._test)

    @property
    def majority(self) -> int:
        """The test task's label that is the most frequent in the train set, the first on ties."""
        return _majority(self.job.task, self.job.tested, self.job.size, self.job.repeat, self.seed)

    def _is_symbolic(self, evaluation: str) -> bool:
        return evaluation == "hypothesis" or self.job.track == "symbolic"

    def shifted(self, evaluation: str) -> Bools | None:
        """bool [n]: which test examples are shifted; None where concepts are asked about."""
        if self._is_symbolic(evaluation):
            return None
        split = _standard(self.job.tested, self.job.source, "test", *self._test, self.seed)
        return split.shift(float(self.job.test_percent)).shifted

    @property
    def sequences(self) -> dict[str, Any]:
        """Steps and numbers of images of test rows, int [n] each; nothing where rows are no steps."""
        if not self.tested.sequential:
            return {}
        split = symbolic_split(self.tested, "test", *self._test, seed=self.seed)
        return {"steps": split.steps, "images": (split.concepts != BLANK).sum(axis=1)}


def tests_of(contest: Contest) -> Sampled:
    """The test sets of a contest; in a sealed round each share has examples of its own."""
    source = "" if contest.sealed_round else contest.source
    return sampled(contest.tested, source, contest.seed, tuple(range(1, contest.repeats + 1)))


@cache
def _parts(benchmark: str, source: str) -> tuple[Benchmark, ImageSource]:
    task = task_named(benchmark)
    return task, make_source(task, source)


@cache
def _standard(benchmark: str, source: str, part: Part, size: str, repeat: int, seed: int | str) -> Split:
    """Examples with images, none of them shifted yet."""
    return make_split(*_parts(benchmark, source), part, size, repeat, seed=seed)


@cache
def _true_hash(
    benchmark: str, source: str, part: Part, size: str, repeat: int, shift: str, percent: float, seed: int
) -> str:
    """The content hash of a part's data, made here; shift ``""`` is the symbolic data without images."""
    from nsl_bench.perception.predict import image_digests

    task, images = _parts(benchmark, source)
    if not shift:
        return content_hash(symbolic_split(task, part, size, repeat, seed=seed), task)
    split = _standard(benchmark, source, part, size, repeat, seed).shift(percent)
    return content_hash(split, task, image_digests(split, images, resolve(shift, task, images)))


@cache
def _labels(benchmark: str, seed: int | str, size: str, number: int) -> Ints:
    """A test set's labels, the same at every share of shift."""
    return symbolic_split(task_named(benchmark), "test", size, number, seed=seed).labels.astype(np.int64)


def labels_of(contest: Contest, cell: Cell) -> Ints:
    """The labels of the test set of a cell's runs."""
    number = task_named(contest.tested).test_number(cell.repeat)
    return _labels(contest.tested, contest.data_seed(cell), contest.size, number)


@cache
def _majority(benchmark: str, tested: str, size: str, repeat: int, seed: int | str) -> int:
    task = task_named(benchmark)
    labels = symbolic_split(task, "train", size, repeat, seed=seed).labels
    often = dict(
        zip(task.labels.names, np.bincount(labels, minlength=len(task.labels)).tolist(), strict=True)
    )
    return int(np.argmax([often.get(name, 0) for name in task_named(tested).labels.names]))


@cache
def _network_sees(
    benchmark: str,
    trained_on: str,
    source: str,
    network: str,
    shift: str,
    percent: float,
    seed: int | str,
    size: str,
    number: int,
) -> Ints16:
    from nsl_bench.perception.predict import predictions_of
    from nsl_bench.perception.trained_networks import trained

    task, images = _parts(benchmark, source)
    split = make_split(task, images, "test", size, number, percent=percent, seed=seed)
    change = resolve(shift, task, images)
    wider = covering(task_named(trained_on), task)
    trained_network = trained(
        network, *_parts(trained_on if wider is task_named(trained_on) else benchmark, source)
    )
    return predictions_of(split, images, change, trained_network).concepts
