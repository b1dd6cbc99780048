"""Crisp inference: the label that rules derive from an example's facts, for a whole test set at once.

Examples with the same context are answered once, and all of them in a few groundings (`program` says
how). The answer of clingo to a stratified program is its one answer set. A program that is not stratified
can have several: a label is then derived if it is in every one of them (cautious consequence), which asks
for one call an example.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from nsl_bench.asp.text import goal_of, parse_atom
from nsl_bench.errors import UserError
from nsl_bench.inference.program.rules import EXAMPLE, VIOLATED, Program, Signature, clean_message
from nsl_bench.inference.program.unfolding import unfold
from nsl_bench.types import AMBIGUOUS, UNDECIDED, LabelSpace

__all__ = ["crisp_labels", "derived"]

_FACTS_AT_ONCE = 20_000


def crisp_labels(
    rules: Sequence[str], background: str, contexts: Sequence[tuple[str, ...]], labels: LabelSpace
) -> npt.NDArray[np.int16]:
    """The label of each example under a hypothesis.

    Args:
        rules: the hypothesis, one rule each, with full stops.
        background: background knowledge, ASP.
        contexts: an example's facts (or rules) each, without full stops.
        labels: the labels and their atoms.

    Returns:
        int16 [n]: an index into `labels`; `UNDECIDED` where no label is derived, or no answer set exists;
        `AMBIGUOUS` where several are derived. The label without an atom holds if no atom is derived.

    Raises:
        UserError: a syntax error, an unsafe rule, `#script` or `#include`.
    """
    with_atom = [i for i, atom in enumerate(labels.atoms) if atom is not None]
    holds, consistent = derived(rules, background, contexts, [labels.atoms[i] or "" for i in with_atom])
    count = holds.sum(axis=1)
    default = labels.atoms.index(None) if None in labels.atoms else UNDECIDED
    result = np.full(len(contexts), default, np.int16)
    single = count == 1
    if with_atom:
        result[single] = np.asarray(with_atom, np.int16)[holds[single].argmax(axis=1)]
    result[count > 1] = AMBIGUOUS
    result[~consistent] = UNDECIDED
    return result


def derived(
    rules: Sequence[str], background: str, contexts: Sequence[tuple[str, ...]], atoms: Sequence[str]
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Which ground atoms follow for each example.

    Args:
        rules: as for `crisp_labels`.
        background: as for `crisp_labels`.
        contexts: as for `crisp_labels`.
        atoms: ground atoms, e.g. ``["winner(1)", "winner(2)"]``.

    Returns:
        bool [n, atoms]: what holds in every answer set; bool [n]: whether there is an answer set.

    Raises:
        UserError: as for `crisp_labels`.
    """
    goals = [goal_of(atom) for atom in atoms]
    program = Program.parse("\n".join(rules), "the hypothesis")
    program += Program.parse(background, "the background knowledge")
    _check_safety(program)
    wanted = {(goal.name, len(goal.arguments)) for goal in goals}
    # What a goal does not depend on still decides whether there are answer sets, unless stratified.
    sliced = program.slice(wanted) if program.stratified else program
    rows: dict[tuple[str, ...], int] = {}
    inverse = np.array([rows.setdefault(context, len(rows)) for context in contexts], np.int64)
    distinct = list(rows)
    read = _Contexts(sliced.signatures | wanted)
    facts = [read(context) for context in distinct]
    holds = np.zeros((len(distinct), len(goals)), np.bool_)
    consistent = np.ones(len(distinct), np.bool_)
    if program.stratified and read.plain:
        sliced = unfold(sliced, read.signatures | wanted).slice(wanted)
        for start, stop in _chunks([len(fact) for fact in facts]):
            _answer(sliced, read, facts[start:stop], goals, holds[start:stop], consistent[start:stop])
    else:
        for i, context in enumerate(distinct):
            consistent[i] = _answer_one(program, context, goals, holds[i])
    return holds[inverse], consistent[inverse]


class _Contexts:
    """Reads contexts into facts over relevant predicates, each distinct text once.

    Attributes:
        signatures: predicates of the facts read so far.
        plain: whether everything read so far was a fact over a predicate without classical negation.
    """

    def __init__(self, relevant: frozenset[Signature]) -> None:
        self.signatures: set[Signature] = set()
        self.plain = True
        self._relevant = relevant
        self._known: dict[str, tuple[str, str] | None] = {}

    def __call__(self, context: tuple[str, ...]) -> list[tuple[str, str]]:
        """The facts of a context as pairs (what stands before the example's name, what behind it)."""
        known = self._known
        read = [known[text] if text in known else self._read(text) for text in context]
        return [fact for fact in read if fact is not None]

    def _read(self, text: str) -> tuple[str, str] | None:
        fact = None
        # A term of clingo is evaluated and ground, hence a fact; all else is a statement.
        symbol = parse_atom(text)
        if symbol is None or symbol.negative:
            self.plain = False
        elif (symbol.name, len(symbol.arguments)) in self._relevant:
            self.signatures.add((symbol.name, len(symbol.arguments)))
            rest = "".join(f",{argument}" for argument in symbol.arguments)
            fact = (f"{symbol.name}(", f"{rest}).")
        self._known[text] = fact
        return fact


def _chunks(sizes: Sequence[int]) -> list[tuple[int, int]]:
    """Consecutive ranges of examples of about the same number of facts, to bound memory."""
    bounds = [0]
    facts = 0
    for i, size in enumerate(sizes):
        facts += size + 1
        if facts >= _FACTS_AT_ONCE:
            bounds.append(i + 1)
            facts = 0
    if bounds[-1] != len(sizes):
        bounds.append(len(sizes))
    return list(itertools.pairwise(bounds))


def _control(*arguments: str) -> tuple[Any, list[str]]:
    import clingo

    messages: list[str] = []
    control = clingo.Control(
        ["--warn=none", *arguments], logger=lambda _, message: messages.append(message), message_limit=5
    )
    return control, messages


def _check_safety(program: Program) -> None:
    """Ground the program for no example at all, which finds what is unsafe and names it as written."""
    from clingo import ast

    control, messages = _control()
    try:
        with ast.ProgramBuilder(control) as builder:
            for node in [*program.constants, *(rule.node for rule in program.rules)]:
                builder.add(node)
        control.ground([("base", [])])
    except RuntimeError:
        raise UserError(f"The hypothesis cannot be used: {clean_message(messages)}.") from None


def _answer(
    program: Program,
    read: _Contexts,
    facts: list[list[tuple[str, str]]],
    goals: Sequence[Any],
    holds: npt.NDArray[np.bool_],
    consistent: npt.NDArray[np.bool_],
) -> None:
    """Fill the rows of these examples; the program is stratified."""
    from clingo import ast

    # Goals count as dependent even if no context reaches them: `invalid.` holds of every example.
    dependent = program.dependent(read.signatures | {(g.name, len(g.arguments)) for g in goals})
    control, messages = _control()
    text = [f"{EXAMPLE}(0..{len(facts) - 1})."]
    text += [f"{before}{i}{behind}" for i, pairs in enumerate(facts) for before, behind in pairs]
    try:
        with ast.ProgramBuilder(control) as builder:
            for node in program.for_examples(dependent):
                builder.add(node)
        control.add("base", [], "\n".join(text))
        control.ground([("base", [])])
    except RuntimeError:
        raise UserError(f"The hypothesis cannot be grounded: {clean_message(messages)}.") from None
    columns = {(goal.name, tuple(goal.arguments)): j for j, goal in enumerate(goals)}
    with control.solve(yield_=True) as handle:
        model = handle.model()
        for name, arity in {(goal.name, len(goal.arguments)) for goal in goals}:
            for atom in control.symbolic_atoms.by_signature(name, arity + 1):
                example, *arguments = atom.symbol.arguments
                column = columns.get((name, tuple(arguments)))
                if column is not None and (atom.is_fact or model.is_true(atom.literal)):
                    holds[example.number, column] = True
        for atom in control.symbolic_atoms.by_signature(VIOLATED, 1):
            if atom.is_fact or model.is_true(atom.literal):
                consistent[atom.symbol.arguments[0].number] = False


def _answer_one(
    program: Program, context: tuple[str, ...], goals: Sequence[Any], holds: npt.NDArray[np.bool_]
) -> bool:
    """Fill one example's row with its cautious consequences; whether it has an answer set at all."""
    from clingo import ast

    statements = Program.parse("".join(f"{text}.\n" for text in context), "the context of an example")
    control, messages = _control("0", "--enum-mode=cautious")
    try:
        with ast.ProgramBuilder(control) as builder:
            for node in [*program.constants, *(r.node for r in program.rules + statements.rules)]:
                builder.add(node)
        control.ground([("base", [])])
    except RuntimeError:
        raise UserError(f"The hypothesis cannot be grounded: {clean_message(messages)}.") from None
    found = False
    with control.solve(yield_=True) as handle:
        for model in handle:
            found = True
            holds[:] = [model.contains(goal) for goal in goals]
    return found
