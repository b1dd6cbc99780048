"""Tables of results: mean and standard error over repeats, as Markdown, CSV or LaTeX.

A *setting* is what results may be compared within: benchmark, version, test task, source, train size, seed or
secret seed, splits, and the protocol's version. Each makes one table with a row for each learner, shift and
share.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from nsl_bench.core.errors import UserError, unknown
from nsl_bench.core.metrics import METRICS
from nsl_bench.core.registry import Spec, create, pinned
from nsl_bench.core.shift import STANDARD
from nsl_bench.report.escaping import Format, csv_text, escaped, plain
from nsl_bench.report.ordering import sorted_rows
from nsl_bench.run.job import PROTOCOL, source_identity

if TYPE_CHECKING:
    import pandas as pd


DEFAULT_METRICS = (
    *("hypothesis_accuracy", "hypothesis_sequence_accuracy", "framework_accuracy", "sequence_accuracy"),
    *("effective_image_accuracy", "brier_score", "atoms", "learning_time", "prediction_time"),
)
"""Those of sequences are left out where a task has none."""
SETTING = (
    *("benchmark", "benchmark_version", "test_task", "source"),
    *("size", "splits", "seed", "sealed", "protocol"),
)
ROW = ("track", "network", "learner", "shift", "percent")
NOT_DEFINED = "not defined"
"""What tables show of a metric that compares with a true rule, where the task has none."""
NOT_APPLICABLE = "not applicable"
"""What tables show where a learner cannot take the task."""
_VERSIONS = ("learner_version", "network_version")
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


def comparable(runs: pd.DataFrame, status: str = "ok") -> pd.DataFrame:
    """The runs that count, in groups that were run alike; with another `status`, those that end so as well.

    Failed runs count with the majority class's metrics, if their record has any. Of several versions of a
    learner or a network the last one counts. Folders of one content are one source; a network's seeds are
    a column of their own, ``network_seed``.
    """
    done = _counting(runs, status)
    alike: pd.DataFrame = done.loc[_is_last(done)]
    return alike


def superseded(runs: pd.DataFrame) -> int:
    """How many runs are left out because a later version of their learner or network was run."""
    done = _counting(runs)
    return int((~_is_last(done)).sum())


def _counting(runs: pd.DataFrame, status: str = "ok") -> pd.DataFrame:
    """The runs that have answers, with names that tell apart what differs."""
    answered = runs.reindex(columns=_ANSWERED).notna().any(axis=1)
    done = runs[runs["status"].isin(["ok", status]) | answered].copy()
    for column in ("network", "splits"):
        done[column] = done[column].astype(object).where(done[column].notna(), "")
    seeds = {network: _seed_of(network) for network in done["network"].unique()}
    done["network_seed"] = [seeds[network][1] for network in done["network"]]
    done["network"] = [seeds[network][0] for network in done["network"]]
    fingerprinted = done["splits_fingerprint"] != ""
    done.loc[fingerprinted, "splits"] = (
        done[fingerprinted].groupby("splits_fingerprint")["splits"].transform("last")
    )
    kinds = done["source"].map(source_identity)
    done["source"] = done.groupby([kinds, "source_fingerprint"])["source"].transform("last")
    return done


def _is_last(done: pd.DataFrame) -> pd.Series:
    """Whether each run is of the last version of its learner and its network."""
    if done.empty:
        return pd.Series(False, index=done.index)
    line = [*SETTING, "track", "network", "learner"]
    versions = done[list(_VERSIONS)].agg("\n".join, axis=1)
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


def with_standard(runs: pd.DataFrame, status: str = "ok") -> pd.DataFrame:
    """The runs that count, each once for every curve on which it lies.

    Where nothing is shifted, one run is the first point of all curves. See `comparable` for `status`.
    """
    done = comparable(runs, status)
    pieces = []
    for _, group in done.groupby(list(SETTING), sort=False):
        names = [shift for shift in group["shift"].unique() if shift != STANDARD] or [STANDARD]
        for name in names:
            mine = _on_curve(group, group[group["shift"] == name].iloc[0])
            pieces.append(mine.assign(shift=name))
    return pd.concat(pieces, ignore_index=True) if pieces else done


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
    long = values.melt(id_vars=[*by, *axes], value_vars=list(metrics), var_name="metric")
    long = long.dropna(subset="value")
    long["metric"] = pd.Categorical(long["metric"], categories=list(metrics), ordered=True)
    grouped = long.groupby([*by, "metric"], sort=False, observed=True)
    table = grouped["value"].agg(mean="mean", std_err="sem", n="count").reset_index()
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
        repeat), ``n``.
    """
    for metric in metrics:
        if metric not in METRICS:
            raise unknown("metric", metric, METRICS)
    done = with_standard(runs)
    present = [metric for metric in metrics if metric in done]
    table = _mean_and_error(done, [*SETTING, *ROW], present)
    return sorted_rows(table, [*SETTING, "shift", "percent", "learner", "metric"])


def not_defined(runs: pd.DataFrame, metrics: Sequence[str] = DEFAULT_METRICS) -> pd.DataFrame:
    """The rows of `summarise` that there are not, because a task has no true rule to compare with.

    Returns:
        One row a setting, learner, shift, percentage and metric, with the number of runs, ``n``.
    """
    compared = [metric for metric in metrics if METRICS[metric].of_true_rule]
    if not compared or runs.empty:
        return pd.DataFrame(columns=[*SETTING, *ROW, "n", "metric"])
    done = with_standard(runs)
    tasks = [
        test_task or pinned(task, version)
        for task, version, test_task in done[["benchmark", "benchmark_version", "test_task"]].itertuples(
            index=False
        )
    ]
    lacking = done.loc[np.fromiter(map(_lacks_true_rule, tasks), np.bool_)]
    rows = lacking.groupby([*SETTING, *ROW], sort=False)["repeat"].count().rename("n").reset_index()
    return pd.concat([rows.assign(metric=metric) for metric in compared], ignore_index=True)


def not_applicable(runs: pd.DataFrame, metrics: Sequence[str] = DEFAULT_METRICS) -> pd.DataFrame:
    """The rows of `summarise` that there are not, because a learner cannot take the task.

    Returns:
        One row a setting, learner, shift, percentage and metric, with the number of runs, ``n``.
    """
    done = runs if runs.empty else with_standard(runs, _NOT_APPLICABLE)
    if done.empty or not (done["status"] == _NOT_APPLICABLE).any():
        return pd.DataFrame(columns=[*SETTING, *ROW, "n", "metric"])
    lacking = done[done["status"] == _NOT_APPLICABLE]
    rows = lacking.groupby([*SETTING, *ROW], sort=False)["repeat"].count().rename("n").reset_index()
    return pd.concat([rows.assign(metric=metric) for metric in metrics], ignore_index=True)


@cache
def _lacks_true_rule(task: str) -> bool:
    """Whether a task that is installed here has no true rule."""
    try:
        return not create("benchmark", task).true_rule
    except UserError:
        return False


def area_under_shift(runs: pd.DataFrame, metrics: Sequence[str] = DEFAULT_METRICS) -> pd.DataFrame:
    """Mean over percentages of each repeat's metric, then mean and standard error over repeats."""
    done = with_standard(runs)
    present = [metric for metric in metrics if metric in done]
    by = [*SETTING, "track", "network", "learner", "shift"]
    curve = done.groupby([*by, "repeat", *_SEEDS], sort=False)[present].mean().reset_index()
    return _mean_and_error(curve, by, present)


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


def heading_of(setting: Sequence[object]) -> str:
    """A setting in words."""
    values = dict(zip(SETTING, setting, strict=True))
    text = f"{values['benchmark']} {values['benchmark_version']}"
    if values["test_task"]:
        text += f" -> {values['test_task']}"
    text += f", {values['source']}, {values['size']}"
    if values["protocol"] != PROTOCOL:
        text += f", protocol {values['protocol']}"
    if values["sealed"]:
        text += f", sealed {str(values['sealed'])[:12]}"
    if values["splits"]:
        text += f", splits of {values['splits']}"
    return text if not values["seed"] else f"{text}, seed {values['seed']}"


def as_text(table: pd.DataFrame, format: Format, *, words: bool = False) -> str:
    """A table as text of a form.

    Args:
        words: whether its cells are words already; numbers get three digits.
    """
    if format == "html":
        digits: dict[str, Any] = {} if words else {"float_format": "{:.3f}".format}
        return str(table.to_html(index=False, border=0, **digits)) + "\n"
    if format == "csv":
        return csv_text(table)
    if format == "markdown":
        table = escaped(table, format)  # LaTeX is escaped where it is written
    style = "github" if format == "markdown" else "latex_booktabs"
    how: dict[str, Any] = {"disable_numparse": True} if words else {"floatfmt": ".3f"}
    return str(table.to_markdown(index=False, tablefmt=style, **how)) + "\n"


def titled(title: str, body: str, format: Format) -> str:
    """A text below a heading in its form; CSV has none."""
    marks = {"markdown": "## {}\n\n", "latex": "% {}\n", "html": "<h3>{}</h3>\n", "csv": ""}
    return f"{marks[format].format(plain(title, format))}{body.rstrip()}\n"


def without_constant(table: pd.DataFrame) -> pd.DataFrame:
    """A table without its columns ``track`` and ``network`` where all rows have the same."""
    return table.drop(columns=[name for name in ("track", "network") if table[name].nunique() == 1])


def render(runs: pd.DataFrame, format: Format = "markdown", metrics: Sequence[str] = DEFAULT_METRICS) -> str:
    """The tables of all settings as text.

    Args:
        format: ``"csv"`` gives numbers (one row a metric); the others tables for people.
    """
    table = summarise(runs, metrics)
    if format == "csv":
        return csv_text(table)
    cells = map(cell, table["mean"], table["std_err"], table["metric"])
    table = table.assign(cell=list(cells), metric=table["metric"].astype(str))
    for others, words in (
        (not_defined(runs, metrics), NOT_DEFINED),
        (not_applicable(runs, [metric for metric in metrics if metric in runs]), NOT_APPLICABLE),
    ):
        if len(others):
            table = pd.concat([table, others.assign(cell=words)], ignore_index=True)
    pieces = []
    for setting, group in table.groupby(list(SETTING), sort=False):
        wide = group.pivot_table(
            index=["shift", "percent", "learner", "track", "network"],
            columns="metric",
            values="cell",
            aggfunc="first",
            observed=True,
            sort=False,
        )
        counts = group.groupby(["shift", "percent", "learner", "track", "network"], sort=False)["n"].max()
        wide.insert(0, "n", counts)
        wide = wide.fillna("").reset_index()
        wide = without_constant(wide)
        wide["percent"] = [f"{p:g}" for p in wide["percent"]]
        titles = {name: METRICS[name].title for name in wide.columns if name in METRICS}
        wide = wide.rename(columns={**titles, "percent": "shifted (%)", "n": "repeats"})
        heading = heading_of(setting if isinstance(setting, tuple) else (setting,))
        pieces.append(titled(heading, as_text(wide, format, words=True), format))
    return "\n".join(pieces) if pieces else "No finished runs.\n"


_LINE = ["learner", "track", "network"]


def render_wide(
    runs: pd.DataFrame, format: Format = "markdown", metrics: Sequence[str] = DEFAULT_METRICS
) -> str:
    """A table for each setting, shift and metric.

    Args:
        format: of the text; ``"csv"`` gives means without errors or marks, all tables one below the other.
    """
    table = summarise(runs, metrics)
    pieces = []
    for place, group in table.groupby([*SETTING, "shift", "metric"], sort=False, observed=True):
        *setting, shift, name = map(str, place) if isinstance(place, tuple) else ()
        metric = METRICS[name]
        mean = group.pivot_table("mean", _LINE, "percent", observed=True, sort=False)
        error = group.pivot_table("std_err", _LINE, "percent", observed=True, sort=False, dropna=False)
        if format == "csv":
            lead = {**dict(zip(SETTING, setting, strict=True)), "shift": shift, "metric": name}
            flat = mean.reset_index()
            for k, (column, value) in enumerate(lead.items()):
                flat.insert(k, column, value)
            pieces.append(csv_text(flat))
            continue
        cells = _cells(mean, error.reindex_like(mean), name, format).reset_index()
        for column in _LINE:
            cells[column] = [plain(str(name), format) for name in cells[column]]
        cells = without_constant(cells)
        cells.columns = [c if isinstance(c, str) else f"{c:g} %" for c in cells.columns]
        title = f"{heading_of(setting)}: {metric.title}, shift {shift}"
        pieces.append(_text(cells, title, format))
    lacking = not_applicable(runs, metrics[:1])
    for place, group in lacking.groupby([*SETTING, "shift"], sort=False):
        *setting, shift = map(str, place) if isinstance(place, tuple) else ()
        title = f"{heading_of(setting)}, shift {shift}: {NOT_APPLICABLE}"
        if format != "csv":
            learners = ", ".join(dict.fromkeys(group["learner"]))
            pieces.append(titled(title, f"{plain(learners, format)}: cannot take this task", format))
    for place, _ in not_defined(runs, metrics).groupby([*SETTING, "shift", "metric"], sort=False):
        *setting, shift, name = map(str, place) if isinstance(place, tuple) else ()
        title = f"{heading_of(setting)}: {METRICS[name].title}, shift {shift}"
        if format != "csv":
            pieces.append(titled(title, f"{NOT_DEFINED}: the task has no true rule", format))
    return "\n".join(pieces) if pieces else "No finished runs.\n"


def _cells(mean: pd.DataFrame, error: pd.DataFrame, name: str, format: str) -> pd.DataFrame:
    """Mean and standard error as text; of each column the best is bold, as it is shown."""
    metric = METRICS[name]
    rounded = mean.round(metric.digits)
    best = rounded.max() if metric.higher_is_better else rounded.min()
    cells = mean.astype(object)
    for row in mean.index:
        for column in mean.columns:
            value, spread = mean.loc[row, column], error.loc[row, column]
            if np.isnan(value):
                cells.loc[row, column] = ""
                continue
            text = cell(value, spread, name)
            marked = metric.higher_is_better is not None and rounded.loc[row, column] == best[column]
            if marked and len(mean) > 1:
                bold = {"latex": rf"\textbf{{{text}}}", "html": f"<b>{text}</b>"}
                text = bold.get(format, f"**{text}**")
            cells.loc[row, column] = text
    return cells


def _text(cells: pd.DataFrame, title: str, format: Format) -> str:
    """Cells that are text of the form already, below a heading."""
    if format == "html":
        return titled(title, cells.to_html(index=False, escape=False, border=0), format)
    if format == "latex":
        body = cells.to_latex(index=False, escape=False).replace("±", r"$\pm$").replace(" %", r" \%")
        return titled(title, body, format)
    return titled(title, cells.to_markdown(index=False, tablefmt="github", disable_numparse=True), format)
