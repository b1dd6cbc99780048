"""A small board with real runs: rules on true concepts, and a network's predictions on images."""

import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
from mutations import BOARD as CONTEST
from nsl_bench.leaderboard.board import Board, read_board
from nsl_bench.leaderboard.contests import Contest, read_contests
from nsl_bench.leaderboard.rounds.model import read_round
from nsl_bench.leaderboard.score_report import SCORES, write_scores
from nsl_bench.leaderboard.scoring import score
from nsl_bench.leaderboard.site.build import build_site
from nsl_bench.leaderboard.submission import write_submission
from packed import Scored
from sealed import CONTESTS, LEARNER, TASK, Played, answer, by_rule, call, enter, right

from nsl_bench.core import registry
from nsl_bench.data.splits import symbolic_split
from nsl_bench.run.bench import Bench
from nsl_bench.run.plan import plan
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
        *plan("sudoku_4x4", ["ffnsl"], repeats=[1, 2], track="symbolic"),
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
    about = {"licence": "CC-BY-4.0", "date": "2026-01-01"}
    for learner in ("random_forest:trees=3", "majority", "ffnsl"):
        name = learner.partition(":")[0]
        track = "symbolic" if name == "ffnsl" else "pretrained"
        write_submission(results, folder / name, contests, name=name, learner=learner, track=track, **about)  # type: ignore[arg-type]
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


@pytest.fixture(scope="session")
def scored(contests: tuple[Contest, ...]) -> Scored:
    return lambda folder, *more: score(folder, contests, *more)


@pytest.fixture
def forest(good: dict[str, Path], tmp_path: Path) -> Path:
    """A submission of trees that a test may spoil."""
    return Path(shutil.copytree(good["random_forest"], tmp_path / "sent" / "forest"))


@pytest.fixture
def rules(good: dict[str, Path], tmp_path: Path) -> Path:
    return Path(shutil.copytree(good["ffnsl"], tmp_path / "sent" / "rules"))


@pytest.fixture(scope="session")
def sealed(tmp_path_factory: pytest.TempPathFactory) -> Played:
    """A round that is sealed and has no entries."""
    played = Played(tmp_path_factory.mktemp("played with 'odd' $names"))
    played.public.mkdir()
    (played.public / "board.toml").write_text(CONTESTS)
    words = ["--data-seed-file", played.seed, "--out", played.package()]
    said = right(call("leaderboard", "seal", "autumn", *words, *played.board))
    assert played.seed.read_text().strip() not in said
    return played


@pytest.fixture(scope="session")
def mine(sealed: Played, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A submission by predictions, with the rule that everybody knows."""
    folder = tmp_path_factory.mktemp("mine")
    package = Path(shutil.copytree(sealed.package(), folder / "package"))
    rule = registry.create("benchmark", TASK).true_rule
    return enter(answer(package, by_rule, rule), "By rule", folder / "sent")


@pytest.fixture(scope="session")
def played(sealed: Played, mine: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Played]:
    """The round with three entries, revealed: by predictions, by code, and of public answers."""
    folder = tmp_path_factory.mktemp("entrants")
    taken = ["--accept", sealed.accepted, *sealed.board]
    assert "By rule: accepted" in right(call("score-submission", mine, *taken))
    (folder / "learner.py").write_text(LEARNER)
    code = ["--learner", f"{folder / 'learner.py'}:FromConcepts", "--name", "By code", "--licence", "MIT"]
    seed = ["--data-seed-file", sealed.seed]
    words = [*code, *seed, "--out", folder / "results", *taken]
    said = right(call("leaderboard", "run-entry", "autumn", *words))
    assert "By code: accepted" in said and "scored when the round autumn is revealed" in said
    package = Path(shutil.copytree(sealed.package(), folder / "package"))
    public = enter(answer(package, of_public_seed), "Public answers", folder / "public")
    right(call("score-submission", public, *taken))
    before = read_round("autumn", sealed.public / "board.toml")
    by = [entry.by for entry in before.entries]
    assert not before.secret and by == ["predictions", "code", "predictions"]
    assert not sealed.accepted.exists(), "predictions and scores before the reveal tell of the answers"
    shutil.copytree(sealed.public, sealed.folder / "before")
    words = ["--submissions", sealed.accepted, *sealed.board]
    said = right(call("leaderboard", "reveal", "autumn", *seed, *words))
    assert "By code (code): 2 runs scored" in said
    line = said.splitlines()[-1].partition("Anyone can check it with: ")[2]
    assert "No problems found." in right(call(*shlex.split(line)[1:]))  # word for word
    yield sealed


def of_public_seed(folder: Path, test: pd.DataFrame) -> list[str]:
    """The answers that everybody can make: those of the public seed."""
    task = registry.create("benchmark", TASK)
    return [task.labels.names[k] for k in symbolic_split(task, "test", seed=0).labels]
