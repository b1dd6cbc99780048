"""Laying cards on a table: pictures made of sprites, one affine map each, and their augmentation.

A sprite is a card's face with its outline as a mask. Affine maps have coefficients on a grid of 2**-16 and
blending is in whole numbers, so the same sprites give the same bytes everywhere.

The ranges of the augmentation are the FFNSL paper's (section 5, playing cards): rotation up to 55 degrees,
shear up to 15 degrees, zoom 0.9 to 1.1 along each axis, horizontal flip, brightness 0.5 to 1.5, a channel
shift of up to 2.5 grey levels.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from nsl_bench.core.types import Ints, Ints32, UInts8

from ...keyed_random import uniforms

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
        packed: int32 [h, w], one number a pixel: the face's three colours, and a mask that is 255 on the
            card, 0 outside and in the outermost ring of pixels. Outside the outline the face carries on the
            border's colour, so that interpolation at the edge mixes in nothing else.
    """

    packed: Ints32

    @classmethod
    def from_arrays(cls, face: UInts8, mask: UInts8) -> Sprite:
        """A sprite from uint8 [h, w, 3] and [h, w], with the ring of transparent pixels added."""
        from .kernels import pack

        face = np.pad(face, ((1, 1), (1, 1), (0, 0)), mode="edge")
        return cls(pack(np.dstack([face, np.pad(mask, 1)])))


_AS_THEY_ARE = np.arange(256, dtype=np.uint8)

_Box = tuple[int, int, int, int]


def _place(picture: UInts8, sprite: Sprite, place: Placement) -> tuple[Ints, _Box] | None:
    """The map from a box of the picture to the sprite, and the box; None if they do not meet."""
    height, width = sprite.packed.shape
    left, top, right, bottom = place.extent(width, height)
    left, top = max(left, 0), max(top, 0)
    right, bottom = min(right, picture.shape[1]), min(bottom, picture.shape[0])
    if right <= left or bottom <= top:
        return None
    how = np.array(place.coefficients(width, height, left, top), np.int64)
    return how, (left, top, right - left, bottom - top)


def lay(
    picture: UInts8, sprite: Sprite, place: Placement, *, tones: UInts8 = _AS_THEY_ARE, shadow: bool = False
) -> None:
    """Lay a card on a picture, in place.

    Args:
        picture: uint8 [height, width, 3].
        tones: uint8 [256], new value of each grey level of the face.
    """
    from . import kernels

    placed = _place(picture, sprite, place)
    if placed is None:
        return
    how, box = placed
    offset = max(1, sprite.packed.shape[1] // 24)
    kernels.lay(picture, sprite.packed, how, *box, tones, offset, _SHADOW if shadow else 0)


def _plain_table(*key: int) -> UInts8:
    """uint8 [3]: a muted colour that the key decides."""
    shade, *tint = uniforms(4, *key).tolist()
    return np.array([round(70 + 110 * shade + 40 * (t - 0.5)) for t in tint], np.uint8)


def strewn_table(picture: UInts8, deal: Callable[[int], Sprite], n_cards: int, *key: int) -> None:
    """Paint a table strewn with cards, as the key decides.

    Args:
        picture: uint8 [height, width, 3], overwritten.
        deal: gives the sprite of card 0..n_cards - 1.
    """
    height, width, _ = picture.shape
    picture[:] = _plain_table(*key, 1)
    columns, rows = 3, 4
    spots = columns * rows
    u = uniforms(5 * spots, *key, 2).reshape(5, spots)
    for spot in np.argsort(u[0], kind="stable").tolist():
        column, row = spot % columns, spot // columns
        x = (column + 0.5 + 0.7 * (u[1, spot] - 0.5)) * width / columns
        y = (row + 0.5 + 0.7 * (u[2, spot] - 0.5)) * height / rows
        sprite = deal(int(u[3, spot] * n_cards))
        lay(picture, sprite, Placement.turned(float(x), float(y), 360 * float(u[4, spot])), shadow=True)


def on_plain_table(picture: UInts8, sprite: Sprite, how: Augmentation, *key: int) -> None:
    """Paint one augmented card in the middle of a plain table on uint8 [height, width, 3]."""
    from . import kernels

    height, width, _ = picture.shape
    table, tones = _plain_table(*key), how.tones()
    placed = _place(picture, sprite, how.placement(width / 2, height / 2))
    if placed is None:
        picture[:] = tones[table]
    else:
        kernels.lay_plain(picture, sprite.packed, placed[0], *placed[1], tones, table)


_GRID = 2**16


@dataclass(frozen=True)
class Placement:
    """Position of a flat object in an image, and the map from the image to the object.

    Attributes:
        x: centre in the image, pixels from the left.
        y: centre in the image, pixels from the top.
        matrix: 2x2 matrix, row by row, that maps an offset from the centre in the image to an offset from the
            centre of the object.
    """

    x: float
    y: float
    matrix: tuple[float, float, float, float]

    @classmethod
    def turned(cls, x: float, y: float, degrees: float) -> Placement:
        """A placement that is rotated clockwise by `degrees` and not scaled."""
        c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
        return cls(x, y, (c, s, -s, c))

    def extent(self, width: int, height: int) -> tuple[int, int, int, int]:
        """The box (left, top, right, bottom) of the image, in pixels, that an object of this size touches."""
        a, b, d, e = self.matrix
        det = a * e - b * d
        half_x = (abs(e) * width + abs(b) * height) / (2 * abs(det))
        half_y = (abs(d) * width + abs(a) * height) / (2 * abs(det))
        return (
            math.floor(self.x - half_x - 0.01),
            math.floor(self.y - half_y - 0.01),
            math.ceil(self.x + half_x + 0.01),
            math.ceil(self.y + half_y + 0.01),
        )

    def coefficients(self, width: int, height: int, left: int, top: int) -> tuple[int, ...]:
        """Six affine coefficients, in units of 2**-16, for the part of the image from (left, top) on."""
        a, b, d, e = self.matrix
        dx, dy = left - self.x, top - self.y
        six = (a, b, width / 2 + a * dx + b * dy, d, e, height / 2 + d * dx + e * dy)
        return tuple(round(value * _GRID) for value in six)


@dataclass(frozen=True)
class Augmentation:
    """One image's augmentation.

    Attributes:
        rotation: degrees, clockwise.
        shear: degrees.
        zoom_x: factor on the card's width.
        zoom_y: factor on the card's height.
        flip: whether the card is mirrored horizontally.
        brightness: factor on every pixel, in 256ths.
        channel_shift: grey levels added to every channel.
    """

    rotation: float
    shear: float
    zoom_x: float
    zoom_y: float
    flip: bool
    brightness: int
    channel_shift: int

    def placement(self, x: float, y: float) -> Placement:
        """The placement of a card with this augmentation whose centre is at (x, y), in pixels."""
        c, s = math.cos(math.radians(self.rotation)), math.sin(math.radians(self.rotation))
        slant = math.tan(math.radians(self.shear))
        zx = -self.zoom_x if self.flip else self.zoom_x
        # Picture offset = rotate(shear(zoom(card offset))); this is its inverse.
        return Placement(
            x, y, ((c + slant * s) / zx, (s - slant * c) / zx, -s / self.zoom_y, c / self.zoom_y)
        )

    def tones(self) -> UInts8:
        """uint8 [256]: the new value of each grey level."""
        levels = ((np.arange(256) * self.brightness + 128) >> 8) + self.channel_shift
        return levels.clip(0, 255).astype(np.uint8)


def draw_augmentation(*key: int) -> Augmentation:
    """Draw an augmentation; equal keys give equal augmentations."""
    u = uniforms(7, *key)

    def between(i: int, low: float, high: float) -> float:
        return low + float(u[i]) * (high - low)

    return Augmentation(
        rotation=between(0, -55, 55),
        shear=between(1, -15, 15),
        zoom_x=between(2, 0.9, 1.1),
        zoom_y=between(3, 0.9, 1.1),
        flip=bool(u[4] < 0.5),
        brightness=round(between(5, 0.5, 1.5) * 256),
        channel_shift=round(between(6, -2.5, 2.5)),
    )
