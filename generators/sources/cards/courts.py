"""The courts of the drawn decks, as ``courts.toml`` describes them."""

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

from .glyphs import suit
from .ink import Canvas, Colour, Shape, ellipse, mirrored, path, placed, polygon, stroke

_COURTS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def draw_court(
    canvas: Canvas,
    deck: str,
    rank: str,
    colours: Mapping[str, Colour],
    *,
    side: int = 1,
    filled_first: bool = True,
) -> None:
    """Draw the half-figure of a court card.

    Args:
        colours: by the names that the file uses; ``line`` is the colour of outlines.
        side: -1 to mirror the figure.
        filled_first: whether outlines cover the inside of shapes, too.
    """
    for line in _COURTS[deck][rank].splitlines():
        kind, paint, *words = line.split()
        colour, *outline = paint.split("/")
        width = float(outline[0]) if outline else 0.0
        shape = placed(_shape(kind, words, width), 50, 0, side, 1)
        if filled_first:
            canvas.fill(shape, _colour(colour, colours))
        if width and kind != "pen":
            canvas.outline(shape, width, _colour(outline[-1] if len(outline) > 1 else "line", colours))
        if not filled_first:
            canvas.fill(shape, _colour(colour, colours))


def _colour(name: str, colours: Mapping[str, Colour]) -> Colour:
    if not name.startswith("#"):
        return colours[name]
    red, green, blue = bytes.fromhex(name[1:])
    return red, green, blue


def _shape(kind: str, words: Sequence[str], width: float) -> Shape:
    if kind == "suit":
        return suit(words[0], *map(float, words[1:]))
    if kind == "ellipse":
        return ellipse(*map(float, words))
    points = path(" ".join(words))
    if kind == "pen":
        return stroke(points, width)
    other = mirrored(points)
    if kind == "both":  # points on the axis are their own mirror images
        first, last = int(points[-1][0] == 0), len(other) - int(points[0][0] == 0)
        return polygon(*points, *other[first:last])
    return polygon(*(other if kind == "mirror" else points))
