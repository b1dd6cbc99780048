"""A Pareto front drawn as SVG into the page: one metric over another, learners on the front filled."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

__all__ = ["Dot", "scatter"]

_WIDTH, _HEIGHT = 640.0, 320.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 62.0, 150.0, 14.0, 46.0
_LONGEST = 24
_LINE = 13.0
_LEAST, _MOST = 1e-6, 1e12


@dataclass(frozen=True)
class Dot:
    """A learner in the picture.

    Attributes:
        title: its name, with what else is to be said.
        x: above 0, on a logarithmic axis.
        y: the metric that ranks.
        on: whether it is on the front.
    """

    title: str
    x: float
    y: float
    on: bool


def scatter(dots: Sequence[Dot], x_title: str, y_title: str) -> Markup:
    """Dots with their names, the horizontal axis logarithmic; no picture without dots.

    Args:
        dots: learners; an x of 0 stands at the left end.
        x_title, y_title: of the axes.
    """
    if not dots:
        return Markup("")
    places = [min(max(dot.x, _LEAST), _MOST) for dot in dots]
    first, last = math.floor(math.log10(min(places))), math.ceil(math.log10(max(places)))
    last = max(last, first + 1)
    low, high = min(dot.y for dot in dots), max(dot.y for dot in dots)
    room = 0.08 * (high - low) or 0.05
    low, high = low - room, high + room
    bottom = _HEIGHT - _BOTTOM

    def x(value: float) -> float:
        share = (math.log10(value) - first) / (last - first)
        return round(_LEFT + share * (_WIDTH - _LEFT - _RIGHT), 1)

    def y(value: float) -> float:
        return round(bottom - (value - low) / (high - low) * (bottom - _TOP), 1)

    parts = [_grid_down(x(10.0**k), bottom, f"{10.0**k:g}") for k in range(first, last + 1)]
    parts += [_grid_across(y(value), f"{value:.3g}") for value in (low + room, (low + high) / 2, high - room)]
    parts.append(
        Markup('<text x="{}" y="{}" text-anchor="middle">{}</text>').format(
            (_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 6, x_title
        )
    )
    at = [(x(place), y(dot.y)) for place, dot in zip(places, dots, strict=True)]
    for dot, (left, height), line in zip(dots, at, _lines([height for _, height in at]), strict=True):
        parts.append(
            Markup(
                '<g><title>{}</title><circle class="{}" cx="{}" cy="{}" r="4.5"/>'
                '<text class="name" x="{}" y="{}">{}</text></g>'
            ).format(
                dot.title, "on" if dot.on else "off-front", left, height, left + 9, line + 4, _cut(dot.title)
            )
        )
    label = f"{y_title} over {x_title}, {len(dots)} learners; the table below has the numbers"
    return Markup('<svg class="pareto" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>').format(
        int(_WIDTH), int(_HEIGHT), label, Markup("").join(parts)
    )


def _grid_down(x: float, bottom: float, text: str) -> Markup:
    return Markup(
        '<path class="grid" d="M{0},{1}V{2}"/><text x="{0}" y="{3}" text-anchor="middle">{4}</text>'
    ).format(x, _TOP, bottom, bottom + 18, text)


def _grid_across(y: float, text: str) -> Markup:
    return Markup('<path class="grid" d="M{},{}H{}"/><text x="{}" y="{}" text-anchor="end">{}</text>').format(
        _LEFT, y, _WIDTH - _RIGHT, _LEFT - 6, y + 4, text
    )


def _lines(heights: Sequence[float]) -> list[float]:
    """Where names stand: at their dots, moved down where they would cover the one above."""
    found = list(heights)
    before = -math.inf
    for k in sorted(range(len(heights)), key=lambda k: heights[k]):
        found[k] = before = max(heights[k], before + _LINE)
    return found


def _cut(name: str) -> str:
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"
