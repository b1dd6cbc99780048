"""Tables as papers have them: a row a learner, a column a share of shifted examples, the best in bold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from nsl_bench.core.metrics import METRICS
from nsl_bench.report.escaping import Format, csv_text, plain
from nsl_bench.report.tables import (
    DEFAULT_METRICS,
    NOT_APPLICABLE,
    NOT_DEFINED,
    SETTING,
    cell,
    heading_of,
    not_applicable,
    not_defined,
    summarise,
    titled,
    without_constant,
)

if TYPE_CHECKING:
    import pandas as pd

_LINE = ["learner", "track", "network"]


def render_wide(
    runs: pd.DataFrame, format: Format = "markdown", metrics: Sequence[str] = DEFAULT_METRICS
) -> str:
    """A table for each setting, shift and metric.

    Args:
        format: of the text; ``"csv"`` gives means without errors or marks, all tables one below the other.
    """
    table = summarise(runs, metrics)
    pieces = []
    for place, group in table.groupby([*SETTING, "shift", "metric"], sort=False, observed=True):
        *setting, shift, name = map(str, place) if isinstance(place, tuple) else ()
        metric = METRICS[name]
        mean = group.pivot_table("mean", _LINE, "percent", observed=True, sort=False)
        error = group.pivot_table("std_err", _LINE, "percent", observed=True, sort=False, dropna=False)
        if format == "csv":
            lead = {**dict(zip(SETTING, setting, strict=True)), "shift": shift, "metric": name}
            flat = mean.reset_index()
            for k, (column, value) in enumerate(lead.items()):
                flat.insert(k, column, value)
            pieces.append(csv_text(flat))
            continue
        cells = _cells(mean, error.reindex_like(mean), name, format).reset_index()
        for column in _LINE:
            cells[column] = [plain(str(name), format) for name in cells[column]]
        cells = without_constant(cells)
        cells.columns = [c if isinstance(c, str) else f"{c:g} %" for c in cells.columns]
        title = f"{heading_of(setting)}: {metric.title}, shift {shift}"
        pieces.append(_text(cells, title, format))
    lacking = not_applicable(runs, metrics[:1])
    for place, group in lacking.groupby([*SETTING, "shift"], sort=False):
        *setting, shift = map(str, place) if isinstance(place, tuple) else ()
        title = f"{heading_of(setting)}, shift {shift}: {NOT_APPLICABLE}"
        if format != "csv":
            learners = ", ".join(dict.fromkeys(group["learner"]))
            pieces.append(titled(title, f"{plain(learners, format)}: cannot take this task", format))
    for place, _ in not_defined(runs, metrics).groupby([*SETTING, "shift", "metric"], sort=False):
        *setting, shift, name = map(str, place) if isinstance(place, tuple) else ()
        title = f"{heading_of(setting)}: {METRICS[name].title}, shift {shift}"
        if format != "csv":
            pieces.append(titled(title, f"{NOT_DEFINED}: the task has no true rule", format))
    return "\n".join(pieces) if pieces else "No finished runs.\n"


def _cells(mean: pd.DataFrame, error: pd.DataFrame, name: str, format: str) -> pd.DataFrame:
    """Mean and standard error as text; of each column the best is bold, as it is shown."""
    metric = METRICS[name]
    rounded = mean.round(metric.digits)
    best = rounded.max() if metric.higher_is_better else rounded.min()
    cells = mean.astype(object)
    for row in mean.index:
        for column in mean.columns:
            value, spread = mean.loc[row, column], error.loc[row, column]
            if np.isnan(value):
                cells.loc[row, column] = ""
                continue
            text = cell(value, spread, name)
            marked = metric.higher_is_better is not None and rounded.loc[row, column] == best[column]
            cells.loc[row, column] = _bold(text, format) if marked and len(mean) > 1 else text
    return cells


def _bold(text: str, format: str) -> str:
    return {"latex": rf"\textbf{{{text}}}", "html": f"<b>{text}</b>"}.get(format, f"**{text}**")


def _text(cells: pd.DataFrame, title: str, format: Format) -> str:
    """Cells that are text of the form already, below a heading."""
    if format == "html":
        return titled(title, cells.to_html(index=False, escape=False, border=0), format)
    if format == "latex":
        body = cells.to_latex(index=False, escape=False).replace("±", r"$\pm$").replace(" %", r" \%")
        return titled(title, body, format)
    return titled(title, cells.to_markdown(index=False, tablefmt="github", disable_numparse=True), format)
