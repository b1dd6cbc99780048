"""Furnishing of the 67 drawn scenes: floors, walls and objects, which are made of a few plain shapes.

``bed lamp*0-2`` is a bed and up to two lamps. For objects in rows, the number is that of the rows.
"""

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Literal, Self

from .names import FILE, SCENES

Colour = tuple[float, float, float]
Place = Literal["floor", "back", "wall", "ceiling", "row"]
"""Where a thing is: on the floor, at the foot of the back wall, on the wall, under the ceiling; in rows."""


COLOURS: Mapping[str, Colour] = FILE["colours"]
TONES: Mapping[str, Sequence[Colour]] = FILE["tones"]
"""Colours of each kind of wall and floor."""

Part = tuple[tuple[tuple[float, float], ...], str]
"""A polygon and the name of its colour."""


@dataclass(frozen=True)
class Thing:
    """Something that a room can hold.

    It fills a box of 1 x 1, y downwards. Its parts are filled one over the other; the colour "main" is chosen
    anew for each thing from those that it comes in, "dark" and "light" are shades of it.

    Attributes:
        height: of its box, as a share of the back wall's.
        aspect: width over height.
        colours: what its main colour can be.
    """

    place: Place
    height: float
    aspect: float
    colours: tuple[str, ...]
    parts: tuple[Part, ...]


_OVAL = tuple((math.cos(2 * math.pi * k / 14), math.sin(2 * math.pi * k / 14)) for k in range(14))


def _box(left: float, top: float, right: float, bottom: float, colour: str) -> Part:
    return ((left, top), (right, top), (right, bottom), (left, bottom)), colour


def _oval(x: float, y: float, rx: float, ry: float, colour: str) -> Part:
    return tuple((x + rx * across, y + ry * down) for across, down in _OVAL), colour


def _many(n: int, left: float, right: float, top: float, bottom: float, colours: Sequence[str]) -> list[Part]:
    """Boxes side by side, of uneven height, in these colours in turn."""
    step = (right - left) / n
    return [
        _box(
            left + k * step,
            top + (k * 37 % 5) * 0.02,
            left + (k + 0.85) * step,
            bottom,
            colours[k % len(colours)],
        )
        for k in range(n)
    ]


def _shelf(rows: int, n: int, colours: Sequence[str], *, balls: bool) -> list[Part]:
    """A shelf with boxes, or with round things, on its boards."""
    parts = [_box(0, 0, 1, 1, "dark"), _box(0.03, 0.03, 0.97, 0.97, "main")]
    for row in range(rows):
        top, bottom = 0.05 + 0.92 * row / rows, 0.05 + 0.92 * (row + 0.85) / rows
        parts.append(_box(0.03, bottom, 0.97, bottom + 0.08 / rows, "dark"))
        turned = [colours[(k + row) % len(colours)] for k in range(len(colours))]
        if balls:
            step, radius = 0.9 / n, 0.3 / rows
            parts += [
                _oval(0.05 + (k + 0.5) * step, bottom - radius, step * 0.42, radius, turned[k % len(turned)])
                for k in range(n)
            ]
        else:
            parts += _many(n, 0.05, 0.95, top + 0.15 / rows, bottom, turned)
    return parts


def _parts(text: str) -> list[Part]:
    """The parts that a line of the file stands for."""
    kind, *words = text.split()
    n = next((k for k, word in enumerate(words) if word[0].isalpha()), len(words))
    numbers, colours = [float(word) for word in words[:n]], words[n:]
    if kind == "box":
        return [_box(*numbers, colours[0])]  # type: ignore[call-arg,arg-type]
    if kind == "oval":
        return [_oval(*numbers, colours[0])]  # type: ignore[call-arg,arg-type]
    if kind == "shape":
        return [(tuple(zip(numbers[::2], numbers[1::2], strict=True)), colours[0])]
    if kind == "many":
        return _many(int(numbers[0]), numbers[1], numbers[2], numbers[3], numbers[4], colours)
    return _shelf(int(numbers[0]), int(numbers[1]), colours, balls=kind == "balls")


def _things() -> dict[str, Thing]:
    text = Path(__file__).with_name("things.toml").read_text(encoding="utf-8")
    return {
        name: Thing(
            entry["place"],
            entry["height"],
            entry["aspect"],
            tuple(entry["colours"]),
            tuple(part for line in entry["parts"] for part in _parts(line)),
        )
        for name, entry in tomllib.loads(text).items()
    }


THINGS: Mapping[str, Thing] = MappingProxyType(_things())
"""Each thing by name."""


@dataclass(frozen=True)
class Furnishing:
    """Furnishing of a scene's rooms.

    Attributes:
        things: name, least and greatest number of each object.
    """

    floors: tuple[str, ...]
    walls: tuple[str, ...]
    things: tuple[tuple[str, int, int], ...]

    @classmethod
    def parse(cls, floors: str, walls: str, things: str) -> Self:
        """From the words of ``rooms.toml``."""
        wanted = []
        for word in things.split():
            name, _, count = word.partition("*")
            least, _, most = (count or "1").partition("-")
            wanted.append((name, int(least), int(most or least)))
        return cls(tuple(floors.split()), tuple(walls.split()), tuple(wanted))


ROOMS: Mapping[str, Furnishing] = {scene: Furnishing.parse(*FILE["rooms"][scene]) for scene in SCENES}
"""Each scene's furnishing."""

SEGMENTS = ("wall", "floor", "ceiling", *THINGS)
"""What a pixel of a room's segmentation map can show."""
