"""Concepts of images: suits and ranks of Eleusis, a letter and a digit in its suit's colour; formulas."""

from nsl_bench.core.types import ConceptSpace

SUITS = ("diamonds", "clubs", "hearts", "spades")
"""In the order of the paper's letters A to D, in which ``suit0 < suit1`` compares them."""

LETTERS = "ABCD"

COLOURS = ("red", "black")


def colour_of(concept: str) -> str:
    """Colour of a suit or of a rank's digit: ``"red"`` or ``"black"``."""
    if concept in SUITS:
        return "red" if concept in ("diamonds", "hearts") else "black"
    return concept.partition("_")[0]


def rank_of(concept: str) -> int:
    """Rank of a concept such as ``"red_3"``; 0 for a suit."""
    colour, _, rank = concept.partition("_")
    return int(rank) if colour in COLOURS and rank.isdecimal() else 0


OPERATORS = ("plus", "minus", "times", "div")

FORMULA_SYMBOLS = ConceptSpace("formula symbol", (*"123456789", *OPERATORS))

WHITE_SUITS = "symbol, suits in white"
"""Name of the concept space of which sources show the suits without their colour."""


def symbols(ranks: int, name: str = "symbol") -> ConceptSpace:
    """The suits, then each rank from 1 in red and in black, e.g. ``"red_1"``, ``"black_1"``."""
    digits = tuple(f"{colour}_{rank}" for rank in range(1, ranks + 1) for colour in COLOURS)
    return ConceptSpace(name, (*SUITS, *digits))
