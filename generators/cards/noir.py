"""The noir deck: black cards with thin art-deco lines, and courts out of a detective film."""

from __future__ import annotations

from .glyphs import PIPS, index, suit
from .ink import Canvas, Colour, rounded_box
from .names import COURTS, split_name

__all__ = ["EDGE", "draw"]

EDGE: Colour = (0, 0, 0)
"""Colour of the card's edge."""

INK: Colour = (20, 20, 24)
PALE: Colour = (226, 222, 208)
BLOOD: Colour = (196, 44, 52)


def draw(canvas: Canvas, card: str) -> None:
    """Draw a card on a canvas of 100 x 140 units."""
    rank, name = split_name(card)
    colour = BLOOD if name in "dh" else PALE
    canvas.fill(rounded_box(1, 1, 99, 139, 6), INK)
    canvas.outline(rounded_box(4, 4, 96, 136, 4), 0.8, PALE)
    if rank in COURTS:
        canvas.fill(suit(name, 50, 40, 40), colour)
        canvas.fill(index(rank, 50, 60, 20, 0.08), colour)
    canvas.fill(index(rank, 50, 14, 13, 0.1, narrow=0.7), colour)
    canvas.repeat_upside_down()
    if rank not in COURTS:
        for x, y in PIPS[rank]:
            size = 40 if rank == "a" else 14
            canvas.fill(suit(name, 50 + 14 * x, 70 + 34 * y, size, turn=180 if y > 0 else 0), colour)
