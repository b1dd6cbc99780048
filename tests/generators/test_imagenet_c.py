"""ImageNet-C's corruptions against its published formulas, written out the slow way.

What is drawn at random is handed to both. Lengths scale with the side; at 224 they are the published ones.
"""

import colorsys
import io
import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
from nsl_bench.generators.shifts.imagenet_c import CORRUPTIONS, Chance
from PIL import Image
from scipy import ndimage

SIDE = 224
SEVERITIES = range(1, 6)
Light = npt.NDArray[np.float64]


def picture(side: int = SIDE, seed: int = 0) -> npt.NDArray[np.uint8]:
    """Soft blotches, an edge and a grey and a black corner, uint8 [side, side, 3]."""
    coarse = np.random.default_rng(seed).integers(0, 256, (7, 7, 3), dtype=np.uint8)
    image = np.array(Image.fromarray(coarse).resize((side, side), Image.Resampling.BICUBIC))
    image[side // 3 : side // 2, side // 4 : side // 2] = (200, 30, 90)
    image[:4, :4], image[-4:, -4:] = 128, 0
    return image


def ours(name: str, severity: int, image: npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]:
    operation, amounts = CORRUPTIONS[name]
    return operation(image, amounts[severity - 1], Chance(name, 7)).astype(np.int64)


def apart(name: str, severity: int, image: npt.NDArray[np.uint8], light: Light) -> npt.NDArray[np.int64]:
    """How many levels an image and the published formula's, cut to whole numbers, are apart."""
    return abs(ours(name, severity, image) - np.uint8(light.clip(0, 1) * 255).astype(np.int64))


def by_hsv(change: Callable[[float, float], tuple[float, float]]) -> Callable[..., Light]:
    def changed(image: npt.NDArray[np.uint8]) -> Light:
        rows = [colorsys.rgb_to_hsv(*pixel) for pixel in (image / 255).reshape(-1, 3)]
        pixels = [colorsys.hsv_to_rgb(h, *np.clip(change(s, v), 0, 1)) for h, s, v in rows]
        return np.array(pixels).reshape(image.shape)

    return changed


@pytest.mark.parametrize("severity", SEVERITIES)
def test_colours(severity: int) -> None:
    image = picture(24)
    more = (0.1, 0.2, 0.3, 0.4, 0.5)[severity - 1]
    assert apart("brightness", severity, image, by_hsv(lambda s, v: (s, v + more))(image)).max() <= 1
    factor, plus = ((0.3, 0), (0.1, 0), (2, 0), (5, 0.1), (20, 0.2))[severity - 1]
    assert apart("saturate", severity, image, by_hsv(lambda s, v: (s * factor + plus, v))(image)).max() <= 1
    left = (0.4, 0.3, 0.2, 0.1, 0.05)[severity - 1]
    means = (image / 255).mean(axis=(0, 1))
    assert apart("contrast", severity, image, (image / 255 - means) * left + means).max() <= 1


@pytest.mark.parametrize("severity", SEVERITIES)
def test_jpeg_and_pixels(severity: int) -> None:
    image = picture()
    buffer = io.BytesIO()
    Image.fromarray(image).save(buffer, "JPEG", quality=(25, 18, 15, 10, 7)[severity - 1])
    assert np.array_equal(ours("jpeg_compression", severity, image), np.asarray(Image.open(buffer)))
    small = (int(SIDE * (0.6, 0.5, 0.4, 0.3, 0.25)[severity - 1]),) * 2
    coarse = Image.fromarray(image).resize(small, Image.Resampling.BOX)
    assert np.array_equal(
        ours("pixelate", severity, image), coarse.resize((SIDE, SIDE), Image.Resampling.BOX)
    )


@pytest.mark.parametrize("severity", [1, 5])
def test_zoom_blur(severity: int) -> None:
    image = picture()
    light = image / 255
    zooms = np.arange(1, 1.11, 0.01) if severity == 1 else np.arange(1, 1.31, 0.03)
    total = light.copy()
    for zoom in zooms:
        cut = math.ceil(SIDE / zoom)
        top = (SIDE - cut) // 2
        large = ndimage.zoom(light[top : top + cut, top : top + cut], (zoom, zoom, 1), order=1)
        trim = (len(large) - SIDE) // 2
        total += large[trim : trim + SIDE, trim : trim + SIDE]
    assert apart("zoom_blur", severity, image, total / (len(zooms) + 1)).max() <= 1


@pytest.mark.parametrize("severity", [1, 3, 5])
def test_defocus_blur(severity: int) -> None:
    import cv2

    image, radius = picture(), (3, 4, 6, 8, 10)[severity - 1]
    blur, window = (0.1 if severity == 1 else 0.5), (3, 3) if radius <= 8 else (5, 5)
    reach = np.arange(-8, 9) if radius <= 8 else np.arange(-radius, radius + 1)
    disc = (reach[:, None] ** 2 + reach[None] ** 2 <= radius**2).astype(np.float32)
    kernel = cv2.GaussianBlur(disc / disc.sum(), window, sigmaX=blur).astype(np.float64)
    light = np.stack(
        [ndimage.correlate(image[..., k] / 255, kernel, mode="mirror") for k in range(3)], axis=2
    )
    assert apart("defocus_blur", severity, image, light).max() <= 1


@pytest.mark.parametrize("severity", [1, 5])
def test_motion_blur(severity: int) -> None:
    image, (radius, deviation) = picture(), ((10, 3), (20, 15))[severity > 1]
    angle = math.radians(Chance("motion_blur", 7).uniform(-45, 45, 1)[0])
    wide = np.pad(image / 255, ((50, 50), (50, 50), (0, 0)), mode="edge")
    light, weights = np.zeros(image.shape), 0.0
    for step in range(2 * radius + 1):
        weight = math.exp(-(step**2) / (2 * deviation**2))
        x, y = (50 + math.ceil(step * turn(angle) - 0.5) for turn in (math.cos, math.sin))
        light += weight * wide[y : y + SIDE, x : x + SIDE]
        weights += weight
    assert apart("motion_blur", severity, image, light / weights).max() <= 1


@pytest.mark.parametrize("severity", [1, 5])
def test_fog(severity: int) -> None:
    """Diamond and square, a point at a time."""
    image, (thick, decay) = picture(28), ((1.5, 2), (3, 1.4))[severity > 1]
    side, step, height = 32, 32, 100.0
    grid, chance = np.zeros((side, side)), Chance("fog", 7)
    while step >= 2:
        half = step // 2
        for down, right, near in (
            (half, half, ((-half, -half), (-half, half), (half, -half), (half, half))),
            (0, half, ((-half, 0), (half, 0), (0, -half), (0, half))),
            (half, 0, ((-half, 0), (half, 0), (0, -half), (0, half))),
        ):
            drawn = chance.uniform(-height, height, side // step, side // step)
            for i, y in enumerate(range(down, side, step)):
                for j, x in enumerate(range(right, side, step)):
                    four = [grid[(y + a) % side, (x + b) % side] for a, b in near]
                    grid[y, x] = sum(four) / 4 + height * drawn[i, j]
        step, height = half, height / decay
    grid = (grid - grid.min()) / np.ptp(grid)
    brightest = image.max() / 255
    light = (image / 255 + thick * grid[:28, :28, None]) * brightest / (brightest + thick)
    assert apart("fog", severity, image, light).max() <= 1


def test_noise_has_the_published_distribution() -> None:
    image = np.full((SIDE, SIDE, 3), 102, np.uint8)
    for severity in SEVERITIES:
        photons = (60, 25, 12, 5, 3)[severity - 1]
        values, counts = np.unique(ours("shot_noise", severity, image), return_counts=True)
        # Light 0.4 gives a Poisson number of photons, cut where the level would be above 255.
        shares = [math.exp(-0.4 * photons) * (0.4 * photons) ** k / math.factorial(k) for k in range(photons)]
        seen = dict(zip(values.tolist(), (counts / image.size).tolist(), strict=True))
        assert all(abs(seen.get(int(255 * k / photons), 0) - share) < 0.006 for k, share in enumerate(shares))
        share = (0.03, 0.06, 0.09, 0.17, 0.27)[severity - 1]
        spotted = ours("impulse_noise", severity, image)
        assert (
            abs((spotted == 0).mean() - share / 2) < 0.003
            and abs((spotted == 255).mean() - share / 2) < 0.003
        )
    noisy = ours("gaussian_noise", 1, image)
    assert abs(noisy.mean() - 101.5) < 0.2 and abs(noisy.std() - 0.08 * 255) < 0.2


@pytest.mark.parametrize("severity", [2, 4])
def test_elastic_transform(severity: int) -> None:
    image, chance = picture(), Chance("elastic_transform", 7)
    far, smooth, off = ((488, 19.52, 48.8), (17.08, 2.44, 4.88))[severity > 2]
    three = np.float32([[112 + 74, 112 + 74], [112 + 74, 112 - 74], [112 - 74, 112 - 74]])
    moved = three + chance.uniform(-off, off, 3, 2).astype(np.float32)
    # Where the affine map moves a pixel from, solved for rather than by OpenCV, then the wandering.
    forward = np.linalg.solve(np.column_stack([three, np.ones(3)]), moved).T
    x, y = (
        far * ndimage.gaussian_filter(chance.uniform(-1, 1, SIDE, SIDE), smooth, truncate=3) for _ in "xy"
    )
    places = np.mgrid[0:SIDE, 0:SIDE].astype(float)
    back = np.linalg.inv(np.vstack([forward, [0, 0, 1]]))
    from_x, from_y = (row[0] * places[1] + row[1] * places[0] + row[2] for row in back[:2])
    light = np.empty(image.shape)
    for k in range(3):
        turned = ndimage.map_coordinates(image[..., k] / 255, [from_y, from_x], order=1, mode="mirror")
        light[..., k] = ndimage.map_coordinates(
            turned, [places[0] + y, places[1] + x], order=1, mode="reflect"
        )
    far_apart = apart("elastic_transform", severity, image, light)
    assert far_apart.max() <= 12 and far_apart.mean() < 0.6, "OpenCV counts 32 steps between pixels"


def test_lengths_scale_with_the_side() -> None:
    """At half the size an image looks like the full one's corruption, made half as large."""
    image = picture()
    small = np.asarray(Image.fromarray(image).resize((112, 112), Image.Resampling.BOX))
    for name in ("defocus_blur", "zoom_blur", "motion_blur"):
        large = Image.fromarray(ours(name, 4, image).astype(np.uint8)).resize(
            (112, 112), Image.Resampling.BOX
        )
        assert abs(np.asarray(large).astype(int) - ours(name, 4, small)).mean() < 2.5, name
