"""The board's curves: a learner's colour is that of reports, and lines below others are wider."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from matplotlib.figure import Figure
from nsl_bench.leaderboard.site.build import _slots
from nsl_bench.leaderboard.site.charts import Curve

from nsl_bench.report.curves import Series, draw_series
from nsl_bench.report.style import COLOURS, learner_slots

LINE = ((0.0, 0.5, 0.0), (50.0, 0.5, 0.0), (100.0, 0.5, 0.0))


def entry(slug: str, learner: str, network: str = "softmax", track: str = "pretrained") -> Any:
    """As much of an entry as its style needs."""
    return SimpleNamespace(slug=slug, manifest=SimpleNamespace(learner=learner), network=network, track=track)


def test_an_entry_has_the_colour_that_its_learner_has_in_reports() -> None:
    entries = [
        entry("forest", "random_forest"),
        entry("theirs", "theirs.py:Learner"),
        entry("ffnsl", "ffnsl:time_limit=600"),
        entry("ffnsl-edl", "ffnsl:time_limit=600", "edl_gen"),
        entry("truth", "fcn", "", "symbolic"),
    ]
    slots = _slots(SimpleNamespace(entries=entries))  # type: ignore[arg-type]
    reports = learner_slots(["random_forest", "theirs.py:Learner", "ffnsl"])
    assert slots["forest"] == reports["random_forest"] and slots["theirs"] == reports["theirs.py:Learner"]
    assert {slots["ffnsl"], slots["ffnsl-edl"]} == {reports["ffnsl"], reports["ffnsl"] + len(COLOURS)}
    assert "truth" not in slots


def test_lines_on_top_of_each_other_are_wider_below() -> None:
    series = [Series("a in the paper", LINE, 0, True), *(Series(str(k), LINE, k) for k in (0, 1, 9))]
    lines = draw_series(Figure().add_subplot(), series, unit=True, logarithmic=False)
    widths = [line.get_linewidth() for line in lines]
    assert widths[1] > widths[2] > widths[3] == widths[0], "published lines hide none"
    assert lines[0].get_linestyle() == "--" != lines[1].get_linestyle()
    assert lines[0].get_markerfacecolor() == "white" and lines[0].axes.lines[-1] is lines[0]


def test_the_legend_of_a_picture_hides_no_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Figure] = []
    save = Figure.savefig
    monkeypatch.setattr(
        Figure, "savefig", lambda figure, *a, **k: seen.append(figure) or save(figure, *a, **k)
    )
    series = [Series(f"a learner with a long title {k} " * 4, LINE, k) for k in range(9)]
    Curve("noir", "framework_accuracy", "sudoku", series, tmp_path / "curve").draw()
    (figure,) = set(seen)
    legend, axis = figure.legends[0].get_window_extent(), figure.axes[0].get_window_extent()
    assert legend.y0 >= figure.bbox.y0 and legend.x1 <= figure.bbox.x1
    assert legend.y1 < axis.y0 - 20, "the axis's own label stands between them"
