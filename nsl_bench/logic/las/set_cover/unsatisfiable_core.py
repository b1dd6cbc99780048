"""Which examples that must be covered cannot be covered together."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from nsl_bench.core.budget import Budget
from nsl_bench.logic.las.enumeration.candidates import Candidate
from nsl_bench.logic.las.enumeration.cells import Cells
from nsl_bench.logic.las.tables.conditions import Target
from nsl_bench.logic.las.tables.formulas import Demands, demands

_PAIRS = 2_000
_CONFLICTS = 5_000
"""Conflicts between two looks at the clock."""


def unsatisfiable_core(
    targets: Sequence[Target], candidates: Sequence[Candidate], cells: Cells, budget: Budget | None = None
) -> list[Target] | None:
    """A set of targets that no choice of candidates covers, none of which can be left out.

    A single target and, among not too many, pairs are looked for first; otherwise the set is minimal,
    but another one may be smaller.

    Args:
        targets: their conditions are `Demands` or False; together they cannot be covered.

    Returns:
        None if time ran out before there was any.
    """
    from pysat.solvers import Solver

    impossible = [target for target in targets if target.condition is False]
    if impossible:
        return impossible[:1]
    fillers = _fillers(targets, candidates, cells)
    first = len(candidates) + 1
    with Solver(name="g4") as solver:
        for i, target in enumerate(targets):
            asked = demands(target.condition) or Demands((), ())
            for need in asked.needs:
                rules = {rule for atom in need for rule in fillers[atom, target.column]}
                solver.add_clause([-(first + i), *sorted(rules)])
            for atom in asked.bans:
                for rule in fillers[atom, target.column]:
                    solver.add_clause([-(first + i), -rule])
        core = list(range(first, first + len(targets)))
        covered = _solved(solver, core, budget)
        if covered is not False:
            return None if covered is None else []
        core = sorted(solver.get_core() or core)
        for literal in list(core):
            rest = [other for other in core if other != literal]
            if len(core) > 1 and _solved(solver, rest, budget) is False:
                core = sorted(solver.get_core() or rest)
        if len(core) > 2:
            partners = range(first, first + len(targets))
            for literal in core[: max(1, _PAIRS // len(targets))]:
                for other in partners:
                    if other != literal and _solved(solver, [literal, other], budget) is False:
                        return [targets[i - first] for i in sorted((literal, other))]
    return [targets[literal - first] for literal in core]


def _solved(solver: Any, assumptions: Sequence[int], budget: Budget | None) -> bool | None:
    """Whether the clauses can be satisfied under assumptions; None if time ran out."""
    while budget is None or not budget.expired():
        solver.conf_budget(_CONFLICTS)
        found: bool | None = solver.solve_limited(assumptions=list(assumptions))
        if found is not None:
            return found
    return None


def _fillers(
    targets: Sequence[Target], candidates: Sequence[Candidate], cells: Cells
) -> dict[tuple[int, int], list[int]]:
    """The rules, numbered from 1, that fill each cell that a target speaks about."""
    wanted: dict[int, dict[int, list[int]]] = {}
    found: dict[tuple[int, int], list[int]] = {}
    for target in targets:
        asked = demands(target.condition) or Demands((), ())
        for atom in [*itertools.chain.from_iterable(asked.needs), *asked.bans]:
            rules = found.setdefault((atom, target.column), [])
            wanted.setdefault(cells.row[atom], {})[target.column] = rules
    for number, candidate in enumerate(candidates, start=1):
        for row, column in zip(*(side.tolist() for side in candidate.cells()), strict=True):
            fillers = wanted.get(row, {}).get(column)
            if fillers is not None:
                fillers.append(number)
    return found
