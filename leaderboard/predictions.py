"""Read the predictions of a submission, unpacking as little as possible.

The metadata at the end of a parquet file can be wrong: a few bytes can unpack to gigabytes, and a file of
some megabytes can list a hundred thousand empty pieces. Therefore the size of the metadata is checked before
it is read, its values are checked before anything is unpacked, row groups without runs of a contest are never
unpacked, and unpacking has a memory limit.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from nsl_bench.declared import quoted
from nsl_bench.guarded.call import Advice, Allowance
from nsl_bench.guarded.memory import own_data
from nsl_bench.metrics.predictions import checked_probabilities
from nsl_bench.types import BLANK

from .safe_files import LIMITS, Limits, Rejected
from .submission import CONCEPTS, EVALUATIONS, PREDICTIONS

__all__ = ["DAMAGED", "READING", "Predicted", "Sizes", "contradictions", "read_predictions", "rows_of"]

READING = Allowance(600.0, 4 << 30)
"""What reading the predictions of an accepted submission may take."""

DAMAGED = Advice("fewer runs need less", "crashed", {"SIGSEGV": "it is damaged", "SIGABRT": "it is damaged"})
"""What is said where it ends with its process."""

Predicted = tuple[npt.NDArray[np.int8], npt.NDArray[np.float32] | None]
"""Labels int8 [n] and probabilities float32 [n, labels]; None of a learner that gives labels alone."""

_NAMES = ["run", "evaluation"]
_VALUES = ["predicted", "probabilities"]
_MAGIC = b"PAR1"
_FOOTER_BYTES = 64 * 1024
_FOOTER_BYTES_A_RUN = 2048
_GROUPS_A_RUN = 3
_NAME_BYTES = 512
"""Of the run and the evaluation of a row, unpacked."""

_VALUE_BYTES = 16
"""Of a label or a probability, with its place in its list."""

_ROUNDING = 1e-3
"""Probabilities that are rounded to 12 bits, and whose sums are, differ by less."""


@dataclass(frozen=True)
class Sizes:
    """How long the lists of a run's rows are.

    Attributes:
        examples: number of test examples.
        labels: number of labels.
        slots: number of slots of an example.
        concepts: number of concepts that an image can show.
    """

    examples: int
    labels: int
    slots: int
    concepts: int

    def of(self, evaluation: str) -> tuple[int, int]:
        """How many labels or concepts a row has, and how many probabilities each."""
        if evaluation == CONCEPTS:
            return self.examples * self.slots, 0
        return self.examples, self.labels


def contradictions(predicted: Predicted) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Find labels that contradict their probabilities, and labels that are impossible with them.

    A label contradicts its probabilities if another label is more probable by more than rounding; "none" and
    "several" do if one label has probability 1. A label is impossible if it has probability 0 and another
    label has probability 1; so are "none" and "several" then.

    Args:
        predicted: labels [n] and probabilities [n, labels]; labels without probabilities contradict nothing.

    Returns:
        Two arrays, bool [n]: contradicting labels, and impossible labels.
    """
    codes, probabilities = predicted
    if probabilities is None:
        return np.zeros(len(codes), np.bool_), np.zeros(len(codes), np.bool_)
    # Label by label: numpy is slow at rows of a few numbers.
    best = np.ascontiguousarray(probabilities.T).max(axis=0, initial=0.0)
    given = codes >= 0
    own = np.where(given, probabilities[np.arange(len(codes)), np.maximum(codes, 0)], 0.0)
    certain = best >= 1 - _ROUNDING
    contrary = np.where(given, own < best - _ROUNDING, certain)
    return contrary, contrary & certain & (own <= _ROUNDING)


def rows_of(path: str | Path, batch_rows: int = 64) -> Iterator[tuple[str, str, Predicted]]:
    """The rows of an accepted submission's predictions, without checks; no concepts.

    Yields:
        Run, evaluation, int8 [n] and float32 [n, labels].
    """
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(batch_rows, use_threads=False):
            runs, evaluations = batch["run"].to_pylist(), batch["evaluation"].to_pylist()
            lists = [(batch[name].offsets.tolist(), batch[name].values.to_numpy()) for name in _VALUES]
            for row, (run, evaluation) in enumerate(zip(runs, evaluations, strict=True)):
                if evaluation == CONCEPTS:
                    continue
                labels, numbers = (values[places[row] : places[row + 1]] for places, values in lists)
                yield run, evaluation, (labels, numbers.reshape(len(labels), -1) if len(numbers) else None)


def read_predictions(
    folder: Path,
    sizes: Mapping[str, Sizes],
    limits: Limits = LIMITS,
    ignored: Collection[str] = (),
) -> Iterator[tuple[str, str, Predicted]]:
    """Read and check the rows of a submission's predictions.

    Args:
        folder: the submission's folder.
        sizes: how long the lists of each run are.
        limits: resource limits.
        ignored: runs whose rows are skipped; row groups with such runs only are not unpacked.

    Yields:
        Run, evaluation, int8 [n] and float32 [n, labels]; of concepts, int8 [n * slots] and None.

    Raises:
        Rejected: wrong columns, duplicate rows or rows of unknown runs, lists of wrong length, unknown
            labels, NaN, values that are not probabilities, or more data than the limits allow.
    """
    import pyarrow as pa

    seen: set[tuple[str, str]] = set()
    path = folder / PREDICTIONS
    n_runs = len(sizes) + len(ignored)
    try:
        with _held(limits.group_bytes), _Opened(path, n_runs, limits) as file:
            for group in range(file.n_groups):
                rows = file.names(group)
                wanted = [_is_wanted(row, sizes, ignored, seen) for row in rows]
                if any(wanted):
                    file.check_values(group, [sizes[run].of(what) for run, what in rows if run in sizes])
                    for (run, evaluation), columns in file.values(group, rows, wanted):
                        what = f"{evaluation} of the run {run}"
                        yield run, evaluation, _predicted(*columns, sizes[run], evaluation, what)
    except MemoryError as error:  # pyarrow's is one, too
        raise Rejected(
            f"{PREDICTIONS} takes more than {limits.group_bytes / 1024**2:,.0f} MB to unpack one row group; "
            "write a row group for each run."
        ) from error
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise Rejected(f"{PREDICTIONS} is not a readable parquet file ({type(error).__name__}).") from error


def _is_wanted(
    row: tuple[Any, Any],
    sizes: Mapping[str, Sizes],
    ignored: Collection[str],
    seen: set[tuple[str, str]],
) -> bool:
    """Whether a row is one of a run of a contest; it is added to those that were seen."""
    run, evaluation = row
    if run in ignored:
        return False
    if run not in sizes:
        raise Rejected(f"{PREDICTIONS}: the row of {quoted(run)} belongs to no run.")
    if evaluation not in (*EVALUATIONS, CONCEPTS):
        raise Rejected(
            f"{PREDICTIONS}: the evaluation of the run {run} must be one of "
            f"{', '.join((*EVALUATIONS, CONCEPTS))}; got {quoted(evaluation)}."
        )
    if row in seen:
        raise Rejected(f"{PREDICTIONS}: the {evaluation} predictions of the run {run} are given twice.")
    seen.add(row)
    return True


class _Group(NamedTuple):
    """What a row group is said to hold.

    Attributes:
        rows: how many.
        columns: name to the number of values and the bytes that they unpack to.
    """

    rows: int
    columns: Mapping[str, tuple[int, int]]

    @classmethod
    def of(cls, group: Any) -> _Group:
        """Of pyarrow's object, which is much larger."""
        columns = {}
        for k in range(group.num_columns):
            chunk = group.column(k)
            name = chunk.path_in_schema.partition(".")[0]
            columns[sys.intern(name)] = chunk.num_values, chunk.total_uncompressed_size
        if sorted(columns) != sorted((*_NAMES, *_VALUES)):
            raise Rejected(f"{PREDICTIONS}: a row group has a missing or extra column.")
        return cls(group.num_rows, columns)

    def count_of(self, name: str) -> int:
        """The values of a column."""
        return self.columns[name][0]

    def size_of(self, name: str) -> int:
        """The bytes of a column, unpacked."""
        return self.columns[name][1]


class _Opened:
    """A parquet file whose end was measured before it was read.

    Args:
        path: of the file.
        n_runs: how many runs the submission has.
        limits: what it may cost.

    Raises:
        Rejected: it lists more than the runs can have, or has other columns.
    """

    def __init__(self, path: Path, n_runs: int, limits: Limits) -> None:
        import pyarrow.parquet as pq

        self._check_footer(path, n_runs)
        guarded: dict[str, Any] = {"pre_buffer": False, "thrift_container_size_limit": 100 + 8 * n_runs}
        plain = pq.ParquetFile(path, **guarded)
        self._metadata = plain.metadata
        _check_columns(plain.schema_arrow)
        plain.close()
        self._check_claims(n_runs, limits)
        # Names are unpacked as a dictionary: one that comes a million times is there once.
        self._file = pq.ParquetFile(path, metadata=self._metadata, read_dictionary=_NAMES, **guarded)

    def __enter__(self) -> _Opened:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    @property
    def n_groups(self) -> int:
        """How many row groups there are."""
        return int(self._metadata.num_row_groups)

    @staticmethod
    def _check_footer(path: Path, n_runs: int) -> None:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - 8))
            end = file.read(8)
        footer = int.from_bytes(end[:4], "little")
        if len(end) < 8 or end[4:] != _MAGIC or footer > size:
            raise Rejected(f"{PREDICTIONS} is not a readable parquet file (its end is missing).")
        most = _FOOTER_BYTES + _FOOTER_BYTES_A_RUN * n_runs
        if footer > most:
            raise Rejected(
                f"{PREDICTIONS} lists its contents in {footer:,} bytes, more than the {most:,} allowed for "
                f"{n_runs:,} runs; write a row group for each run."
            )

    def _check_claims(self, n_runs: int, limits: Limits) -> None:
        metadata = self._metadata
        most = _GROUPS_A_RUN * n_runs
        if metadata.num_row_groups > most or metadata.num_rows > most:
            raise Rejected(
                f"{PREDICTIONS} has {metadata.num_rows:,} rows in {metadata.num_row_groups:,} row groups, "
                f"more than the {most:,} allowed for {n_runs:,} runs; write a row group for each run."
            )
        self._groups = [_Group.of(metadata.row_group(k)) for k in range(metadata.num_row_groups)]
        rows = sum(group.rows for group in self._groups)
        unpacked = sum(group.size_of(name) for group in self._groups for name in _NAMES)
        for number, group in enumerate(self._groups):
            for name in _NAMES:
                most_bytes = 4096 + _NAME_BYTES * group.rows
                if group.count_of(name) != group.rows or group.size_of(name) > most_bytes:
                    raise Rejected(
                        f"{PREDICTIONS}, row group {number}: {group.count_of(name):,} values and "
                        f"{group.size_of(name):,} bytes of {name} for {group.rows:,} rows, more than the "
                        f"{most_bytes:,} bytes allowed."
                    )
        if rows != metadata.num_rows or unpacked > limits.unpacked_bytes:
            raise Rejected(
                f"{PREDICTIONS} claims {metadata.num_rows:,} rows, but its row groups have {rows:,}."
            )
        self._left = limits.unpacked_bytes - unpacked

    def names(self, group: int) -> list[tuple[Any, Any]]:
        """Run and evaluation of each row of a group."""
        claimed = self._groups[group].rows
        if claimed == 0:
            return []
        table = self._file.read_row_group(group, columns=_NAMES, use_threads=False)
        if len(table) != claimed:
            raise Rejected(
                f"{PREDICTIONS}, row group {group}: {claimed} rows are listed, but it has {len(table)}."
            )
        return list(zip(table["run"].to_pylist(), table["evaluation"].to_pylist(), strict=True))

    def check_values(self, group: int, sizes: Sequence[tuple[int, int]]) -> None:
        """Look at what the lists of a row group are said to hold.

        Args:
            group: its number.
            sizes: of each row of a contest's run in it: how many labels, and how many probabilities each.

        Raises:
            Rejected: more than the rows can have.
        """
        claimed = self._groups[group]
        others = claimed.rows - len(sizes)
        counts = {"predicted": [n for n, _ in sizes], "probabilities": [n * k for n, k in sizes]}
        for name, each in counts.items():
            count, size = claimed.count_of(name), claimed.size_of(name)
            most = sum(each) + others * max(each) + claimed.rows
            most_bytes = 65536 + _VALUE_BYTES * most
            self._left -= size
            if count > most or size > most_bytes or self._left < 0:
                raise Rejected(
                    f"{PREDICTIONS}, row group {group}: {count:,} values and {size:,} bytes of {name}, more "
                    f"than the {most:,} values and {min(most_bytes, max(0, self._left + size)):,} bytes that "
                    f"{claimed.rows:,} rows may have."
                )

    def values(
        self, group: int, rows: Sequence[tuple[str, str]], wanted: Sequence[bool]
    ) -> Iterator[tuple[tuple[str, str], tuple[Any, Any]]]:
        """The lists of the rows that are wanted, each with its run and evaluation; up to the last."""
        last = max(place for place, one in enumerate(wanted) if one)
        place = 0
        for batch in self._file.iter_batches(16, [group], _VALUES, use_threads=False):
            for row in range(batch.num_rows):
                if place < len(rows) and wanted[place]:
                    yield rows[place], (batch["predicted"][row].values, batch["probabilities"][row].values)
                place += 1
            if place > last:
                return
        raise Rejected(f"{PREDICTIONS}, row group {group}: {len(rows)} rows are listed, but it has {place}.")


def _check_columns(schema: Any) -> None:
    import pyarrow as pa

    expected = {
        "run": pa.string(),
        "evaluation": pa.string(),
        "predicted": pa.list_(pa.int8()),
        "probabilities": pa.list_(pa.float32()),
    }
    if sorted(schema.names) != sorted(expected):
        raise Rejected(
            f"{PREDICTIONS} must have the columns {', '.join(expected)}; got {quoted(schema.names)}."
        )
    for name, kind in expected.items():
        found = schema.field(name).type
        if found != kind:
            raise Rejected(
                f"{PREDICTIONS}: the column {name} must be of the type {kind}; got {str(found)[:80]}."
            )


@contextlib.contextmanager
def _held(room: int) -> Iterator[None]:
    """While the block runs, more memory than this is refused to the process, in bytes.

    What a file says of its sizes may be a lie; then pyarrow is refused the memory, or dies of it, which is
    why a submission is scored in a process of its own.
    """
    try:
        import resource
    except ImportError:
        yield
        return
    before = resource.getrlimit(resource.RLIMIT_DATA)
    bound = own_data() + room
    lower = [bound, *(limit for limit in before if limit != resource.RLIM_INFINITY)]
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_DATA, (min(lower), before[1]))
    try:
        yield
    finally:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_DATA, before)


def _predicted(labels: Any, numbers: Any, sizes: Sizes, evaluation: str, what: str) -> Predicted:
    n, k = sizes.of(evaluation)
    things, least, most = "labels", -2, k
    if evaluation == CONCEPTS:
        things, least, most = "concepts", BLANK, sizes.concepts
    found = (0 if labels is None else len(labels), n * k if numbers is None else len(numbers))
    if found != (n, n * k):
        raise Rejected(
            f"{PREDICTIONS}, {what}: must have {n} {things} and {n * k} probabilities; "
            f"got {found[0]} and {found[1]}."
        )
    if labels.null_count or (numbers is not None and numbers.null_count):
        raise Rejected(f"{PREDICTIONS}, {what}: values are missing.")
    predicted = labels.to_numpy()
    bad = (predicted < least) | (predicted >= most)
    if bad.any():
        raise Rejected(
            f"{PREDICTIONS}, {what}: {things} must be between {least} and {most - 1}; "
            f"got {int(predicted[bad][0])}."
        )
    if numbers is None or not k:
        return predicted, None
    try:
        return predicted, checked_probabilities(numbers.to_numpy().reshape(n, k))
    except ValueError as error:
        raise Rejected(f"{PREDICTIONS}, {what}: {error}.") from error
