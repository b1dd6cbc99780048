"""What a benchmark task is: its examples, symbols and knowledge, and the rule that labels it.

A task is one subclass of `Benchmark`, data mostly, and one entry point in the group
``nsl_bench.benchmarks``. The core knows no concrete one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from nsl_bench.errors import UserError, unknown
from nsl_bench.types import BLANK, ConceptSpace, LabelSpace, Part, Split

__all__ = ["Benchmark", "Layout"]


@dataclass(frozen=True)
class Layout:
    """Where the slots of an example stand on a picture, row by row.

    Attributes:
        rows: how many rows of slots.
        columns: how many in a row.
        block: rows and columns of a block, if lines divide the slots into blocks.
    """

    rows: int
    columns: int
    block: tuple[int, int] | None = None


class Benchmark(ABC):
    """A benchmark task.

    Attributes:
        name: e.g. ``"follow_suit"``.
        version: version of the data; a corrected data set is a new version. The old one keeps its class,
            registered as ``NAME@VERSION``.
        superseded_by: the version that corrects this one, if there is one.
        description: one sentence.
        labels: the labels and their atoms.
        slots: names of the image slots, e.g. ``("player_1", ...)``; some can be blank in an example.
        concept_space: what an image of any slot can show.
        metadata: name of each symbolic meta-datum and what it is, e.g. ``{"location": "1..19"}``.
        background: background knowledge, ASP.
        bias: language bias, ILASP's or FastLAS's mode declarations.
        true_rule: the rule that labels the data, ASP; never given to a learner.
        inputs: a choice program whose answer sets are all the possible contexts of an example; what
            the equivalence of two hypotheses ranges over.
        sizes: number of train examples by size, e.g. ``{"small": 104, "large": 10400}``.
        test_size: number of test examples.
        own_tests: whether each train set has a test set of its own, as the folds of a cross-validation have.
        repeats: number of independent train sets.
        sources: names of image sources that fit; the first is the default.
        named_shifts: short names of shifts that fit whatever the source is, to their specs.
    """

    name: str
    version: str
    superseded_by: str | None = None
    description: str
    labels: LabelSpace
    slots: tuple[str, ...]
    concept_space: ConceptSpace
    metadata: Mapping[str, str]
    background: str
    bias: str
    true_rule: str
    inputs: str
    sizes: Mapping[str, int]
    test_size: int
    own_tests: bool = False
    repeats: int = 5
    sources: tuple[str, ...]
    named_shifts: Mapping[str, str]

    @abstractmethod
    def generate(
        self, part: Part, size: str, repeat: int, rng: np.random.Generator, exclude: Split | None = None
    ) -> Split:
        """Symbolic examples, without images.

        Args:
            part: ``"train"`` or ``"test"``.
            size: a key of `sizes`; the test set is the same for every size.
            repeat: 1, 2, ...; which of the independent train sets.
            rng: the source of all chance; the caller seeds it by benchmark, part, size and repeat.
            exclude: examples that must not occur: the test set, when train sets are made.
        """

    @property
    def spec(self) -> str:
        """What `nsl_bench.registry` makes this task of: `name`, with its version if that is superseded."""
        if self.superseded_by is None:
            return self.name
        name, colon, options = self.name.partition(":")
        return f"{name}@{self.version}{colon}{options}"

    def for_split(self, repeat: int, seed: int | str = 0) -> Benchmark:
        """The task of one train set: this one, unless train sets differ in more than their examples.

        Where they do (another hidden table, another fold), true rule, background knowledge, inputs and test
        set are those of the task that is returned.

        Args:
            repeat: which train set, from 1.
            seed: of the data; a text is a secret one, which must not follow from the result's name.
        """
        return self

    def test_number(self, repeat: int) -> int:
        """Which test set train set `repeat` has: 1 for all of them unless the task has `own_tests`."""
        return repeat if self.own_tests else 1

    def generate_validation(self, size: str, repeat: int, rng: np.random.Generator, exclude: Split) -> Split:
        """Symbolic examples for early stopping and tuning, as many as the train set has or the smallest size.

        Args:
            size: of the train set that they are for.
            repeat: 1, 2, ...; which train set.
            rng: the source of all chance.
            exclude: the test set, and the train set.
        """
        n = min(self.size(size), *self.sizes.values())
        return replace(self.generate("train", str(n), repeat, rng, exclude), part="validation")

    @abstractmethod
    def facts(self, slot: int, concept: str) -> tuple[str, ...]:
        """The facts by which a learner sees that `slot` shows `concept`, without full stops."""

    def metadata_facts(self, metadata: Mapping[str, Any]) -> tuple[str, ...]:
        """The facts of an example's meta-data, without full stops."""
        return ()

    def read(self, folder: Path, part: Part, size: str, repeat: int) -> Split:
        """Examples from a folder of splits made elsewhere, in the published files' layout.

        Raises:
            UserError: this benchmark has no such layout, or the file is missing or broken.
        """
        raise UserError(f"{self.name} does not support splits from a folder; got {folder}.")

    def features(
        self, concepts: npt.NDArray[np.int16], metadata: Mapping[str, npt.NDArray[Any]]
    ) -> npt.NDArray[np.float32]:
        """float32 [n, features]: a tabular learner's inputs from concepts [n, slots].

        By default each slot's one-hot code, then each numeric meta-datum.
        """
        n, k = len(concepts), len(self.concept_space)
        codes = np.eye(k, dtype=np.float32)[np.where(concepts == BLANK, 0, concepts)]
        codes[concepts == BLANK] = 0
        columns = [codes.reshape(n, concepts.shape[1] * k)]
        columns += [np.asarray(column, np.float32).reshape(n, 1) for column in metadata.values()]
        return np.hstack(columns)

    def feature_names(self, *, knowledge: bool = False) -> tuple[str, ...]:
        """What the columns of `features` (or `knowledge_features`) are called in a tree's rules.

        A benchmark whose features are not the default ones names them here; else they read x1, x2, ...
        """
        if knowledge:
            return ()
        codes = (f"{slot}={concept}" for slot in self.slots for concept in self.concept_space.concepts)
        return (*codes, *self.metadata)

    def knowledge_features(
        self, concepts: npt.NDArray[np.int16], metadata: Mapping[str, npt.NDArray[Any]]
    ) -> npt.NDArray[np.float32]:
        """float32 [n, features]: inputs for a tabular learner that is told part of the solution.

        Raises:
            UserError: this benchmark defines none.
        """
        raise UserError(f"{self.name} has no knowledge features.")

    def layout(self) -> Layout:
        """How the images of an example are arranged on a picture; by default side by side."""
        return Layout(1, len(self.slots))

    def marked(self, concepts: npt.NDArray[np.int16], label: int) -> tuple[int, ...]:
        """The slots that a picture marks as those that decide the label: a trick's winner, say."""
        return ()

    def size(self, name: str) -> int:
        """Number of train examples of a size: one of `sizes`, or the number itself.

        Raises:
            UserError: no such size.
        """
        if name.isdecimal() and int(name) > 0:
            return int(name)
        if name not in self.sizes:
            raise unknown(f"size of {self.name}", name, self.sizes)
        return self.sizes[name]

    def context(self, concepts: npt.NDArray[np.int16], metadata: Mapping[str, Any]) -> tuple[str, ...]:
        """All facts of one example with concepts [slots]."""
        names = self.concept_space.concepts
        facts = [
            fact
            for slot, c in enumerate(concepts.tolist())
            if c != BLANK
            for fact in self.facts(slot, names[c])
        ]
        return (*facts, *self.metadata_facts(metadata))

    def contexts(
        self, concepts: npt.NDArray[np.int16], metadata: Mapping[str, npt.NDArray[Any]]
    ) -> list[tuple[str, ...]]:
        """`context` of each example with concepts [n, slots]; equal examples share one."""
        columns = list(metadata.items())
        known: dict[tuple[bytes, tuple[Any, ...]], tuple[str, ...]] = {}
        found = []
        for i, row in enumerate(concepts):
            values = tuple(column[i].item() for _, column in columns)
            key = (row.tobytes(), values)
            if key not in known:
                named = {name: value for (name, _), value in zip(columns, values, strict=True)}
                known[key] = self.context(row, named)
            found.append(known[key])
        return found
