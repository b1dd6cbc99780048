"""The sources of Eleusis's images: letters and digits on black, white or red by the suit's colour."""

import hashlib
import json
from abc import abstractmethod
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np

from nsl_bench.core.errors import UserError
from nsl_bench.core.options import REQUIRED, option
from nsl_bench.core.source import ALL, ImageSource
from nsl_bench.core.types import ConceptSpace, Ints, Ints16, PoolPart, UInts8

from .glyphs import SIDE, DrawnLetters, EmnistLetters, Glyphs, MnistRanks, SklearnRanks
from .names import SUITS, WHITE_SUITS, colour_of, rank_of, symbols

_MOST_RANKS = 10
_RED = 5
"""Red has a fifth of white's green and blue."""

_FILLED = "8 or more, to fill all three pools"

_ALL: tuple[PoolPart, ...] = ("network", "a", "b")


class _Tinted(ImageSource):
    """Letters and digits in the colour of a suit.

    A red suit's letter and its rank's digit are red, a black suit's are white. Letters are all white if the
    concept space says so by its name.
    """

    version = "1"

    concept_space: ConceptSpace = option(ALL, "suits and ranks to show; ranks 1 to 10 if None")
    seed: int = option(0, "decides what is drawn, and which digit has which colour or pool", least=0)

    @abstractmethod
    def _drawn(self) -> tuple[Glyphs, Glyphs]:
        """The letters and the digits."""

    def __post_init__(self) -> None:
        letters, ranks = self._drawn()
        self.concept_space = self.concept_space or symbols(_MOST_RANKS)
        self.shape = (SIDE, SIDE, 3)
        self._white_suits = self.concept_space.name == WHITE_SUITS
        self.named_shifts = {}
        for concept in self.concept_space.concepts:
            if concept not in SUITS and not 1 <= rank_of(concept) <= _MOST_RANKS:
                raise UserError(
                    f"The image source {self.name} has no images of '{concept}'; it has the suits and ranks "
                    "of Eleusis, e.g. hearts and red_3."
                )
        self._letters, self._ranks = letters, ranks
        self.licence = f"{letters.licence} (letters), {ranks.licence} (digits)"
        self.citation = f"{letters.citation}; {ranks.citation}.".capitalize()

    def _glyphs(self, concept: str) -> Glyphs:
        return self._letters if concept in SUITS else self._ranks

    @cached_property
    def _places(self) -> dict[PoolPart, tuple[Ints16, Ints]]:
        """The concept of each image of a part, and its number among those of its concept."""
        result: dict[PoolPart, tuple[Ints16, Ints]] = {}
        for part in _ALL:
            sizes = [self._glyphs(c).sizes(c)[part] for c in self.concept_space.concepts]
            numbers = np.concatenate([np.arange(n) for n in sizes]).astype(np.int64)
            concepts = np.repeat(np.arange(len(sizes)), sizes).astype(np.int16)
            order = np.lexsort((concepts, numbers))  # the concepts in turn
            result[part] = concepts[order], numbers[order]
        return result

    def labels(self, part: PoolPart) -> Ints16:
        return self._places[part][0]

    def render(self, part: PoolPart, indices: Ints, variant: str = "standard") -> UInts8:
        self.check_variant(variant)
        concepts, numbers = self._places[part]
        images = np.empty((len(indices), *self.shape), np.uint8)
        for row, index in zip(images, np.asarray(indices).tolist(), strict=True):
            if not 0 <= index < len(concepts):
                raise IndexError(f"image {index} of a part of {len(concepts)} images")
            concept = self.concept_space.concepts[concepts[index]]
            grey = self._glyphs(concept).draw(concept, part, int(numbers[index]))
            row[:] = grey[..., None]
            if colour_of(concept) == "red" and not (self._white_suits and concept in SUITS):
                row[..., 1:] //= _RED
        return images

    def _hash(self, parts: tuple[PoolPart, ...]) -> str:
        identity = [self.name, self.version, self.concept_space.concepts]
        identity += ["white suits"] if self._white_suits else []
        identity += [self._letters.hash_of(parts), self._ranks.hash_of(parts)]
        return hashlib.sha256(json.dumps(identity).encode()).hexdigest()[:16]

    @cached_property
    def _hashes(self) -> tuple[str, str]:
        return self._hash(_ALL), self._hash(("network",))

    def fingerprint(self) -> str:
        return self._hashes[0]

    def network_fingerprint(self) -> str:
        return self._hashes[1]


class DrawnSymbols(_Tinted):
    """Letters that the package draws in five fonts and many hands, and scikit-learn's digits.

    Of each concept's images 50 % are the network's, of the rest 70 % are in pool A and 30 % in pool B. No
    digit of scikit-learn is in two parts.
    """

    name = "drawn_symbols"

    images_per_suit: int = option(
        2000, "letters of each suit, at least 8", least=8, words=_FILLED, after="concept_space"
    )
    images_per_rank: int = option(
        500, "digits of each rank in each colour, at least 8", least=8, words=_FILLED
    )

    def _drawn(self) -> tuple[Glyphs, Glyphs]:
        return DrawnLetters(self.images_per_suit, self.seed), SklearnRanks(self.images_per_rank, self.seed)


class Emnist(_Tinted):
    """EMNIST's letters and MNIST's digits, from torchvision's root folder.

    Train and validation sets and the network share the train images, which are in separate pools; test sets
    have the test images.
    """

    name = "emnist"

    root: Path = option(
        REQUIRED, "folder with ``EMNIST/raw`` and ``MNIST/raw``, or with the files themselves"
    )
    letters: Literal["letters", "balanced", "byclass", "bymerge", "drawn"] = option(
        "letters", "EMNIST's split; ``drawn``: the letters of ``drawn_symbols``", after="concept_space"
    )
    digits: Literal["mnist", "sklearn"] = option("mnist", "``sklearn``: the digits of ``drawn_symbols``")

    def _drawn(self) -> tuple[Glyphs, Glyphs]:
        letters = (
            DrawnLetters(2000, self.seed)
            if self.letters == "drawn"
            else EmnistLetters(self.root, self.letters)
        )
        mnist = self.digits == "mnist"
        return letters, MnistRanks(self.root, self.seed) if mnist else SklearnRanks(500, self.seed)
