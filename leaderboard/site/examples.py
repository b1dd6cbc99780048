"""Pictures of examples: a few of a contest's test examples, standard and shifted."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from nsl_bench.core import registry
from nsl_bench.core.errors import UserError
from nsl_bench.core.shift import STANDARD, resolve
from nsl_bench.core.types import BLANK
from nsl_bench.data.splits import make_source, make_split
from nsl_bench.report.gallery import sheet

from ..contests import Contest

_IMAGES, _WIDEST = 8, 560
_BLANK = 160
"""The grey between images, and of slots without one."""


@dataclass(frozen=True)
class Picture:
    """A picture of examples."""

    shift: str
    file: str
    width: int
    height: int
    text: str


def write_pictures(contest: Contest, folder: Path) -> list[Picture]:
    """Draw the same examples without a shift and with each; none if the images are not on this machine."""
    try:
        task = registry.create("benchmark", contest.tested)
        source = make_source(task, contest.source)
        split = make_split(task, source, "test", seed=contest.seed)
        rows = range(max(2, _IMAGES // len(task.slots)))
        pictures = []
        folder.mkdir(parents=True, exist_ok=True)
        for name in (STANDARD, *contest.shifts):
            shift = resolve(name, task, source)
            examples = [_example(split, row, source, shift) for row in rows]
            words = [
                f"{' '.join('blank' if c is None else c for c in split[row].concepts)}: "
                f"{task.labels.names[split[row].label]}"
                for row in rows
            ]
            pictures.append(_save(examples, folder, contest, name, "; ".join(words)))
        return pictures
    except UserError:
        return []


def _example(split: Any, row: int, source: Any, shift: Any) -> npt.NDArray[np.uint8]:
    """The images of one example as one picture, uint8 [height, width, 3]; square where slots make a grid."""
    indices = split.images[row]
    filled = np.flatnonzero(indices != BLANK)
    wanted = indices[filled].astype(np.int64)
    images = (
        shift.render(source, split.pool, wanted)
        if shift
        else source.render(split.pool, wanted, source.variants[0])
    )
    n = len(indices)
    side = round(n**0.5)
    columns = side if side * side == n and n > 4 else n
    cells = np.full((n, *images.shape[1:3], 3), _BLANK, np.uint8)
    cells[filled] = images
    return np.asarray(sheet(cells, columns, 2, _BLANK))


def _save(
    examples: list[npt.NDArray[np.uint8]], folder: Path, contest: Contest, shift: str, words: str
) -> Picture:
    from PIL import Image

    from nsl_bench.core.pictures import save

    from ..submission import slug

    page = sheet(np.stack(examples), len(examples), 8, 255)
    if page.width > _WIDEST:
        page = page.resize((_WIDEST, round(page.height * _WIDEST / page.width)), Image.Resampling.LANCZOS)
    name = f"{contest.name}-{slug(shift)}.png"
    save(page.quantize(64), folder / name, optimize=True)
    return Picture(shift, name, page.width, page.height, f"{shift}: {words}")
