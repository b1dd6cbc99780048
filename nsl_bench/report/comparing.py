"""Which learner is better: bold means of wide tables, and tables of differences to one learner.

Both are paired differences with the intervals of `nsl_bench.report.intervals`, corrected by Holm's method
over all comparisons of a table and metric.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from nsl_bench.core.errors import UserError
from nsl_bench.core.metrics import METRICS
from nsl_bench.report.completed import Runs
from nsl_bench.report.intervals import corrected, differences
from nsl_bench.report.ordering import sorted_rows
from nsl_bench.report.tables import FAILED, LINE, SETTING, comparable, heading, listed, varying
from nsl_bench.report.typeset import Cell, Laid, laid
from nsl_bench.run.statistics import verdict

_PLACE = [*SETTING, "shift", "percent"]
Line = tuple[str, ...]


def _lines(runs: pd.DataFrame) -> dict[Line, pd.DataFrame]:
    """The runs of each learner, track and network, whatever the network's seed."""
    done = comparable(runs)
    return {line: runs.loc[part.index] for line, part in done.groupby(LINE, sort=False)}  # type: ignore[misc]


def supported(table: pd.DataFrame, runs: pd.DataFrame, results: Runs) -> pd.Series[bool]:
    """Whether each mean is better than every other one beside it.

    Means that cover failed runs, or stand beside means of other numbers of runs, are not called better.

    Args:
        table: rows of `nsl_bench.report.tables.summarise`, of one task.
        runs: the runs of that task.
        results: where their predictions are.
    """
    lines, found = _lines(runs), pd.Series(False, index=table.index)
    kept: dict[tuple[Line, Line, str], dict[Any, float]] = {}

    def p_value(first: Line, second: Line, metric: str, place: Any) -> float:
        pair = (first, second, metric)
        if pair not in kept:
            try:
                known = differences([(lines[line], results) for line in pair[:2]], metric, draws=0)
                kept[pair] = known.set_index(_PLACE)["p_value"].to_dict()
            except UserError:  # nothing that can be paired
                kept[pair] = {}
        return kept[pair].get(place, math.nan)

    for name, part in table.groupby("metric", sort=False, observed=True):
        metric, claims = METRICS[str(name)], list[tuple[Any, list[float]]]()
        if metric.higher_is_better is None:
            continue
        for place, cells in part.groupby(_PLACE, sort=False):
            best: Any = cells["mean"].idxmax() if metric.higher_is_better else cells["mean"].idxmin()
            if len(cells) < 2 or cells["n"].nunique() > 1 or cells["failed"][best]:
                continue
            of = dict(zip(cells.index, cells[LINE].itertuples(index=False, name=None), strict=True))
            mine, others = of.pop(best), of.values()
            claims.append((best, [p_value(mine, other, metric.name, place) for other in others]))
        left = iter(corrected([p for _, each in claims for p in each]))
        for best, each in claims:
            mine = [next(left) for _ in each]
            found[best] = all(verdict(1.0, p) == "better" for p in mine)
    return found


def against(runs: pd.DataFrame, results: Runs, reference: str, metrics: Sequence[str] = ()) -> pd.DataFrame:
    """Paired differences of every other learner to one.

    Args:
        runs: of any tasks.
        results: where their predictions are.
        reference: the learner, as the runs name it.
        metrics: by default framework accuracy, or hypothesis accuracy where there are no images.

    Returns:
        One row a setting, learner, shift, share and metric: the columns of `nsl_bench.compare`, how many
        pairs have a ``failed`` run, and the ``verdict``: better, tie or worse; empty if not known.
    """
    pieces = []
    for first, second in _pairs(_lines(runs), reference):
        default = "hypothesis_accuracy" if first[1] == "symbolic" else "framework_accuracy"
        for metric in metrics or (default,):
            try:
                sides = [(frame, results) for frame in (first[3], second[3])]
                pieces.append(differences(sides, metric).assign(**dict(zip(LINE, first, strict=False))))
            except UserError:  # not on the same data, or not applicable to one of them
                continue
    if not pieces:
        raise UserError(f"No other learner and {reference} have a run in common that is applicable to both.")
    table = sorted_rows(pd.concat(pieces, ignore_index=True), [*_PLACE, "learner"])
    for _, part in table.groupby(["benchmark", "metric"]):
        table.loc[part.index, "p_value"] = corrected(part["p_value"].tolist())
    higher = [METRICS[name].higher_is_better for name in table["metric"]]
    signs, directed = [-1 if one is False else 1 for one in higher], [one is not None for one in higher]
    known = table["p_value"].where(pd.Series(directed, index=table.index))
    table["verdict"] = list(map(verdict, table["difference"] * signs, known))
    return table


def _pairs(lines: dict[Line, pd.DataFrame], reference: str) -> Iterator[tuple[Any, Any]]:
    """Each other line with the reference's of the same network: both on images, or both on true concepts."""
    for first, ours in lines.items():
        for second, theirs in lines.items():
            alike = (first[1] == "symbolic") == (second[1] == "symbolic")
            through = first[2] in ("", second[2]) or not second[2]
            if first[0] != reference and second[0] == reference and alike and through:
                yield (*first, ours), (*second, theirs)


def against_tables(table: pd.DataFrame, reference: str) -> list[Laid]:
    """The rows of `against` as a table for each task."""
    made = []
    for task, group in table.groupby("benchmark", sort=False):
        metrics, fields = list(group["metric"].unique()), varying(group)
        title, about = heading(group, str(task), metrics)
        keys = [name for name in LINE if name == "learner" or name in fields]
        blocks = [name for name in fields if name not in (*keys, "percent")] + ["metric"] * (len(metrics) > 1)
        shown = group[keys].assign(**{"shifted (%)": group["percent"].map("{:g}".format)})
        columns: dict[str, list[Any]] = {"difference": [], "95 % interval": [], "p": []}
        for row in group.to_dict("records"):
            digits, p = METRICS[row["metric"]].digits, row["p_value"]
            between = f"{row['low']:+.{digits}f} to {row['high']:+.{digits}f}"
            difference = Cell(f"{row['difference']:+.{digits}f}", marked=bool(row["failed"]))
            words = ("", "") if math.isnan(p) else (between, f"{p:.3f}" if p >= 0.0005 else "<0.001")
            for column, value in zip(columns.values(), (difference, *words), strict=True):
                column.append(value)
        shown = pd.concat([shown, pd.DataFrame(columns, index=shown.index)], axis=1)
        shown = shown.assign(verdict=group["verdict"], pairs=group["n"])
        about += f" Learner minus {reference}: mean paired differences, Holm-corrected over the table."
        notes = [FAILED + "."] if group["failed"].any() else []
        title = f"{title}, compared with {reference}"
        made.append(laid(title, shown, about, notes, listed(group, blocks, str(task))))
    return made
