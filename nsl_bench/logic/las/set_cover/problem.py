"""Choosing rules, where each example asks for some atoms to be derived and for others not to be.

This is weighted partial set cover with forbidden sets: conditions of examples become an
`nsl_bench.logic.las.set_cover.instance.Instance`, examples that no choice tells apart merged.
"""

import itertools
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from nsl_bench.core.budget import Budget
from nsl_bench.logic.las.bits import unique_rows
from nsl_bench.logic.las.enumeration.candidates import Candidate
from nsl_bench.logic.las.enumeration.cells import Cells
from nsl_bench.logic.las.set_cover.instance import Choice, Flags, Instance, Integers, integers, prune, split
from nsl_bench.logic.las.set_cover.solve import solve
from nsl_bench.logic.las.tables.conditions import Target
from nsl_bench.logic.las.tables.formulas import Demands, demands

_WATCHED = 256
"""Rules between two looks at the clock."""

# rows of the matrix that support a target each, rows that violate it, and its weight
Row = tuple[tuple[int, ...], tuple[int, ...], int]


class CoverProblem:
    """One choice among candidates, for targets whose conditions are `Demands` or False.

    Raises:
        ValueError: a condition is something else.
    """

    def __init__(
        self,
        candidates: Sequence[Candidate],
        targets: Sequence[Target],
        cells: Cells,
        budget: Budget | None = None,
        beside: int = 0,
    ) -> None:
        """Reads the conditions.

        Args:
            beside: the most that is paid beside this choice.
        """
        costs = [candidate.rule.cost for candidate in candidates]
        self.hard_weight = 1 + sum(target.penalty or 0 for target in targets) + sum(costs) + beside
        self.constant = 0
        unions: dict[tuple[tuple[int, ...], int], int] = {}
        self._rows: list[Row] = []
        asks: dict[int, Demands | None] = {}
        for target in targets:
            weight = self.hard_weight if target.penalty is None else target.penalty
            if target.condition is False:
                self.constant += weight
                continue
            if id(target.condition) not in asks:
                asks[id(target.condition)] = demands(target.condition)
            asked = asks[id(target.condition)]
            if asked is None:
                raise ValueError("a condition must consist of needs and bans")
            sides = [asked.needs, (asked.bans,) if asked.bans else ()]
            needs, bans = (
                tuple(unions.setdefault((atoms, target.column), len(unions)) for atoms in side)
                for side in sides
            )
            self._rows.append((needs, bans, weight))
        self.costs = integers(costs, self.constant + sum(weight for *_, weight in self._rows))
        if budget is not None:
            budget.take(len(unions) * len(candidates), "the matrix of rules and examples")
        self._matrix, self._complete = _derived(candidates, unions, cells, budget or Budget())

    def solve(
        self,
        below: int | None = None,
        budget: Budget | None = None,
        statistics: dict[str, float] | None = None,
    ) -> Choice:
        """The choice of least score, if that is less than `below`.

        Raises nothing on a deadline: the best choice so far comes back, with a bound.

        Args:
            below: only lower scores are of interest; None: any.
        """
        counts = statistics if statistics is not None else {}
        start = time.perf_counter()
        instance = self.instance()
        most = int(self.costs.sum()) + int(instance.weights.sum()) + instance.constant + 1
        instance = prune(instance, most if below is None else below, dominance=False)
        parts = split(instance)
        _count(counts, "distinct", len(self.costs))
        _count(counts, "solved", len(instance.rules))
        _count(counts, "seconds_reducing", time.perf_counter() - start)
        start = time.perf_counter()
        choices = [solve(part, budget) for part in parts]
        score = instance.constant + sum(choice.score for choice in choices)
        bound = instance.constant + sum(choice.bound for choice in choices)
        proven = self._complete and all(choice.proven for choice in choices)
        if not self._complete:
            bound = self.constant
        _count(counts, "seconds_solving", time.perf_counter() - start)
        if below is not None and score >= below:
            # what was pruned could only lead to `below` or more
            return Choice(None, score, min(bound, below), proven)
        rules = tuple(sorted(rule for choice in choices for rule in choice.rules or ()))
        return Choice(rules, score, score if proven else bound, proven)

    def instance(self) -> Instance:
        """The instance, in which targets are merged that no rule tells apart."""
        first, class_of = unique_rows(self._matrix)
        merger = _Merger(self._matrix[first], self.costs, self.constant)
        of = class_of.tolist()
        weights: dict[tuple[tuple[int, ...], tuple[int, ...]], int] = {}
        for needs, bans, weight in self._rows:
            key = tuple(sorted({of[row] for row in needs})), tuple(sorted({of[row] for row in bans}))
            weights[key] = weights.get(key, 0) + weight
        for (needs, bans), weight in weights.items():
            merger.add(needs, bans, weight)
        return merger.instance()


class _Merger:
    """Makes an instance of targets, those merged that the same rules support and violate."""

    def __init__(self, matrix: Flags, costs: Integers, constant: int) -> None:
        """Begins without targets.

        Args:
            matrix: bool [rows, r]: which rules derive each row; the rows are distinct.
            constant: penalties that no choice avoids.
        """
        self.matrix, self.costs, self.constant = matrix, costs, constant
        self._violators: dict[tuple[int, ...], tuple[bytes, Flags]] = {}
        self._known: dict[tuple[int, bytes], int] = {}
        self._places: dict[bytes, int] = {}
        self._supports: list[Flags] = []
        self._weights: dict[tuple[tuple[int, ...], bytes], int] = {}
        self._violates: list[Flags] = []

    def add(self, needs: tuple[int, ...], bans: tuple[int, ...], weight: int) -> None:
        """Takes in a target, given by rows of the matrix."""
        if bans not in self._violators:
            row = np.asarray(self.matrix[list(bans)].any(axis=0), np.bool_)
            self._violators[bans] = (row.tobytes(), row)
        signature, violators = self._violators[bans]
        supported = {self._need(need, signature, violators) for need in needs}
        if -1 in supported:
            self.constant += weight
        elif supported or violators.any():
            key = tuple(sorted(supported)), signature
            if key not in self._weights:
                self._violates.append(violators)
            self._weights[key] = self._weights.get(key, 0) + weight

    def _need(self, need: int, signature: bytes, violators: Flags) -> int:
        """The row of those rules that support a need and do not violate the target; -1 if there is none."""
        key = (need, signature)
        if key not in self._known:
            row = self.matrix[need] & ~violators
            text = row.tobytes()
            place = self._places.setdefault(text, len(self._places)) if row.any() else -1
            if place == len(self._supports):
                self._supports.append(row)
            self._known[key] = place
        return self._known[key]

    def instance(self) -> Instance:
        """The targets taken in."""
        width = len(self.costs)
        return Instance(
            rules=np.arange(width),
            costs=self.costs,
            weights=integers(self._weights.values(), self.constant + int(self.costs.sum())),
            needs=tuple(needs for needs, _ in self._weights),
            supports=np.array(self._supports, np.bool_).reshape(len(self._supports), width),
            violates=np.array(self._violates, np.bool_).reshape(len(self._violates), width),
            constant=self.constant,
        )


def _derived(
    candidates: Sequence[Candidate],
    unions: dict[tuple[tuple[int, ...], int], int],
    cells: Cells,
    budget: Budget,
) -> tuple[Flags, bool]:
    """Which rules derive one of each union of atoms in one column.

    Returns:
        bool [unions, candidates], and whether there was time for all candidates.
    """
    sizes = np.array([len(atoms) for atoms, _ in unions], np.intp)
    rows = np.array([cells.row[atom] for atoms, _ in unions for atom in atoms], np.intp)
    keys = rows * cells.n + np.repeat(np.array([column for _, column in unions], np.intp), sizes)
    order = np.argsort(keys, kind="stable")
    keys, of = keys[order], np.repeat(np.arange(len(sizes)), sizes)[order]
    matrix = np.zeros((len(unions), len(candidates)), np.bool_)
    for k, candidate in enumerate(candidates):
        if k % _WATCHED == 0 and budget.expired():
            return matrix, False
        row, column = candidate.cells()
        derived = row * cells.n + column
        first, last = np.searchsorted(keys, derived, "left"), np.searchsorted(keys, derived, "right")
        counts = last - first
        start = np.repeat(first - np.cumsum(counts) + counts, counts)
        matrix[of[start + np.arange(len(start))], k] = True
    return matrix, True


def _count(counts: dict[str, float], name: str, value: float) -> None:
    counts[name] = round(counts.get(name, 0) + value, 4)


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
        result: bool | None = solver.solve_limited(assumptions=list(assumptions))
        if result is not None:
            return result
    return None


def _fillers(
    targets: Sequence[Target], candidates: Sequence[Candidate], cells: Cells
) -> dict[tuple[int, int], list[int]]:
    """The rules, numbered from 1, that fill each cell that a target speaks about."""
    wanted: dict[int, dict[int, list[int]]] = {}
    result: dict[tuple[int, int], list[int]] = {}
    for target in targets:
        asked = demands(target.condition) or Demands((), ())
        for atom in [*itertools.chain.from_iterable(asked.needs), *asked.bans]:
            rules = result.setdefault((atom, target.column), [])
            wanted.setdefault(cells.row[atom], {})[target.column] = rules
    for number, candidate in enumerate(candidates, start=1):
        for row, column in zip(*(side.tolist() for side in candidate.cells()), strict=True):
            fillers = wanted.get(row, {}).get(column)
            if fillers is not None:
                fillers.append(number)
    return result
