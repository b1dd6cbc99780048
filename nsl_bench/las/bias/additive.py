"""Whether costs of rules add up literal by literal, and what each head and literal then costs.

The fast path enumerates bodies by adding up costs; a bias that prices a rule as a whole (counts,
constraints, negative penalties) is left to the tiers that hold the rules of the space one by one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from nsl_bench.las.task import LanguageBias

if TYPE_CHECKING:
    from clingo.ast import AST

__all__ = ["additive_costs"]

_VARIABLE = re.compile(r"\b_*[A-Z]\w*\b|\b_\b")


def additive_costs(
    bias: LanguageBias, heads: Sequence[str], literals: Sequence[str]
) -> tuple[list[int], list[int]] | None:
    """Costs of the heads and of the body literals, whose sums are the costs of rules.

    Args:
        bias: its ``penalties`` are looked into.
        heads: atoms as text.
        literals: body literals as text, e.g. ``"not row(V1,V2)"``.

    Returns:
        None where the bias does not price rules that way.
    """
    from nsl_bench.las.bias.costs import flat_costs, rule_costs

    flat = flat_costs(bias)
    if flat is not None:
        return [flat[0]] * len(heads), [flat[1]] * len(literals)
    if not _is_additive(bias):
        return None
    rules: list[tuple[str | None, tuple[str, ...]]] = [(None, ())]
    rules += [(head, ()) for head in heads]
    rules += [(None, (literal,)) for literal in literals]
    empty, *rest = (cost or 0 for cost in rule_costs(bias, rules))
    return rest[: len(heads)], [cost - empty for cost in rest[len(heads) :]]


def _is_additive(bias: LanguageBias) -> bool:
    """Whether each penalty is the rule's own or one literal's, and no two of them coincide."""
    statements: list[AST] = [*bias.scoring.constants, *(rule.node for rule in bias.scoring.rules)]
    shapes: set[str] = set()
    for statement in statements:
        if str(statement) == "#program base.":
            continue
        shape = _additive_shape(statement)
        if shape is None or shape in shapes:
            return False
        shapes.add(shape)
    return True


def _additive_shape(statement: AST) -> str | None:
    """The functor of the penalty's reason, by which penalties of different statements differ."""
    from clingo.ast import ASTType, Sign

    if statement.ast_type != ASTType.Rule or len(statement.body) > 1:
        return None
    head = statement.head
    if head.ast_type != ASTType.Literal or head.atom.ast_type != ASTType.SymbolicAtom:
        return None
    symbol = head.atom.symbol
    if symbol.ast_type != ASTType.Function or symbol.name != "penalty" or len(symbol.arguments) != 2:
        return None
    shape = re.match(r"[a-z_]\w*", str(symbol.arguments[1]))
    if shape is None or not re.fullmatch(r"\d+", str(symbol.arguments[0])):
        return None
    for literal in statement.body:
        if literal.ast_type != ASTType.Literal or literal.sign != Sign.NoSign:
            return None
        if literal.atom.ast_type != ASTType.SymbolicAtom or literal.atom.symbol.ast_type != ASTType.Function:
            return None
        source = literal.atom.symbol
        if source.name not in ("in_head", "in_body"):
            return None
        used = set(_VARIABLE.findall(str(source.arguments[0])))
        if not used <= set(_VARIABLE.findall(str(symbol.arguments[1]))) or "_" in used:
            return None
    return shape[0]
