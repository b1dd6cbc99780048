"""Downloads of the site: tables as Markdown, CSV and LaTeX, curves as PNG, SVG and PDF, and BibTeX."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nsl_bench.core.metrics import METRICS
from nsl_bench.report.escaping import csv_text, escaped, in_picture
from nsl_bench.report.line_styles import PUBLISHED, coincidences, colour_of, dashes_of, marker_of
from nsl_bench.report.published.papers import names, paper
from nsl_bench.report.style import emphasis, wrapped
from nsl_bench.report.tables import DEFAULT_METRICS, render, summarise

from ..board import Board
from ..contests import Contest
from ..entries import Area
from .svg import Series

if TYPE_CHECKING:
    pass

__all__ = ["CurvePicture", "bibtex", "draw_curve", "table_files", "write_areas", "write_tables"]

_METADATA: dict[str, dict[str, None] | None] = {
    "png": None,
    "svg": {"Date": None},
    "pdf": {"CreationDate": None},
}
"""Endings of a curve's files; no dates, so that the same curve gives the same bytes."""

_WIDTH, _HEIGHT = 5.2, 3.2
"""Of a curve's picture without its legend, inches."""

_INCHES_A_LINE, _LETTERS = 0.145, 84
"""Of the legend."""

_FORMS = {"md": "markdown", "csv": "csv", "tex": "latex"}


def table_files(contest: Contest) -> list[str]:
    """The names of the files that `write_tables` writes."""
    return [f"{contest.name}.{ending}" for ending in _FORMS]


def write_tables(board: Board, contest: Contest, folder: Path) -> None:
    """Mean and standard error at every point of a contest that has entries, in each form.

    Args:
        board: the board.
        contest: the contest.
        folder: where the CSV, Markdown and LaTeX files go.
    """
    folder.mkdir(parents=True, exist_ok=True)
    runs = board.frame(contest)
    for name, (ending, form) in zip(table_files(contest), _FORMS.items(), strict=True):
        metrics = [m for m in DEFAULT_METRICS if m in runs]
        if ending == "csv":
            table = summarise(runs, metrics)
            standing = {entry.title: entry.standing.word for entry in board.of(contest)}
            text = csv_text(table.assign(standing=table["learner"].map(standing)))
        else:
            text = render(runs, form, metrics)  # type: ignore[arg-type]
        (folder / name).write_text(text, encoding="utf-8")


def write_areas(board: Board, folder: Path) -> list[str]:
    """The overview's table, means over shares, in each form; the files' names.

    Args:
        board: the board.
        folder: where the files go.
    """
    import pandas as pd

    rows, cells = [], []
    for contest in board.contests:
        for track in board.tracks(contest):
            for entry in board.of(contest, track):
                rank = board.rank(entry, contest).rank
                about = {
                    "contest": contest.name,
                    "track": track,
                    "rank": "" if rank is None else rank,
                    "learner": entry.title,
                    "network": entry.network,
                    "standing": entry.standing.word,
                }
                if failures := entry.failures(contest):
                    about["failed runs"] = failures
                areas = {metric: board.area(entry, contest, metric) for metric in board.areas_of(contest)}
                known = {metric: area for metric, area in areas.items() if area is not None}
                numbers: dict[str, object] = {}
                for metric, area in known.items():
                    numbers |= {metric: area.mean, f"{metric}_std_err": area.std_err}
                rows.append({**about, **numbers})
                cells.append({**about, **{METRICS[m].title: _cell(a, m) for m, a in known.items()}})
    folder.mkdir(parents=True, exist_ok=True)
    table = pd.DataFrame(cells).fillna("")
    texts = {
        "md": escaped(table, "markdown").to_markdown(index=False, tablefmt="github", disable_numparse=True),
        "tex": table.to_markdown(index=False, tablefmt="latex_booktabs", disable_numparse=True),
        "csv": csv_text(pd.DataFrame(rows)).rstrip("\n"),
    }
    for ending, text in texts.items():
        (folder / f"overview.{ending}").write_text(f"{text}\n", encoding="utf-8")
    return [f"overview.{ending}" for ending in texts]


def _cell(area: Area, metric: str) -> str:
    digits = METRICS[metric].digits
    text = f"{area.mean:.{digits}f}"
    return text if np.isnan(area.std_err) else f"{text} ± {area.std_err:.{digits}f}"


@dataclass(frozen=True)
class CurvePicture:
    """A curve to be drawn as files.

    Attributes:
        series: as for `svg.curve`.
        title: of the vertical axis.
        heading: above the picture.
        unit: whether values lie between 0 and 1.
        logarithmic: whether the vertical axis is.
        base: the files' path without an ending.
    """

    series: Sequence[Series]
    title: str
    heading: str
    unit: bool
    logarithmic: bool
    base: Path

    @property
    def files(self) -> list[str]:
        """The files' names."""
        return [f"{self.base.name}.{ending}" for ending in _METADATA]


def draw_curve(picture: CurvePicture) -> None:
    """Write a curve's PNG, SVG and PDF."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    name, folder = picture.base.name, picture.base.parent
    settings: Any = {"svg.fonttype": "none", "svg.hashsalt": name, "pdf.fonttype": 42, "font.size": 9}
    with matplotlib.rc_context(settings), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)
        # Margins of its own: matplotlib's layouts draw everything once more for each file.
        labels = [wrapped(s.title, _LETTERS) for s in picture.series]
        below = _INCHES_A_LINE * sum(label.count("\n") + 1 for label in labels) + 0.1
        figure = Figure(figsize=(_WIDTH, _HEIGHT + below))
        edges = (below + 0.14 * _HEIGHT, below + 0.91 * _HEIGHT)
        bottom, top = (edge / (_HEIGHT + below) for edge in edges)
        figure.subplots_adjust(left=0.12, right=0.98, bottom=bottom, top=top)
        axis = figure.add_subplot()
        measured = [s for s in picture.series if not s.published]
        for s, depth in zip(measured, _hidden(picture, measured), strict=True):
            _draw_series(axis, s, depth)
        for s in picture.series:
            if s.published:
                _draw_series(axis, s, 0)
        axis.set_xlabel("share of shifted examples (%)")
        axis.set_ylabel(picture.title)
        axis.set_title(in_picture(picture.heading), fontsize=9)
        axis.grid(alpha=0.3)
        if picture.unit:
            axis.set_ylim(-0.02, 1.02)
        if picture.logarithmic:
            axis.set_yscale("log")
        handles = [Line2D([], [], **_look(s, 0)) for s in picture.series]
        place: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (0.1, 0.0), "borderaxespad": 0.2}
        figure.legend(handles, labels, fontsize=7, frameon=False, **place)
        folder.mkdir(parents=True, exist_ok=True)
        for file, metadata in zip(picture.files, _METADATA.values(), strict=True):
            figure.savefig(folder / file, dpi=110, metadata=metadata)


def _hidden(picture: CurvePicture, lines: Sequence[Series]) -> list[int]:
    """How many of the lines hide each of them."""
    values = [{percent: mean for percent, mean, _ in s.points} for s in lines]
    every = [mean for line in values for mean in line.values() if mean > 0 or not picture.logarithmic]
    low, high = (0.0, 1.0) if picture.unit else (min(every, default=0.0), max(every, default=1.0))
    return coincidences(values, low, high, logarithmic=picture.logarithmic)


def _look(s: Series, hidden_by: int) -> dict[str, Any]:
    colour = colour_of(s.style)
    return {
        "color": colour,
        "marker": marker_of(s.style),
        "markerfacecolor": "white" if s.published else colour,
        "linestyle": PUBLISHED if s.published else dashes_of(s.style),
        **emphasis(hidden_by),
    }


def _draw_series(axis: Any, s: Series, hidden_by: int) -> None:
    percents, means = [p for p, _, _ in s.points], [m for _, m, _ in s.points]
    axis.plot(percents, means, **_look(s, hidden_by))
    lower, upper = [m - e for _, m, e in s.points], [m + e for _, m, e in s.points]
    axis.fill_between(percents, lower, upper, color=colour_of(s.style), alpha=0.18, lw=0)


def bibtex(board: Board) -> str:
    """One entry a paper whose numbers are shown, and one a submission."""
    pieces = []
    for name in names():
        about = paper(name)
        fields = {
            "title": about.title,
            "author": " and ".join(about.authors),
            "journal": about.venue,
            "year": str(about.year),
            "url": about.url,
        }
        pieces.append(_entry("article", name, fields.items()))
    for entry in {e.folder: e for e in board.entries}.values():
        about_it = entry.manifest
        fields = {
            "title": about_it.name,
            "author": about_it.authors or about_it.name,
            "year": about_it.date[:4],
            "url": about_it.url,
            "note": "Submission to the nsl-bench leaderboard",
        }
        pieces.append(_entry("misc", f"nslbench-{entry.slug}", fields.items()))
    return "\n\n".join(pieces) + "\n"


def _entry(kind: str, key: str, fields: Iterable[tuple[str, str]]) -> str:
    lines = [
        f"  {name} = {{{_verbatim(value) if name == 'url' else _tex(value)}}}"
        for name, value in fields
        if value
    ]
    return f"@{kind}{{{key},\n" + ",\n".join(lines) + "\n}"


def _tex(text: str) -> str:
    escaped = re.sub(r"([&%$#_])", r"\\\1", _verbatim(text))
    return escaped.replace("^", r"\textasciicircum{}").replace("~", r"\textasciitilde{}")


def _verbatim(text: str) -> str:
    return re.sub(r"[\\{}]", "", text)
