"""Reading of tables in ARFF and CSV files, as programs of all kinds write them."""

import codecs
import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from nsl_bench.core import files
from nsl_bench.core.errors import UserError

ENDINGS = (".arff", ".csv", ".data", ".tsv", ".txt")
"""How the files of tables end."""

_MOST_BYTES = 1 << 28
_MOST_LETTERS = 10_000
"""Of a value; longer ones are no values of a table."""

_MISSING_IN_CSV = ("na", "n/a", "nan", "null", "")
"""What programs that write CSV call a missing value, in small letters."""

_SEPARATORS = (",", ";", "\t", "|")
_NUMBERS = ("numeric", "real", "integer")

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_OTHER_KINDS = {
    b"PK\x03\x04": "a zip archive or a spreadsheet",
    b"\x1f\x8b": "compressed",
    b"PAR1": "Parquet",
}


_SEPARATOR = re.compile(r'"?sep=([,;\t|])"?', re.IGNORECASE)
"""A first line that is for Excel."""


@dataclass(frozen=True)
class Raw:
    """The columns of a file.

    Attributes:
        attributes: their names; empty where the first row may be a header.
        numeric: whether each holds numbers; None where the file does not say.
        rows: the values of each row, ``"?"`` where one is missing.
    """

    attributes: list[str]
    numeric: list[bool] | None
    rows: list[list[str]]


def text_of(path: Path) -> str:
    """The text of a file, which may be compressed: UTF-8, UTF-16, UTF-32 or else Latin-1."""
    content = files.read(path, _MOST_BYTES)
    for start, kind in _OTHER_KINDS.items():
        if content.startswith(start):
            raise UserError(f"{path} must be a text file; it is {kind}. Save the table as CSV.")
    encoding = next((name for mark, name in _MARKS if content.startswith(mark)), None)
    start = content[:1000]
    if encoding is None and 4 * start.count(0) > len(
        start
    ):  # without a mark, half of UTF-16 is zeros in ASCII
        encoding = "utf-16-be" if content[:1000:2].count(0) > content[1:1000:2].count(0) else "utf-16-le"
    try:
        text = content.decode(encoding or "utf-8")
    except UnicodeDecodeError as error:
        if encoding:
            raise UserError(f"{path} must be a text file; it is not {encoding.upper()} ({error}).") from None
        text = content.decode("latin-1")
    if "\0" in text:
        raise UserError(f"{path} must be a text file; it contains the character NUL.")
    return text


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    text = text_of(path).replace("\r\n", "\n").replace("\r", "\n")
    for number, line in enumerate(text.split("\n"), 1):
        stripped = line.strip(" \v\f")
        if stripped.strip() and not stripped.startswith("%"):
            yield number, stripped


def read_arff(path: Path) -> Raw:
    """Read ARFF: ``@attribute NAME {values}`` or a type, then ``@data`` and one row a line."""
    attributes: list[str] = []
    numeric: list[bool] = []
    rows: list[tuple[int, str]] = []
    data = False
    for number, line in _lines(path):
        word = line.split(maxsplit=1)[0].lower()
        if data and line.startswith("{"):
            raise UserError(
                f"{path}, line {number}: sparse rows cannot be read; write all values of each row."
            )
        if data:
            rows.append((number, line))
        elif word == "@data":
            data = True
        elif word == "@attribute":
            name, kind = _attribute(line[len(word) :].strip())
            if not (name and kind):
                raise UserError(f"{path}, line {number}: an attribute must have a name and a type.")
            attributes.append(name)
            numeric.append(kind.split()[0].split("[")[0].lower() in _NUMBERS)
    if not data or len(attributes) < 2:
        raise UserError(f"{path} must be an ARFF file with attributes and @data.")
    separator = _separator([line for _, line in rows[:20]], len(attributes))
    result = [_checked(_cells(line, separator), len(attributes), path, k, line) for k, line in rows]
    return Raw(attributes, numeric, result)


def _attribute(text: str) -> tuple[str, str]:
    """The name and the type of an attribute of ARFF; empty where there is none."""
    if text[:1] in ("'", '"'):
        quoted, at = _quoted(text, 0)
        if at:
            return quoted, text[at:].strip()
    brace = text.find("{")
    name = text.split(maxsplit=1)[0] if text else ""
    if 0 <= brace < len(name):
        name = name[:brace]
    return name, text[len(name) :].strip()


def _cells(line: str, separator: str = ",") -> list[str]:
    """The values of a row of ARFF, in time proportional to its length; none if a quotation does not end."""
    cells, at = [], 0
    while True:
        while at < len(line) and line[at] in " \t" and line[at] != separator:
            at += 1
        if line[at : at + 1] in ("'", '"') and line[at : at + 1]:
            cell, at = _quoted(line, at)
            stop = line.find(separator, at) if at else -1
            stop = len(line) if stop < 0 else stop
            if not at or line[at:stop].strip():
                return []
        else:
            stop = line.find(separator, at)
            stop = len(line) if stop < 0 else stop
            cell = line[at:stop].strip()
        cells.append(cell)
        if stop >= len(line):
            return cells
        at = stop + 1


def _quoted(text: str, at: int) -> tuple[str, int]:
    """The word in quotation marks that begins at a place, and where it has ended; 0 if it never ends."""
    mark, at = text[at], at + 1
    letters: list[str] = []
    while at < len(text):
        letter = text[at]
        if letter == mark:
            return "".join(letters).strip(), at + 1
        if letter == "\\" and at + 1 < len(text):
            at += 1
            letter = text[at]
        letters.append(letter)
        at += 1
    return "", 0


def _checked(row: list[str], n: int, path: Path, number: int, line: str) -> list[str]:
    """A row of n values; what is empty after them, as after a comma at the end of a line, is left out."""
    if len(row) > n and not any(row[n:]):
        row = row[:n]
    if len(row) != n:
        odd = next((mark for mark in ('"', "'") if line.count(mark) % 2), None)
        cause = f" A quotation mark ({odd}) is not closed." if odd else ""
        raise UserError(f"{path}, line {number}: the row must have {n} values; got {len(row)}.{cause}")
    long = next((cell for cell in row if len(cell) > _MOST_LETTERS), None)
    if long is not None:
        raise UserError(
            f"{path}, line {number}: a value must have at most {_MOST_LETTERS:,} letters; got {len(long):,}."
        )
    return row


def _separator(lines: Sequence[str], n: int | None = None) -> str:
    """What separates values: the first of comma, semicolon, tab and bar that fits most lines, or spaces.

    Args:
        n: number of values of each, if it is known.
    """
    counts = {one: [len(_cells(line, one)) for line in lines] for one in _SEPARATORS}
    fitting = {
        one: sum(columns > 1 and (n is None or columns in (n, n + 1)) for columns in numbers)
        for one, numbers in counts.items()
    }
    best = max(_SEPARATORS, key=lambda one: fitting[one])
    if n is None:
        # The right one gives all lines alike many values; a decimal comma does not.
        alike = [one for one in _SEPARATORS if lines and len(set(counts[one])) == 1 and counts[one][0] > 1]
        best = max(alike, key=lambda one: counts[one][0], default=best)
        if not fitting[best]:
            return " "
    return best if fitting[best] else ","


def read_rows(path: Path) -> Raw:
    """Read CSV, or what is like it: with or without a header, whatever separates the values.

    The first row may be a header; `Raw.attributes` is empty, because only its values tell.
    """
    lines = list(_lines(path))
    match = _SEPARATOR.fullmatch(lines[0][1]) if lines else None
    lines = lines[1:] if match else lines
    if len(lines) < 2:
        raise UserError(f"{path} must have a header and rows.")
    separator = match[1] if match else _separator([line for _, line in lines[:20]])
    rows = [(number, _csv_cells(line, separator, path, number), line) for number, line in lines]
    first, second = rows[0][1], rows[1][1]
    if len(first) == len(second) - 1 and second[-1]:  # R does not name the names of rows
        first.insert(0, "")
    n = len(first)
    if all(len(row) >= n and not row[n - 1] for _, row, _ in rows) and n > 2:
        n -= 1
    checked = [_checked(row, n, path, number, line) for number, row, line in rows]
    return Raw([], None, [[_value(cell, separator) for cell in row] for row in checked])


def _csv_cells(line: str, separator: str, path: Path, number: int) -> list[str]:
    """The values of a row of CSV."""
    if separator == " ":
        return [cell.strip("'\"") for cell in line.split()]
    quoted = '"' if '"' in line else "'"
    try:
        cells = next(csv.reader([line], delimiter=separator, skipinitialspace=True, quotechar=quoted))
    except csv.Error as error:
        raise UserError(f"{path}, line {number}: the row cannot be read ({error}).") from None
    return [cell.strip().strip("'\"") for cell in cells]


def _value(cell: str, separator: str) -> str:
    """A value of CSV, in ARFF's spelling."""
    if cell.lower() in _MISSING_IN_CSV:
        return "?"
    if separator == ";" and cell.count(",") == 1 and cell.replace(",", "").lstrip("+-").isdecimal():
        return cell.replace(",", ".")
    return cell
