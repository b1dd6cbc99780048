"""Tiny tasks for trying a learner within seconds: blank slots, several labels, with or without meta-data.

They need neither an image source nor a network. Images are patches whose grey level is the concept.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from nsl_bench.core.benchmark import Benchmark
from nsl_bench.core.source import ImageSource
from nsl_bench.core.tracks import Track
from nsl_bench.core.types import (
    BLANK,
    Array,
    ConceptSpace,
    Floats32,
    Ints,
    Ints16,
    LabelSpace,
    Part,
    PoolPart,
    Predictions,
    Split,
    UInts8,
)
from nsl_bench.learners.view import View

_PARTS: tuple[Part, ...] = ("train", "validation", "test")
_DIGITS = ConceptSpace("digit", ("1", "2", "3"))
SHADES = ConceptSpace("shade", ("dark", "grey", "bright"))


class Patches(Benchmark):
    """Two patches, the second sometimes blank; a blank one differs from nothing."""

    name = "patches"
    version = "1"
    description = "Do two patches have the same shade?"
    labels = LabelSpace(("same", "differ"), (None, "differ"))
    slots = ("left", "right")
    concept_space = SHADES
    metadata: Mapping[str, str] = {"shelf": "1..3"}
    background = "unlike(X,Y) :- shade(X), shade(Y), X != Y. shade(dark). shade(grey). shade(bright)."
    bias = (
        "#modeh(differ). #modeb(patch(left,var(shade))). #modeb(patch(right,var(shade))). "
        "#modeb(unlike(var(shade),var(shade))). #maxv(2). "
        '#bias("penalty(1, head)."). #bias("penalty(1, body(X)) :- in_body(X).").'
    )
    true_rule = "differ :- patch(left,X), patch(right,Y), X != Y."
    inputs = "1 { patch(P,S) : shade(S) } 1 :- P = (left;right)."
    sizes: Mapping[str, int] = {"small": 60}
    test_size = 60
    sources = ("patches",)
    named_shifts: Mapping[str, str] = {}

    def generate(
        self, part: Part, size: str, repeat: int, rng: np.random.Generator, exclude: Split | None = None
    ) -> Split:
        n = self.test_size if part == "test" else self.size(size)
        concepts = rng.integers(0, 3, (n, 2)).astype(np.int16)
        concepts[::7, 1] = BLANK
        differ = (concepts[:, 0] != concepts[:, 1]) & (concepts[:, 1] != BLANK)
        shelf = rng.integers(1, 4, n)
        images = np.where(concepts == BLANK, BLANK, concepts * 20 + rng.integers(0, 20, (n, 2)))
        return Split(
            part,
            SHADES,
            concepts,
            differ.astype(np.int16),
            {"shelf": shelf},
            images.astype(np.int32),
            rng.permutation(n).astype(np.int32),
        )

    def facts(self, slot: int, concept: str) -> tuple[str, ...]:
        return (f"patch({self.slots[slot]},{concept})",)

    def metadata_facts(self, metadata: Mapping[str, Any]) -> tuple[str, ...]:
        return (f"shelf({metadata['shelf']})",)

    def knowledge_features(self, concepts: Ints16, metadata: Mapping[str, Array]) -> Floats32:
        differ: Floats32 = (concepts[:, :1] != concepts[:, 1:]).astype(np.float32)
        return differ


class PatchSource(ImageSource):
    """Noisy patches, 20 of each shade in each part of the pool; counts how often it renders."""

    name = "patches"
    version = "1"
    licence = "MIT"
    citation = "Made for tests."
    named_shifts: Mapping[str, str] = {}
    segments = ("dull", "vivid")

    def __init__(self, channels: int = 1, side: int = 12, concept_space: ConceptSpace = SHADES) -> None:
        self.concept_space = concept_space
        self.shape = (side, side, channels)
        self.rendered = 0

    def labels(self, part: PoolPart) -> Ints16:
        return np.repeat(np.arange(3), 20).astype(np.int16)

    def render(self, part: PoolPart, indices: Ints, variant: str = "standard") -> UInts8:
        self.rendered += len(indices)
        images = np.empty((len(indices), *self.shape), np.uint8)
        for row, index in enumerate(np.asarray(indices).tolist()):
            noise = np.random.default_rng([index, len(part)]).integers(-15, 16, self.shape)
            images[row] = 40 + 80 * (index // 20) + noise
        return images

    def segmentation(self, part: PoolPart, indices: Ints) -> UInts8:
        return (self.render(part, indices)[..., 0] > 80).astype(np.uint8)

    def fingerprint(self) -> str:
        return f"patches-{self.shape}"


class MockEqual(Patches):
    """Two labels, one without an atom; a slot that is sometimes blank; meta-data."""

    name = "mock_equal"
    sizes: Mapping[str, int] = {"small": 40}
    test_size = 20


class MockLargest(Benchmark):
    """Three labels, each with an atom; no blank slots, no meta-data."""

    name = "mock_largest"
    version = "1"
    concept_space = _DIGITS
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
    sizes: Mapping[str, int] = {"small": 40}
    test_size = 20
    sources = ()
    named_shifts: Mapping[str, str] = {}

    def facts(self, slot: int, concept: str) -> tuple[str, ...]:
        return (f"digit({self.slots[slot]},{concept})",)

    def knowledge_features(self, concepts: Ints16, metadata: Mapping[str, Array]) -> Floats32:
        return np.sort(concepts, axis=1).astype(np.float32)

    def generate(
        self, part: Part, size: str, repeat: int, rng: np.random.Generator, exclude: Split | None = None
    ) -> Split:
        n = self.test_size if part == "test" else self.size(size)
        concepts = rng.integers(0, 3, (n, 3)).astype(np.int16)
        return Split(part, _DIGITS, concepts, concepts.argmax(axis=1).astype(np.int16))


MOCKS: tuple[Benchmark, ...] = (MockEqual(), MockLargest())
"""One task of each kind."""


def mock_views(benchmark: Benchmark, track: Track, seed: int = 0) -> tuple[View, View, dict[str, View]]:
    """A train view, a validation view, and a test view for each evaluation, of a mock task."""
    source = PatchSource(side=8, concept_space=benchmark.concept_space)
    images = None if track == "symbolic" else source
    views: dict[Part, View] = {}
    for number, part in enumerate(_PARTS):
        split, seen = _mock_split(benchmark, part, np.random.default_rng([seed, number]))
        truth = Predictions.certain(split.concepts, 3)
        if part == "test":
            break
        handed = truth if track == "symbolic" else seen
        views[part] = View(split, benchmark, track, predictions=handed, source=images)
    tests: dict[str, View] = {}
    if track != "symbolic":
        tests["framework"] = View(split, benchmark, track, predictions=seen, source=images, labelled=False)
    if track in ("symbolic", "pretrained", "concept_labels"):
        tests["hypothesis"] = View(split, benchmark, track, predictions=truth, labelled=False)
    return views["train"], views["validation"], tests


def _mock_split(benchmark: Benchmark, part: Part, rng: np.random.Generator) -> tuple[Split, Predictions]:
    """A part of a mock task, and what a network that is right and 90 % sure sees of it."""
    split = benchmark.generate(part, "small", 1, rng)
    images = np.where(
        split.concepts == BLANK, BLANK, split.concepts * 20 + rng.integers(0, 20, split.concepts.shape)
    )
    split = Split(
        part, split.concept_space, split.concepts, split.labels, split.metadata, images.astype(np.int32)
    )
    truth = Predictions.certain(split.concepts, 3)
    sure = (truth.probabilities * 0.9 + ~truth.blank[:, :, None] * (0.1 / 3)).astype(np.float32)
    return split, Predictions(sure, truth.blank)
