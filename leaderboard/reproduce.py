"""A paper reproduced: its grid run again, every figure beside the published one, with a badge and a reason.

The grid of "FFNSL: Feed-Forward Neural-Symbolic Learner" (Cunnington, Law, Lobo, Russo; Machine Learning
2023): its own splits, Sudoku on MNIST, playing cards on true concepts at 0 % (the photographs are not
public) and, in the preset ``paper``, on drawn decks that stand for them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from nsl_bench import registry
from nsl_bench.errors import UserError
from nsl_bench.registry import Spec
from nsl_bench.run.job import Job, plan
from nsl_bench.run.store import Record, Store
from nsl_bench.types import Hypothesis

from .published import ffnsl2023

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["PRESETS", "TASKS", "Badge", "Figure", "Preset", "compare", "grid", "paper_atoms"]

Badge = Literal["reproduced", "differs", "not comparable"]

TASKS = ("follow_suit", "sudoku_4x4", "sudoku_9x9")
"""The paper's tasks whose examples are public."""

STAND_INS = {
    "noir": "batman_joker",
    "comic": "captain_america",
    "adversarial_noir": "adversarial_batman_joker",
    "adversarial_comic": "adversarial_captain_america",
    "adversarial_standard": "adversarial_standard",
}
"""Shifts of the drawn decks, and the paper's decks for which they stand."""

_PUBLISHED_CODE = "cnn_lstm:published=true"
"""The CNN-LSTM as the paper's code has it; as ``cnn_lstm`` it is what the paper's text describes."""

_BASELINES = {
    "follow_suit": ("random_forest", "fcn"),
    "sudoku_4x4": ("random_forest", "cnn_lstm", _PUBLISHED_CODE),
    "sudoku_9x9": ("random_forest", "random_forest_knowledge", "cnn_lstm", _PUBLISHED_CODE),
}
_LARGE = frozenset({"follow_suit", "sudoku_4x4"})
"""Tasks whose large train sets are public."""

_SIGMAS = 2.0
_ON_IMAGES = frozenset({"framework_accuracy", "framework_accuracy_problog", "brier_score"})
_ROUNDING = 1e-6
_CLEAN = 0.02
"""Up to so large a share of spoilt train examples true concepts stand for predicted ones."""


@dataclass(frozen=True)
class Preset:
    """How much of the grid is run.

    Attributes:
        baseline_percents: shares of shifted examples for the baselines, where there are images; FFNSL is run
            at all of the paper's.
        repeats: of runs with images; runs on true concepts have all five.
        large: whether baselines also learn from the large train sets.
        constant: whether FFNSL is also run with constant penalties.
        stand_ins: whether cards are also run on drawn decks.
        softmax: spec of the Softmax CNN on MNIST.
    """

    baseline_percents: tuple[float, ...]
    repeats: int
    large: bool
    constant: bool
    stand_ins: bool
    softmax: str = "softmax"


PERCENTS = tuple(range(0, 101, 10))
"""The paper's shares of shifted examples."""

PRESETS: Mapping[str, Preset] = {
    "quick": Preset(
        (0, 50, 100),
        2,
        large=False,
        constant=False,
        stand_ins=False,
        softmax="softmax:images_per_concept=4000,epochs=8",
    ),
    "paper": Preset(PERCENTS, 5, large=True, constant=True, stand_ins=True),
}


@dataclass(frozen=True)
class Figure:
    """One published number, and ours.

    Attributes:
        benchmark, learner, penalties, network, size, shift, percent, metric: what it is, in our words.
        counting: ``"paper"`` or ``"ours"``, where the two count differently.
        published, published_std_err: mean and standard error over the paper's repeats.
        measured, measured_std_err, repeats: ours.
        tolerance: two standard errors of the difference.
        badge: what to make of it.
        reason: why, where it needs one.
    """

    benchmark: str
    learner: str
    penalties: str
    network: str
    size: str
    shift: str
    percent: float
    metric: str
    counting: str
    published: float
    published_std_err: float
    measured: float
    measured_std_err: float
    repeats: int
    tolerance: float
    badge: Badge
    reason: str

    @property
    def difference(self) -> float:
        """Measured minus published."""
        return self.measured - self.published


def grid(
    tasks: Sequence[str],
    preset: Preset,
    splits: Path,
    mnist: Path | None = None,
) -> list[Job]:
    """The runs of the paper, as far as its data are here.

    Args:
        tasks: some of `TASKS`.
        preset: how much.
        splits: folder of the paper's splits, one folder a task.
        mnist: torchvision's folder of MNIST; without it Sudoku is run on true concepts.

    Raises:
        UserError: splits that are not there.
    """
    jobs: list[Job] = []
    for task in tasks:
        folder = splits / task
        if not folder.is_dir():
            raise UserError(
                f"--data: there are no splits {folder}; the paper's are in the folders examples/*/data of "
                "github.com/DanCunnington/FFNSL."
            )
        images = f"mnist:{mnist}" if mnist is not None and task.startswith("sudoku") else None
        sizes = ["small", *(["large"] if preset.large and task in _LARGE else [])]
        symbolic: dict[str, Any] = {"symbolic": True, "splits": folder, "repeats": range(1, 6)}
        jobs += plan(task, ["ffnsl"], **symbolic)
        jobs += plan(task, _BASELINES[task], sizes=sizes, **symbolic)
        ours = ["ffnsl", *(["ffnsl:penalty=constant"] if preset.constant else [])]
        shifted: dict[str, Any] = {"splits": folder, "repeats": range(1, preset.repeats + 1)}
        if images is not None:
            shifted |= {"source": images, "shifts": ["rotate90"]}
            for network in (preset.softmax, "edl_gen"):
                jobs += plan(task, ours, network=network, percents=PERCENTS, **shifted)
            shares = preset.baseline_percents
            jobs += plan(task, _BASELINES[task], network=preset.softmax, percents=shares, **shifted)
        elif preset.stand_ins and task == "follow_suit":
            jobs += plan(task, ["ffnsl"], shifts=list(STAND_INS), percents=PERCENTS, **shifted)
    return list({job.key(): job for job in jobs}.values())


def paper_atoms(benchmark: str, hypothesis: Hypothesis) -> int:
    """Atoms as the paper's code counts them (`ffnsl2023.toml`): body literals only.

    On Follow Suit type atoms count, and the link to the invented predicate, a rule here, is one fact there.
    On Sudoku type atoms do not occur in what FastLAS prints.
    """
    if hypothesis.language == "tree":
        return hypothesis.atoms
    from nsl_bench.las import LasTask
    from nsl_bench.las.bias.hypothesis import hypothesis_cost, rule_parts

    parts = [rule_parts(rule) for rule in hypothesis.rules]
    if benchmark == "follow_suit":
        linked = [(head or "").startswith("winner(") for head, _ in parts]
        return sum(1 if link else max(1, len(body)) for link, (_, body) in zip(linked, parts, strict=True))
    task = registry.create("benchmark", benchmark)
    cost = hypothesis_cost(LasTask.build([], task.background, task.bias, task.name), hypothesis.rules)
    return cost - sum(head is not None for head, _ in parts)


def compare(jobs: Sequence[Job], store: Store) -> list[Figure]:
    """Every published figure of the finished runs, in the order of the grid."""
    wanted = {job.key() for job in jobs}
    groups: dict[tuple[Any, ...], list[Record]] = {}
    for key, record in store.latest().items():
        if key in wanted and record.status == "ok":
            groups.setdefault(_setting(record.job), []).append(record)
    order = {_setting(job): k for k, job in reversed(list(enumerate(jobs)))}
    figures: list[Figure] = []
    for setting in sorted(groups, key=lambda setting: order[setting]):
        figures += _figures(groups[setting])
    return figures


def _setting(job: Job) -> tuple[Any, ...]:
    return (job.benchmark, job.source, job.track, job.learner, job.network, job.size, job.shift, job.percent)


def _published(job: Job) -> pd.DataFrame:
    """The paper's rows for the setting of a run."""
    spec, table = Spec.parse(job.learner), ffnsl2023(job.benchmark)
    penalties = spec.kwargs.get("penalty", "network") if spec.name == "ffnsl" else ""
    shift = "standard" if job.percent == 0 else STAND_INS.get(job.shift, job.shift)
    return table[
        (table["learner"] == spec.name)
        & table["penalties"].isin([penalties, ""])
        & (table["network"] == Spec.parse(job.network or "softmax").name)
        & (table["size"] == job.size)
        & (table["shift"] == shift)
        & (table["percent"] == job.percent)
    ]


def _figures(records: Sequence[Record]) -> Iterator[Figure]:
    """The figures of one setting; records differ in the repeat."""
    job = records[0].job
    for row in _published(job).to_dict("records"):
        metric, published = str(row["metric"]), float(row["mean"])
        error = float(np.nan_to_num(row["std_err"]))
        for counting, values in _measured(metric, records):
            if not values:
                continue
            mean = float(np.mean(values))
            spread = float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0
            tolerance = _SIGMAS * float(np.linalg.norm([spread, error, _test_error(job, metric, mean)]))
            reason = _incomparable(job, metric, counting)
            badge: Badge = "not comparable"
            if not reason:
                close = abs(mean - published) <= max(tolerance, _ROUNDING)
                badge = "reproduced" if close else "differs"
                reason = "" if close else _explanation(records, metric)
            yield Figure(
                benchmark=job.benchmark,
                learner="ffnsl" if job.learner.startswith("ffnsl") else job.learner,
                penalties=str(row["penalties"]),
                network=Spec.parse(job.network).name if job.network else "true concepts",
                size=job.size,
                shift=job.shift,
                percent=job.percent,
                metric=metric,
                counting=counting,
                published=published,
                published_std_err=error,
                measured=mean,
                measured_std_err=spread,
                repeats=len(values),
                tolerance=tolerance,
                badge=badge,
                reason=reason,
            )


def _measured(metric: str, records: Sequence[Record]) -> Iterator[tuple[str, list[float]]]:
    """Our values of a metric, one a repeat, in the paper's way of counting and in ours where they differ."""
    job = records[0].job
    learner = Spec.parse(job.learner).name
    name = "framework_accuracy_probabilistic" if metric == "framework_accuracy_problog" else metric
    values = [record.metrics[name] for record in records if name in record.metrics]
    if metric == "atoms" and learner == "ffnsl":
        rules = [record.hypothesis for record in records if record.hypothesis is not None]
        yield "paper", [float(paper_atoms(job.benchmark, found)) for found in rules]
        yield "ours", values
    elif metric == "framework_accuracy" and learner == "ffnsl" and job.benchmark == "follow_suit":
        # The published code leaves out examples for which no winner is derived.
        decided = [1 - record.metrics.get("undecided", 0.0) for record in records]
        pairs = zip(values, decided, strict=False)
        yield "paper", [value / share for value, share in pairs if share > 0]
        yield "ours", values
    elif metric == "brier_score" and learner == "cnn_lstm":
        # The paper's score is that of hard predictions.
        right = [record.metrics.get("framework_accuracy") for record in records]
        yield "paper", [2 - 2 * share for share in right if share is not None]
        yield "ours", values
    else:
        yield "paper", values


@cache
def _test_size(benchmark: str) -> int:
    return int(registry.create("benchmark", benchmark).test_size)


def _test_error(job: Job, metric: str, value: float) -> float:
    """The standard error that comes of test images drawn anew on both sides, which repeats share.

    Of an accuracy p over n examples it is sqrt(2 p (1 - p) / n); a Brier score of crisp answers is twice
    the error rate.
    """
    if job.track == "symbolic" or metric not in _ON_IMAGES:
        return 0.0
    scale = 2.0 if metric == "brier_score" else 1.0
    p = min(max(value / scale, 0.0), 1.0)
    return float(scale * np.sqrt(2 * p * (1 - p) / _test_size(job.benchmark)))


def _incomparable(job: Job, metric: str, counting: str) -> str:
    """Why a figure cannot be compared; empty if it can."""
    if metric == "learning_time":
        learner = Spec.parse(job.learner).name
        return "another machine" + (" and another rule learner" if learner == "ffnsl" else "")
    if counting == "ours":
        return "counted otherwise than in the paper"
    if job.track == "symbolic" and metric not in ("hypothesis_accuracy", "atoms", "rules"):
        return "true concepts here, a network's predictions in the paper"
    if job.track != "symbolic" and job.benchmark == "follow_suit":
        return "images differ: the paper's photographs of cards are not public"
    return ""


def _explanation(records: Sequence[Record], metric: str) -> str:
    """What is known of a difference; empty if nothing is."""
    job = records[0].job
    learner = Spec.parse(job.learner).name
    if job.learner == "cnn_lstm" and metric != "learning_time":
        return (
            "the network of the paper's text; the paper's code trains another one, "
            f"{_PUBLISHED_CODE} here, whose row is the one to look at"
        )
    spoilt = _spoilt(job.benchmark)
    if job.track == "symbolic" and learner != "ffnsl" and spoilt > _CLEAN:
        return (
            f"trained on true concepts; in the paper misread images spoil {spoilt:.0%} of the train "
            "examples, and digits misread at random to that extent give the published figures"
        )
    if job.track != "symbolic" and job.percent > 0:
        return "the perception network was trained anew: it fails on shifted images in another way"
    if job.track != "symbolic" and metric in _ON_IMAGES | {"incorrect_examples"}:
        right = np.mean([record.metrics["concept_accuracy_test"] for record in records])
        return f"the perception network was trained anew: it reads {right:.1%} of the test digits"
    return ""


def _spoilt(benchmark: str) -> float:
    """The paper's share of train examples whose label does not follow from what its network reads, at 0 %."""
    table = ffnsl2023(benchmark)
    rows = table[
        (table["metric"] == "incorrect_examples") & (table["percent"] == 0) & (table["network"] == "softmax")
    ]
    return float(rows["mean"].max()) if len(rows) else 0.0
