"""Guarded copies: one logic program that holds the same program once for every example.

Many examples share background knowledge and hypothesis and differ in their context. Every predicate
that depends on a context, on a learned rule or on a choice gets the number of the example as an extra
first argument; what depends on none of them is shared. So one grounding serves all examples, and
because copies share nothing that is open, an answer set of the whole is one answer set for each.

An inconsistent copy must not make the whole inconsistent: constraints derive `_bad(E)`, and rules that
can clash by themselves (cycles through negation, bounds of choices) only apply while `_act(E)` holds,
which is free. `_ok(E)` says that example E's inclusions and exclusions hold in a sound copy, so E is
bravely covered exactly if some answer set of the whole holds `_ok(E)`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from clingo import ast

from nsl_bench.errors import UserError

__all__ = ["Copies", "copies", "parse_statements"]

_PLAIN = r'[^()";{}|:]|"[^"\\]*"'
_NESTED = rf"(?:{_PLAIN}|\((?:{_PLAIN}|\((?:{_PLAIN})*\))*\))*"
_FACT = re.compile(rf"[_']*[a-z]\w*(?:\({_NESTED}\))?")
_INNER = re.compile(r'"[^"\\]*"|\([^()]*\)')
_STRING = re.compile(r'"[^"\\]*"')
_SKIPPED = (
    ast.ASTType.Comment,
    ast.ASTType.Defined,
    ast.ASTType.Minimize,
    ast.ASTType.ShowSignature,
    ast.ASTType.ShowTerm,
)


def parse_statements(text: str, what: str) -> list[ast.AST]:
    """The rules (and constants) of a logic program.

    Args:
        text: statements with their full stops.
        what: names the text in errors, e.g. ``"the hypothesis"``.

    Raises:
        UserError: a syntax error, or a statement that is no rule (`#script`, `#include`, ...).
    """
    messages: list[str] = []
    statements: list[ast.AST] = []
    if re.search(r"#\s*(script|include)\b", _STRING.sub('""', re.sub(r"%.*", "", text))):
        raise UserError(f"#script and #include are refused; {what} has one of them.")
    try:
        ast.parse_string(text, statements.append, logger=lambda _, message: messages.append(message))
    except RuntimeError:
        detail = messages[0].splitlines()[0].removeprefix("<string>:") if messages else "not a program"
        raise UserError(f"A syntax error in {what}: {detail}.") from None
    rules: list[ast.AST] = []
    for statement in statements:
        kind = statement.ast_type
        if kind in (ast.ASTType.Rule, ast.ASTType.Definition):
            rules.append(statement)
        elif kind == ast.ASTType.Program:
            if statement.name != "base" or statement.parameters:
                raise UserError(f"#program parts are not supported; {what} has '{statement}'.")
        elif kind not in _SKIPPED:
            raise UserError(f"'{statement}' in {what} is no rule; write normal rules, choices, constraints.")
    return rules


@dataclass
class _Shape:
    """What a rule's head defines and what it depends on, by predicate name."""

    heads: set[str] = field(default_factory=set)
    body: set[str] = field(default_factory=set)
    negative: set[str] = field(default_factory=set)
    derives: set[tuple[str, int]] = field(default_factory=set)
    is_open: bool = False
    bounded: bool = False


class _Atoms(ast.Transformer):
    """Collects the atoms of a node: (name, arity, classically negated, sign is plain)."""

    def __init__(self) -> None:
        self.found: list[tuple[str, int, bool, bool]] = []
        self._plain = True

    def visit_Literal(self, node: ast.AST) -> ast.AST:
        before, self._plain = self._plain, self._plain and node.sign == ast.Sign.NoSign
        self.visit_children(node)
        self._plain = before
        return node

    def visit_BodyAggregate(self, node: ast.AST) -> ast.AST:
        return self._aggregate(node)

    def visit_Aggregate(self, node: ast.AST) -> ast.AST:
        return self._aggregate(node)

    def visit_ConditionalLiteral(self, node: ast.AST) -> ast.AST:
        return self._aggregate(node) if node.condition else self._children(node)

    def _aggregate(self, node: ast.AST) -> ast.AST:
        before, self._plain = self._plain, False
        self.visit_children(node)
        self._plain = before
        return node

    def _children(self, node: ast.AST) -> ast.AST:
        self.visit_children(node)
        return node

    def visit_SymbolicAtom(self, node: ast.AST) -> ast.AST:
        terms = [(node.symbol, False)]
        while terms:
            term, negated = terms.pop()
            if term.ast_type == ast.ASTType.UnaryOperation:
                terms.append((term.argument, not negated))
            elif term.ast_type == ast.ASTType.Pool:
                terms.extend((each, negated) for each in term.arguments)
            elif term.ast_type == ast.ASTType.Function:
                self.found.append((term.name, len(term.arguments), negated, self._plain))
            else:  # a constant p is a symbolic term
                self.found.append((str(term), 0, negated, self._plain))
        return node

    def visit_TheoryAtom(self, node: ast.AST) -> ast.AST:
        raise UserError(f"Theory atoms such as '{node}' are not supported.")


class _Rename(ast.Transformer):
    """Gives each atom of a dependent predicate its copy's number as first argument."""

    def __init__(self, dependent: frozenset[str], copy: ast.AST) -> None:
        self._dependent = dependent
        self._copy = copy

    def visit_SymbolicAtom(self, node: ast.AST) -> ast.AST:
        return node.update(symbol=self._term(node.symbol, "_c_"))

    def _term(self, term: ast.AST, prefix: str) -> ast.AST:
        if term.ast_type == ast.ASTType.UnaryOperation:
            inner = self._term(term.argument, "_n_" if prefix == "_c_" else "_c_")
            return inner
        if term.ast_type == ast.ASTType.Pool:
            return term.update(arguments=[self._term(each, prefix) for each in term.arguments])
        if term.ast_type == ast.ASTType.Function and term.name in self._dependent:
            return term.update(name=prefix + term.name, arguments=[self._copy, *term.arguments])
        return term


def _atoms(nodes: Iterable[ast.AST]) -> list[tuple[str, int, bool, bool]]:
    collector = _Atoms()
    for node in nodes:
        collector.visit(node)
    return collector.found


def _shape(rule: ast.AST) -> _Shape:
    shape = _Shape()
    head = rule.head
    defined: list[ast.AST] = []
    conditions: list[ast.AST] = []
    if head.ast_type == ast.ASTType.Literal:
        defined.append(head)
    elif head.ast_type in (ast.ASTType.Disjunction, ast.ASTType.Aggregate, ast.ASTType.HeadAggregate):
        shape.is_open = True
        shape.bounded = head.ast_type != ast.ASTType.Disjunction and (
            head.left_guard is not None or head.right_guard is not None
        )
        for element in head.elements:
            inner = element if head.ast_type != ast.ASTType.HeadAggregate else element.condition
            defined.append(inner.literal)
            conditions.extend(inner.condition)
    else:
        raise UserError(f"The head of '{rule}' is not supported.")
    shape.derives = {(name, arity) for name, arity, _, _ in _atoms(defined)}
    shape.heads = {name for name, _ in shape.derives}
    for name, _, _, plain in _atoms([*rule.body, *conditions]):
        (shape.body if plain else shape.negative).add(name)
    return shape


def _cyclic_through_negation(shapes: Sequence[_Shape]) -> frozenset[str]:
    """The predicates on a cycle of dependencies that goes through a negation or an aggregate."""
    edges: dict[str, set[str]] = {}
    for shape in shapes:
        for head in shape.heads:
            edges.setdefault(head, set()).update(shape.body | shape.negative)
    component = _components(edges)
    return frozenset(
        head
        for shape in shapes
        for head in shape.heads
        if any(component.get(head) == component.get(name) for name in shape.negative if name in component)
        for head in (head,)
    )


def _components(edges: dict[str, set[str]]) -> dict[str, int]:
    """Strongly connected components (Tarjan, without recursion): node to the number of its component."""
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    component: dict[str, int] = {}
    stack: list[str] = []
    for root in edges:
        if root in order:
            continue
        work: list[tuple[str, Iterator[str]]] = [(root, iter(sorted(edges[root])))]
        order[root] = low[root] = len(order)
        stack.append(root)
        while work:
            node, successors = work[-1]
            advanced = False
            for successor in successors:
                if successor not in order:
                    order[successor] = low[successor] = len(order)
                    stack.append(successor)
                    work.append((successor, iter(sorted(edges.get(successor, ())))))
                    advanced = True
                    break
                if successor not in component:
                    low[node] = min(low[node], order[successor])
            if advanced:
                continue
            work.pop()
            if work:
                low[work[-1][0]] = min(low[work[-1][0]], low[node])
            if low[node] == order[node]:
                while True:
                    member = stack.pop()
                    component[member] = order[node]
                    if member == node:
                        break
    return component


@dataclass(frozen=True)
class Copies:
    """A program prepared for copying. Made by `copies`.

    Attributes:
        dependent: names of the predicates that get a copy for each example.
        guarded: names of the predicates on a cycle through negation.
        deterministic: each copy has exactly one answer set or none, whatever rules are chosen.
        derived: (name, arity) of the predicates that some statement derives.
        shared: the program's statements that need no copy, as text.
        common: the copied statements with a variable for the example, as text.
        local: the statements that are copied.
    """

    dependent: frozenset[str]
    guarded: frozenset[str]
    deterministic: bool
    derived: frozenset[tuple[str, int]]
    shared: str
    common: str
    local: tuple[ast.AST, ...]
    _contrary: frozenset[tuple[str, int]]
    _extends: bool
    _signatures: frozenset[tuple[str, int]]

    def rule(self, statement: ast.AST, *, copy: int | str = "E__", condition: str = "") -> str:
        """A rule's copy as text: for one example, or for all; `condition` is one more body literal."""
        number = str(copy)
        template = _template(f":- _ex({number}), _act({number}){', ' + condition if condition else ''}.")
        exists, active, *more = template
        renamed = _Rename(self.dependent, exists.atom.symbol.arguments[0]).visit(statement)
        shape = _shape(statement)
        head = renamed.head
        guards = [exists, *more]
        if head.ast_type == ast.ASTType.Literal and head.atom.ast_type == ast.ASTType.BooleanConstant:
            if head.atom.value == 0:
                head = _head(f"_bad({number}).")
        elif shape.bounded or shape.heads & self.guarded:
            guards = [exists, active, *more]
        return str(renamed.update(head=head, body=[*renamed.body, *guards]))

    def context(self, number: int, statements: Sequence[str]) -> str:
        """One example's context as text; `statements` come without their full stops."""
        out: list[str] = []
        for text in statements:
            if _FACT.fullmatch(text):
                name, _, rest = text.partition("(")
                out.append(f"_c_{name}({number},{rest}." if rest else f"_c_{name}({number}).")
            else:
                for statement in parse_statements(f"{text}.", "a context"):
                    out.append(self.rule(statement, copy=number))
        return "\n".join(out)

    def covered(self, number: int, inclusions: Sequence[str], exclusions: Sequence[str]) -> str:
        """The rule that derives `_ok(number)`."""
        literals = [f"_ex({number})", f"_act({number})", f"not _bad({number})"]
        literals += [self.atom(number, text) for text in inclusions]
        literals += [f"not {self.atom(number, text)}" for text in exclusions]
        return f"_ok({number}) :- {', '.join(literals)}."

    def atom(self, number: int | str, text: str) -> str:
        """A ground atom's copy, as text."""
        name, bracket, rest = text.strip().partition("(")
        prefix = "_c_"
        if name.startswith("-"):
            name, prefix = name[1:].strip(), "_n_"
        if name not in self.dependent:
            return text
        return f"{prefix}{name}({number},{rest}" if bracket else f"{prefix}{name}({number})"

    def frame(self, copy: str = "E") -> str:
        """The statements that hold whatever the examples are; needs `_ex/1` for each example."""
        activity = f"_act({copy})" if self.deterministic else f"{{ _act({copy}) }}"
        lines = [f"{activity} :- _ex({copy})."]
        for name, arity in sorted(self._contrary):
            arguments = ",".join([copy, *(f"X{i}" for i in range(arity))])
            lines.append(f"_bad({copy}) :- _c_{name}({arguments}), _n_{name}({arguments}).")
        if self._extends:
            for name, arity in sorted(self._signatures):
                xs = ",".join(f"X{i}" for i in range(arity))
                atom = f"{name}({xs})" if arity else name
                for asked in ("inclusion", "exclusion"):
                    lines.append(
                        f"_holds({copy},{atom}) :- _c_{asked}({copy},{atom}), {self.atom(copy, atom)}."
                    )
            lines.append(f"_bad({copy}) :- _c_inclusion({copy},A), not _holds({copy},A).")
            lines.append(f"_bad({copy}) :- _c_exclusion({copy},A), _holds({copy},A).")
        return "\n".join(lines)


def _arguments(rest: str) -> int:
    """How many arguments a fact has, given what follows its opening bracket."""
    if not rest:
        return 0
    inner = rest[:-1]
    while (shorter := _INNER.sub("_", inner)) != inner:
        inner = shorter
    return inner.count(",") + 1


def _template(text: str) -> list[ast.AST]:
    return list(parse_statements(text, "a guard")[0].body)


def _head(text: str) -> ast.AST:
    head: ast.AST = parse_statements(text, "a head")[0].head
    return head


def copies(
    background: Sequence[ast.AST], contexts: Iterable[Sequence[str]], learned: Sequence[ast.AST] = ()
) -> Copies:
    """Prepare a program for copying.

    Args:
        background: its rules (`parse_statements`).
        contexts: the contexts of all examples, statements without full stops.
        learned: rules that may be added to every copy by `Copies.rule`.

    Raises:
        UserError: a statement is not supported.
    """
    names: set[str] = set()
    facts: set[tuple[str, int]] = set()
    signatures: set[tuple[str, int]] = set()
    contrary: set[tuple[str, int]] = set()
    rules = [statement for statement in background if statement.ast_type == ast.ASTType.Rule]
    local: list[ast.AST] = []
    seen: set[str] = set()
    for context in contexts:
        for text in context:
            if _FACT.fullmatch(text):
                name, _, rest = text.partition("(")
                names.add(name)
                facts.add((name, _arguments(rest)))
            elif text not in seen:
                seen.add(text)
                local.extend(s for s in parse_statements(f"{text}.", "a context"))
    for statement in local:
        names |= _shape(statement).heads
    for statement in learned:
        names |= _shape(statement).heads
    everything = [*rules, *local, *learned]
    for statement in everything:
        for name, arity, negated, _ in _atoms([statement]):
            signatures.add((name, arity))
            if negated:
                contrary.add((name, arity))
                names.add(name)
    shapes = [_shape(statement) for statement in everything]
    derived = facts.union(*(shape.derives for shape in shapes))
    guarded = _cyclic_through_negation(shapes)
    is_open = any(shape.is_open for shape in shapes)
    for shape in shapes:
        if shape.is_open:
            names |= shape.heads
    extends = bool(
        {"inclusion", "exclusion"} & {name for shape in shapes for name in shape.heads}
        | {name for name in names if name in ("inclusion", "exclusion")}
    )
    if extends:
        names |= {"inclusion", "exclusion"}
    names |= guarded
    grown = True
    while grown:
        grown = False
        for shape in shapes:
            if (shape.body | shape.negative) & names and not shape.heads <= names:
                names |= shape.heads
                grown = True
    prepared = Copies(
        dependent=frozenset(names),
        guarded=guarded,
        deterministic=not is_open and not guarded,
        derived=frozenset(derived),
        shared="",
        common="",
        local=(),
        _contrary=frozenset(contrary),
        _extends=extends,
        _signatures=frozenset(signatures | facts),
    )
    shared: list[str] = []
    copied: list[ast.AST] = []
    for statement in background:
        if statement.ast_type != ast.ASTType.Rule or (
            (heads := _shape(statement).heads) and not heads & names
        ):
            shared.append(str(statement))
        else:
            copied.append(statement)
    return replace(
        prepared, shared="\n".join(shared), common="\n".join(map(prepared.rule, copied)), local=tuple(copied)
    )
