"""The instances of rules that fire for an example, as text."""

from collections.abc import Sequence
from typing import Any

from nsl_bench.logic.asp.atoms import Names
from nsl_bench.logic.asp.parsing import grounded
from nsl_bench.logic.asp.program import parse
from nsl_bench.logic.inference.crisp import derived


def fired(rules: Sequence[str], background: str, context: Sequence[str]) -> list[str]:
    """The ground instances of the hypothesis's rules that fire.

    Args:
        rules: the hypothesis, with full stops.
        context: facts of the example, without full stops.

    Returns:
        The instances, e.g. ``winner(2) :- player(2), not p1(2).``, in the order of the rules.
    """
    from clingo import ast

    hypothesis = parse("\n".join(rules), "the hypothesis")
    program = hypothesis + parse(background, "the background knowledge")
    facts = parse("".join(f"{fact}.\n" for fact in context), "the example's facts")
    mark = Names.apart_from(map(str, (program, facts)))("fired")
    marks, names = [], []
    for k, rule in enumerate(hypothesis.rules):
        variables = sorted(_variables([rule.node.head, *rule.node.body]))
        names.append(variables)
        terms = ",".join([str(k), *variables])
        parsed: list[Any] = []
        ast.parse_string(f"{mark}({terms}).", parsed.append)
        marks.append(ast.Rule(rule.node.location, parsed[-1].head, rule.node.body))
    statements = [*program.constants, *(r.node for r in (*program.rules, *facts.rules) if r.derives), *marks]
    control = grounded("The hypothesis", statements)
    with control.solve(yield_=True) as handle:
        model = handle.model()
        mark_atoms = [] if model is None else [a for a in model.symbols(atoms=True) if a.name == mark]
    instances = []
    for atom in sorted(mark_atoms, key=lambda atom: (atom.arguments[0].number, atom.arguments)):
        k = atom.arguments[0].number
        values = dict(zip(names[k], atom.arguments[1:], strict=True))
        instances.append(_text(hypothesis.rules[k].node, values))
    return instances


def rules_that_fire(
    rules: Sequence[str], background: str, contexts: Sequence[tuple[str, ...]]
) -> list[list[int]]:
    """For each example, which of the hypothesis's rules fire, counted from 0.

    Args:
        rules: the hypothesis, with full stops.
        contexts: facts of each example, without full stops.
    """
    from clingo import ast

    hypothesis = parse("\n".join(rules), "the hypothesis")
    names = Names.apart_from([str(hypothesis), background, *(fact for facts in contexts for fact in facts)])
    marks = [names(f"fires_{k}") for k in range(len(hypothesis.rules))]
    texts = []
    for mark, rule in zip(marks, hypothesis.rules, strict=True):
        parsed: list[Any] = []
        ast.parse_string(f"{mark}.", parsed.append)
        texts.append(str(ast.Rule(rule.node.location, parsed[-1].head, rule.node.body)))
    holds, _ = derived([*rules, *texts], background, contexts, marks)
    return [[k for k, one in enumerate(row) if one] for row in holds.tolist()]


def _variables(nodes: Sequence[Any]) -> set[str]:
    from clingo import ast

    names: set[str] = set()

    class Collector(ast.Transformer):
        def visit_Variable(self, node: Any) -> Any:
            if node.name != "_":
                names.add(node.name)
            return node

        # What is bound inside an aggregate or a condition has no one value.
        def visit_BodyAggregate(self, node: Any) -> Any:
            return node

        def visit_ConditionalLiteral(self, node: Any) -> Any:
            return node

    for node in nodes:
        Collector().visit(node)
    return names


def _text(node: Any, values: dict[str, Any]) -> str:
    from clingo import ast

    class Substitution(ast.Transformer):
        def visit_Variable(self, variable: Any) -> Any:
            value = values.get(variable.name)
            return variable if value is None else ast.SymbolicTerm(variable.location, value)

    replaced = Substitution().visit(node)
    body = ", ".join(str(literal) for literal in replaced.body)
    head = "" if str(replaced.head) == "#false" else f"{replaced.head} "
    return f"{head}:- {body}." if body else f"{replaced.head}."
