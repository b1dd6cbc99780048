"""The format of a submission: one learner's predictions and rules, without scores.

====================  =========================================================================
``submission.json``   the manifest: name, learner, track, licence; SHA-256 of the other files
``runs.jsonl.zst``    one run per line: job, status, content hashes, rules, learning time, versions
``predictions.parquet``  one row per run and evaluation: labels and probabilities of the test examples
====================  =========================================================================

Labels are indices into the task's labels (-1: no label, -2: several labels, -3: the most probable one, the
first of several); lists are in the order of the test set. Probabilities are numbers of 16 bits
(`nsl_bench.leaderboard.packing`); those of a learner that gives labels only are null. All rows are one row
group, sorted by task, so that what is alike is packed together. A learner that returns concepts has
a row ``concepts`` a run, besides: those of all slots of all test examples (-1: no image), without
probabilities. A failed run has no rows and counts as the majority class. Only the learning time cannot be
recomputed; it is shown as reported by the submitter.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

from nsl_bench import __version__
from nsl_bench.core import registry
from nsl_bench.core.declared import Is, Open, checked
from nsl_bench.core.errors import UserError, did_you_mean, refusing
from nsl_bench.core.tracks import Track
from nsl_bench.learners.base import told_the_answer
from nsl_bench.run.job import Job
from nsl_bench.run.record import Record
from nsl_bench.run.store import Store

from .contests import Cell, Contest, contest_of, incomplete, of_several_versions
from .names import invisible, normalised, skeleton
from .packing import column_types, opened_lines, run_rows, write_lines

SCHEMA = 1
"""Version of the form."""

MANIFEST, RUNS, PREDICTIONS = "submission.json", "runs.jsonl.zst", "predictions.parquet"
_Place = tuple[str, str, Cell]
"""Where a run belongs: contest, network and cell."""

_Written = tuple[Mapping[str, Any], Iterable[Mapping[str, Any]]]
"""A run as it is written: its line, and its rows of predictions."""

_PAGE, _LEVEL = 1 << 26, 19
_ADDRESS = re.compile(r"\s*(https?://[^\s<>\"'`\\]+\s*)?")
_SHA256 = re.compile(r"[0-9a-f]{64}")


def _line(longest: int, shortest: int = 0) -> Is:
    """One line of text, stripped."""
    least = f"{shortest} to" if shortest else "at most"
    return Is(
        f"one line of {least} {longest} printable characters",
        longest=longest,
        test=lambda text: not invisible(text) and len(text.strip()) >= shortest,
        make=str.strip,
    )


@dataclass(frozen=True)
class Manifest(Open):
    """The manifest of a submission.

    Attributes:
        name: the learner's name on the board.
        learner: the learner's spec.
        track: the track.
        licence: licence of the submission's files, e.g. ``"CC-BY-4.0"``.
        authors: the authors, on one line.
        description: description of the learner, one paragraph.
        url: https address of the code or the paper.
        date: date of the submission, ISO 8601.
        nsl_bench: version of nsl-bench that wrote the submission.
        round: name of the sealed round; empty for the board's public contests.
        tuning_trials: number of settings tried when tuning the learner; 0 if it was not tuned.
        told_the_answer: whether the learner was given part of the true rule; it is shown, but not ranked.
        not_applicable: names of contests that the learner cannot enter, such as one whose test task has more
            slots than its inputs; the board lists it there.
        files: SHA-256 of each file, by name.
        schema: version of the format.
    """

    name: Annotated[str, Is("one line of 1 to 80 characters", longest=80, make=normalised)]
    learner: Annotated[str, _line(200, 1)]
    track: Track
    licence: Annotated[str, _line(100, 2)]
    authors: Annotated[str, _line(200)] = ""
    description: Annotated[str, _line(1000)] = ""
    url: Annotated[
        str,
        Is(
            "an address of at most 200 characters: https://...",
            longest=200,
            test=_ADDRESS.fullmatch,
            make=str.strip,
        ),
    ] = ""
    date: Annotated[str, _line(30)] = ""
    nsl_bench: Annotated[str, _line(40)] = __version__
    round: Annotated[str, _line(30)] = ""
    tuning_trials: Annotated[int, Is("a whole number between 0 and 1,000,000", least=0, most=1_000_000)] = 0
    told_the_answer: bool = False
    not_applicable: tuple[Annotated[str, _line(80, 1)], ...] = ()
    files: Mapping[str, Annotated[str, Is("64 hexadecimal digits", test=_SHA256.fullmatch)]] = field(
        default_factory=dict
    )
    schema: Annotated[int, Is(f"{SCHEMA}, the version of the form", least=SCHEMA, most=SCHEMA)] = field(
        default=SCHEMA, metadata={"required": True}
    )

    def to_json(self) -> str:
        """The text of ``submission.json``."""
        return json.dumps(asdict(self), indent=2) + "\n"


def slug(name: str) -> str:
    """Convert a name to a part of a file name: lower-case letters, digits and dashes."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "unnamed"


def place_of(name: str) -> str:
    """The folder name of an accepted submission. Names without ASCII letters get different folders too."""
    plain = slug(name)
    bare = skeleton(name)
    return plain if bare.isascii() else f"{plain}-{hashlib.sha256(bare.encode()).hexdigest()[:8]}"


def digest(path: Path) -> str:
    """SHA-256 of a file, hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_submission(
    store: Store,
    out: Path,
    contests: Sequence[Contest],
    *,
    learner: str | None = None,
    track: Track | None = None,
    tuning_trials: int | None = None,
    earlier: Path | None = None,
    notify: Callable[[str], None] = lambda sentence: None,
    **words: str,
) -> tuple[Manifest, dict[str, int], int]:
    """Create a submission from one learner's finished runs.

    Args:
        contests: the board's contests; runs outside them are left out.
        tuning_trials: number of settings tried when tuning the learner; by default as recorded in the runs.
        earlier: folder of an accepted submission of the same version of the learner, from which runs are
            taken that the results lack.
        notify: called before anything is written with a sentence for each incomplete contest and network.
        words: of the manifest: name, licence, and maybe authors, description, url and date.

    Returns:
        The manifest, the number of runs by contest, and the number of runs outside all contests.

    Raises:
        UserError: no matching runs, runs of several learners, tracks or versions of the learner, invalid
            values in the manifest, or a folder that is not empty or cannot be created.
    """
    # A failure of the harness ("failed") is none of the learner's; those of the learner count.
    records = [record for record in store.latest().values() if record.status != "failed"]
    records = _choose(records, "learner", None if learner is None else registry.canonical(learner))
    records = _choose(records, "track", track)
    places = [(record, contest_of(contests, record.job)) for record in records]
    lacking = {place[0].name for record, place in places if place and record.status == "not_applicable"}
    places = [(record, place) for record, place in places if record.status != "not_applicable"]
    # Of runs of the same cell, by several versions of a learner, the last counts.
    inside = [(record, *place) for record, place in places if place is not None]
    chosen = list({(item[1].name, item[2], item[0].job.network): item for item in inside}.values())
    outside = len(places) - len(inside)
    for sentence in of_several_versions((c, record.job.learner_version) for record, c, _ in chosen):
        raise UserError(f"{store.folder}: {sentence}")
    if not chosen and lacking:
        raise UserError(
            f"{store.folder} has no run to submit: the learner cannot take {', '.join(sorted(lacking))}."
        )
    if not chosen:
        raise UserError(
            f"None of the {len(places)} finished runs in {store.folder} belongs to a contest; "
            "`nsl-bench leaderboard contests` prints the commands for contest runs."
        )
    runs: dict[_Place, tuple[Contest, Record | _Written]] = {}
    if earlier is not None:
        before = checked(Manifest, json.loads((earlier / MANIFEST).read_bytes()), f"{earlier / MANIFEST}: ")
        runs |= _taken(earlier, contests, chosen[-1][0].job)
        lacking |= set(before.not_applicable)
    runs |= {(c.name, record.job.network or "", cell): (c, record) for record, c, cell in chosen}
    entered = ((contest, network, cell) for (_, network, cell), (contest, _) in runs.items())
    for sentence in incomplete(entered, records[0].job.track):
        notify(sentence)
    job = records[0].job
    sealed_round = chosen[0][1].sealed_round
    if tuning_trials is None:
        trial_counts = [record.tuning.get("trials", 0) for record, _, _ in chosen]
        trial_counts += [] if earlier is None else [before.tuning_trials]
        tuning_trials = max((trials for trials in trial_counts if isinstance(trials, int)), default=0)
    given = {
        **words,
        "learner": job.learner,
        "track": job.track,
        "round": sealed_round,
        "tuning_trials": tuning_trials,
        "not_applicable": sorted(lacking - {contest for contest, _, _ in runs}),
        "told_the_answer": any(told_the_answer(record.job.learner_version) for record, _, _ in chosen),
    }
    written = (
        run
        if not isinstance(run, Record)
        else (_run(run, contest.hashes(place[2])), _stored_rows(store, run) if run.status == "ok" else ())
        for place, (contest, run) in sorted(runs.items(), key=lambda item: item[0])
    )
    manifest = save(out, manifest_of(given), written)
    counts: dict[str, int] = {}
    for contest, _, _ in runs:
        counts[contest] = counts.get(contest, 0) + 1
    return manifest, counts, outside


def _taken(
    folder: Path, contests: Sequence[Contest], own: Job
) -> dict[_Place, tuple[Contest, Record | _Written]]:
    """The runs of an accepted submission, with their rows."""
    import pyarrow.parquet as pq

    rows: dict[str, list[dict[str, Any]]] = {}
    for row in pq.read_table(folder / PREDICTIONS).to_pylist():
        rows.setdefault(row["run"], []).append(row)
    with opened_lines(folder / RUNS) as file:
        lines = [json.loads(line) for line in file]
    chosen: dict[_Place, tuple[Contest, Record | _Written]] = {}
    for line in lines:
        job = checked(Job, line["job"], f"{folder / RUNS}: ")
        for what in ("learner", "track", "learner_version"):
            if getattr(job, what) != getattr(own, what):
                raise UserError(
                    f"{folder} is of another {what.replace('_', ' ')}: {getattr(job, what)}, not "
                    f"{getattr(own, what)}."
                )
        place = contest_of(contests, job)
        if place is not None:
            contest, cell = place
            chosen[contest.name, job.network or "", cell] = (contest, (line, rows.get(line["run"], [])))
    return chosen


def manifest_of(words: Mapping[str, Any]) -> Manifest:
    """The manifest that a command's options say, its files yet to come."""
    return checked(Manifest, {**words, "schema": SCHEMA}, "--")


def save(out: Path, manifest: Manifest, runs: Iterable[_Written]) -> Manifest:
    """Write a submission's files.

    Args:
        out: folder to make; must not hold files.
        runs: the line of each run, and its rows of predictions (`row_of`).

    Returns:
        The manifest with the files' hashes.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    _make_folder(out)
    lines, rows = [], []
    for line, predictions in runs:
        lines.append(line)
        rows += [(_order(line, row), row) for row in predictions]
    write_lines(out / RUNS, (json.dumps(line, allow_nan=False) for line in lines))
    rows.sort(key=lambda item: item[0])
    columns = {name: pa.array([row[name] for _, row in rows], kind) for name, kind in column_types().items()}
    table = pa.table(columns)
    pq.write_table(
        table,
        out / PREDICTIONS,
        row_group_size=max(1, len(table)),
        data_page_size=_PAGE,
        compression="zstd",
        compression_level=_LEVEL,
        use_dictionary=["run", "evaluation", "predicted.list.element"],
        column_encoding={"probabilities.list.element": "BYTE_STREAM_SPLIT"},
        write_statistics=False,
    )
    manifest = replace(manifest, files={file: digest(out / file) for file in (RUNS, PREDICTIONS)})
    (out / MANIFEST).write_text(manifest.to_json(), encoding="utf-8")
    return manifest


def _order(line: Mapping[str, Any], row: Mapping[str, Any]) -> tuple[Any, ...]:
    """Where a row stands: beside those that are likely to be like it."""
    job = line["job"]
    task = job["test_task"] or job["benchmark"], job["network"] or "", row["evaluation"]
    test, train = (job["test_shift"], job["test_percent"]), (job["train_shift"], job["train_percent"])
    return *task, job["repeat"], *test, *train, line["run"]


def _make_folder(out: Path) -> None:
    with refusing(f"--out: the folder {out} cannot be created"):
        if out.exists() and (not out.is_dir() or any(out.iterdir())):
            raise UserError(f"--out: {out} already exists; name a folder that is new or empty.")
        out.mkdir(parents=True, exist_ok=True)


def _choose(records: Iterable[Record], what: str, wanted: str | None) -> list[Record]:
    """The records of one learner or track."""
    listed = list(records)
    values = sorted({str(getattr(record.job, what)) for record in listed})
    if wanted is None and len(values) > 1:
        raise UserError(
            f"The results contain runs of several {what}s ({', '.join(values)}); name one with --{what}."
        )
    if not listed or (wanted is not None and wanted not in values):
        of = f" of the {what} '{wanted}'" if wanted else ""
        raise UserError(f"The results contain no finished runs{of}.{did_you_mean(wanted or '', values)}")
    return [record for record in listed if wanted is None or getattr(record.job, what) == wanted]


def _run(record: Record, handed_out: Mapping[str, str] | None) -> dict[str, Any]:
    rules = record.hypothesis
    return {
        "run": record.key,
        "job": asdict(record.job),
        "content_hash": dict(handed_out or record.content_hash),
        "hypothesis": None if rules is None else {"language": rules.language, "rules": list(rules.rules)},
        "learning_time": record.metrics.get("learning_time"),
        "prediction_time": record.metrics.get("prediction_time"),
        "versions": dict(record.versions),
        "environment": dict(record.environment),
        "started": record.started,
        "status": record.status,
        **({"tuning": _rounded(record.tuning)} if record.tuning else {}),
    }


def _rounded(reported: Any) -> Any:
    """The report of a tuned learner, its numbers rounded to four digits."""
    if isinstance(reported, Mapping):
        return {name: _rounded(value) for name, value in reported.items()}
    if isinstance(reported, list | tuple):
        return [_rounded(value) for value in reported]
    return round(reported, 4) if isinstance(reported, float) else reported


def _stored_rows(store: Store, record: Record) -> Iterable[dict[str, Any]]:
    """The rows of a run whose predictions a store has."""
    names = registry.create("benchmark", record.job.tested).labels.names
    return run_rows(record.key, store.predictions(record.key), names)
