"""ImageNet-C's corruptions, with its severities 1 to 5, as shifts of images of any size.

Hendrycks and Dietterich: "Benchmarking Neural Network Robustness to Common Corruptions and Perturbations",
ICLR 2019, and its published code. On images of 224 x 224 pixels they are that code's, up to a grey level and
to what is drawn at random; on others lengths are scaled with the shorter side, and no length falls below what
changes an image at all. Levels are cut down to whole numbers, as there. Randomness is seeded by an image's
index in the pool.
"""

import io
import math
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image as Picture

from nsl_bench.core.options import option
from nsl_bench.core.seeding import stable_hash
from nsl_bench.core.shift import PixelShift
from nsl_bench.core.source import ImageSource
from nsl_bench.core.types import Floats, Floats32, Ints, UInts8

from ..keyed_random import uniforms
from .pixels import check_colours

Image = npt.NDArray[np.uint8]
"""uint8 [height, width, channels]."""

Light = npt.NDArray[np.float64]
"""float64 [height, width, channels] in 0..1."""

_FULL_SIDE = 224

_ROUNDING = 2.0**-10
"""Added before levels are cut down: whole levels stay, whatever the last bit of a float is."""


class Chance:
    """What is random about one image."""

    def __init__(self, name: str, index: int) -> None:
        self._key = (stable_hash("corruption", name), index)
        self._calls = 0

    def uniform(self, low: float, high: float, *shape: int) -> Floats:
        """float64 [*shape] in [low, high)."""
        self._calls += 1
        return low + (high - low) * uniforms(math.prod(shape), *self._key, self._calls).reshape(shape)

    def levels(self, *shape: int) -> npt.NDArray[np.uint16]:
        """uint16 [*shape]: random 16-bit numbers, of which a generator gives four at a time."""
        self._calls += 1
        n = math.prod(shape)
        seed = np.random.SeedSequence((*self._key, self._calls))
        raw = np.asarray(np.random.PCG64(seed).random_raw(-(-n // 4)), "<u8")
        return raw.view("<u2")[:n].reshape(shape)

    def normal(self, *shape: int) -> Floats32:
        """float32 [*shape]: standard normal numbers."""
        return _quantiles()[self.levels(*shape)]


@lru_cache(maxsize=1)
def _quantiles() -> Floats32:
    """float32 [65536]: the normal distribution's quantiles, in the middles of equal shares."""
    from scipy.special import ndtri

    return np.asarray(ndtri((np.arange(65536) + 0.5) / 65536), np.float32)


@lru_cache(maxsize=5)
def _photon_thresholds(photons: int) -> npt.NDArray[np.uint32]:
    """uint32 [256, most]: the 16-bit numbers from which a level's Poisson number is 1, 2, ... or more."""
    from scipy.special import pdtr

    counts = np.arange(photons + 8 * math.ceil(photons**0.5) + 8)
    shares = pdtr(counts, (np.arange(256) / 255 * photons)[:, None])
    return np.asarray(np.round(shares * 65536), np.uint32)


def _light(image: Image) -> Light:
    return image / 255.0


def _bytes(light: npt.NDArray[np.floating]) -> Image:
    return np.floor(light.clip(0, 1) * 255 + _ROUNDING).astype(np.uint8)


def _scale(image: Image) -> float:
    height, width = image.shape[:2]
    return float(min(height, width) / _FULL_SIDE)


def _gaussian_noise(image: Image, deviation: float, chance: Chance) -> Image:
    return _bytes(_light(image) + deviation * chance.normal(*image.shape))


def _shot_noise(image: Image, photons: int, chance: Chance) -> Image:
    thresholds, drawn = _photon_thresholds(photons), chance.levels(*image.shape).ravel()
    order = np.argsort(image, axis=None, kind="stable")
    counts = np.zeros(image.size, np.int64)
    for pixels in np.split(order, np.flatnonzero(np.diff(image.ravel()[order])) + 1):
        level = image.ravel()[pixels[0]]
        counts[pixels] = np.searchsorted(thresholds[level], drawn[pixels], side="right")
    return _bytes((counts / photons).reshape(image.shape))


def _impulse_noise(image: Image, share: float, chance: Chance) -> Image:
    levels = chance.levels(*image.shape)
    half = round(share / 2 * 65536)
    return np.where(levels < half, 0, np.where(levels >= 65536 - half, 255, image)).astype(np.uint8)


@lru_cache(maxsize=16)
def _disc(radius: float, blur: float) -> Floats32:
    """A disc that sums to 1, slightly blurred at its rim; one of a broken radius counts rims in part."""
    import cv2

    reach = 8 if radius <= 8 else math.ceil(radius)
    y, x = np.mgrid[-reach : reach + 1, -reach : reach + 1]
    whole = float(radius).is_integer()
    covered = np.hypot(x, y) <= radius if whole else (radius + 0.5 - np.hypot(x, y)).clip(0, 1)
    disc = covered.astype(np.float32)
    window = (3, 3) if radius <= 8 else (5, 5)
    return np.asarray(cv2.GaussianBlur(disc / disc.sum(), window, sigmaX=blur))


def _filtered(image: Image, kernel: npt.NDArray[np.floating], border: int) -> Light:
    import cv2

    filtered = cv2.filter2D(_light(image), -1, kernel, borderType=border)
    return np.asarray(filtered, np.float64).reshape(image.shape)


def _defocus_blur(image: Image, amount: tuple[float, float], chance: Chance) -> Image:
    import cv2

    radius, blur = amount
    scaled = max(0.7, radius * _scale(image))
    return _bytes(_filtered(image, _disc(scaled, blur), cv2.BORDER_REFLECT_101))


def _motion_blur(image: Image, amount: tuple[float, float], chance: Chance) -> Image:
    """As ImageMagick blurs: half a Gaussian along a line, each of its points moved by whole pixels."""
    import cv2

    reach, deviation = (max(0.5, length * _scale(image)) for length in amount)
    steps = np.arange(2 * math.ceil(reach) + 1)
    weights = np.exp(-(steps**2) / (2 * deviation**2))
    angle = math.radians(float(chance.uniform(-45, 45, 1)[0]))
    kernel = np.zeros((2 * len(steps) - 1,) * 2)
    right = np.ceil(steps * math.cos(angle) - 0.5).astype(np.int64)
    down = np.ceil(steps * math.sin(angle) - 0.5).astype(np.int64)
    middle = len(steps) - 1
    np.add.at(kernel, (middle + down, middle + right), weights / weights.sum())
    return _bytes(_filtered(image, kernel, cv2.BORDER_REPLICATE))


def _enlarged(light: Light, zoom: float, axis: int) -> Light:
    """The middle of an image along an axis, enlarged by linear interpolation and cut to the old length."""
    side = light.shape[axis]
    cut = math.ceil(side / zoom)
    first = (side - cut) // 2
    long = round(cut * zoom)
    trim = (long - side) // 2
    place = first + np.arange(trim, trim + side) * ((cut - 1) / max(1, long - 1))
    below = np.minimum(place.astype(np.int64), first + cut - 1)
    above = np.minimum(below + 1, first + cut - 1)
    part = (place - below).reshape([-1 if k == axis else 1 for k in range(3)])
    return np.asarray(light.take(below, axis) * (1 - part) + light.take(above, axis) * part)


def _zoom_blur(image: Image, amount: tuple[float, float], chance: Chance) -> Image:
    light = _light(image)
    zooms = np.arange(1, *amount).tolist()
    total = light + sum(_enlarged(_enlarged(light, zoom, 0), zoom, 1) for zoom in zooms)
    return _bytes(total / (len(zooms) + 1))


def _plasma(side: int, decay: float, chance: Chance) -> Floats:
    """float64 [side, side] in 0..1: fog by the diamond-square algorithm; side is a power of two.

    A new point is the mean of four, moved by up to the square of a height that decays from step to step.
    """
    heights = np.zeros((side, side))
    step, height = side, 100.0

    def means(sums: Floats) -> Floats:
        return sums / 4 + height * chance.uniform(-height, height, *sums.shape)

    while step >= 2:
        half = step // 2
        corners = heights[::step, ::step]
        rows = corners + np.roll(corners, -1, 0)
        heights[half::step, half::step] = means(rows + np.roll(rows, -1, 1))
        middles = heights[half::step, half::step]
        across = middles + np.roll(middles, 1, 0) + corners + np.roll(corners, -1, 1)
        heights[::step, half::step] = means(across)
        down = middles + np.roll(middles, 1, 1) + corners + np.roll(corners, -1, 0)
        heights[half::step, ::step] = means(down)
        step, height = half, height / decay
    heights -= heights.min()
    return np.asarray(heights / max(float(heights.max()), 1e-12))


def _fog(image: Image, amount: tuple[float, float], chance: Chance) -> Image:
    thick, decay = amount
    light = _light(image)
    side = 2 ** max(1, (max(image.shape[:2]) - 1).bit_length())
    mist = _plasma(side, decay, chance)[: image.shape[0], : image.shape[1], None]
    brightest = float(light.max())
    return _bytes((light + thick * mist) * brightest / (brightest + thick))


def _brightness(image: Image, amount: float, chance: Chance) -> Image:
    """More value at the same hue and saturation: all channels times a factor."""
    light = _light(image)
    value = light.max(axis=2, keepdims=True)
    brighter = (value + amount).clip(0, 1)
    factor = brighter / np.where(value == 0, 1, value)
    return _bytes(np.where(value == 0, brighter, light * factor))


def _contrast(image: Image, amount: float, chance: Chance) -> Image:
    light = _light(image)
    means = light.mean(axis=(0, 1), keepdims=True)
    return _bytes((light - means) * amount + means)


def _saturate(image: Image, amount: tuple[float, float], chance: Chance) -> Image:
    """Saturation times a factor and more; the hue of grey counts as red, as in the published code."""
    factor, more = amount
    light = _light(image)
    value = light.max(axis=2, keepdims=True)
    spread = value - light.min(axis=2, keepdims=True)
    saturation = spread / np.where(value == 0, 1, value)
    saturated = (saturation * factor + more).clip(0, 1)
    red = np.array([0.0, 1.0, 1.0])[: light.shape[2]] * value
    below = np.where(spread == 0, red, (value - light) / np.where(saturation == 0, 1, saturation))
    return _bytes(value - below * saturated)


def _picture(image: Image) -> Picture.Image:
    return Picture.fromarray(image[..., 0] if image.shape[2] == 1 else image)


def _jpeg_compression(image: Image, quality: int, chance: Chance) -> Image:
    buffer = io.BytesIO()
    _picture(image).save(buffer, "JPEG", quality=quality)
    return np.asarray(Picture.open(buffer)).reshape(image.shape).copy()


def _pixelate(image: Image, share: float, chance: Chance) -> Image:
    height, width = image.shape[:2]
    small = (max(1, int(width * share)), max(1, int(height * share)))
    coarse = _picture(image).resize(small, Picture.Resampling.BOX)
    return np.asarray(coarse.resize((width, height), Picture.Resampling.BOX)).reshape(image.shape).copy()


def _elastic_transform(image: Image, amount: tuple[float, float, float], chance: Chance) -> Image:
    """A random affine map of three points, then pixels that wander by a smooth random field."""
    import cv2
    from scipy.ndimage import gaussian_filter, map_coordinates

    far, smooth, off = (244 * length * _scale(image) for length in amount)
    height, width = image.shape[:2]
    middle, arm = np.array([height, width], np.float32) // 2, min(height, width) // 3
    three = np.array([middle + arm, [middle[0] + arm, middle[1] - arm], middle - arm], np.float32)
    moved = three + chance.uniform(-off, off, 3, 2).astype(np.float32)
    light = np.asarray(
        cv2.warpAffine(
            _light(image).astype(np.float32),
            cv2.getAffineTransform(three, moved),
            (width, height),
            borderMode=cv2.BORDER_REFLECT_101,
        )
    ).reshape(image.shape)
    x, y = (
        far * gaussian_filter(chance.uniform(-1, 1, height, width), smooth, mode="reflect", truncate=3)
        for _ in range(2)
    )
    places = np.arange(height)[:, None] + y, np.arange(width)[None] + x
    channels = np.moveaxis(light, 2, 0)
    wandered = [map_coordinates(channel, places, order=1, mode="reflect") for channel in channels]
    return _bytes(np.stack(wandered, axis=2))


CORRUPTIONS: Mapping[str, tuple[Callable[[Image, Any, Chance], Image], tuple[Any, ...]]] = {
    "gaussian_noise": (_gaussian_noise, (0.08, 0.12, 0.18, 0.26, 0.38)),
    "shot_noise": (_shot_noise, (60, 25, 12, 5, 3)),
    "impulse_noise": (_impulse_noise, (0.03, 0.06, 0.09, 0.17, 0.27)),
    "defocus_blur": (_defocus_blur, ((3, 0.1), (4, 0.5), (6, 0.5), (8, 0.5), (10, 0.5))),
    "motion_blur": (_motion_blur, ((10, 3), (15, 5), (15, 8), (15, 12), (20, 15))),
    "zoom_blur": (_zoom_blur, ((1.11, 0.01), (1.16, 0.01), (1.21, 0.02), (1.26, 0.02), (1.31, 0.03))),
    "fog": (_fog, ((1.5, 2), (2, 2), (2.5, 1.7), (2.5, 1.5), (3, 1.4))),
    "brightness": (_brightness, (0.1, 0.2, 0.3, 0.4, 0.5)),
    "contrast": (_contrast, (0.4, 0.3, 0.2, 0.1, 0.05)),
    "saturate": (_saturate, ((0.3, 0), (0.1, 0), (2, 0), (5, 0.1), (20, 0.2))),
    "elastic_transform": (
        _elastic_transform,
        ((2, 0.7, 0.1), (2, 0.08, 0.2), (0.05, 0.01, 0.02), (0.07, 0.01, 0.02), (0.12, 0.01, 0.02)),
    ),
    "pixelate": (_pixelate, (0.6, 0.5, 0.4, 0.3, 0.25)),
    "jpeg_compression": (_jpeg_compression, (25, 18, 15, 10, 7)),
}
"""Each corruption's operation on one image, and its amount for each severity."""


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

    def apply(self, images: UInts8, indices: Ints) -> UInts8:
        operation, amounts = CORRUPTIONS[self.name]
        amount = amounts[self.severity - 1]
        result = np.empty(images.shape, np.uint8)
        for k, index in enumerate(np.asarray(indices).tolist()):
            result[k] = operation(images[k], amount, Chance(self.name, index))
        return result


for _name in CORRUPTIONS:
    _doc = f"The corruption {_name.replace('_', ' ')}, of a severity from 1 to 5."
    _body = {"__doc__": _doc, "__module__": __name__, "name": _name}
    globals()[_name] = type(_name, (Corruption,), _body)
