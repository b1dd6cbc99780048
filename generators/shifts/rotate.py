"""The shift ``rotate``: every image rotated clockwise about its centre."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from nsl_bench.core.options import REQUIRED, option
from nsl_bench.core.shift import PixelShift

_CHUNK = 64


class Rotate(PixelShift):
    """A clockwise rotation of every image about its centre. The size is kept; uncovered areas are black.

    Multiples of 90 degrees only move pixels if the image is square.
    """

    examples = ("rotate:15", "rotate:45", "rotate:90", "rotate:135", "rotate:180")

    name = "rotate"
    degrees: float = option(
        REQUIRED,
        "any number except multiples of 360",
        test=lambda degrees: degrees % 360 != 0,
        words="a number of degrees, not a multiple of 360, e.g. rotate:90",
    )

    def __post_init__(self) -> None:
        self.degrees %= 360
        super().__post_init__()

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
