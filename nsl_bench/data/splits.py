"""From a benchmark and an image source to the examples of a run: symbols, images, order of shifting.

Everything follows from names and a seed: the symbolic examples, which image of the pool shows each
concept, and the order in which examples become shifted, so that those shifted at p % are also shifted at
every higher percentage.
"""

import copy
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, get_args

import numpy as np

from nsl_bench.core import cache, registry
from nsl_bench.core.annotation import COMPLETE, Annotation
from nsl_bench.core.benchmark import Benchmark
from nsl_bench.core.errors import UserError, did_you_mean
from nsl_bench.core.seeding import generator, seed_word
from nsl_bench.core.source import ImageSource
from nsl_bench.core.types import BLANK, Ints16, Ints32, Part, PoolPart, Split

_TASKS_KEPT = 64

_KEPT = 16
"""Generated parts that are kept: the test set, and the train sets of five repeats in two sizes."""


def make_source(benchmark: Benchmark, spec: str | None = None) -> ImageSource:
    """The image source that a spec names, or the benchmark's default one, for its concepts."""
    spec = spec or benchmark.sources[0]
    suitable = f"Sources for {benchmark.name}: {', '.join(benchmark.sources)}."
    try:
        source: ImageSource = registry.create("source", spec, concept_space=benchmark.concept_space)
    except UserError as error:
        if registry.Spec.parse(spec).name in benchmark.sources:
            raise
        raise UserError(f"{error} {suitable}") from error
    if source.concept_space.concepts != benchmark.concept_space.concepts:
        shown = source.concept_space.name
        raise UserError(
            f"The image source {source.name} shows {shown}, which {benchmark.name} cannot use. {suitable}"
        )
    return source


def mislabelled(source: ImageSource, dials: Annotation) -> ImageSource:
    """The source with the labels of networks' images as they are annotated, `BLANK` for a missing one."""
    shares = dials.wrong_concepts, dials.missing_concepts
    if not any(shares):
        return source
    fingerprint = source.network_fingerprint()
    rng = generator("annotation", source.name, fingerprint)
    labels = dials.concepts(source.labels("network"), len(source.concept_space), rng)
    result, by_part = copy.copy(source), {part: source.labels(part) for part in get_args(PoolPart)}
    vars(result).update(
        labels={**by_part, "network": labels}.__getitem__,
        render=source.render,
        segmentation=source.segmentation,
        network_fingerprint=partial(cache.key, fingerprint, *shares),
    )
    return result


def check_percent(percent: float) -> float:
    """The percentage, if it is one."""
    if not 0 <= percent <= 100:
        raise UserError(f"percent must be between 0 and 100; got {percent:g}.")
    return percent


def no_shift(percent: float, known: Sequence[str]) -> UserError:
    """The error for a share of shifted examples where no shift is named."""
    fix = f"add shift='{known[0]}'" if known else "name one"
    others = did_you_mean("", known) if len(known) > 1 else ""
    return UserError(f"percent={percent:g} requires a shift: {fix}.{others}")


def symbolic_split(
    benchmark: Benchmark,
    part: Part,
    size: str = "small",
    repeat: int = 1,
    *,
    seed: int | str = 0,
    splits: Path | None = None,
) -> Split:
    """Examples without images.

    Args:
        part: train, validation or test; the test set is the same whatever the size is, and whatever the
            repeat is unless the task has `own_tests`.
        repeat: 1, 2, ...
        seed: another seed gives other examples; a text is a secret one.
        splits: a folder of splits made elsewhere, to be used in place of generated ones.
    """
    seed = seed_word(seed)
    benchmark.size(size)
    if repeat < 1:
        raise UserError(f"repeat must be 1 or more; got {repeat}.")
    if splits is not None:
        if part == "validation":
            raise UserError(f"The splits in {splits} have no validation split.")
        return benchmark.read(splits, part, size, repeat)
    task = task_of_split(benchmark, repeat, seed)
    if part == "test":
        return _generated(_Very(task), "test", next(iter(task.sizes)), 0, seed)
    return _generated(_Very(task), part, size, repeat, seed)


class _Very:
    """A benchmark as a key, by identity: a user's class may define equality without a hash."""

    def __init__(self, benchmark: Benchmark) -> None:
        self.benchmark = benchmark

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Very) and self.benchmark is other.benchmark

    def __hash__(self) -> int:
        return id(self.benchmark)


def task_of_split(benchmark: Benchmark, repeat: int, seed: int | str = 0) -> Benchmark:
    """`Benchmark.for_split`, the same object for the same arguments."""
    return _of_split(_Very(benchmark), repeat, seed_word(seed))


@lru_cache(maxsize=_TASKS_KEPT)
def _of_split(very: _Very, repeat: int, seed: int | str) -> Benchmark:
    return very.benchmark.for_split(repeat, seed)


@lru_cache(maxsize=_KEPT)
def _generated(very: _Very, part: Part, size: str, repeat: int, seed: int | str) -> Split:
    """Generated examples; the same ones are shown at every share of shift, and to every network."""
    benchmark = very.benchmark
    words = ("symbols", benchmark.name, benchmark.version, seed)
    if part == "test":
        split = benchmark.generate("test", size, 0, generator(*words, "test"))
    else:
        split = _beside_the_test(very, part, size, repeat, seed)
    if isinstance(seed, str):  # a secret one: not even the order may tell anything
        order = generator("order", *words, part, size, repeat).permutation(split.n_sequences)
        split = split.take_sequences(order)
    return split


def _beside_the_test(very: _Very, part: Part, size: str, repeat: int, seed: int | str) -> Split:
    """A train or validation part: no example of it is in the test set, or in both."""
    benchmark = very.benchmark
    rng = generator("symbols", benchmark.name, benchmark.version, seed, part, size, repeat)
    test = _generated(very, "test", next(iter(benchmark.sizes)), 0, seed)
    if part == "train":
        return benchmark.generate("train", size, repeat, rng, exclude=test)
    train = _generated(very, "train", size, repeat, seed)
    return benchmark.generate_validation(size, repeat, rng, _joined(test, train))


def _joined(first: Split, second: Split) -> Split:
    """The examples of both, without images."""
    return Split(
        first.part,
        first.concept_space,
        np.concatenate([first.concepts, second.concepts]),
        np.concatenate([first.labels, second.labels]),
        {name: np.concatenate([first.metadata[name], second.metadata[name]]) for name in first.metadata},
        sequences=np.concatenate([first.sequences, second.sequences + first.n_sequences]),
        steps=np.concatenate([first.steps, second.steps]),
    )


def assign_images(split: Split, pool: Ints16, rng: np.random.Generator, avoid: Ints32 | None = None) -> Split:
    """The split with an image of the right concept in every slot that is not blank.

    The images of a concept are dealt out in random order, each once before any comes twice.

    Args:
        pool: int16 [m], the concept of each image of the pool.
        avoid: images that are shown only where a concept has no others.
    """
    flat = split.concepts.reshape(-1)
    images = np.full(flat.shape, BLANK, np.int32)
    for concept in np.unique(flat[flat != BLANK]).tolist():
        where = np.flatnonzero(flat == concept)
        candidates = np.flatnonzero(pool == concept)
        if avoid is not None:
            others = np.setdiff1d(candidates, avoid)
            candidates = others if len(others) else candidates
        if not len(candidates):
            raise UserError(
                f"The image source has no image of '{split.concept_space.concepts[concept]}' in pool "
                f"part {split.pool}, which {split.part} examples use; add images of it."
            )
        rounds = -(-len(where) // len(candidates))
        dealt = np.concatenate([rng.permutation(candidates) for _ in range(rounds)])
        images[where] = dealt[: len(where)]
    return replace(split, images=images.reshape(split.concepts.shape))


def make_split(
    benchmark: Benchmark,
    source: ImageSource,
    part: Part,
    size: str = "small",
    repeat: int = 1,
    *,
    percent: float = 0,
    seed: int | str = 0,
    splits: Path | None = None,
    annotation: Annotation = COMPLETE,
) -> Split:
    """Examples with images, `percent` % of them shifted.

    An annotation changes no image: examples without a label are left out after images were assigned.
    Splits from a folder are shifted as the paper shifted them: the first ``floor(p/100 N)`` in file order.
    Where they name images, those are shown.
    """
    check_percent(percent)
    seed = seed_word(seed)
    split = symbolic_split(benchmark, part, size, repeat, seed=seed, splits=splits)
    task = task_of_split(benchmark, repeat, seed)
    words: tuple[Any, ...] = (task.name, task.version, seed, part)
    words += () if part == "test" else (size, repeat)
    avoid = None
    if part == "validation":
        avoid = make_split(benchmark, source, "train", size, repeat, seed=seed).images.reshape(-1)
    pool = source.labels(split.pool)
    if split.images.shape == split.concepts.shape:
        shown = split.images != BLANK
        which = split.images[shown]
        if which.max(initial=-1) >= len(pool) or (pool[which] != split.concepts[shown]).any():
            raise UserError(
                f"The splits in {splits} name images that {source.name} does not have in this order; for "
                "MNIST's, use the source mnist:FOLDER,whole=true."
            )
    else:
        split = assign_images(split, pool, generator("images", *words), avoid)
    order = np.argsort(np.argsort(split.ranks[split.first_rows]))
    if splits is None:
        order = generator("ranks", *words).permutation(split.n_sequences)
    split = split.ranked(annotation.ordered(split, order, benchmark))
    return annotation.labelled(split, benchmark, size, repeat, seed).shift(percent, floor=splits is not None)
