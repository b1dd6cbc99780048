"""The vocabulary that everything speaks, from generator to score.

Plain frozen dataclasses. Examples travel in columns (`Split`), one row of which is an `Example`;
nothing else in the project carries an example in another shape. Concepts are integers into a
`ConceptSpace` inside arrays and strings where people or logic programs read them; -1 is a blank slot.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from nsl_bench.declared import Written
from nsl_bench.tracks import Track

__all__ = [
    "AMBIGUOUS",
    "BLANK",
    "STATUSES",
    "UNDECIDED",
    "ConceptSpace",
    "Example",
    "Hypothesis",
    "ImageRef",
    "LabelSpace",
    "Part",
    "PoolPart",
    "Predictions",
    "Split",
    "Status",
    "Track",
    "WeightedExample",
    "n_of_percent",
    "one_hot",
]

Part = Literal["train", "validation", "test"]
"""Which examples: a learner's train set, the validation set beside it, or the test set."""

PoolPart = Literal["network", "a", "b"]
"""Which images: the network's, pool A (learners' train and validation sets), pool B (their test sets)."""

Status = Literal["ok", "crashed", "timeout", "out_of_memory", "invalid_output", "failed"]
"""How a run ended.

``"ok"``; or the learner raised or died (``crashed``), used up its time (``timeout``) or memory
(``out_of_memory``), or answered with what is no answer (``invalid_output``). ``"failed"`` is any failure in
records of version 1, and now one that is not the learner's own.
"""

STATUSES: tuple[str, ...] = get_args(Status)

BLANK = -1
"""Concept and image index of a slot without an image (an empty Sudoku cell)."""

UNDECIDED = -1
"""Prediction of a hypothesis that derives no label."""

AMBIGUOUS = -2
"""Prediction of a hypothesis that derives several labels."""


def one_hot(labels: npt.NDArray[np.integer], n_labels: int) -> npt.NDArray[np.float64]:
    """float64 [n, n_labels]: one for the label of each row; zeros where it is below 0, which is no label."""
    result = np.zeros((len(labels), n_labels))
    rows = np.flatnonzero(labels >= 0)
    result[rows, labels[rows]] = 1.0
    return result


@dataclass(frozen=True)
class ConceptSpace:
    """What one image can show. The order is that of a network's outputs.

    Attributes:
        name: the field's word for it, e.g. ``"card"``.
        concepts: the concepts, e.g. ``("ac", "ad", ...)``.
        background: the concept whose prediction makes no example, if there is one.
    """

    name: str
    concepts: tuple[str, ...]
    background: str | None = None

    def __len__(self) -> int:
        return len(self.concepts)

    @cached_property
    def ids(self) -> Mapping[str, int]:
        """Concept to its index."""
        return {concept: i for i, concept in enumerate(self.concepts)}


@dataclass(frozen=True)
class LabelSpace:
    """The labels, and the ground atom by which a hypothesis derives each.

    Attributes:
        names: e.g. ``("valid", "invalid")``. Their order decides ties: the first wins.
        atoms: one atom a label, e.g. ``(None, "invalid")``; at most one is ``None``: the label that
            holds when no other label's atom is derived.
    """

    names: tuple[str, ...]
    atoms: tuple[str | None, ...]

    def __post_init__(self) -> None:
        if len(self.names) != len(self.atoms) or self.atoms.count(None) > 1:
            raise ValueError("a label space needs one atom a label, at most one of them None")

    def __len__(self) -> int:
        return len(self.names)

    def inclusions(self, label: int) -> tuple[str, ...]:
        """Atoms that an example with this label asks for."""
        atom = self.atoms[label]
        return () if atom is None else (atom,)

    def exclusions(self, label: int) -> tuple[str, ...]:
        """Atoms that an example with this label forbids."""
        return tuple(a for i, a in enumerate(self.atoms) if i != label and a is not None)


@dataclass(frozen=True, slots=True)
class ImageRef:
    """Where an image lives: a part of a source's pool, the index in it, and whether it is shifted."""

    part: PoolPart
    index: int
    shifted: bool


@dataclass(frozen=True)
class Example:
    """One example: a row of a `Split`.

    Attributes:
        id: unique in its split.
        concepts: the true concept of each slot, None for a blank.
        metadata: symbolic meta-data by name, e.g. ``{"location": 5}``.
        label: index into the benchmark's label space.
        images: one reference a slot, None for a blank.
        shifted: whether its images are shifted.
    """

    id: str
    concepts: tuple[str | None, ...]
    metadata: Mapping[str, Any]
    label: int
    images: tuple[ImageRef | None, ...]
    shifted: bool


def n_of_percent(n: int, percent: float, *, floor: bool = False) -> int:
    """How many of n examples are `percent` %: rounded, or rounded down as the paper does."""
    exact = percent * n / 100
    return int(exact) if floor else int(np.floor(exact + 0.5))


@dataclass(frozen=True, eq=False)
class Split:
    """Examples in columns.

    Attributes:
        part: ``"test"`` draws its images from pool B, the other parts from pool A.
        concept_space: what `concepts` indexes.
        concepts: int16 [n, slots], `BLANK` for an empty slot.
        labels: int16 [n].
        metadata: name to an array [n].
        images: int32 [n, slots], indices into the pool part, `BLANK` for an empty slot; empty
            ([n, 0]) as long as no images are assigned.
        ranks: int32 [n], the place of each example in the order in which examples become shifted:
            with ``k`` examples shifted these are the ones with ``ranks < k``.
        n_shifted: how many examples are shifted.
    """

    part: Part
    concept_space: ConceptSpace
    concepts: npt.NDArray[np.int16]
    labels: npt.NDArray[np.int16]
    metadata: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)
    images: npt.NDArray[np.int32] = field(default_factory=lambda: np.empty((0, 0), np.int32))
    ranks: npt.NDArray[np.int32] = field(default_factory=lambda: np.empty(0, np.int32))
    n_shifted: int = 0

    def __post_init__(self) -> None:
        n = len(self.labels)
        if len(self.concepts) != n or any(len(column) != n for column in self.metadata.values()):
            raise ValueError("the columns of a split differ in length")
        if len(self.images) != n:
            object.__setattr__(self, "images", np.empty((n, 0), np.int32))
        if len(self.ranks) != n:
            object.__setattr__(self, "ranks", np.arange(n, dtype=np.int32))

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def pool(self) -> PoolPart:
        """The pool part that the images come from."""
        return "b" if self.part == "test" else "a"

    @property
    def shifted(self) -> npt.NDArray[np.bool_]:
        """bool [n]: which examples are shifted."""
        return self.ranks < self.n_shifted

    def ids(self) -> list[str]:
        """The examples' ids, ``train-0``, ``train-1``, ..."""
        return [f"{self.part}-{i}" for i in range(len(self))]

    def shift(self, percent: float, *, floor: bool = False) -> Split:
        """The same examples with `percent` % of them shifted (rounded; `floor` as the paper does).

        Raises:
            ValueError: `percent` is outside 0..100.
        """
        if not 0 <= percent <= 100:
            raise ValueError(f"percent is {percent}, but a share of examples lies between 0 and 100")
        return replace(self, n_shifted=n_of_percent(len(self), percent, floor=floor))

    def take(self, rows: npt.NDArray[np.integer[Any]]) -> Split:
        """The split made of these rows; ranks are made dense again, shifted examples stay shifted."""
        order = np.argsort(np.argsort(self.ranks[rows], kind="stable"), kind="stable")
        return replace(
            self,
            concepts=self.concepts[rows],
            labels=self.labels[rows],
            metadata={name: column[rows] for name, column in self.metadata.items()},
            images=self.images[rows],
            ranks=order.astype(np.int32),
            n_shifted=int(self.shifted[rows].sum()),
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
        )

    def __iter__(self) -> Iterator[Example]:
        return (self[i] for i in range(len(self)))


@dataclass(frozen=True, eq=False)
class Predictions:
    """What a network says about a split's images.

    Attributes:
        probabilities: float32 [n, slots, concepts]; all zero for a blank slot.
        blank: bool [n, slots].
    """

    probabilities: npt.NDArray[np.float32]
    blank: npt.NDArray[np.bool_]

    @cached_property
    def concepts(self) -> npt.NDArray[np.int16]:
        """int16 [n, slots]: the arg max, `BLANK` for a blank slot."""
        best: npt.NDArray[np.int16] = self.probabilities.argmax(axis=2).astype(np.int16)
        best[self.blank] = BLANK
        return best

    @cached_property
    def confidence(self) -> npt.NDArray[np.float32]:
        """float32 [n, slots]: the probability of the arg max; 1 for a blank slot."""
        top: npt.NDArray[np.float32] = self.probabilities.max(axis=2)
        return np.where(self.blank, np.float32(1), top)

    @classmethod
    def certain(cls, concepts: npt.NDArray[np.int16], n_concepts: int) -> Predictions:
        """The predictions of a network that is always right: the symbolic track."""
        blank = concepts == BLANK
        onehot = np.eye(n_concepts, dtype=np.float32)[np.where(blank, 0, concepts)]
        onehot[blank] = 0
        return cls(onehot, blank)


@dataclass(frozen=True)
class WeightedExample:
    """A weighted context-dependent partial interpretation: what a rule learner learns from.

    Attributes:
        id: unique in its task.
        penalty: what leaving it uncovered costs, a positive integer; None if it must be covered.
        inclusions: ground atoms that an answer set must hold.
        exclusions: ground atoms that it must not hold.
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
    fidelity: float | None = field(default=None, metadata={"since": 2})
