"""Cubes: atoms as disjunctions of conjunctions "slot 3 shows one of these, slot 7 one of those".

Atoms with few cubes become *signals*; what is derived from signals by rules that have no short
disjunctive form, such as negations of signals, stays a small program of *gates*. Together they are
the same stratified program, in the form that `forward` works on.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from nsl_bench.inference.program.domains import Domains
from nsl_bench.inference.program.ground import NEVER, GroundRule

__all__ = ["Cube", "Signals"]

Cube = tuple[tuple[int, int], ...]
"""Slots, ascending, each with the set of its values as the bits of a number; () is always true."""

_MOST = 60_000
_MOST_NEGATED = 24
_MERGE = 4_000


@dataclass(frozen=True, eq=False)
class Signals:
    """A program in two layers.

    Attributes:
        cubes: for each signal its cubes.
        gates: rules by component over signals 0..n - 1 and further atoms n, n + 1, ..., definitions first.
        n_atoms: signals and further atoms.
        goals: for each label its signal or atom, `NEVER`, or None for the label without one.
        violated: likewise.
    """

    cubes: tuple[tuple[Cube, ...], ...]
    gates: tuple[tuple[GroundRule, ...], ...]
    n_atoms: int
    goals: tuple[int | None, ...]
    violated: int

    @classmethod
    def of(cls, domains: Domains) -> Signals:
        """The two layers of a ground program."""
        return _Builder(domains).build()


class _Builder:
    def __init__(self, domains: Domains) -> None:
        self.full = tuple((1 << size) - 1 for size in domains.sizes)
        self.program = domains.program
        self.flat: dict[int, tuple[Cube, ...]] = {
            atom: (((slot, 1 << value),),) for atom, (slot, value) in domains.atoms.items()
        }
        self.negated: dict[int, tuple[Cube, ...] | None] = {}

    def build(self) -> Signals:
        gates: list[tuple[GroundRule, ...]] = []
        upper: set[int] = set()
        for component in self.program.components:
            heads = {rule.head for rule in component}
            cubes = self._flatten(component, heads, upper)
            if cubes is None:
                upper |= heads
                gates.append(component)
            else:
                self.flat.update(cubes)
        asked = [a for a in (*self.program.goals, self.program.violated) if a is not None and a != NEVER]
        used = dict.fromkeys(
            [*(a for a in asked), *(a for rules in gates for rule in rules for a, _ in rule.body)]
        )
        signals = [a for a in used if a not in upper]
        number = {a: i for i, a in enumerate([*signals, *sorted(upper)])}
        renamed = tuple(
            tuple(
                GroundRule(number[r.head], tuple((number[a], p) for a, p in r.body), r.weights, r.bound)
                for r in rules
            )
            for rules in gates
        )
        return Signals(
            cubes=tuple(self.flat.get(a, ()) for a in signals),
            gates=renamed,
            n_atoms=len(number),
            goals=tuple(g if g is None or g == NEVER else number[g] for g in self.program.goals),
            violated=self.program.violated
            if self.program.violated == NEVER
            else number[self.program.violated],
        )

    def _flatten(
        self, component: tuple[GroundRule, ...], heads: set[int], upper: set[int]
    ) -> dict[int, tuple[Cube, ...]] | None:
        """The cubes of a component's atoms; None if there are too many."""
        if any(rule.weights or any(a in upper for a, _ in rule.body) for rule in component):
            return None
        recursive = any(a in heads for rule in component for a, _ in rule.body)
        found: dict[int, tuple[Cube, ...]] = dict.fromkeys(heads, ())
        while True:
            sums: dict[int, dict[Cube, None]] = {head: dict.fromkeys(found[head]) for head in heads}
            for rule in component:
                product = self._product(rule, found)
                if product is None:
                    return None
                sums[rule.head].update(dict.fromkeys(product))
                if len(sums[rule.head]) > _MOST:
                    return None
            new = {head: self._reduce(cubes) for head, cubes in sums.items()}
            if not recursive or all(set(new[h]) == set(found[h]) for h in heads):
                return new
            found = new

    def _product(self, rule: GroundRule, own: dict[int, tuple[Cube, ...]]) -> list[Cube] | None:
        result: list[Cube] = [()]
        for atom, positive in rule.body:
            if positive:
                factor = own[atom] if atom in own else self.flat.get(atom, ())
            else:
                negated = self._negation(atom)
                if negated is None:
                    return None
                factor = negated
            if len(result) * len(factor) > _MOST:
                return None
            result = [c for a in result for b in factor if (c := self._both(a, b)) is not None]
        return result

    def _negation(self, atom: int) -> tuple[Cube, ...] | None:
        """Cubes of where an atom is false; None if they are many."""
        if atom not in self.negated:
            result: tuple[Cube, ...] | None = ((),)
            for cube in self.flat.get(atom, ()):
                factor: list[Cube] = [((slot, self.full[slot] & ~values),) for slot, values in cube]
                joined = [
                    c for a in result or () for b in factor if b[0][1] and (c := self._both(a, b)) is not None
                ]
                reduced = self._reduce(dict.fromkeys(joined)) if len(joined) <= 40 * _MOST_NEGATED else None
                result = None if reduced is None or len(reduced) > _MOST_NEGATED else reduced
                if result is None:
                    break
            self.negated[atom] = result
        return self.negated[atom]

    def _both(self, a: Cube, b: Cube) -> Cube | None:
        if not a:
            return b
        if not b:
            return a
        values = dict(a)
        for slot, mask in b:
            both = values.get(slot, -1) & mask
            if not both:
                return None
            values[slot] = both
        return tuple(sorted(values.items()))

    def _reduce(self, cubes: Iterable[Cube]) -> tuple[Cube, ...]:
        """The same function with fewer cubes: those that differ in one slot only are joined."""
        current = {tuple(p for p in cube if p[1] != self.full[p[0]]): None for cube in cubes}
        if () in current:
            return ((),)
        while len(current) <= _MERGE:
            before = len(current)
            for position in range(max((len(cube) for cube in current), default=0)):
                groups: dict[tuple[Cube, int, Cube], int] = {}
                kept: dict[Cube, None] = {}
                for cube in current:
                    if len(cube) <= position:
                        kept[cube] = None
                        continue
                    slot, mask = cube[position]
                    place = (cube[:position], slot, cube[position + 1 :])
                    groups[place] = groups.get(place, 0) | mask
                for (head, slot, tail), mask in groups.items():
                    middle = () if mask == self.full[slot] else ((slot, mask),)
                    kept[(*head, *middle, *tail)] = None
                current = kept
                if () in current:
                    return ((),)
            if len(current) == before:
                break
        return _without_implied(tuple(current))


def _without_implied(cubes: tuple[Cube, ...]) -> tuple[Cube, ...]:
    """Without cubes that imply a shorter one."""
    if len(cubes) > 400 or len({len(c) for c in cubes}) == 1:
        return cubes
    kept: list[dict[int, int]] = []
    result: list[Cube] = []
    for cube in sorted(cubes, key=len):
        values = dict(cube)
        if not any(all(s in values and values[s] | m == m for s, m in other.items()) for other in kept):
            kept.append(values)
            result.append(cube)
    return tuple(result)
