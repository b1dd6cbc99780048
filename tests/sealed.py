"""The players of sealed rounds: the command line, an organiser's folders, entrants, and cheats."""

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from click.testing import CliRunner, Result
from mutations import contest
from nsl_bench.leaderboard.submission import MANIFEST, PREDICTIONS, RUNS, digest
from packed import edit_runs

from nsl_bench.cli import main
from nsl_bench.core import registry

TASK = "sudoku_4x4"
CONTESTS = contest("grids", TASK, version=registry.create("benchmark", TASK).version, repeats=1)
LEARNER = '''
import numpy as np

class FromConcepts:
    """Knows nothing of Sudoku: the labels of the most similar train examples."""

    version = "1"

    def __init__(self, seed=0):
        self.seed = seed

    def fit(self, train):
        self.seen, self.labels = train.features, train.labels
        return self

    def predict_proba(self, test):
        near = [np.abs(self.seen - row).sum(axis=1).argsort()[:5] for row in test.features]
        return np.array([np.bincount(self.labels[k], minlength=test.n_labels) / 5 for k in near])
'''


def call(*words: str | Path) -> Result:
    return CliRunner().invoke(main, [str(word) for word in words], standalone_mode=False)


def right(done: Result, code: int = 0) -> str:
    assert (done.exit_code, done.return_value or 0) == (0, code), (done.output, done.exception)
    return done.output


@dataclass
class Played:
    """A round and what its players have."""

    folder: Path

    @property
    def board(self) -> list[str]:
        return ["--board", str(self.folder / "public" / "board.toml")]

    @property
    def public(self) -> Path:
        return self.folder / "public"

    @property
    def accepted(self) -> Path:
        return self.public / "submissions"

    @property
    def seed(self) -> Path:
        return self.folder / "secret" / "seed"

    def package(self, name: str = "autumn") -> Path:
        return self.folder / f"package-{name}"


def answer(package: Path, answers: Callable[[Path, pd.DataFrame], list[str]], rules: str = "") -> Path:
    for task in package.glob("*/*/task.json"):
        test = pd.read_parquet(task.parent / "test.parquet")
        labels = answers(task.parent, test)
        told = pd.DataFrame({"example": test["example"], "label": labels})
        told.to_parquet(task.parent / "predictions.parquet")
        if rules:
            (task.parent / "hypothesis.lp").write_text(rules)
    return package


def enter(package: Path, name: str, out: Path, *more: str) -> Path:
    right(call("leaderboard", "enter", package, "--name", name, "--licence", "MIT", "--out", out, *more))
    return out


def still_open(played: Played, folder: Path) -> Path:
    """The board as it was when the round was sealed."""
    (folder / "sealed").mkdir()
    shutil.copy(played.public / "board.toml", folder)
    shutil.copy(played.package() / "round.json", folder / "sealed" / "autumn.json")
    return folder / "board.toml"


def by_rule(folder: Path, test: pd.DataFrame) -> list[str]:
    """By the rule of Sudoku, on what a network sees."""

    def is_valid(concepts: list[str | None]) -> bool:
        grid = np.array([c or "" for c in concepts]).reshape(4, 4)
        blocks = [grid[a : a + 2, b : b + 2].ravel() for a in (0, 2) for b in (0, 2)]
        units = [[c for c in unit if c] for unit in (*grid, *grid.T, *blocks)]
        return all(len(unit) == len(set(unit)) for unit in units)

    return ["valid" if is_valid(list(row)) else "invalid" for row in test["concepts"]]


def edit(folder: Path, file: str, change: Callable[[dict[str, Any]], object]) -> Path:
    """Change a submission's lines, and sign it again as a cheat would."""
    if file == RUNS:
        edit_runs(folder, lambda lines: [change(line) for line in lines])
        return resign(folder)
    values = json.loads((folder / MANIFEST).read_text())
    change(values)
    (folder / MANIFEST).write_text(json.dumps(values))
    return folder


def resign(folder: Path) -> Path:
    files = {name: digest(folder / name) for name in (RUNS, PREDICTIONS)}
    return edit(folder, MANIFEST, lambda values: values.update(files=files))
