"""The least score over a hypothesis space that is written down: one plain optimisation by clingo.

A positive example is covered if its copy of the program has an answer set that satisfies it, so that one
answer set of the whole chooses rules and shows which examples are covered. Negative examples are checked
against each hypothesis that could be better, one at a time, unless rules are told apart by what they derive.

If what rules read has one answer set in each context, a rule is as good as the atoms that it derives there,
and of rules that derive the same the cheapest will do. If moreover nothing else reads these atoms, an example
asks for some of them and forbids others, and clingo chooses rules by that.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import clingo

from nsl_bench.logic.las.semantics.verification.costs import Pricing
from nsl_bench.logic.las.semantics.verification.plain import PlainTask
from nsl_bench.logic.las.semantics.verification.solving import (
    Unverifiable,
    answer_sets,
    grounded,
    parse,
    solved,
)
from nsl_bench.logic.las.semantics.verification.statements import (
    Asked,
    Statements,
    apart,
    asked_by,
    covered_examples,
)

_MOST_PROPOSALS = 2_000
_LARGEST_WEIGHT = 2**31 - 1


@dataclass(frozen=True)
class Optimum:
    """A hypothesis of at most some score."""

    score: int
    hypothesis: tuple[str, ...]


def find_better(
    task: PlainTask, rules: Mapping[str, int], most: int | None, stop: Callable[[], None]
) -> Optimum | None:
    """A hypothesis of least score; None if that is more than a given score.

    Args:
        most: the largest score that is asked for; None: any, as long as what must be covered is.
    """
    effects = None if task.final else effects_of(task, rules, stop)
    if effects is not None and effects.conditions:
        return _Chosen(task, effects.rules, most, stop).by_cells(effects)
    search = _ByCopies(task, rules if effects is None else effects.rules, most, stop)
    best: Optimum | None = None
    limit = most
    for _ in range(_MOST_PROPOSALS):
        proposal = search.propose(limit)
        if proposal is None:
            return best
        penalty = search.penalty_of_negatives(proposal.hypothesis)
        if penalty is not None and (limit is None or proposal.score + penalty <= limit):
            best = Optimum(proposal.score + penalty, proposal.hypothesis)
            limit = best.score - 1
        if not search.negative.examples:
            return best
        search.exclude(proposal.hypothesis)
    raise Unverifiable(
        f"more than {_MOST_PROPOSALS:,} hypotheses would have to be tried on negative examples"
    )


Cells = frozenset[clingo.Symbol]
"""Atoms of the examples' copies, each with its context's number."""


@dataclass(frozen=True)
class Effects:
    """What rules derive.

    Attributes:
        rules: one rule of each kind, with its cost.
        conditions: of each example: the atoms that it needs beside what holds anyway, and those that it
            forbids; None in the place of an example that nothing satisfies. Empty if more depends on rules.
    """

    rules: dict[str, int]
    cells: dict[str, Cells]
    conditions: tuple[tuple[Cells, Cells] | None, ...] = ()


def effects_of(task: PlainTask, rules: Mapping[str, int], stop: Callable[[], None]) -> Effects | None:
    """What the rules of a space derive; None if that depends on other rules, or on an answer set."""
    statements = Statements(task, rules)
    feeds, reads = statements.dependence()
    if feeds:
        return None
    contexts = list(dict.fromkeys(example.context for example in task.examples))
    lines = [f"copy(0..{len(contexts) - 1}).", *statements.common(violation=True)]
    for i, context in enumerate(contexts):
        lines += statements.context(i, context, violation=True)
    try:
        models = answer_sets([*lines, *statements.derivations()], 2, stop)
    except Unverifiable:
        return None
    if len(models) != 1:
        return None
    effects: list[set[clingo.Symbol]] = [set() for _ in rules]
    for symbol in models[0]:
        if symbol.match("derived", 2):
            effects[symbol.arguments[0].number].add(symbol.arguments[1])
    is_plain = not reads and "#const" not in task.background
    conditions = _conditions(task, statements, contexts, set(models[0])) if is_plain else ()
    asked = {cell for each in conditions if each is not None for part in each for cell in part}
    cheapest: dict[Cells, tuple[int, str]] = {}
    for (text, cost), derived in zip(rules.items(), effects, strict=True):
        cells = frozenset(derived & asked if is_plain else derived)
        if cells:
            cheapest[cells] = min(cheapest.get(cells, (cost, text)), (cost, text))
    kinds = {text: cost for cost, text in cheapest.values()}
    return Effects(kinds, {text: cells for cells, (_, text) in cheapest.items()}, tuple(conditions))


def _conditions(
    task: PlainTask, statements: Statements, contexts: Sequence[tuple[str, ...]], base: set[clingo.Symbol]
) -> list[tuple[Cells, Cells] | None]:
    number = {context: i for i, context in enumerate(contexts)}
    result: list[tuple[Cells, Cells] | None] = []
    for example in task.examples:
        inclusions, exclusions, context = asked_by(example)
        i = number[context]
        needs, bans = (
            frozenset(clingo.parse_term(statements.atom(i, text)) for text in texts)
            for texts in (inclusions, exclusions)
        )
        violated = clingo.Function("violated", [clingo.Number(i)])
        possible = violated not in base and not bans & base
        result.append((needs - base, bans | {violated}) if possible else None)
    return result


class _Chosen:
    """One program that chooses rules: what they cost, and what that may be."""

    def __init__(
        self, task: PlainTask, rules: Mapping[str, int], most: int | None, stop: Callable[[], None]
    ) -> None:
        self._task = task
        self._rules = list(rules)
        self._most = most
        self._stop = stop
        self._total = sum(rules.values())
        self._control: clingo.Control | None = None
        self._lines = ["#show chosen/1."]
        for k, cost in enumerate(rules.values()):
            self._lines.append(f"{{ chosen({k}) }}. :~ chosen({k}). [{self._weight(cost)},rule({k})]")
        if task.final:
            self._lines += _final_lines(task, self._rules, stop)
        if task.max_cost is not None:
            costs = "; ".join(f"{cost},{k} : chosen({k})" for k, cost in enumerate(rules.values()))
            self._lines.append(f":- #sum {{ {costs} }} > {task.max_cost}.")

    def _weight(self, weight: int) -> int:
        """A weight, cut where what carries it is beyond the score that is asked for."""
        if self._most is not None:
            weight = min(weight, self._most + 1)
        if weight > _LARGEST_WEIGHT:
            raise Unverifiable("a cost or penalty is more than clingo can hold")
        return weight

    def by_cells(self, effects: Effects) -> Optimum | None:
        """The optimum where each example depends on what single rules derive."""
        number = {cell: i for i, cell in enumerate({c for cells in effects.cells.values() for c in cells})}
        for k, text in enumerate(self._rules):
            self._lines += [f"cell({number[cell]}) :- chosen({k})." for cell in effects.cells[text]]
        weights: Counter[tuple[str, bool]] = Counter()
        hard: set[tuple[str, bool]] = set()
        for example, condition in zip(self._task.examples, effects.conditions, strict=True):
            needs, bans = (frozenset[clingo.Symbol]() for _ in "nb") if condition is None else condition
            parts = sorted({f"cell({number.get(cell, -1)})" for cell in needs})
            parts += sorted({f"not cell({number[cell]})" for cell in bans if cell in number})
            key = ("#false" if condition is None else ", ".join(parts) or "#true", example.positive)
            hard |= {key} if example.penalty is None else set()
            weights[key] += example.penalty or 0
        for i, ((body, positive), weight) in enumerate(weights.items()):
            missed = f"{'not ' if positive else ''}ok({i})"
            self._lines.append(f"ok({i}) :- {body}.")
            price = f":~ {missed}. [{self._weight(weight)},example({i})]"
            self._lines.append(f":- {missed}." if (body, positive) in hard else price)
        self._total += sum(weights.values())
        return self.propose(self._most)

    def propose(self, most: int | None) -> Optimum | None:
        """The cheapest choice of rules, of at most so much; None if there is none."""
        if most is not None and most < 0:
            return None
        if most is not None and most > _LARGEST_WEIGHT:
            raise Unverifiable("the score is more than clingo can hold")
        if most is None and self._total > _LARGEST_WEIGHT:
            raise Unverifiable("costs and penalties add up to more than clingo can hold")
        if self._control is None:
            self._control = grounded(self._lines, self._stop, ["--opt-strategy=usc,stratify"])
        optima: list[tuple[list[int], int]] = []

        def keep(model: clingo.Model) -> None:
            chosen = sorted(symbol.arguments[0].number for symbol in model.symbols(shown=True))
            optima.append((chosen, sum(model.cost)))

        mode = "opt" if most is None else f"opt,{most}"
        self._control.configuration.solve.opt_mode = mode  # type: ignore[union-attr]
        try:
            result = solved(self._control, keep, self._stop)
        except RuntimeError as error:
            raise Unverifiable(f"clingo cannot weigh it ({error})") from None
        if not result.exhausted and not (optima and optima[-1][1] == 0):
            raise Unverifiable("clingo gave up")
        return Optimum(optima[-1][1], tuple(self._rules[k] for k in optima[-1][0])) if optima else None


def _final_lines(task: PlainTask, rules: Sequence[str], stop: Callable[[], None]) -> list[str]:
    """What `#final_bias` charges for the chosen rules; its predicates begin with ``f_``."""
    pricing = Pricing(task, stop)
    lines = [apart(rule, "f_") for rule in parse(task.final)]
    for k, text in enumerate(rules):
        terms = pricing.marks(pricing.of_rule(text)[1])
        lines += [f"f_intermediate({term}) :- chosen({k})." for term in terms]
    return [*lines, ":~ f_penalty(W,X). [W,f_penalty(W,X)]"]


class _ByCopies(_Chosen):
    """The same with a copy of the program for each positive example."""

    def __init__(
        self, task: PlainTask, rules: Mapping[str, int], most: int | None, stop: Callable[[], None]
    ) -> None:
        super().__init__(task, rules, most, stop)
        self.negative = task.of(positive=False)
        self._excluded = 0
        wanted: dict[Asked, int | None] = {}
        for example in task.of(positive=True).examples:
            paid = wanted.get(asked := asked_by(example), 0)
            wanted[asked] = None if paid is None or example.penalty is None else paid + example.penalty
        self._total += sum(penalty or 0 for penalty in wanted.values())
        statements = Statements(task, self._rules)
        if len(answer_sets([*statements.common(), "#show."], 2, stop)) != 1:
            # what the examples share is then not that of every copy's lower part
            statements = Statements(task, self._rules, copy_all=True)
        self._lines += [*statements.common(), *statements.hypothesis(numbered=True)]
        for i, (asked, penalty) in enumerate(wanted.items()):
            self._lines.append(f"{{ copy({i}) }}.")
            self._lines += statements.context(i, asked[2])
            self._lines += [f":- copy({i}), not {literal}." for literal in statements.satisfied(i, asked)]
            price = f":~ not copy({i}). [{self._weight(penalty or 0)},example({i})]"
            self._lines.append(f":- not copy({i})." if penalty is None else price)

    def penalty_of_negatives(self, hypothesis: tuple[str, ...]) -> int | None:
        """What negative examples cost that an answer set satisfies; None if one of them is not allowed to."""
        covered = covered_examples(self.negative, hypothesis, self._stop)
        missed = [e.penalty for e, ok in zip(self.negative.examples, covered, strict=True) if not ok]
        return None if None in missed else sum(penalty or 0 for penalty in missed)

    def exclude(self, hypothesis: Sequence[str]) -> None:
        """Never propose this very choice again."""
        assert self._control is not None
        held = set(hypothesis)
        literals = [f"{'' if text in held else 'not '}chosen({k})" for k, text in enumerate(self._rules)]
        name = f"excluded{self._excluded}"
        self._excluded += 1
        self._control.add(name, [], f":- {', '.join(literals)}." if literals else ":- #true.")
        self._control.ground([(name, [])])
