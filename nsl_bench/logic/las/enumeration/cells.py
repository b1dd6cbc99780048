"""The cells that conditions of examples speak about.

A cell is a learned atom in one context. Conditions ask for filled and for empty cells; a rule fills the cells
whose atom it derives there.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from nsl_bench.core.types import Bools, Ints, UInts8
from nsl_bench.logic.las.bits import Bits, pack
from nsl_bench.logic.las.tables.conditions import Target
from nsl_bench.logic.las.tables.dominance import Interest
from nsl_bench.logic.las.tables.formulas import literals_of


def bits_of(words: Bits) -> UInts8:
    """uint8 [k, 64]: the bits of uint64 [k]."""
    return np.unpackbits(words.view(np.uint8), bitorder="little").reshape(-1, 64)


class Cells:
    """The cells of some problems, each of which is solved by itself.

    Args:
        problems: conditions of examples.

    Attributes:
        row: program atom to row; rows of atoms that stand for rules given whole come last.
        wanted, unwanted: uint64 [rows, words]: cells that some condition asks to be filled, empty; only the
            rows of learned atoms.
        required: uint64 [rows, words]: cells that an example asks to be filled that must be covered.
        weights: int64 [rows, words, 64]: penalties of the other examples that ask for a cell to be filled,
            in the problem where they are highest.
    """

    def __init__(self, problems: Sequence[Sequence[Target]], words: int, n: int) -> None:
        self.n = n
        literals = {
            id(target.condition): frozenset((lit.atom, lit.positive) for lit in literals_of(target.condition))
            for problem in problems
            for target in {id(target.condition): target for target in problem}.values()
        }
        atoms = {atom for flagged in literals.values() for atom, _ in flagged}
        self.row = {atom: i for i, atom in enumerate(sorted(atoms, key=lambda atom: (atom < 0, atom)))}
        rows = sum(atom >= 0 for atom in atoms)
        flags = {kind: np.zeros((rows, n), np.bool_) for kind in ("wanted", "unwanted", "required")}
        weights = np.zeros((rows, 64 * words), np.int64)
        for problem in problems:
            weight = np.zeros_like(weights) if len(problems) > 1 else weights
            for condition, columns, penalties, required in _grouped(problem):
                for atom, positive in literals[condition]:
                    if atom < 0:
                        continue
                    row = self.row[atom]
                    flags["wanted" if positive else "unwanted"][row, columns] = True
                    if positive:
                        np.add.at(weight[row], columns, penalties)
                        flags["required"][row, columns[required]] = True
            if len(problems) > 1:
                np.maximum(weights, weight, out=weights)
        self.weights = weights.reshape(rows, words, 64)
        packed = {kind: pack(flagged).reshape(rows, words) for kind, flagged in flags.items()}
        self.wanted, self.unwanted, self.required = packed["wanted"], packed["unwanted"], packed["required"]
        self.interesting = self.wanted | self.unwanted

    @property
    def interest(self) -> Interest:
        """Which columns and atoms matter."""
        wanted, unwanted = (np.bitwise_or.reduce(each, axis=0) for each in (self.wanted, self.unwanted))
        return Interest(wanted, unwanted, frozenset(self.row))


def _grouped(problem: Sequence[Target]) -> list[tuple[int, npt.NDArray[np.intp], Ints, Bools]]:
    """Each condition (its identity) with the columns and penalties of its targets, and which are required."""
    groups: dict[int, list[Target]] = {}
    for target in problem:
        groups.setdefault(id(target.condition), []).append(target)
    return [
        (
            condition,
            np.array([target.column for target in targets], np.intp),
            np.array([target.penalty or 0 for target in targets], np.int64),
            np.array([target.penalty is None for target in targets], np.bool_),
        )
        for condition, targets in groups.items()
    ]
