"""The comic deck: four bright colours, thick outlines, and cartoon courts."""

from __future__ import annotations

from collections.abc import Mapping

from .glyphs import PIPS, index, suit
from .ink import Canvas, Colour, ellipse, rounded_box
from .names import COURTS, split_name

__all__ = ["EDGE", "draw"]

EDGE: Colour = (30, 24, 40)
"""Colour of the card's edge."""

LINE: Colour = (30, 24, 40)
GROUND: Mapping[str, Colour] = {
    "h": (255, 170, 190),
    "d": (120, 200, 255),
    "c": (150, 225, 120),
    "s": (255, 205, 80),
}
PIP: Mapping[str, Colour] = {"h": (230, 20, 90), "d": (20, 80, 220), "c": (10, 130, 50), "s": (90, 30, 140)}


def draw(canvas: Canvas, card: str) -> None:
    """Draw a card on a canvas of 100 x 140 units."""
    rank, name = split_name(card)
    canvas.fill(rounded_box(1, 1, 99, 139, 10), LINE)
    canvas.fill(rounded_box(4, 4, 96, 136, 8), GROUND[name])
    if rank in COURTS:
        canvas.fill(suit(name, 50, 40, 40), PIP[name])
    canvas.fill(ellipse(16, 17, 13), LINE)
    canvas.fill(index(rank, 16, 17, 14, 0.2), (255, 255, 255))
    canvas.repeat_upside_down()
    if rank not in COURTS:
        for x, y in PIPS[rank]:
            size = 50 if rank == "a" else 24
            canvas.fill(suit(name, 50 + 22 * x, 70 + 40 * y, size + 5, turn=180 if y > 0 else 0), LINE)
            canvas.fill(suit(name, 50 + 22 * x, 70 + 40 * y, size, turn=180 if y > 0 else 0), PIP[name])
