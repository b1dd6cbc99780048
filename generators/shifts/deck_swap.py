"""The shift ``deck_swap``: the same cards from another deck."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from nsl_bench.core.errors import UserError, unknown
from nsl_bench.core.options import REQUIRED, option
from nsl_bench.core.shift import Shift
from nsl_bench.core.source import ImageSource
from nsl_bench.core.types import PoolPart

from ..sources.cards.names import ADVERSARIAL


def _decks(source: ImageSource) -> list[str]:
    return [variant for variant in source.variants if not variant.startswith(ADVERSARIAL)]


class DeckSwap(Shift):
    """The same cards from another deck (FFNSL paper: minor shift)."""

    name = "deck_swap"
    deck: str = option(REQUIRED, "a deck of the source other than its standard one")

    def render(
        self, source: ImageSource, part: PoolPart, indices: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.uint8]:
        return source.render(part, indices, self.deck)

    def check(self, source: ImageSource) -> None:
        """Raise a UserError unless the source has this deck besides its standard one."""
        standard, *others = _decks(source)
        if not others:
            raise UserError(
                f"'{self.spec}' needs a second deck, which the image source {source.name} does not have."
            )
        if self.deck == standard:
            raise UserError(f"'{self.spec}' has no effect: {standard} is the standard deck.")
        if self.deck not in others:
            raise unknown(f"deck of the image source {source.name}", self.deck, others)
