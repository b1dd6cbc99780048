"""Queries in ProbLog's language.

Rules are translated as written, so that ProbLog's answer checks our grounding too: body literals in an
order in which Prolog can run them, ``!=`` and arithmetic by Prolog's operators. What has no such
translation (aggregates, conditional literals, pools, division) goes through the ground program.

Every name of the rules gets a prefix that none of our own names and none of Prolog's has, so that no name
in a hypothesis means anything to ProbLog, or is one of ours.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from nsl_bench.core.errors import UserError
from nsl_bench.core.types import Floats
from nsl_bench.logic.asp.atoms import goal_of
from nsl_bench.logic.inference.program.ground import NEVER, GroundRule, check, ground
from nsl_bench.logic.inference.query import Query

NONE = "nsl_none"
"""The query for the worlds in which no label is derived."""

_VIOLATED = "nsl_violated"
_PLAIN = re.compile(r"[A-Za-z0-9_]*\Z")
_NAME, _VARIABLE = "u_", "U_"
"""Before every name and every variable of the rules."""

_MOST_COUNTERS = 100_000
_NUMBERS = {"<": "<", ">": ">", "<=": "=<", ">=": ">=", "=": "=:=", "!=": "=\\="}
_TERMS = {**_NUMBERS, "=": "==", "!=": "\\="}
_OPPOSITE = {"<": ">=", ">": "<=", "<=": ">", ">=": "<", "=": "!=", "!=": "="}


class _Untranslatable(Exception):
    """A construct that Prolog has no words for; the text says which."""


def label_name(label: int) -> str:
    """The atom that is queried for a label."""
    return f"nsl_label({label})"


@dataclass(frozen=True)
class Translation:
    """A query as ProbLog text; `example` adds an example's images.

    Attributes:
        program: rules, labels and queries.
        choices: for each slot and concept the atoms that hold, in ProbLog's words.
        facts: what other facts are in ProbLog's words.
        grounded: whether it went through the ground program.
        reason: why it did; empty where that was asked for, or where it did not.
    """

    program: str
    choices: tuple[tuple[tuple[str, ...], ...], ...]
    facts: dict[str, str]
    grounded: bool
    reason: str = ""

    def example(self, probabilities: Floats, facts: Sequence[str] = ()) -> str:
        """The program of one example.

        Args:
            probabilities: float64 [slots, concepts], negligible ones zero.
            facts: what holds besides.
        """
        lines = [f"{self.facts[fact]}." for fact in facts]
        for slot, values in enumerate(self.choices):
            choices = [(k, float(p)) for k, p in enumerate(probabilities[slot, : len(values)]) if p > 0]
            if all(len(values[k]) == 1 for k, _ in choices):
                heads = [f"{p!r}::{values[k][0]}" for k, p in choices]
            else:
                heads = [f"{p!r}::nsl_shows({slot},{k})" for k, p in choices]
                lines += [f"{atom} :- nsl_shows({slot},{k})." for k, _ in choices for atom in values[k]]
            if heads:
                lines.append("; ".join(heads) + ".")
        return "\n".join([self.program, *lines]) + "\n"


def translate(query: Query, facts: Iterable[str] = (), *, grounded: bool = False) -> Translation:
    """A query in ProbLog's language.

    Args:
        query: hypothesis and background.
        facts: every fact that some example has besides.
        grounded: go through the ground program at once.
    """
    extra = list(dict.fromkeys(facts))
    if not grounded:
        try:
            return _as_written(query, extra)
        except _Untranslatable as error:
            reason = f"The rules as they are written have no translation to ProbLog: {error}."
            return replace(_from_ground(query, extra), reason=reason)
    return _from_ground(query, extra)


def _as_written(query: Query, facts: Sequence[str]) -> Translation:
    import clingo

    program = check(query, facts)
    if program.constants:
        raise _Untranslatable("#const")
    rules = [_rule(rule.node, bool(rule.derives)) for rule in program.rules]
    goals = [None if atom is None else goal_of(atom) for atom in query.labels.atoms]
    symbols = {
        fact: clingo.parse_term(fact)
        for fact in {f for slot in query.choices for values in slot for f in values} | set(facts)
    }
    signatures = {(s.name, len(s.arguments)) for s in [*symbols.values(), *(g for g in goals if g)]}
    # Predicates without clauses are errors in Prolog; a clause that fails makes them empty.
    open_ = sorted(signatures | program.signatures)
    rules += [f"{_atom(_own(n), ['_'] * a)} :- fail." for n, a in open_]
    rules += [f"{_VIOLATED} :- fail."]
    names = [None if g is None else _symbol(g) for g in goals]
    words = {fact: _symbol(symbol) for fact, symbol in symbols.items()}
    choices = tuple(tuple(tuple(words[f] for f in held) for held in slot) for slot in query.choices)
    return Translation(
        "\n".join([*rules, *_labels(names)]), choices, {fact: words[fact] for fact in facts}, False
    )


def _from_ground(query: Query, facts: Sequence[str]) -> Translation:
    program = ground(query, facts)
    lines = []
    for number, rule in enumerate(program.rules):
        if rule.weights:
            lines += _counters(number, rule)
        else:
            text = ", ".join(_literal(*literal) for literal in rule.body)
            lines.append(f"a{rule.head} :- {text}." if text else f"a{rule.head}.")
    lines += [f"a{atom} :- fail." for atom in range(program.n_atoms)]
    lines.append(
        f"{_VIOLATED} :- a{program.violated}." if program.violated != NEVER else f"{_VIOLATED} :- fail."
    )
    lines += ["nsl_never :- fail.", "nsl_true."]
    names = [None if g is None else "nsl_never" if g == NEVER else f"a{g}" for g in program.goals]
    choices = tuple(tuple(() if atom == NEVER else (f"a{atom}",) for atom in slot) for slot in program.picks)
    given = {fact: "nsl_true" if atom == NEVER else f"a{atom}" for fact, atom in program.given.items()}
    return Translation("\n".join([*lines, *_labels(names)]), choices, given, True)


def _literal(atom: int, positive: bool) -> str:
    return f"a{atom}" if positive else f"\\+a{atom}"


def _counters(number: int, rule: GroundRule) -> list[str]:
    """The clauses of a rule with weights: ``w(rule,k,m)``: the literals from the k-th on weigh at least m."""
    rest = [sum(rule.weights[k:]) for k in range(len(rule.weights) + 1)]

    def name(k: int, missing: int) -> str:
        return "nsl_true" if missing <= 0 else f"w({number},{k},{missing})"

    lines = [f"a{rule.head} :- {name(0, rule.bound)}."] if rest[0] >= rule.bound else []
    states, open_ = {(0, rule.bound)}, [(0, rule.bound)]
    while open_:
        k, missing = open_.pop()
        if missing <= 0 or rest[k] < missing:
            continue
        for less, text in ((rule.weights[k], f"{_literal(*rule.body[k])}, "), (0, "")):
            after = k + 1, missing - less
            if rest[k + 1] >= after[1]:
                lines.append(f"{name(k, missing)} :- {text}{name(*after)}.")
                if after not in states:
                    states.add(after)
                    open_.append(after)
        if len(states) > _MOST_COUNTERS:
            raise UserError(
                "An aggregate of the hypothesis has too many possible sums for ProbLog; use the engine auto."
            )
    return lines


def _labels(names: Sequence[str | None]) -> list[str]:
    """Definitions and queries of the outcomes."""
    lines = []
    for k, name in enumerate(names):
        body = [name] if name is not None else []
        body += [f"\\+{other}" for j, other in enumerate(names) if j != k and other is not None]
        body.append(f"\\+{_VIOLATED}")
        lines.append(f"{label_name(k)} :- {', '.join(body)}.")
        lines.append(f"query({label_name(k)}).")
    if None in names:
        none = [f"{NONE} :- {_VIOLATED}."]
    else:
        body = [f"\\+{name}" for name in names]
        none = [f"{NONE} :- {', '.join(body)}.", f"{NONE} :- {_VIOLATED}."]
    return [*lines, *none, f"query({NONE})."]


def _own(name: str) -> str:
    """A predicate's or function's name in Prolog; a tuple has none."""
    if not name:
        return "nsl_tuple"
    if not _PLAIN.match(name):
        raise _Untranslatable(f"the name {name}")
    return _NAME + name


def _atom(name: str, arguments: Sequence[str]) -> str:
    return f"{name}({', '.join(arguments)})" if arguments else name


def _symbol(symbol: Any) -> str:
    import clingo

    if symbol.type == clingo.SymbolType.Number:
        return str(symbol.number)
    if symbol.type == clingo.SymbolType.String:
        return _string(symbol.string)
    if symbol.type == clingo.SymbolType.Function and symbol.positive:
        return _atom(_own(symbol.name), [_symbol(argument) for argument in symbol.arguments])
    raise _Untranslatable(f"the term {symbol}")


def _string(text: str) -> str:
    if not text.isprintable() or '"' in text or "\\" in text:
        raise _Untranslatable("a string with special characters")
    return f'"{text}"'


@dataclass(frozen=True)
class _Goal:
    """A body literal: its text, the variables that it needs bound, and those that it binds."""

    text: str
    needs: frozenset[str]
    binds: frozenset[str]


class _Body:
    """A rule being translated; arithmetic in arguments is moved into goals of its own."""

    def __init__(self) -> None:
        self.goals: list[_Goal] = []
        self.assignments: list[tuple[str, str, frozenset[str]]] = []

    def term(self, node: Any, variables: set[str], *, number: bool = False) -> str:
        """A term's text; its variables are added to `variables`."""
        from clingo.ast import ASTType

        kind = node.ast_type
        if kind == ASTType.Variable:
            if node.name == "_":
                return "_"
            variables.add(_VARIABLE + node.name)
            return _VARIABLE + str(node.name)
        if kind == ASTType.SymbolicTerm:
            return _symbol(node.symbol)
        if kind == ASTType.Function and not node.external:
            return _atom(_own(node.name), [self.term(a, variables) for a in node.arguments])
        if kind == ASTType.UnaryOperation and str(node).startswith("-"):
            own: set[str] = set()
            text = f"(0 - {self.term(node.argument, own, number=True)})"
        elif kind == ASTType.BinaryOperation:
            own = set()
            left = self.term(node.left, own, number=True)
            right = self.term(node.right, own, number=True)
            text = f"({left} {_operator(node)} {right})"
        else:
            raise _Untranslatable(f"the term {node}")
        if number:
            variables |= own
            return text
        fresh = f"NSL{len(self.goals)}"
        self.goals.append(_Goal(f"{fresh} is {text}", frozenset(own), frozenset({fresh})))
        variables.add(fresh)
        return fresh

    def literal(self, node: Any) -> None:
        from clingo.ast import ASTType, Sign

        if node.ast_type != ASTType.Literal:
            raise _Untranslatable(f"the body literal {node}")
        atom, negated = node.atom, node.sign == Sign.Negation
        if atom.ast_type == ASTType.SymbolicAtom:
            if atom.symbol.ast_type != ASTType.Function:
                raise _Untranslatable(f"the atom {atom}")
            variables: set[str] = set()
            before = len(self.goals)
            text = self.term(atom.symbol, variables)
            moved = frozenset(v for goal in self.goals[before:] for v in goal.binds)
            needs = frozenset(variables) if negated or node.sign == Sign.DoubleNegation else moved
            self.goals.append(_Goal(f"\\+{text}" if negated else text, needs, frozenset(variables)))
        elif atom.ast_type == ASTType.Comparison:
            if negated and len(atom.guards) > 1:
                raise _Untranslatable(f"the comparison {node}")
            left = atom.term
            for guard in atom.guards:
                operator = _comparison(guard)
                self.compare(left, _OPPOSITE[operator] if negated else operator, guard.term)
                left = guard.term
        elif atom.ast_type == ASTType.BooleanConstant:
            self.goals.append(_Goal("true" if bool(atom.value) != negated else "fail", *[frozenset()] * 2))
        else:
            raise _Untranslatable(f"the body literal {node}")

    def compare(self, left: Any, operator: str, right: Any) -> None:
        from clingo.ast import ASTType

        sides, texts = (set[str](), set[str]()), []
        numeric = False
        if operator == "=" and right.ast_type == ASTType.Interval:
            low, high = (self.term(t, sides[1], number=True) for t in (right.left, right.right))
            self.goals.append(
                _Goal(
                    f"between({low}, {high}, {self.term(left, sides[0])})",
                    frozenset(sides[1]),
                    frozenset(sides[0]),
                )
            )
            return
        for node, variables in zip((left, right), sides, strict=True):
            numeric |= node.ast_type in (ASTType.BinaryOperation, ASTType.UnaryOperation)
            texts.append(self.term(node, variables, number=True))
        both = frozenset(sides[0] | sides[1])
        check_text = f"{texts[0]} {(_NUMBERS if numeric else _TERMS)[operator]} {texts[1]}"
        if operator == "=":
            for k, node in enumerate((left, right)):
                if node.ast_type == ASTType.Variable and node.name != "_":
                    word = "is" if numeric else "="
                    self.assignments.append(
                        (texts[k], f"{texts[k]} {word} {texts[1 - k]}", frozenset(sides[1 - k]))
                    )
        self.goals.append(_Goal(check_text, both, frozenset()))

    def ordered(self) -> list[str]:
        """The goals in an order in which each finds its variables bound."""
        left, bound, texts = list(self.goals), set[str](), []
        while left:
            ready = next((g for g in left if g.needs <= bound and (not g.binds or g.binds <= bound)), None)
            ready = ready or next((g for g in left if g.needs and g.needs <= bound), None)
            if ready is None:
                assign = next((a for a in self.assignments if a[0] not in bound and a[2] <= bound), None)
                if assign is not None:
                    bound.add(assign[0])
                    texts.append(assign[1])
                    continue
                ready = next((g for g in left if g.needs <= bound), None)
            if ready is None:
                raise _Untranslatable("a body that Prolog cannot run in any order")
            left.remove(ready)
            bound |= ready.binds
            texts.append(ready.text)
        return texts


def _rule(node: Any, headed: bool) -> str:
    from clingo.ast import ASTType

    body = _Body()
    for literal in node.body:
        body.literal(literal)
    if headed:
        symbol = node.head.atom.symbol
        if symbol.ast_type != ASTType.Function:
            raise _Untranslatable(f"the head {node.head}")
        if not node.body and any(a.ast_type == ASTType.Interval for a in symbol.arguments):
            return _spread(symbol)
        head = body.term(symbol, set())
    else:
        head = _VIOLATED
    goals = body.ordered()
    return f"{head} :- {', '.join(goals)}." if goals else f"{head}."


def _spread(symbol: Any) -> str:
    """A fact with intervals, as facts."""
    import clingo

    control = clingo.Control(["--warn=none"])
    control.add("base", [], f"{symbol}.")
    control.ground([("base", [])])
    return " ".join(f"{_symbol(atom.symbol)}." for atom in control.symbolic_atoms)


def _operator(node: Any) -> str:
    from clingo.ast import BinaryOperator as B

    words = {B.Plus: "+", B.Minus: "-", B.Multiplication: "*"}
    if node.operator_type not in words:  # of negative numbers, Prolog divides and raises otherwise
        raise _Untranslatable(f"the term {node}")
    return words[node.operator_type]


def _comparison(guard: Any) -> str:
    from clingo.ast import ComparisonOperator as C

    return {
        C.LessThan: "<",
        C.GreaterThan: ">",
        C.LessEqual: "<=",
        C.GreaterEqual: ">=",
        C.Equal: "=",
        C.NotEqual: "!=",
    }[guard.comparison]
