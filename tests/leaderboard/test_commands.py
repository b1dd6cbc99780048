"""The board's commands from end to end, as a contributor and a maintainer use them."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner, Result

from nsl_bench.cli import main
from nsl_bench.run.store import Store


def call(*words: str | Path) -> Result:
    return CliRunner().invoke(main, [str(word) for word in words], standalone_mode=False)


def test_from_results_to_the_site(results: Store, board_file: Path, tmp_path: Path) -> None:
    board = ["--board", board_file]
    about = [
        "--learner",
        "ffnsl",
        "--name",
        "FFNSL",
        "--licence",
        "CC-BY-4.0",
        "--url",
        "https://example.org",
    ]
    done = call("submit", results.folder, *about, "--out", tmp_path / "submission", *board)
    assert done.exit_code == 0 and "grids: 2 runs" in done.output, done.output
    accepted = tmp_path / "accepted"
    files = ["--comment", tmp_path / "comment.md", "--scores", tmp_path / "scores.jsonl"]
    done = call("score-submission", tmp_path / "submission", "--accept", accepted, *files, *board)
    assert done.exit_code == 0 and "### FFNSL: accepted" in done.output, done.output
    assert (tmp_path / "comment.md").read_text() in done.output
    assert (accepted / "ffnsl" / "scores.jsonl").read_text() == (tmp_path / "scores.jsonl").read_text()
    done = call("score-submission", tmp_path / "submission", "--accept", accepted, *board)
    assert "there is a submission" in str(done.exception)
    site = ["--no-pictures", "--out", tmp_path / "site"]
    done = call("leaderboard", "build", "--submissions", accepted, *site, *board)
    assert done.exit_code == 0 and "1 entries, 2 runs" in done.output, done.output
    assert "FFNSL" in (tmp_path / "site" / "index.html").read_text()


def test_a_rejected_submission_exits_with_1(board_file: Path, tmp_path: Path) -> None:
    (tmp_path / "submission").mkdir()
    done = call("score-submission", tmp_path / "submission", "--board", board_file)
    assert done.return_value == 1
    assert "not accepted" in done.output and "The file submission.json is missing." in done.output


def test_contests_print_commands_that_make_their_runs(board_file: Path) -> None:
    done = call("leaderboard", "contests", "--learner", "my.py:Mine", "--board", board_file)
    assert "# grids: 4 runs" in done.output
    assert "nsl-bench run sudoku_4x4 --learner my.py:Mine --shift rotate90 --percents 0,100" in done.output
