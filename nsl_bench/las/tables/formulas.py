"""What an example asks of the learned atoms, as formulas in negation normal form.

The part of the program that depends on learned atoms is unfolded, for each example, down to those
atoms: a learned atom is true where a chosen rule derives it. What no rule can change is evaluated away.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from nsl_bench.asp.ground_program import Undecided
from nsl_bench.budget import Budget
from nsl_bench.las.tables.columns import unpack
from nsl_bench.las.tables.grounding import Grounding, ResidualRule
from nsl_bench.las.task import LasTask

__all__ = [
    "And",
    "Demands",
    "Formula",
    "Lit",
    "Or",
    "Target",
    "assign",
    "demands",
    "evaluate",
    "literals_of",
    "targets",
]

_MOST_NODES = 20_000


@dataclass(frozen=True, slots=True)
class Lit:
    """A learned atom (clingo's program atom), or its negation."""

    atom: int
    positive: bool


@dataclass(frozen=True, slots=True)
class And:
    """All of these."""

    parts: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """One of these."""

    parts: tuple[Formula, ...]


Formula = bool | Lit | And | Or


@dataclass(frozen=True, slots=True)
class Target:
    """Examples with the same context and the same condition.

    Attributes:
        column: their context.
        penalty: the sum of their penalties; None if they must be covered.
        condition: true exactly where they are covered.
        examples: their indices in the task.
    """

    column: int
    penalty: int | None
    condition: Formula
    examples: tuple[int, ...]


def conjoin(parts: Iterable[Formula]) -> Formula:
    """The conjunction, simplified: literals that stand alone are put into the other parts."""
    flat: list[Formula] = []
    for part in parts:
        if part is False:
            return False
        if isinstance(part, And):
            flat += part.parts
        elif part is not True:
            flat.append(part)
    units = {p.atom: p.positive for p in flat if isinstance(p, Lit)}
    if any(units[p.atom] != p.positive for p in flat if isinstance(p, Lit)):
        return False
    rest = [p for p in dict.fromkeys(flat) if not isinstance(p, Lit)]
    if rest and units:
        simpler = [assign(p, units) for p in rest]
        if simpler != rest:
            return conjoin([*(Lit(a, s) for a, s in units.items()), *simpler])
    parts_ = (*(Lit(atom, positive) for atom, positive in units.items()), *rest)
    if not parts_:
        return True
    return parts_[0] if len(parts_) == 1 else And(parts_)


def disjoin(parts: Iterable[Formula]) -> Formula:
    """The disjunction, simplified."""
    flat: list[Formula] = []
    for part in parts:
        if part is True:
            return True
        if isinstance(part, Or):
            flat += part.parts
        elif part is not False:
            flat.append(part)
    flat = list(dict.fromkeys(flat))
    signs: dict[int, bool] = {}
    for part in flat:
        if isinstance(part, Lit) and signs.setdefault(part.atom, part.positive) != part.positive:
            return True
    if not flat:
        return False
    return flat[0] if len(flat) == 1 else Or(tuple(flat))


def negate(formula: Formula) -> Formula:
    """The negation, in negation normal form again."""
    if isinstance(formula, bool):
        return not formula
    if isinstance(formula, Lit):
        return Lit(formula.atom, not formula.positive)
    if isinstance(formula, And):
        return disjoin(negate(part) for part in formula.parts)
    return conjoin(negate(part) for part in formula.parts)


def assign(formula: Formula, values: Mapping[int, bool]) -> Formula:
    """The formula where the atoms in `values` have these values."""
    if isinstance(formula, bool):
        return formula
    if isinstance(formula, Lit):
        value = values.get(formula.atom)
        return formula if value is None else value is formula.positive
    parts = [assign(part, values) for part in formula.parts]
    if all(new is old for new, old in zip(parts, formula.parts, strict=True)):
        return formula
    return conjoin(parts) if isinstance(formula, And) else disjoin(parts)


@dataclass(frozen=True, slots=True)
class Demands:
    """A condition that more rules help in one way only.

    Attributes:
        needs: sets of atoms; of each, one at least has to be true.
        bans: atoms that have to be false.
    """

    needs: tuple[tuple[int, ...], ...]
    bans: tuple[int, ...]


def demands(formula: Formula) -> Demands | None:
    """The formula as needs and bans; None if it is no conjunction of literals and positive clauses."""
    needs: list[tuple[int, ...]] = []
    bans: list[int] = []
    for part in () if formula is True else formula.parts if isinstance(formula, And) else (formula,):
        if isinstance(part, Lit):
            if part.positive:
                needs.append((part.atom,))
            else:
                bans.append(part.atom)
        elif isinstance(part, Or):
            atoms = [p.atom for p in part.parts if isinstance(p, Lit) and p.positive]
            if len(atoms) < len(part.parts):
                return None
            needs.append(tuple(sorted(atoms)))
        else:
            return None
    return Demands(tuple(sorted(needs)), tuple(sorted(bans)))


def literals_of(formula: Formula) -> set[Lit]:
    """All literals that occur in the formula."""
    if isinstance(formula, bool):
        return set()
    if isinstance(formula, Lit):
        return {formula}
    return set().union(*(literals_of(part) for part in formula.parts))


def evaluate(formula: Formula, true: Callable[[int], bool]) -> bool:
    """The formula's value, where `true` gives the atoms'."""
    if isinstance(formula, bool):
        return formula
    if isinstance(formula, Lit):
        return true(formula.atom) is formula.positive
    values = (evaluate(part, true) for part in formula.parts)
    return all(values) if isinstance(formula, And) else any(values)


class _Unfolding:
    """Formulas of atoms where a given set of residual rules is active."""

    def __init__(
        self, rules: Sequence[ResidualRule], learned: frozenset[int], choice_atoms: Mapping[int, int]
    ) -> None:
        self.by_head: dict[int, list[ResidualRule]] = {}
        for rule in rules:
            self.by_head.setdefault(rule.head, []).append(rule)
        self.learned = learned
        self.choice_atoms = choice_atoms
        self.known: dict[int, Formula] = {}
        self.open: set[int] = set()
        self.nodes = 0

    def holds(self, atom: int) -> Formula:
        """When `atom` is true."""
        found = self.known.get(atom)
        if found is None:
            if atom in self.open:
                raise Undecided("recursion through what is learned")
            self.open.add(atom)
            options: list[Formula] = [self.body(rule) for rule in self.by_head.get(atom, ())]
            if atom in self.learned:
                options.append(Lit(atom, True))
            found = self.known[atom] = disjoin(options)
            self.open.discard(atom)
        return found

    def body(self, rule: ResidualRule) -> Formula:
        """When the body of `rule` is true and the rule itself is there."""
        self.nodes += 1 + len(rule.positive) + len(rule.negative)
        if self.nodes > _MOST_NODES:
            raise Undecided("the background unfolds into large formulas")
        parts: list[Formula] = [self.holds(atom) for atom in rule.positive]
        parts += [negate(self.holds(atom)) for atom in rule.negative]
        if rule.choice >= 0:
            parts.append(Lit(self.choice_atoms[rule.choice], True))
        return conjoin(parts)

    def consistent(self) -> Formula:
        """When no constraint is violated."""
        return conjoin(negate(self.body(rule)) for rule in self.by_head.get(0, ()))


def choice_atom(choice: int) -> int:
    """The number that stands for a rule given whole in formulas: no program atom is negative."""
    return -1 - choice


def targets(
    task: LasTask, grounding: Grounding, n_choices: int, budget: Budget | None = None
) -> list[Target]:
    """The conditions of all examples.

    Raises:
        Undecided: learned atoms depend on each other in a cycle, formulas grow too large, or time is up.
        UserError: an inclusion or exclusion is no ground atom.
    """
    columns = grounding.columns
    classes, class_of = _classes(grounding)
    choices = {i: choice_atom(i) for i in range(n_choices)}
    learned = frozenset(grounding.learned.values())
    unfoldings = [_Unfolding([grounding.residual[i] for i in active], learned, choices) for active in classes]
    dead = unpack(grounding.dead, columns.n)
    extra, hopeless = _derived_sets(task, grounding)
    looked: dict[str, tuple[int, npt.NDArray[Any] | None]] = {}
    formulas: dict[object, Formula] = {}
    # examples share few formulas; telling these apart by identity saves hashing them again and again
    merged: dict[tuple[int, int, bool], tuple[int, list[int], Formula]] = {}
    for i, example in enumerate(task.examples):
        column = int(columns.of_example[i])
        more = extra.get(column, ((), ()))
        wanted = (*((a, True) for a in example.inclusions), *((a, False) for a in example.exclusions))
        signs: list[tuple[int, bool]] = [*((a, True) for a in more[0]), *((a, False) for a in more[1])]
        alive = not dead[column] and column not in hopeless
        for text, sign in wanted:
            entry = looked.get(text)
            if entry is None:
                atom, bits = grounding.lookup(text)
                entry = looked[text] = (atom, None if bits is None else unpack(bits, columns.n))
            if entry[1] is None:
                signs.append((entry[0], sign))
            elif bool(entry[1][column]) is not sign:
                alive = False
        key = (int(class_of[column]), tuple(signs), example.positive) if alive else (example.positive,)
        formula = formulas.get(key)
        if formula is None:
            formula = False
            if budget is not None:
                budget.check()
            if alive:
                unfolding = unfoldings[class_of[column]]
                parts = [unfolding.holds(a) if s else negate(unfolding.holds(a)) for a, s in signs]
                formula = conjoin([*parts, unfolding.consistent()])
            if not example.positive:
                formula = negate(formula)
            formulas[key] = formula
        joint = (column, id(formula), example.penalty is None)
        total, members, _ = merged.get(joint, (0, [], formula))
        members.append(i)
        merged[joint] = (total + (example.penalty or 0), members, formula)
    return [
        Target(column, None if hard else total, formula, tuple(members))
        for (column, _, hard), (total, members, formula) in merged.items()
    ]


def _classes(grounding: Grounding) -> tuple[list[tuple[int, ...]], npt.NDArray[Any]]:
    """Sets of residual rules that are active together, and the set of each column."""
    n = grounding.columns.n
    if not grounding.residual:
        return [()], np.zeros(n, np.intp)
    active = unpack(np.array([rule.mask for rule in grounding.residual]), n)
    packed = np.ascontiguousarray(np.packbits(active, axis=0).T)
    view = packed.view(np.dtype((np.void, packed.shape[1]))).reshape(-1)
    _, first, class_of = np.unique(view, return_index=True, return_inverse=True)
    return [tuple(np.flatnonzero(active[:, k]).tolist()) for k in first], class_of.reshape(-1)


def _derived_sets(
    task: LasTask, grounding: Grounding
) -> tuple[dict[int, tuple[list[int], list[int]]], set[int]]:
    """What ``inclusion`` and ``exclusion`` of the background add (FastLAS).

    Returns:
        Program atoms to include and to exclude, by column; columns where one of them is decided wrong.
    """
    found: dict[int, tuple[list[int], list[int]]] = {}
    wrong: set[int] = set()
    if task.bias.dialect != "fastlas":
        return found, wrong
    for side, name in enumerate(("inclusion", "exclusion")):
        if grounding.depends(name, 1):
            raise Undecided("inclusions or exclusions that depend on what is learned")
        for arguments, bits in grounding.atoms(name, 1):
            atom, value = grounding.lookup(str(arguments[0]))
            for column in np.flatnonzero(unpack(bits, grounding.columns.n)).tolist():
                if value is None:
                    found.setdefault(column, ([], []))[side].append(atom)
                elif bool(unpack(value, grounding.columns.n)[column]) is (side == 1):
                    wrong.add(column)
    return found, wrong
