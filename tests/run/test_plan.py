"""A plan is a file that gives the same runs as the command line."""

import inspect
import tomllib
from collections import Counter
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import nsl_bench
from nsl_bench.cli import main
from nsl_bench.cli.running import run as run_command
from nsl_bench.core import registry
from nsl_bench.core.errors import UserError
from nsl_bench.data.splits import make_source
from nsl_bench.learners.base import About
from nsl_bench.learners.trees import Majority
from nsl_bench.run.bench import Bench
from nsl_bench.run.grid import Grid
from nsl_bench.run.job import Job, ShiftPair
from nsl_bench.run.plan import jobs_of, plan, read, shift_pairs, write

GRID = Grid(
    "sudoku_4x4", ("majority", "command[label_only]:./a 'b \"c'"), ("rotate90",), (0, 12.5, 90), seed=2
)


def test_a_plan_comes_back_as_it_went(tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    odd = Grid("sudoku_4x4", ("command[label_only]:./a \x7f \x00 \U0001f3b2 \\u \n",))
    path.write_text(write([GRID, Grid("follow_suit", ("ffnsl",)), odd]), encoding="utf-8")
    assert read(path) == [GRID, Grid("follow_suit", ("ffnsl",)), odd]
    jobs = jobs_of(read(path)[:1])
    assert [job.key() for job in jobs] == [job.key() for job in jobs_of([GRID])] and len(jobs) == 30
    assert {job.track for job in jobs} == {"pretrained", "label_only"}


def test_the_command_line_writes_one(tmp_path: Path) -> None:
    words = ["plan", "sudoku_4x4", "--learner", "majority", "--shift", "rotate90", "--percents", "0-100/50"]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 0 and "15 runs" in result.stderr
    (tmp_path / "plan.toml").write_text(result.stdout)
    assert tomllib.loads(result.stdout)["grid"][0]["percents"] == [0, 50, 100]
    assert len(jobs_of(read(tmp_path / "plan.toml"))) == 15


ONE = "[[grid]]\nbenchmark = 'sudoku_4x4'\nlearners = ['majority']\n"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", r"must consist of \[\[grid\]\] tables"),
        ("[[grid]\n", "is not valid TOML"),
        ("[[grid]]\nlearners = ['a']\n", "grid 1: benchmark is missing"),
        (ONE.replace("learners", "lerners"), "Did you mean 'learners'?"),
        (
            ONE.replace("['majority']", "'a'"),
            "grid 1: learners must be a list of at least one string; got 'a'",
        ),
        (ONE.replace("['majority']", "[]"), "a list of at least one string"),
        (ONE.replace("'sudoku_4x4'", "2026-01-01"), "benchmark must be a string"),
        (ONE + "repeats = [0]\n", r"repeats\[0\] must be a whole number"),
        (ONE + "repeats = [true]\n", r"repeats\[0\] must be .*; got true"),
        (ONE + "track = 'mine'\n", '"own" or "symbolic"'),
        (ONE + "percents = [200]\n", "between 0 and 100"),
        (ONE + "seed = 0x" + "f" * 10_000, "seed must be"),
        ("a = " + "[" * 100_000, "nested too deeply"),
        ("a = " + "1" * 10_000, "is not valid TOML"),
    ],
)
def test_a_wrong_plan_gets_a_sentence(text: str, sentence: str, tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(text)
    with pytest.raises(UserError, match=sentence):
        jobs_of(read(path))


@pytest.mark.parametrize(
    ("preset", "shares"),
    [
        ("shift", {(share, share) for share in range(0, 101, 10)}),
        ("run-time-shift", {(0, share) for share in range(0, 101, 10)}),
        ("train-shift", {(share, 0) for share in range(0, 101, 10)}),
    ],
)
def test_a_preset_sets_the_shares(preset: str, shares: set[tuple[float, float]], tmp_path: Path) -> None:
    grid = Grid("follow_suit", ("majority",), repeats=(1,), preset=preset)
    jobs = jobs_of([grid])
    assert {(job.train_percent, job.test_percent) for job in jobs} == shares and len(jobs) == 11
    shifted = {job.train_shift for job in jobs} | {job.test_shift for job in jobs}
    assert shifted == {"standard", "noir"}, "the first shift of the task's images"
    (tmp_path / "plan.toml").write_text(write([grid]), encoding="utf-8")
    assert read(tmp_path / "plan.toml") == [grid]
    named = Grid("follow_suit", ("majority",), ("comic",), repeats=(1,), preset=preset)
    shifted = {shift for job in jobs_of([named]) for shift in (job.train_shift, job.test_shift)}
    assert shifted == {"standard", "comic"}


@pytest.mark.parametrize(
    "task", ["zoo", "sudoku_4x4", "sudoku_4x4:folds=5", "sudoku_9x9", "crop_yield", "indoor_scene"]
)
def test_run_time_shift_is_there_for_every_task(task: str) -> None:
    jobs = jobs_of([Grid(task, ("majority",), repeats=(1,), preset="run-time-shift")])
    assert len(jobs) == 11 and {job.train_percent for job in jobs} == {0}


@pytest.mark.parametrize(
    ("task", "preset", "tests"),
    [
        ("addition", "longer", [f"addition:digits={n}" for n in (5, 10, 20)]),
        ("addition", "longer-seen-images", [f"addition:digits={n},images=train" for n in (5, 10, 20)]),
        ("hanoi", "longer", ["hanoi:window=5"]),
    ],
)
def test_a_preset_sets_the_test_tasks(task: str, preset: str, tests: list[str]) -> None:
    shifts, shares = ("rotate90",), (0.0, 50.0)
    jobs = jobs_of([Grid(task, ("majority",), shifts, shares, repeats=(1,), preset=preset)])
    assert len(jobs) == 2 * len(tests) and {job.test_task for job in jobs} == set(tests)
    assert len({job.fit_key() for job in jobs}) == 2, "one training for all test tasks"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            "hanoi --preset longer --test-task hanoi",
            "The preset longer of hanoi sets the test tasks; leave out --test-task.",
        ),
        (
            "sudoku_4x4 --preset longer",
            "The preset 'longer' belongs to addition and hanoi; "
            "sudoku_4x4 has shift, run-time-shift, train-shift.",
        ),
        ("sudoku_4x4 --preset run-time", "Unknown preset 'run-time'. Did you mean 'run-time-shift'?"),
        (
            "sudoku_4x4 --preset shift --test-shares 50",
            "The preset shift sets the shares; leave out --shares, --train-shares and --test-shares.",
        ),
    ],
)
def test_wrong_presets(words: str, sentence: str) -> None:
    result = CliRunner().invoke(main, ["plan", "--learner", "majority", *words.split()])
    assert isinstance(result.exception, UserError) and str(result.exception) == sentence


@pytest.mark.parametrize(
    ("missing", "sentence"),
    [
        ("small/train_3.csv", r"train_3\.csv does not exist\. The folder has train sets 1 to 2\."),
        ("test.csv", r"test\.csv does not exist"),
    ],
)
def test_a_missing_split_is_found_before_the_first_run(tmp_path: Path, missing: str, sentence: str) -> None:
    (tmp_path / "small").mkdir()
    names = ["test.csv", *(f"small/train_{number}.csv" for number in range(1, 4))]
    for name in names:
        text = "player_1,player_2,player_3,player_4,winner\n2h,3h,4h,5h,player_4\n"
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert len(plan("follow_suit", ["majority"], repeats=range(1, 4), splits=tmp_path)) == 3
    (tmp_path / missing).unlink()
    with pytest.raises(UserError, match=sentence):
        plan("follow_suit", ["majority"], repeats=range(1, 4), splits=tmp_path)


def test_every_field_of_a_grid_is_an_option_and_an_argument() -> None:
    options = {flag for one in run_command.params for flag in one.opts}
    arguments = inspect.signature(nsl_bench.evaluate).parameters
    for one in fields(Grid):
        flags = one.metadata["flags"]
        assert set(flags) <= options
        if one.name not in ("benchmark", "learners", "track"):
            assert flags[0].removeprefix("--").replace("-", "_") in arguments
    with pytest.raises(UserError, match=r"evaluate has no argument 'shfit'\. Did you mean 'shift'"):
        nsl_bench.evaluate("majority", "sudoku_4x4", shfit="noir")


def test_a_run_looks_up_each_part_once(monkeypatch: pytest.MonkeyPatch) -> None:
    (job,) = plan("sudoku_4x4", ["majority"], track="symbolic")
    create, created = registry.create, Counter[str]()

    def counted(kind: Any, spec: Any, **more: Any) -> Any:
        created.update([kind])
        return create(kind, spec, **more)

    monkeypatch.setattr(registry, "create", counted)
    Bench("cpu").run(job)
    assert created["benchmark"] == created["source"] == 1


def test_a_wrong_option_of_a_network_is_found_before_the_first_run() -> None:
    with pytest.raises(UserError, match="epochs must be 1 or more; got 0"):
        plan("sudoku_4x4", ["majority"], networks="softmax:epochs=0")


# Train and test sets are shifted by pairs of shifts and shares.

STANDARD = ShiftPair()


def pairs(**lists: Any) -> list[ShiftPair]:
    return shift_pairs(Grid("follow_suit", ("majority",), **{n: tuple(v) for n, v in lists.items()}))


def test_shares_of_both_parts_go_together() -> None:
    found = pairs(shifts=["noir", "comic"], percents=[0, 50])
    assert found == [STANDARD, ShiftPair("noir", 50.0, "noir", 50.0), ShiftPair("comic", 50.0, "comic", 50.0)]
    assert pairs(shifts=["standard", "noir"], percents=[50]) == [ShiftPair("noir", 50.0, "noir", 50.0)]


def test_shares_of_one_part_meet_all_of_the_other() -> None:
    found = pairs(shifts=["noir"], train_percents=[0, 100], test_percents=[0, 50])
    assert [(str(one), one.curve, one.percent) for one in found] == [
        ("standard", "standard", 0.0),
        ("standard -> noir 50 %", "test: noir", 50.0),
        ("noir 100 % -> standard", "train: noir", 100.0),
        ("noir 100 % -> noir 50 %", "noir 100 % -> noir", 50.0),
    ]


def test_shifts_of_their_own() -> None:
    (found,) = pairs(percents=[50], train_shifts=["noir"], test_shifts=["comic"])
    assert found == ShiftPair("noir", 50.0, "comic", 50.0) and found.curve == "noir -> comic"
    (clean,) = pairs(percents=[50], test_shifts=["comic"])
    assert clean == ShiftPair(test_shift="comic", test_percent=50.0)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"percents": [50]}, "name one with --shift"),
        ({"shifts": ["noir"], "percents": [50], "test_percents": [10]}, "cannot be combined with"),
        ({"test_percents": [10]}, "--test-shift"),
        ({"train_shifts": ["noir"], "train_percents": [101]}, "101"),
    ],
)
def test_what_does_not_fit(given: dict[str, Any], words: str) -> None:
    with pytest.raises(UserError, match=words):
        pairs(**given)


def test_each_part_of_a_run_is_shifted_as_told() -> None:
    bench = Bench("cpu")
    jobs = plan("sudoku_4x4", ["majority"], shifts=["rotate90"], train_percents=[0], test_percents=[0, 100])
    standard, shifted = (bench.run(job).record for job in jobs)
    assert standard.content_hash["train"] == shifted.content_hash["train"]
    assert standard.content_hash["test"] != shifted.content_hash["test"]
    seen = [record.metrics["concept_accuracy_test"] for record in (standard, shifted)]
    assert seen[0] > 0.9 > 0.5 > seen[1]
    assert shifted.metrics["concept_accuracy_train"] == standard.metrics["concept_accuracy_train"]


class Curious:
    track = "pretrained"

    def fit(self, train: Any, validation: Any) -> "Curious":
        self.seen = len(train), len(validation), validation.part, validation.labels
        self.frequent = int(np.bincount(train.labels).argmax())
        rows, others = ({row.tobytes() for row in each.concept_ids} for each in (train, validation))
        self.shared = rows & others
        return self

    def predict_proba(self, test: Any) -> Any:
        return np.tile(np.eye(test.n_labels)[self.frequent], (len(test), 1))


def test_a_learner_that_takes_a_validation_set_gets_one() -> None:
    (job,) = plan("sudoku_4x4", ["mine"], describe=lambda _: About("symbolic", ""))
    learner = Curious()
    record = Bench("cpu").run(job, learner).record
    assert record.status == "ok" and set(record.content_hash) == {"train", "validation", "test"}
    assert learner.seen[:3] == (320, 320, "validation") and len(learner.seen[3]) == 320
    assert not learner.shared
    assert set(Bench("cpu").run(job, Majority()).record.content_hash) == {"train", "test"}


class Failing(Curious):
    def predict_proba(self, test: Any) -> Any:
        raise RuntimeError("no answer")


def test_a_failed_run_has_the_majority_class(tmp_path: Path) -> None:
    (job,) = plan("sudoku_4x4", ["mine"], describe=lambda _: About("symbolic", ""))
    good, bad = (Bench("cpu").run(job, learner) for learner in (Curious(), Failing()))
    assert (good.record.status, bad.record.status) == ("ok", "crashed")
    for metric in ("hypothesis_accuracy", "brier_score"):
        assert bad.record.metrics[metric] == good.record.metrics[metric]
    assert bad.predictions is not None and bad.predictions["predicted"].nunique() == 1
    assert not bad.record.metrics.keys() & {"atoms", "learning_time"}


def test_a_run_of_version_1_is_no_run_of_today(tmp_path: Path) -> None:
    (job,) = plan("sudoku_4x4", ["majority"], track="symbolic")
    old = Job.from_dict({**vars(job), "protocol": 1})
    assert old.key() != job.key()
    with pytest.raises(UserError, match="follows protocol 1"):
        Bench("cpu").run(old)


def test_images_are_read_once_for_all_grids_of_a_task_and_its_family(monkeypatch: pytest.MonkeyPatch) -> None:
    grids = [Grid("addition", ("majority",), test_tasks=("addition:digits=5",)), Grid("addition", ("cart",))]
    alone = [job.key() for grid in grids for job in jobs_of([grid])]
    real, made, shared = make_source, [], {}
    monkeypatch.setattr("nsl_bench.run.plan.make_source", lambda *a: made.append(a[1]) or real(*a))
    assert [job.key() for grid in grids for job in jobs_of([grid], made=shared)] == alone
    assert len(made) == len(shared) == 1 and len({job.source for job in jobs_of(grids)}) == 1
