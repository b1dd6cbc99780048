"""Pictures of the pages of results: lines and dots for all, a matrix and bars for docs/results/rivals.md.

python benchmarks/pictures.py    # draws the first picture of README and docs anew from rivals/curves.csv
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from nsl_bench.report.style import (
    COLOURS,
    PUBLISHED,
    colour_of,
    learner_slots,
    legend,
    marker_of,
    save,
    subplots,
)

AHEAD, BEHIND, NEITHER, UNKNOWN = "#9ecae1", "#fc9272", "#e0e0e0", "#ffffff"
"""Colours of a cell of the matrix."""

PAPER = ", the paper"
"""What the name of a paper's line ends with."""


def matrix(found: pd.DataFrame, metrics: Mapping[str, str], path: Path) -> Path:
    """FFNSL's lead in points: a facet a metric, a row a learner, a column a task."""
    found = found[found["metric"].isin(metrics)]
    rows = found[["track", "learner", "ours"]].drop_duplicates().sort_values(["track", "learner"])
    learners = [*rows["learner"][rows["ours"]], *rows["learner"][~rows["ours"]]]
    tracks = dict(zip(rows["learner"], rows["track"], strict=True))
    tasks = list(found["contest"].drop_duplicates())
    width = 2.4 + 3 * 0.46 * len(tasks)
    figure, axes = subplots(1, len(metrics), figsize=(width, 1.2 + 0.22 * len(learners)), sharey=True)
    for axis, (metric, title) in zip(axes[0], metrics.items(), strict=True):
        cells = found[found["metric"] == metric].set_index(["learner", "contest"])
        for (learner, task), cell in cells.iterrows():
            colour = UNKNOWN if np.isnan(cell["low"]) else NEITHER
            colour = AHEAD if cell["low"] > 0 else BEHIND if cell["high"] < 0 else colour
            at = tasks.index(task), learners.index(learner)
            axis.add_patch(_square(at, colour))
            weight = "bold" if cell["word"] in ("better", "worse") else "normal"
            text = f"{100 * cell['lead']:+.1f}".replace("-0.0", "0.0").replace("+0.0", "0.0")
            axis.text(*at, text, ha="center", va="center", fontsize=7, fontweight=weight)
        axis.set(xlim=(-0.5, len(tasks) - 0.5), ylim=(len(learners) - 0.5, -0.5))
        axis.set_title(title, fontsize=9)
        axis.set_xticks(range(len(tasks)), tasks, rotation=40, ha="right", fontsize=8)
        axis.set_yticks(range(len(learners)), [f"{name} ({tracks[name]})" for name in learners], fontsize=8)
        axis.tick_params(length=0)
        axis.spines[:].set_visible(False)
    save(figure, path)
    return path


def _square(at: tuple[int, int], colour: str) -> object:
    from matplotlib.patches import Rectangle

    return Rectangle((at[0] - 0.48, at[1] - 0.45), 0.96, 0.9, facecolor=colour, edgecolor="none")


def _panels(
    names: Sequence[str], height: float, columns: int = 3, **options: object
) -> tuple[object, list[object]]:
    """A figure as wide as a page, with a panel for each name."""
    columns = min(columns, len(names))
    lines = -(-len(names) // columns)
    width = 9.4 if columns > 1 else 6.5
    figure, axes = subplots(lines, columns, figsize=(width, height * lines + 0.5), **options)
    for axis in axes.flat[len(names) :]:
        axis.remove()
    for axis, name in zip(axes.flat, names, strict=False):
        axis.set_title(name, fontsize=9)
        axis.tick_params(labelsize=8)
        axis.grid(alpha=0.3)
    return figure, list(axes.flat[: len(names)])


def lines(
    found: pd.DataFrame,
    path: Path,
    *,
    columns: int = 3,
    height: float = 2.1,
    x: str = "share of shifted examples (%)",
) -> Path:
    """Lines over shares of shifted examples, those of a paper dashed.

    Args:
        found: columns panel, line, share, mean and error. A paper's line has a name that ends so.
        columns: panels side by side.
        height: of a panel, in inches.
        x: what the axis is.
    """
    panels = list(found.groupby("panel", sort=False))
    names = list(dict.fromkeys(found["line"].str.removesuffix(PAPER)))
    figure, axes = _panels([str(panel) for panel, _ in panels], height, columns)
    handles = {}
    for axis, (_, rows) in zip(axes, panels, strict=True):
        for line, own in rows.groupby("line", sort=False):
            name = str(line).removesuffix(PAPER)
            slot = names.index(name)
            look = {"color": colour_of(slot), "lw": 1.2, "zorder": 20 - slot}
            if name != line:
                handles["the paper"] = axis.plot(own["share"], own["mean"], ls=PUBLISHED, **look)[0]
                continue
            handles[name] = axis.errorbar(
                own["share"], own["mean"], own["error"].fillna(0), marker=marker_of(slot), ms=3.5, **look
            )
    for axis in axes[-columns:]:
        axis.set_xlabel(x, fontsize=8)
    legend(figure, {name: handles[name] for name in sorted(handles, key=[*names, "the paper"].index)})
    save(figure, path)
    return path


def dots(found: pd.DataFrame, path: Path, x: str, *, columns: int = 3) -> Path:
    """Means with their errors, a row each, those of a series below each other.

    Args:
        found: columns panel, row, series, mean and error.
        x: what the axis is.
        columns: panels side by side.
    """
    panels = list(found.groupby("panel", sort=False))
    rows, series = (list(dict.fromkeys(found[name])) for name in ("row", "series"))
    height = 0.7 + len(rows) * max(0.2, 0.05 + 0.07 * len(series))
    figure, axes = _panels([str(panel) for panel, _ in panels], height, columns, sharey=True)
    handles = {}
    for axis, (_, own) in zip(axes, panels, strict=True):
        for k, name in enumerate(series):
            mine = own[own["series"] == name]
            at = [rows.index(row) + 0.5 * (k - (len(series) - 1) / 2) / len(series) for row in mine["row"]]
            handles[name] = axis.errorbar(
                mine["mean"],
                at,
                xerr=mine["error"].fillna(0),
                color=COLOURS[k],
                ls="",
                marker=marker_of(k),
                ms=4,
            )
        axis.set_yticks(range(len(rows)), rows)
        axis.set_ylim(len(rows) - 0.5, -0.5)
        axis.set_xlabel(x, fontsize=8)
    if len(series) > 1:
        legend(figure, handles)
    save(figure, path)
    return path


def curves(found: pd.DataFrame, path: Path) -> Path:
    """Accuracy over the share of shifted examples: three lines a task and shift."""
    named = found[found["role"] != "FFNSL"].drop_duplicates(["contest", "shift", "role"])
    learners = (named["role"].str.removeprefix("best ") + ": " + named["learner"]).groupby(
        [named["contest"], named["shift"]], sort=False
    )
    names = learners.agg("\n".join)
    panels = [
        f"{place[0]}, {place[1]}\n{names.get(place, '')}"
        for place in zip(found["contest"], found["shift"], strict=True)
    ]
    return lines(found.assign(panel=panels, line=found["role"], error=found["std_err"]), path)


def brier(found: pd.DataFrame, path: Path) -> Path:
    """Brier scores as bars in two parts, three a task."""
    panels = list(found.groupby("contest", sort=False))
    figure, axes = _panels([name for name, _ in panels], 1.8)
    for axis, (_, rows) in zip(axes, panels, strict=True):
        names = [
            role if role == "FFNSL" else f"{role}:\n{learner}"
            for role, learner in zip(rows["role"], rows["learner"], strict=True)
        ]
        axis.barh(names, rows["error"], color=COLOURS[5], label="error")
        axis.barh(names, rows["miscalibration"], left=rows["error"], color=COLOURS[4], label="miscalibration")
        axis.invert_yaxis()
    handles, labels = axes[0].get_legend_handles_labels()
    legend(figure, dict(zip(labels, handles, strict=True)))
    save(figure, path)
    return path


def fates(rows: pd.DataFrame, path: Path) -> Path:
    """What became of the figures of each paper that can be compared, as parts of a bar."""
    shares = 100 * rows.div(rows.sum(axis=1), axis=0)
    figure, (axis,) = _panels(["figures that can be compared (%)"], 2.2)
    left = np.zeros(len(rows))
    colours = (AHEAD, COLOURS[4], BEHIND, "#bdbdbd", NEITHER, UNKNOWN)
    for name, colour in zip(rows.columns, colours, strict=True):
        axis.barh(rows.index, shares[name], left=left, color=colour, edgecolor="#888888", label=name)
        left += shares[name].to_numpy()
    axis.invert_yaxis()
    handles, labels = axis.get_legend_handles_labels()
    legend(figure, dict(zip(labels, handles, strict=True)))
    save(figure, path)
    return path


def atoms(means: pd.DataFrame, path: Path) -> Path:
    """Accuracy on images against atoms of the learned rules, a panel a task."""
    found = means.dropna(subset=["atoms", "framework_accuracy"])
    found = found[found["atoms"] > 0]
    slots = learner_slots(found["learner"])
    panels = list(found.groupby("contest", sort=False))
    figure, axes = _panels([name for name, _ in panels], 3.0)
    handles = {}
    for axis, (_, rows) in zip(axes, panels, strict=True):
        for row in rows.itertuples():
            slot = slots[row.learner]
            handles[row.learner] = axis.plot(
                row.atoms, row.framework_accuracy, marker_of(slot), color=colour_of(slot), ls="", ms=6
            )[0]
        axis.set_xscale("log")
        axis.set_xlabel("atoms", fontsize=8)
        axis.set_ylabel("accuracy on images", fontsize=8)
    legend(figure, handles)
    save(figure, path)
    return path


def front(found: pd.DataFrame, path: Path, contest: str = "follow_suit", shift: str = "noir") -> Path:
    """One task under one shift: three lines, and a title that says up to which share FFNSL is ahead."""
    rows = found[(found["contest"] == contest) & (found["shift"] == shift)]
    means = rows.pivot_table(index="share", columns="role", values="mean")
    behind = means.index[means["FFNSL"] <= means.drop(columns="FFNSL").max(axis=1)].min()
    before = means.index[means.index < behind].max()  # NaN where there is none
    reach = f"ahead up to {before:g} %" if before >= 0 else "ahead at no share"
    reach = "ahead at every share" if pd.isna(behind) else reach
    title = f"Accuracy on {contest} ({shift}): FFNSL is {reach} of shifted examples"
    names = rows["role"].where(rows["role"] == "FFNSL", rows["role"] + ": " + rows["learner"])
    return lines(rows.assign(panel=title, line=names, error=rows["std_err"]), path, height=3.0)


if __name__ == "__main__":
    FOLDER = Path(__file__).parents[1] / "docs" / "results" / "rivals"
    front(pd.read_csv(FOLDER / "curves.csv"), FOLDER / "front.png")
