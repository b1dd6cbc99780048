"""Take part in a sealed round, with predictions or with a learner that the board runs."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from nsl_bench.core import registry
from nsl_bench.core.errors import UserError, unknown
from nsl_bench.core.tracks import Track
from nsl_bench.learners import task_folders
from nsl_bench.learners.base import About, InvalidOutput
from nsl_bench.learners.command import command_of, is_command
from nsl_bench.run.bench import Bench
from nsl_bench.run.exchange import jobs_in
from nsl_bench.run.job import Job
from nsl_bench.run.record import Record, versions
from nsl_bench.run.store import Store
from nsl_bench.run.sweep import Executor, Tally, sweep
from nsl_bench.sandbox.sealing import DataSeed

from ..packing import row_of
from ..submission import Manifest, manifest_of, save
from .model import Place, Round, SealedContest, place_data_seed, read_file
from .package import ROUND_FILE, folder_digests, jobs_at, places_of

_ANSWERS = "predictions.parquet"


def enter(package: Path, out: Path, words: Mapping[str, Any]) -> tuple[Manifest, dict[str, int]]:
    """Create a submission from the predictions in the folders of a round's package.

    Contests without predictions are left out.

    Returns:
        The manifest, and the number of runs by contest.
    """
    round_ = read_file(package / ROUND_FILE)
    if words["track"] == "symbolic":
        raise UserError(
            "--track symbolic does not accept predictions, because true concepts and the public rule "
            "give every answer. Send the learner's code instead."
        )
    manifest = manifest_of({**words, "round": round_.name})
    chosen: list[tuple[str, Path, Job]] = []
    for contest in round_.board_contests("predictions"):
        answered = _answered(package / contest.base, contest, manifest)
        chosen += [(contest.base, folder, job) for folder, job in answered]
    if not chosen:
        raise UserError(f"No folder in {package} contains answers; write {_ANSWERS} into each.")
    counts: dict[str, int] = {}
    for name, _, _ in chosen:
        counts[name] = counts.get(name, 0) + 1
    runs = [_run(folder, job) for _, folder, job in chosen]
    return save(out, manifest, runs), counts


def _answered(place: Path, contest: SealedContest, manifest: Manifest) -> list[tuple[Path, Job]]:
    """The folders of a contest with their runs, all of them or none."""
    if not place.is_dir():
        return []
    jobs = jobs_in(place, manifest.learner)
    empty = [folder for folder in jobs if not (folder / _ANSWERS).is_file()]
    if len(empty) == len(jobs):
        return []
    if empty or len(jobs) < len(contest.cells):
        raise UserError(
            f"{place}: {_ANSWERS} must be in all {len(contest.cells)} folders of the contest or in "
            f"none; got {len(jobs) - len(empty)}{f'; first without: {empty[0]}' if empty else ''}."
        )
    for folder, job in jobs.items():
        if contest.cell(job) is None:
            raise UserError(f"{folder} is not a folder of the round {contest.round}.")
    if manifest.track == "pretrained":
        return list(jobs.items())
    none = {"track": manifest.track, "network": None, "network_version": ""}
    return [(folder, replace(job, **none)) for folder, job in jobs.items()]  # type: ignore[arg-type]


def _run(folder: Path, job: Job) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The line of a run and its row of predictions."""
    names = registry.create("benchmark", job.tested).labels.names
    hashes = folder_digests(folder)
    n = _rows(folder / "test.parquet")
    try:
        answers = task_folders.read_predictions(folder / _ANSWERS, n, names)
        rules = task_folders.read_rules(folder / "hypothesis.lp")
    except InvalidOutput as error:
        raise UserError(f"{folder}: {error}") from error
    line = {
        "run": job.key(),
        "job": asdict(job),
        "content_hash": hashes,
        "hypothesis": {"language": "asp", "rules": rules} if rules else None,
        "learning_time": None,
        "prediction_time": None,
        "versions": versions(),
        "environment": {},
        "started": "",
    }
    probabilities = None if answers.probabilities is None else answers.probabilities.astype(np.float32)
    return line, [row_of(job.key(), "framework", answers.predicted.astype(np.int16), probabilities)]


def _rows(path: Path) -> int:
    import pyarrow.parquet as pq

    return int(pq.ParquetFile(path).metadata.num_rows)


@dataclass(frozen=True)
class Learner:
    """A learner that the board runs.

    Attributes:
        spec: its name, or a file or module and a class in it.
        network: perception network; if empty, the one whose probabilities are in the package.
        symbolic: whether it gets true concepts.
        contests: names of contests in the round; if empty, all.
    """

    spec: str
    network: str = ""
    symbolic: bool = False
    contests: Sequence[str] = ()

    def track(self, describe: Callable[[str], About]) -> Track:
        """The learner's track in the round."""
        own = command_of(self.spec)[0] if is_command(self.spec) else describe(self.spec).track
        return "symbolic" if self.symbolic and own == "pretrained" else own


def run_learner(
    round_: Round,
    learner: Learner,
    seed: DataSeed,
    store: Store,
    bench: Bench,
    describe: Callable[[str], About],
    *,
    executor: Executor | None = None,
    on_failure: Callable[[Record], None] = lambda record: None,
) -> Tally:
    """Run a learner on the sealed data. Runs that the store already has are skipped.

    Args:
        bench: does the runs; its seed is set for each shift and share.
    """
    tallies = [Tally(0, 0, 0, 0)]
    track = learner.track(describe)
    for contest, place, jobs in _sealed_jobs(round_, learner, track, describe):
        bench.data_seed = place_data_seed(seed, round_.name, contest.base, place)
        tallies.append(sweep(jobs, store, bench, on_failure, executor=executor))
    return Tally(**{f.name: sum(getattr(tally, f.name) for tally in tallies) for f in fields(Tally)})


def _sealed_jobs(
    round_: Round, learner: Learner, track: Track, describe: Callable[[str], About]
) -> Iterator[tuple[SealedContest, Place, list[Job]]]:
    by_name = {contest.base: contest for contest in round_.board_contests("code")}
    for name in learner.contests:
        if name not in by_name:
            raise unknown(f"contest of the round {round_.name}", name, by_name)
    for contest in (by_name[name] for name in dict.fromkeys(learner.contests or by_name)):
        network = learner.network or contest.network
        for cell in places_of(contest, track):
            place = contest.place(cell)
            assert place is not None
            commitment = place.commitment
            jobs = jobs_at(
                contest, cell, commitment, learner.spec, network, describe, symbolic=learner.symbolic
            )
            yield contest, place, jobs
