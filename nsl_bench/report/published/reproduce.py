"""Reproduce a paper: run its grid and compare every figure with the published one.

The grid of "FFNSL: Feed-Forward Neural-Symbolic Learner" (Cunnington, Law, Lobo, Russo; Machine Learning
2023): its own splits, Sudoku on MNIST, playing cards on true concepts at 0 % (the photographs are not
public) and, in the preset ``paper``, on drawn decks that stand for them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from nsl_bench.core import registry
from nsl_bench.core.errors import UserError
from nsl_bench.core.registry import Spec
from nsl_bench.core.types import Hypothesis
from nsl_bench.run.job import Job
from nsl_bench.run.plan import plan
from nsl_bench.run.record import Record
from nsl_bench.run.store import Store

from .equivalence import POWER, Comparison, Mean, compare_means, repeats_needed
from .papers import ffnsl2023, margin_of
from .reasons import PUBLISHED_CODE, tested_reasons

if TYPE_CHECKING:
    import pandas as pd

Badge = Literal["reproduced", "differs", "undecided", "not enough data", "not comparable"]

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

_BASELINES = {
    "follow_suit": ("random_forest", "fcn"),
    "sudoku_4x4": ("random_forest", "cnn_lstm", PUBLISHED_CODE),
    "sudoku_9x9": ("random_forest", "random_forest_knowledge", "cnn_lstm", PUBLISHED_CODE),
}
_LARGE = frozenset({"follow_suit", "sudoku_4x4"})
"""Tasks whose large train sets are public."""

_FEWEST = 3
"""Fewer repeats tell nothing of their spread: two may agree by chance."""

_ON_IMAGES = frozenset({"framework_accuracy", "framework_accuracy_problog", "brier_score"})


@dataclass(frozen=True)
class Preset:
    """The part of the grid to run.

    Attributes:
        baseline_percents: shares of shifted examples for the baselines, where there are images; FFNSL is run
            at all of the paper's.
        repeats: of runs with images; runs on true concepts have all five.
        whole: whether baselines also learn from the large train sets, FFNSL is also run with constant
            penalties, and cards are also run on drawn decks.
        softmax: spec of the Softmax CNN on MNIST.
    """

    baseline_percents: tuple[float, ...]
    repeats: int
    whole: bool
    softmax: str = "softmax"


PERCENTS = tuple(range(0, 101, 10))
"""The paper's shares of shifted examples."""

PRESETS: Mapping[str, Preset] = {
    "quick": Preset((0, 50, 100), 3, whole=False, softmax="softmax:images_per_concept=4000,epochs=8"),
    "paper": Preset(PERCENTS, 5, whole=True),
}


@dataclass(frozen=True)
class Figure:
    """A published figure and the reproduced one.

    Attributes:
        benchmark, learner, penalties, network, size, shift, percent, metric: what it is, in our words.
        counting: ``"paper"`` or ``"ours"``, where the two count differently.
        published, published_std_err, published_repeats: mean and standard error over the paper's repeats.
        measured, measured_std_err, repeats: ours.
        margin: differences below it count as none; NaN where nothing is compared, as all below.
        p_equivalent, p_different, power: of the tests (`equivalence.Comparison`).
        needed: how many repeats of ours would have the power to show equivalence; NaN where none would.
        badge: what to make of it.
        reason: a tested one of a difference, or why nothing can be compared.
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
    published_repeats: int
    measured: float
    measured_std_err: float
    repeats: int
    margin: float
    p_equivalent: float
    p_different: float
    power: float
    needed: float
    badge: Badge
    reason: str

    @property
    def difference(self) -> float:
        """Measured minus published."""
        return self.measured - self.published


def grid(tasks: Sequence[str], preset: Preset, splits: Path, mnist: Path | None = None) -> list[Job]:
    """The paper's runs for which the data are available.

    Args:
        splits: folder of the paper's splits, one folder a task.
        mnist: torchvision's folder of MNIST; without it Sudoku is run on true concepts.
    """
    jobs: list[Job] = []
    for task in tasks:
        folder = splits / task
        if not folder.is_dir():
            raise UserError(
                f"--data: the folder of splits {folder} does not exist; the paper's splits are in "
                "examples/*/data of github.com/DanCunnington/FFNSL."
            )
        images = f"mnist:{mnist}" if mnist is not None and task.startswith("sudoku") else None
        sizes = ["small", *(["large"] if preset.whole and task in _LARGE else [])]
        symbolic: dict[str, Any] = {"track": "symbolic", "splits": folder, "repeats": range(1, 6)}
        jobs += plan(task, ["ffnsl"], **symbolic)
        jobs += plan(task, _BASELINES[task], sizes=sizes, **symbolic)
        ours = ["ffnsl", *(["ffnsl:penalty=constant"] if preset.whole else [])]
        shifted: dict[str, Any] = {"splits": folder, "repeats": range(1, preset.repeats + 1)}
        if images is not None:
            shifted |= {"sources": images, "shifts": ["rotate90"]}
            for network in (preset.softmax, "edl_gen"):
                jobs += plan(task, ours, networks=network, percents=PERCENTS, **shifted)
            shares = preset.baseline_percents
            jobs += plan(task, _BASELINES[task], networks=preset.softmax, percents=shares, **shifted)
        elif preset.whole and task == "follow_suit":
            jobs += plan(task, ["ffnsl"], shifts=list(STAND_INS), percents=PERCENTS, **shifted)
    return list({job.key(): job for job in jobs}.values())


def paper_atoms(benchmark: str, hypothesis: Hypothesis) -> int:
    """Atoms as the paper's code counts them (`ffnsl2023.toml`): body literals only.

    On Follow Suit type atoms count, and the link to the invented predicate, a rule here, is one fact there.
    On Sudoku type atoms do not occur in what FastLAS prints.
    """
    if hypothesis.language == "tree":
        return hypothesis.atoms
    from nsl_bench.logic.las import LasTask
    from nsl_bench.logic.las.bias.hypothesis import hypothesis_cost, rule_parts

    parts = [rule_parts(rule) for rule in hypothesis.rules]
    if benchmark == "follow_suit":
        linked = [(head or "").startswith("winner(") for head, _ in parts]
        return sum(1 if link else max(1, len(body)) for link, (_, body) in zip(linked, parts, strict=True))
    task = registry.create("benchmark", benchmark)
    cost = hypothesis_cost(LasTask.build([], task.background, task.bias, task.name), hypothesis.rules)
    return cost - sum(head is not None for head, _ in parts)


def compare(jobs: Sequence[Job], store: Store) -> list[Figure]:
    """Compare every published figure of the finished runs with ours, in the order of the grid."""
    keys = {job.key() for job in jobs}
    groups: dict[tuple[Any, ...], list[Record]] = {}
    for key, record in store.latest().items():
        if key in keys and record.status == "ok":
            groups.setdefault(_setting(record.job), []).append(record)
    order = {_setting(job): k for k, job in reversed(list(enumerate(jobs)))}
    figures: list[Figure] = []
    for setting in sorted(groups, key=lambda setting: order[setting]):
        figures += _figures(groups[setting], groups.get(_as_published(setting), ()))
    return figures


def _as_published(setting: tuple[Any, ...]) -> tuple[Any, ...]:
    """The setting in which the same learner is that of the paper's code; the setting itself if it is."""
    at = _SETTING.index("learner")
    learner = PUBLISHED_CODE if setting[at] == "cnn_lstm" else setting[at]
    return (*setting[:at], learner, *setting[at + 1 :])


_SETTING = ("benchmark", "source", "track", "learner", "network", "size", "shift", "percent")


def _setting(job: Job) -> tuple[Any, ...]:
    return tuple(getattr(job, name) for name in _SETTING)


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


def _figures(records: Sequence[Record], by_code: Sequence[Record]) -> Iterator[Figure]:
    """The figures of one setting.

    Args:
        records: they differ in the repeat.
        by_code: those of the learner as the paper's code has it; the same ones if there is no other.
    """
    job = records[0].job
    for row in _published(job).to_dict("records"):
        metric = str(row["metric"])
        published = Mean(float(row["mean"]), float(np.nan_to_num(row["std_err"])), int(row["repeats"]))
        for counting, values in _measured(metric, records):
            if not values:
                continue
            ours = Mean.of(list(values.values()))
            figure = _judged(job, metric, counting, ours, published)
            if figure.badge == "differs":
                under = next((v for c, v in _measured(metric, by_code) if c == counting), {})
                figure = replace(figure, reason=tested_reasons(records, metric, values, under, published))
            yield replace(
                figure,
                learner="ffnsl" if job.learner.startswith("ffnsl") else job.learner,
                penalties=str(row["penalties"]),
            )


def _judged(job: Job, metric: str, counting: str, ours: Mean, published: Mean) -> Figure:
    """A figure with its badge, and without a reason for a difference."""
    reason = _incomparable(job, metric, counting)
    tests = dict.fromkeys(("margin", "p_equivalent", "p_different", "power", "needed"), float("nan"))
    badge: Badge = "not comparable"
    if not reason:
        margin = margin_of(metric, job.learner, published.value)
        known_error = 0.0 if job.track == "symbolic" else test_error(job.benchmark, metric, ours.value)
        compared = compare_means(ours, published, margin, known_error)
        needed = repeats_needed(ours, published, margin, known_error)
        badge = badge_of(compared, min(ours.repeats, published.repeats))
        tests |= {name: getattr(compared, name) for name in tests.keys() - {"needed"}}
        tests["needed"] = float("nan") if needed is None else float(max(needed, _FEWEST))
    return Figure(
        benchmark=job.benchmark,
        learner=job.learner,
        penalties="",
        network=Spec.parse(job.network).name if job.network else "true concepts",
        size=job.size,
        shift=job.shift,
        percent=job.percent,
        metric=metric,
        counting=counting,
        published=published.value,
        published_std_err=published.std_err,
        published_repeats=published.repeats,
        measured=ours.value,
        measured_std_err=ours.std_err,
        repeats=ours.repeats,
        **tests,
        badge=badge,
        reason=reason,
    )


def badge_of(compared: Comparison, repeats: int) -> Badge:
    """What the tests say of the fewer `repeats` of both sides.

    A difference that is shown, and shown to be below the margin, is none.
    """
    if repeats < _FEWEST:
        return "not enough data"
    if compared.equivalent:
        return "reproduced"
    if compared.different:
        return "differs"
    return "undecided" if compared.power >= POWER else "not enough data"


def _measured(metric: str, records: Sequence[Record]) -> Iterator[tuple[str, dict[int, float]]]:
    """Our values of a metric by repeat, in the paper's way of counting and in ours where they differ."""
    job = records[0].job
    learner = Spec.parse(job.learner).name
    name = "framework_accuracy_probabilistic" if metric == "framework_accuracy_problog" else metric
    values = {record.job.repeat: record.metrics[name] for record in records if name in record.metrics}
    if metric == "atoms" and learner == "ffnsl":
        rules = {r.job.repeat: r.hypothesis for r in records if r.hypothesis is not None}
        yield "paper", {k: float(paper_atoms(job.benchmark, hypothesis)) for k, hypothesis in rules.items()}
        yield "ours", values
    elif metric == "framework_accuracy" and learner == "ffnsl" and job.benchmark == "follow_suit":
        # The published code leaves out examples for which no winner is derived.
        decided = {r.job.repeat: 1 - r.metrics.get("undecided", 0.0) for r in records}
        yield "paper", {k: value / decided[k] for k, value in values.items() if decided[k] > 0}
        yield "ours", values
    elif metric == "brier_score" and learner == "cnn_lstm":
        # The paper's score is that of hard predictions.
        right = {r.job.repeat: r.metrics.get("framework_accuracy") for r in records}
        yield "paper", {k: 2 - 2 * share for k, share in right.items() if share is not None}
        yield "ours", values
    else:
        yield "paper", values


@cache
def _test_size(benchmark: str) -> int:
    return int(registry.create("benchmark", benchmark).test_size)


def test_error(benchmark: str, metric: str, value: float) -> float:
    """The standard error that comes of test images drawn anew on both sides, which repeats share.

    Of an accuracy p over n examples it is sqrt(2 p (1 - p) / n); a Brier score of crisp answers is twice
    the error rate. What needs no images has none.
    """
    if metric not in _ON_IMAGES:
        return 0.0
    scale = 2.0 if metric == "brier_score" else 1.0
    p = min(max(value / scale, 0.0), 1.0)
    return float(scale * np.sqrt(2 * p * (1 - p) / _test_size(benchmark)))


def _incomparable(job: Job, metric: str, counting: str) -> str:
    """Why a figure cannot be compared; empty if it can."""
    if metric == "learning_time":
        learner = Spec.parse(job.learner).name
        return "another machine" + (" and another rule learner" if learner == "ffnsl" else "")
    if counting == "ours":
        return "counted differently in the paper"
    if job.track == "symbolic" and metric not in ("hypothesis_accuracy", "atoms", "rules"):
        return "true concepts here, a network's predictions in the paper"
    if job.track != "symbolic" and job.benchmark == "follow_suit":
        return "images differ: the paper's photographs of cards are not public"
    return ""
