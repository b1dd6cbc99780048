"""UCI tables as bits, and as images of 0 and 1: one class against the others, in ten folds.

Moeller, Norlander, Zuidberg Dos Martires, De Raedt: "Neurosymbolic Decision Trees" (2025, arXiv 2503.08762),
section 6.1; the binarisation is our own, because the paper's is not public.
"""

from __future__ import annotations

import copy
import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType

import numpy as np

from nsl_bench.core.benchmark import Benchmark, Layout
from nsl_bench.core.errors import UserError
from nsl_bench.core.options import option
from nsl_bench.core.seeding import generator
from nsl_bench.core.types import (
    BLANK,
    Array,
    Bools,
    ConceptSpace,
    Floats,
    Floats32,
    Ints,
    Ints16,
    LabelSpace,
    Part,
    Split,
    UInts8,
)

from . import programs
from .uci_sets import Table, load_table

_PROGRAMS = programs(__file__)

FOLDS = 10

_BINS = (2, 4)
_DEFAULT_BINS = 3

_WIDTH = 8
"""Images in a row of a picture."""


class Uci(Benchmark):
    """Predict whether a row of a UCI table is of the table's most frequent class, from its bits.

    Each bit is an image of a 0 or a 1. Train split k tests on fold k, is validated on the next fold, and
    trains on the other eight; folds have the classes' shares. Numeric columns are cut into bins by class
    entropy on the train rows. Rows with missing values are left out.
    """

    name = "uci"
    version = "1.0.0"
    description = "A row of a UCI table, as images of its bits, is of the most frequent class or not."
    concept_space = ConceptSpace("digit", ("0", "1"))
    sources = ("sklearn_digits", "mnist")
    named_shifts: Mapping[str, str] = MappingProxyType({"rotate90": "rotate:90"})
    own_tests = True
    repeats = FOLDS
    overlap = 1 / (FOLDS - 2)
    true_rule = ""

    set: str = option("iris", "the table, e.g. ``iris``, ``wine``, ``car``, ``mushroom``")
    bins: int = option(_DEFAULT_BINS, "most bins of a numeric column, 2 to 4", least=_BINS[0], most=_BINS[1])
    folder: Path | None = option(None, "folder of the tables' ARFF or CSV files")
    openml: Path | None = option(
        None, "``data_home`` of `sklearn.datasets.fetch_openml`, whose cache is read instead"
    )
    merged: bool = option(False, "whether a category's values share `bins` bits at random, as in the paper")

    def __post_init__(self) -> None:
        self.name = self.spec_with()
        self._table = load_table(self.set, self.folder, self.openml)
        count = Counter(self._table.classes)
        if len(self._table.classes) < FOLDS or len(count) < 2:
            raise UserError(
                f"{self.name}: the table must have {FOLDS} complete rows or more, of two classes or "
                f"more; got {len(self._table.classes)} rows of {len(count)}."
            )
        most = max(count, key=lambda name: count[name])
        others = sorted(name for name in count if name != most)
        names = (_named(others[0]) if len(others) == 1 else "other", _named(most))
        self.labels = LabelSpace(names, (None, "positive"))
        self._positive = np.array([name == most for name in self._table.classes])
        self._take(0, 0)

    def _take(self, fold: int, seed: int | str) -> None:
        """Take on a fold: its test rows, and bins of its train rows."""
        self._fold = fold
        self._folds = self._divided(seed)
        self._part_of = (self._folds - fold) % FOLDS  # 0: test, 1: validation
        draw = generator("uci merged", self.version, self.set) if self.merged else None
        bits = make_bits(self._table, self._part_of > 1, self._positive, self.bins, draw)
        self._bits, self._atoms, self._names = bits.values, bits.atoms, bits.names
        self.slots = tuple(f"x{k + 1}" for k in range(len(bits.names)))
        self.test_size = int((self._part_of == 0).sum())
        self.sizes = {"small": int((self._part_of > 1).sum())}
        self.background = " ".join(f"feature({atom})." for atom in bits.atoms) + "\n"
        constants = "\n".join(f"#constant(feature, {atom})." for atom in bits.atoms)
        self.bias = _PROGRAMS["bias"].format(constants=constants)
        self.inputs = "{ has(F) } :- feature(F)."

    def _divided(self, seed: int | str) -> Ints:
        """int64 [rows]: the fold of each row, with the classes' shares in each."""
        rng = generator("uci", self.version, self.set, seed)
        folds = np.empty(len(self._positive), np.int64)
        start = 0
        for side in (True, False):
            rows = rng.permutation(np.flatnonzero(self._positive == side))
            folds[rows] = (start + np.arange(len(rows))) % FOLDS
            start += len(rows)
        return folds

    def for_split(self, repeat: int, seed: int | str = 0) -> Uci:
        """The task of train split k, with test fold k."""
        if repeat > FOLDS:
            raise UserError(f"{self.name} has {FOLDS} folds, one a train split; got train split {repeat}.")
        task = copy.copy(self)
        task._take(repeat - 1, seed)
        return task

    def fingerprint(self) -> str:
        """Hash of the bits and classes of all rows and of this split's folds, 16 hexadecimal digits."""
        digest = hashlib.sha256("\n".join((*self._names, *self.labels.names)).encode())
        for column in (self._bits, self._positive, self._part_of):
            digest.update(np.ascontiguousarray(column, np.uint8).data)
        return digest.hexdigest()[:16]

    def generate(
        self, part: Part, size: str, repeat: int, rng: np.random.Generator, exclude: Split | None = None
    ) -> Split:
        """The rows of the test fold, or of the train folds in random order."""
        rows = np.flatnonzero(self._part_of == 0 if part == "test" else self._part_of > 1)
        n = len(rows) if part == "test" else self.size(size)
        if n > len(rows):
            raise UserError(f"{self.name} has {len(rows)} train examples a fold; got {n}.")
        return self._split(part, rng.permutation(rows)[:n])

    def generate_validation(self, size: str, repeat: int, rng: np.random.Generator, exclude: Split) -> Split:
        """The rows of the fold after the test fold."""
        return self._split("validation", rng.permutation(np.flatnonzero(self._part_of == 1)))

    def _split(self, part: Part, rows: Ints) -> Split:
        concepts, labels = self._bits[rows].astype(np.int16), self._positive[rows].astype(np.int16)
        return Split(part, self.concept_space, concepts, labels)

    def layout(self) -> Layout:
        return Layout(-(-len(self.slots) // _WIDTH), _WIDTH)

    def facts(self, slot: int, concept: str) -> tuple[str, ...]:
        """What a bit says if it is 1."""
        return (f"has({self._atoms[slot]})",) if concept == "1" else ()

    def features(self, concepts: Ints16, metadata: Mapping[str, Array]) -> Floats32:
        """float32 [n, bits]: the bits; 0.5 for a blank."""
        return np.where(concepts == BLANK, np.float32(0.5), concepts).astype(np.float32)

    def feature_names(self, *, knowledge: bool = False) -> tuple[str, ...]:
        return () if knowledge else self._names


def _named(text: str) -> str:
    """A class as a label's name."""
    word = {"+": "plus", "-": "minus"}.get(text, re.sub(r"\W+", "_", text).strip("_"))
    return word if not word.isdecimal() else f"class_{word}"


@dataclass(frozen=True)
class Bits:
    """A table as bits.

    Attributes:
        names: for each bit what it says, e.g. ``"odor=f"``.
        atoms: the same as constants of ASP, e.g. ``"odor_f"``.
        values: uint8 [rows, bits].
    """

    names: tuple[str, ...]
    atoms: tuple[str, ...]
    values: UInts8


def make_bits(
    table: Table, train: Bools, positive: Bools, bins: int, draw: np.random.Generator | None = None
) -> Bits:
    """Binarise a table; bins follow from the train rows alone, so that a test fold tells nothing about them.

    A column with two values, or in two bins, is one bit; others have a bit for each value or bin.

    Args:
        train: bool [rows], which rows decide the bins.
        positive: bool [rows], which are of the positive class.
        bins: most bins of a numeric column.
        draw: merges the values of a category at random into as many as there are bins.
    """
    names: list[str] = []
    columns: list[Bools] = []
    for k, attribute in enumerate(table.attributes):
        cells = [row[k] for row in table.values]
        if table.numeric[k]:
            numbers = np.array(cells, np.float64)
            cuts = cut_points(numbers[train], positive[train], bins)
            codes = np.searchsorted(np.array(cuts), numbers, side="right")
            # As many bits in every fold, whatever the bins are.
            count = min(bins, len(set(cells)))
            words = [f"{attribute} in bin {b + 1}" for b in range(count)]
        else:
            values = sorted(set(cells))
            codes = np.array([values.index(cell) for cell in cells])
            count = len(values)
            words = [f"{attribute}={value}" for value in values]
            if draw is not None and count > bins:
                codes, count = draw.permutation(np.arange(count) % bins)[codes], bins
                words = [f"{attribute} in group {b + 1}" for b in range(bins)]
        for b in range(1 if count == 2 else 0, count):
            names.append(words[b])
            columns.append(codes == b)
    atoms = _atoms(names)
    return Bits(tuple(names), atoms, np.stack(columns, axis=1).astype(np.uint8))


def cut_points(numbers: Floats, positive: Bools, bins: int) -> tuple[float, ...]:
    """Points between bins, ascending: each next one reduces the classes' entropy most.

    Fayyad and Irani: "Multi-Interval Discretization of Continuous-Valued Attributes", 1993, with a number of
    bins in place of their stopping rule.

    Args:
        positive: bool [rows], the rows' class.
        bins: most bins; fewer where all numbers of a bin are equal.
    """
    order = np.argsort(numbers, kind="stable")
    values, labels = numbers[order], positive[order]
    cuts: list[int] = []
    for _ in range(bins - 1):
        edges = [0, *sorted(cuts), len(values)]
        splits = [split for a, b in pairwise(edges) if (split := _best(values, labels, a, b))]
        if not splits:
            break
        cuts.append(max(splits)[1])
    return tuple(float((values[cut - 1] + values[cut]) / 2) for cut in sorted(cuts))


def _best(values: Floats, labels: Bools, start: int, stop: int) -> tuple[float, int] | None:
    """The gain, weighted by the rows, and the place of the best cut between two rows, if there is one."""
    n = stop - start
    places = np.flatnonzero(values[start + 1 : stop] > values[start : stop - 1]) + 1
    if not len(places):
        return None
    ones = np.cumsum(labels[start:stop])
    left, total = ones[places - 1].astype(np.float64), float(ones[-1])
    after = _bits(left, places.astype(np.float64)) + _bits(total - left, n - places.astype(np.float64))
    gain = float(_bits(np.array(total), np.array(float(n)))) - after
    best = int(gain.argmax())
    return float(gain[best]), start + int(places[best])


def _bits(ones: Floats, n: Floats) -> Floats:
    """n times the binary entropy of ``ones / n``."""
    share = ones / n
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = [np.where(p > 0, p * np.log2(p), 0.0) for p in (share, 1 - share)]
    return np.asarray(-n * (parts[0] + parts[1]), np.float64)


def _atoms(names: Sequence[str]) -> tuple[str, ...]:
    """Constants of ASP for names, all different."""
    result: dict[str, None] = {}
    for name in names:
        word = re.sub(r"\W+", "_", name.lower(), flags=re.ASCII).strip("_")
        word = word if word[:1].isalpha() else f"a_{word}"
        other, number = word, 2
        while other in result:
            other, number = f"{word}_{number}", number + 1
        result[other] = None
    return tuple(result)
