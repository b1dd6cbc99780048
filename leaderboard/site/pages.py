"""What the overview and a learner's page hold, as plain values for the templates."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from nsl_bench.core.metrics import METRICS
from nsl_bench.core.shift import STANDARD

from ..board import AREAS, Board
from ..contests import Cell, Contest
from ..entries import NAMES, Area, Entry
from ..score_report import Spread

_RULES = 8
_CHARACTERS = {"asp": 400, "tree": 200}
"""Rules of a hypothesis shown on a learner's page, and their length; the run's page has them all."""


@dataclass(frozen=True)
class OverviewRow:
    """A row of the overview: an entry in one contest, or in all of its track (`contest` is None).

    Attributes:
        entry: which.
        contest: which, None for the mean over all contests.
        rank: in the contest; the mean rank over all contests; None if it has none.
        of: how many have a rank in it.
        areas: mean over shares by metric.
        runs: number of runs.
        failures: how many of them failed.
        entered: in how many contests.
        open: how many contests its track has.
    """

    entry: Entry
    contest: Contest | None
    rank: float | None
    of: int
    areas: Mapping[str, Area | None]
    runs: int
    failures: int
    entered: int
    open: int

    @property
    def why_unranked(self) -> str:
        """Why an entry that has its runs is not ranked; empty if it is."""
        if self.entry.manifest.told_the_answer:
            return "told the answer"
        return "all of its runs failed" if self.failures == self.runs else ""


def overview_rows(board: Board) -> list[OverviewRow]:
    """A row an entry over all contests, then a row an entry and contest; best first."""
    rows = []
    for entry in board.entries:
        mine = [contest for contest in board.contests if contest.name in entry.values]
        each = []
        for contest in mine:
            rank = board.rank(entry, contest)
            areas = {metric: board.area(entry, contest, metric) for metric in AREAS}
            runs = sum(length > 0 for _, length in entry.spans[contest.name])
            failures = entry.failures(contest)
            each.append(OverviewRow(entry, contest, rank.rank, rank.of, areas, runs, failures, 1, 1))
        rows += [_over_all(board, entry, each), *each]
    rows.sort(key=lambda row: _order(board, row))
    return rows


def _over_all(board: Board, entry: Entry, each: Sequence[OverviewRow]) -> OverviewRow:
    """The mean over the public contests or those of a sealed round; only if all of the track were entered."""
    open_to_it = board.open_to(entry.track, entry.manifest.round)
    areas: dict[str, Area | None] = {}
    for metric in AREAS:
        each_area = [row.areas[metric] for row in each]
        defined = [area for area in each_area if area is not None]
        areas[metric] = None
        if len(defined) == len(open_to_it):
            error = float(np.sqrt(sum(area.std_err**2 for area in defined)) / len(defined))
            areas[metric] = Area(float(np.mean([area.mean for area in defined])), error)
    ranks = [row.rank for row in each if row.rank is not None]
    return OverviewRow(
        entry,
        None,
        float(np.mean(ranks)) if len(ranks) == len(open_to_it) else None,
        max((row.of for row in each), default=0),
        areas,
        sum(row.runs for row in each),
        sum(row.failures for row in each),
        len(each),
        len(open_to_it),
    )


def _order(board: Board, row: OverviewRow) -> tuple[bool, str, bool, float, float, str]:
    """All contests first, then contest by contest; by rank, then by the area that ranks."""
    name = row.contest.name if row.contest else ""
    metric = board.main_metric(row.entry.track)
    area, sign = row.areas[metric], -1 if METRICS[metric].higher_is_better else 1
    mean = sign * area.mean if area else 0.0
    return (row.contest is not None, name, row.rank is None, row.rank or 0.0, mean, row.entry.title)


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
    rank: int | None
    of: int
    areas: Mapping[str, Area | None]
    spreads: Mapping[str, Spread]
    failures: int
    command: str
    points: Sequence[Point]
    hypotheses: Sequence[tuple[str, Sequence[Hypotheses]]]


def learner_page(
    board: Board, entry: Entry, contest: Contest, records: Sequence[tuple[Cell, dict[str, Any]]]
) -> ContestOfLearner:
    """What a learner's page says about a contest."""
    rank = board.rank(entry, contest)
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
        rank.rank,
        rank.of,
        {metric: board.area(entry, contest, metric) for metric in metrics},
        {m: entry.spreads[contest.name, m] for m in metrics if (contest.name, m) in entry.spreads},
        entry.failures(contest),
        command,
        list(_points(entry, contest, records, metrics)),
        list(_hypotheses(contest, entry.track, records)),
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
                error = (
                    float(numbers.std(ddof=1) / np.sqrt(len(numbers))) if len(numbers) > 1 else float("nan")
                )
                means[metric] = (float(numbers.mean()), error)
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
