"""Pictures of results: curves over the share of shifted data, with standard errors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nsl_bench.core.annotation import dial_among
from nsl_bench.core.errors import UserError
from nsl_bench.core.metrics import METRICS, Metric
from nsl_bench.core.shift import STANDARD
from nsl_bench.report.style import (
    PUBLISHED,
    as_in_papers,
    coincidences,
    colour_of,
    dashes_of,
    emphasis,
    heading,
    legend,
    line_slots,
    marker_of,
    save,
    set_in_serif,
    subplots,
    wrapped,
)
from nsl_bench.report.tables import DEFAULT_METRICS, SETTING, file_name, said, short_names, summarise, varying

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D


SPECS = "learner_specs"
"""The attribute of a frame of runs that says which specs its learners' display names stand for."""
Line = tuple[str, ...]
"""Learner, network and track."""


@dataclass(frozen=True)
class Series:
    """A line over the share of shifted examples.

    Attributes:
        title: its words in the legend.
        points: percentage, mean and standard error, by percentage.
        style: the slot of colour, marker and dashes (`nsl_bench.report.style`).
        published: whether it is a paper's: dashed, with hollow markers.
    """

    title: str
    points: tuple[tuple[float, float, float], ...]
    style: int
    published: bool = False


def draw(
    runs: pd.DataFrame, folder: Path, metrics: Sequence[str] = DEFAULT_METRICS, *, format: str = "png"
) -> list[Path]:
    """Draw one picture a setting: a row of curves a metric, a column a shift.

    A learner has the same colour in every picture (`nsl_bench.report.style`); its networks differ in marker
    and dashes. Of lines that coincide, those below are wider. Bands are one standard error of the mean.
    """
    table = summarise(runs, metrics)
    slots = slots_of(table, runs)
    folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    for setting, group in table.groupby(list(SETTING), sort=False):
        values = dict(zip(SETTING, setting, strict=True)) if isinstance(setting, tuple) else {}
        task = " -> ".join(str(values[name]) for name in ("benchmark", "test_task") if values[name])
        source = str(values["source"] or "").partition(":")[0]
        tasks = str(values["benchmark"]), str(values["test_task"])
        name = "-".join(part for part in (*tasks, source, str(values["size"])) if part)
        path = folder / file_name(name, format)
        if path in written:
            path = path.with_stem(f"{path.stem}-{len(written)}")
        annotation = f", {values['annotation']}" if values["annotation"] else ""
        title = f"{task} ({values['size']}, {_short(str(values['source']))}{annotation})"
        draw_lines(group, path, title, slots)
        written.append(path)
    return written


def draw_figure(
    runs: pd.DataFrame, path: Path, metrics: Sequence[str], *, width: float, font_size: float
) -> Path:
    """Draw one figure for a paper: a panel for each metric, task and shift, with one legend.

    Args:
        path: the file; its ending says in which format.
        width: of the figure, in inches.
        font_size: in points; the fonts are LaTeX's.
    """
    if path.suffix not in (".pdf", ".svg", ".png"):
        raise UserError(f"The figure must be a .pdf, .svg or .png file; got {path}.")
    if not (width > 0.5 and font_size > 0):
        raise UserError(f"A figure must be wider than 0.5 inches; got {width:g}, font size {font_size:g}.")
    table = summarise(runs, metrics)
    by = ["metric", *SETTING, "shift"]
    table = table[table.groupby(by, observed=True)["percent"].transform("nunique") > 1]
    if table.empty:
        raise UserError("A figure needs a learner with runs at several shares; found none.")
    slots = slots_of(table, runs)
    table = table.assign(shift=[_panel_title(row, table) for row in table.to_dict("records")])
    with as_in_papers(font_size):
        draw_lines(table, path, "", slots, width=width, font_size=font_size)
    return path


def _panel_title(row: dict[Any, Any], table: pd.DataFrame) -> str:
    """The task, its shift, and in what it differs from other panels of the task."""
    task, shift = row["benchmark"], row["shift"]
    fields = [name for name in varying(table[table["benchmark"] == task]) if name in SETTING]
    words = (said(name, row[name], task) for name in fields)
    return ", ".join(filter(None, (task, shift if shift != STANDARD else "", *words)))


def _size(columns: int, rows: int, titles: list[str], width: float, font_size: float) -> tuple[float, float]:
    """Width and height of a figure; in a paper, panels have room for the text around them."""
    if not width:
        return 1.2 + 3.6 * columns, 0.9 + 2.5 * rows
    lines = 5 + 1.3 * max(title.count("\n") for title in titles)
    return width, rows * (min(0.75 * width / columns, 1.9) + lines * font_size / 72) + font_size / 24


def _on_lines(spec: str) -> str:
    """A spec on short lines, its options below its name."""
    name, colon, options = spec.partition(":")
    return "\n".join(wrapped(part, 18) for part in (f"{name}{colon}", options) if part)


def draw_lines(
    table: pd.DataFrame,
    path: Path,
    title: str,
    slots: Mapping[Line, int],
    *,
    ticks: Sequence[str] = (),
    width: float = 0.0,
    font_size: float = 9.0,
) -> None:
    """Draw one picture: a row of panels a metric, a column a shift.

    Args:
        table: columns learner, network, track, metric, shift, ``percent`` (the place on the axis), mean and
            std_err.
        ticks: names of the places 0, 1, ... on the axis, if they are test tasks; ``shift`` is then a heading.
        width: of a figure for a paper, in inches; ``shift`` is then a heading, and rows have room for it.
    """
    shifts, metrics = list(table["shift"].unique()), list(table["metric"].unique())
    columns = min(len(shifts), max(1, round(width / 2))) if width else len(shifts)
    down = -(-len(shifts) // columns)
    letters = int(width / columns * 72 / (0.52 * font_size)) if width else 42
    dial = dial_among(shifts)
    titles = [wrapped(shift if ticks or width or dial else f"shift: {shift}", letters) for shift in shifts]
    over = f"{dial} (%)" if dial else f"{'' if width else 'share of '}shifted examples (%)"
    rows = len(metrics) * down
    alike: dict[str, Any] = {} if width else {"sharex": True, "sharey": "row"}
    size = _size(columns, rows, titles, width, font_size)
    figure, axes = subplots(rows, columns, figsize=size, **alike)
    labels = _labels(table)
    entries: dict[str, Any] = {}
    for k, axis in enumerate(axes.flat):
        row, column = k // (columns * down), k % (columns * down)
        if column >= len(shifts):
            axis.set_visible(False)
            continue
        metric, shift = metrics[row], shifts[column]
        part = table[(table["metric"] == metric) & (table["shift"] == shift)]
        entries |= _panel(axis, part, METRICS[metric], slots, labels)
        if not column % columns:
            axis.set_ylabel(METRICS[metric].title)
        if width or not row:
            axis.set_title(titles[column])
        if width or row == len(metrics) - 1:
            axis.set_xlabel("test task" if ticks else over)
        if ticks:
            axis.set_xticks(range(len(ticks)), [_on_lines(tick) for tick in ticks], fontsize=8)
    shown = {label: entries[label] for label in labels.values() if label in entries}
    legend(figure, shown, font_size - 1 if width else 9.0)
    if title:
        heading(figure, title)
    if width:
        set_in_serif(figure)
    save(figure, path, 300 if width else 120)


def _lines(table: pd.DataFrame) -> list[Line]:
    """Learner, network and track of each line, sorted."""
    return sorted(set(table[["learner", "network", "track"]].itertuples(index=False, name=None)))


def slots_of(table: pd.DataFrame, runs: pd.DataFrame) -> dict[Line, int]:
    """The style of each line of a table of runs, by the learners' specs, whatever names are shown."""
    specs: Mapping[str, str] = runs.attrs.get(SPECS, {})
    lines = {line: (specs.get(line[0], line[0]), *line) for line in _lines(table)}
    slots = line_slots(lines.values())
    return {line: slots[spelt] for line, spelt in lines.items()}


def _labels(table: pd.DataFrame) -> dict[Line, str]:
    """What the legend says of each line: the learner, and what else it needs to be told from others."""
    lines = _lines(table)
    short = short_names([network for _, network, _ in lines])
    twins = Counter(learner for learner, _, _ in lines)
    failed = set(table.loc[table["failed"] > 0, "learner"]) if "failed" in table else set()
    return {
        line: (line[0] if twins[line[0]] == 1 else f"{line[0]} ({short[line[1]] or line[2]})")
        + (", with failed runs" if line[0] in failed else "")
        for line in lines
    }


def _panel(
    axis: Axes, part: pd.DataFrame, metric: Metric, slots: Mapping[Line, int], labels: Mapping[Line, str]
) -> dict[str, Any]:
    """Draw a metric's lines on a shift; returns the legend's handles by label."""
    series = []
    for line, mine in part.groupby(["learner", "network", "track"], sort=True):
        name = tuple(map(str, line))
        series.append(Series(labels[name], points_of(mine), slots[name]))
    logarithmic = metric.logarithmic and bool((part["mean"] > 0).any())
    lines = draw_series(axis, series, unit=metric.bounds == (0.0, 1.0), logarithmic=logarithmic)
    return {one.title: line for one, line in zip(series, lines, strict=True) if one.title}


def points_of(table: pd.DataFrame) -> tuple[tuple[float, float, float], ...]:
    """The points of a line, from rows with ``percent``, ``mean`` and ``std_err``; an unknown error is 0."""
    rows = table.fillna({"std_err": 0.0}).sort_values("percent")[["percent", "mean", "std_err"]]
    return tuple((float(p), float(m), float(e)) for p, m, e in rows.to_numpy().tolist())


def draw_series(axis: Axes, series: Sequence[Series], *, unit: bool, logarithmic: bool) -> list[Line2D]:
    """Draw lines over the share of shifted examples, with bands of one standard error.

    Lines below others are wider. Published ones are dashed, have hollow markers and are above all others.

    Returns:
        The lines drawn, in the order of `series`.
    """
    order = sorted(range(len(series)), key=lambda k: series[k].published)
    values = [{p: m for p, m, _ in series[k].points} for k in order if not series[k].published]
    every = [mean for line in values for mean in line.values() if mean > 0 or not logarithmic]
    low, high = (0.0, 1.0) if unit else (min(every, default=0.0), max(every, default=1.0))
    hidden = dict(zip(order, coincidences(values, low, high, logarithmic=logarithmic), strict=False))
    drawn: dict[int, Line2D] = {}
    for k in order:
        one, colour, hidden_by = series[k], colour_of(series[k].style), hidden.get(k, 0)
        look: dict[str, Any] = {"color": colour, "marker": marker_of(one.style), **emphasis(hidden_by)}
        look["ls"] = PUBLISHED if one.published else dashes_of(one.style)
        look |= {"markerfacecolor": "white"} if one.published else {}
        look |= {"markeredgecolor": "white", "markeredgewidth": 0.5} if hidden_by else {}
        percents, means = [p for p, _, _ in one.points], [m for _, m, _ in one.points]
        (drawn[k],) = axis.plot(percents, means, label=one.title, **look)
        low_end, high_end = ([m + sign * e for _, m, e in one.points] for sign in (-1, 1))
        axis.fill_between(percents, low_end, high_end, color=colour, alpha=0.18, lw=0)
    axis.grid(alpha=0.3)
    if logarithmic:
        axis.set_yscale("log")
    elif unit:
        axis.set_ylim(-0.03, 1.03)
    return [drawn[k] for k in range(len(series))]


def _short(source: str) -> str:
    return source if len(source) <= 40 else f"{source[:18]}…{source[-20:]}"
