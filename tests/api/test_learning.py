"""``nsl_bench.learn``: what it takes, what it returns, and what it says of other things."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import pytest

import nsl_bench
from nsl_bench.logic.las import LasTask, Progress

TASK = """
item(1..2).
#modeh(reject). #modeb(scratched(var(item))).
#bias("penalty(1, head). penalty(1, body(X)) :- in_body(X).").
#pos(first@10, {reject}, {}, {scratched(2).}).
#pos(second@10, {}, {reject}, {}).
#pos(third@1, {}, {reject}, {scratched(1).}).
"""


@pytest.mark.parametrize("kind", ["path", "name", "text", "task"])
def test_a_task_is_a_path_a_text_or_an_object(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "task.las"
    path.write_text(TASK)
    given = {"path": path, "name": str(path), "text": TASK, "task": LasTask.parse(TASK)}[kind]
    solution = nsl_bench.learn(given, verify=True)  # type: ignore[arg-type]
    assert (solution.status, solution.score, solution.bound, solution.cost) == ("optimal", 3, 3, 2)
    assert solution.hypothesis == ("reject :- scratched(V1), item(V1).",)
    assert (solution.uncovered, solution.covered) == ((("third", 1),), ("first", "second"))
    assert solution.verified == "optimality"
    assert pickle.loads(pickle.dumps(solution)) == solution
    rule, score, uncovered = str(solution).splitlines()
    assert rule == solution.hypothesis[0]
    assert score == "% score 3 (optimal): rules cost 2, 1 examples uncovered"
    assert uncovered == "% uncovered, with penalties: third (1)"


def test_a_read_task_can_be_pickled() -> None:
    task = LasTask.parse(TASK + "p(X) :- item(X), not q(X). 2 ~ reject :- p(1).")
    assert task.program.rules and task.bias.scoring.rules and task.bias.rules[0].parsed
    again = pickle.loads(pickle.dumps(task))
    assert again == task
    assert str(again.program) == str(task.program)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ("task.las", "neither an existing file nor the text of a task"),
        ("", "neither an existing file nor"),
        ("x" * 9_000, "neither an existing file nor"),
        ("weight,colour\n1,red\n", "neither an existing file nor"),
        (5, "task must be a path, the text of a task or a LasTask; got a int"),
        (None, "got a NoneType"),
        (Path("/nowhere/task.las"), "does not exist"),
        ("p :- q.", "modes such as .* this one has neither"),
        ("#modeh(p). #pos(e, {p}, {}, {a( .}).", "[Tt]he task, line 1"),
    ],
)
def test_anything_else_is_one_sentence(given: object, sentence: str) -> None:
    with pytest.raises(nsl_bench.UserError, match=sentence) as caught:
        nsl_bench.learn(given)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)


def test_a_dialect_fits_a_task_that_is_read_already() -> None:
    with pytest.raises(nsl_bench.UserError, match="read as fastlas's already"):
        nsl_bench.learn(LasTask.parse(TASK), dialect="ilasp")


def test_notes_are_warnings() -> None:
    with pytest.warns(UserWarning, match="repeat another one's id"):
        nsl_bench.learn(TASK + "#pos(third@1, {reject}, {}).")


def test_progress_is_told() -> None:
    heard: list[Progress] = []
    solution = nsl_bench.learn(TASK, progress=heard.append)
    assert heard[-1].score == heard[-1].bound == solution.score


@pytest.mark.skipif(os.name != "posix", reason="needs a process of its own")
def test_no_task_crashes_the_caller() -> None:
    crash = "n(-2147483648). m(-1). q(X / Y) :- n(X), m(Y)."
    with pytest.raises(nsl_bench.UserError, match="crashed clingo"):
        nsl_bench.learn(TASK + crash)
