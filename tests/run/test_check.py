"""`nsl-bench check` says in words what is wrong with a learner."""

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner
from packages import installed

from nsl_bench.cli import main
from nsl_bench.cli.running import check as check_command
from nsl_bench.cli.running import run as run_command
from nsl_bench.core.errors import UserError
from nsl_bench.run.check import check
from nsl_bench.run.mock_tasks import MOCKS
from nsl_bench.sandbox.limits import Limits

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="learners are isolated on POSIX systems")

BAD = Path(__file__).parents[1] / "isolation" / "bad.py"
ROOT = Path(__file__).parents[2]
LIMITS = Limits(time=120)


def sentences(spec: str, *, wrong: bool = True) -> str:
    return "\n".join(finding.sentence for finding in check(spec, LIMITS) if finding.wrong == wrong)


WRONG = """
import sys
import time
import numpy as np
class Good:
    def fit(self, train):
        return self
    def predict_proba(self, test):
        return np.full((len(test), test.n_labels), 1 / test.n_labels)
class NoView(Good):
    def fit(self):
        return self
class TwoViews(Good):
    def fit(self, train, other):
        return self
class NoTest(Good):
    def predict_proba(self):
        return 1
class NoTestHere(Good):
    def predict(self):
        return 1
class NoMethod(Good):
    predict_proba = 3
class Fails(Good):
    def __init__(self):
        raise ValueError("no way\\nTraceback (most recent call last):")
class SaysNothing(Good):
    def predict_proba(self, test):
        return None
class Ragged(Good):
    def predict_proba(self, test):
        return [[1], [1, 2]]
class Neither:
    def fit(self, train):
        return self
class Leaves(Good):
    def fit(self, train):
        return 5
class Chance(Good):
    def predict_proba(self, test):
        return np.random.default_rng().dirichlet(np.ones(test.n_labels), len(test))
class Half(Good):
    def predict_proba(self, test):
        return np.full((len(test), test.n_labels), 0.1)
class Odd(Good):
    track = "symbolic"
    def __init__(self, loud=0, seed=0):
        self.loud = loud
    def fit(self, train, validation):
        assert train.part == "train" and validation.part == "validation" and len(validation.labels)
        for i in range(self.loud):
            print("line", i, file=sys.stderr if i % 2 else sys.stdout)
        return self
class ForSudoku(Good):
    def fit(self, train):
        if train.benchmark_name != "sudoku_4x4":
            raise ValueError(f"made for sudoku_4x4, not {train.benchmark_name}")
        return self
class Slow(Odd):
    def fit(self, train, validation):
        print("going to sleep")
        time.sleep(600)
"""


@pytest.fixture
def wrong(tmp_path: Path) -> str:
    (tmp_path / "wrong.py").write_text(WRONG)
    return f"{tmp_path}/wrong.py"


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("NoView", "NoView.fit must be callable as fit(train); it is declared as fit()."),
        ("TwoViews", "TwoViews.fit must be callable as fit(train); it is declared as fit(train, other)."),
        ("NoTest", "must be callable as predict_proba(test); it is declared as predict_proba()."),
        ("NoTestHere", "NoTestHere.predict must be callable as predict(test); it is declared as predict()."),
        ("NoMethod", "NoMethod.predict_proba must be callable as predict_proba(test); got int."),
        ("Fails", "Fails' cannot be created: ValueError: no way."),
        ("SaysNothing", "SaysNothing.predict_proba returned None instead of numbers."),
        ("Ragged", "Ragged.predict_proba returned no array of numbers (ValueError: "),
        ("Neither", "The learner Neither has neither predict_proba, predict nor rules; add one of them."),
        ("Leaves", "The learner int has neither predict_proba, predict nor rules; add one of them."),
    ],
)
def test_a_wrong_signature_is_one_sentence(name: str, sentence: str, wrong: str) -> None:
    said = sentences(f"{wrong}:{name}")
    assert sentence in said and len(said.splitlines()) == 1


@pytest.mark.parametrize("spec", ["majority", "ffnsl", f"{ROOT}/examples/votes.py:Votes"])
def test_good_learners_pass(spec: str) -> None:
    assert sentences(spec) == ""
    assert sentences(spec, wrong=False).count("answered in framework and hypothesis evaluation") == len(MOCKS)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("WrongShape", "array of shape (20, 2) (examples, labels); got (3, 3)"),
        ("TooCertain", "invalid probabilities for 20 of 20 examples"),
        ("WrongLabels", "got 7 for example 0"),
        ("NoRules", "The rules of the learner NoRules, line 1"),
        ("Raises", "crashed: ValueError: no good\n    about to fail"),
        ("Absent", "has no 'Absent'"),
        ("CannotFit", "has no method fit"),
        ("HasNoAnswers", "has neither predict_proba, predict nor rules"),
    ],
)
def test_what_is_wrong_is_said(name: str, sentence: str) -> None:
    said = sentences(f"{BAD}:{name}")
    assert sentence in said
    assert not name.endswith(("Fit", "Answers")) or len(said.splitlines()) == 1, "of the learner itself"


def test_what_it_prints_is_shown(wrong: str) -> None:
    notes = sentences(f"{wrong}:Odd:loud=3", wrong=False)
    assert notes.count("the learner printed:\n    line 0\n    line 1\n    line 2\n") == len(MOCKS)
    assert sentences(f"{wrong}:Odd:loud=3") == ""
    notes = sentences(f"{wrong}:Odd:loud=500", wrong=False)
    assert "line 49\n    [400 lines left out]\n    line 450" in notes


def test_a_learner_that_hangs_ends_the_check(wrong: str) -> None:
    found = list(check(f"{wrong}:Slow", Limits(time=1)))
    assert [finding.wrong for finding in found] == [True, False]
    assert found[0].sentence == "timeout: Longer than the time limit of 1 s.\n    going to sleep"
    assert "not tried on the remaining tasks" in found[1].sentence
    limits = {each.name: each.default for each in check_command.params}
    assert limits["time_limit"] == 60 < {each.name: each.default for each in run_command.params}["time_limit"]


def test_a_real_task(wrong: str) -> None:
    found = list(check(f"{wrong}:Odd", LIMITS, ["sudoku_4x4"]))
    assert not any(finding.wrong for finding in found)
    assert found[-1].where == "sudoku_4x4" and "answered in hypothesis evaluation" in found[-1].sentence
    with pytest.raises(UserError, match="Did you mean 'sudoku_4x4'"):
        next(check("majority", LIMITS, ["sudoku_4x"]))


def test_a_learner_for_one_task(wrong: str) -> None:
    assert not [one for one in check(f"{wrong}:ForSudoku", LIMITS, ["sudoku_4x4"]) if one.wrong]
    said = sentences(f"{wrong}:ForSudoku")
    assert (
        said.count("crashed: ValueError: made for sudoku_4x4") == len(MOCKS) and said.count("Traceback") == 1
    )


def test_chance_and_sums_are_found(wrong: str) -> None:
    assert "a second run with the same seed differs for 20 of 20" in sentences(f"{wrong}:Chance")
    assert "20 of 20 examples sum to less than 1, e.g. 0.2" in sentences(f"{wrong}:Half")


def test_the_examples_are_learners(tmp_path: Path) -> None:
    """The package by its entry point, installed; the command."""
    shutil.copytree(ROOT / "examples" / "my_package" / "src" / "my_package", tmp_path / "my_package")
    project = tomllib.loads((ROOT / "examples" / "my_package" / "pyproject.toml").read_text())["project"]
    env = installed(tmp_path, project["entry-points"])
    tests = shutil.copytree(ROOT / "examples" / "my_package" / "tests", tmp_path / "tests")
    line = [sys.executable, "-c", CHECKED_AND_TESTED, str(tests)]
    done = subprocess.run(line, env=env, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "No problems found.\n" in done.stdout and "9 passed" in done.stdout
    command = ["check", "--learner-command", f"{sys.executable} {ROOT}/examples/command_nearest.py"]
    result = CliRunner().invoke(main, command, standalone_mode=False)
    assert result.return_value == 0 and result.stdout.endswith("No problems found.\n"), result.output


CHECKED_AND_TESTED = """
import sys
import pytest
from nsl_bench.cli import main
sys.exit(main(["check", "one_rule:least=3"], standalone_mode=False) or
         pytest.main(["-q", "-p", "no:cacheprovider", sys.argv[1]]))
"""
