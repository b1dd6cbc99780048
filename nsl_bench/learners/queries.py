"""What inference is asked of a task: the query for a hypothesis, and the inputs of a sequence's steps.

Each row of a sequence has the images and facts of its earlier steps, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from nsl_bench.core import registry
from nsl_bench.core.benchmark import Benchmark
from nsl_bench.core.errors import UserError
from nsl_bench.core.sequences import with_earlier
from nsl_bench.logic.inference.query import Query

if TYPE_CHECKING:
    from nsl_bench.logic.inference.engines import Engine

_MOST_NUMBERS = 50_000_000
"""Concept probabilities of all rows with their earlier steps that an engine is given: 200 MB."""


def engine_of(spec: str) -> Engine:
    """The inference engine of a name or spec, such as ``"exact:width=1e-4"``."""
    engine: Engine = registry.create("engine", spec)
    return engine


def query_of(benchmark: Benchmark, rules: Sequence[str], *, strict: bool = True, steps: int = 0) -> Query:
    """The query for a hypothesis of a task.

    Args:
        strict: whether rules that can give several answer sets are refused.
        steps: where rows are steps of sequences: the number of steps of the longest one. The image slots
            are then those of step 1, of step 2, and so on.
    """
    choices = tuple(
        tuple(tuple(benchmark.facts(slot, concept)) for concept in benchmark.concept_space.concepts)
        for slot in range(len(benchmark.slots))
    )
    if steps:
        choices = tuple(
            tuple(tuple(benchmark.step_atom(fact, step) for fact in facts) for facts in slot)
            for step in range(1, steps + 1)
            for slot in choices
        )
    return Query(tuple(rules), benchmark.background, benchmark.labels, choices, strict)


def seen_so_far(steps: npt.NDArray[np.integer[Any]], probabilities: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """[n, longest * slots, concepts]: concept probabilities of a row and of the steps before it, else 0.

    Args:
        steps: place of each row in its sequence, [n].
        probabilities: [n, slots, concepts].
    """
    n, slots, concepts = probabilities.shape
    longest = int(np.max(steps, initial=1))
    if n * longest * slots * concepts > _MOST_NUMBERS:
        raise UserError(
            f"{n} rows in sequences of {longest} steps have too many concept probabilities for inference."
        )
    wide = with_earlier(steps, probabilities.reshape(n, slots * concepts), 0.0)
    return np.ascontiguousarray(wide.reshape(n, longest * slots, concepts))


def facts_so_far(
    benchmark: Benchmark, steps: npt.NDArray[np.integer[Any]], facts: Sequence[tuple[str, ...]]
) -> list[tuple[str, ...]]:
    """The facts of each row's meta-data and of the steps before it, and which step is asked.

    Args:
        steps: place of each row in its sequence, [n].
    """
    result: list[tuple[str, ...]] = []
    past: tuple[str, ...] = ()
    for step, mine in zip(np.asarray(steps).tolist(), facts, strict=True):
        own = tuple(benchmark.step_atom(fact, step) for fact in mine)
        past = own if step == 1 else past + own
        result.append(past + benchmark.current_step(step))
    return result
