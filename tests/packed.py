"""The packed files of a submission, as plain values, for tests that read or change them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from nsl_bench.leaderboard.packing import LIKELIEST, coded, decoded, opened_lines, write_lines
from nsl_bench.leaderboard.submission import PREDICTIONS

__all__ = ["COMMITTED", "edit_predictions", "pack", "unpacked"]

COMMITTED = Path(__file__).parents[1] / "leaderboard" / "submissions"
"""The accepted submissions of the repository, which the installed package does not hold."""


def unpacked(path: Path) -> str:
    """The text of a packed file."""
    with opened_lines(path) as file:
        return file.read().decode()


def pack(path: Path, text: str) -> None:
    """Write a text as a packed file."""
    write_lines(path, text.splitlines())


def edit_predictions(folder: Path, change: Callable[[list[dict[str, Any]]], object]) -> None:
    """Change the rows of predictions, in which labels and probabilities stand as they are."""
    table = pq.read_table(folder / PREDICTIONS)
    rows = table.to_pylist()
    for row in rows:
        if row["probabilities"]:
            labels = np.array(row["predicted"])
            given = decoded(np.array(row["probabilities"]).reshape(len(labels), -1))
            row["predicted"] = np.where(labels == LIKELIEST, given.argmax(axis=1), labels).tolist()
            row["probabilities"] = given.reshape(-1).tolist()
    change(rows)
    for row in rows:
        if row["probabilities"]:
            given = np.array(row["probabilities"]).reshape(len(row["predicted"]), -1)
            row["probabilities"] = coded(given).reshape(-1).tolist()
    pq.write_table(pa.Table.from_pylist(rows, schema=table.schema), folder / PREDICTIONS)
