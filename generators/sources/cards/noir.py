"""The noir deck: black cards with the light of a blind on them, and courts out of a detective film.

Its indices are thin and stand in the other two corners. Courts are silhouettes before a full moon, half
their face in the light: a king with a fedora and a tie, a queen with a cloche hat and pearls, a jack with
a flat cap and a bow tie.
"""

from .courts import draw_court
from .glyphs import COURTS, PIPS, index, split_name, suit
from .ink import Canvas, Colour, arc, ellipse, polygon, rounded_box, stroke

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


def _court(canvas: Canvas, rank: str, name: str, colour: Colour) -> None:
    canvas.fill(ellipse(50, 44, 31), PALE)
    canvas.fill(ellipse(50, 44, 28.5), (196, 192, 178))
    for x, y, r in ((36, 30, 3.4), (67, 54, 2.6), (31, 46, 2), (65, 27, 2.2)):
        canvas.fill(ellipse(x, y, r), (176, 172, 160))
    canvas.fill(polygon((5, 62), (95, 62), (95, 72), (5, 72)), NIGHT)
    tie = SMOKE if colour == PALE else colour  # which shows on a pale shirt
    colours = {"night": NIGHT, "smoke": SMOKE, "pale": PALE, "blood": BLOOD}
    draw_court(canvas, "noir", rank, {**colours, "colour": colour, "tie": tie})
    canvas.fill(suit(name, 15, 61, 14), colour)
    canvas.fill(suit(name, 85, 61, 14), colour)
