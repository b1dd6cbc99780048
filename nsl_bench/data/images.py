"""Images of a pool as files: rendered, encoded as PNG, and marked by a digest of their pixels."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from nsl_bench.core.errors import UserError
from nsl_bench.core.pictures import check_pixels
from nsl_bench.core.shift import Shift
from nsl_bench.core.source import ImageSource
from nsl_bench.core.types import PoolPart
from nsl_bench.data.content import image_digest, pixels

CHUNK = 256
"""Images rendered at a time."""

_LEVEL = 3
"""Of zlib. Higher ones take half as long again and save nothing on drawn or handwritten images."""


def chunks(rows: npt.NDArray[np.int64], size: int = CHUNK) -> Iterator[npt.NDArray[np.int64]]:
    """Consecutive pieces of at most `size` rows."""
    for start in range(0, len(rows), size):
        yield rows[start : start + size]


def render(
    source: ImageSource, shift: Shift | None, part: PoolPart, indices: npt.NDArray[np.int64]
) -> npt.NDArray[np.uint8]:
    """uint8 [m, height, width, channels]: images of a part of the pool, shifted if there is a shift.

    Raises:
        UserError: the source or the shift, which may be a user's, gives something else.
    """
    if shift is None:
        images, maker = source.render(part, indices, source.variants[0]), f"image source {source.name}"
    else:
        images, maker = shift.render(source, part, indices), f"shift '{shift.spec}'"
    right = (len(indices), *source.shape)
    if images.dtype != np.uint8 or images.shape != right:
        raise UserError(
            f"The {maker} must return uint8 images of shape {list(right)}; "
            f"got {images.dtype} {list(images.shape)}."
        )
    return images


def png(image: npt.NDArray[np.uint8]) -> bytes:
    """An image, uint8 [height, width, channels], as a PNG file."""
    from PIL import Image

    buffer = io.BytesIO()
    picture = Image.fromarray(image[..., 0] if image.shape[-1] == 1 else image)
    picture.save(buffer, "PNG", compress_level=_LEVEL)
    return buffer.getvalue()


def blank(shape: Sequence[int]) -> bytes:
    """The PNG file that stands in a blank slot: all black, of the shape [height, width, channels]."""
    return png(np.zeros(tuple(shape), np.uint8))


def encode(image: npt.NDArray[np.uint8]) -> tuple[bytes, bytes]:
    """An image, uint8 [height, width, channels], as a PNG file, and its digest."""
    return png(image), image_digest(image)


def decode(file: bytes) -> npt.NDArray[np.uint8]:
    """uint8 [height, width, channels] from the bytes of a PNG file, as `datasets` shows it."""
    import datasets
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(io.BytesIO(file), formats=["PNG"]) as picture:
            check_pixels(picture, "The image")
            return pixels(datasets.Image().decode_example({"bytes": file, "path": None}))
    except UnidentifiedImageError as error:
        raise OSError("not a PNG file") from error
    except (SyntaxError, ValueError, Image.DecompressionBombError, UserError) as error:
        raise OSError(str(error)) from error
