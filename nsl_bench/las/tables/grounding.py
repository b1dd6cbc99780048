"""Grounding once for all contexts: which atoms hold in which context, as bit tables.

Each distinct statement of a context, and each atom that a hypothesis may derive, is handed to clingo
as an external atom. The ground program that comes back does not grow with the number of examples; it is
evaluated for 64 contexts at a time. What depends on atoms that are yet to be learned stays symbolic, as
residual rules.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from nsl_bench.asp.ground_program import GroundProgram, GroundRule, Undecided, WeightRule
from nsl_bench.budget import Budget
from nsl_bench.errors import UserError
from nsl_bench.las.tables.columns import Bits, Columns, pack, unpack
from nsl_bench.las.task import LasTask, ModeHead, Placeholder

if TYPE_CHECKING:
    from clingo import Control, Symbol

__all__ = ["Grounding", "ResidualRule", "ground"]

_PLAIN = re.compile(r"[a-z_][\w']*(?:\([^:;|{}]*\))?$")
_CONTEXT_GUARD = "nsl__context("
_RULE_LIMIT = 2_000_000
_BYTES_LIMIT = 1 << 31
_EVERY = 512


@dataclass(frozen=True, slots=True)
class ResidualRule:
    """A ground rule that depends on learned atoms.

    Attributes:
        head: program atom, 0 for a constraint.
        positive, negative: the undecided atoms of its body.
        mask: uint64 [words]: the columns in which the decided part of its body holds.
        choice: index of the given rule that it is an instance of, -1 if it is background.
    """

    head: int
    positive: tuple[int, ...]
    negative: tuple[int, ...]
    mask: Bits
    choice: int = -1


@dataclass(eq=False)
class Grounding:
    """What is true in which column.

    Attributes:
        columns: the distinct contexts.
        residual: rules that depend on learned atoms.
        learned: text of a learned ground atom to its program atom.
        dead: uint64 [words]: columns whose context violates a constraint whatever is learned.
        rules: number of ground rules.
    """

    columns: Columns
    control: Control
    values: Bits
    row_of: dict[int, int]
    undecided: frozenset[int]
    residual: list[ResidualRule]
    learned: dict[str, int]
    dead: Bits
    rules: int
    _cache: dict[tuple[str, int], list[tuple[tuple[Symbol, ...], Bits]]] = field(default_factory=dict)

    def atoms(self, name: str, arity: int) -> list[tuple[tuple[Symbol, ...], Bits]]:
        """Arguments and columns (uint64 [words]) of each decided atom of a predicate that holds anywhere."""
        found = self._cache.get((name, arity))
        if found is None:
            found = []
            for atom in self.control.symbolic_atoms.by_signature(name, arity):
                bits = self.bits(atom.literal, atom.is_fact)
                if bits is not None and bits.any():
                    found.append((tuple(atom.symbol.arguments), bits))
            self._cache[(name, arity)] = found
        return found

    def depends(self, name: str, arity: int) -> bool:
        """Whether some atom of the predicate depends on what is learned."""
        atoms = self.control.symbolic_atoms.by_signature(name, arity)
        return any(atom.literal in self.undecided for atom in atoms)

    def has(self, name: str, arity: int) -> bool:
        """Whether some statement can derive an atom of the predicate."""
        return any(True for _ in self.control.symbolic_atoms.by_signature(name, arity))

    def bits(self, literal: int, fact: bool = False) -> Bits | None:
        """uint64 [words]: where the program atom holds; None if that depends on what is learned."""
        if literal in self.undecided:
            return None
        if fact:
            return self.columns.full
        row = self.row_of.get(literal)
        return np.zeros(self.columns.words, np.uint64) if row is None else self.values[row]

    def lookup(self, atom: str) -> tuple[int, Bits | None]:
        """Program atom of `atom` (0: none, it never holds unless learned) and its columns, as `bits`."""
        from clingo import parse_term

        try:
            symbol = parse_term(atom)
        except RuntimeError as error:
            raise UserError(
                f"'{atom}' is not a ground atom, as inclusions and exclusions must be."
            ) from error
        found = self.control.symbolic_atoms[symbol]
        if found is None:
            return 0, np.zeros(self.columns.words, np.uint64)
        return found.literal, self.bits(found.literal, found.is_fact)


def ground(task: LasTask, columns: Columns, choices: Sequence[str], budget: Budget) -> Grounding:
    """Grounds background and contexts of `task`.

    Args:
        task: its background and heads are used.
        columns: its distinct contexts.
        choices: rules that a hypothesis may hold whole, e.g. instances of meta-rules.
        budget: when to give up.

    Raises:
        Undecided: the background or a context has choices, disjunctions or negative cycles, or there
            are too many ground rules, or time is up.
        UserError: the program cannot be grounded, e.g. a variable is unsafe.
    """
    from clingo import Control

    program = GroundProgram(_RULE_LIMIT, budget.check)
    messages: list[str] = []
    control = Control(["--warn=none"], logger=lambda _, message: messages.append(message))
    observer: object = program
    control.register_observer(observer, replace=True)  # type: ignore[arg-type]
    text = "\n".join(
        [
            task.background,
            *_context_statements(task, columns),
            *_learned_externals(task),
            *(
                f"{_with_guard(rule, f'nsl__rule({i})')}\n#external nsl__rule({i})."
                for i, rule in enumerate(choices)
            ),
        ]
    )
    try:
        control.add("base", [], text)
        control.ground([("base", [])])
    except MemoryError as error:
        raise Undecided(str(error)) from error
    except RuntimeError as error:
        raise UserError(_explain(task, messages, text)) from error
    if program.open:
        raise Undecided(program.open)
    return _evaluate(task, columns, control, program, budget)


def _explain(task: LasTask, messages: Sequence[str], text: str) -> str:
    """What clingo found wrong, with the statement that it is about and its place in the file."""
    joined = " ".join(" ".join(messages).split())
    match = re.search(r"<block>:(\d+):(\d+)", joined)
    reason = re.sub(r"<block>:[\d:-]+\s*", "", joined)
    if match is None:
        return f"{task.name}: {reason}"
    line = text.split("\n")[int(match.group(1)) - 1].strip()
    statement, in_context, _ = line.partition(_CONTEXT_GUARD)
    place = task.places.get(line)
    where = f", line {place[0]}, column {place[1] + int(match.group(2)) - 1}" if place else ""
    if in_context:
        statement = f"{statement.removesuffix(' :- ').removesuffix('; ')}."
        where = next((f", example '{e.id}'" for e in task.examples if statement[:-1] in e.context), "")
    return f"{task.name}{where}: the statement '{statement[:80]}' cannot be grounded ({reason[:200]})."


def _with_guard(statement: str, guard: str) -> str:
    body = statement.rstrip().rstrip(".").rstrip()
    return f"{body}{'; ' if ':-' in body else ' :- '}{guard}."


def _plain(statements: Sequence[str], task: LasTask) -> list[bool]:
    """Whether each statement is a ground atom that clingo leaves as it is written."""
    if "#const" in task.background:
        return [False] * len(statements)
    return [bool(_PLAIN.match(text)) and ".." not in text for text in statements]


def _context_statements(task: LasTask, columns: Columns) -> list[str]:
    lines = []
    plain = _plain(columns.statements, task)
    for i, (statement, is_plain) in enumerate(zip(columns.statements, plain, strict=True)):
        if is_plain:
            lines.append(f"#external {statement}.")
        else:
            lines.append(f"{_with_guard(statement, f'{_CONTEXT_GUARD}{i})')}\n#external nsl__context({i}).")
    return lines


def _learned_externals(task: LasTask) -> list[str]:
    """One external statement a head: the atoms that rules with this head can derive."""
    lines = []
    constant_types: set[str] = set()
    for head in task.bias.heads:
        text, types = _open_head(head)
        guards = [f"nsl__{p.kind}_{p.type}(V{i})" for i, p in enumerate(types)]
        constant_types.update(f"{p.kind} {p.type}" for p in types)
        lines.append(f"#external {text} : {', '.join(guards)}." if guards else f"#external {text}.")
    signatures = {head.atom.predicate for head in task.bias.heads}
    atoms = dict.fromkeys(a for e in task.examples for a in (*e.inclusions, *e.exclusions))
    lines += [f"#external {atom}." for atom in atoms if atom.partition("(")[0].strip() in signatures]
    known = {kind for kind, _ in task.bias.constants}
    for entry in sorted(constant_types):
        kind, name = entry.split()
        lines.append(f"nsl__{kind}_{name}(X) :- {name}(X).")
        if name in known:
            lines += [
                f"nsl__{kind}_{name}({value})." for type_, value in task.bias.constants if type_ == name
            ]
    return lines


def _open_head(head: ModeHead) -> tuple[str, list[Placeholder]]:
    """The head's text with variables V0, V1, ... for its placeholders."""
    found: list[Placeholder] = []

    def replace(match: re.Match[str]) -> str:
        found.append(Placeholder("var" if match[1] == "var" else "const", match[2]))
        return f"V{len(found) - 1}"

    return re.sub(r"\b(var|const)\((\w+)\)", replace, str(head.atom)), found


def _evaluate(
    task: LasTask, columns: Columns, control: Control, program: GroundProgram, budget: Budget
) -> Grounding:
    symbols = control.symbolic_atoms
    choice_atoms: dict[int, int] = {}
    for atom in symbols.by_signature("nsl__rule", 1):
        choice_atoms[atom.literal] = atom.symbol.arguments[0].number
    learned: dict[str, int] = {}
    for name, arity in {head.atom.signature for head in task.bias.heads}:
        for atom in symbols.by_signature(name, arity):
            learned[str(atom.symbol)] = atom.literal
    undecided = set(choice_atoms) | set(learned.values())
    _spread(program, undecided)
    used = {abs(a) for rule in program.rules for a in _atoms(rule)} - undecided - {0}
    rows: dict[int, int] = {}
    seeds: list[tuple[int, int]] = []
    membership = columns.membership()
    for number, statement in _statement_atoms(task, control, columns):
        if number in undecided:
            raise Undecided("a context states an atom that is to be learned")
        rows.setdefault(number, len(rows))
        seeds.append((rows[number], statement))
    for number in used:
        rows.setdefault(number, len(rows))
    if len(rows) * columns.words * 8 > _BYTES_LIMIT:
        raise Undecided("too many ground atoms for the number of contexts")
    values = np.zeros((len(rows), columns.words), np.uint64)
    for row, statement in seeds:
        values[row] |= membership[statement]
    state = _State(columns, values, rows, undecided, choice_atoms)
    for number, group in enumerate(program.ordered()):
        if number % _EVERY == 0:
            budget.check()
        if len(group) > 1 and program.recursive_through_negation(group):
            raise Undecided("recursion through negation or an aggregate")
        state.run(group)
    return Grounding(
        columns,
        control,
        values,
        rows,
        frozenset(undecided),
        state.residual,
        learned,
        state.dead,
        len(program.rules),
    )


def _statement_atoms(task: LasTask, control: Control, columns: Columns) -> list[tuple[int, int]]:
    """(program atom, statement) of each external that stands for a context's statement."""
    from clingo import parse_term

    found = []
    plain = _plain(columns.statements, task)
    for i, (statement, is_plain) in enumerate(zip(columns.statements, plain, strict=True)):
        text = statement if is_plain else f"nsl__context({i})"
        atom = control.symbolic_atoms[parse_term(text)]
        if atom is not None and not atom.is_fact:
            found.append((atom.literal, i))
    return found


def _atoms(rule: GroundRule | WeightRule) -> list[int]:
    if isinstance(rule, WeightRule):
        return [rule.head, *(abs(literal) for literal, _ in rule.body)]
    return [rule.head, *rule.positive, *rule.negative]


def _spread(program: GroundProgram, undecided: set[int]) -> None:
    """Adds to `undecided` each atom that depends on one in it."""
    users: dict[int, list[int]] = {}
    for rule in program.rules:
        if rule.head:
            for atom in _atoms(rule)[1:]:
                users.setdefault(atom, []).append(rule.head)
    work = list(undecided)
    while work:
        for head in users.get(work.pop(), ()):
            if head not in undecided:
                undecided.add(head)
                work.append(head)


@dataclass
class _State:
    """Evaluates groups of rules in order of dependency."""

    columns: Columns
    values: Bits
    rows: dict[int, int]
    undecided: set[int]
    choices: dict[int, int]
    residual: list[ResidualRule] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.full = self.columns.full
        self.dead = np.zeros(self.columns.words, np.uint64)

    def run(self, group: Sequence[GroundRule | WeightRule]) -> None:
        if len(group) > 1:
            if any(rule.head in self.undecided for rule in group):
                raise Undecided("recursion through what is learned")
            self._fixpoint(group)
            return
        rule = group[0]
        if self.undecided.isdisjoint(_atoms(rule)):
            result = self._body(rule)
            if rule.head:
                self.values[self.rows[rule.head]] |= result
            else:
                self.dead |= result
            return
        if isinstance(rule, WeightRule):
            raise Undecided("an aggregate over what is learned")
        self._residual(rule)

    def _fixpoint(self, group: Sequence[GroundRule | WeightRule]) -> None:
        changed = True
        while changed:
            changed = False
            for rule in group:
                row = self.rows[rule.head]
                new = self.values[row] | self._body(rule)
                if not np.array_equal(new, self.values[row]):
                    self.values[row] = new
                    changed = True

    def _body(self, rule: GroundRule | WeightRule) -> Bits:
        if isinstance(rule, WeightRule):
            return self._weighted(rule)
        result = self.full.copy()
        for atom in rule.positive:
            result &= self.values[self.rows[atom]]
        for atom in rule.negative:
            result &= ~self.values[self.rows[atom]]
        return result

    def _weighted(self, rule: WeightRule) -> Bits:
        total = np.zeros(self.columns.n, np.int64)
        for literal, weight in rule.body:
            holds = unpack(self.values[self.rows[abs(literal)]], self.columns.n)
            total += weight * (holds if literal > 0 else ~holds)
        return pack(total >= rule.bound)

    def _residual(self, rule: GroundRule) -> None:
        mask = self.full.copy()
        positive: list[int] = []
        choice = -1
        for atom in rule.positive:
            if atom in self.choices:
                choice = self.choices[atom]
            elif atom in self.undecided:
                positive.append(atom)
            else:
                mask &= self.values[self.rows[atom]]
        negative: list[int] = []
        for atom in rule.negative:
            if atom in self.undecided:
                negative.append(atom)
            else:
                mask &= ~self.values[self.rows[atom]]
        if mask.any():
            self.residual.append(ResidualRule(rule.head, tuple(positive), tuple(negative), mask, choice))
