"""Base class of card sources: a pool of augmented images of the cards of one or several decks.

Each card of a deck has `images_per_card` augmented images: 70 % for the network; of the rest, 70 % are in
pool A and 30 % in pool B (FFNSL paper: 750 per card, 27,300 + 8,164 + 3,536 images). Image ``i`` shows the
same card with the same augmentation in every deck. Its adversarial variant shows the card smaller, on a table
covered with other cards of the standard deck.
"""

import hashlib
import json
from abc import abstractmethod
from collections.abc import Mapping

import numpy as np

from nsl_bench.core.errors import UserError
from nsl_bench.core.options import option
from nsl_bench.core.seeding import stable_hash
from nsl_bench.core.source import ALL, ImageSource
from nsl_bench.core.types import ConceptSpace, Ints, Ints16, PoolPart, UInts8

from ...keyed_random import uniforms
from ..drawn_pool import part_sizes
from .glyphs import ADVERSARIAL, CARD_SPACE, CARDS
from .table import (
    CARD_SHARE,
    RATIO,
    SMALL_SHARE,
    Sprite,
    draw_augmentation,
    lay,
    on_plain_table,
    strewn_table,
)

_MIN_SIDE = 16


class CardPool(ImageSource):
    """Images of one or several decks of cards; the base class of every card source.

    Attributes:
        decks: names of the decks, the standard one first.
    """

    decks: tuple[str, ...]

    concept_space: ConceptSpace = option(ALL, "the cards to show; all 52 if None")
    images_per_card: int = option(
        750, "augmented images of each card, at least 4", least=4, words="4 or more, to fill all three pools"
    )
    image_height: int = option(274, "pixels", least=_MIN_SIDE, most=4096, unit="pixels")
    image_width: int = option(174, "pixels", least=_MIN_SIDE, most=4096, unit="pixels")
    seed: int = option(0, "another seed gives other augmentations", least=0)

    def __post_init__(self) -> None:
        self.concept_space = self.concept_space or CARD_SPACE
        strangers = [card for card in self.concept_space.concepts if card not in CARDS]
        if strangers:
            raise UserError(
                f"The image source {self.name} has no images of '{strangers[0]}'; it has the 52 cards, "
                "named rank and suit ('10h', 'as')."
            )
        self.variants = (*self.decks, *(ADVERSARIAL + deck for deck in self.decks))
        swaps = {deck: f"deck_swap:{deck}" for deck in self.decks[1:]}
        self.named_shifts = {**swaps, **{ADVERSARIAL + deck: f"adversarial:{deck}" for deck in self.decks}}
        self.shape = (self.image_height, self.image_width, 3)
        self._sizes = part_sizes(self.images_per_card)
        self._sprites: dict[tuple[str, str, bool], Sprite] = {}

    @abstractmethod
    def face(self, deck: str, card: str, width: int, height: int) -> tuple[UInts8, UInts8]:
        """A card's face, uint8 [h, w, 3], and its outline, uint8 [h, w], fit into a box of this size."""

    def labels(self, part: PoolPart) -> Ints16:
        """int16 [n]: the card of each image, in turn, so that any multiple of their number is stratified."""
        return np.tile(np.arange(len(self.concept_space), dtype=np.int16), self._sizes[part])

    def render(self, part: PoolPart, indices: Ints, variant: str = "standard") -> UInts8:
        """uint8 [m, height, width, 3]; ``"standard"`` means the standard deck whatever its name."""
        if variant == "standard" and variant not in self.variants:
            variant = self.variants[0]
        self.check_variant(variant)
        n = self._sizes[part] * len(self.concept_space)
        pictures = np.empty((len(indices), *self.shape), np.uint8)
        numbers = np.asarray(indices, np.int64)
        if numbers.size and not 0 <= numbers.min() <= numbers.max() < n:
            raise IndexError(f"image {int(numbers.max())} of a part of {n} images")
        # Card by card: its sprite then stays in the processor's cache.
        for k in np.argsort(numbers % len(self.concept_space), kind="stable").tolist():
            self._paint(pictures[k], part, int(numbers[k]), variant)
        return pictures

    def card_and_number(self, part: PoolPart, index: int) -> tuple[str, int]:
        """The card that an image shows, and the image's number among those of the card."""
        before = {"network": 0, "a": self._sizes["network"], "b": self._sizes["network"] + self._sizes["a"]}
        number, concept = divmod(index, len(self.concept_space))
        return self.concept_space.concepts[concept], before[part] + number

    def _paint(self, picture: UInts8, part: PoolPart, index: int, variant: str) -> None:
        """Paint an image of the pool on uint8 [height, width, 3]."""
        card, number = self.card_and_number(part, index)
        key = (self.seed, CARDS.index(card), number)
        how = draw_augmentation(*key, 0)
        if not variant.startswith(ADVERSARIAL):
            on_plain_table(picture, self._sprite(variant, card, small=False), how, *key, 1)
            return
        height, width, _ = self.shape
        deck = variant.removeprefix(ADVERSARIAL)
        others = [other for other in CARDS if other != card]
        # The decks' adversarial pictures are strewn differently, the same one always alike.
        strewn = (*key, 2, stable_hash(deck))
        strewn_table(
            picture, lambda i: self._sprite(self.decks[0], others[i], small=True), len(others), *strewn
        )
        dx, dy = (uniforms(2, *strewn, 3) - 0.5).tolist()
        place = how.placement(width / 2 + 0.24 * dx * width, height / 2 + 0.24 * dy * height)
        lay(picture, self._sprite(deck, card, small=True), place, tones=how.tones(), shadow=True)

    def _sprite(self, deck: str, card: str, *, small: bool) -> Sprite:
        key = (deck, card, small)
        if key not in self._sprites:
            share = SMALL_SHARE if small else CARD_SHARE
            height, width, _ = self.shape
            box = share * min(width, height / RATIO / 1.1)
            self._sprites[key] = Sprite.from_arrays(
                *self.face(deck, card, max(4, round(box)), max(5, round(box * RATIO)))
            )
        return self._sprites[key]

    def _options(self) -> dict[str, object]:
        """Everything that decides the pixels, as JSON values; subclasses add to it."""
        return {
            "name": self.name,
            "version": self.version,
            "concepts": self.concept_space.concepts,
            "decks": self.decks,
            "shape": self.shape,
            "images_per_card": self.images_per_card,
            "seed": self.seed,
        }

    def fingerprint(self) -> str:
        """A short hash of version and options."""
        return self.hash_of(self._options())

    @staticmethod
    def hash_of(options: Mapping[str, object]) -> str:
        """A short hash of options."""
        return hashlib.sha256(json.dumps(options, sort_keys=True).encode()).hexdigest()[:16]

    def __getstate__(self) -> dict[str, object]:
        # Sprites are cheap to make again and dear to send to another process.
        return {**self.__dict__, "_sprites": {}}
