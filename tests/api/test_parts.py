"""The list of parts, in Python and on the command line."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

import nsl_bench
from nsl_bench.api.parts import KINDS, _meanings, _options
from nsl_bench.cli import main
from nsl_bench.core import registry
from nsl_bench.core.metrics import METRICS
from nsl_bench.run.sweep import EXECUTORS


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
    assert "penalty=network" in ffnsl and "One of: network, constant." in " ".join(ffnsl.split())


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
