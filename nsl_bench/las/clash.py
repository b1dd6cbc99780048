"""Which examples that must be covered cannot be covered together."""

from __future__ import annotations

from collections.abc import Sequence

from nsl_bench.las.candidates import Candidate, Cells
from nsl_bench.las.conditions import Target, conjunction

__all__ = ["smallest_clash"]

_PAIRS = 2_000


def smallest_clash(targets: Sequence[Target], candidates: Sequence[Candidate], cells: Cells) -> list[Target]:
    """A set of targets that no choice of candidates covers, none of which can be left out.

    A single target and, among not too many, pairs are looked for first; otherwise the set is minimal,
    but another one may be smaller.

    Args:
        targets: their conditions are conjunctions or False; together they cannot be covered.
        candidates: the rules.
        cells: what the candidates fill.
    """
    from pysat.solvers import Solver

    impossible = [target for target in targets if target.condition is False]
    if impossible:
        return impossible[:1]
    fillers = _fillers(targets, candidates, cells)
    first = len(candidates) + 1
    with Solver(name="g4") as solver:
        for i, target in enumerate(targets):
            positive, negative = conjunction(target.condition) or ((), ())
            for atom in positive:
                solver.add_clause([-(first + i), *fillers[atom, target.column]])
            for atom in negative:
                for rule in fillers[atom, target.column]:
                    solver.add_clause([-(first + i), -rule])
        core = list(range(first, first + len(targets)))
        if solver.solve(assumptions=core):
            return []
        core = sorted(solver.get_core() or core)
        for literal in list(core):
            rest = [other for other in core if other != literal]
            if len(core) > 1 and not solver.solve(assumptions=rest):
                core = sorted(solver.get_core() or rest)
        if len(core) > 2:
            partners = range(first, first + len(targets))
            for literal in core[: max(1, _PAIRS // len(targets))]:
                for other in partners:
                    if other != literal and not solver.solve(assumptions=[literal, other]):
                        return [targets[i - first] for i in sorted((literal, other))]
    return [targets[literal - first] for literal in core]


def _fillers(
    targets: Sequence[Target], candidates: Sequence[Candidate], cells: Cells
) -> dict[tuple[int, int], list[int]]:
    """The rules, numbered from 1, that fill each cell that a target speaks about."""
    wanted: dict[int, dict[int, list[int]]] = {}
    found: dict[tuple[int, int], list[int]] = {}
    for target in targets:
        for atom in sum(conjunction(target.condition) or ((), ()), ()):
            rules = found.setdefault((atom, target.column), [])
            wanted.setdefault(cells.row[atom], {})[target.column] = rules
    for number, candidate in enumerate(candidates, start=1):
        for row, column in zip(*(side.tolist() for side in candidate.cells()), strict=True):
            asked = wanted.get(row, {}).get(column)
            if asked is not None:
                asked.append(number)
    return found
