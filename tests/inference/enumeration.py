"""A query's answer by definition: clingo solves each world by itself. Nothing is shared with the engines."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import clingo
import numpy as np
import numpy.typing as npt

from nsl_bench.inference.query import Query


def by_enumeration(
    query: Query, vectors: npt.NDArray[np.float64], facts: Sequence[Sequence[str]] | None = None
) -> npt.NDArray[np.float64]:
    """float64 [n, outcomes]: labels, undecided, ambiguous, under exactly these vectors.

    Args:
        query: of a program with one answer set, or none.
        vectors: float64 [n, slots, concepts], rows summing to at most 1.
        facts: for each example what holds besides.
    """
    own = [()] * len(vectors) if facts is None else [tuple(some) for some in facts]
    result = np.zeros((len(vectors), len(query.labels) + 2))
    known: dict[tuple[tuple[int, ...], tuple[str, ...]], int] = {}
    for i, slots in enumerate(vectors):
        chances = [[*row[: len(v)], 1 - row.sum()] for row, v in zip(slots, query.choices, strict=True)]
        for world in itertools.product(*(range(len(row)) for row in chances)):
            weight = float(np.prod([row[v] for row, v in zip(chances, world, strict=True)]))
            if abs(weight) < 1e-15:
                continue
            if (world, own[i]) not in known:
                known[world, own[i]] = outcome(query, world, own[i])
            result[i, known[world, own[i]]] += weight
    return result


def outcome(query: Query, world: Sequence[int], facts: Sequence[str]) -> int:
    """A label's number, then undecided, then ambiguous."""
    held = [f for v, values in zip(world, query.choices, strict=True) if v < len(values) for f in values[v]]
    control = clingo.Control(["--warn=none"])
    text = "\n".join([*query.rules, query.background, *(f"{fact}." for fact in [*held, *facts])])
    control.add("base", [], text)
    control.ground([("base", [])])
    n = len(query.labels)
    with control.solve(yield_=True) as handle:
        model = handle.model()
        if model is None:
            return n
        true = {str(symbol) for symbol in model.symbols(atoms=True)}
    labels = [k for k, atom in enumerate(query.labels.atoms) if atom is not None and atom in true]
    if len(labels) > 1:
        return n + 1
    default = query.labels.atoms.index(None) if None in query.labels.atoms else n
    return labels[0] if labels else default
