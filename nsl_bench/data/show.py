"""Examples as pictures: their images, what these show, the label, and whether they are shifted."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from nsl_bench.core.benchmark import Benchmark
from nsl_bench.core.errors import UserError
from nsl_bench.core.shift import STANDARD, Shift, short_name
from nsl_bench.core.source import ImageSource
from nsl_bench.core.types import BLANK, Split, UInts8
from nsl_bench.data.content import render

if TYPE_CHECKING:
    from PIL import Image, ImageDraw, ImageFont

_PAPER, _INK, _QUIET, _LINE = (250, 250, 247), (28, 28, 30), (110, 110, 116), (200, 200, 196)
_MARK, _SHIFTED = (208, 60, 44), (36, 92, 168)
_MARGIN, _GAP, _PAD = 24, 10, 14
_TITLE, _TEXT, _SMALL = 18, 15, 13
_IMAGE_HEIGHT, _CELL, _STRIP, _LEAST_PANEL = 176, 54, 15, 190
_PAGE_WIDTH, _MOST_PIXELS = 1500, 65_500
_SHIFTED_WORD = "shifted"


def sheet(
    task: Benchmark, source: ImageSource, shift: Shift | None, examples: Split, columns: int | None = None
) -> Image.Image:
    """A page of examples.

    Args:
        task: says how the images of an example are arranged, and what marks the label.
        columns: examples side by side; as many as fit by default.
    """
    from PIL import Image, ImageDraw

    pictures = _pictures(source, shift, examples)
    bodies = [_body(task, examples, i, pictures[i]) for i in range(len(examples))]
    captions = [_caption(task, examples, i) for i in range(len(examples))]
    width = max(
        _LEAST_PANEL,
        *(body.width for body in bodies),
        *(_width(label, _TEXT) + _width(STANDARD, _SMALL) + 3 * _GAP for label, _ in captions),
    )
    height = max(body.height for body in bodies) + _TEXT + 3 * _GAP
    panels = [_panel(body, *caption, (width, height)) for body, caption in zip(bodies, captions, strict=True)]
    across = min(len(panels), columns or max(1, (_PAGE_WIDTH - 2 * _MARGIN) // (width + _PAD)))
    down = math.ceil(len(panels) / across)
    top = 2 * _MARGIN + _TITLE
    size = (2 * _MARGIN + across * (width + _PAD) - _PAD, top + down * (height + _PAD) - _PAD + _MARGIN)
    if max(size) > _MOST_PIXELS:
        raise UserError(
            f"The page must be at most {_MOST_PIXELS} pixels per side; it would be {size[0]} x "
            f"{size[1]}. Show fewer examples, or change --columns."
        )
    name = short_name(shift, task, source)
    title = f"{task.name} {task.version}  ·  {name}  ·  {source.name}  ·  {examples.part}"
    page = Image.new("RGB", (max(size[0], _width(title, _TITLE) + 2 * _MARGIN), size[1]), _PAPER)
    ImageDraw.Draw(page).text((_MARGIN, _MARGIN), title, _INK, _font(_TITLE))
    for k, panel in enumerate(panels):
        row, column = divmod(k, across)
        page.paste(panel, (_MARGIN + column * (width + _PAD), top + row * (height + _PAD)))
    return page


def _pictures(source: ImageSource, shift: Shift | None, examples: Split) -> list[dict[int, UInts8]]:
    """The image of each slot of each example that is not blank."""
    result: list[dict[int, UInts8]] = [{} for _ in range(len(examples))]
    for shifted in (False, True):
        places = np.argwhere((examples.images != BLANK) & (examples.shifted == shifted)[:, None])
        if len(places):
            indices = examples.images[places[:, 0], places[:, 1]].astype(np.int64)
            images = render(source, shift if shifted else None, examples.pool, indices)
            for (i, slot), image in zip(places.tolist(), images, strict=True):
                result[i][slot] = image
    return result


def _body(task: Benchmark, examples: Split, i: int, pictures: Mapping[int, UInts8]) -> Image.Image:
    """The images of an example."""
    example = examples[i]
    marked = set(task.marked(examples.concepts[i], example.label))
    draw = _grid if task.layout().rows > 1 else _row
    return draw(task, example.concepts, pictures, marked)


def _caption(task: Benchmark, examples: Split, i: int) -> tuple[str, str]:
    """An example's label with its meta-data, and whether it is shifted."""
    example = examples[i]
    words = [f"{name} {value}" for name, value in example.metadata.items()]
    label = ", ".join([task.labels.names[example.label], *words])
    return label, _SHIFTED_WORD if example.shifted else STANDARD


def _panel(body: Image.Image, label: str, state: str, size: tuple[int, int]) -> Image.Image:
    """One example: its images, and its caption at the bottom."""
    from PIL import Image, ImageDraw

    panel = Image.new("RGB", size, (255, 255, 255))
    panel.paste(body, ((panel.width - body.width) // 2, 0))
    draw = ImageDraw.Draw(panel)
    bottom = panel.height - _TEXT - 2 * _GAP
    draw.text((_GAP, bottom), label, _INK, _font(_TEXT))
    right = panel.width - _GAP - _width(state, _SMALL)
    draw.text((right, bottom + 1), state, _QUIET if state == STANDARD else _SHIFTED, _font(_SMALL))
    draw.rectangle((0, 0, panel.width - 1, panel.height - 1), outline=_LINE)
    return panel


def _row(
    task: Benchmark, concepts: tuple[str | None, ...], pictures: Mapping[int, UInts8], marked: set[int]
) -> Image.Image:
    """Images side by side, each with its concept below; a marked one has a frame."""
    from PIL import Image, ImageDraw

    images = {slot: _scaled(picture, _IMAGE_HEIGHT) for slot, picture in pictures.items()}
    widest = max((image.width for image in images.values()), default=_IMAGE_HEIGHT)
    words = [_wrapped(concept or "", max(widest, 120)) for concept in concepts]
    widths = [max(widest, *(_width(line, _SMALL) for line in lines)) for lines in words]
    lines_down = max(len(lines) for lines in words)
    height = _IMAGE_HEIGHT + 2 * _GAP + lines_down * (_SMALL + 3)
    body = Image.new("RGB", (sum(widths) + _GAP * (len(widths) + 1), height), (255, 255, 255))
    draw = ImageDraw.Draw(body)
    left = _GAP
    for slot, width in enumerate(widths):
        if slot in images:
            image = images[slot]
            x, y = left + (width - image.width) // 2, _GAP + (_IMAGE_HEIGHT - image.height) // 2
            body.paste(image, (x, y))
            if slot in marked:
                draw.rectangle(
                    (x - 4, y - 4, x + image.width + 3, y + image.height + 3), outline=_MARK, width=4
                )
        for k, line in enumerate(words[slot]):
            place = (left + width / 2, _GAP + _IMAGE_HEIGHT + 7 + k * (_SMALL + 3))
            draw.text(place, line, _MARK if slot in marked else _INK, _font(_SMALL), anchor="ma")
        left += width + _GAP
    return body


def _grid(
    task: Benchmark, concepts: tuple[str | None, ...], pictures: Mapping[int, UInts8], marked: set[int]
) -> Image.Image:
    """Images in the cells of a grid, each with its concept in the corner; marked cells have a frame."""
    from PIL import Image, ImageDraw

    layout = task.layout()
    size = (layout.columns * _CELL + 2 * _GAP + 1, layout.rows * _CELL + 2 * _GAP + 1)
    body = Image.new("RGB", size, (255, 255, 255))
    draw = ImageDraw.Draw(body)
    for slot, concept in enumerate(concepts):
        row, column = divmod(slot, layout.columns)
        x, y = _GAP + column * _CELL, _GAP + row * _CELL
        if slot in pictures:
            side = _CELL - _STRIP - 3
            body.paste(_scaled(pictures[slot], side).resize((side, side)), (x + _STRIP, y + _STRIP))
            draw.text((x + 4, y), concept or "", _SHIFTED, _font(_SMALL))
    block = layout.block or (layout.rows, layout.columns)
    _lines(draw, layout.rows, layout.columns, block)
    for slot in marked:
        row, column = divmod(slot, layout.columns)
        x, y = _GAP + column * _CELL, _GAP + row * _CELL
        draw.rectangle((x, y, x + _CELL, y + _CELL), outline=_MARK, width=4)
    return body


def _lines(draw: ImageDraw.ImageDraw, rows: int, columns: int, block: tuple[int, int]) -> None:
    """Thin lines between cells, thick ones between blocks."""
    right, bottom = _GAP + columns * _CELL, _GAP + rows * _CELL
    for thick in (False, True):
        for k in range(rows + 1):
            if (k % block[0] == 0) == thick:
                y = _GAP + k * _CELL
                draw.line((_GAP, y, right, y), _INK if thick else _LINE, 3 if thick else 1)
        for k in range(columns + 1):
            if (k % block[1] == 0) == thick:
                x = _GAP + k * _CELL
                draw.line((x, _GAP, x, bottom), _INK if thick else _LINE, 3 if thick else 1)


def _scaled(picture: UInts8, height: int) -> Image.Image:
    """An image, uint8 [h, w, channels], at this height."""
    from PIL import Image

    image = Image.fromarray(picture[..., 0] if picture.shape[-1] == 1 else picture).convert("RGB")
    width = max(1, round(image.width * height / image.height))
    return image.resize((width, height), Image.Resampling.LANCZOS)


def _wrapped(text: str, width: int) -> list[str]:
    """The text in lines that are no wider than this, as far as its words allow."""
    lines: list[str] = []
    for word in text.replace("_", " ").split():
        if lines and _width(f"{lines[-1]} {word}", _SMALL) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines or [""]


def _font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    from PIL import ImageFont

    return ImageFont.load_default(size)


def _width(text: str, size: int) -> int:
    return math.ceil(_font(size).getlength(text))
