"""Images that show no concept, composed of images that do. A network should be uncertain about them.

A network's confidence is calibrated on its validation images, half of them unchanged and half of them turned
into strange images. Strange images are made in the same way for every source and are not a shift of any task,
so calibration never uses the shifts that a task measures.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["halved"]


def halved(
    images: npt.NDArray[np.uint8], labels: npt.NDArray[np.int16], rng: np.random.Generator
) -> npt.NDArray[np.uint8]:
    """Join the upper half of each image with the lower half of an image of another concept.

    Args:
        images: uint8 [m, height, width, channels], at the network's input size.
        labels: int16 [m], the concept of each image; at least two different ones.
        rng: selects the other images.
    """
    result = images.copy()
    middle = images.shape[1] // 2
    for k, label in enumerate(labels.tolist()):
        other = rng.choice(np.flatnonzero(labels != label))
        result[k, middle:] = images[other, middle:]
    return result
