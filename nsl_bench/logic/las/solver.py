"""Solve learning tasks: by tables if they apply, otherwise with clingo, and check the answer.

Modules that few tasks need are imported where they are used, because starting takes longer than solving a
small task.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from math import comb
from typing import TYPE_CHECKING, NamedTuple, get_args

from nsl_bench.core.budget import Abandoned, Budget, Expired, Undecided, abandonable, heeding_interrupts
from nsl_bench.core.errors import UserError
from nsl_bench.logic.las.checks import check_task
from nsl_bench.logic.las.language_bias import ILASP_MAX_BODY, LARGEST, LanguageBias
from nsl_bench.logic.las.semantics.verification import is_small
from nsl_bench.logic.las.tabular import Unproven, better, solve_by_tables, tabular_tier
from nsl_bench.logic.las.task import NOT_FOUND, LasTask, Progress, Solution, Tier

if TYPE_CHECKING:
    from nsl_bench.logic.las.clingo_tiers.demands import Problem
    from nsl_bench.logic.las.clingo_tiers.incumbent import Incumbent

_TIERS: tuple[Tier, ...] = get_args(Tier)
_MOST_THREADS = 64
_ILASP_COST = 15
"""What a hypothesis of ILASP's may cost unless `#max_penalty` says otherwise."""
_SOON = 1.0
"""Seconds after which covering begins where no rules are known."""
_SOONER = 0.3
"""The same from the beginning of a tier where that is for what is hard: tier D, or a large space."""
_MANY_RULES = 10**6
"""Rules of a large space; tier A, which enumerates them before it chooses, then comes after covering."""
_FAVOUR = 3
_FAVOURED = 10.0
"""How much more time than the search it then takes, for so many seconds or until it has found rules."""
_SHARE = 0.25
"""Of the time, after which it begins in tables if the empty hypothesis is one."""
_OBJECTS = 10_000
"""New objects after which the garbage collector looks at them."""
_GRACE = 0.5
"""Seconds that a search may take after its time is up, to score what it has found."""


def solve(
    task: LasTask,
    *,
    time_limit: float | None = None,
    memory_limit: int | None = None,
    progress: Callable[[Progress], None] | None = None,
    verify: bool = False,
    first_tier: Tier = "A",
    threads: int = 1,
) -> Solution:
    """Find the hypothesis with the least score.

    Args:
        task: the learning task.
        time_limit: time limit in seconds. When it is reached, the best hypothesis so far is returned within a
            second, with a lower bound. A step of clingo that cannot be ended goes on in its thread meanwhile.
        memory_limit: memory limit of this process in bytes.
        progress: called when a step begins, and whenever a better hypothesis or bound is found.
        verify: check score and optimality by the definition (`nsl_bench.logic.las.semantics.verification`)
            if the task is small enough. By default, only the score of very small tasks is checked.
        first_tier: the first tier to try; earlier tiers are skipped.
        threads: threads with which tier C proves an optimum. The answer is the same with any number.

    Raises:
        UserError: the task cannot be learned from, e.g. because it has neither modes nor examples.
    """
    if not 1 <= threads <= _MOST_THREADS:
        raise UserError(f"threads must be between 1 and {_MOST_THREADS}; got {threads}.")
    budget = Budget.of(time_limit, memory_limit)
    reports = _Reports(progress)
    with heeding_interrupts(budget), _collecting_rarely():
        try:
            return abandonable(
                budget,
                _GRACE,
                lambda tell: _solved(task, _Way(budget, first_tier, threads), tell, verify=verify),
                reports.hear,
            )
        except Abandoned:
            return replace(reports.best(first_tier, budget), unverified="time ran out" if verify else "")


@contextmanager
def _collecting_rarely() -> Iterator[None]:
    """Garbage is looked for less often: a search makes many objects, and few of them refer to each other."""
    before = gc.get_threshold()
    gc.set_threshold(before[0] and max(before[0], _OBJECTS), *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


Event = str | Solution | Callable[[], Solution | None]
Tell = Callable[[Event], None]
"""Is told in a few words what begins, and each better answer, or what works it out."""


class _Way(NamedTuple):
    """How to search."""

    budget: Budget
    first_tier: Tier
    threads: int


class _Reports:
    """The reports of a search, for the user, and for an answer if the search is cut short."""

    def __init__(self, progress: Callable[[Progress], None] | None) -> None:
        self._progress = progress
        self._started = time.monotonic()
        self._doing = ""
        self._solution: Solution | None = None
        self._untold: Callable[[], Solution | None] | None = None

    def hear(self, event: Event) -> None:
        """Take note of a step or an answer, and pass it on."""
        if isinstance(event, str):
            self._doing = event
        elif isinstance(event, Solution):
            self._solution, self._untold = event, None
        elif self._progress is None:
            self._untold = event
        else:
            self._solution = event()
        if self._progress is not None:
            self._progress(Progress(time.monotonic() - self._started, self._doing, self._solution))

    def best(self, first_tier: Tier, budget: Budget) -> Solution:
        """The best answer so far."""
        first = self._untold() if self._untold is not None else None
        result = (
            self._solution or first or Solution("feasible", None, 0, tier=first_tier, tiers=(first_tier,))
        )
        return _with_reason(result, budget)


def _with_reason(solution: Solution, budget: Budget) -> Solution:
    """An answer that says why it is not proven, and that nothing was found if that is so."""
    if solution.status != "feasible":
        return solution
    nothing = [NOT_FOUND] if solution.score is None else []
    ended = budget.ended_by
    message = " ".join(solution.message.replace(NOT_FOUND, "").replace(ended or NOT_FOUND, "").split())
    parts = [ended, message, *nothing]
    return replace(solution, message=" ".join(filter(None, parts)))


def _solved(task: LasTask, way: _Way, tell: Tell, *, verify: bool) -> Solution:
    """The answer, checked where that was asked for or takes no time."""
    tell("checking the task")
    note = _check(task)
    solution = _with_reason(_search(task, way, tell), way.budget)
    parts = (note, solution.message, _beyond_ilasp(task, solution))
    solution = replace(solution, message=" ".join(filter(None, parts)))
    if not verify and not is_small(task, solution):
        return solution
    from nsl_bench.logic.las.semantics.verification.check import checked

    tell(solution)
    if verify:
        tell("verification")
    return checked(task, solution, way.budget, thorough=verify)


def _check(task: LasTask) -> str:
    """Refuse what cannot be learned from; what the user should know of the rest."""
    bias = task.bias
    notes = [] if task.examples else ["The task has no examples."]
    if not (bias.heads or bias.rules or bias.meta_modes or (bias.constraints and bias.bodies)):
        if not task.examples:
            raise UserError(
                f"{task.name}: a task has modes such as '#modeh(p).' and examples such as "
                "'#pos(e1, {p}, {}).'; this one has neither."
            )
        notes.append("No '#modeh' declares what rules may derive, so only the empty hypothesis is possible.")
    if bias.final:
        from nsl_bench.logic.las.bias.hypothesis import check_final

        check_final(bias)
    for example in task.examples:
        if example.penalty is not None and not 0 <= example.penalty <= LARGEST:
            raise UserError(
                f"{task.name}: the penalty of example '{example.id}' must be between 0 and {LARGEST}; "
                f"got {example.penalty}."
            )
    if task.examples and any(
        place.kind == "num_var" for mode in bias.bodies for place in mode.literal.placeholders
    ):
        from nsl_bench.logic.las.bias.types import domains

        notes += [
            f"'{atom}' gets no threshold, because no value of num_var(type) is a whole number; multiply "
            "decimal numbers by 10 or 100."
            for atom in dict.fromkeys(atom for (atom, _), whole in domains(task).numbers.items() if not whole)
        ]
    elsewhere = task if task.examples else replace(task, bias=replace(bias, doubt=""))
    return " ".join(filter(None, [*notes, check_task(elsewhere)]))


def _beyond_ilasp(task: LasTask, solution: Solution) -> str:
    """Says that ILASP's default would forbid a hypothesis, if it would."""
    bias = task.bias
    if bias.dialect != "ilasp" or bias.max_cost is not None or solution.cost <= _ILASP_COST:
        return ""
    return f"The rules cost {solution.cost}; ILASP allows {_ILASP_COST} unless '#max_penalty' says more."


class _Early:
    """A good hypothesis soon: sequential covering, once a search has taken long and knows no rules.

    The two take turns. Covering has most of the time at first; once it has found rules, or has had some
    seconds, the two have as much each, so that neither makes the other take more than twice as long.

    Args:
        budget: when to stop; covering is its work `aside`.
    """

    def __init__(self, task: LasTask, budget: Budget, tell: Tell) -> None:
        self._task = task
        self._budget = budget
        self._tell = tell
        self._started = time.monotonic()
        self._problem: Problem | None = None
        self._incumbent: Incumbent | None = None
        self._before: tuple[Tier, ...] = ()
        self._covering: Iterator[None] | None = None
        self._rested = self._started

    def enter(self, tier: Tier) -> None:
        """A tier begins. Tables know the empty hypothesis soon; it is improved later, if it is one."""
        self._before = (*self._before, tier)
        if self._covering is not None:
            return
        now, due = time.monotonic(), self._started + _SOON
        large = _rules(self._task.bias) >= _MANY_RULES
        soft = all(example.penalty is not None for example in self._task.examples)
        if soft and tier in _TIERS[:2]:
            if not large:
                if self._budget.deadline is None:
                    return
                due = self._started + _SHARE * (self._budget.deadline - self._started)
        elif large or tier == "D":
            due = min(due, now if tier == "A" else now + _SOONER)
        self._budget.aside = due, self._cover
        self._budget.pause()

    def incumbent(self) -> Incumbent:
        """The best hypothesis so far of the tiers on clingo and of covering."""
        for _ in self._begin():
            pass
        assert self._incumbent is not None
        return self._incumbent

    def _begin(self) -> Iterator[None]:
        from nsl_bench.logic.las.clingo_tiers.demands import Problem
        from nsl_bench.logic.las.clingo_tiers.incumbent import Incumbent

        if self._problem is None:
            self._problem = Problem.of(self._task, self._budget)
            yield
        if self._incumbent is None:
            self._incumbent = Incumbent(self._task, self._problem, self._budget, self._tell, self._before)
            yield

    def _cover(self) -> None:
        now = time.monotonic()
        if self._covering is None:
            self._covering = self._steps()
            self._rested = now - _SOON
        pause = now - self._rested
        for _ in self._covering:
            self._rested = time.monotonic()
            if self._rested >= now + self._favour() * pause:
                self._budget.aside = self._rested + (self._rested - now) / self._favour(), self._cover
                break
        self._tell("the search goes on")

    def _favour(self) -> int:
        """For how many times the time of the search covering may take."""
        early = time.monotonic() < self._started + _FAVOURED
        return _FAVOUR if early and not (self._incumbent and self._incumbent.has_rules) else 1

    def _steps(self) -> Iterator[None]:
        from nsl_bench.logic.las.clingo_tiers.covering import cover

        # if time or memory is short, or clingo refuses a rule, the search just goes on
        with suppress(Undecided, UserError, RuntimeError, MemoryError):
            yield from self._begin()
            incumbent = self.incumbent()
            if not incumbent.has_rules:
                self._tell("sequential covering")
                yield from cover(self._task, incumbent, self._budget, self._tell)

    def better(self, solution: Solution) -> Solution:
        """An answer of tables, or the incumbent where it is better."""
        incumbent = self._incumbent
        if solution.status != "feasible" or incumbent is None or incumbent.total is None:
            return solution
        if solution.score is not None and solution.score <= incumbent.total:
            return solution
        return replace(incumbent.answer(solution.statistics, solution.message), bound=solution.bound)


def _rules(bias: LanguageBias) -> int:
    """About how many bodies of at most five literals the space has, or of three where it states no limit."""
    literals = sum(bias.max_variables ** len(each.literal.variable_types) for each in bias.literals)
    longest = ILASP_MAX_BODY if bias.body_limit is None else min(5, bias.body_limit)
    return comb(literals, longest)


def _search(task: LasTask, way: _Way, tell: Tell) -> Solution:
    """The answer of the first tier that takes the task, or the best that the last ones found."""
    budget, early = way.budget, _Early(task, way.budget, tell)
    if way.first_tier not in _TIERS[:2]:
        return _by_clingo(task, way, "", early, tell)
    tier = tabular_tier(task)
    tell(f"tier {tier}, {len(task.examples)} examples")
    early.enter(tier)
    first: Solution | None = None
    try:
        result = early.better(solve_by_tables(task, budget, _within_cost(task, tell)))
        if task.bias.max_cost is not None and result.cost > task.bias.max_cost:
            raise Undecided("its best hypothesis costs more than #max_penalty allows")
        if result.status != "feasible" or result.score is not None or budget.expired():
            return result
        why = f"Tier {tier} found no hypothesis in its share of the time."
    except Undecided as reason:
        timed_out = isinstance(reason, Expired) and budget.expired()
        why = "" if timed_out else f"Tier {tier} does not apply: {reason}."
        first = reason.solution if isinstance(reason, Unproven) else None
    solution = _by_clingo(task, way._replace(first_tier="C"), why, early, tell)
    most = task.bias.max_cost
    if first is None or solution.status != "feasible" or (most is not None and first.cost > most):
        return solution
    bound = max(first.bound, solution.bound)
    return replace(better(first, solution), bound=bound, tiers=solution.tiers)


def _within_cost(task: LasTask, tell: Tell) -> Tell:
    """Pass on only those answers of the tables that cost no more than a hypothesis may."""
    most = task.bias.max_cost
    if most is None:
        return tell

    def report(event: Event) -> None:
        if not isinstance(event, Solution) or event.cost <= most:
            tell(event)

    return report


def _by_clingo(task: LasTask, way: _Way, before: str, early: _Early, tell: Tell) -> Solution:
    """The answer of tier C, or of tier D where that gives up.

    Args:
        way: how to search; the first tier is ``"C"`` or ``"D"``.
        before: why the tiers before do not apply.
        early: has the incumbent.
    """
    from nsl_bench.logic.las.clingo_tiers.conflict_driven import search_by_conflicts
    from nsl_bench.logic.las.clingo_tiers.one_shot import search_at_once
    from nsl_bench.logic.las.clingo_tiers.space_parts import space_parts

    budget = way.budget
    incumbent = early.incumbent()
    problem = incumbent.problem
    statistics: dict[str, float] = {"distinct_examples": len(problem.demands)}
    notes = [before] if before else []
    at_once = partial(search_at_once, threads=way.threads)
    for tier in _TIERS[_TIERS.index(way.first_tier) :]:
        search = at_once if tier == "C" else search_by_conflicts
        tell(f"tier {tier}{', for: ' + notes[-1] if notes else ''}")
        incumbent.enter(tier)
        early.enter(tier)
        try:
            core = search(problem, space_parts(task, budget, statistics), incumbent, budget, statistics)
        except Undecided as reason:
            if not budget.expired():
                notes.append(f"Tier {tier} gave up: {reason}.")
            continue
        if core is not None:
            return incumbent.unsatisfiable(core, statistics)
        break
    return incumbent.answer(statistics, " ".join(notes))
