"""The image source ``drawn_decks``: three decks of cards that the package draws."""

from collections.abc import Callable, Mapping

from nsl_bench.core.types import UInts8

from . import comic, noir, standard
from .ink import Canvas, Colour, rounded_box
from .pool import CardPool

_DECKS: Mapping[str, tuple[Callable[[Canvas, str], None], Colour, float]] = {
    "standard": (standard.draw, standard.EDGE, 6),
    "noir": (noir.draw, noir.EDGE, 3),
    "comic": (comic.draw, comic.EDGE, 11.5),
}
"""Each deck's drawing, the colour of its edge and the radius of its corners."""

_UNITS = (100.0, 140.0)


def draw_card(deck: str, card: str, width: int, height: int) -> tuple[UInts8, UInts8]:
    """A card of a drawn deck: its face, uint8 [height, width, 3], and its outline, uint8 [height, width]."""
    draw, edge, radius = _DECKS[deck]
    canvas = Canvas((width, height), _UNITS, edge)
    draw(canvas, card)
    outline = Canvas((width, height), _UNITS, (0, 0, 0))
    outline.fill(rounded_box(0, 0, *_UNITS, radius), (255, 255, 255))
    return canvas.picture(), outline.picture()[..., 0]


class DrawnDecks(CardPool):
    """Drawn playing cards in the decks ``standard``, ``noir`` and ``comic``, augmented."""

    name = "drawn_decks"
    version = "2"
    licence = "MIT"
    citation = "Drawn by nsl-bench itself."

    decks = tuple(_DECKS)

    def face(self, deck: str, card: str, width: int, height: int) -> tuple[UInts8, UInts8]:
        return draw_card(deck, card, width, height)
