"""Visual Sudoku puzzle classification: a complete grid of images is a correct Sudoku, or was corrupted.

ViSudo-PC (Augustine, Pryor, Dickens, Pujara, Wang, Getoor: "Visual Sudoku Puzzle Classification: A Suite of
Collective Neuro-Symbolic Tasks", NeSy 2022).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal

import numpy as np

from nsl_bench.core.benchmark import Family
from nsl_bench.core.errors import UserError
from nsl_bench.core.files import opened
from nsl_bench.core.registry import Spec
from nsl_bench.core.types import ConceptSpace, Ints8, Part, Split

from .sudoku import INVALID, VALID, Sudoku

Classes = Literal["basic", "transfer"]

_CORRUPT, _TEST = 50, 1000
_MOST_CORRUPTIONS = 10

_LABELS: dict[tuple[str, ...], int] = {("1", "0"): VALID, ("0", "1"): INVALID}


class ViSudo(Sudoku):
    """Complete square grids in pairs: a correct one, and the same with cells swapped or replaced.

    Concepts are the numbers of an image source's classes, from 0. There are only 288 correct 4 x 4 grids, so
    train and test sets share some; their images differ.

    Args:
        side: rows and columns of a block.
        classes: ``"basic"``: all grids show the first classes; ``"transfer"``: test grids show the classes
            after those of train and validation grids.
        corrupt: the chance, in percent, of one more swap or replacement after each, up to ten.
        test: number of test grids.
    """

    version = "1.0.0"
    sources = (*Sudoku.sources, "mnist_like")

    def __init__(
        self, side: int, classes: Classes = "basic", corrupt: int = _CORRUPT, test: int = _TEST
    ) -> None:
        """Set up the task."""
        self.classes, self.corrupt = classes, corrupt
        super().__init__(side, side)
        plain = f"visudo_{self.n}x{self.n}"
        if classes not in ("basic", "transfer"):
            raise UserError(f"{plain}: classes must be basic or transfer; got '{classes}'.")
        if not 0 <= corrupt < 100:
            raise UserError(f"{plain}: corrupt must be between 0 and 99; got {corrupt}.")
        if test < 2 or test % 2:
            raise UserError(f"{plain}: test must be an even number of 2 or more; got {test}.")
        kind = {} if classes == "basic" else {"classes": "transfer"}
        members = tuple(str(Spec(f"visudo_{n}x{n}", (), kind)) for n in (4, 9))
        self.family = Family(str(Spec("visudo", (), kind)), members, "side of the grid")
        given = {"corrupt": (corrupt, _CORRUPT), "test": (test, _TEST)}
        more = {key: str(value) for key, (value, usual) in given.items() if value != usual}
        self.name = str(Spec(plain, (), kind | more))
        self.description = "A complete Sudoku grid of images is correct or was corrupted."
        self.sizes = {"small": 200, "large": 2_000}
        self.test_size, self.repeats = test, 10

    def _concepts(self) -> ConceptSpace:
        n = self.n if self.classes == "basic" else 2 * self.n
        return ConceptSpace("digit", tuple(map(str, range(n))))

    def generate(
        self, part: Part, size: str, repeat: int, rng: np.random.Generator, exclude: Split | None = None
    ) -> Split:
        """Generate correct grids, and a corrupted one of each, in random order."""
        from .sudoku_puzzles import make_puzzles

        total = self.test_size if part == "test" else self.size(size)
        seeds = rng.integers(1, 2**63, -(-total // 2), dtype=np.uint64)
        first = self.n if part == "test" and self.classes == "transfer" else 0
        correct = make_puzzles(seeds, self.block, self.n**2) - 1
        corrupted = np.array([self._corrupted(grid, rng) for grid in correct], np.int8)
        grids = np.stack([correct, corrupted], axis=1).reshape(-1, self.n**2)[:total] + first
        labels = np.tile(np.array([VALID, INVALID], np.int16), len(correct))[:total]
        order = rng.permutation(total)
        return Split(part, self.concept_space, grids.astype(np.int16)[order], labels[order])

    def _corrupted(self, grid: Ints8, rng: np.random.Generator) -> Ints8:
        """A grid that is wrong after swaps of two cells, or after cells show another class."""
        swaps = rng.random() < 0.5
        most = min(_MOST_CORRUPTIONS, len(grid) // (2 if swaps else 1))
        while True:
            count = min(most, int(rng.geometric(1 - self.corrupt / 100)))
            cells = rng.permutation(len(grid))
            one, other = cells[:count], cells[count : 2 * count]
            wrong = grid.copy()
            if swaps:
                wrong[one], wrong[other] = grid[other], grid[one]
            else:
                wrong[one] = (grid[one] + rng.integers(1, self.n, count)) % self.n
            if self.knowledge_features(wrong[None].astype(np.int16), {}).any():
                return wrong

    def read(self, folder: Path, part: Part, size: str, repeat: int) -> Split:
        """Read grids and labels from a published folder with subfolders ``split::01``, ``split::02`` ...

        Classes become concepts in their order. Pixels are not read: cells show images of the source.
        """
        place = folder / f"split::{repeat:02d}"
        own = part == "test" and self.classes == "transfer"
        path = place / f"{part}_cell_labels.txt"
        rows = _lines(path)
        shown = rows if own else _lines(place / "train_cell_labels.txt")
        names = sorted({cell for row in shown for cell in row}, key=lambda cell: (len(cell), cell))
        if len(names) != self.n:
            raise UserError(f"{place}: the grids must show {self.n} classes; got {len(names)}.")
        concepts = {name: k + self.n * own for k, name in enumerate(names)}
        for line, row in enumerate(rows, 1):
            if len(row) != self.n**2:
                raise UserError(f"{path}, line {line}: the grid must have {self.n**2} cells; got {len(row)}.")
            if strangers := [cell for cell in row if cell not in concepts]:
                raise UserError(
                    f"{path}, line {line}: no train grid shows {strangers[0]}; use classes=transfer."
                )
        file = place / f"{part}_puzzle_labels.txt"
        labels = _lines(file)
        wrong = next((line for line, row in enumerate(labels, 1) if row not in _LABELS), None)
        if wrong or len(labels) != len(rows):
            got = f"'{' '.join(labels[wrong - 1])}' in line {wrong}" if wrong else f"{len(labels)} lines"
            raise UserError(f"{file} must have 1 0 or 0 1 for each of {len(rows)} grids; got {got}.")
        wanted = len(rows) if part == "test" else self.size(size)
        if wanted > len(rows):
            raise UserError(f"{place} has {len(rows)} train grids; got the size {wanted}.")
        grids = np.array([[concepts[cell] for cell in row] for row in rows[:wanted]], np.int16)
        return Split(
            part, self.concept_space, grids, np.array([_LABELS[row] for row in labels[:wanted]], np.int16)
        )


def _lines(path: Path) -> list[tuple[str, ...]]:
    """The lines of a published file, cut at tabs."""
    with opened(path, "The split file") as file:
        return [tuple(row.split("\t")) for row in file.read().decode("utf-8", "replace").splitlines()]


def _squares(side: int) -> Callable[..., ViSudo]:
    def make(classes: Classes = "basic", corrupt: int = _CORRUPT, test: int = _TEST) -> ViSudo:
        return ViSudo(side, classes, corrupt, test)

    n = side**2
    make.__doc__ = f"""Complete {n} x {n} grids of images.

    Args:
        classes: ``"basic"``: all grids show the first classes of the image source; ``"transfer"``: test grids
            show the classes after those of train and validation grids.
        corrupt: the chance, in percent, of one more swap or replacement after each, up to ten.
        test: number of test grids, an even number.
    """
    return make


visudo_4x4, visudo_9x9 = _squares(2), _squares(3)
