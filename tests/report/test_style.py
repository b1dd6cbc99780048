"""A learner looks the same everywhere, and lines that coincide are all seen."""

from itertools import combinations
from pathlib import Path

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from nsl_bench.core import registry
from nsl_bench.report.style import (
    COLOURS,
    DASHES,
    PUBLISHED,
    coincidences,
    colour_of,
    dashes_of,
    emphasis,
    heading,
    learner_slots,
    legend,
    line_slots,
    marker_of,
    save,
    subplots,
)


def test_a_learner_of_the_package_has_its_colour_among_any_others() -> None:
    known = ["ffnsl", "random_forest", "fcn", "cnn_lstm", "random_forest_knowledge", "rules", "majority"]
    assert set(known) < set(registry.names("learner"))
    alone = {name: learner_slots([name])[name] for name in known}
    assert len(set(alone.values())) == len(known)
    many = learner_slots([*known, "ours.py:A", "theirs.py:B", "tuned:fcn", "x", "y", "z"])
    assert {name: many[name] for name in known} == alone
    assert len(set(many.values())) == len(many)


def test_another_learner_keeps_its_colour_and_its_time_limit_does_not_count() -> None:
    alone = learner_slots(["mine.py:Mine"])["mine.py:Mine"]
    assert alone == learner_slots(["ffnsl", "fcn", "mine.py:Mine"])["mine.py:Mine"] or alone in (0, 2)
    limited = "ffnsl:time_limit=600"
    assert learner_slots([limited]) == {limited: learner_slots(["ffnsl"])["ffnsl"]}
    assert learner_slots(["b", "a"]) == learner_slots(["a", "b"])


def test_networks_of_a_learner_differ_in_marker_and_dashes_alone() -> None:
    slots = line_slots([("ffnsl", network) for network in ("softmax", "edl_gen", "ensemble", "mc_dropout")])
    assert {slot % len(COLOURS) for slot in slots.values()} == {0} and slots["ffnsl", "softmax"] == 0
    looks = {(marker_of(slot), dashes_of(slot)) for slot in slots.values()}
    assert len(looks) == 4 and len({colour_of(slot) for slot in slots.values()}) == 4


def test_no_two_of_thirty_lines_look_alike_and_none_like_published_ones() -> None:
    slots = line_slots([(f"learner {k}",) for k in range(30)]).values()
    assert len({(colour_of(slot), marker_of(slot)) for slot in slots}) == 30
    assert PUBLISHED not in DASHES


def luminance(colour: str) -> float:
    """Relative luminance (WCAG) of ``#RRGGBB``."""
    parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def as_seen(colour: str) -> tuple[float, float]:
    """A colour as somebody without red or green receptors sees it, roughly: luminance, yellow to blue."""
    red, green, blue = (int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5))
    return luminance(colour), (red + green) / 2 - blue


def test_colours_are_told_apart_without_red_and_green() -> None:
    for one, other in combinations(COLOURS, 2):
        (a, b), (c, d) = as_seen(one), as_seen(other)
        assert abs(a - c) + abs(b - d) > 0.07, (one, other)


def test_lines_below_others_are_drawn_wider() -> None:
    flat, falling, near = {0: 0.5, 50: 0.5, 100: 0.5}, {0: 0.5, 50: 0.3, 100: 0.1}, {0: 0.501, 50: 0.499}
    assert coincidences([flat, falling, near], 0, 1) == [1, 0, 0]
    assert coincidences([flat, flat, flat], 0, 1) == [2, 1, 0]
    assert coincidences([{0: 1.0}, {0: 1.0}], 1.0, 1.0) == [1, 0]
    assert coincidences([{0: 1.0, 1: 10.0}, {0: 1.0, 1: 10.1}], 1, 1000, logarithmic=True) == [1, 0]
    assert coincidences([{0: 1.0, 1: 10.0}, {0: 1.0, 1: 100.0}], 1, 1000, logarithmic=True) == [0, 0]
    assert coincidences([{0: 0.0}, {0: 5.0}], 1, 1000, logarithmic=True) == [0, 0]
    widths = [emphasis(depth)["linewidth"] for depth in range(8)]
    assert widths == sorted(widths) and widths[0] < widths[1] and widths[5] == widths[7]


@pytest.mark.parametrize("count", [2, 9])
@pytest.mark.parametrize("columns", [1, 3])
def test_a_legend_is_whole_and_hides_no_data(count: int, columns: int, tmp_path: Path) -> None:
    figure, axes = subplots(1, columns, figsize=(1.2 + 3.6 * columns, 3.4))
    entries = {}
    for k in range(count):
        name = f"my_methods.py:ALearnerWithAVeryLongName{k}:alpha=0.25,beta=large,gamma=0.125,delta=none"
        for axis in axes.flat:
            (entries[name],) = axis.plot([0, 100], [0, k])
    legend(figure, entries)
    heading(figure, "a title that goes on " * 8)
    save(figure, tmp_path / "figure.png")
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    renderer = canvas.get_renderer()
    page, made = figure.bbox, figure.legends[0].get_window_extent(renderer)
    assert page.x0 <= made.x0 and made.x1 <= page.x1 and page.y0 <= made.y0
    assert not any(made.overlaps(axis.get_window_extent(renderer)) for axis in axes.flat)
    top = figure._suptitle.get_window_extent(renderer)  # type: ignore[attr-defined]
    assert top.x0 >= page.x0 and top.x1 <= page.x1
    assert all(axis.get_window_extent(renderer).height > 60 for axis in axes.flat)
