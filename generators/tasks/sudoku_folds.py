"""Sudoku Grid Validity in folds: one set of grids, of which each train split has a test set of its own.

NSL paper (Cunnington et al. 2020: "NSL: Hybrid Interpretable Learning From Noisy Raw Data"), section 4.3: 400
grids, half of them valid, in five folds of 320 train and 80 test grids.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from nsl_bench.core.errors import UserError
from nsl_bench.core.registry import Spec
from nsl_bench.core.seeding import generator
from nsl_bench.core.types import Ints, Part, Split

from .folds import stratified_folds
from .sudoku import Knowledge, Sudoku

_MOST_FOLDS = 20
_USUAL_GRIDS = 400


class FoldedSudoku(Sudoku):
    """Square grids of one set, in folds: the test set of train split k is fold k, its train set the others.

    Half of the grids are valid, in every fold. Validation sets have grids that are not in the set.

    Args:
        side: rows and columns of a block.
        knowledge: as for `Sudoku`.
        folds: number of folds.
        fold: use this fold, counted from 1, as the test set of all train splits.
        grids: number of grids in all folds.
    """

    def __init__(
        self,
        side: int,
        knowledge: Knowledge = "grid",
        folds: int = 5,
        fold: int | None = None,
        grids: int = _USUAL_GRIDS,
    ) -> None:
        """Set up the task."""
        super().__init__(side, side, knowledge)
        if not 2 <= folds <= _MOST_FOLDS:
            raise UserError(f"{self.name}: folds must be between 2 and {_MOST_FOLDS}; got {folds}.")
        if fold is not None and not 1 <= fold <= folds:
            raise UserError(f"{self.name}: fold must be between 1 and {folds}; got {fold}.")
        if grids < 2 * folds or grids % 2:
            raise UserError(f"{self.name}: grids must be an even number of {2 * folds} or more; got {grids}.")
        self.folds, self.grids = folds, grids
        self.repeats, self.own_tests, self.overlap = folds, fold is None, 1 / (folds - 1)
        self._seed: int | str = 0
        self._plain = self.name
        self._take(fold or 1)
        self.name = self._named(fold)

    def _named(self, fold: int | None) -> str:
        spec = Spec.parse(self._plain)
        given: dict[str, object] = {**spec.kwargs, "folds": self.folds}
        given |= {} if fold is None else {"fold": fold}
        given |= {} if self.grids == _USUAL_GRIDS else {"grids": self.grids}
        return str(Spec(spec.name, (), {key: str(value) for key, value in given.items()}))

    def _take(self, fold: int) -> None:
        self._fold = fold
        self.test_size = len(range(fold - 1, self.grids, self.folds))
        self.sizes = {"small": self.grids - self.test_size}

    def for_split(self, repeat: int, seed: int | str = 0) -> FoldedSudoku:
        """The task of train split k, tested on fold k unless `fold` is set; the seed draws the grids."""
        fold = repeat if self.own_tests else self._fold
        if fold > self.folds:
            raise UserError(f"{self.name} has {self.folds} train splits; got train split {fold}.")
        task = copy.copy(self)
        task._take(fold)
        task._seed = seed
        if self.test_size != len(range(self._fold - 1, self.grids, self.folds)):
            raise UserError(f"{self.name}: the size of a test set follows from folds; got {self.test_size}.")
        task.name = task._named(fold)
        return task

    def generate(
        self, part: Part, size: str, repeat: int, rng: np.random.Generator, exclude: Split | None = None
    ) -> Split:
        """Take the grids of a part from the set, in random order."""
        whole, folds = _set_of_grids(self.block[0], self.folds, self.grids, self._seed)
        rows = rng.permutation(np.flatnonzero((folds == self._fold) == (part == "test")))
        n = self.test_size if part == "test" else self.size(size)
        if n > len(rows):
            raise UserError(f"{self.name} has {len(rows)} train grids in a split; got {n}.")
        return Split(part, self.concept_space, whole.concepts[rows[:n]], whole.labels[rows[:n]])

    def generate_validation(self, size: str, repeat: int, rng: np.random.Generator, exclude: Split) -> Split:
        """Generate grids that are not in the set, as many as the train set has."""
        whole, _ = _set_of_grids(self.block[0], self.folds, self.grids, self._seed)
        new = super().generate("train", str(self.size(size)), repeat, rng, whole)
        return Split("validation", self.concept_space, new.concepts, new.labels)


@lru_cache(maxsize=4)
def _set_of_grids(side: int, folds: int, grids: int, seed: int | str) -> tuple[Split, Ints]:
    """All grids, and the fold of each, int64 [n] from 1."""
    maker = Sudoku(side, side)
    maker.test_size = grids
    words = ("sudoku folds", maker.version, side, grids, seed)
    whole = maker.generate("test", "small", 0, generator(*words))
    return whole, stratified_folds(whole.labels, folds, generator(*words, folds)) + 1


def _squares(side: int) -> Callable[..., Sudoku]:
    def make(
        knowledge: Knowledge = "grid", folds: int = 0, fold: int | None = None, grids: int = _USUAL_GRIDS
    ) -> Sudoku:
        if folds:
            return FoldedSudoku(side, knowledge, folds, fold, grids)
        if fold is not None:
            raise UserError(f"sudoku_{n}x{n}: fold={fold} requires folds; add folds=5.")
        return Sudoku(side, side, knowledge)

    n = side**2
    make.__doc__ = f"""{n} x {n} grids with {side} x {side} blocks.

    Args:
        knowledge: ``"grid"``: cells are named and their row, column and block are known; ``"rows_columns"``:
            rules cannot use blocks; ``"rows"``: nor columns; ``"cells"``: nor rows; ``"reduced"``: cells have
            coordinates, and only integer division is known.
        folds: number of folds of a cross-validation; each train split then has its own test set. By
            default train sets are generated one by one and share a test set.
        fold: with `folds`: use this fold, counted from 1, as the test set of all train splits.
        grids: with `folds`: number of grids in all of them.
    """
    return make


sudoku_4x4, sudoku_9x9 = _squares(2), _squares(3)
