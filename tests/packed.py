"""The packed files of a submission, as plain values, for tests that read or change them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from nsl_bench.leaderboard.packing import LIKELIEST, coded, decoded, opened_lines, write_lines
from nsl_bench.leaderboard.score_report import ScoreReport
from nsl_bench.leaderboard.submission import MANIFEST, PREDICTIONS, RUNS

Rows = list[dict[str, Any]]
Change = Callable[[Rows], object]
Scored = Callable[..., ScoreReport]

COMMITTED = Path(__file__).parents[1] / "leaderboard" / "submissions"
"""The accepted submissions of the repository, which the installed package does not hold."""


def unpacked(path: Path) -> str:
    with opened_lines(path) as file:
        return file.read().decode()


def pack(path: Path, text: str) -> None:
    write_lines(path, text.splitlines())


def lines_of(path: Path) -> Rows:
    """The objects in the lines of a packed file."""
    return [json.loads(line) for line in unpacked(path).splitlines()]


def edit_runs(folder: Path, change: Change, file: str = RUNS) -> None:
    """Change the objects in the lines of a packed file."""
    lines = lines_of(folder / file)
    change(lines)
    write_lines(folder / file, [json.dumps(line) for line in lines])


def edit_manifest(folder: Path, **values: Any) -> None:
    known = json.loads((folder / MANIFEST).read_text())
    (folder / MANIFEST).write_text(json.dumps({**known, **values}))


def edit_rows(folder: Path, change: Change) -> None:
    """Change the rows of predictions as they are written."""
    table = pq.read_table(folder / PREDICTIONS)
    rows = table.to_pylist()
    change(rows)
    pq.write_table(pa.Table.from_pylist(rows, schema=table.schema), folder / PREDICTIONS)


def edit_predictions(folder: Path, change: Change) -> None:
    """Change the rows of predictions, in which labels and probabilities stand as they are."""

    def plain(rows: Rows) -> None:
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

    edit_rows(folder, plain)
