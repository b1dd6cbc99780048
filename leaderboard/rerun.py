"""Repeat a random sample of an entry's runs and compare the results with the submission.

Submitters do not know which runs will be repeated. Labels and metrics may differ by a tolerance, because
processors round sums differently in training, and learners with a time limit stop at different points.
Atoms may differ by that share of the larger number. The repeated run may take some times as long as the
submission says, as machines differ; learning and prediction are added, so that work in either counts. On a
busy machine a run waits for its processor, which does not count.
"""

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from nsl_bench import __version__
from nsl_bench.core import cache, imported, registry
from nsl_bench.core.code_files import specs_in
from nsl_bench.core.errors import UserError
from nsl_bench.core.types import UInts16
from nsl_bench.data.splits import make_source
from nsl_bench.learners.base import About
from nsl_bench.learners.command import command_of, is_command, version_of_command
from nsl_bench.learners.environments import entrants
from nsl_bench.run.bench import Bench
from nsl_bench.run.job import Job
from nsl_bench.run.plan import version_of_network
from nsl_bench.run.record import Record
from nsl_bench.sandbox.sealing import DataSeed

from .contests import Cell, Contest, contest_of
from .packing import decoded, run_rows
from .predictions import letters_in, letters_of, named, read_accepted
from .reading import Run, read_manifest, read_runs
from .rounds.model import Round, SealedContest, place_data_seed
from .score_report import SCORES, numbers_in
from .scoring import score
from .standing import AGAIN, Again
from .submission import PREDICTIONS, Manifest

COMPARED = ("hypothesis_accuracy", "framework_accuracy", "brier_score", "atoms")
"""The numbers that are compared, where both have them."""

_TIMES = ("learning_time", "prediction_time")
_LEAST_SECONDS = 1.0
"""Less than this is not compared: starting and waiting take as long."""


@dataclass(frozen=True)
class Sample:
    """The runs to repeat and the permitted difference.

    Attributes:
        tolerance: greatest permitted difference of labels (a share), metrics and atoms (a share).
        slower: how many times as long as the submission says a repeated run may take.
    """

    n: int
    seed: int
    tolerance: float
    slower: float = 5.0


def again(
    folder: Path,
    contests: Sequence[Contest],
    rounds: Sequence[Round],
    sample: Sample,
    bench: Bench,
    describe: Callable[[str], About],
    *,
    learner: str | None = None,
    notify: Callable[[str], None] = lambda sentence: None,
) -> Again:
    """Repeat some of an entry's runs that did not fail, each in the time that it says it had.

    Failed runs count as the majority class, which nobody needs to check; a faster machine may finish them.

    Args:
        bench: does the runs, each learner in a sandbox, and none for longer than its time limit.
        learner: spec to use instead of the submission's, which may name a file of the submitter.
    """
    manifest = read_manifest(folder)
    spec, limits = _spec(manifest, learner), bench.limits
    places = _places(read_runs(folder), _contests(manifest, contests, rounds))
    if not places:
        raise UserError(f"{folder} has no run of a contest of the board that did not fail.")
    chosen = random.Random(sample.seed).sample(sorted(places), min(sample.n, len(places)))
    for name in chosen:
        _check_network(places[name][0])
    submitted, numbers = read_accepted(folder / PREDICTIONS), _numbers(folder, contests, rounds)
    about = About(command_of(spec)[0], version_of_command(spec)) if is_command(spec) else describe(spec)
    comparisons = []
    for k, name in enumerate(chosen, 1):
        run, contest, cell = places[name]
        notify(f"Run {k} of {len(chosen)}: {run.job}")
        job = replace(run.job, learner=spec, learner_version=about.version)
        if limits is not None:
            seconds = [limit for limit in (limits.time, run.time_limit) if limit is not None]
            bench.limits = replace(limits, time=min(seconds, default=None))
        record = _run(bench, job, contest, cell)
        if record is not None:
            texts = {evaluation: row["labels"] for evaluation, row in submitted.get(name, {}).items()}
            labels = {evaluation: letters_in(text) for evaluation, text in texts.items()}
            comparisons.append(_compared(*record, labels, numbers.get(name, {})))
    differing = max((labels for labels, _, _ in comparisons), default=0.0)
    differences = {name: max((by[name] for _, by, _ in comparisons), default=0.0) for name in COMPARED}
    slower = max((times for _, _, times in comparisons), default=0.0)
    near = max(differing, *differences.values()) <= sample.tolerance
    return Again(
        files=dict(manifest.files),
        seed=sample.seed,
        runs=tuple(chosen),
        of=len(places),
        compared=len(comparisons),
        tolerance=sample.tolerance,
        differing_labels=differing,
        differences=differences,
        same=near and slower <= sample.slower and len(comparisons) == len(chosen),
        learner=spec,
        date=datetime.now(UTC).date().isoformat(),
        nsl_bench=__version__,
        slower=slower,
        most_slower=sample.slower,
    )


def _compared(
    record: Record, rows: Mapping[str, Any], submitted: Mapping[str, Any], numbers: Mapping[str, float]
) -> tuple[float, dict[str, float], float]:
    """How a repeated run differs from the submitted one.

    What only the submission or only the new run has is not compared.

    Returns:
        The greatest share of labels that differ in an evaluation; the difference of each number; and how many
        times as long the repeated run took, 0 if neither took long.
    """
    shares = [
        float(np.mean(rows[name] != labels)) if len(rows[name]) == len(labels) else 1.0
        for name, labels in submitted.items()
        if name in rows
    ]
    both = numbers.keys() & record.metrics.keys()
    differences = {name: abs(numbers[name] - record.metrics[name]) for name in both}
    if "atoms" in differences:
        differences["atoms"] /= max(numbers["atoms"], record.metrics["atoms"], 1.0)
    times = [name for name in _TIMES if name in both]
    claimed, taken = sum(numbers[name] for name in times), sum(_seconds(record, name) for name in times)
    slower = taken / max(claimed, _LEAST_SECONDS) if taken > _LEAST_SECONDS else 0.0
    return max(shares, default=1.0), {name: differences.get(name, 0.0) for name in COMPARED}, slower


def _seconds(record: Record, name: str) -> float:
    """The seconds of a run by the clock, or of its processor if it had to wait for that."""
    busy = record.metrics.get(name.replace("_time", "_cpu_time"), float("inf"))
    return min(record.metrics[name], busy)


def write_again(result: Again, folder: Path) -> None:
    """Write the result beside a submission's scores."""
    try:
        with cache.replacing(folder / AGAIN) as temporary:
            temporary.write_text(json.dumps(asdict(result), indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise UserError(f"{folder / AGAIN} cannot be written: {error.strerror}.") from error


def _spec(manifest: Manifest, learner: str | None) -> str:
    """The learner to run. A submission's own words are run only where they name what is installed."""
    if learner is not None:
        return learner
    installed = {*registry.names("learner"), *(f"{imported.ENVIRONMENT}{name}" for name in entrants())}
    if is_command(manifest.learner) or any(
        registry.learner_spec(spec).name not in installed for spec in specs_in(manifest.learner)
    ):
        raise UserError(
            f"The learner '{manifest.learner}' is not installed; give the submitter's file with "
            "--learner FILE.py:CLASS."
        )
    return manifest.learner


def _check_network(run: Run) -> None:
    """Check that a run can be repeated with the network that it used."""
    job = run.job
    if job.network is None:
        return
    task = registry.create("benchmark", job.benchmark)
    installed = version_of_network(job.network, make_source(task, job.source))
    if installed != job.network_version:
        raise UserError(
            f"The run {run.id} used version {job.network_version or '1'} of the network {job.network}, and "
            f"version {installed}, which is installed, gives other confidences; submit the learner again."
        )


def _contests(manifest: Manifest, contests: Sequence[Contest], rounds: Sequence[Round]) -> Sequence[Contest]:
    if not manifest.round:
        return contests
    for round_ in rounds:
        if round_.name == manifest.round:
            if not round_.is_revealed:
                raise UserError(
                    f"The round {round_.name} is not revealed yet, so its entries have no scores."
                )
            entry = round_.entry(manifest)
            return round_.board_contests(entry.by if entry else "predictions")
    raise UserError(f"The submission is for the round '{manifest.round}', which is not on the board.")


def _places(runs: Sequence[Run], contests: Sequence[Contest]) -> dict[str, tuple[Run, Contest, Cell]]:
    places = ((run, contest_of(contests, run.job)) for run in runs if run.status == "ok")
    return {run.id: (run, *place) for run, place in places if place is not None}


def _run(bench: Bench, job: Job, contest: Contest, cell: Cell) -> tuple[Record, dict[str, Any]] | None:
    """A run's record, and the labels of each evaluation; None if it failed."""
    if isinstance(contest, SealedContest):
        place = contest.place(cell)
        assert place is not None
        seed = DataSeed(contest.secret, Path("-"))
        bench.data_seed = place_data_seed(seed, contest.round, contest.base, place)
    outcome = bench.run(job)
    if outcome.record.status != "ok" or outcome.predictions is None:
        return None
    names = registry.create("benchmark", job.tested).labels.names
    rows = run_rows(outcome.record.key, outcome.predictions, names)
    return outcome.record, {row["evaluation"]: _labels(row) for row in rows}


def _labels(row: Mapping[str, Any]) -> UInts16:
    """The labels of a row of predictions as it is written, as characters."""
    labels, codes = np.array(row["predicted"], np.int16), row["probabilities"]
    return letters_of(named(labels, None if codes is None else decoded(np.reshape(codes, (len(labels), -1)))))


def _numbers(
    folder: Path, contests: Sequence[Contest], rounds: Sequence[Round]
) -> dict[str, Mapping[str, float]]:
    """The numbers of each run: the board's, or computed now if it has none."""
    try:
        return numbers_in(folder / SCORES)
    except FileNotFoundError:
        pass
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"{folder / SCORES} cannot be read ({type(error).__name__}).") from error
    report = score(folder, contests, rounds=rounds)
    if not report.accepted:
        raise UserError(f"The submission is not accepted: {report.problems[0]}")
    return {run.run: run.metrics for run in report.runs}
