"""What a node of a tree asks: a trained neural test, a fact about an image, or a value of metadata."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nsl_bench.core.types import Array, Bools
from nsl_bench.learners.images import thumbnails
from nsl_bench.learners.papers.neuid3.networks import Networks
from nsl_bench.learners.view import TrackError, View

_MOST_VALUES = 64
"""Values of a metadata field, or facts on a slot, that become tests."""


@dataclass(frozen=True, eq=False)
class Data:
    """Examples as questions see them.

    Attributes:
        n: number of examples.
        images: uint8 tensor [n, slots, channels, 28, 28]; None without images.
        probabilities: float32 tensor [n, slots, concepts] of a perceiver; None without one.
        metadata: arrays [n] by name.
    """

    n: int
    images: Any
    probabilities: Any
    metadata: dict[str, Array]


class Question(ABC):
    """A test of a node.

    Attributes:
        name: a valid name of a predicate.
        words: what it asks, for people.
    """

    name: str
    words: str

    @abstractmethod
    def given(self, data: Data, rows: Any, path: Path) -> Any:
        """float32 tensor [m]: P(test | path, example) of some examples."""


Path = Sequence[tuple[Question, bool]]
"""Questions from the root to a node and their answers."""


class Trained(Question):
    """A neural test with its networks."""

    def __init__(self, networks: Networks) -> None:
        self.networks, self.test = networks, networks.tests[0]
        self.name, self.words = self.test.name, self.test.words

    def given(self, data: Data, rows: Any, path: Path) -> Any:
        return self.networks.ask(data.images, rows)[0]


class Fact(Question):
    """A probabilistic fact: a slot shows one of the concepts of which a fact tells.

    Facts on one slot exclude each other, which conditional probabilities on a path account for.

    Args:
        fact: e.g. ``"rank(0,3)"``.
        slot: index of the slot.
        concepts: bool [concepts], the concepts of which the fact tells.
    """

    def __init__(self, fact: str, slot: int, concepts: Bools) -> None:
        self.name = self.words = fact
        self.slot, self.concepts = slot, concepts

    def given(self, data: Data, rows: Any, path: Path) -> Any:
        possible = np.ones(len(self.concepts), np.bool_)
        for question, answer in path:
            if isinstance(question, Fact) and question.slot == self.slot:
                possible &= question.concepts == answer
        vectors = data.probabilities[rows, self.slot]
        total = vectors[:, possible].sum(dim=1)
        return (vectors[:, possible & self.concepts].sum(dim=1) / total.clamp_min(1e-12)).clamp(0, 1)


class Column(Question):
    """A deterministic test: whether a metadata field has a value."""

    def __init__(self, column: str, value: Any) -> None:
        self.name, self.words = f"{column}({value})", f"{column} = {value}"
        self.column, self.value = column, value

    def given(self, data: Data, rows: Any, path: Path) -> Any:
        import torch

        holds = (data.metadata[self.column] == self.value).astype(np.float32)
        return torch.as_tensor(holds)[rows]


def known_questions(view: View, facts: bool) -> list[Question]:
    """Questions that need no training: values of metadata and, with `facts`, facts about images."""
    result: list[Question] = []
    for column, values in view.metadata.items():
        for value in np.unique(values)[:_MOST_VALUES].tolist():
            result.append(Column(column, value))
    concepts = view.concept_space.concepts if facts else ()
    for slot in range(len(view.slots) if facts else 0):
        facts_of_concepts = [view.facts(slot, concept) for concept in concepts]
        for fact in list(dict.fromkeys(one for several in facts_of_concepts for one in several))[
            :_MOST_VALUES
        ]:
            result.append(Fact(fact, slot, np.array([fact in several for several in facts_of_concepts])))
    return result


def read(view: View, facts: bool) -> Data:
    """The examples of a view.

    Args:
        facts: whether questions are asked of a perceiver's probabilities, not of images.
    """
    import torch

    metadata = dict(view.metadata)
    if facts:
        return Data(len(view), None, torch.as_tensor(view.probabilities), metadata)
    return Data(len(view), thumbnails(view), None, metadata)


def has_images(view: View) -> bool:
    """Whether a view shows images."""
    try:
        return view.images is not None
    except TrackError:
        return False
