"""A small board with real runs: rules on true concepts, and a network's predictions on images."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from mutations import BOARD as CONTEST
from nsl_bench.leaderboard.board import Board, read_board
from nsl_bench.leaderboard.contests import Contest, read_contests
from nsl_bench.leaderboard.score_report import SCORES, write_scores
from nsl_bench.leaderboard.scoring import score
from nsl_bench.leaderboard.site.build import build_site
from nsl_bench.leaderboard.submission import MANIFEST, digest, write_submission

from nsl_bench.run.evaluate import Bench
from nsl_bench.run.job import plan
from nsl_bench.run.store import Store
from nsl_bench.run.sweep import sweep

BOARD = CONTEST + 'paper = { rotate90 = "rotate90" }\n'


@pytest.fixture(scope="session")
def board_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("board") / "board.toml"
    path.write_text(BOARD)
    return path


@pytest.fixture(scope="session")
def contests(board_file: Path) -> tuple[Contest, ...]:
    return read_contests(board_file)


@pytest.fixture(scope="session")
def results(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Two learners on images, one on true concepts."""
    store = Store(tmp_path_factory.mktemp("results") / "store")
    images = {"shifts": ["rotate90"], "percents": [0, 100], "repeats": [1, 2]}
    jobs = [
        *plan("sudoku_4x4", ["random_forest:trees=3", "majority"], **images),  # type: ignore[arg-type]
        *plan("sudoku_4x4", ["ffnsl"], repeats=[1, 2], symbolic=True),
    ]
    tally = sweep(jobs, store, Bench())
    assert tally.failed == 0
    return store


@pytest.fixture(scope="session")
def good(
    results: Store, contests: tuple[Contest, ...], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Path]:
    """Untouched submissions by learner; copy before breaking them."""
    folder = tmp_path_factory.mktemp("submissions")
    for learner, track in (
        ("random_forest:trees=3", "pretrained"),
        ("majority", "pretrained"),
        ("ffnsl", "symbolic"),
    ):
        name = learner.partition(":")[0]
        write_submission(
            results,
            folder / name,
            contests,
            name=name,
            licence="CC-BY-4.0",
            learner=learner,
            track=track,  # type: ignore[arg-type]
            date="2026-01-01",
        )
    return {path.name: path for path in folder.iterdir()}


@pytest.fixture(scope="session")
def accepted(
    good: dict[str, Path], contests: tuple[Contest, ...], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    folder = tmp_path_factory.mktemp("accepted")
    for name, submission in good.items():
        shutil.copytree(submission, folder / name)
        write_scores(score(submission, contests), folder / name / SCORES)
    return folder


@pytest.fixture(scope="session")
def board(accepted: Path, board_file: Path) -> Board:
    return read_board(accepted, board_file)


@pytest.fixture(scope="session")
def site(board: Board, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site") / "site"
    build_site(board, folder)
    return folder


@pytest.fixture
def resign() -> Callable[[Path], None]:
    """Put the files' present hashes into the manifest, as a cheat would."""

    def run(folder: Path) -> None:
        values = json.loads((folder / MANIFEST).read_text())
        values["files"] = {name: digest(folder / name) for name in values["files"]}
        (folder / MANIFEST).write_text(json.dumps(values))

    return run
