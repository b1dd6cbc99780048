"""The pictures of docs/results/rivals.md."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from nsl_bench.report.style import (
    COLOURS,
    colour_of,
    learner_slots,
    legend,
    marker_of,
    panel_legend,
    save,
    subplots,
)

AHEAD, BEHIND, NEITHER, UNKNOWN = "#9ecae1", "#fc9272", "#e0e0e0", "#ffffff"
"""Colours of a cell of the matrix."""

ROLES = {"FFNSL": COLOURS[0], "best tabular": COLOURS[1], "best end to end": COLOURS[2]}


def matrix(found: pd.DataFrame, metrics: Mapping[str, str], path: Path) -> Path:
    """FFNSL's lead in points: a facet a metric, a row a learner, a column a task."""
    found = found[found["metric"].isin(metrics)]
    rows = found[["track", "learner", "ours"]].drop_duplicates().sort_values(["track", "learner"])
    learners = [*rows["learner"][rows["ours"]], *rows["learner"][~rows["ours"]]]
    tracks = dict(zip(rows["learner"], rows["track"], strict=True))
    tasks = list(found["contest"].drop_duplicates())
    width = 2.4 + 3 * 0.72 * len(tasks)
    figure, axes = subplots(1, len(metrics), figsize=(width, 1.2 + 0.24 * len(learners)), sharey=True)
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
        axis.set_title(title, fontsize=10)
        axis.set_xticks(range(len(tasks)), tasks, rotation=40, ha="right", fontsize=8)
        axis.set_yticks(range(len(learners)), [f"{name} ({tracks[name]})" for name in learners], fontsize=8)
        axis.tick_params(length=0)
        axis.spines[:].set_visible(False)
    save(figure, path)
    return path


def _square(at: tuple[int, int], colour: str) -> object:
    from matplotlib.patches import Rectangle

    return Rectangle((at[0] - 0.48, at[1] - 0.45), 0.96, 0.9, facecolor=colour, edgecolor="none")


def _panels(names: list[str], height: float) -> tuple[object, list[object]]:
    """A figure with a panel for each name, at most four in a row."""
    columns = min(4, len(names))
    lines = -(-len(names) // columns)
    figure, axes = subplots(lines, columns, figsize=(3.1 * columns, height * lines))
    for axis in axes.flat[len(names) :]:
        axis.remove()
    return figure, list(axes.flat[: len(names)])


def curves(found: pd.DataFrame, path: Path) -> Path:
    """Accuracy over the share of shifted examples: three lines a task and shift."""
    panels = list(found.groupby(["contest", "shift"], sort=False))
    figure, axes = _panels([str(place) for place, _ in panels], 3.2)
    for axis, ((contest, shift), rows) in zip(axes, panels, strict=True):
        for role, line in rows.groupby("role", sort=False):
            label = role if role == "FFNSL" else f"{role}: {line['learner'].iloc[0]}"
            axis.errorbar(
                line["share"], line["mean"], line["std_err"], color=ROLES[role], marker="o", ms=3, label=label
            )
        panel_legend(axis, f"{contest}, {shift}")
        axis.set_xlabel("share of shifted examples (%)", fontsize=8)
        axis.set_ylabel("accuracy on images", fontsize=8)
        axis.grid(alpha=0.3)
    save(figure, path)
    return path


def brier(found: pd.DataFrame, path: Path) -> Path:
    """Brier scores as bars in two parts, three a task."""
    panels = list(found.groupby("contest", sort=False))
    figure, axes = _panels([name for name, _ in panels], 2.2)
    for axis, (contest, rows) in zip(axes, panels, strict=True):
        names = [
            role if role == "FFNSL" else f"{role}:\n{learner}"
            for role, learner in zip(rows["role"], rows["learner"], strict=True)
        ]
        axis.barh(names, rows["error"], color=COLOURS[5], label="error")
        axis.barh(names, rows["miscalibration"], left=rows["error"], color=COLOURS[4], label="miscalibration")
        axis.invert_yaxis()
        axis.set_title(contest, fontsize=10)
        axis.tick_params(labelsize=7)
    handles, labels = axes[0].get_legend_handles_labels()
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
    for axis, (contest, rows) in zip(axes, panels, strict=True):
        for row in rows.itertuples():
            slot = slots[row.learner]
            handles[row.learner] = axis.plot(
                row.atoms, row.framework_accuracy, marker_of(slot), color=colour_of(slot), ls="", ms=6
            )[0]
        axis.set_xscale("log")
        axis.set_title(contest, fontsize=10)
        axis.set_xlabel("atoms", fontsize=8)
        axis.set_ylabel("accuracy on images", fontsize=8)
        axis.grid(alpha=0.3)
    legend(figure, handles)
    save(figure, path)
    return path
