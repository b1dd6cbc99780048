"""Metrics that runs lack because they were made before the metric was, computed from stored predictions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from nsl_bench.core import registry
from nsl_bench.core.benchmark import Benchmark
from nsl_bench.core.errors import UserError
from nsl_bench.core.metrics import METRICS, Answers, compute
from nsl_bench.core.sequences import check_sequences, sequences_of
from nsl_bench.core.types import AMBIGUOUS, UNDECIDED

if TYPE_CHECKING:
    import pandas as pd

    from nsl_bench.run.record import Record

_CODES = {"undecided": UNDECIDED, "ambiguous": AMBIGUOUS}


class Runs(Protocol):
    """What reports are made of: `nsl_bench.Results`."""

    @property
    def frame(self) -> pd.DataFrame:
        """One row a run."""

    @property
    def folder(self) -> Any:
        """Where they are kept."""

    def latest(self) -> dict[str, Record]:
        """The record of each run by key."""

    def predictions(self, key: str) -> pd.DataFrame:
        """What a run predicted."""


def completed(runs: Runs, metrics: Sequence[str]) -> pd.DataFrame:
    """The runs' frame, in which metrics that stored predictions give are filled in."""
    frame = runs.frame
    missing = [] if frame.empty else [name for name in metrics if _is_missing(frame, name)]
    if not missing:
        return frame
    frame = frame.copy()
    wanted = {name: METRICS[name] for name in missing}
    for name in missing:
        if name not in frame:
            frame[name] = np.nan
    records = runs.latest()
    for row, key in frame["key"].items():
        record = records.get(key)
        if record is None or not frame.loc[[row], missing].isna().to_numpy().any():
            continue
        try:
            values = {
                name: value
                for answers in answers_in(record, runs.predictions(key))
                for name, value in compute(wanted, answers).items()
            }
        except UserError:  # predictions that were not kept, or a task that is not here
            continue
        for name, value in values.items():
            frame.loc[row, name] = value
    return frame


def expanded(frame: pd.DataFrame, metrics: Sequence[str]) -> tuple[str, ...]:
    """The names of metrics, those of families replaced by one for each label of the runs' tasks."""
    names: list[str] = []
    for name in metrics:
        if METRICS[name].per_label is None:
            names.append(name)
            continue
        columns = ("benchmark", "test_task") if len(frame) else ()
        tasks = [task for column in columns for task in frame[column].unique() if task]
        families = [task for task in map(task_named, tasks) if task is not None]
        names += [f"{name}_{label}" for task in families for label in task.labels.names]
    return tuple(dict.fromkeys(names))


def _is_missing(frame: pd.DataFrame, name: str) -> bool:
    """Whether some run lacks a metric that its stored predictions may give."""
    metric = METRICS[name]
    if (metric.compute or metric.per_example) is None or {"shifted", "network"} & set(metric.needs):
        return False
    if name in frame and not frame.loc[frame["status"] == "ok", name].isna().any():
        return False
    tasks = map(task_named, frame["benchmark"].unique())
    return "sequences" not in metric.needs or any(task is not None and task.sequential for task in tasks)


@cache
def task_named(name: str) -> Benchmark | None:
    """A task; None if it is of a package that is not installed."""
    try:
        task: Benchmark = registry.create("benchmark", name)
    except UserError:
        return None
    return task


def _sequences(part: pd.DataFrame) -> dict[str, Any]:
    """Steps and numbers of images, if they were stored and are those of whole sequences."""
    if not {"step", "images"} <= set(part) or part[["step", "images"]].isna().to_numpy().any():
        return {}
    steps = part["step"].to_numpy(np.int64)
    try:
        check_sequences(sequences_of(steps), steps)
    except ValueError:
        return {}
    return {"steps": steps, "images": part["images"].to_numpy(np.int64)}


def answers_in(record: Record, stored: pd.DataFrame) -> list[Answers]:
    """The answers of each evaluation that is stored."""
    task = task_named(record.job.tested)
    if task is None:
        return []
    names = task.labels.names
    codes = {**_CODES, **{name: k for k, name in enumerate(names)}}
    columns = [f"p_{name}" for name in names]
    evaluations = list(stored["evaluation"].unique())
    last = "framework" if "framework" in evaluations else "hypothesis"
    own = record.hypothesis if "atoms" in record.metrics else None
    answers = []
    for evaluation in evaluations:
        part = stored[stored["evaluation"] == evaluation]
        given = None
        if set(columns) <= set(part) and part[columns].notna().to_numpy().all():
            given = part[columns].to_numpy(np.float64)
        answers.append(
            Answers(
                part["label"].map(codes).to_numpy(np.int64),
                part["predicted"].map(codes).to_numpy(np.int16),
                names,
                evaluation,
                evaluation == last,
                given,
                rules=own,
                record=record.metrics,
                **_sequences(part),
            )
        )
    return answers
