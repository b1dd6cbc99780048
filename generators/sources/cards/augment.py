"""Augmentation of a card image: rotation, shear, zoom, flip and brightness.

The ranges are the FFNSL paper's (section 5, playing cards): rotation up to 55 degrees, shear up to 15
degrees, zoom 0.9 to 1.1 along each axis, horizontal flip, brightness 0.5 to 1.5, a channel shift of up to
2.5 grey levels. All parameters are rounded to a fixed grid, so that the arithmetic is exact and gives the
same image on every machine.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...keyed_random import uniforms

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

    def tones(self) -> npt.NDArray[np.uint8]:
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
