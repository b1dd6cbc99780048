"""Tables of the UCI repository: which there are, and how their files are read.

scikit-learn ships three of them. The others are read from ARFF or CSV files in a folder, or from what
`sklearn.datasets.fetch_openml` has kept on disk, because their licence asks for attribution but their files
are not part of this package.
"""

from __future__ import annotations

import csv
import gzip
import json
import os
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import numpy as np

from nsl_bench import cache
from nsl_bench.errors import UserError, unknown

from ..notices import say

__all__ = ["FOLDER_VARIABLE", "SETS", "Table", "UciSet", "load_table"]

FOLDER_VARIABLE = "NSL_BENCH_UCI"
"""Environment variable that names the folder of files."""

_MISSING = ("?", "")

_MISSING_IN_CSV = ("na", "n/a", "nan", "null")
"""What programs that write CSV call a missing value, in small letters."""


@dataclass(frozen=True)
class UciSet:
    """A table.

    Attributes:
        files: names of its file without the ending, as collections call it.
        classes: the classes.
        embedded: scikit-learn's loader, if it ships the table.
        rows: complete rows.
    """

    files: tuple[str, ...]
    classes: tuple[str, ...]
    rows: int
    embedded: str = ""


SETS = {
    "breast_cancer": UciSet(("breast.w", "breast-w", "breast_w"), ("benign", "malignant"), 683),
    "car": UciSet(("car", "car_evaluation"), ("unacc", "acc", "good", "vgood"), 1728),
    "congressional": UciSet(("vote", "congressional"), ("democrat", "republican"), 232),
    "credit": UciSet(("credit.a", "credit-approval", "crx"), ("+", "-"), 653),
    "dermatology": UciSet(("dermatology",), ("1", "2", "3", "4", "5", "6"), 358),
    "diabetes": UciSet(("diabetes_data_upload", "diabetes"), ("Positive", "Negative"), 520),
    "iris": UciSet((), ("setosa", "versicolor", "virginica"), 150, "load_iris"),
    "mushroom": UciSet(("mushroom", "agaricus-lepiota"), ("e", "p"), 5644),
    "wine": UciSet((), ("class_0", "class_1", "class_2"), 178, "load_wine"),
    "zoo": UciSet(
        ("zoo",), ("mammal", "bird", "reptile", "fish", "amphibian", "insect", "invertebrate"), 101
    ),
    "blood": UciSet(("transfusion", "blood-transfusion-service-center", "blood"), ("0", "1"), 748),
    "contraceptive": UciSet(("cmc",), ("1", "2", "3"), 1473),
    "hepatitis": UciSet(("hepatitis",), ("DIE", "LIVE"), 80),
    "german": UciSet(("credit.g", "credit-g", "german"), ("good", "bad"), 1000),
    "yeast": UciSet(("yeast",), ("CYT", "NUC", "MIT", "ME3", "ME2", "ME1", "EXC", "VAC", "POX", "ERL"), 1484),
    "breast_cancer_diagnostic": UciSet((), ("malignant", "benign"), 569, "load_breast_cancer"),
}
"""The paper's 15 tables, and scikit-learn's other table on breast cancer."""


@dataclass(frozen=True)
class Table:
    """The complete rows of a table.

    Attributes:
        attributes: names of the columns.
        values: one tuple of texts for each row.
        numeric: for each column whether it holds numbers.
        classes: class of each row.
        dropped: rows with missing values, which were left out.
        unused: columns of words that were left out, because most of their values differ.
    """

    attributes: tuple[str, ...]
    values: tuple[tuple[str, ...], ...]
    numeric: tuple[bool, ...]
    classes: tuple[str, ...]
    dropped: int = 0
    unused: tuple[str, ...] = ()


def load_table(name: str, folder: Path | None = None, openml: Path | None = None) -> Table:
    """Read a table.

    Args:
        name: a key of `SETS`.
        folder: folder of ARFF or CSV files; by default that of the environment variable `NSL_BENCH_UCI`, or
            ``uci`` in the cache.
        openml: read the cache of `sklearn.datasets.fetch_openml` instead: its ``data_home``, which by default
            is ``~/scikit_learn_data``. Nothing is downloaded.

    Raises:
        UserError: both places, an unknown table, a missing or damaged file, an unknown class, or no column to
            learn from.
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
        return _told(_checked(raw, one, file), file)
    given = os.environ.get(FOLDER_VARIABLE)
    place = folder or (Path(given) if given else cache.folder("uci"))
    files = [place / f"{stem}{ending}" for stem in one.files for ending in (".arff", ".csv")]
    path = next((file for file in files if file.is_file()), None)
    if path is None:
        raise UserError(
            f"uci: the folder {place} lacks the set '{name}'; put {one.files[0]}.arff or {one.files[0]}.csv "
            f"there, or name another folder with the option folder or the variable {FOLDER_VARIABLE}."
        )
    return _told(_checked(_read_arff(path) if path.suffix == ".arff" else _read_csv(path), one, path), path)


def _told(table: Table, path: Path) -> Table:
    """The table, after saying what was left out of its file."""
    if table.dropped:
        say(f"{path}: {table.dropped} rows with missing values are left out; {len(table.values)} remain.")
    if table.unused:
        columns = ", ".join(f"'{column}'" for column in table.unused)
        say(f"{path}: left out, because most of their values differ: {columns}.")
    return table


def _of_openml(name: str, home: Path) -> tuple[_Raw, UciSet, Path]:
    """The file of a table in the cache of `fetch_openml`; of several versions, the first one."""
    one, root = SETS[name], home.expanduser() / "openml" / "openml.org"
    api = root / "api" / "v1" / "json" / "data"
    described = [_json(path, "data_set_description") for path in api.glob("*.gz")]
    versions = {int(told["version"]): told for told in described if str(told["name"]).lower() in one.files}
    if not versions:
        raise UserError(
            f"uci: the cache of fetch_openml in {home} lacks the set '{name}'; load it once with "
            f"sklearn.datasets.fetch_openml('{one.files[-1]}', data_home='{home}')."
        )
    told = versions[min(versions)]
    columns = _json(api / "features" / f"{told['id']}.gz", "data_features")["feature"]
    path = root / (urlparse(str(told["url"])).path.lstrip("/") + ".gz")
    raw = _read_arff(path)
    aside = {c["name"] for c in columns if "true" in (c.get("is_ignore"), c.get("is_row_identifier"))}
    target: str = next((c["name"] for c in columns if c.get("is_target") == "true"), "")
    if target not in raw.attributes:
        raise UserError(f"{path} has no column '{target}', which its description names as the class.")
    numbers = {column["name"] for column in columns if column.get("data_type") == "numeric"}
    names: list[str] = [*(name for name in raw.attributes if name not in aside | {target}), target]
    order = [raw.attributes.index(name) for name in names]
    rows = [[row[k] for k in order] for row in raw.rows]
    return _Raw(names, [name in numbers for name in names[:-1]], rows), one, path


def _json(path: Path, what: str) -> Any:
    """An answer of OpenML in the cache of `fetch_openml`."""
    try:
        return json.loads(_text(path))[what]
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(f"{path} is not an answer of OpenML; remove it and load the set again.") from error


def _of_sklearn(one: UciSet) -> Table:
    from sklearn import datasets

    data = getattr(datasets, one.embedded)()
    values = tuple(tuple(f"{value:.10g}" for value in row) for row in data.data.tolist())
    names = tuple(str(name) for name in data.feature_names)
    classes = tuple(str(data.target_names[k]) for k in data.target.tolist())
    return Table(names, values, (True,) * len(names), classes)


@dataclass(frozen=True)
class _Raw:
    """A file's columns, with the class last; `numeric` is None where the file does not say."""

    attributes: list[str]
    numeric: list[bool] | None
    rows: list[list[str]]


def _checked(raw: _Raw, one: UciSet, path: Path) -> Table:
    """The complete rows, without columns that tell nothing: constant ones, and names of rows."""
    complete = [row for row in raw.rows if not any(cell in _MISSING for cell in row)]
    if not complete:
        raise UserError(f"{path} has no complete rows.")
    stranger = next((row[-1] for row in complete if row[-1] not in one.classes), None)
    if stranger is not None:
        raise UserError(
            f"{path} has the unknown class '{stranger}'; the classes of this set are "
            f"{', '.join(one.classes)}."
        )
    columns = list(zip(*complete, strict=True))[:-1]
    numeric = raw.numeric or [_numbers(column) for column in columns]
    kept = [
        k
        for k, column in enumerate(columns)
        if len(set(column)) > 1 and (numeric[k] or len(set(column)) <= len(complete) / 2)
    ]
    for k in kept:
        if numeric[k] and not _numbers(columns[k]):
            raise UserError(f"{path}: the column '{raw.attributes[k]}' must hold numbers.")
    if not kept:
        raise UserError(f"{path} has no column that can tell classes apart: all are constant or name rows.")
    return Table(
        tuple(raw.attributes[k] for k in kept),
        tuple(tuple(row[k] for k in kept) for row in complete),
        tuple(numeric[k] for k in kept),
        tuple(row[-1] for row in complete),
        len(raw.rows) - len(complete),
        tuple(
            name for k, name in enumerate(raw.attributes[:-1]) if k not in kept and len(set(columns[k])) > 1
        ),
    )


def _numbers(column: Sequence[str]) -> bool:
    try:
        return bool(np.isfinite(np.array(column, np.float64)).all())
    except ValueError:
        return False


def _text(path: Path) -> str:
    """The text of a file, which may be compressed."""
    try:
        content = path.read_bytes()
        if path.suffix == ".gz":
            content = gzip.decompress(content)
    except (OSError, EOFError, zlib.error) as error:
        raise UserError(f"{path} cannot be read ({getattr(error, 'strerror', None) or error}).") from error
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("latin-1")


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(_text(path).splitlines(), 1):
        if line.strip() and not line.lstrip().startswith("%"):
            yield number, line.strip()


_QUOTED = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
_ATTRIBUTE = re.compile(rf"@attribute\s+({_QUOTED}|[^\s{{]+)(?:\s+|(?=\{{))(.+)", re.IGNORECASE)
_CELL = re.compile(rf"\s*({_QUOTED}|(?!['\"])[^,]*?)\s*(,|$)")


def _read_arff(path: Path) -> _Raw:
    """Read ARFF: ``@attribute NAME {values}`` or a numeric type, then ``@data`` and one row a line."""
    attributes: list[str] = []
    numeric: list[bool] = []
    rows: list[list[str]] = []
    data = False
    for number, line in _lines(path):
        if data and line.startswith("{"):
            raise UserError(
                f"{path}, line {number}: sparse rows cannot be read; write all values of each row."
            )
        if data:
            rows.append(_checked_row(_cells(line), len(attributes), path, number))
        elif line.lower().startswith("@data"):
            data = True
        elif line.lower().startswith("@attribute"):
            found = _ATTRIBUTE.match(line)
            if not found:
                raise UserError(f"{path}, line {number}: an attribute must have a name and a type.")
            attributes.append(_plain(found[1]))
            numeric.append(not found[2].lstrip().startswith("{"))
    if not data or len(attributes) < 2:
        raise UserError(f"{path} must be an ARFF file with attributes and @data.")
    return _Raw(attributes, numeric[:-1], rows)


def _cells(line: str) -> list[str]:
    """The values of a row of ARFF."""
    found, at = [], 0
    while match := _CELL.match(line, at):
        found.append(_plain(match[1]))
        at = match.end()
        if not match[2]:
            return found
    return []  # a quotation that does not end


def _plain(text: str) -> str:
    """A word of ARFF without its quotation marks."""
    quoted = text[:1] in ("'", '"') and text[-1:] == text[:1]
    return re.sub(r"\\(.)", r"\1", text[1:-1]).strip() if quoted else text


def _checked_row(row: list[str], n: int, path: Path, number: int) -> list[str]:
    if len(row) != n:
        raise UserError(f"{path}, line {number}: the row must have {n} values; got {len(row)}.")
    return row


def _csv_cells(line: str) -> list[str]:
    """The values of a row of CSV."""
    quoted = '"' if '"' in line else "'"
    cells = next(csv.reader([line], skipinitialspace=True, quotechar=quoted))
    row = [cell.strip().strip("'\"") for cell in cells]
    return [_MISSING[0] if cell.lower() in _MISSING_IN_CSV else cell for cell in row]


def _read_csv(path: Path) -> _Raw:
    """Read CSV with a header; the class is the column of that name, or the last one."""
    lines = list(_lines(path))
    if len(lines) < 2:
        raise UserError(f"{path} must have a header and rows.")
    header = [cell.strip() for cell in next(csv.reader([lines[0][1]]))]
    rows = [_checked_row(_csv_cells(line), len(header), path, number) for number, line in lines[1:]]
    places = [k for k, name in enumerate(header) if name.lower() in ("class", "target", "label")]
    last = places[0] if places else len(header) - 1
    order = [*(k for k in range(len(header)) if k != last), last]
    return _Raw([header[k] for k in order], None, [[row[k] for k in order] for row in rows])
