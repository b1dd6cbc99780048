"""Tasks whose examples are drawn at random, each by itself, and those that rsbench's generator writes."""

import pickle
from abc import abstractmethod
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from nsl_bench.core.benchmark import Benchmark
from nsl_bench.core.errors import UserError, named
from nsl_bench.core.files import read
from nsl_bench.core.seeding import generator
from nsl_bench.core.types import Ints, Ints16, Part, Split

_MOST_DRAWS = 1000

_MOST_BYTES = 1 << 20

_NUMBERS = {"Zero": 0, "One": 1, "NegativeOne": -1, "BooleanFalse": 0, "BooleanTrue": 1}
"""Values of sympy that have classes of their own; it need not be installed."""


class Drawn(Benchmark):
    """A task that draws concepts and labels them.

    Attributes:
        balanced: whether all labels are equally frequent.
        few: whether there are so few different examples that train and test sets share them; their images
            differ.
    """

    sizes: Mapping[str, int] = MappingProxyType({"small": 1000, "large": 10_000})
    test_size = 1000
    named_shifts: Mapping[str, str] = MappingProxyType({"rotate90": "rotate:90"})
    balanced: bool = False
    few: bool = False

    @abstractmethod
    def draw(self, part: Part, n: int, rng: np.random.Generator) -> Ints16:
        """int16 [m, slots]: the concepts of some examples; about n of them."""

    @abstractmethod
    def labelled(self, concepts: Ints16) -> Ints16:
        """int16 [n]: the labels of concepts [n, slots]."""

    def generate(
        self, part: Part, size: str, repeat: int, rng: np.random.Generator, exclude: Split | None = None
    ) -> Split:
        n = self.test_size if part == "test" else self.size(size)
        taken = set() if exclude is None or self.few else {row.tobytes() for row in exclude.concepts}
        left = np.full(len(self.labels), -(-n // len(self.labels)) if self.balanced else n)
        rows: list[Ints16] = []
        for _ in range(_MOST_DRAWS):
            drawn = self.draw(part, n, rng)
            for row, label in zip(drawn, self.labelled(drawn), strict=True):
                if left[label] and row.tobytes() not in taken:
                    left[label] -= 1
                    rows.append(row)
            if len(rows) >= n:
                concepts = np.stack(rows)[rng.permutation(len(rows))[:n]]
                return Split(part, self.concept_space, concepts, self.labelled(concepts))
        raise UserError(f"{self.name} has too few different examples for {n} in a set; use fewer.")

    def chosen(self, concepts: Ints16, part: Part, size: str, repeat: int) -> Split:
        """A split of examples from a file: all for a test set, else as many as asked, drawn by the repeat."""
        if part != "test":
            rng = generator("chosen", self.name, repeat)
            concepts = concepts[rng.permutation(len(concepts))[: self.size(size)]]
        return Split(part, self.concept_space, concepts, self.labelled(concepts))


class _Type:
    """The type of a NumPy number in a file; never NumPy's own, which takes any state that a file gives it."""

    def __init__(self, code: str, *_: object) -> None:
        self.whole = np.dtype(
            {"i8": "<i8", "i4": "<i4", "i2": "<i2", "i1": "i1", "u1": "u1", "b1": "?"}[code]
        )

    def __setstate__(self, state: object) -> None:
        """What a file says besides is not taken over."""


def _scalar(kind: _Type, data: bytes) -> int:
    return int(np.frombuffer(data, kind.whole, 1)[0])


class _Plain(pickle.Unpickler):
    """Reads numbers, texts, lists and dictionaries; nothing that a file names is imported or run."""

    def find_class(self, module: str, name: str) -> Any:
        if module.partition(".")[0] == "numpy" and name in ("scalar", "dtype"):
            return _Type if name == "dtype" else _scalar
        if module.startswith("sympy.") and name == "Integer":
            return int
        if module.startswith("sympy.") and name in _NUMBERS:
            return type(name, (int,), {"__new__": lambda cls: int.__new__(cls, _NUMBERS[name])})
        raise pickle.UnpicklingError(f"{module}.{name} is not a number")


class RssgenTask(Drawn):
    """A task whose examples rssgen's files have, too.

    Attributes:
        told: how the files write each label, several values joined by ``_``.
        unseen: whether test examples are out of distribution.
    """

    told: tuple[str, ...]
    unseen: bool = False

    def concepts_of(self, values: Ints) -> Ints:
        """int64 [n, slots]: concepts that the files' numbers [n, numbers] stand for, themselves here."""
        return values

    def read(self, folder: Path, part: Part, size: str, repeat: int) -> Split:
        """Examples of the folder ``train`` or, for a test set, ``test`` or ``ood``, without their images."""
        place = folder / ("train" if part != "test" else "ood" if self.unseen else "test")
        files = sorted(place.glob("*.joblib"), key=lambda file: (len(file.stem), file.stem))
        if not files:
            raise UserError(f"The folder {place} has no files that end in .joblib.")
        rows, told = [], []
        for file in files:
            try:
                data = _Plain(BytesIO(read(file, _MOST_BYTES))).load()
                values = np.array(data["meta"]["concepts"], np.int64).reshape(1, -1)
                row = self.concepts_of(values).reshape(len(self.slots)).astype(np.int16)
                told.append(
                    "_".join(str(int(value)) for value in np.array(data["label"], object).reshape(-1))
                )
            except Exception as error:  # the bytes may be anything
                raise UserError(f"{file} is not an example of {self.name} ({named(error)}).") from error
            if row.min() < 0 or row.max() >= len(self.concept_space):
                raise UserError(f"{file} shows a concept that {self.name} does not have: {values.tolist()}.")
            rows.append(row)
        concepts = np.stack(rows)
        for file, own, label in zip(files, told, self.labelled(concepts).tolist(), strict=True):
            if own != self.told[label]:
                raise UserError(
                    f"{file}: the label must be {self.told[label]} by the rule of {self.name}; got {own}. "
                    "Give the task the options with which the files were made."
                )
        return self.chosen(concepts, part, size, repeat)
