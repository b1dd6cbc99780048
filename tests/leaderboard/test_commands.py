"""The board's commands from end to end, as a contributor and a maintainer use them."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from mutations import contest
from nsl_bench.leaderboard.contests import Cell, Contest, contest_of, incomplete, read_contests
from packed import edit_manifest, pack, unpacked
from sealed import call

import nsl_bench
from nsl_bench.core import registry
from nsl_bench.core.errors import UserError
from nsl_bench.core.shift import named_shifts
from nsl_bench.data.splits import make_source
from nsl_bench.report.published.papers import ffnsl2023
from nsl_bench.run.plan import plan
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
    assert done.exit_code == 0 and "1 entry, 2 runs" in done.output, done.output
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
        (("--preset", "paper", "--quick"), "Give either --quick or --preset paper"),
        (("--device", "tpu"), "The device 'tpu' cannot be used on this machine"),
    ],
)
def test_wrong_names_in_reproduce(tmp_path: Path, option: tuple[str, str], words: str) -> None:
    done = call("reproduce", "ffnsl2023", "--out", tmp_path / "out", *option)
    assert words in str(done.exception)


def test_reproduce_tells_of_a_folder_that_does_not_exist(tmp_path: Path) -> None:
    done = call("reproduce", "neuid3", "--data", tmp_path / "none", "--out", tmp_path / "out")
    assert isinstance(done.exception, UserError) and "none does not exist" in str(done.exception)


@pytest.mark.parametrize("one", read_contests(), ids=lambda one: one.name)
def test_a_contest_is_installed(one: Contest) -> None:
    task = registry.create("benchmark", one.task)
    source = make_source(task, one.source)
    assert one.version == task.version and one.size in task.sizes
    shifts = {*named_shifts(task, source), *registry.names("shift")}
    assert {shift.partition(":")[0] for shift in one.shifts} <= shifts
    published = set(ffnsl2023(one.benchmark)["shift"])
    assert set(one.paper) <= set(one.shifts) and set(one.paper.values()) <= published


def test_every_planned_run_has_its_cell() -> None:
    contests = read_contests()
    (grids,) = [one for one in contests if one.name == "sudoku_4x4"]
    shares = {"shifts": grids.shifts, "percents": grids.percents, "repeats": range(1, grids.repeats + 1)}
    jobs = plan("sudoku_4x4", ["majority"], **shares)
    places = [contest_of(contests, job) for job in jobs]
    assert {cell for _, cell in filter(None, places)} == set(grids.cells)
    assert not any(contest_of(contests, replace(job, annotation="wrong_labels=5")) for job in jobs)
    assert len(jobs) == len(grids.cells) == len(grids.percents) * grids.repeats
    assert str(Cell("rotate90", 50, 2)) == "rotate90 50 % repeat 2"
    (other,) = plan("sudoku_4x4", ["majority"], repeats=[grids.repeats + 1])
    assert contest_of(contests, other) is None


@pytest.mark.parametrize(
    "text",
    ["", "[[contest]]\nname = 1", "[[contest", "contest = 3", "a = " + "[" * 100_000, "a = " + "9" * 9_999],
)
def test_a_broken_file_gets_a_sentence(tmp_path: Path, text: str) -> None:
    (tmp_path / "board.toml").write_text(text)
    with pytest.raises(UserError, match=r"board\.toml"):
        read_contests(tmp_path / "board.toml")


CONTEST = contest("grids", size="small", seed=0) + 'paper = { rotate90 = "rotate90" }\n'


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ('name = "Grids!"', "name must be at most 50 .*; got 'Grids!'"),
        ('benchmark = "sudoku_4x5"', "Did you mean 'sudoku_4x4'"),
        ('version = "9.0.0"', "has no version 9.0.0; there is 1.0.0"),
        ('source = "sklearn_digit"', "Did you mean 'sklearn_digits'"),
        ('size = "smal"', "Did you mean 'small'"),
        ('shifts = ["rotate9O"]', "Did you mean 'rotate90'"),
        ('shifts = "rotate90"', "shifts must be a list of different shifts; got 'rotate90'"),
        ('shifts = ["standard"]', "shifts must not include 'standard'"),
        ('shifts = ["rotate:90"]', "write 'rotate90' instead of"),
        ("percents = [0, 50, 50]", "percents must be .* different numbers between 0 and 100"),
        *(
            (f"percents = [{share}]", r"percents\[0\] must be a number between 0 and 100")
            for share in (150, -5, "nan")
        ),
        ("percents = []", "percents must be"),
        ("repeats = 0", "repeats must be a whole number between 1 and 1000; got 0"),
        ("seed = 1.5", "seed must be a whole number of 0 or more; got 1.5"),
        ('paper = "x"', "paper must be .*; got 'x'"),
        ('paper = { rotate90 = "rotate91" }', "published shift .* Did you mean 'rotate90'"),
        ('paper = { rotate9 = "rotate90" }', "shift in paper 'rotate9'"),
        ("repeats = 1001", "repeats must be"),
        ("repeats = true", "repeats must be .*; got true"),
        ("same_images = 1", "same_images must be true or false; got 1"),
        ("version = 1979-05-27", "version must be a string"),
        ("percnts = [0]", "'percnts'. Did you mean 'percents'"),
    ],
)
def test_a_wrong_key_gets_a_sentence(tmp_path: Path, line: str, sentence: str) -> None:
    key = line.partition(" ")[0]
    kept = [old for old in CONTEST.splitlines() if not old.startswith(f"{key} ")]
    (tmp_path / "board.toml").write_text("\n".join([*kept, line]))
    with pytest.raises(UserError, match=rf"board\.toml, contest 1.*{sentence}"):
        read_contests(tmp_path / "board.toml")


def test_a_missing_key_gets_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "board.toml").write_text(CONTEST)
    assert len(read_contests(tmp_path / "board.toml")) == 1
    (tmp_path / "board.toml").write_text(CONTEST.replace("repeats = 2", ""))
    with pytest.raises(UserError, match=r"board\.toml, contest 1: repeats is missing; it must be a whole"):
        read_contests(tmp_path / "board.toml")


def test_a_board_is_read_where_its_images_are_not(tmp_path: Path) -> None:
    text = CONTEST.replace('"sklearn_digits"', f'"mnist:{tmp_path / "nowhere"}"')
    (tmp_path / "board.toml").write_text(text)
    assert read_contests(tmp_path / "board.toml")[0].source.endswith("nowhere")


def test_what_is_missing_is_said_a_contest_and_network() -> None:
    (grids,) = [one for one in read_contests() if one.name == "sudoku_4x4"]
    cells = grids.cells_of("pretrained")
    assert incomplete([(grids, "softmax", cell) for cell in cells], "pretrained") == []
    (said,) = incomplete([(grids, "softmax", cell) for cell in cells[2:]], "pretrained")
    runs = len(cells)
    assert said == f"sudoku_4x4 with softmax: 2 of {runs} runs are missing: 0 % repeat 1, 0 % repeat 2."
    several = incomplete([(grids, name, cells[0]) for name in ("softmax", "edl_gen")], "pretrained")
    assert len(several) == 2
    assert all(f"{runs - 1} of {runs}" in one and f"and {runs - 6} more" in one for one in several)
