"""Images that show no concept, made of images that do: what a network should be unsure about.

How sure a network is, is chosen on the validation share of its train images: half of what it sees there is as
it is, half is strange. Strange images are made alike for every source and are no shift of any task, so that
what a task measures stays unseen.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["halved"]


def halved(
    images: npt.NDArray[np.uint8], labels: npt.NDArray[np.int16], rng: np.random.Generator
) -> npt.NDArray[np.uint8]:
    """Each image's upper half, over the lower half of an image of another concept.

    Args:
        images: uint8 [m, height, width, channels], as a network sees them.
        labels: int16 [m], the concept of each; at least two different ones.
        rng: decides the other images.
    """
    result = images.copy()
    middle = images.shape[1] // 2
    for k, label in enumerate(labels.tolist()):
        other = rng.choice(np.flatnonzero(labels != label))
        result[k, middle:] = images[other, middle:]
    return result
