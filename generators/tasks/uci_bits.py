"""Tables as bits: numbers in bins of least class entropy, and one bit for each bin or value.

The bins follow from the train rows alone, so that a test fold tells nothing about them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from .uci_sets import Table


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
    values: npt.NDArray[np.uint8]


def make_bits(table: Table, train: npt.NDArray[np.bool_], positive: npt.NDArray[np.bool_], bins: int) -> Bits:
    """Binarise a table.

    A column with two values, or in two bins, is one bit; others have a bit for each value or bin.

    Args:
        train: bool [rows], which rows decide the bins.
        positive: bool [rows], which are of the positive class.
        bins: most bins of a numeric column.
    """
    names: list[str] = []
    columns: list[npt.NDArray[np.bool_]] = []
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
        for b in range(1 if count == 2 else 0, count):
            names.append(words[b])
            columns.append(codes == b)
    atoms = _atoms(names)
    return Bits(tuple(names), atoms, np.stack(columns, axis=1).astype(np.uint8))


def cut_points(
    numbers: npt.NDArray[np.float64], positive: npt.NDArray[np.bool_], bins: int
) -> tuple[float, ...]:
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
        found = [split for a, b in pairwise(edges) if (split := _best(values, labels, a, b))]
        if not found:
            break
        cuts.append(max(found)[1])
    return tuple(float((values[cut - 1] + values[cut]) / 2) for cut in sorted(cuts))


def _best(
    values: npt.NDArray[np.float64], labels: npt.NDArray[np.bool_], start: int, stop: int
) -> tuple[float, int] | None:
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


def _bits(ones: npt.NDArray[np.float64], n: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
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
