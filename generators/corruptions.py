"""The usual corruptions of the robustness literature, with severities 1 to 5, on images of any size.

Hendrycks and Dietterich: "Benchmarking Neural Network Robustness to Common Corruptions and
Perturbations", ICLR 2019; severities as there, lengths scaled from its images of 224 pixels to the
image's side. What is random about an image is seeded by its index in the pool.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from nsl_bench.errors import UserError
from nsl_bench.seeding import stable_hash
from nsl_bench.shift import PixelShift
from nsl_bench.source import ImageSource

from .chance import uniforms

__all__ = [
    "CORRUPTIONS",
    "Corruption",
    "brightness",
    "contrast",
    "defocus_blur",
    "elastic_transform",
    "fog",
    "gaussian_noise",
    "impulse_noise",
    "jpeg_compression",
    "motion_blur",
    "pixelate",
    "saturate",
    "shot_noise",
    "zoom_blur",
]

Image = npt.NDArray[np.uint8]
"""uint8 [height, width, channels]."""

_FULL_SIDE = 224

_ROUGHNESS = 0.55
"""How thick fog's blotches are, against those twice as large."""

_WAVES = 5
"""Points a side at which an elastic field is drawn; between them it is smooth."""


class _Chance:
    """What is random about one image."""

    def __init__(self, name: str, index: int) -> None:
        self._key = (stable_hash("corruption", name), index)
        self._calls = 0

    def uniform(self, *shape: int) -> npt.NDArray[np.float64]:
        """float64 [*shape] in [0, 1)."""
        self._calls += 1
        return uniforms(int(np.prod(shape)), *self._key, self._calls).reshape(shape)

    def levels(self, *shape: int) -> npt.NDArray[np.uint16]:
        """uint16 [*shape]: random 16-bit numbers, of which a generator gives four at a time."""
        self._calls += 1
        n = int(np.prod(shape))
        seed = np.random.SeedSequence((*self._key, self._calls))
        raw = np.asarray(np.random.PCG64(seed).random_raw(-(-n // 4)), "<u8")
        return raw.view("<u2")[:n].reshape(shape)

    def normal(self, *shape: int) -> npt.NDArray[np.float32]:
        """float32 [*shape]: standard normal numbers."""
        return _quantiles()[self.levels(*shape)]


@lru_cache(maxsize=1)
def _quantiles() -> npt.NDArray[np.float32]:
    """float32 [65536]: the normal distribution's quantiles, in the middles of equal shares."""
    from scipy.special import ndtri

    return np.asarray(ndtri((np.arange(65536) + 0.5) / 65536), np.float32)


def _bytes(levels: npt.NDArray[Any]) -> Image:
    """Levels in 0 to 255, rounded."""
    return np.floor(levels + np.float32(0.5)).clip(0, 255).astype(np.uint8)


def _gaussian_noise(image: Image, amount: float, chance: _Chance) -> Image:
    return _bytes(image + np.float32(255 * amount) * chance.normal(*image.shape))


def _shot_noise(image: Image, photons: float, chance: _Chance) -> Image:
    """Poisson noise, by its normal approximation: the deviation is the root of the light."""
    light = image * np.float32(1 / 255)
    deviation = np.sqrt(light / np.float32(photons))
    return _bytes((light + deviation * chance.normal(*image.shape)) * 255)


def _impulse_noise(image: Image, share: float, chance: _Chance) -> Image:
    levels = chance.levels(*image.shape)
    half = round(share / 2 * 65536)
    return np.where(levels < half, 0, np.where(levels >= 65536 - half, 255, image)).astype(np.uint8)


def _scaled(image: Image, length: float) -> float:
    return float(length * min(image.shape[:2]) / _FULL_SIDE)


def _like(result: npt.NDArray[Any], image: Image) -> Image:
    """OpenCV drops the axis of a single channel."""
    return np.asarray(result, np.uint8).reshape(image.shape)


def _defocus_blur(image: Image, radius: float, chance: _Chance) -> Image:
    import cv2

    radius = max(0.7, _scaled(image, radius))
    reach = int(np.ceil(radius))
    y, x = np.mgrid[-reach : reach + 1, -reach : reach + 1]
    # The rim counts as far as the disc covers it.
    disc = (radius + 0.5 - np.hypot(x, y)).clip(0, 1)
    return _like(cv2.filter2D(image, -1, disc / disc.sum(), borderType=cv2.BORDER_REFLECT_101), image)


def _motion_blur(image: Image, length: float, chance: _Chance) -> Image:
    import cv2

    reach = max(1.0, _scaled(image, length))
    side = 2 * int(np.ceil(reach)) + 1
    angle = (float(chance.uniform(1)[0]) - 0.5) * np.pi / 2
    kernel = np.zeros((side, side))
    for t in np.linspace(-reach, reach, 4 * side):
        x, y = side // 2 + t * np.cos(angle), side // 2 + t * np.sin(angle)
        left, top = int(np.floor(x)), int(np.floor(y))
        for dx, dy in ((0, 0), (0, 1), (1, 0), (1, 1)):
            if left + dx < side and top + dy < side:
                kernel[top + dy, left + dx] += (1 - abs(x - left - dx)) * (1 - abs(y - top - dy))
    return _like(cv2.filter2D(image, -1, kernel / kernel.sum(), borderType=cv2.BORDER_REFLECT_101), image)


def _zoom_blur(image: Image, most: float, chance: _Chance) -> Image:
    import cv2

    height, width = image.shape[:2]
    total = image.astype(np.float32)
    zooms = np.linspace(1, most, 8)[1:]
    for zoom in zooms.tolist():
        matrix = np.array([[zoom, 0, (1 - zoom) * (width - 1) / 2], [0, zoom, (1 - zoom) * (height - 1) / 2]])
        total += _like(
            cv2.warpAffine(image, matrix, (width, height), borderMode=cv2.BORDER_REFLECT_101), image
        )
    return _bytes(total / (len(zooms) + 1))


def _fog(image: Image, thick: float, chance: _Chance) -> Image:
    """Fog of blotches of all sizes, the large ones thickest."""
    import cv2

    height, width = image.shape[:2]
    mist = np.zeros((height, width), np.float32)
    for octave in range(1, 7):
        coarse = (chance.uniform(2**octave, 2**octave) * 255).astype(np.uint8)
        layer = cv2.resize(coarse, (width, height), interpolation=cv2.INTER_LINEAR)
        mist += layer.astype(np.float32) * np.float32(_ROUGHNESS**octave / 255)
    mist = (mist - mist.min()) / max(float(np.ptp(mist)), 1e-6)
    light = image / np.float32(255)
    brightest = max(float(light.max()), 1e-6)
    veiled = (light + np.float32(thick) * mist[..., None]) * np.float32(brightest / (brightest + thick))
    return _bytes(veiled * 255)


def _elastic_transform(image: Image, far: float, chance: _Chance) -> Image:
    """Pixels wander by a smooth random field, up to so far, as a share of the side."""
    import cv2

    height, width = image.shape[:2]
    y, x = np.mgrid[0:height, 0:width].astype(np.float32)
    for axis in (x, y):
        coarse = (chance.uniform(_WAVES, _WAVES) * 2 - 1).astype(np.float32)
        field = cv2.resize(coarse, (width, height), interpolation=cv2.INTER_CUBIC)
        axis += field * np.float32(far * min(height, width))
    return _like(cv2.remap(image, x, y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REFLECT_101), image)


def _by_torchvision(name: str, image: Image, amount: float) -> Image:
    """A colour operation of torchvision.transforms.v2."""
    import torch
    from torchvision.transforms.v2 import functional

    picture = torch.from_numpy(np.ascontiguousarray(np.moveaxis(image, 2, 0)))
    changed = getattr(functional, name)(picture, amount).numpy()
    return np.ascontiguousarray(np.moveaxis(changed, 0, 2))


def _brightness(image: Image, amount: float, chance: _Chance) -> Image:
    return _by_torchvision("adjust_brightness", image, amount)


def _contrast(image: Image, amount: float, chance: _Chance) -> Image:
    return _by_torchvision("adjust_contrast", image, amount)


def _saturate(image: Image, amount: float, chance: _Chance) -> Image:
    return _by_torchvision("adjust_saturation", image, amount)


def _jpeg_compression(image: Image, quality: int, chance: _Chance) -> Image:
    import cv2

    _, encoded = cv2.imencode(".jpg", image[..., ::-1], [cv2.IMWRITE_JPEG_QUALITY, quality])
    decoded = np.asarray(cv2.imdecode(encoded, cv2.IMREAD_UNCHANGED), np.uint8)
    return decoded.reshape(image.shape)[..., ::-1]


def _pixelate(image: Image, share: float, chance: _Chance) -> Image:
    import cv2

    height, width = image.shape[:2]
    small = (max(2, round(width * share)), max(2, round(height * share)))
    coarse = cv2.resize(image, small, interpolation=cv2.INTER_AREA)
    return _like(cv2.resize(coarse, (width, height), interpolation=cv2.INTER_NEAREST), image)


CORRUPTIONS: Mapping[str, tuple[Callable[[Image, Any, _Chance], Image], tuple[Any, ...]]] = {
    "gaussian_noise": (_gaussian_noise, (0.08, 0.12, 0.18, 0.26, 0.38)),
    "shot_noise": (_shot_noise, (60, 25, 12, 5, 3)),
    "impulse_noise": (_impulse_noise, (0.03, 0.06, 0.09, 0.17, 0.27)),
    "defocus_blur": (_defocus_blur, (3, 4, 6, 8, 10)),
    "motion_blur": (_motion_blur, (6, 9, 12, 16, 22)),
    "zoom_blur": (_zoom_blur, (1.11, 1.16, 1.21, 1.26, 1.33)),
    "fog": (_fog, (0.4, 0.7, 1.1, 1.7, 2.6)),
    "brightness": (_brightness, (1.15, 1.3, 1.5, 1.75, 2.0)),
    "contrast": (_contrast, (0.4, 0.3, 0.2, 0.1, 0.05)),
    "saturate": (_saturate, (0.3, 0.1, 2, 5, 20)),
    "elastic_transform": (_elastic_transform, (0.02, 0.03, 0.04, 0.05, 0.065)),
    "pixelate": (_pixelate, (0.6, 0.45, 0.35, 0.25, 0.18)),
    "jpeg_compression": (_jpeg_compression, (25, 18, 15, 10, 7)),
}
"""Each corruption's operation on one image, and its amount for each severity."""


class Corruption(PixelShift):
    """A corruption of a severity from 1, slight, to 5."""

    def __init__(self, name: str, severity: int) -> None:
        """Set it up.

        Raises:
            UserError: the severity is not in 1 to 5.
        """
        if not 1 <= severity <= 5:
            raise UserError(f"{name}:{severity} is no shift: the severity of a corruption is 1 to 5.")
        self.name, self.severity = name, severity
        self.spec = f"{name}:{severity}"

    def check(self, source: ImageSource) -> None:
        """Raise a UserError if colours are to change and the images have none."""
        if self.name == "saturate" and source.shape[2] != 3:
            raise UserError(f"'{self.spec}' changes nothing: the images of {source.name} are grey.")

    def apply(self, images: npt.NDArray[np.uint8], indices: npt.NDArray[np.int64]) -> npt.NDArray[np.uint8]:
        operation, amounts = CORRUPTIONS[self.name]
        amount = amounts[self.severity - 1]
        result = np.empty(images.shape, np.uint8)
        for k, index in enumerate(np.asarray(indices).tolist()):
            result[k] = operation(images[k], amount, _Chance(self.name, index))
        return result


def _named(name: str) -> Callable[..., Corruption]:
    def make(severity: int = 3) -> Corruption:
        return Corruption(name, severity)

    make.__doc__ = f"The corruption {name.replace('_', ' ')}, of a severity from 1 to 5."
    return make


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
