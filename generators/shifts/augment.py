"""The shift ``augment``: random rotation, shear, zoom, flip and brightness of every image."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nsl_bench.core.options import option
from nsl_bench.core.seeding import stable_hash
from nsl_bench.core.shift import PixelShift

from ..keyed_random import scattered

Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Drawn:
    """How m images are augmented; each attribute has one number an image.

    Attributes:
        rotation: degrees, clockwise.
        shear: degrees.
        zoom: factor on both axes.
        flip: 1 for mirrored left to right, else 0.
        brightness: factor.
        lift: levels added to every channel.
    """

    rotation: Numbers
    shear: Numbers
    zoom: Numbers
    flip: Numbers
    brightness: Numbers
    lift: Numbers

    def matrices(self, height: int, width: int) -> Numbers:
        """float64 [m, 2, 3]: from a pixel's place in the result to that in the image."""
        turn, slant = np.radians(self.rotation), np.tan(np.radians(self.shear))
        c, s = np.cos(turn), np.sin(turn)
        across = np.where(self.flip > 0, -1, 1) / self.zoom
        a, b = across * (c + slant * s), across * (s - slant * c)
        d, e = -s / self.zoom, c / self.zoom
        x, y = (width - 1) / 2, (height - 1) / 2
        rows = ((a, b, x - a * x - b * y), (d, e, y - d * x - e * y))
        return np.moveaxis(np.array(rows), 2, 0)

    def tones(self) -> npt.NDArray[np.uint8]:
        """uint8 [m, 256]: the new value of each level."""
        levels = np.arange(256) * self.brightness[:, None] + self.lift[:, None]
        return np.floor(levels + 0.5).clip(0, 255).astype(np.uint8)


class Augment(PixelShift):
    """The augmentation of the FFNSL paper's cards (section 5) on the images of any task.

    Rotation up to 55 degrees, shear up to 15, zoom 0.9 to 1.1, left-right flip, brightness 0.5 to 1.5, and
    channels raised by up to 2.5 levels. Uncovered areas are filled by mirroring.
    """

    name = "augment"
    seed: int = option(0, "seed of the changes; 0 or more", least=0)

    def draw(self, indices: npt.NDArray[np.int64]) -> Drawn:
        """Draw the augmentation of these images."""
        u = scattered(indices, 6, stable_hash("augment", self.seed)).T
        return Drawn(
            rotation=110 * u[0] - 55,
            shear=30 * u[1] - 15,
            zoom=0.9 + 0.2 * u[2],
            flip=(u[3] < 0.5).astype(np.float64),
            brightness=0.5 + u[4],
            lift=5 * u[5] - 2.5,
        )

    def apply(self, images: npt.NDArray[np.uint8], indices: npt.NDArray[np.int64]) -> npt.NDArray[np.uint8]:
        import cv2

        height, width, channels = images.shape[1:]
        drawn = self.draw(np.asarray(indices, np.int64))
        matrices, tones = drawn.matrices(height, width), drawn.tones()
        result = np.empty(images.shape, np.uint8)
        how, border = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP, cv2.BORDER_REFLECT_101
        for k, image in enumerate(images):
            moved = cv2.warpAffine(image, matrices[k], (width, height), flags=how, borderMode=border)
            cv2.LUT(moved, tones[k], dst=result[k] if channels > 1 else result[k, ..., 0])
        return result
