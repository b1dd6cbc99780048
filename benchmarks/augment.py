"""Times augmenting and shifting a pool of images against torchvision on PIL images, one by one.

    python benchmarks/augment.py [--images 512] [--repeats 5]

Both sides get the same images, uint8 [n, height, width, channels], do the same operations with the same
parameters and give back such an array; seconds are CPU seconds of one thread, the least of the repeats.
It prints images a second for both and the ratio.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import cv2
import numpy as np
import numpy.typing as npt
import torch
from nsl_bench.generators.shifts.pixels import Augment
from PIL import Image
from tabulate import tabulate
from torchvision.transforms import InterpolationMode
from torchvision.transforms.v2 import functional

from nsl_bench.core import registry
from nsl_bench.core.shift import PixelShift, Sequence, resolve
from nsl_bench.data.splits import make_source

Pixels = npt.NDArray[np.uint8]
DRAWN = Augment().draw(np.arange(100_000))

OneByOne = Callable[[Image.Image, int], Image.Image]


def augmented(image: Image.Image, index: int) -> Image.Image:
    """The shift ``augment`` by torchvision on a PIL image."""
    if DRAWN.flip[index]:
        image = functional.horizontal_flip(image)
    image = functional.affine(
        image,
        angle=float(DRAWN.rotation[index]),
        translate=[0, 0],
        scale=float(DRAWN.zoom[index]),
        shear=[float(DRAWN.shear[index]), 0.0],
        interpolation=InterpolationMode.BILINEAR,
    )
    return functional.adjust_brightness(image, float(DRAWN.brightness[index]))


def hue(image: Image.Image, index: int) -> Image.Image:
    """``hue:0.5``."""
    return functional.adjust_hue(image, 0.5)


def blur(image: Image.Image, index: int) -> Image.Image:
    """``gaussian_blur:9,3``."""
    return functional.gaussian_blur(image, [9, 9], [3.0, 3.0])


def upside_down(image: Image.Image, index: int) -> Image.Image:
    """``rotate:180``."""
    return functional.rotate(image, 180)


def quarter(image: Image.Image, index: int) -> Image.Image:
    """``rotate:90``."""
    return functional.rotate(image, -90)


CASES: tuple[tuple[str, str, tuple[OneByOne, ...]], ...] = (
    ("crop_yield", "augment+hue:0.5", (augmented, hue)),
    ("crop_yield", "hue:0.5", (hue,)),
    ("indoor_scene", "augment+gaussian_blur:9,3+hue:0.5+rotate:180", (augmented, blur, hue, upside_down)),
    ("indoor_scene", "gaussian_blur:9,3+hue:0.5+rotate:180", (blur, hue, upside_down)),
    ("sudoku_9x9", "augment+rotate:90", (augmented, quarter)),
    ("follow_suit", "augment+gaussian_blur:9,3", (augmented, blur)),
)


def least_seconds(work: Callable[[], object], repeats: int) -> float:
    """CPU seconds of the fastest of several runs, after one that does not count."""
    work()
    seconds = []
    for _ in range(repeats):
        clock = time.process_time()
        work()
        seconds.append(time.process_time() - clock)
    return min(seconds)


def one_by_one(images: Pixels, steps: tuple[OneByOne, ...]) -> Pixels:
    """The images through PIL."""
    result = np.empty_like(images)
    for k, image in enumerate(images):
        picture = Image.fromarray(image[..., 0] if image.shape[-1] == 1 else image)
        for step in steps:
            picture = step(picture, k)
        result[k] = np.asarray(picture).reshape(image.shape)
    return result


def all_at_once(images: Pixels, steps: list[PixelShift]) -> Pixels:
    """The images through the project's shifts."""
    for step in steps:
        images = step.apply(images, np.arange(len(images)))
    return images


def main() -> None:
    """Time all cases and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--images", type=int, default=512)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    torch.set_num_threads(1)
    cv2.setNumThreads(1)
    rows = []
    for name, spec, steps in CASES:
        task = registry.create("benchmark", name)
        source = make_source(task)
        shift = resolve(spec, task, source)
        assert isinstance(shift, Sequence | PixelShift)
        ours = [shift.first, *shift.rest] if isinstance(shift, Sequence) else [shift]
        pixel_shifts = [step for step in ours if isinstance(step, PixelShift)]
        images = source.render("network", np.arange(options.images) % len(source.labels("network")))
        fast = least_seconds(lambda i=images, s=pixel_shifts: all_at_once(i, s), options.repeats)  # type: ignore[misc]
        slow = least_seconds(lambda i=images, s=steps: one_by_one(i, s), options.repeats)  # type: ignore[misc]
        size = "x".join(map(str, images.shape[1:3]))
        rate, other = options.images / fast, options.images / slow
        rows.append((name, size, spec, f"{rate:,.0f}", f"{other:,.0f}", f"{rate / other:.1f}"))
    headers = ("task", "pixels", "shift", "images/s", "PIL images/s", "ratio")
    print(tabulate(rows, headers, tablefmt="github"))


if __name__ == "__main__":
    main()
