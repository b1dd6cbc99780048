"""Names of learners, networks and folders in tables: as text of a form, which nothing takes for a command."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import pandas as pd

Format = Literal["markdown", "csv", "latex", "html"]

_TEX = {
    "\\": r"\textbackslash{}",
    **{mark: f"\\{mark}" for mark in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': "''",
    **{"±": r"$\pm$", "\u00d7": r"$\times$", "→": r"$\rightarrow$", "†": r"$^\dagger$"},
    **{mark: mark for mark in "\u2013\u2014\u2018\u2019\u201c\u201d\u2026ßæœøłÆŒØŁ"},
}
_GREEK = re.compile(
    "alpha|beta|gamma|delta|epsilon|zeta|eta|theta|iota|kappa|lambda|mu|nu|xi|pi|rho|sigma|tau|upsilon|phi|chi|psi|"
    "omega|Gamma|Delta|Theta|Lambda|Xi|Pi|Sigma|Upsilon|Phi|Psi|Omega"
)
_ACCENTS = set("\u0300\u0301\u0302\u0303\u0304\u0306\u0307\u0308\u030a\u030b\u030c\u0327")
"""Accents of letters that the fonts of plain LaTeX have."""


def _markdown(text: str) -> str:
    # Without "<" no ">" ends a tag; at the start it would quote.
    result = re.sub(r"^>", "&gt;", text.replace("&", "&amp;").replace("<", "&lt;"))
    result = re.sub(r"([\\`*\[\]|$~])", r"\\\1", result)
    return re.sub(r"(?<!\w)_|_(?!\w)", r"\\_", result)  # those inside words mark nothing


def _latex(mark: str) -> str:
    """A character as plain LaTeX has it; what its fonts lack is a question mark."""
    base, *accents = list(unicodedata.normalize("NFD", mark))
    if mark in _TEX or (mark.isascii() and mark.isprintable()):
        return _TEX.get(mark, mark)
    if base.isascii() and accents and _ACCENTS.issuperset(accents):
        return mark
    greek = re.fullmatch(r"GREEK (SMALL|CAPITAL) LETTER (\w+)", unicodedata.name(base, ""))
    name = greek[2].lower().replace("lamda", "lambda") if greek else ""
    if greek and greek[1] == "CAPITAL":
        name = name.capitalize()
    return rf"$\{name}$" if _GREEK.fullmatch(name) else "?"


def _csv(text: str) -> str:
    """Text that no spreadsheet takes for a formula; numbers stay numbers."""
    # Some programs take characters of full width for the usual ones.
    if len(text) == 1 or not re.match(r"[\t\r\n]|\s*[=+\-@\uff1d\uff0b\uff0d\uff20]", text):
        return text
    return text if re.fullmatch(r"[+-][\d.]+(?:e[+-]?\d+)?", text) else f"'{text}"


_PLAIN: Mapping[str, Callable[[str], str]] = {
    "markdown": _markdown,
    "csv": _csv,
    "latex": lambda text: "".join(map(_latex, unicodedata.normalize("NFC", text))),
    "html": html.escape,
}


def plain(text: str, format: Format) -> str:
    """A text in which nothing is a mark of a form, a formula or the end of a cell."""
    line = text if format == "csv" else " ".join(text.split())
    return _PLAIN[format](line)


def escaped(table: pd.DataFrame, format: Format) -> pd.DataFrame:
    """A table with all of its texts, and the names of its columns, as `plain` text; not its index."""

    def plain_value(value: Any) -> Any:
        return plain(value, format) if isinstance(value, str) else value

    result = table.copy()
    for place in range(table.shape[1]):
        if table.dtypes.iloc[place].kind != "f":
            result.isetitem(place, [plain_value(value) for value in table.iloc[:, place]])
    return result.rename(columns=plain_value)


def csv_text(table: pd.DataFrame) -> str:
    """A table as CSV in which no cell is a formula."""
    return escaped(table, "csv").to_csv(index=False)


def in_picture(text: str) -> str:
    """A text in which matplotlib finds no formula; it hides labels that begin with an underscore."""
    return re.sub(r"(?<!\\)\$", r"\\$", text).lstrip("_") or "-"
