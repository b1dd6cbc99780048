"""A submission of each track: what it holds, what the board makes of it."""

import shutil
from pathlib import Path
from typing import get_args

import pytest
from nsl_bench.leaderboard.board import Board, read_board
from nsl_bench.leaderboard.contests import Contest
from nsl_bench.leaderboard.score_report import SCORES, comment, write_scores
from nsl_bench.leaderboard.site.build import build_site
from nsl_bench.leaderboard.site.pages import rows_of
from nsl_bench.leaderboard.submission import write_submission
from packed import Scored, edit_rows
from sealed import resign

from nsl_bench.core.tracks import Track
from nsl_bench.run.bench import Bench
from nsl_bench.run.plan import plan
from nsl_bench.run.store import Store
from nsl_bench.run.sweep import sweep

LEARNERS = """
import numpy as np

class label_only:
    track = "label_only"

    def fit(self, train):
        self.share = np.bincount(train.labels, minlength=train.n_labels) / len(train)

    def predict_proba(self, test):
        return np.tile(self.share, (len(test), 1))

class end_to_end(label_only):
    track = "end_to_end"

class few_labels(label_only):
    track = "few_labels"

class concept_labels(label_only):
    track = "concept_labels"

class known_rules(label_only):
    track = "known_rules"

    def predict_concepts(self, test):
        seen = np.zeros((len(test), len(test.slots), len(test.concept_space)))
        seen[..., 0] = 1.0
        return seen
"""
TRACKS: tuple[Track, ...] = ("label_only", "end_to_end", "few_labels", "concept_labels", "known_rules")
FRAMEWORK_ALONE: tuple[Track, ...] = ("label_only", "end_to_end", "known_rules")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return Store(tmp_path_factory.mktemp("tracks") / "store")


@pytest.fixture(scope="module")
def submissions(store: Store, contests: tuple[Contest, ...]) -> dict[Track, Path]:
    """Submissions of the tracks whose train images have no concepts."""
    folder = store.folder.parent
    (folder / "learners.py").write_text(LEARNERS)
    specs = {track: f"{folder / 'learners.py'}:{track}" for track in TRACKS}
    jobs = plan("sudoku_4x4", list(specs.values()), shifts=["rotate90"], percents=[0, 100], repeats=[1, 2])
    assert sweep(jobs, store, Bench()).failed == 0
    for track, spec in specs.items():
        write_submission(store, folder / track, contests, name=track, licence="MIT", learner=spec)
    return {track: folder / track for track in specs}


@pytest.fixture(scope="module")
def everything(
    submissions: dict[Track, Path],
    scored: Scored,
    accepted: Path,
    board_file: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Board:
    folder = tmp_path_factory.mktemp("all") / "submissions"
    shutil.copytree(accepted, folder)
    for track, submission in submissions.items():
        shutil.copytree(submission, folder / track)
        write_scores(scored(submission), folder / track / SCORES)
    return read_board(folder, board_file)


@pytest.mark.parametrize("track", FRAMEWORK_ALONE)
def test_without_concept_labels_there_is_framework_evaluation_alone(
    submissions: dict[Track, Path], scored: Scored, track: Track
) -> None:
    report = scored(submissions[track])
    assert report.accepted and len(report.runs) == 4, report.problems
    for run in report.runs:
        assert run.network == "" and "hypothesis_accuracy" not in run.metrics
        assert run.metrics["framework_accuracy"] == pytest.approx(0.5)
        assert "brier_score" in run.metrics


def test_concepts_are_counted_again(submissions: dict[Track, Path], store: Store, scored: Scored) -> None:
    report = scored(submissions["known_rules"])
    records = store.latest()
    assert report.accepted and len(report.runs) == 4
    for run in report.runs:
        mine = records[run.run].metrics
        assert 0.1 < run.metrics["learner_concept_accuracy"] < 0.5
        for name in ("learner_concept_accuracy", "concept_collapse"):
            assert run.metrics[name] == pytest.approx(mine[name])
        assert run.metrics["concept_collapse"] == pytest.approx(0.75)
    assert "accuracy of the learner's concepts" in comment(report)
    assert all("concept_collapse" not in run.metrics for run in scored(submissions["few_labels"]).runs)


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
    submissions: dict[Track, Path], scored: Scored, tmp_path: Path, change: dict[str, object], words: str
) -> None:
    folder = Path(shutil.copytree(submissions["known_rules"], tmp_path / "sent"))
    edit_rows(folder, lambda rows: next(r for r in rows if r["evaluation"] == "concepts").update(change))
    (problem,) = scored(resign(folder)).problems
    assert words in problem


def test_without_images_there_are_no_concepts(rules: Path, scored: Scored) -> None:
    more = {"evaluation": "concepts", "predicted": [0] * 16_000, "probabilities": None}
    edit_rows(rules, lambda rows: rows.append(rows[0] | more))
    (problem,) = scored(resign(rules)).problems
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
    assert all(f'<td class="{track}">' in page for track in get_args(Track))
    assert "concept collapse" in page and "concept collapse" not in (tmp_path / "site/index.html").read_text()
    for row in rows_of(everything, everything.contests[0]):
        area = row.areas["hypothesis_accuracy"]
        assert (area is None) == (row.entry.track in FRAMEWORK_ALONE)
        assert row.entry.title in (tmp_path / "site/index.html").read_text()
