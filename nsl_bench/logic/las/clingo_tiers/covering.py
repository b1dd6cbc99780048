"""A good hypothesis soon, by sequential covering: rules are added one by one, each found by a beam search.

A rule begins with its head and grows by one body literal at a time; of each length the best few are kept
(Clark, Niblett: "The CN2 induction algorithm", 1989; Quinlan: "Learning logical definitions from relations",
1990). Clingo finds what a rule changes (`trial`), so it may be recursive, a constraint, or feed others; where
it is none of these, joins do (`joins`). The search looks at a sample of the examples, a *window*, which grows
by those that its result misses (Quinlan: "Learning efficient classification procedures", 1983).
"""

import itertools
from collections import Counter, defaultdict
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self, TypeVar

from nsl_bench.core.budget import Budget
from nsl_bench.logic.asp.program import Signature
from nsl_bench.logic.las.bias.costs import is_monotone, rule_costs
from nsl_bench.logic.las.bias.hypothesis import rule_parts
from nsl_bench.logic.las.bias.space import Argument, Conjunction, Instance, RuleMaker, SpaceRule
from nsl_bench.logic.las.bias.types import domains
from nsl_bench.logic.las.clingo_tiers.demands import Demand, Problem
from nsl_bench.logic.las.clingo_tiers.incumbent import Incumbent
from nsl_bench.logic.las.clingo_tiers.joins import Joins
from nsl_bench.logic.las.clingo_tiers.trial import Trial
from nsl_bench.logic.las.language_bias import ModeAtom
from nsl_bench.logic.las.task import LasTask

T = TypeVar("T")

_WINDOW = 40
"""Demands of the first window."""
_BEAMS = ((5, 0), (5, 250), (20, 250), (60, 250), (180, 250))
"""Rules of each length that are kept, and ways to make one longer by two literals: at first, and where that
is not enough."""
_SIMPLE = 2
"""With how many of them no literal negates what learned rules may derive."""
_ALIKE = 5
"""Rules of a beam that change the same demands."""
_LONGEST = 10
"""Body literals that are tried."""
_STALE = 3
"""Literals in turn that make no rule of the beam more exact, after which longer rules are not tried."""
_POOL = 200
"""Rules found by one beam search that are tried again once the best of them has been added."""


class _Effect(NamedTuple):
    """The effect of a hypothesis on the examples in the window.

    Attributes:
        lost: demands that must be met, and that its last rule has changed so that they are not.
        unmet: demands that must be met and are not.
        open: single atoms that these ask for, and that are not as they should be.
        score: its score on the window.
        holds: numbers of the demands whose content holds bravely, and after them of the single atoms.
    """

    lost: int
    unmet: int
    open: int
    score: int
    holds: frozenset[int]

    def betters(self, other: Self) -> bool:
        """Whether it is better than another one."""
        return self[1:4] < other[1:4]


@dataclass(frozen=True)
class _Candidate:
    """A rule that may be added or grow.

    Attributes:
        rule: the rule.
        form: the same over numbered variables; None for a rule that is given whole.
        whole: it may be added as it is.
        safe: clingo can ground it.
    """

    rule: SpaceRule
    form: Conjunction | None = None
    whole: bool = True
    safe: bool = True


_Known = list[tuple[_Candidate, _Effect]]
_Work = Generator[None, None, T]


def cover(
    task: LasTask, incumbent: Incumbent, budget: Budget, tell: Callable[[str], None] = lambda words: None
) -> Iterator[None]:
    """Offer a hypothesis that covers what must be covered, and makes up for its cost.

    It yields now and then, so that its caller can do other work in between.

    Args:
        task: the task.
        incumbent: is offered what is found.
        budget: when to stop.
        tell: is told how many examples that must be covered are.
    """
    score = incumbent.empty
    if score is None:
        return
    problem = incumbent.problem
    search = _Covering(task, problem, budget)
    missed = incumbent.missed(score)
    window: list[Demand] = []
    for unmet in (True, False):
        own = [demand for demand in problem.demands if (demand.content in missed) is unmet]
        window += _sample(own, _WINDOW // 2)
    hard = sum(example.penalty is None for example in task.examples)
    beams = iter(_BEAMS)
    beam = next(beams)
    while True:
        rules, effect = yield from search.cover(window, beam)
        score = incumbent.offer(tuple(rule.text for rule in rules))
        if score is None:
            return
        if score.broken:
            tell(f"rules for {hard - len(score.broken)} of {hard} examples that must be covered")
        missed = incumbent.missed(score)
        more = [each for each in problem.demands if each.content in missed and each not in window]
        more = [each for each in more if each.is_hard or not effect.unmet]
        if not more and not effect.unmet:
            return
        quick = beam == _BEAMS[0] and bool(effect.unmet or not any(each.is_hard for each in more))
        if effect.unmet or quick:
            wider = next(beams, None) if search.narrow or not effect.unmet else None
            if wider is None:
                return
            beam = wider
        if quick:
            continue  # what hasty rules miss says little of better ones
        window += _sample(more, len(window))


def _sample(choices: Sequence[T], size: int) -> list[T]:
    """At most so many of a sequence, at even distances."""
    step = max(1, len(choices) // max(1, size))
    return list(choices[::step][:size])


class _Covering:
    """Sequential covering of one task; see `cover`.

    Attributes:
        narrow: some rule was left out.
    """

    def __init__(self, task: LasTask, problem: Problem, budget: Budget) -> None:
        self.narrow = False
        self._window: Sequence[Demand] = ()
        self._width = self._pairs = 0
        self._pool: list[_Candidate] = []
        self._shared: dict[frozenset[Signature], dict[Signature, list[tuple[str, ...]]]] = defaultdict(dict)
        self._bias = task.bias
        self._problem = problem
        self._budget = budget
        type_domains = domains(task)
        self._guarded = type_domains.guarded
        self._maker = RuleMaker(task.bias, type_domains)
        self._monotone = is_monotone(task.bias)
        negative = any(demand.negative for demand in problem.demands)
        heads = list(self._maker.heads(task.bias.constraints and negative))
        given = (*task.bias.rules, *task.bias.instances)
        self._first = [
            *self._candidates(heads),
            *(_Candidate(SpaceRule(*rule_parts(each.parsed), each.cost, each.parsed)) for each in given),
        ]
        self._one_literal = [longer for head in heads for longer in self._maker.refinements(head)]
        fed = task.program.dependents(task.bias.learned) if task.program.stratified else frozenset()
        self._negating = frozenset(
            i
            for i, each in enumerate(task.bias.literals)
            if each.negated and isinstance(each.literal, ModeAtom) and each.literal.signature in fed
        )
        self._avoided = frozenset[int]()
        self._tried_on: object = None
        self._dear = max([1, *(max(demand.penalty, demand.price) for demand in problem.demands)])

    def cover(
        self, window: Sequence[Demand], beam: tuple[int, int]
    ) -> _Work[tuple[tuple[SpaceRule, ...], _Effect]]:
        """Rules that together do well on a window, and what they do there.

        Args:
            window: the demands.
            beam: rules of each length that are kept, and pairs of literals by which one may grow.
        """
        # without cycles through negation, trying rules takes no search
        self._avoided = self._negating if beam in _BEAMS[:_SIMPLE] else frozenset()
        if self._tried_on != (tuple(window), self._avoided):
            self._window = tuple(window)
            self._tried_on = self._window, self._avoided
            self._trial = Trial(self._problem, self._window, self.space(), self._budget)
            yield
            self._asked = [*self._window, *self._trial.atoms]
            self._joins: Joins | None = None
            if self._trial.adds_up and not self._bias.ground_without_replacement:
                self._joins = Joins(
                    self._trial, self._maker, self._guarded, self._shared[self._trial.dependent]
                )
            self._reach: dict[Conjunction, int | None] = {}
        self._longer: dict[Conjunction, list[Conjunction]] = {}
        if beam != (self._width, self._pairs):
            self._width, self._pairs = beam
            self._pool = []  # with other rules it may end elsewhere
        self.narrow = bool(self._avoided)
        rules: tuple[_Candidate, ...] = ()
        (now,) = self._effects((), ())
        while now.unmet or now.score > sum(each.rule.cost for each in rules):
            rated = self._tried(rules, self._pool, now)
            best = _best(rated, now)
            if best is None or best[1].lost:
                best, rated = yield from self._search(rules, now)
            if best is None:
                break
            useful = (each for each, effect in rated if not effect.lost and effect.betters(now))
            self._pool = list(itertools.islice(useful, _POOL))
            yield
            rules, now = self._shortened((*rules, best[0]), best[1])
        self._pool = [*rules, *self._pool]
        for each in rules:
            others = tuple(other for other in rules if other is not each)
            (without,) = self._effects(others, ())
            if without.betters(now):
                rules, now = others, without
        return tuple(each.rule for each in rules), now

    def space(self) -> list[SpaceRule]:
        """Rules in which each predicate occurs that a tried rule may have."""
        forms = (each for each in self._one_literal if self._avoided.isdisjoint(i for i, _ in each.literals))
        return [
            *(each.rule for each in self._first),
            *(SpaceRule(*self._maker.guarded(form), 0) for form in forms),
        ]

    def _shortened(
        self, rules: tuple[_Candidate, ...], now: _Effect
    ) -> tuple[tuple[_Candidate, ...], _Effect]:
        """The rules without each literal of the last one that makes them no better."""
        *base, last = rules
        while last.form is not None:
            shorter = [last.form.without(literal) for literal in last.form.literals]
            best = _best(self._tried(base, self._candidates(shorter), now), now)
            if best is None or best[1].lost:
                break
            last, now = best
        return (*base, last), now

    def _search(
        self, base: Sequence[_Candidate], now: _Effect
    ) -> _Work[tuple[tuple[_Candidate, _Effect] | None, _Known]]:
        """The best rule to add that a beam search finds, and all that it tried, the most exact first."""
        best: tuple[_Candidate, _Effect] | None = None
        level = self._first
        tried: _Known = []
        seen: set[Conjunction] = set()
        stale, exact = 0, 0.0
        for _ in range(_LONGEST + 1):
            rated = self._tried(base, level, now)
            yield
            tried += rated
            rule = _best(rated if best is None else [best, *rated], now)
            if rule is not None and rule is best and not best[1].lost:
                break
            best = rule
            unsafe = [each.form for each in level if not each.safe and each.form is not None]
            beam = [*unsafe[: self._width], *self._beam(rated, now)]
            longer = dict.fromkeys(form for each in beam for form in self._grown(each))
            level = self._candidates([form for form in longer if form not in seen])
            seen.update(longer)
            most = max((self._exactness(now, effect)[0] for _, effect in rated), default=0.0)
            stale, exact = (0, most) if most > exact else (stale + 1, exact)
            if not level or (stale >= _STALE and not unsafe):
                break
        tried.sort(key=lambda each: self._exactness(now, each[1]), reverse=True)
        return best, tried

    def _grown(self, form: Conjunction) -> list[Conjunction]:
        """A rule with a literal more, or with two if the second one has a new variable of the first one.

        A literal with a new variable often changes nothing by itself; what is said of the variable does.
        """
        grown = self._longer.get(form)
        if grown is not None:
            return grown
        self._budget.check()
        joins = self._joins
        rows = None if joins is None else joins.rows(form)
        refinements, pairs = [], []
        for literal, types in self._literals(form):
            refinements.append((form, rows, literal, types))
            if self._pairs and len(types) > len(form.types):
                longer = Conjunction(form.head, form.literals | {literal}, types)
                further = None if joins is None else joins.step(rows, literal, types)
                loose = _loose(longer)
                for second, kinds in self._literals(longer):
                    if len(loose.intersection(second[1])) > len(kinds) - len(types):
                        pairs.append((longer, further, second, kinds))
        self.narrow |= not self._pairs or len(pairs) > self._pairs
        result = self._longer[form] = []
        for shorter, substitutions, literal, types in [*refinements, *_sample(pairs, self._pairs)]:
            result.append(shorter.plus(literal, types))
            if joins is not None and result[-1] not in self._reach:
                self._reach[result[-1]] = joins.reach(substitutions, literal, types)
        return result

    def _literals(self, form: Conjunction) -> Iterator[tuple[Instance, tuple[str, ...]]]:
        """Literals that a rule may have besides, each with the types of all variables then."""
        result = self._maker.literals(form, joined=True)
        return (each for each in result if each[0][0] not in self._avoided)

    def _beam(self, rated: _Known, now: _Effect) -> list[Conjunction]:
        """The most exact of the rules that change some demand for the better."""
        ranked = []
        for number, (each, effect) in enumerate(rated):
            exactness, gain = self._exactness(now, effect)
            if gain and each.form is not None:
                kinds = len({i for i, _ in each.form.literals})
                ranked.append((-exactness, -gain, each.rule.cost, -kinds, number, each.form, effect.holds))
        alike: Counter[frozenset[int]] = Counter()
        beam = []
        for *_, form, holds in sorted(ranked, key=lambda entry: entry[:5]):
            alike[holds] += 1
            if alike[holds] <= _ALIKE:
                beam.append(form)
        self.narrow |= len(beam) > self._width
        return beam[: self._width]

    def _exactness(self, before: _Effect, after: _Effect) -> tuple[float, int]:
        """The share of a rule's changes that are for the better, Laplace-corrected; and these alone."""
        gain, loss = 0, 0
        for i in before.holds ^ after.holds:
            demand = self._asked[i]
            wanted = demand.penalty + self._dear * demand.required
            unwanted = demand.price + self._dear * demand.forbidden
            gain += wanted if i in after.holds else unwanted
            loss += unwanted if i in after.holds else wanted
        return (gain + self._dear) / (gain + loss + 2 * self._dear), gain

    def _candidates(self, forms: Sequence[Conjunction]) -> list[_Candidate]:
        """The rules of some forms, without those that no longer rule of the space can grow from."""
        maker = self._maker
        costs = rule_costs(self._bias, [maker.parts(form) for form in forms], self._budget)
        result = []
        for form, cost in zip(forms, costs, strict=True):
            if cost is None and self._monotone:
                continue
            safe = maker.is_safe(form) and (bool(form.literals) or form.head is not None)
            rule = SpaceRule(*maker.guarded(form), cost or 0, marks=maker.marks(form))
            whole = cost is not None and safe and maker.is_allowed(form)
            result.append(_Candidate(rule, form, whole, safe))
        return result

    def _changed(self, each: _Candidate) -> int | None:
        """The demands that a rule changes, whatever the others are, as bits; None if joins do not say it."""
        form = each.form
        if self._joins is None or form is None or form in self._reach:
            return None if form is None else self._reach.get(form)
        self._budget.check()
        return self._reach.setdefault(form, self._joins.changes(form))

    def _tried(self, base: Sequence[_Candidate], level: Iterable[_Candidate], now: _Effect) -> _Known:
        """The rules that can be tried, each with the effect of adding it."""
        safe = [each for each in level if each.safe]
        effects = self._effects(base, safe, now)
        return list(zip(safe, effects[1:], strict=True))

    def _holds(self, base: Sequence[_Candidate], rules: Sequence[_Candidate]) -> list[frozenset[int]]:
        """See `Trial.holds`; it is asked where joins do not say it."""
        joins = self._joins
        reached = [self._changed(each) for each in rules]
        common = [self._changed(each) for each in base]
        if joins is None or None in common:
            return self._trial.holds([each.rule for each in base], [each.rule for each in rules])
        changed = 0
        for each in common:
            changed |= each or 0
        slow = [each.rule for each, reach in zip(rules, reached, strict=True) if reach is None]
        tried = iter(self._trial.holds([each.rule for each in base], slow)[1:] if slow else ())
        result = [next(tried) if each is None else joins.added(changed | each) for each in reached]
        return [joins.added(changed), *result]

    def _effects(
        self, base: Sequence[_Candidate], rules: Sequence[_Candidate], now: _Effect | None = None
    ) -> list[_Effect]:
        """What some rules do, and what they do with each of others besides."""
        cost = sum(each.rule.cost for each in base)
        costs = [cost, *(cost + each.rule.cost for each in rules)]
        result = []
        for score, holds in zip(costs, self._holds(base, rules), strict=True):
            bad = [i for i, d in enumerate(self._asked) if (d.forbidden if i in holds else d.required)]
            lost = 0 if now is None else sum((i in now.holds) != (i in holds) for i in bad)
            unmet = sum(i < len(self._window) for i in bad)
            score += sum(d.price if i in holds else d.penalty for i, d in enumerate(self._window))
            result.append(_Effect(lost, unmet, len(bad) - unmet, score, holds))
        return result


def _best(rated: _Known, now: _Effect) -> tuple[_Candidate, _Effect] | None:
    """The best whole rule that improves the hypothesis, preferably one without loss."""
    better = [pair for pair in rated if pair[0].whole and pair[1].betters(now)]
    return min(better, key=lambda pair: pair[1][:4], default=None)


def _loose(form: Conjunction) -> set[Argument]:
    """The variables of a rule that occur in one literal only."""
    parts = [*form.literals, *([] if form.head is None else [form.head])]
    uses = Counter(each for _, arguments in parts for each in {*arguments})
    return {variable for variable in range(len(form.types)) if uses[variable] == 1}
