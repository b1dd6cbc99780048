"""Reliability diagrams: how often the most probable label is right, by its probability."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from nsl_bench.core.errors import UserError
from nsl_bench.core.metrics.predictions import reliability
from nsl_bench.report.completed import Runs
from nsl_bench.report.style import colour_of, heading, legend, line_slots, marker_of, save, subplots
from nsl_bench.report.tables import file_name, short_names
from nsl_bench.run.job import Job
from nsl_bench.run.store import NoPredictions

_BINS = 15
_COLUMNS = 4


def draw_reliability(results: Runs, folder: Path, *, format: str = "png") -> list[Path]:
    """Draw one picture a setting: a panel a share of shift, a line a learner, all repeats pooled.

    Args:
        results: the runs and what they predicted; runs without framework evaluation, and those of versions
            that did not keep the labels, are left out. Damaged predictions are named on standard error.
    """
    pieces = list(_counted(results))
    folder.mkdir(parents=True, exist_ok=True)
    if not pieces:
        return []
    by = ["setting", "shift", "percent", "label", "line"]
    table = pd.concat(pieces).groupby([*by, "bin"]).sum().reset_index()
    slots, written = line_slots(table["line"]), []
    for (setting, shift), part in table[table["count"] > 0].groupby(by[:2]):
        panels = list(part.groupby("percent"))
        columns = min(_COLUMNS, len(panels))
        down = -(-len(panels) // columns)
        figure, axes = subplots(down, columns, figsize=(1 + 3 * columns, 0.8 + 3 * down), sharey=True)
        for axis in axes.flat[len(panels) :]:
            axis.set_visible(False)
        entries: dict[str, Any] = {}
        for axis, (percent, lines) in zip(axes.flat, panels, strict=False):
            axis.plot([0, 1], [0, 1], color="0.6", lw=1, ls="--")
            for label, bins in lines.groupby("label"):
                slot = slots[bins["line"].iloc[0]]
                count, colour = bins["count"], colour_of(slot)
                place = bins["confidence"] / count, bins["right"] / count
                look = {"color": colour, "marker": marker_of(slot), "markersize": 3, "lw": 1}
                (entries[str(label)],) = axis.plot(*place, **look)
                axis.scatter(*place, s=200 * count / count.sum(), color=colour, alpha=0.25, lw=0)
            axis.set(title=f"{percent:g} % shifted", xlabel="probability of the label")
            axis.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03))
            axis.grid(alpha=0.3)
        for axis in axes[:, 0]:
            axis.set_ylabel("share of right labels")
        legend(figure, dict(sorted(entries.items())))
        heading(figure, f"{setting}, shift: {shift}")
        path = folder / file_name(f"reliability-{setting}-{shift}", format)
        save(figure, path)
        written.append(path)
    return written


def _counted(results: Runs) -> Iterator[pd.DataFrame]:
    """The counts of each run's bins, for each curve that it is a point of."""
    records = results.latest()
    short = short_names({record.job.network for record in records.values() if record.job.network})
    for key, record in records.items():
        job = record.job
        if record.status != "ok" or job.track == "symbolic":
            continue
        try:
            frame = results.predictions(key)
        except NoPredictions:
            continue
        except UserError as error:
            left_out = f"the run {key} is left out of reliability diagrams: {error}"
            print(f"{results.folder}: {left_out}", file=sys.stderr)
            continue
        own = frame[frame["evaluation"] == "framework"]
        names = [c for c in own.columns if c.startswith("p_")]
        if own.empty or not names:
            continue
        labels = own["label"].map({name.removeprefix("p_"): k for k, name in enumerate(names)})
        counts = reliability(own[names].to_numpy(np.float64), labels.to_numpy(np.int64), _BINS)
        table = pd.DataFrame(dict(zip(("count", "confidence", "right"), counts, strict=True)))
        line = (job.learner, str(job.network), job.track)
        label = f"{job.learner} ({short[job.network] if job.network else job.track})"
        table = table.assign(setting=_setting(job), percent=job.percent, label=label, bin=table.index)
        table["line"] = [line] * len(table)
        for shift in _shifts(results, job):
            yield table.assign(shift=shift)


def _setting(job: Job) -> str:
    """The task, the task that it is tested on if it is another one, the train size, and the annotation."""
    return "-".join(word for word in (job.benchmark, job.test_task, job.size, job.annotation) if word)


def _shifts(results: Runs, job: Job) -> list[str]:
    """The shifts whose curves a run is a point of: all of them at 0 %."""
    if job.percent:
        return [job.shift]
    others = {
        record.job.shift
        for record in results.latest().values()
        if record.job.percent and _setting(record.job) == _setting(job)
    }
    return sorted(others) or [job.shift]
