"""A toy task, for tests of what is generic: do two grey patches have the same shade?"""

import numpy as np

from nsl_bench.core.benchmark import Benchmark
from nsl_bench.core.shift import PixelShift, Shift
from nsl_bench.core.source import ImageSource
from nsl_bench.core.tracks import Track
from nsl_bench.core.types import Ints, Part, Predictions, Split, UInts8
from nsl_bench.learners.view import View
from nsl_bench.run.mock_tasks import Patches


class Negative(PixelShift):
    """Dark becomes bright."""

    spec = "negative"

    def apply(self, images: UInts8, indices: Ints) -> UInts8:
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
