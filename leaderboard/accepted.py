"""The folder of accepted submissions: add a submission, find those with scores, compare names."""

import json
import secrets
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from nsl_bench.core import cache
from nsl_bench.core.errors import UserError, refusing, unknown

from .names import skeleton
from .reading import read_manifest
from .rounds.model import By, Taken, folder_of, manifest_digest, read_round, write_round
from .rounds.receipt import Receipt
from .safe_files import opened
from .score_report import SCORES, ScoreReport, write_scores
from .submission import MANIFEST, Manifest, place_of

SUBMISSIONS = Path(__file__).parent / "submissions"
"""The accepted submissions that are part of the repository, but not of the installed package."""


SALT = ".salt"
"""The salt of an entry's digest, in its folder until the round is revealed."""

RECEIPT = ".receipt.json"
"""How the name of an entrant's receipt ends, which lies beside the entry's folder."""


def withheld(folder: Path) -> Path:
    """The folder, beside that of accepted submissions, of entries that nobody may see before the reveal.

    What an entry predicts and learned tells of the test set.
    """
    return folder.parent / "withheld"


def check_there(folder: Path) -> None:
    """Check that a folder of accepted submissions exists."""
    if folder.is_dir():
        return
    if folder == SUBMISSIONS:
        raise UserError(
            "The accepted submissions are not part of the installed package; run this command in a checkout "
            "of the repository, or name a folder of submissions with --submissions."
        )
    raise UserError(
        f"The folder {folder} of accepted submissions does not exist; name it with --submissions, or create "
        "an empty one."
    )


def said_of(place: Path) -> str:
    """What a command says of the folder that a submission was put into."""
    if not (place / SALT).is_file():
        return f"Accepted into {place}."
    return (
        f"Accepted. Its files are in {place}; keep {place.parent} secret until the reveal. Send the "
        f"entrant the receipt {place}{RECEIPT}."
    )


def place_in(folder: Path, manifest: Manifest) -> Path:
    """The folder for a submission. One name may be used in the public contests and in each sealed round."""
    place = place_of(manifest.name)
    return folder / (f"{manifest.round}--{place}" if manifest.round else place)


def put(report: ScoreReport, submission: Path, folder: Path) -> Path:
    """Copy an accepted submission, with its scores if it has any, into a folder of accepted submissions.

    Args:
        folder: folder of accepted submissions; created if it does not exist.
    """
    manifest = report.manifest
    assert manifest is not None
    place = place_in(folder, manifest)
    if place.exists():
        raise UserError(f"--accept: the submission {place} already exists; remove it first to replace it.")
    with refusing(f"--accept: {place} cannot be written"), opened(submission) as sent:
        if read_manifest(sent) != manifest:
            raise UserError(f"--accept: {submission} is not the submission that was scored; score it again.")
        place.mkdir(parents=True)
        for name in manifest.files:
            shutil.copyfile(sent / name, place / name)
        (place / MANIFEST).write_text(manifest.to_json(), encoding="utf-8")
    if report.runs:
        write_scores(report, place / SCORES)
    return place


def take(report: ScoreReport, submission: Path, folder: Path, by: By, board: Path) -> Path:
    """Take a submission to a sealed round: keep its files apart, and add its digest to the round's file.

    The files are put into the folder `withheld` and a receipt for the entrant beside them.

    Args:
        folder: folder of accepted submissions, which `nsl-bench leaderboard reveal` moves the entry to.
        by: what the round took: ``"predictions"`` or ``"code"``.
        board: the board's file, beside which the rounds are.
    """
    manifest = report.manifest
    assert manifest is not None
    with cache.lock(folder_of(board) / f"{manifest.round}.json"):
        round_ = read_round(manifest.round, board)  # others may have been taken while this one was scored
        if round_.is_revealed:
            raise UserError(
                f"--accept: the round {round_.name} is already revealed and takes no more entries."
            )
        if place_in(folder, manifest).name in {entry.folder for entry in round_.entries}:
            raise UserError(f"--accept: the round {round_.name} already has an entry {report.name}.")
        salt = secrets.token_hex(32)
        place = put(report, submission, _made_secret(withheld(folder)))
        try:
            taken = round_.taking(Taken(manifest.name, place.name, by, manifest_digest(manifest, salt)))
            (place / SALT).write_text(salt, encoding="ascii")
            # Who sent code does not know the predictions, and is to find nothing out about them.
            receipt = Receipt.of(taken, salt if by == "predictions" else "")
            Path(f"{place}{RECEIPT}").write_text(receipt.to_json(), encoding="utf-8")
            write_round(taken, board)
        except BaseException:
            shutil.rmtree(place, ignore_errors=True)
            Path(f"{place}{RECEIPT}").unlink(missing_ok=True)
            raise
    return place


def _made_secret(folder: Path) -> Path:
    """A folder that only its owner reads, and that git does not publish."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        (folder / ".gitignore").write_text("*\n", encoding="ascii")
    except OSError as error:
        raise UserError(f"--accept: {folder} cannot be written: {error.strerror}.") from error
    return folder


def scored_folders(folder: Path, names: Sequence[str] = ()) -> list[Path]:
    """The folders of accepted submissions that have scores: all of them, or those with some names."""
    check_there(folder)
    folders = {path.parent.name: path.parent for path in sorted(folder.glob(f"*/{SCORES}"))}
    for name in names:
        if name not in folders:
            raise unknown(f"scored submission in {folder}", name, folders)
    if not folders:
        raise UserError(f"{folder} contains no scored submissions.")
    return [folders[name] for name in names or folders]


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
        if place.name != place_in(folder, report.manifest).name:
            problem = f"The name looks like '{name}', that of the submission {place.name}; choose another."
            return replace(report, problems=(*report.problems, problem))
    return report


def _alike(manifest: Manifest, folder: Path) -> Iterator[tuple[Path, str]]:
    """Other accepted submissions whose names look like that of this one."""
    own = skeleton(manifest.name)
    for path in sorted([*folder.glob(f"*/{MANIFEST}"), *withheld(folder).glob(f"*/{MANIFEST}")]):
        try:
            values = json.loads(path.read_bytes())
            name, files = values["name"], values["files"]
            same_board = values.get("round", "") == manifest.round
            if same_board and skeleton(name) == own and files != manifest.files:
                yield path.parent, name
        except (
            OSError,
            ValueError,
            KeyError,
            TypeError,
            RecursionError,
        ):  # the board says so when it is read
            continue
