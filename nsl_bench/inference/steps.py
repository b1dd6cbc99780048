"""What inference is given for the steps of sequences: each row with the images and facts of earlier steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from nsl_bench.benchmark import Benchmark
from nsl_bench.errors import UserError
from nsl_bench.sequences import with_earlier

__all__ = ["facts_so_far", "seen_so_far"]

_MOST_NUMBERS = 50_000_000
"""Concept probabilities of all rows with their earlier steps that an engine is given: 200 MB."""


def seen_so_far(steps: npt.NDArray[np.integer[Any]], probabilities: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """[n, longest * slots, concepts]: concept probabilities of a row and of the steps before it, else 0.

    Args:
        steps: place of each row in its sequence, [n].
        probabilities: [n, slots, concepts].

    Raises:
        UserError: they are too many.
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
        benchmark: the task.
        steps: place of each row in its sequence, [n].
        facts: the facts of each row's meta-data.
    """
    found: list[tuple[str, ...]] = []
    past: tuple[str, ...] = ()
    for step, mine in zip(np.asarray(steps).tolist(), facts, strict=True):
        own = tuple(benchmark.step_atom(fact, step) for fact in mine)
        past = own if step == 1 else past + own
        found.append(past + benchmark.current_step(step))
    return found
