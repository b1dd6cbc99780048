"""The shifts ``rotate``, ``hue``, ``gaussian_blur`` and ``augment``, which change pixels of any images.

OpenCV computes hue and blur in integers on 8-bit images. This is many times faster than torchvision's float
tensors, and gives the same bytes on every machine. The result is within two levels of
``torchvision.transforms.v2``.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nsl_bench.core.errors import UserError
from nsl_bench.core.options import REQUIRED, option
from nsl_bench.core.seeding import stable_hash
from nsl_bench.core.shift import PixelShift
from nsl_bench.core.source import ImageSource
from nsl_bench.core.types import Ints, UInts8

from ..keyed_random import scattered
from ..notices import say

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

    def apply(self, images: UInts8, indices: Ints) -> UInts8:
        square = images.shape[1] == images.shape[2]
        if self.degrees == 180 or (square and self.degrees % 90 == 0):
            return np.ascontiguousarray(np.rot90(images, k=-int(self.degrees) // 90, axes=(1, 2)))
        pieces = [self._turn(images[i : i + _CHUNK]) for i in range(0, len(images), _CHUNK)]
        return np.concatenate(pieces) if pieces else images.copy()

    def _turn(self, images: UInts8) -> UInts8:
        import torch
        from torchvision.transforms import InterpolationMode
        from torchvision.transforms.v2 import functional

        # In float64 and with ties pushed up by hand, processors that differ in the last bit agree.
        batch = torch.from_numpy(np.moveaxis(images, 3, 1).astype(np.float64))
        turned = functional.rotate(batch, -self.degrees, interpolation=InterpolationMode.BILINEAR)
        levels = np.floor(turned.numpy() + (0.5 + 2.0**-20)).clip(0, 255).astype(np.uint8)
        return np.ascontiguousarray(np.moveaxis(levels, 1, 3))


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

    def apply(self, images: UInts8, indices: Ints) -> UInts8:
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
    """
    share = source.grey_share()
    if share == 1:
        saved = " (in all three channels)" if source.shape[2] == 3 else ""
        raise UserError(f"'{spec}' has no effect: the images of {source.name} are grey{saved}.")
    if share:
        some = f"about {100 * share:.0f} % of the images of {source.name}"
        say(f"'{spec}' has no effect on {some}: they are grey.")


class GaussianBlur(PixelShift):
    """A Gaussian blur of every image, with mirrored edges."""

    examples = tuple(f"gaussian_blur:{kernel}" for kernel in (3, 5, 9, 15, 25))

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

    def apply(self, images: UInts8, indices: Ints) -> UInts8:
        import cv2

        assert self.sigma is not None
        window = (self.kernel, self.kernel)
        result = np.empty(images.shape, np.uint8)
        for k, image in enumerate(images):
            blurred = cv2.GaussianBlur(image, window, self.sigma, borderType=cv2.BORDER_REFLECT_101)
            result[k] = blurred.reshape(image.shape)
        return result


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

    def tones(self) -> UInts8:
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

    def draw(self, indices: Ints) -> Drawn:
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

    def apply(self, images: UInts8, indices: Ints) -> UInts8:
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
