"""Tiers C and D, explanations: what the random tasks do not show."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from clingo import Control

from nsl_bench.core import registry
from nsl_bench.core.budget import Budget, Expired
from nsl_bench.core.errors import UserError
from nsl_bench.core.types import WeightedExample
from nsl_bench.logic.asp.ground_program import GroundProgram
from nsl_bench.logic.las.bias.space import hypothesis_space
from nsl_bench.logic.las.clingo_tiers import (
    conflict_driven,
    counterexamples,
    incumbent,
    one_shot,
    optimisation,
)
from nsl_bench.logic.las.clingo_tiers.alike import alike
from nsl_bench.logic.las.semantics import coverage
from nsl_bench.logic.las.semantics.coverage import Score, content, covered, explain
from nsl_bench.logic.las.solver import solve
from nsl_bench.logic.las.tabular import tabular_tier
from nsl_bench.logic.las.task import LasTask, Tier

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


@pytest.mark.parametrize("tier", ["A", "C", "D"])
def test_hard_examples_that_clash_are_named(tier: Tier) -> None:
    task = LasTask.parse(
        """
        #modeh(p). #modeb(a). #modeb(p). #maxv(0).
        #pos(easy, {p}, {}, {a. b.}).
        #pos(yes, {p}, {}, {a.}).
        #pos(no, {}, {p}, {a.}).
        """,
        dialect="fastlas",
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
    program = GroundProgram(keep=False)
    control.register_observer(program)
    control.add("p(1..100). q(X,Y) :- p(X), p(Y).")
    with pytest.raises(Expired):
        program.ground(control, budget.check)


def test_nothing_is_checked_but_while_grounding() -> None:
    control, program, checks = Control(), GroundProgram(keep=False), iter([None])
    control.register_observer(program)
    control.add("{p}.")
    program.ground(control, lambda: next(checks))
    for _ in range(2):
        with control.backend() as backend:
            for _ in range(1000):
                backend.add_rule([backend.add_atom()], [])
        assert control.solve().satisfiable


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


PENALISED = COLOURS.replace("#pos(path,", "#pos(path@9,").replace("#neg(clash,", "#neg(clash@4,")
SEVERAL = """
{ w }. #modeh(p). #modeb(q). #modeb(r). #maxv(0).
#bias("penalty(1, head). penalty(1, body(X)) :- in_body(X).").
#pos(a@PENALTY, {p}, {}, {q. r.}). #pos(b@PENALTY, {}, {p}, {q.}). #pos(c@PENALTY, {}, {p}, {r.}).
#pos(d@PENALTY, {}, {p}, {}). #pos(e@PENALTY, {x}, {}, {}). #pos(f@PENALTY, {x}, {}, {q.}).
"""


@pytest.mark.parametrize("text", [COLOURS, PENALISED])
def test_an_oracle_that_cannot_ground_ends_the_search(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    right = solve(LasTask.parse(text))
    monkeypatch.setattr(counterexamples.Oracle, "_ground", lambda *_: False)
    found = solve(LasTask.parse(text), first_tier="D")
    assert (found.status, found.tier) == ("feasible", "D")
    assert "no counterexample to the last proposal" in found.message
    assert right.score is not None
    assert found.bound <= right.score <= (right.score if found.score is None else found.score)


def test_an_oracle_without_an_answer_set_ends_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counterexamples.Oracle, "_answer_set", lambda *_: None)
    found = solve(LasTask.parse(PENALISED), first_tier="D")
    assert found.status == "feasible"
    assert found.bound <= 4 <= (found.score or 4)


def test_an_oracle_is_made_again_after_it_was_spent(monkeypatch: pytest.MonkeyPatch) -> None:
    ground = counterexamples.Oracle._ground
    calls = []

    def fails_at_times(self: Any, demand: Any, budget: Any) -> bool:
        calls.append(demand)
        return len(calls) % 3 != 0 and ground(self, demand, budget)

    monkeypatch.setattr(counterexamples.Oracle, "_ground", fails_at_times)
    found = solve(LasTask.parse(COLOURS), first_tier="D")
    assert (found.status, found.score) == ("optimal", 3)


def test_a_condition_without_effect_ends_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conflict_driven, "forbid", lambda backend, *_: backend.add_atom())
    found = solve(LasTask.parse(COLOURS), first_tier="D")
    assert found.status == "feasible"
    assert "proposed again" in found.message


def test_a_score_that_is_not_what_was_proposed_ends_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = incumbent.score

    def dearer(task: LasTask, rules: tuple[str, ...], budget: Budget | None = None) -> Score:
        found = exact(task, rules, budget)
        return replace(found, cost=found.cost + 1) if rules else found

    monkeypatch.setattr(incumbent, "score", dearer)
    task = LasTask.parse(PATHS.replace("#pos(a,", "#pos(a@9,").replace("#pos(b,", "#pos(b@9,"))
    for tier in ("C", "D"):
        found = solve(task, first_tier=tier)
        assert found.status != "optimal"
        assert found.bound <= 5


def test_a_score_below_the_bound_is_no_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = incumbent.score

    def cheaper(task: LasTask, rules: tuple[str, ...], budget: Budget | None = None) -> Score:
        found = exact(task, rules, budget)
        return replace(found, cost=found.cost - 1) if rules else found

    monkeypatch.setattr(incumbent, "score", cheaper)
    found = solve(LasTask.parse(PATHS), first_tier="C")
    assert (found.status, found.bound) == ("feasible", 0)
    assert "contradicts itself" in found.message


@pytest.mark.parametrize("tier", ["C", "D"])
@pytest.mark.parametrize("conflicts", [1, 7])
def test_searches_that_are_cut_short_and_taken_up_again_are_exact(
    tier: Tier, conflicts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(optimisation, "_FIRST_CONFLICTS", conflicts)
    monkeypatch.setattr(conflict_driven, "_FIRST_EXAMPLES", 1)
    for text, score in ((PATHS, 5), (COLOURS, 3), (SEVERAL.replace("PENALTY", "5"), 13)):
        found = solve(LasTask.parse(text), first_tier=tier)
        assert (found.status, found.score, found.bound) == ("optimal", score, score)
        assert text is not PATHS or any(rule.count("path") == 2 for rule in found.hypothesis)


@pytest.mark.parametrize("tier", ["A", "C", "D"])
def test_equal_examples_may_weigh_more_than_32_bits_together(tier: Tier) -> None:
    text = SEVERAL.replace("PENALTY", "2000000000") + "#pos(g@2000000000, {x}, {}, {}).\n"
    found = solve(LasTask.parse(text), first_tier=tier)
    assert (found.status, found.score, found.bound) == ("optimal", 6_000_000_003, 6_000_000_003)
    again = SEVERAL.replace("PENALTY", "2000000000") + "#pos(g@2000000000, {p}, {}, {q. r.}).\n"
    found = solve(LasTask.parse(again.replace(", r.", ", w.")), first_tier=tier)
    assert (found.status, found.score) == ("optimal", 4_000_000_003)
    cautious = "{ w }. #modeh(p). #modeb(q). #maxv(0). #pos(a, {p}, {}, {q.})."
    cautious += "#neg(b@2000000000, {p, w}, {}, {q.}). #neg(c@2000000000, {p, w}, {}, {q.})."
    found = solve(LasTask.parse(cautious, dialect="fastlas"), first_tier=tier)
    assert (found.status, found.score, found.tier) == ("optimal", 4_000_000_000, "D")


@pytest.mark.parametrize("penalty", [-1, 2**31, 10**30])
def test_penalties_that_are_none_are_refused(penalty: int) -> None:
    example = WeightedExample("x", penalty, ("p",), (), ())
    task = LasTask.parse("#modeh(p). #pos(a, {p}, {}, {}).", dialect="fastlas")
    with pytest.raises(UserError, match="the penalty of example 'x'"):
        solve(replace(task, examples=(example,)))


def test_a_penalty_of_nothing_asks_for_nothing() -> None:
    task = LasTask.parse(SEVERAL.replace("PENALTY", "5"))
    examples = [*task.examples, WeightedExample("free", 0, ("x",), (), ("q", "r"))]
    for tier in ("A", "C", "D"):
        found = solve(replace(task, examples=tuple(examples)), first_tier=tier)
        assert (found.status, found.score) == ("optimal", 13)
        assert ("free", 0) in found.uncovered


def test_the_tier_is_the_one_that_found_or_proved() -> None:
    text = PATHS.replace("#pos(a,", "#pos(a@7,").replace("#pos(b,", "#pos(b@7,")
    assert solve(LasTask.parse(text)).tiers == ("B", "C")
    assert solve(LasTask.parse(text)).tier == "C"
    cautious = solve(LasTask.parse(COLOURS))
    assert (cautious.tier, cautious.tiers) == ("D", ("B", "C", "D"))
    assert "Tier B does not apply: " in cautious.message and "Tier C gave up: " in cautious.message
    late = solve(LasTask.parse(text), time_limit=0.0)
    assert late.status == "feasible"
    assert late.tiers[-1] in ("C", "D")


def test_what_tier_c_found_is_tier_cs_where_tier_d_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = one_shot.optimise

    def unproven(*given: Any) -> optimisation.Outcome:
        return replace(exact(*given), proven=False, lower=1)

    monkeypatch.setattr(one_shot, "optimise", unproven)
    monkeypatch.setattr(conflict_driven, "optimise", lambda *_: optimisation.Outcome(lower=2))
    text = PATHS.replace("#pos(a,", "#pos(a@7,").replace("#pos(b,", "#pos(b@7,")
    found = solve(LasTask.parse(text))
    assert (found.status, found.score, found.bound, found.tier) == ("feasible", 5, 2, "C")
    assert found.tiers == ("B", "C", "D")
    assert "Tier C gave up" in found.message and "Tier D gave up" in found.message


@pytest.mark.parametrize(
    ("background", "tier"),
    [
        ("", "A"),
        (":- p, q.", "A"),
        ("z :- q.", "A"),
        ("z :- p.", "B"),
        ("z :- not p.", "B"),
        ("{ z } :- p.", "B"),
        ("#modeb(p).", "B"),
    ],
)
def test_tier_b_is_where_learned_predicates_feed_others(background: str, tier: str) -> None:
    text = f"{background} #modeh(p). #modeb(q). #pos(x, {{p}}, {{}}, {{q.}})."
    assert tabular_tier(LasTask.parse(text, dialect="fastlas")) == tier
    if "{" not in background and "mode" not in background:
        assert solve(LasTask.parse(text, dialect="fastlas")).tier == tier
    given = "#modeh(q). 1 ~ s :- q. #pos(x, {q}, {}, {})."
    assert tabular_tier(LasTask.parse(given)) == "B"


def test_a_clash_with_a_negative_example_names_both() -> None:
    text = "{ w }. #modeh(p). #modeb(q). #maxv(0). #pos(yes, {p}, {}, {q.}). #neg(no, {p, w}, {}, {q.})."
    found = solve(LasTask.parse(text, dialect="fastlas"))
    assert (found.status, found.tier) == ("unsatisfiable", "D")
    assert "'yes' and 'no'" in found.message
    both = "#modeh(p). #modeb(p). #modeb(q). #maxv(0). #pos(yes, {p}, {}, {q.}). #neg(no, {p}, {}, {q.})."
    for tier in ("A", "C", "D"):
        assert solve(LasTask.parse(both, dialect="fastlas"), first_tier=tier).status == "unsatisfiable"


def test_an_explanation_heeds_a_budget() -> None:
    task = LasTask.parse(COLOURS)
    with pytest.raises(Expired):
        explain(task, ("bad :- col(V1,V2), node(V1), colour(V2).",), Budget(interrupted=True))


def test_modes_may_add_variables() -> None:
    """`FastLAS2/testing/arithmetic2.las` and its score."""
    text = """
    num(1..100). num2(X) :- num(X).
    #modeh(result(var(num2))). #modeb(input1(var(num))). #modeb(input2(var(num))).
    #modeb(var(num2) = var(num) + var(num)).
    #bias("penalty(1, X) :- in_head(X)."). #bias("penalty(1, X) :- in_body(X).").
    #bias("penalty(1, head)."). #bias("penalty(1, X) :- body(X).").
    #pos({result(8)}, {}, {:- result(X), X != 8. input1(3). input2(5).}).
    """
    task = LasTask.parse(text, dialect="fastlas")
    found = solve(task)
    assert (found.status, found.score, found.tier) == ("optimal", 5, "C")
    assert coverage.score(task, found.hypothesis).cost == 5
    assert LasTask.parse(task.to_las(), dialect="fastlas") == task
    with pytest.raises(UserError, match="only supported in comparisons"):
        LasTask.parse("#modeh(p). #modeb(q(var(t) + 1)).")


BUDGET = Budget()
LARGER = """
larger :- shown(first,A), shown(second,B), A > B.
next(1,2). next(2,3).
on(1) :- start.
#modeh(on(var(n))).
#modeb(1, next(var(n), var(n)), (positive)).
#modeb(1, on(var(n)), (positive)).
#modeb(1, larger).
"""


def sequences(spec: str, n: int) -> LasTask:
    """Whole sequences of a task, a third of them with other digits than were meant."""
    task = registry.create("benchmark", spec)
    task.sizes = {"few": n}
    split = task.generate("train", "few", 1, np.random.default_rng(1))
    length = int(split.steps.max())
    concepts = split.concepts.copy()
    concepts[: n // 3 * length] = np.random.default_rng(2).permutation(concepts[: n // 3 * length])
    contexts = task.sequence_contexts(concepts, split.metadata, split.steps)
    examples = []
    for k, context in enumerate(contexts):
        rows = [(int(split.labels[i]), i % length + 1) for i in range(k * length, (k + 1) * length)]
        wanted, unwanted = (
            tuple(task.step_atom(atom, step) for label, step in rows for atom in atoms(label))
            for atoms in (task.labels.inclusions, task.labels.exclusions)
        )
        examples.append(WeightedExample(f"e{k}", 10, wanted, unwanted, context))
    return LasTask.build(examples, task.background, task.bias, task.name)


@pytest.mark.parametrize("spec", ["hanoi", "addition"])
def test_every_hypothesis_covers_what_is_merged_alike(spec: str) -> None:
    task = sequences(spec, 60)
    standing = alike(task, BUDGET)
    if spec == "hanoi":
        assert len(standing) > 10
    rules = [rule.text for rule in hypothesis_space(task).rules]
    true = registry.create("benchmark", spec).true_rule.strip().splitlines()
    rng = np.random.default_rng(3)
    drawn = [rng.choice(rules, rng.integers(1, 20), replace=False).tolist() for _ in range(8)]
    for hypothesis in [true, *drawn, *([*true, *some[:1]] for some in drawn)]:
        found = covered(task, hypothesis)
        told = {content(e): ok for e, ok in zip(task.examples, found, strict=True)}
        assert all(told[one] == told[other] for one, other in standing.items())


def test_only_what_can_be_read_counts() -> None:
    task = LasTask.parse(
        LARGER
        + """
        #pos(a, {on(2)}, {}, {start. shown(first,7). shown(second,2).}).
        #pos(b, {on(2)}, {}, {start. shown(first,5). shown(second,4).}).
        #pos(c, {on(2)}, {}, {start. shown(first,2). shown(second,7).}).
        #pos(d, {on(3)}, {}, {start. shown(first,5). shown(second,4).}).
        #pos(e, {on(2)}, {}, {start. shown(first,5). shown(second,4). on(3).}).
        """
    )
    a, b, *_ = map(content, task.examples)
    assert alike(task, BUDGET) == {b: a}


def test_what_one_chunk_states_counts_in_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coverage, "_CHUNK", 1)
    task = LasTask.parse(
        """
        dark :- not lamp.
        #modeh(seen). #modeb(dark). #modeb(seen).
        #pos(a, {seen}, {}, {coin.}).
        #pos(b, {seen}, {}, {lamp.}).
        #pos(c, {seen}, {}, {stone.}).
        """,
        dialect="fastlas",
    )
    a, _, c = map(content, task.examples)
    assert alike(task, BUDGET) == {c: a}


@pytest.mark.parametrize(
    "changed",
    [
        "1 { larger; smaller } 1 :- shown(first,A), shown(second,B), A > B.",
        "-larger :- shown(first,A).",
        "inclusion(on(1)) :- larger.",
        "larger :- not smaller. smaller :- not larger.",
    ],
)
def test_what_is_not_fixed_is_not_merged(changed: str) -> None:
    examples = """
        #pos(a, {on(2)}, {}, {start. shown(first,7). shown(second,2).}).
        #pos(b, {on(2)}, {}, {start. shown(first,5). shown(second,4).}).
        """
    first = LARGER.replace("larger :- shown(first,A), shown(second,B), A > B.", changed)
    read = ":- shown(first,A), shown(second,B), A = B." if "not" in changed else ""
    assert alike(LasTask.parse(first + read + examples), BUDGET) == {}


@pytest.mark.parametrize("tier", ["C", "D"])
def test_hard_examples_that_another_one_stands_for_are_named(tier: Tier) -> None:
    task = LasTask.parse(
        """
        p :- q.
        #modeh(r). #modeb(p). #modeb(r). #maxv(0).
        #pos(soft@3, {r}, {}, {p.}).
        #pos(yes, {r}, {}, {q.}).
        #pos(no, {}, {r}, {q.}).
        #neg(never@2, {r}, {}, {q. q.}).
        """,
        dialect="fastlas",
    )
    assert len(alike(task, BUDGET)) >= 1
    found = solve(task, first_tier=tier)
    assert found.status == "unsatisfiable"
    assert "yes" in found.message and "no" in found.message and "soft" not in found.message


@pytest.mark.parametrize("tier", ["C", "D"])
def test_penalties_of_merged_examples_add_up(tier: Tier) -> None:
    task = LasTask.parse(
        """
        p :- q.
        #modeh(r). #modeb(p). #modeb(r). #maxv(0).
        #bias("penalty(3, head).").
        #pos(a@2, {r}, {}, {p.}).
        #pos(b@2, {r}, {}, {q.}).
        #neg(c@9, {r}, {}, {q. p.}).
        """
    )
    found = solve(task, first_tier=tier)
    assert (found.status, found.score, found.hypothesis) == ("optimal", 4, ())
    assert set(found.uncovered) == {("a", 2), ("b", 2)}
