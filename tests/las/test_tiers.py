"""Tiers C and D, explanations: what the random tasks do not show."""

from __future__ import annotations

import pytest
from clingo import Control

from nsl_bench.asp.ground_program import GroundProgram
from nsl_bench.budget import Budget, Expired
from nsl_bench.las.bias.space import hypothesis_space
from nsl_bench.las.semantics.explanation import explain
from nsl_bench.las.solver import solve
from nsl_bench.las.task import LasTask, Tier

PATHS = """
node(1..4).
#modeh(path(var(node), var(node))).
#modeb(1, edge(var(node), var(node)), (positive)).
#modeb(1, path(var(node), var(node)), (positive)).
#maxv(3).
#pos(a, {path(1,2), path(1,3), path(1,4)}, {path(2,1), path(3,2), path(1,1), path(2,2)},
    {edge(1,2). edge(2,3). edge(3,4).}).
#pos(b, {path(1,1), path(2,1)}, {path(1,3)}, {edge(1,2). edge(2,1).}).
"""
COLOURS = """
node(1..3). colour(r). colour(g).
1 { col(N,C) : colour(C) } 1 :- node(N).
#modeh(bad).
#modeb(2, col(var(node),var(colour)), (positive)).
#modeb(1, edge(var(node),var(node)), (positive)).
#maxv(3).
ok :- not bad.
#pos(path, {ok, col(1,r)}, {}, {edge(1,2). edge(2,3).}).
#neg(clash, {ok, col(1,r), col(2,r)}, {}, {edge(1,2).}).
#neg(triangle, {ok}, {}, {edge(1,2). edge(2,3). edge(1,3).}).
"""


@pytest.mark.parametrize("tier", ["C", "D"])
def test_recursion_is_learned(tier: Tier) -> None:
    found = solve(LasTask.parse(PATHS), first_tier=tier)
    assert (found.status, found.score) == ("optimal", 5)
    assert any(rule.count("path") == 2 for rule in found.hypothesis)


def test_colouring_is_learned_from_negative_examples() -> None:
    found = solve(LasTask.parse(COLOURS), first_tier="C")
    assert (found.status, found.tier, found.score) == ("optimal", "D", 4)
    assert len(found.hypothesis) == 1


@pytest.mark.parametrize("tier", ["C", "D"])
def test_hard_examples_that_clash_are_named(tier: Tier) -> None:
    task = LasTask.parse(
        """
        #modeh(p). #modeb(a). #modeb(p). #maxv(0).
        #pos(easy, {p}, {}, {a. b.}).
        #pos(yes, {p}, {}, {a.}).
        #pos(no, {}, {p}, {a.}).
        """
    )
    found = solve(task, first_tier=tier)
    assert found.status == "unsatisfiable"
    assert "no" in found.message
    assert not ("easy" in found.message and "yes" in found.message)


@pytest.mark.parametrize("tier", ["C", "D"])
def test_out_of_time_is_the_best_so_far_with_a_bound(tier: Tier) -> None:
    task = LasTask.parse(PATHS.replace("#pos(a,", "#pos(a@7,").replace("#pos(b,", "#pos(b@7,"))
    found = solve(task, time_limit=0.0, first_tier=tier)
    assert found.status == "feasible"
    assert found.score is not None
    assert found.bound <= 5 <= found.score


@pytest.mark.parametrize("budget", [Budget(deadline=0.0), Budget(interrupted=True), Budget(memory=0)])
def test_grounding_is_ended_from_within(budget: Budget) -> None:
    control = Control()
    control.register_observer(GroundProgram(check=budget.check, keep=False))
    control.add("p(1..100). q(X,Y) :- p(X), p(Y).")
    with pytest.raises(Expired):
        control.ground()


def test_a_score_may_come_a_little_late_but_not_for_ever() -> None:
    budget = Budget(interrupted=True)
    assert not budget.with_grace(1000.0).expired()
    assert budget.with_grace(0.0).expired()
    assert not Budget().with_grace(0.0).expired()


def test_out_of_memory_goes_to_another_tier() -> None:
    found = solve(LasTask.parse(PATHS.replace("#pos(a,", "#pos(a@7,")), memory_limit=1, first_tier="C")
    assert found.tier == "D"
    assert found.status == "feasible"
    assert "memory" in found.message


def test_a_cut_space_still_proves_a_cheap_optimum() -> None:
    literals = " ".join(f"#modeb(b{i})." for i in range(30))
    task = LasTask.parse(
        f'#modeh(p). {literals} #maxv(0). #bias("penalty(1, head). penalty(1, body(X)) :- in_body(X).").'
        "p2 :- p. #pos(x, {p2}, {}, {b1.}). #pos(y, {}, {p2}, {b2.})."
    )
    space = hypothesis_space(task, 600)
    assert space.horizon == 4
    found = solve(task, first_tier="C")
    assert (found.status, found.score) == ("optimal", 2)


def test_a_space_too_large_for_its_first_level_is_cut_not_refused() -> None:
    constants = "\n".join(f"k({i})." for i in range(40))
    costs = '#bias("penalty(1, head). penalty(2, body(X)) :- in_body(X).").'
    modes = f"#modeh(p). #modeb(e(const(k),const(k))). {costs}"
    task = LasTask.parse(
        f"{constants}\n{modes} #pos(x@9, {{p}}, {{}}, {{e(1,2).}}). #pos(y@9, {{}}, {{p}}, {{}})."
    )
    space = hypothesis_space(task, 1000)
    assert [rule.text for rule in space.rules] == ["p."]
    assert space.horizon == 3


def test_an_explanation_says_what_each_rule_is_for() -> None:
    task = LasTask.parse(
        """
        #modeh(p). #modeh(q). #modeb(a). #modeb(b). #maxv(0).
        #bias("penalty(1, head). penalty(1, body(X)) :- in_body(X).").
        #pos(one@9, {p}, {}, {a.}).
        #pos(two@3, {}, {p}, {a. b.}).
        #pos(three@9, {q}, {}, {b.}).
        #pos(four@9, {}, {q}, {}).
        """
    )
    found = explain(task, ("p :- a.", "q :- b."))
    first, second = found.rules
    assert (first.covers, first.spoils, first.cost) == (("one",), ("two",), 2)
    assert (second.covers, second.spoils) == (("three",), ())
    assert found.unaided == ("four",)
    assert found.uncovered == (("two", 3),)
    assert "uncovered, at a price of 3: 1: two (3)" in str(found)
