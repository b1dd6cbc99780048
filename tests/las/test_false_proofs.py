"""Small tasks, on most of which a solver once called a wrong score optimal or refused what is right."""

from pathlib import Path

import pytest
from las.agreement import least_score, plainly, proven, scored

from nsl_bench.core.errors import UserError
from nsl_bench.logic.las.bias.hypothesis import hypothesis_cost
from nsl_bench.logic.las.solver import solve
from nsl_bench.logic.las.task import LasTask, Tier

COSTS = '#bias("penalty(1, head). penalty(1, body(X)) :- in_body(X).").'
_TASKS = (Path(__file__).parent / "false_proofs.txt").read_text(encoding="utf-8")
FAULTS: dict[str, tuple[int, str]] = {}
for _task in _TASKS.removeprefix("== ").split("\n== "):
    _title, _, _text = _task.partition("\n")
    FAULTS[_title.split(":")[0]] = int(_title.split(":")[1]), _text.replace("COSTS", COSTS)
"""The optimum of each task, and its text."""


@pytest.mark.parametrize("tier", ["A", "C", "D"])
@pytest.mark.parametrize("name", FAULTS)
def test_the_optimum_is_found(name: str, tier: Tier) -> None:
    want, text = FAULTS[name]
    task = LasTask.parse(text, dialect="ilasp" if "positive" in text or "#modem" in text else "fastlas")
    found = solve(task, first_tier=tier, time_limit=20)
    assert (found.status, found.score, found.bound) == ("optimal", want, want)
    cost, penalties, whole = scored(plainly(task), found.hypothesis)
    assert (cost, whole, cost + penalties) == (found.cost, True, want)
    assert hypothesis_cost(task, found.hypothesis) == cost


@pytest.mark.parametrize("tier", ["A", "C", "D"])
@pytest.mark.parametrize("mode", ["#modeh(k(var(n),const(n))).", "#modeh(p). #modeb(var(n) < const(n))."])
def test_a_type_without_constants_is_refused_by_every_tier(mode: str, tier: Tier) -> None:
    task = LasTask.parse(f"n(2..1). {mode} #pos(x@1, {{}}, {{}}).", dialect="fastlas")
    with pytest.raises(UserError, match=r"The type 'n' of const\(n\) has no constant"):
        solve(task, first_tier=tier)


@pytest.mark.parametrize("name", FAULTS)
def test_the_check_knows_the_optimum(name: str) -> None:
    want, text = FAULTS[name]
    assert least_score(text, "ilasp" if "positive" in text or "#modem" in text else "fastlas") == want


@pytest.mark.parametrize("literal", ["q", "q(var(t))"])
def test_truth_that_changes_only_from_one_word_of_contexts_to_the_next(literal: str) -> None:
    fact = "q(1)." if "(" in literal else "q."
    examples = [
        f"#pos(e{i}@9, {'{p}, {}' if i < 64 else '{}, {p}'}, {{i({i}). {fact if i < 64 else ''}}})."
        for i in range(128)
    ]
    text = f"t(1..3). #modeh(p). #modeb({literal}). #maxv(1). {COSTS}"
    assert proven("\n".join([text, *examples])) == 2


@pytest.mark.parametrize(
    "text",
    [
        "g(0) :- h. g(X+1) :- g(X), s(X). s(0..3000). #modeh(h). #modeb(q). #pos(e@9,{g(3001)},{},{q.}).",
        f"t(1). #modeh(p({','.join(['var(t)'] * 17)})). #maxv(1). #pos(e@9,{{p({'1,' * 16}1)}},{{}},{{}}).",
    ],
)
def test_long_chains_and_many_places(text: str) -> None:
    assert proven(text + COSTS) == 1


def test_a_rule_may_cost_more_than_any_weight() -> None:
    costs = '#bias("penalty(2000000000, x(N)) :- in_head(p), N = 1..1000.").'
    solution = solve(LasTask.parse("#modeh(p). #modeb(q). #pos(a,{p},{},{q.})." + costs))
    assert solution.status != "unsatisfiable"
