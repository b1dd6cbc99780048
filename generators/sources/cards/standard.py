"""The standard deck: white cards, black and red, two corner indices, framed courts in full colour.

Courts show their half-figure twice, once upside down: a bearded king with a crown and a sword, a queen
with long hair and a flower, a clean-shaven jack with a feathered cap and a halberd.
"""

from collections.abc import Mapping

from .courts import draw_court
from .glyphs import COURTS, PIPS, index, split_name, suit
from .ink import Canvas, Colour, polygon, rounded_box

EDGE: Colour = (150, 150, 150)
"""Colour of the card's edge."""

WHITE: Colour = (252, 251, 246)
BLACK: Colour = (24, 24, 28)
RED: Colour = (200, 22, 32)
GOLD: Colour = (246, 190, 44)
BLUE: Colour = (38, 72, 168)
SKIN: Colour = (251, 222, 190)
LIPS: Colour = (206, 60, 64)


_WARDROBES: Mapping[str, Mapping[str, Colour]] = {
    "h": {"robe": RED, "trim": GOLD, "sleeve": BLUE, "hair": (214, 150, 50), "plume": WHITE},
    "s": {"robe": BLUE, "trim": RED, "sleeve": GOLD, "hair": (60, 42, 34), "plume": WHITE},
    "d": {"robe": GOLD, "trim": RED, "sleeve": BLACK, "hair": (150, 84, 36), "plume": BLACK},
    "c": {"robe": BLACK, "trim": GOLD, "sleeve": RED, "hair": (190, 190, 196), "plume": WHITE},
}
"""What the courts of each suit wear."""
_TURNED = "dc"
"""Suits whose courts look the other way."""


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


def _court(canvas: Canvas, rank: str, name: str, colour: Colour) -> None:
    canvas.fill(polygon((21, 8), (79, 8), (79, 70), (21, 70)), (247, 240, 216))
    side = -1 if name in _TURNED else 1
    colours = {"line": BLACK, "white": WHITE, "black": BLACK, "gold": GOLD, "skin": SKIN, "lips": LIPS}
    draw_court(canvas, "standard", rank, {**colours, **_WARDROBES[name]}, side=side)
    canvas.fill(suit(name, 50 - 21.5 * side, 17, 14), colour)
