"""A contest whose train splits have test sets of their own, of different sizes, and no true rule."""

from __future__ import annotations

from pathlib import Path

from nsl_bench.leaderboard.board import read_board
from nsl_bench.leaderboard.contests import read_contests
from nsl_bench.leaderboard.score_report import SCORES, write_scores
from nsl_bench.leaderboard.scoring import score
from nsl_bench.leaderboard.site.build import build_site
from nsl_bench.leaderboard.submission import write_submission

from nsl_bench.api.results import Results
from nsl_bench.report.intervals import intervals
from nsl_bench.run.bench import Bench
from nsl_bench.run.plan import plan
from nsl_bench.run.store import Store
from nsl_bench.run.sweep import sweep

BOARD = """
[[contest]]
name = "zoo"
benchmark = "zoo"
version = "1.0.0"
source = "sklearn_digits"
shifts = ["rotate90"]
percents = [0, 50]
repeats = 2
"""


def test_folds_of_different_sizes_on_the_board(tmp_path: Path) -> None:
    board_file = tmp_path / "board.toml"
    board_file.write_text(BOARD, encoding="utf-8")
    contests = read_contests(board_file)
    results = Store(tmp_path / "results")
    jobs = plan("zoo", ["random_forest:trees=3"], repeats=[1, 2], track="symbolic")
    assert sweep(jobs, results, Bench("cpu")).failed == 0
    accuracies = [record.metrics["hypothesis_accuracy"] for record in results.latest().values()]
    (row,) = intervals(Results(results.folder)).to_dict("records")
    assert abs(row["accuracy"] - sum(accuracies) / 2) < 1e-12 and row["low"] < row["accuracy"] < row["high"]
    submission = tmp_path / "accepted" / "forest"
    write_submission(
        results, submission, contests, name="forest", licence="MIT", track="symbolic", date="2026-01-01"
    )
    report = score(submission, contests)
    assert report.accepted, report.problems
    assert {spread.metric for spread in report.spreads} >= {"hypothesis_accuracy"}
    write_scores(report, submission / SCORES)
    build_site(read_board(tmp_path / "accepted", board_file), tmp_path / "site")
    page = (tmp_path / "site" / "benchmark" / "zoo.html").read_text(encoding="utf-8")
    assert "<dt>Equivalence to the true rule</dt><dd>not defined</dd>" in page
