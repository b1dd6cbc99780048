"""Disjunctive normal forms: atoms as disjunctions of terms "slot 3 shows one of these, slot 7 one of those".

Atoms with few terms become *signals*. What has no short normal form, such as the negation of a signal, keeps
its rules, over signals in place of what the slots show. Terms and rules together are the same stratified
program, in the form that the forward dynamic programme works on.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import compress

from nsl_bench.logic.inference.program.domains import Domains
from nsl_bench.logic.inference.program.ground import NEVER, GroundRule

Term = tuple[tuple[int, int], ...]
"""Slots, ascending, each with the set of its values as the bits of a number; () is always true."""

_MOST = 60_000
"""More terms than this are no short normal form."""

_MOST_NEGATED = 24
"""Nor are more terms than this for a negation, which multiply in every rule that has it."""

_FEW_SLOTS = 6
"""A conjunction of more slots is no short normal form either if it multiplies the terms that it joins."""

_MERGE = 4_000
"""Above this many terms none are joined, since that takes too long."""

_COMPARE = 400
"""Above this many terms those that imply another one are not looked for."""


@dataclass(frozen=True, eq=False)
class Signals:
    """A program in two layers.

    Attributes:
        terms: for each signal its terms.
        rules: by component, over signals 0..n - 1 and further atoms n, n + 1, ..., definitions first.
        remembered: atoms with rules whose truth is kept once their signals are forgotten
            (`nsl_bench.logic.inference.forward.folds`): those that other rules ask for, and goals; none if no
            rules ask for any.
        n_atoms: signals and further atoms.
        goals: for each label its signal or atom, `NEVER`, or None for the label without one.
        violated: likewise.
    """

    terms: tuple[tuple[Term, ...], ...]
    rules: tuple[tuple[GroundRule, ...], ...]
    remembered: tuple[int, ...]
    n_atoms: int
    goals: tuple[int | None, ...]
    violated: int

    @classmethod
    def of(cls, domains: Domains) -> Signals:
        """The two layers of a ground program."""
        return _Builder(domains).build()

    def outcome(self, true: int) -> int:
        """The outcome where these signals are true, bits of a number: a label, undecided, or ambiguous."""
        n = len(self.goals)
        for rules in self.rules:
            before = -1
            while before != true:
                before = true
                for rule in rules:
                    body = [true >> atom & 1 == positive for atom, positive in rule.body]
                    fires = sum(compress(rule.weights, body)) >= rule.bound if rule.weights else all(body)
                    true |= fires << rule.head
        if self.violated != NEVER and true >> self.violated & 1:
            return n
        held = [k for k, g in enumerate(self.goals) if g is not None and g != NEVER and true >> g & 1]
        if held:
            return held[0] if len(held) == 1 else n + 1
        return self.goals.index(None) if None in self.goals else n


class _Builder:
    """Goes through a program's components, definitions first.

    Attributes:
        full: for each slot the set of all of its values.
        flat: atoms in disjunctive normal form.
        negated: where such atoms are false; None if that has too many terms.
    """

    def __init__(self, domains: Domains) -> None:
        self.full = tuple((1 << size) - 1 for size in domains.sizes)
        self.program = domains.program
        self.flat: dict[int, tuple[Term, ...]] = {
            atom: (((slot, 1 << value),),) for atom, (slot, value) in domains.atoms.items()
        }
        self.negated: dict[int, tuple[Term, ...] | None] = {}

    def build(self) -> Signals:
        """The terms of all atoms that have few, and the rules of the others."""
        components: list[tuple[GroundRule, ...]] = []
        upper: set[int] = set()
        for component in self.program.components:
            heads = {rule.head for rule in component}
            terms = self._flatten(component, heads, upper)
            if terms is None:
                upper |= heads
                components.append(component)
            else:
                self.flat.update(terms)
        asked = [a for a in (*self.program.goals, self.program.violated) if a is not None and a != NEVER]
        used = dict.fromkeys(
            [*(a for a in asked), *(a for rules in components for rule in rules for a, _ in rule.body)]
        )
        signals = [a for a in used if a not in upper]
        number = {a: i for i, a in enumerate([*signals, *sorted(upper)])}
        between = _between(components)
        remembered = sorted(number[a] for a in between | (upper & set(asked))) if between else []
        renamed = tuple(
            tuple(
                GroundRule(number[r.head], tuple((number[a], p) for a, p in r.body), r.weights, r.bound)
                for r in rules
            )
            for rules in components
        )
        return Signals(
            terms=tuple(self.flat.get(a, ()) for a in signals),
            rules=renamed,
            remembered=tuple(remembered),
            n_atoms=len(number),
            goals=tuple(g if g is None or g == NEVER else number[g] for g in self.program.goals),
            violated=self.program.violated
            if self.program.violated == NEVER
            else number[self.program.violated],
        )

    def _flatten(
        self, component: tuple[GroundRule, ...], heads: set[int], upper: set[int]
    ) -> dict[int, tuple[Term, ...]] | None:
        """The terms of a component's atoms; None if there are too many."""
        if any(rule.weights or any(a in upper for a, _ in rule.body) for rule in component):
            return None
        recursive = any(a in heads for rule in component for a, _ in rule.body)
        result: dict[int, tuple[Term, ...]] = dict.fromkeys(heads, ())
        # In every world each round but the last derives another atom, so no more rounds are needed.
        for _ in range(len(heads) + 1):
            sums: dict[int, dict[Term, None]] = {head: dict.fromkeys(result[head]) for head in heads}
            for rule in component:
                factors = self._factors(rule, result)
                product = None if factors is None else self._product(factors)
                if factors is None or product is None or _multiplied(factors, product):
                    return None
                sums[rule.head].update(dict.fromkeys(product))
                if len(sums[rule.head]) > _MOST:
                    return None
            new = {head: self._reduce(terms) for head, terms in sums.items()}
            if not recursive or all(set(new[h]) == set(result[h]) for h in heads):
                return new
            result = new
        return result

    def _factors(self, rule: GroundRule, own: dict[int, tuple[Term, ...]]) -> list[tuple[Term, ...]] | None:
        """The terms of each literal of a rule's body; None if a negation has too many."""
        result = []
        for atom, positive in rule.body:
            factor = own.get(atom, self.flat.get(atom, ())) if positive else self._negation(atom)
            if factor is None:
                return None
            result.append(factor)
        return result

    def _product(self, factors: Sequence[tuple[Term, ...]]) -> list[Term] | None:
        """The terms of a rule's body; None if there are too many."""
        result: list[Term] = [()]
        for factor in factors:
            if len(result) * len(factor) > _MOST:
                return None
            result = [c for a in result for b in factor if (c := self._both(a, b)) is not None]
        return result

    def _negation(self, atom: int) -> tuple[Term, ...] | None:
        """Terms of where an atom is false; None if they are many."""
        if atom not in self.negated:
            result: tuple[Term, ...] | None = ((),)
            for term in self.flat.get(atom, ()):
                factor: list[Term] = [((slot, self.full[slot] & ~values),) for slot, values in term]
                joined = [
                    c for a in result or () for b in factor if b[0][1] and (c := self._both(a, b)) is not None
                ]
                reduced = self._reduce(dict.fromkeys(joined)) if len(joined) <= 40 * _MOST_NEGATED else None
                result = None if reduced is None or len(reduced) > _MOST_NEGATED else reduced
                if result is None:
                    break
            self.negated[atom] = result
        return self.negated[atom]

    def _both(self, a: Term, b: Term) -> Term | None:
        """The term that is true where both are; None if they exclude each other."""
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

    def _reduce(self, terms: Iterable[Term]) -> tuple[Term, ...]:
        """The same function with fewer terms: those that differ in one slot only are joined.

        That is the step of Quine and McCluskey (1956), with sets of values in place of bits; it need not find
        the shortest form.
        """
        current = {tuple(p for p in term if p[1] != self.full[p[0]]): None for term in terms}
        if () in current:
            return ((),)
        while len(current) <= _MERGE:
            before = len(current)
            for position in range(max((len(term) for term in current), default=0)):
                groups: dict[tuple[Term, int, Term], int] = {}
                kept: dict[Term, None] = {}
                for term in current:
                    if len(term) <= position:
                        kept[term] = None
                        continue
                    slot, mask = term[position]
                    place = (term[:position], slot, term[position + 1 :])
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


def _between(components: Sequence[tuple[GroundRule, ...]]) -> set[int]:
    """The atoms of rules that rules of other components ask for."""
    defined: set[int] = set()
    asked: set[int] = set()
    for rules in components:
        asked |= {a for rule in rules for a, _ in rule.body} & defined
        defined |= {rule.head for rule in rules}
    return asked


def _multiplied(factors: Sequence[tuple[Term, ...]], product: Sequence[Term]) -> bool:
    """Whether a conjunction of many slots has far more terms than what it joins."""
    if len(product) <= 2 * sum(len(factor) for factor in factors):
        return False
    return len({slot for factor in factors for term in factor for slot, _ in term}) > _FEW_SLOTS


def _without_implied(terms: tuple[Term, ...]) -> tuple[Term, ...]:
    """Without terms that imply a shorter one."""
    if len(terms) > _COMPARE or len({len(c) for c in terms}) == 1:
        return terms
    literals: list[dict[int, int]] = []
    result: list[Term] = []
    for term in sorted(terms, key=len):
        values = dict(term)
        if not any(all(s in values and values[s] | m == m for s, m in other.items()) for other in literals):
            literals.append(values)
            result.append(term)
    return tuple(result)
