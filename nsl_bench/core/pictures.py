"""Pictures from and to files of the user's: whatever their mode is, and whatever their name asks for."""

import contextlib
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError

from nsl_bench.core import cache, files
from nsl_bench.core.errors import UserError

MOST_PIXELS = 1 << 26
"""Of a picture that is read: 8,192 x 8,192, more than cameras of telephones make."""

_FORMATS = ("PNG", "JPEG", "BMP", "PPM", "TIFF", "WEBP", "GIF", "AVIF")
"""What is read, whatever a file's name says. Pillow would hand some others to Ghostscript."""

_TILE = (322, 323)
"""TIFF's tags of the width and the height of a tile."""

_ROWS = 256
"""Of a picture of numbers that are scaled at a time."""

# Pillow warns of pictures that are larger than those that are read at all.
warnings.filterwarnings("ignore", category=Image.DecompressionBombWarning)

_MOST = (1.0, 255.0, 65535.0)
"""What white is in a picture of numbers: the least of these that nothing exceeds."""


@contextlib.contextmanager
def opened(file: Path, what: str = "The image") -> Iterator[Image.Image]:
    """A picture of a file, not decoded yet; decode it in the block, and do nothing else there.

    Args:
        what: what it is, as a sentence begins.
    """
    with files.opened(file, what) as content:
        try:
            _check_canvas(content, f"{what} {file}")
            formats = [kind for kind in _FORMATS if kind in Image.registered_extensions().values()]
            with Image.open(content, formats=formats) as picture:
                check_pixels(picture, f"{what} {file}")
                yield picture
        except UserError:
            raise
        except (Image.DecompressionBombError, Image.DecompressionBombWarning):
            raise UserError(
                f"{what} {file} must have at most {MOST_PIXELS:,} pixels; it has more. Scale it down."
            ) from None
        except MemoryError as error:
            raise UserError(f"{what} {file} takes more memory than is free.") from error
        except UnidentifiedImageError as error:
            raise UserError(
                f"{what} {file} cannot be read; it is not an image ({', '.join(_FORMATS)})."
            ) from error
        except Exception as error:  # Pillow raises anything on damaged files
            reason = str(error) or type(error).__name__
            raise UserError(
                f"{what} {file} cannot be read ({reason}); it may be incomplete or not an image."
            ) from error


def check_pixels(picture: Image.Image, where: str) -> None:
    """Check that a picture can be decoded in little memory.

    Args:
        where: what it is, as a sentence begins, e.g. ``"The image leaf.png"``.
    """
    _check_size(picture.size, where)
    tile = [getattr(picture, "tag_v2", {}).get(tag, 0) for tag in _TILE]
    if all(isinstance(side, int) for side in tile):
        _check_size((tile[0], tile[1]), where)


def _check_size(size: tuple[int, int], where: str) -> None:
    width, height = size
    if width * height > MOST_PIXELS:
        raise UserError(
            f"{where} must have at most {MOST_PIXELS:,} pixels; it has {width:,} x {height:,}. Scale it down."
        )


def _check_canvas(content: BinaryIO, where: str) -> None:
    """Check the size that a WebP file states: Pillow takes the memory for its pixels when it opens it."""
    head = content.read(30)
    content.seek(0)
    if head[:4] != b"RIFF" or head[8:12] != b"WEBP":
        return
    if head[12:16] == b"VP8X":
        width, height = (int.from_bytes(head[k : k + 3], "little") + 1 for k in (24, 27))
    elif head[12:16] == b"VP8L":
        bits = int.from_bytes(head[21:25], "little")
        width, height = (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    else:
        width, height = (int.from_bytes(head[k : k + 2], "little") & 0x3FFF for k in (26, 28))
    _check_size((width, height), where)


def upright(picture: Image.Image) -> Image.Image:
    """The picture, turned as cameras mean it to be (EXIF)."""
    ImageOps.exif_transpose(picture, in_place=True)
    return picture


def in_bytes(picture: Image.Image) -> Image.Image:
    """Scale grey of 16 or 32 bits to 8, which Pillow would clip to white; return other pictures unchanged."""
    if not picture.mode.startswith(("I", "F")):
        return picture
    levels = np.asarray(picture)
    if picture.mode.startswith("I;16"):
        white = _MOST[-1]
    else:
        scales, highest = _MOST if picture.mode == "F" else _MOST[1:], float(levels.max())
        white = next((most for most in scales if highest <= most), highest)
    scaled = np.empty(levels.shape, np.uint8)
    with np.errstate(invalid="ignore"):  # numbers may be infinite
        for k in range(0, len(levels), _ROWS):
            rows = levels[k : k + _ROWS].astype(np.float64) * (255 / white) + 0.5
            scaled[k : k + _ROWS] = np.nan_to_num(rows).clip(0, 255)
    return Image.fromarray(scaled)


def opaque(picture: Image.Image) -> Image.Image:
    """The picture in colours; what is transparent shows white."""
    if picture.mode == "RGB" and not picture.has_transparency_data:
        return picture
    if not picture.has_transparency_data:
        return picture.convert("RGB")
    colours = picture.convert("RGBA")
    white = Image.new("RGBA", colours.size, "white")
    return Image.alpha_composite(white, colours).convert("RGB")


def check_ending(path: Path) -> str:
    """Pillow's name of the format that the ending of ``--out`` asks for."""
    kind = Image.registered_extensions().get(path.suffix.lower(), "")
    if kind not in Image.SAVE:
        raise UserError(f"--out must have the ending of an image format, such as .png or .jpg; got {path}.")
    return kind


def save(picture: Image.Image, path: Path, **options: Any) -> None:
    """Write a picture in the format of its ending, whole or not at all.

    Args:
        path: where; its ending names the format.
        options: of Pillow's encoder, e.g. ``optimize=True``.
    """
    with cache.replacing(path) as temporary:
        picture.save(temporary, check_ending(path), **options)
