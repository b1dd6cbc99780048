"""Kandinsky patterns: do figures of three objects follow a pattern in their objects' shapes and colours?

Mueller, Holzinger: "Kandinsky Patterns" (Artificial Intelligence 300, 2021), in the form of rsbench
(Bortolotti et al., NeurIPS 2024): each object is an image of its own.
"""

import itertools
from typing import Literal

import numpy as np

from nsl_bench.core.benchmark import Layout
from nsl_bench.core.options import option
from nsl_bench.core.types import Ints, Ints16, LabelSpace, Part

from ..sources.figures import COLOURS, OBJECTS, SHAPES
from . import programs
from .drawn import RssgenTask

_PROGRAMS = programs(__file__)

_OBJECTS = 3


class Kandinsky(RssgenTask):
    """Predict whether all figures follow one pattern.

    A row of slots is a figure; each image shows an object with a shape and a colour. Half of the examples
    follow the pattern.
    """

    name = "kandinsky"
    version = "1.0.0"
    description = "Do figures of three coloured shapes follow a pattern?"
    labels = LabelSpace(("no_pattern", "pattern"), ("broken", None))
    told = ("0", "1")
    concept_space = OBJECTS
    background = _PROGRAMS["background"]
    sources = ("drawn_figures", "figures")
    balanced = True

    pattern: Literal["same_kind", "pairs"] = option(
        "same_kind",
        "``same_kind``: figures are alike in whether their shapes are all equal, two of them or none, and "
        "in the same of colours; ``pairs``: each has two equal objects, and a third one of another shape",
    )
    figures: int = option(3, "number of figures", least=1, most=4)

    def __post_init__(self) -> None:
        self.name = self.spec_with()
        names = range(1, self.figures + 1)
        self.few = len(OBJECTS) ** (_OBJECTS * self.figures) < 10_000
        self.slots = tuple(f"figure_{f}_object_{k}" for f in names for k in range(1, _OBJECTS + 1))
        self.bias, self.true_rule = _PROGRAMS[f"{self.pattern}_bias"], _PROGRAMS[self.pattern]
        self.inputs = _PROGRAMS["inputs"].format(
            figures=self.figures, shapes=";".join(SHAPES), colours=";".join(COLOURS)
        )

    def draw(self, part: Part, n: int, rng: np.random.Generator) -> Ints16:
        return rng.integers(0, len(OBJECTS), (n, len(self.slots))).astype(np.int16)

    def labelled(self, concepts: Ints16) -> Ints16:
        objects = concepts.reshape(len(concepts), self.figures, _OBJECTS)
        shapes, colours = objects // len(COLOURS), objects % len(COLOURS)
        places = list(itertools.combinations(range(_OBJECTS), 2))
        if self.pattern == "same_kind":
            equal = np.stack([sum(of[..., i] == of[..., k] for i, k in places) for of in (shapes, colours)])
            follows = (equal == equal[..., :1]).all(axis=(0, 2))
        else:
            pairs = [
                (objects[..., i] == objects[..., k]) & (shapes[..., i] != shapes[..., _OBJECTS - i - k])
                for i, k in places
            ]
            follows = np.any(pairs, axis=0).all(axis=1)
        labels: Ints16 = np.asarray(follows).astype(np.int16)
        return labels

    def layout(self) -> Layout:
        """One figure a row."""
        return Layout(self.figures, _OBJECTS)

    def facts(self, slot: int, concept: str) -> tuple[str, ...]:
        (figure, place), (colour, shape) = divmod(slot, _OBJECTS), concept.split("_")
        return (f"shape({figure + 1},{place + 1},{shape})", f"colour({figure + 1},{place + 1},{colour})")

    def concepts_of(self, values: Ints) -> Ints:
        """Objects from rssgen's numbers: 4 square, 5 circle, 6 triangle, then 1 red, 2 yellow, 3 blue."""
        shapes, colours = values[:, ::2] - 4, values[:, 1::2] - 1
        known = (shapes >= 0) & (shapes < len(SHAPES)) & (colours >= 0) & (colours < len(COLOURS))
        return np.where(known, shapes * len(COLOURS) + colours, -1)
