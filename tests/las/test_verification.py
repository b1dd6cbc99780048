"""The check behind the word `optimal`: it agrees with the definition, and corrects false claims."""

import ast
import time
from dataclasses import replace
from pathlib import Path

import pytest
from las.agreement import least_score, plainly, scored

from nsl_bench.core.budget import Budget
from nsl_bench.logic.las import solver
from nsl_bench.logic.las.semantics import verification
from nsl_bench.logic.las.semantics.verification import check, is_small
from nsl_bench.logic.las.semantics.verification.check import checked
from nsl_bench.logic.las.semantics.verification.costs import Pricing
from nsl_bench.logic.las.semantics.verification.solving import Unverifiable
from nsl_bench.logic.las.solver import solve
from nsl_bench.logic.las.task import LasTask, Solution

COSTS = '#bias("penalty(1, head). penalty(1, body(X)) :- in_body(X).").'
TASK = f"""
#modeh(p). #modeb(q). #modeb(r). #modeb(not r). #maxv(0). {COSTS}
#pos(a@9, {{p}}, {{}}, {{q. r.}}).
#pos(b@7, {{}}, {{p}}, {{q.}}).
#pos(c@2, {{}}, {{p}}, {{r.}}).
"""


def never() -> None:
    """Stops nothing."""


def thoroughly(text: str, solution: Solution, budget: Budget | None = None) -> Solution:
    return checked(LasTask.parse(text), solution, budget or Budget(), thorough=True)


def test_a_wrong_score_is_corrected() -> None:
    right = solve(LasTask.parse(TASK), verify=True)
    assert (right.status, right.score, right.verified) == ("optimal", 3, "optimality")
    for claimed in (2, 4):
        found = thoroughly(TASK, replace(right, score=claimed, bound=claimed))
        assert (found.status, found.score, found.bound, found.verified) == ("feasible", 3, 0, "score")
        assert f"the score of the hypothesis is 3, not {claimed}" in found.message
        assert "please report" in found.message


def test_penalties_are_checked_where_rules_cannot_be_priced() -> None:
    rule = ("p :- s, q.",)
    claimed = Solution("optimal", 7, 7, rule, 0, covered=("a", "c"), uncovered=(("b", 7),))
    found = checked(LasTask.parse(TASK), claimed, Budget())
    assert (found.status, found.score, found.verified) == ("feasible", 9, "score")
    right = replace(claimed, score=9, covered=("b", "c"), uncovered=(("a", 9),))
    assert checked(LasTask.parse(TASK), right, Budget()).verified is None


def test_a_false_optimum_is_replaced_by_a_better_hypothesis() -> None:
    found = thoroughly(TASK, Solution("optimal", 9, 9))
    assert (found.status, found.score, found.cost) == ("feasible", 3, 3)
    assert "a hypothesis has a score of 3, less than 9" in found.message
    assert scored(plainly(LasTask.parse(TASK)), found.hypothesis) == (3, 0, True)


def test_a_task_that_is_satisfiable_is_not_called_otherwise() -> None:
    text = TASK.replace("a@9", "a")
    found = thoroughly(text, Solution("unsatisfiable", None, 0, message="No hypothesis covers a."))
    assert found.status == "feasible"
    assert found.score is not None and found.hypothesis
    assert "some hypothesis covers all that must be covered" in found.message
    clash = text + "#pos(d, {}, {p}, {q. r.})."
    assert thoroughly(clash, Solution("unsatisfiable", None, 0)).verified == "optimality"


def test_a_hypothesis_that_leaves_a_hard_example_uncovered_is_none() -> None:
    found = thoroughly(TASK.replace("a@9", "a"), Solution("optimal", 0, 0))
    assert (found.status, found.score, found.hypothesis, found.verified) == ("feasible", None, (), None)
    assert "leaves a uncovered, which must be covered" in found.message


def test_a_hypothesis_outside_of_the_space_is_no_optimum() -> None:
    task = TASK.replace("#modeb(r).", "")
    better = Solution("optimal", 3, 3, ("p :- q, r.",), 3, covered=("a", "b", "c"))
    found = thoroughly(task, better)
    assert (found.status, found.score, found.hypothesis, found.verified) == ("feasible", None, (), None)
    assert "the hypothesis space does not hold the rule 'p :- q, r.'" in found.message
    found = thoroughly(task, replace(better, solver="fastlas"))
    assert "does not hold the rule" in found.unverified


def test_the_solver_never_says_optimal_against_the_check(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solver, "solve_by_tables", lambda *_: Solution("optimal", 1, 1, ("p :- q.",), 1))
    found = solve(LasTask.parse(TASK))
    assert (found.status, found.score) == ("feasible", 9)
    monkeypatch.setattr(solver, "solve_by_tables", lambda *_: Solution("optimal", 9, 9, ("p :- q.",), 2))
    assert solve(LasTask.parse(TASK)).status == "optimal"
    found = solve(LasTask.parse(TASK), verify=True)
    assert (found.status, found.score) == ("feasible", 3)


def test_scores_of_small_tasks_are_checked_unasked() -> None:
    task = LasTask.parse(TASK)
    found = solve(task)
    assert is_small(task, found)
    assert (found.verified, found.unverified) == ("score", "")
    many = "\n".join(f"#pos(e{i}@1, {{p}}, {{}}, {{q. z({i}).}})." for i in range(500))
    found = solve(LasTask.parse(TASK + many))
    assert (found.status, found.verified) == ("optimal", None)
    assert solve(LasTask.parse(TASK + many), verify=True).verified == "optimality"


def test_what_was_not_verified_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    literals = " ".join(f"#modeb(b{i})." for i in range(12))
    task = LasTask.parse(TASK + literals)
    found = solve(task, verify=True)
    assert (found.status, found.verified) == ("optimal", "score")
    assert found.unverified == "the hypothesis space has more than 2,000 rules"
    monkeypatch.setattr(check, "_MOST_COPIES", 15)
    found = solve(LasTask.parse(TASK), verify=True)
    assert found.unverified == "the hypothesis space has more than 5 rules"
    found = thoroughly(TASK, replace(found, status="feasible", unverified=""))
    assert (found.verified, found.unverified) == ("score", "the answer is not proven optimal")
    assert thoroughly(TASK, Solution("feasible", None, 0)).unverified == "no hypothesis to check was found"


def test_it_heeds_a_budget() -> None:
    solution = solve(LasTask.parse(TASK))
    late = Budget(deadline=time.monotonic() - 10.0)
    assert checked(LasTask.parse(TASK), solution, late).status == "optimal"
    stopped = Budget(interrupted=True)
    answer = checked(LasTask.parse(TASK), replace(solution, verified=None), stopped)
    assert (answer.status, answer.verified) == ("optimal", None)
    text = "n(1..300). q(X,Y,Z) :- n(X), n(Y), n(Z), s. " + TASK.replace("{q. r.}", "{q. r. s.}")
    claimed = replace(solution, verified=None)
    started = time.monotonic()
    answer = checked(LasTask.parse(text), claimed, Budget())
    assert time.monotonic() - started < 20
    assert (answer.status, answer.verified) == ("optimal", None)


def test_negative_examples_are_tried_one_hypothesis_at_a_time() -> None:
    text = f"""
    1 {{ s; t }} 1. #modeh(bad). #modeb(s). #modeb(t). #maxv(0). ok :- not bad. :- bad. {COSTS}
    #pos(x@5, {{ok, t}}, {{}}, {{}}). #neg(y@3, {{ok, s}}, {{}}, {{}}).
    """
    want = least_score(text)
    found = solve(LasTask.parse(text), verify=True)
    assert (found.score, found.status, found.verified) == (want, "optimal", "optimality")
    worse = thoroughly(text, Solution("optimal", 3, 3))
    assert (worse.status, worse.score) == ("feasible", want)


def test_no_name_of_a_user_is_one_of_its_own() -> None:
    names = ["copy", "violated", "chosen", "holds", "satisfied", "rule", "example", "p_p", "n_p", "p_copy"]
    facts = " ".join(f"{name}. {name}(0). {name}(0,p)." for name in names)
    text = f"{facts} x(E, V_E) :- q(E), q(V_E). -z :- q. z :- r, not q." + TASK.replace("{q.}", "{q. q(1).}")
    want = least_score(text)
    found = solve(LasTask.parse(text), verify=True)
    assert (found.score, found.status, found.verified) == (want, "optimal", "optimality")


@pytest.mark.parametrize(
    ("rule", "cost"),
    [
        ("h(V1) :- a(V1), n(V1).", 3),
        ("h(V1) :- n(V1).", 2),
        ("h(V1) :- a(V1), a(V2), V1 != V2, n(V1), n(V2).", 4),
        ("h(V1) :- a(V1), V1 != V2, a(V2), n(V2), n(V1), V2 != V1.", 4),
        ("h(V2) :- n(V2), b(V2,V1), n(V1), m(V1).", 7),
    ],
)
def test_rules_are_priced_by_their_cheapest_reading(rule: str, cost: int) -> None:
    task = LasTask.parse(
        """
        n(1..3).
        #modeh(h(var(n))). #modeb(a(var(n))). #modeb(n(var(n))). #modeb(var(n) != var(n)).
        #ground_without_replacement.
        #bias("penalty(2, head). penalty(1, body(X)) :- in_body(X).").
        7 ~ h(X) :- b(X,Y), n(X), n(Y), m(Y).
        #pos(e, {h(1)}, {}, {a(1).}).
        """
    )
    assert Pricing(plainly(task), never).of_rule(rule)[0] == cost


def test_a_rule_that_no_mode_allows_has_no_price() -> None:
    pricing = Pricing(plainly(LasTask.parse(TASK)), never)
    for rule in ("p :- s.", "q.", "p :- not q.", "{p} :- q.", "p :- not not q."):
        with pytest.raises(Unverifiable):
            pricing.of_rule(rule)


def test_large_weights_are_not_verified_but_not_wrong() -> None:
    text = TASK.replace("b@7", "b@2000000000").replace("c@2", "c@2000000000").replace("a@9", "a@2000000000")
    text += "#pos(d@2000000000, {x}, {}, {}). #pos(e@2000000000, {x}, {}, {z.})."
    found = solve(LasTask.parse(text), verify=True)
    assert (found.status, found.score, found.verified) == ("optimal", 4_000_000_003, "score")
    assert "more than clingo can hold" in found.unverified


def test_it_shares_nothing_with_the_search() -> None:
    las = "nsl_bench.logic.las"
    allowed = (f"{las}.semantics.verification", f"{las}.task", "nsl_bench.core.budget")
    for path in Path(verification.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            modules = [node.module] if isinstance(node, ast.ImportFrom) else []
            modules += [each.name for each in node.names] if isinstance(node, ast.Import) else []
            for module in modules:
                assert module is None or not module.startswith("nsl_bench") or module.startswith(allowed)
