"""Explanation of one example: images, concepts, rules that fire, label probabilities."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nsl_bench.core.errors import UserError

if TYPE_CHECKING:
    import numpy.typing as npt
    from PIL import Image

    from nsl_bench.core.benchmark import Benchmark, Facts
    from nsl_bench.core.types import Part, Predictions, Split
    from nsl_bench.logic.inference.query import Query
    from nsl_bench.run.material import ResolvedJob, ResolvedSet
    from nsl_bench.run.record import Record
    from nsl_bench.sandbox.sealing import DataSeed

_LIKELY = 0.01
_EVALUATIONS = {"framework": "from the images", "hypothesis": "from the true concepts"}


@dataclass(frozen=True)
class Seen:
    """Network predictions for one slot.

    Attributes:
        slot: name of the slot.
        concept: true concept of the image.
        guesses: the (at most three) most probable concepts with their probabilities.
    """

    slot: str
    concept: str
    guesses: tuple[tuple[str, float], ...]
    right: bool

    def __str__(self) -> str:
        words = ", ".join(f"{name} {probability:.2f}" for name, probability in self.guesses)
        truth = "" if self.right else f"   (true concept: {self.concept})"
        return f"{self.slot}: {words or 'nothing'}{truth}"


@dataclass(frozen=True)
class StoredAnswer:
    """Prediction that a run stored for the example.

    Attributes:
        evaluation: ``"framework"`` or ``"hypothesis"``.
        predicted: the label, or ``"undecided"`` or ``"ambiguous"``.
        probabilities: probability of each label; empty if the learner gave none.
    """

    evaluation: str
    predicted: str
    probabilities: Mapping[str, float]


@dataclass(frozen=True)
class RuleAnswer:
    """Labels that rules derive for the example, computed now.

    Attributes:
        whose: origin of the rules, in words.
        fired: rule instances that fire on the most probable concepts.
        derived: label derived from the most probable concepts, or ``"none"`` or ``"several"``.
        probabilities: probability of each label, over all concepts that the images may show.
        undecided: probability that no label is derived.
        ambiguous: probability that several labels are derived.
        quality: accuracy of these numbers, in words.
        note: remark on the rules; empty if there is none.
    """

    whose: str
    fired: tuple[str, ...]
    derived: str
    probabilities: Mapping[str, float]
    undecided: float
    ambiguous: float
    quality: str
    note: str = ""


@dataclass(frozen=True, eq=False)
class Explanation:
    """An example with its network predictions, and the labels of rules and of a run.

    Attributes:
        task: name of the task.
        example: name of the example, e.g. ``"test-17"``. In a task of sequences, a step is an example.
        label: true label.
        shift: shift of its images; empty if it is not shifted.
        metadata: metadata by name.
        network: network in use, with a remark if the run used none.
        seen: network predictions, slot by slot, without blank slots.
        rules: labels that the rules derive; None if a run learned no rules.
        run: key of the run, if one was named.
        learner: learner of that run.
        stored: prediction that the run stored, or a text that says why it is unknown.
        image: images of the example on one page; of its whole sequence, if it is a step of one.
        step: which step of its sequence the example is, and how many there are; None if it is no step.
    """

    task: str
    example: str
    label: str
    shift: str
    metadata: Mapping[str, Any]
    network: str
    seen: tuple[Seen, ...]
    rules: RuleAnswer | None
    run: str
    learner: str
    stored: tuple[StoredAnswer, ...] | str
    image: Image.Image
    step: tuple[int, int] | None = None

    def __str__(self) -> str:
        state = f", step {self.step[0]} of a sequence of {self.step[1]}" if self.step else ""
        state += f", shifted by {self.shift}" if self.shift else ""
        lines = [f"{self.task}, {self.example}{state}; label: {self.label}"]
        lines += [f"  {name}: {value}" for name, value in self.metadata.items()]
        lines += ["", f"Concepts predicted by the network{self.network}:", *(f"  {one}" for one in self.seen)]
        if self.run:
            lines += ["", f"Stored predictions of the run {self.run} ({self.learner}):", *self._stored()]
        return "\n".join([*lines, "", *self._rules()])

    def _stored(self) -> list[str]:
        if isinstance(self.stored, str):
            return [f"  {self.stored}"]
        lines = []
        for one in self.stored:
            lines.append(f"  {_EVALUATIONS.get(one.evaluation, one.evaluation)}: {one.predicted}")
            lines += [f"    {name}: {p:.4f}{self._mark(name)}" for name, p in one.probabilities.items()]
        return lines

    def _rules(self) -> list[str]:
        evaluated = self.rules
        if evaluated is None:
            return ["The run learned no ASP rules; give a file of rules with --hypothesis."]
        return [
            f"Evaluation of {evaluated.whose} (computed now)",
            "Rules that fire on the most likely concepts:",
            *(f"  {instance}" for instance in evaluated.fired or ("none",)),
            f"Derived label: {evaluated.derived}",
            f"Label probabilities over all possible concepts ({evaluated.quality}):",
            *(f"  {name}: {p:.4f}{self._mark(name)}" for name, p in evaluated.probabilities.items()),
            f"  no label: {evaluated.undecided:.4f}",
            f"  several labels: {evaluated.ambiguous:.4f}",
        ]

    def _mark(self, name: str) -> str:
        return "  <- true label" if name == self.label else ""


@dataclass(frozen=True)
class _Example:
    """An example, and what it is made of.

    Attributes:
        row: its row in `split`, which holds the example alone or its whole sequence.
        made_of: task, source and shift.
        metadata: of its own row.
    """

    name: str
    row: int
    made_of: ResolvedSet
    shift_name: str
    split: Split
    seen: Predictions
    metadata: dict[str, Any]

    @property
    def task(self) -> Benchmark:
        """The task, with all concepts that the network knows."""
        return self.made_of.of_split


def explain(
    example: str,
    task: str | None = None,
    *,
    rules: str | Path | Sequence[str] | None = None,
    results: str | Path | None = None,
    run: str | None = None,
    source: str | None = None,
    network: str = "softmax",
    shift: str = "standard",
    share: float | None = None,
    size: str | None = None,
    repeat: int = 1,
    seed: int = 0,
    data_seed: DataSeed | None = None,
    engine: str = "auto",
) -> Explanation:
    """Explain how a network and rules label one example.

    Args:
        example: name of the example, ``"train-0"``, ``"test-17"`` and so on, counted from 0.
        task: name of the task; not needed with `run`.
        rules: a file of ASP rules, or a sequence of rules. By default the rules of the run, or the task's
            true rule.
        results: results folder of the run.
        run: key of the run, or its first characters. The run then supplies all other settings, and the
            prediction that it stored is returned too.
        source: image source; the task's embedded one by default.
        network: perception network.
        shift: short name or spec of a shift.
        share: share of shifted examples in percent; 100 by default if a shift is named.
        size: train size, for a train example.
        repeat: train split, for a train example.
        seed: seed of the data.
        data_seed: secret seed of the data, used instead of `seed`.
        engine: ``"auto"``, ``"exact"``, ``"sampling"`` or ``"problog"``.

    Raises:
        UserError: an unknown example, run or name, or rules that cannot be evaluated.
    """
    from nsl_bench.api.results import Results
    from nsl_bench.core import registry
    from nsl_bench.core.shift import STANDARD
    from nsl_bench.data.show import sheet
    from nsl_bench.learners.base import About
    from nsl_bench.logic.guarded.call import prepare
    from nsl_bench.run.job import PROTOCOL
    from nsl_bench.run.material import Materials
    from nsl_bench.run.plan import plan

    prepare()
    if re.fullmatch(r"(train|test)-\d+", example) is None:
        raise UserError(f"EXAMPLE must be train-NUMBER or test-NUMBER, e.g. test-17; got '{example}'.")
    if (results is None) != (run is None):
        raise UserError("--results and --run must be given together: the folder, and the key of a run in it.")
    record = None if results is None or run is None else Results(results).record(run)
    if record is None:
        if task is None:
            raise UserError(
                "No task given; name it with --benchmark, or name a run with --results and --run."
            )
        if share is None:
            share = 0.0 if shift == STANDARD else 100.0
        size = size or next(iter(registry.create("benchmark", task).sizes))
        asked: dict[str, Any] = {"sizes": size, "repeats": [repeat], "sources": source, "networks": network}
        asked |= {"shifts": shift, "percents": [share], "seed": seed}
        asked["sealed"] = "" if data_seed is None else data_seed.commitment
        (job,) = plan(task, ["explained"], describe=lambda learner: About("pretrained", ""), **asked)
    else:
        # Data are made alike by every protocol.
        job = replace(
            record.job, network=record.job.network or network, track="pretrained", protocol=PROTOCOL
        )
    result = _find(example, Materials("auto", 1).resolve(job, data_seed))
    whose, texts = _rules_of(rules, record)
    if texts is None and not result.task.true_rule:
        whose = ""
    unused = record is not None and record.job.network is None
    return Explanation(
        result.task.name,
        result.name,
        result.task.labels.names[int(result.split.labels[result.row])],
        result.shift_name if result.split.shifted[result.row] else "",
        result.metadata,
        f" ({network}; the run used none)" if unused else "",
        _seen(result),
        _rule_answer(
            result, whose, (result.task.true_rule,) if texts is None else texts, engine, strict=record is None
        ),
        "" if record is None else record.key,
        "" if record is None else record.job.learner,
        () if record is None or results is None else _stored(result, record, Path(results)),
        sheet(result.task, result.made_of.source, result.made_of.shift, result.split),
        (result.row + 1, len(result.split)) if result.task.sequential else None,
    )


def _rules_of(
    given: str | Path | Sequence[str] | None, record: Record | None
) -> tuple[str, tuple[str, ...] | None]:
    """Whose rules answer, and the rules; None for the true rule, and nobody's if a run learned none."""
    from nsl_bench.logic.asp.text import read_text

    if isinstance(given, str | Path):
        return str(given), (read_text(Path(given)),)
    if given is not None:
        return "the given rules", tuple(given)
    if record is None:
        return "the true rule", None
    learned = record.hypothesis
    if learned is None or learned.language != "asp":
        return "", None
    return f"the rules that the run {record.key} learned", learned.rules


def _find(name: str, resolved: ResolvedJob) -> _Example:
    """The example of a name, as the network sees it."""
    from nsl_bench.perception.predict import predictions_of
    from nsl_bench.run.structural_shift import with_concepts

    part: Part = "train" if name.startswith("train") else "test"
    job, made_of = resolved.job, resolved.of(part)
    complete = resolved.split(part)
    number = int(name.partition("-")[2])
    if number >= len(complete):
        raise UserError(f"EXAMPLE must be between {part}-0 and {part}-{len(complete) - 1}; got {name}.")
    split = complete.take_sequences(complete.sequences[[number]])
    row = int(complete.steps[number]) - 1
    assert resolved.network is not None
    seen = predictions_of(split, made_of.source, made_of.shift, resolved.network)
    metadata = {column: values[row].item() for column, values in split.metadata.items()}
    shift_name = job.train_shift if part == "train" else job.test_shift
    split = with_concepts(split, resolved.concept_space)
    return _Example(f"{part}-{number}", row, made_of, shift_name, split, seen, metadata)


def _seen(example: _Example) -> tuple[Seen, ...]:
    import numpy as np

    from nsl_bench.core.types import BLANK

    names, guesses_of_slots = example.task.concept_space.concepts, []
    for row, slot in np.argwhere(example.split.concepts[: example.row + 1] != BLANK).tolist():
        concept = int(example.split.concepts[row, slot])
        vector = example.seen.probabilities[row, slot]
        best = [k for k in np.argsort(-vector, kind="stable")[:3].tolist() if vector[k] >= _LIKELY]
        guesses = tuple((names[k], float(vector[k])) for k in best)
        name = example.task.slots[slot]
        name = f"step {row + 1}, {name}" if example.task.sequential else name
        guesses_of_slots.append(Seen(name, names[concept], guesses, int(vector.argmax()) == concept))
    return tuple(guesses_of_slots)


def _stored(example: _Example, record: Record, results: Path) -> tuple[StoredAnswer, ...] | str:
    """The stored predictions of an example; why there are none."""
    from nsl_bench.run.store import NoPredictions, Store

    if example.name.startswith("train"):
        return "none: a run has predictions for test examples only."
    if record.status != "ok":
        return f"none: the run failed ({record.status.replace('_', ' ')})."
    try:
        frame = Store(results, must_exist=True).predictions(record.key)
    except NoPredictions:
        return f"none: {results} has no predictions of this run."
    except UserError as error:
        return f"cannot be read: {error}"
    rows = frame[frame["example"] == example.name]
    if not len(rows):
        return f"none: the run has no predictions for {example.name}."
    names = example.task.labels.names
    return tuple(
        StoredAnswer(
            row["evaluation"],
            row["predicted"],
            {name: float(row[f"p_{name}"]) for name in names if f"p_{name}" in row},
        )
        for _, row in rows.iterrows()
    )


def _rule_answer(
    example: _Example, whose: str, rules: Sequence[str], engine: str, *, strict: bool
) -> RuleAnswer | None:
    from nsl_bench.api.rules import how_good
    from nsl_bench.learners.queries import engine_of
    from nsl_bench.logic.guarded.call import guarded
    from nsl_bench.logic.guarded.rules import UNDERIVABLE, crisp, inferred

    task = example.task
    if not whose:
        return None
    query, context, vectors, facts = _asked(example, rules, strict=strict)
    note = guarded(UNDERIVABLE, query, doing="Reading the hypothesis") or ""
    answer = inferred(partial(engine_of, engine), query, vectors, facts)
    fired = guarded(
        "nsl_bench.logic.inference.explanation:fired",
        *(query.rules, task.background, context),
        doing="Grounding the hypothesis",
    )
    label = int(crisp(query.rules, task.background, [context], task.labels)[0])
    words = {-1: "none", -2: "several", **dict(enumerate(task.labels.names))}
    return RuleAnswer(
        whose,
        tuple(fired),
        words[label],
        dict(zip(task.labels.names, answer.probabilities[0].tolist(), strict=True)),
        float(answer.undecided[0]),
        float(answer.ambiguous[0]),
        how_good(answer.engines[0], float(answer.width[0]), float(answer.std_err.max(initial=0.0))),
        note,
    )


def _asked(
    example: _Example, rules: Sequence[str], *, strict: bool
) -> tuple[Query, Facts, npt.NDArray[Any], list[Facts]]:
    """The query for an example, its facts on the most probable concepts, vectors and facts of meta-data."""
    from nsl_bench.learners.queries import facts_so_far, query_of, seen_so_far

    task, rows = example.task, slice(example.row + 1)
    vectors = example.seen.probabilities[rows]
    columns = {name: values[rows] for name, values in example.split.metadata.items()}
    facts = [
        task.metadata_facts({name: values[row].item() for name, values in columns.items()})
        for row in range(len(vectors))
    ]
    steps = example.split.steps[rows]
    context = task.contexts(example.seen.concepts[rows], columns, steps)[-1]
    query = query_of(task, rules, strict=strict, steps=len(steps) if task.sequential else 0)
    if task.sequential:
        vectors, facts = seen_so_far(steps, vectors)[-1:], facts_so_far(task, steps, facts)[-1:]
    return query, context, vectors, facts
