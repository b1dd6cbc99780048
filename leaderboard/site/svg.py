"""Curves over the share of shifted examples, and critical-difference plots, as SVG in the page.

Series differ in colour, in marker and in the order of the legend; colours are CSS variables, so that dark
mode has its own. Published curves are dashed. A page with curves holds their markers once (`marks`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from nsl_bench.report.line_styles import COLOURS, DASHES, coincidences, marker_index

__all__ = ["Series", "critical_difference", "curve", "marks", "swatch"]

_WIDTH, _HEIGHT = 560.0, 320.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 62.0, 18.0, 12.0, 46.0
_DEEPEST = 5
_MOST = 1e300
"""The upper end of a logarithmic axis, whatever the values."""

_MARKS = (
    "M-4,0a4,4 0 1,0 8,0a4,4 0 1,0 -8,0Z",
    "M-3.6,-3.6H3.6V3.6H-3.6Z",
    "M0,-4.6L4.2,3.4H-4.2Z",
    "M0,-5L5,0L0,5L-5,0Z",
    "M0,4.6L4.2,-3.4H-4.2Z",
    "M-4.4,-1.5H-1.5V-4.4H1.5V-1.5H4.4V1.5H1.5V4.4H-1.5V1.5H-4.4Z",
    "M-4.5,-3L-3,-4.5L0,-1.5L3,-4.5L4.5,-3L1.5,0L4.5,3L3,4.5L0,1.5L-3,4.5L-4.5,3L-1.5,0Z",
    "M0,-5L1.5,-1.5L5,-1.5L2.2,0.8L3.2,4.6L0,2.3L-3.2,4.6L-2.2,0.8L-5,-1.5L-1.5,-1.5Z",
)


@dataclass(frozen=True)
class Series:
    """A line of a curve picture.

    Attributes:
        title: what the legend says.
        points: percentage, mean and standard error, by percentage.
        style: the slot of colour, marker and dashes (`nsl_bench.report.line_styles`).
        published: whether it is from a paper: dashed, with hollow markers.
    """

    title: str
    points: tuple[tuple[float, float, float], ...]
    style: int
    published: bool = False


def _ticks(low: float, high: float, logarithmic: bool) -> list[float]:
    if logarithmic:
        first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
        found = [10.0**k for k in range(first, last + 1, -(-(last - first) // 8) or 1)]
        return [tick for tick in found if low * 0.999 <= tick <= high * 1.001] or [low, high]
    step = 10 ** math.floor(math.log10((high - low) / 3))
    step *= next(k for k in (1, 2, 5, 10) if (high - low) / (step * k) <= 6)
    first = math.ceil(low / step - 1e-9)
    return [k * step for k in range(first, math.floor(high / step + 1e-9) + 1)]


def _range(series: Sequence[Series], unit: bool, logarithmic: bool) -> tuple[float, float]:
    if unit:
        return 0.0, 1.0
    low = min(mean - error for s in series for _, mean, error in s.points)
    high = max(mean + error for s in series for _, mean, error in s.points)
    if logarithmic:
        low = min(max(min(mean for s in series for _, mean, _ in s.points), 1e-3), _MOST / 10)
        high = min(max(high, low * 2), _MOST)
        return 10.0 ** math.floor(math.log10(low)), 10.0 ** math.ceil(math.log10(high))
    return min(low, 0.0), high + 0.05 * (high - min(low, 0.0) or 1.0)


def _number(value: float) -> str:
    return f"{value:g}" if abs(value) < 1e5 else f"{value:.0e}"


def marks() -> Markup:
    """The markers, which curves and legends of the same page refer to."""
    shapes = [Markup('<path id="mark{}" d="{}"/>').format(k, mark) for k, mark in enumerate(_MARKS)]
    return Markup('<svg class="marks" width="0" height="0" aria-hidden="true"><defs>{}</defs></svg>').format(
        Markup("").join(shapes)
    )


def swatch(style: int, published: bool = False) -> Markup:
    """A legend's sample of a line.

    Args:
        style: number of the line's style.
        published: whether it is a paper's figure, which is dashed.
    """
    kind = "published" if published else "measured"
    return Markup(
        '<svg class="swatch {} {}" width="34" height="14" viewBox="0 0 34 14" aria-hidden="true">'
        '<path class="line" d="M0,7H34"/><use href="#mark{}" x="17" y="7"/></svg>'
    ).format(_classes(style), kind, marker_index(style))


def _classes(style: int) -> str:
    """The classes that colour and dash a line of a style."""
    cycle = style // len(COLOURS) % len(DASHES)
    return f"s{style % len(COLOURS)}" + (f" c{cycle}" if cycle else "")


def curve(series: Sequence[Series], title: str, unit: bool = False, logarithmic: bool = False) -> Markup:
    """One metric over the share of shifted examples; bands are one standard error of the mean.

    Args:
        series: lines; those without points are left out.
        title: of the vertical axis, also what a screen reader says.
        unit: whether values lie between 0 and 1.
        logarithmic: whether the vertical axis is.
    """
    shown = [s for s in series if any(mean > 0 or not logarithmic for _, mean, _ in s.points)]
    if not shown:
        return Markup("")
    low, high = _range(shown, unit, logarithmic)
    bottom = _HEIGHT - _BOTTOM

    def x(percent: float) -> float:
        return round(_LEFT + percent / 100 * (_WIDTH - _LEFT - _RIGHT), 1)

    def y(value: float) -> float:
        if logarithmic:
            share = math.log(max(value, low) / low) / math.log(high / low)
        else:
            share = (value - low) / (high - low)
        return round(bottom - min(max(share, -0.02), 1.02) * (bottom - _TOP), 1)

    parts: list[Markup] = []
    for tick in _ticks(low, high, logarithmic):
        parts.append(
            Markup(
                '<path class="grid" d="M{},{}H{}"/><text x="{}" y="{}" text-anchor="end">{}</text>'
            ).format(_LEFT, y(tick), _WIDTH - _RIGHT, _LEFT - 6, y(tick) + 4, _number(tick))
        )
    for percent in range(0, 101, 20):
        parts.append(
            Markup(
                '<path class="grid" d="M{},{}V{}"/><text x="{}" y="{}" text-anchor="middle">{}</text>'
            ).format(x(percent), _TOP, bottom, x(percent), bottom + 18, percent)
        )
    parts.append(
        Markup('<text x="{}" y="{}" text-anchor="middle">share of shifted examples (%)</text>').format(
            (_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 6
        )
    )
    drawn = sorted(shown, key=lambda s: s.published)
    values = [{p: m for p, m, _ in s.points} for s in drawn if not s.published]
    hidden = [*coincidences(values, low, high, logarithmic=logarithmic), *(0 for _ in drawn[len(values) :])]
    parts += [_line(s, x, y, min(depth, _DEEPEST)) for s, depth in zip(drawn, hidden, strict=True)]
    return Markup('<svg class="curve" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>').format(
        int(_WIDTH),
        int(_HEIGHT),
        f"{title} over the share of shifted examples, {len(shown)} lines; the table below has the numbers",
        Markup("").join(parts),
    )


def _line(s: Series, x: object, y: object, depth: int) -> Markup:
    """A line; with lines on top of it (`depth`) it is wider, so that it shows beside them."""
    at_x, at_y = x, y
    points = [(at_x(p), at_y(m), at_y(m - e), at_y(m + e)) for p, m, e in s.points]  # type: ignore[operator]
    path = "M" + "L".join(f"{a},{b}" for a, b, _, _ in points)
    band = "M" + "L".join(f"{a},{c}" for a, _, _, c in points)
    band += "L" + "L".join(f"{a},{b}" for a, _, b, _ in reversed(points)) + "Z"
    marks = Markup("").join(
        Markup('<use href="#mark{}" x="{}" y="{}"><title>{}</title></use>').format(
            marker_index(s.style), a, b, f"{s.title}, {p:g} %: {m:.4g} ± {e:.2g}"
        )
        for (a, b, _, _), (p, m, e) in zip(points, s.points, strict=True)
    )
    return Markup('<g class="{} {}{}" data-series="{}">{}<path class="line" d="{}"/>{}</g>').format(
        _classes(s.style),
        "published" if s.published else "measured",
        f" d{depth}" if depth else "",
        s.title,
        Markup('<path class="band" d="{}"/>').format(band) if any(e for _, _, e in s.points) else "",
        path,
        marks,
    )


def critical_difference(
    names: Sequence[str], ranks: Sequence[float], groups: Sequence[Sequence[int]], title: str
) -> Markup:
    """Mean ranks on a line, best on the left; a bar joins those that do not differ.

    A bar has a dot at each learner of its group, for it can pass one that is not of it: groups are
    neighbours by mean, and that need not be their order by mean rank.

    Args:
        names: of the learners.
        ranks: their mean ranks, 1 is best.
        groups: indices of learners of which no two differ.
        title: what a screen reader says.
    """
    n = len(names)
    if n < 2:
        return Markup("")
    order = sorted(range(n), key=lambda k: ranks[k])
    half = (n + 1) // 2
    row, top = 22, 46 + 11 * len(groups)
    width, left, right = 640.0, 170.0, 170.0
    height = top + row * half + 12

    def x(rank: float) -> float:
        return round(left + (rank - 1) / max(n - 1, 1) * (width - left - right), 1)

    parts, bars = [Markup('<path class="axis" d="M{},30H{}"/>').format(x(1), x(n))], []
    step = max(1, -(-(n - 1) // 8))
    for tick in range(1, n + 1, step):
        parts.append(
            Markup(
                '<path class="axis" d="M{0},25V30"/><text x="{0}" y="18" text-anchor="middle">{1}</text>'
            ).format(x(tick), tick)
        )
    for level, group in enumerate(groups):
        places, height_of_it = sorted({x(ranks[k]) for k in group}), 40 + 11 * level
        bars.append(
            Markup('<g class="bar"><title>{}</title><path d="M{},{}H{}"/>{}</g>').format(
                "no significant difference: " + ", ".join(names[k] for k in group),
                places[0],
                height_of_it,
                places[-1],
                Markup("").join(
                    Markup('<circle cx="{}" cy="{}" r="4"/>').format(place, height_of_it) for place in places
                ),
            )
        )
    for place, k in enumerate(order):
        first = place < half
        line = top + row * (place if first else n - 1 - place) + 12
        end, anchor = (left - 12, "end") if first else (width - right + 12, "start")
        parts.append(
            Markup(
                '<path class="stem" d="M{},30V{}H{}"/><text x="{}" y="{}" text-anchor="{}">{} <tspan '
                'class="rank">{}</tspan></text>'
            ).format(
                x(ranks[k]),
                line,
                end,
                end + (-5 if first else 5),
                line + 4,
                anchor,
                _cut(names[k]),
                f"{ranks[k]:.2f}",
            )
        )
    return Markup('<svg class="cd" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>').format(
        int(width), height, escape(title), Markup("").join([*parts, *bars])
    )


def _cut(name: str) -> str:
    return name if len(name) <= 20 else f"{name[:19]}…"
