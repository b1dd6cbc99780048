"""Tables as text for people: one description of a table, written as Markdown, HTML or LaTeX.

LaTeX needs the packages booktabs and graphicx. A table of more columns than fit beside each other becomes a
``table*``, and one that is wider than the page shrinks.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from nsl_bench.report.escaping import Format, plain

_NUMBER = re.compile(r"<?[-+]?[\d.]+(?:e[-+]?\d+)?")
_WITH_ERROR = re.compile(r"([-+]?[\d.]+) ± ([\d.]+)")
_INTERVAL = re.compile(r"([-+]?[\d.]+) to ([-+]?[\d.]+)")
_PACKAGES = "% Needs \\usepackage{booktabs,graphicx}\n"
_FIT = r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%"
_COLUMN = 46
"""Letters of a table that are side by side in one of two columns of a page."""
_LONGEST = 40
"""Rows of a LaTeX table that fit on a page; what is longer goes on in a next one."""


@dataclass(frozen=True)
class Cell:
    """A cell: its words, whether it is bold, and whether it has the mark of failed runs."""

    text: str
    bold: bool = False
    marked: bool = False


@dataclass(frozen=True)
class Laid:
    """A table as people read it.

    Attributes:
        title: a title of one line.
        about: a sentence or several on what all rows have in common.
        head: the names of the columns.
        blocks: rows below a heading of their own; an empty heading is not shown.
        notes: sentences below the table.
        kind: what tells its label in LaTeX from that of another table of this title.
    """

    title: str
    about: str
    head: tuple[str, ...]
    blocks: tuple[tuple[str, tuple[tuple[Cell, ...], ...]], ...]
    notes: tuple[str, ...] = ()
    kind: str = ""


def laid(
    title: str, table: pd.DataFrame, about: str = "", notes: Sequence[str] = (), headings: Sequence[str] = ()
) -> Laid:
    """A frame as a table; fractions have three digits.

    Args:
        headings: what each row is listed under.
    """

    def cell(value: Any) -> Cell:
        if isinstance(value, Cell):
            return value
        return Cell("" if pd.isna(value) else f"{value:.3f}" if isinstance(value, float) else str(value))

    blocks: dict[str, list[tuple[Cell, ...]]] = {}
    for k, row in enumerate(table.astype(object).to_numpy()):
        blocks.setdefault(headings[k] if headings else "", []).append(tuple(map(cell, row)))
    blocked = tuple((words, tuple(rows)) for words, rows in blocks.items())
    return Laid(title, about, tuple(map(str, table.columns)), blocked, tuple(notes))


def written(tables: Sequence[Laid], format: Format) -> str:
    """Tables one below the other as text of a form; CSV is made of the numbers, not of these."""
    write: dict[str, Callable[[Laid], str]] = {"markdown": _markdown, "html": _html, "latex": _latex}
    text = "\n".join(map(write[format], tables))
    return _PACKAGES + text if format == "latex" and tables else text


def _markdown(table: Laid) -> str:
    def shown(cell: Cell) -> str:
        text = plain(cell.text, "markdown") + "†" * cell.marked
        return f"**{text}**" if cell.bold else text

    head = [plain(name, "markdown") for name in table.head]
    rows = []
    for heading, block in table.blocks:
        if heading:
            rows.append([f"*{plain(heading, 'markdown')}*", *[""] * (len(head) - 1)])
        rows += [list(map(shown, row)) for row in block]
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    lines = [
        f"| {' | '.join(text.ljust(width) for text, width in zip(row, widths, strict=True))} |"
        for row in [head, *rows]
    ]
    lines.insert(1, f"|{'|'.join('-' * (width + 2) for width in widths)}|")
    said = [plain(text, "markdown") for text in (table.about, *table.notes)]
    above = [f"## {plain(table.title, 'markdown')}", *filter(None, said[:1])]
    return "\n\n".join([*above, "\n".join(lines), *said[1:]]) + "\n"


def _html(table: Laid) -> str:
    def shown(cell: Cell) -> str:
        text = plain(cell.text, "html") + "<sup>†</sup>" * cell.marked
        return f"<td>{f'<b>{text}</b>' if cell.bold else text}</td>"

    lines = [f"<table>\n<caption><b>{plain(table.title, 'html')}.</b> {plain(table.about, 'html')}</caption>"]
    head = "".join(f'<th scope="col">{plain(name, "html")}</th>' for name in table.head)
    lines.append(f"<tr>{head}</tr>")
    for heading, block in table.blocks:
        if heading:
            lines.append(f'<tr><th colspan="{len(table.head)}">{plain(heading, "html")}</th></tr>')
        lines += [f"<tr>{''.join(map(shown, row))}</tr>" for row in block]
    return "\n".join([*lines, "</table>", *(f"<p>{plain(note, 'html')}</p>" for note in table.notes)]) + "\n"


def _latex(table: Laid) -> str:
    """A floating table; a long one in parts, each of which fits on a page."""
    parts: list[list[tuple[str, tuple[tuple[Cell, ...], ...]]]] = [[]]
    room = _LONGEST
    for heading, rows in table.blocks:
        while rows:
            room -= 2 * bool(heading)
            if room < 1:
                parts.append([])
                room = _LONGEST - 2 * bool(heading)
            parts[-1].append((heading, rows[:room]))
            rows, room = rows[room:], room - len(rows[:room])
    texts = []
    for number, blocks in enumerate(parts):
        title = f"{table.title} (continued)" if number else table.title
        texts.append(
            _float(replace(table, title=title, blocks=tuple(blocks)), f"-{number}" if number else "")
        )
    return "\n".join(texts)


def _float(table: Laid, suffix: str) -> str:
    widths = [
        max(len(_narrow(text)) for text in (name, *(row[k].text for _, rows in table.blocks for row in rows)))
        for k, name in enumerate(table.head)
    ]
    kind = "table" if sum(widths) + 2 * len(widths) <= _COLUMN else "table*"
    columns = "".join("r" if _is_numeric(table, k) else "l" for k in range(len(table.head)))
    name = f"{table.title.removesuffix(' (continued)')} {table.kind}".lower()
    label = re.sub(r"[^a-z0-9]+", "-", name).strip("-") + suffix
    lines = [
        rf"\begin{{{kind}}}",
        r"\centering\small\setlength{\tabcolsep}{4pt}",
        rf"\caption{{{plain(table.title, 'latex')}. {plain(table.about, 'latex')}}}",
        rf"\label{{tab:{label}}}\par\smallskip",
        _FIT,
        rf"\begin{{tabular}}{{@{{}}{columns}@{{}}}}",
        r"\toprule",
        " & ".join(plain(name, "latex") for name in table.head) + r" \\",
    ]
    for heading, rows in table.blocks:
        lines.append(r"\midrule")
        if heading:
            text = plain(heading, "latex")
            lines.append(rf"\multicolumn{{{len(table.head)}}}{{@{{}}l}}{{\emph{{{text}}}}} \\")
        lines += [f"{' & '.join(map(_in_latex, row))} \\\\" for row in rows]
    lines += [r"\bottomrule", r"\end{tabular}}"]
    if table.notes:
        said = " ".join(plain(note, "latex") for note in table.notes)
        lines.append(rf"\par\smallskip\parbox{{\linewidth}}{{\footnotesize {said}}}")
    return "\n".join([*lines, rf"\end{{{kind}}}"]) + "\n"


def _narrow(text: str) -> str:
    """What is as wide as a text in LaTeX, where an error is an index."""
    return _WITH_ERROR.sub(lambda found: found[1] + found[2][: 2 + len(found[2]) // 3], text)


def _is_numeric(table: Laid, column: int) -> bool:
    texts = [row[column].text for _, rows in table.blocks for row in rows if row[column].text]
    return bool(texts) and all(_WITH_ERROR.match(text) or _NUMBER.match(text) for text in texts)


def _in_latex(cell: Cell) -> str:
    text = plain(cell.text, "latex")
    error = _WITH_ERROR.fullmatch(cell.text.partition(" (")[0])
    rest = plain(cell.text[error.end() :], "latex") if error else ""
    if error:
        mean = rf"\mathbf{{{error[1]}}}" if cell.bold else error[1]
        text = rf"${mean}_{{\pm {error[2]}}}$"
    elif _NUMBER.fullmatch(cell.text):
        text = f"${cell.text}$"
    elif ends := _INTERVAL.fullmatch(cell.text):
        text = f"${ends[1]}$ to ${ends[2]}$"
    if cell.bold and not error:
        text = rf"\textbf{{{text}}}" if not text.startswith("$") else rf"$\mathbf{{{text.strip('$')}}}$"
    mark = r"\rlap{$^\dagger$}" if cell.marked else ""
    return text + rest + mark
