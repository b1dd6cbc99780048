"""Charts of the site: a CSV file each, which its script draws, and pictures, shown where scripts are off."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nsl_bench.core.metrics import METRICS
from nsl_bench.report.curves import Series, draw_series
from nsl_bench.report.escaping import csv_text, in_picture
from nsl_bench.report.style import COLOURS, wrapped

from .rundata import write_script

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

_METADATA: dict[str, dict[str, None] | None] = {
    "png": None,
    "svg": {"Date": None},
    "pdf": {"CreationDate": None},
}
"""Endings of a chart's pictures; no dates, so that the same chart gives the same bytes."""

_WIDTH, _HEIGHT = 5.2, 3.2
"""Of a curve's picture without its legend, inches."""

_INCHES_A_LINE, _LETTERS = 0.145, 84
"""Of the legend."""

_LONGEST = 24
_LEAST, _MOST = 1e-6, 1e12
"""The ends of a front's horizontal axis, whatever the values."""


@dataclass(frozen=True)
class Curve:
    """The lines of a metric over the share of shifted examples.

    Attributes:
        series: the lines; a slot of colour, marker and dashes each (`nsl_bench.report.style`).
        base: path of the files, without an ending.
        shown: titles of the lines that are shown at first, and in pictures; empty: all.
    """

    shift: str
    metric: str
    heading: str
    series: Sequence[Series]
    base: Path
    shown: Sequence[str] = ()

    @property
    def scale(self) -> str:
        """The vertical axis: ``"unit"`` from 0 to 1, ``"logarithmic"``, or ``"linear"``."""
        metric = METRICS[self.metric]
        return "logarithmic" if metric.logarithmic else "unit" if metric.bounds == (0.0, 1.0) else "linear"

    def table(self) -> pd.DataFrame:
        """A row a point."""
        import pandas as pd

        columns = ["line", "style", "published", "percent", "mean", "std_err"]
        rows = [
            (s.title, s.style, int(s.published), *(float(f"{value:.6g}") for value in point))
            for s in self.series
            for point in s.points
        ]
        return pd.DataFrame(rows, columns=columns)

    def draw(self) -> None:
        """Write the pictures: PNG, SVG and PDF."""
        from matplotlib.lines import Line2D

        # Margins of its own: matplotlib's layouts draw everything once more for each file.
        series = [s for s in self.series if s.title in self.shown] or self.series
        labels = [wrapped(s.title, _LETTERS) for s in series]
        below = _INCHES_A_LINE * sum(label.count("\n") + 1 for label in labels) + 0.1
        with _figure(self.base, (_WIDTH, _HEIGHT + below)) as figure:
            edges = (below + 0.14 * _HEIGHT, below + 0.91 * _HEIGHT)
            bottom, top = (edge / (_HEIGHT + below) for edge in edges)
            figure.subplots_adjust(left=0.12, right=0.98, bottom=bottom, top=top)
            axis = figure.add_subplot()
            unit, logarithmic = self.scale == "unit", self.scale == "logarithmic"
            lines: list[Line2D] = draw_series(axis, series, unit=unit, logarithmic=logarithmic)
            axis.set_xlabel("share of shifted examples (%)")
            axis.set_ylabel(METRICS[self.metric].title)
            axis.set_title(in_picture(self.heading), fontsize=9)
            place: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (0.1, 0.0), "borderaxespad": 0.2}
            drawn = figure.legend(lines, labels, fontsize=7, frameon=False, **place)
            for line in drawn.get_lines():
                line.set(linewidth=1.4, markersize=4.0, markeredgecolor=line.get_color())


@dataclass(frozen=True)
class Front:
    """A Pareto front: the metric that ranks over the atoms.

    Attributes:
        metrics: the metric that ranks, and the one of the horizontal axis.
        dots: title, values of the metrics, and whether the learner is on the front.
        base: path of the files, without an ending.
    """

    metrics: tuple[str, str]
    heading: str
    dots: Sequence[tuple[str, float, float, bool]]
    base: Path

    def table(self) -> pd.DataFrame:
        """A row a learner."""
        import pandas as pd

        rows = [(title, y, x, int(on)) for title, y, x, on in self.dots]
        return pd.DataFrame(rows, columns=["learner", *self.metrics, "on_front"])

    def draw(self) -> None:
        """Write the pictures: PNG, SVG and PDF."""
        with _figure(self.base, (6.4, 3.2)) as figure:
            figure.subplots_adjust(left=0.1, right=0.75, bottom=0.15, top=0.91)
            axis = figure.add_subplot()
            axis.set_xscale("log")
            places = [(min(max(x, _LEAST), _MOST), y) for _, y, x, _ in self.dots]
            fills = [COLOURS[0] if on else "white" for _, _, _, on in self.dots]
            xs, ys = zip(*places, strict=True)
            axis.scatter(xs, ys, c=fills, edgecolors=COLOURS[0], zorder=2)
            axis.set_xlabel(METRICS[self.metrics[1]].title)
            axis.set_ylabel(METRICS[self.metrics[0]].title)
            axis.set_title(in_picture(self.heading), fontsize=9)
            axis.grid(alpha=0.3)
            axis.autoscale_view()
            points = axis.transData.transform(places) * 72 / figure.dpi
            below = math.inf
            for k in sorted(range(len(points)), key=lambda k: -points[k][1]):
                below = min(points[k][1], below - 8)  # a name stands at its dot, or below the one above
                name = in_picture(_cut(self.dots[k][0]))
                offset = (6, below - points[k][1] - 2)
                axis.annotate(name, places[k], offset, textcoords="offset points", fontsize=7)


def write_charts(name: str, charts: Sequence[Curve | Front], folder: Path) -> None:
    """Write the CSV file of each chart of a page, and one script that hands over all of them."""
    folder.mkdir(parents=True, exist_ok=True)
    texts: Mapping[str, str] = {chart.base.name: csv_text(chart.table()) for chart in charts}
    for chart, text in texts.items():
        (folder / f"{chart}.csv").write_text(text, encoding="utf-8")
    write_script(folder / f"{name}.js", "charts", texts)


@contextmanager
def _figure(
    base: Path, size: tuple[float, float], endings: Sequence[str] = tuple(_METADATA)
) -> Iterator[Figure]:
    """A figure that is written, once drawn, in the formats of some endings."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib.figure import Figure

    settings: Any = {"svg.fonttype": "none", "svg.hashsalt": base.name, "pdf.fonttype": 42, "font.size": 9}
    with matplotlib.rc_context(settings), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)
        figure = Figure(figsize=size)
        yield figure
        base.parent.mkdir(parents=True, exist_ok=True)
        for ending in endings:
            figure.savefig(f"{base}.{ending}", dpi=110, metadata=_METADATA[ending])


def _cut(name: str) -> str:
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"
