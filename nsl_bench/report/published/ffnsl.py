"""Every figure of the FFNSL papers that finished runs measure, beside the published one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nsl_bench.core import registry
from nsl_bench.core.metrics import METRICS
from nsl_bench.core.registry import Spec
from nsl_bench.core.types import Hypothesis, Split
from nsl_bench.data.card import distinct_images
from nsl_bench.data.splits import symbolic_split
from nsl_bench.perception.trained_networks import EDGES
from nsl_bench.report.intervals import example_scores
from nsl_bench.run.job import Job
from nsl_bench.run.record import Record
from nsl_bench.run.store import Store

from .equivalence import POWER, Mean, compare_means, compare_paired, image_error, known_error, repeats_needed
from .figures import FEWEST, TRUE_CONCEPTS, Badge, Figure, badge_of, both_sides
from .grid import ABLATED, DRAWN, PRESETS, REDUCED, STAND_INS, of_seed
from .papers import KEY, ffnsl2023, margin_of, networks2021, values_of
from .reasons import AS_PUBLISHED, SAMPLES, as_published, as_read, reason_of

if TYPE_CHECKING:
    import pandas as pd

_SPLITS = {"small": 50, "large": 5}
"""The paper's train splits of each size."""

_ON_IMAGES = frozenset(
    {"framework_accuracy", "framework_accuracy_problog", "brier_score", "concept_accuracy_test"}
)

CONFIDENCES = tuple(f"confidence_share_{low:.2f}_{high:.2f}" for low, high in pairwise(EDGES))
"""The paper's names of shares of a network's confidences on train images."""

_BY_PROBLOG = "framework_accuracy_problog"

_OURS = {_BY_PROBLOG: "framework_accuracy_probabilistic", "output_lines": "rules"}
"""Our metric for the paper's."""


def in_workshop(figure: Figure) -> bool:
    """Whether the version of 2021 has a figure: accuracies by ProbLog, and of networks at 0 and 100 %."""
    return figure.metric == "framework_accuracy_problog" or figure.learner == "network"


@cache
def paper_atoms(benchmark: str, hypothesis: Hypothesis) -> int:
    """Atoms as the paper's code counts them (`ffnsl2023.toml`): body literals only.

    On Follow Suit type atoms count, and the link to the invented predicate, a rule here, is one fact there.
    On Sudoku FastLAS 1 prints no type atoms. FastLAS 3, with reduced background knowledge, prints them, and
    an inequality for any two literals, of which the code drops all but those of two cells.
    """
    if hypothesis.language == "tree":
        return hypothesis.atoms
    from nsl_bench.logic.las import LasTask
    from nsl_bench.logic.las.bias.hypothesis import hypothesis_cost, rule_parts

    parts = [rule_parts(rule) for rule in hypothesis.rules]
    if benchmark == "follow_suit":
        linked = [(head or "").startswith("winner(") for head, _ in parts]
        return sum(1 if link else max(1, len(body)) for link, (_, body) in zip(linked, parts, strict=True))
    if benchmark.endswith(REDUCED):
        printed = [[literal for literal in body if " != " not in literal] for _, body in parts]
        cells = [sum(literal.startswith("digit(") for literal in body) for body in printed]
        return sum(map(len, printed)) + sum(n * (n - 1) // 2 for n in cells)
    task = registry.create("benchmark", benchmark)
    cost = hypothesis_cost(LasTask.build([], task.background, task.bias, task.name), hypothesis.rules)
    return cost - sum(head is not None for head, _ in parts)


def compare(jobs: Sequence[Job], store: Store) -> list[Figure]:
    """Compare every published figure of the finished runs with ours, in the order of the grid."""
    return borne_out([figure for _, figures in _compared(jobs, store) for figure in figures])


def borne_out(figures: Sequence[Figure]) -> list[Figure]:
    """The figures, without a reason by the paper's code where that code's own figure differs, too."""
    differ = {one.which for one in figures if one.badge == "differs"}
    result = []
    for one in figures:
        code = AS_PUBLISHED.get(one.learner)
        gone = code and f"({code})" in one.reason and replace(one, learner=code).which in differ
        result.append(replace(one, reason="") if gone else one)
    return result


def further_splits(jobs: Sequence[Job], shown: Callable[[Figure], bool] | None, store: Store) -> list[Job]:
    """The runs on further train splits without which a figure has not enough data.

    How many it takes is told by the spread of the finished runs, not by their difference to the paper.

    Args:
        shown: which figures count; all of them if None.
    """
    done = store.latest()
    further: dict[str, Job] = {}
    for job, figures in _compared(jobs, store):
        short = [figure.needed for figure in filter(shown, figures) if figure.badge == "not enough data"]
        needed = int(np.nan_to_num(short, nan=FEWEST).max(initial=0))
        folder = Path(job.splits or "") / job.size
        for repeat in range(1, needed + 1):
            more = replace(job, repeat=repeat)
            if more.key() not in done and (folder / f"train_{repeat}.csv").is_file():
                further[more.key()] = more
    return list(further.values())


def _compared(jobs: Sequence[Job], store: Store) -> Iterator[tuple[Job, list[Figure]]]:
    """The figures of each setting, with a job of it."""
    asked = {replace(job, repeat=1).key(): job for job in jobs}
    groups: dict[Job, list[Record]] = {}
    for record in store.latest().values():
        job = asked.get(replace(record.job, repeat=1).key()) if record.status == "ok" else None
        if job is not None:
            # Images and splits may have been in another folder.
            here = replace(record, job=replace(job, repeat=record.job.repeat))
            groups.setdefault(replace(job, repeat=1), []).append(here)
    order = {replace(job, repeat=1): k for k, job in reversed(list(enumerate(jobs)))}
    for setting in sorted(groups, key=lambda setting: order[setting]):
        seeds = range(PRESETS["paper"].trainings) if setting.network else (0,)
        trainings = [of_seed(setting, seed) for seed in seeds]
        if "answers=published" in setting.learner or setting != trainings[0]:
            continue  # a condition of other figures
        published = AS_PUBLISHED.get(setting.learner, setting.learner)
        by_code = [replace(one, learner=published) for one in trainings]
        ours, theirs = ([groups[one] for one in some if one in groups] for some in (trainings, by_code))
        yield setting, list(_figures(ours, theirs, store))


def _of_2021(job: Job) -> bool:
    return Spec.parse(job.learner).kwargs.get("penalty") == "floor"


def _published(job: Job) -> pd.DataFrame:
    """The paper's rows for the setting of a run."""
    import pandas as pd

    task, _, option = job.benchmark.partition(":")
    spec, table = Spec.parse(job.learner), ffnsl2023(task, "main", "more_repeats")
    if _of_2021(job):
        table = pd.concat([table[table["learner"] != "network"], networks2021(task)])
    constant = spec.kwargs.get("penalty") == "constant"
    penalties = ("constant" if constant else "network") if spec.name == "ffnsl" else ""
    names = [ABLATED.get(f":{option}", spec.name)]
    if job.track != "symbolic" and spec.name == "ffnsl" and penalties == "network" and not option:
        names.append("network")
    shift = "standard" if job.percent == 0 else STAND_INS.get(job.shift, job.shift)
    return table[
        table["learner"].isin(names)
        & table["penalties"].isin([penalties, ""])
        & (table["network"] == Spec.parse(job.network or "softmax").name)
        & (table["size"].isin([job.size, ""]))
        & (table["shift"] == shift)
        & (table["percent"] == job.percent)
    ]


@dataclass(frozen=True)
class _Theirs:
    """A published mean, and the values behind it by train split; empty where they are not known."""

    mean: Mean
    values: Mapping[int, float]

    @classmethod
    def of(cls, job: Job, row: Mapping[str, Any]) -> _Theirs:
        """That of a row of the paper's table; the values only for runs on its own splits."""
        mean = Mean(float(row["mean"]), float(np.nan_to_num(row["std_err"])), int(row["repeats"]))
        own = job.splits and Path(job.splits).parent.name != DRAWN
        known = values_of(job.benchmark.partition(":")[0], str(row["run"])) if own else {}
        return cls(mean, dict(enumerate(known.get(tuple(row[name] for name in KEY), ()), start=1)))


def _figures(
    trainings: Sequence[Sequence[Record]], by_code: Sequence[Sequence[Record]], store: Store
) -> Iterator[Figure]:
    """The figures of one setting.

    Args:
        trainings: records that differ in the repeat, with each training of the network.
        by_code: those of the learner as the paper's code has it; the same ones if there is no other.
        store: has their predictions.
    """
    records = trainings[0]
    job = records[0].job
    rows: Any = _published(job).to_dict("records")
    with_rules = {row["run"] for row in rows if row["metric"] == "rules"}
    for row in rows:
        metric, theirs = str(row["metric"]), _Theirs.of(job, row)
        if metric == "output_lines" and row["run"] in with_rules:
            continue  # one more than the rules
        published, most = theirs.mean, max(_SPLITS["large"], theirs.mean.repeats)
        for counting in dict(_measured(metric, records)):
            every, mean = _over_trainings(metric, counting, trainings)
            values = {repeat: value for repeat, value in every.items() if repeat <= most}
            if not values or (row["run"] == "more_repeats" and max(values) <= _SPLITS["large"]):
                continue
            image_error = _image_error([r for r in records if r.job.repeat in values], metric, store)
            figure = _judged(job, metric, counting, values, theirs, image_error, *mean)
            if figure.power < POWER:
                image_error = _image_error(records, metric, store)
                means = _judged(job, metric, counting, every, replace(theirs, values={}), image_error, *mean)
                values, figure = (every, means) if means.power > figure.power else (values, figure)
            if figure.badge == "not enough data" and figure.needed <= len(every):
                # As many are done, and a pairing with the paper's own splits has more power than all of them.
                figure = replace(figure, badge="undecidable", needed=float("nan"))
            if figure.badge == "differs":
                reasons = (
                    reason_of(condition, values, under, published, figure.margin, *over)
                    for condition, under, over in _conditions(metric, counting, trainings, by_code, store)
                )
                figure = replace(figure, reason=next(filter(None, reasons), ""))
            yield replace(
                figure,
                learner=job.learner if row["learner"] in job.learner else str(row["learner"]),
                penalties=str(row["penalties"]),
            )


def _conditions(
    metric: str,
    counting: str,
    trainings: Sequence[Sequence[Record]],
    by_code: Sequence[Sequence[Record]],
    store: Any,
) -> Iterator[tuple[str, dict[int, float], list[Mean]]]:
    """What may be the reason of a difference, and what `_over_trainings` finds under that condition."""
    job = trainings[0][0].job
    if job.learner in AS_PUBLISHED:
        yield as_published(job.learner), *_over_trainings(metric, counting, by_code)
    network = Spec.parse(job.network or "softmax").name
    samples = SAMPLES.get((job.benchmark.partition(":")[0], network))
    fitted = metric == _BY_PROBLOG and not job.percent
    of_ffnsl = Spec.parse(job.learner).name == "ffnsl"
    if of_ffnsl and metric in ("brier_score", _BY_PROBLOG) and samples and not fitted:
        sampled = [[_sampled(record, samples, store) for record in some] for some in trainings]
        condition = f"grids that are invalid if one of {samples} samples is, as the paper's ProbLog was read,"
        yield condition, *_over_trainings(metric, counting, sampled)


def _sampled(record: Record, samples: int, store: Any) -> Record:
    """A run with the Brier score and accuracy of `as_read`; as it is if its predictions were not kept."""
    scores = example_scores(store, record, record.key, "brier_score")
    if scores is None:
        return record
    is_valid = _test(record.job).labels == 0
    wrong = np.sqrt(scores / 2)
    brier, accuracy = as_read(np.where(is_valid, wrong, 1 - wrong), is_valid, samples)
    return replace(record, metrics={**record.metrics, "brier_score": brier, _OURS[_BY_PROBLOG]: accuracy})


def _judged(
    job: Job,
    metric: str,
    counting: str,
    values: Mapping[int, float],
    theirs: _Theirs,
    image_error: float,
    *trainings: Mean,
) -> Figure:
    """A figure with its badge, and without a reason for a difference.

    Args:
        values: ours, by repeat.
        image_error: the standard error that comes of test images, which repeats share.
        trainings: the mean over trainings of the network, if there are several.
    """
    ours, published = Mean.of(list(values.values())), theirs.mean
    reason = _incomparable(job, metric, counting)
    tests: dict[str, Any] = dict.fromkeys(
        ("margin", "p_equivalent", "p_different", "power", "needed"), float("nan")
    )
    badge: Badge = "not comparable"
    if not reason:
        margin = margin_of(metric, job.learner, published.value)
        both = sorted(values.keys() & theirs.values.keys())
        needed = repeats_needed(ours, published, margin, image_error, *trainings)
        if len(both) >= FEWEST:
            pairs = [values[k] for k in both], [theirs.values[k] for k in both]
            compared = compare_paired(*pairs, margin, image_error, *trainings)
            apart = Mean.of([a - b for a, b in zip(*pairs, strict=True)])
            enough = repeats_needed(apart, None, margin, image_error, *trainings)
            needed = enough if enough is not None and enough <= len(theirs.values) else needed
        else:
            compared = compare_means(ours, published, margin, image_error, *trainings)
        if needed is not None and needed > _SPLITS[job.size]:
            needed = None
        fewest = ours.repeats if metric.endswith("_test") else min(ours.repeats, published.repeats)
        badge = badge_of(compared, fewest, decidable=needed is not None)
        tests |= {name: getattr(compared, name) for name in tests.keys() - {"needed"}}
        tests["needed"] = float("nan") if needed is None else float(max(needed, FEWEST))
    return Figure(
        benchmark=job.benchmark,
        learner=job.learner,
        penalties="",
        network=Spec.parse(job.network).name if job.network else TRUE_CONCEPTS,
        size=job.size,
        shift=job.shift,
        percent=job.percent,
        metric=metric,
        counting=counting,
        **both_sides(published, ours),
        **tests,
        badge=badge,
        reason=reason,
    )


def _measured(metric: str, records: Sequence[Record]) -> Iterator[tuple[str, dict[int, float]]]:
    """Our values of a metric by repeat, in the paper's way of counting and in ours where they differ."""
    job = records[0].job
    learner = Spec.parse(job.learner).name
    name = _OURS.get(metric, metric)
    values = {record.job.repeat: record.metrics[name] for record in records if name in record.metrics}
    if metric == "atoms" and learner == "ffnsl":
        rules = {r.job.repeat: r.hypothesis for r in records if r.hypothesis is not None}
        yield "paper", {k: float(paper_atoms(job.benchmark, hypothesis)) for k, hypothesis in rules.items()}
        yield "ours", values
    elif (share := metric.removesuffix("_test")) in CONFIDENCES:
        part = "train" if share == metric else "test"
        seen: dict[int, Any] = {
            r.job.repeat: r.perception.get(part, {}).get("confidence", ()) for r in records
        }
        counts = {k: one for k, one in seen.items() if len(one) == len(CONFIDENCES)}
        yield "paper", {k: one[CONFIDENCES.index(share)] / sum(one) for k, one in counts.items()}
    elif metric == "output_lines":
        yield "paper", {k: number + 1 for k, number in values.items()}
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


def _over_trainings(
    metric: str, counting: str, trainings: Sequence[Sequence[Record]]
) -> tuple[dict[int, float], list[Mean]]:
    """Our values of a metric by repeat, and their mean over trainings.

    With fewer than three trainings the values are those of the first, and there is no such mean. Else their
    mean over the repeats that all trainings have is that of all.
    """
    values = [dict(_measured(metric, records)).get(counting, {}) for records in trainings]
    both = set[int].intersection(*map(set, values)) if len(values) >= FEWEST else set()
    if not both:
        return (values or [{}])[0], []
    means = [float(np.mean([one[repeat] for repeat in both])) for one in values]
    apart = float(np.mean(means)) - means[0]
    return {repeat: value + apart for repeat, value in values[0].items()}, [Mean.of(means)]


@cache
def _test_size(benchmark: str) -> int:
    return int(registry.create("benchmark", benchmark).test_size)


def _test(job: Job) -> Split:
    task = registry.create("benchmark", job.benchmark)
    return symbolic_split(task, "test", job.size, splits=Path(job.splits) if job.splits else None)


def _image_error(records: Sequence[Record], metric: str, store: Any) -> float:
    """The standard error of a figure that comes of other test images than the paper's, which repeats share.

    The test examples are the paper's, and those that are shifted. Without predictions it is what `test_error`
    says, which is at least as large.
    """
    job = records[0].job
    if _of_2021(job) and metric.endswith("_test"):
        # The paper's are of all test images, of which examples show some.
        p = float(np.mean([*dict(_measured(metric, records))["paper"].values()]))
        shown = distinct_images(_test(job)) or _test_size(job.benchmark)
        return known_error(p, 1.0, shown, 0.001 if metric in METRICS else 0.01, sides=1)
    if job.track == "symbolic" or metric not in _ON_IMAGES or ",whole=true" in job.source:
        return 0.0
    name = _OURS.get(metric, metric)
    value = float(np.mean([record.metrics.get(name, 0.5) for record in records]))
    found = [example_scores(store, record, record.key, name) for record in records if name in METRICS]
    scores = [one for one in found if one is not None]
    if not job.splits or not scores or len(scores) < len(records):
        return test_error(job.benchmark, metric, value)
    test = _test(job).shift(job.percent, floor=True)
    strata = 2 * test.labels.astype(np.int64) + test.shifted
    return image_error(np.mean(scores, axis=0), strata)


def test_error(benchmark: str, metric: str, value: float) -> float:
    """The standard error that comes of test images drawn anew on both sides, which repeats share.

    Of an accuracy p over n examples it is sqrt(2 p (1 - p) / n); a Brier score of crisp answers is twice
    the error rate.
    """
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
    of_rules = metric in ("hypothesis_accuracy", "atoms", "rules", "output_lines")
    if job.track == "symbolic" and (not of_rules or job.learner == "random_forest_knowledge"):
        return "true concepts here, a network's predictions in the paper"
    if job.track != "symbolic" and job.benchmark == "follow_suit":
        return "images differ: the paper's photographs of cards are not public"
    return ""
