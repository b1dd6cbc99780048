"""Zoo: its table, its folds, and what it means to have no true rule."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from nsl_bench.generators.tasks.zoo import (
    CLASSES,
    FOLDS,
    PAPER_FEATURES,
    RANGES,
    TABLE,
    Zoo,
    animals,
    read_animals,
)

from nsl_bench.api.explanation import explain
from nsl_bench.api.results import Results
from nsl_bench.cli import main
from nsl_bench.core.errors import UserError
from nsl_bench.core.types import Part, Predictions
from nsl_bench.data.splits import make_source, make_split, symbolic_split, task_of_split
from nsl_bench.learners.d2k import weighted_examples
from nsl_bench.learners.view import View
from nsl_bench.logic.las import LasTask
from nsl_bench.logic.las.solver import solve
from nsl_bench.run.bench import Bench
from nsl_bench.run.plan import plan
from nsl_bench.run.store import Store
from nsl_bench.run.sweep import keep

SECONDS = 10
"""What proving an optimum may take."""


def test_the_table_is_the_paper_s() -> None:
    kinds = Counter(animal.kind for animal in animals())
    assert kinds == dict(zip(CLASSES, (41, 20, 5, 13, 4, 8, 10), strict=True))
    assert len(RANGES) == 16 and set(PAPER_FEATURES) < set(RANGES)


@pytest.mark.parametrize("features", [9, 16])
def test_what_rules_cannot_tell_apart(features: int) -> None:
    """With nine features a crab and the frogs are the same, as docs/tasks.md says."""
    task = Zoo(features)
    kinds: dict[tuple[str, ...], set[str]] = {}
    for animal in animals():
        kinds.setdefault(tuple(animal.features[name] for name in task.slots), set()).add(animal.kind)
    several = [found for found in kinds.values() if len(found) > 1]
    assert len(kinds) == (35 if features == 9 else 59)
    assert several == ([{"amphibian", "invertebrate"}] if features == 9 else [])


def changed(change: Callable[[list[str]], list[str]], folder: Path) -> Path:
    path = folder / "zoo.csv"
    path.write_text("\n".join(change(TABLE.read_text(encoding="utf-8").splitlines())), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda rows: rows[1:3] + rows[4:], "the header must be animal,hair,"),
        (lambda rows: [*rows, rows[4]], r"line 106: each animal must occur once; got 'aardvark' again\.$"),
        (lambda rows: rows[:-1], r"must have 101 animals; got 100\.$"),
        (lambda rows: [*rows[:-1], "wren,0,1"], r"line 105: a row must have 18 values; got 3\.$"),
        (
            lambda rows: [*rows[:-1], rows[-1].replace("wren,0", "wren,2")],
            r"line 105: hair of wren must be 0 or 1; got '2'\.$",
        ),
        (
            lambda rows: [*rows[:-1], rows[-1].replace("2,1,0,0,bird", "3,1,0,0,bird")],
            r"line 105: legs of wren must be 0, 2, 4, 5, 6 or 8; got '3'\.$",
        ),
        (
            lambda rows: [*rows[:-1], rows[-1].replace("bird", "insect")],
            r"line 105: the class of wren must be one of mammal, .*; got 'insect'\.$",
        ),
        (lambda rows: [*rows[:-1], rows[-1].removeprefix("wren")], "the animal has no name; give it one"),
    ],
)
def test_a_wrong_table_is_one_sentence(
    change: Callable[[list[str]], list[str]], what: str, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match=what) as caught:
        read_animals(changed(change, tmp_path))
    assert "\n" not in str(caught.value)


def test_a_table_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be read"):
        read_animals(tmp_path / "none.csv")


def animals_of(task: Zoo, part: Part, repeat: int, seed: int | str = 0) -> list[tuple[int, ...]]:
    split = symbolic_split(task, part, "small", repeat, seed=seed)
    return sorted((*row, label) for row, label in zip(split.concepts.tolist(), split.labels, strict=True))


@pytest.mark.parametrize("seed", [0, 1, "secret"])
def test_each_animal_is_in_one_test_set(seed: int | str) -> None:
    task, repeats = Zoo(16), range(1, FOLDS + 1)
    tested = [animals_of(task, "test", repeat, seed) for repeat in repeats]
    assert sorted(map(len, tested)) == [20, 20, 20, 20, 21]
    everyone = sorted(row for fold in tested for row in fold)
    assert len(everyone) == 101
    for repeat, fold in zip(repeats, tested, strict=True):
        assert sorted([*fold, *animals_of(task, "train", repeat, seed)]) == everyone
    counts = np.array([np.bincount([row[-1] for row in fold], minlength=7) for fold in tested])
    assert (counts.max(axis=0) - counts.min(axis=0)).max() <= 1, "folds are stratified"


def test_a_seed_draws_the_folds() -> None:
    folds = {seed: animals_of(Zoo(), "test", 1, seed) for seed in (0, 1, "secret", "other")}
    assert len(set(map(str, folds.values()))) == 4
    assert folds["secret"] == animals_of(Zoo(), "test", 1, "secret")
    assert Zoo().for_split(2, "secret").name == "zoo:fold=2", "the name says nothing of the seed"


def test_a_fold_for_all_train_splits() -> None:
    task = Zoo(fold=3)
    assert task.name == "zoo:fold=3" and not task.own_tests
    assert animals_of(task, "test", 1) == animals_of(task, "test", 2) == animals_of(Zoo(), "test", 3)


def test_validation_has_the_train_animals_again() -> None:
    task = Zoo()
    source = make_source(task)
    parts: tuple[Part, ...] = ("train", "validation")
    train, validation = (make_split(task, source, part) for part in parts)
    assert sorted(map(tuple, train.concepts.tolist())) == sorted(map(tuple, validation.concepts.tolist()))
    assert not np.array_equal(np.sort(train.images, axis=None), np.sort(validation.images, axis=None))


def test_a_larger_train_set_has_its_animals_several_times() -> None:
    split = symbolic_split(Zoo(), "train", "large")
    counts = Counter(map(tuple, split.concepts.tolist()))
    assert len(split) == 8000 and all(count % 100 == 0 for count in counts.values())
    asked = Zoo()
    asked.test_size = 50
    assert len(symbolic_split(asked, "test", repeat=2)) == 50


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"features": 10}, r"^zoo: features must be 9 or 16; got 10\.$"),
        ({"fold": 6}, r"^zoo: fold must be between 1 and 5; got 6\.$"),
    ],
)
def test_options_out_of_range(options: dict[str, int], what: str) -> None:
    with pytest.raises(UserError, match=what):
        Zoo(**options)


def test_there_are_five_train_splits() -> None:
    with pytest.raises(UserError, match=r"^zoo has 5 train splits; got train split 6\.$"):
        symbolic_split(Zoo(), "train", repeat=6)


def proves(task: Zoo, view: View) -> bool:
    las = LasTask.build(weighted_examples(view), view.background, view.bias, task.name)
    return solve(las, time_limit=SECONDS).status == "optimal"


def test_the_optimum_is_proven() -> None:
    """On symbols, and where half of the examples show any digits, as under shift."""
    task = task_of_split(Zoo(), 1)
    train = symbolic_split(task, "train")
    rng = np.random.default_rng(0)
    seen = rng.dirichlet(np.full(7, 0.3), train.concepts.shape).astype(np.float32)
    certain = Predictions.certain(train.concepts, 7)
    seen[::2] = certain.probabilities[::2]
    for predictions in (certain, replace(certain, probabilities=seen)):
        assert proves(task, View(train, task, "pretrained", predictions=predictions))


@pytest.mark.slow
@pytest.mark.parametrize("network", ["softmax", "edl_gen"])
def test_the_optimum_is_proven_on_every_fold_and_share(network: str) -> None:
    bench = Bench()
    jobs = plan(
        "zoo",
        ["ffnsl"],
        shifts=["rotate90"],
        percents=range(0, 101, 10),
        repeats=range(1, 6),
        networks=network,
    )
    for job in jobs:
        material = bench.material(job)
        assert proves(material.benchmark, material.view(material.train)), str(job)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A rule learner on true symbols, on a task without a true rule and on one that has one."""
    folder = tmp_path_factory.mktemp("results")
    bench, store = Bench("cpu"), Store(folder)
    for task in ("zoo", "sudoku_4x4"):
        for job in plan(task, ["ffnsl"], repeats=[1], track="symbolic"):
            keep(store, bench.run(job))
    return folder


def test_what_compares_with_a_true_rule_is_left_out(results: Path) -> None:
    of_zoo, of_sudoku = sorted(
        Store(results).latest().values(), key=lambda record: record.job.benchmark, reverse=True
    )
    assert of_zoo.status == "ok" and of_zoo.metrics["hypothesis_accuracy"] > 0.7
    compared = {"equivalent", "weight_penalty_ratio", "incorrect_examples"}
    assert not compared & of_zoo.metrics.keys() and compared <= of_sudoku.metrics.keys()


@pytest.mark.parametrize("layout", ["long", "wide"])
@pytest.mark.parametrize("form", ["markdown", "latex", "html"])
def test_equivalence_is_not_defined_in_reports(results: Path, layout: str, form: str) -> None:
    command = ["report", str(results), "--metric", "equivalent", "--metric", "rules", "--layout", layout]
    told = CliRunner().invoke(main, [*command, "--format", form, "--no-curves"])
    assert told.exit_code == 0 and told.output.count("not defined") == 1
    assert "1.00" in told.output, "sudoku_4x4 has a true rule"


def test_equivalence_alone_is_not_defined(results: Path) -> None:
    with pytest.raises(UserError, match="No run has a value of equivalent"):
        Results(results).where(benchmark="zoo").table(["equivalent"])


def test_no_rule_explains_an_example_unasked() -> None:
    told = explain("train-0", task="zoo", network="softmax:images_per_concept=14,epochs=1")
    assert told.rules is None and len(told.seen) == 9
