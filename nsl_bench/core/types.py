"""Data types shared by all packages, from generator to score.

All are frozen dataclasses. Examples are stored in columns (`Split`); an `Example` is one row. Concepts are
integers into a `ConceptSpace` in arrays, and strings in logic programs and for people; -1 is a blank slot.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from nsl_bench.core import sequences as whole
from nsl_bench.core.declared import Written

Floats = npt.NDArray[np.float64]
Floats32 = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]
Ints32 = npt.NDArray[np.int32]
Ints16 = npt.NDArray[np.int16]
Ints8 = npt.NDArray[np.int8]
UInts8 = npt.NDArray[np.uint8]
UInts16 = npt.NDArray[np.uint16]
UInts64 = npt.NDArray[np.uint64]
AnyInts = npt.NDArray[np.integer[Any]]
Bools = npt.NDArray[np.bool_]
Array = npt.NDArray[Any]
"""Arrays, by the type of their elements; shapes stand in docstrings."""

Part = Literal["train", "validation", "test"]
"""Which examples: a learner's train set, the validation set beside it, or the test set."""

PoolPart = Literal["network", "a", "b"]
"""Which images: the network's, pool A (learners' train and validation sets), pool B (their test sets)."""

Status = Literal["ok", "crashed", "timeout", "out_of_memory", "invalid_output", "failed", "not_applicable"]
"""How a run ended.

``"ok"``; or the learner raised or died (``crashed``), used up its time (``timeout``) or memory
(``out_of_memory``), or answered with what is no answer (``invalid_output``). ``"failed"`` is any failure in
records of version 1, and now one that is not the learner's own. ``"not_applicable"`` is not a failure: the
learner cannot take the task, e.g. because its inputs or outputs have a fixed size and the run's test task has
another (since version 5).
"""


BLANK = -1
"""Concept and image index of a slot without an image (an empty Sudoku cell)."""

UNDECIDED = -1
"""Prediction of a hypothesis that derives no label."""

AMBIGUOUS = -2
"""Prediction of a hypothesis that derives several labels."""


def one_hot(labels: npt.NDArray[np.integer], n_labels: int) -> Floats:
    """float64 [n, n_labels]: 1 for the label of each row; zeros where the label is below 0 (no label)."""
    result = np.zeros((len(labels), n_labels))
    rows = np.flatnonzero(labels >= 0)
    result[rows, labels[rows]] = 1.0
    return result


@dataclass(frozen=True)
class ConceptSpace:
    """Concepts that one image can show, in the order of a network's outputs.

    Attributes:
        name: term for it, e.g. ``"card"``.
        concepts: the concepts, e.g. ``("ac", "ad", ...)``.
        background: concept whose prediction produces no example, if there is one.
    """

    name: str
    concepts: tuple[str, ...]
    background: str | None = None

    def __len__(self) -> int:
        return len(self.concepts)

    @cached_property
    def ids(self) -> Mapping[str, int]:
        """Index of each concept."""
        return {concept: i for i, concept in enumerate(self.concepts)}


@dataclass(frozen=True)
class LabelSpace:
    """The labels, and the ground atom by which a hypothesis derives each.

    Attributes:
        names: e.g. ``("valid", "invalid")``. Their order breaks ties: the first wins.
        atoms: one atom per label, e.g. ``(None, "invalid")``. At most one is ``None``: the label that holds
            when no other label's atom is derived.
    """

    names: tuple[str, ...]
    atoms: tuple[str | None, ...]

    def __post_init__(self) -> None:
        if len(self.names) != len(self.atoms) or self.atoms.count(None) > 1:
            raise ValueError("a label space must have one atom per label, and at most one None")

    def __len__(self) -> int:
        return len(self.names)

    def inclusions(self, label: int) -> tuple[str, ...]:
        """Atoms that an example with this label requires."""
        atom = self.atoms[label]
        return () if atom is None else (atom,)

    def exclusions(self, label: int) -> tuple[str, ...]:
        """Atoms that an example with this label forbids."""
        return tuple(a for i, a in enumerate(self.atoms) if i != label and a is not None)


@dataclass(frozen=True, slots=True)
class ImageRef:
    """Reference to an image: pool part, index, and whether it is shifted."""

    part: PoolPart
    index: int
    shifted: bool


@dataclass(frozen=True)
class Example:
    """One example: a row of a `Split`.

    Attributes:
        id: unique in its split.
        concepts: true concept of each slot, None for a blank slot.
        metadata: symbolic metadata by name, e.g. ``{"location": 5}``.
        label: index into the benchmark's label space.
        images: one reference per slot, None for a blank slot.
        shifted: whether its images are shifted.
        sequence: sequence that it is a step of; its own row if it is an example by itself.
        step: place in its sequence, from 1.
    """

    id: str
    concepts: tuple[str | None, ...]
    metadata: Mapping[str, Any]
    label: int
    images: tuple[ImageRef | None, ...]
    shifted: bool
    sequence: int = 0
    step: int = 1


def n_of_percent(n: int, percent: float, *, floor: bool = False) -> int:
    """Number of examples that is `percent` % of n: rounded, or rounded down as in the paper."""
    exact = percent * n / 100
    return int(exact) if floor else int(np.floor(exact + 0.5))


@dataclass(frozen=True, eq=False)
class Split:
    """Examples in columns.

    An example can be a sequence of steps, each with its images and its label. Rows are then steps, and whole
    sequences are taken, shifted and sampled together.

    Attributes:
        part: train, validation or test examples.
        concept_space: concepts that `concepts` indexes.
        concepts: int16 [n, slots], `BLANK` for an empty slot.
        labels: int16 [n].
        metadata: name to array [n].
        images: int32 [n, slots], indices into the pool part, `BLANK` for an empty slot; empty ([n, 0]) until
            images are assigned.
        ranks: int32 [n], position of each example in the order in which examples become shifted: with ``k``
            shifted examples, those with ``ranks < k``.
        n_shifted: number of shifted examples.
        sequences: int32 [n], sequence of each row: 0, 1, 2, ... The rows of a sequence are adjacent, and so
            are their ranks. By default each row is a sequence of its own.
        steps: int32 [n], place of each row in its sequence, from 1.
        shows: pool part of the images; by default B for test examples and A for others.

    Raises:
        ValueError: columns of different lengths, a sequence that is cut, or steps out of order.
    """

    part: Part
    concept_space: ConceptSpace
    concepts: Ints16
    labels: Ints16
    metadata: Mapping[str, Array] = field(default_factory=dict)
    images: Ints32 = field(default_factory=lambda: np.empty((0, 0), np.int32))
    ranks: Ints32 = field(default_factory=lambda: np.empty(0, np.int32))
    n_shifted: int = 0
    sequences: Ints32 = field(default_factory=lambda: np.empty(0, np.int32))
    steps: Ints32 = field(default_factory=lambda: np.empty(0, np.int32))
    shows: PoolPart | None = None

    def __post_init__(self) -> None:
        n = len(self.labels)
        if len(self.concepts) != n or any(len(column) != n for column in self.metadata.values()):
            raise ValueError("the columns of a split must have the same length")
        if len(self.images) != n:
            object.__setattr__(self, "images", np.empty((n, 0), np.int32))
        if len(self.ranks) != n:
            object.__setattr__(self, "ranks", np.arange(n, dtype=np.int32))
        if not len(self.steps) and not len(self.sequences):
            sequences, steps = whole.alone(n)
            object.__setattr__(self, "sequences", sequences)
            object.__setattr__(self, "steps", steps)
        elif len(self.steps) != n or len(self.sequences) != n:
            raise ValueError("the sequences and steps of a split must have one entry per row")
        whole.check_sequences(self.sequences, self.steps)

    def __len__(self) -> int:
        return len(self.labels)

    @cached_property
    def first_rows(self) -> Ints:
        """int64 [sequences]: the row at which each sequence begins."""
        return whole.first_rows(self.steps)

    @property
    def n_sequences(self) -> int:
        """Number of sequences; of rows, where each is an example by itself."""
        return len(self.first_rows)

    @property
    def is_sequential(self) -> bool:
        """Whether any sequence has more than one step."""
        return self.n_sequences < len(self)

    @property
    def pool(self) -> PoolPart:
        """Pool part of the images."""
        return self.shows or ("b" if self.part == "test" else "a")

    @property
    def shifted(self) -> Bools:
        """bool [n]: which examples are shifted."""
        return self.ranks < self.n_shifted

    def ids(self) -> list[str]:
        """Ids of the examples, ``train-0``, ``train-1``, ..."""
        return [f"{self.part}-{i}" for i in range(len(self))]

    def shift(self, percent: float, *, floor: bool = False) -> Self:
        """The same examples with `percent` % of them shifted (rounded; `floor` as the paper does).

        Of sequences, `percent` % are shifted, each with all its steps.
        """
        if not 0 <= percent <= 100:
            raise ValueError(f"percent must be between 0 and 100; got {percent:g}")
        shifted = n_of_percent(self.n_sequences, percent, floor=floor)
        if self.is_sequential:
            ends = np.append(np.sort(self.ranks[self.first_rows]), len(self))
            shifted = int(ends[shifted])
        return replace(self, n_shifted=shifted)

    def ranked(self, order: AnyInts) -> Self:
        """The same examples, which become shifted in another order.

        Args:
            order: [sequences], the rank of each sequence.
        """
        if not self.is_sequential:
            return replace(self, ranks=order.astype(np.int32))
        ranks = np.empty(len(self), np.int32)
        ranks[whole.rows_of(self.steps, np.argsort(order, kind="stable"))] = np.arange(len(self))
        return replace(self, ranks=ranks)

    def take_sequences(self, which: AnyInts) -> Self:
        """The split of these sequences, each with all its rows."""
        return self.take(whole.rows_of(self.steps, which))

    def take(self, rows: AnyInts) -> Self:
        """The split of these rows, with consecutive ranks; shifted examples stay shifted."""
        order = np.argsort(np.argsort(self.ranks[rows], kind="stable"), kind="stable")
        sequences, steps = whole.take_whole(self.sequences, self.steps, rows)
        return replace(
            self,
            concepts=self.concepts[rows],
            labels=self.labels[rows],
            metadata={name: column[rows] for name, column in self.metadata.items()},
            images=self.images[rows],
            ranks=order.astype(np.int32),
            n_shifted=int(self.shifted[rows].sum()),
            sequences=sequences,
            steps=steps,
        )

    def __getitem__(self, i: int) -> Example:
        names = self.concept_space.concepts
        shifted = bool(self.ranks[i] < self.n_shifted)
        return Example(
            id=f"{self.part}-{i}",
            concepts=tuple(None if c == BLANK else names[c] for c in self.concepts[i].tolist()),
            metadata={name: column[i].item() for name, column in self.metadata.items()},
            label=int(self.labels[i]),
            images=tuple(
                None if k == BLANK else ImageRef(self.pool, k, shifted) for k in self.images[i].tolist()
            ),
            shifted=shifted,
            sequence=int(self.sequences[i]),
            step=int(self.steps[i]),
        )

    def __iter__(self) -> Iterator[Example]:
        return (self[i] for i in range(len(self)))


@dataclass(frozen=True, eq=False)
class Predictions:
    """Network predictions for a split's images.

    Attributes:
        probabilities: float32 [n, slots, concepts]; all zero for a blank slot.
        blank: bool [n, slots].
    """

    probabilities: Floats32
    blank: Bools

    @cached_property
    def concepts(self) -> Ints16:
        """int16 [n, slots]: the arg max, `BLANK` for a blank slot."""
        best: Ints16 = self.probabilities.argmax(axis=2).astype(np.int16)
        best[self.blank] = BLANK
        return best

    @cached_property
    def confidence(self) -> Floats32:
        """float32 [n, slots]: the probability of the arg max; 1 for a blank slot."""
        top: Floats32 = self.probabilities.max(axis=2)
        return np.where(self.blank, np.float32(1), top)

    @classmethod
    def certain(cls, concepts: Ints16, n_concepts: int) -> Self:
        """Predictions of a network that is always right, for the symbolic track."""
        blank = concepts == BLANK
        onehot = np.eye(n_concepts, dtype=np.float32)[np.where(blank, 0, concepts)]
        onehot[blank] = 0
        return cls(onehot, blank)


@dataclass(frozen=True)
class WeightedExample:
    """A weighted context-dependent partial interpretation: the train example of a rule learner.

    Attributes:
        id: unique in its task.
        penalty: cost of leaving it uncovered, a positive integer; None if it must be covered.
        inclusions: ground atoms that an answer set must contain.
        exclusions: ground atoms that an answer set must not contain.
        context: ASP statements without their full stops, usually facts (``"card(1,10,h)"``).
        positive: False for a `#neg` example, which no answer set may satisfy.
    """

    id: str
    penalty: int | None
    inclusions: tuple[str, ...]
    exclusions: tuple[str, ...]
    context: tuple[str, ...]
    positive: bool = True


@dataclass(frozen=True)
class Hypothesis(Written):
    """What was learned, as rules.

    Attributes:
        rules: one rule each, with its full stop where `language` is ``"asp"``.
        atoms: size, counted as the language bias scores literals (trees: tests on the branches).
        language: ``"asp"`` rules, or the branches of a decision ``"tree"``.
        status: ``"optimal"`` if proven of least score, ``"feasible"`` if not; None: not a search.
        score: its cost plus the penalties of uncovered examples, where there is such a score.
        fidelity: share of predictions on which a surrogate agrees with the model that it stands for.
    """

    rules: tuple[str, ...]
    atoms: int
    language: Literal["asp", "tree"] = "asp"
    status: Literal["optimal", "feasible"] | None = None
    score: int | None = None
    fidelity: float | None = None


@dataclass(frozen=True, eq=False)
class FewLabels:
    """A few samples of images whose symbols are known, from which a perceiver starts.

    Attributes:
        concepts: int16 [m, places], what each image of a sample shows, `BLANK` for none.
        targets: int64 [m, symbols], the value of each symbol of a sample.
        values: number of values of each symbol.
        images: int32 [m, places], indices into the network's part of the pool; empty until they are chosen.
    """

    concepts: Ints16
    targets: Ints
    values: tuple[int, ...]
    images: Ints32 = field(default_factory=lambda: np.empty((0, 0), np.int32))
