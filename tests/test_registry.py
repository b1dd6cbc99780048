"""Parts are found by name, and a spec's mistakes are named in one sentence."""

import sys
from pathlib import Path

import pytest

from nsl_bench.core import registry
from nsl_bench.core.errors import UserError
from nsl_bench.core.registry import Spec
from nsl_bench.run.plan import plan


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


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ("folow_suit", r"Unknown benchmark 'folow_suit'\. Did you mean 'follow_suit'\?"),
        ("follow_suit:player=3", r"no option 'player'\. Did you mean 'players'\?"),
        ("follow_suit:players=three", r"'players'.* must be a whole number; got 'three'"),
        ("follow_suit:players=99", r"players must be between 2 and 13; got 99"),
        ("follow_suit:1,2,3", r"takes at most 2 positional"),
        ("follow_suit@0.9", r"'follow_suit' has no version 0\.9; there is 1\.0\.0\."),
        ("sudoku_4x4:knowledge=some", r"must be one of grid, rows_columns, rows, cells, reduced; got 'some'"),
    ],
)
def test_a_wrong_option_is_named(spec: str, sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        registry.create("benchmark", spec)


@pytest.mark.parametrize("spec", ["drawn_leaves:concept_space=foo", "plants:a,224,refuse,0,5"])
def test_what_no_text_can_stand_for_is_no_option(spec: str) -> None:
    with pytest.raises(UserError, match=r"no option 'concept_space'|takes at most 4 positional"):
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
    with pytest.raises(UserError, match=r"has no 'Other'\. Known: Mine\.$"):
        registry.create("learner", f"{file}:Other")
    with pytest.raises(UserError, match=r"the file .*other\.py does not exist"):
        registry.create("learner", f"{tmp_path / 'other.py'}:Mine")


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        ("import no_such_module\n", "cannot be imported: ModuleNotFoundError"),
        ("class Mine\n", "cannot be imported: SyntaxError"),
        ("class Mine:\n    def __init__(self):\n        1 / 0\n", "cannot be created: ZeroDivisionError"),
        ("import sys\nsys.exit(3)\n", r"cannot be imported: SystemExit: 3\.$"),
        ("import math\n", r"has no 'Mine'\. It defines no class\.$"),
    ],
)
def test_a_learner_whose_code_is_broken_gets_a_sentence(tmp_path: Path, code: str, sentence: str) -> None:
    file = tmp_path / "broken.py"
    file.write_text(code)
    with pytest.raises(UserError, match=sentence):
        registry.create("learner", f"{file}:Mine")


OPTIONS = """
class Mine:
    def __init__(self, alpha: float = 1.0, beta=0, gamma=False, *, name: str = "a", seed=0):
        self.given = (alpha, beta, gamma, name, seed)

def made(depth: int | None = None, sure: int | str = 3):
    return depth, sure

NUMBER = 3
"""


@pytest.mark.parametrize(
    ("options", "given"),
    [
        ("", (1.0, 0, False, "a", 7)),
        (":alpha=2", (2.0, 0, False, "a", 7)),
        (":alpha=2,beta=3,gamma=yes,name=x", (2.0, 3, True, "x", 7)),
        (":0.5,beta=0.25", (0.5, 0.25, False, "a", 7)),
    ],
)
@pytest.mark.parametrize("folder", ["plain", "C:", "a:b"])
def test_learners_from_files_take_options(
    options: str, given: tuple[object, ...], folder: str, tmp_path: Path
) -> None:
    file = tmp_path / folder / "mine.py"
    file.parent.mkdir()
    file.write_text(OPTIONS)
    assert registry.create("learner", f"{file}:Mine{options}", seed=7).given == given


def test_functions_in_files_take_options(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(OPTIONS)
    assert registry.create("learner", f"{file}:made:depth=none,sure=very") == (None, "very")
    assert registry.create("learner", f"{file}:made:depth=4,sure=2") == (4, 2)


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ("Mine:alpa=2", r"mine\.py:Mine' has no option 'alpa'\. Did you mean 'alpha'\? Its options: alpha,"),
        ("Mine:zzz=2", r"has no option 'zzz'\. Its options: alpha, beta, gamma, name\."),
        ("Mine:alpha=much", r"option 'alpha': the value must be a number; got 'much'"),
        ("NUMBER", r"mine\.py:NUMBER' must be a class or a function"),
        ("Mine:alpha=1,2", r"the positional argument '2' must come before named ones"),
    ],
)
def test_wrong_options_of_learners_from_files(spec: str, sentence: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(OPTIONS)
    with pytest.raises(UserError, match=sentence):
        registry.create("learner", f"{file}:{spec}", seed=7)


@pytest.mark.parametrize(
    ("text", "name", "kwargs"),
    [
        (r"C:\new\my.py:Mine:alpha=2", r"C:\new\my.py:Mine", {"alpha": "2"}),
        ("my.py:Mine:path=a:b", "my.py:Mine", {"path": "a:b"}),
        ("pkg.mine:Mine:alpha=2", "pkg.mine:Mine", {"alpha": "2"}),
        ("random_forest:trees=3", "random_forest", {"trees": "3"}),
    ],
)
def test_names_and_options_of_learners(text: str, name: str, kwargs: dict[str, str]) -> None:
    spec = registry.learner_spec(text)
    assert (spec.name, spec.args, spec.kwargs) == (name, (), kwargs) and str(spec) == text
    assert registry.learner_spec("tuned:my.py:Mine:alpha=2,trials=3").args == ("my.py:Mine:alpha=2",)


def test_modules_beside_a_learner_are_its_own(tmp_path: Path) -> None:
    """Two folders have modules of one name; the later learner gets its own, also once it is used."""
    before = list(sys.path)
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "beside_it.py").write_text(f"NAME = '{name}'\n")
        (tmp_path / name / "later_on.py").write_text(f"NAME = '{name}'\n")
        (tmp_path / name / "mine.py").write_text(
            "from beside_it import NAME\nclass Mine:\n    def late(self):\n        import later_on\n"
            "        return NAME, later_on.NAME\n"
        )
    for name in ("one", "two", "one"):
        assert registry.create("learner", f"{tmp_path / name}/mine.py:Mine").late() == (name, name)
    assert len(sys.path) <= len(before) + 1


def test_a_learner_comes_from_a_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_learners.py").write_text("class Mine:\n    pass\n")
    assert type(registry.create("learner", "my_learners:Mine")).__name__ == "Mine"
    with pytest.raises(UserError, match="Unknown learner 'their_learners'"):
        registry.create("learner", "their_learners:Mine")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("random_forest:trees=100", "random_forest"),
        ("random_forest:100", "random_forest"),
        ("random_forest:100,0,leaf=2", "random_forest:leaf=2"),
        ("random_forest:depth=2,trees=100", "random_forest:depth=2"),
        ("random_forest:50,0", "random_forest:50"),
        ("random_forest:trees=1e2", "random_forest:trees=1e2"),
        ("random_forest:seed=0", "random_forest:seed=0"),
        ("random_forest:tree=100", "random_forest:tree=100"),
        ("tuned:random_forest,trials=8", "tuned:random_forest"),
        ("tuned:random_forest:trees=100,trials=3", "tuned:random_forest,trials=3"),
        ("tuned:env:mine:alpha=1", "tuned:env:mine:alpha=1"),
        ("cart:", "cart"),
        ("rules:rules.lp", "rules:rules.lp"),
        ("mine.py:Mine:alpha=1", "mine.py:Mine:alpha=1"),
        ("env:mine:alpha=1", "env:mine:alpha=1"),
        ("nothing:a=1", "nothing:a=1"),
    ],
)
def test_options_equal_to_their_defaults_drop_out(given: str, expected: str) -> None:
    assert registry.canonical(given) == expected


def test_an_option_with_its_default_is_no_other_run() -> None:
    given = ["random_forest", "random_forest:trees=100", "random_forest:100"]
    (job,) = plan("follow_suit", given, track="symbolic")
    assert job.learner == "random_forest"


@pytest.mark.parametrize("name", ["follow_suit", "sudoku_4x4", "zoo"])
def test_a_slot_is_an_index_and_a_concept_a_name(name: str) -> None:
    task = registry.create("benchmark", name)
    concept = task.concept_space.concepts[-1]
    assert task.facts(len(task.slots) - 1, concept)
    for place in ((0, 0), (0, "zz"), (-1, concept), (len(task.slots), concept), (task.slots[0], concept)):
        with pytest.raises(
            UserError, match=r"^(slot must be an index from 0 to|concept must be the name of a)"
        ):
            task.facts(*place)
