"""A plan is a file that gives the same runs as the command line."""

from __future__ import annotations

import inspect
import tomllib
from collections import Counter
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import nsl_bench
from nsl_bench.cli import main
from nsl_bench.cli.running import run as run_command
from nsl_bench.core import registry
from nsl_bench.core.errors import UserError
from nsl_bench.run.bench import Bench
from nsl_bench.run.grid import Grid
from nsl_bench.run.plan import jobs_of, plan, read, write

GRID = Grid(
    "sudoku_4x4", ("majority", "command[label_only]:./a 'b \"c'"), ("rotate90",), (0, 12.5, 90), seed=2
)


def test_a_plan_comes_back_as_it_went(tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(write([GRID, Grid("follow_suit", ("ffnsl",))]), encoding="utf-8")
    assert read(path) == [GRID, Grid("follow_suit", ("ffnsl",))]
    jobs = jobs_of(read(path)[:1])
    assert [job.key() for job in jobs] == [job.key() for job in jobs_of([GRID])] and len(jobs) == 30
    assert {job.track for job in jobs} == {"pretrained", "label_only"}


def test_any_text_can_be_written(tmp_path: Path) -> None:
    grid = Grid("sudoku_4x4", ("command[label_only]:./a \x7f \x00 \U0001f3b2 \\u \n",))
    (tmp_path / "plan.toml").write_text(write([grid]), encoding="utf-8")
    assert read(tmp_path / "plan.toml") == [grid]


def test_the_command_line_writes_one(tmp_path: Path) -> None:
    words = ["plan", "sudoku_4x4", "--learner", "majority", "--shift", "rotate90", "--percents", "0-100/50"]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 0 and "15 runs" in result.stderr
    (tmp_path / "plan.toml").write_text(result.stdout)
    assert tomllib.loads(result.stdout)["grid"][0]["percents"] == [0, 50, 100]
    assert len(jobs_of(read(tmp_path / "plan.toml"))) == 15


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", r"must consist of \[\[grid\]\] tables"),
        ("[[grid]\n", "is not valid TOML"),
        ("[[grid]]\nlearners = ['a']\n", "grid 1: benchmark is missing"),
        ("[[grid]]\nbenchmark = 'a'\nlerners = ['a']\n", "Did you mean 'learners'?"),
        (
            "[[grid]]\nbenchmark = 'a'\nlearners = 'a'\n",
            "grid 1: learners must be a list of at least one string; got 'a'",
        ),
        (
            "[[grid]]\nbenchmark = 'a'\nlearners = ['a']\nrepeats = [0]\n",
            r"repeats\[0\] must be a whole number",
        ),
        ("[[grid]]\nbenchmark = 'a'\nlearners = ['a']\ntrack = 'mine'\n", '"own" or "symbolic"'),
        (
            "[[grid]]\nbenchmark = 'sudoku_4x4'\nlearners = ['majority']\npercents = [200]\n",
            "between 0 and 100",
        ),
        ("[[grid]]\nbenchmark = 'a'\nlearners = []\n", "a list of at least one string"),
        (
            "[[grid]]\nbenchmark = 'a'\nlearners = ['a']\nrepeats = [true]\n",
            r"repeats\[0\] must be .*; got true",
        ),
        ("[[grid]]\nbenchmark = 2026-01-01\nlearners = ['a']\n", "benchmark must be a string"),
        ("a = " + "[" * 100_000, "nested too deeply"),
        ("a = " + "1" * 10_000, "is not valid TOML"),
        ("[[grid]]\nbenchmark = 'a'\nlearners = ['a']\nseed = 0x" + "f" * 10_000, "seed must be"),
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
    assert {job.test_shift for job in jobs_of([named])} | {job.train_shift for job in jobs_of([named])} == {
        "standard",
        "comic",
    }


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
    ("options", "sentence"),
    [
        (
            ["--benchmark", "hanoi", "--preset", "longer", "--test-task", "hanoi"],
            "The preset longer of hanoi sets the test tasks; leave out --test-task.",
        ),
        (["--preset", "longer"], "Unknown preset 'longer'. Known: run-time-shift, shift, train-shift."),
        (["--preset", "run-time"], "Unknown preset 'run-time'. Did you mean 'run-time-shift'?"),
        (
            ["--preset", "shift", "--test-shares", "50"],
            "The preset shift sets the shares; leave out --shares, --train-shares and --test-shares.",
        ),
    ],
)
def test_wrong_presets(options: list[str], sentence: str) -> None:
    task = options[1] if options[0] == "--benchmark" else "sudoku_4x4"
    words = ["plan", task, "--learner", "majority", *options[2 * (options[0] == "--benchmark") :]]
    result = CliRunner().invoke(main, words)
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
