"""The shifts of cards: another deck (``deck_swap``), and a background of cards (``adversarial``)."""

from nsl_bench.core.errors import UserError, unknown
from nsl_bench.core.options import REQUIRED, option
from nsl_bench.core.shift import Shift
from nsl_bench.core.source import ImageSource
from nsl_bench.core.types import Ints, PoolPart, UInts8

from ..sources.cards.glyphs import ADVERSARIAL


class DeckSwap(Shift):
    """The same cards from another deck (FFNSL paper: minor shift)."""

    name = "deck_swap"
    deck: str = option(REQUIRED, "a deck of the source other than its standard one")

    def render(self, source: ImageSource, part: PoolPart, indices: Ints) -> UInts8:
        return source.render(part, indices, self.deck)

    def check(self, source: ImageSource) -> None:
        """Raise a UserError unless the source has this deck besides its standard one."""
        standard, *others = (one for one in source.variants if not one.startswith(ADVERSARIAL))
        if not others:
            raise UserError(
                f"'{self.spec}' needs a second deck, which the image source {source.name} does not have."
            )
        if self.deck == standard:
            raise UserError(f"'{self.spec}' has no effect: {standard} is the standard deck.")
        if self.deck not in others:
            raise unknown(f"deck of the image source {source.name}", self.deck, others)


class Adversarial(Shift):
    """A deck's cards on a background of scattered other cards (FFNSL paper: major shift)."""

    name = "adversarial"
    deck: str = option(REQUIRED, "a deck of the source, which may be the standard one")

    def render(self, source: ImageSource, part: PoolPart, indices: Ints) -> UInts8:
        return source.render(part, indices, ADVERSARIAL + self.deck)

    def check(self, source: ImageSource) -> None:
        """Raise a UserError unless the source has an adversarial version of this deck."""
        decks = [v.removeprefix(ADVERSARIAL) for v in source.variants if v.startswith(ADVERSARIAL)]
        if not decks:
            raise UserError(
                f"'{self.spec}' needs adversarial images, which the image source {source.name} does not have."
            )
        if self.deck not in decks:
            raise unknown(f"deck of the image source {source.name}", self.deck, decks)
