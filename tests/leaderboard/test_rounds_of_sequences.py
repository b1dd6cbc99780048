"""A sealed round of sequences, tested on longer ones than those that are learned from."""

from __future__ import annotations

import shutil
from pathlib import Path

import pandas as pd
import pytest
from mutations import contest
from packed import lines_of
from sealed import Played, answer, call, enter, right

from nsl_bench.core import registry
from nsl_bench.sandbox import kernel

pytestmark = pytest.mark.skipif(not kernel.landlock_version(), reason="a sealed round needs Landlock")

CONTEST = contest(
    *("sums", "addition:test=12"),
    version=registry.create("benchmark", "addition").version,
    percents=[50],
    repeats=1,
    size="20",
    test_task="addition:digits=4,test=12",
)

LEARNER = """
import numpy as np

class Majority:
    version = "1"

    def fit(self, train):
        self.counts = np.bincount(train.labels, minlength=train.n_labels)
        return self

    def predict_proba(self, test):
        return np.tile(self.counts / self.counts.sum(), (len(test), 1))
"""


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Played:
    """A round with two entries, revealed: by predictions and by code."""
    played = Played(tmp_path_factory.mktemp("sums"))
    played.public.mkdir()
    (played.public / "board.toml").write_text(CONTEST)
    seed = ["--data-seed-file", played.seed]
    network = ["--network", "softmax:images_per_concept=20,epochs=5"]
    right(call("leaderboard", "seal", "autumn", *seed, *network, "--out", played.package(), *played.board))
    own = Path(shutil.copytree(played.package(), played.folder / "own"))
    sent = enter(answer(own, added_up), "Adds up", played.folder / "sent")
    taken = ["--accept", played.accepted, *played.board]
    assert "Adds up: accepted" in right(call("score-submission", sent, *taken))
    (played.folder / "learner.py").write_text(LEARNER)
    code = ["--learner", f"{played.folder / 'learner.py'}:Majority", "--name", "By code", "--licence", "MIT"]
    out = ["--out", played.folder / "results"]
    said = right(call("leaderboard", "run-entry", "autumn", *code, *seed, *out, *taken))
    assert "By code: accepted" in said
    right(call("leaderboard", "reveal", "autumn", *seed, "--submissions", played.accepted, *played.board))
    return played


def added_up(folder: Path, test: pd.DataFrame) -> list[str]:
    """The true rule on what the network sees."""
    answers, carry = [], 0
    for step, concepts in zip(test["step"], test["concepts"], strict=True):
        total = sum(map(int, concepts)) + (carry if step > 1 else 0)
        carry = total // 10
        answers.append(str(total % 10))
    return answers


def test_rows_are_steps_of_longer_sequences(played: Played) -> None:
    (test,) = played.package().glob("*/*/test.parquet")
    shown = pd.read_parquet(test)
    assert "label" not in shown and shown["step"].tolist() == [1, 2, 3, 4] * 12
    assert shown["sequence"].tolist() == sorted([*range(12)] * 4)
    assert len(pd.read_parquet(test.parent / "train.parquet")) == 20 * 3


def test_an_outsider_checks_it(played: Played, tmp_path: Path) -> None:
    words = ["leaderboard", "verify-round", "autumn", "--submissions", played.accepted, *played.board]
    package = Path(shutil.copytree(played.package(), tmp_path / "package"))
    said = right(call(*words, "--package", package))
    assert said.count("ok: ") == 7 and "ok: sums: 1 folders match those of the round" in said, said
    (test,) = package.glob("*/*/test.parquet")
    table = pd.read_parquet(test)
    table.assign(step=[2, 1, 3, 4] * 12).to_parquet(test)
    assert "1 differ, first addition" in right(call(*words, "--package", package), 1)


def test_scores_are_those_of_longer_sequences(played: Played) -> None:
    lines = lines_of(played.accepted / "autumn--adds-up" / "scores.jsonl.zst")
    (metrics,) = [line["metrics"] for line in lines if "run" in line]
    assert metrics["sequence_accuracy"] <= metrics["framework_accuracy"]


def test_the_site_shows_the_accuracy_of_sequences(played: Played, tmp_path: Path) -> None:
    right(call("leaderboard", "build", "--submissions", played.accepted, "--out", tmp_path, *played.board))
    pages = ["index.html", "benchmark/autumn--sums.html", "learner/autumn-adds-up.html"]
    index, contest, learner = ((tmp_path / page).read_text(encoding="utf-8") for page in pages)
    assert "effective image accuracy" in contest and "sequence accuracy" in learner
    assert "12 sequences of addition" in contest and "20 sequences, 1 train splits" in contest
    assert "sequence accuracy" not in index
