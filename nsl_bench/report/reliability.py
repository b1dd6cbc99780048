"""Reliability diagrams: how often the most probable label is right, by its probability."""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path

import numpy as np
import numpy.typing as npt

from nsl_bench.core.errors import UserError
from nsl_bench.core.metrics.predictions import reliability
from nsl_bench.report.completed import Runs
from nsl_bench.report.style import colour_of, heading, legend, line_slots, marker_of, save, subplots
from nsl_bench.report.tables import file_name, short_names
from nsl_bench.run.job import Job
from nsl_bench.run.store import NoPredictions

_BINS = 15
_COLUMNS = 4

Counts = tuple[npt.NDArray[np.int64], npt.NDArray[np.float64], npt.NDArray[np.float64]]


def draw_reliability(results: Runs, folder: Path, *, format: str = "png") -> list[Path]:
    """Draw one picture a setting: a panel a share of shift, a line a learner, all repeats pooled.

    Args:
        results: the runs and what they predicted; runs without framework evaluation, and those of versions
            that did not keep the labels, are left out. Damaged predictions are named on standard error.
    """
    panels: dict[tuple[str, str], dict[float, dict[str, Counts]]] = defaultdict(lambda: defaultdict(dict))
    line_of: dict[str, tuple[str, ...]] = {}
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
            print(
                f"{results.folder}: the run {key} is left out of reliability diagrams: {error}",
                file=sys.stderr,
            )
            continue
        own = frame[frame["evaluation"] == "framework"]
        if own.empty:
            continue
        names = [c for c in own.columns if c.startswith("p_")]
        if not names:
            continue
        labels = own["label"].map({name.removeprefix("p_"): k for k, name in enumerate(names)})
        counts = reliability(own[names].to_numpy(np.float64), labels.to_numpy(np.int64), _BINS)
        for shift in _shifts(results, job):
            by_label = panels[(_setting(job), shift)][job.percent]
            label = f"{job.learner} ({short[job.network] if job.network else job.track})"
            line_of[label] = (job.learner, str(job.network), job.track)
            if label in by_label:
                count, confidence, right = by_label[label]
                counts_here = (count + counts[0], confidence + counts[1], right + counts[2])
            else:
                counts_here = counts
            by_label[label] = counts_here
    folder.mkdir(parents=True, exist_ok=True)
    slot_of = line_slots(line_of.values())
    slots = {label: slot_of[line] for label, line in line_of.items()}
    written = []
    for (setting, shift), by_percent in panels.items():
        percents = sorted(by_percent)
        lines = sorted({label for by_label in by_percent.values() for label in by_label})
        columns = min(_COLUMNS, len(percents))
        down = -(-len(percents) // columns)
        figure, axes = subplots(down, columns, figsize=(1 + 3 * columns, 0.8 + 3 * down), sharey=True)
        for axis in axes.flat[len(percents) :]:
            axis.set_visible(False)
        for axis, percent in zip(axes.flat, percents, strict=False):
            axis.plot([0, 1], [0, 1], color="0.6", lw=1, ls="--")
            for label in lines:
                if label not in by_percent[percent]:
                    continue
                count, confidence, right = by_percent[percent][label]
                full = count > 0
                axis.plot(
                    confidence[full] / count[full],
                    right[full] / count[full],
                    color=colour_of(slots[label]),
                    marker=marker_of(slots[label]),
                    markersize=3,
                    lw=1,
                    label=label,
                )
                axis.scatter(
                    confidence[full] / count[full],
                    right[full] / count[full],
                    s=200 * count[full] / count.sum(),
                    color=colour_of(slots[label]),
                    alpha=0.25,
                    lw=0,
                )
            axis.set_title(f"{percent:g} % shifted")
            axis.set_xlabel("probability of the label")
            axis.set_xlim(-0.03, 1.03)
            axis.set_ylim(-0.03, 1.03)
            axis.grid(alpha=0.3)
        for axis in axes[:, 0]:
            axis.set_ylabel("share of right labels")
        entries = {}
        for axis in axes.flat:
            handles, names = axis.get_legend_handles_labels()
            entries.update(dict(zip(names, handles, strict=True)))
        legend(figure, entries)
        heading(figure, f"{setting}, shift: {shift}")
        path = folder / file_name(f"reliability-{setting}-{shift}", format)
        save(figure, path)
        written.append(path)
    return written


def _setting(job: Job) -> str:
    """The task, the task that it is tested on if it is another one, and the train size."""
    return "-".join(word for word in (job.benchmark, job.test_task, job.size) if word)


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
