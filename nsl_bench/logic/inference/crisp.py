"""Crisp inference: the labels that rules derive from the facts of many examples at once.

Examples with the same context are evaluated once. A few groundings evaluate all of them, with one replica of
the program per example (`nsl_bench.logic.asp.replicas`). A stratified program has one answer set. A program
that is not stratified can have several; a label is then derived if it is in all of them (cautious
consequence), which needs one call per example.
"""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from nsl_bench.core.types import AMBIGUOUS, UNDECIDED, Bools, Ints16, LabelSpace
from nsl_bench.logic.asp.atoms import goal_of, read_atom
from nsl_bench.logic.asp.parsing import grounded
from nsl_bench.logic.asp.program import Program, parse
from nsl_bench.logic.asp.replicas import Replicas, replicate
from nsl_bench.logic.inference.answered import known_labels
from nsl_bench.logic.inference.program.unfolding import unfold

_FACTS_AT_ONCE = 20_000


def crisp_labels(
    rules: Sequence[str], background: str, contexts: Sequence[tuple[str, ...]], labels: LabelSpace
) -> Ints16:
    """The label of each example under a hypothesis.

    Args:
        rules: the hypothesis, one rule each, with full stops.
        background: background knowledge, ASP.
        contexts: facts (or rules) of each example, without full stops.
        labels: the labels and their atoms.

    Returns:
        int16 [n]: an index into `labels`; `UNDECIDED` if no label is derived or no answer set exists;
        `AMBIGUOUS` if several are derived. A label without an atom holds if no atom is derived.
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
    known_labels(rules, background, labels).update(zip(contexts, result.tolist(), strict=True))
    return result


def derived(
    rules: Sequence[str], background: str, contexts: Sequence[tuple[str, ...]], atoms: Sequence[str]
) -> tuple[Bools, Bools]:
    """The ground atoms that follow for each example.

    Args:
        rules: as for `crisp_labels`.
        background: as for `crisp_labels`.
        contexts: as for `crisp_labels`.
        atoms: ground atoms, e.g. ``["winner(1)", "winner(2)"]``.

    Returns:
        bool [n, atoms], whether an atom is in every answer set; bool [n], whether an answer set exists.
    """
    goals = [goal_of(atom) for atom in atoms]
    program = parse("\n".join(rules), "the hypothesis") + parse(background, "the background knowledge")
    predicates = {(goal.name, len(goal.arguments)) for goal in goals}
    rows: dict[tuple[str, ...], int] = {}
    inverse = np.array([rows.setdefault(context, len(rows)) for context in contexts], np.int64)
    distinct = list(rows)
    stated = _stated(distinct)
    holds = np.zeros((len(distinct), len(goals)), np.bool_)
    consistent = np.ones(len(distinct), np.bool_)
    if stated is not None and program.stratified and not any(goal.negative for goal in goals):
        # what a goal does not depend on cannot change the one answer set
        sliced = program.slice(predicates)
        relevant = sliced.signatures | predicates
        sliced = unfold(sliced, (stated & relevant) | predicates).slice(predicates)
        facts = [
            [text for text in context if (a := read_atom(text)) and a.signature in relevant]
            for context in distinct
        ]
        replicas = replicate(sliced, facts, asked=atoms)
        for start, stop in _chunks([len(fact) for fact in facts]):
            _answer(replicas, facts[start:stop], goals, holds[start:stop], consistent[start:stop])
    else:
        for i, context in enumerate(distinct):
            consistent[i] = _answer_one(program, context, goals, holds[i])
    return holds[inverse], consistent[inverse]


def _stated(contexts: Sequence[tuple[str, ...]]) -> frozenset[tuple[str, int]] | None:
    """The predicates of the contexts' facts; None if one holds a rule or a classically negated fact."""
    result: set[tuple[str, int]] = set()
    for text in dict.fromkeys(text for context in contexts for text in context):
        atom = read_atom(text)
        if atom is None or atom.classical:
            return None
        result.add(atom.signature)
    return frozenset(result)


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


def _answer(
    replicas: Replicas, facts: Sequence[Sequence[str]], goals: Sequence[Any], holds: Bools, consistent: Bools
) -> None:
    """Fill the rows of these examples; the program is stratified."""
    lines = [
        replicas.shared,
        replicas.common,
        replicas.frame(),
        f"{replicas.example(f'0..{len(facts) - 1}')}.",
    ]
    lines += [replicas.context(i, own) for i, own in enumerate(facts)]
    control = grounded("The hypothesis", text="\n".join(lines))
    with control.solve(yield_=True) as handle:
        model = handle.model()
        for column, goal in enumerate(goals):
            signature = (goal.name, len(goal.arguments))
            if signature not in replicas.dependent:
                atom = control.symbolic_atoms[goal]
                holds[:, column] = atom is not None and (atom.is_fact or model.is_true(atom.literal))
        columns = {(replicas.predicate(g.name), tuple(g.arguments)): j for j, g in enumerate(goals)}
        for name, arity in {(name, len(arguments)) for name, arguments in columns}:
            for atom in control.symbolic_atoms.by_signature(name, arity + 1):
                example, *arguments = atom.symbol.arguments
                column = columns.get((name, tuple(arguments)), -1)
                if column >= 0 and (atom.is_fact or model.is_true(atom.literal)):
                    holds[example.number, column] = True
        for atom in control.symbolic_atoms.by_signature(replicas.names("violated"), 1):
            if atom.is_fact or model.is_true(atom.literal):
                consistent[atom.symbol.arguments[0].number] = False


def _answer_one(program: Program, context: tuple[str, ...], goals: Sequence[Any], holds: Bools) -> bool:
    """Fill one example's row with its cautious consequences; whether it has an answer set at all."""
    statements = parse("".join(f"{text}.\n" for text in context), "the context of an example")
    whole = program + statements
    control = grounded("The hypothesis", whole.nodes, arguments=("0", "--enum-mode=cautious"))
    result = False
    with control.solve(yield_=True) as handle:
        for model in handle:
            result = True
            holds[:] = [model.contains(goal) for goal in goals]
    return result
