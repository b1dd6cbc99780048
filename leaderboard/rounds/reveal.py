"""Reveal a sealed round, and check a revealed one with its public files only."""

import contextlib
import json
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from nsl_bench.core.errors import UserError, counted
from nsl_bench.run.exchange import jobs_in
from nsl_bench.sandbox.sealing import DataSeed, commitment_of

from ..accepted import SALT, withheld
from ..safe_files import Limits
from ..score_report import SCORES, ScoreReport, numbers_in, write_scores
from ..scoring import score
from ..submission import MANIFEST
from .model import Grid, Place, Round, SealedContest, Taken, place_data_seed, write_round
from .package import ROUND_FILE, folder_digests, identity_here, made_again
from .receipt import differences, read_receipt

_TOLERANCE = 1e-9
_Notify = Callable[[str], None]


def reveal(round_: Round, seed: DataSeed, board: Path, date: str, submissions: Path | None = None) -> Round:
    """Write a round's secret seed and the salts of its entries into its public file.

    Args:
        submissions: folder of accepted submissions, which entries that were withheld are moved to.
    """
    if seed.commitment != round_.commitment:
        raise UserError(f"{seed.file} contains another seed than the round {round_.name} committed to.")
    for contest in round_.board_contests("predictions"):
        for place in contest.places:
            place_data_seed(seed, round_.name, contest.base, place)
    entries = round_.entries
    if submissions is not None:
        salts = {entry.folder: _salt(entry, submissions) for entry in entries}
        entries = tuple(replace(entry, salt=entry.salt or salts[entry.folder]) for entry in entries)
    opened = replace(round_, entries=entries, secret=seed.secret, revealed=round_.revealed or date)
    if opened != round_:
        write_round(opened, board)
    if submissions is not None:
        for entry in entries:
            _publish(entry, submissions)
    return opened


def _salt(entry: Taken, submissions: Path) -> str:
    """The salt of an entry that was withheld; empty if its files are not here."""
    for folder in (withheld(submissions), submissions):
        with contextlib.suppress(OSError, ValueError):
            text = (folder / entry.folder / SALT).read_text(encoding="ascii").strip()
            if re.fullmatch(r"[0-9a-f]{64}", text):
                return text
    return ""


def _publish(entry: Taken, submissions: Path) -> None:
    """Move an entry that was withheld to the accepted submissions."""
    hidden, place = withheld(submissions) / entry.folder, submissions / entry.folder
    if not hidden.is_dir() or place.exists():
        return
    try:
        submissions.mkdir(parents=True, exist_ok=True)
        shutil.move(hidden, place)
        (place / SALT).unlink(missing_ok=True)
    except OSError as error:
        raise UserError(f"--submissions: {place} cannot be written: {error.strerror}.") from error


def score_entries(
    round_: Round, submissions: Path, limits: Limits, notify: _Notify | None = None
) -> Iterator[tuple[Taken, ScoreReport]]:
    """Score the entries of a revealed round that have no scores yet, and write these beside them.

    Yields:
        Each entry with the report on it.
    """
    for entry in round_.entries:
        folder = submissions / entry.folder
        if (folder / SCORES).is_file():
            continue
        try:
            if not folder.is_dir():
                raise UserError(
                    f"Its files are neither in {folder} nor in {withheld(submissions)}; ask the entrant."
                )
            report = _scored(entry, round_, folder, limits, notify)
        except UserError as error:
            report = ScoreReport(entry.name, (str(error),))
        if report.accepted:
            write_scores(report, folder / SCORES)
        yield entry, report


def _scored(entry: Taken, round_: Round, folder: Path, limits: Limits, notify: _Notify | None) -> ScoreReport:
    """The report on what lies in an entry's folder, which must be that entry and no other one."""
    report = score(folder, (), limits, notify, rounds=(round_,))
    held = None if report.manifest is None else round_.entry(report.manifest)
    if held not in (None, entry):
        raise UserError(f"{folder} contains another entry, '{held.name}'.")
    return report


@dataclass(frozen=True)
class Finding:
    """Something of a revealed round that was checked.

    Attributes:
        what: what was checked, as a sentence begins.
        wrong: what is wrong with it, as it ends; empty: nothing.
        checked: whether it could be checked; if not, `wrong` says why.
    """

    what: str
    wrong: str = ""
    checked: bool = True

    def __str__(self) -> str:
        if not self.wrong:
            return f"ok: {self.what}"
        return f"{'wrong' if self.checked else 'not checked'}: {self.what}: {self.wrong}."


def verify(
    round_: Round, submissions: Path, limits: Limits, notify: _Notify | None = None
) -> Iterator[Finding]:
    """Check a revealed round with public files only: its own file and the accepted submissions."""
    if not round_.is_revealed:
        raise UserError(f"The round {round_.name} is not revealed yet, so its scores cannot be checked.")
    same = commitment_of(round_.secret) == round_.commitment
    yield Finding(
        f"the seed of the round {round_.name} is the one that it committed to", "" if same else "it is not"
    )
    yield check_chain(round_)
    for grid in round_.contests:
        yield _data_again(grid, round_)
    if round_.entries and not any((submissions / entry.folder).is_dir() for entry in round_.entries):
        yield Finding(
            f"{counted(len(round_.entries), 'entry', 'entries')} scored again",
            f"{submissions} contains none of them; name the right folder with --submissions",
            checked=False,
        )
        return
    for entry in round_.entries:
        yield _entry_again(entry, round_, submissions, limits, notify)
    folders = {entry.folder for entry in round_.entries}
    for path in sorted(submissions.glob(f"*/{SCORES}")):
        if path.parent.name not in folders and _round_of(path.parent) == round_.name:
            yield Finding(
                f"{path.parent.name}", f"has scores, but is not an entry of the round {round_.name}"
            )


def check_chain(round_: Round) -> Finding:
    """Whether the entries are as they came in, by their links."""
    what = counted(len(round_.entries), "entry forms", "entries form") + " one chain from the sealing on"
    for number, (entry, link) in enumerate(zip(round_.entries, round_.links(), strict=True), 1):
        if entry.link != link:
            return Finding(
                what,
                f"entry {number}, '{entry.name}', does not follow from what is before it, so an entry was "
                "altered, moved, added or dropped there",
            )
    return Finding(f"{what}{f', whose last link is {entry.link}' if round_.entries else ''}")


def check_receipt(round_: Round, file: Path) -> Iterator[Finding]:
    """Check a round's entries against an entrant's receipt, or an earlier copy of the round's file."""
    receipt = read_receipt(file)
    entries = counted(len(receipt.entries), "entry is", "entries are")
    what = f"{file}: its {entries} the first of the round {round_.name}, in their order"
    wrong = list(differences(round_, receipt))
    yield from (Finding(f"{file}", why) for why in wrong)
    if not wrong:
        yield Finding(what)


def _data_again(grid: Grid, round_: Round) -> Finding:
    what = f"{grid.name}: {len(grid.places)} places generated again from the seed"
    try:
        here = identity_here(grid)
        if here != (grid.version, grid.source_fingerprint):
            published = f"{grid.benchmark} {grid.version} with the images {grid.source_fingerprint}"
            return Finding(
                what, f"the round needs {published}; this installation has version {here[0]} and {here[1]}"
            )
        wrong = [
            f"{published.shift} {published.percent:g} %"
            for published, again in zip(_sorted(grid.places), _sorted(made_again(grid, round_)), strict=True)
            if published != again
        ]
    except UserError as error:
        return Finding(what, str(error).rstrip("."))
    return Finding(what, f"commitment or examples differ at {', '.join(wrong)}" if wrong else "")


def _sorted(places: Iterator[Place] | tuple[Place, ...]) -> list[Place]:
    return sorted(places, key=lambda place: (place.percent, place.shift))


def _entry_again(
    entry: Taken, round_: Round, submissions: Path, limits: Limits, notify: _Notify | None
) -> Finding:
    """Whether an entry is the one that was taken, and its scores follow from it."""
    what = f"{entry.name}: accepted before the reveal, scored again"
    folder = submissions / entry.folder
    if not folder.is_dir():
        return Finding(what, f"{submissions} does not contain its folder {entry.folder}", checked=False)
    try:
        report = _scored(entry, round_, folder, limits, notify)
    except UserError as error:
        return Finding(what, str(error).rstrip("."))
    if not report.accepted:
        return Finding(what, report.problems[0].rstrip("."))
    try:
        published = numbers_in(folder / SCORES)
    except (OSError, ValueError, KeyError, TypeError) as error:
        return Finding(what, f"{SCORES} cannot be read ({type(error).__name__})")
    again = {run.run: run.metrics for run in report.runs}
    wrong = [run for run in published.keys() | again.keys() if not _alike(published.get(run), again.get(run))]
    return Finding(
        what, f"{len(wrong)} of {len(again)} runs have different scores in {SCORES}" if wrong else ""
    )


def _alike(published: Mapping[str, float] | None, again: Mapping[str, float] | None) -> bool:
    if published is None or again is None or published.keys() != again.keys():
        return False
    return all(abs(published[name] - again[name]) <= _TOLERANCE for name in published)


def _round_of(folder: Path) -> str:
    try:
        values = json.loads((folder / MANIFEST).read_bytes())
        return str(values.get("round", ""))
    except (OSError, ValueError, AttributeError):
        return ""


def check_package(round_: Round, package: Path) -> Iterator[Finding]:
    """Check an entrants' package against the hashes in the round's file; no seed is needed."""
    if not (package / ROUND_FILE).is_file():
        raise UserError(f"{package} is not the package of a sealed round: {ROUND_FILE} is missing.")
    yield from check_receipt(round_, package / ROUND_FILE)
    for contest in round_.board_contests("predictions"):
        yield _folders_again(contest, package / contest.base)


def _folders_again(contest: SealedContest, folder: Path) -> Finding:
    match = counted(len(contest.cells), "folder matches", "folders match")
    what = f"{contest.base}: {match} those of the round"
    lacking, wrong = set(contest.cells), []
    for place, job in jobs_in(folder).items() if folder.is_dir() else ():
        cell = contest.cell(job)
        # Neither a folder of another round nor a second one for a run is what was handed out.
        if cell not in lacking or contest.hashes(cell) != folder_digests(place):
            wrong.append(place.name)
        lacking.discard(cell)
    if wrong:
        return Finding(what, f"{len(wrong)} differ, first {wrong[0]}")
    return Finding(what, f"{folder} lacks {len(lacking)} of them" if lacking else "", checked=not lacking)
