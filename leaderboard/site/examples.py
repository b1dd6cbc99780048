"""Pictures of a few of a contest's test examples, and what networks see in them."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from nsl_bench.core.errors import UserError
from nsl_bench.core.shift import STANDARD, resolve
from nsl_bench.core.types import BLANK, Array, Bools, Floats32, Ints, Ints16, Split, UInts8
from nsl_bench.data.splits import make_source, make_split, task_of_split
from nsl_bench.perception.predict import predictions_of
from nsl_bench.report.gallery import sheet
from nsl_bench.run.sampled import task_named

from ..board import Board
from ..contests import Contest
from ..submission import slug
from .supervision import perceiver

_IMAGES, _WIDEST = 8, 560
_SAMPLE, _SEQUENCES, _SIDE = 24, 4, 280
"""Examples, or sequences, of a test set that pages of runs show, and the longest side of their pictures."""

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
        task = task_named(contest.tested)
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


@dataclass(frozen=True, eq=False)
class Sample:
    """The examples of a test set that pages of runs show with images, from easy to hard.

    Attributes:
        number: which test set.
        split: the whole test set, with images.
        rows: int64 [n], rows of the sample.
        seen: by network and shift, concepts and confidences [n, slots] that the network sees; the key
            ``("", STANDARD)`` has the true concepts.
        file: pictures by shift, one example below the other, in the folder of pictures.
        size: width and height of an example's picture.
    """

    number: int
    split: Split
    rows: Ints
    seen: Mapping[tuple[str, str], tuple[Ints16, Floats32]]
    file: Mapping[str, str]
    size: tuple[int, int]

    @cache  # noqa: B019  a few for each site
    def shifted(self, percent: float) -> Bools:
        """bool [n]: which of them are shifted at a share."""
        return self.split.shift(percent).shifted[self.rows]

    def facts(self, contest: Contest, view: tuple[str, str]) -> tuple[str, list[tuple[str, ...]]]:
        """The background of the test set, and the facts of each example as a network sees it."""
        task = task_of_split(task_named(contest.tested), self.number, contest.seed)
        return task.background, task.contexts(self.seen[view][0], self.metadata, self.split.steps[self.rows])

    @property
    def metadata(self) -> dict[str, Array]:
        """The meta-data of the examples, by name."""
        return {name: column[self.rows] for name, column in self.split.metadata.items()}

    def value(self, contest: Contest) -> dict[str, Any]:
        """As data for the pages of runs."""
        names = self.split.concept_space.concepts
        setting = 0.0 if contest.setting == "train" else 1.0
        seen: dict[str, dict[str, Any]] = {}
        for (network, shift), (concepts, sure) in self.seen.items():
            words = [[names[c] if c != BLANK else "" for c in row] for row in concepts.tolist()]
            seen.setdefault(network, {})[shift] = [words, np.round(100 * sure).astype(int).tolist()]
        return {
            "rows": self.rows.tolist(),
            "shifted": {f"{p:g}": self.shifted(setting * p).astype(int).tolist() for p in contest.percents},
            "seen": seen,
            "pictures": self.file,
            "size": self.size,
        }


def sample_of(board: Board, contest: Contest, number: int, folder: Path) -> Sample | None:
    """The sample of a test set, with its pictures drawn; None if the images are not on this machine."""
    try:
        task = task_named(contest.tested)
        source = make_source(task, contest.source)
        split = make_split(task, source, "test", repeat=number, seed=contest.seed)
        rows = _spread_out(board, contest, number, split)
        part, seen, file, size = split.take(rows), {}, {}, (0, 0)
        part = replace(part, ranks=np.arange(len(part), dtype=np.int32))
        seen["", STANDARD] = part.concepts, np.ones(part.concepts.shape, np.float32)
        for name in (STANDARD, *contest.shifts):
            shift = resolve(name, task, source)
            picture = np.stack([_example(part, row, source, shift) for row in range(len(part))])
            file[name] = f"{contest.name}-{number}-{slug(name)}-sample.png"
            size = _save_below(picture, folder / file[name])
            for network in () if contest.test_task else sorted({e.network for e in board.of(contest)} - {""}):
                if trained := perceiver(contest.task, contest.source, network):
                    shown = predictions_of(part.shift(100.0 if shift else 0.0), source, shift, trained)
                    seen[network, name] = shown.concepts, shown.confidence
        return Sample(number, split, rows, seen, file, size)
    except UserError:
        return None


def _spread_out(board: Board, contest: Contest, number: int, split: Split) -> Ints:
    """Rows from what most learners label right to what most label wrong; of sequences, the first."""
    if split.is_sequential:
        return np.arange(int(split.first_rows[_SEQUENCES]) if split.n_sequences > _SEQUENCES else len(split))
    task, n = task_named(contest.tested), len(split)
    of_number = [r for r in range(contest.repeats) if task.test_number(r + 1) == number]
    scores = [e.examples.get((contest.name, "framework_accuracy")) for e in board.of(contest)]
    known = [each[of_number, :n].mean(axis=0) for each in scores if each is not None and each.shape[1] >= n]
    order = np.argsort(-np.mean(known, axis=0), kind="stable") if known else np.arange(n)
    return np.asarray(order[np.linspace(0, n - 1, min(n, _SAMPLE)).astype(np.int64)])


def _save_below(images: UInts8, path: Path) -> tuple[int, int]:
    """Save pictures one below the other; width and height of each."""
    from PIL import Image

    from nsl_bench.core.pictures import save

    n, height, width, _ = images.shape
    scale = min(1.0, _SIDE / max(height, width))
    each = [Image.fromarray(one).resize((round(width * scale), round(height * scale))) for one in images]
    page = Image.new("RGB", (each[0].width, n * each[0].height))
    for k, one in enumerate(each):
        page.paste(one, (0, k * one.height))
    path.parent.mkdir(parents=True, exist_ok=True)
    save(page.quantize(64), path, optimize=True)
    return each[0].size


def _example(split: Any, row: int, source: Any, shift: Any) -> UInts8:
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


def _save(examples: list[UInts8], folder: Path, contest: Contest, shift: str, words: str) -> Picture:
    from PIL import Image

    from nsl_bench.core.pictures import save

    page = sheet(np.stack(examples), len(examples), 8, 255)
    if page.width > _WIDEST:
        page = page.resize((_WIDEST, round(page.height * _WIDEST / page.width)), Image.Resampling.LANCZOS)
    name = f"{contest.name}-{slug(shift)}.png"
    save(page.quantize(64), folder / name, optimize=True)
    return Picture(shift, name, page.width, page.height, f"{shift}: {words}")
