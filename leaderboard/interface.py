"""The leaderboard from Python: create a submission, score it, put it on a board, build the site."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from nsl_bench.core.errors import UserError
from nsl_bench.core.tracks import Track

from .accepted import SUBMISSIONS
from .contests import BOARD, read_contests
from .safe_files import LIMITS, Limits
from .score_report import ScoreReport
from .submission import Manifest


@dataclass(frozen=True)
class Submission:
    """A new submission.

    Attributes:
        folder: its folder.
        manifest: who submits what.
        runs: number of runs by contest.
        left_out: number of runs that belong to no contest of the board.
    """

    folder: Path
    manifest: Manifest
    runs: dict[str, int]
    left_out: int


@dataclass(frozen=True)
class Site:
    """A new site.

    Attributes:
        folder: its folder.
        entries: number of table rows.
        runs: number of scored runs.
        files: number of files.
    """

    folder: Path
    entries: int
    runs: int
    files: int


def today() -> str:
    """The date in UTC, ISO 8601."""
    return datetime.now(UTC).date().isoformat()


def submit(
    results: str | Path | Any,
    out: str | Path,
    *,
    name: str,
    licence: str,
    learner: str | None = None,
    track: Track | None = None,
    authors: str = "",
    description: str = "",
    url: str = "",
    date: str | None = None,
    tuning_trials: int | None = None,
    board: str | Path | None = None,
    notify: Callable[[str], None] | None = None,
) -> Submission:
    """Create a leaderboard submission from one learner's runs.

    A submission has predictions, rules, job descriptions and versions, but no scores. `score_submission`
    computes the scores.

    Args:
        results: a results folder, or `nsl_bench.Results` of one.
        out: folder to create; it must be new or empty.
        name: name on the board.
        licence: licence of the submission, e.g. ``"CC-BY-4.0"``.
        learner: learner to submit, if the results contain several.
        track: track to submit, if the results contain several.
        authors: the authors.
        description: one sentence on the learner.
        url: address of the paper or code.
        date: ISO 8601; today by default.
        tuning_trials: number of settings tried when tuning the learner; by default as recorded in the runs.
        board: the board's file; the built-in one by default.
        notify: called before anything is written with a sentence for each incomplete contest and network; by
            default these go to standard error. The board takes whole contests only.

    Raises:
        UserError: no run belongs to a contest, runs of several learners, or invalid names.
    """
    from nsl_bench.run.store import Store

    from .reading import read_manifest
    from .safe_files import opened
    from .submission import write_submission

    place = Path(out)
    folder = results if isinstance(results, str | Path) else results.folder
    manifest, counts, outside = write_submission(
        Store(Path(folder), must_exist=True),
        place,
        read_contests(Path(board) if board else BOARD),
        name=name,
        licence=licence,
        learner=learner,
        track=track,
        authors=authors,
        description=description,
        url=url,
        date=date or today(),
        tuning_trials=tuning_trials,
        notify=notify or _note,
    )
    with opened(place) as made:
        read_manifest(made)
    return Submission(place, manifest, counts, outside)


def _note(sentence: str) -> None:
    print(f"Note: {sentence} The board takes whole contests only.", file=sys.stderr)


def score_submission(
    submission: str | Path,
    *,
    limits: Limits = LIMITS,
    board: str | Path | None = None,
    accepted: str | Path | None = None,
    notify: Callable[[str], None] | None = None,
) -> ScoreReport:
    """Check a submission and recompute every score, in a separate process.

    Args:
        submission: a folder or a zip file.
        limits: resource limits.
        board: the board's file; the built-in one by default.
        accepted: folder of accepted submissions, whose names are taken and whose predictions are compared;
            the built-in one for the built-in board.
        notify: called with a sentence before each step that may take long.

    Returns:
        The scored runs, or the reasons why the submission is not accepted.

    Raises:
        UserError: the path does not exist.
    """
    from .accepted import with_name
    from .rounds.model import read_rounds
    from .scoring import score
    from .standing import standing_of

    file = Path(board) if board else BOARD
    rounds = read_rounds(file)
    report = score(Path(submission), read_contests(file), limits, notify, rounds=rounds)
    if report.accepted:
        report = with_name(report, Path(accepted) if accepted else None)
    if report.manifest is not None and report.runs:
        notes = (
            () if file != BOARD and not accepted else _resembled(report, Path(accepted or SUBMISSIONS), file)
        )
        standing = f"{standing_of(report.manifest, rounds)}."
        report = replace(report, notes=(*report.notes, *notes), standing=standing)
    return report


def _resembled(report: ScoreReport, accepted: Path, board: Path) -> list[str]:
    """The notes on accepted submissions with nearly the same predictions; none where no board is."""
    from .accepted import place_in
    from .board import read_board
    from .likeness import nearly_equal

    assert report.manifest is not None
    with contextlib.suppress(UserError):
        return nearly_equal(report, read_board(accepted, board), place_in(accepted, report.manifest).name)
    return []


def accept_submission(
    submission: str | Path,
    accepted: str | Path,
    *,
    report: ScoreReport | None = None,
    limits: Limits = LIMITS,
    board: str | Path | None = None,
    notify: Callable[[str], None] | None = None,
) -> Path:
    """Put a submission on a board: copy it, with its scores, into the folder of accepted submissions.

    `build_site` makes the board's pages from that folder. A submission to a sealed round is added to the
    round's entries and gets its scores when the round is revealed.

    Args:
        submission: a folder or a zip file.
        accepted: folder of accepted submissions; created if it does not exist.
        report: the report from `score_submission`, if the submission is already scored; otherwise it is
            scored first.
        limits: resource limits of the scoring.
        board: the board's file; the built-in one by default.
        notify: called with a sentence before each step that may take long.

    Returns:
        The submission's new folder.

    Raises:
        UserError: the submission is not accepted, changed since it was scored, or has the name of another
            submission; or the folder cannot be written.
    """
    from .accepted import put, take
    from .rounds.model import read_rounds

    sent, folder, file = Path(submission), Path(accepted), Path(board) if board else BOARD
    if report is None:
        report = score_submission(sent, limits=limits, board=file, accepted=folder, notify=notify)
    if not report.accepted or report.manifest is None:
        raise UserError(f"The submission {sent} is not accepted: {' '.join(report.problems)}")
    if report.manifest.round in {round_.name for round_ in read_rounds(file) if not round_.is_revealed}:
        return take(report, sent, folder, "predictions", file)
    return put(report, sent, folder)


def build_site(
    out: str | Path,
    *,
    submissions: str | Path | None = None,
    board: str | Path | None = None,
    pictures: bool = True,
    workers: int | None = None,
) -> Site:
    """Build the static site of all accepted submissions. It works from any folder or static host.

    Args:
        out: folder of the site; an older site there is replaced at the end.
        submissions: folder of accepted submissions; the built-in one by default.
        board: the board's file; the built-in one by default.
        pictures: whether to draw every chart as PNG, SVG and PDF; pages without scripts show the SVG.
        workers: number of processes; one per processor core by default. The site does not depend on it.

    Raises:
        UserError: the folder contains something else or cannot be written, or a submission cannot be read.
    """
    from .board import read_board
    from .site.build import build_site as write

    whole = read_board(Path(submissions) if submissions else SUBMISSIONS, Path(board) if board else BOARD)
    files = write(whole, Path(out), pictures=pictures, workers=workers or os.cpu_count() or 1)
    return Site(Path(out), len(whole.entries), whole.n_runs, files)
