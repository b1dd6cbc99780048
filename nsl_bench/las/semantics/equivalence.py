"""Whether two hypotheses say the same of every possible input, decided by clingo.

Both hypotheses go into one program, everything that depends on them renamed apart, over an input that a
choice program ranges over; a constraint asks for an input on which the two differ. No answer set: they
are equivalent. The programs must be stratified, so that each has one answer on each input.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from clingo import Control, HeuristicType, Model, Symbol, ast

from nsl_bench.asp.renaming import Renaming
from nsl_bench.asp.rules import (
    arity_of,
    atoms_in,
    is_atom,
    parse_statements,
    recursive_through_negation,
    shape_of,
)
from nsl_bench.asp.text import check_text
from nsl_bench.errors import UserError
from nsl_bench.las.semantics.input_space import input_space
from nsl_bench.las.task import LasTask

__all__ = ["Counterexample", "Equivalence", "equivalent"]

_FIRST_CONFLICTS = "2000"
"""How long a difference is looked for by clingo's own heuristic, which is good at finding one."""

_SECONDS_TO_SHRINK = 0.5
"""How long a counterexample with fewer facts is looked for."""

_AGGREGATES = (ast.ASTType.Aggregate, ast.ASTType.BodyAggregate)

_TAKEN = re.compile(r"_(says|bad|holds|differ|value|key)|_[cn]_.*")
"""Predicates of the comparison's own."""


@dataclass(frozen=True)
class Counterexample:
    """An input on which two hypotheses differ.

    Attributes:
        inputs: its facts.
        first: the compared atoms that the first hypothesis derives from it.
        second: those that the second derives.
    """

    inputs: tuple[str, ...]
    first: tuple[str, ...]
    second: tuple[str, ...]

    def __str__(self) -> str:
        shown = [" ".join(f"{fact}." for fact in self.inputs) or "no facts"]
        for name, atoms in (("first", self.first), ("second", self.second)):
            shown.append(f"{name}: {', '.join(atoms) or 'none'}")
        return "\n".join(shown)


def equivalent(
    first: Sequence[str],
    second: Sequence[str],
    task: LasTask | None = None,
    *,
    background: str | None = None,
    inputs: str | None = None,
    atoms: Iterable[str] = (),
    time_limit: float | None = None,
) -> Counterexample | None:
    """None if two hypotheses derive the same atoms from every input; else an input on which they differ.

    Args:
        first: rules with full stops.
        second: rules with full stops.
        task: where background, inputs and atoms come from if they are not given.
        background: background knowledge, an ASP program.
        inputs: a choice program whose answer sets are the possible inputs, e.g.
            ``"{ card(P,R,S) : rank(R), suit(S) } = 1 :- player(P)."``; it may use the background.
        atoms: what is compared: ground atoms, or predicates as ``"name/arity"``. By default what the
            task's examples include and exclude.
        time_limit: seconds.

    Raises:
        UserError: a program does not parse, is not stratified, or time ran out before a decision.
    """
    if task is not None:
        background = task.background if background is None else background
        inputs = input_space(task) if inputs is None else inputs
        atoms = tuple(atoms) or _asked(task)
    if inputs is None or not (atoms := tuple(atoms)):
        raise UserError("To compare two hypotheses give a task, or inputs and the atoms to compare.")
    return Equivalence(background or "", inputs, atoms).differ(first, second, time_limit)


class Equivalence:
    """The inputs and atoms by which hypotheses are compared.

    Args:
        background: background knowledge.
        inputs: a choice program whose answer sets are the possible inputs.
        atoms: ground atoms, or predicates as ``"name/arity"``.
    """

    def __init__(self, background: str, inputs: str, atoms: Iterable[str]) -> None:
        self._background = parse_statements(background, "the background knowledge")
        self._inputs = parse_statements(inputs, "the inputs")
        self._atoms = [_compared(text) for text in atoms]

    def differ(
        self, first: Sequence[str], second: Sequence[str], time_limit: float | None = None
    ) -> Counterexample | None:
        """An input on which the hypotheses differ; None if there is none.

        Raises:
            UserError: a program does not parse, is not stratified, or time ran out.
        """
        rules = [
            [rule for text in hypothesis for rule in parse_statements(text, what)]
            for hypothesis, what in ((first, "the first hypothesis"), (second, "the second hypothesis"))
        ]
        _check_learned([*rules[0], *rules[1]])
        apart = _dependents(self._background, [*rules[0], *rules[1]])
        given = {d for s in self._inputs if s.ast_type == ast.ASTType.Rule for d in shape_of(s).derives}
        if names := {name for name, _ in given} & apart:
            derived = ", ".join(sorted(names))
            raise UserError(f"The hypotheses derive {derived}, which the inputs derive too.")
        shared = [s for s in self._background if not (_heads(s) or _names(s)) & apart]
        doubled = [s for s in self._background if (_heads(s) or _names(s)) & apart]
        lines = [str(statement) for statement in (*shared, *self._inputs)]
        for number, hypothesis in enumerate(rules):
            _check_stratified([*doubled, *hypothesis])
            for k, statement in enumerate((*doubled, *hypothesis)):
                lines += _doubled(statement, apart, number, k)
        lines += self._differences(apart)
        return self._solve("\n".join(lines), given, time_limit)

    def _differences(self, apart: frozenset[str]) -> list[str]:
        lines = ["#show.", "#show _says/2.", "_bad(0) :- #false. _bad(1) :- #false."]
        lines.append("_differ :- _says(0,A), not _says(1,A).  _differ :- _says(1,A), not _says(0,A).")
        lines.append(":- not _differ.")
        for name, atom, inner in self._atoms:
            if name in apart:
                for number in (0, 1):
                    copy = f"_c_{name}({number}{',' + inner if inner else ''})"
                    lines.append(f"_says({number},{atom}) :- {copy}, not _bad({number}).")
        return lines

    def _solve(
        self, program: str, given: set[tuple[str, int]], time_limit: float | None
    ) -> Counterexample | None:
        messages: list[str] = []
        control = Control(
            ["--warn=none", "--heuristic=Domain"], logger=lambda _, message: messages.append(message)
        )
        try:
            control.add(program)
            control.ground()
        except RuntimeError:
            detail = " ".join(messages[0].split()) if messages else "they do not ground"
            raise UserError(f"The hypotheses cannot be compared: {detail}.") from None
        solving = control.configuration.solve
        solving.solve_limit = _FIRST_CONFLICTS  # type: ignore[union-attr]
        found = _answer(control, given, time_limit)
        if found is False:
            with control.backend() as backend:
                for atom in control.symbolic_atoms:
                    if atom.symbol.name == "_holds" and not atom.is_fact:
                        backend.add_heuristic(atom.literal, HeuristicType.True_, 1, 1, [])
            solving.solve_limit = "umax"  # type: ignore[union-attr]
            found = _answer(control, given, time_limit)
        if isinstance(found, bool):
            raise UserError(f"Whether they differ was not decided within {time_limit or 0:g} seconds.")
        if found is None:
            return None
        for name, arity in sorted(given):
            text = f"{name}({','.join(f'X{i}' for i in range(arity))})" if arity else name
            control.add("fewer", [], f":~ {text}. [1,{text}]")
        control.ground([("fewer", [])])
        solving.models, solving.solve_limit = "0", "umax"  # type: ignore[union-attr]
        smaller = _answer(control, given, _SECONDS_TO_SHRINK)
        return smaller if isinstance(smaller, Counterexample) else found


def _answer(
    control: Control, given: set[tuple[str, int]], time_limit: float | None
) -> Counterexample | Literal[False] | None:
    """The last model found in time; None if there is none, False if it is not known."""
    found: list[Counterexample] = []

    def keep(model: Model) -> None:
        atoms = [s for s in model.symbols(atoms=True) if (s.name, len(s.arguments)) in given]
        inputs = tuple(str(s) for s in sorted(atoms) if not s.name.startswith("_"))
        says = sorted(model.symbols(shown=True))
        found.append(Counterexample(inputs, _said(says, 0), _said(says, 1)))

    with control.solve(on_model=keep, async_=True) as handle:
        if not handle.wait(time_limit):
            handle.cancel()
        finished = handle.get().exhausted
    if found:
        return found[-1]
    return None if finished else False


def _said(symbols: Sequence[Symbol], number: int) -> tuple[str, ...]:
    return tuple(str(s.arguments[1]) for s in symbols if s.arguments[0].number == number)


def _asked(task: LasTask) -> tuple[str, ...]:
    """The atoms that a task's examples include or exclude."""
    return tuple(dict.fromkeys(a for e in task.examples for a in (*e.inclusions, *e.exclusions)))


def _compared(text: str) -> tuple[str, str, str]:
    """Predicate, atom and its arguments of a compared atom or ``name/arity``."""
    check_text(text, "a compared atom")
    name, slash, arity = text.partition("/")
    if slash and arity.strip().isdigit():
        inner = ",".join(f"X{i}" for i in range(int(arity)))
        return name, f"{name}({inner})" if inner else name, inner
    if not is_atom(text) or text.startswith("-"):
        raise UserError(f"'{text}' is neither an atom nor a predicate such as 'winner/1'.")
    name, _, rest = text.partition("(")
    return name, text, rest[:-1] if arity_of(rest) else ""


def _heads(statement: ast.AST) -> set[str]:
    return shape_of(statement).heads if statement.ast_type == ast.ASTType.Rule else set()


def _names(*statements: ast.AST) -> set[str]:
    return {name for name, _, _, _ in atoms_in(statements)}


def _dependents(background: Sequence[ast.AST], learned: Sequence[ast.AST]) -> frozenset[str]:
    """The predicates that depend on what the hypotheses derive."""
    shapes = [shape_of(s) for s in background if s.ast_type == ast.ASTType.Rule]
    found = {name for statement in learned for name in _heads(statement)}
    grown = True
    while grown:
        before = len(found)
        for shape in shapes:
            if (shape.body | shape.negative) & found:
                found |= shape.heads
        grown = len(found) > before
    return frozenset(found)


def _check_learned(statements: Sequence[ast.AST]) -> None:
    """Refuse what would change the inputs, or the comparison itself."""
    for statement in statements:
        if statement.ast_type != ast.ASTType.Rule:
            raise UserError(f"'{statement}' in a hypothesis cannot be compared: rules only.")
    taken = sorted(name for name in _names(*statements) if _TAKEN.fullmatch(name))
    if taken:
        raise UserError(f"The name {taken[0]} in a hypothesis is one that the comparison uses; rename it.")


def _check_stratified(statements: Sequence[ast.AST]) -> None:
    shapes = [shape_of(s) for s in statements if s.ast_type == ast.ASTType.Rule]
    cyclic = recursive_through_negation(shapes)
    if cyclic:
        raise UserError(
            f"The hypotheses depend on a cycle through negation ({', '.join(sorted(cyclic))}), so that they "
            "have no single answer to compare."
        )
    if any(shape.is_open for shape in shapes):
        raise UserError("The hypotheses depend on a choice or disjunction and have several answers.")


def _doubled(statement: ast.AST, apart: frozenset[str], number: int, k: int) -> list[str]:
    """A rule's copy for one of the hypotheses, split at an atom that says that its body holds.

    Where the hypotheses agree, clingo decides these atoms first: then it takes one decision for each
    ground rule to refute that one hypothesis derives more than the other.
    """
    argument = parse_statements(f":- p({number}).", "a number")[0].body[0].atom.symbol.arguments[0]
    renaming = Renaming(
        lambda s, classical: ("_n_" if classical else "_c_") + s[0] if s[0] in apart else None, argument
    )
    changed: ast.AST = renaming.visit(statement)
    if statement.ast_type != ast.ASTType.Rule:
        return [str(changed)]
    if not _heads(statement):
        changed = changed.update(head=parse_statements(f"_bad({number}).", "a head")[0].head)
    if not changed.body or any(
        literal.ast_type != ast.ASTType.Literal or literal.atom.ast_type in _AGGREGATES
        for literal in changed.body
    ):
        return [str(changed)]
    variables = _Variables()
    for literal in changed.body:
        variables.visit(literal)
    holds = f"_holds({','.join([str(number), str(k), *sorted(variables.found)])})"
    return [f"{holds} :- {'; '.join(map(str, changed.body))}.", f"{changed.head} :- {holds}."]


class _Variables(ast.Transformer):
    """Collects the names of variables."""

    def __init__(self) -> None:
        self.found: set[str] = set()

    def visit_Variable(self, node: ast.AST) -> ast.AST:
        if node.name != "_":
            self.found.add(node.name)
        return node
