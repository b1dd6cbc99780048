"""What many rules cost: the program of a language bias, ground once for all that the rules may hold.

Heads and body literals are choices of the ground program. Each ground rule is then an AND, each atom an OR,
of bit vectors with one bit for each rule of the hypothesis space that is priced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt
from clingo import Symbol, SymbolType

from nsl_bench.asp.ground_program import GroundProgram, GroundRule, WeightRule
from nsl_bench.asp.grounding import grounded
from nsl_bench.budget import Undecided
from nsl_bench.errors import UserError
from nsl_bench.las.bias.program import MOST_GROUND_RULES, BiasProgram, bias_program
from nsl_bench.las.bias.reification import atoms_as_rules, in_body, in_head
from nsl_bench.las.language_bias import NEGATIVE_PENALTY, LanguageBias

__all__ = ["FORBIDDEN", "GroundBias", "Pricing"]

FORBIDDEN = -1
"""The cost of a rule that a constraint of the bias forbids."""

_MOST_SUMMED = 10
"""Body literals over which a sum may be assigned to a variable: clingo grounds one rule a possible sum."""

Bits = npt.NDArray[np.uint8]
"""uint8 [ceil(rules / 8)]: a bit for each rule that is priced."""

Weights = dict[int, int]
"""What each choice of a ground program adds to a rule's cost, by clingo's number of the atom."""


class GroundBias:
    """A language bias over some heads and body literals, as atoms ``in_head(...)`` and ``in_body(...)``.

    Args:
        bias: the program.
        facts: atoms that hold in each rule that is priced.
        choices: atoms that a rule may hold or not.
        check: is called now and then while clingo grounds, and may raise what ends it.

    Raises:
        UserError: clingo cannot ground it.
        MemoryError: it has too many ground rules.
    """

    def __init__(
        self,
        bias: BiasProgram,
        facts: Iterable[Symbol] = (),
        choices: Iterable[Symbol] = (),
        check: Callable[[], None] | None = None,
    ) -> None:
        self._bias = bias
        facts, choices = tuple(facts), tuple(choices)
        self._n_facts = len(facts)
        nodes = [*bias.program.nodes, *atoms_as_rules(facts), *atoms_as_rules(choices, choice=True)]
        program = GroundProgram(MOST_GROUND_RULES, check or _carry_on)
        control = grounded("#bias", nodes, observer=program)
        found = {atom.symbol: atom.literal for atom in control.symbolic_atoms}
        program.rules = [rule for rule in program.rules if not rule.choice]
        self._groups = program.ordered()
        self.choices = [found[symbol] for symbol in choices]
        self._penalties: list[tuple[int, Symbol]] = [
            (atom.literal, atom.symbol) for atom in control.symbolic_atoms.by_signature("penalty", 2)
        ]
        self._inverts: list[tuple[int, Symbol]] = [
            (atom.literal, atom.symbol) for atom in control.symbolic_atoms.by_signature("invert", 1)
        ]

    def penalties_by_choice(self) -> Iterator[tuple[int, Symbol]]:
        """Each penalty that depends on a choice, after the number of the choice; where costs are sums."""
        source = self._sources or {}
        for atom, symbol in self._penalties:
            if source.get(atom):
                yield source[atom], symbol

    def is_natural(self) -> bool:
        """Whether each penalty that some rule may have is a natural number."""
        return all(_is_natural(symbol.arguments[0]) for _, symbol in self._penalties)

    @cached_property
    def _sources(self) -> dict[int, int] | None:
        """The one choice that each atom is derived from, 0 for what always holds; by clingo's numbers.

        Returns:
            None if some atom is derived from several choices or without one of them, or there is a
            constraint: costs are then no sums over the choices.
        """
        if self._inverts:
            return None
        source = {choice: choice for choice in self.choices}
        for group in self._groups:
            rule = group[0]
            if len(group) > 1 or not isinstance(rule, GroundRule) or not rule.head:
                return None
            origins = {source[atom] for atom in rule.positive if atom in source} - {0}
            impossible = any(atom not in source for atom in rule.positive)
            if impossible and not rule.negative:
                continue
            if rule.negative or len(origins) > 1:
                return None
            origin = origins.pop() if origins else 0
            if source.setdefault(rule.head, origin) not in (origin, 0):
                return None
        return source

    def weights(self) -> tuple[int, Weights] | None:
        """What every rule costs, and what each choice adds to it; None if costs are no such sums.

        Raises:
            UserError: a penalty is no natural number.
        """
        source = self._sources
        if source is None:
            return None
        constant, found = 0, dict.fromkeys(self.choices, 0)
        if not self._bias.prices:
            return 0, dict.fromkeys(self.choices, self._bias.unpriced)
        for atom, symbol in self._penalties:
            if atom not in source:
                continue
            if source[atom]:
                found[source[atom]] += _weight(symbol)
            else:
                constant += _weight(symbol)
        return constant, found

    def costs(self, held: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
        """int64 [rules]: what rules cost, or `FORBIDDEN`.

        Args:
            held: bool [choices, rules]: which of the choices each rule holds.

        Raises:
            UserError: a penalty of one of them is no natural number, or it has several ``invert(number)``.
        """
        n = held.shape[1]
        values = self._evaluate(held)
        total = np.zeros(n, np.int64)
        if not self._bias.prices:
            total += self._bias.unpriced * (self._n_facts + held.sum(axis=0))
        for atom, symbol in self._penalties:
            if values.holds(atom).any():
                total += _weight(symbol) * _unpack(values.holds(atom), n)
        forbidden = _unpack(values.holds(0), n)
        inverted = np.zeros(n, np.int64)
        for atom, symbol in self._inverts:
            if values.holds(atom).any():
                here = _unpack(values.holds(atom), n)
                inverted += here
                numerator = _numerator(symbol)
                forbidden = forbidden | (here & (total == 0))
                total = np.where(here, numerator // np.maximum(total, 1), total)
        if (inverted > 1).any():
            raise UserError("#bias derives more than one invert(number); a rule's cost has one at most.")
        return np.where(forbidden, FORBIDDEN, total)

    def _evaluate(self, held: npt.NDArray[np.bool_]) -> _Values:
        values = _Values(held.shape[1])
        for choice, bits in zip(self.choices, np.packbits(held, axis=-1), strict=True):
            values.add(choice, bits)
        for group in self._groups:
            if len(group) == 1:
                values.add(group[0].head, values.body(group[0]))
                continue
            changed = True
            while changed:
                changed = False
                for rule in group:
                    changed |= values.add(rule.head, values.body(rule))
        return values


class _Values:
    """Where the atoms of a ground program hold: a bit for each of `n` rules that are priced."""

    def __init__(self, n: int) -> None:
        self._n = n
        self._full = np.packbits(np.ones(n, np.bool_))
        self._nothing = np.zeros_like(self._full)
        self._values: dict[int, Bits] = {}
        self._counts: dict[tuple[tuple[int, int], ...], npt.NDArray[np.int64]] = {}

    def holds(self, literal: int) -> Bits:
        """Where a literal holds; atom 0 is the head of constraints."""
        found = self._values.get(abs(literal), self._nothing)
        return found if literal >= 0 else self._full & ~found

    def add(self, atom: int, bits: Bits) -> bool:
        """Say that an atom holds there too; whether it did not before."""
        known = self._values.get(atom)
        if known is None:
            self._values[atom] = bits.copy()
            return bool(bits.any())
        changed = bool((bits & ~known).any())
        known |= bits
        return changed

    def body(self, rule: GroundRule | WeightRule) -> Bits:
        """Where the body of a rule holds."""
        if isinstance(rule, WeightRule):
            count = self._counts.get(rule.body)
            if count is None:
                count = self._counts[rule.body] = np.zeros(self._n, np.int64)
                for literal, weight in rule.body:
                    count += weight * _unpack(self.holds(literal), self._n)
            return np.packbits(count >= rule.bound)
        found = self._full.copy()
        for literal in rule.literals:
            found &= self.holds(literal)
        return found


class Pricing:
    """The costs of rules with one of some heads and any of some body literals.

    Args:
        bias: its ``penalties`` are evaluated.
        heads: atoms as text.
        literals: body literals as text, e.g. ``"not row(V1,V2)"``.

    Raises:
        Undecided: there is no way to price all those rules at once.
        UserError: `#bias` is refused.
    """

    def __init__(self, bias: LanguageBias, heads: Sequence[str], literals: Sequence[str]) -> None:
        program = bias_program(bias)
        if program.compares_variables:
            raise Undecided("#bias may compare variables by their names")
        if program.enumerates_sums and len(literals) > _MOST_SUMMED:
            raise Undecided("#bias adds up over too many literals")
        inputs = [*map(in_head, heads), *map(in_body, literals)]
        self._row = {symbol: i for i, symbol in enumerate(dict.fromkeys(inputs))}
        self._rows = [self._row[symbol] for symbol in inputs]
        self._n_heads = len(heads)
        try:
            self._ground = GroundBias(program, choices=self._row)
        except MemoryError:
            raise Undecided("#bias has too many ground rules") from None
        if not self._ground.is_natural():
            raise Undecided("a penalty of #bias may be below 0")

    def costs(self, head: int, bodies: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
        """int64 [rules]: what rules with one head (its index) cost, or `FORBIDDEN`.

        Args:
            head: index into the heads.
            bodies: bool [literals, rules]: what each rule's body holds.
        """
        held = np.zeros((len(self._row), bodies.shape[1]), np.bool_)
        held[self._rows[head]] = True
        for row, body in zip(self._rows[self._n_heads :], bodies, strict=True):
            held[row] |= body
        return self._ground.costs(held)


def _carry_on() -> None:
    """Sets no limit."""


def _unpack(bits: Bits, n: int) -> npt.NDArray[np.bool_]:
    return np.unpackbits(bits, count=n).view(np.bool_)


def _is_natural(weight: Symbol) -> bool:
    return weight.type == SymbolType.Number and weight.number >= 0


def _weight(penalty: Symbol) -> int:
    weight = penalty.arguments[0]
    if not _is_natural(weight):
        raise UserError(f"#bias derives {penalty}; {NEGATIVE_PENALTY}")
    return weight.number


def _numerator(invert: Symbol) -> int:
    number = invert.arguments[0]
    if not _is_natural(number):
        raise UserError(f"#bias derives {invert}, but the number in it must be at least 0.")
    return number.number
