"""The standard deck: white cards, black and red, two corner indices, courts in frames."""

from __future__ import annotations

from .glyphs import PIPS, index, suit
from .ink import Canvas, Colour, rounded_box
from .names import COURTS, split_name

__all__ = ["EDGE", "draw"]

EDGE: Colour = (150, 150, 150)
"""Colour of the card's edge."""

WHITE: Colour = (252, 251, 246)
BLACK: Colour = (24, 24, 28)
RED: Colour = (200, 22, 32)


def draw(canvas: Canvas, card: str) -> None:
    """Draw a card on a canvas of 100 x 140 units."""
    rank, name = split_name(card)
    colour = RED if name in "dh" else BLACK
    canvas.fill(rounded_box(0.8, 0.8, 99.2, 139.2, 6), WHITE)
    if rank in COURTS:
        canvas.fill(suit(name, 50, 40, 40), colour)
        canvas.fill(index(rank, 50, 60, 20, 0.16, serifs=True), WHITE)
    corner(canvas, rank, name, colour)
    canvas.repeat_upside_down()
    if rank not in COURTS:
        for x, y in PIPS[rank]:
            size = 40 if rank == "a" else 21
            canvas.fill(suit(name, 50 + 19 * x, 70 + 44 * y, size, turn=180 if y > 0 else 0), colour)


def corner(canvas: Canvas, rank: str, name: str, colour: Colour) -> None:
    """The corner index."""
    canvas.fill(index(rank, 10.5, 15, 17, 0.17, narrow=0.85, serifs=True), colour)
    canvas.fill(suit(name, 10.5, 33, 13), colour)
