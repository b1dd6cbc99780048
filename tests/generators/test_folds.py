"""Sudoku in folds, as the NSL paper has it, and how examples are dealt to folds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nsl_bench.generators.tasks.folds import stratified_folds
from nsl_bench.generators.tasks.sudoku_folds import sudoku_4x4

from nsl_bench.core import registry
from nsl_bench.core.errors import UserError
from nsl_bench.data.splits import symbolic_split

FIVE = "sudoku_4x4:folds=5"


@given(st.lists(st.integers(0, 4), min_size=1, max_size=60), st.integers(2, 7), st.integers(0, 9))
def test_folds_are_stratified(labels: list[int], n_folds: int, seed: int) -> None:
    folds = stratified_folds(np.array(labels), n_folds, np.random.default_rng(seed))
    for chosen in (None, *range(5)):
        mine = folds if chosen is None else folds[np.array(labels) == chosen]
        counts = np.bincount(mine, minlength=n_folds)
        assert len(counts) == n_folds and counts.max() - counts.min() <= 1


@pytest.mark.parametrize("seed", [0, "secret"])
def test_the_folds_are_of_one_set(seed: int | str) -> None:
    task = registry.create("benchmark", FIVE)
    tests = [symbolic_split(task, "test", repeat=k, seed=seed) for k in range(1, 6)]
    grids = [{row.tobytes() for row in split.concepts} for split in tests]
    assert [len(split) for split in tests] == [80] * 5 and len(set.union(*grids)) == 400
    assert all(split.labels.sum() == 40 for split in tests)
    train = {row.tobytes() for row in symbolic_split(task, "train", repeat=2, seed=seed).concepts}
    assert train == set.union(*grids) - grids[1]
    validation = symbolic_split(task, "validation", repeat=2, seed=seed)
    assert not {row.tobytes() for row in validation.concepts} & set.union(*grids)


def test_specs_of_folds() -> None:
    task = sudoku_4x4("reduced", folds=3, grids=40)
    assert task.name == "sudoku_4x4:knowledge=reduced,folds=3,grids=40" and task.repeats == 3
    assert task.for_split(2).name == "sudoku_4x4:knowledge=reduced,folds=3,fold=2,grids=40"
    assert [task.for_split(k).test_size for k in (1, 2, 3)] == [14, 13, 13]
    fixed = registry.create("benchmark", f"{FIVE},fold=2")
    first = symbolic_split(registry.create("benchmark", FIVE), "test", repeat=2)
    assert np.array_equal(
        np.unique(symbolic_split(fixed, "test", repeat=1).concepts, axis=0), np.unique(first.concepts, axis=0)
    )


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ("folds=1", r"^sudoku_4x4: folds must be between 2 and 20; got 1\.$"),
        ("folds=5,fold=6", r"^sudoku_4x4: fold must be between 1 and 5; got 6\.$"),
        ("fold=2", r"^sudoku_4x4: fold=2 requires folds; add folds=5\.$"),
        ("folds=5,grids=9", r"^sudoku_4x4: grids must be an even number of 10 or more; got 9\.$"),
    ],
)
def test_options_out_of_range(options: str, what: str) -> None:
    with pytest.raises(UserError, match=what):
        registry.create("benchmark", f"sudoku_4x4:{options}")


def test_more_than_there_is() -> None:
    task = registry.create("benchmark", FIVE)
    with pytest.raises(UserError, match=r"has 320 train grids in a split; got 321\.$"):
        symbolic_split(task, "train", "321")
    with pytest.raises(UserError, match=r"has 5 train splits; got train split 6\.$"):
        symbolic_split(task, "train", repeat=6)
    task = registry.create("benchmark", FIVE)
    task.test_size = 1000
    with pytest.raises(UserError, match="the size of a test set follows from folds; got 1000"):
        symbolic_split(task, "test")
