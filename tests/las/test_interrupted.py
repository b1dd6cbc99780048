"""Searches that are ended at any moment give a valid answer; with more threads, they give the same."""

import random
from dataclasses import replace

import pytest
from las.strategies import FLAVOURS, task_text

from nsl_bench.core.budget import Budget
from nsl_bench.core.errors import UserError
from nsl_bench.logic.las import LasTask, Solution, solve
from nsl_bench.logic.las.semantics.coverage import score
from nsl_bench.logic.las.task import Tier

TIERS: tuple[Tier, ...] = ("A", "C", "D")
LONG = ("thresholds_many", "thresholds_tied")
"""Flavours of many constants, on which the tiers on clingo search for minutes."""
TASKS = [(flavour, number) for number in range(6) for flavour in FLAVOURS if flavour not in LONG]


def counted(task: LasTask, tier: Tier, most: int) -> tuple[int, Solution]:
    """The answer of a search whose time is up after it has looked at its budget so often."""
    looks = 0

    def expired(budget: Budget) -> bool:
        nonlocal looks
        looks += 1
        return looks > most or budget.interrupted

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Budget, "expired", expired)
        answer = solve(task, first_tier=tier)
    return looks, answer


def check(task: LasTask, found: Solution, whole: Solution) -> None:
    """Whether an answer is one that a search may give that ends before `whole` is known."""
    if found.status != "feasible":
        assert (found.status, found.score) == (whole.status, whole.score)
        return
    assert "o hypothesis covers" not in found.message and found.message.startswith("Time ran out.")
    if whole.score is not None:
        assert found.bound <= whole.score
    if found.score is None:
        assert found.message.endswith("was found in time.") and not found.hypothesis
        return
    own = score(task, found.hypothesis)
    assert not own.broken and (own.total, own.cost) == (found.score, found.cost)
    assert whole.score is not None and found.score >= whole.score


def at_random_moments(tier: Tier, tasks: int, moments: int) -> int:
    """Interrupt searches of so many tasks; the number of answers that are only feasible."""
    rng = random.Random(f"interrupted {tier}")
    feasible = taken = 0
    for flavour, number in TASKS:
        if taken == tasks:
            break
        try:
            task = LasTask.parse(task_text(flavour, number))
            looks, whole = counted(task, tier, 1 << 60)
        except UserError:
            continue
        if looks < moments or whole.status == "feasible":
            continue
        taken += 1
        for most in rng.sample(range(looks), moments):
            found = counted(task, tier, most)[1]
            check(task, found, whole)
            feasible += found.status == "feasible"
    assert taken == tasks
    return feasible


@pytest.mark.parametrize("moments", [3, pytest.param(50, marks=pytest.mark.slow)])
@pytest.mark.parametrize("tier", TIERS)
def test_a_search_ended_at_any_moment_gives_a_valid_answer(tier: Tier, moments: int) -> None:
    assert at_random_moments(tier, 10, moments) > min(100, 4 * moments - 2)


def test_an_answer_of_tables_that_were_cut_short_says_that_time_ran_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    task = LasTask.parse(task_text("wide_bodies", 0))
    task = replace(task, examples=tuple(replace(each, penalty=9) for each in task.examples))
    whole = solve(task)
    monkeypatch.setattr("nsl_bench.logic.las.tabular._ENUMERATION_SHARE", 0.0)
    found = solve(task, time_limit=600)
    assert (whole.status, found.status) == ("optimal", "feasible")
    check(task, found, whole)


@pytest.mark.parametrize("tasks", [5, pytest.param(20, marks=pytest.mark.slow)])
def test_the_answer_is_the_same_with_any_number_of_threads(tasks: int) -> None:
    taken = 0
    for flavour, number in TASKS:
        if taken == tasks:
            return
        try:
            task = LasTask.parse(task_text(flavour, number))
            answers = [solve(task, first_tier="C", threads=threads) for threads in (1, 2, 4)]
        except UserError:
            continue
        taken += bool(answers[0].hypothesis)
        assert len({(each.status, each.score, each.bound, each.hypothesis) for each in answers}) == 1
    assert taken == tasks


def test_covering_changes_no_optimum(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = 0
    for flavour, number in TASKS:
        try:
            task = LasTask.parse(task_text(flavour, number))
            whole = solve(task)
        except UserError:
            continue
        with monkeypatch.context() as patch:
            patch.setattr("nsl_bench.logic.las.solver._SOON", 0.0)
            patch.setattr("nsl_bench.logic.las.solver._SHARE", 0.0)
            searched = solve(task, time_limit=60)
        assert (searched.status, searched.score, searched.bound) == (whole.status, whole.score, whole.bound)
        compared += whole.status == "optimal"
        if compared == 8:
            break
    assert compared == 8
