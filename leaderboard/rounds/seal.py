"""Seal a round: draw the secret seed, create the entrants' package, and publish the commitment."""

import os
import secrets
import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from nsl_bench.core.declared import quoted
from nsl_bench.core.errors import UserError, counted, unknown
from nsl_bench.core.interrupts import uninterrupted
from nsl_bench.run.bench import Bench
from nsl_bench.sandbox.sealing import DataSeed

from ..contests import Contest
from .model import Round, empty_round, folder_of, is_name, joined, read_rounds, to_json, write_round
from .package import ROUND_FILE, write_contest

_LONGEST = 50


def chosen(
    contests: Sequence[Contest], names: Sequence[str], percents: Sequence[float], repeats: int | None
) -> list[Contest]:
    """The contests of a round.

    Args:
        names: of those that are wanted; empty: all.
        percents: shares in place of the contests' own; empty: those.
        repeats: train splits in place of the contests' own; None: those.
    """
    by_name = {contest.name: contest for contest in contests}
    for name in names:
        if name not in by_name:
            raise unknown("contest", name, by_name)
    selected = [by_name[name] for name in dict.fromkeys(names or by_name)]
    if percents:
        selected = [replace(contest, percents=tuple(dict.fromkeys(percents))) for contest in selected]
    return selected if repeats is None else [replace(contest, repeats=repeats) for contest in selected]


@dataclass(frozen=True)
class Files:
    """Output files of a new round.

    Attributes:
        board: ``board.toml``; the round's public file is written beside it.
        seed: file for the secret seed; it must not exist.
        out: folder for the entrants' package; it must be new or empty.
    """

    board: Path
    seed: Path
    out: Path


def seal(
    name: str,
    contests: Sequence[Contest],
    files: Files,
    *,
    network: str,
    date: str,
    device: str = "auto",
    notify: Callable[[str], None] = lambda sentence: None,
) -> Round:
    """Seal a round."""
    _check(name, contests, files)
    out, drawn = files.out, False
    try:
        with uninterrupted():
            seed = _draw(files.seed)
            drawn = True
        out.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".sealing-", dir=out.parent) as beside:
            package = Path(beside, "package")
            bench = Bench(device, workers=os.cpu_count() or 1)
            grids = []
            for contest in contests:
                notify(f"Making {counted(len(contest.cells), 'folder')} for entrants of {contest.name}.")
                folder = package / contest.name
                grids.append(write_contest(contest, folder, name, seed, bench, network))
            round_ = empty_round(name, seed.commitment, date, grids)
            (package / ROUND_FILE).write_text(to_json(round_), encoding="utf-8")
            with uninterrupted():  # both or neither
                if out.exists():
                    out.rmdir()
                shutil.move(package, out)
                _publish(round_, files)
    except BaseException as error:
        if drawn:
            files.seed.unlink(missing_ok=True)  # nothing that follows it was published
        if isinstance(error, OSError):
            raise UserError(f"--out: {out} cannot be written: {error.strerror}.") from error
        raise
    return round_


def _publish(round_: Round, files: Files) -> None:
    """Write the round's public file, or take back the entrants' folder."""
    try:
        write_round(round_, files.board)
    except BaseException:
        shutil.rmtree(files.out, ignore_errors=True)
        raise


def _check(name: str, contests: Sequence[Contest], files: Files) -> None:
    board, out = files.board, files.out
    if not is_name(name):
        raise UserError(
            f"A round's name must be 1 to 30 lower-case letters, digits and inner dashes; got {quoted(name)}."
        )
    if name in {other.name for other in read_rounds(board)}:
        raise UserError(
            f"The sealed round '{name}' already exists in {folder_of(board)}; choose another name."
        )
    for contest in contests:
        if len(joined(name, contest.name)) > _LONGEST:
            raise UserError(
                f"{joined(name, contest.name)} must have at most {_LONGEST} characters; give a shorter name."
            )
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UserError(f"--out: {out} already exists; name a folder that is new or empty.")


def _draw(file: Path) -> DataSeed:
    """A new secret seed, in a file that nobody else may read."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise UserError(
            f"--data-seed-file: {file} already exists; each round needs its own seed, so name a new file."
        ) from None
    except OSError as error:
        raise UserError(f"--data-seed-file: {file} cannot be written: {error.strerror}.") from error
    with os.fdopen(descriptor, "w", encoding="ascii") as opened:
        opened.write(secrets.token_hex(32) + "\n")
    return DataSeed.read(file)
