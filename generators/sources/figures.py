"""The sources ``drawn_figures`` and ``figures`` for Kandinsky patterns, and ``math_symbols`` for formulas."""

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np

from nsl_bench.core.errors import UserError
from nsl_bench.core.types import ConceptSpace, PoolPart, UInts8

from ..keyed_random import Dice
from .class_folders import Layout, by_folders
from .drawn_pool import DrawnPool
from .image_folder import FolderPool
from .paint import finish, lay, mask_of
from .symbols.names import FORMULA_SYMBOLS

COLOURS = {"red": (214, 40, 40), "yellow": (246, 208, 40), "blue": (44, 84, 200)}
SHAPES = {"square": 4, "circle": 48, "triangle": 3}
"""Corners of each shape, a circle's among them."""

OBJECTS = ConceptSpace("figure", tuple(f"{colour}_{shape}" for shape in SHAPES for colour in COLOURS))


class DrawnFigures(DrawnPool):
    """Squares, circles and triangles in red, yellow and blue, of any size and place, on a light ground."""

    name = "drawn_figures"
    version = "1"
    all_concepts = OBJECTS
    image_size = 32

    def draw(self, concept: str, size: int, dice: Dice) -> UInts8:
        colour, shape = concept.split("_")
        radius = size * dice.between(0.2, 0.42)
        x, y = (dice.between(radius, size - radius) for _ in range(2))
        turns = (
            np.arange(SHAPES[shape]) / SHAPES[shape]
            + {"square": 0.125, "circle": 0.0, "triangle": 0.75}[shape]
        )
        outline = np.stack(
            [x + radius * np.cos(2 * math.pi * turns), y + radius * np.sin(2 * math.pi * turns)], axis=1
        )
        picture = np.full((size, size, 3), dice.between(225, 255), np.float32)
        lay(picture, mask_of(size, [outline]), dice.around(COLOURS[colour], 24))
        return finish(picture, dice)


class _Classes(FolderPool):
    """Small images from a folder with one subfolder a concept; other subfolders are left out.

    70 % of each concept are for the network; of the rest, 70 % in pool A and 30 % in B. If the folder has
    ``train`` and ``val`` or ``test``, the network's images are those of ``train``.
    """

    licence = "that of the user's images"
    example: ClassVar[str]
    image_size = 32
    grey = "convert"

    def files(self) -> Mapping[PoolPart, Mapping[str, Sequence[Path]]]:
        known = {_words(concept): concept for concept in self.all_concepts.concepts}
        what = f"one subfolder a concept, such as {self.example}"
        layout = Layout(
            what, lambda folder: known.get(_words(folder)), lambda folder: UserError(f"Expected {what}.")
        )
        return by_folders(self.path, layout, frozenset(known.values()), self.seed)


def _words(name: str) -> tuple[str, ...]:
    """The words of a folder's or a concept's name, in any order; operators as words."""
    signs = {"+": "plus", "-": "minus"}
    return tuple(sorted(re.findall(r"[a-z]+|\d+", signs.get(name, name).lower())))


class FigureFolder(_Classes):
    """Objects of Kandinsky figures."""

    name = "figures"
    citation = "H. Mueller and A. Holzinger: Kandinsky Patterns, Artificial Intelligence, 2021 (if they are)."
    all_concepts, example = OBJECTS, "red_square"


class MathSymbols(_Classes):
    """Digits and operators, such as those of HWF's folder ``Handwritten_Math_Symbols``."""

    name = "math_symbols"
    citation = "Q. Li et al.: Closed Loop Neural-Symbolic Learning, ICML 2020 (if the folder is HWF's)."
    all_concepts, example = FORMULA_SYMBOLS, "7, + or times"
