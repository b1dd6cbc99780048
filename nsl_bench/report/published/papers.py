"""Published numbers of papers, as data files with their sources, counting rules and equivalence margins.

``numbers/NAME.toml`` has the source of a paper's numbers, how they are counted, and from what difference on
another number counts as different; ``numbers/NAME*.csv`` have the numbers. `benchmarks/restate_paper.py`
makes the CSV files.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from nsl_bench.core.declared import Is, Open, checked, read_toml
from nsl_bench.core.errors import unknown
from nsl_bench.core.registry import Spec

if TYPE_CHECKING:
    import pandas as pd

FOLDER = Path(__file__).parent / "numbers"

KEY = ("learner", "network", "penalties", "size", "shift", "percent", "metric")
"""Columns that name a figure of the FFNSL paper."""

_TEXT = Annotated[str, Is("a text", make=str.strip)]


@dataclass(frozen=True)
class Margin(Open):
    """An equivalence margin, derived from what the paper reports and how it counts, never from our results.

    Attributes:
        about: description of the figures that it applies to.
        metrics: names of their metrics.
        least: the margin, in the metric's unit.
        why: the reason, from the paper.
        share: alternative margin as a share of the published value, used if it is greater.
        learner: the only learner that it applies to; empty: all.
    """

    about: str
    metrics: tuple[str, ...]
    least: float
    why: _TEXT
    share: float = 0.0
    learner: str = ""


@dataclass(frozen=True)
class Rule(Open):
    """What rows of a paper's table are of.

    Attributes:
        where: by column the values of the rows that it fits, ``|`` between them.
        reason: why they cannot be compared; empty if they can.
        benchmark, learner: templates with columns in braces. A learner may name its network, another task
            and other images: ``nsl @ softmax @ zoo``.
        against: the learner that it is compared with: where rows have a relation by a statement, else by
            a ratio.
        metric: a template of ours.
        grid: other fields of the grid of runs; ``{data}`` is the folder of data, test tasks are templates.
        names: by column, or columns with ``|`` between them, our names for the paper's.
        networks: specs of the paper's networks by the name of ours.
        conditions: which other runs may tell the reason of a difference: templates as `learner`, and the
            values of the rows of which they are asked.
        unit: what the paper calls 1; 100 for percent.
        tested: test examples behind a mean; 0 if they are not charged.
        printed: the last digit that the paper prints.
        margin: equivalence margin.
        repeats: as many as the paper has.
    """

    where: Mapping[str, str]
    reason: str = ""
    benchmark: str = ""
    learner: str = ""
    against: str = ""
    metric: str = ""
    grid: Mapping[str, Any] = field(default_factory=dict)
    names: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    networks: Mapping[str, str] = field(default_factory=dict)
    conditions: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    unit: float = 1.0
    tested: int = 0
    printed: float = 0.0
    margin: float = 0.0
    repeats: int = 10


@dataclass(frozen=True)
class Paper(Open):
    """A paper with published numbers.

    Attributes:
        name: short name, e.g. ``"ffnsl2023"``.
        title, authors, venue, year, url: bibliographic data.
        licence: licence of the numbers.
        source: where the numbers were read, and how they were checked.
        counting: how the paper counts each metric.
        margins: below what difference a figure counts as the paper's; of times there is none, they are not
            comparable.
        short: the name of its method.
        tables: the CSV files with its figures, if there are several.
        minutes: estimated CPU time of a run by patterns of its task, learner and size; the first that fits.
        rules: of the rows of its table.
        names: as those of a rule, of all rules.
    """

    name: str
    title: str
    authors: tuple[str, ...]
    venue: str
    year: int
    url: str
    licence: str
    source: _TEXT
    counting: Mapping[str, _TEXT]
    margins: tuple[Margin, ...] = ()
    minutes: Mapping[str, float] = field(default_factory=dict)
    rules: tuple[Rule, ...] = ()
    names: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    short: str = ""
    tables: tuple[str, ...] = ()


def names() -> list[str]:
    """The names of all papers."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


@cache
def paper(name: str) -> Paper:
    """A paper by its name."""
    if name not in names():
        raise unknown("paper", name, names())
    path = FOLDER / f"{name}.toml"
    read = checked(Paper, {**read_toml(path, "The paper's file"), "name": name}, f"{path}: ")
    return replace(read, rules=tuple(replace(one, names={**read.names, **one.names}) for one in read.rules))


def margin_of(metric: str, learner: str, published: float) -> float:
    """The margin of a published figure of the FFNSL paper.

    Args:
        learner: the learner's spec; FFNSL learns rules, all others have trees.
    """
    names, learners = {metric, metric.removesuffix("_test")}, ("", Spec.parse(learner).name)
    for margin in paper("ffnsl2023").margins:
        if names & {*margin.metrics} and margin.learner in learners:
            return max(margin.least, margin.share * abs(published))
    raise KeyError(metric)


@cache
def table(file: str) -> pd.DataFrame:
    """A CSV file by its stem, e.g. ``"ffnsl2023-follow_suit"``; empty cells are ``""`` or NaN."""
    import pandas as pd

    path = FOLDER / f"{file}.csv"
    if not path.is_file():
        raise unknown("table of published numbers", file, (p.stem for p in FOLDER.glob("*.csv")))
    read = pd.read_csv(path)
    text = [column for column in read.columns if not pd.api.types.is_numeric_dtype(read[column])]
    return read.fillna(dict.fromkeys(text, ""))


@cache
def values_of(benchmark: str, run: str) -> Mapping[tuple[object, ...], tuple[float, ...]]:
    """The values behind the FFNSL paper's means, of train splits 1, 2, ...; by `KEY`."""
    rows = table("ffnsl2023-values")
    rows = rows[(rows["benchmark"] == benchmark) & (rows["run"] == run)]
    keys = rows[[*KEY]].itertuples(index=False, name=None)
    return {key: tuple(map(float, text.split())) for key, text in zip(keys, rows["values"], strict=True)}


def ffnsl2023(benchmark: str, *runs: str) -> pd.DataFrame:
    """The FFNSL paper's results on a benchmark, of the main run or of others; no rows where it gives none.

    Returns:
        Columns learner, network, penalties, size, shift, percent, metric, mean, std_err, repeats, run.
        For learners that have both, constant penalties are among the rows.
    """
    file = f"ffnsl2023-{benchmark}"
    if not (FOLDER / f"{file}.csv").is_file():
        return table("ffnsl2023-follow_suit").iloc[:0]
    numbers = table(file)
    return numbers[numbers["run"].isin(runs or ["main"])].reset_index(drop=True)


def networks2021(benchmark: str) -> pd.DataFrame:
    """What FF-NSL's paper prints of the networks on MNIST's test images, in the form of `ffnsl2023`.

    Percents are cut to whole ones there; the middle of those that are cut to the same is here.
    """
    rows = table("ffnsl2021")
    rows = rows[(rows["task"] == benchmark) & rows["dataset"].isin(["standard", "rotated"])]
    rotated, cut = rows["dataset"] == "rotated", rows["quantity"].str.endswith("_percent")
    metric = rows["quantity"].str.removesuffix("_percent") + "_test"
    return rows.assign(
        learner="network",
        penalties="",
        size="",
        shift=rotated.map({True: "rotate90", False: "standard"}),
        percent=100 * rotated,
        metric=metric.replace("network_accuracy_test_test", "concept_accuracy_test"),
        mean=rows["value"].where(~cut, (rows["value"] + 0.5) / 100),
        std_err=0.0,
        repeats=1,
        run="main",
    )
