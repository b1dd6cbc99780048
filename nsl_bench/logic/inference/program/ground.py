"""Ground programs: a query's rules without variables, over the choice of what each slot shows.

clingo grounds the program once, with the concepts of the slots and the examples' other facts as choices.
What comes out is propositional and stratified, and is all that the engines work on.
"""

from __future__ import annotations

import atexit
import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from nsl_bench.core.errors import UserError, did_you_mean
from nsl_bench.logic.asp import ground_program as asp
from nsl_bench.logic.asp.atoms import Names, goal_of, parse_atom
from nsl_bench.logic.asp.dependencies import strong_components
from nsl_bench.logic.asp.parsing import grounded
from nsl_bench.logic.asp.program import Program, parse
from nsl_bench.logic.inference.program.unfolding import unfold
from nsl_bench.logic.inference.query import Query

NEVER = -1
"""In the place of an atom that is derived in no world."""

_MOST_RULES = 2_000_000


class GroundRule(NamedTuple):
    """A rule over atoms 0, 1, ...; it fires if the true literals of its body weigh at least `bound`.

    Attributes:
        head: the atom that it derives.
        body: literals: atom and whether it is positive.
        weights: a weight each; empty for a plain rule, whose literals must all be true.
        bound: what the weights of the true literals must reach.
    """

    head: int
    body: tuple[tuple[int, bool], ...]
    weights: tuple[int, ...] = ()
    bound: int = 0


@dataclass(frozen=True, eq=False)
class GroundProgram:
    """A propositional, stratified program over the choice of the slots' concepts.

    Attributes:
        n_atoms: atoms are numbered from 0.
        picks: for each slot and concept the atom that is true if the slot shows it, `NEVER` if that
            changes nothing.
        given: atoms of the facts that examples have besides, by text.
        components: the rules by head, in an order in which an atom's definition comes before its use;
            rules of atoms that depend on each other stand together.
        goals: for each label its atom, `NEVER` if it cannot be derived, None for the label without one.
        violated: the atom that is true if a constraint is violated, or `NEVER`.
    """

    n_atoms: int
    picks: tuple[tuple[int, ...], ...]
    given: dict[str, int]
    components: tuple[tuple[GroundRule, ...], ...]
    goals: tuple[int | None, ...]
    violated: int

    @property
    def rules(self) -> Iterator[GroundRule]:
        """All rules, definitions first."""
        return (rule for component in self.components for rule in component)

    def where(self, facts: Iterable[str]) -> GroundProgram:
        """The program of the examples with exactly these other facts."""
        if not self.given:
            return self
        true = {self.given[fact] for fact in facts}
        value: dict[int, bool] = {atom: atom in true for atom in self.given.values()}
        rules: list[GroundRule] = []
        for component in self.components:
            heads = {rule.head for rule in component}
            simpler = [s for rule in component if (s := _simplify(rule, value)) is not None]
            facts_here = {rule.head for rule in simpler if not rule.body and not rule.weights}
            while facts_here:
                value.update(dict.fromkeys(facts_here, True))
                simpler = [
                    s
                    for rule in simpler
                    if rule.head not in value and (s := _simplify(rule, value)) is not None
                ]
                facts_here = {rule.head for rule in simpler if not rule.body and not rule.weights}
            value.update(dict.fromkeys(heads - {rule.head for rule in simpler} - set(value), False))
            rules += simpler
        rules += [GroundRule(a, ()) for a in self._asked() if value.get(a)]
        goals = tuple(g if g is None or value.get(g, True) else NEVER for g in self.goals)
        violated = self.violated if value.get(self.violated, True) else NEVER
        return _assemble(rules, self.picks, {}, goals, violated)

    def _asked(self) -> list[int]:
        return [a for a in {*self.goals, self.violated} if a is not None and a != NEVER]


def _simplify(rule: GroundRule, value: dict[int, bool]) -> GroundRule | None:
    """A rule after some atoms have got their values; None if it cannot fire."""
    if not any(atom in value for atom, _ in rule.body):
        return rule
    if not rule.weights:
        if any(value.get(atom, positive) != positive for atom, positive in rule.body):
            return None
        return GroundRule(rule.head, tuple(literal for literal in rule.body if literal[0] not in value))
    bound, body, weights = rule.bound, [], []
    for (atom, positive), weight in zip(rule.body, rule.weights, strict=True):
        if atom not in value:
            body.append((atom, positive))
            weights.append(weight)
        elif value[atom] == positive:
            bound -= weight
    if bound <= 0:
        return GroundRule(rule.head, ())
    return GroundRule(rule.head, tuple(body), tuple(weights), bound) if sum(weights) >= bound else None


@lru_cache(maxsize=16)
def _background(text: str) -> Program:
    """Background knowledge, parsed once for all hypotheses that are judged with it."""
    return parse(text, "the background knowledge")


atexit.register(_background.cache_clear)  # clingo cannot free its syntax trees once Python has forgotten it


def check(query: Query, facts: Iterable[str] = ()) -> Program:
    """The program of a query, parsed.

    Args:
        query: hypothesis and background.
        facts: what examples have besides, so that their predicates count as defined.
    """
    hypothesis = parse("\n".join(query.rules), "the hypothesis")
    program = hypothesis + _background(query.background)
    if program.classical:
        raise UserError(
            "Classical negation (-a) is not supported in the hypothesis or background; write 'not a'."
        )
    for rule in program.rules:
        if rule.is_open:
            raise UserError(
                f"Each rule must have one atom in the head; the head of '{rule.node}' is a {rule.head}."
            )
    if not program.stratified:
        raise UserError(
            f"The hypothesis must be stratified, so that it has a single answer; {_cycle(program)} on a "
            "cycle through negation or an aggregate."
        )
    defined = {head for rule in program.rules for head in rule.derives}
    for text in {fact for slot in query.choices for values in slot for fact in values} | set(facts):
        symbol = parse_atom(text) if isinstance(text, str) else None
        if symbol is None or symbol.negative:
            raise UserError(f"The facts of a slot or example must be ground atoms; got '{text}'.")
        defined.add((symbol.name, len(symbol.arguments)))
    if query.strict:
        used = {s for rule in hypothesis.rules for s in rule.positive | rule.negative}
        for name, arity in sorted(used - defined):
            defined_predicates = sorted(f"{n}/{a}" for n, a in defined)
            raise UserError(
                f"The hypothesis uses {name}/{arity}, which is not "
                f"defined.{did_you_mean(f'{name}/{arity}', defined_predicates)}"
            )
    return program


def underivable(query: Query) -> str | None:
    """A sentence if no rule has a label's atom as its head; None if one has.

    A hypothesis without rules is none to wonder at where one label holds if nothing is derived.
    """
    hypothesis = parse("\n".join(query.rules), "the hypothesis")
    program = hypothesis + _background(query.background)
    goals = [goal_of(atom) for atom in query.labels.atoms if atom is not None]
    predicates = {(goal.name, len(goal.arguments)) for goal in goals}
    if any(rule.derives & predicates for rule in program.rules):
        return None
    if not hypothesis.rules and None in query.labels.atoms:
        return None
    names = [
        ", ".join(sorted(f"{name}/{arity}" for name, arity in signatures))
        for signatures in (predicates, {head for rule in hypothesis.rules for head in rule.derives})
    ]
    return f"No rule derives {names[0]}, a label's atom; the hypothesis derives {names[1] or 'nothing'}."


def _cycle(program: Program) -> str:
    names = sorted(f"{name}/{arity}" for name, arity in program.cycles_through_negation)
    return f"{', '.join(names)} {'depends' if len(names) == 1 else 'depend'}"


def ground(query: Query, facts: Iterable[str] = ()) -> GroundProgram:
    """Ground a query.

    Args:
        query: hypothesis, background, and what slots can show.
        facts: every fact that some example has besides (its meta-data).
    """
    import clingo

    extra = list(dict.fromkeys(facts))
    program = check(query, extra)
    goals = [None if atom is None else goal_of(atom) for atom in query.labels.atoms]
    predicates = {(goal.name, len(goal.arguments)) for goal in goals if goal is not None}
    lines, inputs = [], set(predicates)
    sliced = program.slice(predicates)
    relevant = sliced.signatures | predicates
    facts_of_slots = [fact for slot in query.choices for held in slot for fact in held]
    own = Names.apart_from([str(program), *extra, *facts_of_slots, *(str(g) for g in goals)])
    pick, other = own("pick"), own("given")
    choices = [
        (f"{pick}({slot},{value})", fact)
        for slot, values in enumerate(query.choices)
        for value, held in enumerate(values)
        for fact in held
    ]
    choices += [(f"{other}({k})", fact) for k, fact in enumerate(extra)]
    for choice, fact in choices:
        symbol = clingo.parse_term(fact)
        signature = (symbol.name, len(symbol.arguments))
        if signature in relevant:
            inputs.add(signature)
            lines.append(f"{{ {choice} }}. {fact} :- {choice}.")
    program = unfold(sliced, inputs).slice(predicates)
    observer = asp.GroundProgram(most=_MOST_RULES)
    try:
        control = grounded("The hypothesis", program.nodes, "\n".join(lines), observer=observer)
    except MemoryError:
        raise UserError(
            f"The hypothesis has more than {_MOST_RULES} ground rules; use fewer variables per rule."
        ) from None
    return _read(control, observer, query, extra, (pick, other))


def _read(
    control: Any, observer: asp.GroundProgram, query: Query, facts: list[str], names: tuple[str, str]
) -> GroundProgram:
    """A query's ground program as clingo has made it.

    Args:
        control: has grounded it.
        observer: its rules.
        query: says what the labels' atoms are.
        facts: what examples have besides.
        names: the predicates of the choices: what slots show, and which facts hold.
    """
    import clingo

    (pick, other), atoms = names, control.symbolic_atoms
    goals = [None if atom is None else goal_of(atom) for atom in query.labels.atoms]

    def number(symbol: Any) -> int:
        atom_of_symbol = atoms[symbol]
        return NEVER if atom_of_symbol is None else int(atom_of_symbol.literal)

    # Facts of clingo need not have a literal of their own; their rules name the atom all the same.
    named = itertools.chain.from_iterable((*rule.heads, *rule.atoms) for rule in observer.rules)
    violated = 1 + max(named, default=0)
    rules = [own_rule for rule in observer.rules if not rule.choice for own_rule in _plain(rule, violated)]
    constrained = any(not rule.heads for rule in observer.rules)
    atom_of_symbol = {goal: atoms[goal] for goal in goals if goal is not None}
    always = {goal for goal, atom in atom_of_symbol.items() if atom is not None and atom.is_fact}
    asked: list[int | None] = []
    for k, goal in enumerate(goals):
        if goal is None:
            asked.append(None)
        elif goal in always:
            asked.append(violated + 1 + k)
            rules.append(GroundRule(violated + 1 + k, ()))
        else:
            asked.append(number(goal))
    picks = tuple(
        tuple(
            number(clingo.Function(pick, [clingo.Number(slot), clingo.Number(value)]))
            for value in range(len(values))
        )
        for slot, values in enumerate(query.choices)
    )
    given = {fact: number(clingo.Function(other, [clingo.Number(k)])) for k, fact in enumerate(facts)}
    return _assemble(rules, picks, given, tuple(asked), violated if constrained else NEVER)


def _plain(rule: asp.GroundRule | asp.WeightRule, violated: int) -> list[GroundRule]:
    """A rule of clingo's as rules with one head."""
    heads = rule.heads or (violated,)
    if isinstance(rule, asp.WeightRule):
        body = tuple((abs(literal), literal > 0) for literal, _ in rule.body)
        weights = tuple(weight for _, weight in rule.body)
        return [GroundRule(head, body, weights, rule.bound) for head in heads]
    body = tuple([(atom, True) for atom in rule.positive] + [(atom, False) for atom in rule.negative])
    return [GroundRule(head, body) for head in heads]


def _assemble(
    rules: Iterable[GroundRule],
    picks: tuple[tuple[int, ...], ...],
    given: dict[str, int],
    goals: tuple[int | None, ...],
    violated: int,
) -> GroundProgram:
    """The rules that matter, atoms numbered from 0, definitions first."""
    by_head: dict[int, dict[GroundRule, None]] = {}
    for rule in rules:
        by_head.setdefault(rule.head, {})[rule] = None
    asked = [a for a in dict.fromkeys([*goals, violated]) if a is not None and a in by_head]
    graph = {atom: sorted({b for rule in by_head[atom] for b, _ in rule.body}) for atom in by_head}
    reached: dict[int, list[int]] = {}
    open_ = list(asked)
    while open_:
        atom = open_.pop()
        if atom not in reached:
            reached[atom] = graph.get(atom, [])
            open_ += reached[atom]
    component = strong_components(reached)
    names = {atom: k for k, atom in enumerate(component)}
    grouped: dict[int, list[GroundRule]] = {}
    for atom, c in component.items():
        for rule in by_head.get(atom, ()):
            body = tuple([(names[b], positive) for b, positive in rule.body])
            grouped.setdefault(c, []).append(GroundRule(names[atom], body, rule.weights, rule.bound))
    return GroundProgram(
        n_atoms=len(names),
        picks=tuple(tuple(names.get(atom, NEVER) for atom in slot) for slot in picks),
        given={fact: names.get(atom, NEVER) for fact, atom in given.items()},
        components=tuple(tuple(rules) for rules in grouped.values()),
        goals=tuple(None if g is None else names.get(g, NEVER) if g in by_head else NEVER for g in goals),
        violated=names.get(violated, NEVER),
    )
