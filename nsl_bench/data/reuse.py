"""How many different images a split shows: fewer than its slots where the pool is small.

Images of a concept are dealt out again once all were shown, so that a thousand test examples may rest on a
hundred images; errors on them are then no thousand independent errors.
"""

from __future__ import annotations

import numpy as np

from nsl_bench.core.types import BLANK, Split


def distinct_images(split: Split) -> int:
    """The number of different images of the pool in a split's slots; 0 without images."""
    return len(np.unique(split.images[split.images != BLANK]))


def reuse(split: Split) -> str:
    """A part of a sentence: ``"1,000 examples with 3,536 different images in 4,000 slots"``."""
    slots = int((split.images != BLANK).sum())
    return f"{len(split):,} examples with {distinct_images(split):,} different images in {slots:,} slots"
