"""The domains of a task's variables, and its body literals as bit tables over them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from nsl_bench.core.budget import Budget, Undecided
from nsl_bench.logic.las.bias.additive import additive_costs, all_heads
from nsl_bench.logic.las.bias.program import bias_program
from nsl_bench.logic.las.bits import Bits
from nsl_bench.logic.las.checks import without_constant
from nsl_bench.logic.las.language_bias import (
    Compound,
    ModeAtom,
    ModeComparison,
    ModeLiteral,
    ModeTerm,
    Placeholder,
)
from nsl_bench.logic.las.tables.comparisons import Reach, Settled, reached, settled, test_rows
from nsl_bench.logic.las.tables.domains import Domain, atom_table, comparison_table, make_domain
from nsl_bench.logic.las.tables.dominance import Interest, Rank, bounded, rank, undominated
from nsl_bench.logic.las.tables.evaluation import Columns
from nsl_bench.logic.las.tables.grounding import Grounding
from nsl_bench.logic.las.task import LasTask
from nsl_bench.logic.las.terms import Pattern, literal_text, match_term, patterns, terms_text
from nsl_bench.logic.las.thresholds import bound_count, priced

if TYPE_CHECKING:
    from clingo import Symbol

    from nsl_bench.logic.las.bias.sight import Sight


class BodyLiteral(NamedTuple):
    """A literal that a body may hold, with constants filled in and variables open.

    Attributes:
        constants: values for ``const(type)`` and bounds for ``num_var(type)``, from left to right.
        table: uint64 [size of each type..., words].
        costs: what it adds to a rule's cost under each pattern.
        atom: its atom with ground terms as clingo writes them; None for a comparison.
        kind: equal for literals that the constraints of `#bias` do not tell apart.
    """

    mode: ModeLiteral
    constants: tuple[str, ...]
    types: tuple[str, ...]
    table: Bits
    costs: Mapping[Pattern, int]
    atom: ModeAtom | None = None
    kind: int = 0

    @property
    def binds(self) -> bool:
        """Whether it makes its variables safe."""
        return not self.mode.negated and self.atom is not None

    @property
    def size(self) -> int:
        """How many literals it is in a rule: itself and its thresholds."""
        return 1 + sum(map(bound_count, self.constants))

    @property
    def family(self) -> tuple[str, int, bool] | None:
        """Predicate, arity and sign; None for a comparison."""
        return None if self.atom is None else (*self.atom.signature, self.mode.negated)

    def text(self, variables: Sequence[str]) -> str:
        """The literal with these names for its variables."""
        return literal_text(self.mode, variables, self.constants)

    def arguments(self, variables: Sequence[str]) -> tuple[str, ...]:
        """The arguments of its atom as text, with these names for its variables."""
        return () if self.atom is None else terms_text(self.atom, variables, self.constants)


Where = TypeVar("Where")

_WATCHED = 256
"""Tables between two looks at the time."""
_MOST_PLACES = 30
"""Variables of a literal; numpy's arrays have at most 64 axes, and its products fewer."""


class Vocabulary:
    """Domains and literals of a task, over the columns of its grounding.

    Attributes:
        without_replacement: two literals of one predicate and sign must be different ground atoms.
        sight: what constraints tell apart that rules are held to later; None: nothing.
        additive: costs of rules are sums of their head's and literals' (known once `literals` was called).
    """

    def __init__(
        self,
        task: LasTask,
        grounding: Grounding,
        budget: Budget,
        interest: Interest,
        sight: Sight | None = None,
    ) -> None:
        self.task = task
        self.bias = task.bias
        self.grounding = grounding
        self.budget = budget
        self.columns: Columns = grounding.columns
        self.interest = interest
        self.sight = sight
        self._kinds: dict[object, int] = {}
        self.without_replacement = self.bias.ground_without_replacement
        self.additive = True
        self._domains: dict[str, Domain] = {}
        self._settled: dict[str, Settled] = {}
        self._narrows = True
        self._constants: dict[str, dict[str, Symbol]] = {}
        self._resolved: dict[ModeAtom, ModeAtom] = {}
        self._head_types = {kind for head in self.bias.heads for kind in head.atom.variable_types}

    def domain(self, name: str) -> Domain:
        """The domain of variables of type `name`."""
        result = self._domains.get(name)
        if result is None:
            guarded = (name, 1) in self.grounding.derivable
            settled = self.settled(name)
            if settled is not None:
                values = settled.values
                guards = np.broadcast_to(self.columns.full, (len(values), self.columns.words))
                result = Domain(name, values, guarded, np.ascontiguousarray(guards), None)
            else:
                everywhere = name in self._head_types or self.without_replacement
                open_values = None if guarded else self._open_values(name)
                result = make_domain(name, self.grounding, open_values, everywhere=everywhere)
            self._domains[name] = result
        return result

    @cached_property
    def _reached(self) -> dict[str, Reach]:
        """See `nsl_bench.logic.las.tables.comparisons`; nothing is known without replacement."""
        return {} if self.without_replacement else reached(self)

    def settled(self, name: str) -> Settled | None:
        """The values and tests of a type of which only some matter."""
        if name in self._reached and name not in self._settled:
            self._settled[name] = settled(self, name, self._reached[name], narrows=self._narrows)
        return self._settled.get(name)

    @property
    def complete(self) -> bool:
        """Whether rules that only a constraint wants longer are among those that can be made."""
        return all(each.complete for each in self._settled.values())

    @cached_property
    def single(self) -> frozenset[str]:
        """The types of which no body needs two variables, for they never have two members."""
        places = [mode.literal.variable_types for mode in self.bias.literals]
        several = {kind for types in places for kind in types if types.count(kind) > 1}
        result = {kind for types in places for kind in types} - several
        if self.without_replacement or self.sight is not None:
            return frozenset()
        return frozenset(kind for kind in result if self.domain(kind).is_single)

    def constants(self, name: str) -> dict[str, Symbol]:
        """The values of ``const(name)``, text to symbol."""
        result = self._constants.get(name)
        if result is None:
            if self.grounding.depends(name, 1):
                raise Undecided("a type depends on what is learned")
            symbols = [self.ground_term(value) for kind, value in self.bias.constants if kind == name]
            symbols += [arguments[0] for arguments, _ in self.grounding.atoms(name, 1)]
            result = {str(symbol): symbol for symbol in sorted(symbols)}
            self._constants[name] = result
        return result

    def constants_at(self, places: Iterable[Placeholder]) -> list[dict[str, Symbol]]:
        """What may stand at each ``const(type)`` among some places."""
        result = []
        for place in places:
            if place.kind == "const":
                result.append(self.constants(place.type))
                if not result[-1]:
                    raise without_constant(place.type)
        return result

    def fillings(
        self, atom: ModeAtom, arguments: Sequence[Symbol]
    ) -> tuple[list[Symbol], list[Symbol]] | None:
        """What stands at ``var(type)`` and at ``const(type)`` where an atom has these arguments.

        None if the declared atom cannot have them.
        """
        variables: list[Symbol] = []
        constants: list[Symbol] = []
        for term, symbol in zip(self.resolved(atom).arguments, arguments, strict=True):
            if isinstance(term, Placeholder):
                (variables if term.kind == "var" else constants).append(symbol)
            elif not match_term(term, symbol, variables, constants):
                return None
        return variables, constants

    def instances(
        self,
        atom: ModeAtom,
        allowed: Sequence[Container[str]],
        atoms: Iterable[tuple[Sequence[Symbol], Where]],
    ) -> Iterator[tuple[tuple[str, ...], list[Symbol], Where]]:
        """What instances of a declared atom have at ``const(type)`` and ``var(type)``, and where they are.

        Args:
            atom: the atom of a mode declaration, without thresholds.
            allowed: what may stand at each ``const(type)``.
            atoms: arguments of ground atoms, and where each is.
        """
        for arguments, where in atoms:
            if (filling := self.fillings(atom, arguments)) is not None:
                texts = tuple(map(str, filling[1]))
                if all(text in values for text, values in zip(texts, allowed, strict=True)):
                    yield texts, filling[0], where

    def resolved(self, atom: ModeAtom) -> ModeAtom:
        """The declared atom with ground terms as clingo writes them: ``p(1+1,var(t))`` is ``p(2,var(t))``."""
        result = self._resolved.get(atom)
        if result is None:
            result = ModeAtom(atom.predicate, tuple(map(self._resolved_term, atom.arguments)))
            self._resolved[atom] = result
        return result

    def _resolved_term(self, term: ModeTerm) -> ModeTerm:
        if isinstance(term, Compound):
            return Compound(term.name, tuple(map(self._resolved_term, term.arguments)))
        return term if isinstance(term, Placeholder) else str(self.ground_term(term))

    def ground_term(self, text: str) -> Symbol:
        """The term that a text of the bias is."""
        symbol = self.grounding.symbol(text)
        if symbol is None:
            raise Undecided(f"'{text}' is not one ground term")
        return symbol

    def _open_values(self, name: str) -> set[Symbol]:
        """Values of a type without predicate: its constants and what positive literals hold there."""
        values = set(self.constants(name).values())
        for mode in self.bias.literals:
            literal = mode.literal
            if mode.negated or not isinstance(literal, ModeAtom):
                continue
            types = literal.variable_types
            for arguments, _ in self.grounding.atoms(*literal.signature) if name in types else ():
                filling = self.fillings(literal, arguments)
                pairs = zip(filling[0] if filling else (), types, strict=False)
                values |= {value for value, kind in pairs if kind == name}
        return values

    def literals(self) -> list[BodyLiteral]:
        """All literals that bodies may hold and that are neither true nor false of everything by name."""
        result = self._literals()
        if not self.additive and self._settled and self._narrows:
            self._narrows = False  # a literal at another's cost is no better in every rule
            self._settled.clear()
            self._domains.clear()
            result = self._literals()
        return result

    def _literals(self) -> list[BodyLiteral]:
        by_mode: list[list[BodyLiteral]] = []
        self.additive = True
        uniform = bias_program(self.bias).uniform
        for mode in self.bias.literals:
            types = mode.literal.variable_types
            if len(types) > _MOST_PLACES:
                raise Undecided(f"a literal with {len(types)} variables")
            tables, are_priced = self._tables_of(mode, types)
            literals = self._made(mode, tables)
            if uniform is not None and not are_priced:
                literals = self._undominated(literals, [(uniform.literal * x.size, x.size) for x in literals])
            by_mode.append(literals)
        costs = self._costs([literal for group in by_mode for literal in group])
        # less than nothing for a literal is no sum to count on: a longer body might cost less
        self.additive = costs is not None and all(min(each.values(), default=0) >= 0 for each in costs)
        literals = list(itertools.chain.from_iterable(by_mode))
        if not self.additive and any(lit.atom is not None and lit.atom.has_thresholds for lit in literals):
            raise Undecided("#bias prices rules as a whole, and bodies have thresholds")
        if costs is None or not self.additive:
            return [
                lit._replace(costs=dict.fromkeys(patterns(lit.types, self.bias.max_variables), 0))
                for lit in literals
            ]
        priced = iter(lit._replace(costs=each) for lit, each in zip(literals, costs, strict=True))
        groups = [list(itertools.islice(priced, len(group))) for group in by_mode]
        if uniform is None:
            groups = [
                self._undominated(each, [(*lit.costs.values(), lit.size) for lit in each]) for each in groups
            ]
        return list(itertools.chain.from_iterable(groups))

    def _made(self, mode: ModeLiteral, tables: Iterable[tuple[tuple[str, ...], Bits]]) -> list[BodyLiteral]:
        """The literals of a declaration, with these constants and tables."""
        types = mode.literal.variable_types
        atom = self.resolved(mode.literal) if isinstance(mode.literal, ModeAtom) else None
        result = [BodyLiteral(mode, constants, types, table, {}, atom) for constants, table in tables]
        return [literal._replace(kind=self._kind(literal)) for literal in result]

    def priced_tests(
        self, mode: ModeLiteral, constants: Sequence[tuple[str, ...]]
    ) -> list[BodyLiteral] | None:
        """The tests of a declaration with their costs, without tables; None if costs may be no sums."""
        result = self._made(mode, [(each, self.columns.full[:0]) for each in constants])
        costs = self._costs(result)
        if costs is None:
            return None
        return [literal._replace(costs=each) for literal, each in zip(result, costs, strict=True)]

    def _tables_of(
        self, mode: ModeLiteral, types: Sequence[str]
    ) -> tuple[list[tuple[tuple[str, ...], Bits]], bool]:
        """(constants, table) of each way to fill a declaration's constants, and whether these are few."""
        literal = mode.literal
        settled = self.settled(types[0]) if len(types) == 1 else None
        if settled is not None and mode in settled.tests:
            full = self.columns.full
            rows = settled.tests[mode]
            self.budget.take(full.nbytes * sum(row.size for _, row in rows), "tables of literals")
            return [(constants, np.where(row[:, None], full, np.uint64(0))) for constants, row in rows], True
        if isinstance(literal, ModeComparison):
            return self._comparison(mode, literal), False
        return self._atom(mode, literal), False

    def _undominated(
        self, literals: list[BodyLiteral], prices: Sequence[tuple[int, ...]]
    ) -> list[BodyLiteral]:
        """The literals of one declaration without those that another one makes superfluous."""
        if len(literals) < 2 or self.without_replacement:
            return literals
        if literals[0].mode.anti_reflexive and len(literals[0].constants) > 1:
            return literals
        kinds = [literal.kind for literal in literals]
        front = undominated(kinds, [literal.table for literal in literals], prices, self.interest)
        return [literals[i] for i in front]

    def _kind(self, literal: BodyLiteral) -> int:
        if self.sight is None:
            return 0
        seen = self.sight.kind(literal.text([f"V{i + 1}" for i in range(len(literal.types))]))
        return self._kinds.setdefault(seen, len(self._kinds))

    def _costs(self, literals: Sequence[BodyLiteral]) -> list[dict[Pattern, int]] | None:
        """What each literal costs under each pattern; None where costs of rules are no sums."""
        keys = [
            (i, pattern)
            for i, lit in enumerate(literals)
            for pattern in patterns(lit.types, self.bias.max_variables)
        ]
        names = [f"V{i + 1}" for i in range(self.bias.max_variables)]
        parts = [priced([literals[i].text([names[v] for v in pattern])]) for i, pattern in keys]
        texts = list(itertools.chain.from_iterable(parts))
        additive = additive_costs(self.bias, all_heads(self.bias, self.constants), texts)
        if additive is None:
            return None
        costs: list[dict[Pattern, int]] = [{} for _ in literals]
        of_texts = iter(additive[1])
        for (i, pattern), pieces in zip(keys, parts, strict=True):
            costs[i][pattern] = sum(itertools.islice(of_texts, len(pieces)))
        return costs

    def head_costs(self, texts: Sequence[str]) -> list[int]:
        """What the heads add to the costs of rules, where those are sums."""
        costs = additive_costs(self.bias, texts, [])
        return [0] * len(texts) if costs is None else costs[0]

    def _atom(self, mode: ModeLiteral, literal: ModeAtom) -> list[tuple[tuple[str, ...], Bits]]:
        """(constants, table) of each way to fill the constants of an atom."""
        grounding = self.grounding
        if literal.signature in self.bias.learned or grounding.depends(*literal.signature):
            raise Undecided("learned predicates in bodies")
        domains = [self.domain(kind) for kind in literal.variable_types]
        if literal.has_thresholds:
            return self._bounded(literal, domains)
        allowed = self.constants_at(literal.placeholders)
        entries: dict[tuple[str, ...], list[tuple[list[Symbol], Bits]]] = {}
        if literal.signature in grounding.lookups:
            values, full = domains[0].values, self.columns.full
            keys = itertools.product(*allowed)
            rows = test_rows(self, mode._replace(negated=False), values)[1]
            entries = {
                key: [([values[i]], full) for i in np.flatnonzero(row).tolist()]
                for key, row in zip(keys, rows, strict=True)
                if row.any()
            }
        for key, variables, bits in self.instances(literal, allowed, grounding.atoms(*literal.signature)):
            entries.setdefault(key, []).append((variables, bits))
        if mode.negated:
            for key in itertools.product(*allowed):
                entries.setdefault(key, [])
        volume = math.prod(domain.size for domain in domains) * self.columns.words
        self.budget.take(8 * volume * len(entries), "tables of literals")
        guard = self.guard([domain.type for domain in domains])
        return [
            (key, guard & (~table if mode.negated else table))
            for key in sorted(entries)
            for table in [atom_table(domains, entries[key], self.columns)]
        ]

    def _bounded(self, literal: ModeAtom, domains: Sequence[Domain]) -> list[tuple[tuple[str, ...], Bits]]:
        """(constants and tokens, table) of each way to fill an atom with ``num_var(type)``."""
        slots = [place for place in literal.placeholders if place.kind != "var"]
        numbers = [i for i, place in enumerate(slots) if place.kind == "num_var"]
        plain = [i for i, place in enumerate(slots) if place.kind == "const"]
        allowed = self.constants_at(slots)
        by_constants: dict[tuple[str, ...], dict[tuple[Rank, ...], list[tuple[list[Symbol], Bits]]]] = {}
        for arguments, bits in self.grounding.atoms(*literal.signature):
            filling = self.fillings(literal, arguments)
            key = tuple(str(filling[1][i]) for i in plain) if filling else ()
            if filling and all(text in constants for text, constants in zip(key, allowed, strict=True)):
                values = tuple(rank(filling[1][i]) for i in numbers)
                by_constants.setdefault(key, {}).setdefault(values, []).append((filling[0], bits))
        guard = self.guard([domain.type for domain in domains])
        all_matter = self.sight is not None or bias_program(self.bias).uniform is None
        interest = None if all_matter else self.interest
        made: list[tuple[tuple[str, ...], Bits]] = []
        for key, entries in sorted(by_constants.items()):
            tables = {k: guard & atom_table(domains, each, self.columns) for k, each in entries.items()}
            for tokens, table in bounded(tables, interest):
                filled = [""] * len(slots)
                for i, text in zip([*plain, *numbers], [*key, *tokens], strict=True):
                    filled[i] = text
                if len(made) % _WATCHED == 0:
                    self.budget.check()
                    self.budget.take(_WATCHED * table.nbytes, "tables of literals")
                made.append((tuple(filled), table))
        return made

    def guard(
        self, types: Sequence[str], words: slice = slice(None), free: Iterable[int] | None = None
    ) -> Bits:
        """uint64 [size or 1 of each of `types`, words]: where variables of these types have values.

        Args:
            words: the words of the columns to make; all by default.
            free: the variables that need a value; all by default.
        """
        result = self.columns.full[words].reshape((1,) * len(types) + (-1,))
        for axis in range(len(types)) if free is None else free:
            guards = self.domain(types[axis]).guards[:, words]
            shape = [1] * len(types) + [guards.shape[-1]]
            shape[axis] = len(guards)
            result = result & guards.reshape(shape)
        return result

    def _comparison(self, mode: ModeLiteral, literal: ModeComparison) -> list[tuple[tuple[str, ...], Bits]]:
        """(constants, table) of each way to fill the constants of a comparison."""
        sides = (literal.left, literal.right)
        if any(isinstance(side, Compound) for side in sides):
            raise Undecided("a comparison of terms with variables inside")
        allowed = self.constants_at(literal.placeholders)
        guard = self.guard(literal.variable_types)
        tests = []
        for constants in itertools.product(*allowed):
            filling = iter(constants)
            operands: list[Domain | Symbol] = []
            for side in sides:
                if isinstance(side, Placeholder) and side.kind == "var":
                    operands.append(self.domain(side.type))
                else:
                    operands.append(
                        self.ground_term(next(filling) if isinstance(side, Placeholder) else str(side))
                    )
            table = comparison_table(literal.operator, operands[0], operands[1], self.columns)
            tests.append((constants, guard & (~table if mode.negated else table)))
        return tests
