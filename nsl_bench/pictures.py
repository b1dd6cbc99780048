"""Pictures from and to files of the user's: whatever their mode is, and whatever their name asks for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageOps

from nsl_bench import cache
from nsl_bench.errors import UserError

__all__ = ["check_ending", "in_bytes", "opaque", "save", "upright"]

_MOST = (1.0, 255.0, 65535.0)
"""What white is in a picture of numbers: the least of these that nothing exceeds."""


def upright(picture: Image.Image) -> Image.Image:
    """The picture as cameras mean it to be turned (EXIF)."""
    return ImageOps.exif_transpose(picture)


def in_bytes(picture: Image.Image) -> Image.Image:
    """A grey picture of 16 or 32 bits with 8, scaled; Pillow would clip it to white. Others as they are."""
    if not picture.mode.startswith(("I", "F")):
        return picture
    levels = np.asarray(picture, np.float64)
    if picture.mode.startswith("I;16"):
        white = _MOST[-1]
    else:
        scales = _MOST if picture.mode == "F" else _MOST[1:]
        white = next((most for most in scales if levels.max() <= most), float(levels.max()))
    return Image.fromarray((levels * (255 / white) + 0.5).clip(0, 255).astype(np.uint8))


def opaque(picture: Image.Image) -> Image.Image:
    """The picture in colours; what is transparent shows white."""
    if not picture.has_transparency_data:
        return picture.convert("RGB")
    colours = picture.convert("RGBA")
    white = Image.new("RGBA", colours.size, "white")
    return Image.alpha_composite(white, colours).convert("RGB")


def check_ending(path: Path) -> str:
    """Pillow's name of the format that the ending of ``--out`` asks for.

    Raises:
        UserError: pictures cannot be written with such an ending.
    """
    kind = Image.registered_extensions().get(path.suffix.lower(), "")
    if kind not in Image.SAVE:
        raise UserError(f"--out must have the ending of an image format, such as .png or .jpg; got {path}.")
    return kind


def save(picture: Image.Image, path: Path, **options: Any) -> None:
    """Write a picture in the format of its ending, whole or not at all.

    Args:
        picture: what to write.
        path: where; its ending names the format.
        options: of Pillow's encoder, e.g. ``optimize=True``.

    Raises:
        UserError: pictures cannot be written with such an ending, or not in this place.
    """
    with cache.replacing(path) as temporary:
        picture.save(temporary, check_ending(path), **options)
