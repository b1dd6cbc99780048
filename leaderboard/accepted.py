"""The folder of accepted submissions: add a submission, find those with scores, compare names."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from nsl_bench import cache
from nsl_bench.errors import UserError, unknown

from .names import skeleton
from .reading import read_manifest
from .rounds.model import By, Taken, folder_of, manifest_digest, read_round, write_round
from .safe_files import opened
from .score_report import SCORES, ScoreReport, write_scores
from .submission import MANIFEST, Manifest, place_of

__all__ = ["SUBMISSIONS", "place_in", "put", "scored_folders", "take", "with_name"]

SUBMISSIONS = Path(__file__).parent / "submissions"
"""The accepted submissions that are part of the repository."""


def place_in(folder: Path, manifest: Manifest) -> Path:
    """The folder for a submission. One name may be used in the public contests and in each sealed round."""
    place = place_of(manifest.name)
    return folder / (f"{manifest.round}--{place}" if manifest.round else place)


def put(report: ScoreReport, submission: Path, folder: Path) -> Path:
    """Copy an accepted submission, with its scores if it has any, into a folder of accepted submissions.

    Args:
        report: the report on the submission, which accepted it.
        submission: its folder or zip file.
        folder: folder of accepted submissions; created if it does not exist.

    Returns:
        The submission's new folder.

    Raises:
        UserError: a submission of that name exists, the submission changed since it was scored, or the folder
            cannot be written.
    """
    manifest = report.manifest
    assert manifest is not None
    place = place_in(folder, manifest)
    if place.exists():
        raise UserError(f"--accept: the submission {place} already exists; remove it first to replace it.")
    try:
        with opened(submission) as sent:
            if read_manifest(sent) != manifest:
                raise UserError(
                    f"--accept: {submission} is not the submission that was scored; score it again."
                )
            place.mkdir(parents=True)
            for name in manifest.files:
                shutil.copyfile(sent / name, place / name)
            (place / MANIFEST).write_text(manifest.to_json(), encoding="utf-8")
    except OSError as error:
        raise UserError(f"--accept: {place} cannot be written: {error.strerror}.") from error
    if report.runs:
        write_scores(report, place / SCORES)
    return place


def take(report: ScoreReport, submission: Path, folder: Path, by: By, board: Path) -> Path:
    """Copy a submission to a sealed round like `put`, and add it to the round's file.

    Args:
        report: the report on the submission, which accepted it.
        submission: its folder or zip file.
        folder: folder of accepted submissions.
        by: what the round took: ``"predictions"`` or ``"code"``.
        board: the board's file, beside which the rounds are.

    Returns:
        The submission's new folder.

    Raises:
        UserError: an entry of that name exists, the round was revealed meanwhile, or a file cannot be
            written.
    """
    manifest = report.manifest
    assert manifest is not None
    with cache.lock(folder_of(board) / f"{manifest.round}.json"):
        found = read_round(manifest.round, board)  # others may have been taken while this one was scored
        if found.is_revealed:
            raise UserError(
                f"--accept: the round {found.name} is already revealed and takes no more entries."
            )
        if place_in(folder, manifest).name in {entry.folder for entry in found.entries}:
            raise UserError(f"--accept: the round {found.name} already has an entry {report.name}.")
        place = put(report, submission, folder)
        entry = Taken(manifest.name, place.name, by, manifest_digest(manifest))
        write_round(replace(found, entries=(*found.entries, entry)), board)
    return place


def scored_folders(folder: Path, names: Sequence[str] = ()) -> list[Path]:
    """The folders of accepted submissions that have scores: all of them, or those with some names.

    Raises:
        UserError: an unknown name, or no scored submission at all.
    """
    found = {path.parent.name: path.parent for path in sorted(folder.glob(f"*/{SCORES}"))}
    for name in names:
        if name not in found:
            raise unknown(f"scored submission in {folder}", name, found)
    if not found:
        raise UserError(f"{folder} contains no scored submissions.")
    return [found[name] for name in names or found]


def with_name(report: ScoreReport, folder: Path | None) -> ScoreReport:
    """Add a problem or a note to a report if another submission has the same name or one that looks like it.

    Names look alike if they differ in capitals, accents, or letters of another script.

    Args:
        report: the report on an accepted submission.
        folder: folder of accepted submissions that it will be added to. None: it is only compared with the
            built-in submissions, and a note is added.
    """
    assert report.manifest is not None
    for place, name in _alike(report.manifest, folder or SUBMISSIONS):
        if folder is None:
            note = f"The name is that of the submission {place.name} ('{name}'): it can only take its place."
            return replace(report, notes=(*report.notes, note))
        if place != place_in(folder, report.manifest):
            problem = f"The name looks like '{name}', that of the submission {place.name}; choose another."
            return replace(report, problems=(*report.problems, problem))
    return report


def _alike(manifest: Manifest, folder: Path) -> Iterator[tuple[Path, str]]:
    """Other accepted submissions whose names look like that of this one."""
    wanted = skeleton(manifest.name)
    for path in sorted(folder.glob(f"*/{MANIFEST}")):
        try:
            values = json.loads(path.read_bytes())
            name, files = values["name"], values["files"]
            same_board = values.get("round", "") == manifest.round
            if same_board and skeleton(name) == wanted and files != manifest.files:
                yield path.parent, name
        except (
            OSError,
            ValueError,
            KeyError,
            TypeError,
            RecursionError,
        ):  # the board says so when it is read
            continue
