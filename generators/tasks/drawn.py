"""Tasks whose examples are drawn at random, each by itself."""

from abc import abstractmethod
from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from nsl_bench.core.benchmark import Benchmark
from nsl_bench.core.errors import UserError
from nsl_bench.core.seeding import generator
from nsl_bench.core.types import Ints16, Part, Split

_MOST_DRAWS = 1000


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
