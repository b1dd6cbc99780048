"""The names of the 52 cards, suits and indices as shapes, and where the pips of a number card lie.

Suits fill a box of 1 x 1 around (0, 0), y downwards. A rank's index is given as the lines of a pen on a
grid 4 wide and 6 high, which each deck draws with a pen of its own.
"""

import tomllib
from collections.abc import Mapping
from pathlib import Path

from nsl_bench.core.types import ConceptSpace

from .ink import Shape, bezier, ellipse, mirrored, path, placed, polygon, stroke

Line = list[tuple[float, float]]


def _heart() -> Shape:
    left = bezier(
        (0, 0.5),
        (-0.12, 0.28, -0.5, 0.1, -0.5, -0.2),
        (-0.5, -0.4, -0.36, -0.5, -0.25, -0.5),
        (-0.12, -0.5, -0.02, -0.4, 0, -0.27),
    )
    return polygon(*left, *mirrored(left)[1:-1])


def _stem(top: float, width: float) -> Shape:
    left = bezier((0, top), (-0.03, 0.3, -0.1, 0.44, -width, 0.5))
    return polygon(*(*left, *mirrored(left)[:-1])[::-1])


def _spade() -> Shape:
    left = bezier(
        (0, -0.5),
        (-0.1, -0.3, -0.46, -0.06, -0.46, 0.14),
        (-0.46, 0.3, -0.34, 0.36, -0.24, 0.36),
        (-0.12, 0.36, -0.03, 0.28, 0, 0.16),
    )
    return [polygon(*left, *mirrored(left)[1:-1])[0][::-1], *_stem(0.05, 0.19)]


def _club() -> Shape:
    leaves = [*ellipse(0, -0.28, 0.22), *ellipse(-0.29, 0.12, 0.22), *ellipse(0.29, 0.12, 0.22)]
    middle = polygon((0.07, -0.2), (0.09, 0), (0.2, 0.16), (-0.2, 0.16), (-0.09, 0), (-0.07, -0.2))
    return [*leaves, *middle, *_stem(-0.05, 0.17)]


def _diamond() -> Shape:
    quarter = bezier((0, -0.5), (-0.1, -0.3, -0.24, -0.12, -0.39, 0))
    lower = bezier((-0.39, 0), (-0.24, 0.12, -0.1, 0.3, 0, 0.5))
    left = [*quarter, *lower[1:]]
    return polygon(*left, *mirrored(left)[1:-1])


_SUITS: Mapping[str, Shape] = {"h": _heart(), "s": _spade(), "c": _club(), "d": _diamond()}


def suit(name: str, x: float, y: float, size: float, turn: float = 0) -> Shape:
    """The suit ``c``, ``d``, ``h`` or ``s``, `size` high, its middle at (x, y)."""
    return placed(_SUITS[name], x, y, size, turn=turn)


_LINES, _SERIFS = (
    {rank: [path(line) for line in lines] for rank, lines in table.items()}
    for table in tomllib.loads(Path(__file__).with_name("indices.toml").read_text(encoding="utf-8")).values()
)


def index(
    rank: str, x: float, y: float, height: float, pen: float, *, narrow: float = 1, serifs: bool = False,
    turn: float = 0,
) -> Shape:  # fmt: skip
    """A rank's index.

    Args:
        height: of the lines' grid.
        pen: width of the line, as a share of the height.
        turn: degrees, clockwise.
    """
    width = 4.5 if rank == "10" else 4
    narrow *= 0.8 if rank == "10" else 1
    unit = height / 6
    shape: Shape = []
    for line in [*_LINES[rank], *(_SERIFS.get(rank, []) if serifs else [])]:
        moved = [((px - width / 2) * unit * narrow, (py - 3) * unit) for px, py in line]
        thin = serifs and line in _SERIFS.get(rank, [])
        shape += stroke(moved, pen * height * (0.6 if thin else 1))
    return placed(shape, x, y, 1, turn=turn)


def _rows(left_right: tuple[float, ...], middle: tuple[float, ...] = ()) -> tuple[tuple[float, float], ...]:
    sides = tuple((x, y) for y in left_right for x in (-1.0, 1.0))
    return sides + tuple((0.0, y) for y in middle)


PIPS: Mapping[str, tuple[tuple[float, float], ...]] = {
    "a": _rows((), (0,)),
    "2": _rows((), (-1, 1)),
    "3": _rows((), (-1, 0, 1)),
    "4": _rows((-1, 1)),
    "5": _rows((-1, 1), (0,)),
    "6": _rows((-1, 0, 1)),
    "7": _rows((-1, 0, 1), (-0.5,)),
    "8": _rows((-1, 0, 1), (-0.5, 0.5)),
    "9": _rows((-1, -1 / 3, 1 / 3, 1), (0,)),
    "10": _rows((-1, -1 / 3, 1 / 3, 1), (-2 / 3, 2 / 3)),
}
"""Where pips lie, in -1..1 across and down; those below 0 down stand upside down."""

SUITS = ("c", "d", "h", "s")
RANKS = ("a", "2", "3", "4", "5", "6", "7", "8", "9", "10", "j", "q", "k")
COURTS = ("j", "q", "k")

CARDS = tuple(rank + suit for suit in SUITS for rank in RANKS)
"""All cards, suit by suit; rank and suit in one word, e.g. ``10h`` or ``as``."""

CARD_SPACE = ConceptSpace("card", CARDS)

ADVERSARIAL = "adversarial_"
"""What the adversarial variant of a deck puts before the deck's name."""


def split_name(card: str) -> tuple[str, str]:
    """The rank and the suit of a card: ``("10", "h")``."""
    return card[:-1], card[-1]
