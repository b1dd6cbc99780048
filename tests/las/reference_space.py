"""The hypothesis space of a learning task and what its rules cost, straight from the definition.

Every rule is written down: each head, each multiset of body literals, each way to fill their places with
constants and variables. Nothing is left out because it is useless, and rules may occur more than once under
other names of their variables. Costs are asked of `#bias` itself: a choice rule picks one rule, and each
answer set gives the cost of that one.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import clingo
import clingo.ast

from nsl_bench.las.language_bias import Compound, ModeAtom, ModeComparison, ModeLiteral, ModeTerm, Placeholder
from nsl_bench.las.task import LasTask

MOST_RULES = 1_500
"""Rules beyond which the reference gives up."""
MOST_FILLINGS = 30_000
"""Ways to fill the places of rules, likewise."""
MOST_GROUND_RULES = 60_000
"""Ground rules of one program, likewise."""
MOST_CONFLICTS = 20_000
"""Conflicts of one search, likewise."""


class TooLarge(Exception):
    """The task is beyond what the reference can enumerate."""


@dataclass
class Steps:
    """Counts steps, so that what is too large is so on every machine.

    Attributes:
        most: how many may be taken.
        what: what is counted.
        taken: how many were.
    """

    most: int
    what: str
    taken: int = 0

    def take(self, count: int = 1) -> None:
        """Counts some more.

        Raises:
            TooLarge: they are too many.
        """
        self.taken += count
        if self.taken > self.most:
            raise TooLarge(f"more than {self.most} {self.what}")


class _Counter:
    """Counts the rules of a program while it is grounded."""

    def __init__(self) -> None:
        self.steps = Steps(MOST_GROUND_RULES, "ground rules")

    def rule(self, choice: bool, head: Sequence[int], body: Sequence[int]) -> None:
        self.steps.take()

    def weight_rule(
        self, choice: bool, head: Sequence[int], lower_bound: int, body: Sequence[tuple[int, int]]
    ) -> None:
        self.steps.take()


def grounded(text: str, *arguments: str) -> clingo.Control:
    """A control with a ground program, which gives up a search after `MOST_CONFLICTS`.

    Args:
        text: the program.
        arguments: clingo's.

    Raises:
        TooLarge: the program has more than `MOST_GROUND_RULES`.
    """
    control = clingo.Control(["--warn=none", f"--solve-limit={MOST_CONFLICTS}", *arguments])
    control.register_observer(_Counter())  # type: ignore[arg-type]
    control.add(text)
    control.ground()
    return control


def answer_sets(control: clingo.Control, most: int | None = None) -> Iterator[clingo.Model]:
    """The answer sets of a ground program, or `most` of them.

    Raises:
        TooLarge: the search was given up.
    """
    found = 0
    with control.solve(yield_=True) as handle:
        for model in handle:
            found += 1
            yield model
            if found == most:
                return
        if not handle.get().exhausted:
            raise TooLarge(f"not solved within {MOST_CONFLICTS} conflicts")


def is_satisfiable(control: clingo.Control, assumptions: Sequence[tuple[clingo.Symbol, bool]] = ()) -> bool:
    """Whether a ground program has an answer set.

    Raises:
        TooLarge: the search was given up.
    """
    result = control.solve(assumptions=assumptions).satisfiable
    if result is None:
        raise TooLarge(f"not solved within {MOST_CONFLICTS} conflicts")
    return result


@dataclass(frozen=True)
class Literal:
    """A head or body literal: a mode with variables (numbers) or constants in its places."""

    mode: ModeAtom | ModeComparison
    places: tuple[int | str, ...]
    negated: bool = False

    def text(self, values: Sequence[str]) -> str:
        """The literal in ASP, where `values` names the variables."""
        filling = iter([values[p] if isinstance(p, int) else p for p in self.places])
        sign = "not " if self.negated else ""
        if isinstance(self.mode, ModeComparison):
            left = _filled(self.mode.left, filling)
            return f"{sign}{left} {self.mode.operator} {_filled(self.mode.right, filling)}"
        return f"{sign}{_filled(Compound(self.mode.predicate, self.mode.arguments), filling)}"

    def arguments(self, values: Sequence[str]) -> str:
        """The arguments of an atom as a tuple."""
        assert isinstance(self.mode, ModeAtom)
        filling = iter([values[p] if isinstance(p, int) else p for p in self.places])
        return _filled(Compound("tuple", self.mode.arguments), filling)


@dataclass(frozen=True)
class Rule:
    """A rule of the space.

    Attributes:
        text: the rule in ASP, with guards and inequalities.
        cost: what it costs.
        head: its head; None for a constraint, or for a rule that is given whole.
        body: its literals.
        types: the type of each variable.
        guarded: the variables that ``type(V)`` guards.
        given: whether the task gives it whole.
    """

    text: str
    cost: int
    head: Literal | None = None
    body: tuple[Literal, ...] = ()
    types: tuple[str, ...] = ()
    guarded: tuple[int, ...] = ()
    given: bool = False


def space(task: LasTask) -> list[Rule]:
    """Every rule that the bias allows, with its cost; the cheapest of those with the same text.

    Raises:
        TooLarge: there are more than `MOST_RULES`.
    """
    whole = [Rule(rule.rule, rule.cost, given=True) for rule in (*task.bias.rules, *task.bias.instances)]
    shapes = list(dict.fromkeys(_shapes(task)))
    costs = prices(task, [(head, body) for head, body, _ in shapes])
    guards = {kind for kind in _types(task) if is_derived(task, kind)}
    built = [
        _built(task, head, body, types, guards, cost)
        for (head, body, types), cost in zip(shapes, costs, strict=True)
        if cost is not None
    ]
    cheapest: dict[str, Rule] = {}
    for rule in sorted([*whole, *built], key=lambda rule: rule.cost):
        cheapest.setdefault(rule.text, rule)
    return list(cheapest.values())


Shape = tuple[Literal | None, tuple[Literal, ...], tuple[str, ...]]
"""Head, body and the type of each variable."""


def _shapes(task: LasTask) -> Iterator[Shape]:
    """The rules of the mode declarations that are safe, costs aside."""
    bias = task.bias
    heads: list[ModeAtom | None] = [mode.atom for mode in bias.heads]
    if not bias.heads and not bias.meta_modes:
        heads = [None]
    guards = {kind for kind in _types(task) if is_derived(task, kind)}
    constants = {kind: constant_texts(task, kind) for kind in _types(task)}
    rules = Steps(MOST_RULES, "rules")
    fillings = Steps(MOST_FILLINGS, "ways to fill the places of rules")
    for size in itertools.count():
        if bias.body_limit is not None and size > bias.body_limit:
            return
        some = False
        for chosen in itertools.combinations_with_replacement(bias.literals, size):
            fillings.take()
            if not _recalled(chosen):
                continue
            for head in heads:
                for head_literal, body, types in _fillings(head, chosen, constants, bias.max_variables):
                    fillings.take()
                    if len(set(body)) < size or not all(map(_allowed, chosen, body)):
                        continue
                    some = True
                    rules.take()
                    if (head is not None or body) and _safe(head_literal, body, types, guards):
                        yield head_literal, tuple(sorted(body, key=str)), types
        if not some:
            return


def _recalled(chosen: Sequence[ModeLiteral]) -> bool:
    modes = [literal.mode for literal in chosen]
    return all(x.recall is None or modes.count(x.mode) <= x.recall for x in chosen)


def _allowed(form: ModeLiteral, literal: Literal) -> bool:
    return not form.anti_reflexive or len(set(literal.places)) == len(literal.places)


def _fillings(
    head: ModeAtom | None,
    chosen: Sequence[ModeLiteral],
    constants: dict[str, list[str]],
    most: int,
) -> Iterator[tuple[Literal | None, tuple[Literal, ...], tuple[str, ...]]]:
    """Each way to fill all places of a rule: a variable is an earlier one of its type, or the next one."""
    terms: list[tuple[ModeAtom | ModeComparison, bool]] = [] if head is None else [(head, False)]
    terms += [(form.literal, form.negated) for form in chosen]
    slots = [place for term, _ in terms for place in term.placeholders]

    def fill(i: int, types: tuple[str, ...]) -> Iterator[tuple[tuple[int | str, ...], tuple[str, ...]]]:
        if i == len(slots):
            yield (), types
            return
        kind = slots[i].type
        options: list[tuple[int | str, tuple[str, ...]]]
        if slots[i].kind == "const":
            options = [(value, types) for value in constants[kind]]
        else:
            options = [(v, types) for v, known in enumerate(types) if known == kind]
            if len(types) < most:
                options.append((len(types), (*types, kind)))
        for place, after in options:
            for rest, last in fill(i + 1, after):
                yield (place, *rest), last

    for places, types in fill(0, ()):
        rest = iter(places)
        literals = [Literal(t, tuple(next(rest) for _ in t.placeholders), negated) for t, negated in terms]
        yield (None if head is None else literals.pop(0)), tuple(literals), types


def _safe(head: Literal | None, body: Sequence[Literal], types: Sequence[str], guards: set[str]) -> bool:
    bound = {v for v, kind in enumerate(types) if kind in guards}
    for literal in body:
        if not literal.negated and isinstance(literal.mode, ModeAtom):
            bound |= {place for place in literal.places if isinstance(place, int)}
    return len(bound) == len(types)


def _built(
    task: LasTask,
    head: Literal | None,
    body: tuple[Literal, ...],
    types: tuple[str, ...],
    guards: set[str],
    cost: int,
) -> Rule:
    names = [f"V{i + 1}" for i in range(len(types))]
    guarded = tuple(v for v, kind in enumerate(types) if kind in guards)
    parts = [literal.text(names) for literal in body]
    parts += [f"{types[v]}({names[v]})" for v in guarded]
    if task.bias.ground_without_replacement:
        parts += [f"{a.arguments(names)} != {b.arguments(names)}" for a, b in alike(body)]
    start = "" if head is None else head.text(names)
    return Rule(f"{start} :- {', '.join(parts)}." if parts else f"{start}.", cost, head, body, types, guarded)


def alike(body: Sequence[Literal]) -> list[tuple[Literal, Literal]]:
    """The pairs of atoms of one predicate and sign."""
    return [
        (a, b)
        for a, b in itertools.combinations(body, 2)
        if isinstance(a.mode, ModeAtom)
        and isinstance(b.mode, ModeAtom)
        and (a.mode.signature, a.negated) == (b.mode.signature, b.negated)
        and a.mode.arguments
    ]


def _filled(term: ModeTerm, filling: Iterator[str]) -> str:
    if isinstance(term, Placeholder):
        return next(filling)
    if isinstance(term, Compound):
        if term.name and not term.arguments:
            return term.name
        trailing = "," if not term.name and len(term.arguments) == 1 else ""
        return f"{term.name}({','.join(_filled(t, filling) for t in term.arguments)}{trailing})"
    return term


def _types(task: LasTask) -> list[str]:
    terms = [m.atom for m in task.bias.heads] + [m.literal for m in task.bias.bodies]
    return sorted({place.type for term in terms for place in term.placeholders})


def statements(text: str) -> list[clingo.ast.AST]:
    """The rules and `#const` definitions of a program."""
    found: list[clingo.ast.AST] = []
    clingo.ast.parse_string(text, found.append)
    return [s for s in found if s.ast_type in (clingo.ast.ASTType.Rule, clingo.ast.ASTType.Definition)]


def program(task: LasTask, context: Sequence[str]) -> str:
    """Background and context as one text."""
    return "\n".join([task.background, *(f"{statement}." for statement in context)])


def constant_definitions(task: LasTask) -> str:
    """The `#const` statements of the background."""
    if "#const" not in task.background:
        return ""
    kind = clingo.ast.ASTType.Definition
    return "\n".join(str(s) for s in statements(task.background) if s.ast_type == kind)


@lru_cache(maxsize=1 << 16)
def symbol(text: str, definitions: str = "") -> clingo.Symbol:
    """The ground term that a text is, where `definitions` may replace constants."""
    if not definitions:
        return clingo.parse_term(text)
    control = grounded(f"{definitions}\noracle__term({text}).")
    (atom,) = control.symbolic_atoms.by_signature("oracle__term", 1)
    return atom.symbol.arguments[0]


def atom_symbol(text: str, definitions: str = "") -> clingo.Symbol:
    """The ground atom that a text is; `definitions` replace constants in it, but not a proposition's name."""
    return symbol(text, definitions) if "(" in text else clingo.parse_term(text)


class Predicates(clingo.ast.Transformer):
    """Collects the predicates of atoms, with arities."""

    def __init__(self) -> None:
        self.found: set[tuple[str, int]] = set()

    def visit_SymbolicAtom(self, node: clingo.ast.AST) -> clingo.ast.AST:
        self._term(node.symbol)
        return node

    def _term(self, term: clingo.ast.AST) -> None:
        kind = clingo.ast.ASTType
        if term.ast_type == kind.UnaryOperation:
            self._term(term.argument)
        elif term.ast_type == kind.Pool:
            for each in term.arguments:
                self._term(each)
        elif term.ast_type == kind.Function:
            self.found.add((term.name, len(term.arguments)))
        else:
            self.found.add((str(term), 0))


def predicates(nodes: Sequence[clingo.ast.AST]) -> set[tuple[str, int]]:
    """The predicates of the atoms in `nodes`."""
    collected = Predicates()
    for node in nodes:
        collected.visit(node)
    return collected.found


def head_predicates(statement: clingo.ast.AST) -> set[tuple[str, int]]:
    """The predicates that a rule's head derives."""
    if statement.ast_type != clingo.ast.ASTType.Rule:
        return set()
    head = statement.head
    parts: list[clingo.ast.AST]
    if head.ast_type == clingo.ast.ASTType.HeadAggregate:
        parts = [element.condition.literal for element in head.elements]
    elif head.ast_type in (clingo.ast.ASTType.Aggregate, clingo.ast.ASTType.Disjunction):
        parts = [element.literal for element in head.elements]
    else:
        parts = [head]
    return predicates(parts)


@lru_cache(maxsize=256)
def _derived(background: str, contexts: frozenset[tuple[str, ...]]) -> frozenset[tuple[str, int]]:
    texts = {f"{statement}." for context in contexts for statement in context}
    found = [s for text in [background, *sorted(texts)] for s in statements(text)]
    return frozenset(pair for statement in found for pair in head_predicates(statement))


def is_derived(task: LasTask, kind: str) -> bool:
    """Whether some statement, or a learned rule, derives ``kind/1``."""
    contexts = frozenset(e.context for e in task.examples)
    return (kind, 1) in task.bias.learned or (kind, 1) in _derived(task.background, contexts)


def constant_texts(task: LasTask, kind: str) -> list[str]:
    """What ``const(kind)`` stands for."""
    used = {p.type for m in task.bias.heads for p in m.atom.placeholders if p.kind == "const"}
    used |= {p.type for m in task.bias.bodies for p in m.literal.placeholders if p.kind == "const"}
    if kind not in used:
        return []
    definitions = constant_definitions(task)
    found = {str(symbol(value, definitions)) for k, value in task.bias.constants if k == kind}
    for context in {(), *(e.context for e in task.examples)}:
        control = grounded(program(task, context))
        found |= {str(a.symbol.arguments[0]) for a in control.symbolic_atoms.by_signature(kind, 1)}
    return sorted(found)


def prices(task: LasTask, rules: Sequence[tuple[Literal | None, Sequence[Literal]]]) -> list[int | None]:
    """What each rule costs by the definition of FastLAS's scoring; None where the bias forbids it."""
    lines = task.bias.penalties
    each = int(task.bias.dialect == "ilasp")
    plain: list[int | None] = [each * (len(body) + (head is not None)) for head, body in rules]
    if lines is None or not rules:
        return plain
    counted = any(("penalty", 2) in head_predicates(s) for s in statements("\n".join(lines)))
    texts = [*lines, f"{{ oracle__rule(0..{len(rules) - 1}) }} = 1."]
    texts.append("in_head(X) :- oracle__rule(K), oracle__head(K,X).")
    texts.append("in_body(X) :- oracle__rule(K), oracle__body(K,X).")
    for number, (head, body) in enumerate(rules):
        if head is not None:
            texts.append(f"oracle__head({number},{_reified(head)}).")
        texts += [f"oracle__body({number},{_reified(literal)})." for literal in body]
    texts.append("#show penalty/2. #show invert/1. #show oracle__rule/1.")
    control = grounded("\n".join(texts), "0")
    found: list[int | None] = [None] * len(rules)
    for model in answer_sets(control):
        shown = model.symbols(shown=True)
        (number,) = [s.arguments[0].number for s in shown if s.name == "oracle__rule"]
        total = sum(s.arguments[0].number for s in shown if s.name == "penalty")
        if not counted:
            total = plain[number] or 0
        inverted = [s.arguments[0].number for s in shown if s.name == "invert"]
        if inverted:
            found[number] = inverted[0] // total if total else None
        else:
            found[number] = total
    return found


def _reified(literal: Literal) -> str:
    names = [
        f"oracle__v{p}" for p in range(1 + max((p for p in literal.places if isinstance(p, int)), default=-1))
    ]
    mode = literal.mode
    if isinstance(mode, ModeComparison):
        filling = iter([names[p] if isinstance(p, int) else p for p in literal.places])
        left, right = _filled(mode.left, filling), _filled(mode.right, filling)
        text = f'binop("{mode.operator}",{left},{right})'
    else:
        text = Literal(mode, literal.places).text(names)
    return f"neg({text})" if literal.negated else text
