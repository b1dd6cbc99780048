"""Predicates of the background that only body literals read, such as ``greater_than(X,Y)`` over 0..1000.

They hold the same in every context, so they are grounded by themselves, and only for the values that matter:
of 500,000 pairs of numbers, those with a number that some example mentions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from clingo import ast

from nsl_bench.logic.asp.atoms import read_atom
from nsl_bench.logic.asp.grounding import grounded
from nsl_bench.logic.asp.names import Names
from nsl_bench.logic.asp.program import Program, Rule, Signature, statement
from nsl_bench.logic.las.language_bias import ModeAtom, Placeholder
from nsl_bench.logic.las.task import LasTask

if TYPE_CHECKING:
    from clingo import Symbol

__all__ = ["Wanted", "looked_up", "lookups", "without"]

Wanted = Mapping[int, Iterable["Symbol"]]
"""Values of some arguments, by their places: atoms with others at one of these places need not be known."""


def lookups(task: LasTask, texts: Iterable[str]) -> frozenset[Signature]:
    """The predicates that nothing but body literals reads, and that no context and no hypothesis changes.

    Args:
        task: the task. Only predicates that are compared with constants are looked for: of one variable.
        texts: the statements of contexts, and the atoms that examples ask about.
    """
    program, bias = task.program, task.bias
    atoms = [mode.literal for mode in bias.bodies if isinstance(mode.literal, ModeAtom)]
    read = {atom.signature for atom in atoms} - {atom.signature for atom in atoms if not _compares(atom)}
    found = {head for rule in program.rules for head in rule.derives if rule.body} & read
    if not found or program.classical:
        return frozenset()
    stated = _signatures_of(texts)
    types = [p.type for m in bias.heads for p in m.atom.placeholders]
    types += [p.type for m in bias.bodies for p in m.literal.placeholders]
    given = [rule.parsed for rule in (*bias.rules, *bias.instances)]
    found -= bias.learned | {(kind, 1) for kind in types} | stated
    found = found.difference(*(rule.signatures for rule in given))
    changed = (bias.learned | stated).union(*(rule.derives for rule in given))
    changed = changed.union(
        program.cycles_through_negation, *(rule.derives for rule in program.rules if rule.is_open)
    )
    return frozenset(found - program.dependents(changed) - _read_by_rules(program))


def _read_by_rules(program: Program) -> set[Signature]:
    """The predicates in bodies of rules, those that are recursive among them, and those of odd heads."""
    found: set[Signature] = set()
    for rule in program.rules:
        found |= rule.body
        if rule.head != "atom" or rule.node.head.atom.symbol.ast_type != ast.ASTType.Function:
            found |= rule.derives
    return found


def _compares(atom: ModeAtom) -> bool:
    """Whether a declaration has one variable, an argument of its own, and constants."""
    kinds = [place.kind for place in atom.placeholders]
    return (
        kinds.count("var") == 1
        and "const" in kinds
        and any(isinstance(term, Placeholder) and term.kind == "var" for term in atom.arguments)
    )


def _signatures_of(texts: Iterable[str]) -> set[Signature]:
    """The predicates of some statements."""
    found: set[Signature] = set()
    for text in texts:
        atom = read_atom(text)
        if atom is not None:
            found.add(atom.signature)
        else:
            found = found.union(*(rule.signatures for rule in statement(text).rules))
    return found


def without(program: Program, signatures: frozenset[Signature]) -> Program:
    """The program without the rules that derive one of these predicates."""
    return replace(program, rules=tuple(rule for rule in program.rules if not rule.derives & signatures))


def looked_up(program: Program, signature: Signature, wanted: Sequence[Wanted]) -> list[Sequence[Symbol]]:
    """The arguments of the atoms of a predicate that one of the uses wants.

    Args:
        program: what derives it.
        signature: one of its `lookups`.
        wanted: what each use of the predicate wants.
    """
    rules = [rule for rule in program.slice([signature]).rules if rule.derives]
    own = [rule for rule in rules if signature in rule.derives]
    names = Names.apart_from([rule.text for rule in rules] + [signature[0]])
    others = Program(tuple(rule for rule in rules if signature not in rule.derives), program.constants)
    lines = [
        f"{names(f'wanted{i}_{k}')}({value})."
        for i, use in enumerate(wanted)
        for k, values in use.items()
        for value in values
    ]
    limited = [node for rule in own for node in _limited(rule, wanted, names)]
    control = grounded("The background", [*others.nodes, *limited], "\n".join(lines))
    return [atom.symbol.arguments for atom in control.symbolic_atoms.by_signature(*signature)]


def _limited(rule: Rule, wanted: Sequence[Wanted], names: Names) -> Iterator[ast.AST]:
    """The rule, once for each use, for the values that it wants."""
    terms = rule.node.head.atom.symbol.arguments
    for i, use in enumerate(wanted):
        more = []
        for k in use:
            if terms[k].ast_type == ast.ASTType.Variable:
                place = terms[k].location
                atom = ast.SymbolicAtom(ast.Function(place, names(f"wanted{i}_{k}"), [terms[k]], 0))
                more.append(ast.Literal(place, ast.Sign.NoSign, atom))
        yield rule.node.update(body=[*rule.node.body, *more])
        if not more:
            return
