"""The table of animals behind the task `zoo`: 101 animals, 16 features and a class each.

Zoo, by Richard Forsyth, UCI Machine Learning Repository, 1990, https://doi.org/10.24432/C5R59V, CC BY 4.0.
``zoo.csv`` names the second of its two frogs, which differ in one feature, ``frog_2``, and its insects bugs.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType

from nsl_bench.core.errors import UserError

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
        name: unique.
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
    """Read and check a table of animals; lines that start with ``#`` are comments."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"The table {path} cannot be read: {error}.") from error
    numbered = [(k, line) for k, line in enumerate(lines, 1) if line.strip() and not line.startswith("#")]
    rows = list(zip((k for k, _ in numbered), csv.reader(line for _, line in numbered), strict=True))
    if not rows or tuple(rows[0][1]) != _HEADER:
        raise UserError(f"{path}: the header must be {','.join(_HEADER)}.")
    found: dict[str, Animal] = {}
    for k, row in rows[1:]:
        animal = _animal(row, f"{path}, line {k}")
        if animal.name in found:
            raise UserError(f"{path}, line {k}: each animal must occur once; got '{animal.name}' again.")
        found[animal.name] = animal
    if len(found) != ANIMALS:
        raise UserError(f"{path} must have {ANIMALS} animals; got {len(found)}.")
    return tuple(found.values())


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
