"""The shift ``gaussian_blur``.

OpenCV computes it in integers on 8-bit images. This is many times faster than torchvision's float tensors,
and gives the same bytes on every machine. The result is within two grey levels of
``torchvision.transforms.v2``.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from nsl_bench.core.errors import UserError
from nsl_bench.core.shift import PixelShift
from nsl_bench.core.source import ImageSource

__all__ = ["GaussianBlur"]


class GaussianBlur(PixelShift):
    """A Gaussian blur of every image, with mirrored edges."""

    examples = (
        "gaussian_blur:3",
        "gaussian_blur:5",
        "gaussian_blur:9",
        "gaussian_blur:15",
        "gaussian_blur:25",
    )

    def __init__(self, kernel: int, sigma: float | None = None) -> None:
        """Blur as in torchvision's `gaussian_blur`.

        Args:
            kernel: side of the window in pixels, odd.
            sigma: standard deviation in pixels; by default as in torchvision, 0.15 kernel + 0.35.

        Raises:
            UserError: the kernel is even or below 3, or sigma is not above 0.
        """
        if kernel < 3 or kernel % 2 == 0 or kernel > 255:
            raise UserError(
                f"gaussian_blur: the kernel must be an odd number between 3 and 255; got {kernel}."
            )
        self.kernel = kernel
        self.sigma = 0.15 * kernel + 0.35 if sigma is None else sigma
        if not (math.isfinite(self.sigma) and self.sigma > 0):
            raise UserError(f"gaussian_blur: sigma must be above 0; got {sigma}.")
        self.spec = f"gaussian_blur:{kernel},{self.sigma:.10g}"

    def check(self, source: ImageSource) -> None:
        """Raise a UserError if the window is too large for the images."""
        if self.kernel // 2 >= min(source.shape[:2]):
            raise UserError(
                f"'{self.spec}' does not fit the {source.shape[0]} x {source.shape[1]} images of "
                f"{source.name}; use a smaller kernel."
            )

    def apply(self, images: npt.NDArray[np.uint8], indices: npt.NDArray[np.int64]) -> npt.NDArray[np.uint8]:
        import cv2

        window = (self.kernel, self.kernel)
        result = np.empty(images.shape, np.uint8)
        for k, image in enumerate(images):
            blurred = cv2.GaussianBlur(image, window, self.sigma, borderType=cv2.BORDER_REFLECT_101)
            result[k] = blurred.reshape(image.shape)
        return result
