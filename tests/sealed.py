"""The players of sealed rounds: the command line, an organiser's folders, entrants by predictions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from click.testing import CliRunner, Result

from nsl_bench.cli import main


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

    def seal(self, name: str) -> str:
        words = ["--data-seed-file", self.folder / "secret" / f"seed-{name}"]
        return right(call("leaderboard", "seal", name, *words, "--out", self.package(name), *self.board))


def answer(package: Path, answers: Callable[[Path, pd.DataFrame], list[str]], rules: str = "") -> Path:
    """Write answers into every folder."""
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
