"""Which atoms of learned rules a program can ask for, so that no others need be grounded.

A background rule with ``not valid_move(C,T-1)`` asks for few of the atoms over all cells and times: those
for which the rest of its body can hold. What is kept of the rest depends on no learned rule and no choice, so
it is the same in every answer set. An atom that nothing asks for changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from clingo import ast

from nsl_bench.logic.asp.parsing import variables_in
from nsl_bench.logic.asp.program import Rule, Signature, signatures_in

Question = tuple[ast.AST, tuple[ast.AST, ...]]
"""An atom, and the body literals under which it is asked for."""


def questions(
    rules: Iterable[Rule], wanted: Iterable[Signature], open_predicates: frozenset[Signature]
) -> Mapping[Signature, tuple[Question, ...]]:
    """What rules ask of some predicates; without those of which they may ask for anything.

    Args:
        rules: all rules in whose bodies the predicates occur.
        wanted: the predicates.
        open_predicates: those that depend on learned rules or choices.
    """
    found: dict[Signature, list[Question]] = {signature: [] for signature in wanted if signature[1]}
    for rule in rules:
        asked = [signature for signature in found if signature in rule.signatures]
        for signature in asked:
            questions = _asked(rule, signature, open_predicates)
            if questions is None:
                del found[signature]
            else:
                found[signature] += questions
    return {signature: tuple(questions) for signature, questions in found.items()}


def _asked(rule: Rule, signature: Signature, open_predicates: frozenset[Signature]) -> list[Question] | None:
    """What a rule asks of a predicate; None if that may be anything."""
    if rule.head not in ("atom", "constraint") and signature in signatures_in([rule.node.head]):
        return None
    known, asked = [], []
    for literal in rule.node.body:
        if signature in signatures_in([literal]):
            atom = _plain(literal)
            if atom is None:
                return None
            asked.append(atom)
        elif _plain(literal) is not None and literal.sign == ast.Sign.NoSign:
            known += [literal] if not signatures_in([literal]) & open_predicates else []
    bound = {name for literal in known for name in _bound(literal.atom.symbol)}
    known += [each for each in rule.node.body if _is_comparison(each) and variables_in(each) <= bound]
    if not all(variables_in(atom) <= bound for atom in asked):
        return None
    return [(atom, tuple(known)) for atom in asked]


def _plain(literal: ast.AST) -> ast.AST | None:
    """The atom of a literal that is one, perhaps negated by ``not``."""
    if literal.ast_type != ast.ASTType.Literal or literal.atom.ast_type != ast.ASTType.SymbolicAtom:
        return None
    atom: ast.AST = literal.atom
    return atom if atom.symbol.ast_type == ast.ASTType.Function else None


def _is_comparison(literal: ast.AST) -> bool:
    return literal.ast_type == ast.ASTType.Literal and literal.atom.ast_type == ast.ASTType.Comparison


def _bound(term: ast.AST) -> set[str]:
    """The variables that an atom binds, those in arithmetic left out."""
    if term.ast_type == ast.ASTType.Variable:
        return {term.name} - {"_"}
    if term.ast_type != ast.ASTType.Function:
        return set()
    return {name for each in term.arguments for name in _bound(each)}


def unread_heads(learned: Sequence[Rule]) -> frozenset[Signature]:
    """The predicates that learned rules derive and do not ask for."""
    heads = frozenset(signature for rule in learned for signature in rule.derives)
    return heads.difference(*(rule.body for rule in learned))
