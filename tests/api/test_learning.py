"""``nsl_bench.learn``: what it takes, what it returns, and what it says of other things."""

import os
import pickle
from pathlib import Path

import pytest
from click.testing import CliRunner

import nsl_bench
from nsl_bench.api.parts import KINDS, _meanings, _options
from nsl_bench.cli import main
from nsl_bench.core import registry
from nsl_bench.core.metrics import METRICS
from nsl_bench.logic.las import LasTask, Progress
from nsl_bench.run.sweep import EXECUTORS

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


def listed(*words: str) -> str:
    done = CliRunner().invoke(main, ["list", *words], catch_exceptions=False)
    assert done.exit_code == 0
    return done.stdout


@pytest.mark.parametrize("kind", KINDS)
def test_every_part_is_listed_and_says_what_its_options_mean(kind: str) -> None:
    parts = nsl_bench.list_parts(kind)
    code = KINDS[kind]
    others = {"metric": METRICS, "executor": EXECUTORS}
    known = others.get(code) or registry.names(code)  # type: ignore[arg-type]
    assert {part.name for part in parts} == {name for name in known if "@" not in name}
    for part in parts:
        assert part.summary and part == nsl_bench.part_info(kind, part.name)
        assert [str(o) for o in part.options if not o.meaning] == [], part.name


@pytest.mark.parametrize("kind", [kind for kind in registry.KINDS if kind != "rule_learner"])
def test_defaults_are_written_as_specs_take_them(kind: registry.Kind) -> None:
    for name in registry.names(kind):
        options = _options(registry.factory(kind, name))
        if any(option.default is None for option in options):
            continue
        spec = f"{name}:{','.join(map(str, options))}" if options else name
        plain, written = registry.create(kind, name), registry.create(kind, spec)
        names = {option.name for option in options}
        values = [{k: v for k, v in vars(part).items() if k in names} for part in (plain, written)]
        assert repr(values[0]) == repr(values[1]), spec


def test_the_option_of_a_subclass_is_explained_where_its_base_explains_it() -> None:
    told = {o.name: o for o in nsl_bench.part_info("learners", "random_forest_knowledge").options}
    assert str(told["trees"]) == "trees=100" and told["trees"].meaning == "number of trees."


def test_a_docstring_says_what_its_arguments_mean() -> None:
    doc = "Do it.\n\nArgs:\n    a, b: two\n        lines.\n\n    *c: more: of it.\n\nRaises:\n    d: no."
    assert _meanings(doc) == {"a": "two lines.", "b": "two lines.", "c": "more: of it."}
    assert _meanings("Do it.") == {}


def test_a_list_of_one_kind_shows_defaults_and_a_name_shows_meanings() -> None:
    everything, learners, ffnsl = listed(), listed("learners"), listed("learners", "ffnsl")
    assert all(kind.replace("_", " ").capitalize() in everything.splitlines() for kind in KINDS)
    assert "rule_learner=exact" not in everything and "rule_learner=exact, penalty=network" in learners
    assert "Must be given." in listed("learners", "rules") and "no options" in listed("learners", "majority")
    assert "penalty=network" in ffnsl and "One of: network, floor, constant." in " ".join(ffnsl.split())


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("leaners",), "Unknown kind of part 'leaners'. Did you mean 'learners'?"),
        (("learners", "fnsl"), "Unknown learner 'fnsl'. Did you mean 'ffnsl'?"),
        (("metrics", "atom"), "Unknown metric 'atom'. Did you mean 'atoms'?"),
    ],
)
def test_unknown_words_are_one_sentence(words: tuple[str, ...], sentence: str) -> None:
    with pytest.raises(nsl_bench.UserError) as caught:
        CliRunner().invoke(main, ["list", *words], catch_exceptions=False, standalone_mode=False)
    assert str(caught.value) == sentence


def test_a_part_that_cannot_be_imported_is_listed_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(kind: registry.Kind, name: str) -> object:
        raise nsl_bench.UserError("The learner 'x' cannot be imported: no module.")

    monkeypatch.setattr(registry, "factory", refuse)
    assert {part.summary for part in nsl_bench.list_parts("learners")} == {
        "The learner 'x' cannot be imported: no module."
    }


def test_executors_show_the_options_of_run() -> None:
    from nsl_bench.cli.running import run as command

    given = {option.name: option for option in command.params}
    assert tuple(EXECUTORS) == tuple(given["executor"].type.choices)  # type: ignore[attr-defined]
    for part in nsl_bench.list_parts("executors"):
        assert {option.name for option in part.options} <= given.keys()
    assert "--executor dask --scheduler ..." in listed("executors", "dask")
    assert "Must be given." in listed("executors", "dask") and "jobs=none" in listed("executors")
    with pytest.raises(nsl_bench.UserError, match="Did you mean 'dask'"):
        nsl_bench.part_info("executors", "dusk")
