"""The task's own data, with which a submission is compared: hashes, labels, and a network's predictions."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from nsl_bench.core import registry
from nsl_bench.core.benchmark import Benchmark
from nsl_bench.core.shift import resolve
from nsl_bench.core.source import ImageSource
from nsl_bench.core.types import BLANK, ConceptSpace, Part, Split
from nsl_bench.data.content import content_hash
from nsl_bench.data.splits import make_source, make_split, symbolic_split
from nsl_bench.run.job import Job
from nsl_bench.run.structural_shift import covering, with_concepts

from .contests import Cell, Contest

__all__ = [
    "PARTS",
    "concepts_of",
    "hashes_of",
    "images_shown",
    "labels_of",
    "majority",
    "network_sees",
    "sequences_of_run",
    "test_number",
    "true_concepts",
    "truth",
]

PARTS: tuple[Part, ...] = ("train", "test")
"""The parts that have a content hash."""


@cache
def _parts(benchmark: str, source: str) -> tuple[Benchmark, ImageSource]:
    task = _task(benchmark)
    return task, make_source(task, source)


@cache
def _standard(benchmark: str, source: str, part: Part, size: str, repeat: int, seed: int) -> Split:
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


def hashes_of(job: Job, contest: Contest, cell: Cell) -> Mapping[str, str]:
    """The content hashes of a run's parts, or those of what was handed out of them."""
    handed_out = contest.hashes(cell)
    return handed_out or {part: _hash_of(job, part) for part in PARTS}


def _hash_of(job: Job, part: Part) -> str:
    dial = (job.test_shift, job.test_percent) if part == "test" else (job.train_shift, job.train_percent)
    shift, percent = ("", 0.0) if job.track == "symbolic" else (dial[0], float(dial[1]))
    place = _test_of(job) if part == "test" else (job.size, job.repeat)
    task = job.tested if part == "test" else job.task
    return _true_hash(task, job.source, part, *place, shift, percent, job.seed)


def _test_of(job: Job) -> tuple[str, int]:
    """The size and the number under which a run's test set is made."""
    task = _task(job.tested)
    return next(iter(task.sizes)), task.test_number(job.repeat)


@cache
def _task(benchmark: str) -> Benchmark:
    found: Benchmark = registry.create("benchmark", benchmark)
    return found


def test_number(job: Job) -> int:
    """Which test set a run has: 1 unless train sets have test sets of their own."""
    return _task(job.tested).test_number(job.repeat)


@cache
def _labels(benchmark: str, seed: int | str, size: str, number: int) -> npt.NDArray[np.int64]:
    """A test set's labels, the same at every share of shift."""
    return symbolic_split(_task(benchmark), "test", size, number, seed=seed).labels.astype(np.int64)


def labels_of(contest: Contest, cell: Cell) -> npt.NDArray[np.int64]:
    """The labels of the test set of a cell's runs."""
    number = _task(contest.tested).test_number(cell.repeat)
    return _labels(contest.tested, contest.data_seed(cell), contest.size, number)


def truth(job: Job, contest: Contest, cell: Cell) -> npt.NDArray[np.int64]:
    """The labels of a run's test set."""
    return _labels(job.tested, contest.data_seed(cell), *_test_of(job))


def concepts_of(job: Job) -> ConceptSpace:
    """The concepts of a run: those of its train or test task, whichever has more."""
    return covering(_task(job.task), _task(job.tested)).concept_space


def true_concepts(job: Job, contest: Contest, cell: Cell) -> npt.NDArray[np.int16]:
    """int16 [n, slots]: the concepts of a run's test images, indices into `concepts_of`."""
    size, number = _test_of(job)
    split = symbolic_split(_task(job.tested), "test", size, number, seed=contest.data_seed(cell))
    return with_concepts(split, concepts_of(job)).concepts


def network_sees(job: Job, contest: Contest, cell: Cell) -> npt.NDArray[np.int16]:
    """int16 [n, slots]: the concepts that a run's network predicts for its test images.

    They are those of the run's train or test task, whichever has more (`nsl_bench.run.structural_shift`).
    """
    assert job.network is not None
    names = job.tested, job.task, job.source, job.network, job.test_shift
    return _network_sees(*names, job.test_percent, contest.data_seed(cell), *_test_of(job))


def majority(job: Job, contest: Contest, cell: Cell) -> int:
    """The test task's label that is the most frequent in a run's train set, the first on ties."""
    return _majority(job.task, job.tested, job.size, job.repeat, contest.data_seed(cell))


@cache
def _majority(benchmark: str, tested: str, size: str, repeat: int, seed: int | str) -> int:
    task = _task(benchmark)
    labels = symbolic_split(task, "train", size, repeat, seed=seed).labels
    often = dict(
        zip(task.labels.names, np.bincount(labels, minlength=len(task.labels)).tolist(), strict=True)
    )
    return int(np.argmax([often.get(name, 0) for name in _task(tested).labels.names]))


def images_shown(job: Job, contest: Contest, cell: Cell, evaluation: str) -> npt.NDArray[np.int32]:
    """int32 [n, slots]: the images that a run's test examples show; no slots where concepts are asked about.

    They do not depend on the shift.
    """
    if evaluation == "hypothesis" or job.track == "symbolic":
        return np.empty((len(truth(job, contest, cell)), 0), np.int32)
    return _test_split(job.tested, job.source, contest.data_seed(cell), *_test_of(job)).images


def shifted(job: Job, contest: Contest, cell: Cell, evaluation: str) -> npt.NDArray[np.bool_] | None:
    """bool [n]: which of a run's test examples are shifted; None where concepts are asked about."""
    if evaluation == "hypothesis" or job.track == "symbolic":
        return None
    split = _test_split(job.tested, job.source, contest.data_seed(cell), *_test_of(job))
    return split.shift(float(job.test_percent)).shifted


def sequences_of_run(job: Job, contest: Contest, cell: Cell) -> dict[str, Any]:
    """Steps and numbers of images of a run's test rows, int [n] each; nothing where rows are no steps."""
    task = _task(job.tested)
    if not task.sequential:
        return {}
    size, number = _test_of(job)
    split = symbolic_split(task, "test", size, number, seed=contest.data_seed(cell))
    return {"steps": split.steps, "images": (split.concepts != BLANK).sum(axis=1)}


@cache
def _test_split(benchmark: str, source: str, seed: int | str, size: str, number: int) -> Split:
    return make_split(*_parts(benchmark, source), "test", size, number, seed=seed)


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
) -> npt.NDArray[np.int16]:
    from nsl_bench.perception.predict import predictions_of
    from nsl_bench.perception.trained_networks import trained

    task, images = _parts(benchmark, source)
    split = make_split(task, images, "test", size, number, percent=percent, seed=seed)
    change = resolve(shift, task, images)
    wider = covering(_task(trained_on), task)
    known = trained(network, *_parts(trained_on if wider is _task(trained_on) else benchmark, source))
    return predictions_of(split, images, change, known).concepts
