"""What the overview and a learner's page hold, as plain values for the templates."""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from nsl_bench.core.metrics import METRICS
from nsl_bench.core.shift import STANDARD
from nsl_bench.run.statistics import std_err

from ..board import AREAS, Board, Rank
from ..comparing import Difference
from ..contests import Cell, Contest
from ..entries import NAMES, Area, Entry
from ..reading import Run, Tunings
from ..score_report import Spread

_RULES = 8
_CHARACTERS = {"asp": 400, "tree": 200}
"""Rules of a hypothesis shown on a learner's page, and their length; the run's page has them all."""


@dataclass(frozen=True)
class Row:
    """An entry in a contest.

    Attributes:
        entry, contest: which.
        rank: the ranks that it can have.
        metric: the metric that is compared; the one that ranks unless another is asked for.
        difference: to FFNSL, by this metric; None for FFNSL itself and where it is not known.
        to_best: to the best entry, by the same metric.
        without_shift: the metric at 0 %.
        lost: what the mean over shares lacks to it.
        areas: mean over shares by metric; that of the compared one is there in any case.
        succeeded: the metric's mean over the runs that did not fail, where some did; else None.
        runs: number of runs.
        failures: how many of them failed.
    """

    entry: Entry
    contest: Contest
    rank: Rank
    metric: str
    difference: Difference | None
    to_best: Difference | None
    without_shift: float
    lost: float
    areas: Mapping[str, Area | None]
    succeeded: float | None
    runs: int
    failures: int

    @property
    def why_unranked(self) -> str:
        """Why an entry has no rank; empty if it has one."""
        if self.rank.first is not None:
            return ""
        if self.entry.manifest.told_the_answer:
            return "told the answer"
        return "all of its runs failed" if self.failures == self.runs else "runs are missing"


def rows_of(board: Board, contest: Contest, metrics: Sequence[str] = AREAS, metric: str = "") -> list[Row]:
    """A row an entry of a contest, best first; those without a rank come last.

    Args:
        metric: what is compared; by default the metric that ranks.
    """
    rows = [row_of(board, contest, entry, metrics, metric) for entry in board.of(contest)]
    rows.sort(key=_order)
    return rows


def with_values(metrics: Sequence[str], rows: Sequence[Row], least: float = 0.0) -> list[str]:
    """The metrics that a row has a number of, or more than a share `least` of all rows."""
    often = {metric: sum(row.areas.get(metric) is not None for row in rows) for metric in metrics}
    return [metric for metric, n in often.items() if n > least * len(rows)]


def row_of(board: Board, contest: Contest, entry: Entry, metrics: Sequence[str], metric: str = "") -> Row:
    """The row of an entry; see `rows_of`."""
    metric = metric or board.main_metric(entry.track)
    area, start = board.area(entry, contest, metric), entry.without_shift(contest, metric)
    sign = 1 if METRICS[metric].higher_is_better else -1
    comparison = board.comparison(contest, metric, entry.track)
    best = None
    if comparison is not None and entry in comparison and entry is not comparison.best:
        best = comparison.difference(entry, comparison.best)
    return Row(
        entry,
        contest,
        board.rank(entry, contest),
        metric,
        board.differences(contest, metric).get(entry),
        best,
        start,
        sign * (start - area.mean) if area else math.nan,
        {metric: board.area(entry, contest, metric) for metric in (*metrics, metric)},
        entry.succeeded(contest, metric),
        sum(length > 0 for _, length in entry.spans[contest.name]),
        entry.failures(contest),
    )


def _order(row: Row) -> tuple[bool, bool, float, str]:
    """By the compared metric, entries on images before those on true concepts."""
    area, sign = row.areas[row.metric], -1 if METRICS[row.metric].higher_is_better else 1
    mean = sign * area.mean if area else math.inf
    return (row.entry.track == "symbolic", bool(row.why_unranked), mean, row.entry.title)


@dataclass(frozen=True)
class Point:
    """A point of a learner's curves: mean and standard error a metric, and its runs.

    A run is its repeat, its name and how it failed, ``""`` if it did not.
    """

    shift: str
    percent: float
    means: Mapping[str, tuple[float, float]]
    runs: Sequence[tuple[int, str, str]]


@dataclass(frozen=True)
class Hypotheses:
    """What was learned at one share of shift, or at several in a row where nothing else was learned.

    Attributes:
        percents: shares of shifted examples.
        distinct: each distinct hypothesis: its first rules, how many more there are, the length of the one
            rule shown if it is cut, else 0, its language, the repeats that learned it, one of their runs,
            and its metrics.
    """

    percents: tuple[float, ...]
    distinct: Sequence[Mapping[str, Any]]

    @property
    def title(self) -> str:
        """The shares as a heading, e.g. ``"0 to 80 %"``."""
        first, last = self.percents[0], self.percents[-1]
        return f"{first:g} %" if first == last else f"{first:g} to {last:g} %"


@dataclass(frozen=True)
class ContestOfLearner:
    """A contest on a learner's page."""

    contest: Contest
    row: Row
    spreads: Mapping[str, Spread]
    command: str
    points: Sequence[Point]
    hypotheses: Sequence[tuple[str, Sequence[Hypotheses]]]
    given: Mapping[str, object]
    tunings: Tunings | None

    @property
    def with_values(self) -> set[str]:
        """The metrics that it has any number of."""
        return {metric for point in self.points for metric in point.means}


def learner_page(
    board: Board,
    entry: Entry,
    contest: Contest,
    records: Sequence[tuple[Cell, dict[str, Any]]],
    submitted: Mapping[str, Run],
    given: Mapping[str, object],
) -> ContestOfLearner:
    """What a learner's page says about a contest."""
    manifest = entry.manifest
    limits = {record["time_limit"] for _, record in records} - {None}
    command = contest.command(
        manifest.learner,
        entry.track,
        entry.network or None,
        time_limit=limits.pop() if len(limits) == 1 else None,
    )
    if contest.sealed_round and records:  # of predictions there is no command that makes them again
        command = records[0][1]["command"]
    metrics = board.areas_of(contest)
    return ContestOfLearner(
        contest,
        row_of(board, contest, entry, metrics),
        {m: entry.spreads[contest.name, m] for m in metrics if (contest.name, m) in entry.spreads},
        command,
        list(_points(entry, contest, records, metrics)),
        list(_hypotheses(contest, entry.track, records)),
        given,
        Tunings.of(submitted[record["run"]] for _, record in records),
    )


def _points(
    entry: Entry, contest: Contest, records: Sequence[tuple[Cell, dict[str, Any]]], metrics: Sequence[str]
) -> Iterator[Point]:
    place = {cell: k for k, cell in enumerate(contest.cells_of(entry.track))}
    values, failed = entry.values[contest.name], entry.failed[contest.name]
    groups: dict[tuple[str, float], list[tuple[Cell, str]]] = {}
    for cell, record in records:
        groups.setdefault((cell.shift, cell.percent), []).append((cell, record["run"]))
    order = {shift: k for k, shift in enumerate((STANDARD, *contest.shifts))}
    for shift, percent in sorted(groups, key=lambda key: (order.get(key[0], 0), key[1])):
        members = groups[shift, percent]
        mine = values[[place[cell] for cell, _ in members]]
        means = {}
        for metric in metrics:
            column = mine[:, NAMES.index(metric)]
            numbers = column[~np.isnan(column)]
            if len(numbers):
                means[metric] = (float(numbers.mean()), std_err(numbers))
        yield Point(shift, percent, means, [(c.repeat, run, failed[place[c]]) for c, run in members])


def _hypotheses(
    contest: Contest, track: str, records: Sequence[tuple[Cell, dict[str, Any]]]
) -> Iterator[tuple[str, list[Hypotheses]]]:
    """By shift: what was learned at each percentage, the 0 % point at every shift."""
    for shift in contest.shifts if track != "symbolic" else (STANDARD,):
        columns: dict[float, dict[tuple[str, ...], list[tuple[Cell, dict[str, Any]]]]] = {}
        for cell, record in records:
            if record.get("rules") and cell.shift in (shift, STANDARD):
                columns.setdefault(cell.percent, {}).setdefault(tuple(record["rules"]), []).append(
                    (cell, record)
                )
        if columns:
            yield shift, _merged(sorted(columns.items()))


def _merged(
    columns: Sequence[tuple[float, dict[tuple[str, ...], list[tuple[Cell, dict[str, Any]]]]]],
) -> list[Hypotheses]:
    """Neighbouring percentages in one where every repeat of both learned the same hypotheses."""
    merged: list[Hypotheses] = []
    before: dict[tuple[str, ...], list[int]] = {}
    for percent, learned in columns:
        now = {rules: [cell.repeat for cell, _ in members] for rules, members in learned.items()}
        if now == before:
            merged[-1] = replace(merged[-1], percents=(*merged[-1].percents, percent))
        else:
            distinct = [_distinct(rules, members) for rules, members in learned.items()]
            merged.append(Hypotheses((percent,), distinct))
        before = now
    return merged


def _distinct(rules: tuple[str, ...], members: Sequence[tuple[Cell, dict[str, Any]]]) -> dict[str, Any]:
    first = members[0][1]
    language = first["language"]
    longest = _CHARACTERS[language]
    ends = itertools.accumulate(len(rule) for rule in rules[:_RULES])
    n = max(sum(end <= longest for end in ends), 1)
    return {
        "rules": [rule[:longest] for rule in rules[:n]],
        "more": len(rules) - n,
        "cut": len(rules[0]) if len(rules[0]) > longest else 0,
        "language": language,
        "repeats": [cell.repeat for cell, _ in members],
        "run": first["run"],
        "metrics": first["metrics"],
    }
