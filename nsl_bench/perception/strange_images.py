"""Images that show no concept, made from images that do. A network should be uncertain about them.

They are made in the same way for every source and are not a shift of any task, so what is chosen on them
never uses the shifts that a task measures.

Images are uint8 [m, height, width, channels].

* `halved`: the upper half of one image over the lower half of another. No network is trained on these. A
  network's confidence is scaled on its validation images, unchanged and halved.
* `fields`, `recoloured`, `shuffled` (`KINDS`): EDL-GEN trains against some of them on colour images.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

_CELLS = (1, 2, 4, 8, 16)


def halved(
    images: npt.NDArray[np.uint8], labels: npt.NDArray[np.int16], rng: np.random.Generator
) -> npt.NDArray[np.uint8]:
    """Join the upper half of each image with the lower half of an image of another concept.

    Args:
        labels: int16 [m], the concept of each image; at least two different ones.
    """
    result = images.copy()
    middle = images.shape[1] // 2
    for k, label in enumerate(labels.tolist()):
        other = rng.choice(np.flatnonzero(labels != label))
        result[k, middle:] = images[other, middle:]
    return result


def fields(images: npt.NDArray[np.uint8], rng: np.random.Generator) -> npt.NDArray[np.uint8]:
    """Replace each image by random colours: one for the whole image, or 2 x 2 to 16 x 16 that blend."""
    height, width, channels = images.shape[1:]
    result = np.empty_like(images)
    for k, cells in enumerate(rng.choice(_CELLS, len(images)).tolist()):
        colours = rng.uniform(0, 255, (cells, cells, channels))
        down, across = (_blend(side, cells) for side in (height, width))
        result[k] = np.rint(np.einsum("ya,xb,abc->yxc", down, across, colours, optimize=True))
    return result


def recoloured(images: npt.NDArray[np.uint8], rng: np.random.Generator) -> npt.NDArray[np.uint8]:
    """Change the colours of each image: every corner of the colour cube gets a random colour.

    Colours between the corners blend. Inverted, darker and grey images and images with exchanged channels are
    all among these.
    """
    count, channels = len(images), images.shape[3]
    levels = images.astype(np.float32) / 255
    corners = rng.uniform(0, 255, (count, 2**channels, channels)).astype(np.float32)
    result = np.zeros(images.shape, np.float32)
    for corner in range(2**channels):
        share = np.ones(images.shape[:3], np.float32)
        for channel in range(channels):
            level = levels[..., channel]
            share *= level if corner >> channel & 1 else 1 - level
        result += share[..., None] * corners[:, None, None, corner]
    return np.rint(result).clip(0, 255).astype(np.uint8)


def shuffled(images: npt.NDArray[np.uint8], rng: np.random.Generator) -> npt.NDArray[np.uint8]:
    """Exchange the four quarters of each image at random, so that none stays where it was."""
    height, width = (side // 2 for side in images.shape[1:3])
    places = [(slice(y, y + height), slice(x, x + width)) for y in (0, height) for x in (0, width)]
    result = images.copy()
    for k in range(len(images)):
        order = rng.permutation(4)
        while (order == np.arange(4)).any():
            order = rng.permutation(4)
        for place, source in zip(places, order.tolist(), strict=True):
            result[k][place] = images[k][places[source]]
    return result


KINDS: Mapping[str, Callable[[npt.NDArray[np.uint8], np.random.Generator], npt.NDArray[np.uint8]]] = {
    "fields": fields,
    "recoloured": recoloured,
    "shuffled": shuffled,
}


def made_strange(
    images: npt.NDArray[np.uint8], kinds: Sequence[str], rng: np.random.Generator
) -> npt.NDArray[np.uint8]:
    """Make each image strange in one of several ways, each as likely as another."""
    result = np.empty_like(images)
    chosen = rng.integers(0, len(kinds), len(images))
    for k, kind in enumerate(kinds):
        some = chosen == k
        result[some] = KINDS[kind](images[some], rng)
    return result


def _blend(side: int, cells: int) -> npt.NDArray[np.float64]:
    """float64 [side, cells]: shares of each of `cells` points, evenly spaced, in each pixel of a line."""
    if cells == 1:
        return np.ones((side, 1))
    place = np.linspace(0, cells - 1, side)[:, None]
    return np.asarray(np.maximum(0, 1 - np.abs(place - np.arange(cells))), np.float64)
