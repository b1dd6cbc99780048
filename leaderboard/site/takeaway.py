"""Downloads of the site: tables as Markdown, CSV and LaTeX, and BibTeX."""

import re
from collections.abc import Iterable
from pathlib import Path

from nsl_bench.core.metrics import METRICS
from nsl_bench.report.escaping import Format, csv_text
from nsl_bench.report.published.papers import names, paper
from nsl_bench.report.tables import DEFAULT_METRICS, cell, summarise, tables
from nsl_bench.report.typeset import laid, written

from ..board import Board
from ..contests import Contest

FORMS: dict[str, Format] = {"md": "markdown", "csv": "csv", "tex": "latex"}
"""Endings of a table's files, and their forms."""


def write_tables(board: Board, contest: Contest, folder: Path) -> None:
    """Mean and standard error at every point of a contest that has entries, in each form."""
    folder.mkdir(parents=True, exist_ok=True)
    runs = board.frame(contest)
    metrics = [m for m in DEFAULT_METRICS if m in runs]
    table, made = summarise(runs, metrics), tables(runs, metrics)
    standing = {entry.title: entry.standing.word for entry in board.of(contest)}
    texts = {"csv": csv_text(table.assign(standing=table["learner"].map(standing)))}
    texts |= {ending: written(made, form) for ending, form in FORMS.items() if ending != "csv"}
    for ending, text in texts.items():
        (folder / f"{contest.name}.{ending}").write_text(text, encoding="utf-8")


def write_areas(board: Board, folder: Path) -> None:
    """Write the overview's table, means over shares, in each form."""
    import pandas as pd

    rows, cells = [], []
    for contest in board.contests:
        for track in board.tracks(contest):
            for entry in board.of(contest, track):
                about: dict[str, object] = {
                    "contest": contest.name,
                    "track": track,
                    "ranks": str(board.rank(entry, contest)),
                    "learner": entry.title,
                    "network": entry.network,
                    "standing": entry.standing.word,
                }
                if failures := entry.failures(contest):
                    about["failed runs"] = failures
                    about["accuracy without failed runs"] = entry.succeeded(contest, board.main_metric(track))
                areas = {metric: board.area(entry, contest, metric) for metric in board.areas_of(contest)}
                defined = {metric: area for metric, area in areas.items() if area is not None}
                numbers: dict[str, object] = {}
                for metric, area in defined.items():
                    numbers |= {metric: area.mean, f"{metric}_std_err": area.std_err}
                rows.append({**about, **numbers})
                cells.append(
                    {**about, **{METRICS[m].title: cell(a.mean, a.std_err, m) for m, a in defined.items()}}
                )
    folder.mkdir(parents=True, exist_ok=True)
    table = pd.DataFrame(cells).fillna("")
    texts = {
        "md": written([laid("All contests", table)], "markdown"),
        "tex": written([laid("All contests", table)], "latex"),
        "csv": csv_text(pd.DataFrame(rows)),
    }
    for ending, text in texts.items():
        (folder / f"overview.{ending}").write_text(text, encoding="utf-8")


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
