"""Intervals of accuracies that cover what varied: train splits, test examples or images, seeds.

Every run's predictions are read again, because the error of the test sample is not in a run's mean
(`nsl_bench.run.statistics`).
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from nsl_bench.core import registry
from nsl_bench.core.benchmark import Benchmark
from nsl_bench.core.errors import UserError
from nsl_bench.core.sequences import joined, mean_of
from nsl_bench.data.splits import make_source, make_split, symbolic_split
from nsl_bench.report.completed import Runs
from nsl_bench.report.ordering import sorted_rows
from nsl_bench.report.tables import SETTING, with_standard
from nsl_bench.run.job import Job
from nsl_bench.run.record import Record
from nsl_bench.run.statistics import SPLITS, interval, padded

if TYPE_CHECKING:
    import pandas as pd

_AXES = {"repeat": SPLITS, "network_seed": "network seeds", "learner_draw": "learner seeds"}
_LINE = [*SETTING, "track", "network", "learner", "shift", "percent"]
_SHOWN = ("benchmark", "test_task", "source", "size", "track", "network", "learner", "shift", "percent")
_REUSED = 2.0
"""Images count as the sampled units where each is shown so often on average."""


def intervals(results: Runs) -> pd.DataFrame:
    """The 95 % intervals of all accuracies.

    Returns:
        One row a learner, shift and share: ``accuracy`` (of framework evaluation where there is one),
        ``low``, ``high``, ``std_err``, ``runs``, and the standard error of each component under its name.
    """
    import pandas as pd

    runs = results.frame
    records = results.latest()
    rows = []
    for place, group in (with_standard(runs) if len(runs) else runs).groupby(_LINE, sort=True):
        row = _row(results, records, group)
        if row is not None:
            about = dict(zip(_LINE, place, strict=True)) if isinstance(place, tuple) else {}
            rows.append({**{name: about[name] for name in _SHOWN}, **row})
    if not rows:
        raise UserError(f"{results.folder} contains no runs with predictions.")
    table = sorted_rows(pd.DataFrame(rows), list(_SHOWN))
    first = [*_SHOWN, "accuracy", "low", "high", "std_err", "runs"]
    return table[[*first, *(column for column in table if column not in first)]]


def _row(results: Runs, records: dict[str, Record], group: pd.DataFrame) -> dict[str, Any] | None:
    """The interval of one line at one share; None without predictions."""
    axes = [sorted(group[name].unique()) for name in _AXES]
    by_place = {
        tuple(place): key for *place, key in group[[*_AXES, "key"]].itertuples(index=False, name=None)
    }
    places = [(a, b, c) for a in axes[0] for b in axes[1] for c in axes[2]]
    if any(place not in by_place for place in places):
        return None  # not all combinations of splits and seeds were run
    scores = [_scores(results, by_place[place]) for place in places]
    job = records[by_place[places[0]]].job
    task = _task(job.tested)
    arrays = [np.array(one, np.float64) for one in scores if one is not None]
    if len(arrays) < len(scores) or (not task.own_tests and len(set(map(len, arrays))) > 1):
        return None
    used = [k for k, values in enumerate(axes) if len(values) > 1 or k == 0]
    table = padded(arrays, np.nan).reshape(*(len(axes[k]) for k in used), -1)
    tests = tuple(axes[0]) if task.own_tests else (axes[0][0],)
    images = None
    if job.track != "symbolic" and not job.sealed:
        images = _images(job.tested, job.source, job.seed, job.splits, tests)
        if images is not None and task.sequential:
            images = _of_sequences(task, job, images)
    result = interval(
        table,
        factors=[list(_AXES.values())[k] for k in used],
        images=images,
        shared_test=not task.own_tests,
        bounds=(0.0, 1.0),
    )
    numbers = {"accuracy": result.mean, "low": result.low, "high": result.high, "std_err": result.std_err}
    return {**numbers, "runs": len(places), **result.components}


def _of_sequences(task: Benchmark, job: Job, images: npt.NDArray[np.int32]) -> npt.NDArray[np.int32] | None:
    """The images of each sequence, where all train splits share a test set."""
    if images.ndim > 2:
        return None
    steps = symbolic_split(task, "test", seed=job.seed).steps
    return joined(steps, images, -1)


def _scores(results: Runs, key: str) -> list[float] | None:
    """Which examples a run answered right, in the order of the test set; of sequences, mean scores."""
    try:
        frame = results.predictions(key)
    except UserError:
        return None
    framework = frame[frame["evaluation"] == "framework"]
    rows = framework if len(framework) else frame
    right: list[float] = (rows["predicted"] == rows["label"]).astype(float).tolist()
    if "step" in rows:  # whole sequences are resampled
        right = mean_of(rows["step"].to_numpy(np.int64), np.array(right)).tolist()
    return right


@cache
def _task(spec: str) -> Benchmark:
    task: Benchmark = registry.create("benchmark", spec)
    return task


@cache
def _images(
    spec: str, source: str, seed: int, splits: str | None, repeats: tuple[int, ...]
) -> npt.NDArray[np.int32] | None:
    """The image of each slot of the test examples, where few images are shown again and again.

    Args:
        splits: folder whose splits were used in place of generated ones.
        repeats: whose test sets; one where all train sets share it.
    """
    task = _task(spec)
    try:
        pool = make_source(task, source)
    except UserError:  # the folder of the images is not here
        return None
    folder = None if splits is None or not Path(splits).is_dir() else Path(splits)
    size = next(iter(task.sizes))
    tests = [
        make_split(task, pool, "test", size, repeat, seed=seed, splits=folder).images for repeat in repeats
    ]
    images = padded(tests, -1) if task.own_tests else tests[0]
    filled = images[images >= 0]
    return images if len(filled) >= _REUSED * len(np.unique(filled)) else None
