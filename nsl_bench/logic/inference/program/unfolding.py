"""Unfolding: definitions are put in the place of what they define, so that grounding need not list them.

Background knowledge such as ``neq(X,Y) :- cell(X), cell(Y), X != Y.`` has thousands of instances an
example, of which a rule needs few. Where the definition is a single rule without variables of its own,
its body stands for the atom, and the join does the rest. That keeps a stratified program's answer set
(Tamaki, Sato: "Unfold/fold transformation of logic programs", 1984).
"""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from clingo import ast
from clingo.ast import ASTType, Sign

from nsl_bench.logic.asp.parsing import variables_in
from nsl_bench.logic.asp.program import Program, Rule, Signature, rule_of


def unfold(program: Program, given: Iterable[Signature]) -> Program:
    """A program with the same answer sets over the predicates that it still defines.

    Args:
        program: a stratified program.
        given: predicates that have facts besides the program's rules; they are left alone.

    Returns:
        The program with each simple definition unfolded into the positive bodies that use it. The
        definitions are still there; `Program.slice` drops those that nothing uses any more.
    """
    definitions = _definitions(program, frozenset(given))
    rules: list[Rule] = []
    for rule in program.rules:
        body = _expand(rule.node.body, definitions)
        unfolded = rule if body is None else rule_of(rule.node.update(body=body))
        rules += [] if unfolded is None else [unfolded]
    return Program(tuple(rules), program.constants)


def _definitions(program: Program, given: frozenset[Signature]) -> dict[Signature, Any]:
    """The rules that can stand for what they define, in an order-free form: already unfolded."""
    count = Counter(head for rule in program.rules for head in rule.derives)
    simple: dict[Signature, Any] = {}
    for rule in program.rules:
        for head in rule.derives:
            if count[head] == 1 and head not in given and rule.head == "atom" and _is_simple(rule.node):
                simple[head] = rule.node
    # Without recursion no definition needs more rounds than there are definitions.
    for _ in range(len(simple)):
        changed = False
        for head, node in simple.items():
            body = _expand(node.body, {key: other for key, other in simple.items() if key != head})
            if body is not None:
                simple[head] = node.update(body=body)
                changed = True
        if not changed:
            break
    return simple


def _is_simple(node: Any) -> bool:
    """Whether a rule has plain literals only, distinct variables as arguments, and no variable besides."""
    symbol = node.head.atom.symbol
    if symbol.ast_type != ASTType.Function or not node.body:
        return False
    arguments = symbol.arguments
    names = {argument.name for argument in arguments if argument.ast_type == ASTType.Variable}
    if len(names) != len(arguments) or "_" in names:
        return False
    plain = (ASTType.SymbolicAtom, ASTType.Comparison)
    if any(lit.ast_type != ASTType.Literal or lit.atom.ast_type not in plain for lit in node.body):
        return False
    return set().union(*map(variables_in, node.body)) <= names | {"_"}


class _Substitution(ast.Transformer):
    """Puts terms in the place of variables."""

    def __init__(self, values: dict[str, Any]) -> None:
        self.values = values

    def visit_Variable(self, variable: Any) -> Any:
        return self.values.get(variable.name, variable)


def _expand(body: Iterable[Any], definitions: dict[Signature, Any]) -> list[Any] | None:
    """The body with one round of definitions put in; None if there is nothing to put in."""
    changed = False
    result: dict[str, Any] = {}
    for literal in body:
        definition = _definition_of(literal, definitions)
        if definition is None:
            result.setdefault(str(literal), literal)
            continue
        changed = True
        parameters = definition.head.atom.symbol.arguments
        values = dict(zip((p.name for p in parameters), literal.atom.symbol.arguments, strict=True))
        substitution = _Substitution(values)
        for part in definition.body:
            replaced = substitution.visit(part)
            result.setdefault(str(replaced), replaced)
    return list(result.values()) if changed else None


def _definition_of(literal: Any, definitions: dict[Signature, Any]) -> Any | None:
    if literal.ast_type != ASTType.Literal or literal.sign != Sign.NoSign:
        return None
    if literal.atom.ast_type != ASTType.SymbolicAtom or literal.atom.symbol.ast_type != ASTType.Function:
        return None
    symbol = literal.atom.symbol
    terms = (ASTType.Variable, ASTType.SymbolicTerm)
    # An anonymous variable would stand for one thing in the atom and for several in the body.
    if any(a.ast_type not in terms or str(a) == "_" for a in symbol.arguments):
        return None
    return definitions.get((symbol.name, len(symbol.arguments)))
