"""Tables of results: mean and standard error over repeats, as Markdown, CSV or LaTeX.

A *setting* is what results may be compared within: benchmark, version, source, train size, track's
network, seed and splits. Each setting makes one table with a row for each learner, shift and percentage.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal

import numpy as np
import pandas as pd

from nsl_bench.errors import unknown
from nsl_bench.run.metrics import METRICS
from nsl_bench.shift import STANDARD

__all__ = [
    "DEFAULT_METRICS",
    "area_under_shift",
    "as_text",
    "render",
    "short_names",
    "summarise",
    "with_standard",
]

DEFAULT_METRICS = ("hypothesis_accuracy", "framework_accuracy", "brier_score", "atoms", "learning_time")

SETTING = ("benchmark", "benchmark_version", "source", "size", "splits", "seed")
ROW = ("track", "network", "learner", "shift", "percent")


def short_names(specs: Iterable[str]) -> dict[str, str]:
    """Specs as titles show them: without options where no two are of one name."""
    heads = {spec: spec.partition(":")[0] for spec in specs}
    count = Counter(heads.values())
    return {spec: head if count[head] == 1 else spec for spec, head in heads.items()}


def with_standard(runs: pd.DataFrame) -> pd.DataFrame:
    """The finished runs, those at 0 % once for every shift of their setting.

    At 0 % nothing is shifted, so one run is the first point of every shift's curve.
    """
    done = runs[runs["status"] == "ok"].copy()
    for column in ("network", "splits"):
        done[column] = done[column].astype(object).where(done[column].notna(), "")
    pieces = []
    for _, group in done.groupby(list(SETTING), sort=False):
        shifts = [shift for shift in group["shift"].unique() if shift != STANDARD] or [STANDARD]
        zero = group[group["shift"] == STANDARD]
        for shift in shifts:
            own = group[group["shift"] == shift] if shift != STANDARD else group.iloc[:0]
            pieces.append(pd.concat([zero.assign(shift=shift), own]))
    return pd.concat(pieces, ignore_index=True) if pieces else done


def _mean_and_error(values: pd.DataFrame, by: list[str], metrics: Sequence[str]) -> pd.DataFrame:
    long = values.melt(id_vars=by, value_vars=list(metrics), var_name="metric").dropna(subset="value")
    long["metric"] = pd.Categorical(long["metric"], categories=list(metrics), ordered=True)
    grouped = long.groupby([*by, "metric"], sort=False, observed=True)["value"]
    table = grouped.agg(mean="mean", std_err="sem", n="count").reset_index()
    return table


def summarise(runs: pd.DataFrame, metrics: Sequence[str] = DEFAULT_METRICS) -> pd.DataFrame:
    """Mean and standard error of the mean over repeats.

    Args:
        runs: `Store.frame`.
        metrics: names of columns.

    Returns:
        One row a setting, learner, shift, percentage and metric: ``mean``, ``std_err`` (NaN for one
        repeat), ``n``.

    Raises:
        UserError: an unknown metric.
    """
    for metric in metrics:
        if metric not in METRICS:
            raise unknown("metric", metric, METRICS)
    done = with_standard(runs)
    present = [metric for metric in metrics if metric in done]
    table = _mean_and_error(done, [*SETTING, *ROW], present)
    return table.sort_values(
        [*SETTING, "shift", "percent", "learner", "metric"], kind="stable", ignore_index=True
    )


def area_under_shift(runs: pd.DataFrame, metrics: Sequence[str] = DEFAULT_METRICS) -> pd.DataFrame:
    """Mean over percentages of each repeat's metric, then mean and standard error over repeats."""
    done = with_standard(runs)
    present = [metric for metric in metrics if metric in done]
    by = [*SETTING, "track", "network", "learner", "shift"]
    curve = done.groupby([*by, "repeat"], sort=False)[present].mean().reset_index()
    return _mean_and_error(curve, by, present)


def _cell(mean: float, error: float, metric: str) -> str:
    digits = METRICS[metric].digits
    text = f"{mean:.{digits}f}"
    return text if np.isnan(error) else f"{text} ± {error:.{digits}f}"


def _heading(setting: Sequence[object]) -> str:
    values = dict(zip(SETTING, setting, strict=True))
    text = f"{values['benchmark']} {values['benchmark_version']}, {values['source']}, {values['size']}"
    if values["splits"]:
        text += f", splits of {values['splits']}"
    return text if not values["seed"] else f"{text}, seed {values['seed']}"


def as_text(table: pd.DataFrame, format: Literal["markdown", "csv", "latex"]) -> str:
    """A table of shares as text."""
    if format == "csv":
        return table.to_csv(index=False)
    style = "github" if format == "markdown" else "latex_booktabs"
    return str(table.to_markdown(index=False, tablefmt=style, floatfmt=".3f")) + "\n"


def render(
    runs: pd.DataFrame,
    format: Literal["markdown", "csv", "latex"] = "markdown",
    metrics: Sequence[str] = DEFAULT_METRICS,
) -> str:
    """The tables of all settings as text.

    Args:
        runs: `Store.frame`.
        format: ``"csv"`` gives numbers (one row a metric); the others tables for people.
        metrics: names of columns.
    """
    table = summarise(runs, metrics)
    if format == "csv":
        return table.to_csv(index=False)
    pieces = []
    for setting, group in table.groupby(list(SETTING), sort=False):
        shown = group.assign(
            cell=[
                _cell(m, e, k)
                for m, e, k in zip(group["mean"], group["std_err"], group["metric"], strict=True)
            ]
        )
        wide = shown.pivot_table(
            index=["shift", "percent", "learner", "track", "network"],
            columns="metric",
            values="cell",
            aggfunc="first",
            observed=True,
            sort=False,
        )
        counts = group.groupby(["shift", "percent", "learner", "track", "network"], sort=False)["n"].max()
        wide.insert(0, "n", counts)
        wide = wide.fillna("").reset_index()
        for column in ("track", "network"):
            if wide[column].nunique() == 1:
                wide = wide.drop(columns=column)
        wide["percent"] = [f"{p:g}" for p in wide["percent"]]
        titles = {name: METRICS[name].title for name in wide.columns if name in METRICS}
        wide = wide.rename(columns={**titles, "percent": "shifted (%)", "n": "repeats"})
        style = "github" if format == "markdown" else "latex_booktabs"
        body = wide.to_markdown(index=False, tablefmt=style, disable_numparse=True)
        heading = _heading(setting if isinstance(setting, tuple) else (setting,))
        pieces.append(f"## {heading}\n\n{body}" if format == "markdown" else f"% {heading}\n{body}")
    return "\n\n".join(pieces) + "\n" if pieces else "No finished runs.\n"
