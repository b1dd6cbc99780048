"""Hitting sets: is there a small set of elements that has one of every set of a collection?

Cunnington, Law, Lobo, Russo: "Neuro-Symbolic Learning of Answer Set Programs from Raw Data" (NSIL, IJCAI
2023), section 5.
"""

import itertools

import numpy as np

from nsl_bench.core.benchmark import Layout
from nsl_bench.core.errors import UserError
from nsl_bench.core.options import option
from nsl_bench.core.types import BLANK, ConceptSpace, Ints16, LabelSpace, Part

from . import programs
from .drawn import Drawn

_PROGRAMS = programs(__file__)

_MOST_SETS_CONSTRAINED = 3
"""The number of sets from which element 1 rules out a hitting set, in the paper's task CHS."""


class HittingSets(Drawn):
    """Predict whether a collection of sets has a hitting set of at most `budget` elements.

    A row of slots is a set, and an image in it shows an element; the other slots are blank. Elements of a set
    are in ascending order, sets in the order of their first elements, and no two sets are equal. There are
    few collections, so train and test sets share them.
    """

    name = "hitting_sets"
    version = "1.0.0"
    description = "Can a few elements, in images of digits, hit every set of a collection?"
    labels = LabelSpace(("no_hitting_set", "hitting_set"), (None, "hitting_set"))
    bias = _PROGRAMS["bias"]
    sizes = {"small": 1502}  # noqa: RUF012
    test_size = 316
    sources = ("sklearn_digits", "mnist", "mnist_train")
    few = True

    budget: int = option(2, "most elements of a hitting set", least=1, most=4)
    images: int = option(4, "number of elements in all sets together", least=2, most=6)
    elements: int = option(5, "elements are the digits from 1 to this one", least=2, most=9)
    constrained: bool = option(
        False, "whether a collection of 3 or more sets with the element 1 has none, as in the paper's CHS"
    )

    def __post_init__(self) -> None:
        if self.images > 2 * self.elements:
            raise UserError(f"hitting_sets: images must be at most {2 * self.elements}; got {self.images}.")
        self.name = self.spec_with()
        self.concept_space = ConceptSpace("digit", tuple(map(str, range(1, self.elements + 1))))
        sides = range(1, self.images + 1)
        self.slots = tuple(f"set_{s}_element_{k}" for s in sides for k in sides)
        self._candidates = list(itertools.combinations(range(self.elements), min(self.budget, self.elements)))
        members = (f"member({c},{e + 1})." for c, of in enumerate(self._candidates) for e in of)
        self.background = _PROGRAMS["background"].format(members=" ".join(members))
        self.true_rule = _PROGRAMS["constrained" if self.constrained else "rule"]
        self.inputs = _PROGRAMS["inputs"].format(images=self.images, elements=self.elements)

    def draw(self, part: Part, n: int, rng: np.random.Generator) -> Ints16:
        rows: list[Ints16] = []
        while len(rows) < n:
            cuts = np.flatnonzero(rng.random(self.images - 1) < 0.5) + 1
            sizes = np.diff([0, *cuts, self.images])
            if sizes.max() <= self.elements:
                sets = sorted(tuple(sorted(rng.permutation(self.elements)[:k].tolist())) for k in sizes)
                if len(set(sets)) == len(sets):
                    row = np.full((self.images, self.images), BLANK, np.int16)
                    for place, one in zip(row, sets, strict=False):
                        place[: len(one)] = one
                    rows.append(row.reshape(-1))
        return np.stack(rows)

    def labelled(self, concepts: Ints16) -> Ints16:
        sets = concepts.reshape(len(concepts), self.images, self.images)
        there = (sets != BLANK).any(axis=2)
        has = (sets[..., None] == np.arange(self.elements)).any(axis=2)  # [n, sets, elements]
        hit = np.stack([(has[..., list(of)].any(axis=2) | ~there).all(axis=1) for of in self._candidates])
        ruled_out = (there.sum(axis=1) >= _MOST_SETS_CONSTRAINED) & has[..., 0].any(axis=1)
        labels: Ints16 = (hit.any(axis=0) & ~(ruled_out & self.constrained)).astype(np.int16)
        return labels

    def layout(self) -> Layout:
        """One set a row."""
        return Layout(self.images, self.images)

    def facts(self, slot: int, concept: str) -> tuple[str, ...]:
        own, place = divmod(slot, self.images)
        return (f"shows({own + 1},{place + 1},{concept})",)
