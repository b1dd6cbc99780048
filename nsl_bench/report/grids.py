"""Heat maps of results over the shares of shifted train and of shifted test examples."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from nsl_bench.core.metrics import METRICS
from nsl_bench.core.shift import STANDARD
from nsl_bench.report.style import heading, save, subplots, wrapped
from nsl_bench.report.tables import DEFAULT_METRICS, SETTING, comparable, file_name

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


def grid(runs: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Means over repeats: a row a share of shifted train examples, a column one of test examples.

    Args:
        runs: of one learner, one shift of the train images and one of the test images; what is not shifted
            belongs to all shifts.
    """
    return runs.pivot_table(index="train_percent", columns="test_percent", values=metric, aggfunc="mean")


def draw_grids(
    runs: pd.DataFrame, folder: Path, metrics: Sequence[str] = DEFAULT_METRICS, *, format: str = "png"
) -> list[Path]:
    """Draw a picture a setting and pair of shifts: a heat map a metric and learner.

    Settings without two shares of train and two of test examples, all of whose combinations were run, are
    left out.
    """
    written = []
    done = comparable(runs)
    for setting, group in done.groupby(list(SETTING), sort=False):
        pairs = group.loc[
            (group["train_percent"] > 0) & (group["test_percent"] > 0), ["train_shift", "test_shift"]
        ].drop_duplicates()
        for train, test in pairs.itertuples(index=False):
            mine = group[
                group["train_shift"].isin([train, STANDARD]) & group["test_shift"].isin([test, STANDARD])
            ]
            lines = {
                f"{learner} ({network or track})": part
                for (learner, network, track), part in mine.groupby(["learner", "network", "track"])
                if _is_grid(part)
            }
            present = [metric for metric in metrics if metric in mine and mine[metric].notna().any()]
            if lines and present:
                about = dict(zip(SETTING, setting, strict=True)) if isinstance(setting, tuple) else {}
                task = " -> ".join(
                    name for name in map(str, (about.get("benchmark"), about.get("test_task"))) if name
                )
                title = f"{task} ({about.get('size')}): {train} -> {test}"
                written.append(_draw(lines, present, folder / file_name(f"grid-{title}", format), title))
    return written


def _is_grid(part: pd.DataFrame) -> bool:
    """Whether two shares or more of each part were run in all combinations."""
    cells = part[["train_percent", "test_percent"]].drop_duplicates()
    rows, columns = cells["train_percent"].nunique(), cells["test_percent"].nunique()
    return min(rows, columns) > 1 and len(cells) == rows * columns


def _draw(lines: dict[str, pd.DataFrame], metrics: Sequence[str], path: Path, title: str) -> Path:
    figure, axes = subplots(len(metrics), len(lines), figsize=(1 + 3.4 * len(lines), 1 + 2.9 * len(metrics)))
    for row, metric in enumerate(metrics):
        tables = {name: grid(part, metric) for name, part in lines.items()}
        values = np.concatenate([table.to_numpy().reshape(-1) for table in tables.values()])
        bounds = (float(np.nanmin(values)), float(np.nanmax(values)))
        for axis, (name, table) in zip(axes[row], tables.items(), strict=True):
            _fill(axis, table, bounds, METRICS[metric].digits)
            axis.set_title(f"{wrapped(name, 40)}\n{METRICS[metric].title}", fontsize=9)
    heading(figure, title)
    save(figure, path)
    return path


def _fill(axis: Axes, table: pd.DataFrame, bounds: tuple[float, float], digits: int) -> None:
    """A heat map with its numbers; the origin, where nothing is shifted, is at the bottom left."""
    values = table.to_numpy()
    axis.imshow(values, origin="lower", aspect="auto", cmap="viridis", vmin=bounds[0], vmax=bounds[1])
    middle = sum(bounds) / 2
    small = values.size > 40
    for (i, j), value in np.ndenumerate(values):
        if np.isfinite(value):
            colour = "black" if value > middle else "white"
            size = 5 if small else 8
            axis.text(j, i, f"{value:.{min(digits, 2)}f}", ha="center", va="center", color=colour, size=size)
    axis.set_xticks(range(len(table.columns)), [f"{p:g}" for p in table.columns])
    axis.set_yticks(range(len(table.index)), [f"{p:g}" for p in table.index])
    axis.set_xlabel("share of shifted test examples (%)")
    axis.set_ylabel("share of shifted train examples (%)")
