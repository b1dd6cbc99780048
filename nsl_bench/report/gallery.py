"""Contact sheets: many images of a source on one picture, to be looked at."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from nsl_bench import registry
from nsl_bench.benchmark import Benchmark
from nsl_bench.errors import UserError
from nsl_bench.shift import STANDARD, named_shifts, resolve
from nsl_bench.source import ImageSource
from nsl_bench.types import PoolPart

if TYPE_CHECKING:
    from PIL import Image

__all__ = ["SEVERITIES", "concepts_sheet", "contact_sheet", "severities", "sheet", "shifts_sheet"]

SEVERITIES = (1, 2, 3, 4, 5)

_PAPER, _INK = (128, 128, 128), (255, 255, 255)
_CAPTION = 12


def sheet(images: npt.NDArray[np.uint8], columns: int, gap: int = 4) -> Image.Image:
    """Images, uint8 [n, height, width, channels], side by side on one picture."""
    from PIL import Image

    n, height, width, _ = images.shape
    rows = -(-n // columns)
    page = np.full((rows * (height + gap) + gap, columns * (width + gap) + gap, 3), _PAPER, np.uint8)
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


def concepts_sheet(source: ImageSource, images: int = 3, columns: int = 12) -> Image.Image:
    """Every concept of a source with its name and some of its images."""
    labels = source.labels("network")
    shown = [np.flatnonzero(labels == k)[:images] for k in range(len(source.concept_space))]
    blocks = [
        (concept, source.render("network", rows, source.variants[0]))
        for concept, rows in zip(source.concept_space.concepts, shown, strict=True)
        if len(rows)
    ]
    return _captioned(blocks, images, max(1, columns // images))


def shifts_sheet(benchmark: Benchmark, source: ImageSource, images: int = 5) -> Image.Image:
    """Every shift of a task: the standard images, each named shift, and each corruption's severities.

    A named shift is shown on `images` images, one each of concepts spread evenly; a corruption with all its
    severities on the first of them.
    """
    labels = source.labels("network")
    wanted = np.unique(np.linspace(0, len(source.concept_space) - 1, images).astype(np.int64))
    rows = np.array([np.flatnonzero(labels == k)[0] for k in wanted if (labels == k).any()], np.int64)
    blocks = []
    for name in (STANDARD, *named_shifts(benchmark, source)):
        shift = resolve(name, benchmark, source)
        if shift is None:
            blocks.append((name, source.render("network", rows, source.variants[0])))
        else:
            blocks.append((name, shift.render(source, "network", rows)))
    for name, specs in severities(benchmark, source).items():
        rendered = [
            shift.render(source, "network", rows[:1])
            for shift in (resolve(spec, benchmark, source) for spec in specs)
            if shift is not None
        ]
        blocks.append((f"{name} 1-5", np.concatenate(rendered)))
    return _captioned(blocks, max(images, len(SEVERITIES)), 2)


def severities(benchmark: Benchmark, source: ImageSource) -> Mapping[str, tuple[str, ...]]:
    """The shifts that have severities and fit a source, each with its specs from slight to strong."""
    return dict(_severities(benchmark, source))


def _severities(benchmark: Benchmark, source: ImageSource) -> Iterator[tuple[str, tuple[str, ...]]]:
    for name in registry.names("shift"):
        if "severity" not in inspect.signature(registry.factory("shift", name)).parameters:
            continue
        specs = tuple(f"{name}:severity={severity}" for severity in SEVERITIES)
        try:
            resolve(specs[0], benchmark, source)
        except UserError:
            continue
        yield name, specs


def _captioned(
    blocks: Sequence[tuple[str, npt.NDArray[np.uint8]]], width: int, columns: int, gap: int = 4
) -> Image.Image:
    """Blocks of at most `width` images, each under its caption, so many blocks side by side."""
    from PIL import Image, ImageDraw

    _, high, wide, _ = blocks[0][1].shape
    block_width, block_height = width * (wide + gap) + gap, high + _CAPTION + gap
    rows = -(-len(blocks) // columns)
    page = Image.new("RGB", (columns * block_width + gap, rows * block_height + gap), _PAPER)
    pen = ImageDraw.Draw(page)
    for k, (caption, images) in enumerate(blocks):
        top, left = gap + k // columns * block_height, gap + k % columns * block_width
        fits = max(1, (block_width - gap) // 6)
        pen.text((left, top), caption[:fits], fill=_INK)
        for i, image in enumerate(images):
            picture = Image.fromarray(image[..., 0] if image.shape[-1] == 1 else image)
            page.paste(picture, (left + i * (wide + gap), top + _CAPTION))
    return page
