"""Build the static site: contents of the pages, and files.

Pages are made from templates. Submitters' texts are autoescaped or stored as JSON in separate script files.
Paths are relative, so the site works from a folder as well as from a server.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.metadata import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nsl_bench import __version__
from nsl_bench.core.errors import UserError, counted
from nsl_bench.core.metrics import METRICS
from nsl_bench.core.workers import spread
from nsl_bench.report.curves import Series, points_of
from nsl_bench.report.published.papers import ffnsl2023, paper
from nsl_bench.report.style import learner_slots, line_slots
from nsl_bench.run.sampled import task_named

from ..board import FRONT, Board
from ..comparing import Difference
from ..contests import Contest
from ..entries import Entry
from ..likeness import Answers, likenesses
from ..score_report import COMPARED
from ..submission import slug
from . import takeaway
from .charts import Curve, Front, write_charts
from .examples import sample_of, write_pictures
from .learners import SmallCurve, write_learner, write_learners
from .pages import learner_page, rows_of, with_values
from .rundata import Samples, test_numbers, write_runs, write_script, write_test
from .supervision import given

if TYPE_CHECKING:
    from jinja2 import Environment

_HERE = Path(__file__).parent
_MOST_LINES = 8
_MOST_DOTS = 24
_RARE = 0.25
"""A metric that no larger share of a contest's learners has stands in a table of its own."""

_CHUNK = 6
_FEW = 4
"""Up to so many chunks of work more processes are not worth their start."""

_MARK = "nsl-bench-site"
_LIKENESS = "<!-- likeness -->"
"""Where a page gets it, once the predictions of all entries were read; no text of others has a ``<``."""


def build_site(board: Board, out: Path, *, pictures: bool = True, workers: int = 1) -> int:
    """Write the site.

    Args:
        out: folder of the site; an older site there is replaced at the end, other files are kept.
        pictures: whether to draw every chart as PNG, SVG and PDF; pages without scripts show the SVG.
        workers: number of processes; the site does not depend on it.

    Returns:
        The number of files.
    """
    try:
        _check(out)
        out.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(
            prefix=f".{out.name[:60]}-", dir=out.parent, ignore_cleanup_errors=True
        ) as beside:
            new = Path(beside, "new")
            new.mkdir()
            (new / _MARK).write_text(f"{__version__}\n", encoding="utf-8")
            written = _build(board, new, pictures, workers)
            _swap(new, out, Path(beside, "old"))
        return written
    except OSError as error:
        raise UserError(f"The site cannot be written to {out}: {error.strerror}.") from error


def _check(out: Path) -> None:
    if out.is_symlink():
        raise UserError(f"--out: {out} is a symbolic link; name the folder that it points to.")
    if Path.cwd().is_relative_to(out.resolve()):
        raise UserError(f"--out: {out} contains the current folder; name a folder that is new or empty.")
    if out.exists() and (not out.is_dir() or (any(out.iterdir()) and not (out / _MARK).is_file())):
        raise UserError(f"--out: {out} already exists and is not a site; name a folder that is new or empty.")


def _swap(new: Path, out: Path, old: Path) -> None:
    """Put a folder in the place of another, which is kept as `old`."""
    if out.exists():
        out.rename(old)
    try:
        new.rename(out)
    except BaseException:
        if old.exists():
            old.rename(out)
        raise


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = _number
    environment.filters["points"] = _points
    told = (line.split(", ", 1) for line in metadata("nsl-bench").get_all("Project-URL", []))
    links = {name.lower(): address for name, address in told}
    environment.globals.update(
        metrics=METRICS, version=__version__, tables=tuple(takeaway.FORMS), links=links, counted=counted
    )
    return environment


def _number(value: float | None, metric: str) -> str:
    if value is None or value != value:
        return "\N{EN DASH}"
    return f"{value:,.{METRICS[metric].digits}f}"


def _points(difference: Difference | None) -> str:
    """A difference in hundredths of 1, with its interval, where there is one."""
    if difference is None:
        return "\N{EN DASH}"
    mean, low, high = (100 * value for value in (difference.mean, difference.low, difference.high))
    return f"{mean:+.1f}" if low != low else f"{mean:+.1f} ({low:+.1f} to {high:+.1f})"


def _build(board: Board, out: Path, pictures: bool, workers: int) -> int:
    pages = _Pages(board, out)
    page = pages.write
    shutil.copytree(_HERE / "static", out / "static")
    with_entries = [contest for contest in board.contests if board.of(contest)]
    takeaway.write_areas(board, out / "data/tables")
    (out / "data/nsl-bench.bib").write_text(takeaway.bibtex(board), encoding="utf-8")
    endings = ("csv", *(("png", "svg", "pdf") if pictures else ()))
    write_learners(board, out / "data/learners.js")
    for template in ("run.html", "compare.html"):
        page(template, template)
    page("about.html", "about.html", contests=with_entries, paper=paper("ffnsl2023"))
    drawn: list[Curve | Front] = []
    views = []
    for contest in with_entries:
        charts, view = _task_page(pages, contest, endings)
        drawn += charts if pictures else []
        views.append(view)
    page("index.html", "index.html", view="".join(views[:1]), compared=COMPARED, contests=with_entries)
    rest = [*range(len(board.entries)), *drawn]
    chunks = [[contest] for contest in with_entries] + [
        rest[k : k + _CHUNK] for k in range(0, len(rest), _CHUNK)
    ]
    samples = {
        (c.name, number): sample_of(board, c, number, out / "pictures")
        for c in with_entries
        for number in test_numbers(c)
    }
    # Here, where the networks are loaded and the examples made already, not in every process again.
    told = {e.slug: {c.name: given(e, c) for c in with_entries if c.name in e.values} for e in board.entries}
    shared, answers = (board, out, samples, told, _slots(board)), dict[str, Answers]()
    for read in spread(_write, shared, chunks, workers if len(chunks) > _FEW else 1):
        answers |= read
    for name, likeness in likenesses(board, answers).items():
        path = out / f"learner/{name}.html"
        text = pages.text("likeness.html", likeness=likeness)
        path.write_text(path.read_text(encoding="utf-8").replace(_LIKENESS, text), encoding="utf-8")
    return sum(path.is_file() for path in out.rglob("*"))


def _task_page(pages: _Pages, contest: Contest, endings: Sequence[str]) -> tuple[list[Curve | Front], str]:
    """Write a contest's page, and its views for the front page.

    Returns:
        The charts whose pictures are to be drawn, and the view of the main metric, as HTML.
    """
    board, folder = pages.board, pages.out / "data/curves"
    curves = list(_curves(board, contest, folder))
    tracks = [_pareto(board, contest, track, folder) for track in board.tracks(contest)]
    charts = [*curves, *(track["chart"] for track in tracks if track["chart"])]
    write_charts(contest.name, charts, folder)
    metrics = board.areas_of(contest)
    rows = rows_of(board, contest, metrics)
    pages.write(
        "contest.html",
        f"benchmark/{contest.name}.html",
        contest=contest,
        areas=with_values(metrics, rows, _RARE),
        rare=[m for m in with_values(metrics, rows) if m not in with_values(metrics, rows, _RARE)],
        task=task_named(contest.task),
        tested=task_named(contest.tested),
        rows=rows,
        reference=board.reference(contest),
        tracks=tracks,
        kept_out=board.kept_out(contest),
        curves=curves,
        chart_files=endings,
        pictures=write_pictures(contest, pages.out / "pictures"),
        paper=paper("ffnsl2023"),
    )
    (story, view), *_ = [_view(pages, contest, metric, endings) for metric in COMPARED]
    return [*charts, *([story] if story else [])], view


def _view(pages: _Pages, contest: Contest, metric: str, endings: Sequence[str]) -> tuple[Curve | None, str]:
    """What the front page shows of a contest and a metric, its curve and HTML, which is also written."""
    board, folder = pages.board, pages.out / "data/curves"
    main = metric == COMPARED[0]
    story = _story(board, contest, folder, metric)
    rows = rows_of(board, contest, metric="" if main else metric)
    html = pages.text(
        "view.html",
        contest=contest,
        metric=metric,
        story=story,
        rows=rows,
        areas=with_values((COMPARED[0], *COMPARED[2:], "atoms", "learning_time"), rows),
        chart_files=endings if main else endings[:1],
    )
    write_charts(f"{contest.name}-story-{metric}", [story] if story else [], folder)
    write_script(pages.out / f"data/views/{contest.name}-{metric}.js", "view", html)
    return story, html


class _Pages:
    """Writes pages of the site."""

    def __init__(self, board: Board, out: Path) -> None:
        self.board, self.out, self._environment = board, out, _environment()
        # The site is made in a folder beside its own; objects.inv is what every site of Sphinx has.
        self._in_docs = (out.parents[1] / "objects.inv").is_file()

    def write(self, template: str, path: str, **values: Any) -> None:
        """Write a page; values are what its template speaks of."""
        target = self.out / path
        target.parent.mkdir(parents=True, exist_ok=True)
        text = self.text(template, root="../" * path.count("/"), **values)
        target.write_text(text, encoding="utf-8")

    def text(self, template: str, root: str = "", **values: Any) -> str:
        """A page, or a part of one, as HTML; `root` leads to the site's folder."""
        values |= {"root": root, "board": self.board, "in_docs": self._in_docs}
        return self._environment.get_template(template).render(values)


_Shared = tuple[Board, Path, Samples, Mapping[str, Mapping[str, dict[str, object]]], Mapping[str, int]]
"""Board, folder and samples; by slug of the entry: supervision, and style of lines."""


def _write(shared: _Shared, work: Sequence[Contest | int | Curve | Front]) -> dict[str, Answers]:
    """Tables of contests, pages and runs of entries (given by their place), and the pictures of charts.

    Returns:
        The labels that entries predict, by slug.
    """
    board, out, samples, *_ = shared
    pages, answers = _Pages(board, out), {}
    for item in work:
        if isinstance(item, Curve | Front):
            item.draw()
        elif isinstance(item, Contest):
            takeaway.write_tables(board, item, out / "data/tables")
            write_test(item, out / f"data/test/{item.name}.js", samples)
        else:
            answers[board.entries[item].slug] = _write_entry(pages, board.entries[item], shared)
    return answers


def _write_entry(pages: _Pages, entry: Entry, shared: _Shared) -> Answers:
    board, _, samples, given_to, slots = shared
    told = given_to[entry.slug]
    mine = [contest for contest in board.contests if contest.name in entry.values]
    submitted = entry.submitted()
    records = {contest.name: list(entry.records(contest, submitted)) for contest in mine}
    contests = [learner_page(board, entry, c, records[c.name], submitted, told[c.name]) for c in mine]
    pages.write(
        "learner.html",
        f"learner/{entry.slug}.html",
        entry=entry,
        contests=contests,
        given=told,
        curves=list(SmallCurve.all_of(board, entry, slots)),
    )
    write_learner(board, entry, contests, slots.get(entry.slug, 0), pages.out / "data/learner")
    runs = [(contest, [record for _, record in records[contest.name]]) for contest in mine]
    return write_runs(entry, runs, pages.out / "data/runs" / entry.slug, samples)


def _pareto(board: Board, contest: Contest, track: str, folder: Path) -> dict[str, Any]:
    """A track's Pareto front on a contest's page."""
    weighed = (board.main_metric(track), *FRONT)
    fronts = [
        {"entry": e, "on": on, "means": {m: _mean(board, e, contest, m) for m in weighed}}
        for e, on in board.front(contest, track)
    ]
    chart = _front(contest, track, fronts[:_MOST_DOTS], weighed, folder) if len(fronts) > 1 else None
    return {"name": track, "weighed": weighed, "front": fronts, "chart": chart}


def _front(
    contest: Contest, track: str, fronts: Sequence[dict[str, Any]], weighed: Sequence[str], folder: Path
) -> Front:
    ranked, atoms, seconds = weighed
    dots = [
        (
            f"{each['entry'].title} ({_number(each['means'][seconds], seconds)} s)",
            each["means"][ranked],
            each["means"][atoms],
            each["on"],
        )
        for each in fronts
    ]
    base = folder / f"{contest.name}-front-{track}"
    return Front((ranked, atoms), f"{contest.benchmark}, track {track}", dots, base)


def _mean(board: Board, entry: Entry, contest: Contest, metric: str) -> float:
    area = board.area(entry, contest, metric)
    return -1.0 if area is None else area.mean


def _curves(board: Board, contest: Contest, folder: Path) -> Iterator[Curve]:
    """The curves of a contest: each of its metrics over each shift."""
    first = _chosen(board, contest)
    entries = list(dict.fromkeys([*first, *_by_accuracy(board, contest)[:_MOST_LINES]]))
    slots = _slots(board)
    published = ffnsl2023(contest.benchmark)
    shown = [e.title for e in first]
    for shift in contest.shifts:
        for metric in board.areas_of(contest):
            series = [Series(e.title, tuple(e.curve(contest, shift, metric)), slots[e.slug]) for e in entries]
            series += _published(published, contest, shift, metric, [(e, slots[e.slug]) for e in entries])
            series = [s for s in series if s.points]
            base = folder / f"{contest.name}-{slug(shift)}-{metric}"
            if series:
                yield Curve(shift, metric, f"{contest.benchmark}, shift {shift}", series, base, shown)


def _story(board: Board, contest: Contest, folder: Path, metric: str) -> Curve | None:
    """The front page's curve of a contest and a metric."""
    slots, shift = _slots(board), contest.shifts[0]
    points = {e: tuple(e.curve(contest, shift, metric)) for e in _chosen(board, contest)}
    series = [Series(e.title, line, slots[e.slug]) for e, line in points.items() if line]
    base = folder / f"{contest.name}-story-{metric}"
    return Curve(shift, metric, f"{contest.benchmark}, shift {shift}", series, base) if series else None


def _by_accuracy(board: Board, contest: Contest) -> list[Entry]:
    """The entries on images that have all runs of a contest, the best first."""
    entries = [e for e in board.of(contest) if e.track != "symbolic" and e.whole(contest)]
    return sorted(entries, key=lambda e: -_mean(board, e, contest, COMPARED[0]))


def _chosen(board: Board, contest: Contest) -> list[Entry]:
    """The lines that are shown at first: FFNSL, the best learners of two kinds, and the majority class."""
    entries = _by_accuracy(board, contest)
    majority = _first(e for e in entries if e.manifest.learner == "majority")
    others = [e for e in entries if not e.is_ours and not e.manifest.told_the_answer and e is not majority]
    best = [_first(e for e in others if e.track == track) for track in ("pretrained", "end_to_end")]
    chosen = (board.reference(contest), *best, majority)
    return list(dict.fromkeys(e for e in chosen if e is not None))


def _first(entries: Iterator[Entry]) -> Entry | None:
    return next(entries, None)


def _slots(board: Board) -> dict[str, int]:
    """The style of each entry's lines: that of its learner, on all pages and in reports alike."""
    lines = {
        e.slug: (e.manifest.learner, e.network, e.track, e.slug)
        for e in board.entries
        if e.track != "symbolic"
    }
    slots = line_slots(lines.values())
    return {name: slots[line] for name, line in lines.items()}


def _published(
    table: Any, contest: Contest, shift: str, metric: str, entries: Sequence[tuple[Entry, int]]
) -> list[Series]:
    """The paper's curves of FFNSL and of the learners that are shown, in their colours."""
    theirs = contest.paper.get(shift)
    if theirs is None or table.empty:
        return []
    rows = table[
        (table["size"] == contest.size)
        & (table["network"] == "softmax")
        & (table["penalties"] != "constant")
        & (table["metric"] == metric)
        & table["shift"].isin(["standard", theirs])
    ]
    # A time limit makes no other learner, any other option does.
    styles = {
        re.sub(r":time_limit=[\d.]+$", "", entry.manifest.learner): (slot, entry.title)
        for entry, slot in reversed(entries)
        if entry.network == "softmax"
    }
    styles.setdefault("ffnsl", (learner_slots(["ffnsl"])["ffnsl"], "ffnsl"))
    result = []
    for learner, (style, title) in styles.items():
        mine = rows[rows["learner"] == learner]
        result.append(Series(f"{title} in the paper", points_of(mine), style, published=True))
    return sorted(result, key=lambda series: series.style)
