"""Tasks of neighbouring papers: hitting sets, formulas, Kandinsky patterns, MNLogic and MNMath."""

import itertools
import json
from fractions import Fraction
from pathlib import Path

import joblib
import numpy as np
import pytest
import sympy
from nsl_bench.generators.sources.figures import OBJECTS, DrawnFigures
from nsl_bench.generators.sources.symbols.names import FORMULA_SYMBOLS
from PIL import Image

import nsl_bench
from nsl_bench.core import registry
from nsl_bench.core.errors import UserError
from nsl_bench.data.splits import make_source, make_split, symbolic_split
from nsl_bench.learners.base import hypothesis_of
from nsl_bench.run.true_rule import is_true_rule
from nsl_bench.testing import SourceTests, TaskTests
from nsl_bench.testing.toy import view

SPECS = {
    "hitting_sets": True,
    "hitting_sets:constrained=true,budget=1,images=5,elements=4": True,
    "hwf": True,
    "mnlogic": True,
    "mnlogic:formula=(a&b)|~c,bits=3,seen=001+110,unseen=true": True,
    "mnmath": False,
    "mnmath:equations=2*a+b;a+b,highest=2": True,
    "kandinsky": False,
    "kandinsky:pattern=pairs,figures=2": False,
}
"""Whether there are few different examples, by spec."""

for number, (spec, few) in enumerate(SPECS.items()):
    name = f"Test{number}_{spec.partition(':')[0]}"
    globals()[name] = type(name, (TaskTests,), {"spec": spec, "few": few, "__module__": __name__})


class TestDrawnFigures(SourceTests):
    total = {"network": 9 * 7, "a": 9 * 2, "b": 9}  # noqa: RUF012

    @classmethod
    def make(cls) -> DrawnFigures:
        return DrawnFigures(OBJECTS, images_per_concept=10)


@pytest.mark.parametrize(
    "spec, size",
    [
        ("hitting_sets", "120"),
        ("hitting_sets:constrained=true", "200"),
        ("hwf", "60"),
        ("mnlogic", "100"),
        ("mnlogic:formula=(a&b)|~c,bits=3", "60"),
        ("mnmath", "60"),
        ("kandinsky", "100"),
    ],
)
def test_ffnsl_learns_the_rule_from_true_symbols(spec: str, size: str) -> None:
    task = registry.create("benchmark", spec)
    train = symbolic_split(task, "train", size)
    learned = hypothesis_of(registry.create("learner", "ffnsl").fit(view(train, benchmark=task)), task)
    assert learned.status == "optimal" and is_true_rule(learned.rules, task)


@pytest.mark.parametrize("constrained", [False, True])
def test_a_hitting_set_is_one_by_definition(constrained: bool) -> None:
    task = registry.create("benchmark", f"hitting_sets:constrained={str(constrained).lower()}")
    for example in symbolic_split(task, "train", "60"):
        rows = np.array(example.concepts, object).reshape(4, 4)
        sets = [{int(one) for one in row if one} for row in rows if row[0]]
        exists = any(
            all(set(pair) & one for one in sets) for pair in itertools.combinations(range(1, 6), 2)
        ) and not (constrained and len(sets) >= 3 and any(1 in one for one in sets))
        assert example.label == exists


def test_formulas_have_the_values_of_fractions() -> None:
    task = registry.create("benchmark", "hwf:length=5")
    signs = {"plus": "+", "minus": "-", "times": "*", "div": "/"}
    for example in symbolic_split(task, "test"):
        text = "".join(signs.get(one, f"Fraction({one})") for one in example.concepts if one)
        assert task.labels.names[example.label] == str(eval(text, {"Fraction": Fraction}))


@pytest.mark.parametrize(
    "spec, inputs, count",
    [
        ("hitting_sets:images=3,elements=3,budget=1", "all", 6),  # the elements in any order
        ("mnlogic", "all", 2),
        ("mnlogic:bits=3", "all", 1),
        ("hwf", "all", 1),
        ("mnmath:equations=2*a+b;a+b,highest=2,seen=0120+2101+0002", "train", 1),
    ],
)
def test_shortcuts(spec: str, inputs: str, count: int) -> None:
    found = nsl_bench.count_shortcuts(spec, inputs=inputs)  # type: ignore[arg-type]
    assert (found.count, found.exact) == (count, True)


def test_train_sets_show_the_seen_combinations_and_test_sets_the_others() -> None:
    spec = "mnlogic:formula=(a&b)|~c,bits=3,seen=001+110"
    task, other = (registry.create("benchmark", spec + more) for more in ("", ",unseen=true"))
    shown = {tuple(row) for row in symbolic_split(task, "train").concepts.tolist()}
    assert (
        shown == {(0, 0, 1), (1, 1, 0)} == {tuple(r) for r in symbolic_split(task, "test").concepts.tolist()}
    )
    assert not shown & {tuple(row) for row in symbolic_split(other, "test").concepts.tolist()}
    assert task.family.members == (spec, other.name)


@pytest.mark.parametrize(
    "spec, said",
    [
        ("mnlogic:formula=a.real", "got 'a.real'"),
        ("mnlogic:formula=a|~a", "some bits but not all"),
        ("mnlogic:formula=a**9", "got 'a\\*\\*9'"),
        ("mnmath:equations=a+b==f", "letters a to e"),
        ("mnmath:equations=a+b;a*b;a+c", "together"),
        ("mnmath:unseen=true", "seen must be"),
        ("hwf:length=7", "1, 3 or 5"),
        ("hitting_sets:images=6,elements=2", "at most 4"),
    ],
)
def test_options_that_make_no_task(spec: str, said: str) -> None:
    with pytest.raises(UserError, match=said):
        registry.create("benchmark", spec)


def write_rssgen(folder: Path, examples: list[tuple[object, object]]) -> Path:
    folder.mkdir(parents=True)
    for k, (concepts, label) in enumerate(examples):
        joblib.dump({"label": label, "meta": {"concepts": concepts}}, folder / f"{k}.joblib")
        (folder / f"{k}.png").write_bytes(b"")
    return folder


OBJECTS_OF_A_FIGURE = [4, 1, 5, 2, 4, 1]  # square red, circle yellow, square red


@pytest.mark.parametrize(
    "spec, examples, rows",
    [
        (
            "mnlogic:bits=3",
            [([True, False, True], False), ([np.uint8(1), 0, 0], True)],
            [(1, 0, 1), (1, 0, 0)],
        ),
        (
            "mnmath:equations=2*a+b;a+b,highest=2",
            [([[np.int64(1), 2], [0, 1]], [sympy.Integer(4), sympy.Integer(1)])],
            [(1, 2, 0, 1)],
        ),
        ("mnmath", [([[1, 4, 2, 3], [2, 3, 5, 1]], [sympy.true, sympy.false])], [(1, 4, 2, 3, 2, 3, 5, 1)]),
        ("kandinsky:pattern=pairs", [([OBJECTS_OF_A_FIGURE] * 3, True)], [(0, 4, 0) * 3]),
    ],
)
def test_files_of_rssgen(spec: str, examples: list, rows: list, tmp_path: Path) -> None:
    task = registry.create("benchmark", spec)
    write_rssgen(tmp_path / "test", examples)
    split = symbolic_split(task, "test", splits=tmp_path)
    assert [tuple(row) for row in split.concepts.tolist()] == rows
    write_rssgen(tmp_path / "train", examples * 3)
    assert len(symbolic_split(task, "train", "2", splits=tmp_path)) == 2
    write_rssgen(tmp_path / "other" / "test", [(examples[0][0], "99")])
    with pytest.raises(UserError, match="got 99"):
        symbolic_split(task, "test", splits=tmp_path / "other")


class Dangerous:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return print, ("run",)


@pytest.mark.parametrize("strange", [Dangerous(), np.dtype("O"), np.float64(1), np.array([1])])
def test_files_that_would_run_code_are_refused(
    strange: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_rssgen(tmp_path / "test", [([0, 1, strange], True)])
    with pytest.raises(UserError, match=r"0\.joblib is not an example"):
        symbolic_split(registry.create("benchmark", "mnlogic:bits=3"), "test", splits=tmp_path)
    with pytest.raises(UserError, match="no files"):
        symbolic_split(registry.create("benchmark", "mnlogic"), "train", splits=tmp_path)
    assert "run" not in capsys.readouterr().out


def test_files_of_hwf(tmp_path: Path) -> None:
    task = registry.create("benchmark", "hwf")
    formulas = [{"id": "0", "img_paths": [], "expr": one} for one in ("7", "6/4", "1+2*3-4", "3-9", "2*2")]
    for which in ("train", "test"):
        (tmp_path / f"expr_{which}.json").write_text(json.dumps(formulas))
    test = symbolic_split(task, "test", splits=tmp_path)
    assert [task.labels.names[label] for label in test.labels] == ["3/2", "-6", "4"]
    assert len(symbolic_split(task, "train", "2", splits=tmp_path)) == 2
    (tmp_path / "expr_test.json").write_text(json.dumps([{"expr": "7-"}]))
    with pytest.raises(UserError, match="got '7-'"):
        symbolic_split(task, "test", splits=tmp_path)


@pytest.mark.parametrize(
    "spec, source, folders",
    [
        ("kandinsky", "figures", [one.replace("_", " ").title() for one in OBJECTS.concepts]),
        ("hwf", "math_symbols", [*"0123456789+-", "times", "div", "alpha"]),
    ],
)
def test_images_of_a_folder(spec: str, source: str, folders: list[str], tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for folder in folders:
        (tmp_path / folder).mkdir()
        for k in range(8):
            Image.fromarray(rng.integers(0, 256, (45, 45), np.uint8)).save(tmp_path / folder / f"{k}.png")
    task = registry.create("benchmark", spec)
    images = make_source(task, f"{source}:{tmp_path}")
    split = make_split(task, images, "train", "10")
    assert images.render("a", split.images[split.images >= 0][:4].astype(np.int64)).shape == (4, 32, 32, 3)


def test_operators_are_drawn_beside_digits() -> None:
    source = make_source(registry.create("benchmark", "hwf"))
    for part in ("network", "a", "b"):
        counts = np.bincount(source.labels(part), minlength=len(FORMULA_SYMBOLS))
        assert counts.min() > 10 and counts.max() < 2 * counts.min()
