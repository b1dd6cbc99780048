"""The values of a slot that a ground program can tell apart.

Concepts that make the same atoms true, and "nothing", which makes none true, fall into classes; class 0
holds "nothing". A hypothesis about three crops sees 38 concepts as four classes.
"""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from nsl_bench.core.types import Floats, Ints
from nsl_bench.logic.inference.program.ground import NEVER, GroundProgram, GroundRule


@dataclass(frozen=True, eq=False)
class Domains:
    """A program whose pick atoms stand for classes of values.

    Attributes:
        program: the program; `picks[slot][c - 1]` is the atom of class c.
        sizes: for each slot the number of its classes.
        classes: int64 [slots, concepts]: the class of each concept.
        atoms: for each pick atom its slot and class.
    """

    program: GroundProgram
    sizes: tuple[int, ...]
    classes: Ints
    atoms: dict[int, tuple[int, int]]

    @classmethod
    def of(cls, program: GroundProgram, concepts: int) -> Self:
        """The classes of a program's values.

        Args:
            program: the ground program.
            concepts: number of concepts.
        """
        consequences: dict[int, list[GroundRule]] = {}
        plain: set[int] = set()
        for rule in program.rules:
            for atom, positive in rule.body:
                if len(rule.body) == 1 and positive and not rule.weights:
                    consequences.setdefault(atom, []).append(rule)
                else:
                    plain.add(atom)
        classes = np.zeros((len(program.picks), concepts), np.int64)
        picks, atoms, dropped = [], {}, set()
        for slot, values in enumerate(program.picks):
            class_of: dict[object, int] = {frozenset(): 0}
            representatives: list[int] = []
            for value, atom in enumerate(values):
                if atom == NEVER:
                    continue
                heads = frozenset(rule.head for rule in consequences.get(atom, ()))
                signature: object = atom if atom in plain else heads
                if signature not in class_of:
                    class_of[signature] = len(class_of)
                    representatives.append(atom)
                    atoms[atom] = (slot, class_of[signature])
                else:
                    dropped.add(atom)
                classes[slot, value] = class_of[signature]
            picks.append(tuple(representatives))
        components = tuple(
            rules
            for component in program.components
            if (rules := tuple(r for r in component if not any(a in dropped for a, _ in r.body)))
        )
        return cls(
            replace(program, picks=tuple(picks), components=components),
            tuple(len(p) + 1 for p in picks),
            classes,
            atoms,
        )

    def probabilities(self, given: Floats) -> Floats:
        """float64 [n, slots, classes]: class probabilities from concept probabilities.

        Args:
            given: float64 [n, slots, concepts], rows summing to at most 1.
        """
        n, slots, _ = given.shape
        result = np.zeros((n, slots, max(self.sizes, default=1)))
        kinds, kind_of = np.unique(self.classes, axis=0, return_inverse=True)
        for kind, classes in enumerate(kinds):
            alike = np.flatnonzero(kind_of.reshape(-1) == kind)
            order = classes.argsort(kind="stable")
            present, starts = np.unique(classes[order], return_index=True)
            sums = given[:, alike[:, None], order]
            if len(present) < len(order):
                sums = np.add.reduceat(sums, starts, axis=2)
            result[:, alike[:, None], present] = sums
        result[:, :, 0] += np.maximum(0.0, 1.0 - np.einsum("nsc->ns", given))
        return result
