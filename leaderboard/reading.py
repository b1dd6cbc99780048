"""The files of a submission, checked value by value: manifest, runs, predictions.

No pickle, no NaN, no nested surprises; what is wrong raises `Rejected` with one sentence that says where.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

from nsl_bench.errors import UserError
from nsl_bench.run.job import Job
from nsl_bench.types import Track

from .submission import (
    EVALUATIONS,
    MANIFEST,
    PREDICTIONS,
    RUNS,
    SCHEMA,
    Manifest,
    check_about,
    digest,
)
from .untrusted import LIMITS, Limits, Rejected, quoted

__all__ = ["Predicted", "Run", "read_manifest", "read_predictions", "read_runs"]

_HASH = re.compile(r"[0-9a-f]{64}")
_RUN = re.compile(r"[0-9a-f]{8,64}")
_NETWORK = re.compile(r"\w[\w .,:+/=@~\-]{0,99}")


@dataclass(frozen=True)
class Run:
    """One line of ``runs.jsonl``, checked.

    Attributes:
        id: the submitter's name of the run.
        job: what was run.
        content_hash: of the train and the test set.
        language: of the rules, None where there are none.
        rules: what was learned.
        learning_time: seconds, as the submitter says; None if not given.
        versions, environment: as the submitter says.
        started: ISO 8601.
    """

    id: str
    job: Job
    content_hash: Mapping[str, str]
    language: str | None
    rules: tuple[str, ...]
    learning_time: float | None
    versions: Mapping[str, str]
    environment: Mapping[str, str]
    started: str


def _refuse_constant(text: str) -> Any:
    raise ValueError(f"{text} is no JSON number")


def _json(text: str) -> Any:
    try:
        values = json.loads(text, parse_constant=_refuse_constant)
        if "\\u" in text:  # an escape may stand for half a character, which no file and no page can hold
            json.dumps(values, ensure_ascii=False).encode()
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    except UnicodeEncodeError as error:
        raise ValueError("a text holds half of a surrogate pair") from error
    return values


def read_manifest(folder: Path) -> Manifest:
    """The manifest, checked, with its files' hashes.

    Raises:
        Rejected: a field is missing or wrong, or a file is not the one that was hashed.
    """
    try:
        values = _json((folder / MANIFEST).read_text(encoding="utf-8"))
    except ValueError as error:
        raise Rejected(f"{MANIFEST} is no JSON: {error}.") from error
    if not isinstance(values, dict):
        raise Rejected(f"{MANIFEST} holds no JSON object.")
    if values.get("schema") != SCHEMA:
        raise Rejected(
            f"{MANIFEST}: schema is {quoted(values.get('schema'))}, but this board reads {SCHEMA}."
        )
    try:
        about = check_about(values, f"{MANIFEST}: ")
    except UserError as error:
        raise Rejected(str(error)) from error
    if values.get("track") not in get_args(Track):
        raise Rejected(
            f"{MANIFEST}: the track {quoted(values.get('track'))} is none of {', '.join(get_args(Track))}."
        )
    stated = values.get("files")
    files = stated if isinstance(stated, dict) else {}
    for file in (RUNS, PREDICTIONS):
        if files.get(file) != digest(folder / file):
            raise Rejected(f"{MANIFEST} has another SHA-256 of {file} than the file has: it was changed.")
    return Manifest(
        track=values["track"],
        files={file: str(files[file]) for file in (RUNS, PREDICTIONS)},
        **about,
    )


def read_runs(folder: Path, limits: Limits = LIMITS) -> list[Run]:
    """The runs, checked one by one.

    Raises:
        Rejected: a line that is no run, a run that is there twice, or too many.
    """
    runs: dict[str, Run] = {}
    with (folder / RUNS).open("rb") as file:
        for number, line in enumerate(iter(lambda: file.readline(limits.line_bytes + 1), b""), start=1):
            if len(line) > limits.line_bytes:
                raise Rejected(f"{RUNS}, line {number}: longer than {limits.line_bytes:,} bytes.")
            if number > limits.runs:
                raise Rejected(f"{RUNS} has more than the {limits.runs:,} runs allowed.")
            run = _run(line, f"{RUNS}, line {number}", limits)
            if run.id in runs:
                raise Rejected(f"{RUNS}, line {number}: the run {run.id} is there twice.")
            runs[run.id] = run
    if not runs:
        raise Rejected(f"{RUNS} holds no runs.")
    return list(runs.values())


def _run(line: bytes, where: str, limits: Limits) -> Run:
    try:
        values = _json(line.decode("utf-8"))
        job = _job(values["job"], where, limits)
        hashes = {part: str(values["content_hash"][part]) for part in ("train", "test")}
        identity, started = str(values["run"]), str(values.get("started", ""))[:40]
        versions, environment = (_short(values.get(key)) for key in ("versions", "environment"))
    except (ValueError, KeyError, TypeError) as error:
        raise Rejected(f"{where}: no run ({type(error).__name__}: {str(error)[:100]}).") from error
    if not _RUN.fullmatch(identity) or not all(_HASH.fullmatch(value) for value in hashes.values()):
        raise Rejected(f"{where}: a run's name and its content hashes are hexadecimal.")
    language, rules = _hypothesis(values.get("hypothesis"), where, limits)
    time = values.get("learning_time")
    if time is not None and not _is_number(time, 0, limits.learning_seconds):
        raise Rejected(
            f"{where}: learning_time is {quoted(time)}, but it is a number of seconds, at most "
            f"{limits.learning_seconds:,.0f}."
        )
    return Run(
        identity,
        job,
        hashes,
        language,
        rules,
        None if time is None else float(time),
        versions,
        environment,
        started,
    )


def _is_number(value: Any, least: float, most: float) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and least <= value <= most


def _hypothesis(values: Any, where: str, limits: Limits) -> tuple[str | None, tuple[str, ...]]:
    """Language and rules; None and none if nothing was learned as rules."""
    if values is None:
        return None, ()
    said: dict[str, Any] = values if isinstance(values, dict) else {}
    language, rules = said.get("language"), said.get("rules")
    listed = isinstance(rules, list) and all(isinstance(rule, str) for rule in rules)
    if language not in ("asp", "tree") or not isinstance(rules, list) or not listed:
        raise Rejected(f"{where}: a hypothesis is a list of rules in the language asp or tree.")
    if sum(len(rule) for rule in rules) > limits.rules_bytes:
        raise Rejected(f"{where}: the rules have more than the {limits.rules_bytes:,} characters allowed.")
    return language, tuple(rules)


def _job(values: Any, where: str, limits: Limits) -> Job:
    """A job, checked; a network need not be one that is installed here."""
    if not isinstance(values, dict):
        raise TypeError("job is no object")
    known = {f.name for f in fields(Job)}
    for name, value in values.items():
        if name in known and not isinstance(value, str | int | float | None):
            raise TypeError(f"{name} is no plain value")
        if (
            name in known
            and isinstance(value, str)
            and (len(value) > limits.words or not value.isprintable())
        ):
            raise Rejected(
                f"{where}: {name} is no line of at most {limits.words} printable characters: {quoted(value)}."
            )
    for name, kind in {"repeat": int, "seed": int}.items():
        if not isinstance(values.get(name, 0), kind) or isinstance(values.get(name), bool):
            raise TypeError(f"{name} is no number")
    if not _is_number(values["percent"], 0, 100):
        raise Rejected(f"{where}: percent is {quoted(values['percent'])}, but it is a number from 0 to 100.")
    for name in ("benchmark", "benchmark_version", "source", "shift", "size", "learner", "track"):
        if not isinstance(values[name], str):
            raise TypeError(f"{name} is no text")
    job = Job.from_dict(values)
    if job.track != "pretrained" and job.network is not None:
        raise Rejected(f"{where}: network is {quoted(job.network)}, but the track {job.track} has none.")
    if job.track == "pretrained" and not (isinstance(job.network, str) and _NETWORK.fullmatch(job.network)):
        raise Rejected(
            f"{where}: network is {quoted(job.network)}, but in the track pretrained it is the spec of the "
            "perception network: at most 100 letters, digits, spaces and .,:+/=@~-_."
        )
    return job


def _short(values: Any) -> dict[str, str]:
    """Things said about a run, as short texts."""
    if not isinstance(values, dict):
        return {}
    return {str(key)[:40]: str(value)[:120] for key, value in list(values.items())[:20]}


Predicted = tuple[npt.NDArray[np.int8], npt.NDArray[np.float32]]


def read_predictions(
    folder: Path,
    sizes: Mapping[str, tuple[int, int]],
    limits: Limits = LIMITS,
    ignored: Collection[str] = (),
) -> Iterator[tuple[str, str, Predicted]]:
    """Run, evaluation and what was predicted, row by row.

    Args:
        folder: of the submission.
        sizes: number of test examples and of labels by run.
        limits: what it may cost.
        ignored: runs whose rows are skipped.

    Yields:
        Run, evaluation, int8 [n] and float32 [n, labels].

    Raises:
        Rejected: other columns, rows that are there twice or belong to no run, lists of another length,
            labels that there are not, NaN, or numbers that are no probabilities.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    seen: set[tuple[str, str]] = set()
    try:
        file = pq.ParquetFile(folder / PREDICTIONS)
        _check_parquet(file, limits)
        for batch in file.iter_batches(batch_size=16):
            for row in range(batch.num_rows):
                run, evaluation = batch["run"][row].as_py(), batch["evaluation"][row].as_py()
                if run in ignored:
                    continue
                if run not in sizes:
                    raise Rejected(f"{PREDICTIONS}: the row of {quoted(run)} belongs to no run.")
                if evaluation not in EVALUATIONS:
                    raise Rejected(
                        f"{PREDICTIONS}: the evaluation {quoted(evaluation)} of the run {run} is none of "
                        f"{', '.join(EVALUATIONS)}."
                    )
                if (run, evaluation) in seen:
                    raise Rejected(f"{PREDICTIONS}: the run {run} has its {evaluation} predictions twice.")
                seen.add((run, evaluation))
                columns = (batch["predicted"][row].values, batch["probabilities"][row].values)
                yield run, evaluation, _predicted(*columns, *sizes[run], f"{evaluation} of the run {run}")
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise Rejected(f"{PREDICTIONS} is no readable parquet file ({type(error).__name__}).") from error


def _check_parquet(file: Any, limits: Limits) -> None:
    import pyarrow as pa

    expected = {
        "run": pa.string(),
        "evaluation": pa.string(),
        "predicted": pa.list_(pa.int8()),
        "probabilities": pa.list_(pa.float32()),
    }
    schema = file.schema_arrow
    if sorted(schema.names) != sorted(expected):
        raise Rejected(
            f"{PREDICTIONS} has the columns {quoted(schema.names)}, but they are {', '.join(expected)}."
        )
    for name, kind in expected.items():
        found = schema.field(name).type
        if found != kind:
            raise Rejected(
                f"{PREDICTIONS}: the column {name} is of the type {str(found)[:80]}, but it is {kind}."
            )
    metadata = file.metadata
    # Runs of equal values take no room on the disk, whatever their number: values are counted, not bytes.
    chunks = [
        metadata.row_group(k).column(j) for k in range(metadata.num_row_groups) for j in range(len(expected))
    ]
    unpacked = sum(max(chunk.total_uncompressed_size, 4 * chunk.num_values) for chunk in chunks)
    if metadata.num_rows > 2 * limits.runs or unpacked > limits.unpacked_bytes:
        raise Rejected(
            f"{PREDICTIONS} unpacks to {metadata.num_rows:,} rows and {unpacked / 1024**2:,.0f} MB, more "
            f"than the {2 * limits.runs:,} rows and {limits.unpacked_bytes / 1024**2:,.0f} MB allowed."
        )


def _predicted(labels: Any, numbers: Any, n: int, k: int, what: str) -> Predicted:
    found = (0 if labels is None else len(labels), 0 if numbers is None else len(numbers))
    if found != (n, n * k):
        raise Rejected(
            f"{PREDICTIONS}, {what}: {found[0]} labels and {found[1]} probabilities, expected {n} "
            f"and {n * k}."
        )
    if labels.null_count or numbers.null_count:
        raise Rejected(f"{PREDICTIONS}, {what}: values are missing.")
    predicted, probabilities = labels.to_numpy(), numbers.to_numpy().reshape(n, k)
    bad = ~np.isfinite(probabilities).all(axis=1)
    if bad.any():
        raise Rejected(f"{PREDICTIONS}, {what}: NaN or infinity for {bad.sum()} of {n} examples.")
    bad = (probabilities < -1e-6).any(axis=1) | (probabilities.sum(axis=1) > 1 + 1e-3)
    if bad.any():
        raise Rejected(f"{PREDICTIONS}, {what}: no probabilities for {bad.sum()} of {n} examples.")
    bad = (predicted < -2) | (predicted >= k)
    if bad.any():
        raise Rejected(
            f"{PREDICTIONS}, {what}: the label {int(predicted[bad][0])}, but there are {k} labels."
        )
    return predicted, probabilities
