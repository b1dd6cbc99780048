"""The benchmark's own data, against which a submission is held: hashes, labels, and what a network sees."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cache

import numpy as np
import numpy.typing as npt

from nsl_bench import registry
from nsl_bench.benchmark import Benchmark
from nsl_bench.data.content import content_hash
from nsl_bench.data.splits import make_source, make_split, symbolic_split
from nsl_bench.run.job import Job
from nsl_bench.shift import resolve
from nsl_bench.source import ImageSource
from nsl_bench.types import Part, Split

from .contests import Cell, Contest

__all__ = ["PARTS", "hashes_of", "majority", "network_sees", "test_of", "truth"]

PARTS: tuple[Part, ...] = ("train", "test")
"""The parts that have a content hash."""


@cache
def _parts(benchmark: str, source: str) -> tuple[Benchmark, ImageSource]:
    task: Benchmark = registry.create("benchmark", benchmark)
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
    shift, percent = ("", 0.0) if job.track == "symbolic" else (job.shift, float(job.percent))
    size, repeat = (job.size, job.repeat) if part == "train" else ("small", 1)
    return _true_hash(job.benchmark, job.source, part, size, repeat, shift, percent, job.seed)


@cache
def _labels(benchmark: str, seed: int | str) -> npt.NDArray[np.int64]:
    """The test set's labels, the same at every share of shift."""
    task = registry.create("benchmark", benchmark)
    return symbolic_split(task, "test", seed=seed).labels.astype(np.int64)


def truth(job: Job, contest: Contest, cell: Cell) -> npt.NDArray[np.int64]:
    """The labels of a run's test set."""
    return _labels(job.benchmark, contest.data_seed(cell))


def majority(job: Job, contest: Contest, cell: Cell) -> int:
    """The most frequent label of a run's train set, the first on ties."""
    return _majority(job.benchmark, job.size, job.repeat, contest.data_seed(cell))


@cache
def _majority(benchmark: str, size: str, repeat: int, seed: int | str) -> int:
    labels = symbolic_split(registry.create("benchmark", benchmark), "train", size, repeat, seed=seed).labels
    return int(np.bincount(labels).argmax())


def test_of(job: Job, contest: Contest, cell: Cell, evaluation: str) -> tuple[str, npt.NDArray[np.int32]]:
    """What tells a run's test examples from others, and int32 [n, slots] the images that they show.

    There are no slots where true concepts are asked about. Which images are shown does not depend on the
    shift.
    """
    labels = truth(job, contest, cell)
    name = hashlib.blake2b(labels.tobytes(), digest_size=16).hexdigest()
    if evaluation == "hypothesis" or job.track == "symbolic":
        return name, np.empty((len(labels), 0), np.int32)
    return name, _test_images(job.benchmark, job.source, contest.data_seed(cell))


@cache
def _test_images(benchmark: str, source: str, seed: int | str) -> npt.NDArray[np.int32]:
    return make_split(*_parts(benchmark, source), "test", seed=seed).images


@cache
def network_sees(
    benchmark: str, source: str, network: str, shift: str, percent: float, seed: int | str
) -> npt.NDArray[np.int16]:
    """int16 [n, slots]: the concepts that a network sees in the test images."""
    from nsl_bench.perception.library import trained
    from nsl_bench.perception.predict import predictions_of

    task, images = _parts(benchmark, source)
    split = make_split(task, images, "test", percent=percent, seed=seed)
    change = resolve(shift, task, images)
    return predictions_of(split, images, change, trained(network, task, images)).concepts
