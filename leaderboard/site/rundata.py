"""Runs as data: one script file an entry and contest, which the run page loads, also from ``file://``.

A file calls ``nslBench.runs([...])`` with the records and, for each run and evaluation, the predicted labels
(one character an example) and the probability of the true label (one byte an example, base64).
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from nsl_bench import registry
from nsl_bench.data.splits import symbolic_split
from nsl_bench.errors import UserError

from ..contests import Contest
from ..submission import PREDICTIONS

__all__ = ["LETTERS", "script", "test_labels", "write_runs", "write_test"]

LETTERS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ?-"
"""A label's index as a character; the last two are several labels and none (indices -2 and -1)."""

_SHOWN = 400
"""Characters of a test example's description."""


def script(function: str, value: Any) -> str:
    """A script file that hands a value over; no ``</script>`` or comment can be in it."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return f"nslBench.{function}({text.replace('<', chr(92) + 'u003c')});\n"


@cache
def test_labels(benchmark: str, seed: int) -> tuple[npt.NDArray[np.int64], tuple[str, ...]]:
    """The test set's labels int64 [n], and the labels' names."""
    task = registry.create("benchmark", benchmark)
    return symbolic_split(task, "test", seed=seed).labels.astype(np.int64), task.labels.names


def write_test(contest: Contest, path: Path) -> None:
    """The test set of a contest: labels and what each example shows."""
    task = registry.create("benchmark", contest.benchmark)
    split = symbolic_split(task, "test", seed=contest.seed)
    names = task.concept_space.concepts
    shown = [" ".join("·" if c < 0 else names[c] for c in row)[:_SHOWN] for row in split.concepts.tolist()]
    codes = np.array(list(LETTERS))[split.labels]
    value = {"contest": contest.name, "names": task.labels.names, "labels": "".join(codes), "shown": shown}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(script("test", value), encoding="utf-8")


def write_runs(folder: Path, contest: Contest, records: Sequence[dict[str, Any]], path: Path) -> None:
    """The runs of an entry in a contest.

    Args:
        folder: of the submission.
        contest: which.
        records: of these runs, as in the board's record.
        path: file to write.
    """
    predicted = _encoded(folder, contest, [record["run"] for record in records])
    value = [{**record, "predictions": predicted.get(record["run"], {})} for record in records]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(script("runs", value), encoding="utf-8")


def _encoded(folder: Path, contest: Contest, runs: Sequence[str]) -> dict[str, dict[str, dict[str, str]]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = folder / PREDICTIONS
    if not path.is_file():
        return {}
    labels, names = test_labels(contest.benchmark, contest.seed)
    letters = np.frombuffer(LETTERS.encode(), np.uint8)
    rows = np.arange(len(labels))
    found: dict[str, dict[str, dict[str, str]]] = {}
    try:
        table = pq.read_table(path, filters=[("run", "in", list(runs))])
    except (pa.ArrowException, OSError) as error:
        raise UserError(f"{path} cannot be read: {error}.") from error
    for row in range(table.num_rows):
        codes = table["predicted"][row].values.to_numpy()
        if len(codes) != len(labels):
            continue
        numbers = table["probabilities"][row].values.to_numpy().reshape(len(labels), len(names))
        true = np.clip(numbers[rows, labels] * 255 + 0.5, 0, 255).astype(np.uint8)
        found.setdefault(table["run"][row].as_py(), {})[table["evaluation"][row].as_py()] = {
            "labels": letters[codes].tobytes().decode(),
            "true": base64.b64encode(true.tobytes()).decode(),
        }
    return found
