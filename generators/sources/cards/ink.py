"""Ink: filling shapes on a canvas, in whole numbers.

A shape is a list of closed rings of points. A canvas is 4 x 4 times finer than the picture it becomes;
points are rounded to a sixteenth of its pixels and filled by the non-zero winding rule with integer
arithmetic, so that a drawing has the same bytes on every machine and under every version of a library.
"""

import itertools
import math
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt
from PIL import Image

from nsl_bench.core.types import Bools, Floats, UInts8

Colour = tuple[int, int, int]
Points = npt.NDArray[np.float64]
Shape = list[Points]

_FINE = 4
_SUB = 16


def polygon(*points: tuple[float, float]) -> Shape:
    """A polygon from its corners (x, y)."""
    return [np.array(points, np.float64)]


def arc(x: float, y: float, rx: float, ry: float, start: float, end: float) -> list[tuple[float, float]]:
    """Points of an arc; angles in degrees, from the right, clockwise as seen."""
    steps = max(2, math.ceil(abs(end - start) / 9))
    angles = [math.radians(start + (end - start) * i / steps) for i in range(steps + 1)]
    return [(x + rx * math.cos(t), y + ry * math.sin(t)) for t in angles]


def ellipse(x: float, y: float, rx: float, ry: float | None = None) -> Shape:
    """An ellipse, or a circle if one radius is given."""
    return polygon(*arc(x, y, rx, rx if ry is None else ry, 0, 360)[:-1])


def rounded_box(left: float, top: float, right: float, bottom: float, radius: float) -> Shape:
    """A rectangle with rounded corners."""
    corners = (
        (right - radius, top + radius, -90),
        (right - radius, bottom - radius, 0),
        (left + radius, bottom - radius, 90),
        (left + radius, top + radius, 180),
    )
    return polygon(*(p for x, y, a in corners for p in arc(x, y, radius, radius, a, a + 90)))


def bezier(start: tuple[float, float], *curves: Sequence[float]) -> list[tuple[float, float]]:
    """Points of a chain of cubic curves, each (x1, y1, x2, y2, x, y)."""
    points = [start]
    for x1, y1, x2, y2, x3, y3 in curves:
        x0, y0 = points[-1]
        for i in range(1, 13):
            t, s = i / 12, 1 - i / 12
            w0, w1, w2, w3 = s * s * s, 3 * s * s * t, 3 * s * t * t, t * t * t
            points.append((w0 * x0 + w1 * x1 + w2 * x2 + w3 * x3, w0 * y0 + w1 * y1 + w2 * y2 + w3 * y3))
    return points


def path(text: str) -> list[tuple[float, float]]:
    """Points of a line that is written down.

    Its words are points ``x,y``, cubic curves from the point before, ``x1,y1,x2,y2,x,y``, and arcs,
    ``arc(x,y,rx,ry,start,end)``.
    """
    points: list[tuple[float, float]] = []
    for word in text.split():
        numbers = [float(number) for number in word.removeprefix("arc(").removesuffix(")").split(",")]
        if word.startswith("arc"):
            points += arc(*numbers)
        elif len(numbers) == 2:
            points.append((numbers[0], numbers[1]))
        else:
            points += bezier(points[-1], numbers)[1:]
    return points


def stroke(points: Sequence[tuple[float, float]], width: float) -> Shape:
    """A line of some width along points, with round joints."""
    shape: Shape = []
    for (x0, y0), (x1, y1) in itertools.pairwise(points):
        length = math.hypot(x1 - x0, y1 - y0)
        if length:
            nx, ny = (y1 - y0) / length * width / 2, (x0 - x1) / length * width / 2
            shape += polygon((x0 + nx, y0 + ny), (x1 + nx, y1 + ny), (x1 - nx, y1 - ny), (x0 - nx, y0 - ny))
    return [*shape, *(_DOT * (width / 2) + (x, y) for x, y in points)]


def placed(shape: Shape, x: float, y: float, sx: float, sy: float | None = None, turn: float = 0) -> Shape:
    """The shape scaled by sx, sy, turned clockwise by `turn` degrees and moved to (x, y)."""
    sy = sx if sy is None else sy
    c, s = math.cos(math.radians(turn)), math.sin(math.radians(turn))
    result = []
    for ring in shape:
        across, down = sx * ring[:, 0], sy * ring[:, 1]
        result.append(np.stack((x + c * across - s * down, y + s * across + c * down), axis=1))
    return result


def mirrored(points: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """The points mirrored at x = 0, in reverse order: the other half of a symmetric outline."""
    return [(-x, y) for x, y in points][::-1]


_DOT: Points = np.array([(math.cos(math.radians(t)), math.sin(math.radians(t))) for t in range(0, 360, 30)])
"""A dot of twelve corners, enough for the joint of a line."""


class Canvas:
    """A picture being drawn, in units of its own."""

    def __init__(self, pixels: tuple[int, int], units: tuple[float, float], colour: Colour) -> None:
        """An empty canvas.

        Args:
            pixels: (width, height) of the finished picture.
            units: (width, height) in the units that shapes are given in.
        """
        self.width, self.height = units
        self._scale = np.array([pixels[0] * _FINE * _SUB / units[0], pixels[1] * _FINE * _SUB / units[1]])
        self._colours = {colour: 0}
        self._fine = np.zeros((pixels[1] * _FINE, pixels[0] * _FINE), np.uint8)

    def fill(self, shape: Shape, colour: Colour) -> None:
        """Fill a shape; rings of the same sense unite, rings of the other sense cut holes."""
        filled = _winding(shape, self._scale, self._fine.shape)
        if filled is not None:
            rows, columns, inside = filled
            number = self._colours.setdefault(colour, len(self._colours))
            np.copyto(self._fine[rows, columns], np.uint8(number), where=inside)

    def outline(self, shape: Shape, width: float, colour: Colour) -> None:
        """Draw a line of some width along each ring."""
        for ring in shape:
            points = [(float(x), float(y)) for x, y in ring]
            self.fill(stroke([*points, points[0]], width), colour)

    def repeat_upside_down(self) -> None:
        """Make the lower half the upper half turned by 180 degrees."""
        half = self._fine.shape[0] // 2
        self._fine[-half:] = self._fine[:half][::-1, ::-1]

    def picture(self) -> UInts8:
        """uint8 [height, width, 3]: the finished picture."""
        fine = Image.fromarray(self._fine).convert("P")
        fine.putpalette([level for colour in self._colours for level in colour])
        return np.asarray(fine.convert("RGB").reduce(_FINE))


def _winding(shape: Shape, scale: Floats, size: tuple[int, ...]) -> tuple[slice, slice, Bools] | None:
    """The box of fine pixels that a shape touches, and which of them have their centre inside."""
    corners = np.rint(np.concatenate(shape) * scale).astype(np.int64)
    ends = np.cumsum([len(ring) for ring in shape])
    following = np.arange(1, len(corners) + 1)
    following[ends - 1] = np.concatenate(([0], ends[:-1]))
    (x0, y0), (x1, y1) = corners.T, corners[following].T
    top, bottom = max(0, int(y0.min()) // _SUB), min(size[0], int(y0.max()) // _SUB + 1)
    left, right = max(0, int(x0.min()) // _SUB), min(size[1], int(x0.max()) // _SUB + 1)
    if top >= bottom or left >= right:
        return None
    down = y1 > y0
    sense = np.where(down, 1, -1)
    xa, ya = np.where(down, x0, x1), np.where(down, y0, y1)
    xb, yb = np.where(down, x1, x0), np.where(down, y1, y0)
    half = _SUB // 2
    first = np.maximum(top, -((half - ya) // _SUB))
    last = np.minimum(bottom, -((half - yb) // _SUB))
    counts = np.maximum(last - first, 0)
    edge = np.repeat(np.arange(len(xa)), counts)
    row = np.arange(len(edge)) - np.repeat(np.cumsum(counts) - counts, counts) + first[edge]
    x = xa[edge] + ((row * _SUB + half - ya[edge]) * (xb - xa)[edge]) // (yb - ya)[edge]
    column = np.clip(-((half - x) // _SUB), left, right) - left
    h, w = bottom - top, right - left
    flat = (row - top) * (w + 1) + column
    steps = np.bincount(flat, weights=sense[edge], minlength=h * (w + 1)).reshape(h, w + 1)
    inside = np.cumsum(steps[:, :w].astype(np.int16), axis=1, dtype=np.int16) != 0
    return slice(top, bottom), slice(left, right), inside
