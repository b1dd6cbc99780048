"""The board in memory: every accepted submission's scored runs, and the tables that are made of them.

An *entry* is a submission with one perception network: what one row of a table is about. Numbers live in
one array an entry and contest, cells by metrics, so that a hundred thousand runs stay small.
"""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from nsl_bench.declared import checked, parse_json
from nsl_bench.errors import UserError
from nsl_bench.run.dials import Dials
from nsl_bench.run.job import PROTOCOL
from nsl_bench.run.metrics import METRICS

from .accepted import SUBMISSIONS
from .contests import BOARD, Cell, Contest, read_contests
from .ranking import Placing, place
from .reading import Run, read_runs
from .rounds.model import Round, read_rounds
from .standing import Standing, standing_of
from .submission import MANIFEST, Manifest, slug
from .verdict import SCORES

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["AREAS", "SUBMISSIONS", "Area", "Board", "Entry", "Rank", "read_board"]

AREAS = ("hypothesis_accuracy", "framework_accuracy", "brier_score", "atoms", "learning_time")
"""The metrics of the overview."""

_NAMES = tuple(METRICS)
_LONGEST_SLUG = 60


@dataclass(frozen=True)
class Area:
    """The mean of a metric over a contest's shifts and percentages, and its standard error over repeats."""

    mean: float
    std_err: float


@dataclass(frozen=True)
class Rank:
    """An entry's place in a contest.

    Attributes:
        rank: among the entries of its track with all runs; None without all runs or without the metric.
        of: how many have a rank.
    """

    rank: int | None
    of: int


@dataclass(frozen=True, eq=False)
class Entry:
    """A submission with one perception network.

    Attributes:
        slug: unique, part of file names.
        title: what the board shows.
        manifest: who submitted what.
        network: empty in tracks without.
        folder: of the submission.
        standing: whether it is verified, and how.
        values: contest's name to float64 [cells, metrics], NaN where there is none; cells in the order of
            `Contest.cells_of`, metrics in that of `METRICS`.
        spans: contest's name to each cell's place in the submission's scores: begin and length in bytes.
        runs: contest's name to each cell's run, as the submitter names it; empty where there is none.
    """

    slug: str
    title: str
    manifest: Manifest
    network: str
    folder: Path
    standing: Standing
    values: Mapping[str, npt.NDArray[np.float64]]
    spans: Mapping[str, Sequence[tuple[int, int]]] = field(default_factory=dict)
    runs: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def track(self) -> str:
        """The supervision used."""
        return self.manifest.track

    def whole(self, contest: Contest) -> bool:
        """Whether it has every run of a contest."""
        return contest.name in self.values and all(length for _, length in self.spans[contest.name])

    def submitted(self) -> dict[str, Run]:
        """What the submission says of each run: rules, hashes, versions."""
        try:
            return {run.id: run for run in read_runs(self.folder)}
        except OSError as error:
            raise UserError(f"The runs of {self.folder} cannot be read: {error.strerror}.") from error
        except UserError as error:
            raise UserError(f"The runs of {self.folder} cannot be read: {error}") from error

    def records(
        self, contest: Contest, submitted: Mapping[str, Run]
    ) -> Iterator[tuple[Cell, dict[str, Any]]]:
        """The runs of a contest, cell by cell: what was scored, with what the submission says of it."""
        with (self.folder / SCORES).open("rb") as file:
            for cell, (begin, length) in zip(
                contest.cells_of(self.track), self.spans.get(contest.name, ()), strict=False
            ):
                if not length:
                    continue
                file.seek(begin)
                record = json.loads(file.read(length))
                said = submitted[record["run"]]
                yield (
                    cell,
                    {
                        **record,
                        "language": said.language,
                        "rules": said.rules,
                        "content_hash": said.content_hash,
                        "standing": self.standing.word,
                        "standing_how": self.standing.how,
                        "versions": said.versions,
                        "environment": said.environment,
                        "started": said.started,
                    },
                )

    def repeats(self, contest: Contest, metric: str) -> npt.NDArray[np.float64]:
        """float64 [repeats]: the metric's mean over shifts and percentages, each shift with the 0 % point.

        Empty where runs are missing or have no such number.
        """
        table = self.values.get(contest.name)
        if table is None:
            return np.empty(0)
        column = table[:, _NAMES.index(metric)]
        weights = contest_weights(contest, self.track)
        result: npt.NDArray[np.float64] = weights @ np.where(np.isnan(column), 0.0, column)
        return result if not np.isnan(column).any() else np.empty(0)

    def curve(self, contest: Contest, shift: str, metric: str) -> list[tuple[float, float, float, int]]:
        """Percentage, mean, standard error (0 for one value) and number of values, by percentage."""
        table = self.values.get(contest.name)
        if table is None:
            return []
        column = table[:, _NAMES.index(metric)]
        points: dict[float, list[float]] = {}
        for cell, value in zip(contest.cells_of(self.track), column.tolist(), strict=True):
            if (cell.percent == 0 or cell.shift == shift) and value == value:
                points.setdefault(cell.percent, []).append(value)
        found = []
        for percent, values in sorted(points.items()):
            error = float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0
            found.append((percent, float(np.mean(values)), error, len(values)))
        return found


def contest_weights(contest: Contest, track: str) -> npt.NDArray[np.float64]:
    """float64 [repeats, cells]: what each cell contributes to each repeat's area under shift."""
    cells = contest.cells_of(track)
    weights = np.zeros((contest.repeats, len(cells)))
    for column, cell in enumerate(cells):
        shared = cell.percent == 0 or track == "symbolic"
        weights[cell.repeat - 1, column] = 1.0 if shared else 1.0 / len(contest.shifts)
    total: npt.NDArray[np.float64] = weights / weights.sum(axis=1, keepdims=True)
    return total


@dataclass(frozen=True, eq=False)
class Board:
    """Contests and entries.

    Attributes:
        contests: the board's.
        entries: sorted by title.
    """

    contests: tuple[Contest, ...]
    entries: tuple[Entry, ...]

    @cached_property
    def n_runs(self) -> int:
        """How many scored runs there are."""
        return sum(length > 0 for e in self.entries for spans in e.spans.values() for _, length in spans)

    def of(self, contest: Contest, track: str | None = None) -> list[Entry]:
        """The entries of a contest."""
        return [e for e in self.entries if contest.name in e.values and (track is None or e.track == track)]

    def tracks(self, contest: Contest) -> list[str]:
        """The tracks that a contest has entries in, in the protocol's order."""
        order = ["symbolic", "pretrained", "label_only", "end_to_end"]
        return [track for track in order if self.of(contest, track)]

    def main_metric(self, track: str) -> str:
        """The metric that ranks: framework accuracy, or hypothesis accuracy where nothing has images."""
        return "hypothesis_accuracy" if track == "symbolic" else "framework_accuracy"

    def matrix(
        self, contest: Contest, track: str, metric: str
    ) -> tuple[list[Entry], npt.NDArray[np.float64]]:
        """The entries with all runs of a contest, and float64 [entries, repeats]."""
        rows = [(e, e.repeats(contest, metric)) for e in self.of(contest, track) if e.whole(contest)]
        whole = [(e, row) for e, row in rows if len(row)]
        values = np.array([row for _, row in whole]).reshape(len(whole), contest.repeats)
        return [e for e, _ in whole], values

    def area(self, entry: Entry, contest: Contest, metric: str) -> Area | None:
        """The area under shift; None where runs are missing."""
        values = entry.repeats(contest, metric)
        if not len(values):
            return None
        error = float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")
        return Area(float(values.mean()), error)

    @cached_property
    def _placings(self) -> dict[tuple[str, str], dict[Entry, tuple[Placing, int]]]:
        found = {}
        for contest in self.contests:
            for track in self.tracks(contest):
                metric = self.main_metric(track)
                entries, values = self.matrix(contest, track, metric)
                placed = place(values, higher_is_better=METRICS[metric].higher_is_better is not False)
                found[contest.name, track] = {entries[p.index]: (p, len(placed)) for p in placed}
        return found

    def rank(self, entry: Entry, contest: Contest) -> Rank:
        """An entry's rank in its track by the area under shift of the main metric."""
        placed = self._placings.get((contest.name, entry.track), {})
        if entry not in placed:
            return Rank(None, len(placed))
        return Rank(placed[entry][0].rank, placed[entry][1])

    def frame(self, contest: Contest) -> pd.DataFrame:
        """One row a run, columns as in `Store.frame`; the learner is the entry's title."""
        import pandas as pd

        pieces = []
        for entry in self.of(contest):
            cells = contest.cells_of(entry.track)
            values = entry.values[contest.name]
            there = np.asarray(~np.isnan(values).all(axis=1))
            table = pd.DataFrame(values[there], columns=list(_NAMES)).dropna(axis=1, how="all")
            shown = [cell for cell, known in zip(cells, there.tolist(), strict=True) if known]
            about = {
                "benchmark": contest.benchmark,
                "benchmark_version": contest.version,
                "source": contest.source,
                "size": contest.size,
                **dict.fromkeys(("splits", "splits_fingerprint", "source_fingerprint", "sealed"), ""),
                **dict.fromkeys(("learner_version", "network_version"), ""),
                "protocol": PROTOCOL,
                "seed": contest.seed,
                "track": entry.track,
                "network": entry.network,
                "learner": entry.title,
                **_dials([contest.dials(cell) for cell in shown]),
                "shift": [cell.shift for cell in shown],
                "percent": [cell.percent for cell in shown],
                "repeat": [cell.repeat for cell in shown],
                "status": "ok",
            }
            pieces.append(pd.concat([pd.DataFrame(about, index=table.index), table], axis=1))
        return pd.concat(pieces, ignore_index=True) if pieces else pd.DataFrame()


def _dials(dials: Sequence[Dials]) -> dict[str, list[Any]]:
    """The columns that say how train and test sets are shifted."""
    return {f.name: [getattr(one, f.name) for one in dials] for f in fields(Dials)}


def read_board(submissions: Path = SUBMISSIONS, board: Path = BOARD) -> Board:
    """The board of a folder of accepted submissions.

    Raises:
        UserError: no folder of accepted submissions, or a submission that cannot be read.
    """
    rounds = read_rounds(board)
    sealed = [contest for found in rounds if found.is_revealed for contest in found.board_contests("code")]
    contests = (*read_contests(board), *sealed)
    names = [contest.name for contest in contests]
    for name in (contest.name for contest in sealed):
        if names.count(name) > 1:
            raise UserError(f"The board's file {board} has a contest {name}, which is one of a sealed round.")
    folders = _accepted(submissions)
    entries = [entry for folder in folders for entry in _entries(folder, contests, rounds)]
    if folders and not entries:
        raise UserError(
            f"None of the {len(folders)} submissions in {submissions} has a run of a contest in {board}; "
            "score them again with that board."
        )
    entries = _told_apart(entries)
    entries.sort(key=lambda entry: (entry.title.lower(), entry.slug))
    return Board(contests, tuple(entries))


def _accepted(submissions: Path) -> list[Path]:
    """The folders of the accepted submissions; none in an empty folder, which is a board before its first."""
    if not submissions.is_dir():
        raise UserError(
            f"There is no folder {submissions} of accepted submissions; name it with --submissions, or make "
            "an empty one for a board without any."
        )
    if (submissions / MANIFEST).is_file():
        raise UserError(
            f"{submissions} is one submission; name the folder in which accepted submissions lie, each in "
            "a folder of its own."
        )
    found = sorted(path.parent for path in submissions.glob(f"*/{SCORES}"))
    others = [path.name for path in submissions.iterdir() if not path.name.startswith(".")]
    if others and not found and not any(map(_waits, submissions.glob(f"*/{MANIFEST}"))):
        raise UserError(
            f"No folder in {submissions} holds a scored submission ({SCORES}); `nsl-bench score-submission "
            f"SUBMISSION --accept {submissions}` puts one there."
        )
    return found


def _waits(path: Path) -> bool:
    """Whether a manifest is of a submission to a sealed round, which has no scores before the reveal."""
    try:
        return bool(_manifest(path).round)
    except (OSError, ValueError, UserError):
        return False


def _told_apart(entries: Sequence[Entry]) -> list[Entry]:
    """Entries whose slugs are different, and whose titles are."""
    titles = Counter(entry.title for entry in entries)
    return [
        replace(
            entry, slug=name, title=entry.title if titles[entry.title] == 1 else f"{entry.title} [{name}]"
        )
        for entry, name in zip(entries, _slugs(entry.slug for entry in entries), strict=True)
    ]


def _slugs(names: Iterable[str]) -> Iterator[str]:
    """Slugs cut short, and none twice: what is taken gets a number."""
    taken: set[str] = set()
    for name in names:
        first = name[:_LONGEST_SLUG].strip("-")
        numbered = (f"{first}-{k}" for k in itertools.count(2))
        found = next(text for text in itertools.chain([first], numbered) if text not in taken)
        taken.add(found)
        yield found


def _manifest(path: Path) -> Manifest:
    """An accepted submission's manifest; what a manifest does not have is left out."""
    return checked(Manifest, parse_json(path.read_bytes()), f"{MANIFEST}: ")


def _entries(folder: Path, contests: Sequence[Contest], rounds: Sequence[Round]) -> list[Entry]:
    """A submission's entries, one a network."""
    try:
        manifest = _manifest(folder / MANIFEST)
        standing = standing_of(manifest, rounds, folder)
        by_name = {contest.name: contest for contest in contests}
        index = {
            name: {cell: k for k, cell in enumerate(contest.cells_of(manifest.track))}
            for name, contest in by_name.items()
        }
        column = {name: k for k, name in enumerate(_NAMES)}
        values: dict[str, dict[str, npt.NDArray[np.float64]]] = {}
        spans: dict[str, dict[str, list[tuple[int, int]]]] = {}
        runs: dict[str, dict[str, list[str]]] = {}
        begin = 0
        with (folder / SCORES).open("rb") as file:
            for line in file:
                run = json.loads(line)
                network, contest = run["network"], run["contest"]
                row = index.get(contest, {}).get(Cell(run["shift"], run["percent"], run["repeat"]))
                if row is not None:
                    n = len(index[contest])
                    mine = values.setdefault(network, {}).setdefault(
                        contest, np.full((n, len(_NAMES)), np.nan)
                    )
                    places = spans.setdefault(network, {}).setdefault(contest, [(0, 0)] * n)
                    places[row] = (begin, len(line))
                    runs.setdefault(network, {}).setdefault(contest, [""] * n)[row] = run["run"]
                    for name, value in run["metrics"].items():
                        if name in column:
                            mine[row, column[name]] = value
                begin += len(line)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, UserError) as error:
        raise UserError(
            f"The submission {folder} cannot be read ({type(error).__name__}: {error}); "
            "`nsl-bench score-submission --accept` writes what the board reads."
        ) from error
    several = len(values) > 1
    return [
        Entry(
            slug=slug(f"{folder.name} {network}" if several else folder.name),
            title=f"{manifest.name} ({network or 'none'})" if several else manifest.name,
            manifest=manifest,
            network=network,
            folder=folder,
            standing=standing,
            values=values[network],
            spans=spans[network],
            runs=runs[network],
        )
        for network in sorted(values)
    ]
