"""``nsl-bench learn --space``: exactly the rules of the definition, up to names of variables."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from las.agreement import form, plainly, steps, useless

from nsl_bench.cli.rules import learn
from nsl_bench.core.budget import Budget
from nsl_bench.core.errors import UserError
from nsl_bench.logic.guarded import learning
from nsl_bench.logic.guarded.learning import list_space
from nsl_bench.logic.las import LasTask, hypothesis_space, solve
from nsl_bench.logic.las.bias.hypothesis import hypothesis_cost
from nsl_bench.logic.las.bias.space import growing_space, listed_space
from nsl_bench.logic.las.semantics.verification.space import rules_with_costs

COSTS = '#bias("penalty(1, head). penalty(1, body(X)) :- in_body(X).").\n'
EXAMPLE = "#pos(e@1, {p}, {}, {q(1). r(1,2).}).\n"
NODES = "n(1..2). q(1). r(1,2).\n"
TASKS = {
    "constants": "#modeh(p). #modeb(q(const(n))). #modeb(not q(const(n)))." + COSTS,
    "variables": "#modeh(p(var(n))). #modeb(q(var(n))). #modeb(r(var(n),var(n))). #maxv(2). #max_body(2)."
    + COSTS,
    "comparisons": "#modeh(p). #modeb(r(var(n),var(n))). #modeb(var(n) != var(n)). #maxv(2). #max_body(2)."
    + COSTS,
    "recalls": "#modeh(p). #modeb(2, q(var(n)), (positive)). #modeb(1, r(1,var(n)), (positive)). #maxv(2).",
    "ilasp": "#modeh(p). #modeb(1, q(var(n))). #modeb(1, r(var(n),const(n)), (positive)). #maxv(2).",
    "bias": "#modeh(p). #modeb(q(var(n))). #modeb(not q(var(n))). #maxv(2)."
    + COSTS
    + '#bias(":- in_body(q(X)), in_body(neg(q(Y))), X != Y.").',
    "lower": "#modeh(p). #modeb(q(const(n))). #modeb(n(var(n)))."
    + '#bias("penalty(3, head) :- not in_body(n(1)), not some. some :- in_body(q(X)).").',
    "invention": "#predicate(target, p/1). #predicate(invented, s/1). #modem(2, up(target/1, invented/1)). "
    "P(X) :- Q(X), up(P, Q).",
    "whole": "#modeh(p). #modeb(q(const(n))). 1 ~ p :- q(1). 5 ~ p :- q(2). 2 ~ p :- r(1,2), q(1)." + COSTS,
    "whole constraints": "#modeh(p). 1 ~ :- q(1). 2 ~ p :- q(1)." + COSTS,
    "recursive": "#modeh(q(var(n))). #modeb(q(var(n))). #modeb(r(var(n),var(n))). #maxv(2). #max_body(2)."
    + COSTS,
}


@pytest.mark.parametrize("name", TASKS)
def test_the_space_is_that_of_the_definition(name: str) -> None:
    text = NODES + TASKS[name] + EXAMPLE
    task = LasTask.parse(text)
    expected: dict[object, int] = {}
    plain = plainly(task)
    given = {rule for _, rule in plain.rules}
    for rule, cost in rules_with_costs(plain, 2_000, steps()).items():
        key = form(rule)
        if rule in given or not useless(key):
            expected[key] = min(cost, expected.get(key, cost))
    listed: list[tuple[int, str]] = []
    assert list_space(text, listed=listed.extend) is None
    forms = [form(rule) for _, rule in listed]
    assert len(set(forms)) == len(forms)
    assert {form(rule): cost for cost, rule in listed} == expected
    assert sorted(f"{cost} ~ {rule}" for cost, rule in listed) == sorted(
        str(hypothesis_space(task)).split("\n")
    )
    for rule in hypothesis_space(task).rules:
        assert hypothesis_cost(task, [rule.text]) == rule.cost
    for part in growing_space(task, max_rules=8):
        left = expected.keys() - {form(rule.text) for rule in part.rules}
        assert part.horizon is None or all(expected[key] >= part.horizon for key in left)


def test_a_space_is_printed_as_ilasp_does(tmp_path: Path) -> None:
    path = tmp_path / "task.las"
    path.write_text(NODES + TASKS["constants"])  # no examples are needed
    shown = CliRunner().invoke(learn, [str(path), "--space"], catch_exceptions=False).stdout.splitlines()
    assert shown[:2] == ["1 ~ p.", "2 ~ p :- not q(1)."]
    assert shown[-1] == f"% {len(shown) - 1} rules"
    answer = CliRunner().invoke(learn, [str(path), "--space", "--json"], catch_exceptions=False).stdout
    read = json.loads(answer)
    assert [f"{each['cost']} ~ {each['rule']}" for each in read["rules"]] == shown[:-1]
    assert (read["complete"], read["missing_cost"]) == (True, None)


def test_a_large_space_says_where_it_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "task.las"
    path.write_text(NODES + TASKS["constants"])
    parts = list(listed_space(LasTask.read(path), max_rules=8))
    costs = [rule.cost for rules, _ in parts for rule in rules]
    assert costs == sorted(costs) and len(parts) > 1
    assert parts[-1][1] is not None and parts[-1][1] > max(costs)
    monkeypatch.setattr(learning, "list_space", lambda *_, listed, **__: listed([(1, "p.")]) or 3)
    shown = CliRunner().invoke(learn, [str(path), "--space"], catch_exceptions=False)
    assert shown.stdout == "1 ~ p.\n% cut after 1 rules; each of the others costs at least 3\n"


@pytest.mark.parametrize("name", TASKS)
@pytest.mark.parametrize("heads", [True, False])
def test_a_space_that_is_cut_at_once_has_a_rule(name: str, heads: bool) -> None:
    text = NODES + TASKS[name]
    task = LasTask.parse(text if heads else re.sub(r"#modeh\([^#]*\)\.", "% dialect: ilasp\n", text))
    if task.bias.heads or task.bias.bodies:
        parts = list(listed_space(task, budget=Budget(deadline=0.0)))
        assert any(rules for rules, _ in parts) and parts[-1][1] is not None


def test_a_mode_that_no_rule_can_use_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "task.las"
    path.write_text("% dialect: fastlas\n#modeh(p(var(n))).")
    with pytest.raises(UserError, match=r"line 2, column 1.*type 'n'"):
        CliRunner().invoke(learn, [str(path), "--space"], catch_exceptions=False)


def test_a_constraint_that_is_given_whole_is_verified() -> None:
    task = LasTask.parse("1 { a; b } 1 :- c. 1 ~ b. 1 ~ :- b. 1 ~ c. #pos({a}, {}). #neg({b}, {}).")
    solution = solve(task, verify=True)
    assert (solution.score, solution.verified) == (2, "optimality"), solution.message
    assert sorted(solution.hypothesis) == [":- b.", "c."]
