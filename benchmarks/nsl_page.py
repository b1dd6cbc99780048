"""The page of `nsl`: the NSL paper's claims, each tested on the runs, and the figures that they rest on.

Tables are CSV files in docs/results/nsl: `measure` writes them from runs, and `write` page and picture from
them.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd
import pictures
from pages import Top, by_share, kept, kept_table, markdown, mean_of, number, page, points, ranges, spread

from nsl_bench.core import registry
from nsl_bench.core.metrics import METRICS
from nsl_bench.core.shift import STANDARD, resolve
from nsl_bench.data.splits import make_source, symbolic_split
from nsl_bench.perception.trained_networks import figures, trained
from nsl_bench.report.networks import frame
from nsl_bench.run.record import Record
from nsl_bench.run.statistics import NOTHING, paired_p_values
from nsl_bench.run.store import Store

__all__ = [
    "CONSTANT",
    "EDL_GEN",
    "NSL",
    "PAPERS",
    "SOFTMAX",
    "Claim",
    "Part",
    "Verdict",
    "check",
    "measure",
    "write",
]

CONSTANT = "nsl:penalty=constant"
"""NSL with the same penalty for every example, the paper's NSL baseline."""

NSL, SOFTMAX, EDL_GEN = "nsl", "softmax", "edl_gen"

PAPERS = ("nsl:penalty=floor", "softmax:kind=lenet5,preset=paper", "edl_gen:preset=paper")
"""The same as in the paper's text."""

SETTINGS = {
    "train": "train images shifted; rules evaluated on true symbols",
    "both": "train and test images shifted alike",
    "test": "run-time shift: test images shifted, train images standard",
}
"""Each setting of shift in words."""

_FIGURES = (
    ("train", "hypothesis_accuracy"),
    ("train", "atoms"),
    ("both", "framework_accuracy"),
    ("both", "probabilistic_accuracy"),
    ("test", "framework_accuracy"),
    ("test", "probabilistic_accuracy"),
    ("test", "undecided"),
)
_WHICH = {"train": "train", "both": "train and test", "test": "run-time"}
_METRICS = {"atoms": "predicates", "undecided": "share of examples without a class"}
_TITLES = {"zoo": "Zoo", "sudoku_4x4": "Sudoku 4x4"}
_IMAGES = {"sklearn_digits": "scikit-learn's digits", "mnist": "MNIST"}
_INTRODUCTION = """\
The NSL paper (Cunnington, Law, Russo, Lobo 2020) prints its results as figures only. This page tests what it
says of them, claim by claim. *Ahead* compares means over folds at a share of shifted examples; p values are
those of a paired t test over folds of the mean over shares. *Predicates* are the atoms of the learned rules:
for the network those of a surrogate tree, for the forest those of its first tree. Network and forest learn
from what Softmax sees. Intervals (95 %) cover folds, corrected for their overlap (Nadeau and Bengio). The
picture has the means of each learner."""
_LEVEL = 0.05
_LIMIT = 10.0


Values = dict[str, pd.DataFrame]
"""Of each line a metric by fold (rows) and share (columns)."""


@dataclass(frozen=True)
class Part:
    """The runs of a task on a source.

    Attributes:
        name: of the task on the page.
        benchmark: its spec.
        source: name of the images' source.
        spec: of the source.
        network: the paper's neural baseline.
        store: the runs.
    """

    name: str
    benchmark: str
    source: str
    spec: str
    network: str
    store: Store

    @property
    def title(self) -> str:
        return f"{_TITLES[self.name]} on {_IMAGES[self.source]}"

    def lines(self) -> dict[str, tuple[str, str]]:
        """Learner and network of each line, by its name on the page."""
        return {
            "NSL, Softmax": (NSL, SOFTMAX),
            "NSL, EDL-GEN": (NSL, EDL_GEN),
            "NSL, constant penalties": (CONSTANT, SOFTMAX),
            "random forest": ("random_forest", SOFTMAX),
            "network": (self.network, SOFTMAX),
        }

    def values(self, runs: pd.DataFrame, setting: str, metric: str) -> Values:
        """Of each line a metric by fold (rows) and share (columns)."""
        found = {}
        for line in self.lines():
            rows = self.of_line(runs, setting, line)
            if len(rows) and metric in rows:
                wide = rows.pivot_table(metric, "repeat", "test_percent")
                found[line] = wide.dropna()
        return found

    def of_line(self, runs: pd.DataFrame, setting: str, line: str) -> pd.DataFrame:
        """The runs of a line."""
        shares = runs["train_percent"], runs["test_percent"]
        learner, network = self.lines()[line]
        mine = (runs["learner"] == learner) & (runs["network"] == network)
        return runs[mine & (shares[0] == 0 if setting == "test" else shares[0] == shares[1])]

    def without_abstentions(self, runs: pd.DataFrame, setting: str, lines: Sequence[str]) -> Values:
        """Of some lines the accuracy if each abstention counted as the most frequent class."""
        evaluation = "hypothesis" if setting == "train" else "framework"
        found = {}
        for line in lines:
            rows = self.of_line(runs, setting, line)
            accuracies = [self._imputed(key, evaluation) for key in rows["key"]]
            found[line] = rows.assign(imputed=accuracies).pivot_table("imputed", "repeat", "test_percent")
        return found

    def _imputed(self, key: str, evaluation: str) -> float:
        rows = self.store.predictions(key)
        rows = rows[rows["evaluation"] == evaluation]
        labels, predicted = rows["label"].astype(str), rows["predicted"].astype(str)
        abstained = predicted.isin(["undecided", "ambiguous"])
        return float(predicted.where(~abstained, self.most_frequent).eq(labels).mean())

    @cached_property
    def most_frequent(self) -> str:
        """The most frequent label of the data."""
        task = registry.create("benchmark", self.benchmark)
        split = symbolic_split(task, "train", repeat=1)
        return str(task.labels.names[int(np.bincount(split.labels).argmax())])


@dataclass(frozen=True)
class Claim:
    """That one line is ahead of another.

    Attributes:
        text: as a sentence without its full stop.
        setting: a key of `SETTINGS`.
        metric: compared.
        first, second: lines; the first one is ahead.
        least, most: the shares of shifted examples that it speaks of.
        paper: what the paper says of it, by task.
    """

    text: str
    setting: str
    metric: str
    first: str
    second: str
    least: float = 0
    most: float = 100
    paper: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Verdict:
    """What the runs say of a claim.

    Attributes:
        ahead, level, behind: shares at which the first line's mean is better, the same, or worse.
        difference: mean over shares and folds, positive where the first line is better.
        std_err: of it, over folds; NaN for one fold.
        p_value: of the paired t test over folds.
    """

    ahead: tuple[float, ...]
    level: tuple[float, ...]
    behind: tuple[float, ...]
    difference: float
    std_err: float
    p_value: float

    @property
    def shares(self) -> tuple[float, ...]:
        """All shares that were tested."""
        return (*self.ahead, *self.level, *self.behind)

    @property
    def holds(self) -> bool:
        """Whether the first line is nowhere behind, and somewhere ahead."""
        return bool(self.ahead) and not self.behind

    def __str__(self) -> str:
        n = len(self.shares)
        if self.holds:
            said = f"holds at all {n} shares"
            if self.level:
                said = (
                    f"holds: ahead or level at all {n} shares, level at {ranges(self.level, self.shares)} %"
                )
        elif not self.ahead:
            said = "does not hold: level at all shares" if not self.behind else "does not hold at any share"
        else:
            said = f"holds at {len(self.ahead)} of {n} shares; behind at {ranges(self.behind, self.shares)} %"
        if np.isnan(self.std_err):
            return said
        clear = "significant" if self.p_value < _LEVEL else "not significant"
        p_value = "p < 0.001" if self.p_value < 0.001 else f"p = {self.p_value:.3f}"
        return f"{said}; mean difference {clear} ({p_value})"


def check(claim: Claim, values: dict[str, pd.DataFrame]) -> Verdict | None:
    """Test a claim.

    Args:
        claim: what is claimed.
        values: of each line the claim's metric by fold and share (`Part.values`).

    Returns:
        None where a line has no runs, or no share is in the claim's range.
    """
    if claim.first not in values or claim.second not in values:
        return None
    sign = 1 if METRICS[claim.metric].higher_is_better else -1
    difference = (sign * (values[claim.first] - values[claim.second])).dropna(axis=1, how="all").dropna()
    shares = [share for share in difference.columns if claim.least <= share <= claim.most]
    difference = difference[shares]
    if difference.empty:
        return None
    means = difference.mean()
    of_folds = difference.mean(axis=1).to_numpy()
    error = float(of_folds.std(ddof=1) / np.sqrt(len(of_folds))) if len(of_folds) > 1 else float("nan")
    return Verdict(
        tuple(means.index[means > NOTHING]),
        tuple(means.index[means.abs() <= NOTHING]),
        tuple(means.index[means < -NOTHING]),
        float(of_folds.mean()),
        error,
        float(paired_p_values(of_folds[None])[0]),
    )


def claims() -> list[Claim]:
    """The claims of nsl.toml."""
    values = tomllib.loads(Path(__file__).with_name("nsl.toml").read_text("utf-8"))
    return [Claim(**claim) for claim in values["claim"]]


def measure(parts: Sequence[Part], docs: Path) -> None:
    """Write the tables of some tasks and sources."""
    frames = [part.store.frame() for part in parts]
    pairs = list(zip(parts, frames, strict=True))
    kept(docs, "nsl", "optima", [_optima(parts, frames)])
    kept(docs, "nsl", "short", _short(parts, frames))
    of_part: dict[str, list[dict[str, object]]] = {
        "claims": [{"data": part.title, **row} for part, runs in pairs for row in _claims(part, runs)],
        "networks": [{"data": part.title, **row} for part in parts for row in _networks(part)],
        "figures": [
            {
                "data": part.title,
                "setting": setting,
                "metric": _METRICS.get(metric, METRICS[metric].title),
                **row,
            }
            for part, runs in pairs
            for setting, metric in _FIGURES
            for row in _figure(part.values(runs, setting, metric), metric, part.network)
        ],
    }
    for name, rows in of_part.items():
        kept(docs, "nsl", name, rows)


_SETTING = {"train": "train shifted", "both": "both shifted", "test": "test shifted"}
_DRAWN = {"train": "hypothesis_accuracy", "both": "framework_accuracy", "test": "framework_accuracy"}
_FEW = 6
"""Claims that the page shows."""


def write(docs: Path) -> Path:
    """Write the page from its tables."""
    tables = {
        name: kept_table(docs, "nsl", name) for name in ("claims", "short", "figures", "networks", "optima")
    }
    held = tables["claims"]["here"].str.match("holds at all|holds:")
    return page(
        docs,
        "nsl",
        Top(
            "NSL: Zoo and Sudoku 4x4",
            "Do the claims of the NSL paper hold on these runs?",
            f"{held.sum()} of {len(held)} claims hold at every share of shifted examples.",
            "python benchmarks/nsl.py --page",
            "Accuracy of NSL, its network and a forest over the share of shifted examples",
        ),
        _draw(tables["figures"], docs / "nsl" / "curves.png"),
        _losses(tables["claims"], int(tables["optima"]["folds"][0])),
        f"{_INTRODUCTION} {_told(tables['optima'].iloc[0])}",
        {
            "claims": "each claim, with what the runs can test of why one does not hold",
            "figures": "means with standard errors over folds by share",
            "networks": "accuracy and confidence of networks on held-out images (pool B)",
        },
        {
            "Claims that hold": "Claims that hold at every share of shifted examples:\n\n"
            + markdown(tables["short"])
        },
        first="Where NSL loses",
    )


def _losses(claims: pd.DataFrame, folds: int) -> str:
    """Of which claims the opposite is significant, and the accuracies that lose most."""
    overlap = (1 + folds / (folds - 1)) ** 0.5  # folds share train examples
    found = []
    for row in claims.to_dict("records"):
        mean, error = mean_of(row["mean difference"])
        _, low, high = spread(mean, [(error * overlap, folds - 1.0)])
        if high < 0:
            found.append({**row, "mean": mean, "difference": points(mean, low, high)})
    accuracies = [row for row in found if abs(row["mean"]) <= 1 and "predicates" not in row["claim"]]
    shown = pd.DataFrame(sorted(accuracies, key=lambda row: row["mean"])[:_FEW])
    told = f"The opposite of {len(found)} of {len(claims)} claims holds, with an interval below 0."
    if not found:
        return told
    return f"{told} The accuracies that lose most:\n\n" + markdown(
        shown[["data", "claim", "shift", "difference"]]
    )


def _draw(figures: pd.DataFrame, path: Path) -> Path:
    """A row for each task and source, a column for each setting, a line for each learner."""
    found = by_share(figures)
    found = found[found["metric"] == found["setting"].map({s: METRICS[m].title for s, m in _DRAWN.items()})]
    found["panel"] = found["data"] + ",\n" + found["metric"] + ", " + found["setting"].map(_SETTING)
    baselines = ~found["learner"].str.startswith("NSL") & (found["learner"] != "random forest")
    found["line"] = found["learner"].mask(baselines, "network")
    return pictures.lines(found, path)


def _told(optima: pd.Series) -> str:
    return (
        f"Folds: {optima['folds']}. Shifted images are rotated by 90 degrees. The rule learner proved its "
        f"optimum in {optima['proven']} of {optima['runs']} runs, in at most {optima['seconds']} s of "
        f"processor time; {optima['late']} runs took more than {_LIMIT:g} s."
    )


def _optima(parts: Sequence[Part], frames: Sequence[pd.DataFrame]) -> dict[str, object]:
    """How often the rule learner proved its optimum, and how long it took."""
    records = [
        record
        for part in parts
        for record in part.store.latest().values()
        if record.job.learner.startswith("nsl") and record.hypothesis and record.hypothesis.status
    ]
    times = [record.metrics["learning_cpu_time"] for record in records]
    return {
        "folds": max((int(runs["repeat"].max()) for runs in frames), default=0),
        "runs": len(records),
        "proven": sum(record.hypothesis.status == "optimal" for record in records if record.hypothesis),
        "seconds": f"{max(times, default=0.0):.1f}",
        "late": sum(seconds > _LIMIT for seconds in times),
    }


_QUESTIONS = {
    "NSL more accurate than network and forest": lambda claim: (
        claim.metric != "atoms" and claim.second in ("network", "random forest")
    ),
    "EDL-GEN better than Softmax": lambda claim: (
        (claim.first, claim.second) == ("NSL, EDL-GEN", "NSL, Softmax")
    ),
    "fewer predicates than network and forest": lambda claim: (
        claim.metric == "atoms" and claim.second in ("network", "random forest")
    ),
    "confidences better than constant penalties": lambda claim: claim.second == "NSL, constant penalties",
}


def _short(parts: Sequence[Part], frames: Sequence[pd.DataFrame]) -> list[dict[str, object]]:
    """For each question and part, how many claims hold at all their shares."""
    rows = []
    for question, asks in _QUESTIONS.items():
        row: dict[str, object] = {"claims": question}
        for part, runs in zip(parts, frames, strict=True):
            found = [check(c, part.values(runs, c.setting, c.metric)) for c in claims() if asks(c)]
            verdicts = [verdict for verdict in found if verdict is not None]
            row[part.title] = f"{sum(verdict.holds for verdict in verdicts)} of {len(verdicts)}"
        rows.append(row)
    return rows


def _claims(part: Part, runs: pd.DataFrame) -> list[dict[str, object]]:
    rows = []
    for claim in claims():
        verdict = check(claim, part.values(runs, claim.setting, claim.metric))
        if verdict is None:
            continue
        digits = METRICS[claim.metric].digits
        rows.append(
            {
                "claim": claim.text,
                "shift": _WHICH[claim.setting],
                "the paper": claim.paper.get(part.name, ""),
                "here": str(verdict),
                "mean difference": number(verdict.difference, verdict.std_err, digits),
                "why": "" if verdict.holds else "; ".join(_causes(part, runs, claim, verdict)),
            }
        )
    return rows


def _causes(part: Part, runs: pd.DataFrame, claim: Claim, verdict: Verdict) -> list[str]:
    """What the runs say of why a claim does not hold; empty where no cause can be tested on them."""
    lines, found = (claim.first, claim.second), []
    undecided = part.values(runs, claim.setting, "undecided")
    if claim.metric in ("hypothesis_accuracy", "framework_accuracy") and any(
        undecided[line].to_numpy().any() for line in lines
    ):
        again = check(claim, part.without_abstentions(runs, claim.setting, lines))
        assert again is not None
        led, leads = (number(one.difference, one.std_err) for one in (verdict, again))
        counted = "an abstention counted as the most frequent class"
        found.append(f"the mean difference is {led}, and {leads} if {counted}")
    if all(line.startswith("NSL") for line in lines):
        rules = [
            part.of_line(runs, claim.setting, line).set_index(["repeat", "test_percent"]) for line in lines
        ]
        both = rules[0].join(rules[1], lsuffix="_first", rsuffix="_second", how="inner")
        shares = both.index.get_level_values("test_percent")
        both = both[(shares >= claim.least) & (shares <= claim.most)]
        latest = part.store.latest()
        same = sum(
            _rules(latest[row.key_first]) == _rules(latest[row.key_second]) for row in both.itertuples()
        )
        found.append(f"both learned the same rules in {same} of {len(both)} runs")
    return found


def _rules(record: Record) -> tuple[str, ...]:
    return () if record.hypothesis is None else tuple(sorted(record.hypothesis.rules))


def _figure(values: dict[str, pd.DataFrame], metric: str, network: str) -> list[dict[str, object]]:
    digits = METRICS[metric].digits
    rows = []
    for line, found in values.items():
        row: dict[str, object] = {"learner": network if line == "network" else line}
        errors = found.sem() if len(found) > 1 else found.mean() * np.nan
        for share, mean in found.mean().items():
            row[f"{share:g} %"] = number(mean, errors[share], digits)
        rows.append(row)
    return rows


def _networks(part: Part) -> list[dict[str, object]]:
    """Accuracy and confidence of both networks, on standard and on rotated images."""
    task = registry.create("benchmark", part.benchmark)
    images = make_source(task, part.spec)
    found = {
        (spec, shift): figures(trained(spec, task, images), images, resolve(shift, task, images), limit=1000)
        for spec in (SOFTMAX, EDL_GEN)
        for shift in (STANDARD, "rotate90")
    }
    return list(frame(found).astype(str).to_dict("records"))
