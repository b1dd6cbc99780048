"""Solving in a process that may die: the same answers, and the best so far where it does."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from nsl_bench.core.errors import UserError
from nsl_bench.core.types import LabelSpace
from nsl_bench.logic.guarded import call
from nsl_bench.logic.guarded.learning import solve_isolated
from nsl_bench.logic.guarded.rules import inferred
from nsl_bench.logic.inference.engines import Exact
from nsl_bench.logic.inference.query import Query
from nsl_bench.logic.las import LasTask, Progress, solve

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the child process needs a POSIX system")

TASK = """
#modeh(p). #modeh(q). #modeb(r). #modeb(not r).
#bias("penalty(1, head). penalty(1, body(X)) :- in_body(X).").
#pos(one@5, {p}, {q}, {r.}).
#pos(two@5, {q}, {p}, {}).
#pos(two@1, {p}, {}, {}).
"""


def test_the_answer_is_the_solvers(tmp_path: Path) -> None:
    path = tmp_path / "task.las"
    path.write_text(TASK)
    told: list[Progress] = []
    warnings: list[str] = []
    for source in (path, TASK):
        learned = solve_isolated(source, explain=True, progress=told.append, warned=warnings.append)
        here = solve(LasTask.parse(TASK))
        for name in ("status", "score", "bound", "hypothesis", "cost", "tier", "covered", "uncovered"):
            assert getattr(learned.solution, name) == getattr(here, name)
        assert [rule["covers"] for rule in learned.rules] and "covers" in (learned.explanation or "")
        assert learned.seconds > 0 and not learned.ended
    assert warnings and told[-1].score == 5 and told[-1].gap == 0 and told[-1].hypothesis


def test_without_a_child_the_answers_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    query = Query(("a :- p(1).",), "", LabelSpace(("b", "a"), (None, "a")), ((("p(1)",), ("p(2)",)),))
    apart = solve_isolated(TASK, explain=True), inferred(Exact, query, [[[0.25, 0.75]]])
    monkeypatch.setattr(call, "_in_place", True)
    here = solve_isolated(TASK, explain=True), inferred(Exact, query, [[[0.25, 0.75]]])
    assert here[0].rules[0].keys() == apart[0].rules[0].keys()
    assert here[0].explanation == apart[0].explanation and here[0].solution.score == apart[0].solution.score
    assert here[1].probabilities.tolist() == apart[1].probabilities.tolist() == [[0.75, 0.25]]


def test_a_dialect_and_options_are_handed_on() -> None:
    silent = TASK.replace('#bias("penalty(1, head). penalty(1, body(X)) :- in_body(X).").', "")
    scores = [solve_isolated(silent, dialect=each).answer["score"] for each in ("fastlas", "ilasp")]
    assert scores[0] < scores[1]
    assert solve_isolated(TASK, options={"first_tier": "C"}).answer["tier"] == "C"
    with pytest.raises(UserError, match="unexpected keyword"):
        solve_isolated(TASK, options={"nonsense": 1})


def test_what_is_wrong_with_a_task_is_told() -> None:
    with pytest.raises(UserError, match=r"line 1, column"):
        solve_isolated("#modeh(p). #pos(")
    with pytest.raises(UserError, match="has neither"):
        solve_isolated("p.", dialect="fastlas")


SILENT = TASK + "m(1..5000). s :- m(A), m(B), m(C), A+B+C = -1."
"""Grounding joins for minutes without making a rule."""


@pytest.mark.parametrize("tier", ["A", "C", "D"])
def test_a_step_that_cannot_be_ended_is_left_behind(tier: str) -> None:
    learned = solve_isolated(SILENT, time_limit=1, options={"first_tier": tier})
    assert learned.solution.status == "feasible" and learned.solution.score in (None, 11)
    assert learned.solution.message.startswith("Time ran out.") and not learned.ended


SOLVER = """
import sys, os
from dataclasses import replace
from nsl_bench.core import registry
from nsl_bench.cli import run

def solver(task, *, time_limit=None, memory_limit=None, progress):
    from nsl_bench.logic.las.task import Progress, Solution
    first = Solution("feasible", 9, 1, ("p.",), 1, "C", ("one",), (("two", 8),), message="So far.")
    progress(Progress(0.1, "tier C", first))
    progress(Progress(0.2, "tier C", replace(first, score=7, uncovered=(("two", 6),))))
    if sys.argv[2] == "dies":
        os.abort()
    while True:
        pass

def factory(kind, name):
    return solver

registry.factory = factory
run(["learn", sys.argv[1], "--time-limit", "1", *sys.argv[3:]])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the child has the solver only where it is forked")
@pytest.mark.parametrize(
    ("how", "sentence"),
    [("hangs", "takes longer than the 1 s allowed"), ("dies", "crashed clingo (SIGABRT)")],
)
def test_the_best_so_far_is_printed(how: str, sentence: str, tmp_path: Path) -> None:
    path = tmp_path / "task.las"
    path.write_text(TASK)
    words = [sys.executable, "-c", SOLVER, str(path), how]
    env = {**os.environ, "OMP_NUM_THREADS": "1"}  # a process with more threads is not forked
    done = subprocess.run(words, env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert done.stdout.startswith("p.\n% score 7 (feasible, at least 1): rules cost 1, 1 examples uncovered")
    last = done.stderr.splitlines()[-1]
    assert last.startswith("So far. Solving ") and sentence in last
    done = subprocess.run([*words, "--json"], env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and json.loads(done.stdout)["uncovered"] == {"two": 6}


@pytest.mark.parametrize("tier", ["A", "C", "D"])
def test_each_better_answer_is_told(tier: str) -> None:
    told: list[Progress] = []
    solution = solve(LasTask.parse(TASK), first_tier=tier, progress=told.append)  # type: ignore[arg-type]
    known = [each for each in told if each.score is not None]
    scores, bounds = [each.score or 0 for each in known], [each.bound for each in known]
    assert scores == sorted(scores, reverse=True) and scores[0] > scores[-1] == solution.score == 5
    assert bounds == sorted(bounds) and known[-1].gap == 0
    assert known[0].hypothesis == () and known[0].solution and known[0].solution.status == "feasible"
    assert str(known[-1]).endswith("score 5, bound 5, gap 0")
