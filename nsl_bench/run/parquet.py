"""Read the parquet files of results folders in a separate process.

A results folder may come from anyone, and a damaged parquet file can crash the process that reads it. A child
process therefore reads the files (`nsl_bench.logic.guarded.call`). One child reads a whole folder. If a file
crashes it, an error names the file, and a new child reads the next one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nsl_bench.core.declared import quoted
from nsl_bench.core.errors import UserError
from nsl_bench.logic.guarded.call import guarded
from nsl_bench.logic.guarded.child import Advice, Allowance

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

_ALLOWANCE = Allowance(60.0, 1 << 30)
"""For one file: a run's predictions have some 100 kB."""

_MERGING = Allowance(600.0, 4 << 30)

_DAMAGED = Advice(
    "a file that a run wrote needs less", "crashed", dict.fromkeys(("SIGSEGV", "SIGABRT"), "it is damaged")
)
_COUNTS = ("step", "images")
"""Columns of whole numbers, where rows are steps of sequences."""

_TEXTS = ("evaluation", "example", "predicted", "label")
_LONGEST_LABEL = 200
_CONCEPTS, _LONGEST_CONCEPTS = "concepts", 10_000


def read_records(path: Path) -> list[str]:
    """The records in a parquet file, as their original JSON texts."""
    return [str(text) for text in _apart(_records, path)]


def read_predictions(path: Path, key: str | None = None) -> pd.DataFrame:
    """The predictions in a parquet file.

    Args:
        path: file with the predictions of one run, or compacted ones.
        key: key of a run in a file of compacted predictions; None for all runs.

    Returns:
        The columns ``evaluation``, ``example``, ``predicted``, ``label``, and ``p_LABEL``
        unless the learner gave labels only; ``step`` and ``images`` (their number) if rows are steps of
        sequences; ``concepts``, those of the slots in one text, in the framework evaluation of a learner
        that returns concepts.
    """
    import numpy as np
    import pandas as pd

    columns: dict[str, Any] = {}
    for name, column in _apart(_predictions, path, key):
        if isinstance(column, dict):
            words = np.array(column["words"], object)
            columns[name] = words[column["places"]].tolist()
        else:
            columns[name] = column
    return pd.DataFrame(columns)


def check_predictions(path: Path) -> None:
    """Check that the predictions of a run can be read."""
    _apart(_check, path)


def merge_predictions(paths: Sequence[Path], out: Path) -> None:
    """Write the predictions of several runs into one file, with their file names in a column ``key``."""
    guarded(
        _merge,
        [str(path) for path in paths],
        str(out),
        doing=f"Merging {len(paths)} files of predictions",
        allowance=_MERGING,
        advice=_DAMAGED,
    )


def _apart(function: Callable[..., Any], path: Path, *arguments: Any) -> Any:
    return guarded(
        function,
        str(path),
        *arguments,
        doing=f"Reading {quoted(path.name)}",
        allowance=_ALLOWANCE,
        advice=_DAMAGED,
    )


def _records(path: str) -> list[str]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        column = pq.read_table(path, columns=["record"])["record"]
        if not pa.types.is_string(column.type):
            raise KeyError(f"KeyError: the column record has the type {column.type}")
        return [text or "" for text in column.to_pylist()]
    except Exception as error:  # a damaged file raises almost anything
        raise UserError(f"it cannot be read ({_short(error)})") from error


def _predictions(path: str, key: str | None) -> list[tuple[str, Any]]:
    """The columns of a file: numbers as they are, texts as places among those that occur."""
    import pyarrow as pa

    table = _table(path, key)
    result: list[tuple[str, Any]] = []
    for name in table.column_names:
        column = table[name].combine_chunks()
        if name.startswith("p_"):
            if key is None or column.null_count < len(column):
                result.append((name, column.to_numpy(zero_copy_only=False)))
        elif name in _COUNTS and pa.types.is_integer(column.type) and column.null_count == 0:
            result.append((name, column.to_numpy(zero_copy_only=False)))
        elif name in _TEXTS or (name == _CONCEPTS and column.null_count < len(column)):
            coded = column.fill_null("").dictionary_encode()
            places = coded.indices.to_numpy(zero_copy_only=False)
            result.append((name, {"words": coded.dictionary.to_pylist(), "places": places}))
    _check_words(path, result)
    return result


def _check(path: str) -> None:
    _predictions(path, None)


def _merge(paths: Sequence[str], out: str) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    tables = []
    for path in paths:
        table = _table(path, None)
        # What else a file holds is not a run's, and need not go with what another file holds.
        columns = (*_TEXTS, *_COUNTS, _CONCEPTS)
        table = table.select([n for n in table.column_names if n in columns or n.startswith("p_")])
        keys = pa.array([Path(path).stem] * len(table), pa.string())
        tables.append(table.append_column("key", keys))
    try:
        merged = pa.concat_tables(tables, promote_options="permissive")
        pq.write_table(merged, out, row_group_size=1 << 16)
    except (pa.ArrowException, OSError) as error:
        raise UserError(f"Predictions cannot be merged ({_short(error)}).") from error


def _check_words(path: str, columns: Sequence[tuple[str, Any]]) -> None:
    """Each text is one of the labels that have a probability; without any they are short and printable."""
    concepts = [word for name, column in columns if name == _CONCEPTS for word in column["words"]]
    if other := [word for word in concepts if not word.isprintable() or len(word) > _LONGEST_CONCEPTS]:
        raise UserError(
            f"The predictions {path}: concepts must be one line of indices of at most "
            f"{_LONGEST_CONCEPTS:,} characters; got {quoted(other[0])}."
        )
    labels = [name.removeprefix("p_") for name, _ in columns if name.startswith("p_")]
    if not labels:
        words = [
            word for name, column in columns if name in ("predicted", "label") for word in column["words"]
        ]
        if other := [word for word in words if not word.isprintable() or len(word) > _LONGEST_LABEL]:
            raise UserError(f"The predictions {path}: {quoted(other[0])} is not a label.")
        return
    words_of = {"predicted": [*labels, "undecided", "ambiguous"], "label": labels}
    for name, column in columns:
        other = [word for word in column["words"] if word not in words_of[name]] if name in words_of else []
        if other:
            raise UserError(
                f"The predictions {path}: {name} must be one of {', '.join(words_of[name])}; "
                f"got {quoted(other[0])}."
            )


def _table(path: str, key: str | None) -> pa.Table:
    """The rows of a file of predictions, whose columns are what they must be."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path, filters=None if key is None else [("key", "==", key)])
        table = table.replace_schema_metadata(None)
        table.validate(full=True)
        kinds = dict(zip(table.column_names, table.schema.types, strict=True))
        numbers = [name for name in kinds if name.startswith("p_")]
        right = len(kinds) == table.num_columns
        for name in _TEXTS:
            kind = kinds.get(name, pa.null())
            right = right and (pa.types.is_string(kind) or pa.types.is_large_string(kind))
            right = right and table[name].null_count == 0
        if _CONCEPTS in kinds:
            right = right and kinds[_CONCEPTS] in (pa.null(), pa.string(), pa.large_string())
        for name in numbers:
            # Of compacted runs each has only the labels of its own benchmark.
            lacking = table[name].null_count == (len(table) if key is not None else -1)
            right = right and kinds[name] in (pa.float32(), pa.float64())
            right = right and (lacking or bool(np.isfinite(table[name].to_numpy()).all()))
    except Exception as error:  # a damaged file raises almost anything
        raise UserError(f"The predictions {path} cannot be read ({_short(error)}).") from error
    if not right:
        result = quoted([f"{name}: {kind}" for name, kind in kinds.items()])
        raise UserError(
            f"The predictions {path} must have the text columns evaluation, example, label and predicted, "
            f"and may have a number p_LABEL per label; got the columns {result}."
        )
    return table


def _short(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:200].rstrip('.')}"
