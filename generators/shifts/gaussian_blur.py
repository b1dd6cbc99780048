"""The shift ``gaussian_blur``.

OpenCV computes it in integers on 8-bit images. This is many times faster than torchvision's float tensors,
and gives the same bytes on every machine. The result is within two grey levels of
``torchvision.transforms.v2``.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from nsl_bench.core.errors import UserError
from nsl_bench.core.options import REQUIRED, option
from nsl_bench.core.shift import PixelShift
from nsl_bench.core.source import ImageSource


class GaussianBlur(PixelShift):
    """A Gaussian blur of every image, with mirrored edges."""

    examples = (
        "gaussian_blur:3",
        "gaussian_blur:5",
        "gaussian_blur:9",
        "gaussian_blur:15",
        "gaussian_blur:25",
    )

    name = "gaussian_blur"
    kernel: int = option(
        REQUIRED,
        "side of the window in pixels, odd",
        least=3,
        most=255,
        test=lambda side: side % 2 == 1,
        words="an odd number between 3 and 255",
    )
    sigma: float | None = option(
        None, "standard deviation in pixels; by default as in torchvision, 0.15 kernel + 0.35", above=0
    )

    def __post_init__(self) -> None:
        if self.sigma is None:
            self.sigma = 0.15 * self.kernel + 0.35
        super().__post_init__()

    def check(self, source: ImageSource) -> None:
        """Raise a UserError if the window is too large for the images."""
        if self.kernel // 2 >= min(source.shape[:2]):
            raise UserError(
                f"'{self.spec}' does not fit the {source.shape[0]} x {source.shape[1]} images of "
                f"{source.name}; use a smaller kernel."
            )

    def apply(self, images: npt.NDArray[np.uint8], indices: npt.NDArray[np.int64]) -> npt.NDArray[np.uint8]:
        import cv2

        assert self.sigma is not None
        window = (self.kernel, self.kernel)
        result = np.empty(images.shape, np.uint8)
        for k, image in enumerate(images):
            blurred = cv2.GaussianBlur(image, window, self.sigma, borderType=cv2.BORDER_REFLECT_101)
            result[k] = blurred.reshape(image.shape)
        return result
