"""What an example asks of the learned atoms, as formulas.

The part of the program that depends on learned atoms is unfolded, for each example, down to those
atoms: a learned atom is true where a chosen rule derives it. What no rule can change is evaluated away.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from nsl_bench.core.budget import Budget, Undecided
from nsl_bench.core.types import Array, Bools
from nsl_bench.logic.las.bits import unique_rows, unpack
from nsl_bench.logic.las.tables.evaluation import ResidualRule
from nsl_bench.logic.las.tables.formulas import Formula, Lit, conjoin, depth, disjoin, negate
from nsl_bench.logic.las.tables.grounding import Grounding
from nsl_bench.logic.las.task import LasTask

_MOST_NODES = 20_000
_MOST_DEPTH = 60
"""Levels of formulas, which are walked through recursively."""


class Target(NamedTuple):
    """Examples with the same context and the same condition.

    Attributes:
        penalty: the sum of their penalties; None if they must be covered.
        condition: true exactly where they are covered.
    """

    column: int
    penalty: int | None
    condition: Formula
    examples: tuple[int, ...]


class _Unfolding:
    """Formulas of atoms where a given set of residual rules is active."""

    def __init__(
        self, rules: Sequence[ResidualRule], learned: frozenset[int], choice_atoms: Mapping[int, int]
    ) -> None:
        self._by_head: dict[int, list[ResidualRule]] = {}
        for rule in rules:
            self._by_head.setdefault(rule.head, []).append(rule)
        self._learned = learned
        self._choice_atoms = choice_atoms
        self._known: dict[int, Formula] = {}
        self._nodes = 0

    def holds(self, atom: int) -> Formula:
        """When `atom` is true."""
        open_: set[int] = set()
        work = [atom]
        while work:
            current = work[-1]
            if current in self._known:
                work.pop()
                continue
            rules = self._by_head.get(current, ())
            missing = [a for r in rules for a in (*r.positive, *r.negative) if a not in self._known]
            if not missing:
                options = [self._body(rule) for rule in rules]
                if current in self._learned:
                    options.append(Lit(current, True))
                self._known[current] = _bounded(disjoin(options))
                open_.discard(current)
                work.pop()
            elif current in open_:
                raise Undecided("recursion through what is learned")
            else:
                open_.add(current)
                work += missing
        return self._known[atom]

    def _body(self, rule: ResidualRule) -> Formula:
        """When the body of `rule` is true and the rule itself is there; its atoms are known."""
        self._nodes += 1 + len(rule.positive) + len(rule.negative)
        if self._nodes > _MOST_NODES:
            raise Undecided("the background unfolds into large formulas")
        parts: list[Formula] = [self._known[atom] for atom in rule.positive]
        parts += [negate(self._known[atom]) for atom in rule.negative]
        if rule.choice >= 0:
            parts.append(Lit(self._choice_atoms[rule.choice], True))
        return _bounded(conjoin(parts))

    def consistent(self) -> Formula:
        """When no constraint is violated."""
        constraints = self._by_head.get(0, ())
        for rule in constraints:
            for atom in (*rule.positive, *rule.negative):
                self.holds(atom)
        return conjoin(negate(self._body(rule)) for rule in constraints)


def _bounded(formula: Formula) -> Formula:
    """The formula, if it is not too deep to be walked through."""
    if depth(formula) > _MOST_DEPTH:
        raise Undecided("the background unfolds into deep formulas")
    return formula


def choice_atom(choice: int) -> int:
    """The number that stands for a rule given whole in formulas: no program atom is negative."""
    return -1 - choice


def targets(
    task: LasTask, grounding: Grounding, n_choices: int, budget: Budget | None = None
) -> list[Target]:
    """The conditions of all examples.

    Args:
        grounding: its background knowledge, grounded for every distinct context.
        n_choices: number of rules that the language bias gives whole.
    """
    conditions = _Conditions(grounding, n_choices, _derived_sets(task, grounding), budget)
    groups: dict[tuple[tuple[str, ...], tuple[str, ...]], list[int]] = {}
    for i, example in enumerate(task.examples):
        groups.setdefault((example.inclusions, example.exclusions), []).append(i)
    formulas: list[Formula] = [False] * len(task.examples)
    for (inclusions, exclusions), members in groups.items():
        positive = [task.examples[i].positive for i in members]
        columns = grounding.columns.of_example[members]
        for i, formula in zip(members, conditions.of(inclusions, exclusions, columns, positive), strict=True):
            formulas[i] = formula
    # examples share few formulas; telling these apart by identity saves hashing them again and again
    merged: dict[tuple[int, int, bool], tuple[int, list[int], Formula]] = {}
    column_of = grounding.columns.of_example.tolist()
    for i, (example, column, formula) in enumerate(zip(task.examples, column_of, formulas, strict=True)):
        joint = (column, id(formula), example.penalty is None)
        goal = merged.get(joint)
        if goal is None:
            merged[joint] = (example.penalty or 0, [i], formula)
        else:
            goal[1].append(i)
            merged[joint] = (goal[0] + (example.penalty or 0), goal[1], formula)
    return [
        Target(column, None if hard else total, formula, tuple(members))
        for (column, _, hard), (total, members, formula) in merged.items()
    ]


class _Extras(NamedTuple):
    """What ``inclusion`` and ``exclusion`` of the background add (FastLAS).

    Attributes:
        atoms: program atoms to include (True) and to exclude, by column.
        wrong: bool [n]: columns where one of them is decided otherwise.
    """

    atoms: Mapping[int, tuple[tuple[int, bool], ...]]
    wrong: Bools


class _Conditions:
    """Makes the formulas of examples, each once."""

    def __init__(self, grounding: Grounding, n_choices: int, extras: _Extras, budget: Budget | None) -> None:
        self._grounding = grounding
        self._extras = extras
        self._budget = budget
        classes, self._class_of = _classes(grounding, budget)
        choices = {i: choice_atom(i) for i in range(n_choices)}
        learned = frozenset(grounding.learned.values())
        self._unfoldings = [
            _Unfolding([grounding.residual[i] for i in active], learned, choices) for active in classes
        ]
        self._dead = unpack(grounding.dead, grounding.columns.n) | extras.wrong
        self._formulas: dict[object, Formula] = {False: False, True: True}

    def of(
        self,
        inclusions: Sequence[str],
        exclusions: Sequence[str],
        columns: npt.NDArray[np.intp],
        positive: Sequence[bool],
    ) -> list[Formula]:
        """The formulas of examples with the same inclusions and exclusions.

        Args:
            inclusions, exclusions: theirs.
            columns: intp [examples]: theirs.
            positive: whether each is to be covered by an answer set, or by none.
        """
        alive = ~self._dead[columns]
        signs: list[tuple[int, bool]] = []
        for text, sign in (*((a, True) for a in inclusions), *((a, False) for a in exclusions)):
            atom, bits = self._grounding.lookup(text)
            if bits is None:
                signs.append((atom, sign))
            else:
                alive &= unpack(bits, self._grounding.columns.n)[columns] == sign
        asked = tuple(signs)
        result = []
        for column, group, holds, side in zip(
            columns.tolist(), self._class_of[columns].tolist(), alive.tolist(), positive, strict=True
        ):
            wanted = (*self._extras.atoms.get(column, ()), *asked)
            key = (group, wanted, side) if holds else not side
            formula = self._formulas.get(key)
            if formula is None:
                formula = self._formulas[key] = self._make(group, wanted, side)
            result.append(formula)
        return result

    def _make(self, group: int, wanted: Sequence[tuple[int, bool]], positive: bool) -> Formula:
        if self._budget is not None:
            self._budget.check()
        unfolding = self._unfoldings[group]
        parts = [unfolding.holds(a) if sign else negate(unfolding.holds(a)) for a, sign in wanted]
        formula = conjoin([*parts, unfolding.consistent()])
        return formula if positive else negate(formula)


def _classes(grounding: Grounding, budget: Budget | None) -> tuple[list[Array], Array]:
    """Sets of residual rules that are active together, and the set of each column."""
    n = grounding.columns.n
    if not grounding.residual:
        return [np.empty(0, np.intp)], np.zeros(n, np.intp)
    if budget is not None:
        active_bytes = sum(rule.mask.nbytes for rule in grounding.residual) * 8
        budget.take(2 * active_bytes, "conditions of examples")
    active = unpack(np.array([rule.mask for rule in grounding.residual]), n)
    first, class_of = unique_rows(active.T)
    if budget is not None:
        budget.take(2 * np.intp().nbytes * int(active[:, first].sum()), "conditions of examples")
    return [np.flatnonzero(active[:, k]) for k in first], class_of


def _derived_sets(task: LasTask, grounding: Grounding) -> _Extras:
    n = grounding.columns.n
    result: dict[int, tuple[tuple[int, bool], ...]] = {}
    wrong = np.zeros(n, np.bool_)
    if task.bias.dialect != "fastlas":
        return _Extras(result, wrong)
    for name, sign in (("inclusion", True), ("exclusion", False)):
        if grounding.depends(name, 1):
            raise Undecided("inclusions or exclusions that depend on what is learned")
        for arguments, bits in grounding.atoms(name, 1):
            atom, value = grounding.lookup_symbol(arguments[0])
            stated = unpack(bits, n)
            if value is not None:
                wrong |= stated & (unpack(value, n) != sign)
                continue
            for column in np.flatnonzero(stated).tolist():
                result[column] = (*result.get(column, ()), (atom, sign))
    return _Extras(result, wrong)
