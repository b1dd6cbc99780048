"""Intervals of accuracies and of differences: over train splits, test examples or images, and seeds.

Every run's predictions are read again, because the error of the test sample is not in a run's mean
(`nsl_bench.run.statistics`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from nsl_bench.core.errors import UserError
from nsl_bench.core.metrics import METRICS
from nsl_bench.core.sequences import mean_of
from nsl_bench.core.types import Floats
from nsl_bench.report.completed import Runs, answers_in
from nsl_bench.report.ordering import sorted_rows
from nsl_bench.report.tables import SETTING, in_shift, with_standard
from nsl_bench.run.job import Job
from nsl_bench.run.record import Record
from nsl_bench.run.sampled import Sampled, sampled
from nsl_bench.run.statistics import NOTHING, SPLITS, holm, interval, padded, paired_interval, paired_p_values

if TYPE_CHECKING:
    import pandas as pd


_AXES = {"repeat": SPLITS, "network_seed": "network seeds", "learner_draw": "learner seeds"}
_LINE = [*SETTING, "track", "network", "learner", "shift", "percent"]
_SHOWN = ("benchmark", "test_task", "source", "size", "track", "network", "learner", "shift", "percent")
_PAIR = ("repeat", "learner_draw")
_SCORES: WeakKeyDictionary[Runs, dict[tuple[str, ...], Floats | None]] = WeakKeyDictionary()
"""Scores of runs whose predictions were read, for as long as their `Results` are in use."""


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
    for place, group in (in_shift(with_standard(runs)) if len(runs) else runs).groupby(_LINE, sort=True):
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
    keys = [by_place[place] for place in places]
    for metric in ("framework_accuracy", "hypothesis_accuracy"):
        scores = [example_scores(results, records[key], key, metric) for key in keys]
        if scores[0] is not None:
            break
    job = records[keys[0]].job
    tests = _tests(job, axes[0])
    arrays = [one for one in scores if one is not None]
    if len(arrays) < len(scores) or (tests.shared and len(set(map(len, arrays))) > 1):
        return None
    used = [k for k, values in enumerate(axes) if len(values) > 1 or k == 0]
    table = padded(arrays, np.nan).reshape(*(len(axes[k]) for k in used), -1)
    result = interval(
        table,
        factors=[list(_AXES.values())[k] for k in used],
        bounds=(0.0, 1.0),
        **tests.of(metric, job.track),
    )
    numbers = {"accuracy": result.mean, "low": result.low, "high": result.high, "std_err": result.std_err}
    return {**numbers, "runs": len(places), **result.components}


def paired(sides: Sequence[tuple[pd.DataFrame, Runs]], metric: str, level: float = 0.95) -> pd.DataFrame:
    """Mean paired differences of two learners, with intervals and corrected p values.

    Where predictions are kept, a difference is made example by example, and its error covers train splits and
    test examples; else it covers train splits. Runs that saw through different networks make no pair.

    Args:
        sides: the runs of one learner each: a frame with the metric, and where their predictions are.
        metric: its name.
        level: confidence level of the intervals.

    Returns:
        One row per setting, shift and share: the means of both learners (``first``, ``second``), their
        ``difference``, its interval (``low``, ``high``), the p value, corrected by Holm's method over the
        rows (``p_value``), and the number of pairs (``n``). With one pair, and where nothing varies, the
        interval and the p value are NaN.

    Raises:
        UserError: no runs of the two learners can be paired.
    """
    table = differences(sides, metric, level).drop(columns="failed")
    return table.assign(p_value=corrected(table["p_value"].tolist()))


def corrected(p_values: Sequence[float]) -> list[float]:
    """Holm's correction of those that are known."""
    result = np.array(p_values, np.float64)
    known = np.isfinite(result)
    result[known] = holm(result[known])
    return list(map(float, result))


def differences(
    sides: Sequence[tuple[pd.DataFrame, Runs]], metric: str, level: float = 0.95, draws: int = 1000
) -> pd.DataFrame:
    """The rows of `paired` with p values that are not corrected, and how many pairs have a ``failed`` run.

    Args:
        draws: bootstrap samples of each interval; p values need none.

    Raises:
        UserError: no runs of the two learners can be paired.
    """
    import pandas as pd

    by = [*SETTING, "shift", "percent"]
    tables = []
    for frame, runs in sides:
        if metric not in frame:
            raise UserError(f"The runs of {frame['learner'].iloc[0]} have no {METRICS[metric].title}.")
        table = with_standard(frame)[[*by, *_PAIR, "key", "status", metric]].dropna(subset=[metric])
        records = runs.latest()
        fingerprints = [records[key].environment.get("network_fingerprint", "") for key in table["key"]]
        tables.append(table.assign(through=fingerprints))
    both = tables[0].merge(tables[1], on=[*by, *_PAIR], suffixes=("_first", "_second"))
    if both.empty:
        raise UserError("No runs can be paired: the two learners never ran on the same data.")
    through = both[["through_first", "through_second"]]
    both = both[(through.iloc[:, 0] == through.iloc[:, 1]) | (through == "").any(axis=1)]
    if both.empty:
        raise UserError("No runs can be paired: the two learners saw through different networks.")
    rows = []
    for place, group in both.groupby(by, sort=False):
        ours, theirs = (group[f"{metric}_{side}"].to_numpy(np.float64) for side in ("first", "second"))
        low, high, p_value = _difference(group, metric, [runs for _, runs in sides], 1 - level, draws)
        about = dict(zip(by, place, strict=True)) if isinstance(place, tuple) else {}
        means = {"first": ours.mean(), "second": theirs.mean(), "difference": (ours - theirs).mean()}
        given = {"low": low, "high": high, "p_value": p_value, "n": len(group)}
        failed = (group[["status_first", "status_second"]] != "ok").any(axis=1).sum()
        rows.append({**about, "metric": metric, **means, **given, "failed": int(failed)})
    return sorted_rows(pd.DataFrame(rows), by)


def _difference(
    group: pd.DataFrame, metric: str, sides: Sequence[Runs], level: float, draws: int
) -> tuple[float, float, float]:
    """The interval of a mean paired difference, and its p value."""
    nothing = (math.nan, math.nan, math.nan)
    if len(group) < 2:
        return nothing
    group = group.sort_values(list(_PAIR))
    tables: list[list[Floats]] = []
    for word, runs in zip(("first", "second"), sides, strict=True):
        records = runs.latest()
        scores = [example_scores(runs, records[key], key, metric) for key in group[f"key_{word}"]]
        tables.append([one for one in scores if one is not None])
    sizes = [list(map(len, one)) for one in tables]
    job = sides[0].latest()[group["key_first"].iloc[0]].job
    tests = _tests(job, group["repeat"].tolist())
    same_test = not tests.shared or len(set(sizes[0])) == 1
    if (
        sizes[0] != sizes[1]
        or len(sizes[0]) < len(group)
        or not same_test
        or group["repeat"].duplicated().any()
    ):
        difference = (group[f"{metric}_first"] - group[f"{metric}_second"]).to_numpy(np.float64)
        if np.ptp(difference) <= NOTHING:
            return nothing
        return (*paired_interval(difference, level), float(paired_p_values(difference[None])[0]))
    table = padded([a - b for a, b in zip(*tables, strict=True)], np.nan)
    result = interval(table, level=level, draws=draws, **tests.of(metric, job.track))
    return (result.low, result.high, result.p_value) if result.std_err > NOTHING else nothing


def _tests(job: Job, repeats: Sequence[int]) -> Sampled:
    """The test sets of train splits; the images of a sealed round are not known here."""
    source = "" if job.sealed else job.source
    return sampled(job.tested, source, job.seed, tuple(map(int, repeats)), job.splits)


def example_scores(results: Runs, record: Record, key: str, metric: str) -> Floats | None:
    """float64 [examples]: a metric of a run's test examples, of sequences their means; None if not kept."""
    kept = _SCORES.setdefault(results, {})
    run = (key, record.started, metric)
    if run not in kept:
        kept[run] = _example_scores(results, record, key, metric)
    return kept[run]


def _example_scores(results: Runs, record: Record, key: str, metric: str) -> Floats | None:
    of_example = METRICS[metric].per_example
    if of_example is None:
        return None
    try:
        answers = answers_in(record, results.predictions(key))
    except UserError:
        return None
    for answered in answers:
        if METRICS[metric].applies(answered):
            each = of_example(answered)
            if answered.steps is not None and len(each) == len(answered.steps):
                return mean_of(answered.steps, each)  # whole sequences are resampled
            return each
    return None
