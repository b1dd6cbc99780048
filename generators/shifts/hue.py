"""The shift ``hue``: a rotation of the colour wheel.

OpenCV computes it in integers on 8-bit images. This is many times faster than torchvision's float tensors,
and gives the same bytes on every machine. The result is within two levels of ``torchvision.transforms.v2`` on
PIL images.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from nsl_bench.core.errors import UserError
from nsl_bench.core.options import REQUIRED, option
from nsl_bench.core.shift import PixelShift
from nsl_bench.core.source import ImageSource

from ..notices import say


class Hue(PixelShift):
    """A rotation of every pixel's hue on the colour wheel; grey stays grey."""

    examples = ("hue:0.1", "hue:0.2", "hue:0.3", "hue:0.4", "hue:0.5")

    name = "hue"
    factor: float = option(
        REQUIRED,
        "-0.5 to 0.5; both ends give the opposite colour",
        least=-0.5,
        most=0.5,
        test=lambda factor: _steps(factor) != 0,
        words="between -0.5 and 0.5 and not 0",
    )

    def __post_init__(self) -> None:
        self.factor = 0.5 if self.factor == -0.5 else self.factor
        super().__post_init__()

    def check(self, source: ImageSource) -> None:
        """Raise a UserError if the images have no colours, even if they are stored in three channels."""
        check_colours(self.spec, source)

    def apply(self, images: npt.NDArray[np.uint8], indices: npt.NDArray[np.int64]) -> npt.NDArray[np.uint8]:
        import cv2

        if images.shape[3] != 3:
            return images.copy()
        result = np.empty(images.shape, np.uint8)
        for k, image in enumerate(images):
            turned = cv2.cvtColor(image, cv2.COLOR_RGB2HSV_FULL)
            turned[..., 0] += np.uint8(_steps(self.factor))
            cv2.cvtColor(turned, cv2.COLOR_HSV2RGB_FULL, dst=result[k])
        return result


def _steps(factor: float) -> int:
    """The rotation in steps of OpenCV's colour wheel."""
    return round(factor * 256) % 256


def check_colours(spec: str, source: ImageSource) -> None:
    """Check that a colour shift has an effect on a source's images.

    If only some images are grey, a notice goes to standard error.

    Raises:
        UserError: all images are grey.
    """
    share = source.grey_share()
    if share == 1:
        saved = " (in all three channels)" if source.shape[2] == 3 else ""
        raise UserError(f"'{spec}' has no effect: the images of {source.name} are grey{saved}.")
    if share:
        some = f"about {100 * share:.0f} % of the images of {source.name}"
        say(f"'{spec}' has no effect on {some}: they are grey.")
