"""What the rules of a hypothesis space derive in each context, where that does not depend on other rules.

The predicates that rules use, and those that these depend on, make up a part of the program that no learned
rule feeds (a splitting set). If that part has one answer set in each context, rules are told apart by the
atoms that they derive from it; of those that derive the same the cheapest will do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import clingo
import clingo.ast
from las.reference_space import (
    Literal,
    Rule,
    Steps,
    TooLarge,
    alike,
    answer_sets,
    atom_symbol,
    constant_definitions,
    grounded,
    head_predicates,
    is_satisfiable,
    predicates,
    statements,
    symbol,
)

from nsl_bench.las.language_bias import ModeAtom, ModeComparison
from nsl_bench.las.task import LasTask

MOST_ASSIGNMENTS = 200_000
"""Values of variables that are tried beyond which the reference gives up."""
MOST_PROGRAMS = 600
"""Rules given whole times contexts, likewise."""

Contexts = tuple[tuple[str, ...], ...]
Signatures = set[tuple[str, int]]


class NotObservational(Exception):
    """What a rule derives depends on other rules, or on which answer set a context takes."""


@dataclass(frozen=True)
class Effects:
    """What rules derive.

    Attributes:
        contexts: the distinct contexts.
        upstream: the answer set, in each context, of what rules depend on.
        derived: for each kind of rule, the atoms with the numbers of the contexts as bits of a number.
        costs: the least cost of each kind of rule.
        learned: the predicates of derived atoms.
    """

    contexts: Contexts
    upstream: tuple[frozenset[clingo.Symbol], ...]
    derived: tuple[frozenset[tuple[clingo.Symbol, int]], ...]
    costs: tuple[int, ...]
    learned: frozenset[tuple[str, int]]


def effects(task: LasTask, rules: Sequence[Rule]) -> Effects:
    """What each kind of rule derives in each context.

    Raises:
        NotObservational: that depends on other rules, or there is a constraint among them.
    """
    given = [statement for rule in rules if rule.given for statement in statements(rule.text)]
    if any(not head_predicates(s) for s in given) or any(r.head is None for r in rules if not r.given):
        raise NotObservational("a constraint may be learned")
    learned = set(task.bias.learned).union(*map(head_predicates, given))
    needed = _needed(task, given)
    if needed & learned:
        raise NotObservational("rules use what is learned")
    contexts = tuple(dict.fromkeys(e.context for e in task.examples))
    if sum(rule.given for rule in rules) * len(contexts) > MOST_PROGRAMS:
        raise TooLarge(f"more than {MOST_PROGRAMS} rules given whole, in each context")
    programs = [_upstream(task, context, needed) for context in contexts]
    models = [_only_model(text) for text in programs]
    world = _World(task, models)
    cheapest: dict[frozenset[tuple[clingo.Symbol, int]], int] = {}
    for rule in rules:
        derived = _whole(rule, programs, models) if rule.given else world.derived(rule)
        if derived:
            key = frozenset(derived.items())
            cheapest[key] = min(rule.cost, cheapest.get(key, rule.cost))
    return Effects(contexts, tuple(models), tuple(cheapest), tuple(cheapest.values()), frozenset(learned))


def _needed(task: LasTask, given: Sequence[clingo.ast.AST]) -> Signatures:
    """The predicates that rules depend on."""
    modes = [mode.literal for mode in task.bias.bodies]
    found = {mode.signature for mode in modes if isinstance(mode, ModeAtom)}
    found |= {(p.type, 1) for mode in [*modes, *(m.atom for m in task.bias.heads)] for p in mode.placeholders}
    for statement in given:
        found |= predicates(list(statement.body))
    known = [s for s in program_statements(task) if s.ast_type == clingo.ast.ASTType.Rule]
    while True:
        more = set(found)
        for statement in known:
            if head_predicates(statement) & more:
                more |= predicates([statement])
        if more == found:
            return found
        found = more


def program_statements(task: LasTask) -> list[clingo.ast.AST]:
    """The statements of the background and of all contexts."""
    texts = {f"{s}." for e in task.examples for s in e.context}
    return [s for text in (task.background, *sorted(texts)) for s in statements(text)]


def _upstream(task: LasTask, context: Sequence[str], needed: Signatures) -> str:
    """The rules of the needed predicates, and definitions."""
    wanted = frozenset(needed)
    return "\n".join(_kept(text, wanted) for text in (task.background, *(f"{s}." for s in context)))


@lru_cache(maxsize=1 << 12)
def _kept(text: str, needed: frozenset[tuple[str, int]]) -> str:
    """The rules of a text that derive a needed predicate, and definitions."""
    kind = clingo.ast.ASTType.Rule
    return "\n".join(str(s) for s in parsed(text) if s.ast_type != kind or head_predicates(s) & needed)


@lru_cache(maxsize=1 << 12)
def parsed(text: str) -> tuple[clingo.ast.AST, ...]:
    """The statements of a text."""
    return tuple(statements(text))


def _only_model(text: str) -> frozenset[clingo.Symbol]:
    """The answer set of a program that has one."""
    models = answer_sets(grounded(text, "2"), 2)
    found = [frozenset(model.symbols(atoms=True)) for model in models]
    if len(found) != 1:
        raise NotObservational("a context has several answer sets, or none")
    return found[0]


def _whole(
    rule: Rule, programs: Sequence[str], models: Sequence[frozenset[clingo.Symbol]]
) -> dict[clingo.Symbol, int]:
    """What a rule given whole derives: the atoms, each with the contexts as bits of a number."""
    found: dict[clingo.Symbol, int] = {}
    for number, (text, model) in enumerate(zip(programs, models, strict=True)):
        for atom in _only_model(f"{text}\n{rule.text}") - model:
            found[atom] = found.get(atom, 0) | 1 << number
    return found


class _World:
    """The contexts of a task as bits of numbers: which atoms hold where."""

    def __init__(self, task: LasTask, models: Sequence[frozenset[clingo.Symbol]]) -> None:
        self.task = task
        self._definitions = constant_definitions(task)
        self.all = (1 << len(models)) - 1
        self.holds: dict[clingo.Symbol, int] = {}
        for number, model in enumerate(models):
            for atom in model:
                self.holds[atom] = self.holds.get(atom, 0) | 1 << number
        self._terms = {str(t) for atom in self.holds for a in atom.arguments for t in _subterms(a)}
        self._steps = Steps(MOST_ASSIGNMENTS, "values of variables")
        self._masks: dict[tuple[ModeAtom | ModeComparison, tuple[str, ...]], int] = {}
        self._domains: dict[tuple[str, bool], list[tuple[str, int]]] = {}

    def derived(self, rule: Rule) -> dict[clingo.Symbol, int]:
        """What a rule derives: the atoms, each with the contexts as bits of a number."""
        found: dict[clingo.Symbol, int] = {}
        domains = [self._domain(kind, v in rule.guarded) for v, kind in enumerate(rule.types)]
        decided: list[list[Literal]] = [[] for _ in range(len(domains) + 1)]
        for literal in rule.body:
            decided[max((p + 1 for p in literal.places if isinstance(p, int)), default=0)].append(literal)
        pairs = alike(rule.body) if self.task.bias.ground_without_replacement else []

        def assign(values: tuple[str, ...], mask: int) -> None:
            """Goes on from values of the first variables; `mask` says where the literals so far hold."""
            self._steps.take()
            for literal in decided[len(values)]:
                mask = mask and mask & self._mask(literal, values)
            if not mask:
                return
            if len(values) < len(domains):
                for value, guard in domains[len(values)]:
                    assign((*values, value), mask & guard)
            elif all(
                self._symbol(a.arguments(values)) != self._symbol(b.arguments(values)) for a, b in pairs
            ):
                assert rule.head is not None
                head = atom_symbol(rule.head.text(values), self._definitions)
                found[head] = found.get(head, 0) | mask

        assign((), self.all)
        return found

    def _symbol(self, text: str) -> clingo.Symbol:
        return symbol(text, self._definitions)

    def _domain(self, kind: str, guarded: bool) -> list[tuple[str, int]]:
        """The values of variables of a type, with the contexts where they have them."""
        known = self._domains.get((kind, guarded))
        if known is None:
            if guarded:
                known = [(str(a.arguments[0]), mask) for a, mask in self.holds.items() if a.match(kind, 1)]
            else:
                known = [(term, self.all) for term in sorted(self._terms)]
            self._domains[kind, guarded] = known
        return known

    def _mask(self, literal: Literal, values: Sequence[str]) -> int:
        """The contexts in which a ground literal is true."""
        key = literal.mode, tuple(values[p] if isinstance(p, int) else p for p in literal.places)
        mask = self._masks.get(key)
        if mask is None:
            text = Literal(literal.mode, literal.places).text(values)
            if isinstance(literal.mode, ModeAtom):
                mask = self.holds.get(atom_symbol(text, self._definitions), 0)
            else:
                mask = self.all if _is_true(f"{self._definitions}\n:- not {text}.") else 0
            self._masks[key] = mask
        return self.all & ~mask if literal.negated else mask


def _subterms(term: clingo.Symbol) -> Iterator[clingo.Symbol]:
    yield term
    if term.type == clingo.SymbolType.Function:
        for argument in term.arguments:
            yield from _subterms(argument)


@lru_cache(maxsize=1 << 12)
def _is_true(text: str) -> bool:
    """Whether a program has an answer set."""
    return is_satisfiable(grounded(text))
