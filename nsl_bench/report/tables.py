"""Tables of results: mean and standard error over repeats, one table a task.

A *setting* is what results may be compared within: benchmark, version, test task, source, train size, seed or
secret seed, splits, and the protocol's version. What all rows of a table have in common is said above it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from nsl_bench.core.annotation import DIALS, Annotation, dial_among
from nsl_bench.core.errors import UserError, counted, unknown
from nsl_bench.core.metrics import METRICS
from nsl_bench.core.registry import Spec, create, pinned
from nsl_bench.core.shift import STANDARD
from nsl_bench.report.ordering import in_order, sorted_rows
from nsl_bench.report.typeset import Cell, Laid, laid
from nsl_bench.run.job import PROTOCOL, ShiftPair, source_identity

if TYPE_CHECKING:
    import pandas as pd


DEFAULT_METRICS = (
    *("hypothesis_accuracy", "hypothesis_sequence_accuracy", "framework_accuracy", "sequence_accuracy"),
    *("effective_image_accuracy", "brier_score", "atoms", "learning_time", "prediction_time"),
)
"""Those of sequences are left out where a task has none."""
SETTING = (
    *("benchmark", "benchmark_version", "test_task", "source"),
    *("size", "splits", "seed", "sealed", "protocol", "annotation"),
)
ROW = ("track", "network", "learner", "shift", "percent")
NOT_DEFINED = "not defined"
"""What tables show of a metric that compares with a true rule, where the task has none."""
NOT_APPLICABLE = "not applicable"
"""What tables show where a learner cannot take the task."""
BOLD = "Bold: better than every other learner there (paired differences, Holm-corrected p below 0.05)."
FAILED = "† Failed runs count as majority-class predictions"
Layout = Literal["long", "wide"]
Supported = Callable[[pd.DataFrame, pd.DataFrame], "pd.Series[bool]"]
"""Which rows of `summarise` are better than all others beside them, given these rows and their runs."""
_HEADS = {
    **{"benchmark_version": "version", "test_task": "test task", "source": "images", "size": "train size"},
    **{"seed": "data seed", "sealed": "secret seed", "percent": "shifted (%)"},
}
"""The fields that rows of one table may differ in, where columns have other names than these."""
LINE = ["learner", "track", "network"]
_NOT_APPLICABLE = "not_applicable"
_GIVEN = "accuracy_given_"
_SEEDS = ("network_seed", "learner_draw")
_ANSWERED = ["hypothesis_accuracy", "framework_accuracy"]


def file_name(words: str, format: str = "png") -> str:
    """The name of a picture: words with dashes in place of what file names are better without."""
    return f"{re.sub(r'[^A-Za-z0-9_.]+', '-', words)}.{format}"


def short_names(specs: Iterable[str]) -> dict[str, str]:
    """Specs as titles show them: without options where no two are of one name."""
    heads = {spec: spec.partition(":")[0] for spec in specs}
    count = Counter(heads.values())
    return {spec: head if count[head] == 1 else spec for spec, head in heads.items()}


def comparable(runs: pd.DataFrame, *, all_ends: bool = False) -> pd.DataFrame:
    """The runs that count, in groups that were run alike; with `all_ends`, those without answers as well.

    Failed runs count with the majority class's metrics, if their record has any. Of several versions of a
    learner or a network the last one counts. Folders of one content are one source; a network's seeds are
    a column of their own, ``network_seed``.
    """
    done = _counting(runs, all_ends=all_ends)
    alike: pd.DataFrame = done.loc[_is_last(done)]
    return alike


def superseded(runs: pd.DataFrame) -> int:
    """How many runs are left out because a later version of their learner or network was run."""
    done = _counting(runs)
    return int((~_is_last(done)).sum())


def _counting(runs: pd.DataFrame, *, all_ends: bool = False) -> pd.DataFrame:
    """The runs that have answers, with names that tell apart what differs."""
    answered = runs.reindex(columns=_ANSWERED).notna().any(axis=1)
    done = runs[(runs["status"] == "ok") | answered | all_ends].copy()
    for column in ("network", "splits"):
        done[column] = done[column].astype(object).where(done[column].notna(), "")
    seeds = {network: _seed_of(network) for network in done["network"].unique()}
    done["network_seed"] = [seeds[network][1] for network in done["network"]]
    done["network"] = [seeds[network][0] for network in done["network"]]
    fingerprinted = done["splits_fingerprint"] != ""
    done.loc[fingerprinted, "splits"] = (
        done[fingerprinted].groupby("splits_fingerprint")["splits"].transform("last")
    )
    kinds = done["source"].map({source: source_identity(source) for source in done["source"].unique()})
    done["source"] = done.groupby([kinds, "source_fingerprint"])["source"].transform("last")
    return done


def _is_last(done: pd.DataFrame) -> pd.Series:
    """Whether each run is of the last version of its learner and its network."""
    if done.empty:
        return pd.Series(False, index=done.index)
    line = [*SETTING, "track", "network", "learner"]
    versions = done["learner_version"] + "\n" + done["network_version"]
    last: pd.Series = versions == versions.groupby([done[name] for name in line]).transform("last")
    return last


def _seed_of(network: str) -> tuple[str, int]:
    """A network's spec without its seed, and the seed."""
    if not network:
        return network, 0
    spec = Spec.parse(network)
    options = dict(spec.kwargs)
    seed = options.pop("seed", "0")
    return str(replace(spec, kwargs=options)), int(seed) if seed.isdecimal() else 0


def with_standard(runs: pd.DataFrame, *, all_ends: bool = False) -> pd.DataFrame:
    """The runs that count, each once for every curve on which it lies.

    Where nothing is shifted, one run is the first point of all curves. See `comparable` for `all_ends`.
    """
    done = comparable(runs, all_ends=all_ends)
    pieces = []
    for _, group in done.groupby(list(SETTING), sort=False):
        names = [shift for shift in group["shift"].unique() if shift != STANDARD] or [STANDARD]
        for name in names:
            mine = _on_curve(group, group[group["shift"] == name].iloc[0])
            pieces.append(mine.assign(shift=name))
    return pd.concat(pieces, ignore_index=True) if pieces else done


def over(runs: pd.DataFrame, dial: str) -> pd.DataFrame:
    """The runs with a dial of their annotation in place of shift and share, which become part of the rest."""
    if dial not in DIALS:
        raise unknown("dial", dial, DIALS)
    values, rests = [], []
    columns = [*(one.name for one in fields(ShiftPair)), "annotation"]
    for *pair, annotation in runs[columns].itertuples(index=False):
        dials, shifts = Annotation.parse(annotation), ShiftPair(*pair)
        values.append(getattr(dials, dial))
        rests.append([str(dials.without(dial)), "" if shifts == ShiftPair() else str(shifts)])
    names = [dial if value else STANDARD for value in values]
    made = runs.assign(annotation=[", ".join(filter(None, rest)) for rest in rests])
    for part in ("", "train_", "test_"):
        made = made.assign(**{f"{part}shift": names, f"{part}percent": values})
    return made


def in_shift(done: pd.DataFrame) -> pd.DataFrame:
    """The runs with their annotation behind their shift, for tables in which it has no column."""
    told = done["annotation"].where(done["annotation"] == "", ", " + done["annotation"])
    return done.assign(shift=done["shift"] + told)


def _on_curve(group: pd.DataFrame, one: Any) -> pd.DataFrame:
    """The runs on the curve of one of them, with the shares that vary along it."""
    train, test = one["train_shift"], one["test_shift"]
    of_train = group["train_shift"].isin([train, STANDARD])
    of_test = group["test_shift"].isin([test, STANDARD])
    if one["train_percent"] == one["test_percent"]:
        rows, share = of_train & of_test & (group["train_percent"] == group["test_percent"]), "test_percent"
    elif not one["test_percent"]:
        rows, share = of_train & (group["test_percent"] == 0), "train_percent"
    else:
        fixed = (group["train_shift"] == train) & (group["train_percent"] == one["train_percent"])
        rows, share = fixed & of_test, "test_percent"
    return group.loc[rows].assign(percent=group.loc[rows, share])


def _mean_and_error(values: pd.DataFrame, by: list[str], metrics: Sequence[str]) -> pd.DataFrame:
    axes = [axis for axis in ("repeat", *_SEEDS) if axis in values and axis not in by]
    values = values.assign(failed=values["status"] != "ok" if "status" in values else False)
    long = values.melt(id_vars=[*by, *axes, "failed"], value_vars=list(metrics), var_name="metric")
    long = long.dropna(subset="value")
    long["metric"] = pd.Categorical(long["metric"], categories=list(metrics), ordered=True)
    grouped = long.groupby([*by, "metric"], sort=False, observed=True)
    table = grouped["value"].agg(mean="mean", std_err="sem", n="count").reset_index()
    table["failed"] = grouped["failed"].sum().to_numpy(np.int64)
    if any(values[axis].nunique() > 1 for axis in _SEEDS if axis in values):
        table["std_err"] = [_crossed_error(part) for _, part in grouped]
    return table


def _crossed_error(part: pd.DataFrame) -> float:
    """The standard error of a mean over train splits and seeds, each of which has its own share of it."""
    variance = 0.0
    for axis in ("repeat", *_SEEDS):
        means = part.groupby(axis)["value"].mean()
        variance += float(means.var(ddof=1)) / len(means) if len(means) > 1 else 0.0
    return float(np.sqrt(variance)) if len(part) > 1 else float("nan")


def summarise(runs: pd.DataFrame, metrics: Sequence[str] = DEFAULT_METRICS) -> pd.DataFrame:
    """Mean and standard error of the mean over repeats.

    Returns:
        One row a setting, learner, shift, percentage and metric: ``mean``, ``std_err`` (NaN for one
        repeat), ``n``, and how many of these runs ``failed``.
    """
    for metric in metrics:
        if metric not in METRICS:
            raise unknown("metric", metric, METRICS)
    done = with_standard(runs)
    present = [metric for metric in metrics if metric in done]
    table = _mean_and_error(done, [*SETTING, *ROW], present)
    return sorted_rows(table, [*SETTING, "shift", "percent", "learner", "metric"])


def lacking(runs: pd.DataFrame, metrics: Sequence[str] = DEFAULT_METRICS) -> pd.DataFrame:
    """The rows of `summarise` that there are not.

    A task has no true rule to compare with, a learner cannot take the task, or a failed run left no answers.

    Returns:
        One row a setting, learner, shift, percentage and metric, with the number of runs, ``n``, and in
        ``words`` what tables show.
    """
    done = with_standard(runs, all_ends=True) if len(runs) else runs.reindex(columns=[*SETTING, *ROW])
    silent = done.reindex(columns=_ANSWERED).isna().all(axis=1) & (done.get("status", "ok") != "ok")
    why = {_NOT_APPLICABLE: NOT_APPLICABLE}
    pieces = [
        done[silent].assign(metric=name, words=done["status"].map(lambda end: why.get(end, "failed")))
        for name in metrics
        if name in done
    ]
    compared = [name for name in metrics if METRICS[name].of_true_rule]
    if compared:
        tasks = [
            test or pinned(*task)
            for test, *task in done[["test_task", "benchmark", "benchmark_version"]].itertuples(index=False)
        ]
        ruleless = np.fromiter(map(_lacks_true_rule, tasks), np.bool_)
        pieces += [done[ruleless & ~silent].assign(metric=name, words=NOT_DEFINED) for name in compared]
    by = [*SETTING, *ROW, "metric", "words"]
    every = pd.concat(pieces, ignore_index=True) if pieces else done.assign(metric="", words="", repeat=0)
    return every.groupby(by, sort=False)["repeat"].count().rename("n").reset_index()


@cache
def _lacks_true_rule(task: str) -> bool:
    """Whether a task that is installed here has no true rule."""
    try:
        return not create("benchmark", task).true_rule
    except UserError:
        return False


def interventions(runs: pd.DataFrame) -> pd.DataFrame:
    """Mean framework accuracy of learners given the true concepts of k slots (``run --interventions``).

    Returns:
        One row a setting, learner, shift and share, a column a number k.
    """
    names = [str(column) for column in runs if str(column).startswith(_GIVEN)]
    given = sorted(names, key=lambda name: int(name.removeprefix(_GIVEN)))
    if not given:
        raise UserError("No run has interventions; use `nsl-bench run --interventions 1,2`.")
    done = with_standard(runs).dropna(subset=given, how="all")
    by = ["benchmark", "test_task", "source", "size", "network", "learner", "shift", "percent"]
    table = sorted_rows(done.groupby(by)[["framework_accuracy", *given]].mean().reset_index(), by)
    titles = {name: f"{name.removeprefix(_GIVEN)} given" for name in given}
    return table.rename(columns={"framework_accuracy": "0 given", **titles})


def cell(mean: float, error: float, metric: str) -> str:
    """A mean and its standard error (NaN: unknown) as tables show them."""
    digits = METRICS[metric].digits
    text = f"{mean:.{digits}f}"
    return text if np.isnan(error) else f"{text} ± {error:.{digits}f}"


def said(name: str, value: Any, task: str = "") -> str:
    """A field of a row in words; empty if it says nothing."""
    text = f"{value:g}" if isinstance(value, float) else str(value or "")
    words = {
        "test_task": f"tested on {text or task}",
        "sealed": f"secret seed {text[:12]}" if text else "",
        "seed": f"data seed {text}" if value else "",
        "protocol": f"protocol {text}" if value != PROTOCOL else "",
        "shift": f"shift {text}" if value != STANDARD else "no shift",
        "percent": f"{text or 0} % shifted",
        "metric": METRICS[text].title if text in METRICS else text,
        "learner": text,
        "track": f"supervision {text}",
    }
    return words.get(name, f"{_HEADS.get(name, name)} {text}" if text else "")


def listed(table: pd.DataFrame, names: Sequence[str], task: str) -> list[str]:
    """Some fields of each row in words."""
    rows = table[list(names)].itertuples(index=False, name=None)
    return [", ".join(filter(None, map(said, names, row, [task] * len(names)))) for row in rows]


def varying(table: pd.DataFrame) -> list[str]:
    """The fields in which the rows of a task differ."""
    return [name for name in (*SETTING[1:], "shift", "percent", *LINE[1:]) if table[name].nunique() > 1]


def heading(table: pd.DataFrame, task: str, metrics: Sequence[str]) -> tuple[str, str]:
    """A title for the rows of a task, and what they have in common."""
    names = [name for name in (*SETTING[1:], *ROW) if name not in (*varying(table), "learner")]
    fixed = {name: table[name].iloc[0] for name in names}
    what = said("metric", metrics[0]) if len(metrics) == 1 else "results"
    title = f"{what[:1].upper()}{what[1:]} on {task}"
    if test_task := fixed.pop("test_task", ""):
        title += f", {said('test_task', test_task)}"
    if (shift := fixed.pop("shift", STANDARD)) != STANDARD:
        title += f" over {shift}" if shift in DIALS else f" under the shift {shift}"
    if not fixed.get("percent"):
        fixed.pop("percent", None)
    about = ", ".join(filter(None, map(said, fixed, fixed.values())))
    return title, f"{about[:1].upper()}{about[1:]}."


def notes_on(runs: pd.DataFrame) -> list[str]:
    """What is to be known of runs: which failed, were cut short or are left out."""
    kept, notes = comparable(runs, all_ends=True), []
    metric = next((name for name in reversed(_ANSWERED) if name in kept), "")
    each = []
    for name, part in kept.groupby("learner", sort=False):
        bad = part[~part["status"].isin(["ok", _NOT_APPLICABLE])]
        if len(bad):
            ends, rest = ", ".join(bad["status"].unique()).replace("_", " "), part.drop(bad.index)
            without = (
                f"{METRICS[metric].title} {rest[metric].mean():.3f} without them"
                if metric and len(rest)
                else ""
            )
            each.append(", ".join(filter(None, (f"{name} {len(bad)} of {len(part)} ({ends})", without))))
    if each:
        notes.append(f"{FAILED}: {'; '.join(each)}.")
    for chosen, *words in (
        (
            kept.get("timed_out", kept["status"] == "").astype(bool),
            "run reached the time limit; its best hypothesis so far counts",
            "runs reached the time limit; their best hypotheses so far count",
        ),
        (
            kept["status"] == _NOT_APPLICABLE,
            "run is not applicable to its learner",
            "runs are not applicable to their learners",
        ),
    ):
        which = kept.loc[chosen, "learner"].value_counts(sort=False)
        if len(which):
            whose = ", ".join(f"{name} {n}" for name, n in which.items())
            notes.append(f"{counted(which.sum(), *words)} ({whose}).")
    if others := superseded(runs):
        left_out = counted(others, "run of another version", "runs of other versions")
        notes.append(f"Without {left_out} of a learner or network.")
    return notes


def tables(
    runs: pd.DataFrame,
    metrics: Sequence[str] = DEFAULT_METRICS,
    layout: Layout = "long",
    supported: Supported | None = None,
    left: str = "",
) -> list[Laid]:
    """A table for each task.

    Args:
        layout: ``"long"``: a row for each learner, shift and share, a column for each metric. ``"wide"``: a
            row for each learner; a column for each test task if there are several, else for each share.
        supported: finds the means that are bold in the wide layout; without it none is.
        left: a sentence on runs that are still to be done.
    """
    table = summarise(runs, metrics).assign(words="")
    parts = [
        part.assign(metric=part["metric"].astype(str))
        for part in (table, lacking(runs, metrics))
        if len(part)
    ]
    if not parts:
        return []
    whole = pd.concat(parts, ignore_index=True)
    whole["metric"] = pd.Categorical(whole["metric"], categories=list(metrics), ordered=True)
    whole["failed"] = whole["failed"].fillna(0).astype(int) if "failed" in whole else 0
    whole = sorted_rows(whole, [*SETTING, "shift", "percent", "learner", "metric"])
    made = []
    for task, group in whole.groupby("benchmark", sort=False):
        mine = runs[runs["benchmark"] == task]
        bold = pd.Series(False, index=group.index)
        if layout == "wide" and supported is not None:
            bold |= supported(group[group["words"] == ""], mine).reindex(group.index, fill_value=False)
        notes = [*([BOLD] if bold.any() else []), *notes_on(mine), *([left] if left else [])]
        made.append(_laid(group.assign(bold=bold), str(task), layout, notes))
    return made


def _laid(table: pd.DataFrame, task: str, layout: Layout, notes: Sequence[str]) -> Laid:
    """The rows of a task as a table; a number of runs stands in a cell where it is not the usual one."""
    metrics = [name for name in table["metric"].cat.categories if (table["metric"] == name).any()]
    title, about = heading(table, task, metrics)
    fields = varying(table)
    keys = [name for name in LINE if name == "learner" or name in fields]
    places = [name for name in fields if name not in keys]
    axis = next((name for name in ("test_task", "percent") if name in fields and layout == "wide"), "metric")
    blocks = [name for name in places if name != axis] if layout == "wide" else []
    keys = keys if layout == "wide" else [*places, *keys]
    if "percent" in blocks:  # what is not shifted belongs to every shift, and is shown once
        table = table.assign(shift=table["shift"].where(table["percent"] > 0, STANDARD))
    table = table.drop_duplicates([*SETTING, *ROW, "metric"])
    if axis != "metric" and len(metrics) > 1:
        blocks.append("metric")
    counts = table.loc[table["words"] == "", "n"]
    usual = int(counts.mode().iloc[0]) if len(counts) else 0
    if usual > 1:
        about += f" Mean ± standard error of {usual} runs."
    cells: list[Any] = []
    for words, mean, error, metric, n, bold, failed in table.reindex(
        columns=["words", "mean", "std_err", "metric", "n", "bold", "failed"]
    ).itertuples(index=False):
        count = "" if n == usual else f" (n = {n:.0f})"
        cells.append(Cell(words or f"{cell(mean, error, metric)}{count}", bold, failed > 0))
    columns = metrics if axis == "metric" else sorted(table[axis].unique())
    if axis == "test_task":
        order = in_order({str(name or task) for name in columns})
        columns.sort(key=lambda name: order.index(str(name or task)))
    by = [*blocks, *keys, axis]
    placed = table.assign(cell=cells).groupby(by, sort=False, observed=True)["cell"].first()
    wide = placed.unstack(axis, sort=False)[columns].fillna("").reset_index()
    percent = " %" * (axis == "percent")
    heads = [METRICS[c].title if axis == "metric" else f"{_value(axis, c, task)}{percent}" for c in columns]
    names = {**_HEADS, **({"percent": f"{dial} (%)"} if (dial := dial_among(table["shift"])) else {})}
    shown = wide[[*keys, *columns]].set_axis([names.get(name, name) for name in keys] + heads, axis=1)
    for k, name in enumerate(keys):
        shown.isetitem(k, [_value(name, value, task) for value in wide[name]])
    made = laid(title, shown, about, notes, listed(wide, blocks, task))
    return replace(made, kind="wide" * (layout == "wide"))


def _value(name: str, value: Any, task: str) -> str:
    """A field of a row as its column shows it."""
    if name == "test_task":
        return str(value or task)
    return f"{value:g}" if isinstance(value, float) else str(value)[: 12 if name == "sealed" else None]
