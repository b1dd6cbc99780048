"""The board's commands: ``nsl-bench submit``, ``score-submission`` and ``leaderboard``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import click

from nsl_bench.cli import Command
from nsl_bench.cli.board_options import BUILT_IN, TRACKS, Board, Progress, Submissions, about_options, line
from nsl_bench.cli.declared import FILE, FOLDER, declared
from nsl_bench.cli.rounds import enter, rerun, reveal, run_entry, seal, verify_round
from nsl_bench.core.errors import counted, refusing
from nsl_bench.core.tracks import Track


@declared()
@about_options()
def submit(
    results: Path,
    *,
    learner: Annotated[str | None, "Learner to submit, if the results contain several."] = None,
    track: Annotated[Track | None, "Track to submit, if the results contain several.", TRACKS] = None,
    tuning_trials: Annotated[
        int | None,
        "Number of settings tried when tuning the learner. Default: as recorded in the runs.",
        click.IntRange(0, 1_000_000),
    ] = None,
    out: Annotated[Path, "Folder to create."],
    board: Board = BUILT_IN,
    **words: Any,
) -> None:
    """Create a leaderboard submission from one learner's RESULTS.

    A submission has predictions, rules, job descriptions and versions, but no scores. `nsl-bench score-
    submission` computes the scores.
    """
    from nsl_bench.leaderboard.interface import submit as write

    entry = write(
        results, out, learner=learner, track=track, tuning_trials=tuning_trials, board=board, **words
    )
    for contest, count in entry.runs.items():
        click.echo(f"{contest}: {counted(count, 'run')}")
    if entry.left_out:
        outside = counted(entry.left_out, "run belongs", "runs belong")
        click.echo(f"{outside} to no contest of the board; left out.", err=True)
    check = line("score-submission", out, board=board)
    click.echo(f"The submission of {entry.manifest.name} is in {out}. Check it with: {check}")


@declared()
def score_submission(
    submission: Path,
    *,
    scores: Annotated[Path | None, "Write the scores to this file.", FILE] = None,
    comment_file: Annotated[
        Path | None, "--comment", "Also write the Markdown comment to this file.", FILE
    ] = None,
    accept: Annotated[
        Path | None,
        "Folder of accepted submissions. An accepted submission is copied there with its scores.",
        FOLDER,
    ] = None,
    solver_seconds: Annotated[
        float, "Time limit in seconds for the rules of one run.", click.FloatRange(1, 24 * 3600)
    ] = 60.0,
    time_limit: Annotated[
        float, "Time limit in seconds for all checks and scores.", click.FloatRange(1, 7 * 24 * 3600)
    ] = 3600.0,
    memory_limit: Annotated[str, "Memory limit for all checks and scores, e.g. 512M or 4G."] = "4G",
    board: Board = BUILT_IN,
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
    report = score(submission, limits=limits, board=board, accepted=accept, notify=Progress())
    text = comment(report)
    click.echo(text, nl=False)
    if comment_file is not None:
        with refusing(f"--comment: {comment_file} cannot be written"):
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


@declared()
def contests(
    *,
    learner: Annotated[str, "Learner to put in the commands."] = "LEARNER",
    network: Annotated[str, "Network to put in the commands."] = "softmax",
    out: Annotated[str, "Results folder to put in the commands."] = "results/",
    board: Board = BUILT_IN,
) -> None:
    """Print the contests and the commands that run a learner on them."""
    from nsl_bench.leaderboard.contests import read_contests

    for contest in read_contests(board):
        click.echo(f"# {contest.name}: {counted(len(contest.cells), 'run')}")
        click.echo(contest.command(learner, network=network, out=out))


@declared()
def build(
    *,
    out: Annotated[Path, "Folder of the site.", FOLDER],
    submissions: Submissions = BUILT_IN,
    pictures: Annotated[
        bool,
        "--pictures/--no-pictures",
        "Also write every chart as PNG, SVG and PDF; pages without scripts show the SVG.",
    ] = True,
    board: Board = BUILT_IN,
) -> None:
    """Build the static site of all accepted submissions. It works from any folder or static host."""
    from nsl_bench.leaderboard.interface import build_site

    site = build_site(out, submissions=submissions, board=board, pictures=pictures)
    counts = f"{counted(site.entries, 'entry', 'entries')}, {counted(site.runs, 'run')}"
    click.echo(f"{counts}: {counted(site.files, 'file')} in {site.folder}.")


@declared()
def rescore(
    names: tuple[str, ...] = (), *, submissions: Submissions = BUILT_IN, board: Board = BUILT_IN
) -> int:
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
        report = score(folder, contests, notify=Progress(), rounds=rounds)
        if report.accepted:
            write_scores(report, folder / SCORES)
            click.echo(f"{folder.name}: {counted(len(report.runs), 'run')} scored.")
        else:
            refused += 1
            click.echo(comment(report), nl=False)
    return int(refused > 0)


for _command in (seal, enter, run_entry, reveal, verify_round, rerun, contests, build, rescore):
    leaderboard.add_command(_command)
