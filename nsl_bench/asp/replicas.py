"""Guarded copies: one logic program that holds the same program once for every example.

Many examples share background knowledge and hypothesis and differ in their context. Every predicate
that depends on a context, on a learned rule or on a choice gets the number of the example as an extra
first argument; what depends on none of them is shared. So one grounding serves all examples, and
because copies share nothing that is open, an answer set of the whole is one answer set for each.

An inconsistent copy must not make the whole inconsistent: constraints derive `_bad(E)`, and rules that
can clash by themselves (cycles through negation, bounds of choices) only apply while `_act(E)` holds,
which is free. `_ok(E)` says that example E's inclusions and exclusions hold in a sound copy, so E is
bravely covered exactly if some answer set of the whole holds `_ok(E)`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Protocol

from clingo import ast

from nsl_bench.asp.rules import (
    arity_of,
    atoms_in,
    is_atom,
    parse_statements,
    recursive_through_negation,
    shape_of,
    shape_of_parts,
    signature_of,
)

__all__ = ["Copies", "LearnedRule", "copies", "renamed"]


class LearnedRule(Protocol):
    """A rule that may be learned, in parts: atoms and comparisons as text."""

    @property
    def head(self) -> str | None:
        """Its head; None for a constraint."""

    @property
    def body(self) -> Sequence[str]:
        """Its body literals, type guards too."""


def renamed(node: ast.AST, names: frozenset[str], copy: int) -> ast.AST:
    """`node` with the atoms of predicates in `names` renamed for copy number `copy`."""
    number = _template(f":- _ex({copy}).")[0].atom.symbol.arguments[0]
    changed: ast.AST = _Rename(names, number).visit(node)
    return changed


class _Rename(ast.Transformer):
    """Gives each atom of a dependent predicate its copy's number as first argument."""

    def __init__(self, dependent: frozenset[str], copy: ast.AST) -> None:
        self._dependent = dependent
        self._copy = copy

    def visit_SymbolicAtom(self, node: ast.AST) -> ast.AST:
        return node.update(symbol=self._term(node.symbol, "_c_"))

    def _term(self, term: ast.AST, prefix: str) -> ast.AST:
        if term.ast_type == ast.ASTType.UnaryOperation:
            inner = self._term(term.argument, "_n_" if prefix == "_c_" else "_c_")
            return inner
        if term.ast_type == ast.ASTType.Pool:
            return term.update(arguments=[self._term(each, prefix) for each in term.arguments])
        if term.ast_type == ast.ASTType.Function and term.name in self._dependent:
            return term.update(name=prefix + term.name, arguments=[self._copy, *term.arguments])
        return term


@dataclass(frozen=True)
class Copies:
    """A program prepared for copying. Made by `copies`.

    Attributes:
        dependent: names of the predicates that get a copy for each example.
        guarded: names of the predicates on a cycle through negation.
        deterministic: each copy has exactly one answer set or none, whatever rules are chosen.
        derived: (name, arity) of the predicates that some statement derives.
        shared: the program's statements that need no copy, as text.
        common: the copied statements with a variable for the example, as text.
        local: the statements that are copied.
    """

    dependent: frozenset[str]
    guarded: frozenset[str]
    deterministic: bool
    derived: frozenset[tuple[str, int]]
    shared: str
    common: str
    local: tuple[ast.AST, ...]
    _contrary: frozenset[tuple[str, int]]
    _extends: bool
    _signatures: frozenset[tuple[str, int]]

    def rule(self, statement: ast.AST, *, copy: int | str = "E__", condition: str = "") -> str:
        """A rule's copy as text: for one example, or for all; `condition` is one more body literal."""
        number = str(copy)
        template = _template(f":- _ex({number}), _act({number}){', ' + condition if condition else ''}.")
        exists, active, *more = template
        renamed = _Rename(self.dependent, exists.atom.symbol.arguments[0]).visit(statement)
        shape = shape_of(statement)
        head = renamed.head
        guards = [exists, *more]
        if head.ast_type == ast.ASTType.Literal and head.atom.ast_type == ast.ASTType.BooleanConstant:
            if head.atom.value == 0:
                head = _head(f"_bad({number}).")
        elif shape.bounded or shape.heads & self.guarded:
            guards = [exists, active, *more]
        return str(renamed.update(head=head, body=[*renamed.body, *guards]))

    def learned(self, rule: LearnedRule, *, copy: int | str, condition: str) -> str:
        """A learned rule's copy as text; `condition` is one more body literal."""
        head = f"_bad({copy})" if rule.head is None else self.atom(copy, rule.head)
        name = (rule.head or "").removeprefix("-").partition("(")[0]
        literals = [self._literal(copy, literal) for literal in rule.body]
        literals += [condition, f"_act({copy})" if name in self.guarded else f"_ex({copy})"]
        return f"{head} :- {', '.join(literals)}."

    def _literal(self, copy: int | str, literal: str) -> str:
        atom = literal.removeprefix("not ")
        if signature_of(literal) is None:
            return literal
        return f"{literal[: -len(atom)]}{self.atom(copy, atom)}"

    def context(self, number: int, statements: Sequence[str]) -> str:
        """One example's context as text; `statements` come without their full stops."""
        out: list[str] = []
        for text in statements:
            if is_atom(text) and text[0] != "-":
                name, _, rest = text.partition("(")
                out.append(f"_c_{name}({number},{rest}." if rest else f"_c_{name}({number}).")
            else:
                for statement in parse_statements(f"{text}.", "a context"):
                    out.append(self.rule(statement, copy=number))
        return "\n".join(out)

    def covered(self, number: int, inclusions: Sequence[str], exclusions: Sequence[str]) -> str:
        """The rule that derives `_ok(number)`."""
        literals = [f"_ex({number})", f"_act({number})", f"not _bad({number})"]
        literals += [self.atom(number, text) for text in inclusions]
        literals += [f"not {self.atom(number, text)}" for text in exclusions]
        return f"_ok({number}) :- {', '.join(literals)}."

    def atom(self, number: int | str, text: str) -> str:
        """A ground atom's copy, as text."""
        name, bracket, rest = text.strip().partition("(")
        prefix = "_c_"
        if name.startswith("-"):
            name, prefix = name[1:].strip(), "_n_"
        if name not in self.dependent:
            return text
        return f"{prefix}{name}({number},{rest}" if bracket else f"{prefix}{name}({number})"

    def frame(self, copy: str = "E") -> str:
        """The statements that hold whatever the examples are; needs `_ex/1` for each example."""
        activity = f"_act({copy})" if self.deterministic else f"{{ _act({copy}) }}"
        lines = [f"{activity} :- _ex({copy})."]
        for name, arity in sorted(self._contrary):
            arguments = ",".join([copy, *(f"X{i}" for i in range(arity))])
            lines.append(f"_bad({copy}) :- _c_{name}({arguments}), _n_{name}({arguments}).")
        if self._extends:
            for name, arity in sorted(self._signatures):
                xs = ",".join(f"X{i}" for i in range(arity))
                atom = f"{name}({xs})" if arity else name
                for asked in ("inclusion", "exclusion"):
                    lines.append(
                        f"_holds({copy},{atom}) :- _c_{asked}({copy},{atom}), {self.atom(copy, atom)}."
                    )
            lines.append(f"_bad({copy}) :- _c_inclusion({copy},A), not _holds({copy},A).")
            lines.append(f"_bad({copy}) :- _c_exclusion({copy},A), _holds({copy},A).")
        return "\n".join(lines)


@lru_cache(maxsize=1024)
def _template(text: str) -> tuple[ast.AST, ...]:
    return tuple(parse_statements(text, "a guard")[0].body)


def _head(text: str) -> ast.AST:
    head: ast.AST = parse_statements(text, "a head")[0].head
    return head


def copies(
    background: Sequence[ast.AST],
    contexts: Iterable[Sequence[str]],
    learned: Iterable[LearnedRule] = (),
) -> Copies:
    """Prepare a program for copying.

    Args:
        background: its rules (`parse_statements`).
        contexts: the contexts of all examples, statements without full stops.
        learned: rules that may be added to every copy by `Copies.learned`.

    Raises:
        UserError: a statement is not supported.
    """
    names: set[str] = set()
    facts: set[tuple[str, int]] = set()
    signatures: set[tuple[str, int]] = set()
    contrary: set[tuple[str, int]] = set()
    rules = [statement for statement in background if statement.ast_type == ast.ASTType.Rule]
    local: list[ast.AST] = []
    seen: set[str] = set()
    for context in contexts:
        for text in context:
            if is_atom(text) and text[0] != "-":
                name, _, rest = text.partition("(")
                names.add(name)
                facts.add((name, arity_of(rest)))
            elif text not in seen:
                seen.add(text)
                local.extend(s for s in parse_statements(f"{text}.", "a context"))
    for statement in local:
        names |= shape_of(statement).heads
    everything = [*rules, *local]
    for statement in everything:
        for name, arity, negated, _ in atoms_in([statement]):
            signatures.add((name, arity))
            if negated:
                contrary.add((name, arity))
                names.add(name)
    shapes = [shape_of(statement) for statement in everything]
    for rule in learned:
        shape = shape_of_parts(rule.head, rule.body)
        names |= shape.heads
        shapes.append(shape)
        for text in (rule.head or "", *rule.body):
            if signature := signature_of(text):
                signatures.add(signature)
                if text.removeprefix("not ")[0] == "-":
                    contrary.add(signature)
                    names.add(signature[0])
    derived = facts.union(*(shape.derives for shape in shapes))
    guarded = recursive_through_negation(shapes)
    is_open = any(shape.is_open for shape in shapes)
    for shape in shapes:
        if shape.is_open:
            names |= shape.heads
    extends = bool(
        {"inclusion", "exclusion"} & {name for shape in shapes for name in shape.heads}
        | {name for name in names if name in ("inclusion", "exclusion")}
    )
    if extends:
        names |= {"inclusion", "exclusion"}
    names |= guarded
    grown = True
    while grown:
        grown = False
        for shape in shapes:
            if (shape.body | shape.negative) & names and not shape.heads <= names:
                names |= shape.heads
                grown = True
    prepared = Copies(
        dependent=frozenset(names),
        guarded=guarded,
        deterministic=not is_open and not guarded,
        derived=frozenset(derived),
        shared="",
        common="",
        local=(),
        _contrary=frozenset(contrary),
        _extends=extends,
        _signatures=frozenset(signatures | facts),
    )
    shared: list[str] = []
    copied: list[ast.AST] = []
    for statement in background:
        if statement.ast_type != ast.ASTType.Rule or (
            (heads := shape_of(statement).heads) and not heads & names
        ):
            shared.append(str(statement))
        else:
            copied.append(statement)
    return replace(
        prepared, shared="\n".join(shared), common="\n".join(map(prepared.rule, copied)), local=tuple(copied)
    )
