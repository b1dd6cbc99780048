"""Runs as data: one script file an entry and contest, which the run page loads, also from ``file://``.

A file calls ``nslBench.runs([...])`` with the records and, for each run and evaluation, the predicted labels
(one character an example) and the probability of the true label (one byte an example, base64).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from nsl_bench.core import registry
from nsl_bench.core.benchmark import Benchmark
from nsl_bench.core.types import Split
from nsl_bench.data.splits import symbolic_split

from ..contests import Contest
from ..predictions import LETTERS, read_accepted
from ..submission import PREDICTIONS

_SHOWN = 400
"""Characters of a test example's description."""


def script(function: str, value: Any) -> str:
    """A script file that hands a value over; no ``</script>`` or comment can be in it."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return f"nslBench.{function}({text.replace('<', chr(92) + 'u003c')});\n"


@cache
def _test(benchmark: str, seed: int, number: int) -> tuple[Benchmark, Split]:
    task: Benchmark = registry.create("benchmark", benchmark)
    return task, symbolic_split(task, "test", next(iter(task.sizes)), number, seed=seed)


@cache
def _number(benchmark: str, repeat: int) -> int:
    """Which test set a train set has."""
    task: Benchmark = registry.create("benchmark", benchmark)
    return task.test_number(repeat)


@cache
def test_labels(benchmark: str, seed: int, number: int = 1) -> tuple[npt.NDArray[np.int64], tuple[str, ...]]:
    """A test set's labels int64 [n], and the labels' names.

    Args:
        number: which test set, from 1; all tasks but those with `own_tests` have one.
    """
    task, split = _test(benchmark, seed, number)
    return split.labels.astype(np.int64), task.labels.names


def write_test(contest: Contest, path: Path) -> None:
    """The test sets of a contest by number: labels and what each example shows.

    Those of a sealed round are left out: each share has its own.
    """
    repeats = () if contest.sealed_round else range(1, contest.repeats + 1)
    numbers = sorted({_number(contest.tested, repeat) for repeat in repeats})
    names = registry.create("benchmark", contest.tested).labels.names
    sets = {str(number): _examples_of(contest, number) for number in numbers}
    path.parent.mkdir(parents=True, exist_ok=True)
    value = {"contest": contest.name, "names": names, "sets": sets}
    path.write_text(script("test", value), encoding="utf-8")


def _examples_of(contest: Contest, number: int) -> dict[str, Any]:
    task, split = _test(contest.tested, contest.seed, number)
    names = task.concept_space.concepts
    texts = [" ".join("·" if c < 0 else names[c] for c in row) for row in split.concepts.tolist()]
    for name, column in split.metadata.items():
        texts = [f"{text}, {name} {value}" for text, value in zip(texts, column.tolist(), strict=True)]
    codes = np.array(list(LETTERS))[split.labels]
    return {"labels": "".join(codes), "shown": [text[:_SHOWN] for text in texts]}


def write_runs(folder: Path, records: Sequence[tuple[Contest, Sequence[dict[str, Any]]]], out: Path) -> None:
    """The runs of an entry, a file a contest.

    Args:
        records: contests with their runs, as in the board's record.
        out: folder of the files, ``CONTEST.js``.
    """
    places: dict[str, npt.NDArray[np.int64]] = {}
    for contest, runs in (one for one in records if not one[0].sealed_round):
        for record in (record for record in runs if record["looks"]):
            number = _number(contest.tested, record["repeat"])
            places[record["run"]] = _places(contest.tested, contest.seed, number)
    path = folder / PREDICTIONS
    read = read_accepted(path, places) if places and path.is_file() else {}
    out.mkdir(parents=True, exist_ok=True)
    for contest, runs in records:
        value = []
        for record in runs:
            plain = {key: what for key, what in record.items() if key != "looks"}
            plain["test_set"] = _number(contest.tested, record["repeat"])
            value.append({**plain, "predictions": read.get(record["run"], {})})
        (out / f"{contest.name}.js").write_text(script("runs", value), encoding="utf-8")


@cache
def _places(benchmark: str, seed: int, number: int) -> npt.NDArray[np.int64]:
    """int64 [n]: where a row of probabilities, example by example, holds those of the true labels."""
    labels, names = test_labels(benchmark, seed, number)
    return np.arange(len(labels)) * len(names) + labels
