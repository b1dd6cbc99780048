"""A toy task, for tests of what is generic: do two grey patches have the same shade?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from nsl_bench.core.benchmark import Benchmark
from nsl_bench.core.shift import PixelShift, Shift
from nsl_bench.core.source import ImageSource
from nsl_bench.core.types import BLANK, ConceptSpace, LabelSpace, Part, PoolPart, Predictions, Split, Track
from nsl_bench.learners.view import View

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
    sources = ("patches",)
    named_shifts: Mapping[str, str] = {}

    def generate(
        self, part: Part, size: str, repeat: int, rng: np.random.Generator, exclude: Split | None = None
    ) -> Split:
        n = self.size(size)
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

    def knowledge_features(
        self, concepts: npt.NDArray[np.int16], metadata: Mapping[str, npt.NDArray[Any]]
    ) -> npt.NDArray[np.float32]:
        differ: npt.NDArray[np.float32] = (concepts[:, :1] != concepts[:, 1:]).astype(np.float32)
        return differ


class PatchSource(ImageSource):
    """Noisy patches, 20 of each shade in each part of the pool; counts how often it renders."""

    name = "patches"
    version = "1"
    licence = "MIT"
    citation = "Made for tests."
    named_shifts: Mapping[str, str] = {}
    segments = ("dull", "vivid")

    def __init__(self, channels: int = 1, side: int = 12) -> None:
        self.concept_space = SHADES
        self.shape = (side, side, channels)
        self.rendered = 0

    def labels(self, part: PoolPart) -> npt.NDArray[np.int16]:
        return np.repeat(np.arange(3), 20).astype(np.int16)

    def render(
        self, part: PoolPart, indices: npt.NDArray[np.int64], variant: str = "standard"
    ) -> npt.NDArray[np.uint8]:
        self.rendered += len(indices)
        images = np.empty((len(indices), *self.shape), np.uint8)
        for row, index in enumerate(np.asarray(indices).tolist()):
            noise = np.random.default_rng([index, len(part)]).integers(-15, 16, self.shape)
            images[row] = 40 + 80 * (index // 20) + noise
        return images

    def segmentation(self, part: PoolPart, indices: npt.NDArray[np.int64]) -> npt.NDArray[np.uint8]:
        return (self.render(part, indices)[..., 0] > 80).astype(np.uint8)

    def fingerprint(self) -> str:
        return f"patches-{self.shape}"


class Negative(PixelShift):
    """Dark becomes bright."""

    spec = "negative"

    def apply(self, images: npt.NDArray[np.uint8], indices: npt.NDArray[np.int64]) -> npt.NDArray[np.uint8]:
        return 255 - images


def patches(part: Part = "train", percent: float = 0, seed: int = 0) -> Split:
    """Examples of the toy task, with images."""
    return Patches().generate(part, "small", 1, np.random.default_rng([seed, len(part)])).shift(percent)


def view(
    split: Split,
    track: Track = "pretrained",
    *,
    benchmark: Benchmark | None = None,
    labelled: bool = True,
    source: ImageSource | None = None,
    shift: Shift | None = None,
) -> View:
    """A view of a split with true concepts as certain predictions."""
    certain = Predictions.certain(split.concepts, len(split.concept_space))
    return View(
        split,
        benchmark or Patches(),
        track,
        predictions=certain,
        source=source,
        shift=shift,
        labelled=labelled,
    )
