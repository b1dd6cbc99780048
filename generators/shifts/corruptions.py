"""ImageNet-C corruptions with severities 1 to 5, on images of any size.

They are implemented in `nsl_bench.generators.shifts.imagenet_c`. Randomness is seeded by the image's index in
the pool.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from nsl_bench.core.options import option
from nsl_bench.core.shift import PixelShift
from nsl_bench.core.source import ImageSource

from .hue import check_colours
from .imagenet_c import CORRUPTIONS, Chance


class Corruption(PixelShift):
    """A corruption with a severity from 1 (slight) to 5."""

    version = "2"

    name: str
    severity: int = option(3, "1, slight, to 5", least=1, most=5)

    def check(self, source: ImageSource) -> None:
        """Raise a UserError if the corruption needs colours and the images have none."""
        # The higher severities tint what is grey.
        if self.name == "saturate" and (self.severity < 4 or source.shape[2] == 1):
            check_colours(self.spec, source)

    def apply(self, images: npt.NDArray[np.uint8], indices: npt.NDArray[np.int64]) -> npt.NDArray[np.uint8]:
        operation, amounts = CORRUPTIONS[self.name]
        amount = amounts[self.severity - 1]
        result = np.empty(images.shape, np.uint8)
        for k, index in enumerate(np.asarray(indices).tolist()):
            result[k] = operation(images[k], amount, Chance(self.name, index))
        return result


def _named(name: str) -> type[Corruption]:
    doc = f"The corruption {name.replace('_', ' ')}, of a severity from 1 to 5."
    return type(name, (Corruption,), {"__doc__": doc, "__module__": __name__, "name": name})


gaussian_noise = _named("gaussian_noise")
shot_noise = _named("shot_noise")
impulse_noise = _named("impulse_noise")
defocus_blur = _named("defocus_blur")
motion_blur = _named("motion_blur")
zoom_blur = _named("zoom_blur")
fog = _named("fog")
brightness = _named("brightness")
contrast = _named("contrast")
saturate = _named("saturate")
elastic_transform = _named("elastic_transform")
pixelate = _named("pixelate")
jpeg_compression = _named("jpeg_compression")
