"""The board's commands: ``nsl-bench submit``, ``score-submission`` and ``leaderboard``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from nsl_bench.cli import Command
from nsl_bench.cli.board_options import (
    BOARD,
    FILE,
    FOLDER,
    SUBMISSIONS,
    TRACK,
    Progress,
    about_options,
    line,
    out_option,
    seconds,
    writing,
)
from nsl_bench.cli.rounds import enter, rerun, reveal, run_entry, seal, verify_round


@click.command(
    cls=Command,
    examples=[
        'nsl-bench submit results/ --learner ffnsl --name "FFNSL" --licence CC-BY-4.0 --out submission/',
        'nsl-bench submit results/ --name "My method" --licence MIT --authors "A. Author" '
        "--url https://example.org --out submission/",
    ],
)
@click.argument("results", type=click.Path(path_type=Path))
@about_options()
@click.option("--learner", help="Learner to submit, if the results contain several.")
@click.option("--track", type=TRACK, help="Track to submit, if the results contain several.")
@click.option(
    "--tuning-trials",
    type=click.IntRange(0, 1_000_000),
    help="Number of settings tried when tuning the learner. Default: as recorded in the runs.",
)
@click.option("--out", required=True, type=click.Path(path_type=Path), help="Folder to create.")
@BOARD
def submit(results: Path, out: Path, **options: Any) -> None:
    """Create a leaderboard submission from one learner's RESULTS.

    A submission has predictions, rules, job descriptions and versions, but no scores. `nsl-bench score-
    submission` computes the scores.
    """
    from nsl_bench.leaderboard.interface import submit as write

    made = write(results, out, **options)
    for contest, count in made.runs.items():
        click.echo(f"{contest}: {count} runs")
    if made.left_out:
        click.echo(f"{made.left_out} runs belong to no contest of the board and are left out.", err=True)
    check = line("score-submission", out, board=options["board"])
    click.echo(f"The submission of {made.manifest.name} is in {out}. Check it with: {check}")


@click.command(
    "score-submission",
    cls=Command,
    examples=[
        "nsl-bench score-submission submission/",
        "nsl-bench score-submission submission.zip --comment comment.md",
        "nsl-bench score-submission submission/ --accept leaderboard/submissions",
    ],
)
@click.argument("submission", type=click.Path(path_type=Path))
@click.option("--scores", type=FILE, help="Write the scores to this file.")
@click.option("--comment", "comment_file", type=FILE, help="Also write the Markdown comment to this file.")
@click.option(
    "--accept",
    type=FOLDER,
    help="Folder of accepted submissions. An accepted submission is copied there with its scores.",
)
@click.option(
    "--solver-seconds",
    default=60.0,
    show_default=True,
    type=click.FloatRange(1, 24 * 3600),
    callback=seconds,
    help="Time limit in seconds for the rules of one run.",
)
@click.option(
    "--time-limit",
    default=3600.0,
    show_default=True,
    type=click.FloatRange(1, 7 * 24 * 3600),
    callback=seconds,
    help="Time limit in seconds for all checks and scores.",
)
@click.option(
    "--memory-limit",
    default="4G",
    show_default=True,
    help="Memory limit for all checks and scores, e.g. 512M or 4G.",
)
@BOARD
def score_submission(
    submission: Path,
    scores: Path | None,
    comment_file: Path | None,
    accept: Path | None,
    solver_seconds: float,
    time_limit: float,
    memory_limit: str,
    board: Path,
) -> int:
    """Check SUBMISSION (a folder or a zip file) and recompute every score.

    Prints a Markdown comment, and progress on standard error. Exit code 0: accepted. Exit code 1: not
    accepted, for the reason in the comment. Exit code 2: wrong usage.
    """
    from nsl_bench.leaderboard.accepted import said_of
    from nsl_bench.leaderboard.interface import accept_submission
    from nsl_bench.leaderboard.interface import score_submission as score
    from nsl_bench.leaderboard.safe_files import Limits
    from nsl_bench.leaderboard.score_report import comment, write_scores
    from nsl_bench.sandbox.limits import memory_size

    limits = Limits(solver_seconds=solver_seconds, seconds=time_limit, memory=memory_size(memory_limit))
    report = score(submission, limits=limits, board=board, accepted=accept, heard=Progress())
    text = comment(report)
    click.echo(text, nl=False)
    if comment_file is not None:
        with writing("--comment", comment_file):
            comment_file.write_text(text, encoding="utf-8")
    if not report.accepted:
        return 1
    if scores is not None:
        write_scores(report, scores)
    if accept is not None:
        place = accept_submission(submission, accept, report=report, board=board)
        click.echo(said_of(place), err=True)
    return 0


class _Group(Command, click.Group):
    """A command with sub-commands, whose help ends with examples, too."""


@click.group(
    cls=_Group,
    examples=["nsl-bench leaderboard contests", "nsl-bench leaderboard build --out site/"],
    context_settings={"help_option_names": ["-h", "--help"]},
)
def leaderboard() -> None:
    """The leaderboard: contests, sealed rounds, and the static site of accepted submissions."""


for _command in (seal, enter, run_entry, reveal, verify_round, rerun):
    leaderboard.add_command(_command)


@leaderboard.command(cls=Command, examples=["nsl-bench leaderboard contests --learner my.py:MyLearner"])
@click.option("--learner", default="LEARNER", help="Learner to put in the commands.")
@click.option("--network", default="softmax", show_default=True, help="Network to put in the commands.")
@click.option("--out", default="results/", show_default=True, help="Results folder to put in the commands.")
@BOARD
def contests(learner: str, network: str, out: str, board: Path) -> None:
    """Print the contests and the commands that run a learner on them."""
    from nsl_bench.leaderboard.contests import read_contests

    for contest in read_contests(board):
        click.echo(f"# {contest.name}: {len(contest.cells)} runs")
        click.echo(contest.command(learner, network=network, out=out))


@leaderboard.command(
    cls=Command,
    examples=[
        "nsl-bench leaderboard build --out site/",
        "nsl-bench leaderboard build --submissions leaderboard/submissions --no-pictures --out site/",
    ],
)
@out_option("Folder of the site.")
@SUBMISSIONS
@click.option(
    "--pictures/--no-pictures",
    default=True,
    show_default=True,
    help="Also write every chart as PNG, SVG and PDF; pages without scripts show the SVG.",
)
@BOARD
def build(out: Path, submissions: Path, pictures: bool, board: Path) -> None:
    """Build the static site of all accepted submissions. It works from any folder or static host."""
    from nsl_bench.leaderboard.interface import build_site

    made = build_site(out, submissions=submissions, board=board, pictures=pictures)
    click.echo(f"{made.entries} entries, {made.runs:,} runs: {made.files} files in {made.folder}.")


@leaderboard.command(
    cls=Command,
    examples=[
        "nsl-bench leaderboard rescore",
        "nsl-bench leaderboard rescore ffnsl majority --submissions leaderboard/submissions",
    ],
)
@click.argument("names", nargs=-1)
@SUBMISSIONS
@BOARD
def rescore(names: tuple[str, ...], submissions: Path, board: Path) -> int:
    """Score accepted submissions again: all of them, or those in the folders NAMES.

    Exit code 1 if a submission is no longer accepted; its scores are then kept.
    """
    from nsl_bench.leaderboard.accepted import scored_folders
    from nsl_bench.leaderboard.contests import read_contests
    from nsl_bench.leaderboard.rounds.model import read_rounds
    from nsl_bench.leaderboard.score_report import SCORES, comment, write_scores
    from nsl_bench.leaderboard.scoring import score

    contests, rounds = read_contests(board), read_rounds(board)
    refused = 0
    for folder in scored_folders(submissions, names):
        report = score(folder, contests, heard=Progress(), rounds=rounds)
        if report.accepted:
            write_scores(report, folder / SCORES)
            click.echo(f"{folder.name}: {len(report.runs)} runs scored.")
        else:
            refused += 1
            click.echo(comment(report), nl=False)
    return int(refused > 0)
