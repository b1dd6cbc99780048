"""Tiers A and B: Boolean tables over all examples at once, enumeration of bodies, and a choice of rules."""

from __future__ import annotations

import itertools
import math
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from nsl_bench.core.budget import Budget, Undecided
from nsl_bench.logic.las.bias.program import unconstrained
from nsl_bench.logic.las.bits import digest
from nsl_bench.logic.las.enumeration.bodies import Bodies
from nsl_bench.logic.las.enumeration.candidates import Candidate, candidates, given_candidates
from nsl_bench.logic.las.enumeration.cells import Cells
from nsl_bench.logic.las.enumeration.heads import HeadForm, Rule, head_forms, priced_parts, rule_text
from nsl_bench.logic.las.language_bias import LanguageBias, ModeAtom, WeightedRule
from nsl_bench.logic.las.set_cover.problem import CoverProblem
from nsl_bench.logic.las.tables.conditions import Target, choice_atom, targets
from nsl_bench.logic.las.tables.evaluation import Columns
from nsl_bench.logic.las.tables.formulas import Formula, assign, demands, evaluate
from nsl_bench.logic.las.tables.grounding import ground
from nsl_bench.logic.las.tables.literals import BodyLiteral, Vocabulary
from nsl_bench.logic.las.task import LasTask, Solution, Tier, uncoverable

if TYPE_CHECKING:
    from nsl_bench.logic.las.bias.sight import Sight

Tell = Callable[[Callable[[], Solution | None]], None]

_MOST_BRANCHES = 64
_ENUMERATION_SHARE = 0.7
_RELAXED_SHARE = 0.5
"""Of the time that is left, which a search without the constraints of `#bias` may take."""
_MOST_SPELLINGS = 1_000
"""Rules that are tried in place of one that a constraint forbids."""
_MANY_TESTS, _FEW_LITERALS = 200, 2
"""With so many comparisons of one variable with constants, bodies of a few literals are tried first."""
_WHOLE_SHARE = 0.8
"""Likewise, one that keeps the best rule of each shape that the constraints tell apart."""


def tabular_tier(task: LasTask) -> Tier:
    """``"B"`` if a predicate that may be learned feeds another predicate, else ``"A"``."""
    given = [rule.parsed for rule in (*task.bias.instances, *task.bias.rules)]
    learned = task.bias.learned.union(*(rule.derives for rule in given))
    feeding = [rule.body for rule in (*task.program.rules, *given) if rule.derives]
    modes = [mode.literal for mode in task.bias.bodies if isinstance(mode.literal, ModeAtom)]
    feeding += [frozenset({mode.signature}) for mode in modes]
    return "B" if any(body & learned for body in feeding) else "A"


def solve_by_tables(task: LasTask, budget: Budget, tell: Tell = lambda answer: None) -> Solution:
    """The hypothesis of least score, by tables.

    Args:
        budget: when to stop; the best so far is the answer then.
        tell: is handed a first answer, as a function that works it out.
    """
    bias = unconstrained(task.bias)
    if bias is None or not _has_own_variables(task.bias):
        search = _TabularSearch(task, budget, tell)
        try:
            return search.solve()
        except Undecided:
            if bias is None or search.adds_up or budget.expired():
                raise
    return _relaxed(task, bias, budget, tell)


def _relaxed(task: LasTask, bias: LanguageBias, budget: Budget, tell: Tell) -> Solution:
    """The best answer by first heeding no constraints, then, if that breaks one, all."""
    relaxed = replace(task, bias=bias)
    search = _TabularSearch(relaxed, budget.before(_RELAXED_SHARE), tell, task.bias)
    result = search.solve()
    if result.status != "feasible" or budget.expired():
        return result
    if bias.ground_without_replacement:
        raise Unproven("#bias prices rules as a whole", result)
    try:
        whole = search.solve_whole(budget.before(_WHOLE_SHARE))
    except Undecided as reason:
        raise Unproven(str(reason), result) from None
    if whole.status == "feasible":
        whole = replace(better(result, whole), bound=max(result.bound, whole.bound))
    if whole.status == "feasible" and not budget.expired():
        raise Unproven("#bias prices rules as a whole", whole)
    return whole


def _has_own_variables(bias: LanguageBias) -> bool:
    """Whether bodies may have variables besides the head's."""
    fewest = min(
        (len({p.type for p in head.atom.placeholders if p.kind == "var"}) for head in bias.heads), default=0
    )
    with_variables = any(p.kind == "var" for mode in bias.literals for p in mode.literal.placeholders)
    return with_variables and bias.max_variables > fewest


class Unproven(Undecided):
    """There is an answer, and others may have a better one."""

    def __init__(self, reason: str, solution: Solution) -> None:
        super().__init__(reason)
        self.solution = solution


def better(one: Solution, other: Solution) -> Solution:
    """The answer of less score, the first of equal ones."""
    scores = [math.inf if each.score is None else each.score for each in (one, other)]
    return other if scores[1] < scores[0] else one


@dataclass(eq=False, repr=False)
class _Branch:
    """One way to choose the rules that are given whole."""

    chosen: tuple[int, ...]
    cost: int
    targets: list[Target]

    @property
    def floor(self) -> int:
        """A lower bound on the cost of any choice of other rules."""
        return self.cost + sum(t.penalty or 0 for t in self.targets if t.condition is False)


@dataclass(eq=False, repr=False)
class _Best:
    """The best choice in all branches, and what is known of the others."""

    score: int
    branch: _Branch
    rules: tuple[int, ...]
    bound: int
    proven: bool


class _TabularSearch:
    """The search of one task: tables, enumeration, choice of rules.

    Args:
        strict: a bias that forbids rules which the task's allows, and else prices them alike: no rule that
            it forbids is chosen, and an answer is proven if none of the task's whole space is better.

    Attributes:
        adds_up: nothing shows that costs of rules are no sums of what is in them.
    """

    def __init__(self, task: LasTask, budget: Budget, tell: Tell, strict: LanguageBias | None = None) -> None:
        self._task = task
        self._strict = strict
        self.adds_up = True
        self._budget = budget
        self._tell = tell
        self._rules: list[Candidate] = []
        self._given: list[WeightedRule] = [*task.bias.instances, *task.bias.rules]
        self._statistics: dict[str, float] = {}
        self._clock = time.perf_counter()

    def _lap(self, phase: str) -> None:
        now = time.perf_counter()
        self._statistics[f"seconds_{phase}"] = round(now - self._clock, 4)
        self._clock = now

    def solve(self) -> Solution:
        """See `solve_by_tables`."""
        task, budget = self._task, self._budget
        if task.bias.final:
            raise Undecided("#final_bias prices hypotheses as a whole")
        if any(atom.is_classical for atom in task.bias.atoms):
            raise Undecided("a mode is negated classically")
        if task.bias.constraints and task.bias.bodies and not all(e.positive for e in task.examples):
            raise Undecided("constraints may be learned, and there are negative examples")
        columns = Columns.of(task.examples)
        budget.check()
        self._grounding = ground(task, columns, self._given, budget)
        self._lap("grounding")
        budget.pause()
        self._goals = self._branches(targets(task, self._grounding, len(self._given), budget))
        self._cells = Cells([branch.targets for branch in self._goals], columns.words, columns.n)
        budget.check()
        self._tell(partial(self._empty, self._goals))
        return self._solved(None, None)

    def solve_whole(self, budget: Budget) -> Solution:
        """The best answer that the strict bias allows, by the best rules of each shape that it sees."""
        from nsl_bench.logic.las.bias.sight import Sight

        assert self._strict is not None
        self._budget = budget
        return self._solved(Sight(self._strict.scoring), self._strict)

    def _solved(self, sight: Sight | None, strict: LanguageBias | None) -> Solution:
        """The best answer, by rules that a bias allows; its constraints tell apart what `sight` says."""
        budget, branches = self._budget, self._goals
        interest = self._cells.interest
        self._vocabulary = Vocabulary(self._task, self._grounding, budget, interest, sight)
        self._lap("conditions")
        budget.pause()
        self._bodies = Bodies(self._vocabulary, budget, _ENUMERATION_SHARE)
        forms = head_forms(self._vocabulary, self._cells)
        self.adds_up = self._vocabulary.additive
        self._lap("tables")
        best = self._by_few_literals(forms, branches) if sight is None and self.adds_up else None
        best = best or self._enumerated(forms, branches, strict)
        if self._strict is not None and strict is None:
            best = self._allowed(best, branches, self._strict)
        self._lap("choice")
        result = self._solution(best)
        if not self._bodies.failure:
            return result
        self._statistics["compiled"] = 0
        note = f"Note: large tables were computed by numpy, which is slower: {self._bodies.failure}."
        message = " ".join([result.message, note]).strip()
        return replace(result, statistics=dict(self._statistics), message=message)

    def _by_few_literals(self, forms: Sequence[HeadForm], branches: Sequence[_Branch]) -> _Best | None:
        """The best choice of rules with few literals, of many, where no longer rule can be better."""
        bodies = self._bodies
        limits, literals = bodies.limits, bodies.literals
        tests = sum(len(literal.types) == 1 and bool(literal.constants) for literal in literals)
        few = tests < _MANY_TESTS or self._given or not forms
        if few or (limits.literals is not None and limits.literals <= _FEW_LITERALS):
            return None
        bodies.limits = limits._replace(literals=_FEW_LITERALS)
        best = self._enumerated(forms, branches, None)
        bodies.limits = limits
        each = min(cost / literal.size for literal in literals for cost in literal.costs.values())
        longer = min(form.cost for form in forms) + math.ceil((_FEW_LITERALS + 1) * each)
        return best if best.score <= min(branch.floor for branch in branches) + longer else None

    def _enumerated(
        self, forms: Sequence[HeadForm], branches: Sequence[_Branch], strict: LanguageBias | None
    ) -> _Best:
        """The best choice among rules with the bodies that there are."""
        self._rules = candidates(self._bodies, forms, self._cells, strict)
        if len(branches) == 1:
            self._rules += given_candidates(self._given, self._cells)
        self._lap("enumeration")
        self._statistics.update(
            examples=len(self._task.examples),
            contexts=self._grounding.columns.n,
            evaluated=self._bodies.evaluated,
            distinct=len(self._rules),
        )
        return self._choose(branches)

    def _empty(self, branches: Sequence[_Branch]) -> Solution | None:
        """The empty hypothesis as an answer, if it covers what must be covered."""
        branch = next(branch for branch in branches if not branch.chosen)
        covered = self._covered(_Best(0, branch, (), 0, False))
        missed = [e.penalty for e, ok in zip(self._task.examples, covered, strict=True) if not ok]
        if None in missed:
            return None
        floor = min(branch.floor for branch in branches)
        score = sum(penalty or 0 for penalty in missed)
        return self._solution(_Best(score, branch, (), min(floor, score), False))

    def _branches(self, goals: Sequence[Target]) -> list[_Branch]:
        """Choices of given rules that leave no more than needs and bans to the rest.

        Where that is all that there is from the start, given rules are candidates like others.
        """
        n = len(self._given)
        conditions = {id(goal.condition): goal.condition for goal in goals}.values()
        if all(each is False or demands(each) is not None for each in conditions):
            return [_Branch((), 0, list(goals))]
        if 2**n > _MOST_BRANCHES:
            raise Undecided("too many rules given whole")
        branches = []
        for chosen in itertools.product((False, True), repeat=n):
            values = {choice_atom(i): value for i, value in enumerate(chosen)}
            cache: dict[int, Formula] = {}
            for goal in goals:
                if id(goal.condition) not in cache:
                    condition = cache[id(goal.condition)] = assign(goal.condition, values)
                    if condition is not False and demands(condition) is None:
                        raise Undecided("conditions that are more than needs and bans")
            simpler = [
                Target(goal.column, goal.penalty, cache[id(goal.condition)], goal.examples) for goal in goals
            ]
            picked = tuple(i for i, value in enumerate(chosen) if value)
            branches.append(_Branch(picked, sum(self._given[i].cost for i in picked), simpler))
        return branches

    def _choose(self, branches: Sequence[_Branch]) -> _Best:
        """The best choice of rules in all branches."""
        best: _Best | None = None
        bounds = []
        proven = True
        given = sum(rule.cost for rule in self._given)
        for branch in sorted(branches, key=lambda b: b.cost):
            problem = CoverProblem(self._rules, branch.targets, self._cells, self._budget, given)
            below = None if best is None else best.score - branch.cost
            choice = problem.solve(below, self._budget, self._statistics)
            proven &= choice.proven
            bounds.append(choice.bound + branch.cost)
            if choice.rules is not None and (best is None or choice.score + branch.cost < best.score):
                best = _Best(choice.score + branch.cost, branch, choice.rules, 0, False)
        assert best is not None
        best.bound, best.proven = min(*bounds, best.score) if bounds else 0, proven
        if not self._bodies.complete:
            # rules that were not enumerated can do anything but cover the examples that none can cover
            best.proven, best.bound = False, min(best.score, *(branch.floor for branch in branches))
        return best

    def _allowed(self, best: _Best, branches: Sequence[_Branch], strict: LanguageBias) -> _Best:
        """The best choice of rules that the strict bias allows; proven if it is no worse than `best`."""
        from nsl_bench.logic.las.bias.costs import rule_costs

        literals = self._bodies.literals

        def allowed(rules: Sequence[Rule]) -> list[bool]:
            parts = [priced_parts(rule, literals) for rule in rules if rule.head is not None]
            costs = iter(rule_costs(strict, parts, self._budget))
            return [rule.head is None or next(costs) == rule.cost for rule in rules]

        all_allowed = True
        for i in best.rules:
            rules = [self._rules[i].rule]
            if not all(allowed(rules)):
                rules = self._spellings(rules[0])
            rules = list(itertools.compress(rules, allowed(rules)))
            all_allowed &= bool(rules)
            self._rules[i] = self._rules[i]._replace(rule=rules[0]) if rules else self._rules[i]
        if all_allowed:
            return best
        self._rules = [each for each in self._rules if all(allowed([each.rule]))]
        cover = self._choose(branches)
        if cover.score > best.score or not best.proven:
            cover.proven, cover.bound = False, best.bound
        return cover

    def _spellings(self, rule: Rule) -> list[Rule]:
        """The rule with other literals that hold in the same cases at the same costs, if not too many."""
        literals = self._bodies.literals

        def case(literal: BodyLiteral) -> object:
            binds = literal.binds and not all(self._vocabulary.domain(kind).guarded for kind in literal.types)
            costs = tuple(sorted(literal.costs.items()))
            return literal.types, costs, literal.size, binds, digest(literal.table.tobytes())

        alike: dict[object, list[int]] = {}
        for i, literal in enumerate(literals):
            alike.setdefault(case(literal), []).append(i)
        options = [[(i, variables) for i in alike[case(literals[k])]] for k, variables in rule.parts]
        if math.prod(map(len, options)) > _MOST_SPELLINGS:
            return []
        result = []
        for parts in itertools.product(*options):
            modes = Counter(literals[i].mode.mode for i, _ in parts)
            if all((literals[i].mode.recall or len(parts)) >= modes[literals[i].mode.mode] for i, _ in parts):
                result.append(rule._replace(parts=parts))
        return result

    def _solution(self, best: _Best) -> Solution:
        """The answer that the best choice makes."""
        task = self._task
        tier = tabular_tier(task)
        covered = self._covered(best)
        missed = [example for example, ok in zip(task.examples, covered, strict=True) if not ok]
        if any(example.penalty is None for example in missed):
            core = self._core(best.branch) if best.proven else ()
            return Solution(
                status="unsatisfiable" if best.proven else "feasible",
                score=None,
                bound=0,
                tier=tier,
                statistics=dict(self._statistics),
                message=uncoverable(core),
                tiers=(tier,),
                conflict=core,
            )
        picked = [Rule(self._given[i].cost, given=self._given[i].rule) for i in best.branch.chosen]
        picked += [self._rules[i].rule for i in best.rules]
        return Solution(
            status="optimal" if best.proven else "feasible",
            score=best.score,
            bound=best.score if best.proven else best.bound,
            hypothesis=tuple(rule_text(rule, self._bodies.literals, self._vocabulary) for rule in picked),
            cost=sum(rule.cost for rule in picked),
            tier=tier,
            covered=tuple(e.id for e, ok in zip(task.examples, covered, strict=True) if ok),
            uncovered=tuple((example.id, example.penalty or 0) for example in missed),
            statistics=dict(self._statistics),
            tiers=(tier,),
        )

    def _core(self, branch: _Branch) -> tuple[str, ...]:
        """Ids of examples that cannot be covered together."""
        from nsl_bench.logic.las.set_cover.problem import unsatisfiable_core

        hard = [target for target in branch.targets if target.penalty is None]
        core = unsatisfiable_core(hard, self._rules, self._cells, self._budget)
        return tuple(self._task.examples[target.examples[0]].id for target in core or ())

    def _covered(self, best: _Best) -> list[bool]:
        """Which examples the chosen rules cover, read off the tables."""
        cells = self._cells
        filled = np.zeros((len(cells.row), cells.n), np.bool_)
        for index in best.rules:
            filled[self._rules[index].cells()] = True
        covered = [False] * len(self._task.examples)
        for target in best.branch.targets:
            column = filled[:, target.column]
            holds = evaluate(target.condition, lambda atom, column=column: bool(column[cells.row[atom]]))  # type: ignore[misc]
            for example in target.examples:
                covered[example] = holds
        return covered
