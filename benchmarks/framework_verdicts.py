"""What the runs of `framework` say: where FFNSL is behind which baseline, and what is as in the paper.

Nothing here is written by hand: every word follows from a test on the runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pandas as pd
from nsl_page import Claim, Verdict, check
from pages import markdown, number, ranges, shares_in

from nsl_bench.core.metrics import METRICS
from nsl_bench.report.published.equivalence import POWER, Mean, compare_means
from nsl_bench.report.published.ffnsl import test_error
from nsl_bench.report.published.figures import badge_of
from nsl_bench.report.published.papers import margin_of
from nsl_bench.report.tables import summarise, with_standard

__all__ = ["against_baselines", "beside_paper"]

_COMPARED = ("hypothesis_accuracy", "framework_accuracy", "brier_score")
_BRIER = METRICS["brier_score"].title
_PAPERS_NAMES = {"framework_accuracy_probabilistic": "framework_accuracy_problog"}

TESTED = (*range(0, 100, 10), 95, 100)
"""Shares of shifted examples, in percent."""

BESIDE = f"""\
How many means, each of a learner at a share, are equivalent to the paper's, differ from it, or neither is
shown. Equivalent: two one-sided tests within the margins of [the reproduction](ffnsl2023.md), with a power of
{POWER:g}. Errors cover train splits and, on both sides, the sampling of test images. Images and train splits
are others than the paper's, so that this is no reproduction."""

Line = tuple[str, str]
"""A learner and its network."""


def against_baselines(runs: pd.DataFrame, shift: str) -> list[dict[str, object]]:
    """A row for each baseline, metric and network of FFNSL, the largest losses of FFNSL first."""
    found: list[tuple[Verdict, dict[str, object]]] = []
    runs = with_standard(runs)
    for metric in (metric for metric in _COMPARED if metric in runs):
        values = dict(_by_split(runs[runs["shift"] == shift], metric))
        for own in (line for line in values if line[0] == "ffnsl"):
            for other in (line for line in values if not line[0].startswith("ffnsl")):
                claim = Claim("", "train", metric, "own", "other")
                verdict = check(claim, {"own": values[own], "other": values[other]})
                if verdict is None:
                    continue
                digits = METRICS[metric].digits
                row: dict[str, object] = {
                    "metric": METRICS[metric].title,
                    "FFNSL with": own[1],
                    "baseline": other[0],
                    "FFNSL's lead": number(verdict.difference, verdict.std_err, digits),
                    "behind at": ranges(verdict.behind, verdict.shares),
                    "ahead at": ranges(verdict.ahead, verdict.shares),
                }
                found.append((verdict, row))
    found.sort(key=lambda item: item[0].difference / (2 if item[1]["metric"] == _BRIER else 1))
    return [row for _, row in found]


def _by_split(runs: pd.DataFrame, metric: str) -> Iterator[tuple[Line, pd.DataFrame]]:
    """Of each learner and network, a metric by train split (rows) and share (columns)."""
    for (learner, network), rows in runs.groupby(["learner", "network"], sort=True):
        wide = rows.pivot_table(metric, "repeat", "percent").dropna()
        if len(wide):
            yield (str(learner), str(network)), wide


def beside_paper(
    benchmark: str, runs: pd.DataFrame, shift: str, published: pd.DataFrame
) -> list[dict[str, object]]:
    """Of each learner and metric, the shares at which it is as in the paper, differs, or cannot be told.

    Args:
        benchmark: the task.
        runs: ours.
        shift: ours.
        published: the paper's, with our names.
    """
    metrics = (*_COMPARED, "framework_accuracy_probabilistic", "atoms")
    means = summarise(runs, metrics)
    means = means[means["shift"] == shift]
    rows: list[dict[str, object]] = []
    for (learner, network, metric), ours in means.groupby(["learner", "network", "metric"], observed=True):
        theirs = published[
            (published["learner"] == learner)
            & (published["network"] == network)
            & (published["metric"] == metric)
            & (published["shift"] == shift)
        ]
        told = _told(benchmark, str(learner), str(metric), ours, theirs)
        if told:
            title = METRICS[str(metric)].title
            rows.append({"learner": f"{learner} ({network})", "metric": title, **told})
    return rows


def counted(compared: pd.DataFrame) -> str:
    """How many of the shares are as in the paper, a row a learner and metric over all shifts."""
    columns = list(compared.columns[3:])
    found = compared.assign(
        **{name: [len(shares_in(str(text), TESTED)) for text in compared[name]] for name in columns}
    )
    return markdown(found.groupby("metric", sort=False)[columns].sum().reset_index())


def _told(
    benchmark: str, learner: str, metric: str, ours: pd.DataFrame, theirs: pd.DataFrame
) -> Mapping[str, object]:
    """The columns of one row; empty if the paper has no figure."""
    found: dict[str, list[float]] = {"equivalent": [], "higher": [], "lower": [], "not enough data": []}
    own = {row.percent: row for row in ours.itertuples()}
    paper_metric = _PAPERS_NAMES.get(metric, metric)
    for row in theirs.sort_values("percent").itertuples():
        if row.percent not in own or pd.isna(row.mean):
            continue
        mine = own[row.percent]
        measured = Mean(float(mine.mean), _known(mine.std_err), int(mine.n))
        published = Mean(float(row.mean), _known(row.std_err), int(row.repeats))
        error = test_error(benchmark, paper_metric, measured.value)
        margin = margin_of(paper_metric, learner, published.value)
        compared = compare_means(measured, published, margin, error)
        badge = badge_of(compared, min(measured.repeats, published.repeats))
        if badge == "differs":
            badge_or_side = "higher" if compared.difference > 0 else "lower"
        else:
            badge_or_side = "equivalent" if badge == "reproduced" else "not enough data"
        found[badge_or_side].append(float(row.percent))
    if not any(found.values()):
        return {}
    tested = [share for shares in found.values() for share in shares]
    titles = {"equivalent": "equivalent", "higher": "ours is higher", "lower": "ours is lower"}
    titles["not enough data"] = "neither shown"
    return {titles[name]: ranges(shares, tested) for name, shares in found.items()}


def _known(error: float) -> float:
    return 0.0 if pd.isna(error) else float(error)
