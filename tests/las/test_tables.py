"""Literal tables, grounding and conditions: the faults that they once had, each on a task of its own."""

from __future__ import annotations

import pytest
from las.agreement import proven

from nsl_bench.logic.las import LasTask, solve

COSTS = '#bias("penalty(1, head).").\n#bias("penalty(1, body(X)) :- in_body(X).").\n'


def score(text: str, costs: str = COSTS) -> int | None:
    return proven(f"{text}\n{costs}")


@pytest.mark.parametrize("literal", ["q", "q(var(t))"])
def test_truth_that_changes_only_from_one_word_of_contexts_to_the_next(literal: str) -> None:
    fact = "q(1)." if "(" in literal else "q."
    examples = [
        f"#pos(e{i}@9, {'{p}, {}' if i < 64 else '{}, {p}'}, {{i({i}). {fact if i < 64 else ''}}})."
        for i in range(128)
    ]
    assert score(f"t(1..3). #modeh(p). #modeb({literal}). #maxv(1)." + "\n".join(examples)) == 2


def test_names_of_the_encoding_in_a_task() -> None:
    context = "nsl__context(0). nsl_context(0). #modeh(p). #modeb(q)."
    assert score(context + "#pos(a@9,{p},{},{q :- r. r.}). #pos(b@9,{},{p},{r.}).") == 2
    rule = "nsl__rule(7). nsl_rule(7). g :- nsl_rule(7), h. #modeh(h). #modeb(q). #pos(a@9,{g},{},{q.})."
    assert score(rule + "1 ~ h :- q, q.") == 1


def test_a_type_without_predicate_that_feeds_the_background() -> None:
    text = "bad :- h(X), r(X). r(1..2). #constant(u,5). #modeh(h(var(u))). #modeb(a(var(u))). #maxv(1)."
    assert score(text + "#pos(e@9,{bad},{},{a(1).}).") == 2


def test_a_type_whose_predicate_never_holds_guards_its_variables() -> None:
    text = "t(X) :- z(X). #modeh(p). #modeb(q(var(t))). #maxv(1). "
    assert score(text + "#pos(e@9,{p},{},{q(1).}). #pos(f@9,{},{p},{}).") == 9


def test_modes_with_many_places() -> None:
    places, ones = ",".join(["var(t)"] * 9), ",".join(["1"] * 8)
    text = f"t(1..2). #modeh(p). #modeb(q({places})). #maxv(2). "
    assert score(text + f"#pos(e@9,{{p}},{{}},{{q({ones},2).}}). #pos(f@9,{{}},{{p}},{{}}).") == 2
    places, ones = ",".join(["var(t)"] * 17), ",".join(["1"] * 17)
    assert score(f"t(1). #modeh(p({places})). #maxv(1). #pos(e@9,{{p({ones})}},{{}},{{}}).") == 1


def test_a_literal_costs_what_its_variables_make_it_cost() -> None:
    costs = '#bias("penalty(1,head).").#bias("penalty(1,e(X,Y)) :- in_body(e(X,Y)).").'
    costs += '#bias("penalty(5,loop(X)) :- in_body(e(X,X)).").'
    text = "t(1..2). #modeh(p). #modeb(e(var(t),var(t))). #maxv(2). #pos(a@9,{p},{},{e(1,1).}). "
    assert score(text + "#pos(b@9,{},{p},{e(1,2).}).", costs) == 3


@pytest.mark.parametrize(
    "text",
    [
        "#modeh(p). #modeb(q(1+1)). #pos(a@9,{p},{},{q(2).}). #pos(b@9,{},{p},{q(1).}).",
        "#const n=2. #modeh(p). #modeb(q(n)). #pos(a@9,{p},{},{q(2).}). #pos(b@9,{},{p},{q(1).}).",
        "#const n=2. #modeh(p(n)). #modeb(q). #pos(a@9,{p(2)},{},{q.}). #pos(b@9,{},{p(n)},{}).",
    ],
)
def test_terms_of_modes_are_evaluated(text: str) -> None:
    assert score(text) == 2


def test_constants_in_inclusions() -> None:
    text = "#const n=2. t(1..2). #modeh(p(var(t))). #modeb(q(var(t))). #maxv(1). "
    assert score(text + "#pos(a@9,{p(n)},{},{q(2).}).") == 1


def test_an_arrow_in_a_string_of_a_context() -> None:
    text = '#modeh(p). #modeb(a(":-")). #pos(a@9,{p},{},{a(":-").}). #pos(b@9,{},{p},{}).'
    assert solve(LasTask.parse(text + COSTS)).tier == "A"
    assert score(text) == 2


def test_a_rule_that_denies_itself_leaves_no_answer_set() -> None:
    text = "o :- p, not o. #modeh(q). #modeb(r). #pos(e@3,{q},{},{p. r.}). #pos(f@4,{q},{},{r.})."
    assert score(text) == 4


def test_long_chains_of_the_background() -> None:
    text = "g(0) :- h. g(X+1) :- g(X), s(X). s(0..3000). #modeh(h). #modeb(q). #pos(e@9,{g(3001)},{},{q.})."
    assert score(text) == 1


def test_a_rule_may_cost_more_than_any_weight() -> None:
    costs = '#bias("penalty(2000000000, x(N)) :- in_head(p), N = 1..1000.").'
    solution = solve(LasTask.parse("#modeh(p). #modeb(q). #pos(a,{p},{},{q.})." + costs))
    assert solution.status != "unsatisfiable"


def test_anti_reflexive_modes_with_constants() -> None:
    text = "#constant(t,1). #constant(t,2). #modeh(p). #modeb(e(const(t),const(t)),(anti_reflexive)). "
    assert score(text + "#pos(a@9,{p},{},{e(1,1).}). #pos(b@9,{},{p},{}).") == 9
