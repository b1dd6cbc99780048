"""Body literals as bit tables over the domains of their variables.

Each variable of a rule ranges over its type's domain; a literal is a table uint64 [d1, ..., dk, words]
that says in which columns it holds for which values. A type whose members differ from context to
context (the filled cells of a grid) is indexed locally: value ``i`` is the context's ``i``-th member.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from nsl_bench.asp.ground_program import Undecided
from nsl_bench.budget import Budget
from nsl_bench.errors import UserError
from nsl_bench.las.bias.additive import additive_costs, all_heads, sharings
from nsl_bench.las.tables.columns import Bits, Columns, indices, pack, unpack
from nsl_bench.las.tables.grounding import Grounding
from nsl_bench.las.task import (
    Compound,
    LasTask,
    ModeAtom,
    ModeComparison,
    ModeLiteral,
    ModeTerm,
    Placeholder,
    placeholders,
)
from nsl_bench.las.terms import Leaves, leaf_pairs, leaves, literal_text, match_term, term_text

if TYPE_CHECKING:
    from clingo import Symbol

__all__ = ["BodyLiteral", "Domain", "Vocabulary"]

_LOCAL_SHARE = 0.75


@dataclass(frozen=True, eq=False)
class Domain:
    """What a variable of one type ranges over.

    Attributes:
        type: its name.
        values: all members in any column, in clingo's order.
        guarded: variables carry the guard ``type(V)``.
        guards: uint64 [size, words]: which index has a value where.
        place: intp [values, n]: index of each value in each column, -1 where it is no member; None if
            values are their own indices everywhere.
    """

    type: str
    values: tuple[Symbol, ...]
    guarded: bool
    guards: Bits
    place: npt.NDArray[np.intp] | None

    @property
    def size(self) -> int:
        """The table's extent along a variable of this type."""
        return int(self.guards.shape[0])


@dataclass(frozen=True, eq=False)
class BodyLiteral:
    """A literal that a body may hold, with constants filled in and variables open.

    Attributes:
        mode: its declaration.
        constants: values for ``const(type)``, from left to right.
        types: types of its variables, from left to right.
        table: uint64 [size of each type..., words].
        cost: what it adds to a rule's cost.
    """

    mode: ModeLiteral
    constants: tuple[str, ...]
    types: tuple[str, ...]
    table: Bits
    cost: int

    @property
    def binds(self) -> bool:
        """Whether it makes its variables safe."""
        return not self.mode.negated and isinstance(self.mode.literal, ModeAtom)

    @property
    def family(self) -> tuple[str, int, bool] | None:
        """Predicate, arity and sign; None for a comparison."""
        literal = self.mode.literal
        return (*literal.signature, self.mode.negated) if isinstance(literal, ModeAtom) else None

    def text(self, variables: Sequence[str]) -> str:
        """The literal with these names for its variables."""
        names, constants = iter(variables), iter(self.constants)
        return literal_text(self.mode, names, constants)

    def arguments(self, variables: Sequence[str]) -> tuple[str, ...]:
        """Its arguments as text, with these names for its variables."""
        literal = self.mode.literal
        terms = literal.arguments if isinstance(literal, ModeAtom) else (literal.left, literal.right)
        names, constants = iter(variables), iter(self.constants)
        return tuple(term_text(term, names, constants) for term in terms)


class Vocabulary:
    """Domains and literals of a task, over the columns of its grounding."""

    def __init__(self, task: LasTask, grounding: Grounding, budget: Budget) -> None:
        self.task = task
        self.bias = task.bias
        self.grounding = grounding
        self.budget = budget
        self.columns: Columns = grounding.columns
        self._domains: dict[str, Domain] = {}
        self._constants: dict[str, dict[str, Symbol]] = {}
        self._head_types = {
            p.type for head in self.bias.heads for p in head.atom.placeholders if p.kind == "var"
        }
        self.rigid = self.bias.ground_without_replacement
        self.additive = True

    def domain(self, name: str) -> Domain:
        """The domain of variables of type `name`."""
        found = self._domains.get(name)
        if found is None:
            found = self._domains[name] = self._make_domain(name)
        return found

    def constants(self, name: str) -> dict[str, Symbol]:
        """The values of ``const(name)``, text to symbol."""
        found = self._constants.get(name)
        if found is None:
            from clingo import parse_term

            symbols = [parse_term(value) for kind, value in self.bias.constants if kind == name]
            if self.grounding.depends(name, 1):
                raise Undecided("a type depends on what is learned")
            symbols += [arguments[0] for arguments, _ in self.grounding.atoms(name, 1)]
            found = {str(symbol): symbol for symbol in sorted(symbols)}
            self._constants[name] = found
        return found

    def _make_domain(self, name: str) -> Domain:
        grounding, n = self.grounding, self.columns.n
        if grounding.depends(name, 1):
            raise Undecided("a type depends on what is learned")
        if not grounding.has(name, 1):
            values = tuple(sorted(self._open_values(name)))
            guards = np.broadcast_to(self.columns.full, (len(values), self.columns.words))
            return Domain(name, values, False, np.ascontiguousarray(guards), None)
        members = sorted((arguments[0], bits) for arguments, bits in grounding.atoms(name, 1))
        values = tuple(value for value, _ in members)
        guards = np.array([bits for _, bits in members], np.uint64).reshape(len(members), self.columns.words)
        flags = unpack(guards, n)
        most = int(flags.sum(axis=0).max(initial=0))
        if name in self._head_types or self.rigid or most > _LOCAL_SHARE * len(values):
            return Domain(name, values, True, guards, None)
        place = np.where(flags, np.cumsum(flags, axis=0) - 1, -1)
        local = np.arange(most)[:, None] < flags.sum(axis=0)[None, :]
        return Domain(name, values, True, pack(local), place)

    def _open_values(self, name: str) -> set[Symbol]:
        """Values of a type without predicate: its constants and what positive literals hold there."""
        values = set(self.constants(name).values())
        for mode in self.bias.literals:
            literal = mode.literal
            if mode.negated or not isinstance(literal, ModeAtom):
                continue
            slots = [p for p in literal.placeholders if p.kind == "var"]
            if all(p.type != name for p in slots):
                continue
            for arguments, _ in self.grounding.atoms(*literal.signature):
                variables: list[Symbol] = []
                if all(
                    match_term(term, symbol, variables, [])
                    for term, symbol in zip(literal.arguments, arguments, strict=True)
                ):
                    values.update(v for v, p in zip(variables, slots, strict=True) if p.type == name)
        return values

    def literals(self) -> list[BodyLiteral]:
        """All literals that bodies may hold and that are neither true nor false of everything by name.

        Raises:
            Undecided: a literal depends on what is learned, or is a comparison of another form.
            UserError: a constant's type has no constant.
        """
        found: list[tuple[ModeLiteral, tuple[str, ...], tuple[str, ...], Bits]] = []
        for mode in self.bias.literals:
            types = tuple(p.type for p in mode.literal.placeholders if p.kind == "var")
            if isinstance(mode.literal, ModeComparison):
                made = self._comparison(mode, mode.literal)
            else:
                made = self._atom(mode, mode.literal)
            found += [(mode, constants, types, table) for constants, table in made]
        texts: list[list[str]] = []
        for mode, constants, types, _ in found:
            patterns = [[f"V{v + 1}" for v in blocks] for blocks in sharings(types)]
            texts.append([literal_text(mode, iter(names), iter(constants)) for names in patterns])
        heads = all_heads(self.bias, self.constants)
        costs = additive_costs(self.bias, heads, [text for group in texts for text in group])
        of_texts = iter(costs[1] if costs is not None else [0] * sum(map(len, texts)))
        of_literals = [[next(of_texts) for _ in group] for group in texts]
        self.additive = costs is not None and all(len(set(group)) == 1 for group in of_literals)
        priced = [group[0] if self.additive else 0 for group in of_literals]
        return [BodyLiteral(*entry, cost) for entry, cost in zip(found, priced, strict=True)]

    def head_costs(self, texts: Sequence[str]) -> list[int]:
        """What the heads add to the costs of rules, where those are sums."""
        costs = additive_costs(self.bias, texts, [])
        return [0] * len(texts) if costs is None else costs[0]

    def _atom(self, mode: ModeLiteral, literal: ModeAtom) -> list[tuple[tuple[str, ...], Bits]]:
        """(constants, table) of each way to fill the constants of an atom."""
        grounding = self.grounding
        if literal.signature in self.bias.learned or grounding.depends(*literal.signature):
            raise Undecided("learned predicates in bodies")
        slots = list(literal.placeholders)
        domains = [self.domain(p.type) for p in slots if p.kind == "var"]
        allowed = [self.constants(p.type) for p in slots if p.kind == "const"]
        for placeholder, known in zip((p for p in slots if p.kind == "const"), allowed, strict=True):
            if not known:
                raise UserError(
                    f"{self.task.name}: '{mode.literal}' has const({placeholder.type}), but neither "
                    f"'#constant({placeholder.type}, ...)' nor a fact '{placeholder.type}(...)' has a value."
                )
        entries: dict[tuple[str, ...], list[tuple[list[Symbol], Bits]]] = {}
        for arguments, bits in grounding.atoms(*literal.signature):
            variables: list[Symbol] = []
            constants: list[Symbol] = []
            if not all(
                match_term(term, symbol, variables, constants)
                for term, symbol in zip(literal.arguments, arguments, strict=True)
            ):
                continue
            key = tuple(map(str, constants))
            if all(c in known for c, known in zip(key, allowed, strict=True)):
                entries.setdefault(key, []).append((variables, bits))
        if mode.negated and allowed:
            import itertools

            for key in itertools.product(*allowed):
                entries.setdefault(key, [])
        if mode.negated and not allowed:
            entries.setdefault((), [])
        volume = math.prod(domain.size for domain in domains) * self.columns.words
        self.budget.take(8 * volume * len(entries), "tables of literals")
        return [(key, self._table(domains, entries[key], mode.negated)) for key in sorted(entries)]

    def _table(
        self, domains: Sequence[Domain], entries: Sequence[tuple[list[Symbol], Bits]], negated: bool
    ) -> Bits:
        n, words = self.columns.n, self.columns.words
        shape = tuple(domain.size for domain in domains)
        position = [{str(v): i for i, v in enumerate(d.values)} for d in domains]
        if all(domain.place is None for domain in domains):
            table = np.zeros((*shape, words), np.uint64)
            for symbols, bits in entries:
                where = [at.get(str(s), -1) for s, at in zip(symbols, position, strict=True)]
                if min(where, default=0) >= 0:
                    table[tuple(where)] |= bits
        else:
            flags = np.zeros((*shape, n), np.bool_)
            for symbols, bits in entries:
                where = [at.get(str(s), -1) for s, at in zip(symbols, position, strict=True)]
                if min(where, default=0) < 0:
                    continue
                cols = indices(bits, n)
                places = [
                    np.full(len(cols), i) if d.place is None else d.place[i, cols]
                    for i, d in zip(where, domains, strict=True)
                ]
                member = np.logical_and.reduce([place >= 0 for place in places])
                flags[(*(place[member] for place in places), cols[member])] = True
            table = pack(flags)
        guard = self.guard([domain.type for domain in domains])
        result: Bits = (guard & ~table) if negated else (guard & table)
        return result

    def guard(self, types: Sequence[str], words: slice = slice(None)) -> Bits:
        """uint64 [sizes..., words]: where variables of these types have values."""
        result = self.columns.full[words]
        for axis, name in enumerate(types):
            guards = self.domain(name).guards[:, words]
            shape = [1] * len(types) + [guards.shape[-1]]
            shape[axis] = len(guards)
            result = result & guards.reshape(shape)
        return result

    def differ(
        self,
        a: BodyLiteral,
        a_variables: Sequence[int],
        b: BodyLiteral,
        b_variables: Sequence[int],
        types: Sequence[str],
    ) -> npt.NDArray[np.bool_] | None:
        """bool [size or 1 of each of `types`]: where two literals are different ground atoms.

        None if they always are. Variables are numbers into `types`.
        """
        if a.family is None or a.family != b.family:
            return None
        pairs = leaf_pairs(_leaves(a, a_variables), _leaves(b, b_variables))
        if pairs is None:
            return None
        equal = np.ones((1,) * len(types), np.bool_)
        for left, right in pairs:
            if left == right:
                continue
            if isinstance(left, str) and isinstance(right, str):
                return None
            equal = equal & self._equal(left, right, types)
        return ~equal

    def _equal(self, left: int | str, right: int | str, types: Sequence[str]) -> npt.NDArray[np.bool_]:
        shape = [1] * len(types)
        texts = []
        for side in (left, right):
            if isinstance(side, int):
                values = self.domain(types[side]).values
                shape[side] = len(values)
                texts.append([str(value) for value in values])
            else:
                texts.append([side])
        if isinstance(left, int) and isinstance(right, int) and left > right:
            texts.reverse()
        return np.array([[x == y for y in texts[1]] for x in texts[0]], np.bool_).reshape(shape)

    def _comparison(self, mode: ModeLiteral, literal: ModeComparison) -> list[tuple[tuple[str, ...], Bits]]:
        import itertools

        sides = (literal.left, literal.right)
        if any(isinstance(s, Compound) or (isinstance(s, str) and "var(" in s) for s in sides):
            raise Undecided("a comparison of terms with variables inside")
        slots = list(placeholders(sides))
        allowed = [self.constants(p.type) for p in slots if p.kind == "const"]
        made = []
        for constants in itertools.product(*allowed):
            table = self._compare(literal, sides, iter(constants))
            made.append((tuple(constants), table if not mode.negated else self._inverse(slots, table)))
        return made

    def _inverse(self, slots: Sequence[Placeholder], table: Bits) -> Bits:
        result: Bits = self.guard([p.type for p in slots if p.kind == "var"]) & ~table
        return result

    def _compare(self, literal: ModeComparison, sides: Sequence[ModeTerm], constants: Iterator[str]) -> Bits:
        from clingo import parse_term

        operands: list[tuple[tuple[Symbol, ...], Domain | None]] = []
        for side in sides:
            if isinstance(side, Placeholder) and side.kind == "var":
                domain = self.domain(side.type)
                operands.append((domain.values, domain))
            else:
                text = next(constants) if isinstance(side, Placeholder) else str(side)
                operands.append(((parse_term(text),), None))
        (left, left_domain), (right, right_domain) = operands
        holds = np.array([[_holds(literal.operator, a, b) for b in right] for a in left], np.bool_)
        domains = [domain for _, domain in operands if domain is not None]
        if all(domain.place is None for domain in domains):
            keep = holds.reshape([len(v) for v, domain in operands if domain is not None])
            table = np.where(keep[..., None], self.columns.full, np.uint64(0))
        else:
            table = self._local_compare(holds, left_domain, right_domain)
        result: Bits = table & self.guard([domain.type for domain in domains])
        return result

    def _local_compare(self, holds: npt.NDArray[np.bool_], left: Domain | None, right: Domain | None) -> Bits:
        n = self.columns.n
        values = [
            np.zeros((1, n), np.intp) if domain is None else _values_at(domain, n) for domain in (left, right)
        ]
        flags = holds[values[0][:, None, :], values[1][None, :, :]]
        if left is None:
            flags = flags[0]
        elif right is None:
            flags = flags[:, 0]
        return pack(flags)


def _leaves(literal: BodyLiteral, variables: Sequence[int]) -> Leaves:
    atom = literal.mode.literal
    assert isinstance(atom, ModeAtom)
    return leaves(atom, variables, literal.constants)


def _values_at(domain: Domain, n: int) -> npt.NDArray[np.intp]:
    """intp [size, n]: the value at each index in each column; 0 where there is none."""
    if domain.place is None:
        return np.repeat(np.arange(domain.size)[:, None], n, axis=1)
    found = np.zeros((domain.size, n), np.intp)
    value, column = np.nonzero(domain.place >= 0)
    found[domain.place[value, column], column] = value
    return found


def _holds(operator: str, a: Symbol, b: Symbol) -> bool:
    if operator == "=":
        return bool(a == b)
    if operator == "!=":
        return bool(a != b)
    if operator in ("<", ">="):
        return bool(a < b) is (operator == "<")
    return bool(b < a) is (operator == ">")
