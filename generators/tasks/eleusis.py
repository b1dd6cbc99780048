"""Eleusis: does a card follow another by a hidden rule? Two cards, each an image of a suit and one of a rank.

Moeller, Norlander, Zuidberg Dos Martires, De Raedt: "Neurosymbolic Decision Trees" (2025, arXiv 2503.08762),
section 6 and appendix A, after Dietterich (1980).
"""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Literal

import numpy as np

from nsl_bench.core.benchmark import Benchmark, Family, Layout
from nsl_bench.core.errors import unknown
from nsl_bench.core.options import option
from nsl_bench.core.types import Ints, Ints16, LabelSpace, Part, Split

from ..sources.symbols.names import SUITS, WHITE_SUITS, colour_of, rank_of, symbols
from . import programs

_PROGRAMS = programs(__file__)

VIOLATED, FULFILLED = 0, 1

FACES = 4
"""The highest ranks that are faces."""

_RANKS = (FACES + 1, 10)

CONCEPTS: Mapping[str, str] = MappingProxyType(
    {name: rule for name, rule in _PROGRAMS.items() if name not in ("background", "bias")}
)
"""The hidden rules: the cards 0 and 1 fulfil the concept."""


class Eleusis(Benchmark):
    """Predict whether two cards fulfil a hidden concept.

    Cards are drawn at random and independently, so classes have their natural shares: of ``hidden_order``
    35.2 % of the examples are ``violated``. Suits are ordered diamonds, clubs, hearts, spades.
    """

    name = "eleusis"
    version = "1.0.0"
    description = "Two cards fulfil a hidden rule on their suits and ranks, or violate it."
    labels = LabelSpace(("violated", "fulfilled"), (None, "fulfilled"))
    slots = ("suit_0", "rank_0", "suit_1", "rank_1")
    bias = _PROGRAMS["bias"]
    sizes: Mapping[str, int] = MappingProxyType({"small": 1000, "large": 10_000})
    test_size = 1000
    repeats = 7
    sources = ("drawn_symbols", "emnist")
    named_shifts: Mapping[str, str] = MappingProxyType({"rotate90": "rotate:90", "hue": "hue:0.5"})

    concept: str = option(
        "rank_order",
        "hidden rule: ``hidden_order``, ``hidden_modulo``, ``color_parity``, ``alternating_faces``, "
        "``alternating_parity``, ``increase_suits``, ``suit_order`` or ``rank_order``",
    )
    ranks: int = option(
        8, "highest rank, 5 to 10; the highest four are faces", least=_RANKS[0], most=_RANKS[1]
    )
    tint: Literal["cards", "ranks"] = option(
        "cards",
        "``cards``: images of suits and ranks have the suit's colour; ``ranks``: those of suits are white",
    )

    def __post_init__(self) -> None:
        concept, ranks = self.concept, self.ranks
        if concept not in CONCEPTS:
            raise unknown("concept of eleusis", concept, CONCEPTS)
        self.name = self.spec_with()
        members = tuple(self.spec_with(ranks=n) for n in (6, 8, 10))
        self.family = Family(self.spec_with(ranks=8), members, "highest rank")
        self.concept_space = symbols(ranks, WHITE_SUITS) if self.tint == "ranks" else symbols(ranks)
        self.background = _PROGRAMS["background"].format(
            suits=" ".join(f"order({suit}, {k})." for k, suit in enumerate(SUITS)),
            plain=ranks - FACES,
            ranks=ranks,
        )
        self.true_rule = CONCEPTS[concept]
        suits = "; ".join(SUITS)
        self.inputs = (
            f"1 {{ suit(C, ({suits})) }} 1 :- card(C).\n1 {{ rank(C, 1..{ranks}) }} 1 :- card(C).\n"
            "tint(C, red) :- red(C).\ntint(C, black) :- black(C).\n"
        )

    def generate(
        self, part: Part, size: str, repeat: int, rng: np.random.Generator, exclude: Split | None = None
    ) -> Split:
        """Pairs of cards drawn at random.

        There are only as many different pairs as ``(4 * ranks) ** 2``, so the parts share some; their images
        differ.
        """
        n = self.test_size if part == "test" else self.size(size)
        suits, ranks = rng.integers(0, len(SUITS), (n, 2)), rng.integers(1, self.ranks + 1, (n, 2))
        red = (suits == SUITS.index("diamonds")) | (suits == SUITS.index("hearts"))
        digits = len(SUITS) + 2 * (ranks - 1) + ~red
        concepts = np.stack([suits[:, 0], digits[:, 0], suits[:, 1], digits[:, 1]], axis=1)
        return Split(part, self.concept_space, concepts.astype(np.int16), self._fulfils(suits, ranks))

    def _fulfils(self, suits: Ints, ranks: Ints) -> Ints16:
        """int16 [n]: label of each pair, from its suits and ranks [n, 2]."""
        (s, t), (a, b) = suits.T, ranks.T
        faces, odd = ranks > self.ranks - FACES, ranks % 2 == 1
        black = np.isin(suits, [SUITS.index("clubs"), SUITS.index("spades")])
        holds = {
            "hidden_order": (a < b) | (s < t),
            "hidden_modulo": (b == a % self.ranks + 1) | (t == (s + 1) % 4),
            "color_parity": odd[:, 0] == black[:, 1],
            "alternating_faces": faces[:, 0] != faces[:, 1],
            "alternating_parity": odd[:, 0] != odd[:, 1],
            "increase_suits": t == (s + 1) % 4,
            "suit_order": s < t,
            "rank_order": a < b,
        }
        return np.where(holds[self.concept], FULFILLED, VIOLATED).astype(np.int16)

    def generate_validation(self, size: str, repeat: int, rng: np.random.Generator, exclude: Split) -> Split:
        """A fifth as many pairs as the train set has, as in the paper."""
        n = max(1, self.size(size) // 5)
        return replace(self.generate("train", str(n), repeat, rng, exclude), part="validation")

    def layout(self) -> Layout:
        """One card a row."""
        return Layout(2, 2)

    def facts(self, slot: int, concept: str) -> tuple[str, ...]:
        """Suit of a card, or its rank and the digit's colour; nothing where a suit's image shows a digit."""
        kind, card = self.slots[slot].split("_")
        if kind == "suit":
            return (f"suit({card},{concept})",) if concept in SUITS else ()
        rank = rank_of(concept)
        return (f"rank({card},{rank})", f"tint({card},{colour_of(concept)})") if rank else ()
