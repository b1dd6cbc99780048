"""Laying cards on a table: pictures made of sprites, one affine map each.

A sprite is a card's face with its outline as a mask. Pillow's affine map with coefficients on a grid of
2**-16 and its 8-bit pasting are exact, so the same sprites give the same bytes everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from PIL import Image

from ..chance import uniforms
from .augment import Augmentation, Placement

__all__ = ["CARD_SHARE", "RATIO", "SMALL_SHARE", "Sprite", "lay", "on_plain_table", "strewn_table"]

CARD_SHARE = 0.84
"""Width of a card's box, as a share of the picture's, in a plain picture."""

SMALL_SHARE = 0.46
"""The same for the cards of an adversarial picture."""

RATIO = 1.4
"""Height over width of a card's box (a poker card is 88 mm by 63 mm)."""

_SHADOW = 90


@dataclass(frozen=True, eq=False)
class Sprite:
    """A card to be laid on a table.

    Attributes:
        face: RGB. Outside the outline it carries on the border's colour, so that interpolation at the
            edge mixes in nothing else.
        mask: L, 255 on the card, 0 outside and in the outermost ring of pixels.
    """

    face: Image.Image
    mask: Image.Image

    @classmethod
    def from_arrays(cls, face: npt.NDArray[np.uint8], mask: npt.NDArray[np.uint8]) -> Sprite:
        """A sprite from uint8 [h, w, 3] and [h, w], with the ring of transparent pixels added."""
        face = np.pad(face, ((1, 1), (1, 1), (0, 0)), mode="edge")
        return cls(Image.fromarray(face), Image.fromarray(np.pad(mask, 1)))


def lay(picture: Image.Image, sprite: Sprite, place: Placement, *, tones: Sequence[int] | None = None,
        shadow: bool = False) -> None:  # fmt: skip
    """Lay a card on a picture, in place.

    Args:
        picture: RGB.
        sprite: the card.
        place: where, and how it is turned.
        tones: new value of each grey level of the face.
        shadow: whether it casts one.
    """
    width, height = sprite.face.size
    left, top, right, bottom = place.extent(width, height)
    left, top = max(left, 0), max(top, 0)
    right, bottom = min(right, picture.width), min(bottom, picture.height)
    if right <= left or bottom <= top:
        return
    size = (right - left, bottom - top)
    how = place.coefficients(width, height, left, top)
    face = sprite.face.transform(size, Image.Transform.AFFINE, how, Image.Resampling.BILINEAR)
    mask = sprite.mask.transform(size, Image.Transform.AFFINE, how, Image.Resampling.BILINEAR)
    if tones is not None:
        face = face.point(list(tones) * 3)
    if shadow:
        offset = max(1, width // 24)
        picture.paste((0, 0, 0), (left + offset, top + offset), mask.point(lambda v: v * _SHADOW // 255))
    picture.paste(face, (left, top), mask)


def _plain_table(size: tuple[int, int], *key: int) -> Image.Image:
    """An empty table of a muted colour that the key decides; size is (width, height)."""
    shade, *tint = uniforms(4, *key).tolist()
    red, green, blue = (round(70 + 110 * shade + 40 * (t - 0.5)) for t in tint)
    return Image.new("RGB", size, (red, green, blue))


def strewn_table(
    size: tuple[int, int], deal: Callable[[int], Sprite], n_cards: int, *key: int
) -> Image.Image:
    """A table strewn with cards, as the key decides.

    Args:
        size: (width, height) in pixels.
        deal: gives the sprite of card 0..n_cards - 1.
        n_cards: how many different cards there are to strew.
        key: non-negative integers.
    """
    picture = _plain_table(size, *key, 1)
    columns, rows = 3, 4
    spots = columns * rows
    u = uniforms(5 * spots, *key, 2).reshape(5, spots)
    for spot in np.argsort(u[0], kind="stable").tolist():
        column, row = spot % columns, spot // columns
        x = (column + 0.5 + 0.7 * (u[1, spot] - 0.5)) * size[0] / columns
        y = (row + 0.5 + 0.7 * (u[2, spot] - 0.5)) * size[1] / rows
        sprite = deal(int(u[3, spot] * n_cards))
        lay(picture, sprite, Placement.turned(float(x), float(y), 360 * float(u[4, spot])), shadow=True)
    return picture


def on_plain_table(sprite: Sprite, how: Augmentation, size: tuple[int, int], *key: int) -> Image.Image:
    """One augmented card in the middle of a plain table."""
    picture = _plain_table(size, *key)
    lay(picture, sprite, how.placement(size[0] / 2, size[1] / 2))
    return picture.point(how.tones() * 3)
