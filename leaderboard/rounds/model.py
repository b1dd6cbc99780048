"""Sealed rounds and their public files.

A round has one secret seed. Each shift and share of each contest is a *place* with its own seed, derived from
the secret one. Its examples occur nowhere else, so the data of one share reveal nothing about another. The
public file has a commitment to every seed and hashes of the entrants' data. When the round is revealed, the
secret seed is written into the file.

Entries form a chain: each has a *link*, a hash of itself and of the link before it, and every entrant gets a
receipt (`nsl_bench.leaderboard.rounds.receipt`). So none can be added, dropped, moved or altered unseen.
Before the reveal only a salted digest of an entry is public.

The folder ``sealed`` beside ``board.toml`` has one file per round.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from itertools import accumulate
from pathlib import Path
from typing import Annotated, Literal

from nsl_bench import __version__
from nsl_bench.core import cache
from nsl_bench.core.declared import Declared, Is, checked, read_json
from nsl_bench.core.errors import UserError, unknown
from nsl_bench.run.job import Job
from nsl_bench.sandbox.sealing import DataSeed, commitment_of

from ..contests import Cell, Contest
from ..submission import Manifest

SCHEMA = 1
"""Version of the form."""

By = Literal["predictions", "code"]
"""How an entry takes part: it sent predictions, or a learner that the board ran."""

_NAME = re.compile(r"(?!.*--)[a-z0-9](?:[a-z0-9-]{0,28}[a-z0-9])?")


def is_name(text: str) -> bool:
    """Whether a text can be a round's name."""
    return _NAME.fullmatch(text) is not None


DIGEST = Annotated[str, Is("64 hexadecimal digits", test=re.compile(r"[0-9a-f]{64}").fullmatch)]
DIGEST_OR_NONE = Annotated[
    str, Is("64 hexadecimal digits, or empty", test=re.compile(r"(?:[0-9a-f]{64})?").fullmatch)
]
_SECRET = Annotated[
    str, Is("empty, or 32 to 256 letters and digits", test=re.compile(r"|[!-~]{32,256}").fullmatch)
]
_DAY = re.compile(r"|\d{4}-\d\d-\d\d")
_DATE = Annotated[str, Is("a date such as 2026-11-22, or empty", test=_DAY.fullmatch)]
_TEXT = Annotated[str, Is("one line of at most 300 characters", longest=300, test=str.isprintable)]


@dataclass(frozen=True)
class Place(Declared):
    """A shift and a share of a sealed contest.

    Attributes:
        shift: short name; ``"standard"`` at 0 %.
        percent: share of shifted examples, 0..100.
        commitment: commitment to the seed of its examples.
        examples: number of test examples.
        test: hashes of the entrants' test data, by train split.
        train: hashes of the entrants' train data, by train split.
        validation: hashes of the entrants' validation data, by train split.
    """

    shift: _TEXT
    percent: Annotated[float, Is("a number between 0 and 100", least=0, most=100)]
    commitment: DIGEST
    examples: Annotated[int, Is("a whole number of 1 or more", least=1)]
    test: tuple[DIGEST, ...]
    train: tuple[DIGEST, ...]
    validation: tuple[DIGEST, ...]


@dataclass(frozen=True)
class Grid(Contest):
    """A contest of a round, as in the round's file.

    Attributes:
        network: the perception network whose probabilities entrants get.
        source_fingerprint: fingerprint of the images.
        places: one place for each shift and share.
    """

    network: _TEXT = field(default="softmax", metadata={"required": True})
    source_fingerprint: _TEXT = field(default="", metadata={"required": True})
    places: tuple[Place, ...] = field(default=(), metadata={"required": True})


@dataclass(frozen=True)
class Taken(Declared):
    """An entry that was accepted before the round was revealed.

    Attributes:
        name: name on the board.
        folder: folder of the accepted submission.
        by: ``"predictions"`` or ``"code"``.
        digest: SHA-256 of a salt and its manifest, which has the hashes of its other files.
        link: its place in the chain of entries (`Round.links`).
        salt: secret until the round is revealed, so that nobody can find what was sent by trying digests.
    """

    name: Annotated[str, Is("one line of 1 to 80 characters", shortest=1, longest=80)]
    folder: Annotated[str, Is("a folder's name", test=re.compile(r"[a-z0-9][a-z0-9-]{0,120}").fullmatch)]
    by: By
    digest: DIGEST
    link: DIGEST_OR_NONE = ""
    salt: DIGEST_OR_NONE = ""

    def linked(self, before: str) -> str:
        """The link of this entry after the link of the one before it."""
        return _hash("nsl-bench entry", before, self.name, self.folder, self.by, self.digest)


@dataclass(frozen=True)
class Round(Declared):
    """A sealed round.

    Attributes:
        name: short and unique name.
        commitment: commitment to the secret seed.
        sealed: date of sealing.
        entries: entries accepted before the round was revealed.
        secret: the seed; empty until the round is revealed.
        revealed: date of revealing; empty until then.
        schema: version of the format.
    """

    name: Annotated[str, Is("1 to 30 lower case letters and digits, and dashes between them", test=is_name)]
    commitment: DIGEST
    sealed: _DATE
    nsl_bench: _TEXT
    contests: tuple[Grid, ...]
    entries: tuple[Taken, ...] = ()
    secret: _SECRET = ""
    revealed: _DATE = ""
    schema: Annotated[int, Is(f"{SCHEMA}, the version of the form", least=SCHEMA, most=SCHEMA)] = field(
        default=SCHEMA, metadata={"required": True}
    )

    @property
    def is_revealed(self) -> bool:
        """Whether its seed is public."""
        return bool(self.secret)

    def entry(self, manifest: Manifest) -> Taken | None:
        """The entry that is identical to a submission; None if it was not accepted.

        Before the reveal, salts are not known; entries are then told by their names.
        """
        for entry in self.entries:
            has_salt = entry.salt or self.is_revealed
            if (
                entry.digest == manifest_digest(manifest, entry.salt)
                if has_salt
                else entry.name == manifest.name
            ):
                return entry
        return None

    @property
    def start(self) -> str:
        """The link before the first entry: a hash of all that was sealed, in the form of the round's file."""
        sealed = asdict(replace(self, entries=(), secret="", revealed="", schema=SCHEMA))
        return _hash("nsl-bench round", json.dumps(sealed, sort_keys=True))

    def links(self) -> list[str]:
        """The links that the entries must have: each is a hash of the entry and the link before it."""
        return list(accumulate(self.entries, lambda before, entry: entry.linked(before), initial=self.start))[
            1:
        ]

    def taking(self, entry: Taken) -> Round:
        """The round with one more entry at the end of the chain."""
        before = self.entries[-1].link if self.entries else self.start
        return replace(self, entries=(*self.entries, replace(entry, link=entry.linked(before))))

    def board_contests(self, by: By, secret: str = "") -> tuple[SealedContest, ...]:
        """The round's contests on the board.

        Args:
            by: what the entry sent: ``"predictions"`` or ``"code"``.
            secret: the round's seed; by default the revealed one.
        """
        seed = secret or self.secret
        return tuple(SealedContest.of(self, grid, by, seed) for grid in self.contests)


@dataclass(frozen=True)
class SealedContest(Grid):
    """A contest of a round on the board; its name begins with the round's.

    Attributes:
        round: the round's name.
        base: its name in the round.
        secret: the round's seed, if it is known.
    """

    round: str = ""
    base: str = ""
    by: By = "predictions"
    secret: str = field(default="", repr=False)

    @classmethod
    def of(cls, whole: Round, grid: Grid, by: By, secret: str) -> SealedContest:
        """A contest of a round."""
        values = {f.name: getattr(grid, f.name) for f in fields(grid)}
        name = joined(whole.name, grid.name)
        return cls(**{**values, "name": name}, round=whole.name, base=grid.name, by=by, secret=secret)

    @property
    def sealed_round(self) -> str:
        """The round's name."""
        return self.round

    @property
    def handed_out_network(self) -> str:
        """The network whose probabilities were handed out."""
        return self.network

    def place(self, cell: Cell) -> Place | None:
        """The place that a run belongs to."""
        shift_and_share = (cell.shift, cell.percent)
        return next((place for place in self.places if (place.shift, place.percent) == shift_and_share), None)

    def cell(self, job: Job) -> Cell | None:
        """A run's place in the grid; None if it is no run of this contest, on this place's data."""
        cell = super().cell(replace(job, sealed=""))
        place = None if cell is None else self.place(cell)
        return cell if place is not None and place.commitment == job.sealed else None

    def data_seed(self, cell: Cell) -> int | str:
        """The seed that a cell's data follow."""
        if not self.secret:
            raise UserError(f"The round {self.round} is not revealed yet, so its entries cannot be scored.")
        return place_seed(self.secret, self.round, self.base, cell)

    def hashes(self, cell: Cell) -> Mapping[str, str] | None:
        """The hashes of what was handed out."""
        place = self.place(cell)
        if place is None:
            return None
        k = cell.repeat - 1
        return {"train": place.train[k], "validation": place.validation[k], "test": place.test[k]}

    def test_examples(self, cell: Cell) -> int | None:
        """How many test examples were handed out for a cell."""
        place = self.place(cell)
        return None if place is None else place.examples

    def evaluations(self, track: str) -> tuple[str, ...]:
        """The evaluations: who sends predictions was not handed true concepts, so there is only one."""
        return super().evaluations(track) if self.by == "code" else ("framework",)

    def command(
        self,
        learner: str,
        track: str = "pretrained",
        network: str | None = None,
        cell: Cell | None = None,
        out: str = "results/",
        time_limit: float | None = None,
    ) -> str:
        """The command line that does a learner's runs of this contest."""
        if self.by == "predictions":  # only whoever made them can make them again; all can check them
            return shlex.join(["nsl-bench", "leaderboard", "verify-round", self.round])
        words = ["nsl-bench", "leaderboard", "run-entry", self.round, "--contest", self.base]
        words += ["--learner", learner, *(["--track", "symbolic"] if track == "symbolic" else [])]
        words += ["--network", network] if network else []
        words += ["--time-limit", f"{time_limit:g}"] if time_limit else []
        return shlex.join([*words, "--out", out])


def joined(round_name: str, contest: str) -> str:
    """The name that a contest of a round has on the board; no round's name holds two dashes."""
    return f"{round_name}--{contest}"


def place_seed(secret: str, round_name: str, contest: str, cell: Cell | Place) -> str:
    """The seed of a place: HMAC-SHA256 of what it is called, under the round's seed."""
    words = "\x1f".join(["nsl-bench round", round_name, contest, cell.shift, f"{cell.percent:g}"])
    return hmac.new(secret.encode("ascii"), words.encode(), hashlib.sha256).hexdigest()


def place_data_seed(seed: DataSeed, round_name: str, contest: str, place: Place) -> DataSeed:
    """The seed of a place as the harness takes it."""
    derived = DataSeed(place_seed(seed.secret, round_name, contest, place), seed.file)
    if derived.commitment != place.commitment:
        raise UserError(
            f"The seed in {seed.file} does not belong to the round {round_name}: the commitment of "
            f"{contest}, {place.shift} {place.percent:g} % differs."
        )
    return derived


def manifest_digest(manifest: Manifest, salt: str = "") -> str:
    """SHA-256 of a salt and a manifest in the board's format, which has the hashes of the other files."""
    return hashlib.sha256(f"{salt}{manifest.to_json()}".encode()).hexdigest()


def _hash(*words: str) -> str:
    """SHA-256 of texts, none of which can be taken for two."""
    return hashlib.sha256(json.dumps(words).encode()).hexdigest()


def folder_of(board: Path) -> Path:
    """The folder of a board's rounds."""
    return board.parent / "sealed"


def read_round(name: str, board: Path) -> Round:
    """Read a round of a board."""
    files = {path.stem: path for path in sorted(folder_of(board).glob("*.json"))}
    if not files:
        raise UserError(f"The sealed round '{name}' does not exist: {folder_of(board)} contains none.")
    if name not in files:
        raise unknown("sealed round", name, files)
    return read_file(files[name])


def read_rounds(board: Path) -> tuple[Round, ...]:
    """Read all rounds of a board."""
    return tuple(read_file(path) for path in sorted(folder_of(board).glob("*.json")))


def read_file(path: Path) -> Round:
    """Read a round's file."""
    round_ = read_json(Round, path, "The round's file ")
    for why in _wrong(round_):
        raise UserError(f"{path}: {why}")
    return round_


def _wrong(round_: Round) -> Iterator[str]:
    """What the form does not say."""
    if round_.secret and commitment_of(round_.secret) != round_.commitment:
        yield "the revealed seed is not the one that the round committed to."
    names = [grid.name for grid in round_.contests]
    if not names or len(set(names)) < len(names):
        yield "a round must have at least one contest, and their names must differ."
    for grid in round_.contests:
        cells = {(cell.shift, cell.percent) for cell in grid.cells_of("pretrained")}
        parts = [part for place in grid.places for part in (place.train, place.validation, place.test)]
        if {len(part) for part in parts} - {grid.repeats}:
            yield f"contests ({grid.name}): each place must have {grid.repeats} hashes of each split."
        listed = [(place.shift, place.percent) for place in grid.places]
        if sorted(listed) != sorted(cells):
            yield f"contests ({grid.name}): places must list each shift and share of the contest once."
    for name in ("name", "digest", "folder"):
        values = [getattr(entry, name) for entry in round_.entries]
        if len(set(values)) < len(values):
            yield f"two entries have the same {name}."


def write_round(round_: Round, board: Path) -> Path:
    """Write a round's file; an older one is replaced at once."""
    path = folder_of(board) / f"{round_.name}.json"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with cache.replacing(path) as temporary:
            temporary.write_text(to_json(round_), encoding="utf-8")
    except OSError as error:
        raise UserError(f"The round's file {path} cannot be written: {error.strerror}.") from error
    return path


def to_json(round_: Round) -> str:
    """The text of a round's file."""
    return json.dumps(asdict(round_), indent=2) + "\n"


def empty_round(name: str, commitment: str, sealed: str, grids: Sequence[Grid]) -> Round:
    """A round without entries."""
    values = {"name": name, "commitment": commitment, "sealed": sealed, "nsl_bench": __version__}
    return checked(Round, {**values, "contests": list(map(asdict, grids)), "schema": SCHEMA}, "The round: ")
