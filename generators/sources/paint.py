"""Painting with OpenCV: soft colours through masks, on pictures in float32.

Points are given in pixels and rounded to sixteenths, and masks are filled by OpenCV's whole-number
rasteriser, so that a drawing has the same bytes on every machine.
"""

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from nsl_bench.core.types import Floats32, Ints32, UInts8

from ..keyed_random import Dice

Picture = npt.NDArray[np.float32]
"""float32 [height, width, 3], 0 to 255."""

Mask = npt.NDArray[np.uint8]
"""uint8 [height, width]: 0 where nothing is, 255 where everything is covered."""

Points = npt.NDArray[np.float64]
"""float64 [n, 2]: x to the right, y down, in pixels."""

_SUB = 4


def _fixed(points: Points) -> Ints32:
    return np.rint((points - 0.5) * (1 << _SUB)).astype(np.int32)


def mask_of(size: int, outlines: Iterable[Points]) -> Mask:
    """A mask of filled polygons with smooth edges."""
    import cv2

    mask = np.zeros((size, size), np.uint8)
    for outline in outlines:
        cv2.fillPoly(mask, [_fixed(outline)], 255, cv2.LINE_AA, _SUB)
    return mask


def lines(size: int, paths: Iterable[tuple[Points, int]]) -> Mask:
    """A mask of lines, each with its width in pixels."""
    import cv2

    mask = np.zeros((size, size), np.uint8)
    for path, width in paths:
        cv2.polylines(mask, [_fixed(path)], False, 255, max(1, width), cv2.LINE_AA, _SUB)
    return mask


def soften(mask: Mask, pixels: float) -> Mask:
    """The mask with its edge spread over some pixels."""
    import cv2

    side = 2 * max(1, round(pixels)) + 1
    return np.asarray(cv2.GaussianBlur(mask, (side, side), max(0.3, pixels / 2)), np.uint8)


def moved(mask: Mask, right: int, down: int) -> Mask:
    """The mask moved by whole pixels; nothing comes in from outside."""
    result = np.zeros_like(mask)
    h, w = mask.shape
    to = (slice(max(0, down), h + min(0, down)), slice(max(0, right), w + min(0, right)))
    of = (slice(max(0, -down), h + min(0, -down)), slice(max(0, -right), w + min(0, -right)))
    result[to] = mask[of]
    return result


def lay(
    picture: Picture, mask: Mask, colour: tuple[float, float, float] | Picture, strength: float = 1
) -> None:
    """Lay a colour, or another picture, on a picture where the mask is, in place."""
    share = (mask * np.float32(strength / 255))[..., None]
    picture += (np.asarray(colour, np.float32) - picture) * share


def blotches(size: int, cells: int, dice: Dice) -> Floats32:
    """float32 [size, size] in 0..1: soft random blotches, about `cells` of them a side."""
    import cv2

    coarse = (dice.many((cells + 3) ** 2).reshape(cells + 3, -1) * 255).astype(np.uint8)
    fine = cv2.resize(coarse, (size + size * 3 // cells,) * 2, interpolation=cv2.INTER_LINEAR)
    corner = size // cells
    window: Floats32 = fine[corner : corner + size, corner : corner + size].astype(np.float32)
    return window / np.float32(255)


def finish(picture: Picture, dice: Dice, noise: float = 4, gain: tuple[float, float] = (0.8, 1.15)) -> UInts8:
    """The photograph of a drawing: brighter or darker, and with a camera's noise."""
    h, w, _ = picture.shape
    grain = dice.many(h * w).astype(np.float32).reshape(h, w, 1) - np.float32(0.5)
    shot = picture * np.float32(dice.between(*gain)) + grain * np.float32(2 * noise)
    return np.floor(shot.clip(0, 255) + np.float32(0.5)).clip(0, 255).astype(np.uint8)
