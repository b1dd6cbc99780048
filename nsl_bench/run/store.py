"""A results folder: one record a run, appended the moment it is known and never changed.

``results/`` holds ``store.json`` (what kind of folder this is), ``records.jsonl`` (one run a line) and
``predictions/KEY.parquet`` (what each run predicted). A line is written in one piece, under a lock and
synced to the disk, so several processes can write at once and a killed one loses nothing but the run it
was in; a line cut short is skipped. The last record of a key counts.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from nsl_bench import __version__, cache
from nsl_bench.errors import UserError
from nsl_bench.run.job import Job
from nsl_bench.types import Hypothesis

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["SCHEMA", "Record", "Store"]

SCHEMA = 1
"""Version of the records' form; a folder of another one is not written to."""


@dataclass(frozen=True)
class Record:
    """The result of one run.

    Attributes:
        job: what was run.
        status: ``"ok"``, or ``"failed"`` with a `message`.
        metrics: every number by name (`nsl_bench.run.metrics.METRICS`).
        hypothesis: what was learned, if it can be read as rules.
        content_hash: of the train and the test set.
        versions: of nsl-bench, Python and the libraries that matter.
        environment: machine, number of cores, fingerprint of the network's weights.
        started: UTC, ISO 8601.
        seconds: of the whole run, perception included.
        message: what went wrong, or is worth knowing.
    """

    job: Job
    status: Literal["ok", "failed"]
    metrics: Mapping[str, float] = field(default_factory=dict)
    hypothesis: Hypothesis | None = None
    content_hash: Mapping[str, str] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, Any] = field(default_factory=dict)
    started: str = ""
    seconds: float = 0.0
    message: str = ""

    def to_json(self) -> str:
        """One line."""
        return json.dumps({"schema": SCHEMA, "key": self.job.key(), **asdict(self)}, allow_nan=False)

    @classmethod
    def from_json(cls, line: str) -> Record:
        """The record of a line.

        Raises:
            ValueError: the line is no record.
        """
        try:
            values = json.loads(line)
            rules = values["hypothesis"]
            hypothesis = None if rules is None else Hypothesis(**{**rules, "rules": tuple(rules["rules"])})
            return cls(
                Job.from_dict(values["job"]),
                values["status"],
                hypothesis=hypothesis,
                **{
                    name: values[name]
                    for name in (
                        "metrics",
                        "content_hash",
                        "versions",
                        "environment",
                        "started",
                        "seconds",
                        "message",
                    )
                },
            )
        except (KeyError, TypeError) as error:
            raise ValueError(f"no record: {error}") from error


class Store:
    """A results folder.

    Args:
        folder: made if it is not there (unless `must_exist`).
        must_exist: whether a missing folder is an error.

    Raises:
        UserError: the folder is something else, or of another version.
    """

    def __init__(self, folder: Path, *, must_exist: bool = False) -> None:
        self.folder = folder
        marker = folder / "store.json"
        if marker.is_file():
            _check(marker)
        elif must_exist or _holds_files(folder):
            what = "is no results folder (it has no store.json)" if folder.exists() else "is not there"
            raise UserError(f"{folder} {what}; `nsl-bench run ... --out {folder}` makes one.")
        else:
            try:
                folder.mkdir(parents=True, exist_ok=True)
                with cache.replacing(marker) as temporary:
                    temporary.write_text(json.dumps({"schema": SCHEMA, "nsl_bench": __version__}) + "\n")
            except OSError as error:
                raise UserError(f"The folder {folder} cannot be made: {error.strerror}.") from error

    @property
    def records_file(self) -> Path:
        """One record a line."""
        return self.folder / "records.jsonl"

    def add(self, record: Record) -> None:
        """Append a record; it is on the disk when this returns.

        Raises:
            UserError: the disk is full or the folder cannot be written.
        """
        try:
            with cache.lock(self.records_file), self.records_file.open("ab+") as file:
                end = file.seek(0, os.SEEK_END)
                torn = False
                if end:
                    file.seek(end - 1)
                    torn = file.read(1) != b"\n"
                file.write(b"\n" * torn + record.to_json().encode() + b"\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise UserError(f"{self.records_file} cannot be written: {error.strerror}.") from error

    def __iter__(self) -> Iterator[Record]:
        """Every whole record, in the order of writing."""
        if not self.records_file.is_file():
            return
        with self.records_file.open(encoding="utf-8", errors="replace") as file:
            for line in file:
                try:
                    yield Record.from_json(line)
                except ValueError:
                    continue

    def latest(self) -> dict[str, Record]:
        """The last record of each key."""
        return {record.job.key(): record for record in self}

    def done(self) -> set[str]:
        """The keys of the runs that need not be done again."""
        return {key for key, record in self.latest().items() if record.status == "ok"}

    def add_predictions(self, key: str, predictions: pd.DataFrame) -> None:
        """Keep what a run predicted."""
        folder = self.folder / "predictions"
        folder.mkdir(exist_ok=True)
        with cache.replacing(folder / f"{key}.parquet") as temporary:
            predictions.to_parquet(temporary, index=False)

    def predictions(self, key: str) -> pd.DataFrame:
        """What a run predicted: ``evaluation``, ``example``, ``predicted`` and a probability a label.

        Raises:
            UserError: they are not there.
        """
        import pandas as pd

        path = self.folder / "predictions" / f"{key}.parquet"
        if not path.is_file():
            raise UserError(f"There are no predictions of the run {key} in {self.folder}.")
        return pd.read_parquet(path)

    def frame(self) -> pd.DataFrame:
        """One row a finished run: the job's fields, status, then a column a metric."""
        import pandas as pd

        rows = [
            {**asdict(record.job), "key": key, "status": record.status, **record.metrics}
            for key, record in self.latest().items()
        ]
        return pd.DataFrame(rows)


def _holds_files(path: Path) -> bool:
    """Whether there is something that is no results folder; hidden files may be another process's marker."""
    if not path.is_dir():
        return path.exists()
    return (
        any(not entry.name.startswith(".") for entry in path.iterdir()) and not (path / "store.json").exists()
    )


def _check(marker: Path) -> None:
    try:
        found = json.loads(marker.read_text(encoding="utf-8"))["schema"]
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(f"{marker} is broken; a results folder's store.json holds its schema.") from error
    if found != SCHEMA:
        raise UserError(
            f"The results in {marker.parent} are of another version (schema {found}; nsl-bench {__version__} "
            f"writes schema {SCHEMA}): use a new folder, or the version of nsl-bench that made them."
        )
