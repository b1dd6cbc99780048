"""Queries to inference engines and their answers.

In each world of an example, every image shows one concept, or nothing, with the network's probability; images
are independent. The hypothesis and the background knowledge derive labels in each world.
"""

import hashlib
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from nsl_bench.core.errors import UserError
from nsl_bench.core.types import Bools, Floats, LabelSpace

NEGLIGIBLE = 1e-5
"""Concepts with at most this probability are dropped; what a vector then lacks to 1 shows nothing."""

_ROUNDING = 1e-5


@dataclass(frozen=True)
class Query:
    """A hypothesis with everything needed for inference.

    Attributes:
        rules: the hypothesis, one rule per text, with full stops.
        background: background knowledge in ASP.
        labels: the labels and their atoms.
        choices: for each image slot and each concept, the facts that hold if the slot shows the concept,
            without full stops.
        strict: whether a predicate without definition is an error; otherwise it is false.
    """

    rules: tuple[str, ...]
    background: str
    labels: LabelSpace
    choices: tuple[tuple[tuple[str, ...], ...], ...]
    strict: bool = True

    @cached_property
    def key(self) -> str:
        """A hash of the query."""
        parts = (self.rules, self.background, self.labels, self.choices, self.strict)
        return hashlib.sha256(repr(parts).encode()).hexdigest()

    @property
    def width(self) -> int:
        """The greatest number of concepts of a slot."""
        return max((len(slot) for slot in self.choices), default=0)


@dataclass(frozen=True, eq=False)
class Answer:
    """Label probabilities of n examples, with certified intervals and standard errors.

    The *true value* is the label's probability under the given vectors, including negligible concepts. If a
    vector sums to less than 1, the image shows nothing with the remaining probability. (If it sums to more
    than 1 by rounding, it is divided by its sum.) The true value lies in ``[low, high]``, up to rounding
    (1e-9). `probabilities` leaves out negligible concepts (`NEGLIGIBLE`). If `std_err` is not 0,
    `probabilities` is an unbiased estimate with that standard error.

    Attributes:
        probabilities: float64 [n, labels].
        low: float64 [n, labels], certified lower bounds.
        high: float64 [n, labels], certified upper bounds.
        std_err: float64 [n, labels], standard error of a sampled estimate; 0 if not sampled.
        invalid: float64 [n], probability of the worlds without a label or with several labels:
            `undecided` + `ambiguous`.
        undecided: float64 [n], probability of the worlds without a label, or that violate a constraint.
        ambiguous: float64 [n], probability of the worlds with several labels.
        engines: how each example was answered: ``"exact"`` (no state was dropped; a remaining interval is due
            to negligible concepts), ``"interval"``, ``"sampling"`` ...
        details: further information, e.g. compile time in seconds, or why an engine used another method.
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
        """float64 [n]: probability of the worlds without exactly one label."""
        return np.asarray(self.undecided + self.ambiguous, np.float64)

    @cached_property
    def width(self) -> Floats:
        """float64 [n]: width of the widest certified interval of a label, including negligible concepts."""
        return np.asarray((self.high - self.low).max(axis=1, initial=0.0), np.float64)

    def __len__(self) -> int:
        return len(self.engines)


def outcomes(labels: LabelSpace) -> int:
    """The number of outcomes of a world: one per label, no label, and several labels."""
    return len(labels) + 2


class Vectors(NamedTuple):
    """Checked probability vectors, which sum to at most 1.

    Attributes:
        full: float64 [n, slots, concepts], as given.
        kept: float64 [n, slots, concepts], without negligible concepts.
        apart: bool [n], whether the two differ.
    """

    full: Floats
    kept: Floats
    apart: Bools


def checked_vectors(query: Query, probabilities: npt.ArrayLike) -> Vectors:
    """Check probabilities and drop negligible ones.

    Args:
        query: the query that has the slots.
        probabilities: [n, slots, concepts]; zeros for a blank slot.

    Raises:
        UserError: a wrong shape, or values that are not probabilities; the message names example and slot.
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
    fault = problem(given)
    if fault is not None:
        axes = ("example", "slot", "concept")
        at = ", ".join(f"{axis} {i}" for axis, i in zip(axes, fault.where, strict=False))
        raise UserError(f"A {fault.what} in {at} (counted from 0).")
    for slot, values in enumerate(query.choices):
        if len(values) < concepts and (given[:, slot, len(values) :] > 0).any():
            raise UserError(f"Slot {slot} has {len(values)} concepts, but its probabilities cover more.")
    remaining = np.where(given > NEGLIGIBLE, given, 0.0)
    apart = (given != remaining).any(axis=(1, 2))
    full, remaining = (
        rows / np.maximum(np.einsum("nsc->ns", rows), 1.0)[..., None] for rows in (given, remaining)
    )
    return Vectors(full, remaining, apart)


def slack(full: Floats, kept: Floats) -> Floats:
    """float64 [n]: the greatest possible difference of an event's probability under two sets of vectors.

    Slots are independent, so worlds can be drawn from both that are the same with the probability
    ``prod_s (1 - d_s)``, where d_s is the total variation distance of slot s (maximal coupling; Lindvall:
    "Lectures on the coupling method", 1992). An event's probabilities differ by at most the rest.

    Args:
        full: float64 [n, slots, values], each row a distribution.
        kept: the same under the convention.
    """
    distance = np.minimum(0.5 * np.einsum("nsv->ns", np.abs(full - kept)), 1.0)
    with np.errstate(divide="ignore"):
        return np.asarray(-np.expm1(np.log1p(-distance).sum(axis=1)), np.float64)


def with_nothing(vectors: Floats) -> Floats:
    """float64 [n, slots, concepts + 1]: the vectors, extended by the probability of showing nothing."""
    return np.concatenate([vectors, np.maximum(0.0, 1.0 - vectors.sum(axis=2, keepdims=True))], axis=2)


class Problem(NamedTuple):
    """Why values are not probabilities, and the indices of the wrong value or vector."""

    where: tuple[int, ...]
    what: str


def problem(vectors: Floats) -> Problem | None:
    """The first value that is not a probability, or the first vector with a sum above 1; None if valid.

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
