"""Tables of one's own: read from files, their columns as facts and as literals of rules."""

import operator
import re
import unicodedata
from collections.abc import Callable, Iterable
from itertools import pairwise
from math import floor, log10
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd

from nsl_bench.core import files
from nsl_bench.core.errors import UserError, did_you_mean
from nsl_bench.core.types import Array, Floats, Ints
from nsl_bench.logic.asp.text import check_characters

_MOST_CLASSES, _MOST_DIGITS, _LARGEST = 100, 6, 2_000_000_000
_TYPO_SHARE, _MANY_NUMBERS = 0.1, 10
"""A column of so many different numbers, with at most this share of words, has a slip in it."""
_FORMATTED = r"[$€£+-]*\s*[0-9][0-9.,']*\s*[%€$£]?"
_MISSING = ["", "?", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "None", "<NA>"]
_TESTS = ("", "_cut", "_at_least", "_below")
"""How predicates of a column end."""


class TableError(UserError, ValueError):
    """A table that cannot be learned from."""


def read_table(path: Path, label: str | None) -> "tuple[pd.DataFrame, pd.Series[Any]]":
    """The features and the labels in a CSV, TSV or parquet file.

    Raises:
        TableError: the file is no such table, or has no column of classes with this name.
    """
    text = path.suffix.lower() != ".parquet"
    with files.opened(path, "The table") as stream:
        try:
            if text:
                options: dict[str, Any] = {"header": None, "dtype": str, "keep_default_na": False}
                options |= {"na_values": _MISSING, "encoding": "utf-8-sig", "skipinitialspace": True}
                start = re.sub('"[^"]*"', "", stream.readline().decode("utf-8", "replace"))
                stream.seek(0)
                sep = "\t" if path.suffix.lower() == ".tsv" else max(",;", key=start.count)
                frame = pd.read_csv(stream, sep=sep, **options)
                if sep == ";":  # as spreadsheets write it where decimals have a comma
                    frame = frame.replace(r"^([+-]?\d+),(\d+)$", r"\1.\2", regex=True)
                # the header is read as a row, so that no name is changed
                head = frame.iloc[0].fillna("").tolist()
                frame = frame.iloc[1:].reset_index(drop=True).set_axis(head, axis=1)
            else:
                frame = pd.read_parquet(stream)
        except (ValueError, OSError) as error:
            reason = (str(error).strip().splitlines() or ["it is empty"])[0].rstrip(".")
            reason = "it is not in UTF-8" if isinstance(error, UnicodeDecodeError) else reason
            raise TableError(f"{path} must be a table of the kind that its ending says; {reason}.") from None
    names = [str(name) for name in frame.columns]
    twice = next((name for k, name in enumerate(names) if name in names[:k]), None)
    if twice is not None:
        raise TableError(f"{path}: each column must have its own name; '{twice}' names two columns.")
    if label not in names:
        found = "got none" if label is None else f"got '{label}'"
        hint = did_you_mean(label or "", names)
        raise TableError(f"{path}: --label must name the column with the classes; {found}.{hint}")
    if not len(frame) or len(names) < 2:
        found = f"got {len(frame)} rows of {len(names)} columns"
        raise TableError(f"{path} must have rows, and columns beside '{label}'; {found}.")
    columns = {name: frame.iloc[:, k] for k, name in enumerate(names)}
    where = {name: f"{path}: the column '{name}'" for name in names}
    if text:
        columns = {name: _typed(column, where[name]) for name, column in columns.items()}
    labels = columns.pop(label)
    for name, column in columns.items():
        cells_of(column, where[name])
    cells, missing, count = cells_of(labels, where[label]), labels.isna(), labels.nunique()
    if missing.any():
        problem = f"a class in each row; row {int(missing.argmax()) + 1} has none"
    elif not 2 <= count <= _MOST_CLASSES:
        problem = f"2 to {_MOST_CLASSES} classes; got {count}"
    elif cells.dtype != object and len(broken := cells[cells % 1 != 0]):
        problem = f"classes, which are words or whole numbers; got {broken[0]:g}. Cut its numbers into ranges"
    else:
        return pd.DataFrame(columns), labels
    raise TableError(f"{where[label]} must have {problem}.")


def _typed(words: "pd.Series[Any]", where: str) -> "pd.Series[Any]":
    """A column of text as numbers if it has no words."""
    numbers = pd.to_numeric(words, errors="coerce")
    odd = words[numbers.isna() & words.notna()]
    if len(odd) and len(odd) <= _TYPO_SHARE * words.count() and numbers.nunique() > _MANY_NUMBERS:
        found = f"{numbers.count()} numbers and, in row {odd.index[0] + 1}, the word '{odd.iloc[0]}'"
        hint = "Leave a cell empty if its number is missing."
        raise TableError(f"{where} must have numbers or words; got {found}. {hint}")
    if len(odd) and words.nunique() > _MANY_NUMBERS and words.dropna().str.fullmatch(_FORMATTED).all():
        hint = "Write them with a decimal point, and without units and separators."
        raise TableError(f"{where} must have plain numbers; got '{odd.iloc[0]}'. {hint}")
    return words if len(odd) else numbers


def cells_of(column: "pd.Series[Any]", where: str) -> Array:
    """The cells of a column: float64 with NaN, or constants of ASP with None, where one is missing.

    Raises:
        TableError: they are neither all numbers nor all words.
    """
    there, known = column.notna().to_numpy(bool), column.dropna()
    kind = pd.api.types.infer_dtype(known)
    if isinstance(column.dtype, pd.CategoricalDtype) or kind in ("string", "boolean"):
        words = np.full(len(column), None, object)
        words[there] = [constant(cell, where) for cell in known.tolist()]
        return words
    if kind not in ("integer", "floating", "mixed-integer-float", "decimal", "empty"):
        plain = known.map(lambda cell: isinstance(cell, str | int | float | np.number)).to_numpy(bool)
        kind = kind if plain.all() or kind != "mixed" else type(known[~plain].iloc[0]).__name__
        found = "numbers and words" if kind in ("mixed", "mixed-integer") else f"{kind} values"
        raise TableError(f"{where} must have numbers or words; got {found}.")
    numbers = np.full(len(column), np.nan)
    numbers[there] = known.astype(float)
    if np.isinf(numbers).any():
        raise TableError(f"{where} must have finite numbers; got infinity (inf).")
    return numbers


def constant(value: object, where: str = "a value of the table") -> str:
    """A value as a constant of ASP: a name or whole number as it is, else a string."""
    text = str(value).lower() if isinstance(value, bool | np.bool_) else str(value)
    if re.fullmatch(r"(?!not$)[a-z][A-Za-z0-9_]*|0|-?[1-9][0-9]{0,8}", text):
        return text
    quoted = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    check_characters(f'"{quoted}"', where)
    return f'"{quoted}"'


def predicates(names: Iterable[str]) -> list[str]:
    """Predicates named after columns; they and their tests are all different."""
    taken: set[str] = set()
    result: list[str] = []
    for name in names:
        plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
        word = re.sub(r"\W+", "_", plain).strip("_")
        word = word if word[:1].isalpha() and word != "not" else f"column_{word}".rstrip("_")
        while taken & {word + test for test in _TESTS}:
            word += f"_column{len(result)}"
        taken |= {word + test for test in _TESTS}
        result.append(word)
    return result


class Literal(NamedTuple):
    """A body literal, in ASP and in words.

    Attributes:
        holds: says where it holds of a column's `terms`, by comparing them with `value`.
    """

    text: str
    words: str
    holds: Callable[[Array, Any], Any] = operator.eq
    value: int | str = ""


class Column(NamedTuple):
    """A column as facts and literals.

    Attributes:
        digits: by which power of ten numbers are multiplied; None for a column of words.
        values: the words that literals test, or thresholds, multiplied.
    """

    name: str
    predicate: str
    digits: int | None
    values: tuple[int | str, ...] = ()

    @classmethod
    def of(cls, name: str, own: str, cells: Array, weights: Ints, most: int, least: int) -> Self:
        """The column of a train set.

        Args:
            own: its predicate.
            weights: int64 [n], of the rows.
            most: thresholds of a column of numbers, at quantiles.
            least: words whose rows weigh less are not tested.
        """
        there = ~pd.isna(cells)
        column = cls(name, own, None if cells.dtype == object else _digits(cells[there]))
        values, of = np.unique(column.terms(cells)[there], return_inverse=True)
        total = np.bincount(of, weights[there], len(values))
        if column.digits is None:
            return column._replace(values=tuple(values[total >= least].tolist()))
        at = np.searchsorted(np.cumsum(total), np.arange(1, most + 1) / (most + 1) * total.sum())
        kept = range(len(values)) if len(values) - 1 <= most else at
        cuts = (int((a + b + 1) // 2) for i, (a, b) in enumerate(pairwise(values.tolist())) if i in kept)
        return column._replace(values=tuple(cuts))

    def terms(self, cells: Array) -> Array:
        """The cells as facts have them: words, or whole numbers."""
        if self.digits is None:
            return cells
        return np.clip(np.floor(cells * 10.0**self.digits + 1e-6), -_LARGEST, _LARGEST)

    def facts(self, cells: Array) -> list[str]:
        """The fact of each row; empty where its cell is missing."""
        said = f"{self.predicate}(%{'s' if self.digits is None else 'd'})"
        return ["" if term is None or term != term else said % term for term in self.terms(cells).tolist()]

    @property
    def literals(self) -> list[Literal]:
        """Its literals. Of two words, each says nearly what the negation of the other says."""
        own, result = self.predicate, []
        for value in self.values:
            if self.digits is None:
                test = f"{own}({value})"
                result.append(Literal(test, f"{self.name} = {value}", operator.eq, value))
                if len(self.values) > 2:
                    result.append(Literal(f"not {test}", f"{self.name} is not {value}", operator.ne, value))
            else:
                number = f"{int(value) / 10.0**self.digits:.10g}"
                result.append(
                    Literal(f"{own}_at_least({value})", f"{self.name} >= {number}", operator.ge, value)
                )
                result.append(Literal(f"{own}_below({value})", f"{self.name} < {number}", operator.lt, value))
        return result

    @property
    def background(self) -> str:
        """What its thresholds need of the background knowledge."""
        if self.digits is None or not self.values:
            return ""
        own, cuts = self.predicate, "; ".join(map(str, self.values))
        return (
            f"% {own}: numbers times 10^{self.digits}\n"
            f"{own}_cut({cuts}).\n"
            f"{own}_at_least(C) :- {own}(V), {own}_cut(C), V >= C.\n"
            f"{own}_below(C) :- {own}(V), {own}_cut(C), V < C.\n"
        )


def _digits(numbers: Floats) -> int:
    """The least power of ten that makes numbers whole, or the greatest within a task's integers."""
    largest = float(np.abs(numbers).max(initial=0)) or 1.0
    kept = min(300, max(_MOST_DIGITS, _MOST_DIGITS - 1 - floor(log10(largest))))
    decimals = (len(f"{number:.{kept}f}".rstrip("0").partition(".")[2]) for number in numbers)
    return min(floor(log10(_LARGEST) - log10(largest)), max(decimals, default=0))
