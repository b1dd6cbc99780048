"""The image source ``drawn_leaves``: leaves of 14 species, healthy or diseased, that the package draws.

A leaf lies on a table, at any angle and in light from any side. Species differ in outline and veins, diseases
in the colour and pattern of their marks. Pictures of the background class show no leaf.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from nsl_bench.core.types import UInts8

from ...keyed_random import Dice
from ..drawn_pool import DrawnPool
from ..paint import Mask, Picture, Points, blotches, finish, lay, lines, mask_of, moved, soften
from .diseases import Canvas
from .names import BACKGROUND, CROP_SPACE, DISEASE_OF, SPECIES_OF

_TABLES = ((150, 144, 148), (128, 120, 124), (168, 160, 152), (112, 108, 116), (186, 182, 180))
_TRINKETS = ((186, 60, 52), (62, 92, 168), (232, 196, 72), (90, 64, 48), (222, 222, 226), (40, 40, 44))


class DrawnLeaves(DrawnPool):
    """Drawn leaves of all 38 crops, and pictures without a leaf."""

    name = "drawn_leaves"
    version = "1"
    all_concepts = CROP_SPACE

    def draw(self, concept: str, size: int, dice: Dice) -> UInts8:
        picture = _table(size, dice)
        if concept == BACKGROUND:
            _strew(picture, dice)
        else:
            _lay_leaf(picture, leaf(SPECIES_OF[concept], dice), DISEASE_OF[concept], dice)
        return finish(picture, dice)


def _table(size: int, dice: Dice) -> Picture:
    """An empty table, unevenly lit."""
    picture = np.empty((size, size, 3), np.float32)
    picture[:] = dice.around(dice.pick(_TABLES), 18)
    light = blotches(size, 2, dice) - np.float32(0.5)
    grain = blotches(size, 24, dice) - np.float32(0.5)
    picture += (light * np.float32(36) + grain * np.float32(16))[..., None]
    return picture


def _lay_leaf(picture: Picture, leaf: Leaf, disease: str, dice: Dice) -> None:
    size = len(picture)
    turn = dice.between(0, 2 * math.pi)
    scale = size * dice.between(0.72, 0.92)
    tilt = dice.between(0.82, 1.0)
    x, y = (size / 2 + dice.between(-0.06, 0.06) * size for _ in range(2))
    c, s = math.cos(turn), math.sin(turn)
    flip = -1.0 if dice.chance(0.5) else 1.0

    def place(points: Points) -> Points:
        across = (points[:, 0] - 0.5) * scale
        down = points[:, 1] * scale * tilt * flip
        return np.stack((x + c * across - s * down, y + s * across + c * down), axis=1)

    blade = mask_of(size, (place(leaflet.outline) for leaflet in leaf.leaflets))
    stalks = lines(size, ((place(stalk), size // 42) for stalk in leaf.stalks))
    paths = [
        (place(v), max(1, width * size // 128)) for leaflet in leaf.leaflets for v, width in leaflet.veins
    ]
    veins = lines(size, paths)
    _shadow(picture, np.maximum(blade, stalks), dice)
    lay(picture, stalks, dice.around(leaf.vein, 14))
    green = _green(size, leaf, blade, veins, dice)
    Canvas(green, blade, veins, turn, dice).infect(disease)
    lay(picture, blade, green)


def _shadow(picture: Picture, mask: Mask, dice: Dice) -> None:
    size = len(mask)
    reach = max(1, size // 40)
    dx, dy = dice.whole(-reach, reach), dice.whole(0, reach)
    lay(picture, moved(soften(mask, size / 30), dx, dy), (30, 28, 30), 0.45)


def _green(size: int, leaf: Leaf, blade: Mask, veins: Mask, dice: Dice) -> Picture:
    """A healthy blade: uneven green, veins, and one side of each leaflet in the light."""
    green = np.empty((size, size, 3), np.float32)
    green[:] = dice.around(leaf.colour, 16)
    tone = (blotches(size, 3, dice) - np.float32(0.5)) * 34 + (
        blotches(size, 14, dice) - np.float32(0.5)
    ) * 18
    green += tone[..., None]
    lay(green, soften(veins, size / 90), dice.around(leaf.vein, 10), 0.75)
    # The edge turns down, away from the light.
    lay(green, 255 - soften(blade, size / 22), (20, 34, 16), 0.35)
    return green


def _strew(picture: Picture, dice: Dice) -> None:
    """Anything but a leaf: things of plain shapes and colours, or nothing at all."""
    size = len(picture)
    for _ in range(dice.whole(0, 5)):
        n = dice.pick((3, 4, 4, 5, 12))
        start = dice.between(0, 2 * math.pi)
        wide, high = (dice.between(0.06, 0.32) * size for _ in range(2))
        angle = start + np.arange(n) * 2 * math.pi / n
        middle = dice.many(2) * size
        outline = middle + np.stack((wide * np.cos(angle), high * np.sin(angle)), axis=1)
        mask = mask_of(size, [outline])
        _shadow(picture, mask, dice)
        lay(picture, mask, dice.around(dice.pick(_TRINKETS), 30))


_STEPS = 72


@dataclass(frozen=True, eq=False)
class Leaflet:
    """A blade.

    Attributes:
        outline: its edge.
        veins: lines with their width, 2 for a midrib, 1 for the others.
    """

    outline: Points
    veins: tuple[tuple[Points, int], ...]

    def moved(self, x: float, y: float, scale: float, turn: float) -> Leaflet:
        """Scaled, turned by an angle in radians, and moved."""
        c, s = np.cos(turn) * scale, np.sin(turn) * scale
        matrix = np.array([[c, s], [-s, c]])
        shift = np.array([x, y])
        return Leaflet(self.outline @ matrix + shift, tuple((v @ matrix + shift, w) for v, w in self.veins))


@dataclass(frozen=True, eq=False)
class Leaf:
    """Leaflets, and the stalks that hold them: from (0, 0) to the right, near (1, 0).

    Attributes:
        colour: of a healthy blade.
    """

    leaflets: tuple[Leaflet, ...]
    stalks: tuple[Points, ...]
    colour: tuple[float, float, float]
    vein: tuple[float, float, float]


def _blade(
    dice: Dice,
    width: float,
    *,
    widest: float = 0.4,
    blunt: float = 0.8,
    teeth: int = 0,
    depth: float = 0.0,
    veins: int = 6,
    slant: float = 0.9,
) -> Leaflet:
    """A blade along a midrib.

    Args:
        width: half its width, as a share of its length.
        blunt: exponent of its ends; less is blunter.
        depth: of the teeth, as a share of the width.
        slant: how far a vein runs towards the tip while it runs to the edge.
    """
    width *= dice.between(0.88, 1.12)
    widest += dice.between(-0.04, 0.04)
    u = np.linspace(0, 1, _STEPS)
    a, b = blunt, blunt * (1 - widest) / widest
    half = u**a * (1 - u) ** b / (widest**a * (1 - widest) ** b)
    bend = dice.between(-0.12, 0.12)
    middle = bend * 4 * u * (1 - u)
    sides = []
    for side in (-1.0, 1.0):
        wave = dice.many(4) - 0.5
        ripple = sum(0.06 * wave[k] * np.sin((k + 1.5) * np.pi * u + 6 * wave[k]) for k in range(4))
        edge = half * width * (1 + ripple)
        if teeth:
            edge = edge * (1 - depth * ((u * teeth) % 1.0) * (half > 0.15))
        sides.append(np.stack((u, middle + side * edge), axis=1))
    outline = np.concatenate((sides[0], sides[1][::-1]))
    lines = [(np.stack((u, middle), axis=1)[::6], 2)]
    for k in range(veins):
        start = 0.06 + 0.8 * k / max(1, veins)
        i = int(start * (_STEPS - 1))
        for side in (-1.0, 1.0):
            t = np.linspace(0, 0.92, 5)
            reach = half[min(_STEPS - 1, i + 8)] * width
            x = u[i] + slant * reach * t
            y = middle[i] + side * reach * t**0.9
            lines.append((np.stack((x, y), axis=1), 1))
    return Leaflet(outline, tuple(lines))


def _palm(
    dice: Dice, lobes: int, notch: float, *, teeth: int = 0, depth: float = 0.0, spread: float = 2.5
) -> Leaflet:
    """A blade with lobes around the end of its stalk.

    Args:
        notch: how deep the bays between them are, 0 to 1.
        spread: half the angle that the lobes fill, radians.
    """
    angle = np.linspace(-np.pi, np.pi, 3 * _STEPS)
    step = 2 * spread / lobes
    phase = (angle + spread) / step % 1.0
    lobe = 1 - notch * np.abs(2 * phase - 1) ** 1.5
    heart = 1 - 0.8 * np.clip((np.abs(angle) - spread) / (np.pi - spread), 0, 1) ** 0.7
    wave = dice.many(4) - 0.5
    ripple = 1 + sum(0.09 * wave[k] * np.cos((k + 1) * angle + 6 * wave[k]) for k in range(4))
    radius = (0.62 - 0.08 * np.abs(angle) / np.pi) * lobe * heart * ripple
    if teeth:
        radius = radius * (1 - depth * ((angle / (2 * np.pi) * teeth) % 1.0))
    stretch = dice.between(0.9, 1.1)
    outline = np.stack((0.38 + radius * np.cos(angle), radius * stretch * np.sin(angle)), axis=1)
    lines = []
    for k in range(lobes):
        direction = -spread + (k + 0.5) * step
        length = 0.53 - 0.07 * abs(direction) / np.pi
        t = np.linspace(0, length, 4)
        lines.append((np.stack((0.38 + t * np.cos(direction), t * stretch * np.sin(direction)), axis=1), 2))
        for side in (-1.0, 1.0):
            root = 0.4 * length
            s = np.linspace(0, 0.3 * length, 3)
            x = 0.38 + root * np.cos(direction) + s * np.cos(direction + side * 0.7)
            y = (root * np.sin(direction) + s * np.sin(direction + side * 0.7)) * stretch
            lines.append((np.stack((x, y), axis=1), 1))
    return Leaflet(outline, tuple(lines))


def _stalk(*points: tuple[float, float]) -> Points:
    return np.array(points, np.float64)


_Made = tuple[list[Leaflet], list[Points]]


def _single(blade: Leaflet) -> _Made:
    return [blade.moved(0.08, 0, 0.92, 0)], [_stalk((-0.1, 0), (0.12, 0))]


def _one(dice: Dice, **shape: Any) -> _Made:
    """A leaf of one blade; `shape` goes to `_blade`."""
    return _single(_blade(dice, **shape))


def _lobed(dice: Dice, **shape: Any) -> _Made:
    """A leaf of one blade with five lobes; `shape` goes to `_palm`."""
    return [_palm(dice, 5, **shape)], [_stalk((-0.1, 0), (0.4, 0))]


def _blueberry(dice: Dice) -> _Made:
    return _single(_blade(dice, 0.24, widest=0.5, blunt=0.7, veins=5, slant=1.3).moved(0.12, 0, 0.7, 0))


def _corn(dice: Dice) -> _Made:
    """A piece of a long blade with parallel veins, cut off at both ends."""
    width = dice.between(0.17, 0.22)
    u = np.linspace(-0.25, 1.25, 20)
    bend = dice.between(-0.1, 0.1) * np.sin(np.pi * u) + dice.between(-0.03, 0.03) * np.sin(5 * u)
    outline = np.concatenate((np.stack((u, bend - width), axis=1), np.stack((u, bend + width), axis=1)[::-1]))
    lines = [(np.stack((u, bend), axis=1), 3)]
    lines += [(np.stack((u, bend + width * k / 6), axis=1), 1) for k in (-5, -4, -3, -2, 2, 3, 4, 5)]
    return [Leaflet(outline, tuple(lines))], []


def _orange(dice: Dice) -> _Made:
    blade = _blade(dice, 0.25, widest=0.48, blunt=0.75, veins=8, slant=0.6)
    wing = _blade(dice, 0.2, widest=0.65, blunt=0.8, veins=0).moved(-0.06, 0, 0.2, 0)
    return [blade.moved(0.14, 0, 0.86, 0), wing], [_stalk((-0.12, 0), (0.16, 0))]


def _potato(dice: Dice) -> _Made:
    """A large leaflet at the end, and two pairs of smaller ones with tiny ones between."""
    leaflets = [_blade(dice, 0.36, widest=0.4, blunt=0.7, veins=5).moved(0.5, 0, 0.52, 0)]
    for x, scale in ((0.46, 0.36), (0.2, 0.3)):
        for side in (-1.0, 1.0):
            turn = -side * dice.between(0.8, 1.1)
            leaflets.append(_blade(dice, 0.36, widest=0.4, blunt=0.7, veins=4).moved(x, 0, scale, turn))
    for side in (-1.0, 1.0):
        leaflets.append(_blade(dice, 0.4, blunt=0.6, veins=0).moved(0.34, 0, 0.1, side * 1.4))
    return leaflets, [_stalk((-0.1, 0), (0.55, 0))]


def _three(dice: Dice, end: float, side: float, angle: float, **shape: Any) -> _Made:
    """A leaf of three blades; `shape` goes to `_blade`."""
    leaflets = [_blade(dice, **shape).moved(0.42, 0, end, 0)]
    for sign in (-1.0, 1.0):
        blade = _blade(dice, **shape)
        leaflets.append(blade.moved(0.4, 0, side, -sign * angle * dice.between(0.9, 1.1)))
    return leaflets, [_stalk((-0.1, 0), (0.45, 0))]


def _tomato(dice: Dice) -> _Made:
    """A ragged leaflet, deeply cut, with a pair of smaller ones at its base."""
    main = _blade(dice, 0.38, widest=0.36, blunt=0.75, teeth=5, depth=0.5, veins=6, slant=1.0)
    leaflets = [main.moved(0.2, 0, 0.8, 0)]
    for side in (-1.0, 1.0):
        small = _blade(dice, 0.36, widest=0.4, blunt=0.75, teeth=4, depth=0.4, veins=3)
        leaflets.append(small.moved(0.2, 0, dice.between(0.3, 0.4), -side * dice.between(1.1, 1.5)))
    return leaflets, [_stalk((-0.1, 0), (0.25, 0))]


_FORMS: Mapping[str, Callable[..., _Made]] = {
    **{"one": _one, "lobed": _lobed, "three": _three, "blueberry": _blueberry, "corn": _corn},
    **{"orange": _orange, "potato": _potato, "tomato": _tomato},
}
_SPECIES = tomllib.loads(Path(__file__).with_name("species.toml").read_text(encoding="utf-8"))


def leaf(species: str, dice: Dice) -> Leaf:
    """A leaf of a species."""
    about = _SPECIES[species]
    leaflets, stalks = _FORMS[about["form"]](dice, **about.get("shape", {}))
    return Leaf(tuple(leaflets), tuple(stalks), tuple(about["colour"]), tuple(about["vein"]))
