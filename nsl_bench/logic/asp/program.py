"""Logic programs, read once: their rules, with the predicates that each derives and depends on.

`parse` is the one place where the text of a program becomes clingo's syntax tree. What comes out is what
every other part of the project works on.
"""

from __future__ import annotations

import atexit
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Literal, NamedTuple

from clingo import ast

from nsl_bench.core.errors import UserError
from nsl_bench.logic.asp.dependencies import dependents, strong_components
from nsl_bench.logic.asp.parsing import by_text, complaint, parse_text

Signature = tuple[str, int]
"""A predicate: name and number of arguments."""

Head = Literal["atom", "constraint", "choice", "disjunction"]

_REMEMBERED = 1 << 16
_VARIABLE = re.compile(r"\b_*[A-Z]")
_ARGUMENT = r"(?:-?\d+|_*[a-z][\w']*)"
_PLAIN_FACT = re.compile(rf"(?P<name>_*[a-z][\w']*)(?:\((?P<arguments>{_ARGUMENT}(?:,{_ARGUMENT})*)\))?\.")
_SKIPPED = (ast.ASTType.Comment, ast.ASTType.Defined, ast.ASTType.ShowSignature, ast.ASTType.ShowTerm)


@dataclass(frozen=True, eq=False)
class Rule:
    """A rule, a fact or a constraint.

    Attributes:
        node: clingo's syntax tree.
        head: what kind of head it has.
        derives: the predicates of its head; none for a constraint.
        positive: the predicates that it depends on by plain atoms.
        negative: the predicates that it depends on through ``not``, an aggregate or a condition.
        classical: the predicates whose atoms it negates classically (``-p(X)``).
        bounded: it is a choice with a bound, so that it can be violated.
    """

    node: ast.AST
    head: Head
    derives: frozenset[Signature]
    positive: frozenset[Signature]
    negative: frozenset[Signature]
    classical: frozenset[Signature]
    bounded: bool = False

    @cached_property
    def text(self) -> str:
        """The rule as clingo writes it."""
        return str(self.node)

    @cached_property
    def is_plain(self) -> bool:
        """Whether it is a fact about names and numbers only."""
        return _PLAIN_FACT.fullmatch(self.text) is not None

    @property
    def body(self) -> frozenset[Signature]:
        """All predicates that it depends on."""
        return self.positive | self.negative

    @property
    def signatures(self) -> frozenset[Signature]:
        """All predicates that occur in it."""
        return self.derives | self.positive | self.negative

    @property
    def is_open(self) -> bool:
        """Whether it is a choice or a disjunction, which leaves several answers open."""
        return self.head in ("choice", "disjunction")

    def __reduce__(self) -> tuple[Callable[[str], Rule], tuple[str]]:
        return _rule, (str(self.node),)  # clingo's syntax trees cannot be pickled


@dataclass(frozen=True, eq=False)
class Program:
    """A logic program.

    Attributes:
        rules: its rules and constraints.
        constants: its ``#const`` statements.
    """

    rules: tuple[Rule, ...] = ()
    constants: tuple[ast.AST, ...] = ()

    def __add__(self, other: Program) -> Program:
        return Program(self.rules + other.rules, self.constants + other.constants)

    def __str__(self) -> str:
        return "\n".join([*map(str, self.constants), *(rule.text for rule in self.rules)])

    def __reduce__(self) -> tuple[Callable[[str, str], Program], tuple[str, str]]:
        return parse, (str(self), "the program")

    @property
    def nodes(self) -> Iterator[ast.AST]:
        """Its statements as clingo's syntax trees, constants first."""
        yield from self.constants
        yield from (rule.node for rule in self.rules)

    @cached_property
    def kinds(self) -> tuple[Rule, ...]:
        """One of all rules that agree in their predicates: programs may have thousands of facts."""
        result: dict[object, Rule] = {}
        for rule in self.rules:
            parts = (rule.derives, rule.positive, rule.negative, rule.classical, rule.head, rule.bounded)
            result.setdefault(parts, rule)
        return tuple(result.values())

    @cached_property
    def signatures(self) -> frozenset[Signature]:
        """All predicates that occur."""
        return frozenset().union(*(rule.signatures for rule in self.kinds))

    @cached_property
    def derived(self) -> frozenset[Signature]:
        """The predicates that some rule derives."""
        return frozenset().union(*(rule.derives for rule in self.kinds))

    @cached_property
    def classical(self) -> frozenset[Signature]:
        """The predicates that some rule negates classically."""
        return frozenset().union(*(rule.classical for rule in self.kinds))

    @cached_property
    def cycles_through_negation(self) -> frozenset[Signature]:
        """The predicates on a cycle of dependencies through a negation or an aggregate."""
        component = strong_components(self._dependencies)
        return frozenset(
            head
            for rule in self.kinds
            for head in rule.derives
            if any(component[head] == component.get(name) for name in rule.negative)
        )

    @cached_property
    def stratified(self) -> bool:
        """Whether it has one answer set by construction, constraints aside.

        That is: one atom in each head, no classical negation, no cycle through negation or an aggregate. Such
        a program has exactly one answer set (Apt, Blair, Walker: "Towards a theory of declarative knowledge",
        1988; Gelfond, Lifschitz: "The stable model semantics for logic programming", 1988).
        """
        plain = not self.classical and not any(rule.is_open for rule in self.kinds)
        return plain and not self.cycles_through_negation

    @cached_property
    def _dependencies(self) -> dict[Signature, set[Signature]]:
        """Each derived predicate with those that its rules depend on."""
        graph: dict[Signature, set[Signature]] = defaultdict(set)
        for rule in self.kinds:
            for head in rule.derives:
                graph[head] |= rule.body
        return graph

    def dependents(self, given: Iterable[Signature]) -> frozenset[Signature]:
        """The predicates in `given` and those that depend on them."""
        users: dict[Signature, set[Signature]] = defaultdict(set)
        for rule in self.kinds:
            for name in rule.body:
                users[name] |= rule.derives
        return dependents(users, given)

    def slice(self, goals: Iterable[Signature]) -> Program:
        """The rules that the goals depend on, and every constraint with what it depends on."""
        uses: dict[Signature, set[Signature]] = defaultdict(set)
        wanted: set[Signature] = set()
        left = list(goals)
        for rule in self.kinds:
            for head in rule.derives:
                uses[head] |= rule.body | rule.derives
            if not rule.derives:
                left += rule.body
        while left:
            signature = left.pop()
            if signature not in wanted:
                wanted.add(signature)
                left += uses[signature]
        return replace(
            self, rules=tuple(rule for rule in self.rules if not rule.derives or rule.derives & wanted)
        )


def _rule(text: str) -> Rule:
    return parse(text, "the rule").rules[0]


def union(programs: Iterable[Program]) -> Program:
    """The statements of several programs, each once."""
    rules: dict[str, Rule] = {}
    constants: dict[str, ast.AST] = {}
    for program in programs:
        rules |= {rule.text: rule for rule in program.rules}
        constants |= {str(node): node for node in program.constants}
    return Program(tuple(rules.values()), tuple(constants.values()))


def parse(text: str, what: str, place: tuple[int, int] = (1, 1), *, safe: bool = True) -> Program:
    """Read a logic program.

    Args:
        text: rules, constraints and ``#const``; ``#show`` and ``#defined`` say nothing of its answer sets
            and are skipped.
        what: its name in messages, e.g. ``"the hypothesis"`` or a file's name.
        place: line and column of the text in the file that it is from.
        safe: every variable must be safe.

    Raises:
        UserError: a syntax error or an unsafe variable (with line and column), a text that clingo cannot
            take, ``#script`` or ``#include``, a weak constraint, or another statement that is no rule.
    """
    rules: list[Rule] = []
    constants: list[ast.AST] = []
    for node in parse_text(text, what, place):
        kind = node.ast_type
        if kind == ast.ASTType.Rule:
            rule = rule_of(node)
            if rule is not None:
                rules.append(rule)
        elif kind == ast.ASTType.Definition:
            constants.append(node)
        elif kind == ast.ASTType.Program and node.name == "base" and not node.parameters:
            continue
        elif kind not in _SKIPPED:
            raise UserError(_refusal(node, what, place))
    if safe:
        _check_safe(rules, constants, what, place)
    return Program(tuple(rules), tuple(constants))


def statements(text: str, what: str) -> list[str]:
    """The constants and rules of a program, one text each; arguments and errors are those of `parse`."""
    return [str(node) for node in parse(text, what).nodes]


def subjects(rules: Iterable[str]) -> list[str]:
    """The names of the predicates in the bodies of rules (in the head, of a rule without body)."""
    program = parse("\n".join(rules), "a hypothesis")
    return sorted(
        {name for rule in program.rules for name, _ in (rule.body if rule.node.body else rule.derives)}
    )


def _check_safe(rules: Sequence[Rule], constants: list[ast.AST], what: str, place: tuple[int, int]) -> None:
    unsure = (rule for rule in rules if not rule.is_plain)
    nodes = [*constants, *(rule.node for rule in unsure if rule.node.body or _VARIABLE.search(rule.text))]
    if complaint(nodes):
        node = next((node for node in nodes if complaint([node])), nodes[0])
        reason = complaint([node]) or complaint(nodes)
        raise UserError(f"{_where(node, what, place)} cannot be grounded: {reason}.")


def _where(node: ast.AST, what: str, place: tuple[int, int]) -> str:
    """Line and column of a statement, and its beginning."""
    begin = node.location.begin
    line, column = place[0] + begin.line - 1, begin.column + (place[1] - 1 if begin.line == 1 else 0)
    text = " ".join(str(node).split())[:60]
    name = what[:1].upper() + what[1:] if what.startswith("the ") else what
    return f"{name}, line {line}, column {column}: '{text}'"


def _refusal(node: ast.AST, what: str, place: tuple[int, int]) -> str:
    reasons = {
        ast.ASTType.Minimize: "weak constraints and #minimize are not supported; remove it",
        ast.ASTType.Program: "#program parts are not supported",
        ast.ASTType.External: "#external is not supported; write a fact or a choice",
    }
    reason = reasons.get(node.ast_type, "not supported; use rules, choices and constraints")
    return f"{_where(node, what, place)}: {reason}."


def rule_of(node: ast.AST) -> Rule | None:
    """A rule with its predicates; None for one that is always satisfied (``#true :- ...``).

    A head that is a negated atom or a comparison is moved into the body, as it only forbids:
    ``X < Y :- p(X,Y).`` is the constraint ``:- p(X,Y); not X < Y.``
    """
    if (fact := _fact(node)) is not None:
        return fact
    plain = _as_constraint(node)
    if plain is None:
        return None
    head = plain.head
    defined: list[ast.AST] = []
    conditions: list[ast.AST] = []
    kind: Head = "choice"
    if head.ast_type == ast.ASTType.Literal:
        kind = "constraint" if head.atom.ast_type == ast.ASTType.BooleanConstant else "atom"
        defined.append(head)
    elif head.ast_type == ast.ASTType.Disjunction:
        kind = "disjunction"
        for element in head.elements:
            defined.append(element.literal)
            conditions.extend(element.condition)
    elif head.ast_type in (ast.ASTType.Aggregate, ast.ASTType.HeadAggregate):
        for element in head.elements:
            inner = element if head.ast_type == ast.ASTType.Aggregate else element.condition
            defined.append(inner.literal)
            conditions.extend(inner.condition)
    else:
        raise UserError(f"Theory atoms are not supported; got '{node}'.")
    bounded = kind == "choice" and (head.left_guard is not None or head.right_guard is not None)
    heads = _signatures(defined)
    rest = _signatures([*plain.body, *conditions])
    return Rule(
        plain,
        kind,
        heads.positive | heads.negative,
        rest.positive,
        rest.negative,
        heads.classical | rest.classical,
        bounded,
    )


def _fact(node: ast.AST) -> Rule | None:
    """A plain fact, read without a walk over its tree: programs may have thousands; None for other rules."""
    text = str(node)
    plain = _PLAIN_FACT.fullmatch(text)
    if plain:
        name, arguments = plain.groups()
        arity = arguments.count(",") + 1 if arguments else 0
    else:
        head = node.head
        if node.body or "@" in text or head.ast_type != ast.ASTType.Literal or head.sign != ast.Sign.NoSign:
            return None
        atom = head.atom
        if atom.ast_type != ast.ASTType.SymbolicAtom or atom.symbol.ast_type != ast.ASTType.Function:
            return None
        name, arity = atom.symbol.name, len(atom.symbol.arguments)
    rule = object.__new__(Rule)
    rule.__dict__.update(_of_facts(name, arity), node=node, text=text, is_plain=plain is not None)
    return rule


@lru_cache(maxsize=_REMEMBERED)
def _of_facts(name: str, arity: int) -> Mapping[str, object]:
    """What all facts of a predicate have in common."""
    none = frozenset[Signature]()
    parts = {"positive": none, "negative": none, "classical": none, "bounded": False}
    return {"head": "atom", "derives": frozenset({(name, arity)}), **parts}


def _as_constraint(node: ast.AST) -> ast.AST | None:
    """The rule with one atom, a choice or a disjunction as head, or as a constraint; None if trivial."""
    head = node.head
    if head.ast_type != ast.ASTType.Literal:
        return node
    kind, sign = head.atom.ast_type, head.sign
    if kind == ast.ASTType.SymbolicAtom and sign == ast.Sign.NoSign:
        return node
    if kind == ast.ASTType.BooleanConstant:
        holds = bool(head.atom.value) == (sign != ast.Sign.Negation)
        if holds:
            return None
        return node if sign == ast.Sign.NoSign else node.update(head=_false(head))
    opposite = ast.Sign.DoubleNegation if sign == ast.Sign.Negation else ast.Sign.Negation
    return node.update(head=_false(head), body=[*node.body, head.update(sign=opposite)])


def _false(literal: ast.AST) -> ast.AST:
    return ast.Literal(literal.location, ast.Sign.NoSign, ast.BooleanConstant(0))


def signatures_in(nodes: Iterable[ast.AST]) -> frozenset[Signature]:
    """All predicates in parts of a rule."""
    result = _signatures(nodes)
    return result.positive | result.negative


class _Signatures(NamedTuple):
    """The predicates of parts of a rule.

    Attributes:
        positive: of plain atoms.
        negative: of atoms under ``not``, in aggregates and with conditions.
        classical: of classically negated atoms.
    """

    positive: frozenset[Signature]
    negative: frozenset[Signature]
    classical: frozenset[Signature]


def _signatures(nodes: Iterable[ast.AST]) -> _Signatures:
    result = [_signatures_of(node) for node in nodes]
    return _Signatures(*(frozenset().union(*sets) for sets in zip(*result, strict=True))) if result else _NONE


_NONE = _Signatures(frozenset(), frozenset(), frozenset())


@by_text
def _signatures_of(node: ast.AST) -> _Signatures:
    """The predicates of a part of a rule."""
    walk = _SignatureWalk()
    walk.visit(node)
    return _Signatures(frozenset(walk.positive), frozenset(walk.negative), frozenset(walk.classical))


class _SignatureWalk(ast.Transformer):
    """Collects the predicates of a part of a rule."""

    def __init__(self) -> None:
        self.positive: set[Signature] = set()
        self.negative: set[Signature] = set()
        self.classical: set[Signature] = set()
        self._plain = True

    def visit_Literal(self, node: ast.AST) -> ast.AST:
        return self._under(node, node.sign == ast.Sign.NoSign)

    def visit_BodyAggregate(self, node: ast.AST) -> ast.AST:
        return self._under(node, False)

    def visit_Aggregate(self, node: ast.AST) -> ast.AST:
        return self._under(node, False)

    def visit_ConditionalLiteral(self, node: ast.AST) -> ast.AST:
        return self._under(node, not node.condition)

    def _under(self, node: ast.AST, plain: bool) -> ast.AST:
        before, self._plain = self._plain, self._plain and plain
        self.visit_children(node)
        self._plain = before
        return node

    def visit_SymbolicAtom(self, node: ast.AST) -> ast.AST:
        for term, negated in atom_terms(node.symbol):
            signature = (term.name, len(term.arguments))
            (self.positive if self._plain else self.negative).add(signature)
            if negated:
                self.classical.add(signature)
        self.visit_children(node)
        return node

    def visit_Function(self, node: ast.AST) -> ast.AST:
        if node.external:
            raise UserError(
                f"External functions are not supported, because rules must not run code; got '{node}'."
            )
        self.visit_children(node)
        return node

    def visit_TheoryAtom(self, node: ast.AST) -> ast.AST:
        raise UserError(f"Theory atoms are not supported; got '{node}'.")


def atom_terms(term: ast.AST) -> Iterator[tuple[ast.AST, bool]]:
    """The functions of an atom's term (several in a pool), each with whether it is classically negated."""
    left: list[tuple[ast.AST, bool]] = [(term, False)]
    while left:
        node, negated = left.pop()
        if node.ast_type == ast.ASTType.UnaryOperation:
            left.append((node.argument, not negated))
        elif node.ast_type == ast.ASTType.Pool:
            left.extend((each, negated) for each in node.arguments)
        elif node.ast_type == ast.ASTType.Function:
            yield node, negated


@lru_cache(maxsize=_REMEMBERED)
def statement(text: str) -> Program:
    """A statement of an example's context, without its full stop, as a program; each text is read once."""
    return parse(f"{text}.", f"the context's statement '{text[:60]}'")


atexit.register(statement.cache_clear)  # clingo cannot free its syntax trees once Python has forgotten it
