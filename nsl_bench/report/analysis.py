"""The FFNSL paper's analysis of why rules are learned or not, from a results folder.

How trustworthy the weighted examples are, what the network takes the images for, and which rules are in
the hypotheses of how many repeats (FFNSL paper, section 7 and appendix A).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from nsl_bench.core import registry
from nsl_bench.core.errors import UserError
from nsl_bench.report.completed import Runs
from nsl_bench.report.ordering import sorted_rows
from nsl_bench.report.style import heading, legend, save, subplots, wrapped
from nsl_bench.report.tables import file_name, in_shift, short_names, with_standard
from nsl_bench.run.record import Record

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ERRORS = ("error_concepts", "error_rule", "error_either", "error_both")
"""The causes of errors, in the order in which curves stack them."""

_COLOURS = {
    "error_concepts": "#56B4E9",
    "error_rule": "#E69F00",
    "error_either": "#CC79A7",
    "error_both": "#D55E00",
}
_WORDS = {
    "error_concepts": "corrected by true concepts",
    "error_rule": "corrected by the true rule",
    "error_either": "corrected by either",
    "error_both": "corrected by both only",
}
_PICTURE = ["benchmark", "test_task", "size"]
_PANEL = ["shift", "learner", "network", "source"]
_BY = ["benchmark", "test_task", "source", "size", "network", "learner", "shift", "percent"]
_SEEN_BY = [name for name in _BY if name != "learner"]


def holds(rules: Iterable[str], predicate: str) -> bool:
    """Whether a hypothesis has a rule with a predicate in its body (its head if it has no body)."""
    return predicate in _subjects(tuple(rules))


TRUE_RULE = "true_rule"
"""The name under which `rule_shares` counts the true rule's rules."""


def _value(record: Record, predicate: str) -> float:
    """Whether a run's rules hold a predicate, or what share of the true rule; NaN without rules in ASP."""
    from nsl_bench.logic.guarded.call import guarded

    hypothesis = record.hypothesis
    if hypothesis is None or hypothesis.language != "asp":
        return np.nan
    if predicate != TRUE_RULE:
        return float(holds(hypothesis.rules, predicate))
    task = registry.create("benchmark", record.job.benchmark).for_split(record.job.repeat)
    if not task.true_rule:
        return np.nan
    contained = "nsl_bench.logic.las.bias.hypothesis:contained"
    return float(
        guarded(contained, hypothesis.rules, task.true_rule, task.bias, doing="Reading a hypothesis")
    )


@lru_cache(maxsize=4096)
def _subjects(rules: tuple[str, ...]) -> frozenset[str]:
    """The predicates that rules are about; none if they do not parse."""
    from nsl_bench.logic.guarded.call import guarded

    try:
        return frozenset(guarded("nsl_bench.logic.asp.program:subjects", rules, doing="Reading a hypothesis"))
    except UserError:
        return frozenset()


def subjects(results: Runs) -> frozenset[str]:
    """The predicates that some run's hypothesis has a rule about."""
    hypotheses = [record.hypothesis for record in results.latest().values() if record.hypothesis]
    return frozenset().union(*(_subjects(tuple(h.rules)) for h in hypotheses if h.language == "asp"))


def _frame(results: Runs, columns: Mapping[str, Any]) -> pd.DataFrame:
    """A row a finished run with extra columns, each a function of its record."""
    records: dict[str, Record] = results.latest()
    runs = results.frame
    if runs.empty:
        raise UserError(f"{results.folder} contains no runs.")
    for name, value in columns.items():
        runs[name] = [value(records[key]) if key in records else np.nan for key in runs["key"]]
    return in_shift(with_standard(runs))


def rule_shares(results: Runs, predicates: Sequence[str]) -> pd.DataFrame:
    """Share of repeats whose hypothesis holds a rule about each predicate.

    Args:
        predicates: `TRUE_RULE` among them stands for the mean share of the true rule's rules in hypotheses.

    Returns:
        One row a benchmark, test task, size, network, learner, shift and percentage: ``n`` and a column a
        predicate.
    """

    runs = _frame(results, {p: partial(_value, predicate=p) for p in predicates})
    runs = runs.dropna(subset=list(predicates))
    grouped = runs.groupby(_BY)
    return sorted_rows(grouped[list(predicates)].mean().assign(n=grouped.size()).reset_index(), _BY)


def perceived_shares(results: Runs, part: str = "train") -> pd.DataFrame:
    """What the network takes a part's images for: the share of each concept, pooled over repeats.

    Returns:
        Columns benchmark, source, size, network, shift, percent, concept, share.
    """
    rows = []
    for place, group in _seen(results, part):
        total = pd.DataFrame([seen["concepts"] for seen in group["seen"]]).sum()
        for concept, share in (total / max(1, total.sum())).items():
            rows.append([*place, concept, share])
    if not rows:
        raise UserError(f"The runs in {results.folder} have no network predictions.")
    return pd.DataFrame(rows, columns=[*_SEEN_BY, "concept", "share"])


def _seen(results: Runs, part: str) -> Any:
    """The runs of each place on a network's curves, with what it sees in a part's images."""
    runs = _frame(results, {"seen": lambda record: record.perception.get(part)})
    known = runs.dropna(subset="seen").drop_duplicates([*_SEEN_BY, "repeat"])
    return sorted_rows(known, _SEEN_BY).groupby(_SEEN_BY, sort=False)


def recognised_shares(results: Runs, part: str = "train") -> pd.DataFrame:
    """What a network recognises in a part's images, such as ranks and suits of cards, pooled over repeats.

    Returns:
        Columns benchmark, test_task, source, size, network, shift, percent, feature (`Benchmark.recognised`),
        share.
    """
    rows = []
    for place, group in _seen(results, part):
        names = [name for name in group["seen"].iloc[0] if name not in ("concepts", "confidence")]
        for name in names:
            right, of = np.sum([seen[name] for seen in group["seen"] if name in seen], axis=0)
            rows.append([*place, name, right / of])
    return pd.DataFrame(rows, columns=[*_SEEN_BY, "feature", "share"])


def frequent_shares(shares: pd.DataFrame, most: int = 8) -> pd.DataFrame:
    """The concepts that a network predicts most, and the others together.

    Args:
        shares: `perceived_shares`.
        most: so many concepts of each network and shift, by their mean share over all percentages.

    Returns:
        One row a benchmark, source, size, network, shift and percentage: a column a concept, NaN where it is
        not among that network's and shift's, ``others``, and ``entropy`` of all concepts, in bits.
    """
    by = _SEEN_BY[:-1]
    pieces = []
    for place, group in sorted_rows(shares, by).groupby(by, sort=False):
        wide = group.pivot(index="percent", columns="concept", values="share").fillna(0.0)
        most_frequent = wide.mean().sort_values(ascending=False, kind="stable").index[:most]
        entropy = -(wide * np.log2(wide.where(wide > 0, 1.0))).sum(axis=1)
        table = (
            wide[most_frequent]
            .assign(others=1 - wide[most_frequent].sum(axis=1), entropy=entropy)
            .reset_index()
        )
        for k, (name, value) in enumerate(zip(by, place, strict=True)):
            table.insert(k, name, str(value))
        pieces.append(table)
    result = pd.concat(pieces, ignore_index=True)
    last = ["others", "entropy"]
    return result[[*(c for c in result.columns if c not in last), *last]]


def error_shares(results: Runs) -> pd.DataFrame:
    """Mean share of test examples by cause of error, over repeats."""
    runs = _frame(results, {})
    if ERRORS[0] not in runs:
        raise UserError(f"The runs in {results.folder} have no data on the causes of errors.")
    runs = runs.dropna(subset=list(ERRORS))
    return sorted_rows(runs.groupby(_BY)[[*ERRORS, "error_inference"]].mean().reset_index(), _BY)


def draw_errors(shares: pd.DataFrame, folder: Path, *, format: str = "png") -> list[Path]:
    """Draw the stacked causes of errors over the share of shift: a picture a task, panels of learners.

    Args:
        shares: `error_shares`.
    """

    def panel(axis: Axes, part: pd.DataFrame) -> None:
        axis.stackplot(
            part["percent"],
            [part[error] for error in ERRORS],
            labels=[_WORDS[error] for error in ERRORS],
            colors=[_COLOURS[error] for error in ERRORS],
        )
        axis.set_ylim(0, 1)
        axis.set_ylabel("share of test examples")

    return _panels(shares, folder, "errors", panel, format)


def draw_shares(
    shares: pd.DataFrame, columns: Sequence[str], folder: Path, name: str, *, format: str = "png"
) -> list[Path]:
    """Draw columns over the share of shift: a picture a task, panels of learners.

    Args:
        shares: with the columns of `rule_shares`.
        name: how the files' names begin.
    """

    def panel(axis: Axes, part: pd.DataFrame) -> None:
        for column in columns:
            axis.plot(part["percent"], part[column], marker="o", markersize=4, label=column)
        axis.set_ylim(-0.03, 1.03)
        axis.grid(alpha=0.3)

    return _panels(shares, folder, name, panel, format)


def draw_perceived(frequent: pd.DataFrame, folder: Path, *, format: str = "png") -> list[Path]:
    """Draw what images are taken for, stacked, over the share of shift: a picture a task.

    Args:
        frequent: `frequent_shares`.
    """

    def panel(axis: Axes, part: pd.DataFrame) -> None:
        concepts = list(part.columns)[list(part.columns).index("percent") + 1 : -3]
        names = [c for c in concepts if part[c].notna().all()]
        colours = ["#D9D9D9" if c == "others" else f"C{k}" for k, c in enumerate([*names, "others"])]
        axis.stackplot(
            part["percent"], [part[c] for c in (*names, "others")], labels=[*names, "others"], colors=colours
        )
        axis.set_ylim(0, 1)
        axis.set_ylabel("share of train images")
        axis.legend(fontsize=6, loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)

    frequent = frequent.assign(learner="images as seen")
    return _panels(frequent, folder, "perceived", panel, format, with_legend=False)


def _panels(
    shares: pd.DataFrame, folder: Path, name: str, panel: Any, format: str, *, with_legend: bool = True
) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    shares = sorted_rows(shares, [*_PICTURE, *_PANEL])
    for (trained, tested, size), task in shares.groupby(_PICTURE, sort=False):
        benchmark = f"{trained} -> {tested}" if tested else trained
        parts = list(task.groupby(_PANEL, sort=False))
        columns = min(4, len(parts))
        down = -(-len(parts) // columns)
        figure, axes = subplots(down, columns, figsize=(1 + 3.2 * columns, 1.2 + 2.6 * down))
        for axis in axes.flat[len(parts) :]:
            axis.set_visible(False)
        several = task["source"].nunique() > 1
        names = short_names(task["network"].unique())
        for axis, ((shift, learner, network, source), part) in zip(axes.flat, parts, strict=False):
            panel(axis, part.sort_values("percent"))
            images = f", {str(source).partition(':')[0]}" if several else ""
            line = f"{learner}{f' ({names[str(network)]})' if network else ''}"
            axis.set_title(f"{wrapped(line, 40)}\n{wrapped(f'{shift}{images}', 40)}", fontsize=9)
            axis.set_xlabel("share of shifted examples (%)")
        if with_legend:
            handles, labels = axes.flat[0].get_legend_handles_labels()
            legend(figure, dict(zip(labels, handles, strict=True)))
        heading(figure, f"{benchmark} ({size})")
        path = folder / file_name(f"{name}-{benchmark}-{size}", format)
        save(figure, path)
        written.append(path)
    return written
