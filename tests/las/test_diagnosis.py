"""Why nothing is found, said in words that are right, and what docs/rule-learner.md shows."""

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

import nsl_bench
from nsl_bench.cli.rules import learn
from nsl_bench.core.budget import Budget
from nsl_bench.logic.las import LasTask, Solution, solve
from nsl_bench.logic.las.diagnosis import diagnosed
from nsl_bench.logic.las.semantics.coverage import covered, score

COSTS = '#bias("penalty(1, head). penalty(1, body(X)) :- in_body(X).").\n'
OK_IN_RED_ONLY = "#pos(e1, {ok}, {}, {red. big.}). #pos(e2, {}, {ok}, {red.}). #pos(e3, {}, {ok}, {big.})."
CONFLICTS = {
    "no head": (
        "item(1..3). #modeh(ok(var(item))). #modeb(red(var(item))). #pos(e1, {good(1)}, {}, {red(1).}).",
        ["e1"],
        ["Example 'e1' asks for good(1), which cannot be derived: no #modeh names good/1"],
    ),
    "no constant": (
        "size(small). #modeh(label(const(size))). #modeb(red). #pos(e1, {label(huge)}, {}, {red.}).",
        ["e1"],
        ["huge is not a value of the type 'size' of '#modeh(label(const(size))).'"],
    ),
    "no value": (
        "item(1..3). #modeh(ok(var(item))). #modeb(red(var(item))). #pos(e1, {ok(7)}, {}, {red(1).}).",
        ["e1"],
        ["Example 'e1' asks for ok(7), which cannot be derived: 7 is not a value of the type 'item'"],
    ),
    "unseen predicates": (
        "shape(a). #modeh(ok). #modeb(form(const(shape))). "
        "#pos(e3, {ok}, {}, {form(a). weight(3). colour(red).}). "
        "#pos(e7, {}, {ok}, {form(a). weight(5). colour(blue).}).",
        ["e3", "e7"],
        [
            "The examples 'e3' and 'e7' look the same to every rule of the space, but 'e3' needs ok",
            "Their contexts differ in colour/1 and weight/1, which no #modeb tells apart.",
            "With '#modeb(colour(const(colour_1))).', these rules would cover them: ok :- colour(red).",
            "With '#modeb(weight(num_var(weight_1))).', these rules would cover them: ok :- weight(V1)",
        ],
    ),
    "thresholds": (
        "n(0..9). #modeh(ok). #modeb(weight(var(n))). "
        "#pos(e3, {ok}, {}, {weight(3).}). #pos(e7, {}, {ok}, {weight(5).}).",
        ["e3", "e7"],
        ["With '#modeb(weight(num_var(n))).', these rules would cover them: ok :- weight(V1), V1 <= 3."],
    ),
    "constants": (
        "c(red). #modeh(ok). #modeb(colour(const(c))). "
        "#pos(e3, {ok}, {}, {colour(blue).}). #pos(e7, {}, {ok}, {colour(green).}).",
        ["e3", "e7"],
        ["With blue, green in the type 'c', these rules would cover them: ok :- colour(blue)."],
    ),
    "equal contexts": (
        "#modeh(ok). #modeb(red). #pos(e1, {ok}, {}, {red.}). #pos(e2, {}, {ok}, {red.}).",
        ["e1", "e2"],
        ["look the same to every rule", "Their contexts are equal, so no rule can tell them apart."],
    ),
    "equal to the background": (
        "dark :- grey. dark :- black. #modeh(ok). #modeb(dark). "
        "#pos(e1, {ok}, {}, {grey.}). #neg(e2, {ok}, {}, {black.}).",
        ["e1", "e2"],
        [
            "look the same to every rule of the space, but 'e1' needs ok and 'e2' must not have it",
            "Their contexts differ in black/0 and grey/0",
            "With '#modeb(grey).', these rules would cover them: ok :- grey.",
        ],
    ),
    "negation": (
        "#modeh(ok). #modeb(red). #pos(e1, {ok}, {}, {}). #pos(e2, {}, {ok}, {red.}).",
        ["e1", "e2"],
        ["With '#modeb(not red).', these rules would cover them: ok :- not red."],
    ),
    "variables": (
        "p(1..4). #modeh(gp(var(p),var(p))). #modeb(par(var(p),var(p))). #maxv(2). "
        "#pos(e1, {gp(1,3)}, {gp(1,2), gp(2,3), gp(1,4), gp(3,1)}, {par(1,2). par(2,3). par(1,4).}).",
        ["e1"],
        ["With '#maxv(3).', these rules would cover 'e1': gp(V1,V2) :- par(V1,V3), par(V3,V2)"],
    ),
    "bias": (
        f'#modeh(ok). #modeb(red). #modeb(big). #bias(":- in_body(red), in_body(big)."). {OK_IN_RED_ONLY}',
        ["e1", "e2", "e3"],
        ["Without the constraints in #bias, these rules would cover them: ok :- red, big."],
    ),
    "body": (
        f"#modeh(ok). #modeb(red). #modeb(big). #max_body(1). {OK_IN_RED_ONLY}",
        ["e1", "e2", "e3"],
        ["With '#max_body(3).' and no recalls, these rules would cover them: ok :- red, big."],
    ),
    "comparison": (
        "n(1..3). #modeh(ok). #modeb(at(var(n))). #maxv(2). "
        "#pos(e1, {ok}, {}, {at(1). at(2).}). #pos(e2, {}, {ok}, {at(3).}).",
        ["e1", "e2"],
        ["With '#modeb(var(n) != var(n)).', these rules would cover them: ok :- at(V1), at(V2)"],
    ),
    "unavoidable": (
        "bad :- red. #modeh(ok). #modeb(red). #pos(e1, {ok}, {bad}, {red.}).",
        ["e1"],
        ["Example 'e1' excludes bad, which background and context derive, whatever is learned."],
    ),
    "unavoidable negative": (
        "bad :- red. #modeh(ok). #modeb(red). #neg(e1, {bad}, {}, {red.}).",
        ["e1"],
        ["Example 'e1' must not hold, but background and context derive it."],
    ),
    "contradiction": (
        "#modeh(ok). #modeb(red). #pos(e1, {ok}, {ok}, {red.}).",
        ["e1"],
        ["Example 'e1' asks for ok and excludes it."],
    ),
    "constraint": (
        ":- red, big. #modeh(ok). #modeb(red). #pos(e1, {ok}, {}, {red. big.}).",
        ["e1"],
        ["Example 'e1': a constraint of the background knowledge excludes its context, whatever is learned."],
    ),
}


@pytest.mark.parametrize("kind", CONFLICTS)
@pytest.mark.parametrize("first_tier", ["A", "C", "D"])
def test_why_no_hypothesis_covers_the_examples(kind: str, first_tier: str) -> None:
    text, conflict, sentences = CONFLICTS[kind]
    task = LasTask.parse(COSTS + text)
    solution = diagnosed(task, solve(task, first_tier=first_tier), Budget())  # type: ignore[arg-type]
    assert solution.status == "unsatisfiable"
    assert sorted(solution.conflict) == conflict
    for sentence in sentences:
        assert any(sentence in each for each in solution.why), solution.why
    assert all("\n" not in each for each in solution.why)
    core = [example for example in task.examples if example.id in solution.conflict]
    for each in solution.why:
        _, offered, rules = each.partition("would cover ")
        assert not offered or all(covered(task, [rules.partition(": ")[2]], core))


def test_it_is_in_every_output(tmp_path: Path) -> None:
    text, conflict, (sentence, *_) = CONFLICTS["no head"]
    path = tmp_path / "task.las"
    path.write_text(COSTS + text)
    result = CliRunner().invoke(learn, [str(path)], catch_exceptions=False)
    assert result.stdout == "unsatisfiable\n" and sentence in result.stderr
    answer = json.loads(CliRunner().invoke(learn, [str(path), "--json"], catch_exceptions=False).stdout)
    solution = nsl_bench.learn(path)
    assert answer["conflict"] == list(solution.conflict) == conflict
    assert answer["why"] == list(solution.why) and sentence in solution.why[0]
    assert str(solution).splitlines()[0] == "unsatisfiable" and sentence in str(solution)


def test_examples_that_do_not_pay_are_explained() -> None:
    task = COSTS + (
        "#modeh(ok). #modeb(red). #modeb(big). #pos(e1@1, {ok}, {}, {red. big.}). #pos(e2@5, {ok}, {}, {}). "
        "#pos(e3@9, {}, {ok}, {big.}). #pos(e4@3, {good}, {}, {})."
    )
    solution = nsl_bench.learn(task, explain=True)
    assert (solution.hypothesis, solution.score) == ((), 9)
    assert solution.why == (
        "Rules that cover example 'e2' (penalty 5) would leave 'e3' (9) uncovered: ok.",
        "No hypothesis covers example 'e4' (penalty 3).",
        "Example 'e4' asks for good, which cannot be derived: no #modeh names good/0, and neither background "
        "nor context derives it.",
        "Example 'e1' (penalty 1) does not pay: the rules that cover it cost at least 1: ok.",
    )
    assert nsl_bench.learn(task).why == ()


def test_out_of_time_it_says_what_shows_without_a_search() -> None:
    text, _, (sentence,) = CONFLICTS["no head"]
    task = LasTask.parse(COSTS + text)
    found = Solution("feasible", None, 0, tier="C")
    assert sentence in diagnosed(task, found, Budget()).why[0]
    assert diagnosed(task, found, Budget(deadline=0.0)).why == ()


def test_a_score_is_not_changed() -> None:
    task = LasTask.parse(COSTS + "#modeh(ok). #pos(e1@1, {ok}, {}).")
    solution = solve(task)
    again = diagnosed(task, solution, Budget())
    assert (again.score, again.hypothesis) == (solution.score, solution.hypothesis)
    assert score(task, again.hypothesis).total == again.score


PAGE = (Path(__file__).parents[2] / "docs" / "rule-learner.md").read_text(encoding="utf-8")


def test_the_python_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(compile(block, "docs/rule-learner.md", "exec"), {})
    assert capsys.readouterr().out.endswith("optimal 2 2 A\n")


def test_the_task_in_full_is_solved() -> None:
    text = next(block for block in re.findall(r"```\n(.*?)```", PAGE, re.DOTALL) if "#modeh" in block)
    assert solve(LasTask.parse(text)).score == 2


def test_the_example_of_a_conflict_is_what_is_printed(tmp_path: Path) -> None:
    section = PAGE.partition("## Where nothing is found")[2]
    text, shown = re.findall(r"```\n(.*?)```", section, re.DOTALL)[:2]
    path = tmp_path / "task.las"
    path.write_text(text)
    result = CliRunner().invoke(learn, [str(path)], catch_exceptions=False)
    assert result.stdout + result.stderr == shown
