"""Zoo: the class of an animal, from images of digits that stand for its features.

NSL paper (Cunnington et al. 2020: "NSL: Hybrid Interpretable Learning From Noisy Raw Data"), section 4.
"""

from __future__ import annotations

import copy
import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType

import numpy as np

from nsl_bench.core.benchmark import Benchmark, Layout
from nsl_bench.core.errors import UserError
from nsl_bench.core.seeding import generator
from nsl_bench.core.types import BLANK, Array, ConceptSpace, Floats32, Ints16, LabelSpace, Part, Split

from .folds import stratified_folds

TABLE = Path(__file__).with_name("zoo.csv")

ANIMALS = 101

CLASSES = ("mammal", "bird", "reptile", "fish", "amphibian", "bug", "invertebrate")

_BINARY = ("0", "1")
_FEATURES = (
    *("hair", "feathers", "eggs", "milk", "airborne", "aquatic", "predator", "toothed", "backbone"),
    *("breathes", "venomous", "fins", "legs", "tail", "domestic", "catsize"),
)

RANGES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {name: ("0", "2", "4", "5", "6", "8") if name == "legs" else _BINARY for name in _FEATURES}
)
"""Each feature, in the order of the table, and the digits that are its values."""

_HEADER = ("animal", *RANGES, "class")


@dataclass(frozen=True)
class Animal:
    """A row of the table.

    Attributes:
        features: digit by feature, in the order of `RANGES`.
        kind: one of `CLASSES`.
    """

    name: str
    features: Mapping[str, str]
    kind: str


@cache
def animals() -> tuple[Animal, ...]:
    """The animals, in the order of the table."""
    return read_animals(TABLE)


def read_animals(path: Path) -> tuple[Animal, ...]:
    """Read and check a table of animals; lines that start with ``#`` are comments.

    The repository's has two frogs, of which ours calls the second ``frog_2``, and insects, which are our
    bugs.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"The table {path} cannot be read: {error}.") from error
    numbered = [(k, line) for k, line in enumerate(lines, 1) if line.strip() and not line.startswith("#")]
    rows = list(zip((k for k, _ in numbered), csv.reader(line for _, line in numbered), strict=True))
    if not rows or tuple(rows[0][1]) != _HEADER:
        raise UserError(f"{path}: the header must be {','.join(_HEADER)}.")
    result: dict[str, Animal] = {}
    for k, row in rows[1:]:
        animal = _animal(row, f"{path}, line {k}")
        if animal.name in result:
            raise UserError(f"{path}, line {k}: each animal must occur once; got '{animal.name}' again.")
        result[animal.name] = animal
    if len(result) != ANIMALS:
        raise UserError(f"{path} must have {ANIMALS} animals; got {len(result)}.")
    return tuple(result.values())


def _animal(row: list[str], where: str) -> Animal:
    """A row of cells as an animal."""
    if len(row) != len(_HEADER):
        raise UserError(f"{where}: a row must have {len(_HEADER)} values; got {len(row)}.")
    name, *values, kind = (cell.strip() for cell in row)
    if not name:
        raise UserError(f"{where}: the animal has no name; give it one.")
    features = dict(zip(RANGES, values, strict=True))
    for feature, value in features.items():
        if value not in RANGES[feature]:
            allowed = f"{', '.join(RANGES[feature][:-1])} or {RANGES[feature][-1]}"
            raise UserError(f"{where}: {feature} of {name} must be {allowed}; got '{value}'.")
    if kind not in CLASSES:
        raise UserError(f"{where}: the class of {name} must be one of {', '.join(CLASSES)}; got '{kind}'.")
    return Animal(name, features, kind)


FOLDS = 5

PAPER_FEATURES = ("hair", "feathers", "eggs", "milk", "aquatic", "predator", "fins", "legs", "tail")
"""The nine features that the paper lists; it speaks of ten."""

_DIGITS = {len(digits): ConceptSpace("digit", tuple(digits)) for digits in ("0124568", "0123456789")}

_TIMES_LARGE = 100


class Zoo(Benchmark):
    """Predict an animal's class from images of digits, one for each of its features.

    Train splits 1 to 5 are the folds of a cross-validation over 101 animals. The test set of train split k is
    fold k, with 20 or 21 animals; its train set has the other 80 or 81. The folds are stratified by class:
    each class is spread evenly over them. The validation set of a train split has the animals of the train
    set again, with images drawn anew. A larger train set has its animals several times. The labels come from
    a table; there is no true rule.

    Args:
        features: 9, those of the NSL paper, or all 16 of the table. With 9, a crab and two frogs have
            the same values, so that no rules label all animals correctly.
        fold: use this fold, 1 to 5, as the test set of all train splits.
        digits: 7, those that are values, or all 10, which the networks of the NSL paper know. With 10, rules
            may name any digit as the value of any feature, since a network may see it there.
    """

    version = "1.0.0"
    description = "Which class does an animal belong to, given images of digits for its features?"
    labels = LabelSpace(CLASSES, tuple(f"class({kind})" for kind in CLASSES))
    concept_space = _DIGITS[7]
    true_rule = ""
    repeats = FOLDS
    overlap = 1 / (FOLDS - 1)
    sources = ("sklearn_digits", "mnist")
    named_shifts: Mapping[str, str] = MappingProxyType({"rotate90": "rotate:90"})
    about = (
        "The animals and their features are the Zoo data set by Richard Forsyth, UCI Machine Learning "
        "Repository, 1990, https://doi.org/10.24432/C5R59V, CC BY 4.0. Train and test sets are the folds of "
        "a stratified cross-validation: each animal is in one of the five test sets. A validation set has "
        "the animals of its train set again, with images drawn anew."
    )

    def __init__(self, features: int = len(PAPER_FEATURES), fold: int | None = None, digits: int = 7) -> None:
        """Set up the task."""
        if features not in (len(PAPER_FEATURES), len(RANGES)):
            raise UserError(f"zoo: features must be {len(PAPER_FEATURES)} or {len(RANGES)}; got {features}.")
        if fold is not None and not 1 <= fold <= FOLDS:
            raise UserError(f"zoo: fold must be between 1 and {FOLDS}; got {fold}.")
        if digits not in _DIGITS:
            raise UserError(f"zoo: digits must be 7 or 10; got {digits}.")
        self.concept_space = _DIGITS[digits]
        self.slots = PAPER_FEATURES if features == len(PAPER_FEATURES) else tuple(RANGES)
        self.own_tests = fold is None
        self._known = animals()
        ids = self.concept_space.ids
        self._rows = np.array(
            [[ids[animal.features[name]] for name in self.slots] for animal in self._known], np.int16
        )
        self._labels = np.array([CLASSES.index(animal.kind) for animal in self._known], np.int16)
        any_digit = digits == 10
        self.background, self.bias = _background(any_digit=any_digit), _bias(self.slots, any_digit=any_digit)
        self.inputs = "".join(f"1 {{ {name}({';'.join(RANGES[name])}) }} 1.\n" for name in self.slots)
        self._take(fold or 1, 0)
        self.name = self._named(fold)

    def _named(self, fold: int | None) -> str:
        """The name with all options that are not the default."""
        words = [] if self.slots == PAPER_FEATURES else [f"features={len(self.slots)}"]
        words += [] if fold is None else [f"fold={fold}"]
        words += [] if self.concept_space == type(self).concept_space else ["digits=10"]
        return f"zoo:{','.join(words)}" if words else "zoo"

    def _take(self, fold: int, seed: int | str) -> None:
        """Take on a fold's train and test animals, with the folds that a seed gives."""
        of = stratified_folds(self._labels, FOLDS, generator("zoo", self.version, "folds", seed)) + 1
        self._fold = fold
        self._tested, self._shown = np.flatnonzero(of == fold), np.flatnonzero(of != fold)
        self.sizes = {"small": len(self._shown), "large": _TIMES_LARGE * len(self._shown)}
        self.test_size = len(self._tested)

    def for_split(self, repeat: int, seed: int | str = 0) -> Zoo:
        """The task of train split k, tested on fold k unless `fold` is set; the seed draws the folds."""
        fold = repeat if self.own_tests else self._fold
        if fold > FOLDS:
            raise UserError(f"{self.name} has {FOLDS} train splits; got train split {fold}.")
        task = copy.copy(self)
        task._take(fold, seed)
        if self.test_size != len(self._tested):  # a number of test examples was asked for
            task.test_size = self.test_size
        task.name = task._named(fold)
        return task

    def generate(
        self, part: Part, size: str, repeat: int, rng: np.random.Generator, exclude: Split | None = None
    ) -> Split:
        """Generate the animals of a part in random order, each once before any comes twice."""
        animals_of, n = (self._tested, self.test_size) if part == "test" else (self._shown, self.size(size))
        rounds = -(-n // len(animals_of))
        chosen = np.concatenate([rng.permutation(animals_of) for _ in range(rounds)])[:n]
        return Split(part, self.concept_space, self._rows[chosen], self._labels[chosen])

    def facts(self, slot: int, concept: str) -> tuple[str, ...]:
        return (f"{self.slots[slot]}({concept})",)

    def features(self, concepts: Ints16, metadata: Mapping[str, Array]) -> Floats32:
        """float32 [n, slots]: the digits."""
        digits = np.array([int(digit) for digit in self.concept_space.concepts], np.float32)
        values: Floats32 = digits[concepts]
        values[concepts == BLANK] = 0
        return values

    def feature_names(self, *, knowledge: bool = False) -> tuple[str, ...]:
        return () if knowledge else self.slots

    def layout(self) -> Layout:
        side = int(np.sqrt(len(self.slots)))
        return Layout(side, side)


def _background(*, any_digit: bool) -> str:
    """At most one class, and the constants that rules may name."""
    facts = [f"class_name({kind})." for kind in CLASSES]
    facts += [f"truth({digit})." for digit in RANGES["hair"]]
    facts += [f"number({digit})." for digit in (_DIGITS[10].concepts if any_digit else RANGES["legs"])]
    return "% An animal has one class.\n:- class(X), class(Y), X < Y.\n\n" + "\n".join(facts) + "\n"


def _bias(slots: tuple[str, ...], *, any_digit: bool) -> str:
    """Any conjunction of features' values implies a class; a rule costs its length."""
    constants = {name: "number" if any_digit or name == "legs" else "truth" for name in slots}
    modes = [f"#modeb(1, {name}(const({kind})))." for name, kind in constants.items()]
    costs = ['#bias("penalty(1, head).").', '#bias("penalty(1, body(X)) :- in_body(X).").']
    return "\n".join(["#modeh(class(const(class_name))).", *modes, *costs]) + "\n"
