"""Where letters and digits come from: drawn, scikit-learn's, EMNIST's and MNIST's, each in three parts.

A part of the pool has its own originals: no handwritten letter or digit is in two of them.
"""

import hashlib
import tomllib
from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt
from PIL import Image

from nsl_bench.core.errors import UserError
from nsl_bench.core.types import Ints, PoolPart, UInts8

from ...keyed_random import Dice, permutation
from ..cards.ink import path
from ..digits import Digits, Mnist, idx_file, read_glyphs, scale_up, sklearn_digits
from ..paint import Points, lines
from .names import COLOURS, LETTERS, SUITS, colour_of, rank_of

Grey = npt.NDArray[np.uint8]
"""uint8 [28, 28]: white on black."""

LetterSplit = Literal["letters", "balanced", "byclass", "bymerge"]
"""EMNIST's split; "letters" mixes capital and small letters."""

_PARTS: tuple[PoolPart, ...] = ("network", "a", "b")


def drawn_sizes(images: int) -> dict[PoolPart, int]:
    """Images of a concept in each part: 50 %, and 70 % and 30 % of the rest, rounded down."""
    network = images // 2
    a = 7 * (images - network) // 10
    return {"network": network, "a": a, "b": images - network - a}


class Glyphs(ABC):
    """Grey images of some concepts, by part of the pool and number."""

    licence: str
    citation: str

    @abstractmethod
    def sizes(self, concept: str) -> Mapping[PoolPart, int]:
        """Number of images of a concept in each part."""

    @abstractmethod
    def draw(self, concept: str, part: PoolPart, number: int) -> Grey:
        """uint8 [28, 28]: an image of a concept; `number` counts from 0 in each part."""

    @abstractmethod
    def hash_of(self, parts: tuple[PoolPart, ...]) -> str:
        """Hash of everything that decides the pixels of these parts."""


class DrawnLetters(Glyphs):
    """Letters that the package draws.

    Args:
        images: of each suit.
    """

    licence = "MIT"
    citation = "letters drawn by nsl-bench itself"

    def __init__(self, images: int, seed: int) -> None:
        self._sizes, self._seed = drawn_sizes(images), seed

    def sizes(self, concept: str) -> Mapping[PoolPart, int]:
        return self._sizes

    def draw(self, concept: str, part: PoolPart, number: int) -> Grey:
        suit = SUITS.index(concept)
        return draw_letter(LETTERS[suit], Dice(self._seed, suit, _PARTS.index(part), number))

    def hash_of(self, parts: tuple[PoolPart, ...]) -> str:
        return f"drawn letters {[self._sizes[part] for part in parts]} {self._seed}"


class SklearnRanks(Glyphs):
    """scikit-learn's digits, each part with digits of its own, moved and slanted a little in every image.

    Args:
        images: of each rank in each colour.
        seed: decides which digit is in which part, and how it is moved.
    """

    licence = "CC BY 4.0"
    citation = (
        "digits by E. Alpaydin and C. Kaynak: Optical Recognition of Handwritten Digits, UCI Machine "
        "Learning Repository, 1998"
    )

    def __init__(self, images: int, seed: int) -> None:
        self._images, self._seed = images, seed

    def sizes(self, concept: str) -> Mapping[PoolPart, int]:
        return drawn_sizes(self._images)

    @cached_property
    def _originals(self) -> dict[PoolPart, list[UInts8]]:
        """uint8 [m, 28, 28] of each digit, by part."""
        levels, digits = sklearn_digits()
        images = np.stack([scale_up(image) for image in (levels.astype(np.int64) * 255 + 8) // 16])
        result: dict[PoolPart, list[UInts8]] = {part: [] for part in _PARTS}
        for digit in range(10):
            rows = np.flatnonzero(digits == digit)
            rows = rows[permutation(len(rows), self._seed, digit)]
            first = 0
            for part, n in drawn_sizes(len(rows)).items():
                result[part].append(images[rows[first : first + n]])
                first += n
        return result

    def draw(self, concept: str, part: PoolPart, number: int) -> Grey:
        rank = rank_of(concept)
        of_digit = self._originals[part]
        digits = [of_digit[int(digit)][number % len(of_digit[int(digit)])] for digit in str(rank)]
        key = (rank, COLOURS.index(colour_of(concept)), _PARTS.index(part), number)
        return _moved(beside(digits), Dice(self._seed, *key))

    def hash_of(self, parts: tuple[PoolPart, ...]) -> str:
        return f"sklearn digits {self._images} {self._seed}"


def beside(digits: list[Grey]) -> Grey:
    """uint8 [28, 28]: digits side by side, each as narrow as it must be."""
    if len(digits) == 1:
        return digits[0]
    narrow = (SIDE // len(digits), SIDE)
    return np.hstack(
        [np.asarray(Image.fromarray(d).resize(narrow, Image.Resampling.BILINEAR)) for d in digits]
    )


def _moved(image: Grey, dice: Dice) -> Grey:
    """The image moved, slanted and scaled a little."""
    size = [dice.between(0.88, 1.12) for _ in range(2)]
    slant, rise = dice.between(-0.2, 0.2), dice.between(-0.12, 0.12)
    right, down = dice.between(-1.5, 1.5), dice.between(-1.5, 1.5)
    half = SIDE / 2
    rows = [(size[0], slant, right), (rise, size[1], down)]
    # Multiples of 2**-16, with which Pillow computes alike everywhere.
    plain = [(a, b, half - (a + b) * half + move) for a, b, move in rows]
    coefficients = tuple(round(value * 65536) / 65536 for row in plain for value in row)
    moved = Image.fromarray(image).transform(
        (SIDE, SIDE), Image.Transform.AFFINE, coefficients, Image.Resampling.BILINEAR
    )
    return np.asarray(moved, np.uint8)


class _Real(Glyphs):
    """Images of a data set: pool B has its test images, the network and pool A share its train images."""

    @abstractmethod
    def _data(self, which: Literal["train", "test"]) -> Digits:
        """Images and their classes."""

    @abstractmethod
    def _rows(self, classes: UInts8, concept: str, which: str) -> Ints:
        """Which images show a concept, in a fixed order."""

    @cached_property
    def _sets(self) -> dict[str, Digits]:
        return {which: self._data(which) for which in ("train", "test")}

    def _rows_by_part(self, concept: str) -> dict[PoolPart, Ints]:
        if concept in self._known:
            return self._known[concept]
        train, test = (self._rows(self._sets[which][1], concept, which) for which in ("train", "test"))
        # Pools A and B share 70 to 30, as in every source, unless that leaves the network less than half.
        a = min(7 * (10 * len(test) // 3) // 10, len(train) // 2)
        self._known[concept] = {"network": train[a:], "a": train[:a], "b": test}
        return self._known[concept]

    @cached_property
    def _known(self) -> dict[str, dict[PoolPart, Ints]]:
        return {}

    def sizes(self, concept: str) -> Mapping[PoolPart, int]:
        return {part: len(rows) for part, rows in self._rows_by_part(concept).items()}

    def draw(self, concept: str, part: PoolPart, number: int) -> Grey:
        images = self._sets["test" if part == "b" else "train"][0]
        return np.asarray(images[self._rows_by_part(concept)[part][number]], np.uint8)

    def hash_of(self, parts: tuple[PoolPart, ...]) -> str:
        digest = hashlib.sha256()
        for which in ("train", "test") if "b" in parts else ("train",):
            for column in self._sets[which]:
                digest.update(np.ascontiguousarray(column).data)
        return f"{type(self).__name__} {digest.hexdigest()[:16]}"


class _Mnist(Mnist):
    instead = "digits=sklearn"


class MnistRanks(_Real):
    """MNIST's digits; half of each are red, half white, and 10 is a 1 beside a 0.

    Args:
        root: MNIST's folder, as the source ``mnist`` takes it.
        seed: decides which digit has which colour.
    """

    licence = "CC BY-SA 3.0"
    citation = "digits of Y. LeCun, C. Cortes and C. J. C. Burges: The MNIST database, 1998"

    def __init__(self, root: Path, seed: int) -> None:
        self._mnist, self._seed = _Mnist(root), seed

    def _data(self, which: Literal["train", "test"]) -> Digits:
        return self._mnist.digits(which)

    def _rows(self, classes: UInts8, concept: str, which: str) -> Ints:
        digit = int(str(rank_of(concept))[0])
        rows = np.flatnonzero(classes == digit)
        lacking = [d for d in map(int, str(rank_of(concept))) if not (classes == d).any()]
        if lacking:
            raise UserError(f"MNIST's {which} images in {self._mnist.root} lack the digit {lacking[0]}.")
        rows = rows[permutation(len(rows), self._seed, digit, len(which))]
        if rank_of(concept) >= 10:
            rows = rows[: np.count_nonzero(classes == 0)]
        return rows[COLOURS.index(colour_of(concept)) :: len(COLOURS)]

    def draw(self, concept: str, part: PoolPart, number: int) -> Grey:
        first = super().draw(concept, part, number)
        if rank_of(concept) < 10:
            return first
        images, classes = self._sets["test" if part == "b" else "train"]
        zeros = np.flatnonzero(classes == 0)
        sizes = self.sizes(concept)
        # The network's zeros come after pool A's, as its ones do.
        place = 2 * (number + (sizes["a"] if part == "network" else 0))
        return beside([first, images[zeros[place + COLOURS.index(colour_of(concept))]]])


class EmnistLetters(_Real):
    """EMNIST's letters A to D.

    Args:
        root: torchvision's root folder, or one that holds the files.
    """

    licence = "CC0 1.0"
    citation = "letters of G. Cohen, S. Afshar, J. Tapson and A. van Schaik: EMNIST, 2017"

    def __init__(self, root: Path, split: LetterSplit) -> None:
        names = [f"emnist-{split}-{which}-{kind}" for which in ("train", "test") for kind in _KINDS]
        folders = (root / "EMNIST" / "raw", root / "raw", root)
        complete = [f for f in folders if all(idx_file(f, name) for name in names)]
        if not complete:
            raise UserError(
                f"The folder {root} lacks EMNIST's letters. Put {names[0]} (or .gz) and the other 3 files "
                f"of its split there or in {Path('EMNIST') / 'raw'} below it, or use the option "
                "letters=drawn."
            )
        self._folder, self._split = complete[0], split

    def _data(self, which: Literal["train", "test"]) -> Digits:
        files = [idx_file(self._folder, f"emnist-{self._split}-{which}-{kind}") for kind in _KINDS]
        image_file, label_file = files
        if image_file is None or label_file is None:
            raise UserError(f"The EMNIST folder {self._folder} has changed: a file is missing.")
        images, classes = read_glyphs(image_file, label_file)
        return images.swapaxes(1, 2), classes  # EMNIST's images lie on their side

    def _rows(self, classes: UInts8, concept: str, which: str) -> Ints:
        first = 1 if self._split == "letters" else 10
        rows = np.flatnonzero(classes == first + SUITS.index(concept))
        if not len(rows):
            raise UserError(
                f"EMNIST's {which} images in {self._folder} lack the letter {LETTERS[SUITS.index(concept)]}."
            )
        return rows


_KINDS = ("images-idx3-ubyte", "labels-idx1-ubyte")

SIDE = 28

_FINE = 4
"""Pixels of the drawing for each pixel of the image, across and down."""

Line = list[tuple[float, float]]

FONTS: Mapping[str, Mapping[str, list[Line]]] = {
    font: {letter: [path(stroke) for stroke in strokes] for letter, strokes in letters.items()}
    for font, letters in tomllib.loads(
        Path(__file__).with_name("fonts.toml").read_text(encoding="utf-8")
    ).items()
}
"""Lines of a pen for each letter, on a grid 4 wide and 6 high."""


def draw_letter(letter: str, dice: Dice) -> UInts8:
    """uint8 [28, 28]: a white letter on black, in one of `FONTS` and a hand that the dice decide."""
    strokes = FONTS[dice.pick(tuple(FONTS))][letter]
    height = dice.between(2.5, 3.3)
    width = height * dice.between(0.8, 1.25)
    slant, rise = dice.between(-0.3, 0.3), dice.between(-0.12, 0.12)
    right, down = dice.between(-1.6, 1.6), dice.between(-1.6, 1.6)
    wobble = dice.between(0.05, 0.38)
    pen = round(_FINE * dice.between(1.7, 3.6))
    paths = []
    for stroke in strokes:
        written = _by_hand(np.asarray(stroke, np.float64), wobble, dice)
        x, y = (written[:, 0] - 2) * width, (written[:, 1] - 3) * height
        across = x - slant * y + right + SIDE / 2
        paths.append((np.stack([across, y + rise * x + down + SIDE / 2], axis=1) * _FINE, pen))
    fine = lines(SIDE * _FINE, paths)
    return np.asarray(Image.fromarray(fine).reduce(_FINE), np.uint8)


def _by_hand(stroke: Points, wobble: float, dice: Dice) -> Points:
    """A stroke whose points a hand has missed by some of the grid's units, smoothly along the line."""
    knots = (dice.many(8).reshape(4, 2) - 0.5) * 2 * wobble
    along = np.linspace(0, 3, len(stroke))
    drift = np.stack([np.interp(along, np.arange(4), knots[:, k]) for k in (0, 1)], axis=1)
    return stroke + drift
