"""What was changed in a data set is named in one sentence, by `verify` and by `load`."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

import nsl_bench
from nsl_bench.data.manifest import Manifest
from nsl_bench.data.verify import verify
from nsl_bench.errors import UserError

TURNED = "rotate90/train-00000-of-00001.parquet"


def change(
    folder: Path, path: str, edit: Callable[[list[dict[str, Any]]], list[dict[str, Any]] | None]
) -> None:
    """Write a parquet file again with other rows."""
    table = pq.read_table(folder / path)
    rows = table.to_pylist()
    rows = edit(rows) or rows
    pq.write_table(pa.Table.from_pylist(rows, schema=table.schema), folder / path)


def repaint(rows: list[dict[str, Any]], row: int, by: int) -> None:
    """Another level for one pixel of the first image of a row."""
    image = next(image for image in rows[row]["images"] if image)
    pixels = np.asarray(Image.open(io.BytesIO(image["bytes"]))).copy()
    pixels[3, 5] ^= by
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG", compress_level=9)
    image["bytes"] = buffer.getvalue()


def test_other_encoders_and_files_change_nothing(copied: Path) -> None:
    change(copied, TURNED, lambda rows: [repaint(rows, i, 0) for i in range(10)] and None)
    table = pq.read_table(copied / TURNED)
    pq.write_table(table, copied / TURNED, compression="zstd", row_group_size=7, version="1.0")
    assert verify(copied).benchmark == "sudoku_4x4"
    assert nsl_bench.load(copied, shift="rotate90").info.description.endswith(
        Manifest.read(copied).configs["rotate90"]["train"].content_hash
    )


def test_the_first_row_that_differs_is_named(
    copied: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("NSL_BENCH_CACHE", str(tmp_path / "cache"))
    change(copied, TURNED, lambda rows: [repaint(rows, i, 1) for i in (9, 5)] and None)
    for look in (verify, lambda folder: nsl_bench.load(folder, shift="rotate90")):
        with pytest.raises(UserError, match=r"^Row 5 \(train-5\) of rotate90/train in .* differs"):
            look(copied)
    with pytest.raises(UserError, match="Row 5 "):
        nsl_bench.load(copied, shift="rotate90", percent=90)
    nsl_bench.load(copied)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("rank", 99),
        ("label", 1),
        ("id", "train-0"),
        ("standard_images", ["a-1"] * 16),
        ("concepts", ["1"] * 16),
    ],
)
def test_every_column_counts(copied: Path, field: str, value: object) -> None:
    def edit(rows: list[dict[str, Any]]) -> None:
        row = next(row for row in rows[3:] if row["label"] == 0)
        row[field] = value

    change(copied, TURNED, edit)
    with pytest.raises(UserError, match=r"Row \d+ \(train-\d+\) of rotate90/train in .* differs"):
        verify(copied)


def test_rows_too_many_or_too_few(copied: Path) -> None:
    change(copied, TURNED, lambda rows: rows[:-1])
    with pytest.raises(UserError, match="ends after 23 rows, but the manifest states 24"):
        verify(copied)
    change(copied, TURNED, lambda rows: [*rows, rows[-1], rows[-1]])
    with pytest.raises(UserError, match=r"Row 23 .* differs|one too many"):
        verify(copied)


@pytest.mark.parametrize("keep", [0, 100, 4000])
def test_a_damaged_parquet_file(copied: Path, keep: int) -> None:
    data = (copied / TURNED).read_bytes()
    (copied / TURNED).write_bytes(
        data[:keep] if keep < 4000 else data[:keep] + bytes(200) + data[keep + 200 :]
    )
    with pytest.raises(UserError, match=r"rotate90/train.* (is damaged|cannot be read|differs)"):
        verify(copied)


def test_a_card_edited_by_hand(copied: Path) -> None:
    card = copied / "README.md"
    card.write_text(card.read_text().replace("num_examples: 24", "num_examples: 25"))
    with pytest.raises(UserError, match=r"The card .*README\.md was edited"):
        verify(copied)


def edit_manifest(folder: Path, **values: object) -> None:
    path = folder / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


def test_a_manifest_of_another_format_or_none(copied: Path) -> None:
    edit_manifest(copied, format=2, generator="nsl-bench 9.0")
    with pytest.raises(UserError, match=r"is of format 2, written by nsl-bench 9\.0, but .* format 1"):
        verify(copied)
    (copied / "manifest.json").write_text('{"format": 1, "benchmark": "x"}')
    with pytest.raises(UserError, match="is not as it was written"):
        verify(copied)
    (copied / "manifest.json").write_text("{")
    with pytest.raises(UserError, match="cannot be read"):
        verify(copied)
    (copied / "manifest.json").unlink()
    with pytest.raises(UserError, match="it has no manifest"):
        verify(copied)


def test_a_manifest_of_other_files(copied: Path) -> None:
    manifest = json.loads((copied / "manifest.json").read_text())
    manifest["configs"]["symbolic"]["test"]["content_hash"] = "0" * 64
    edit_manifest(copied, configs=manifest["configs"])
    with pytest.raises(UserError, match="the manifest is not the one of these files"):
        verify(copied)


def test_files_missing_changed_or_too_many(copied: Path) -> None:
    extra = copied / "rotate90" / "train-00001-of-00002.parquet"
    extra.write_bytes((copied / TURNED).read_bytes())
    with pytest.raises(UserError, match=r"does not list rotate90/train-00001-of-00002"):
        verify(copied)
    extra.unlink()
    (copied / "rules" / "bias.lp").write_text("")
    with pytest.raises(UserError, match=r"bias\.lp is not as it was written"):
        verify(copied)
    (copied / "rules" / "bias.lp").unlink()
    with pytest.raises(UserError, match=r"lacks rules/bias"):
        verify(copied)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"split": "train", "repeat": 3}, "Unknown split of the configuration standard 'train_3'"),
        ({"shift": "rotate9"}, "Did you mean 'rotate90'"),
        ({"size": "small"}, "holds train sets of the size '24', not 'small'"),
        ({"source": "mnist"}, "has its own source; leave source out"),
        ({"seed": 3}, "has its own seed"),
        ({"percent": 10}, "without a shift"),
    ],
)
def test_a_folder_takes_no_other_options(grids: Path, options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        nsl_bench.load(grids, **options)
