"""Structural shift in pictures: a learner's results over the members of a family of tasks."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from nsl_bench.report.curves import draw_lines, slots_of
from nsl_bench.report.ordering import in_order
from nsl_bench.report.tables import (
    DEFAULT_METRICS,
    LINE,
    NOT_APPLICABLE,
    SETTING,
    file_name,
    lacking,
    summarise,
)

_GROUP = [name for name in SETTING if name != "test_task"]


def over_members(runs: pd.DataFrame, metrics: Sequence[str] = DEFAULT_METRICS) -> pd.DataFrame:
    """Mean and standard error by the task that was tested, where there are several.

    Returns:
        The rows of `summarise` with the column ``tested``: the test task, or the train task itself. Where a
        learner cannot take the task, ``mean`` is NaN.
    """
    table = summarise(runs, metrics)
    silent = lacking(runs, metrics)
    silent = silent[silent["words"] == NOT_APPLICABLE].drop(columns="words")
    if len(silent):
        table = pd.concat([table, silent], ignore_index=True)
    table["tested"] = table["test_task"].where(table["test_task"] != "", table["benchmark"])
    if table.empty:
        return table
    several = table.groupby(_GROUP, sort=False)["tested"].transform("nunique") > 1
    return table[several].reset_index(drop=True)


def _unshifted_once(table: pd.DataFrame) -> pd.DataFrame:
    """Runs without shift lie on the curves of all shifts; here they are shown once."""
    if table.empty:
        return table
    again = table.duplicated([*_GROUP, "tested", *LINE, "percent", "metric"])
    return table[~(again & (table["percent"] == 0))].reset_index(drop=True)


def draw_structure(
    runs: pd.DataFrame, folder: Path, metrics: Sequence[str] = DEFAULT_METRICS, *, format: str = "png"
) -> list[Path]:
    """Draw one picture a setting: a row of curves over test tasks a metric, a column a share of shift.

    Returns:
        The files written; none if all runs are tested on the task that they are trained on.
    """
    table = _unshifted_once(over_members(runs, metrics))
    table = table[table["mean"].notna()] if len(table) else table
    written = []
    for place, part in table.groupby(_GROUP, sort=False) if len(table) else ():
        values = dict(zip(_GROUP, map(str, place if isinstance(place, tuple) else ()), strict=True))
        about = values["source"].partition(":")[0], values["size"], values["annotation"]
        source, size, *more = filter(None, about)
        path = folder / file_name("-".join(["structure", values["benchmark"], source, size, *more]), format)
        title = f"trained on {values['benchmark']} ({', '.join([size, source, *more])})"
        members = in_order(part["tested"])
        by_member = part.assign(
            shift=[
                "no shift" if not percent else f"{shift} {percent:g} %"
                for shift, percent in zip(part["shift"], part["percent"], strict=True)
            ],
            percent=part["tested"].map(members.index),
        )
        draw_lines(by_member, path, title, slots_of(by_member, runs), ticks=members)
        written.append(path)
    return written
