"""Examples in the files of rsbench's generator: ``train/0.png``, ``train/0.joblib``, ``train/1.png`` ..."""

import pickle
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from nsl_bench.core.errors import UserError, named
from nsl_bench.core.files import read
from nsl_bench.core.types import Ints, Part, Split

from .drawn import Drawn

_MOST_BYTES = 1 << 20

_NUMBERS = {"Zero": 0, "One": 1, "NegativeOne": -1, "BooleanFalse": 0, "BooleanTrue": 1}
"""Values of sympy that have classes of their own; it need not be installed."""


class _Plain(pickle.Unpickler):
    """Reads numbers, texts, lists and dictionaries; nothing that a file names is imported or run."""

    def find_class(self, module: str, name: str) -> Any:
        if module.partition(".")[0] == "numpy" and name in ("scalar", "dtype"):
            return np.dtype if name == "dtype" else np.int64(0).__reduce__()[0]
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
