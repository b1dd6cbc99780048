"""Data sets whose rows are steps: columns, shares of whole sequences, one row a sequence, bad data."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import nsl_bench
from nsl_bench import UserError
from nsl_bench.data.content import dataset_hash
from nsl_bench.data.generate import generate
from nsl_bench.data.recipe import Recipe
from nsl_bench.data.verify import verify


@pytest.fixture(scope="module", autouse=True)
def installed() -> object:
    """The task, as if another package had it."""
    from parity import installed as with_parity

    with pytest.MonkeyPatch.context() as patched:
        with_parity(patched)
        yield


def test_rows_say_their_sequence_and_whole_sequences_are_shifted() -> None:
    rows = nsl_bench.load("parity", split="test", shift="rotate90", percent=50)
    assert rows["step"][:4] == [1, 2, 3, 1] and rows["sequence"][:4] == [0, 0, 0, 1]
    shifted = np.array(rows["shifted"]).reshape(-1, 3)
    assert (shifted.all(axis=1) == shifted.any(axis=1)).all() and shifted.all(axis=1).sum() == 10
    assert dataset_hash(rows) in rows.info.description


def test_a_data_set_has_one_row_for_each_sequence() -> None:
    rows = nsl_bench.load("parity", split="test")
    whole = nsl_bench.as_sequences(rows)
    assert len(whole) == 20 and whole["sequence"][:] == list(range(20))
    assert whole["label"][1] == rows["label"][3:6]
    assert [[image.size for image in step] for step in whole[1]["images"]] == [[(28, 28)]] * 3
    assert whole.features["label"].feature.names == ["even", "odd"]
    part = nsl_bench.as_sequences(rows.select(range(6, 12)))
    assert part["sequence"][:] == [2, 3] and part["start"][0] == rows["start"][6:9]


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        ([0, 1, 2, 3, 4], "Sequence 1 of the data set is cut: it has 2 steps, and others have 3"),
        ([1, 2, 3], "row 0 is step 2 of sequence 0, but step 1 must come next"),
        ([0, 2, 1], "row 1 is step 3 of sequence 0, but step 2 must come next"),
    ],
)
def test_sequences_that_are_cut_or_out_of_order_are_refused(chosen: list[int], said: str) -> None:
    rows = nsl_bench.load("parity", split="test")
    with pytest.raises(UserError, match=said):
        nsl_bench.as_sequences(rows.select(chosen))


def test_sequences_that_are_all_cut_alike_are_refused(tmp_path: Path) -> None:
    generate(Recipe(benchmark="parity", size="small", repeats=1), tmp_path / "bits")
    for place in ("parity", tmp_path / "bits"):
        rows = nsl_bench.load(place, split="test")
        cut = rows.filter(lambda step: step < 3, input_columns="step")
        with pytest.raises(UserError, match="All sequences of the data set are cut: they have 2 steps"):
            nsl_bench.as_sequences(cut)
    cut.info.description = ""  # as in data sets of earlier versions
    assert nsl_bench.as_sequences(cut)["step"][0] == [1, 2]


def test_other_data_sets_have_no_sequences() -> None:
    rows = nsl_bench.load("sudoku_4x4", split="test", size=5)
    with pytest.raises(UserError, match="has no column 'sequence'"):
        nsl_bench.as_sequences(rows)
    with pytest.raises(UserError, match="requires a Dataset; got list"):
        nsl_bench.as_sequences([])  # type: ignore[arg-type]


def test_a_generated_folder_is_verified_and_loads_at_every_share(tmp_path: Path) -> None:
    recipe = Recipe(benchmark="parity", size="small", repeats=1, shifts=("rotate90",), percents=(50.0,))
    manifest = generate(recipe, tmp_path / "bits")
    assert manifest.steps == 3 and manifest.metadata == ("start", "sequence", "step")
    verify(tmp_path / "bits")
    for percent in (0, 50, 100):
        from_folder, made = (
            nsl_bench.load(place, split="test", shift="rotate90", percent=percent)
            for place in (tmp_path / "bits", "parity")
        )
        assert dataset_hash(from_folder) == dataset_hash(made)
        assert from_folder["step"][:] == made["step"][:]
