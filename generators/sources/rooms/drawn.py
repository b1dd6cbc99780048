"""The image source ``drawn_rooms``: 67 indoor scenes that the package draws.

A room is seen from one end, in perspective with one vanishing point. Position, size and colour of its objects
vary. Each picture has an exact segmentation map.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nsl_bench.core.types import Ints, PoolPart, UInts8

from ...keyed_random import Dice
from ..drawn_pool import DrawnPool
from ..paint import blotches, finish
from .furnishing import COLOURS, ROOMS, SEGMENTS, THINGS, TONES, Colour, Furnishing, Thing
from .names import SCENE_SPACE

_WALL, _FLOOR, _CEILING = range(3)
_SUB = 4


@dataclass(eq=False)
class _Room:
    """A room being drawn.

    Attributes:
        picture: uint8 [size, size, 3].
        segments: uint8 [size, size].
        left, top, right, bottom: the back wall, as shares of the size.
    """

    picture: UInts8
    segments: UInts8
    left: float
    top: float
    right: float
    bottom: float
    dice: Dice

    @property
    def height(self) -> float:
        """Of the back wall."""
        return self.bottom - self.top

    def fill(self, points: Sequence[tuple[float, float]], colour: Colour, segment: int) -> None:
        """Fill a polygon, in shares of the size."""
        import cv2

        size = len(self.picture)
        fixed = [np.rint((np.array(points) * size - 0.5) * (1 << _SUB)).astype(np.int32)]
        cv2.fillPoly(self.picture, fixed, colour, cv2.LINE_AA, _SUB)
        cv2.fillPoly(self.segments, fixed, segment, cv2.LINE_8, _SUB)

    def line(self, x0: float, y0: float, x1: float, y1: float, colour: Colour) -> None:
        """Draw a thin line that is part of what it lies on."""
        import cv2

        size = len(self.picture)
        ends = np.rint((np.array(((x0, y0), (x1, y1))) * size - 0.5) * (1 << _SUB)).astype(np.int32)
        cv2.line(self.picture, ends[0].tolist(), ends[1].tolist(), colour, 1, cv2.LINE_AA, _SUB)


class DrawnRooms(DrawnPool):
    """Drawn rooms of all 67 scenes, with exact segmentation maps."""

    name = "drawn_rooms"
    version = "1"
    all_concepts = SCENE_SPACE
    segments = SEGMENTS

    images_per_concept = 250

    def draw(self, concept: str, size: int, dice: Dice) -> UInts8:
        room = _room(ROOMS[concept], size, dice)
        light = (blotches(size, 3, dice) - np.float32(0.5)) * np.float32(44)
        return finish(room.picture + light[..., None], dice, noise=6, gain=(0.75, 1.12))

    def segmentation(self, part: PoolPart, indices: Ints) -> UInts8:
        size = self.shape[0]
        maps = np.empty((len(indices), size, size), np.uint8)
        for k, index in enumerate(np.asarray(indices).tolist()):
            concept, dice = self._wanted(part, index)
            maps[k] = _room(ROOMS[concept], size, dice).segments
        return maps


def _room(furnishing: Furnishing, size: int, dice: Dice) -> _Room:
    room = _Room(
        np.zeros((size, size, 3), np.uint8),
        np.zeros((size, size), np.uint8),
        dice.between(0.08, 0.24),
        dice.between(0.06, 0.2),
        dice.between(0.76, 0.92),
        dice.between(0.52, 0.64),
        dice,
    )
    _shell(room, dice.pick(furnishing.floors), dice.pick(furnishing.walls))
    things = [name for name, least, most in furnishing.things for _ in range(dice.whole(least, most))]
    for place in ("back", "wall"):
        placed = [name for name in things if THINGS[name].place == place]
        for slot, name in enumerate(_shuffled(placed, dice)):
            _at_back(room, name, slot, len(placed))
    for name in things:
        if THINGS[name].place == "ceiling":
            _hang(room, name)
    in_rows = [name for name in things if THINGS[name].place == "row"]
    for row, name in enumerate(in_rows):
        _row(room, name, row, len(in_rows))
    _stand(room, _shuffled([name for name in things if THINGS[name].place == "floor"], dice))
    return room


def _shuffled(names: list[str], dice: Dice) -> list[str]:
    return [names[i] for i in np.argsort(dice.many(len(names)), kind="stable").tolist()] if names else []


def _shade(colour: Colour, factor: float) -> Colour:
    red, green, blue = (min(255.0, level * factor) for level in colour)
    return red, green, blue


def _shell(room: _Room, floor: str, wall: str) -> None:
    """Walls, floor and ceiling with what they are made of."""
    dice, left, top, right, bottom = room.dice, room.left, room.top, room.right, room.bottom
    paint = dice.around(dice.pick(TONES[wall]), 16)
    ground = dice.around(dice.pick(TONES[floor]), 16)
    sky = dice.around((226, 224, 218), 14)
    room.fill(((0, 0), (1, 0), (right, top), (left, top)), sky, _CEILING)
    room.fill(((0, 1), (1, 1), (right, bottom), (left, bottom)), ground, _FLOOR)
    room.fill(((0, 0), (left, top), (left, bottom), (0, 1)), _shade(paint, 0.86), _WALL)
    room.fill(((1, 0), (right, top), (right, bottom), (1, 1)), _shade(paint, 0.78), _WALL)
    room.fill(((left, top), (right, top), (right, bottom), (left, bottom)), paint, _WALL)
    _wall_lines(room, wall, _shade(paint, 0.8))
    joint = _shade(ground, 0.78)
    if floor in ("wood", "tiles"):
        for t in np.linspace(-1, 2, 22).tolist():
            room.line(left + t * (right - left), bottom, t * 1.6 - 0.3, 1, joint)
    if floor == "tiles":
        for k in range(1, 7):
            y = bottom + (1 - bottom) * (k / 7) ** 1.7
            room.line(0, y, 1, y, joint)
    for x0, y0, x1, y1 in (
        (0, 0, left, top),
        (1, 0, right, top),
        (0, 1, left, bottom),
        (1, 1, right, bottom),
    ):
        room.line(x0, y0, x1, y1, _shade(paint, 0.6))


def _wall_lines(room: _Room, wall: str, colour: Colour) -> None:
    left, top, right, bottom = room.left, room.top, room.right, room.bottom
    across = {"brick": 14, "tiled": 8, "stone": 6}.get(wall, 0)
    for k in range(1, across):
        y = top + room.height * k / across
        room.line(left, y, right, y, colour)
        room.line(0, k / across, left, y, colour)
        room.line(1, k / across, right, y, colour)
    down = {"brick": 12, "tiled": 10, "paper": 16, "panels": 8, "glass": 5, "stone": 5, "metal": 7}.get(
        wall, 0
    )
    for k in range(1, down):
        x = left + (right - left) * k / down
        if wall in ("brick", "stone"):
            for row in range(across):
                y0 = top + room.height * row / across
                shift = (row % 2) * (right - left) / down / 2
                room.line(x - shift, y0, x - shift, y0 + room.height / across, colour)
        else:
            room.line(x, top, x, bottom, colour)


def _put(room: _Room, name: str, x: float, base: float, height: float, *, narrow: float = 1) -> None:
    """Draw a thing: its middle, its lower edge and its height, in shares of the size."""
    thing, dice = THINGS[name], room.dice
    segment = SEGMENTS.index(name)
    height *= dice.between(0.92, 1.08)
    width = height * thing.aspect * narrow * dice.between(0.92, 1.08)
    main = dice.around(COLOURS[dice.pick(thing.colours)], 18)
    shades = {"main": main, "dark": _shade(main, 0.68), "light": _shade(main, 1.22)}
    flip = dice.chance(0.5)
    tone = dice.between(0.92, 1.06)
    for points, colour in thing.parts:
        outline = [
            (x + ((1 - px if flip else px) - 0.5) * width, base - (1 - py) * height) for px, py in points
        ]
        room.fill(outline, shades[colour] if colour in shades else _shade(COLOURS[colour], tone), segment)


def _squeezed(thing: Thing, height: float, width: float) -> float:
    return min(1.0, max(0.55, width / (height * thing.aspect)))


def _at_back(room: _Room, name: str, slot: int, of: int) -> None:
    """At the foot of the back wall, or on it."""
    thing, low = THINGS[name], THINGS[name].place == "back"
    height = thing.height * room.height
    narrow = _squeezed(thing, height, (0.96 if low else 0.92) * (room.right - room.left) / of)
    if low:
        base = room.bottom + room.dice.between(0, 0.03)
    else:
        base = room.top + room.height * room.dice.between(0.1, 0.16) + height
    middle = room.left + (room.right - room.left) * (slot + 0.5 + room.dice.between(-0.1, 0.1)) / of
    _put(room, name, middle, base, height, narrow=narrow)


def _hang(room: _Room, name: str) -> None:
    height = THINGS[name].height * room.height * 1.1
    near = room.dice.between(0, 0.7)
    top = room.top * (1 - near)
    x = room.dice.between(room.left + 0.05, room.right - 0.05)
    _put(room, name, x, top + height * (1 + 0.3 * near), height * (1 + 0.3 * near))


def _row(room: _Room, name: str, row: int, of: int) -> None:
    """A row of equal things, nearer and larger row by row."""
    thing = THINGS[name]
    near = (row + 0.6) / of * 0.9
    height = thing.height * room.height * (0.65 + 0.75 * near)
    base = room.bottom + (1 - room.bottom) * near + 0.25 * height
    step = 1.06 * height * thing.aspect
    left, right = room.left * (1 - near), 1 - (1 - room.right) * (1 - near)
    n = max(2, int((right - left) / step))
    start = (left + right) / 2 - (n - 1) / 2 * step + room.dice.between(-0.03, 0.03)
    for k in range(n):
        _put(room, name, start + k * step, base, height)


def _stand(room: _Room, names: list[str]) -> None:
    """Things on the floor, the far ones first; no two at the same place."""
    if not names:
        return
    dice = room.dice
    n = len(names)
    depths = np.sort((np.arange(n) + dice.many(n)) / n * 0.85 + 0.05).tolist()
    columns = np.argsort(dice.many(n), kind="stable").tolist()
    for name, depth, column in zip(names, depths, columns, strict=True):
        thing = THINGS[name]
        height = thing.height * room.height * (0.78 + 0.62 * depth)
        base = room.bottom + (1 - room.bottom) * depth + 0.05
        left, right = room.left * (1 - depth), 1 - (1 - room.right) * (1 - depth)
        across = (column + 0.5 + dice.between(-0.25, 0.25)) / n if n > 1 else dice.between(0.35, 0.65)
        narrow = _squeezed(thing, height, 0.7)
        _put(room, name, left + (right - left) * across, min(base, 1.04), height, narrow=narrow)
