"""The board's curves: a learner's colour is that of reports, and lines below others are wider."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from matplotlib.figure import Figure
from nsl_bench.leaderboard.site.build import _slots
from nsl_bench.leaderboard.site.svg import Series, curve, swatch
from nsl_bench.leaderboard.site.takeaway import CurvePicture, draw_curve

from nsl_bench.report.line_styles import COLOURS, learner_slots

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
    svg = str(curve([Series("a", LINE, 0), Series("b", LINE, 1), Series("c", LINE, 9)], "accuracy", True))
    assert 'class="s0 measured d2"' in svg and 'class="s1 measured d1"' in svg
    assert 'class="s1 c1 measured" data-series="c"' in svg and "c1" in str(swatch(9))
    paper = str(curve([Series("a", LINE, 0), Series("a in the paper", LINE, 0, True)], "accuracy", True))
    assert " d1" not in paper and paper.index("measured") < paper.index("published")


def test_the_legend_of_a_picture_hides_no_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Figure] = []
    save = Figure.savefig
    monkeypatch.setattr(
        Figure, "savefig", lambda figure, *a, **k: seen.append(figure) or save(figure, *a, **k)
    )
    series = [Series(f"a learner with a long title {k} " * 4, LINE, k) for k in range(9)]
    draw_curve(CurvePicture(series, "accuracy", "sudoku", True, False, tmp_path / "curve"))
    (figure,) = set(seen)
    legend, axis = figure.legends[0].get_window_extent(), figure.axes[0].get_window_extent()
    assert legend.y0 >= figure.bbox.y0 and legend.x1 <= figure.bbox.x1
    assert legend.y1 < axis.y0 - 20, "the axis's own label stands between them"
