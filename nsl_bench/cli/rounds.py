"""The commands of sealed rounds, and ``nsl-bench leaderboard rerun``."""

from __future__ import annotations

import itertools
import secrets
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click

from nsl_bench.cli import problems_found
from nsl_bench.cli.board_options import (
    BUILT_IN,
    TRACKS,
    Board,
    Contests,
    Device,
    Jobs,
    Progress,
    Submissions,
    about_options,
    line,
)
from nsl_bench.cli.declared import FILE, FOLDER, OLD_FILE, OLD_FOLDER, WHOLE, declared
from nsl_bench.cli.grid import data_seed_option, percentages
from nsl_bench.cli.running import limit_options, limits_of, say
from nsl_bench.core.errors import UserError, counted
from nsl_bench.core.tracks import Track

if TYPE_CHECKING:
    from nsl_bench.leaderboard.rounds.model import Round
    from nsl_bench.sandbox.sealing import DataSeed


@declared()
def seal(
    name: str,
    *,
    seed_file: Annotated[
        Path,
        "--data-seed-file",
        "File to create for the secret seed. Anyone who reads it knows the answers.",
        FILE,
    ],
    names: Contests = (),
    percents: Annotated[
        tuple[float, ...],
        "--shares",
        "--percents",
        "Shares of shifted examples, instead of those of the contests.",
        percentages,
    ] = (),
    repeats: Annotated[
        int | None, "Number of train splits, instead of that of the contests.", click.IntRange(1, 1000)
    ] = None,
    network: Annotated[str, "Network whose probabilities entrants get."] = "softmax",
    device: Device = "auto",
    out: Annotated[Path, "Folder to create for entrants.", FOLDER],
    board: Board = BUILT_IN,
) -> None:
    """Seal a round: draw a secret seed, publish its commitment, and create the entrants' package."""
    from nsl_bench.leaderboard.contests import read_contests
    from nsl_bench.leaderboard.interface import today
    from nsl_bench.leaderboard.rounds.model import folder_of
    from nsl_bench.leaderboard.rounds.seal import Files, chosen
    from nsl_bench.leaderboard.rounds.seal import seal as sealed

    contests = chosen(read_contests(board), names, percents, repeats)
    round_ = sealed(
        name,
        contests,
        Files(board, seed_file, out),
        network=network,
        date=today(),
        device=device,
        notify=Progress(),
    )
    runs = sum(len(contest.cells) for contest in contests)
    counts = f"{counted(len(contests), 'contest')}, {counted(runs, 'run')}"
    click.echo(f"The round {name} is sealed: {counts}.")
    click.echo(f"Publish {folder_of(board) / name}.json (commitment {round_.commitment[:12]}...) and {out}.")
    reveals = line("leaderboard", "reveal", name, **{"data-seed-file": seed_file}, board=board)
    click.echo(f"Keep {seed_file} secret until you reveal the round with: {reveals}")


@declared()
@about_options()
def enter(
    package: Annotated[Path, OLD_FOLDER],
    *,
    learner: Annotated[str | None, "Name of the learner in the runs. Default: --name."] = None,
    track: Annotated[Track, "Track (supervision) that the learner used.", TRACKS] = "pretrained",
    out: Annotated[Path, "Folder to create.", FOLDER],
    **words: Any,
) -> None:
    """Create a submission to a sealed round from the answers in the folders of PACKAGE.

    Each folder has train and test examples. Put predictions.parquet beside them, and learned rules as
    hypothesis.lp (docs/add-a-learner.md, "Predictions made elsewhere").
    """
    from nsl_bench.leaderboard.interface import today
    from nsl_bench.leaderboard.rounds.entry import enter as entered
    from nsl_bench.leaderboard.submission import slug

    name = learner or slug(words["name"])
    manifest, counts = entered(package, out, {**words, "learner": name, "track": track, "date": today()})
    for contest, count in counts.items():
        click.echo(f"{contest}: {counted(count, 'run')}")
    click.echo(f"The submission of {manifest.name} to the round {manifest.round} is in {out}.")


def _seed(round_: Round, given: DataSeed | None, file: Path) -> DataSeed:
    """The seed of a round: the given one, or the revealed one."""
    from nsl_bench.sandbox.sealing import DataSeed

    if given is not None:
        return given
    if not round_.is_revealed:
        raise UserError(f"The round {round_.name} is not revealed yet; give its seed with --data-seed-file.")
    return DataSeed(round_.secret, file)


@declared()
@about_options(required=False)
@data_seed_option
@limit_options
@click.argument("round_name", metavar="NAME")
def run_entry(
    round_name: str,
    *,
    learner: Annotated[str | None, "Learner: name, module:Class or file.py:Class."] = None,
    learner_command: Annotated[str | None, "Learner as a command in any language, or TRACK=COMMAND."] = None,
    network: Annotated[str, "Perception network. Default: that of the round."] = "",
    track: Annotated[str, click.Choice(["own", "symbolic"])] = "own",
    names: Contests = (),
    device: Device = "auto",
    jobs: Jobs = 1,
    out: Annotated[Path, "Results folder. An existing one is resumed.", FOLDER],
    accept: Annotated[
        Path | None, "Folder of accepted submissions. The entry is copied there.", FOLDER
    ] = None,
    board: Board = BUILT_IN,
    data_seed: DataSeed | None,
    **options: Any,
) -> int:
    """Run a learner in the sandbox on the sealed data of the round NAME, and create a submission from it."""
    from nsl_bench.leaderboard.accepted import SUBMISSIONS as ACCEPTED
    from nsl_bench.leaderboard.interface import today
    from nsl_bench.leaderboard.rounds.entry import Learner, run_learner
    from nsl_bench.leaderboard.rounds.model import folder_of, read_round
    from nsl_bench.learners.command import spec_of
    from nsl_bench.run.bench import Bench
    from nsl_bench.run.store import Store
    from nsl_bench.run.sweep import Executor
    from nsl_bench.sandbox.host import about
    from nsl_bench.sandbox.sealing import check_limits

    round_ = read_round(round_name, board)
    if (learner_command is None) == (learner is None):
        raise UserError("Name the learner with --learner or --learner-command.")
    seed = _seed(round_, data_seed, folder_of(board) / f"{round_name}.json")
    secret = [path for path in (out, data_seed and data_seed.file, accept, ACCEPTED) if path]
    limits = check_limits(limits_of(options, secret))
    spec = learner or spec_of(learner_command or "")
    if accept is not None and round_.is_revealed:
        raise UserError(f"The round {round_name} is already revealed and takes no more entries.")
    if len({value is None for value in (accept, options["name"], options["licence"])}) > 1:
        raise UserError("--accept, --name and --licence must be given together.")
    store = Store(out)
    tally = run_learner(
        round_,
        Learner(spec, network, track == "symbolic", names),
        seed,
        store,
        Bench(device, limits=limits),
        partial(about, limits=limits),
        executor=Executor(jobs),
        on_failure=say,
    )
    click.echo(f"{tally}; results in {out}.")
    if accept is None:
        return tally.exit_code
    words = {**options, "learner": spec, "date": today()}
    return _take(round_, store, accept, board, words)


def _take(round_: Round, store: Any, accept: Path, board: Path, words: dict[str, Any]) -> int:
    """Make a submission of a learner's runs and take it; 1 if it cannot be taken."""
    from nsl_bench.leaderboard.accepted import said_of, take, with_name
    from nsl_bench.leaderboard.score_report import comment
    from nsl_bench.leaderboard.scoring import score
    from nsl_bench.leaderboard.submission import write_submission

    with tempfile.TemporaryDirectory(prefix="nsl-bench-") as beside:
        out = Path(beside, "submission")
        write_submission(store, out, round_.board_contests("code"), **words)
        report = score(out, (), notify=Progress(), rounds=(round_,), by="code")
        if report.accepted:
            report = with_name(report, accept)
        click.echo(comment(report), nl=False)
        if not report.accepted:
            return 1
        place = take(report, out, accept, "code", board)
    click.echo(said_of(place), err=True)
    return 0


@declared()
@data_seed_option
def reveal(
    name: str, *, data_seed: DataSeed | None, submissions: Submissions = BUILT_IN, board: Board = BUILT_IN
) -> int:
    """Publish the seed of the round NAME, and score its entries.

    Run the same command again to score entries without scores. Exit code 1 if an entry could not be scored.
    """
    from nsl_bench.leaderboard.interface import today
    from nsl_bench.leaderboard.rounds.model import folder_of, read_round
    from nsl_bench.leaderboard.rounds.reveal import reveal as revealed
    from nsl_bench.leaderboard.rounds.reveal import score_entries
    from nsl_bench.leaderboard.safe_files import LIMITS

    round_ = read_round(name, board)
    seed = _seed(round_, data_seed, folder_of(board) / f"{name}.json")
    round_ = revealed(round_, seed, board, today(), submissions)
    click.echo(f"The round {name} is revealed: {counted(len(round_.entries), 'entry', 'entries')}.")
    failed = 0
    for entry, report in score_entries(round_, submissions, LIMITS, Progress()):
        failed += not report.accepted
        scored = f"{counted(len(report.runs), 'run')} scored"
        what = scored if report.accepted else f"not scored: {report.problems[0]}"
        click.echo(f"{entry.name} ({entry.by}): {what}")
    check = line("leaderboard", "verify-round", name, submissions=submissions, board=board)
    click.echo(f"Anyone can check it with: {check}")
    return 1 if failed else 0


@declared()
def verify_round(
    name: str,
    *,
    submissions: Submissions = BUILT_IN,
    package: Annotated[
        Path | None, "Package that entrants received. Check that it matches the round's file.", OLD_FOLDER
    ] = None,
    receipts: Annotated[
        tuple[Path, ...],
        "--receipt",
        "Receipt of an entry, or an earlier copy of the round's file: check that no entry was added, "
        "dropped, moved or altered since. Repeatable.",
        OLD_FILE,
    ] = (),
    board: Board = BUILT_IN,
) -> int:
    """Check the revealed round NAME with public files only: commitment, data, entries and all scores.

    Before the reveal, --package and --receipt can be checked.

    Exit code 0 if no problems were found, 1 otherwise.
    """
    from nsl_bench.leaderboard.rounds.model import read_round
    from nsl_bench.leaderboard.rounds.reveal import check_chain, check_package, check_receipt, verify
    from nsl_bench.leaderboard.safe_files import LIMITS

    round_ = read_round(name, board)
    checks = [check_receipt(round_, receipt) for receipt in receipts]
    if package is not None:
        checks.append(check_package(round_, package))
    if round_.is_revealed or not checks:
        checks.append(verify(round_, submissions, LIMITS, Progress()))
    elif receipts:
        checks.append(iter([check_chain(round_)]))
    wrong = 0
    for finding in itertools.chain(*checks):
        wrong += bool(finding.wrong)
        click.echo(finding)
    click.echo(problems_found(wrong))
    return 1 if wrong else 0


_BETWEEN_PROCESSORS = 0.025
"""The greatest difference of a metric in docs/results/processors.md."""


@declared()
@limit_options
def rerun(
    submission: Annotated[Path, OLD_FOLDER],
    *,
    runs: Annotated[int, "Number of runs to repeat.", WHOLE] = 3,
    seed: Annotated[int | None, "Seed of the sample. Default: unpredictable.", click.IntRange(0)] = None,
    tolerance: Annotated[
        float,
        "Largest accepted difference of numbers, and of the share of labels that differ.",
        click.FloatRange(0, 1),
    ] = 2 * _BETWEEN_PROCESSORS,
    learner: Annotated[
        str | None, "Learner to run instead of the submission's, e.g. the submitter's file.py:Class."
    ] = None,
    device: Device = "auto",
    board: Board = BUILT_IN,
    **options: Any,
) -> int:
    """Repeat a random sample of the runs of an accepted SUBMISSION and compare the results.

    The outcome is kept beside the scores and shown on the site. Exit code 1 if results differ.
    """
    from nsl_bench.leaderboard.accepted import SUBMISSIONS as ACCEPTED
    from nsl_bench.leaderboard.contests import read_contests
    from nsl_bench.leaderboard.rerun import Sample, again, write_again
    from nsl_bench.leaderboard.rounds.model import read_rounds
    from nsl_bench.run.bench import Bench
    from nsl_bench.sandbox.host import about

    limits = limits_of(options, [submission, ACCEPTED])
    if limits is None:
        raise UserError("Submitted learners run only in the sandbox; leave out --isolation none.")
    result = again(
        submission,
        read_contests(board),
        read_rounds(board),
        Sample(runs, secrets.randbelow(1 << 32) if seed is None else seed, tolerance),
        Bench(device, limits=limits),
        partial(about, limits=limits),
        learner=learner,
        notify=Progress(),
    )
    write_again(result, submission)
    click.echo(f"{'Verified' if result.same else 'Not verified'}: {result.sentence()}.")
    return 0 if result.same else 1
