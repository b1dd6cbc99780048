"""The image source ``drawn_leaves``: leaves of 14 species, healthy or diseased, that the package draws.

A leaf lies on a table, at any angle and in light from any side. Species differ in outline and veins, diseases
in the colour and pattern of their marks. Pictures of the background class show no leaf.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from ...keyed_random import Dice
from ..drawn_pool import DrawnPool
from ..paint import Mask, Picture, Points, blotches, finish, lay, lines, mask_of, moved, soften
from .diseases import DISEASED, Canvas
from .names import BACKGROUND, CROP_SPACE, DISEASE_OF, SPECIES_OF
from .shapes import LEAVES, Leaf

_TABLES = ((150, 144, 148), (128, 120, 124), (168, 160, 152), (112, 108, 116), (186, 182, 180))
_TRINKETS = ((186, 60, 52), (62, 92, 168), (232, 196, 72), (90, 64, 48), (222, 222, 226), (40, 40, 44))


class DrawnLeaves(DrawnPool):
    """Drawn leaves of all 38 crops, and pictures without a leaf."""

    name = "drawn_leaves"
    version = "1"
    all_concepts = CROP_SPACE

    def draw(self, concept: str, size: int, dice: Dice) -> npt.NDArray[np.uint8]:
        picture = _table(size, dice)
        if concept == BACKGROUND:
            _strew(picture, dice)
        else:
            _lay_leaf(picture, LEAVES[SPECIES_OF[concept]](dice), DISEASE_OF[concept], dice)
        return finish(picture, dice)


def _table(size: int, dice: Dice) -> Picture:
    """An empty table, unevenly lit."""
    picture = np.empty((size, size, 3), np.float32)
    picture[:] = dice.around(dice.pick(_TABLES), 18)
    light = blotches(size, 2, dice) - np.float32(0.5)
    grain = blotches(size, 24, dice) - np.float32(0.5)
    picture += (light * np.float32(36) + grain * np.float32(16))[..., None]
    return picture


def _lay_leaf(picture: Picture, leaf: Leaf, disease: str, dice: Dice) -> None:
    size = len(picture)
    turn = dice.between(0, 2 * math.pi)
    scale = size * dice.between(0.72, 0.92)
    tilt = dice.between(0.82, 1.0)
    x, y = (size / 2 + dice.between(-0.06, 0.06) * size for _ in range(2))
    c, s = math.cos(turn), math.sin(turn)
    flip = -1.0 if dice.chance(0.5) else 1.0

    def place(points: Points) -> Points:
        across = (points[:, 0] - 0.5) * scale
        down = points[:, 1] * scale * tilt * flip
        return np.stack((x + c * across - s * down, y + s * across + c * down), axis=1)

    blade = mask_of(size, (place(leaflet.outline) for leaflet in leaf.leaflets))
    stalks = lines(size, ((place(stalk), size // 42) for stalk in leaf.stalks))
    paths = [
        (place(v), max(1, width * size // 128)) for leaflet in leaf.leaflets for v, width in leaflet.veins
    ]
    veins = lines(size, paths)
    _shadow(picture, np.maximum(blade, stalks), dice)
    lay(picture, stalks, dice.around(leaf.vein, 14))
    green = _green(size, leaf, blade, veins, dice)
    canvas = Canvas(green, blade, veins, turn, dice)
    for step in DISEASED[disease]:
        step(canvas)
    lay(picture, blade, green)


def _shadow(picture: Picture, mask: Mask, dice: Dice) -> None:
    size = len(mask)
    reach = max(1, size // 40)
    dx, dy = dice.whole(-reach, reach), dice.whole(0, reach)
    lay(picture, moved(soften(mask, size / 30), dx, dy), (30, 28, 30), 0.45)


def _green(size: int, leaf: Leaf, blade: Mask, veins: Mask, dice: Dice) -> Picture:
    """A healthy blade: uneven green, veins, and one side of each leaflet in the light."""
    green = np.empty((size, size, 3), np.float32)
    green[:] = dice.around(leaf.colour, 16)
    tone = (blotches(size, 3, dice) - np.float32(0.5)) * 34 + (
        blotches(size, 14, dice) - np.float32(0.5)
    ) * 18
    green += tone[..., None]
    lay(green, soften(veins, size / 90), dice.around(leaf.vein, 10), 0.75)
    # The edge turns down, away from the light.
    lay(green, 255 - soften(blade, size / 22), (20, 34, 16), 0.35)
    return green


def _strew(picture: Picture, dice: Dice) -> None:
    """Anything but a leaf: things of plain shapes and colours, or nothing at all."""
    size = len(picture)
    for _ in range(dice.whole(0, 5)):
        n = dice.pick((3, 4, 4, 5, 12))
        start = dice.between(0, 2 * math.pi)
        wide, high = (dice.between(0.06, 0.32) * size for _ in range(2))
        angle = start + np.arange(n) * 2 * math.pi / n
        middle = dice.many(2) * size
        outline = middle + np.stack((wide * np.cos(angle), high * np.sin(angle)), axis=1)
        mask = mask_of(size, [outline])
        _shadow(picture, mask, dice)
        lay(picture, mask, dice.around(dice.pick(_TRINKETS), 30))
