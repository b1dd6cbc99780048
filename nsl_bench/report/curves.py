"""Curves of results over the share of shifted data, with standard errors, as pictures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from nsl_bench.metrics import METRICS
from nsl_bench.report.tables import DEFAULT_METRICS, SETTING, file_name, short_names, summarise

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["draw"]

_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999933")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")


def draw(
    runs: pd.DataFrame,
    folder: Path,
    metrics: Sequence[str] = DEFAULT_METRICS,
    published: pd.DataFrame | None = None,
    *,
    format: str = "png",
) -> list[Path]:
    """Draw one picture a setting: a row of curves a metric, a column a shift.

    Learners differ in colour and in marker. Bands are one standard error of the mean.

    Args:
        runs: `Store.frame`.
        folder: made if it is not there.
        metrics: names of columns.
        published: other people's means, drawn as dashed lines in the colour of the same learner and network:
            columns learner, network, shift, percent, metric, mean.
        format: of the pictures: png, svg or pdf.

    Returns:
        The files written.
    """
    import matplotlib
    import pandas as pd

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    table = summarise(runs, metrics)
    folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    for setting, group in table.groupby(list(SETTING), sort=False):
        shifts, shown = list(group["shift"].unique()), list(group["metric"].unique())
        group = group.replace({"network": short_names(group["network"].unique())})
        lines = group[["learner", "network", "track"]].drop_duplicates().itertuples(index=False)
        style = {tuple(line): i for i, line in enumerate(sorted(lines))}
        figure, axes = plt.subplots(
            len(shown),
            len(shifts),
            figsize=(1.2 + 3.6 * len(shifts), 0.9 + 2.5 * len(shown)),
            squeeze=False,
            sharex=True,
            sharey="row",
            layout="constrained",
        )
        for (row, metric), (column, shift) in (
            ((r, m), (c, s)) for r, m in enumerate(shown) for c, s in enumerate(shifts)
        ):
            axis = axes[row, column]
            part = group[(group["metric"] == metric) & (group["shift"] == shift)]
            for line, i in style.items():
                mine = part[
                    (part["learner"] == line[0]) & (part["network"] == line[1]) & (part["track"] == line[2])
                ]
                mine = mine.sort_values("percent")
                if mine.empty:
                    continue
                colour, marker = _COLOURS[i % len(_COLOURS)], _MARKERS[i % len(_MARKERS)]
                error = mine["std_err"].fillna(0)
                axis.plot(
                    mine["percent"],
                    mine["mean"],
                    color=colour,
                    marker=marker,
                    markersize=4,
                    label=_label(line, style),
                )
                axis.fill_between(
                    mine["percent"], mine["mean"] - error, mine["mean"] + error, color=colour, alpha=0.2, lw=0
                )
                if published is not None:
                    place = {"learner": line[0], "network": line[1], "shift": shift, "metric": metric}
                    theirs = published[(published[list(place)] == pd.Series(place)).all(axis=1)]
                    theirs = theirs.sort_values("percent")
                    axis.plot(theirs["percent"], theirs["mean"], color=colour, ls="--", lw=1)
            axis.grid(alpha=0.3)
            if METRICS[metric].logarithmic and (part["mean"] > 0).any():
                axis.set_yscale("log")
            elif METRICS[metric].bounds == (0.0, 1.0):
                axis.set_ylim(-0.03, 1.03)
            if column == 0:
                axis.set_ylabel(METRICS[metric].title)
            if row == 0:
                axis.set_title(f"shift: {shift}")
            if row == len(shown) - 1:
                axis.set_xlabel("shifted examples (%)")
        handles, labels = axes[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=min(len(labels), 2 * len(shifts)))
        values = dict(zip(SETTING, setting, strict=True)) if isinstance(setting, tuple) else {}
        figure.suptitle(f"{values['benchmark']} ({values['size']}, {_short(str(values['source']))})")
        source = str(values["source"] or "").partition(":")[0]
        name = "-".join(part for part in (str(values["benchmark"]), source, str(values["size"])) if part)
        path = folder / file_name(name, format)
        if path in written:
            path = path.with_stem(f"{path.stem}-{len(written)}")
        figure.savefig(path, dpi=120)
        plt.close(figure)
        written.append(path)
    return written


def _short(source: str) -> str:
    return source if len(source) <= 40 else f"{source[:18]}…{source[-20:]}"


def _label(line: tuple[str, str, str], style: dict[tuple[str, str, str], int]) -> str:
    learner, network, track = line
    twins = [other for other in style if other[0] == learner]
    return learner if len(twins) == 1 else f"{learner} ({network or track})"
