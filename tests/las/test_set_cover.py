"""Choosing rules: each method by itself against all subsets of the rules of small random instances."""

import numpy as np
import pytest

from nsl_bench.core.budget import Budget
from nsl_bench.logic.las.set_cover.branch_and_bound import UNLIMITED, branch_and_bound
from nsl_bench.logic.las.set_cover.configurations import configurations, is_searchable
from nsl_bench.logic.las.set_cover.encoding import solve_by_maxsat
from nsl_bench.logic.las.set_cover.instance import Choice, Instance, dominated, integers, prune, split
from nsl_bench.logic.las.set_cover.lagrangian_search import search
from nsl_bench.logic.las.set_cover.relaxation import Relaxation
from nsl_bench.logic.las.set_cover.solve import greedy, solve

SEEDS = range(40)
HUGE = (1 << 31) - 1, 10**17, 10**40


def drawn(
    seed: int, n_rules: int = 7, n_targets: int = 12, n_needs: int = 8, hard: int | None = None
) -> Instance:
    """A random instance, in which some targets weigh `hard` if that is given."""
    rng = np.random.default_rng(seed)
    needs = []
    for _ in range(n_targets):
        size = int(rng.choice(4, p=[0.3, 0.4, 0.2, 0.1]))
        needs.append(tuple(sorted(rng.choice(n_needs, size, replace=False).tolist())))
    weights = rng.integers(1, 30, n_targets).tolist()
    if hard is not None:
        weights = [hard if rng.random() < 0.4 else weight for weight in weights]
    costs = rng.integers(1, 7, n_rules).tolist()
    return Instance(
        rules=np.arange(n_rules) + 10,
        costs=integers(costs, sum(weights)),
        weights=integers(weights, sum(costs)),
        needs=tuple(needs),
        supports=rng.random((n_needs, n_rules)) < rng.choice([0.2, 0.5]),
        violates=(rng.random((n_targets, n_rules)) < 0.3) & (rng.random((n_targets, 1)) < 0.5),
        constant=int(rng.integers(0, 5)),
    )


def exact_score(instance: Instance, chosen: list[int]) -> int:
    """Cost and penalties from the definition, in Python's integers."""
    score: int = instance.constant + sum(instance.costs.tolist()[r] for r in chosen)
    for t, needs in enumerate(instance.needs):
        supported = all(any(instance.supports[need, r] for r in chosen) for need in needs)
        if not supported or any(instance.violates[t, r] for r in chosen):
            score += instance.weights.tolist()[t]
    return score


def optimum(instance: Instance) -> int:
    """The least score of all subsets, which are numbers whose bits are their rules."""
    n = len(instance.rules)
    supports = [sum(1 << r for r in range(n) if row[r]) for row in instance.supports]
    violates = [sum(1 << r for r in range(n) if row[r]) for row in instance.violates]
    needs = [[supports[need] for need in each] for each in instance.needs]
    targets = list(zip(instance.weights.tolist(), needs, violates, strict=True))
    costs = instance.costs.tolist()

    def score(subset: int) -> int:
        paid = sum(
            weight for weight, all_of, bad in targets if subset & bad or not all(subset & x for x in all_of)
        )
        return paid + sum(cost for r, cost in enumerate(costs) if subset >> r & 1)

    return instance.constant + min(map(score, range(1 << n)))


def empty_choice(instance: Instance) -> Choice:
    return Choice((), instance.score(()), instance.constant, False)


def check(instance: Instance, choice: Choice, best: int) -> None:
    """The choice is a proven optimum, and its score is that of its rules."""
    assert choice.rules is not None
    places = [instance.rules.tolist().index(rule) for rule in choice.rules]
    assert exact_score(instance, places) == choice.score
    assert (choice.score, choice.bound, choice.proven) == (best, best, True)


def test_reduction_keeps_an_optimum() -> None:
    for seed in SEEDS:
        instance = drawn(seed)
        best = optimum(instance)
        for dominance in (False, True):
            assert optimum(prune(instance, best + 1, dominance=dominance)) == best
        rules = np.ones(len(instance.rules), np.bool_)
        assert optimum(instance.restricted(~dominated(instance, rules))) == best


def test_parts_add_up() -> None:
    for seed in SEEDS:
        first, second = drawn(seed, 4, 6, 4), drawn(seed + 1000, 4, 6, 4)
        zeros = np.zeros((4, 4), np.bool_), np.zeros((6, 4), np.bool_)
        both = Instance(
            rules=np.arange(8),
            costs=np.concatenate([first.costs, second.costs]),
            weights=np.concatenate([first.weights, second.weights]),
            needs=(*first.needs, *(tuple(need + 4 for need in needs) for needs in second.needs)),
            supports=np.block([[first.supports, zeros[0]], [zeros[0], second.supports]]),
            violates=np.block([[first.violates, zeros[1]], [zeros[1], second.violates]]),
            constant=0,
        )
        instance = prune(both, both.score(()) + 1)
        parts = split(instance)
        assert sorted(rule for part in parts for rule in part.rules) == sorted(instance.rules.tolist())
        assert instance.constant + sum(optimum(part) for part in parts) == optimum(both)


@pytest.mark.parametrize("hard", [None, *HUGE])
def test_branch_and_bound(hard: int | None) -> None:
    for seed in SEEDS:
        instance = drawn(seed, hard=hard)
        best = optimum(instance)
        found = branch_and_bound(instance, best + 1)
        if best < 1 << 40:
            assert (found.score, found.proven) == (best, True)
            assert branch_and_bound(instance, best).rules is None
        assert not found.proven or found.score == best


def test_branch_and_bound_where_targets_share_costs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nsl_bench.logic.las.set_cover.branch_and_bound.MOST_RULES", 0)
    for seed in SEEDS:
        instance = drawn(seed)
        best = optimum(instance)
        found = branch_and_bound(instance, best + 1, Budget(), UNLIMITED)
        assert (found.score, found.proven) == (best, True)
        wide = drawn(seed, 60, 60, 20)
        first = wide.score(())
        bound = branch_and_bound(wide, first, _Visits(3), UNLIMITED).bound
        assert wide.constant <= bound <= greedy(wide)[1]


class _Visits(Budget):
    """A budget of so many looks at it."""

    def __init__(self, looks: int) -> None:
        super().__init__()
        self.looks = looks

    def expired(self) -> bool:
        self.looks -= 1
        return self.looks < 0


@pytest.mark.parametrize("seconds", [0.5, None])
def test_large_instances_get_rules_and_a_bound_in_time(monkeypatch, seconds: float | None) -> None:
    monkeypatch.setattr("nsl_bench.logic.las.set_cover.configurations._MOST_CELLS", 0)
    monkeypatch.setattr("nsl_bench.logic.las.set_cover.solve._SECONDS_A_RULE", 1)
    monkeypatch.setattr("nsl_bench.logic.las.set_cover.branch_and_bound.MOST_RULES", 0)
    instance = drawn(1)
    check(instance, solve(instance, Budget.of(seconds, None)), optimum(instance))


@pytest.mark.parametrize("hard", [None, *HUGE[:2]])
def test_maxsat_of_an_instance(hard: int | None) -> None:
    for seed in range(15):
        instance = drawn(seed, hard=hard)
        check(instance, solve_by_maxsat(instance, empty_choice(instance)), optimum(instance))


def test_maxsat_ends_after_the_conflicts_allowed() -> None:
    instance = drawn(0, 11, 40, 14)
    stopped = solve_by_maxsat(instance, empty_choice(instance), conflicts=5)
    assert stopped.bound <= optimum(instance) <= stopped.score


@pytest.mark.parametrize("most", [1, 60, 100_000])
def test_bounds_of_cost_splitting_are_never_above_the_optimum(most: int) -> None:
    for seed in SEEDS[:20]:
        instance = drawn(seed)
        whole = configurations(instance, most)
        left = np.ones(len(whole.block), np.bool_)
        paid = np.zeros(len(whole.weights), np.bool_)
        relaxation = Relaxation.of(whole, left, paid, instance.constant)
        assert relaxation is not None
        best = optimum(instance)
        for steps in (0, 5, 100):
            found = relaxation.split(steps, best + 100)
            assert found.bound <= best
        # any split is a bound, however bad
        rng = np.random.default_rng(seed)
        shape = (relaxation.n_blocks, len(relaxation.charges))
        for shares in (rng.random(shape), np.zeros(shape), 1e9 * rng.random(shape)):
            assert relaxation.bound(shares.astype(np.float32)) <= best


@pytest.mark.parametrize("hard", [None, (1 << 31) - 1, 1 << 50])
def test_search_by_cost_splitting(hard: int | None) -> None:
    for seed in SEEDS if hard is None else SEEDS[:15]:
        instance = drawn(seed, hard=hard)
        assert is_searchable(instance)
        check(instance, search(instance, empty_choice(instance)), optimum(instance))


def test_search_refuses_weights_that_could_overflow() -> None:
    assert not is_searchable(drawn(0, hard=10**17))
    assert not is_searchable(drawn(0, hard=10**40))


@pytest.mark.parametrize("hard", [None, *HUGE])
def test_solve(hard: int | None) -> None:
    for seed in SEEDS:
        instance = drawn(seed, hard=hard)
        check(instance, solve(instance), optimum(instance))


@pytest.mark.parametrize("conflicts", [0, 3])
def test_solve_where_only_cost_splitting_proves(monkeypatch: pytest.MonkeyPatch, conflicts: int) -> None:
    monkeypatch.setattr("nsl_bench.logic.las.set_cover.solve._CONFLICTS", conflicts)
    monkeypatch.setattr("nsl_bench.logic.las.set_cover.branch_and_bound._WORK", 0)
    for seed in range(4):
        instance = drawn(seed, 10, 30, 14)
        check(instance, solve(instance), optimum(instance))


@pytest.mark.parametrize("seconds", [0.0, 0.05, 0.3])
def test_what_a_deadline_leaves_is_a_bound(seconds: float) -> None:
    for seed in range(4):
        instance = drawn(seed, 10, 40, 14)
        best = optimum(instance)
        choice = solve(instance, budget=Budget.of(seconds, None))
        assert choice.bound <= best <= choice.score
        interrupted = Budget(interrupted=True)
        stopped = search(instance, empty_choice(instance), interrupted)
        assert stopped.bound <= best <= stopped.score and not stopped.proven
