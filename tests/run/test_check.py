"""`nsl-bench check` says in words what is wrong with a learner."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from nsl_bench.isolation.limits import Limits
from nsl_bench.run.check import check
from nsl_bench.run.mock import MOCKS

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="learners are isolated on POSIX systems")

BAD = Path(__file__).parents[1] / "isolation" / "bad.py"
ROOT = Path(__file__).parents[2]
LIMITS = Limits(time=120)
RANDOM = """
import numpy as np
class Chance:
    def fit(self, train):
        return self
    def predict_proba(self, test):
        p = np.random.default_rng().random((len(test), test.n_labels))
        return p / p.sum(axis=1, keepdims=True)
class Half:
    def fit(self, train):
        return self
    def predict_proba(self, test):
        return np.full((len(test), test.n_labels), 0.1)
"""


def sentences(spec: str, *, wrong: bool = True) -> str:
    return "\n".join(finding.sentence for finding in check(spec, LIMITS) if finding.wrong == wrong)


@pytest.mark.parametrize("spec", ["majority", "ffnsl", f"{ROOT}/examples/votes.py:Votes"])
def test_good_learners_pass(spec: str) -> None:
    assert sentences(spec) == ""
    assert sentences(spec, wrong=False).count("answered in framework and hypothesis evaluation") == len(MOCKS)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("WrongShape", "array of shape (3, 3), but there are 20 examples and 2 labels"),
        ("TooCertain", "no probabilities for 20 of 20 examples"),
        ("WrongLabels", "gives 7 for example 0; labels are 0 to 1"),
        ("NoRules", "The rules of the learner NoRules, line 1"),
        ("Raises", "crashed: ValueError: no good\n    about to fail"),
        ("Absent", "has no 'Absent'"),
    ],
)
def test_what_is_wrong_is_said(name: str, sentence: str) -> None:
    assert sentence in sentences(f"{BAD}:{name}")


def test_chance_and_sums_are_found(tmp_path: Path) -> None:
    (tmp_path / "chance.py").write_text(RANDOM)
    assert "a second run answers differently for 20 of 20" in sentences(f"{tmp_path}/chance.py:Chance")
    assert "20 of 20 examples sum to less than one, e.g. 0.2" in sentences(f"{tmp_path}/chance.py:Half")


def test_the_examples_are_learners(tmp_path: Path) -> None:
    """The package by its entry point, installed; the command."""
    shutil.copytree(ROOT / "examples" / "my_package" / "src" / "my_package", tmp_path / "my_package")
    project = tomllib.loads((ROOT / "examples" / "my_package" / "pyproject.toml").read_text())["project"]
    info = tmp_path / "my_package-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-package\nVersion: 1.0\n")
    points = project["entry-points"]["nsl_bench.learners"]
    lines = ["[nsl_bench.learners]", *(f"{name} = {place}" for name, place in points.items())]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])}
    command = ["--learner-command", f"{sys.executable} {ROOT}/examples/command_nearest.py"]
    for words in (["one_rule:least=3"], command):
        line = [sys.executable, "-m", "nsl_bench", "check", *words]
        done = subprocess.run(line, env=env, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        assert done.stdout.endswith("All is well.\n")
    tests = shutil.copytree(ROOT / "examples" / "my_package" / "tests", tmp_path / "tests")
    line = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tests)]
    done = subprocess.run(line, env=env, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and "9 passed" in done.stdout, done.stdout + done.stderr
