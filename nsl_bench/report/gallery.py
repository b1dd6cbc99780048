"""Contact sheets: many images of a source on one picture, to be looked at."""

from __future__ import annotations

import contextlib
import inspect
import itertools
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from nsl_bench.core import registry
from nsl_bench.core.benchmark import Benchmark
from nsl_bench.core.errors import UserError
from nsl_bench.core.shift import STANDARD, named_shifts, resolve
from nsl_bench.core.source import ImageSource
from nsl_bench.core.types import Ints, UInts8

if TYPE_CHECKING:
    from PIL import Image

SEVERITIES = (1, 2, 3, 4, 5)

_PAPER, _INK = 64, (255, 255, 255)
_LETTER, _LINE = 13, 16
"""Size of the letters of captions, and from line to line, pixels."""

_NARROWEST = 100
"""A block is at least so wide, so that captions are readable below small images."""


def sheet(images: UInts8, columns: int, gap: int = 4, paper: int = _PAPER) -> Image.Image:
    """Images, uint8 [n, height, width, channels], side by side on one picture of a shade of grey."""
    from PIL import Image

    n, height, width, _ = images.shape
    rows = -(-n // columns)
    page = np.full((rows * (height + gap) + gap, columns * (width + gap) + gap, 3), paper, np.uint8)
    for k in range(n):
        top, left = gap + k // columns * (height + gap), gap + k % columns * (width + gap)
        page[top : top + height, left : left + width] = images[k]
    return Image.fromarray(page)


def concepts_sheet(source: ImageSource, images: int = 3, columns: int = 12) -> Image.Image:
    """Every concept of a source with its name and some of its images."""
    labels = source.labels("network")
    examples = [np.flatnonzero(labels == k)[:images] for k in range(len(source.concept_space))]
    blocks = [
        (concept, source.render("network", rows, source.variants[0]))
        for concept, rows in zip(source.concept_space.concepts, examples, strict=True)
        if len(rows)
    ]
    return _captioned(blocks, images, max(1, columns // images))


def shifts_sheet(benchmark: Benchmark, source: ImageSource, images: int = 5) -> Image.Image:
    """Every shift of a task: standard images, named shifts, corruptions of all severities, other shifts.

    A named shift is shown on `images` images, one each of concepts spread evenly; a corruption with all its
    severities, and another shift with its examples, on the first of them.
    """
    labels = source.labels("network")
    concepts = np.unique(np.linspace(0, len(source.concept_space) - 1, images).astype(np.int64))
    rows = np.array([np.flatnonzero(labels == k)[0] for k in concepts if (labels == k).any()], np.int64)
    blocks = []
    for name in (STANDARD, *named_shifts(benchmark, source)):
        shift = resolve(name, benchmark, source)
        if shift is None:
            blocks.append((name, source.render("network", rows, source.variants[0])))
        else:
            blocks.append((name, shift.render(source, "network", rows)))
    named = set(named_shifts(benchmark, source).values())
    for name, specs in severities(benchmark, source).items():
        blocks.append((f"{name} {SEVERITIES[0]}-{SEVERITIES[-1]}", _each(specs, benchmark, source, rows[:1])))
    for name, specs in _others(benchmark, source).items():
        if not named >= set(specs):
            caption = ", ".join(spec.partition(":")[2] for spec in specs)
            blocks.append((f"{name} {caption}".strip(), _each(specs, benchmark, source, rows[:1])))
    return _captioned(blocks, max(images, len(SEVERITIES)), 2)


def _each(specs: Sequence[str], benchmark: Benchmark, source: ImageSource, rows: Ints) -> UInts8:
    """The same images under each of several shifts."""
    shifts = (resolve(spec, benchmark, source) for spec in specs)
    return np.concatenate([shift.render(source, "network", rows) for shift in shifts if shift is not None])


def _others(benchmark: Benchmark, source: ImageSource) -> Mapping[str, tuple[str, ...]]:
    """The other shifts that fit a source without an option, or that have examples, with specs of each."""
    specs_of: dict[str, tuple[str, ...]] = {}
    for name in registry.names("shift"):
        make = registry.factory("shift", name)
        options = inspect.signature(make).parameters
        if "severity" in options or "@" in name:
            continue
        specs = tuple(getattr(make, "examples", ()))
        if not specs and all(option.default is not option.empty for option in options.values()):
            specs = (name,)
        with contextlib.suppress(UserError):
            for spec in specs:
                resolve(spec, benchmark, source)
            if specs:
                specs_of[name] = specs
    return specs_of


def severities(benchmark: Benchmark, source: ImageSource) -> Mapping[str, tuple[str, ...]]:
    """The shifts that have severities and fit a source, each with its specs from slight to strong."""
    specs_of = {}
    for name in registry.names("shift"):
        if "severity" in inspect.signature(registry.factory("shift", name)).parameters:
            specs = tuple(f"{name}:severity={severity}" for severity in SEVERITIES)
            with contextlib.suppress(UserError):
                resolve(specs[0], benchmark, source)
                specs_of[name] = specs
    return specs_of


def _captioned(blocks: Sequence[tuple[str, UInts8]], width: int, columns: int, gap: int = 4) -> Image.Image:
    """Blocks of at most `width` images, each under its caption, so many blocks side by side.

    A caption that is wider than its images goes on on further lines.
    """
    from PIL import Image, ImageDraw, ImageFont

    font = ImageFont.load_default(_LETTER)
    _, high, wide, _ = blocks[0][1].shape
    block_width = max(width * (wide + gap), _NARROWEST) + gap
    captions = [_lines(caption, font, block_width - 2 * gap) for caption, _ in blocks]
    rows = [captions[k : k + columns] for k in range(0, len(captions), columns)]
    tops = list(itertools.accumulate((_LINE * max(map(len, row)) + 2 for row in rows), initial=0))
    tops = [above + gap + k * (high + gap) for k, above in enumerate(tops[1:])]
    page = Image.new("RGB", (columns * block_width + gap, tops[-1] + high + gap), (_PAPER,) * 3)
    pen = ImageDraw.Draw(page)
    for k, (lines, (_, images)) in enumerate(zip(captions, blocks, strict=True)):
        top, left = tops[k // columns], gap + k % columns * block_width
        for i, line in enumerate(reversed(lines), 1):
            pen.text((left, top - 2 - i * _LINE), line, fill=_INK, font=font)
        for i, image in enumerate(images):
            picture = Image.fromarray(image[..., 0] if image.shape[-1] == 1 else image)
            page.paste(picture, (left + i * (wide + gap), top))
    return page


def _lines(caption: str, font: Any, width: float) -> list[str]:
    """A caption on lines of at most so many pixels, broken behind spaces and punctuation if it can be."""
    lines = [""]
    for piece in re.findall(r"[^\s_,+:/-]*[\s_,+:/-]*", caption):
        if font.getlength((lines[-1] + piece).rstrip()) <= width:
            lines[-1] += piece
            continue
        lines.append("")
        for letter in piece:
            if font.getlength((lines[-1] + letter).rstrip()) > width:
                lines.append("")
            lines[-1] += letter
    return [line.strip() for line in lines if line.strip()] or [""]
