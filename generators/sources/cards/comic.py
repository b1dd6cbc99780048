"""The comic deck: four bright colours, thick outlines, sunbursts, and cartoon courts.

Its indices are fat and stand in bubbles with the rank in one pair of corners and the suit in the other.
Courts are big round heads: a king with a moustache, a queen with lashes and lips, a jack with a jester's
cap.
"""

from collections.abc import Mapping

from .courts import draw_court
from .glyphs import COURTS, PIPS, index, split_name, suit
from .ink import Canvas, Colour, arc, ellipse, placed, polygon, rounded_box

EDGE: Colour = (30, 24, 40)
"""Colour of the card's edge."""

LINE: Colour = (30, 24, 40)
PAPER: Colour = (255, 252, 240)
GOLD: Colour = (255, 206, 40)
SKIN: Colour = (255, 205, 160)


_PALETTES: Mapping[str, Mapping[str, Colour]] = {
    "h": {"ray": (255, 206, 92), "ground": (255, 176, 60), "pip": (236, 30, 110), "cloth": (40, 170, 200)},
    "d": {"ray": (150, 226, 255), "ground": (104, 200, 250), "pip": (255, 110, 20), "cloth": (250, 210, 50)},
    "c": {"ray": (250, 170, 205), "ground": (240, 135, 185), "pip": (20, 150, 60), "cloth": (90, 60, 190)},
    "s": {"ray": (190, 240, 120), "ground": (160, 220, 90), "pip": (60, 60, 200), "cloth": (230, 60, 60)},
}
"""Each suit's colours: two for the sunburst, one for pips, one for clothes."""


def draw(canvas: Canvas, card: str) -> None:
    """Draw a card on a canvas of 100 x 140 units."""
    rank, name = split_name(card)
    palette = _PALETTES[name]
    canvas.fill(rounded_box(2, 2, 98, 138, 9), palette["ground"])
    _sunburst(canvas, palette)
    if rank in COURTS:
        colours = {**palette, "line": LINE, "paper": PAPER, "gold": GOLD, "skin": SKIN}
        draw_court(canvas, "comic", rank, colours, filled_first=False)
    _bubble(canvas, 14.5, 15)
    canvas.fill(index(rank, 14.5, 15, 12.5, 0.17 if rank == "10" else 0.23, narrow=0.9), palette["pip"])
    _bubble(canvas, 85.5, 15)
    canvas.fill(suit(name, 85.5, 15, 15), palette["pip"])
    canvas.repeat_upside_down()
    canvas.outline(rounded_box(2, 2, 98, 138, 9), 4, LINE)
    if rank in COURTS:
        return
    size = 62.0 if rank == "a" else 17.5
    for x, y in PIPS[rank]:
        _pip(canvas, name, 50 + 16 * x, 70 + 38 * y, size, 180 if y > 0 else 0, palette["pip"])


def _sunburst(canvas: Canvas, palette: Mapping[str, Colour]) -> None:
    for k in range(0, 360, 30):
        edge = arc(50, 70, 100, 100, k, k + 15)
        canvas.fill(polygon((50, 70), edge[0], edge[-1]), palette["ray"])


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
