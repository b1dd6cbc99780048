"""Grounding once for all contexts: which atoms hold in which context, as bit tables.

Each distinct statement of a context, and each atom that a hypothesis may derive, is handed to clingo
as an external atom. The ground program that comes back does not grow with the number of examples; it is
evaluated for 64 contexts at a time (`evaluation`). What depends on atoms that are yet to be learned stays
symbolic, as residual rules.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np

from nsl_bench.core.budget import Budget, Undecided
from nsl_bench.core.errors import UserError
from nsl_bench.logic.asp.atoms import Atom, Names, parse_atom, read_atom
from nsl_bench.logic.asp.ground_program import GroundProgram
from nsl_bench.logic.asp.program import Rule, Signature, statement
from nsl_bench.logic.asp.text import check_text
from nsl_bench.logic.las.bias.lookups import lookups, without
from nsl_bench.logic.las.bits import Bits
from nsl_bench.logic.las.language_bias import ModeAtom, Placeholder, WeightedRule
from nsl_bench.logic.las.tables.evaluation import Columns, ResidualRule, Values, evaluate
from nsl_bench.logic.las.task import LasTask
from nsl_bench.logic.las.terms import pattern_text

if TYPE_CHECKING:
    from clingo import Control, Symbol
    from clingo.ast import AST

_RULE_LIMIT = 2_000_000


@dataclass(eq=False)
class Grounding:
    """What is true in which column.

    Attributes:
        derivable: the predicates that some statement or learned rule derives.
        learned: a learned ground atom to its program atom.
        lookups: predicates that are grounded by themselves (`nsl_bench.logic.las.bias.lookups`).
    """

    columns: Columns
    derivable: frozenset[Signature]
    learned: dict[Symbol, int]
    _control: Control
    _values: Values
    lookups: frozenset[Signature] = frozenset()
    _has_constants: bool = False
    _atoms: dict[Signature, list[tuple[tuple[Symbol, ...], Bits]]] = field(default_factory=dict)
    _dependent: set[Signature] = field(default_factory=set)

    @property
    def residual(self) -> Sequence[ResidualRule]:
        """Rules that depend on learned atoms."""
        return self._values.residual

    @property
    def dead(self) -> Bits:
        """uint64 [words]: columns whose context violates a constraint whatever is learned."""
        return self._values.dead

    @cached_property
    def full(self) -> Bits:
        """uint64 [words]: all columns."""
        return self.columns.full

    def atoms(self, name: str, arity: int) -> list[tuple[tuple[Symbol, ...], Bits]]:
        """Arguments and columns (uint64 [words]) of each decided atom of a predicate that holds anywhere."""
        result = self._atoms.get((name, arity))
        if result is None:
            result = []
            for atom in self._control.symbolic_atoms.by_signature(name, arity):
                bits = self._bits(atom.literal, atom.is_fact)
                if bits is None:
                    self._dependent.add((name, arity))
                elif bits is self.full or bits.any():
                    result.append((tuple(atom.symbol.arguments), bits))
            self._atoms[(name, arity)] = result
        return result

    def depends(self, name: str, arity: int) -> bool:
        """Whether some atom of the predicate depends on what is learned."""
        self.atoms(name, arity)
        return (name, arity) in self._dependent

    def lookup(self, text: str) -> tuple[int, Bits | None]:
        """The program atom (0: none, it never holds) and the columns of a ground atom.

        There are no columns where they depend on what is learned.
        """
        symbol = self.symbol(text)
        if symbol is None:
            raise UserError(f"Inclusions and exclusions must be ground atoms; got '{text}'.")
        return self.lookup_symbol(symbol)

    def lookup_symbol(self, symbol: Symbol) -> tuple[int, Bits | None]:
        """`lookup` of an atom that has been read."""
        result = self._control.symbolic_atoms[symbol]
        if result is None:
            return 0, np.zeros(self.columns.words, np.uint64)
        return result.literal, self._bits(result.literal, result.is_fact)

    def symbol(self, text: str) -> Symbol | None:
        """A ground term or atom, with the background's ``#const`` put in; None if the text is none."""
        return _symbol(self._control, text, self._has_constants)

    def _bits(self, literal: int, fact: bool) -> Bits | None:
        if literal in self._values.undecided:
            return None
        if fact:
            return self.full
        row = self._values.rows.get(literal)
        return np.zeros(self.columns.words, np.uint64) if row is None else self._values.bits[row]


def _symbol(control: Control, text: str, constants: bool) -> Symbol | None:
    from clingo import parse_term

    try:
        check_text(text, "a term")
        symbol = parse_term(text, logger=lambda *_: None)
    except (RuntimeError, UserError):
        return None
    return _with_constants(control, symbol) if constants else symbol


def _symbols(texts: Sequence[str]) -> list[Symbol | None]:
    """The ground atoms that texts are; None for each that is none. To read all at once is quicker."""
    from clingo import parse_term

    try:
        return list(parse_term(f"({','.join(texts)},)", logger=lambda *_: None).arguments) if texts else []
    except RuntimeError:
        return [parse_atom(text) for text in texts]


def _with_constants(control: Control, symbol: Symbol) -> Symbol:
    from clingo import Function, SymbolType

    if symbol.type != SymbolType.Function:
        return symbol
    if not symbol.arguments:
        return (symbol.positive and control.get_const(symbol.name)) or symbol
    arguments = [_with_constants(control, argument) for argument in symbol.arguments]
    return Function(symbol.name, arguments, symbol.positive)


def ground(task: LasTask, columns: Columns, choices: Sequence[WeightedRule], budget: Budget) -> Grounding:
    """Grounds background and contexts of `task`.

    Args:
        choices: rules that a hypothesis may hold whole, e.g. instances of meta-rules.
    """
    from clingo import Control

    encoding = _Encoding(task, columns, choices)
    program = GroundProgram(_RULE_LIMIT)
    messages: list[str] = []
    control = Control(["--warn=none"], logger=lambda _, message: messages.append(message))
    control.register_observer(program, replace=True)  # type: ignore[arg-type]
    apart = lookups(task, (*columns.statements, *task.asked))
    background = str(without(task.program, apart)) if apart else task.background
    lines = "\n".join(line for line, _ in encoding.lines())
    try:
        control.add("base", [], f"{background}\n{lines}")
        program.ground(control, budget.check)
    except MemoryError as error:
        raise Undecided(str(error)) from error
    except RuntimeError as error:
        if apart:  # once more, with the lines of the file
            messages = _complaints(f"{task.background}\n{lines}") or messages
        raise UserError(_explain(task, messages, encoding)) from error
    if program.open:
        raise Undecided(program.open)
    learned = {
        atom.symbol: atom.literal
        for name, arity in {head.atom.signature for head in task.bias.heads}
        for atom in control.symbolic_atoms.by_signature(name, arity)
        if atom.symbol.positive
    }
    chosen = {
        atom.literal: atom.symbol.arguments[0].number
        for atom in control.symbolic_atoms.by_signature(encoding.names("rule"), 1)
    }
    values = evaluate(program, columns, set(learned.values()), chosen, encoding.stated(control), budget)
    constants = bool(task.program.constants)
    return Grounding(columns, encoding.derivable, learned, control, values, apart, constants)


def _complaints(text: str) -> list[str]:
    """What clingo says of a program that it cannot ground."""
    from clingo import Control

    messages: list[str] = []
    control = Control(["--warn=none"], logger=lambda _, message: messages.append(message))
    with suppress(RuntimeError):
        control.add("base", [], text)
        control.ground([("base", [])])
    return messages


def _explain(task: LasTask, messages: Sequence[str], encoding: _Encoding) -> str:
    """What clingo found wrong, with the statement that it is about and its place in the file."""
    joined = " ".join(" ".join(messages).split())
    match = re.search(r"<block>:(\d+):(\d+)", joined)
    reason = re.sub(r"<block>:[\d:-]+\s*", "", joined)
    if match is None:
        return f"{task.name}: {reason}"
    number, column = int(match[1]) - 1, int(match[2])
    background = task.background.split("\n")
    if number < len(background):
        statement = background[number].strip()
        place = task.places.get(statement)
        where = f", line {place[0]}, column {place[1] + column - 1}" if place else ""
    else:
        statement, origin = list(encoding.lines())[number - len(background)]
        where = next((f", example '{e.id}'" for e in task.examples if origin in e.context), "")
        statement = f"{origin}." if origin else statement
    return f"{task.name}{where}: the statement '{statement[:80]}' cannot be grounded ({reason[:200]})."


class _Encoding:
    """What is grounded beside the background.

    Attributes:
        derivable: the predicates that some statement or learned rule derives.
    """

    def __init__(self, task: LasTask, columns: Columns, choices: Sequence[WeightedRule]) -> None:
        self._task = task
        self._choices = choices
        self._statements = columns.statements
        bias = task.bias
        self.names = Names.apart_from(
            [
                task.background,
                *self._statements,
                *task.asked,
                *(str(mode) for mode in (*bias.heads, *bias.bodies)),
                *(text for constant in bias.constants for text in constant),
                *(rule.rule for rule in choices),
            ]
        )
        self._asked = [_ground_atom(text) for text in task.asked]
        self._plain = [None if task.program.constants else _plain(text) for text in self._statements]
        signatures = set(task.program.derived | bias.learned)
        for text, atom in zip(self._statements, self._plain, strict=True):
            signatures |= {atom.signature} if atom else statement(text).derived
        for rule in choices:
            signatures |= rule.parsed.derives
        self.derivable = frozenset(signatures)

    def lines(self) -> Iterator[tuple[str, str]]:
        """The statements, as text, each with the context's statement that it is for; nothing if for none."""
        for i, (text, atom) in enumerate(zip(self._statements, self._plain, strict=True)):
            if atom:
                yield f"#external {text}.", text
                continue
            condition = f"{self.names('context')}({i})"
            for rule in statement(text).rules:
                yield _with_condition(rule, condition), text
            yield f"#external {condition}.", text
        for line in self._learned():
            yield line, ""
        for i, choice in enumerate(self._choices):
            condition = f"{self.names('rule')}({i})"
            yield _with_condition(choice.parsed, condition), ""
            yield f"#external {condition}.", ""

    def _learned(self) -> Iterator[str]:
        """The atoms that learned rules can derive."""
        bias = self._task.bias
        kinds: set[tuple[str, str]] = set()
        for head in bias.heads:
            text, slots = self._open(head.atom)
            types = [f"{self._type(slot.kind, slot.type)}({variable})" for slot, variable in slots]
            kinds.update((slot.kind, slot.type) for slot, _ in slots)
            yield f"#external {text} : {', '.join(types)}." if types else f"#external {text}."
        signatures = {head.atom.signature for head in bias.heads}
        for symbol in self._asked:
            if (symbol.name, len(symbol.arguments)) in signatures and symbol.positive:
                yield f"#external {symbol}."
        for kind, name in sorted(kinds):
            yield from self._values(kind, name)

    def _values(self, kind: str, name: str) -> Iterator[str]:
        """What derives the values of a head's placeholders: constants, the type's members, or, where no
        statement derives these, what positive body literals hold of it."""
        own, x = self._type(kind, name), self.names.variable("x")
        yield from (f"{own}({value})." for type_, value in self._task.bias.constants if type_ == name)
        if kind == "const" or (name, 1) in self.derivable:
            yield f"{own}({x}) :- {name}({x})."
            return
        for mode in self._task.bias.literals:
            atom = mode.literal
            if mode.negated or not isinstance(atom, ModeAtom):
                continue
            text, slots = self._open(atom)
            for slot, variable in slots:
                if slot.kind == "var" and slot.type == name:
                    yield f"{own}({variable}) :- {text}."

    def _open(self, atom: ModeAtom) -> tuple[str, list[tuple[Placeholder, str]]]:
        """The atom's text with a variable for each placeholder, and the placeholders with their variables."""
        slots = [(p, self.names.variable(f"x{i}")) for i, p in enumerate(atom.placeholders)]
        variables = (variable for slot, variable in slots if slot.kind == "var")
        constants = (variable for slot, variable in slots if slot.kind != "var")
        return pattern_text(atom, variables, constants), slots

    def _type(self, kind: str, name: str) -> str:
        return self.names(f"{kind}_{name}")

    def stated(self, control: Control) -> list[tuple[int, int]]:
        """(program atom, statement) of each external that stands for a context's statement."""
        from clingo import Function, Number

        literals = []
        plain = iter(_symbols([t for t, atom in zip(self._statements, self._plain, strict=True) if atom]))
        for i, atom in enumerate(self._plain):
            symbol = next(plain) if atom else Function(self.names("context"), [Number(i)])
            # clingo leaves out a fact without a value, such as b(1/0)
            atom_there = None if symbol is None else control.symbolic_atoms[symbol]
            if atom_there is not None and not atom_there.is_fact:
                literals.append((atom_there.literal, i))
        return literals


def _ground_atom(text: str) -> Symbol:
    symbol: Symbol | None = parse_atom(text)
    if symbol is None:
        raise UserError(f"Inclusions and exclusions must be ground atoms; got '{text}'.")
    return symbol


def _plain(text: str) -> Atom | None:
    """The atom of a statement that clingo leaves as it is written; None if it is none."""
    atom = read_atom(text)
    return None if atom is None or atom.classical or ".." in text else atom


def _with_condition(rule: Rule, condition: str) -> str:
    """The rule, as text, with one more body literal."""
    return str(rule.node.update(body=[*rule.node.body, *_body(condition)]))


@lru_cache(maxsize=1)
def _body(condition: str) -> Sequence[AST]:
    from clingo.ast import parse_string

    nodes: list[AST] = []
    parse_string(f":- {condition}.", nodes.append)
    return list(nodes[-1].body)
