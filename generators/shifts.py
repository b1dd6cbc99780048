"""The shifts of the main tasks: another deck, an adversarial background, a rotation."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from nsl_bench.errors import UserError, unknown
from nsl_bench.shift import PixelShift, Shift
from nsl_bench.source import ImageSource
from nsl_bench.types import PoolPart

from .cards.names import ADVERSARIAL

__all__ = ["Adversarial", "DeckSwap", "Rotate"]

_CHUNK = 64


def _decks(source: ImageSource) -> list[str]:
    return [variant for variant in source.variants if not variant.startswith(ADVERSARIAL)]


class DeckSwap(Shift):
    """The same cards from another deck (FFNSL paper: minor shift)."""

    def __init__(self, deck: str) -> None:
        """Swap to a deck of the source."""
        self.deck = deck
        self.spec = f"deck_swap:{deck}"

    def render(
        self, source: ImageSource, part: PoolPart, indices: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.uint8]:
        return source.render(part, indices, self.deck)

    def check(self, source: ImageSource) -> None:
        """Raise a UserError unless the source has this deck, beside its standard one."""
        standard, *others = _decks(source)
        if not others:
            raise UserError(f"The image source {source.name} has no other deck to swap to ('{self.spec}').")
        if self.deck == standard:
            raise UserError(f"'{self.spec}' changes nothing: {standard} is the standard deck.")
        if self.deck not in others:
            raise unknown(f"deck of the image source {source.name}", self.deck, others)


class Adversarial(Shift):
    """A deck's cards on a background strewn with other cards (FFNSL paper: major shift)."""

    def __init__(self, deck: str) -> None:
        """Strew the background of the cards of a deck, which may be the standard one."""
        self.deck = deck
        self.spec = f"adversarial:{deck}"

    def render(
        self, source: ImageSource, part: PoolPart, indices: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.uint8]:
        return source.render(part, indices, ADVERSARIAL + self.deck)

    def check(self, source: ImageSource) -> None:
        """Raise a UserError unless the source has an adversarial version of this deck."""
        decks = [v.removeprefix(ADVERSARIAL) for v in source.variants if v.startswith(ADVERSARIAL)]
        if not decks:
            raise UserError(f"The image source {source.name} has no adversarial images ('{self.spec}').")
        if self.deck not in decks:
            raise unknown(f"deck of the image source {source.name}", self.deck, decks)


class Rotate(PixelShift):
    """Every image turned clockwise about its middle; it keeps its size, what is bared is black.

    Multiples of 90 degrees move pixels and compute nothing where the image is square.
    """

    def __init__(self, degrees: float) -> None:
        """Turn by `degrees`, clockwise.

        Raises:
            UserError: the angle is no finite number, or a multiple of 360.
        """
        if not math.isfinite(degrees):
            raise UserError(f"rotate:{degrees} is no angle; expected degrees, such as rotate:90.")
        self.degrees = degrees % 360
        if self.degrees == 0:
            raise UserError(
                f"rotate:{degrees:g} changes nothing; expected degrees other than multiples of 360."
            )
        self.spec = f"rotate:{self.degrees:.10g}"

    def apply(self, images: npt.NDArray[np.uint8], indices: npt.NDArray[np.int64]) -> npt.NDArray[np.uint8]:
        square = images.shape[1] == images.shape[2]
        if self.degrees == 180 or (square and self.degrees % 90 == 0):
            return np.ascontiguousarray(np.rot90(images, k=-int(self.degrees) // 90, axes=(1, 2)))
        pieces = [self._turn(images[i : i + _CHUNK]) for i in range(0, len(images), _CHUNK)]
        return np.concatenate(pieces) if pieces else images.copy()

    def _turn(self, images: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
        import torch
        from torchvision.transforms import InterpolationMode
        from torchvision.transforms.v2 import functional

        # In float64 and with ties pushed up by hand, processors that differ in the last bit agree.
        batch = torch.from_numpy(np.moveaxis(images, 3, 1).astype(np.float64))
        turned = functional.rotate(batch, -self.degrees, interpolation=InterpolationMode.BILINEAR)
        levels = np.floor(turned.numpy() + (0.5 + 2.0**-20)).clip(0, 255).astype(np.uint8)
        return np.ascontiguousarray(np.moveaxis(levels, 1, 3))
