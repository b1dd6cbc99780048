"""Images are assigned and shifted reproducibly; a Dataset has the content that its hash says."""

import math
import os
import re
import runpy
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils.data import DataLoader

import nsl_bench
from nsl_bench.core import registry
from nsl_bench.core.errors import UserError
from nsl_bench.core.types import BLANK, ConceptSpace, Split
from nsl_bench.data.card import distinct_images, reuse
from nsl_bench.data.content import dataset_hash
from nsl_bench.data.manifest import Manifest
from nsl_bench.data.splits import assign_images, make_source, make_split
from nsl_bench.run.mock_tasks import SHADES


@given(st.integers(0, 2**32), st.integers(1, 60), st.floats(0, 100), st.floats(0, 100))
@settings(max_examples=60)
def test_shares_are_exact_and_nested(seed: int, n: int, p: float, q: float) -> None:
    rng = np.random.default_rng(seed)
    space, ranks = ConceptSpace("c", ("x",)), rng.permutation(n).astype(np.int32)
    split = Split("train", space, np.zeros((n, 1), np.int16), np.zeros(n, np.int16), ranks=ranks)
    low, high = split.shift(min(p, q)), split.shift(max(p, q))
    assert low.shifted.sum() == int(np.floor(min(p, q) * n / 100 + 0.5))
    assert not (low.shifted & ~high.shifted).any()
    part = high.take(rng.permutation(n)[: n // 2])
    assert part.shifted.sum() == part.n_shifted


@given(st.integers(0, 2**32))
@settings(max_examples=40)
def test_images_show_their_concepts_and_are_dealt_evenly(seed: int) -> None:
    rng = np.random.default_rng(seed)
    pool = np.repeat(np.arange(3, dtype=np.int16), 4)
    concepts = rng.integers(-1, 3, (20, 3)).astype(np.int16)
    split = Split("test", ConceptSpace("c", ("x", "y", "z")), concepts, np.zeros(20, np.int16))
    images = assign_images(split, pool, rng).images
    assert np.array_equal(images == BLANK, concepts == BLANK)
    assert np.array_equal(pool[images[images != BLANK]], concepts[concepts != BLANK])
    used = np.bincount(images[images != BLANK], minlength=len(pool)).reshape(3, 4)
    assert (used.max(axis=1) - used.min(axis=1) <= 1).all()


def test_a_shifted_example_has_the_concepts_and_label_of_its_standard_twin() -> None:
    task = registry.create("benchmark", "sudoku_4x4")
    source = make_source(task)
    plain, shifted = (make_split(task, source, "train", percent=p) for p in (0, 70))
    assert np.array_equal(plain.concepts, shifted.concepts)
    assert np.array_equal(plain.labels, shifted.labels)
    assert np.array_equal(plain.images, shifted.images)
    assert shifted.shifted.sum() == 224


def test_paper_splits_shift_the_first_rows(shared: Path) -> None:
    task = registry.create("benchmark", "follow_suit")
    folder = shared / "data" / "ffnsl_splits" / "follow_suit"
    split = make_split(task, make_source(task), "train", percent=50.5, splits=folder)
    assert np.array_equal(np.flatnonzero(split.shifted), np.arange(52))


def test_load_gives_decoded_images_concepts_labels_and_flags() -> None:
    data = nsl_bench.load("sudoku_4x4", split="train", size="small", repeat=1, shift="rotate90", percent=60)
    assert len(data) == 320 and sum(data["shifted"]) == 192
    row = data[0]
    assert len(row["images"]) == len(row["concepts"]) == 16
    for image, concept in zip(row["images"], row["concepts"], strict=True):
        assert np.any(image) == (concept >= 0)
    plain = nsl_bench.load("sudoku_4x4")
    for after, before in zip(data.select(range(20)), plain.select(range(20)), strict=True):
        assert after["concepts"] == before["concepts"] and after["label"] == before["label"]
        for a, b in zip(after["images"], before["images"], strict=True):
            turned = np.rot90(np.asarray(b), -1) if after["shifted"] else np.asarray(b)
            assert np.array_equal(np.asarray(a), turned)


HASHED = """
import sys, nsl_bench
from nsl_bench.data.content import dataset_hash
if __name__ == "__main__":
    data = nsl_bench.load("follow_suit", shift="noir", percent=50, repeat=2, workers=int(sys.argv[1]),
                          source="drawn_decks:images_per_card=20,image_height=68,image_width=44")
    print(dataset_hash(data), data.info.description.endswith(dataset_hash(data)))
"""


def test_the_content_hash_is_the_same_for_any_number_of_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "hash.py"
    file.write_text(HASHED)
    env = {**os.environ, "NSL_BENCH_CACHE": str(tmp_path / "2")}
    words = [sys.executable, str(file), "2"]
    done = subprocess.run(words, env=env, capture_output=True, text=True, check=True)
    monkeypatch.setenv("NSL_BENCH_CACHE", str(tmp_path / "1"))
    monkeypatch.setattr(sys, "argv", [str(file), "1"])
    runpy.run_path(str(file), run_name="__main__")
    assert done.stdout == capsys.readouterr().out and done.stdout.endswith(" True\n")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"split": "dev"}, "Unknown split 'dev'. Known: test, train, validation."),
        ({"split": "trian"}, "Unknown split 'trian'. Did you mean 'train'?"),
        ({"split": "train_2"}, "Unknown split 'train_2'; write split='train', repeat=2."),
        ({"split": 1}, "split must be 'train', 'validation' or 'test'; got 1."),
        ({"size": "smal"}, "Unknown size of sudoku_4x4 'smal'. Did you mean 'small'?"),
        ({"size": 0}, "size must be the name of a size, such as 'small', or a number of examples; got 0."),
        ({"size": 1.5}, "size must be the name of a size, such as 'small', or a number of examples; got 1.5"),
        ({"shift": "rotate9", "percent": 10}, "Unknown shift 'rotate9'. Did you mean 'rotate90'?"),
        ({"shift": None}, "shift must be a string; got None."),
        ({"shift": "rotate90", "percent": 101}, "percent must be between 0 and 100; got 101."),
        ({"shift": "rotate90", "percent": "fifty"}, "must be a number between 0 and 100; got 'fifty'."),
        ({"shift": "rotate90", "percent": math.nan}, "percent must be a number between 0 and 100; got nan."),
        ({"shift": "rotate90", "percent": True}, "percent must be a number between 0 and 100; got True."),
        ({"percent": 10}, "percent=10 requires a shift: add shift='rotate90'."),
        ({"source": "mnst"}, "Unknown source 'mnst'. Did you mean 'mnist'?"),
        ({"source": "drawn_decks"}, "drawn_decks has no images of '1'"),
        ({"repeat": 0}, "repeat must be 1 or more; got 0."),
        ({"repeat": 1.5}, "repeat must be a whole number of 1 or more; got 1.5."),
        ({"repeat": True}, "repeat must be a whole number of 1 or more; got True."),
        ({"seed": -1}, "seed must be between 0 and 9223372036854775807; got -1."),
        ({"workers": 0}, "workers must be 1 or more; got 0."),
        ({"splits": 3}, "splits must be a string or a path; got 3."),
        ({"streaming": 1}, "streaming must be true or false; got 1."),
        ({"repeats": 2}, "load has no argument 'repeats'. Did you mean 'repeat'?"),
        ({"benchmark": "sudoku_4x4"}, "load: multiple values for argument 'benchmark'."),
    ],
)
def test_bad_arguments_get_one_sentence(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UserError, match=re.escape(sentence)):
        nsl_bench.load("sudoku_4x4", **options)


def test_numpy_numbers_are_numbers() -> None:
    twice = [
        nsl_bench.load("sudoku_4x4", size=10, shift="rotate90", percent=percent, repeat=repeat)
        for percent, repeat in ((50, 2), (np.float32(50), np.int64(2)))
    ]
    assert dataset_hash(twice[0]) == dataset_hash(twice[1]) and sum(twice[0]["shifted"]) == 5


def test_the_hash_covers_pixels() -> None:
    hashes = {
        dataset_hash(nsl_bench.load("sudoku_4x4", shift=shift, percent=percent))
        for shift, percent in (("standard", 0), ("rotate90", 10), ("rotate90", 20))
    }
    assert len(hashes) == 3


def test_different_images_are_counted_once_and_blanks_never() -> None:
    images = np.array([[4, 2], [2, BLANK], [4, 4]], np.int32)
    concepts = np.where(images == BLANK, BLANK, 0).astype(np.int16)
    split = Split("test", SHADES, concepts, np.zeros(3, np.int16), images=images)
    assert distinct_images(split) == 2
    assert reuse(split) == "3 examples with 2 different images in 5 slots"


def test_a_thousand_grids_rest_on_89_digits() -> None:
    task = registry.create("benchmark", "sudoku_4x4")
    source = make_source(task)
    test = make_split(task, source, "test")
    assert distinct_images(test) == len(source.labels("b")) == 89
    assert reuse(test).startswith("1,000 examples with 89 different images in ")


# The same from everywhere, in batches of tensors.


def rows(data: Any) -> Iterator[dict[str, Any]]:
    for row in data:
        yield {**row, "images": [np.asarray(image).tobytes() for image in row["images"]]}


@pytest.mark.parametrize("percent", [0, 50, 100])
def test_a_task_a_folder_and_a_stream_give_the_same(grids: Path, percent: int) -> None:
    options: dict[str, Any] = {"repeat": 2, "shift": "rotate90", "percent": percent}
    kept = nsl_bench.load(grids, **options)
    wanted = list(rows(kept))
    assert sum(row["shifted"] for row in wanted) == 24 * percent // 100
    for others in (
        nsl_bench.load("sudoku_4x4", size=24, **options),
        nsl_bench.load(grids, streaming=True, **options),
        nsl_bench.load("sudoku_4x4", size="24", streaming=True, **options),
    ):
        assert list(others.features.items()) == list(kept.features.items())
        assert list(rows(others)) == wanted
        assert others.info.license == kept.info.license
        assert kept.info.description.startswith(others.info.description)


@pytest.mark.parametrize("config", ["standard", "rotate90"])
def test_load_and_load_dataset_give_the_same(grids: Path, config: str, tmp_path: Path) -> None:
    kept = nsl_bench.load(grids, shift=config)
    read = datasets.load_dataset(str(grids), config, split="train", cache_dir=str(tmp_path))
    assert list(kept.features.items()) == list(read.features.items())
    assert list(rows(kept)) == list(rows(read))
    assert dataset_hash(read) == Manifest.read(grids).configs[config]["train"].content_hash


def test_blanks_fit_every_format(grids: Path) -> None:
    data = nsl_bench.load(grids, shift="rotate90", percent=50)
    blank = np.asarray(data["concepts"][:]) == -1
    assert blank.any() and data.features["concepts"].feature.names == ["1", "2", "3", "4"]
    arrays = data.with_format("numpy")[:]
    assert arrays["images"].shape == (24, 16, 28, 28) and arrays["concepts"].dtype == np.int64
    assert np.array_equal(arrays["images"].any(axis=(2, 3)), ~blank)
    assert data.with_format("pandas")[:]["label"].tolist() == data["label"][:]
    tensors = data.with_format("torch")
    assert torch.equal(tensors[:]["concepts"] == -1, torch.from_numpy(blank))
    shuffled = DataLoader(tensors, batch_size=10, shuffle=True)
    assert [batch["images"].shape[0] for batch in shuffled] == [10, 10, 4]
    means = tensors.map(lambda row: {"mean": row["images"].float().mean()})
    assert means.features["images"] == data.features["images"] and means["mean"][:].min() > 0
    again = data.map(lambda batch: {"known": [max(c) for c in batch["concepts"]]}, batched=True)
    assert again.features["concepts"] == data.features["concepts"]


def test_a_stream_is_divided_among_workers() -> None:
    stream = nsl_bench.load("sudoku_4x4", streaming=True)
    assert stream.num_shards == 5
    halves = [stream.shard(2, index) for index in (0, 1)]
    ids = [row["id"] for half in halves for row in half.select_columns(["id"])]
    assert len(ids) == len(set(ids)) == 320
