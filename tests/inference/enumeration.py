"""A query's answer by definition: clingo solves all worlds. Nothing is shared with the engines."""

import itertools
from collections.abc import Sequence

import clingo
import numpy as np
import numpy.typing as npt

from nsl_bench.logic.inference.query import Query

World = tuple[int, ...]


def by_enumeration(
    query: Query, vectors: npt.NDArray[np.float64], facts: Sequence[Sequence[str]] | None = None
) -> npt.NDArray[np.float64]:
    """float64 [n, outcomes]: labels, undecided, ambiguous, under exactly these vectors.

    Args:
        query: of a program with one answer set, or none, in each world.
        vectors: float64 [n, slots, concepts], rows summing to at most 1.
        facts: for each example what holds besides.
    """
    own = [()] * len(vectors) if facts is None else [tuple(some) for some in facts]
    result = np.zeros((len(vectors), len(query.labels) + 2))
    possible = [
        [
            sorted({v for i in rows for v in np.flatnonzero(vectors[i, slot]).tolist()} | {len(values)})
            for slot, values in enumerate(query.choices)
        ]
        for rows in ([i for i, some in enumerate(own) if some == one] for one in own)
    ]
    known: dict[tuple[str, ...], dict[World, int]] = {}
    for i, slots in enumerate(vectors):
        if own[i] not in known:
            known[own[i]] = _outcomes(query, possible[i], own[i])
        chances = [
            np.array([*row[: len(v)], max(0.0, 1 - row.sum())])
            for row, v in zip(slots, query.choices, strict=True)
        ]
        for world in itertools.product(*(np.flatnonzero(row).tolist() for row in chances)):
            weight = float(np.prod([row[v] for row, v in zip(chances, world, strict=True)]))
            result[i, known[own[i]].get(world, len(query.labels))] += weight
    return result


def _outcomes(query: Query, possible: Sequence[Sequence[int]], facts: Sequence[str]) -> dict[World, int]:
    """For each world with an answer set a label's number, or one of those behind: undecided, ambiguous.

    Args:
        query: of a program with one answer set, or none, in each world.
        possible: for each slot the numbers of its concepts; behind the last one stands nothing.
        facts: what holds in every world.
    """
    given = "\n".join([*query.rules, query.background, *(f"{fact}." for fact in facts)])
    shown = "w"
    while shown in f"{given}{query.choices}{query.labels.atoms}":
        shown += "w"
    lines = [given]
    for slot, values in enumerate(possible):
        lines.append(f"1 {{ {'; '.join(f'{shown}({slot},{v})' for v in values)} }} 1.")
        concepts = query.choices[slot]
        held = [(v, fact) for v in values if v < len(concepts) for fact in concepts[v]]
        lines += [f"{fact} :- {shown}({slot},{v})." for v, fact in held]
    control = clingo.Control(["--warn=none", "--models=0"])
    control.add("base", [], "\n".join(lines))
    control.ground([("base", [])])
    worlds = [
        (int(atom.literal), *(a.number for a in atom.symbol.arguments))
        for atom in control.symbolic_atoms.by_signature(shown, 2)
    ]
    asked = {k: clingo.parse_term(atom) for k, atom in enumerate(query.labels.atoms) if atom is not None}
    n = len(query.labels)
    default = query.labels.atoms.index(None) if None in query.labels.atoms else n
    found: dict[World, int] = {}
    with control.solve(yield_=True) as handle:
        for model in handle:
            world = [0] * len(possible)
            for literal, slot, value in worlds:
                if model.is_true(literal):
                    world[slot] = value
            true = [k for k, atom in asked.items() if model.contains(atom)]
            assert tuple(world) not in found, "a world with two answer sets"
            found[tuple(world)] = n + 1 if len(true) > 1 else [*true, default][0]
    return found
