"""A submission of each track: what it holds, what the board makes of it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from nsl_bench.leaderboard.board import Board, read_board
from nsl_bench.leaderboard.contests import Contest
from nsl_bench.leaderboard.score_report import SCORES, comment, write_scores
from nsl_bench.leaderboard.scoring import score
from nsl_bench.leaderboard.site.build import build_site
from nsl_bench.leaderboard.site.pages import rows_of
from nsl_bench.leaderboard.submission import PREDICTIONS, write_submission

from nsl_bench.core.tracks import Track
from nsl_bench.run.bench import Bench
from nsl_bench.run.plan import plan
from nsl_bench.run.store import Store
from nsl_bench.run.sweep import sweep

LEARNERS = """
import numpy as np


class Joint:
    track = "label_only"

    def fit(self, train):
        self.share = np.bincount(train.labels, minlength=train.n_labels) / len(train)
        return self

    def predict_proba(self, test):
        return np.tile(self.share, (len(test), 1))


class Plain(Joint):
    track = "end_to_end"


class Few(Joint):
    track = "few_labels"


class Bottleneck(Joint):
    track = "concept_labels"


class Told(Joint):
    track = "known_rules"

    def predict_concepts(self, test):
        seen = np.zeros((len(test), len(test.slots), len(test.concept_space)))
        seen[..., 0] = 1.0
        return seen
"""
NEW: dict[Track, str] = {
    "label_only": "Joint",
    "end_to_end": "Plain",
    "few_labels": "Few",
    "concept_labels": "Bottleneck",
    "known_rules": "Told",
}
FRAMEWORK_ALONE: tuple[Track, ...] = ("label_only", "end_to_end", "known_rules")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Results of those whose submissions are made here."""
    return Store(tmp_path_factory.mktemp("tracks") / "store")


@pytest.fixture(scope="module")
def submissions(store: Store, contests: tuple[Contest, ...]) -> dict[Track, Path]:
    """Submissions of the tracks whose train images have no concepts."""
    folder = store.folder.parent
    (folder / "learners.py").write_text(LEARNERS)
    specs = {track: f"{folder / 'learners.py'}:{name}" for track, name in NEW.items()}
    jobs = plan("sudoku_4x4", list(specs.values()), shifts=["rotate90"], percents=[0, 100], repeats=[1, 2])
    assert sweep(jobs, store, Bench()).failed == 0
    for track, spec in specs.items():
        about = {"name": NEW[track], "licence": "MIT", "learner": spec}
        write_submission(store, folder / track, contests, **about)  # type: ignore[arg-type]
    return {track: folder / track for track in specs}


@pytest.fixture(scope="module")
def everything(
    submissions: dict[Track, Path],
    contests: tuple[Contest, ...],
    accepted: Path,
    board_file: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Board:
    """A board with entries in all tracks."""
    folder = tmp_path_factory.mktemp("all") / "submissions"
    shutil.copytree(accepted, folder)
    for track, submission in submissions.items():
        shutil.copytree(submission, folder / track)
        write_scores(score(submission, contests), folder / track / SCORES)
    return read_board(folder, board_file)


@pytest.mark.parametrize("track", FRAMEWORK_ALONE)
def test_without_concept_labels_there_is_framework_evaluation_alone(
    submissions: dict[Track, Path], contests: tuple[Contest, ...], track: Track
) -> None:
    report = score(submissions[track], contests)
    assert report.accepted and len(report.runs) == 4, report.problems
    for run in report.runs:
        assert run.network == "" and "hypothesis_accuracy" not in run.metrics
        assert run.metrics["framework_accuracy"] == pytest.approx(0.5)
        assert "brier_score" in run.metrics


def test_concepts_are_counted_again(
    submissions: dict[Track, Path], store: Store, contests: tuple[Contest, ...]
) -> None:
    report = score(submissions["known_rules"], contests)
    records = store.latest()
    assert report.accepted and len(report.runs) == 4
    for run in report.runs:
        mine = records[run.run].metrics
        assert 0.1 < run.metrics["learner_concept_accuracy"] < 0.5
        for name in ("learner_concept_accuracy", "concept_collapse"):
            assert run.metrics[name] == pytest.approx(mine[name])
        assert run.metrics["concept_collapse"] == pytest.approx(0.75)
    assert "accuracy of the learner's concepts" in comment(report)
    assert all(
        "concept_collapse" not in run.metrics for run in score(submissions["few_labels"], contests).runs
    )


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"predicted": [0]}, "must have 16000 concepts and 0 probabilities; got 1 and 0"),
        ({"predicted": [4] * 16_000}, "concepts must be between -1 and 3; got 4"),
        ({"predicted": [-2] * 16_000}, "concepts must be between -1 and 3; got -2"),
        ({"probabilities": [1.0]}, "must have 16000 concepts and 0 probabilities; got 16000 and 1"),
        ({"evaluation": "concept"}, "must be one of hypothesis, framework, concepts; got 'concept'"),
    ],
)
def test_broken_concepts(
    submissions: dict[Track, Path],
    contests: tuple[Contest, ...],
    tmp_path: Path,
    resign: Callable[[Path], None],
    change: dict[str, object],
    words: str,
) -> None:
    folder = Path(shutil.copytree(submissions["known_rules"], tmp_path / "sent"))
    table = pq.read_table(folder / PREDICTIONS)
    rows = table.to_pylist()
    at = next(k for k, row in enumerate(rows) if row["evaluation"] == "concepts")
    rows[at] |= change
    pq.write_table(pa.Table.from_pylist(rows, schema=table.schema), folder / PREDICTIONS)
    resign(folder)
    (problem,) = score(folder, contests).problems
    assert words in problem


def test_without_images_there_are_no_concepts(
    good: dict[str, Path], contests: tuple[Contest, ...], tmp_path: Path, resign: Callable[[Path], None]
) -> None:
    folder = Path(shutil.copytree(good["ffnsl"], tmp_path / "sent"))
    table = pq.read_table(folder / PREDICTIONS)
    rows = table.to_pylist()
    more = {"run": rows[0]["run"], "evaluation": "concepts", "predicted": [0] * 16_000, "probabilities": None}
    pq.write_table(pa.Table.from_pylist([*rows, more], schema=table.schema), folder / PREDICTIONS)
    resign(folder)
    (problem,) = score(folder, contests).problems
    assert "no images are shown in the track symbolic; leave them out" in problem


def test_who_sees_images_is_ranked_together(everything: Board, contests: tuple[Contest, ...]) -> None:
    (contest,) = contests
    assert set(everything.tracks(contest)) == set(get_args(Track))
    for entry in everything.entries:
        rank = everything.rank(entry, contest)
        alike = [e for e in everything.entries if (e.track == "symbolic") == (entry.track == "symbolic")]
        assert rank.first is not None and rank.of == len(alike)


def test_the_site_shows_every_track(everything: Board, tmp_path: Path) -> None:
    build_site(everything, tmp_path / "site", pictures=False)
    page = (tmp_path / "site/benchmark/grids.html").read_text()
    assert all(f'<td><span class="tag {track}">' in page for track in get_args(Track))
    assert "concept collapse" in page and "concept collapse" not in (tmp_path / "site/index.html").read_text()
    for row in rows_of(everything, everything.contests[0]):
        area = row.areas["hypothesis_accuracy"]
        assert (area is None) == (row.entry.track in FRAMEWORK_ALONE)
        assert row.entry.title in (tmp_path / "site/index.html").read_text()
