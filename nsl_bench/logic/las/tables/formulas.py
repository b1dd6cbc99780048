"""Formulas over learned atoms, in negation normal form."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple


class Lit(NamedTuple):
    """A learned atom (clingo's program atom), or its negation."""

    atom: int
    positive: bool


@dataclass(frozen=True, slots=True)
class _Joint:
    """Several formulas; `depth` levels of And and Or lie in each other."""

    parts: tuple[Formula, ...]
    depth: int = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "depth", 1 + max(map(depth, self.parts), default=0))


class And(_Joint):
    """All of these."""

    __slots__ = ()


class Or(_Joint):
    """One of these."""

    __slots__ = ()


Formula = bool | Lit | And | Or


def depth(formula: Formula) -> int:
    """How many levels of And and Or lie in each other."""
    return formula.depth if isinstance(formula, And | Or) else 0


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
    return (disjoin if isinstance(formula, And) else conjoin)(negate(part) for part in formula.parts)


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


class Demands(NamedTuple):
    """A condition that is a conjunction of positive clauses and negative literals.

    Attributes:
        needs: sets of atoms; of each, one at least has to be true.
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
    """The formula's value, where `true` gives the atoms'.

    Args:
        true: the truth value of an atom, asked only where it matters.
    """
    if isinstance(formula, bool):
        return formula
    if isinstance(formula, Lit):
        return true(formula.atom) is formula.positive
    values = (evaluate(part, true) for part in formula.parts)
    return all(values) if isinstance(formula, And) else any(values)
