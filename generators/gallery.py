"""Contact sheets: many images of a source on one picture, to be looked at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from nsl_bench.source import ImageSource
from nsl_bench.types import PoolPart

if TYPE_CHECKING:
    from PIL import Image

__all__ = ["contact_sheet", "sheet"]


def sheet(images: npt.NDArray[np.uint8], columns: int, gap: int = 4) -> Image.Image:
    """Images, uint8 [n, height, width, channels], side by side on one picture."""
    from PIL import Image

    n, height, width, _ = images.shape
    rows = -(-n // columns)
    page = np.full((rows * (height + gap) + gap, columns * (width + gap) + gap, 3), 128, np.uint8)
    for k in range(n):
        top, left = gap + k // columns * (height + gap), gap + k % columns * (width + gap)
        page[top : top + height, left : left + width] = images[k]
    return Image.fromarray(page)


def contact_sheet(
    source: ImageSource,
    variant: str = "standard",
    *,
    part: PoolPart = "network",
    indices: Sequence[int] | None = None,
    columns: int = 13,
) -> Image.Image:
    """A sheet of a source's images: by default the first one of each concept."""
    if indices is None:
        _, first = np.unique(source.labels(part), return_index=True)
        indices = first.tolist()
    return sheet(source.render(part, np.asarray(indices, np.int64), variant), columns)
