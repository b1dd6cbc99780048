"""Tiny tasks for trying a learner within seconds: blank slots, several labels, with or without meta-data.

They need neither an image source nor a network. Images are patches whose grey level is the concept.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from nsl_bench.core.benchmark import Benchmark
from nsl_bench.core.source import ImageSource
from nsl_bench.core.types import BLANK, ConceptSpace, LabelSpace, Part, PoolPart, Predictions, Split, Track
from nsl_bench.learners.view import View

__all__ = ["MOCKS", "mock_views"]

_PARTS: tuple[Part, ...] = ("train", "validation", "test")
_DIGITS = ConceptSpace("digit", ("1", "2", "3"))


class _Mock(Benchmark):
    version = "1"
    concept_space = _DIGITS
    metadata: Mapping[str, str] = {}
    sizes: Mapping[str, int] = {"small": 40}
    test_size = 20
    sources = ()
    named_shifts: Mapping[str, str] = {}

    def facts(self, slot: int, concept: str) -> tuple[str, ...]:
        return (f"digit({self.slots[slot]},{concept})",)

    def knowledge_features(
        self, concepts: npt.NDArray[np.int16], metadata: Mapping[str, npt.NDArray[Any]]
    ) -> npt.NDArray[np.float32]:
        return np.sort(concepts, axis=1).astype(np.float32)


class MockEqual(_Mock):
    """Two labels, one without an atom; a slot that is sometimes blank; meta-data."""

    name = "mock_equal"
    description = "Do two patches differ?"
    labels = LabelSpace(("valid", "invalid"), (None, "invalid"))
    slots = ("left", "right")
    metadata: Mapping[str, str] = {"shelf": "1..3"}
    background = "value(1..3). neq(X,Y) :- value(X), value(Y), X != Y.\n"
    bias = (
        "#modeh(invalid). #modeb(digit(left,var(value))). #modeb(digit(right,var(value))). "
        "#modeb(neq(var(value),var(value))). #maxv(2). "
        '#bias("penalty(1, head)."). #bias("penalty(1, body(X)) :- in_body(X).").'
    )
    true_rule = "invalid :- digit(left,X), digit(right,Y), X != Y."
    inputs = "1 { digit(left,V) : value(V) } 1. { digit(right,V) : value(V) } 1."

    def generate(
        self, part: Part, size: str, repeat: int, rng: np.random.Generator, exclude: Split | None = None
    ) -> Split:
        n = self.test_size if part == "test" else self.size(size)
        concepts = rng.integers(0, 3, (n, 2)).astype(np.int16)
        concepts[::5, 1] = BLANK
        differ = (concepts[:, 0] != concepts[:, 1]) & (concepts[:, 1] != BLANK)
        return Split(part, _DIGITS, concepts, differ.astype(np.int16), {"shelf": rng.integers(1, 4, n)})

    def metadata_facts(self, metadata: Mapping[str, Any]) -> tuple[str, ...]:
        return (f"shelf({metadata['shelf']})",)


class MockLargest(_Mock):
    """Three labels, each with an atom; no blank slots, no meta-data."""

    name = "mock_largest"
    description = "Which of three patches is the brightest, the first on ties?"
    labels = LabelSpace(("a", "b", "c"), ("largest(a)", "largest(b)", "largest(c)"))
    slots = ("a", "b", "c")
    background = (
        "value(1..3). slot(a). slot(b). slot(c).\n"
        "beaten(S) :- digit(S,X), digit(T,Y), X < Y. beaten(S) :- digit(S,X), digit(T,X), T < S.\n"
    )
    bias = (
        "#modeh(largest(var(slot))). #modeb(digit(var(slot),var(value))). "
        "#modeb(not beaten(var(slot))). #maxv(2). "
        '#bias("penalty(1, head)."). #bias("penalty(1, body(X)) :- in_body(X).").'
    )
    true_rule = "largest(S) :- digit(S,X), not beaten(S)."
    inputs = "1 { digit(S,V) : value(V) } 1 :- slot(S)."

    def generate(
        self, part: Part, size: str, repeat: int, rng: np.random.Generator, exclude: Split | None = None
    ) -> Split:
        n = self.test_size if part == "test" else self.size(size)
        concepts = rng.integers(0, 3, (n, 3)).astype(np.int16)
        return Split(part, _DIGITS, concepts, concepts.argmax(axis=1).astype(np.int16))


MOCKS: tuple[_Mock, ...] = (MockEqual(), MockLargest())
"""One task of each kind."""


class _Patches(ImageSource):
    """Ten noisy patches of each shade in each part of the pool."""

    name = "mock_patches"
    version = "1"
    licence = "MIT"
    citation = "Made by nsl-bench."
    shape = (8, 8, 1)
    named_shifts: Mapping[str, str] = {}
    concept_space = _DIGITS

    def labels(self, part: PoolPart) -> npt.NDArray[np.int16]:
        return np.repeat(np.arange(3), 10).astype(np.int16)

    def render(
        self, part: PoolPart, indices: npt.NDArray[np.int64], variant: str = "standard"
    ) -> npt.NDArray[np.uint8]:
        noise = [np.random.default_rng([int(i), len(part)]).integers(-9, 10, self.shape) for i in indices]
        levels = 50 + 70 * (np.asarray(indices) // 10)
        images = np.stack(noise) + levels[:, None, None, None] if len(noise) else np.empty((0, *self.shape))
        return images.astype(np.uint8)

    def fingerprint(self) -> str:
        return "mock"


def mock_views(benchmark: Benchmark, track: Track, seed: int = 0) -> tuple[View, View, dict[str, View]]:
    """A train view, a validation view, and a test view for each evaluation, of a mock task."""
    source = _Patches()
    images = None if track == "symbolic" else source
    shown: dict[Part, View] = {}
    for number, part in enumerate(_PARTS):
        split, seen = _mock_split(benchmark, part, np.random.default_rng([seed, number]))
        truth = Predictions.certain(split.concepts, 3)
        if part == "test":
            break
        handed = truth if track == "symbolic" else seen
        shown[part] = View(split, benchmark, track, predictions=handed, source=images)
    tests: dict[str, View] = {}
    if track != "symbolic":
        tests["framework"] = View(split, benchmark, track, predictions=seen, source=images, labelled=False)
    if track in ("symbolic", "pretrained", "concept_labels"):
        tests["hypothesis"] = View(split, benchmark, track, predictions=truth, labelled=False)
    return shown["train"], shown["validation"], tests


def _mock_split(benchmark: Benchmark, part: Part, rng: np.random.Generator) -> tuple[Split, Predictions]:
    """A part of a mock task, and what a network that is right and 90 % sure sees of it."""
    split = benchmark.generate(part, "small", 1, rng)
    images = np.where(
        split.concepts == BLANK, BLANK, split.concepts * 10 + rng.integers(0, 10, split.concepts.shape)
    )
    split = Split(part, _DIGITS, split.concepts, split.labels, split.metadata, images.astype(np.int32))
    truth = Predictions.certain(split.concepts, 3)
    sure = (truth.probabilities * 0.9 + ~truth.blank[:, :, None] * (0.1 / 3)).astype(np.float32)
    return split, Predictions(sure, truth.blank)
