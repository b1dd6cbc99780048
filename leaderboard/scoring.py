"""Score a submission: compute every metric from its predictions and rules and the task's labels.

This happens in a separate process with limits on time and memory, because a submission could crash the
libraries that read it. The scores are written to ``scores.jsonl.zst`` beside the submission, one run a
line. Metrics reported by a submitter are never read.
"""

import textwrap
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from nsl_bench.core.declared import quoted
from nsl_bench.core.errors import counted, did_you_mean, unknown
from nsl_bench.logic.guarded.call import RULES, guarded
from nsl_bench.logic.guarded.child import Advice, Allowance, Ended
from nsl_bench.logic.guarded.worker import stage

from .contests import Contest, contest_of, incomplete, listed, of_several_versions
from .measuring import Numbers
from .packing import CONCEPTS
from .predictions import Predicted, Sizes, contradictions, read_predictions
from .reading import Run, read_manifest, read_runs
from .rounds.model import By, Round
from .rules import check_rules, judge_rules
from .safe_files import LIMITS, Limits, Rejected, opened
from .score_report import ScoredRun, ScoreReport
from .submission import MANIFEST, PREDICTIONS, Manifest
from .truth import PARTS, Truth

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


def score(
    path: Path,
    contests: Sequence[Contest],
    limits: Limits = LIMITS,
    notify: Callable[[str], None] | None = None,
    *,
    rounds: Sequence[Round] = (),
    by: By = "predictions",
) -> ScoreReport:
    """Check a submission and compute its metrics, in a separate process.

    A submission to a sealed round has no metrics before the round is revealed.

    Args:
        path: folder or zip file.
        by: what a new entry of a round sent: ``"predictions"`` or ``"code"``.
    """
    try:
        values = guarded(
            _scored_here,
            path,
            tuple(contests),
            limits,
            tuple(rounds),
            by,
            doing=_DOING,
            allowance=Allowance(limits.seconds, limits.memory),
            on_event=notify,
            advice=_ADVICE,
        )
    except Ended as ended:
        return ScoreReport(path.name, (textwrap.shorten(str(ended), _LONGEST_PROBLEM, placeholder=" ... ."),))
    return ScoreReport.from_plain(values)


def _scored_here(
    path: Path, contests: Sequence[Contest], limits: Limits, rounds: Sequence[Round], by: By
) -> dict[str, Any]:
    """The report as plain values."""
    name = path.name
    try:
        with opened(path, limits) as folder:
            manifest = read_manifest(folder)
            name = manifest.name
            if manifest.round:
                report = _score_sealed(folder, manifest, rounds, limits, by)
            else:
                report = _score(folder, manifest, contests, limits)
    except Rejected as error:
        report = ScoreReport(name, (str(error),))
    except MemoryError:
        report = ScoreReport(name, ("The submission takes more memory than there is.",))
    return asdict(report)


def _score_sealed(
    folder: Path, manifest: Manifest, rounds: Sequence[Round], limits: Limits, by: By
) -> ScoreReport:
    """The report on a submission to a sealed round: taken before the round is revealed, scored after."""
    by_name = {round_.name: round_ for round_ in rounds}
    if manifest.round not in by_name:
        wrong = unknown("sealed round", manifest.round, by_name)
        raise Rejected(f"round: {wrong} A round of another board is scored with --board FILE.")
    round_ = by_name[manifest.round]
    if not round_.is_revealed:
        return _take(folder, manifest, round_, limits, by)
    entry = round_.entry(manifest)
    if entry is None:
        raise Rejected(
            f"The round {round_.name} was revealed on {round_.revealed}, and this submission is not of the "
            f"{len(round_.entries)} accepted before. It came later, or was changed."
        )
    return _score(folder, manifest, round_.board_contests(entry.by), limits)


def _take(folder: Path, manifest: Manifest, round_: Round, limits: Limits, by: By) -> ScoreReport:
    """Check all of a submission that can be checked without the answers; its rules on public examples."""
    began = time.monotonic()
    checked = check(folder, manifest, round_.board_contests(by), limits)
    if checked.problems:
        return ScoreReport(manifest.name, checked.problems, checked.notes, manifest=manifest)
    stage(_READING, limits.seconds)
    contrary = [
        share for _, evaluation, _, share in rows_in(folder, checked, limits) if evaluation != CONCEPTS
    ]
    check_rules(checked.entered, limits, began + limits.seconds)
    summary = f"{counted(len(checked.entered), 'run')}, scored when the round {round_.name} is revealed."
    notes = (*checked.notes, *contrary_note(contrary), summary)
    return ScoreReport(manifest.name, (), notes, manifest=manifest)


def _score(folder: Path, manifest: Manifest, contests: Sequence[Contest], limits: Limits) -> ScoreReport:
    began = time.monotonic()
    checked = check(folder, manifest, contests, limits)
    if checked.problems:
        return ScoreReport(manifest.name, checked.problems, checked.notes, manifest=manifest)
    scored, more, counted = _numbers(folder, checked, manifest.track, limits, began + limits.seconds)
    spreads, examples = counted.means([run for run in checked.entered if run.status == "ok"])
    notes = (*checked.notes, *more)
    return ScoreReport(
        manifest.name, (), notes, tuple(scored), manifest, spreads=tuple(spreads), examples=tuple(examples)
    )


@dataclass(frozen=True)
class Checked:
    """The checked runs of a submission.

    Attributes:
        truths: the own data of each run that belongs to a contest, by the run's name.
        problems: reasons why the submission is not accepted, one sentence each.
    """

    runs: Sequence[Run]
    truths: Mapping[str, Truth]
    problems: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def entered(self) -> list[Run]:
        """The runs that belong to contests."""
        return [run for run in self.runs if run.id in self.truths]


def check(folder: Path, manifest: Manifest, contests: Sequence[Contest], limits: Limits) -> Checked:
    """Check everything except the predictions and rules."""
    runs = read_runs(folder, limits)
    truths: dict[str, Truth] = {}
    notes: list[str] = []
    for run in runs:
        if run.job.learner != manifest.learner or run.job.track != manifest.track:
            raise Rejected(
                f"The run {run.id} is of {run.job.learner} in the track {run.job.track}, but the "
                f"submission is of {manifest.learner} in {manifest.track}."
            )
        place = contest_of(contests, run.job)
        if place is not None:
            truths[run.id] = Truth(run.job, *place)
    outside = len(runs) - len(truths)
    if not truths:
        what = f"the round {manifest.round}" if manifest.round else "the board"
        raise Rejected(f"None of the runs ({outside}) belongs to a contest of {what}.")
    if outside:
        which = counted(outside, "run belongs", "runs belong")
        notes.append(f"{which} to no contest of the board; left out.")
    entered = [(run, truths[run.id]) for run in runs if run.id in truths]
    count = Counter((_line(truth), truth.cell) for _, truth in entered)
    twice = [f"{line}: {cell}" for (line, cell), n in count.items() if n > 1]
    again = counted(len(twice), "run is", "runs are")
    problems = [f"{again} given more than once: {listed(twice)}."] if twice else []
    problems += _not_applicable(entered, manifest.not_applicable, contests)
    lines = ((truth.contest, run.job.network or "", truth.cell) for run, truth in entered)
    problems += incomplete(lines, manifest.track)
    problems += of_several_versions((truth.contest, run.job.learner_version) for run, truth in entered)
    problems += _wrong_hashes(entered)
    problems += _other_networks(entered)
    return Checked(runs, truths, tuple(problems), tuple(notes))


_Entered = Sequence[tuple[Run, Truth]]
"""The runs that belong to contests, with their own data."""


def _line(truth: Truth) -> str:
    name, network = truth.contest.name, truth.job.network
    return f"{name} with {network}" if network else name


def _not_applicable(entered: _Entered, named: Sequence[str], contests: Sequence[Contest]) -> list[str]:
    """Contests that a learner cannot be in, because it cannot take their tasks."""
    inapplicable = sorted({truth.contest.name for run, truth in entered if run.status == "not_applicable"})
    with_runs = {truth.contest.name for _, truth in entered}
    names = [contest.name for contest in contests]
    return [
        *(
            f"The contest {name} is not applicable to this learner; leave its runs out."
            for name in inapplicable
        ),
        *(
            f"{MANIFEST}: not_applicable names the contest {name}, of which there are runs; leave out one."
            for name in named
            if name in with_runs
        ),
        *(
            f"{MANIFEST}: not_applicable names {quoted(name)}, no contest here.{did_you_mean(name, names)}"
            for name in named
            if name not in names
        ),
    ]


def _wrong_hashes(entered: _Entered) -> list[str]:
    """Runs on other data than the benchmark's own: other labels, examples or pixels."""
    wrong: dict[str, list[str]] = {part: [] for part in PARTS}
    for run, truth in entered:
        right = truth.hashes
        for part in PARTS:
            if getattr(run.content_hash, part) != right[part]:
                wrong[part].append(str(run.job))
    return [
        f"{len(jobs)} of {len(entered)} runs do not match the benchmark's content hash of the {part} set: "
        f"labels, examples or images differ in {listed(jobs)}."
        for part, jobs in wrong.items()
        if jobs
    ]


def _other_networks(entered: _Entered) -> list[str]:
    """Contests of which runs saw through another network than the contest's, or through several."""
    seen: dict[tuple[str, str, str], set[str]] = {}
    for run, truth in entered:
        name, networks = run.job.network, truth.contest.networks
        if name is not None and run.status == "ok":
            expected = networks.get(name, f"none but {', '.join(networks)}" if networks else "")
            fingerprint = str(run.environment.get("network_fingerprint", "none"))
            seen.setdefault((_line(truth), name, expected), set()).add(fingerprint)
    return [
        f"{line}: all runs must see through one network"
        + (f", the contest's ({expected}); there are runs through" if expected else "; there are")
        + f" {listed(sorted(fingerprints))}. Do them again with the shipped weights."
        for (line, _, expected), fingerprints in seen.items()
        if len(fingerprints) > 1 or (expected and fingerprints != {expected})
    ]


def _numbers(
    folder: Path, checked: Checked, track: str, limits: Limits, deadline: float
) -> tuple[list[ScoredRun], list[str], Numbers]:
    entered, truths = checked.entered, checked.truths
    failed = [run for run in entered if run.status != "ok"]
    finished = [run for run in entered if run.status == "ok"]
    counted = Numbers(track, truths)
    stage(_READING, max(0.1, deadline - time.monotonic()))
    shares = []
    for run, evaluation, predicted, share in rows_in(folder, checked, limits):
        if evaluation == CONCEPTS:
            counted.add_concepts(run, predicted[0])
            continue
        shares.append(share)
        counted.add(run, evaluation, predicted)
    stage(_DOING, max(0.1, deadline - time.monotonic()))
    for run in failed:
        counted.impute(run)
    for run in finished:
        for name, seconds in (("learning_time", run.learning_time), ("prediction_time", run.prediction_time)):
            if seconds is not None:
                counted.metrics[run.id][name] = seconds
    notes = [*_failure_note(failed), *contrary_note(shares)]
    notes += judge_rules(finished, truths, counted, limits, deadline)
    stage(_DOING, max(0.1, deadline - time.monotonic()))
    scored = [_scored(run, truths[run.id], counted) for run in entered]
    return scored, notes, counted


def _failure_note(failed: Sequence[Run]) -> list[str]:
    if not failed:
        return []
    count = Counter(run.status.replace("_", " ") for run in failed)
    how = ", ".join(f"{status}: {n}" for status, n in sorted(count.items()))
    return [
        f"{counted(len(failed), 'run')} failed ({how}). A failed run counts as the majority class of its "
        "train labels, and no better than the worst run that did not fail."
    ]


def contrary_note(contrary: Sequence[float]) -> list[str]:
    """A note about labels that contradict their probabilities."""
    if not any(contrary):
        return []
    return [
        f"In {sum(map(bool, contrary))} of {len(contrary)} rows some labels are not the most probable: "
        f"{100 * sum(contrary) / len(contrary):.2g} % of all labels."
    ]


def rows_in(folder: Path, checked: Checked, limits: Limits) -> Iterator[tuple[Run, str, Predicted, float]]:
    """The predictions of the runs of contests, and the concepts that their learner returned.

    Yields:
        Run, evaluation or `CONCEPTS`, what was predicted, and the share of labels that contradict their
        probabilities.
    """
    by_id = {run.id: run for run in checked.entered}
    # A run outside the contests may be of anything; its rows are checked for nothing and dropped.
    outside = {run.id for run in checked.runs} - set(by_id)
    outside |= {run.id for run in checked.entered if run.status != "ok"}  # they count as something else
    asked = [run for run in checked.entered if run.id not in outside]
    sizes = {run.id: _size(checked.truths[run.id]) for run in asked}
    seen: dict[str, set[str]] = {run: set() for run in by_id}
    for run_id, evaluation, predicted in read_predictions(folder, sizes, limits, ignored=outside):
        run, truth = by_id[run_id], checked.truths[run_id]
        answers, sealed_round = evaluation != CONCEPTS, truth.contest.sealed_round
        if not answers and "framework" not in truth.evaluations:
            raise Rejected(
                f"The run {run_id} ({run.job}) has concepts of images, but no images are shown in the track "
                f"{run.job.track}; leave them out."
            )
        if answers and sealed_round and evaluation not in truth.evaluations:
            raise Rejected(
                f"The run {run_id} ({run.job}) has {evaluation} predictions, but the round "
                f"{sealed_round} provides no true concepts; leave them out and send rules."
            )
        seen[run_id].add(evaluation)
        yield run, evaluation, predicted, _contradicting(run, evaluation, predicted) if answers else 0.0
    for run in asked:
        for evaluation in checked.truths[run.id].evaluations:
            if evaluation not in seen[run.id]:
                raise Rejected(f"The {evaluation} predictions of the run {run.id} ({run.job}) are missing.")


def _size(truth: Truth) -> Sizes:
    """How long the lists of a run's predictions are."""
    n = truth.contest.test_examples(truth.cell) or len(truth.labels)
    return Sizes(n, len(truth.tested.labels), len(truth.tested.slots), len(truth.space))


def _contradicting(run: Run, evaluation: str, predicted: Predicted) -> float:
    """The share of labels that contradict their own probabilities.

    Under uncertainty the label that ASP rules derive from the likeliest concepts need not be the most
    probable label; nothing else makes a label of no probability where another one is certain.
    """
    contrary, impossible = contradictions(predicted)
    uncertain = evaluation == "framework" and run.language == "asp"
    if impossible.any() and not uncertain and predicted[1] is not None:
        first = int(impossible.argmax())
        raise Rejected(
            f"The {evaluation} predictions of the run {run.id} ({run.job}) contradict each other for "
            f"{impossible.sum()} of {len(impossible)} examples, first for example {first}: the label is "
            f"{int(predicted[0][first])}, the probabilities are {quoted(predicted[1][first].tolist())}."
        )
    return float(np.mean(contrary))


def _scored(run: Run, truth: Truth, counted: Numbers) -> ScoredRun:
    return ScoredRun(
        run=run.id,
        contest=truth.contest.name,
        **asdict(truth.cell),
        network=run.job.network or "",
        metrics=dict(counted.metrics[run.id]),
        status=run.status,
        looks=dict(counted.looks[run.id]),
    )
