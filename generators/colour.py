"""The shifts ``hue`` and ``gaussian_blur``.

OpenCV computes both on 8-bit images in whole numbers: many times faster than torchvision's float tensors,
and the same bytes on every machine. What comes out is within a grey level or two of
``torchvision.transforms.v2``: of its blur, and of its hue on PIL images, which computes in 8 bits too.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from nsl_bench.errors import UserError
from nsl_bench.shift import PixelShift
from nsl_bench.source import ImageSource

from .say import say

__all__ = ["GaussianBlur", "Hue", "check_colours"]


class Hue(PixelShift):
    """The hue of every pixel turned on the colour wheel; grey stays grey."""

    def __init__(self, factor: float) -> None:
        """Turn by a factor of the wheel, as torchvision's `adjust_hue`.

        Args:
            factor: -0.5 to 0.5; both ends are the opposite colour.

        Raises:
            UserError: the factor is out of range, or 0.
        """
        if not -0.5 <= factor <= 0.5:
            raise UserError(f"hue:{factor} is no shift: the factor lies between -0.5 and 0.5.")
        self.factor = 0.5 if factor == -0.5 else factor
        self._step = round(self.factor * 256) % 256
        if self._step == 0:
            raise UserError(
                f"hue:{factor:g} changes nothing; expected a factor from -0.5 to 0.5 other than 0."
            )
        self.spec = f"hue:{self.factor:.10g}"

    def check(self, source: ImageSource) -> None:
        """Raise a UserError if the images have no colour, also where they are saved in three channels."""
        check_colours(self.spec, source)

    def apply(self, images: npt.NDArray[np.uint8], indices: npt.NDArray[np.int64]) -> npt.NDArray[np.uint8]:
        import cv2

        if images.shape[3] != 3:
            return images.copy()
        result = np.empty(images.shape, np.uint8)
        for k, image in enumerate(images):
            turned = cv2.cvtColor(image, cv2.COLOR_RGB2HSV_FULL)
            turned[..., 0] += np.uint8(self._step)
            cv2.cvtColor(turned, cv2.COLOR_HSV2RGB_FULL, dst=result[k])
        return result


def check_colours(spec: str, source: ImageSource) -> None:
    """Look whether a shift of colours does anything to a source's images.

    Some grey images among coloured ones are said on standard error.

    Raises:
        UserError: all are grey.
    """
    share = source.grey_share()
    if share == 1:
        saved = " (in all three channels)" if source.shape[2] == 3 else ""
        raise UserError(f"'{spec}' changes nothing: the images of {source.name} are grey{saved}.")
    if share:
        some = f"about {100 * share:.0f} % of the images of {source.name}"
        say(f"'{spec}' changes nothing in {some}: they are grey.")


class GaussianBlur(PixelShift):
    """Every image blurred by a Gaussian; at the edges it is mirrored."""

    def __init__(self, kernel: int, sigma: float | None = None) -> None:
        """Blur as torchvision's `gaussian_blur`.

        Args:
            kernel: side of the window, pixels, odd.
            sigma: standard deviation, pixels; by default that of torchvision, 0.15 kernel + 0.35.

        Raises:
            UserError: the kernel is even or below 3, or sigma is not a positive number.
        """
        if kernel < 3 or kernel % 2 == 0 or kernel > 255:
            raise UserError(f"gaussian_blur:{kernel} is no shift: the kernel is an odd number from 3 to 255.")
        self.kernel = kernel
        self.sigma = 0.15 * kernel + 0.35 if sigma is None else sigma
        if not (math.isfinite(self.sigma) and self.sigma > 0):
            raise UserError(f"gaussian_blur:{kernel},{sigma} is no shift: sigma is a number above 0.")
        self.spec = f"gaussian_blur:{kernel},{self.sigma:.10g}"

    def check(self, source: ImageSource) -> None:
        """Raise a UserError if the window is larger than what mirroring can fill."""
        if self.kernel // 2 >= min(source.shape[:2]):
            raise UserError(
                f"'{self.spec}' does not fit the image source {source.name}, whose images have "
                f"{source.shape[0]} x {source.shape[1]} pixels."
            )

    def apply(self, images: npt.NDArray[np.uint8], indices: npt.NDArray[np.int64]) -> npt.NDArray[np.uint8]:
        import cv2

        window = (self.kernel, self.kernel)
        result = np.empty(images.shape, np.uint8)
        for k, image in enumerate(images):
            blurred = cv2.GaussianBlur(image, window, self.sigma, borderType=cv2.BORDER_REFLECT_101)
            result[k] = blurred.reshape(image.shape)
        return result
