"""A plan is a file that gives the same runs as the command line."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from nsl_bench.cli import main
from nsl_bench.errors import UserError
from nsl_bench.run.job import plan
from nsl_bench.run.plan import Grid, jobs_of, read, write

GRID = Grid(
    "sudoku_4x4", ("majority", "command[label_only]:./a 'b \"c'"), ("rotate90",), (0, 12.5, 90), seed=2
)


def test_a_plan_comes_back_as_it_went(tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(write([GRID, Grid("follow_suit", ("ffnsl",))]), encoding="utf-8")
    assert read(path) == [GRID, Grid("follow_suit", ("ffnsl",))]
    jobs = jobs_of(read(path)[:1])
    assert [job.key() for job in jobs] == [job.key() for job in GRID.jobs()] and len(jobs) == 30
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
