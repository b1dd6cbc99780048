"""The noir deck: black cards with the light of a blind on them, and courts out of a detective film.

Its indices are thin and stand in the other two corners. Courts are silhouettes before a full moon, half
their face in the light: a king with a fedora and a tie, a queen with a cloche hat and pearls, a jack with
a flat cap and a bow tie.
"""

from __future__ import annotations

from .glyphs import COURTS, PIPS, index, split_name, suit
from .ink import Canvas, Colour, Shape, arc, bezier, ellipse, mirrored, placed, polygon, rounded_box, stroke

EDGE: Colour = (70, 70, 74)
"""Colour of the card's edge."""

NIGHT: Colour = (18, 18, 22)
SMOKE: Colour = (62, 62, 70)
PALE: Colour = (228, 224, 210)
BLOOD: Colour = (228, 48, 64)


def draw(canvas: Canvas, card: str) -> None:
    """Draw a card on a canvas of 100 x 140 units."""
    rank, name = split_name(card)
    colour = BLOOD if name in "dh" else PALE
    canvas.fill(rounded_box(0.8, 0.8, 99.2, 139.2, 3), NIGHT)
    if rank in COURTS:
        _court(canvas, rank, name, colour)
    else:
        _blinds(canvas)
    _frame(canvas)
    canvas.fill(index(rank, 89, 15, 14, 0.1, narrow=0.66), colour)
    canvas.fill(suit(name, 89, 29, 9), colour)
    canvas.repeat_upside_down()
    if rank in COURTS:
        return
    for x, y in PIPS[rank]:
        turn = 180 if y > 0 else 0
        pip = suit(name, 50 + 17 * x, 70 + 41 * y, 46 if rank == "a" else 16, turn)
        canvas.outline(pip, 2.4, PALE)
        canvas.fill(pip, BLOOD if name in "dh" else NIGHT)


def _blinds(canvas: Canvas) -> None:
    """The light of the street through a blind."""
    canvas.fill(polygon((18, 10), (82, 10), (82, 130), (18, 130)), (150, 147, 138))
    for k in range(12):
        top = 10 + 10 * k
        canvas.fill(polygon((18, top), (82, top), (82, top + 3), (18, top + 3)), (96, 94, 92))
        canvas.fill(polygon((18, top + 5), (82, top + 5), (82, top + 8), (18, top + 8)), (178, 174, 162))


def _frame(canvas: Canvas) -> None:
    """Two thin lines, and a fan of rays in the corners without an index."""
    for inset in (2.5, 4.5):
        canvas.outline(rounded_box(inset, inset, 100 - inset, 140 - inset, 0.5), 0.5, PALE)
    for degrees in range(0, 91, 15):
        (tip,) = arc(4.5, 4.5, 12, 12, degrees, degrees + 1)[:1]
        canvas.fill(stroke([(4.5, 4.5), tip], 0.6), SMOKE if degrees % 30 else PALE)
    for radius in (6, 12):
        canvas.fill(stroke(arc(4.5, 4.5, radius, radius, 0, 90), 0.6), PALE)


class _Silhouette:
    """A half-figure around x = 0, lit from the right."""

    def __init__(self, canvas: Canvas) -> None:
        self.canvas = canvas

    def add(self, shape: Shape, colour: Colour, line: Colour | None = None) -> None:
        shape = placed(shape, 50, 0, 1)
        self.canvas.fill(shape, colour)
        if line:
            self.canvas.outline(shape, 0.6, line)

    def face(self, top: float, bottom: float, width: float) -> None:
        """A face, its left half in the dark."""
        middle, half = (top + bottom) / 2, (bottom - top) / 2
        self.add(ellipse(0, middle, width, half), SMOKE)
        lit = [
            (0.0, top),
            *arc(0, middle, width, half, -90, 90),
            (0.0, bottom),
            (1.6, middle + 1),
            (-1, middle - 3),
        ]
        self.add(polygon(*lit), PALE)
        self.add(ellipse(4.2, middle - 1, 1.5, 0.9), NIGHT)
        self.add(ellipse(-3.6, middle - 1, 1.3, 0.7), PALE)

    def coat(self, collar: Colour) -> None:
        """Shoulders in the dark, with lapels."""
        left = bezier((-31, 74), (-30, 60, -22, 55, -7, 51))
        self.add(polygon(*left, *mirrored(left)), NIGHT, SMOKE)
        for side in (-1, 1):
            lapel = polygon(
                (3 * side, 72),
                (6 * side, 49),
                (15 * side, 53),
                (12 * side, 60),
                (14 * side, 61),
                (5 * side, 72),
            )
            self.add(lapel, collar if side > 0 else SMOKE)


def _court(canvas: Canvas, rank: str, name: str, colour: Colour) -> None:
    canvas.fill(ellipse(50, 44, 31), PALE)
    canvas.fill(ellipse(50, 44, 28.5), (196, 192, 178))
    for x, y, r in ((36, 30, 3.4), (67, 54, 2.6), (31, 46, 2), (65, 27, 2.2)):
        canvas.fill(ellipse(x, y, r), (176, 172, 160))
    canvas.fill(polygon((5, 62), (95, 62), (95, 72), (5, 72)), NIGHT)
    {"k": _king, "q": _queen, "j": _jack}[rank](_Silhouette(canvas), colour)
    canvas.fill(suit(name, 15, 61, 14), colour)
    canvas.fill(suit(name, 85, 61, 14), colour)


def _tie(colour: Colour) -> Colour:
    """A tie that shows on a pale shirt."""
    return SMOKE if colour == PALE else colour


def _king(figure: _Silhouette, colour: Colour) -> None:
    figure.coat((90, 88, 92))
    figure.add(polygon((-6, 49), (6, 49), (4, 72), (-4, 72)), PALE)
    figure.face(27, 54, 10)
    figure.add(polygon((-1, 54), (2.4, 54), (4, 66), (0.7, 72), (-2.6, 66)), _tie(colour))
    figure.add(polygon((-6, 48), (0, 45.6), (6, 48), (4, 49.6), (-4, 49.6)), NIGHT)
    crown = bezier((-12, 31), (-12, 12, -8, 12, -1, 16.5), (7, 11, 12, 13, 12, 31))
    figure.add(polygon(*crown), NIGHT)
    figure.add(polygon((-12, 26), (12, 26), (12, 31), (-12, 31)), colour)
    brim = bezier((-22, 30), (-12, 36, 12, 36, 23, 28), (14, 30, 8, 31, 0, 31), (-10, 31, -16, 31, -22, 30))
    figure.add(polygon(*brim), NIGHT, SMOKE)


def _queen(figure: _Silhouette, colour: Colour) -> None:
    hair = bezier((0, 20), (-17, 20, -17, 36, -14, 50), (-10, 53, -7, 50, -6, 44))
    figure.add(polygon(*hair, *mirrored(hair)[:-1]), NIGHT)
    left = bezier((-25, 74), (-25, 62, -16, 56, -6, 53))
    figure.add(polygon(*left, *mirrored(left)), NIGHT, SMOKE)
    figure.add(polygon((-9, 56), (-4, 46), (4, 46), (9, 56), (0, 70)), PALE)
    figure.face(26, 52, 9)
    for x in range(-7, 8, 2):
        figure.add(ellipse(x, 60 - x * x * 0.09, 1.2), SMOKE)
    figure.add(ellipse(1, 46.6, 2.8, 1.5), BLOOD)
    cloche = bezier((-15, 34), (-16, 12, 16, 12, 15, 34), (8, 30, -6, 30, -15, 34))
    figure.add(polygon(*cloche), NIGHT, SMOKE)
    figure.add(polygon(*bezier((-15, 31), (-6, 26, 8, 26, 15, 31), (15, 29, 14.6, 27, 14.4, 26),
                               (6, 22, -6, 22, -14.4, 26))), colour)  # fmt: skip
    feather = bezier((10, 28), (14, 18, 22, 12, 30, 12), (28, 20, 20, 26, 10, 28))
    figure.add(polygon(*feather), colour, NIGHT)


def _jack(figure: _Silhouette, colour: Colour) -> None:
    figure.coat(SMOKE)
    figure.add(polygon((-5, 48), (5, 48), (7, 72), (-7, 72)), PALE)
    figure.face(27, 53, 9.5)
    figure.add(polygon((-8, 55), (0, 58), (8, 55), (8, 63), (0, 60), (-8, 63)), _tie(colour), NIGHT)
    figure.add(polygon((-1, 46), (5, 45), (5, 46.6), (-1, 47)), NIGHT)
    figure.add(stroke([(4, 46), (14, 49)], 1.4), PALE)
    figure.add(ellipse(14.4, 49.2, 1.2), BLOOD)
    cap = bezier((-13, 31), (-20, 24, -10, 16, 2, 17), (16, 17, 18, 25, 14, 31))
    figure.add(polygon(*cap), NIGHT)
    for x in (-7, 0, 7):
        figure.add(stroke([(x * 0.4, 17.6), (x, 30)], 0.6), SMOKE)
    peak = bezier((-2, 30), (6, 28, 18, 30, 23, 34), (14, 34, 4, 34, -2, 30))
    figure.add(polygon(*peak), NIGHT, SMOKE)
    figure.add(ellipse(1, 17, 1.8), colour)
