"""The standard deck: white cards, black and red, two corner indices, framed courts in full colour.

Courts show their half-figure twice, once upside down: a bearded king with a crown and a sword, a queen
with long hair and a flower, a clean-shaven jack with a feathered cap and a halberd.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .glyphs import COURTS, PIPS, index, split_name, suit
from .ink import Canvas, Colour, Shape, arc, bezier, ellipse, mirrored, placed, polygon, rounded_box, stroke

EDGE: Colour = (150, 150, 150)
"""Colour of the card's edge."""

WHITE: Colour = (252, 251, 246)
BLACK: Colour = (24, 24, 28)
RED: Colour = (200, 22, 32)
GOLD: Colour = (246, 190, 44)
BLUE: Colour = (38, 72, 168)
SKIN: Colour = (251, 222, 190)
LIPS: Colour = (206, 60, 64)


@dataclass(frozen=True)
class Wardrobe:
    """What the courts of a suit wear, and whether they look the other way."""

    robe: Colour
    trim: Colour
    sleeve: Colour
    hair: Colour
    turned: bool


_WARDROBES: Mapping[str, Wardrobe] = {
    "h": Wardrobe(RED, GOLD, BLUE, (214, 150, 50), False),
    "s": Wardrobe(BLUE, RED, GOLD, (60, 42, 34), False),
    "d": Wardrobe(GOLD, RED, BLACK, (150, 84, 36), True),
    "c": Wardrobe(BLACK, GOLD, RED, (190, 190, 196), True),
}


def draw(canvas: Canvas, card: str) -> None:
    """Draw a card on a canvas of 100 x 140 units."""
    rank, name = split_name(card)
    colour = RED if name in "dh" else BLACK
    canvas.fill(rounded_box(0.8, 0.8, 99.2, 139.2, 6), WHITE)
    if rank in COURTS:
        _court(canvas, rank, name, colour)
    pen = 0.13 if rank == "10" else 0.17
    canvas.fill(index(rank, 10.5, 15, 17, pen, narrow=0.85, serifs=True), colour)
    canvas.fill(suit(name, 10.5, 34, 14.5), colour)
    canvas.repeat_upside_down()
    if rank in COURTS:
        canvas.outline(rounded_box(21, 8, 79, 132, 1), 1, BLUE)
        return
    size = 52 if rank == "a" else 22.5
    for x, y in PIPS[rank]:
        canvas.fill(suit(name, 50 + 19 * x, 70 + 45 * y, size, turn=180 if y > 0 else 0), colour)
    if (rank, name) == ("a", "s"):
        canvas.fill(suit(name, 50, 69, 28), WHITE)
        canvas.fill(suit(name, 50, 69, 19), colour)


class _Figure:
    """A half-figure in the frame, looking right unless it is turned."""

    def __init__(self, canvas: Canvas, turned: bool) -> None:
        self.canvas = canvas
        self.side = -1 if turned else 1

    def add(self, shape: Shape, colour: Colour, line: float = 0.9) -> None:
        """Fill a shape, given around x = 0, and draw its outline."""
        shape = placed(shape, 50, 0, self.side, 1)
        self.canvas.fill(shape, colour)
        if line:
            self.canvas.outline(shape, line, BLACK)

    def pen(self, points: list[tuple[float, float]], width: float = 0.9, colour: Colour = BLACK) -> None:
        """Draw a line."""
        self.canvas.fill(placed(stroke(points, width), 50, 0, self.side, 1), colour)


def _court(canvas: Canvas, rank: str, name: str, colour: Colour) -> None:
    wear = _WARDROBES[name]
    figure = _Figure(canvas, wear.turned)
    canvas.fill(polygon((21, 8), (79, 8), (79, 70), (21, 70)), (247, 240, 216))
    {"k": _king, "q": _queen, "j": _jack}[rank](figure, wear)
    side = -1 if wear.turned else 1
    canvas.fill(suit(name, 50 - 21.5 * side, 17, 14), colour)


def _face(figure: _Figure, tilt: float) -> None:
    figure.add(polygon((-5, 38), (5, 38), (6, 52), (-6, 52)), SKIN)
    figure.add(ellipse(0, 34, 9.5, 11.5), SKIN)
    for x in (-3.7, 4.3):
        figure.add(ellipse(x + tilt, 32.5, 1.9, 1.2), WHITE, 0.5)
        figure.add(ellipse(x + 0.5 + tilt, 32.5, 0.9), BLACK, 0)
        figure.pen([(x - 2.2 + tilt, 29.6), (x + 2.2 + tilt, 29.2)], 0.9)
    figure.pen([(1 + tilt, 32), (2.2 + tilt, 36.6), (0.2 + tilt, 37)], 0.7)


def _shoulders(figure: _Figure, wear: Wardrobe) -> None:
    left = bezier((-29, 72), (-28, 56, -22, 50, -6, 46))
    figure.add(polygon(*left, *mirrored(left)), wear.robe)
    for side in (-1, 1):
        cuff = polygon((29 * side, 72), (28 * side, 59), (18 * side, 52), (14 * side, 72))
        figure.add(cuff, wear.sleeve)


def _king(figure: _Figure, wear: Wardrobe) -> None:
    figure.add(ellipse(0, 36, 14, 13), wear.hair)
    _shoulders(figure, wear)
    figure.add(polygon((-15, 48), (-5, 46), (0, 58), (5, 46), (15, 48), (6, 72), (-6, 72)), WHITE)
    for x, y in ((-8, 52), (8, 52), (-4.5, 60), (4.5, 60), (0, 66), (-3, 70), (3, 70)):
        figure.add(ellipse(x, y, 0.9, 1.6), BLACK, 0)
    _face(figure, 0)
    left = bezier((0, 58), (-6, 56, -11, 48, -9.6, 35), (-8, 40, -6, 38.6, 0, 39.5))
    figure.add(polygon(*left, *mirrored(left)[1:-1]), wear.hair)
    figure.add(ellipse(0, 42.3, 3, 1.3), LIPS, 0.5)
    for x in (-4, 0, 4):
        figure.pen([(x, 46), (x * 0.8, 52)], 0.6)
    _crown(figure, wear)
    sword = polygon((17, 72), (20, 72), (23.5, 22), (22, 16), (20, 22))
    figure.add(sword, (214, 222, 232))
    figure.pen([(13, 60), (25, 61.5)], 2.6, GOLD)
    figure.add(ellipse(18.6, 65.5, 4, 3.4), SKIN)


def _crown(figure: _Figure, wear: Wardrobe) -> None:
    points = [(-13, 25), (-15, 11), (-8.5, 18), (-5, 9.5), (0, 17), (5, 9.5), (8.5, 18), (15, 11), (13, 25)]
    figure.add(polygon(*points), GOLD)
    figure.add(polygon((-13, 21.5), (13, 21.5), (12.5, 26), (-12.5, 26)), wear.trim)
    for x, y in ((-15, 11), (-5, 9.8), (5, 9.8), (15, 11)):
        figure.add(ellipse(x, y, 1.7), wear.sleeve, 0.6)
    for x in (-7, 0, 7):
        figure.add(ellipse(x, 23.8, 1.4), WHITE, 0.5)


def _queen(figure: _Figure, wear: Wardrobe) -> None:
    hair = bezier((0, 18), (-22, 17, -17, 40, -21, 58), (-12, 62, -8, 54, -6, 46))
    figure.add(polygon(*hair, *mirrored(hair)[:-1]), wear.hair)
    for x in (-14.5, -11, 11, 14.5):
        figure.pen([(x, 34), (x * 1.12, 46), (x * 1.1, 54)], 0.7)
    _shoulders(figure, wear)
    figure.add(polygon((-11, 47), (11, 47), (3.4, 63), (-3.4, 63)), SKIN)
    figure.pen([(-11, 47), (0, 62), (11, 47)], 3, wear.trim)
    for row in range(2):
        for x in (-10, 0, 10):
            figure.add(polygon((x, 61.5 + 6 * row), (x + 2.4, 65 + 6 * row), (x, 68.5 + 6 * row),
                               (x - 2.4, 65 + 6 * row)), wear.trim, 0.6)  # fmt: skip
    _face(figure, 0.4)
    figure.add(polygon(*bezier((-2.6, 41), (-1, 39.4, 1, 39.8, 0.6, 40.2), (1, 39.4, 3, 39.8, 3.6, 41),
                               (2, 43.6, -1, 43.6, -2.6, 41))), LIPS, 0.4)  # fmt: skip
    figure.pen(arc(0, 46, 7.5, 5, 10, 170), 1.6, WHITE)
    fringe = bezier((0, 22.4), (-4, 26, -9, 27, -10.5, 36), (-12.5, 30, -12, 20, 0, 18))
    figure.add(polygon(*fringe, *mirrored(fringe)[1:-1]), wear.hair)
    figure.add(
        polygon((-10, 22), (-11.5, 14.5), (-5, 17.5), (0, 10.5), (5, 17.5), (11.5, 14.5), (10, 22)), GOLD
    )
    for x, y in ((-11.5, 14.5), (0, 10.8), (11.5, 14.5)):
        figure.add(ellipse(x, y, 1.9), wear.trim, 0.6)
    figure.pen([(21, 70), (20.5, 44)], 1.3, (40, 120, 60))
    figure.add(ellipse(24, 54, 3.6, 1.6), (60, 150, 80), 0.5)
    for turn in range(5):
        dx, dy = ((0, -4), (3.8, -1.2), (2.4, 3.2), (-2.4, 3.2), (-3.8, -1.2))[turn]
        figure.add(ellipse(20.5 + dx, 40 + dy, 2.8), wear.trim, 0.6)
    figure.add(ellipse(20.5, 40, 2.4), GOLD, 0.6)
    figure.add(ellipse(20.5, 63, 3.8, 3.2), SKIN)


def _jack(figure: _Figure, wear: Wardrobe) -> None:
    bob = bezier((0, 20), (-15, 20, -14, 34, -15.5, 46), (-12, 49, -8, 48, -7, 44))
    figure.add(polygon(*bob, *mirrored(bob)[:-1]), wear.hair)
    _shoulders(figure, wear)
    for k in range(4):
        x = -13 + 8.5 * k
        figure.add(polygon((x, 51 - abs(x) * 0.1), (x + 4, 50), (x - 5, 72), (x - 9, 72)), wear.trim, 0.6)
    figure.add(polygon((-10, 46), (0, 52), (10, 46), (12, 51), (0, 58), (-12, 51)), WHITE)
    _face(figure, 1.4)
    figure.pen([(-1, 41.4), (4.4, 40.6)], 1.1, LIPS)
    cap = bezier((-14, 26), (-22, 17, -10, 11, 3, 13), (14, 13, 17, 20, 13, 26))
    figure.add(polygon(*cap), wear.robe)
    figure.add(polygon((-13.5, 23), (13.5, 23), (13, 27.5), (-13, 27.5)), wear.trim)
    plume = bezier((9, 20), (10, 8, -4, 8, -12, 11.5), (-6, 14, 2, 13, 9, 20))
    figure.add(polygon(*plume), WHITE if wear.robe != GOLD else wear.sleeve)
    figure.pen([(23, 70), (23, 18)], 2.2, (140, 96, 50))
    blade = bezier((22, 22), (12, 22, 13, 36, 22, 36))
    figure.add(polygon(*blade), (214, 222, 232))
    figure.add(polygon((21.4, 22), (23, 12), (24.6, 22)), (214, 222, 232))
    figure.add(ellipse(22.5, 62, 3.6, 3.2), SKIN)
