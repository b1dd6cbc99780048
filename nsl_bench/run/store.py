"""Results folders: one record per run, appended as soon as the run finishes and never changed.

=======================  ====================================================================
``store.json``           marks the folder as a results folder
``records.jsonl``        one run per line (`nsl_bench.run.record`)
``predictions/*``        predictions of each run, ``KEY.parquet``
``records-*.parquet``    records that `Store.compact` moved from ``records.jsonl``
``predictions-*.parquet``  their predictions, with a column ``key``
``logs/KEY.log``         what the learner of a run printed
``unfinished-*.json``    the runs of a sweep, until all of them have a record
=======================  ====================================================================

A line is written at once, under a lock, and synced to the disk. Several processes can therefore write at the
same time, and a killed process loses only its current run. If the disk is full, the incomplete line is
removed. Lines that are not records (cut off, edited) are left out, with a note on standard error. The last
record of a key counts.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nsl_bench import __version__
from nsl_bench.core import cache
from nsl_bench.core.declared import Written, checked, parse_json
from nsl_bench.core.errors import UserError, refusing
from nsl_bench.core.interrupts import uninterrupted
from nsl_bench.run.job import Job, source_identity
from nsl_bench.run.parquet import check_predictions, merge_predictions, read_predictions, read_records
from nsl_bench.run.record import SCHEMA, Record

if TYPE_CHECKING:
    import pandas as pd

_FLAT = ("key", "status", "started", "seconds", "message", "timed_out")
"""The columns of compacted records besides the job's, the metrics' and the whole record as JSON."""

_APPENDING = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)

_SHOWN = 5
"""So many lines that are left out are named one by one."""

_VERSIONS = ("learner_version", "network_version", "protocol")
_PLACES = ("source", "splits", "splits_fingerprint")


class NoPredictions(UserError):
    """The predictions of a run were not stored."""


@dataclass(frozen=True)
class _Marker(Written):
    """What ``store.json`` says."""

    schema: int


class Store:
    """A results folder.

    Args:
        folder: the folder.
        must_exist: whether a missing folder is an error.
        create: whether a missing folder is created now; else `create` does it.
    """

    def __init__(self, folder: Path, *, must_exist: bool = False, create: bool = True) -> None:
        self.folder = folder
        self._marker = folder / "store.json"
        self._broken: dict[str, str] = {}
        self._warned: set[str] = set()
        if self._marker.is_file():
            _check_schema(self._marker)
        elif must_exist or _holds_files(folder):
            if folder.exists():
                fix = "name another folder" if must_exist else "name a new folder"
                raise UserError(f"{folder} is not a results folder (store.json is missing); {fix}.")
            raise UserError(f"{folder} does not exist; `nsl-bench run ... --out {folder}` creates one.")
        elif create:
            self.create()

    def create(self) -> None:
        """Create the folder if it does not exist."""
        with refusing(f"The folder {self.folder} cannot be created"):
            self.folder.mkdir(parents=True, exist_ok=True)
        with cache.lock(self._marker):
            if self._marker.is_file():  # another sweep made it, and may have locks on it
                return
            with cache.replacing(self._marker) as temporary:
                temporary.write_text(json.dumps({"schema": SCHEMA, "nsl_bench": __version__}) + "\n")

    @property
    def records_file(self) -> Path:
        """The file with one record per line."""
        return self.folder / "records.jsonl"

    def add(self, record: Record) -> None:
        """Append a record and sync it to the disk. Ctrl-C is delayed until then."""
        line = record.to_json().encode() + b"\n"
        where = f"{self.records_file} cannot be written"
        with refusing(where), uninterrupted(), cache.lock(self.records_file):
            descriptor = os.open(self.records_file, _APPENDING, 0o666)
            try:
                _append(descriptor, line)
            finally:
                os.close(descriptor)

    def _lines(self) -> Iterator[tuple[str, bytes]]:
        """The records as they were written, one JSON text each, and where each stands."""
        # Opened before the parquet files are listed: what a compaction moves meanwhile is read twice
        # rather than not at all.
        file = self.records_file.open("rb") if self.records_file.is_file() else None
        try:
            compacted: set[bytes] = set()
            for path in sorted(self.folder.glob("records-*.parquet")):
                for number, text in enumerate(self._records_in(path), 1):
                    line = text.encode()
                    compacted.add(line)
                    yield f"{path.name}, row {number}", line
            for number, line in enumerate(file or (), 1):
                stripped = line.rstrip(b"\r\n")
                if stripped and stripped not in compacted:
                    yield f"{self.records_file.name}, line {number}", stripped
        finally:
            if file is not None:
                file.close()

    def __iter__(self) -> Iterator[Record]:
        """Every whole record, in the order of writing.

        What is no record is left out, and standard error says so, once for each place.
        """
        try:
            for place, line in self._lines():
                try:
                    yield Record.from_json(line)
                except ValueError as error:
                    self._left_out(place, str(error))
        except OSError as error:
            raise UserError(f"{self.records_file} cannot be read: {error.strerror}.") from error
        finally:
            self._tell()

    def _left_out(self, place: str, why: str) -> None:
        self._broken.setdefault(place, why)

    def _tell(self) -> None:
        """Say what is left out, once for each place."""
        new = {place: why for place, why in self._broken.items() if place not in self._warned}
        for place, why in list(new.items())[:_SHOWN]:
            print(f"{self.folder}: {place} is left out: {why}.", file=sys.stderr)
        if len(new) > _SHOWN:
            print(f"{self.folder}: {len(new) - _SHOWN} more are left out.", file=sys.stderr)
        self._warned.update(new)

    def latest(self) -> dict[str, Record]:
        """The last record of each key, in the order of writing."""
        result: dict[str, Record] = {}
        for record in self:
            result.pop(record.key, None)
            result[record.key] = record
        return result

    def statuses(self) -> dict[str, str]:
        """The status of the last run of each key."""
        return {record.key: record.status for record in self}

    def end(self) -> tuple[int, int]:
        """Where the next record will be written: file and offset."""
        try:
            status = self.records_file.stat()
        except OSError:
            return 0, 0
        return status.st_ino, status.st_size

    def since(self, end: tuple[int, int]) -> tuple[dict[str, str], bool, tuple[int, int]]:
        """The statuses of runs recorded since an earlier `end`, by key.

        Returns:
            The statuses, whether they are those of the new records only (after a compaction, they are those
            of all), and the present end.
        """
        file, begin = end
        now, size = self.end()
        if now == file and size == begin:
            return {}, True, end
        if file and (now != file or size < begin):
            return dict(self.statuses()), False, (now, size)
        with self.records_file.open("rb") as opened:
            opened.seek(begin)
            text = opened.read(size - begin)
        whole = text[: text.rfind(b"\n") + 1]  # another process may be writing the last line
        result: dict[str, str] = {}
        for line in whole.splitlines():
            with contextlib.suppress(ValueError):
                record = Record.from_json(line)
                result[record.key] = record.status
        return result, True, (now, begin + len(whole))

    def done(self) -> set[str]:
        """The keys of successful runs."""
        return {key for key, status in self.statuses().items() if status == "ok"}

    def add_predictions(self, key: str, predictions: pd.DataFrame) -> None:
        """Store the predictions of a run. Waits while the folder is being compacted."""
        folder = self._subfolder("predictions")
        with cache.lock(self.records_file), cache.replacing(folder / f"{key}.parquet") as temporary:
            predictions.to_parquet(temporary, index=False)

    def predictions(self, key: str) -> pd.DataFrame:
        """Predictions of a run: ``evaluation``, ``example``, ``predicted``, and a probability per label.

        Raises:
            NoPredictions: the run's predictions were not stored.
            UserError: the file is damaged or has other content.
        """
        path = self.folder / "predictions" / f"{key}.parquet"
        if path.is_file():
            return read_predictions(path)
        for compacted in sorted(self.folder.glob("predictions-*.parquet"), reverse=True):
            result = read_predictions(compacted, key)
            if not result.empty:
                return result
        raise NoPredictions(f"The run {key} in {self.folder} has no predictions.")

    @contextlib.contextmanager
    def unfinished(self, jobs: Sequence[Job]) -> Iterator[None]:
        """Keep the list of a sweep's jobs for as long as it has not come to its end."""
        path = self.folder / f"unfinished-{cache.key(sorted(job.key() for job in jobs))}.json"
        with cache.replacing(path) as temporary:
            temporary.write_text(json.dumps([asdict(job) for job in jobs]), encoding="utf-8")
        yield
        path.unlink(missing_ok=True)

    def left(self, records: Iterable[Record]) -> dict[str, Job]:
        """The jobs of unfinished sweeps that have no record, also not one of another version, by key."""
        known = {_place(record.job) for record in records}
        found: dict[str, Job] = {}
        for path in sorted(self.folder.glob("unfinished-*.json")):
            with contextlib.suppress(
                OSError, ValueError, UserError
            ):  # of another version, or removed meanwhile
                jobs = [checked(Job, values) for values in parse_json(path.read_bytes())]
                found |= {job.key(): job for job in jobs if _place(job) not in known}
        return found

    def log(self, key: str) -> Path:
        """The log file of a run: what its learner prints."""
        return self._subfolder("logs") / f"{key}.log"

    def _subfolder(self, name: str) -> Path:
        folder = self.folder / name
        with refusing(f"The folder {folder} cannot be created"):
            folder.mkdir(exist_ok=True)
        return folder

    def frame(self, records: Iterable[Record] | None = None) -> pd.DataFrame:
        """One row per run: the job's fields, key and status, then a column per metric.

        ``shift`` and ``percent`` are the run's curve and its place on it (`ShiftPair`). Of runs that
        differ in their versions only, the last one counts.
        """
        import pandas as pd

        names = [f.name for f in fields(Job)]
        own = {*names, "shift", "percent", "key", "status", "timed_out"}
        rows: dict[tuple[Any, ...], dict[str, Any]] = {}
        for record in self if records is None else records:
            job = {name: getattr(record.job, name) for name in names}
            at = _place(record.job)
            rows.pop(at, None)  # the order is that of writing
            rows[at] = {
                **job,
                "shift": record.job.shift,
                "percent": record.job.percent,
                "key": record.key,
                "status": record.status,
                "timed_out": record.timed_out,
                **{name: value for name, value in record.metrics.items() if name not in own},
            }
        return pd.DataFrame(list(rows.values()))

    def compact(self) -> int:
        """Move the records of ``records.jsonl`` and loose predictions into parquet files.

        Other processes may write at the same time. A crash at any moment loses nothing.

        Returns:
            The number of moved records.
        """
        try:
            with uninterrupted(), cache.lock(self.records_file):
                content = self.records_file.read_bytes() if self.records_file.is_file() else b""
                rows, others = [], []
                for number, line in enumerate(content.split(b"\n"), 1):
                    if not line.strip():
                        continue
                    try:
                        rows.append(_flat(Record.from_json(line), line.decode()))
                    except ValueError as error:
                        self._left_out(f"{self.records_file.name}, line {number}", str(error))
                        others.append(line)
                if rows:
                    self._keep_rows(rows)
                    with cache.replacing(self.records_file) as temporary:
                        temporary.write_bytes(b"".join(line + b"\n" for line in others))
                self._compact_predictions()
        finally:
            self._tell()
        return len(rows)

    def _keep_rows(self, rows: Sequence[dict[str, Any]]) -> None:
        """Write records as a parquet file."""
        import pyarrow as pa
        import pyarrow.parquet

        # One name for the same content: a compaction that was cut short is done over, not twice.
        name = cache.key([row["key"] + row["started"] for row in rows])
        ordinal = len(list(self.folder.glob("records-*.parquet")))
        taken = list(self.folder.glob(f"records-*-{name}.parquet"))
        path = taken[0] if taken else self.folder / f"records-{ordinal:06d}-{name}.parquet"
        columns = list(dict.fromkeys(column for row in rows for column in row))
        table = pa.table({c: pa.array([row.get(c) for row in rows]) for c in columns})
        with cache.replacing(path) as temporary:
            pyarrow.parquet.write_table(table, temporary, compression="zstd")

    def _compact_predictions(self) -> None:
        """Merge loose predictions; what are none stay where they are."""
        whole = []
        for path in sorted((self.folder / "predictions").glob("*.parquet")):
            try:
                check_predictions(path)
                whole.append(path)
            except UserError as error:
                self._left_out(f"predictions/{path.name}", str(error).rstrip("."))
        if not whole:
            return
        ordinal = len(list(self.folder.glob("predictions-*.parquet")))
        name = cache.key([path.stem for path in whole])
        with cache.replacing(self.folder / f"predictions-{ordinal:06d}-{name}.parquet") as temporary:
            merge_predictions(whole, temporary)
        for path in whole:
            path.unlink()

    def _records_in(self, path: Path) -> list[str]:
        """The records in a parquet file, as the texts that they were; none if it is damaged."""
        try:
            return read_records(path)
        except UserError as error:
            self._left_out(path.name, str(error).rstrip("."))
            return []


def _place(job: Job) -> tuple[Any, ...]:
    """What jobs have in common that differ in their versions only."""
    same = (f.name for f in fields(Job) if f.name not in (*_VERSIONS, *_PLACES))
    where = job.splits_fingerprint or job.splits, source_identity(job.source)
    return (*(getattr(job, name) for name in same), *where)


def _append(descriptor: int, line: bytes) -> None:
    end = os.lseek(descriptor, 0, os.SEEK_END)
    if end:
        os.lseek(descriptor, end - 1, os.SEEK_SET)
        if os.read(descriptor, 1) != b"\n":
            line = b"\n" + line  # the last record was cut short
    try:
        left = memoryview(line)
        while left:
            left = left[os.write(descriptor, left) :]
        os.fsync(descriptor)
    except OSError:
        os.ftruncate(descriptor, end)
        raise


def _flat(record: Record, line: str) -> dict[str, Any]:
    """A record as a row: the fields that tables are made of, and the whole of it as it was written."""
    row = {name: getattr(record, name) for name in _FLAT}
    row |= {f"job.{name}": value for name, value in asdict(record.job).items()}
    row |= {f"metric.{name}": value for name, value in record.metrics.items()}
    return {**row, "record": line}


def _holds_files(path: Path) -> bool:
    """Whether there is something that is no results folder; hidden files may be another process's marker."""
    if not path.is_dir():
        return path.exists()
    return (
        any(not entry.name.startswith(".") for entry in path.iterdir()) and not (path / "store.json").exists()
    )


def _check_schema(marker: Path) -> None:
    try:
        result = checked(_Marker, parse_json(marker.read_bytes())).schema
    except (OSError, ValueError, UserError) as error:
        reason = str(error).rstrip(".")
        raise UserError(
            f"{marker} is damaged ({reason}); it must hold the schema of a results folder."
        ) from error
    if result != SCHEMA:
        raise UserError(
            f"The results in {marker.parent} have another format (schema {result}); nsl-bench "
            f"{__version__} reads schema {SCHEMA}. Use a new folder, or the version of nsl-bench that wrote "
            "them."
        )
