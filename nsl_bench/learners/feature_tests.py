"""Tests on a task's features as ASP, so that trees and rules over `features` can be written as ASP.

A column of `features` depends on what one slot shows or on one field of the metadata. Which one, and its
value for each concept, is found by asking the task. A column of `knowledge_features` has the body that the
task states for it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nsl_bench.core.benchmark import Benchmark
from nsl_bench.core.errors import UserError
from nsl_bench.core.types import BLANK, Array, Floats32, Ints
from nsl_bench.learners.asp_rules import FeatureTest

_TRIED = 200
"""Random rows on which it is checked that a column depends on nothing else."""

Body = tuple[str, ...]


@dataclass(frozen=True)
class _Column:
    """A column of features.

    Attributes:
        bodies: for each value of what it depends on, the facts that state it; empty where nothing does.
        values: the column for each of them.
    """

    bodies: tuple[Body, ...]
    values: tuple[float, ...]


class FeatureTests:
    """The tests on the features of a task.

    Args:
        metadata: metadata of a split, whose values are those that tests know.
    """

    def __init__(self, benchmark: Benchmark, metadata: Mapping[str, Array]) -> None:
        if benchmark.sequential:
            raise UserError(f"{benchmark.name} has sequences, whose features cannot be written as ASP.")
        self._benchmark = benchmark
        self._domains = {name: np.unique(np.asarray(column)) for name, column in metadata.items()}
        self._columns = self._columns_read()

    def test(self, column: int, threshold: float, *, knowledge: bool = False) -> FeatureTest:
        """ASP for "the feature is greater than the threshold"."""
        count = len(self._benchmark.knowledge_bodies()) if knowledge else len(self._columns)
        if not count:
            raise UserError(f"{self._benchmark.name} has no rules over knowledge features in ASP.")
        if not 0 <= column < count:
            raise UserError(f"The column of a feature must be from 0 to {count - 1}; got {column}.")
        kind = "knowledge_feature" if knowledge else "feature"
        arguments = f'({column + 1},"{threshold:.9g}")'
        atom, other = f"{kind}_above{arguments}", f"{kind}_not_above{arguments}"
        if knowledge:
            body = self._benchmark.knowledge_bodies()[column]
            if threshold >= 1:
                return FeatureTest(atom, ())
            return FeatureTest(atom, (f"{atom}." if threshold < 0 else f"{atom} :- {body}.",))
        result = self._columns[column]
        if result is None:
            raise UserError(f"Feature {column + 1} depends on more than one slot; no ASP was found for it.")
        above = [value > threshold for value in result.values]
        if all(above) or not any(above):
            return FeatureTest(atom, (f"{atom}.",) if all(above) else ())
        unsaid = [is_above for is_above, body in zip(above, result.bodies, strict=True) if not body]
        if len(set(unsaid)) > 1:
            raise UserError(f"No fact tells apart where feature {column + 1} is above {threshold:g}.")
        if not any(unsaid):
            return FeatureTest(atom, tuple(_rules(atom, result.bodies, above)))
        below = [not is_above for is_above in above]
        return FeatureTest(atom, (f"{atom} :- not {other}.", *_rules(other, result.bodies, below)))

    def _columns_read(self) -> list[_Column | None]:
        task = self._benchmark
        slots, concepts = len(task.slots), len(task.concept_space)
        rows = 1 + slots * concepts + sum(map(len, self._domains.values()))
        concepts_of = np.full((rows, slots), BLANK, np.int16)
        for slot in range(slots):
            start = 1 + slot * concepts
            concepts_of[start : start + concepts, slot] = np.arange(concepts)
        metadata = {name: np.repeat(values[:1], rows) for name, values in self._domains.items()}
        start, places = 1 + slots * concepts, {}
        for name, values in self._domains.items():
            metadata[name][start : start + len(values)] = values
            places[name] = slice(start, start := start + len(values))
        encoded = task.features(concepts_of, metadata)
        sources: list[tuple[tuple[Body, ...], Any]] = []
        for slot in range(slots):
            facts = tuple(tuple(task.facts(slot, concept)) for concept in task.concept_space.concepts)
            of_slot = encoded[1 + slot * concepts : 1 + (slot + 1) * concepts]
            sources.append((((), *facts), np.vstack([encoded[:1], of_slot])))
        for name, place in places.items():
            sources.append((self._stated(name), encoded[place]))
        tried = self._tried()
        return [self._column(column, sources, *tried) for column in range(encoded.shape[1])]

    def _stated(self, name: str) -> tuple[Body, ...]:
        """The facts that state each value of a field of the metadata."""
        values = self._domains[name]
        metadata = {n: np.repeat(v[:1], len(values)) for n, v in self._domains.items()} | {name: values}
        nothing = np.full((len(values), len(self._benchmark.slots)), BLANK, np.int16)
        facts = self._benchmark.contexts(nothing, metadata)
        same = set.intersection(*map(set, facts)) if len(facts) > 1 else set()
        return tuple(tuple(fact for fact in facts_of_value if fact not in same) for facts_of_value in facts)

    def _tried(self) -> tuple[list[Ints], Floats32]:
        """For each source the number of its value in random rows, and the rows' features."""
        rng = np.random.default_rng(0)
        n = len(self._benchmark.concept_space)
        concepts = rng.integers(-1, n, (_TRIED, len(self._benchmark.slots))).astype(np.int16)
        drawn = {name: rng.integers(0, len(values), _TRIED) for name, values in self._domains.items()}
        metadata = {name: self._domains[name][numbers] for name, numbers in drawn.items()}
        numbers = [*(concepts.T.astype(np.int64) + 1), *drawn.values()]
        return numbers, self._benchmark.features(concepts, metadata)

    @staticmethod
    def _column(
        column: int,
        sources: Sequence[tuple[tuple[Body, ...], Any]],
        numbers: Sequence[Ints],
        features: Floats32,
    ) -> _Column | None:
        """The column, if it depends on one source at most."""
        varying = [k for k, (_, values) in enumerate(sources) if np.ptp(values[:, column]) > 0]
        if len(varying) > 1:
            return None
        bodies, values = sources[varying[0] if varying else 0]
        if not np.array_equal(values[numbers[varying[0] if varying else 0], column], features[:, column]):
            return None
        return _Column(bodies, tuple(map(float, values[:, column])))


def _rules(atom: str, bodies: Sequence[Body], holds: Sequence[bool]) -> Iterator[str]:
    for body, is_true in zip(bodies, holds, strict=True):
        if is_true:
            yield f"{atom} :- {', '.join(body)}."
