"""The costs of many rules: the program of a language bias, ground once for all possible literals.

Heads and body literals are choices of the ground program. Each ground rule is then an AND, each atom an OR,
of bit vectors with one bit for each rule of the hypothesis space that is priced.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt
from clingo import Symbol, SymbolType

from nsl_bench.core.budget import Undecided
from nsl_bench.core.errors import UserError
from nsl_bench.core.types import Bools, Ints
from nsl_bench.logic.asp.dependencies import strong_components
from nsl_bench.logic.asp.ground_program import GroundProgram
from nsl_bench.logic.asp.parsing import grounded
from nsl_bench.logic.las.bias.program import FORBIDDEN, MOST_GROUND_RULES, BiasProgram, bias_program
from nsl_bench.logic.las.bias.reification import atoms_as_rules, in_body, in_head
from nsl_bench.logic.las.language_bias import NEGATIVE_PENALTY, LanguageBias

_MOST_GROUND_RULES = 1_000_000
"""Ground rules that the program may have for many rules together."""

_MOST_SUMMED = 10
"""Body literals over which a sum may be assigned to a variable: clingo grounds one rule a possible sum."""

Bits = npt.NDArray[np.uint8]
"""uint8 [ceil(rules / 8)]: a bit for each rule that is priced."""

Weights = dict[int, int]
"""What each choice of a ground program adds to a rule's cost, by clingo's number of the atom."""


@dataclass(slots=True)
class _Definition:
    """All ground rules with one head.

    Attributes:
        atom: the head; 0 for constraints.
        units: the bodies that are one positive atom.
        bodies: other bodies: clingo's literals, an atom under ``not`` being negative.
        sums: bodies that ask for a sum: the bound, and literals with their weights.
    """

    atom: int
    units: list[int] = field(default_factory=list)
    bodies: list[tuple[int, ...]] = field(default_factory=list)
    sums: list[tuple[int, tuple[tuple[int, int], ...]]] = field(default_factory=list)

    def atoms(self) -> Iterator[int]:
        """The atoms of its bodies."""
        yield from self.units
        for body in self.bodies:
            yield from map(abs, body)
        for _, weighted in self.sums:
            yield from (abs(literal) for literal, _ in weighted)


class _Definitions(GroundProgram):
    """The ground rules by head, as clingo makes them; choices are left out.

    A program may have hundreds of thousands of rules, most with one atom as their body.
    """

    def __init__(self, most: int) -> None:
        super().__init__(most, keep=False)
        self._by_head: dict[int, _Definition] = {}

    def rule(self, choice: bool, head: Sequence[int], body: Sequence[int]) -> None:
        """Takes a rule in."""
        self._count()
        if not choice:
            definition = self._definition(head)
            if len(body) == 1 and body[0] > 0:
                definition.units.append(body[0])
            else:
                definition.bodies.append(tuple(body))

    def weight_rule(
        self, choice: bool, head: Sequence[int], lower_bound: int, body: Sequence[tuple[int, int]]
    ) -> None:
        """Takes a rule with a weight constraint in."""
        self._count()
        weighted = tuple((literal, weight) for literal, weight in body)
        self._definition(head).sums.append((lower_bound, weighted))

    def _definition(self, head: Sequence[int]) -> _Definition:
        """The definition of a rule's head, moved to the end: where its last rule is."""
        atom = head[0] if head else 0
        result = self._by_head.pop(atom, None) or _Definition(atom)
        self._by_head[atom] = result
        return result

    def in_order(self) -> list[list[_Definition]]:
        """The definitions in groups, each after those that it depends on; constraints come last.

        The members of a group of several depend on each other, or its only one on itself: it is then there
        twice.
        """
        constraints = self._by_head.pop(0, None)
        last = [] if constraints is None else [[constraints]]
        place = {atom: i for i, atom in enumerate(self._by_head)}
        if all(
            max((place.get(atom, -1) for atom in each.atoms()), default=-1) < place[each.atom]
            for each in self._by_head.values()
        ):
            return [[each] for each in self._by_head.values()] + last
        graph = {
            head: [atom for atom in each.atoms() if atom in place] for head, each in self._by_head.items()
        }
        groups: dict[int, list[_Definition]] = {}
        for atom, component in strong_components(graph).items():
            groups.setdefault(component, []).append(self._by_head[atom])
        for group in groups.values():
            if group[0].atom in graph[group[0].atom] and len(group) == 1:
                group.append(group[0])
        return list(groups.values()) + last


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
        most = _MOST_GROUND_RULES if choices else MOST_GROUND_RULES
        program = _Definitions(most)
        control = grounded("#bias", nodes, observer=program, check=check)
        atoms = control.symbolic_atoms
        self.choices = [atom.literal for symbol in choices if (atom := atoms[symbol]) is not None]
        self._penalties = [(atom.literal, atom.symbol) for atom in atoms.by_signature("penalty", 2)]
        self._inverts = [(atom.literal, atom.symbol) for atom in atoms.by_signature("invert", 1)]
        self._groups = program.in_order()
        cyclic = {atom for group in self._groups for atom in _cycles_through_negation(group)}
        if cyclic:
            named = {f"{a.symbol.name}/{len(a.symbol.arguments)}" for a in atoms if a.literal in cyclic}
            raise UserError(
                "A cycle through negation or an aggregate in #bias is not supported; got "
                f"{', '.join(sorted(named))}."
            )

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
            each = group[0]
            if len(group) > 1 or each.sums or not each.atom:
                return None
            origins_of_atom = {source[atom] for atom in each.units if atom in source}
            for body in each.bodies:
                if min(body, default=1) < 0:
                    return None
                if all(atom in source for atom in body):
                    origins = {source[atom] for atom in body} - {0}
                    if len(origins) > 1:
                        return None
                    origins_of_atom |= origins or {0}
            if each.atom in source:
                origins_of_atom.add(each.atom)
            elif 0 in origins_of_atom:
                origins_of_atom = {0}
            if len(origins_of_atom) > 1:
                return None
            source |= dict.fromkeys([each.atom] if origins_of_atom else [], *origins_of_atom)
        return source

    def weights(self) -> tuple[int, Weights] | None:
        """The fixed cost of every rule, and what each choice adds; None if costs are not such sums."""
        source = self._sources
        if source is None:
            return None
        constant, result = 0, dict.fromkeys(self.choices, 0)
        if not self._bias.prices:
            return 0, dict.fromkeys(self.choices, self._bias.unpriced)
        for atom, symbol in self._penalties:
            if atom not in source:
                continue
            if source[atom]:
                result[source[atom]] += _weight(symbol)
            else:
                constant += _weight(symbol)
        return constant, result

    def costs(self, held: Bools) -> Ints:
        """int64 [rules]: what rules cost, or `FORBIDDEN`.

        Args:
            held: bool [choices, rules]: which of the choices each rule holds.
        """
        n = held.shape[1]
        values = _Values(n)
        for choice, bits in zip(self.choices, np.packbits(held, axis=-1), strict=True):
            values.add(choice, bits)
        for group in self._groups:
            values.define(group)
        total = np.zeros(n, np.int64)
        if not self._bias.prices:
            total += self._bias.unpriced * (self._n_facts + held.sum(axis=0))
        for atom, symbol in self._penalties:
            if (here := values.where(atom)).any():
                total += _weight(symbol) * here
        forbidden = values.where(0)
        inverted = np.zeros(n, np.int64)
        for atom, symbol in self._inverts:
            if (here := values.where(atom)).any():
                inverted += here
                if not _is_natural(symbol.arguments[0]):
                    raise UserError(f"#bias: the number in invert(number) must be 0 or more; got {symbol}.")
                forbidden = forbidden | (here & (total == 0))
                total = np.where(here, symbol.arguments[0].number // np.maximum(total, 1), total)
        if (inverted > 1).any():
            raise UserError("#bias must derive at most one invert(number) per rule; it derives several.")
        return np.where(forbidden, FORBIDDEN, total)


class _Values:
    """Where the atoms of a ground program hold: a bit for each of `n` rules that are priced."""

    def __init__(self, n: int) -> None:
        self._n = n
        self._full = np.packbits(np.ones(n, np.bool_))
        self._nothing = np.zeros_like(self._full)
        self._values: dict[int, Bits] = {}
        self._counts: dict[tuple[tuple[int, int], ...], Ints] = {}

    def where(self, atom: int) -> Bools:
        """bool [n]: where an atom holds; for atom 0, where a constraint is violated."""
        return np.unpackbits(self._holds(atom), count=self._n).view(np.bool_)

    def _holds(self, literal: int) -> Bits:
        result = self._values.get(abs(literal), self._nothing)
        return result if literal >= 0 else self._full & ~result

    def add(self, atom: int, bits: Bits) -> None:
        """Say that an atom holds there too."""
        before = self._values.get(atom)
        self._values[atom] = bits if before is None else before | bits

    def define(self, group: Sequence[_Definition]) -> None:
        """Say that atoms hold where one of their bodies does; of recursive ones, the least such values."""
        changed = True
        while changed:
            changed = False
            for each in group:
                before = self._holds(each.atom)
                self._define_once(each)
                changed |= len(group) > 1 and not np.array_equal(before, self._values[each.atom])

    def _define_once(self, definition: _Definition) -> None:
        values = self._values
        derived = self._holds(definition.atom).copy()
        for atom in definition.units:
            unit = values.get(atom)
            if unit is not None:
                np.bitwise_or(derived, unit, out=derived)
        for body in definition.bodies:
            everywhere = self._full.copy()
            for literal in body:
                everywhere &= self._holds(literal)
            derived |= everywhere
        for bound, weighted in definition.sums:
            derived |= np.packbits(self._count(weighted) >= bound)
        values[definition.atom] = derived

    def _count(self, weighted: tuple[tuple[int, int], ...]) -> Ints:
        count = self._counts.get(weighted)
        if count is None:
            count = self._counts[weighted] = np.zeros(self._n, np.int64)
            for literal, weight in weighted:
                bits = np.unpackbits(self._holds(literal), count=self._n)
                count += weight * bits.view(np.bool_)
        return count


class Pricing:
    """The costs of rules with one of some heads and any of some body literals.

    Args:
        literals: body literals as text, e.g. ``"not row(V1,V2)"``.
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

    def costs(self, head: int, bodies: Bools) -> Ints:
        """int64 [rules]: what rules with one head (its index) cost, or `FORBIDDEN`.

        Args:
            bodies: bool [literals, rules]: what each rule's body holds.
        """
        held = np.zeros((len(self._row), bodies.shape[1]), np.bool_)
        held[self._rows[head]] = True
        for row, body in zip(self._rows[self._n_heads :], bodies, strict=True):
            held[row] |= body
        return self._ground.costs(held)


def _cycles_through_negation(group: Sequence[_Definition]) -> set[int]:
    """The atoms of a group whose members depend on each other through a negation or a sum."""
    members = {each.atom for each in group} if len(group) > 1 else set()
    return {
        each.atom
        for each in group
        if any(-literal in members for body in each.bodies for literal in body)
        or any(abs(literal) in members for _, weighted in each.sums for literal, _ in weighted)
    } & members


def _is_natural(weight: Symbol) -> bool:
    return weight.type == SymbolType.Number and weight.number >= 0


def _weight(penalty: Symbol) -> int:
    weight = penalty.arguments[0]
    if not _is_natural(weight):
        raise UserError(f"#bias derives {penalty}; {NEGATIVE_PENALTY}")
    return weight.number
