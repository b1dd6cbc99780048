"""Images as networks take them: rendered in chunks, resized, and stored as bytes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from PIL import Image

from nsl_bench.data.images import chunks
from nsl_bench.perception.network import Renderer


def resize(images: npt.NDArray[np.uint8], size: tuple[int, int]) -> npt.NDArray[np.uint8]:
    """uint8 [m, *size, channels]: resize images [m, height, width, channels].

    Pillow does it, bilinearly and with antialiasing. It uses integer arithmetic, so the result is the same on
    every machine.
    """
    if images.shape[1:3] == size:
        return images
    height, width = size
    result = np.empty((len(images), height, width, images.shape[3]), np.uint8)
    for i, image in enumerate(images):
        picture = Image.fromarray(image[..., 0] if image.shape[2] == 1 else image)
        small = np.asarray(picture.resize((width, height), Image.Resampling.BILINEAR))
        result[i] = small.reshape(result.shape[1:])
    return result


def collect(
    render: Renderer, n: int, size: tuple[int, int] | None, *, progress: bool = False
) -> npt.NDArray[np.uint8]:
    """uint8 [n, *size, channels]: render all images and resize them to a network's input size.

    Only the resized images are kept in memory. `progress` shows a bar on standard error if it is a terminal.
    """
    from tqdm import tqdm

    if n == 0:
        raise ValueError("no images given")
    result: npt.NDArray[np.uint8] | None = None
    pieces = list(chunks(np.arange(n, dtype=np.int64)))
    for rows in tqdm(pieces, desc="rendering", unit="chunk", disable=None if progress else True, leave=False):
        images = render(rows)
        small = resize(images, size or images.shape[1:3])
        if result is None:
            result = np.empty((n, *small.shape[1:]), np.uint8)
        result[rows] = small
    assert result is not None
    return result
