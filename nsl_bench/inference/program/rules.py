"""Logic programs as inference reads them: parsed, checked, sliced, and copied for many examples at once.

A hypothesis answers for a whole test set in one grounding: every predicate that depends on an example's
context gets the example as one more argument, and everything else is shared. That is sound for stratified
programs, whose one answer set is then the union of the examples' answer sets; a constraint becomes a mark
on the example that violates it, lest it takes all the others with it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from nsl_bench.asp.graph import strong_components
from nsl_bench.asp.text import check_text, directive
from nsl_bench.errors import UserError

__all__ = ["EXAMPLE", "VIOLATED", "Program", "Signature", "analyse", "clean_message", "refuse_directives"]

EXAMPLE = "__example"
"""Predicate that holds of each example in a program copied for many."""

VIOLATED = "__violated"
"""Predicate that holds of each example that violates a constraint."""

_VARIABLE = "NSLExample"

Signature = tuple[str, int]
"""A predicate: name and number of arguments."""


def refuse_directives(text: str, what: str) -> None:
    """Raise a UserError if a program runs code or reads files.

    Args:
        text: ASP.
        what: the program's name in the sentence, e.g. ``"the hypothesis"``.
    """
    if found := directive(text):
        raise UserError(f"There is a #{found} in {what}; programs here run no code and read no files.")


@dataclass(frozen=True, eq=False)
class _Rule:
    """A rule with what the analysis needs of it; `heads` is empty for a constraint."""

    node: Any
    heads: frozenset[Signature]
    positive: frozenset[Signature]
    negative: frozenset[Signature]
    normal: bool


@dataclass(frozen=True, eq=False)
class Program:
    """A logic program, parsed.

    Attributes:
        rules: its rules and constraints.
        constants: its ``#const`` statements.
        classical: whether it uses classical negation.
    """

    rules: tuple[_Rule, ...]
    constants: tuple[Any, ...]
    classical: bool

    @classmethod
    def parse(cls, text: str, what: str) -> Program:
        """Read a program.

        Args:
            text: ASP; ``#show`` and ``#defined`` are skipped.
            what: its name in error messages, e.g. ``"the hypothesis"``.

        Raises:
            UserError: a syntax error (with line and column), a text that clingo cannot take, or a statement
                that has no meaning here.
        """
        from clingo import ast

        check_text(text, what)
        refuse_directives(text, what)
        messages: list[str] = []
        nodes: list[Any] = []
        try:
            ast.parse_string(text, nodes.append, logger=lambda _, message: messages.append(message))
        except RuntimeError:
            raise UserError(f"Syntax error in {what}: {clean_message(messages)}.") from None
        rules, constants, classical = [], [], False
        for node in nodes:
            kind = node.ast_type
            if kind == ast.ASTType.Rule:
                rule, negates = analyse(node)
                rules.append(rule)
                classical |= negates
            elif kind == ast.ASTType.Definition:
                constants.append(node)
            elif kind == ast.ASTType.Program and node.name == "base" and not node.parameters:
                continue
            elif kind not in _skipped():
                statement = " ".join(str(node).split())
                raise UserError(f"The statement '{statement}' in {what} has no meaning here: rules only.")
        return cls(tuple(rules), tuple(constants), classical)

    def __add__(self, other: Program) -> Program:
        return Program(
            self.rules + other.rules, self.constants + other.constants, self.classical or other.classical
        )

    def slice(self, goals: Iterable[Signature]) -> Program:
        """The rules that the goals depend on, and every constraint with what it depends on."""
        by_head: dict[Signature, list[_Rule]] = defaultdict(list)
        for rule in self.rules:
            for head in rule.heads:
                by_head[head].append(rule)
        wanted: set[Signature] = set()
        open_ = list(goals)
        for rule in self.rules:
            if not rule.heads:
                open_ += rule.positive | rule.negative
        while open_:
            signature = open_.pop()
            if signature not in wanted:
                wanted.add(signature)
                for rule in by_head[signature]:
                    open_ += rule.positive | rule.negative | rule.heads
        kept = tuple(rule for rule in self.rules if not rule.heads or rule.heads & wanted)
        return replace(self, rules=kept)

    @cached_property
    def stratified(self) -> bool:
        """Whether it has one answer set by construction (constraints aside).

        That is: normal rules without classical negation, and no cycle through negation or an aggregate.
        """
        if self.classical or not all(rule.normal for rule in self.rules):
            return False
        graph: dict[Signature, set[Signature]] = defaultdict(set)
        for rule in self.rules:
            for head in rule.heads:
                graph[head] |= rule.positive | rule.negative
        component = strong_components(graph)
        return not any(
            component[head] == component.get(body)
            for rule in self.rules
            for head in rule.heads
            for body in rule.negative
        )

    @cached_property
    def signatures(self) -> frozenset[Signature]:
        """All predicates that occur."""
        return frozenset(s for rule in self.rules for s in rule.heads | rule.positive | rule.negative)

    def dependent(self, given: Iterable[Signature]) -> frozenset[Signature]:
        """Predicates whose extension can differ between examples, when those in `given` do."""
        users: dict[Signature, set[Signature]] = defaultdict(set)
        for rule in self.rules:
            for body in rule.positive | rule.negative:
                users[body] |= rule.heads
        found: set[Signature] = set()
        open_ = list(given)
        while open_:
            signature = open_.pop()
            if signature not in found:
                found.add(signature)
                open_ += users[signature]
        return frozenset(found)

    def for_examples(self, dependent: frozenset[Signature]) -> Iterator[Any]:
        """The program's statements with the example as first argument of the dependent predicates."""
        from clingo import ast

        guard = _atom(EXAMPLE, _VARIABLE)
        rewrite = _rewriter(dependent)
        yield from self.constants
        for rule in self.rules:
            involved = rule.heads | rule.positive | rule.negative
            if rule.heads and not involved & dependent:
                yield rule.node
                continue
            node = rewrite.visit(rule.node)
            head = node.head if rule.heads else _atom(VIOLATED, _VARIABLE)
            yield ast.Rule(node.location, head, [*node.body, guard])

    def __str__(self) -> str:
        return "\n".join(str(node) for node in [*self.constants, *(rule.node for rule in self.rules)])


def clean_message(messages: Sequence[str]) -> str:
    """clingo's messages as one line: ``line 1, column 5: unexpected ...``."""
    text = " ".join(messages[0].split()) if messages else "clingo gives no reason"
    text = re.sub(r"^<[^>]*>:(\d+):(\d+)(?:-[\d:]+)?: ", r"line \1, column \2: ", text)
    text = re.sub(r"<[^>]*>:\d+:\d+(?:-[\d:]+)?: ", "", text)
    for inner in ("error: ", "note: ", "[#inc_base];", ":-[#inc_base]"):
        text = text.replace(inner, "")
    return text.rstrip(".")


def _skipped() -> tuple[Any, ...]:
    from clingo.ast import ASTType

    return (ASTType.ShowSignature, ASTType.ShowTerm, ASTType.Defined, ASTType.Comment)


def _atom(name: str, variable: str) -> Any:
    from clingo import ast

    begin = ast.Position("<examples>", 1, 1)
    here = ast.Location(begin, begin)
    function = ast.Function(here, name, [ast.Variable(here, variable)], 0)
    return ast.Literal(here, ast.Sign.NoSign, ast.SymbolicAtom(function))


def _functions(symbol: Any) -> Iterator[tuple[Any, bool]]:
    """The functions of an atom's term (several in a pool), each with whether it is negated."""
    from clingo.ast import ASTType

    if symbol.ast_type == ASTType.Function:
        yield symbol, False
    elif symbol.ast_type == ASTType.UnaryOperation:
        yield from ((function, True) for function, _ in _functions(symbol.argument))
    elif symbol.ast_type == ASTType.Pool:
        for argument in symbol.arguments:
            yield from _functions(argument)


def _signatures(node: Any) -> tuple[set[Signature], bool]:
    """All predicates in a part of a rule, and whether one is negated classically."""
    from clingo import ast

    found: set[Signature] = set()
    negates = False

    class Collector(ast.Transformer):
        def visit_SymbolicAtom(self, atom: Any) -> Any:
            nonlocal negates
            for function, negated in _functions(atom.symbol):
                found.add((function.name, len(function.arguments)))
                negates |= negated
            return atom

    Collector().visit(node)
    return found, negates


def analyse(node: Any) -> tuple[_Rule, bool]:
    """A rule with its predicates, and whether it uses classical negation."""
    from clingo import ast

    kinds = ast.ASTType
    heads, negates = _signatures(node.head)
    positive: set[Signature] = set()
    negative: set[Signature] = set()
    normal = node.head.ast_type == kinds.Literal and node.head.sign == ast.Sign.NoSign
    if normal:
        atom = node.head.atom
        constraint = atom.ast_type == kinds.BooleanConstant and not atom.value
        normal = atom.ast_type == kinds.SymbolicAtom or constraint
    else:
        # Conditions in a choice or a disjunction are no heads, but such rules take the general road
        # anyway, where it only matters that nothing is left out.
        positive |= heads
    if node.head.ast_type == kinds.TheoryAtom or any(
        literal.ast_type == kinds.Literal and literal.atom.ast_type == kinds.TheoryAtom
        for literal in node.body
    ):
        raise UserError(f"The rule '{node}' uses a theory atom, which has no meaning here.")
    for literal in node.body:
        found, negated = _signatures(literal)
        negates |= negated
        plain = literal.ast_type == kinds.Literal and literal.sign == ast.Sign.NoSign
        if plain and literal.atom.ast_type == kinds.SymbolicAtom:
            positive |= found
        else:
            negative |= found
    return _Rule(node, frozenset(heads), frozenset(positive), frozenset(negative), normal), negates


def _rewriter(dependent: frozenset[Signature]) -> Any:
    from clingo import ast

    def extend(term: Any) -> Any:
        if term.ast_type == ast.ASTType.UnaryOperation:
            return ast.UnaryOperation(term.location, term.operator_type, extend(term.argument))
        if term.ast_type == ast.ASTType.Pool:
            return ast.Pool(term.location, [extend(argument) for argument in term.arguments])
        if term.ast_type == ast.ASTType.Function and (term.name, len(term.arguments)) in dependent:
            example = ast.Variable(term.location, _VARIABLE)
            return ast.Function(term.location, term.name, [example, *term.arguments], 0)
        return term

    class Rewriter(ast.Transformer):
        def visit_SymbolicAtom(self, atom: Any) -> Any:
            return ast.SymbolicAtom(extend(atom.symbol))

    return Rewriter()
