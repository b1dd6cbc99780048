"""What is asked of an inference engine, and what it answers.

The worlds of an example: each image shows one of its concepts, or nothing, with the network's
probability; images are independent. A hypothesis and background knowledge derive labels in each world.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from nsl_bench import cache
from nsl_bench.benchmark import Benchmark
from nsl_bench.errors import UserError
from nsl_bench.types import LabelSpace

__all__ = [
    "NEGLIGIBLE",
    "Answer",
    "Query",
    "Vectors",
    "checked_vectors",
    "clean_probabilities",
    "outcomes",
    "problem",
    "slack",
    "with_nothing",
]

NEGLIGIBLE = 1e-5
"""Concepts with at most this probability are dropped; what a vector then lacks to 1 shows nothing."""

_ROUNDING = 1e-5

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Query:
    """A hypothesis with everything that it needs to answer for examples.

    Attributes:
        rules: the hypothesis, one rule each, with full stops.
        background: background knowledge, ASP.
        labels: the labels and the atoms by which they are derived.
        choices: for each image slot and each concept the facts that hold if it shows the concept, without
            full stops.
        strict: whether a predicate that nothing defines is an error; else it is false.
    """

    rules: tuple[str, ...]
    background: str
    labels: LabelSpace
    choices: tuple[tuple[tuple[str, ...], ...], ...]
    strict: bool = True

    @classmethod
    def of(cls, benchmark: Benchmark, rules: Sequence[str], *, strict: bool = True) -> Query:
        """The query of a benchmark's hypothesis."""
        concepts = benchmark.concept_space.concepts
        choices = tuple(
            tuple(tuple(benchmark.facts(slot, concept)) for concept in concepts)
            for slot in range(len(benchmark.slots))
        )
        return cls(tuple(rules), benchmark.background, benchmark.labels, choices, strict)

    @cached_property
    def key(self) -> str:
        """A hash of the content."""
        labels = [list(self.labels.names), list(self.labels.atoms)]
        return cache.key(list(self.rules), self.background, labels, self.choices, self.strict)

    @property
    def width(self) -> int:
        """The number of concepts of a slot; of the one with most."""
        return max((len(slot) for slot in self.choices), default=0)


@dataclass(frozen=True, eq=False)
class Answer:
    """The label probabilities of n examples, and how good these numbers are.

    The *true value* is the label's probability under the vectors as they were given: every concept counts,
    also the negligible ones, and what a vector lacks to 1 shows nothing. (A vector that sums to more than 1
    by rounding is divided by its sum.) It lies in ``[low, high]``, up to rounding (1e-9). `probabilities`
    follows the convention instead, by which negligible concepts are dropped (`NEGLIGIBLE`). Where `std_err`
    is not 0, it is an unbiased estimate of that value, with that standard error.

    Attributes:
        probabilities: float64 [n, labels].
        low: float64 [n, labels], certified lower bounds.
        high: float64 [n, labels], certified upper bounds.
        std_err: float64 [n, labels], standard error of what was sampled, 0 where nothing was.
        invalid: float64 [n], mass of the worlds with no label or several: `undecided` + `ambiguous`.
        undecided: float64 [n], mass of the worlds with no label, or that violate a constraint.
        ambiguous: float64 [n], mass of the worlds with several labels.
        engines: for each example what answered: ``"exact"`` (no state was dropped; what the interval still
            allows for are negligible concepts), ``"interval"``, ``"sampling"`` ...
        details: other facts on the run, e.g. seconds to compile, or why an engine took another way.
    """

    probabilities: Floats
    low: Floats
    high: Floats
    std_err: Floats
    undecided: Floats
    ambiguous: Floats
    engines: tuple[str, ...]
    details: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def invalid(self) -> Floats:
        """float64 [n]: mass that belongs to no label."""
        return np.asarray(self.undecided + self.ambiguous, np.float64)

    @cached_property
    def width(self) -> Floats:
        """float64 [n]: width of the widest certified interval of a label, negligible concepts included."""
        return np.asarray((self.high - self.low).max(axis=1, initial=0.0), np.float64)

    def __len__(self) -> int:
        return len(self.engines)


def outcomes(labels: LabelSpace) -> int:
    """The number of outcomes of a world: the labels, then undecided, then ambiguous."""
    return len(labels) + 2


class Vectors(NamedTuple):
    """Probability vectors, checked; rows sum to at most 1.

    Attributes:
        full: float64 [n, slots, concepts]: as they were given.
        kept: float64 [n, slots, concepts]: without the negligible ones.
        apart: bool [n]: whether the two differ.
    """

    full: Floats
    kept: Floats
    apart: npt.NDArray[np.bool_]


def clean_probabilities(query: Query, probabilities: npt.ArrayLike) -> Floats:
    """float64 [n, slots, concepts]: `checked_vectors` without the negligible ones."""
    return checked_vectors(query, probabilities).kept


def checked_vectors(query: Query, probabilities: npt.ArrayLike) -> Vectors:
    """Check probabilities, and drop negligible ones.

    Args:
        query: whose slots they are.
        probabilities: [n, slots, concepts]; zeros for a blank slot.

    Raises:
        UserError: the wrong shape, or numbers that are no probabilities, with the example and slot.
    """
    try:
        given = np.asarray(probabilities, np.float64)
    except (TypeError, ValueError):
        raise UserError(
            "probabilities must be an array of numbers of shape [examples, slots, concepts]."
        ) from None
    slots, concepts = len(query.choices), query.width
    if given.ndim != 3 or given.shape[1:] != (slots, concepts):
        raise UserError(
            f"probabilities must have shape [examples, {slots} slots, {concepts} concepts]; got "
            f"{list(given.shape)}."
        )
    found = problem(given)
    if found is not None:
        axes = ("example", "slot", "concept")
        at = ", ".join(f"{axis} {i}" for axis, i in zip(axes, found.where, strict=False))
        raise UserError(f"A {found.what} in {at} (counted from 0).")
    for slot, values in enumerate(query.choices):
        if len(values) < concepts and (given[:, slot, len(values) :] > 0).any():
            raise UserError(f"Slot {slot} has {len(values)} concepts, but its probabilities cover more.")
    kept = np.where(given > NEGLIGIBLE, given, 0.0)
    apart = (given != kept).any(axis=(1, 2))
    full, kept = (rows / np.maximum(np.einsum("nsc->ns", rows), 1.0)[..., None] for rows in (given, kept))
    return Vectors(full, kept, apart)


def slack(full: Floats, kept: Floats) -> Floats:
    """float64 [n]: how far probabilities of events under two kinds of vectors can lie apart.

    Slots are independent, so worlds can be drawn from both that are the same with the probability
    ``prod_s (1 - d_s)``, where d_s is the total variation distance of slot s (maximal coupling).

    Args:
        full: float64 [n, slots, values], each row a distribution.
        kept: the same under the convention.
    """
    distance = np.minimum(0.5 * np.einsum("nsv->ns", np.abs(full - kept)), 1.0)
    with np.errstate(divide="ignore"):
        return np.asarray(-np.expm1(np.log1p(-distance).sum(axis=1)), np.float64)


def with_nothing(vectors: Floats) -> Floats:
    """float64 [n, slots, concepts + 1]: the vectors with what they lack to 1, which shows nothing."""
    return np.concatenate([vectors, np.maximum(0.0, 1.0 - vectors.sum(axis=2, keepdims=True))], axis=2)


class Problem(NamedTuple):
    """What keeps numbers from being probabilities, and where: the indices of a number, or of a vector."""

    where: tuple[int, ...]
    what: str


def problem(vectors: Floats) -> Problem | None:
    """The first number of a kind that is no probability, or the first vector whose sum is more than 1.

    Args:
        vectors: float64 [..., concepts].
    """
    total = np.einsum("...c->...", vectors)
    one, whole = "concept probability", "sum of the concept probabilities"
    for bad, what, numbers in (
        (~np.isfinite(vectors), f"{one} is not finite", vectors),
        (vectors < 0, f"{one} is negative", vectors),
        (total > 1 + _ROUNDING, f"{whole} is more than 1", total),
    ):
        if bad.any():
            where = tuple(int(i) for i in np.argwhere(bad)[0])
            return Problem(where, f"{what}: {float(numbers[where]):g}")
    return None
