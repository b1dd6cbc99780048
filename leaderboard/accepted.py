"""The folder of accepted submissions: where one goes, and whose name it has."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from nsl_bench import cache
from nsl_bench.errors import UserError, unknown

from .names import skeleton
from .rounds.model import By, Taken, folder_of, manifest_digest, read_round, write_round
from .safe_files import opened
from .score_report import SCORES, ScoreReport, write_scores
from .submission import MANIFEST, Manifest, place_of

__all__ = ["SUBMISSIONS", "place_in", "put", "scored_folders", "take", "with_name"]

SUBMISSIONS = Path(__file__).parent / "submissions"
"""The accepted submissions that are part of the repository."""


def place_in(folder: Path, manifest: Manifest) -> Path:
    """Where a submission lies, or would lie; a name may be in the public contests and in each round."""
    place = place_of(manifest.name)
    return folder / (f"{manifest.round}--{place}" if manifest.round else place)


def put(report: ScoreReport, submission: Path, folder: Path) -> Path:
    """Copy an accepted submission into a folder of such, with its scores if it has any.

    Raises:
        UserError: there is one of its name, or it cannot be written.
    """
    manifest = report.manifest
    assert manifest is not None
    place = place_in(folder, manifest)
    if place.exists():
        raise UserError(f"--accept: the submission {place} already exists; remove it first to replace it.")
    try:
        with opened(submission) as sent:
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
    """Copy a submission to a sealed round into a folder of such, and write it into the round's file.

    Raises:
        UserError: there is one of its name, the round was revealed meanwhile, or it cannot be written.
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
    """The folders of accepted submissions that have scores, all or those of some names.

    Raises:
        UserError: there is none of a name, or none at all.
    """
    found = {path.parent.name: path.parent for path in sorted(folder.glob(f"*/{SCORES}"))}
    for name in names:
        if name not in found:
            raise unknown(f"scored submission in {folder}", name, found)
    if not found:
        raise UserError(f"{folder} contains no scored submissions.")
    return [found[name] for name in names or found]


def with_name(report: ScoreReport, folder: Path | None) -> ScoreReport:
    """A report that says whose name the submission has, if it is taken.

    Names are taken that look like this one, too: in other letters, or in another script.

    Args:
        report: on an accepted submission.
        folder: of accepted submissions into which it goes; None: it goes nowhere yet, and the board's own are
            looked at.
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
