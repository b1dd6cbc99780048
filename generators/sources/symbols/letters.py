"""The letters A to D, drawn with a pen: five fonts, each written by hands that differ from image to image."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
from PIL import Image

from ...keyed_random import Dice
from ..cards.ink import arc
from ..paint import Points, lines

SIDE = 28

_FINE = 4
"""Pixels of the drawing for each pixel of the image, across and down."""

Line = list[tuple[float, float]]

_PLAIN: Mapping[str, list[Line]] = {
    "A": [[(0, 6), (2, 0), (4, 6)], [(0.8, 4), (3.2, 4)]],
    "B": [
        [(0, 0), (0, 6)],
        [(0, 0), (2, 0), *arc(2, 1.45, 1.5, 1.45, -90, 90), (0, 2.9)],
        [(0, 2.9), (2.1, 2.9), *arc(2.1, 4.45, 1.8, 1.55, -90, 90), (0, 6)],
    ],
    "C": [arc(2.3, 3, 2.3, 3, 310, 50)],
    "D": [[(0, 0), (0, 6)], [(0, 0), (1.2, 0), *arc(1.2, 3, 2.8, 3, -90, 90), (0, 6)]],
}

_ANGULAR: Mapping[str, list[Line]] = {
    "A": [[(0, 6), (0.6, 1.2), (1.6, 0), (2.6, 0), (3.6, 1.2), (4, 6)], [(0.4, 3.4), (3.8, 3.4)]],
    "B": [
        [(0, 0), (0, 6), (3, 6), (3.8, 5.2), (3.8, 3.6), (3, 2.9), (0, 2.9)],
        [(0, 0), (2.6, 0), (3.3, 0.7), (3.3, 2.2), (2.7, 2.9)],
    ],
    "C": [[(3.9, 0.9), (3, 0), (1, 0), (0, 1), (0, 5), (1, 6), (3, 6), (3.9, 5.1)]],
    "D": [[(0, 0), (0, 6), (2.6, 6), (3.9, 4.6), (3.9, 1.4), (2.6, 0), (0, 0)]],
}

_ROUND: Mapping[str, list[Line]] = {
    "A": [[(0, 6), (0, 2), *arc(2, 2, 2, 2, 180, 360), (4, 6)], [(0, 3.8), (4, 3.8)]],
    "B": [
        [(0, 6), (0, 0), (1.6, 0), *arc(1.9, 1.5, 1.5, 1.5, -90, 90), *arc(2, 4.5, 1.9, 1.5, -90, 90), (0, 6)]
    ],
    "C": [arc(2.6, 3, 2.6, 3, 300, 60)],
    "D": [[(0, 6), (0, 0), *arc(0.8, 3, 3.2, 3, -90, 90), (0, 6)]],
}

_SCRIPT: Mapping[str, list[Line]] = {
    "A": [
        [(-0.3, 5.2), (0.3, 6), *arc(3.2, 5, 2.8, 5, 190, 270), (3.2, 6)],
        [(0.4, 3.9), (2, 3.5), (3.9, 3.9)],
    ],
    "B": [
        [(0.6, 0.2), (0.3, 6)],
        [(-0.4, 0.9), *arc(1.5, 1.5, 1.9, 1.5, 215, 440), *arc(1.7, 4.4, 2.1, 1.6, -85, 160)],
    ],
    "C": [[(3.3, 1.6), *arc(2.6, 1.2, 0.9, 1.1, 340, 200), *arc(2.4, 3.2, 2.3, 2.8, 230, 50)]],
    "D": [
        [(0.9, 0.3), (0.5, 5.6)],
        [(-0.4, 1.2), *arc(1.2, 3, 2.9, 3, 235, 445), *arc(0.6, 5.4, 0.7, 0.6, 60, 250)],
    ],
}

_SERIFS: Mapping[str, list[Line]] = {
    "A": [[(-0.7, 6), (0.8, 6)], [(3.2, 6), (4.7, 6)]],
    "B": [[(-0.7, 0), (0, 0)], [(-0.7, 6), (0, 6)]],
    "C": [[(3.8, 0), (3.8, 1.6)]],
    "D": [[(-0.7, 0), (0, 0)], [(-0.7, 6), (0, 6)]],
}

FONTS: Mapping[str, Mapping[str, list[Line]]] = {
    "plain": _PLAIN,
    "serif": {letter: [*_PLAIN[letter], *_SERIFS[letter]] for letter in _PLAIN},
    "angular": _ANGULAR,
    "round": _ROUND,
    "script": _SCRIPT,
}
"""Lines of a pen for each letter, on a grid 4 wide and 6 high."""


def draw_letter(letter: str, dice: Dice) -> npt.NDArray[np.uint8]:
    """uint8 [28, 28]: a white letter on black, in one of `FONTS` and a hand that the dice decide."""
    strokes = FONTS[dice.pick(tuple(FONTS))][letter]
    height = dice.between(2.5, 3.3)
    width = height * dice.between(0.8, 1.25)
    slant, rise = dice.between(-0.3, 0.3), dice.between(-0.12, 0.12)
    right, down = dice.between(-1.6, 1.6), dice.between(-1.6, 1.6)
    wobble = dice.between(0.05, 0.38)
    pen = round(_FINE * dice.between(1.7, 3.6))
    paths = []
    for stroke in strokes:
        written = _by_hand(np.asarray(stroke, np.float64), wobble, dice)
        x, y = (written[:, 0] - 2) * width, (written[:, 1] - 3) * height
        across = x - slant * y + right + SIDE / 2
        paths.append((np.stack([across, y + rise * x + down + SIDE / 2], axis=1) * _FINE, pen))
    fine = lines(SIDE * _FINE, paths)
    return np.asarray(Image.fromarray(fine).reduce(_FINE), np.uint8)


def _by_hand(stroke: Points, wobble: float, dice: Dice) -> Points:
    """A stroke whose points a hand has missed by some of the grid's units, smoothly along the line."""
    knots = (dice.many(8).reshape(4, 2) - 0.5) * 2 * wobble
    along = np.linspace(0, 3, len(stroke))
    drift = np.stack([np.interp(along, np.arange(4), knots[:, k]) for k in (0, 1)], axis=1)
    return stroke + drift
