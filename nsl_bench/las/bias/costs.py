"""What rules cost under a language bias.

FastLAS scores a rule by a logic program over what is in it (Law, Russo, Bertino, Broda, Lobo: "FastLAS:
scalable inductive logic programming incorporating domain-specific optimisation criteria", AAAI 2020):
`in_head(A)` and `in_body(A)` are facts, variables standing as constants, `neg(A)` for a literal under
`not` and `binop("!=",A,B)` for a comparison; the weights of the derived `penalty(weight, reason)` add
up, and a violated constraint forbids the rule. Where `invert(K)` is derived, a rule costs K divided by that
sum, rounded down. ILASP counts the literals.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from clingo import Control, SymbolType, ast

from nsl_bench.asp.program import parse
from nsl_bench.asp.replicas import replicate
from nsl_bench.asp.rules import parse_statements
from nsl_bench.errors import UserError
from nsl_bench.las.task import NEGATIVE_PENALTY, LanguageBias

__all__ = ["flat_costs", "is_monotone", "negative", "reified", "rule_costs"]

_FLAT_HEAD = re.compile(r"penalty\((\d+),head(?:\)\.|(?:\(\w+\))?\):-in_head\(\w+\)\.)")
_FLAT_BODY = re.compile(r"penalty\((\d+),(?:\w+\()?([A-Z]\w*)\)?\):-in_body\(\2\)\.")

Shape = tuple[str | None, tuple[str, ...]]
"""A rule's head (None: a constraint) and its body literals without type guards, as text."""

_OPERATORS = {
    ast.ComparisonOperator.Equal: "=",
    ast.ComparisonOperator.NotEqual: "!=",
    ast.ComparisonOperator.LessThan: "<",
    ast.ComparisonOperator.LessEqual: "<=",
    ast.ComparisonOperator.GreaterThan: ">",
    ast.ComparisonOperator.GreaterEqual: ">=",
}


class _Reify(ast.Transformer):
    """Turns variables into constants."""

    def visit_Variable(self, node: ast.AST) -> ast.AST:
        from clingo import Function

        return ast.SymbolicTerm(node.location, Function(f"v_a_r_{node.name.lower().lstrip('_')}"))


def _statements(bias: LanguageBias) -> list[ast.AST]:
    return parse_statements("\n".join(bias.penalties or ()), "#bias")


def _derives_penalty(statements: Sequence[ast.AST]) -> bool:
    return any(str(s.head).startswith("penalty(") for s in statements if s.ast_type == ast.ASTType.Rule)


def is_monotone(bias: LanguageBias) -> bool:
    """Whether one more body literal can neither make a rule cheaper nor lift a constraint."""
    for statement in _statements(bias):
        if statement.ast_type != ast.ASTType.Rule:
            return False
        text = str(statement)
        if re.search(r"not |\{|invert|/|-", text.replace(":-", "")):
            return False
    return True


def flat_costs(bias: LanguageBias) -> tuple[int, int] | None:
    """What a head and what each body literal costs, where the bias says no more than that."""
    if bias.penalties is None:
        return (1, 1) if bias.dialect == "ilasp" else (0, 0)
    heads: list[int] = []
    bodies: list[int] = []
    for text in re.findall(r"[^.]*\.", re.sub(r"\s", "", "".join(bias.penalties))):
        if match := _FLAT_HEAD.fullmatch(text):
            heads.append(int(match.group(1)))
        elif match := _FLAT_BODY.fullmatch(text):
            bodies.append(int(match.group(1)))
        else:
            return None
    return (heads[0], bodies[0]) if len(heads) == len(bodies) == 1 else None


def rule_costs(bias: LanguageBias, rules: Sequence[Shape]) -> list[int | None]:
    """The cost of each rule; None for one that a constraint of the bias forbids.

    Raises:
        UserError: the bias is no program with one answer set, or a penalty is negative: every rule more
            would then make a hypothesis better.
    """
    if not rules:
        return []
    if flat := flat_costs(bias):
        return [
            flat[0] + flat[1] * len(set(body)) if head else flat[1] * len(set(body)) for head, body in rules
        ]
    statements = _statements(bias)
    if not _derives_penalty(statements):
        each = 1 if bias.dialect == "ilasp" else 0
        plain: list[int | None] = [each * ((head is not None) + len(body)) for head, body in rules]
        if not statements:
            return plain
    else:
        plain = [0] * len(rules)
    facts = [_facts(head, body) for head, body in rules]
    program = replicate(parse("\n".join(bias.penalties or ()), "#bias"), facts)
    if not program.deterministic:
        raise UserError("A choice or a cycle through negation in #bias is not supported.")
    messages: list[str] = []
    control = Control(["--warn=none"], logger=lambda _, message: messages.append(message))
    lines = [
        program.shared,
        program.common,
        program.frame(),
        "#show.",
        f"{program.example(f'0..{len(rules) - 1}')}.",
    ]
    lines += [program.context(i, context) for i, context in enumerate(facts)]
    control.add("\n".join(lines))
    try:
        control.ground()
    except RuntimeError:
        detail = " ".join(messages[0].split()) if messages else "not a program"
        raise UserError(f"#bias cannot be evaluated: {detail}.") from None
    for symbolic in control.symbolic_atoms:
        name, arguments = symbolic.symbol.name, symbolic.symbol.arguments
        if name == program.names("violated") and symbolic.is_fact:
            plain[arguments[0].number] = None
    for name, shared in ((program.predicate("penalty"), False), ("penalty", True)):
        for symbolic in control.symbolic_atoms.by_signature(name, 2 if shared else 3):
            arguments = list(symbolic.symbol.arguments)
            number = range(len(rules)) if shared else [arguments.pop(0).number]
            if arguments[0].type != SymbolType.Number or arguments[0].number < 0:
                raise UserError(negative(symbolic.symbol))
            for i in number:
                cost = plain[i]
                if cost is not None:
                    plain[i] = cost + arguments[0].number
    for name, shared in ((program.predicate("invert"), False), ("invert", True)):
        for symbolic in control.symbolic_atoms.by_signature(name, 1 if shared else 2):
            arguments = list(symbolic.symbol.arguments)
            for i in range(len(rules)) if shared else [arguments.pop(0).number]:
                cost = plain[i]
                plain[i] = arguments[0].number // cost if cost else None
    return plain


def negative(penalty: object) -> str:
    """What to say of a penalty that is no natural number."""
    return f"#bias derives {penalty}; {NEGATIVE_PENALTY}"


def _facts(head: str | None, body: Sequence[str]) -> list[str]:
    found = [] if head is None else [f"in_head({reified(head)})"]
    return found + [f"in_body({text})" for text in sorted({reified(literal) for literal in body})]


@lru_cache(maxsize=65536)
def reified(literal: str) -> str:
    """A head or body literal as the argument of `in_head` or `in_body`."""
    node = parse_statements(f":- {literal}.", "a rule")[0].body[0]
    node = _Reify().visit(node)
    atom = node.atom
    if atom.ast_type == ast.ASTType.Comparison:
        guard = atom.guards[0]
        text = f'binop("{_OPERATORS[guard.comparison]}",{atom.term},{guard.term})'
    else:
        text = str(atom)
    return f"neg({text})" if node.sign == ast.Sign.Negation else text
