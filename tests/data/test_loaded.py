"""What `nsl_bench.load` gives: the same from everywhere, in batches of tensors."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader

import nsl_bench
from nsl_bench.data.content import dataset_hash
from nsl_bench.data.manifest import Manifest


def rows(data: Any) -> Iterator[dict[str, Any]]:
    """Rows with their images as bytes."""
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
