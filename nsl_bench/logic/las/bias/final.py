"""What a hypothesis costs as a whole: FastLAS's ``#final_bias``.

`#bias` derives `intermediate(X)` from each rule. `#final_bias` derives penalties from what all rules of a
hypothesis derive together, which add to the costs of the rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from clingo import SymbolType, ast

from nsl_bench.core.budget import Budget
from nsl_bench.core.errors import UserError
from nsl_bench.logic.asp.grounding import grounded
from nsl_bench.logic.asp.program import Program, parse
from nsl_bench.logic.las.bias.costs import RuleParts
from nsl_bench.logic.las.bias.program import bias_program
from nsl_bench.logic.las.bias.reification import atoms_as_rules, in_body, in_head, variables_of
from nsl_bench.logic.las.language_bias import NEGATIVE_PENALTY, LanguageBias


def check_final(bias: LanguageBias) -> None:
    """Refuse a ``#final_bias`` that forbids or chooses, or that meets rules without an `intermediate(X)`."""
    program = _program(bias)
    if any(rule.head != "atom" for rule in program.rules) or not program.stratified:
        raise UserError("#final_bias must derive penalties alone, without constraints, choices and cycles.")
    guards = {f"{place.type}({place})" for atom in bias.atoms for place in atom.placeholders}
    if bias.rules or bias.meta_modes or guards & {str(atom) for atom in bias.atoms}:
        raise UserError(
            "#final_bias together with complete rules or a mode 'type(var(type))' is not supported."
        )


def _program(bias: LanguageBias) -> Program:
    return parse("\n".join(bias.final), "#final_bias")


def marks(
    bias: LanguageBias, rules: Iterable[RuleParts], budget: Budget | None = None
) -> list[frozenset[str]]:
    """What ``intermediate/1`` holds of each rule, as text."""
    nodes = tuple(bias_program(bias).program.nodes)
    found = []
    for head, body in rules:
        if budget is not None:
            budget.check()
        atoms = [*([] if head is None else [in_head(head)]), *map(in_body, body)]
        control = grounded("#bias", [*nodes, *atoms_as_rules(atoms)])
        atoms = []
        control.solve(on_model=lambda model, found=atoms: found.extend(model.symbols(atoms=True)))  # type: ignore[misc]
        held = [atom.arguments[0] for atom in atoms if atom.match("intermediate", 1)]
        if any(variables_of(term) for term in held):
            raise UserError("intermediate(X) in #bias must not name variables of a rule.")
        found.append(frozenset(map(str, held)))
    return found


def final_cost(bias: LanguageBias, held: Iterable[str]) -> int:
    """What ``#final_bias`` charges where these terms are intermediate."""
    text = "\n".join([*bias.final, *(f"intermediate({term})." for term in sorted(held))])
    control = grounded("#final_bias", tuple(parse(text, "#final_bias").nodes))
    weights = [atom.symbol.arguments[0] for atom in control.symbolic_atoms.by_signature("penalty", 2)]
    if any(weight.type != SymbolType.Number or weight.number < 0 for weight in weights):
        raise UserError(f"#final_bias: {NEGATIVE_PENALTY}")
    return sum(weight.number for weight in weights)


def final_lines(bias: LanguageBias, held: Sequence[frozenset[str]], chosen: str, prefix: str) -> list[str]:
    """The same as a program over chosen rules, with a weak constraint for each penalty.

    Args:
        held: what is intermediate for each rule (`marks`).
        chosen: the predicate that chooses a rule by its number.
        prefix: begins the names of its predicates.
    """
    apart = _Apart(prefix)
    lines = [str(apart.visit(node)) for node in _program(bias).nodes]
    lines += [
        f"{prefix}intermediate({term}) :- {chosen}({k})." for k, terms in enumerate(held) for term in terms
    ]
    return [*lines, f":~ {prefix}penalty(W,X). [W,{prefix}penalty(W,X)]"]


class _Apart(ast.Transformer):
    """Gives predicates names of their own."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix

    def visit_SymbolicAtom(self, node: ast.AST) -> ast.AST:
        """Renames an atom's predicate; terms are left."""
        symbol = node.symbol
        if symbol.ast_type != ast.ASTType.Function:
            raise UserError(f"#final_bias: '{node}' is not a plain atom.")
        return node.update(symbol=symbol.update(name=self._prefix + symbol.name))
