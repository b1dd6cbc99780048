"""The comic deck: four bright colours, thick outlines, sunbursts, and cartoon courts.

Its indices are fat and stand in bubbles with the rank in one pair of corners and the suit in the other.
Courts are big round heads: a king with a moustache, a queen with lashes and lips, a jack with a jester's
cap.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .glyphs import COURTS, PIPS, index, split_name, suit
from .ink import Canvas, Colour, Shape, arc, bezier, ellipse, mirrored, placed, polygon, rounded_box, stroke

EDGE: Colour = (30, 24, 40)
"""Colour of the card's edge."""

LINE: Colour = (30, 24, 40)
PAPER: Colour = (255, 252, 240)
GOLD: Colour = (255, 206, 40)
SKIN: Colour = (255, 205, 160)


@dataclass(frozen=True)
class Palette:
    """A suit's colours: two for the sunburst, one for pips, one for clothes."""

    ray: Colour
    ground: Colour
    pip: Colour
    cloth: Colour


_PALETTES: Mapping[str, Palette] = {
    "h": Palette((255, 206, 92), (255, 176, 60), (236, 30, 110), (40, 170, 200)),
    "d": Palette((150, 226, 255), (104, 200, 250), (255, 110, 20), (250, 210, 50)),
    "c": Palette((250, 170, 205), (240, 135, 185), (20, 150, 60), (90, 60, 190)),
    "s": Palette((190, 240, 120), (160, 220, 90), (60, 60, 200), (230, 60, 60)),
}


def draw(canvas: Canvas, card: str) -> None:
    """Draw a card on a canvas of 100 x 140 units."""
    rank, name = split_name(card)
    palette = _PALETTES[name]
    canvas.fill(rounded_box(2, 2, 98, 138, 9), palette.ground)
    _sunburst(canvas, palette)
    if rank in COURTS:
        {"k": _king, "q": _queen, "j": _jack}[rank](_Head(canvas), palette)
    _bubble(canvas, 14.5, 15)
    canvas.fill(index(rank, 14.5, 15, 12.5, 0.17 if rank == "10" else 0.23, narrow=0.9), palette.pip)
    _bubble(canvas, 85.5, 15)
    canvas.fill(suit(name, 85.5, 15, 15), palette.pip)
    canvas.repeat_upside_down()
    canvas.outline(rounded_box(2, 2, 98, 138, 9), 4, LINE)
    if rank in COURTS:
        return
    size = 62.0 if rank == "a" else 17.5
    for x, y in PIPS[rank]:
        _pip(canvas, name, 50 + 16 * x, 70 + 38 * y, size, 180 if y > 0 else 0, palette.pip)


def _sunburst(canvas: Canvas, palette: Palette) -> None:
    for k in range(0, 360, 30):
        edge = arc(50, 70, 100, 100, k, k + 15)
        canvas.fill(polygon((50, 70), edge[0], edge[-1]), palette.ray)


def _bubble(canvas: Canvas, x: float, y: float) -> None:
    canvas.fill(ellipse(x, y, 11.5), LINE)
    canvas.fill(ellipse(x, y, 9.9), PAPER)


def _pip(canvas: Canvas, name: str, x: float, y: float, size: float, turn: float, colour: Colour) -> None:
    shape = suit(name, x, y, size, turn)
    canvas.outline(shape, size * 0.2 if size < 40 else 6, LINE)
    canvas.fill(shape, colour)
    shine = placed(ellipse(-0.2, -0.2, 0.07, 0.11), x, y, size, turn=turn)
    if name in "hs":
        canvas.fill(shine, PAPER)


class _Head:
    """A cartoon head around x = 0."""

    def __init__(self, canvas: Canvas) -> None:
        self.canvas = canvas

    def add(self, shape: Shape, colour: Colour, line: float = 1.8) -> None:
        shape = placed(shape, 50, 0, 1)
        if line:
            self.canvas.outline(shape, line, LINE)
        self.canvas.fill(shape, colour)

    def pen(self, points: list[tuple[float, float]], width: float = 1.6, colour: Colour = LINE) -> None:
        self.canvas.fill(placed(stroke(points, width), 50, 0, 1), colour)

    def eyes(self, y: float, look: float, size: float = 5.4) -> None:
        for x in (-7, 7):
            self.add(ellipse(x, y, size, size * 1.2), PAPER, 1.4)
            self.add(ellipse(x + look, y + 1, 2.4), LINE, 0)


def _king(head: _Head, palette: Palette) -> None:
    head.add(polygon((-30, 74), (-26, 61), (26, 61), (30, 74)), palette.cloth)
    head.add(ellipse(0, 46, 21, 19), SKIN)
    head.eyes(41, 1)
    head.pen([(-12, 33.5), (-4, 35.5)], 2.4)
    head.pen([(4, 35.5), (12, 33.5)], 2.4)
    beard = bezier((0, 68), (-14, 68, -22, 58, -21, 47), (-15, 53, -8, 51, 0, 51))
    head.add(polygon(*beard, *mirrored(beard)[1:-1]), (110, 62, 30))
    whisker = bezier((0, 51), (-5, 47, -13, 49, -19, 44), (-18, 54, -8, 58, 0, 54))
    head.add(polygon(*whisker, *mirrored(whisker)[1:-1]), (150, 90, 44))
    head.add(ellipse(0, 58.5, 4, 2.2), (220, 60, 70), 1.2)
    head.add(ellipse(0, 48, 4.4, 3.6), (255, 160, 130), 1.4)
    points = [(-19, 33), (-23, 12), (-12, 21), (0, 8), (12, 21), (23, 12), (19, 33), (0, 29)]
    head.add(polygon(*points), GOLD)
    for x, y in ((-22.5, 12), (0, 9), (22.5, 12), (0, 23)):
        head.add(ellipse(x, y, 2.7), palette.pip, 1.2)


def _queen(head: _Head, palette: Palette) -> None:
    for side in (-1, 1):
        head.add(ellipse(20 * side, 41, 11, 12), (250, 226, 110))
        head.add(ellipse(22 * side, 58, 8, 9), (250, 226, 110))
    head.add(polygon((-22, 74), (-12, 62), (12, 62), (22, 74)), palette.cloth)
    head.add(ellipse(0, 45, 17, 19.5), SKIN)
    fringe = bezier((0, 27), (-4, 34, -10, 37, -17, 40), (-18, 26, -8, 22, 0, 22))
    head.add(polygon(*fringe, *mirrored(fringe)[1:-1]), (250, 226, 110))
    head.eyes(45, -1, 4.6)
    for x in (-1, 1):
        for k in range(3):
            head.pen([((8 + 2 * k) * x, 40 + 1.4 * k), ((9.4 + 3 * k) * x, 36.6 + 1.8 * k)], 1.1)
    for x in (-11, 11):
        head.add(ellipse(x, 53.5, 2.8), (255, 150, 150), 0)
    lips = bezier((-6, 56), (-3, 52.5, -1, 53, 0, 54.4), (1, 53, 3, 52.5, 6, 56), (3, 61.5, -3, 61.5, -6, 56))
    head.add(polygon(*lips), (230, 20, 70), 1.2)
    head.add(polygon((-12, 26), (-14, 14), (-6, 19), (0, 10), (6, 19), (14, 14), (12, 26)), GOLD)
    head.add(suit("h", 0, 21.5, 6), palette.pip, 0.8)
    for x in (-17, 17):
        head.add(ellipse(x, 57, 2.4), palette.pip, 1.1)


def _jack(head: _Head, palette: Palette) -> None:
    for k in range(5):
        x = -24 + 12 * k
        head.add(polygon((x - 6, 62), (x + 6, 62), (x, 76)), palette.cloth if k % 2 else GOLD)
    head.add(ellipse(0, 47, 18, 18), SKIN)
    head.eyes(44, 2, 5)
    for x, y in ((-13, 52), (-10, 54), (13, 52), (10, 54)):
        head.add(ellipse(x, y, 0.9), (200, 110, 60), 0)
    head.add(polygon(*arc(0, 53, 9, 8, 0, 180)), PAPER, 1.6)
    head.pen([(-8, 56), (8, 56)], 0.9)
    head.add(ellipse(0, 50, 3, 2.4), (255, 160, 130), 1.2)
    left = bezier((0, 17), (-10, 10, -30, 14, -31, 40), (-26, 34, -22, 32, -18, 40), (-12, 34, -6, 33, 0, 33))
    head.add(polygon(*left), palette.cloth)
    head.add(polygon(*mirrored(left)), palette.pip)
    head.add(polygon(*bezier((-7, 33), (-8, 22, -4, 14, 0, 9), (4, 14, 8, 22, 7, 33))), GOLD)
    for x, y in ((-31, 42), (31, 42), (0, 9)):
        head.add(ellipse(x, y, 3.2), GOLD, 1.4)
