"""The board's commands from end to end, as a contributor and a maintainer use them."""

import json
import shutil
from pathlib import Path

import pytest
from packed import edit_manifest, pack, unpacked
from sealed import call

import nsl_bench
from nsl_bench.core.errors import UserError
from nsl_bench.run.store import Store


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
    files = ["--comment", tmp_path / "comment.md", "--scores", tmp_path / "scores.jsonl.zst"]
    done = call("score-submission", tmp_path / "submission", "--accept", accepted, *files, *board)
    assert done.exit_code == 0 and "### FFNSL: accepted" in done.output, done.output
    assert (tmp_path / "comment.md").read_text() in done.output
    assert unpacked(accepted / "ffnsl" / "scores.jsonl.zst") == unpacked(tmp_path / "scores.jsonl.zst")
    done = call("score-submission", tmp_path / "submission", "--accept", accepted, *board)
    assert "already exists" in str(done.exception)
    site = ["--no-pictures", "--out", tmp_path / "site"]
    done = call("leaderboard", "build", "--submissions", accepted, *site, *board)
    assert done.exit_code == 0 and "1 entries, 2 runs" in done.output, done.output
    assert "FFNSL" in (tmp_path / "site" / "index.html").read_text()


def test_a_submission_is_put_on_a_board_from_python(
    good: dict[str, Path], board_file: Path, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(good["ffnsl"], tmp_path / "sent"))
    accepted = tmp_path / "accepted"
    report = nsl_bench.score_submission(folder, board=board_file)
    with pytest.raises(UserError, match="majority is not the submission that was scored"):
        nsl_bench.accept_submission(good["majority"], accepted, report=report, board=board_file)
    assert not accepted.exists()
    place = nsl_bench.accept_submission(folder, accepted, board=board_file)
    assert place == accepted / "ffnsl" and (place / "scores.jsonl.zst").is_file()
    with pytest.raises(UserError, match="already exists"):
        nsl_bench.accept_submission(folder, accepted, report=report, board=board_file)
    pack(folder / "runs.jsonl.zst", "")
    with pytest.raises(UserError, match=r"sent is not accepted: runs\.jsonl\.zst was changed"):
        nsl_bench.accept_submission(folder, tmp_path / "other", board=board_file)
    with pytest.raises(UserError, match=r"runs\.jsonl\.zst was changed"):
        nsl_bench.accept_submission(folder, tmp_path / "other", report=report, board=board_file)
    assert not (tmp_path / "other").exists()


def test_a_rejected_submission_exits_with_1(board_file: Path, tmp_path: Path) -> None:
    (tmp_path / "submission").mkdir()
    done = call("score-submission", tmp_path / "submission", "--board", board_file)
    assert done.return_value == 1
    assert "not accepted" in done.output and "The file submission.json is missing." in done.output


def test_contests_print_commands_that_make_their_runs(board_file: Path) -> None:
    done = call("leaderboard", "contests", "--learner", "my.py:Mine", "--board", board_file)
    assert "# grids: 4 runs" in done.output
    assert "nsl-bench run sudoku_4x4 --learner my.py:Mine --shift rotate90 --shares 0,100" in done.output


@pytest.mark.parametrize(
    ("option", "words"),
    [
        (("--name", "<b>"), "--name has the character '<'"),
        (("--url", "ftp://x"), "--url must be an address"),
        (("--licence", "M"), "--licence must be one line of 2 to 100"),
        (("--authors", "x" * 300), "--authors must be one line of at most 200"),
        (("--out", "/proc/submission"), "--out: the folder /proc/submission cannot be created"),
    ],
)
def test_nothing_is_written_of_a_wrong_option(
    results: Store, board_file: Path, tmp_path: Path, option: tuple[str, str], words: str
) -> None:
    out = tmp_path / "submission"
    words_right = ["--learner", "ffnsl", "--name", "X", "--licence", "MIT", "--out", out]
    done = call("submit", results.folder, *words_right, "--board", board_file, *option)
    assert words in str(done.exception) and not out.exists()


def test_the_board_keeps_what_was_checked_of_a_manifest(
    good: dict[str, Path], board_file: Path, tmp_path: Path
) -> None:
    sent = Path(shutil.copytree(good["majority"], tmp_path / "sent"))
    known = json.loads((sent / "submission.json").read_text())
    edit_manifest(sent, foo=1)
    done = call("score-submission", sent, "--accept", tmp_path / "kept", "--board", board_file)
    assert done.exit_code == 0, done.output
    assert json.loads((tmp_path / "kept" / "majority" / "submission.json").read_text()) == known


@pytest.mark.parametrize("option", ["--comment", "--accept", "--scores"])
def test_places_that_cannot_be_written(good: dict[str, Path], board_file: Path, option: str) -> None:
    done = call("score-submission", good["majority"], option, "/proc/x/y", "--board", board_file)
    assert isinstance(done.exception, UserError) and "cannot be written" in str(done.exception)


@pytest.mark.parametrize("seconds", ["nan", "1e300", "inf"])
def test_seconds_that_are_none(good: dict[str, Path], seconds: str) -> None:
    done = call("score-submission", good["majority"], "--solver-seconds", seconds)
    assert "--solver-seconds" in str(done.exception.format_message())  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("option", "words"),
    [
        (("--task", "sudoku4x4"), "Did you mean 'sudoku_4x4'"),
        (("--preset", "qick"), "Did you mean 'quick'"),
        (("--device", "tpu"), "The device 'tpu' cannot be used on this machine"),
    ],
)
def test_wrong_names_in_reproduce(tmp_path: Path, option: tuple[str, str], words: str) -> None:
    done = call("reproduce", "ffnsl2023", "--out", tmp_path / "out", *option)
    assert words in str(done.exception)
