"""Furnishing of the 67 drawn scenes: floors, walls and objects, which are made of a few plain shapes.

``bed lamp*0-2`` is a bed and up to two lamps. For objects in rows, the number is that of the rows.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from .names import SCENES

Colour = tuple[float, float, float]
Place = Literal["floor", "back", "wall", "ceiling", "row"]
"""Where a thing is: on the floor, at the foot of the back wall, on the wall, under the ceiling; in rows."""

COLOURS: Mapping[str, Colour] = {
    "white": (236, 236, 232),
    "grey": (150, 152, 156),
    "black": (34, 34, 38),
    "steel": (178, 186, 194),
    "wood": (150, 104, 62),
    "oak": (196, 154, 102),
    "mahogany": (98, 52, 36),
    "red": (186, 44, 44),
    "orange": (226, 128, 40),
    "yellow": (236, 200, 64),
    "gold": (214, 172, 70),
    "green": (62, 132, 68),
    "lime": (150, 196, 70),
    "teal": (44, 136, 140),
    "sky": (150, 200, 236),
    "blue": (48, 84, 168),
    "purple": (112, 60, 142),
    "pink": (236, 150, 176),
    "cream": (238, 224, 190),
    "beige": (206, 188, 156),
    "brown": (112, 76, 50),
    "skin": (222, 178, 146),
    "water": (64, 166, 204),
    "screen": (70, 120, 190),
    "glow": (255, 240, 180),
    "soil": (92, 68, 46),
}

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
    text = (Path(__file__).parent / "things.toml").read_text(encoding="utf-8")
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


FLOORS = ("wood", "tiles", "carpet", "concrete")
WALLS = ("paint", "paper", "brick", "tiled", "panels", "glass", "stone", "metal")

_ROOMS: Mapping[str, tuple[str, str, str]] = {
    "airport_inside": ("tiles carpet", "glass metal", "airplane seat*1-2 suitcase*2-4 sign"),
    "artstudio": ("wood concrete", "paint brick", "easel*2-3 sculpture*0-1 painting*1-3 stool*0-2 table*0-1"),
    "auditorium": ("carpet", "panels paint", "stage seat*3 curtain*1-2 spotlight*0-2"),
    "bakery": ("tiles wood", "paint tiled", "bread counter cake*1-2 sign*0-1"),
    "bar": ("wood", "panels brick", "bottles counter stool*2-4 sign*0-1 lamp*0-1"),
    "bathroom": ("tiles", "tiled", "bathtub toilet sink mirror window*0-1"),
    "bedroom": ("wood carpet", "paint paper", "bed lamp*1-2 painting*0-2 window*0-1 wardrobe*0-1"),
    "bookstore": ("wood carpet", "paint panels", "books*2-3 table*1-2 sign*0-1 boxes*0-1"),
    "bowling": ("wood", "paint panels", "lane*2-3 sign*0-1 seat*0-1"),
    "buffet": ("carpet tiles", "paint paper", "food*2-3 chandelier*0-1 table*0-1 flowers*0-1"),
    "casino": ("carpet", "paper panels", "slot_machine*2 roulette*1-2 chandelier*0-1"),
    "children_room": ("wood carpet", "paint paper", "bed teddy*1-2 blocks*1-2 toys*0-1 balloon*0-1"),
    "church_inside": ("tiles concrete", "stone", "altar pew*3 column*1-2 chandelier*0-1"),
    "classroom": ("wood tiles", "paint", "blackboard desk*3-5 chair*2-4 window*0-1"),
    "cloister": ("concrete tiles", "stone brick", "arch*3-4 bench*0-1 plant*0-1"),
    "closet": ("wood carpet", "paint", "clothes*2 boxes*1-2 suitcase*0-1 mirror*0-1"),
    "clothingstore": ("wood tiles", "paint glass", "clothes*2 counter mirror*0-1 sculpture*1-2 sign*0-1"),
    "computerroom": ("carpet tiles", "paint metal", "computer*3-5 chair*1-3"),
    "concert_hall": ("wood carpet", "panels", "stage piano seat*2 chandelier*0-1 spotlight*0-1"),
    "corridor": ("tiles carpet", "paint", "door*3-4 lamp*0-1 painting*0-1"),
    "deli": ("tiles", "tiled paint", "meat counter bottles*0-1 sign*0-1"),
    "dentaloffice": ("tiles", "paint tiled", "dental_chair cabinet sink*0-1 stool*0-1 operating_lamp*0-1"),
    "dining_room": ("wood carpet", "paint paper", "table chair*3-5 chandelier painting*0-2 flowers*0-1"),
    "elevator": ("carpet tiles", "metal panels", "elevator mirror*0-1"),
    "fastfood_restaurant": ("tiles", "tiled paint", "sign*2-3 counter table*1-2 stool*2-4"),
    "florist": ("tiles wood", "paint glass", "flowers*4-6 plant*1-3 counter*0-1"),
    "gameroom": ("carpet wood", "paint panels", "pool_table television*0-1 sofa*0-1 stool*0-2 sign*0-1"),
    "garage": ("concrete", "brick paint metal", "car tools boxes*0-2"),
    "greenhouse": ("concrete", "glass", "plant*5-8 table*0-1"),
    "grocerystore": ("tiles", "paint", "goods*2 vegetables*1-2 fridge*0-1 sign*0-1"),
    "gym": ("carpet wood", "paint glass", "treadmill*1-3 dumbbells*1-2 mirror*0-2"),
    "hairsalon": ("tiles wood", "paint", "barber_chair*2-3 mirror*2-3 cabinet*0-1"),
    "hospitalroom": ("tiles", "paint", "hospital_bed*1-2 curtain*0-1 television*0-1 chair*0-1 window*0-1"),
    "inside_bus": ("carpet concrete", "glass metal", "seat*3 pole*2-4"),
    "inside_subway": ("carpet concrete", "metal", "bench*2-3 pole*2-4 door*1-2 sign*0-1"),
    "jewelleryshop": ("carpet wood", "panels glass paint", "jewels*2-3 mirror*0-1 chandelier*0-1"),
    "kindergarden": ("carpet wood", "paint paper", "table blocks*1-2 toys stool*2-4 blackboard*0-1"),
    "kitchen": ("tiles wood", "tiled paint", "kitchen_range fridge cabinet*1-2 table*0-1 window*0-1"),
    "laboratorywet": ("tiles", "paint tiled", "flasks*2-4 cabinet stool*0-2 sink*0-1"),
    "laundromat": ("tiles", "paint tiled", "machine*4-6 bench*0-1 sign*0-1"),
    "library": ("carpet wood", "panels paint", "books*3 desk*1-3 lamp*1-2 chair*0-2"),
    "livingroom": ("wood carpet", "paint paper", "sofa*1-2 television lamp*0-2 painting*0-2 plant*0-1"),
    "lobby": ("tiles", "panels stone", "counter sofa*1-2 chandelier plant*1-2 column*0-1"),
    "locker_room": ("tiles concrete", "paint tiled", "lockers*2-3 bench*1-2"),
    "mall": ("tiles", "glass", "stairs plant*1-2 sign*1-2 sculpture*0-1 bench*0-1"),
    "meeting_room": ("carpet", "paint glass", "projection table chair*4-6"),
    "movietheater": ("carpet", "paint", "projection seat*3 curtain*0-2"),
    "museum": ("wood tiles", "paint stone", "sculpture*2-3 painting*2-4 bench*0-1"),
    "nursery": ("carpet wood", "paint paper", "crib*1-2 teddy*1-2 lamp*0-1 curtain*0-1"),
    "office": ("carpet wood", "paint glass", "computer chair cabinet*1-2 books*0-1 plant*0-1 window*0-1"),
    "operating_room": ("tiles", "tiled", "operating_lamp*1-2 hospital_bed computer*0-1 cabinet*0-1"),
    "pantry": ("tiles wood", "paint", "goods*1-2 bottles*1-2 boxes*1-2 barrel*0-1"),
    "poolinside": ("tiles", "tiled glass", "pool bench*0-2 plant*0-1"),
    "prisoncell": ("concrete", "stone brick", "bars toilet bench"),
    "restaurant": ("wood carpet tiles", "paint brick paper", "table*3-4 chair*3-6 flowers*0-2 lamp*0-1"),
    "restaurant_kitchen": ("tiles", "metal tiled", "kitchen_range*2 food meat*0-1 sink*0-1"),
    "shoeshop": ("carpet wood", "paint", "shoes*2-3 stool*1-2 mirror*0-1"),
    "stairscase": ("wood tiles", "paint paper", "stairs*1-2 window*0-1 painting*0-1 lamp*0-1"),
    "studiomusic": ("wood carpet", "panels paint", "mixer guitar*1-2 microphone*1-2 speaker*1-2 drum*0-1"),
    "subway": ("tiles concrete", "tiled", "train column*1-2 sign bench*0-1"),
    "toystore": ("tiles carpet", "paint", "toys*2-3 teddy*2-3 balloon*1-3 counter*0-1"),
    "trainstation": ("concrete", "glass brick", "tracks train*1-2 sign*1-2 suitcase*0-2 arch*0-1"),
    "tv_studio": ("carpet concrete", "metal paint", "camera*1-2 spotlight*3-4 sofa*0-1 desk*0-1"),
    "videostore": ("carpet", "paint", "videos*2-3 counter sign*0-1 television*0-1"),
    "waitingroom": ("tiles carpet", "paint", "chair*5-7 plant*1-2 table*0-1 painting*0-2 television*0-1"),
    "warehouse": ("concrete", "metal brick", "boxes*3-5 goods*0-1 conveyor*1-2"),
    "winecellar": ("concrete", "stone brick", "wine*1-2 barrel*2-4"),
}  # fmt: skip


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
    def parse(cls, floors: str, walls: str, things: str) -> Furnishing:
        """From the words of the table above."""
        wanted = []
        for word in things.split():
            name, _, count = word.partition("*")
            least, _, most = (count or "1").partition("-")
            wanted.append((name, int(least), int(most or least)))
        return cls(tuple(floors.split()), tuple(walls.split()), tuple(wanted))


ROOMS: Mapping[str, Furnishing] = {scene: Furnishing.parse(*_ROOMS[scene]) for scene in SCENES}
"""Each scene's furnishing."""

SEGMENTS = ("wall", "floor", "ceiling", *THINGS)
"""What a pixel of a room's segmentation map can show."""
