"""Every number of a submission computed again, from its predictions and rules and the benchmark's labels.

All of it is done in a process of its own, with one limit of time and memory for the whole: whatever a
submission does to the libraries that read it, it does it there. The scores make the board's record,
``scores.jsonl`` beside the submission: one run a line. Nothing that a submitter says about how well they did
is read.
"""

from __future__ import annotations

import re
import textwrap
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from nsl_bench import registry
from nsl_bench.benchmark import Benchmark
from nsl_bench.data.content import content_hash
from nsl_bench.data.splits import make_source, make_split, symbolic_split
from nsl_bench.declared import quoted
from nsl_bench.isolation.guard import RULES, Advice, Allowance, Ended, guarded
from nsl_bench.isolation.guard_worker import stage, tell
from nsl_bench.run import metrics as measure
from nsl_bench.run.agreement import BOUND
from nsl_bench.run.job import Job
from nsl_bench.shift import resolve
from nsl_bench.source import ImageSource
from nsl_bench.types import AMBIGUOUS, UNDECIDED, Part, Split, one_hot

from .contests import Cell, Contest, contest_of
from .judge import JudgementError, judged
from .predictions import Predicted, contradictions, read_predictions
from .reading import Run, read_manifest, read_runs
from .submission import PREDICTIONS, Manifest
from .untrusted import LIMITS, Limits, Rejected, opened
from .verdict import ScoredRun, Verdict

__all__ = ["score"]

_NAMED = 5
_DOING = "Scoring the submission"
_READING = f"Reading {PREDICTIONS}"
_ADVICE = Advice(
    "fewer runs, or simpler rules and predictions, need less",
    "crashed",
    {
        **RULES.why,
        "SIGSEGV": "a file is damaged, or terms are nested too deep",
        "SIGABRT": "a file is damaged",
    },
)
_LONGEST_PROBLEM = 350
_TEST = re.compile(r"[^<>:;]{1,200} (<=?|>=?|=|!=) [-+.\w]{1,80}")
"""One test on a branch of a tree."""


def score(
    path: Path,
    contests: Sequence[Contest],
    limits: Limits = LIMITS,
    heard: Callable[[str], None] | None = None,
) -> Verdict:
    """Check a submission and compute its numbers, in a process that may die.

    Args:
        path: folder or zip file.
        contests: the board's.
        limits: what it may cost.
        heard: is told what is being done, a sentence before each thing that may take long.

    Raises:
        UserError: there is nothing at the path.
    """
    try:
        told = guarded(
            _scored_here,
            path,
            tuple(contests),
            limits,
            doing=_DOING,
            allowance=Allowance(limits.seconds, limits.memory),
            heard=heard,
            advice=_ADVICE,
        )
    except Ended as ended:
        return Verdict(path.name, (textwrap.shorten(str(ended), _LONGEST_PROBLEM, placeholder=" ... ."),))
    return Verdict.from_plain(told)


def _scored_here(path: Path, contests: Sequence[Contest], limits: Limits) -> dict[str, Any]:
    """The verdict as plain values."""
    name = path.name
    try:
        with opened(path, limits) as folder:
            manifest = read_manifest(folder)
            name = manifest.name
            verdict = _score(folder, manifest, contests, limits)
    except Rejected as error:
        verdict = Verdict(name, (str(error),))
    except MemoryError:
        verdict = Verdict(name, ("The submission takes more memory than there is.",))
    return asdict(verdict)


def _score(folder: Path, manifest: Manifest, contests: Sequence[Contest], limits: Limits) -> Verdict:
    began = time.monotonic()
    runs = read_runs(folder, limits)
    places: dict[str, tuple[Contest, Cell]] = {}
    notes: list[str] = []
    for run in runs:
        if run.job.learner != manifest.learner or run.job.track != manifest.track:
            raise Rejected(
                f"The run {run.id} is of {run.job.learner} in the track {run.job.track}, but the "
                f"submission is of {manifest.learner} in {manifest.track}."
            )
        place = contest_of(contests, run.job)
        if place is not None:
            places[run.id] = place
    outside = len(runs) - len(places)
    if not places:
        raise Rejected(f"None of its {outside} runs belongs to a contest of the board.")
    if outside:
        notes.append(f"{outside} runs belong to no contest of the board and are left out.")
    entered = [run for run in runs if run.id in places]
    problems = [*_duplicates(entered, places), *_missing(entered, places, manifest.track)]
    problems += _wrong_hashes(entered)
    if problems:
        return Verdict(manifest.name, tuple(problems), tuple(notes), manifest=manifest)
    deadline = began + limits.seconds
    scored, more = _numbers(folder, entered, runs, places, limits, deadline)
    return Verdict(manifest.name, (), (*notes, *more), tuple(scored), manifest)


def _listed(items: Sequence[object]) -> str:
    shown = ", ".join(str(item) for item in items[:_NAMED])
    return shown if len(items) <= _NAMED else f"{shown} and {len(items) - _NAMED} more"


def _line(run: Run, contest: Contest) -> str:
    return f"{contest.name} with {run.job.network}" if run.job.network else contest.name


def _duplicates(runs: Sequence[Run], places: Mapping[str, tuple[Contest, Cell]]) -> list[str]:
    count = Counter((_line(run, places[run.id][0]), places[run.id][1]) for run in runs)
    twice = [f"{line}: {cell}" for (line, cell), n in count.items() if n > 1]
    return [f"{len(twice)} runs are there more than once: {_listed(twice)}."] if twice else []


def _missing(runs: Sequence[Run], places: Mapping[str, tuple[Contest, Cell]], track: str) -> list[str]:
    found: dict[str, tuple[Contest, set[Cell]]] = {}
    for run in runs:
        contest, cell = places[run.id]
        found.setdefault(_line(run, contest), (contest, set()))[1].add(cell)
    problems = []
    for line, (contest, cells) in found.items():
        wanted = contest.cells_of(track)
        missing = [cell for cell in wanted if cell not in cells]
        if missing:
            problems.append(f"{line}: {len(missing)} of {len(wanted)} runs are missing: {_listed(missing)}.")
    return problems


@cache
def _parts(benchmark: str, source: str) -> tuple[Benchmark, ImageSource]:
    task: Benchmark = registry.create("benchmark", benchmark)
    return task, make_source(task, source)


@cache
def _standard(benchmark: str, source: str, part: Part, size: str, repeat: int, seed: int) -> Split:
    """Examples with images, none of them shifted yet."""
    return make_split(*_parts(benchmark, source), part, size, repeat, seed=seed)


@cache
def _true_hash(
    benchmark: str, source: str, part: Part, size: str, repeat: int, shift: str, percent: float, seed: int
) -> str:
    """The content hash of a part's data, made here; shift ``""`` is the symbolic data without images."""
    from nsl_bench.perception.predict import image_digests

    task, images = _parts(benchmark, source)
    if not shift:
        return content_hash(symbolic_split(task, part, size, repeat, seed=seed), task)
    split = _standard(benchmark, source, part, size, repeat, seed).shift(percent)
    return content_hash(split, task, image_digests(split, images, resolve(shift, task, images)))


def _hash_of(job: Job, part: Part) -> str:
    dial = (job.test_shift, job.test_percent) if part == "test" else (job.train_shift, job.train_percent)
    shift, percent = ("", 0.0) if job.track == "symbolic" else (dial[0], float(dial[1]))
    task = _parts(job.task, job.source)[0]
    place = (
        (next(iter(task.sizes)), task.test_number(job.repeat)) if part == "test" else (job.size, job.repeat)
    )
    return _true_hash(job.task, job.source, part, *place, shift, percent, job.seed)


def _wrong_hashes(runs: Sequence[Run]) -> list[str]:
    """Runs on other data than the benchmark's own: other labels, examples or pixels."""
    wrong: dict[str, list[str]] = {"train": [], "test": []}
    parts: tuple[Part, ...] = ("train", "test")
    for run in runs:
        for part in parts:
            if run.content_hash[part] != _hash_of(run.job, part):
                wrong[part].append(str(run.job))
    return [
        f"{len(jobs)} of {len(runs)} runs have another content hash of the {part} set than the benchmark: "
        f"labels, examples or images differ in {_listed(jobs)}."
        for part, jobs in wrong.items()
        if jobs
    ]


@cache
def _labels_of(benchmark: str, seed: int, number: int) -> npt.NDArray[np.int64]:
    """A test set's labels, the same at every share of shift."""
    task: Benchmark = registry.create("benchmark", benchmark)
    return symbolic_split(task, "test", next(iter(task.sizes)), number, seed=seed).labels.astype(np.int64)


def _test_of(job: Job) -> tuple[str, int, int]:
    """Which test set a run has: its task, the seed and the set's number."""
    task: Benchmark = registry.create("benchmark", job.task)
    return job.task, job.seed, task.test_number(job.repeat)


def _labels(job: Job) -> npt.NDArray[np.int64]:
    return _labels_of(*_test_of(job))


def _numbers(
    folder: Path,
    entered: Sequence[Run],
    runs: Sequence[Run],
    places: Mapping[str, tuple[Contest, Cell]],
    limits: Limits,
    deadline: float,
) -> tuple[list[ScoredRun], list[str]]:
    sizes: dict[str, tuple[int, int]] = {}
    by_id = {run.id: run for run in entered}
    for run in runs:
        # A run outside the contests may be of anything; its rows are checked for nothing and dropped.
        if run.id in by_id:
            names = registry.create("benchmark", run.job.task).labels.names
            sizes[run.id] = (len(_labels(run.job)), len(names))
    numbers: dict[str, dict[str, float]] = {run.id: {} for run in entered}
    crisp: dict[str, npt.NDArray[np.int8]] = {}
    own: dict[str, dict[str, float]] = {}
    contrary: list[float] = []
    outside = {run.id for run in runs} - set(by_id)
    stage(_READING, max(0.1, deadline - time.monotonic()))
    for run_id, evaluation, predicted in read_predictions(folder, sizes, limits, ignored=outside):
        job = by_id[run_id].job
        contrary.append(_contradicting(by_id[run_id], evaluation, predicted))
        numbers[run_id].update(_measure(evaluation, predicted, _labels(job), job))
        if evaluation == "hypothesis":
            crisp[run_id] = predicted[0]
        if by_id[run_id].language == "asp":
            certain = predicted[0], one_hot(predicted[0], predicted[1].shape[1]).astype(np.float32)
            own.setdefault(run_id, {}).update(_measure(evaluation, certain, _labels(job), job))
    stage(_DOING, max(0.1, deadline - time.monotonic()))
    for run in entered:
        for evaluation in _expected(run.job):
            if f"{evaluation}_accuracy" not in numbers[run.id]:
                raise Rejected(f"The {evaluation} predictions of the run {run.id} ({run.job}) are missing.")
        if run.learning_time is not None:
            numbers[run.id]["learning_time"] = run.learning_time
    notes = []
    if any(contrary):
        notes.append(
            f"In {sum(map(bool, contrary))} of {len(contrary)} rows some labels are not the most probable: "
            f"{100 * sum(contrary) / len(contrary):.2g} % of all labels."
        )
    notes += _judge_rules(entered, numbers, own, crisp, limits, deadline)
    return [_scored(run, *places[run.id], numbers[run.id]) for run in entered], notes


def _contradicting(run: Run, evaluation: str, predicted: Predicted) -> float:
    """The share of labels that contradict their own probabilities.

    Under uncertainty the label that ASP rules derive from the likeliest concepts need not be the most
    probable label; nothing else makes a label of no probability where another one is certain.

    Raises:
        Rejected: labels and probabilities cannot be of one learner.
    """
    contrary, impossible = contradictions(predicted)
    uncertain = evaluation == "framework" and run.language == "asp"
    if impossible.any() and not uncertain:
        first = int(impossible.argmax())
        raise Rejected(
            f"The {evaluation} predictions of the run {run.id} ({run.job}) contradict themselves for "
            f"{impossible.sum()} of {len(impossible)} examples, first for example {first}: the label is "
            f"{int(predicted[0][first])}, the probabilities are {quoted(predicted[1][first].tolist())}."
        )
    return float(np.mean(contrary))


def _expected(job: Job) -> tuple[str, ...]:
    return {"symbolic": ("hypothesis",), "pretrained": ("hypothesis", "framework")}.get(
        job.track, ("framework",)
    )


def _measure(
    evaluation: str, predicted: Predicted, labels: npt.NDArray[np.int64], job: Job
) -> dict[str, float]:
    codes, probabilities = predicted[0], predicted[1].astype(np.float64)
    found = {f"{evaluation}_accuracy": measure.accuracy(codes, labels)}
    if evaluation == _expected(job)[-1]:
        found["brier_score"] = measure.brier_score(probabilities, labels)
        found["probabilistic_accuracy"] = measure.probabilistic_accuracy(probabilities, labels)
        found["calibration_error"] = measure.calibration_error(probabilities, labels)
        found["log_loss"] = measure.log_loss(probabilities, labels)
        found["invalid_mass"] = measure.invalid_mass(probabilities)
        if evaluation == "framework":
            best = measure.most_probable(probabilities)
            found["framework_accuracy_probabilistic"] = measure.accuracy(best, labels)
        found["undecided"] = float(np.mean(codes == UNDECIDED))
        found["ambiguous"] = float(np.mean(codes == AMBIGUOUS))
    return found


def _judge_rules(
    runs: Sequence[Run],
    numbers: Mapping[str, dict[str, float]],
    own: Mapping[str, dict[str, float]],
    crisp: Mapping[str, npt.NDArray[np.int8]],
    limits: Limits,
    deadline: float,
) -> list[str]:
    """Atoms and rules of every hypothesis, and whether ASP rules say what the predictions say.

    Where ASP rules are what the learner answers with (`nsl_bench.run.agreement`), hypothesis accuracy is
    theirs; elsewhere their atoms do not count, and the learner's labels stand for its label probabilities.
    """
    keys = {(*_test_of(run.job), run.rules) for run in runs if run.language == "asp"}
    answers: dict[tuple[str, int, int, tuple[str, ...]], tuple[npt.NDArray[np.int16], int, int]] = {}
    differing = []
    for run in runs:
        mine = numbers[run.id]
        if run.language == "tree":
            mine["rules"], mine["atoms"] = float(len(run.rules)), float(_tests(run))
        if run.language != "asp":
            continue
        key = (*_test_of(run.job), run.rules)
        try:
            if key not in answers:
                left = max(0.1, deadline - time.monotonic())
                tell(f"Judging rules: {len(answers) + 1} of {len(keys)} hypotheses, {run.job}")
                stage(f"Answering with the rules of the run {run.id}", min(limits.solver_seconds, left))
                answers[key] = judged(*key, limits.solver_seconds)
        except JudgementError as error:
            raise Rejected(f"The rules of the run {run.id} ({run.job}): {error}") from error
        labels, atoms, rules = answers[key]
        if run.id in crisp:
            mine["agreement"] = float(np.mean(labels == crisp[run.id]))
        if mine.get("agreement", 0.0) >= BOUND:
            mine["hypothesis_accuracy"] = measure.accuracy(labels, _labels(run.job))
            mine["rules"], mine["atoms"] = float(rules), float(atoms)
        else:
            mine.update(own[run.id])
            differing.append(str(run.job))
    stage(_DOING, max(0.1, deadline - time.monotonic()))
    if not differing:
        return []
    return [
        f"In {len(differing)} runs the rules are not shown to be what the learner answers with, because they "
        f"agree with less than {100 * BOUND:g} % of its answers; they do not count: {_listed(differing)}."
    ]


def _tests(run: Run) -> int:
    """Tests on the branches of a tree; a tree of one leaf counts as one.

    A branch is a label, and tests on it behind ``if``; that the branches say what the learner predicts is
    not checked: most trees stand for a forest or a network.
    """
    labels = registry.create("benchmark", run.job.task).labels.names
    count = 0
    for rule in run.rules:
        label, _, body = rule.partition(" if ")
        tests = body.split(" and ") if body else []
        if label not in labels or not all(map(_TEST.fullmatch, tests)):
            raise Rejected(
                f"The rules of the run {run.id} ({run.job}): {quoted(rule)} is no branch of a tree; write "
                f"e.g. '{labels[0]} if FEATURE <= 0.5 and FEATURE > 2' with a label of the benchmark."
            )
        count += len(tests)
    return max(1, count)


def _scored(run: Run, contest: Contest, cell: Cell, metrics: Mapping[str, float]) -> ScoredRun:
    job = run.job
    return ScoredRun(
        run=run.id,
        contest=contest.name,
        shift=cell.shift,
        percent=cell.percent,
        repeat=cell.repeat,
        network=job.network or "",
        metrics=dict(metrics),
        command=contest.command(job.learner, job.track, job.network, cell),
    )
