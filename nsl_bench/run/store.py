"""A results folder: one record a run, appended the moment it is known and never changed.

=======================  ====================================================================
``store.json``           what kind of folder this is
``records.jsonl``        one run a line (`nsl_bench.run.record`)
``predictions/*``        what each run predicted, ``KEY.parquet``
``records-*.parquet``    records that `Store.compact` took out of ``records.jsonl``
``predictions-*.parquet``  their predictions, with a column ``key``
``logs/KEY.log``         what the learner of a run printed
=======================  ====================================================================

A line is written in one piece, under a lock and synced to the disk, so several processes can write at once
and a killed one loses nothing but the run it was in; a line cut short is skipped, and one that the disk has
no room for is taken back. The last record of a key counts.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nsl_bench import __version__, cache
from nsl_bench.errors import UserError
from nsl_bench.interrupts import uninterrupted
from nsl_bench.run.job import Job
from nsl_bench.run.record import SCHEMA, Record

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["SCHEMA", "Record", "Store"]

_FLAT = ("key", "status", "started", "seconds", "message", "timed_out")
"""The columns of compacted records besides the job's, the metrics' and the whole record as JSON."""

_VERSIONS = ("learner_version", "harness_version")


class Store:
    """A results folder.

    Args:
        folder: made if it is not there (unless `must_exist`).
        must_exist: whether a missing folder is an error.

    Raises:
        UserError: the folder is something else, or of a later version.
    """

    def __init__(self, folder: Path, *, must_exist: bool = False) -> None:
        self.folder = folder
        self._marker = folder / "store.json"
        if self._marker.is_file():
            self._outdated = _schema(self._marker) < SCHEMA
        elif must_exist or _holds_files(folder):
            what = "is no results folder (it has no store.json)" if folder.exists() else "is not there"
            raise UserError(f"{folder} {what}; `nsl-bench run ... --out {folder}` makes one.")
        else:
            try:
                folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise UserError(f"The folder {folder} cannot be made: {error.strerror}.") from error
            self._mark()

    def _mark(self) -> None:
        with cache.replacing(self._marker) as temporary:
            temporary.write_text(json.dumps({"schema": SCHEMA, "nsl_bench": __version__}) + "\n")
        self._outdated = False

    @property
    def records_file(self) -> Path:
        """One record a line."""
        return self.folder / "records.jsonl"

    def add(self, record: Record) -> None:
        """Append a record; it is on the disk when this returns. Ctrl-C waits until then.

        Raises:
            UserError: the disk is full or the folder cannot be written; the file is as it was before.
        """
        line = record.to_json().encode() + b"\n"
        if self._outdated:
            self._mark()
        try:
            with uninterrupted(), cache.lock(self.records_file):
                descriptor = os.open(self.records_file, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
                try:
                    _append(descriptor, line)
                finally:
                    os.close(descriptor)
        except OSError as error:
            raise UserError(f"{self.records_file} cannot be written: {error.strerror}.") from error

    def _lines(self) -> Iterator[str]:
        """The records as they were written, one JSON text each."""
        # Opened before the parquet files are listed: what a compaction moves meanwhile is read twice
        # rather than not at all.
        file = (
            self.records_file.open(encoding="utf-8", errors="replace")
            if self.records_file.is_file()
            else None
        )
        try:
            compacted: set[str] = set()
            for path in sorted(self.folder.glob("records-*.parquet")):
                import pyarrow.parquet

                for line in pyarrow.parquet.read_table(path, columns=["record"])["record"].to_pylist():
                    compacted.add(line)
                    yield line
            for line in file or ():
                if line.rstrip("\n") not in compacted:
                    yield line
        finally:
            if file is not None:
                file.close()

    def _values(self) -> Iterator[dict[str, Any]]:
        """Every whole record as JSON values."""
        for line in self._lines():
            try:
                values = json.loads(line)
            except ValueError:
                continue
            if isinstance(values, dict) and {"key", "job", "status"} <= values.keys():
                yield values

    def __iter__(self) -> Iterator[Record]:
        """Every whole record, in the order of writing."""
        for values in self._values():
            try:
                yield Record.from_dict(values)
            except ValueError:
                continue

    def latest(self) -> dict[str, Record]:
        """The last record of each key."""
        return {record.key: record for record in self}

    def statuses(self) -> dict[str, str]:
        """How the last run of each key ended."""
        return {values["key"]: values["status"] for values in self._values()}

    def done(self) -> set[str]:
        """The keys of the runs that ended well."""
        return {key for key, status in self.statuses().items() if status == "ok"}

    def add_predictions(self, key: str, predictions: pd.DataFrame) -> None:
        """Keep what a run predicted.

        Raises:
            UserError: the disk is full or the folder cannot be written.
        """
        folder = self._subfolder("predictions")
        with cache.replacing(folder / f"{key}.parquet") as temporary:
            predictions.to_parquet(temporary, index=False)

    def predictions(self, key: str) -> pd.DataFrame:
        """What a run predicted: ``evaluation``, ``example``, ``predicted`` and a probability a label.

        Raises:
            UserError: they are not there.
        """
        import pandas as pd

        path = self.folder / "predictions" / f"{key}.parquet"
        if path.is_file():
            return pd.read_parquet(path)
        for compacted in sorted(self.folder.glob("predictions-*.parquet"), reverse=True):
            found = pd.read_parquet(compacted, filters=[("key", "==", key)])
            if not found.empty:
                return found.drop(columns="key").dropna(axis="columns", how="all")
        raise UserError(f"There are no predictions of the run {key} in {self.folder}.")

    def log(self, key: str) -> Path:
        """The file for what the learner of a run prints."""
        return self._subfolder("logs") / f"{key}.log"

    def _subfolder(self, name: str) -> Path:
        folder = self.folder / name
        try:
            folder.mkdir(exist_ok=True)
        except OSError as error:
            raise UserError(f"The folder {folder} cannot be made: {error.strerror}.") from error
        return folder

    def frame(self) -> pd.DataFrame:
        """One row a run: the job's fields, key and status, then a column a metric.

        Of runs that differ in nothing but the versions of learner and harness the last one counts.
        """
        import pandas as pd

        names = [f.name for f in fields(Job)]
        identity = [name for name in names if name not in _VERSIONS and name != "splits_fingerprint"]
        rows: dict[tuple[Any, ...], dict[str, Any]] = {}
        for values in self._values():
            job = values["job"]
            known = {name: job.get(name) for name in names}
            rows[tuple(map(job.get, identity))] = {
                **known,
                "key": values["key"],
                "status": values["status"],
                "timed_out": values.get("timed_out", False),
                **values.get("metrics", {}),
            }
        return pd.DataFrame(list(rows.values()))

    def compact(self) -> int:
        """Move the records of ``records.jsonl`` and loose predictions into parquet files.

        Other processes may write meanwhile. A crash at any moment loses nothing.

        Returns:
            How many records were moved.

        Raises:
            UserError: the disk is full or the folder cannot be written.
        """
        import pyarrow as pa
        import pyarrow.parquet

        with uninterrupted(), cache.lock(self.records_file):
            lines = self.records_file.read_text("utf-8").splitlines() if self.records_file.is_file() else []
            rows = [row for line in lines if (row := _flat(line)) is not None]
            if rows:
                # One name for the same content: a compaction that was cut short is done over, not twice.
                name = cache.key([row["key"] + row["started"] for row in rows])
                ordinal = len(list(self.folder.glob("records-*.parquet")))
                taken = list(self.folder.glob(f"records-*-{name}.parquet"))
                path = taken[0] if taken else self.folder / f"records-{ordinal:06d}-{name}.parquet"
                columns = list(dict.fromkeys(column for row in rows for column in row))
                table = pa.table({c: pa.array([row.get(c) for row in rows]) for c in columns})
                with cache.replacing(path) as temporary:
                    pyarrow.parquet.write_table(table, temporary)
                with cache.replacing(self.records_file) as temporary:
                    temporary.touch()
            self._compact_predictions()
        return len(rows)

    def _compact_predictions(self) -> None:
        import pyarrow as pa
        import pyarrow.parquet

        loose = sorted((self.folder / "predictions").glob("*.parquet"))
        if not loose:
            return
        ordinal = len(list(self.folder.glob("predictions-*.parquet")))
        tables = []
        for path in loose:
            table = pyarrow.parquet.read_table(path)
            tables.append(table.append_column("key", pa.array([path.stem] * len(table), pa.string())))
        merged = pa.concat_tables(tables, promote_options="default")
        name = cache.key([path.stem for path in loose])
        with cache.replacing(self.folder / f"predictions-{ordinal:06d}-{name}.parquet") as temporary:
            pyarrow.parquet.write_table(merged, temporary, row_group_size=1 << 16)
        for path in loose:
            path.unlink()


def _append(descriptor: int, line: bytes) -> None:
    end = os.lseek(descriptor, 0, os.SEEK_END)
    if end and os.pread(descriptor, 1, end - 1) != b"\n":
        line = b"\n" + line  # the last record was cut short
    try:
        left = memoryview(line)
        while left:
            left = left[os.write(descriptor, left) :]
        os.fsync(descriptor)
    except OSError:
        os.ftruncate(descriptor, end)
        raise


def _flat(line: str) -> dict[str, Any] | None:
    try:
        values = json.loads(line)
        row = {name: values.get(name) for name in _FLAT}
        row |= {f"job.{name}": value for name, value in values["job"].items()}
        row |= {f"metric.{name}": float(value) for name, value in values["metrics"].items()}
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    return {**row, "record": line}


def _holds_files(path: Path) -> bool:
    """Whether there is something that is no results folder; hidden files may be another process's marker."""
    if not path.is_dir():
        return path.exists()
    return (
        any(not entry.name.startswith(".") for entry in path.iterdir()) and not (path / "store.json").exists()
    )


def _schema(marker: Path) -> int:
    try:
        found = json.loads(marker.read_text(encoding="utf-8"))["schema"]
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(f"{marker} is broken; a results folder's store.json holds its schema.") from error
    if not isinstance(found, int) or not 1 <= found <= SCHEMA:
        raise UserError(
            f"The results in {marker.parent} are of another version (schema {found}; nsl-bench {__version__} "
            f"reads schemas 1 to {SCHEMA}): use a new folder, or the version of nsl-bench that made them."
        )
    return found
