"""The file formats of learners' folders: parquet, CSV and JSON, for examples and for predictions.

CSV has one column for each value: ``concept_SLOT``, ``p_SLOT_CONCEPT`` and ``image_SLOT`` instead of the
lists of parquet, empty for a blank slot, and all facts in one column, each with a full stop. JSON has one
object for each example, with the lists of parquet. In both, images are PNG files in ``images/``.
"""

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from nsl_bench.core.declared import parse_json
from nsl_bench.learners.base import InvalidOutput

Format = Literal["parquet", "csv", "json"]
FORMATS: tuple[Format, ...] = get_args(Format)

ANSWERS = tuple(f"predictions.{name}" for name in FORMATS)
"""Names of the file with a learner's predictions."""

_BATCH = 1 << 16


def answered(folder: Path) -> Path:
    """The file with predictions in a folder; the parquet file's name if there is none."""
    result = [folder / name for name in ANSWERS if (folder / name).exists() or (folder / name).is_symlink()]
    if len(result) > 1:
        names = " and ".join(path.name for path in result)
        raise InvalidOutput(f"Predictions must be in one file; got {names}.")
    return result[0] if result else folder / ANSWERS[0]


def write_table(
    stem: Path, columns: Mapping[str, Any], form: Format, slots: Sequence[str], concepts: Sequence[str]
) -> None:
    """Write examples as ``STEM.parquet``, ``STEM.csv`` or ``STEM.json``.

    Args:
        stem: path without a suffix.
        columns: name to values, as pyarrow takes them.
        concepts: names of the concepts; empty in tracks without concepts.
    """
    import pyarrow as pa
    import pyarrow.parquet

    path = stem.with_name(f"{stem.name}.{form}")
    table = pa.table(dict(columns))
    if form == "parquet":
        pyarrow.parquet.write_table(table, path)
        return
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = (row for batch in table.to_batches(_BATCH) for row in batch.to_pylist())
        if form == "json":
            for k, row in enumerate(rows):
                values = _with_files(stem.parent, row)
                file.write("[\n" if k == 0 else ",\n")
                file.write(json.dumps(values, ensure_ascii=False))
            file.write("\n]\n" if table.num_rows else "[]\n")
            return
        writer: Any = None
        for row in rows:
            flat = _flat(_with_files(stem.parent, row), slots, concepts)
            if writer is None:
                writer = csv.DictWriter(file, list(flat), lineterminator="\n")
                writer.writeheader()
            writer.writerow(flat)


def _with_files(folder: Path, row: dict[str, Any]) -> dict[str, Any]:
    """A row whose images are files of the folder, and whose numbers are short."""
    if "probabilities" in row:
        row["probabilities"] = [[float(f"{p:.9g}") for p in slot] for slot in row["probabilities"]]
    if "images" in row:
        (folder / "images").mkdir(exist_ok=True)
        names: list[str | None] = []
        for slot, data in enumerate(row["images"]):
            name = None if data is None else f"images/{row['example']}-{slot}.png"
            if name is not None:
                (folder / name).write_bytes(data)
            names.append(name)
        row["images"] = names
    return row


def _flat(row: Mapping[str, Any], slots: Sequence[str], concepts: Sequence[str]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in row.items():
        if name == "concepts":
            flat |= {f"concept_{slot}": one for slot, one in zip(slots, value, strict=True)}
        elif name == "images":
            flat |= {f"image_{slot}": one for slot, one in zip(slots, value, strict=True)}
        elif name == "probabilities":
            for slot, vector in zip(slots, value, strict=True):
                flat |= {f"p_{slot}_{concept}": p for concept, p in zip(concepts, vector, strict=True)}
        elif name in ("facts", "problog_facts"):
            flat[name] = " ".join(f"{fact}." for fact in value)
        else:
            flat[name] = value
    return flat


def read_table(path: Path, scores: Sequence[str]) -> Any:
    """An untrusted CSV or JSON file of predictions as a pyarrow table.

    Args:
        path: of the file, whose size has been checked.
    """
    import pyarrow as pa
    import pyarrow.csv

    try:
        if path.suffix == ".csv":
            types = {"example": pa.string(), "label": pa.string(), **dict.fromkeys(scores, pa.float64())}
            convert = pyarrow.csv.ConvertOptions(column_types=types, strings_can_be_null=False)
            return pyarrow.csv.read_csv(path, convert_options=convert)
        rows = parse_json(path.read_bytes())
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise ValueError("it must be a list of objects")
        names = dict.fromkeys(name for row in rows for name in row)
        wanted = [name for name in names if name in ("example", "label", *scores)]
        columns: dict[str, Any] = {}
        for name in wanted:
            values = [row.get(name) for row in rows]
            columns[name] = values if name in ("example", "label") else np.asarray(values, np.float64)
        return pa.table(columns)
    except (OSError, ValueError, TypeError, OverflowError, MemoryError, pa.ArrowException) as error:
        kind = path.suffix.removeprefix(".").upper()
        reason = " ".join(str(error).split())[:200].rstrip(".")
        raise InvalidOutput(f"{path.name} is not a {kind} file of predictions: {reason}.") from error
