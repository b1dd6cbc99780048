"""Parts are found by name, and a spec's mistakes are named in one sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from nsl_bench import registry
from nsl_bench.errors import UserError
from nsl_bench.registry import Spec


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("noir", Spec("noir")),
        ("rotate:90", Spec("rotate", ("90",))),
        ("decks:some/folder,standard=byron", Spec("decks", ("some/folder",), {"standard": "byron"})),
        ("softmax:epochs=3,dense=64", Spec("softmax", (), {"epochs": "3", "dense": "64"})),
    ],
)
def test_a_spec_reads_and_prints(text: str, spec: Spec) -> None:
    assert Spec.parse(text) == spec
    assert str(spec) == text


@pytest.mark.parametrize("kind", sorted(registry.KINDS))
def test_every_registered_part_can_be_imported(kind: registry.Kind) -> None:
    assert registry.names(kind)
    for name in registry.names(kind):
        assert callable(registry.factory(kind, name))


def test_an_unknown_name_gets_a_suggestion() -> None:
    with pytest.raises(UserError, match=r"Unknown benchmark 'folow_suit'\. Did you mean 'follow_suit'\?"):
        registry.create("benchmark", "folow_suit")


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ("follow_suit:player=3", r"no option 'player'\. Did you mean 'players'\?"),
        ("follow_suit:players=three", r"'players'.*found 'three', but it is a whole number"),
        ("follow_suit:players=99", r"2 to 13 players, found players=99"),
        ("follow_suit:1,2,3", r"takes 2 argument\(s\), found 3"),
        ("follow_suit@0.9", r"'follow_suit' has no version 0\.9; there is 1\.0\.0\."),
        ("sudoku_4x4:knowledge=some", r"'some' is not one of grid, reduced"),
    ],
)
def test_a_wrong_option_is_named(spec: str, sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        registry.create("benchmark", spec)


@pytest.mark.parametrize("spec", ["drawn_leaves:concept_space=foo", "plants:a,224,refuse,0,5"])
def test_what_no_text_can_stand_for_is_no_option(spec: str) -> None:
    with pytest.raises(UserError, match=r"no option 'concept_space'|takes 4 argument\(s\), found 5"):
        registry.create("source", spec)


def test_options_take_the_types_of_their_annotations() -> None:
    assert registry.create("benchmark", "follow_suit:players=3").players == 3
    assert registry.create("benchmark", "follow_suit@1.0.0:players=3").players == 3
    assert registry.create("shift", "rotate:90").spec == "rotate:90"


def test_a_learner_comes_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("class Mine:\n    def __init__(self, seed=0):\n        self.seed = seed\n")
    assert registry.create("learner", f"{file}:Mine", seed=7).seed == 7
    with pytest.raises(UserError, match=r"has no 'Min'\. Did you mean 'Mine'"):
        registry.create("learner", f"{file}:Min")
    with pytest.raises(UserError, match=r"no file .*other\.py"):
        registry.create("learner", f"{tmp_path / 'other.py'}:Mine")


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        ("import no_such_module\n", "cannot be imported: ModuleNotFoundError"),
        ("class Mine\n", "cannot be imported: SyntaxError"),
        ("class Mine:\n    def __init__(self):\n        1 / 0\n", "cannot be made: ZeroDivisionError"),
    ],
)
def test_a_learner_whose_code_is_broken_gets_a_sentence(tmp_path: Path, code: str, sentence: str) -> None:
    file = tmp_path / "broken.py"
    file.write_text(code)
    with pytest.raises(UserError, match=sentence):
        registry.create("learner", f"{file}:Mine")


def test_a_learner_comes_from_a_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_learners.py").write_text("class Mine:\n    pass\n")
    assert type(registry.create("learner", "my_learners:Mine")).__name__ == "Mine"
    with pytest.raises(UserError, match="Unknown learner 'their_learners'"):
        registry.create("learner", "their_learners:Mine")
