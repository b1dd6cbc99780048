"""Tables of the UCI repository: which there are, and how their files are read.

scikit-learn ships three of them. The others are read from ARFF or CSV files in a folder, or from what
`sklearn.datasets.fetch_openml` has kept on disk, because their licence asks for attribution but their files
are not part of this package.
"""

import json
import math
import os
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import numpy as np

from nsl_bench.core import cache
from nsl_bench.core.declared import quoted
from nsl_bench.core.errors import UserError, unknown

from ..notices import say
from ..sources.class_folders import subfolders
from .uci_files import ENDINGS, Raw, read_arff, read_rows, text_of

FOLDER_VARIABLE = "NSL_BENCH_UCI"
"""Environment variable that names the folder of files."""

_MISSING = ("?", "")

_CLASS_NAMES = ("class", "target", "label")

_FILE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))

_ROW_NAMES = frozenset(["", *_FILE["row_names"].split()])
"""Names of columns that identify rows, in small letters and digits alone."""

_LEAST_ROWS = 10
"""From so many on, numbers alone tell that a column counts rows."""


@dataclass(frozen=True)
class UciSet:
    """A table.

    Attributes:
        files: names of its file without the ending, as collections call it.
        embedded: scikit-learn's loader, if it ships the table.
        rows: complete rows.
    """

    files: tuple[str, ...]
    classes: tuple[str, ...]
    rows: int
    embedded: str = ""


SETS = {
    name: UciSet(**{**about, "files": tuple(about["files"]), "classes": tuple(about["classes"])})
    for name, about in _FILE["sets"].items()
}
"""The paper's 15 tables, and scikit-learn's other table on breast cancer."""


@dataclass(frozen=True)
class Table:
    """The complete rows of a table.

    Attributes:
        values: one tuple of texts for each row.
        dropped: rows with missing values, which were left out.
        unused: columns of words that were left out, because most of their values differ.
        numbering: columns that were left out, because they number the rows.
    """

    attributes: tuple[str, ...]
    values: tuple[tuple[str, ...], ...]
    numeric: tuple[bool, ...]
    classes: tuple[str, ...]
    dropped: int = 0
    unused: tuple[str, ...] = ()
    numbering: tuple[str, ...] = ()


def load_table(name: str, folder: Path | None = None, openml: Path | None = None) -> Table:
    """Read a table.

    Args:
        folder: folder of ARFF or CSV files; by default that of the environment variable `NSL_BENCH_UCI`, or
            ``uci`` in the cache.
        openml: read the cache of `sklearn.datasets.fetch_openml` instead: its ``data_home``, which by default
            is ``~/scikit_learn_data``. Nothing is downloaded.
    """
    if name not in SETS:
        raise unknown("set of uci", name, SETS)
    one = SETS[name]
    if one.embedded:
        return _of_sklearn(one)
    if openml is not None:
        if folder is not None:
            raise UserError("uci: folder and openml exclude each other; leave out one.")
        raw, one, file = _of_openml(name, openml)
        return _noted(_checked(raw, one, file), one, file)
    given = os.environ.get(FOLDER_VARIABLE)
    place = folder or (Path(given) if given else cache.folder("uci"))
    path = _file_of(one, place)
    if path is None:
        deeper = next((p for p in (subfolders(place) if place.is_dir() else ()) if _file_of(one, p)), None)
        hint = f" It is in {deeper}; name that folder." if deeper else ""
        raise UserError(
            f"uci: the folder {place} lacks the set '{name}'; put {one.files[0]}.arff or {one.files[0]}.csv "
            f"there, or name another folder with the option folder or the variable {FOLDER_VARIABLE}.{hint}"
        )
    return _noted(_checked(_read(path, one), one, path), one, path)


def _file_of(one: UciSet, folder: Path) -> Path | None:
    """The file of a table in a folder, whatever it is; None if there is none."""
    there = {p.name.lower(): p for p in sorted(folder.iterdir())} if folder.is_dir() else {}
    names = [f"{stem}{ending}".lower() for stem in one.files for ending in ENDINGS]
    return next((there[name] for name in names if name in there), None)


def _read(path: Path, one: UciSet) -> Raw:
    """The columns of a file, with the class last."""
    if path.suffix.lower() == ".arff":
        raw = read_arff(path)
    else:
        raw = read_rows(path)
        head, *rows = raw.rows
        head = [cell if cell != "?" else "" for cell in head]
        if head[_class_column(head, rows, one.classes)] in (*one.classes, ""):
            names = [f"column_{k}" for k in range(1, len(head) + 1)]
            say(f"{path}: the first row is not a header; the columns are called {names[0]} to {names[-1]}.")
            raw = Raw(names, None, raw.rows)
        else:
            raw = Raw(head, None, rows)
    last = _class_column(raw.attributes, raw.rows, one.classes)
    order = [*(k for k in range(len(raw.attributes)) if k != last), last]
    numeric = raw.numeric and [raw.numeric[k] for k in order[:-1]]
    return Raw([raw.attributes[k] for k in order], numeric, [[row[k] for k in order] for row in raw.rows])


def _class_column(names: Sequence[str], rows: Sequence[Sequence[str]], classes: Sequence[str]) -> int:
    """The column of the class: that of this name, the last, the first or another one that holds classes."""
    last = len(names) - 1
    named = [k for k, name in enumerate(names) if name.lower() in _CLASS_NAMES]
    order: list[int] = list(dict.fromkeys([*named, last, 0, *range(last)]))
    for k in order:
        values = [row[k] for row in rows if row[k] not in _MISSING]
        if 2 * sum(value in classes for value in values) > len(values):
            return k
    return order[0]


def _noted(table: Table, one: UciSet, path: Path) -> Table:
    """The table, after saying what was left out of its file, and whether rows are missing."""
    if len(table.values) != one.rows:
        say(f"{path}: {len(table.values):,} complete rows; the whole table has {one.rows:,}.")
    if table.dropped:
        say(f"{path}: {table.dropped} rows with missing values are left out; {len(table.values)} remain.")
    if table.unused:
        columns = ", ".join(map(quoted, table.unused))
        say(f"{path}: left out, because most of their values differ: {columns}.")
    if table.numbering:
        columns = ", ".join(map(quoted, table.numbering))
        say(f"{path}: left out, because they number the rows: {columns}.")
    return table


def _of_openml(name: str, home: Path) -> tuple[Raw, UciSet, Path]:
    """The file of a table in the cache of `fetch_openml`; of several versions, the first one."""
    one, root = SETS[name], home.expanduser() / "openml" / "openml.org"
    api = root / "api" / "v1" / "json" / "data"
    described = [_json(path, "data_set_description") for path in api.glob("*.gz")]
    versions = {
        int(version["version"]): version for version in described if str(version["name"]).lower() in one.files
    }
    if not versions:
        raise UserError(
            f"uci: the cache of fetch_openml in {home} lacks the set '{name}'; load it once with "
            f"sklearn.datasets.fetch_openml('{one.files[-1]}', data_home='{home}')."
        )
    version = versions[min(versions)]
    columns = _json(api / "features" / f"{version['id']}.gz", "data_features")["feature"]
    path = root / (urlparse(str(version["url"])).path.lstrip("/") + ".gz")
    raw = read_arff(path)
    aside = {c["name"] for c in columns if "true" in (c.get("is_ignore"), c.get("is_row_identifier"))}
    target: str = next((c["name"] for c in columns if c.get("is_target") == "true"), "")
    if target not in raw.attributes:
        raise UserError(f"{path} has no column '{target}', which its description names as the class.")
    numbers = {column["name"] for column in columns if column.get("data_type") == "numeric"}
    names: list[str] = [*(name for name in raw.attributes if name not in aside | {target}), target]
    order = [raw.attributes.index(name) for name in names]
    rows = [[row[k] for k in order] for row in raw.rows]
    return Raw(names, [name in numbers for name in names[:-1]], rows), one, path


def _json(path: Path, what: str) -> Any:
    """An answer of OpenML in the cache of `fetch_openml`."""
    try:
        return json.loads(text_of(path))[what]
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(f"{path} is not an answer of OpenML; remove it and load the set again.") from error


def _of_sklearn(one: UciSet) -> Table:
    from sklearn import datasets

    data = getattr(datasets, one.embedded)()
    values = tuple(tuple(f"{value:.10g}" for value in row) for row in data.data.tolist())
    names = tuple(str(name) for name in data.feature_names)
    classes = tuple(str(data.target_names[k]) for k in data.target.tolist())
    return Table(names, values, (True,) * len(names), classes)


def _checked(raw: Raw, one: UciSet, path: Path) -> Table:
    """The complete rows, without columns that tell nothing: constant ones, and names of rows."""
    complete = [row for row in raw.rows if not any(cell in _MISSING for cell in row)]
    if not complete:
        raise UserError(f"{path} has no complete rows.")
    stranger = next((row[-1] for row in complete if row[-1] not in one.classes), None)
    if stranger is not None:
        raise UserError(
            f"{path} has the unknown class {quoted(stranger)}; the classes of this set are "
            f"{', '.join(one.classes)}."
        )
    columns = list(zip(*complete, strict=True))[:-1]
    numeric = raw.numeric or [_numbers(column) for column in columns]
    every = list(zip(*raw.rows, strict=True))[:-1]
    varying = [k for k, column in enumerate(columns) if len(set(column)) > 1]
    words = [k for k in varying if not numeric[k] and len(set(columns[k])) > len(complete) / 2]
    numbering = [k for k in varying if k not in words and _numbers_rows(raw.attributes[k], every[k])]
    columns_used = [k for k in varying if k not in numbering and k not in words]
    for k in columns_used:
        if numeric[k] and not _numbers(columns[k]):
            raise UserError(f"{path}: the column {quoted(raw.attributes[k])} must hold numbers.")
    if not columns_used:
        raise UserError(f"{path} has no column that can tell classes apart: all are constant or name rows.")
    return Table(
        tuple(raw.attributes[k] for k in columns_used),
        tuple(tuple(row[k] for k in columns_used) for row in complete),
        tuple(numeric[k] for k in columns_used),
        tuple(row[-1] for row in complete),
        len(raw.rows) - len(complete),
        tuple(raw.attributes[k] for k in words),
        tuple(raw.attributes[k] for k in numbering),
    )


def _numbers(column: Sequence[str]) -> bool:
    try:
        return all(math.isfinite(float(cell)) for cell in column)
    except ValueError:
        return False


def _numbers_rows(name: str, column: Sequence[str]) -> bool:
    """Whether a column counts rows or identifies them, which tells classes apart where rows are sorted.

    Its numbers have equal distances, and differ or are in order, or they differ, are whole and rise, fall, or
    leave few gaps. Where the name says what the column is, it is enough that a third of them differ.
    """
    values = [cell for cell in column if cell not in _MISSING]
    word = "".join(letter for letter in name.lower() if letter.isalnum())
    named = word in _ROW_NAMES or word.startswith("unnamed")
    if 3 * len(set(values)) <= len(values):
        return False
    if named:
        return True
    if len(values) < _LEAST_ROWS or not _numbers(values):
        return False
    numbers = np.array([float(cell) for cell in values])
    steps, gaps = np.diff(numbers), np.diff(np.unique(numbers))
    if not gaps.size:
        return False
    differ = len(gaps) == len(steps)
    in_turn = (steps >= 0).all() or (steps <= 0).all()
    if (differ or in_turn) and float(np.ptp(gaps)) <= 0.01 * float(gaps.mean()):
        return True
    return bool(differ and (in_turn or gaps.mean() <= 2) and (numbers == np.rint(numbers)).all())
