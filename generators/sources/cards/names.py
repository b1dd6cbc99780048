"""Names of the 52 cards: rank and suit in one word, e.g. ``10h`` or ``as``."""

from __future__ import annotations

from nsl_bench.core.types import ConceptSpace

SUITS = ("c", "d", "h", "s")
RANKS = ("a", "2", "3", "4", "5", "6", "7", "8", "9", "10", "j", "q", "k")
COURTS = ("j", "q", "k")

CARDS = tuple(rank + suit for suit in SUITS for rank in RANKS)
"""All cards, suit by suit."""

CARD_SPACE = ConceptSpace("card", CARDS)

ADVERSARIAL = "adversarial_"
"""What the adversarial variant of a deck puts before the deck's name."""


def split_name(card: str) -> tuple[str, str]:
    """The rank and the suit of a card: ``("10", "h")``."""
    return card[:-1], card[-1]
