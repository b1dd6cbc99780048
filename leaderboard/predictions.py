"""Read the predictions of a submission, unpacking as little as possible.

The metadata at the end of a parquet file can be wrong: a few bytes can unpack to gigabytes, and a file of
some megabytes can list a hundred thousand empty pieces. Therefore the size of the metadata is checked before
it is read, its values are checked before anything is unpacked, and unpacking has a memory limit.
"""

import base64
import contextlib
import string
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from nsl_bench.core.declared import quoted
from nsl_bench.core.errors import UserError
from nsl_bench.core.metrics.predictions import checked_probabilities
from nsl_bench.core.processes.memory import own_data
from nsl_bench.core.types import BLANK, Array, Bools, Floats32, Ints, Ints16, UInts16
from nsl_bench.logic.guarded.call import guarded
from nsl_bench.logic.guarded.child import Advice, Allowance

from .packing import CONCEPTS, EVALUATIONS, LIKELIEST, MOST_LABELS, column_types, decoded, is_code
from .safe_files import LIMITS, Limits, Rejected
from .submission import PREDICTIONS

_READING = Allowance(600.0, 4 << 30)
"""What reading the predictions of an accepted submission may take."""

_DAMAGED = Advice("fewer runs need less", "crashed", {"SIGSEGV": "it is damaged", "SIGABRT": "it is damaged"})
"""What is said where it ends with its process."""

Predicted = tuple[Ints16, Floats32 | None]
"""Labels int16 [n] and probabilities float32 [n, labels]; None of a learner that gives labels alone."""

_PLAIN = string.digits + string.ascii_letters
LETTERS = _PLAIN + "".join(map(chr, range(256, 256 + MOST_LABELS - len(_PLAIN)))) + "?-"
"""A label's index as a character; the last two are several labels and none (indices -2 and -1)."""

_LETTERS = np.frombuffer(LETTERS.encode("utf-16-le"), np.uint16)

_NAMES = ["run", "evaluation"]
_VALUES = ["predicted", "probabilities"]
_MAGIC = b"PAR1"
_BATCH = 16
_FOOTER_BYTES = 64 * 1024
_ROWS_A_RUN = 3
_NAME_BYTES = 512
"""Of the run and the evaluation of a row, unpacked."""

_ROUNDING = 1.5e-3
"""Probabilities that are rounded to thousandths, and whose sums are, differ by less."""


@dataclass(frozen=True)
class Sizes:
    """How long the lists of a run's rows are."""

    examples: int
    labels: int
    slots: int
    concepts: int

    def of(self, evaluation: str) -> tuple[int, int]:
        """How many labels or concepts a row has, and how many probabilities each."""
        if evaluation == CONCEPTS:
            return self.examples * self.slots, 0
        return self.examples, self.labels


def contradictions(predicted: Predicted) -> tuple[Bools, Bools]:
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


def letters_of(codes: Array) -> UInts16:
    """The characters of labels (`LETTERS`), as numbers."""
    return _LETTERS[codes]


def text_of(codes: Array) -> str:
    """The characters of labels (`LETTERS`)."""
    return letters_of(codes).tobytes().decode("utf-16-le")


def letters_in(text: str) -> UInts16:
    """Characters as numbers."""
    return np.frombuffer(text.encode("utf-16-le"), np.uint16)


def read_accepted(
    path: Path, places: Mapping[str, Ints] | None = None
) -> dict[str, dict[str, dict[str, str]]]:
    """Read the predictions of an accepted submission, without checks, in a process that may die.

    Args:
        places: the runs to read, each with int64 [n]: where a row of probabilities, example by example, holds
            those of the true labels; None: all runs, labels alone.

    Returns:
        By run and evaluation: ``labels``, one character an example, and, if the learner gives probabilities
        and `places` are given, ``true``: one byte an example for that of the true label, in base64.
    """
    rows: dict[str, dict[str, dict[str, str]]] = guarded(
        _read, str(path), places, doing=f"Reading {path}", allowance=_READING, advice=_DAMAGED
    )
    return rows


def _read(path: str, places: Mapping[str, Ints] | None) -> dict[str, dict[str, dict[str, str]]]:
    import pyarrow as pa

    read: dict[str, dict[str, dict[str, str]]] = {}
    try:
        for run, evaluation, (labels, probabilities) in rows_of(path):
            if places is not None and run not in places:
                continue
            row = read.setdefault(run, {})[evaluation] = {"labels": text_of(labels)}
            if places is not None and probabilities is not None:
                true = probabilities.reshape(-1)[places[run]]
                row["true"] = base64.b64encode((true * 255 + 0.5).astype(np.uint8).tobytes()).decode("ascii")
    except (pa.ArrowException, OSError, ValueError, LookupError, AttributeError, TypeError) as error:
        raise UserError(f"{path} cannot be read: {error}.") from error
    return read


def rows_of(path: str | Path) -> Iterator[tuple[str, str, Predicted]]:
    """Run, evaluation and predictions of each row; no concepts."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(_BATCH, use_threads=False):
            runs, evaluations = batch["run"].to_pylist(), batch["evaluation"].to_pylist()
            lists = [(batch[name].offsets.tolist(), batch[name].values.to_numpy()) for name in _VALUES]
            for row, (run, evaluation) in enumerate(zip(runs, evaluations, strict=True)):
                if evaluation == CONCEPTS:
                    continue
                labels, codes = (values[places[row] : places[row + 1]] for places, values in lists)
                labels = labels.astype(np.int16, copy=False)
                given = decoded(codes.reshape(len(labels), -1)) if len(codes) else None
                yield run, evaluation, (named(labels, given), given)


def named(labels: Ints16, given: Floats32 | None) -> Ints16:
    """The labels, with the most probable ones in place of what stands for them."""
    if given is None or not (labels == LIKELIEST).any():
        return labels
    return np.where(labels == LIKELIEST, given.argmax(axis=1), labels).astype(np.int16)


def read_predictions(
    folder: Path, sizes: Mapping[str, Sizes], limits: Limits = LIMITS, ignored: Collection[str] = ()
) -> Iterator[tuple[str, str, Predicted]]:
    """Read and check the rows of a submission's predictions.

    Args:
        sizes: how long the lists of each run are.
        ignored: runs whose rows are skipped.

    Yields:
        Run, evaluation, int16 [n] and float32 [n, labels]; of concepts, int16 [n * slots] and None.
    """
    import pyarrow as pa

    seen: set[tuple[str, str]] = set()
    path = folder / PREDICTIONS
    n_runs = len(sizes) + len(ignored)
    try:
        with _held(limits.group_bytes), _Opened(path, n_runs, limits) as file:
            rows = file.names()
            wanted = [_is_wanted(row, sizes, ignored, seen) for row in rows]
            for (run, evaluation), columns in file.values(rows, wanted) if any(wanted) else ():
                what = f"{evaluation} of the run {run}"
                yield run, evaluation, _predicted(*columns, sizes[run], evaluation, what)
    except MemoryError as error:  # pyarrow's is one, too
        raise Rejected(
            f"{PREDICTIONS} takes more than {limits.group_bytes / 1024**2:,.0f} MB to unpack; "
            "send fewer runs."
        ) from error
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise Rejected(f"{PREDICTIONS} is not a readable parquet file ({type(error).__name__}).") from error


def _is_wanted(
    row: tuple[Any, Any], sizes: Mapping[str, Sizes], ignored: Collection[str], seen: set[tuple[str, str]]
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


class _Opened:
    """A parquet file whose end was measured before it was read."""

    def __init__(self, path: Path, n_runs: int, limits: Limits) -> None:
        import pyarrow.parquet as pq

        self._check_footer(path)
        guarded: dict[str, Any] = {"pre_buffer": False, "thrift_container_size_limit": 1000}
        plain = pq.ParquetFile(path, **guarded)
        _check_columns(plain.schema_arrow)
        plain.close()
        self._rows = _checked_rows(plain.metadata, n_runs, limits)
        # Names are unpacked as a dictionary: one that comes a million times is there once.
        self._file = pq.ParquetFile(path, metadata=plain.metadata, read_dictionary=_NAMES, **guarded)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    @staticmethod
    def _check_footer(path: Path) -> None:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - 8))
            end = file.read(8)
        footer = int.from_bytes(end[:4], "little")
        if len(end) < 8 or end[4:] != _MAGIC or footer > size:
            raise Rejected(f"{PREDICTIONS} is not a readable parquet file (its end is missing).")
        if footer > _FOOTER_BYTES:
            raise Rejected(
                f"{PREDICTIONS} lists its contents in {footer:,} bytes, more than the {_FOOTER_BYTES:,} "
                "allowed; write one row group."
            )

    def names(self) -> list[tuple[Any, Any]]:
        """Run and evaluation of each row."""
        if not self._rows:
            return []
        table = self._file.read_row_group(0, columns=_NAMES, use_threads=False)
        if len(table) != self._rows:
            raise Rejected(f"{PREDICTIONS}: {self._rows} rows are listed, but it has {len(table)}.")
        return list(zip(table["run"].to_pylist(), table["evaluation"].to_pylist(), strict=True))

    def values(
        self, rows: Sequence[tuple[str, str]], wanted: Sequence[bool]
    ) -> Iterator[tuple[tuple[str, str], tuple[Any, Any]]]:
        """The lists of the rows that are wanted, each with its run and evaluation; up to the last."""
        last = max(place for place, one in enumerate(wanted) if one)
        place = 0
        for batch in self._file.iter_batches(_BATCH, columns=_VALUES, use_threads=False):
            for row in range(batch.num_rows):
                if place < len(rows) and wanted[place]:
                    yield rows[place], (batch["predicted"][row].values, batch["probabilities"][row].values)
                place += 1
            if place > last:
                return
        raise Rejected(f"{PREDICTIONS}: {len(rows)} rows are listed, but it has {place}.")


def _checked_rows(metadata: Any, n_runs: int, limits: Limits) -> int:
    """How many rows a file has, after a look at what its columns are said to unpack to."""
    rows, most = metadata.num_rows, _ROWS_A_RUN * n_runs
    if metadata.num_row_groups > 1 or rows > most:
        raise Rejected(
            f"{PREDICTIONS} must have one row group of at most {most:,} rows for {n_runs:,} runs; got "
            f"{rows:,} rows in {metadata.num_row_groups:,}."
        )
    if not metadata.num_row_groups:
        return 0
    group = metadata.row_group(0)
    chunks = [group.column(k) for k in range(group.num_columns)]
    names = [chunk.path_in_schema.partition(".")[0] for chunk in chunks]
    if sorted(names) != sorted((*_NAMES, *_VALUES)):
        raise Rejected(f"{PREDICTIONS}: its row group has a missing or extra column.")
    left = limits.unpacked_bytes
    for name, chunk in zip(names, chunks, strict=True):
        width = 2 * (name in _VALUES)
        size = max(chunk.total_uncompressed_size, width * chunk.num_values)
        most_bytes = left if width else min(left, 4096 + _NAME_BYTES * rows)
        if size > most_bytes or (not width and chunk.num_values != rows):
            raise Rejected(
                f"{PREDICTIONS}: {chunk.num_values:,} values and {size:,} bytes of {name} for {rows:,} rows, "
                f"more than the {most_bytes:,} bytes allowed."
            )
        left -= size
    return int(group.num_rows)


def _check_columns(schema: Any) -> None:
    import pyarrow as pa

    expected, earlier = column_types(), pa.list_(pa.int8())
    if sorted(schema.names) != sorted(expected):
        raise Rejected(
            f"{PREDICTIONS} must have the columns {', '.join(expected)}; got {quoted(schema.names)}."
        )
    for name, kind in expected.items():
        actual = schema.field(name).type
        if actual != kind and (name, actual) != ("predicted", earlier):
            raise Rejected(
                f"{PREDICTIONS}: the column {name} must be of the type {kind}; got {str(actual)[:80]}."
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
    lengths = (0 if labels is None else len(labels), n * k if numbers is None else len(numbers))
    if lengths != (n, n * k):
        raise Rejected(
            f"{PREDICTIONS}, {what}: must have {n} {things} and {n * k} probabilities; "
            f"got {lengths[0]} and {lengths[1]}."
        )
    if labels.null_count or (numbers is not None and numbers.null_count):
        raise Rejected(f"{PREDICTIONS}, {what}: values are missing.")
    predicted, given = labels.to_numpy().astype(np.int16, copy=False), None
    if numbers is not None and k:
        codes = numbers.to_numpy().reshape(n, k)
        if not is_code(codes).all():
            first = int(np.argmin(is_code(codes).all(axis=1)))
            raise Rejected(
                f"{PREDICTIONS}, {what}: probabilities of example {first} are invalid numbers: "
                f"{quoted(codes[first].tolist())}."
            )
        given = decoded(codes)
        predicted = named(predicted, given)
    bad = (predicted < least) | (predicted >= most)
    if bad.any():
        raise Rejected(
            f"{PREDICTIONS}, {what}: {things} must be between {least} and {most - 1}; "
            f"got {int(predicted[bad][0])}."
        )
    if given is None:
        return predicted, None
    try:
        return predicted, checked_probabilities(given)
    except ValueError as error:
        raise Rejected(f"{PREDICTIONS}, {what}: {error}.") from error
