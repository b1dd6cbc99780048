"""Papers whose figures are tables: for each published row the runs that measure it, and the comparison.

A rule of the paper's TOML file says for rows that it fits which task, learner and metric they are of, or why
nothing here can be compared with them. A row of statements compares two learners.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from nsl_bench.core.errors import UserError
from nsl_bench.core.registry import Spec
from nsl_bench.run.job import Job
from nsl_bench.run.plan import Made, plan
from nsl_bench.run.record import Record
from nsl_bench.run.store import Store

from .equivalence import LEVEL, Comparison, Mean, compare_means, known_error, repeats_needed
from .figures import Badge, Figure, badge_of, both_sides
from .papers import Paper, Rule, paper, table
from .reasons import reason_of

UNKNOWN = "no run here measures it"

_QUICK, QUICK_MINUTES = 3, 10
"""Repeats in the preset ``quick``, and the longest run of it."""

_POWERFUL = 2.49
"""Quantile of 95 % plus that of 80 %: with so many standard errors a one-sided test has this power."""


@dataclass(frozen=True)
class Planned:
    """A published row and the runs that measure it.

    Attributes:
        row: of the paper's table.
        rule: that fits it.
        jobs, others: runs of its learner, and of the learner that a statement or a ratio
            compares it with.
        under: the runs under each condition of the rule.
        reason: why there are none.
    """

    row: Mapping[str, Any]
    rule: Rule
    jobs: Sequence[Job] = field(default_factory=tuple)
    others: Sequence[Job] = field(default_factory=tuple)
    under: Sequence[Sequence[Job]] = field(default_factory=tuple)
    reason: str = ""


def planned(name: str, preset: str, data: Path) -> list[Planned]:
    """Every row of a paper's table with its runs.

    Args:
        preset: ``quick`` (three repeats, this package's networks) or ``paper``.
        data: folder with ``mnist/``, and for tables ``uci/``.
    """
    about, found = paper(name), []
    made: Made = {}
    rows: Any = table(name).to_dict("records")
    for row in rows:
        texts = _texts(row)
        rule = _rule(about, texts)
        if rule is None or rule.reason:
            reason = rule.reason if rule else UNKNOWN
            found.append(Planned(texts, rule or Rule({}), reason=reason))
            continue
        named = _named(texts, rule) | {"data": str(data)}
        rule = replace(rule, metric=rule.metric.format_map(named))
        try:
            jobs, others = (
                list(_jobs(learner, named, rule, preset, made)) for learner in (rule.learner, rule.against)
            )
        except UserError as error:
            found.append(Planned(texts, rule, reason=str(error)))
            continue
        conditions = rule.conditions.items() if preset == "paper" else ()
        under = [_jobs_if_there(one, named, rule, made) for one, where in conditions if _fits(where, texts)]
        found.append(Planned(texts, rule, jobs, others, list(filter(None, under))))
    return found


def _named(texts: Mapping[str, str], rule: Rule) -> dict[str, str]:
    """A row's cells with our names for the paper's."""
    ours = {column: names for columns, names in rule.names.items() for column in columns.split("|")}
    return {column: ours.get(column, {}).get(text, text) for column, text in texts.items()}


def _jobs_if_there(template: str, named: Mapping[str, str], rule: Rule, made: Made) -> list[Job]:
    """The runs under a condition; none without its images."""
    try:
        return list(_jobs(template, named, rule, "paper", made))
    except UserError:
        return []


def _jobs(template: str, named: Mapping[str, str], rule: Rule, preset: str, made: Made) -> Iterator[Job]:
    """The runs of one learner for a row; none for an empty template."""
    learner, network, task, source = (*template.format_map(named).split(" @ "), "", "", "")[:4]
    if not learner:
        return
    if network and preset == "paper":
        network = rule.networks.get(network, network)
    repeats = min(rule.repeats, _QUICK) if preset == "quick" else rule.repeats
    given: dict[str, Any] = {**rule.grid, "networks": network or None, "repeats": range(1, repeats + 1)}
    if "percents" in named:
        given["percents"] = tuple(map(float, named["percents"].split()))
    if named.get("setting") == "test":
        given["test_percents"] = given.pop("percents")
    for key, value in given.items():
        if isinstance(value, str):
            given[key] = value.format_map(named)
        elif key == "test_tasks":
            given[key] = [task.format_map(named) for task in value]
    if source:
        given["sources"] = source
    yield from plan(task or rule.benchmark.format_map(named), [learner], made=made, **given)


def compare_rows(rows: Sequence[Planned], store: Store) -> list[Figure]:
    """Compare every published row that has finished runs; rows that cannot be compared have no numbers."""
    records = {key: record for key, record in store.latest().items() if record.status == "ok"}
    figures = []
    for one in rows:
        plain, others = (_values(jobs, records, one.rule) for jobs in (one.jobs, one.others))
        values = _against(one, plain, others)
        if values or one.reason:
            figure = _figure(one, list(values.values()))
            done = len(plain.keys() & others.keys() if one.others else plain)
            if figure.badge == "not enough data" and done >= one.rule.repeats:
                figure = replace(figure, badge="undecidable", needed=math.nan)
            if figure.badge == "differs":
                published = Mean(figure.published, figure.published_std_err, figure.published_repeats)
                reasons = (
                    reason_of(
                        f"{jobs[0].learner} on {jobs[0].benchmark} of {jobs[0].source.partition(':')[0]}",
                        values,
                        _against(one, _values(jobs, records, one.rule), others),
                        published,
                        one.rule.margin,
                    )
                    for jobs in one.under
                )
                figure = replace(figure, reason=next(filter(None, reasons), ""))
            figures.append(figure)
    return figures


def _against(one: Planned, values: dict[int, float], others: Mapping[int, float]) -> dict[int, float]:
    """The figure of a row by repeat: its learner's values, or what they are to those of the other."""
    if not one.others:
        return values
    ratio = _is_ratio(one)
    both = [k for k in values if k in others and (others[k] or not ratio)]
    return {k: values[k] / others[k] if ratio else values[k] - others[k] for k in both}


def _is_ratio(one: Planned) -> bool:
    """Whether a row is a ratio of two learners, not a statement on their difference."""
    return bool(one.others) and not one.row.get("relation")


def _values(jobs: Sequence[Job], records: Mapping[str, Record], rule: Rule) -> dict[int, float]:
    """The figure by repeat, a mean over test tasks and shares; repeats with missing runs are left out."""
    found: dict[int, list[float]] = {}
    missing = set()
    for job in jobs:
        record = records.get(job.key())
        if record is None or rule.metric not in record.metrics:
            missing.add(job.repeat)
        else:
            found.setdefault(job.repeat, []).append(rule.unit * record.metrics[rule.metric])
    return {k: sum(v) / len(v) for k, v in sorted(found.items()) if k not in missing}


def _figure(one: Planned, values: Sequence[float]) -> Figure:
    """The figure of a row, of NaN where nothing was measured."""
    row, rule = one.row, one.rule
    count = float(row.get("n_repeats") or rule.repeats)
    mean, deviation = (float(row.get(name) or "nan") for name in ("mean", "std"))
    published = Mean(mean, 0.0 if math.isnan(deviation) else deviation / count**0.5, int(count))
    ours = Mean.of(values) if values else Mean(math.nan, math.nan, 0)
    job = one.jobs[0] if one.jobs else None
    silent = ("mean", "std", "n_repeats", "metric", "note")
    words = [
        text + " %" * (column == "percents") for column, text in row.items() if text and column not in silent
    ]
    untested: dict[str, Any] = dict.fromkeys(
        ("margin", "p_equivalent", "p_different", "power", "needed"), math.nan
    )
    figure = Figure(
        benchmark=job.benchmark if job else (row.get("dataset") or row.get("task") or ""),
        learner=job.learner if job else row.get("method", ""),
        penalties="",
        network=Spec.parse(job.network).name if job and job.network else "",
        size=job.size if job else "",
        shift=", ".join(words),
        percent=math.nan,
        metric=(rule.metric or row.get("metric", "")) + " as a ratio" * _is_ratio(one),
        counting="paper",
        **both_sides(published, ours),
        **untested,
        badge="not comparable",
        reason=one.reason,
    )
    if one.reason or not values:
        return figure
    if row.get("relation") in ("above", "below"):
        return _judged_statement(figure, ours, 1 if row["relation"] == "above" else -1, rule.repeats)
    known = known_error(ours.value, rule.unit, rule.tested, rule.printed)
    compared = compare_means(ours, published, rule.margin, known)
    needed = repeats_needed(ours, published, rule.margin, known)
    if needed is not None and needed > rule.repeats:
        needed = None
    badge = badge_of(compared, ours.repeats, decidable=needed is not None)
    return _tested(figure, compared, badge, math.nan if needed is None else max(needed, _QUICK))


def _judged_statement(figure: Figure, lead: Mean, sign: int, most: int) -> Figure:
    """Whether one learner is above (or below) another, by one-sided tests of the paired differences.

    Args:
        most: how many repeats the paper has.
    """
    compared = compare_means(lead, Mean(0.0, 0.0, lead.repeats), 1.0)
    p = compared.p_different / 2
    as_said, not_so = (p, 1 - p) if sign * lead.value > 0 else (1 - p, p)
    badge: Badge = "reproduced" if as_said < LEVEL else "differs" if not_so < LEVEL else "undecided"
    needed = math.nan
    if badge == "undecided" and sign * lead.value > 0 and lead.repeats > 1:
        needed = math.ceil(lead.repeats * (_POWERFUL * lead.std_err / lead.value) ** 2)
        badge = "not enough data" if needed <= most else "undecidable"
    tested = replace(compared, margin=math.nan, p_equivalent=as_said, p_different=not_so, power=math.nan)
    return _tested(figure, tested, badge, needed)


def _tested(figure: Figure, compared: Comparison, badge: Badge, needed: float) -> Figure:
    tests = {name: getattr(compared, name) for name in ("margin", "p_equivalent", "p_different", "power")}
    return replace(figure, **tests, needed=float(needed), badge=badge)


def causes(name: str) -> Counter[str]:
    """How many figures of a paper cannot be compared, by the reason; those that can under an empty text."""
    about, found = paper(name), Counter[str]()
    for file in about.tables or (name,):
        rows: Any = table(file).to_dict("records")
        for row in rows:
            rule = _rule(about, {"table_file": file, **_texts(row)})
            found[rule.reason if rule else UNKNOWN] += 1
    return found


def _texts(row: Mapping[str, Any]) -> dict[str, str]:
    """The cells of a row; whole numbers without a point, although a column with empty cells has floats."""
    return {column: "" if value != value else str(value).removesuffix(".0") for column, value in row.items()}


def _rule(about: Paper, texts: Mapping[str, str]) -> Rule | None:
    """The first rule that fits a row."""
    return next((rule for rule in about.rules if _fits(rule.where, texts)), None)


def _fits(where: Mapping[str, str], texts: Mapping[str, str]) -> bool:
    return all(texts.get(column, "") in values.split("|") for column, values in where.items())
