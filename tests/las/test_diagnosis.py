"""Why nothing is found, said in words that are right, and what docs/rule-learner.md shows."""

import json
import re
import tomllib
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
CONFLICTS = tomllib.loads(Path(__file__).with_name("conflicts.toml").read_text())


@pytest.mark.parametrize("kind", CONFLICTS)
@pytest.mark.parametrize("first_tier", ["A", "C", "D"])
def test_why_no_hypothesis_covers_the_examples(kind: str, first_tier: str) -> None:
    text, conflict, sentences = CONFLICTS[kind].values()
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
    text, conflict, (sentence, *_) = CONFLICTS["no head"].values()
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
    text, _, (sentence,) = CONFLICTS["no head"].values()
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
