"""The board in memory: the entries of all accepted submissions, and the tables made from them."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
import numpy.typing as npt

from nsl_bench.core import registry
from nsl_bench.core.errors import UserError
from nsl_bench.core.metrics import METRICS
from nsl_bench.core.tracks import Track
from nsl_bench.run.job import PROTOCOL, ShiftPair

from .accepted import SUBMISSIONS, check_there
from .contests import BOARD, Contest, read_contests
from .entries import NAMES, Area, Entry, accepted_manifest, read_entries
from .ranking import Placing, adjusted_p_values, front, place
from .rounds.model import read_rounds
from .score_report import SCORES
from .submission import MANIFEST

if TYPE_CHECKING:
    import pandas as pd

AREAS = (
    "hypothesis_accuracy",
    "framework_accuracy",
    "brier_score",
    "atoms",
    "learning_time",
    "prediction_time",
)
"""The metrics of the overview."""

_OF_SEQUENCES = ("hypothesis_sequence_accuracy", "sequence_accuracy", "effective_image_accuracy")

FRONT = ("atoms", "learning_time")
"""What a Pareto front weighs against the metric that ranks."""

_OF_CONCEPTS = ("learner_concept_accuracy", "concept_collapse")

_LONGEST_SLUG = 60


@dataclass(frozen=True)
class Rank:
    """An entry's place in a contest.

    Attributes:
        rank: rank among the entries of its track that can rank; None if it cannot, or the metric is missing.
        of: number of entries with a rank.
    """

    rank: int | None
    of: int


@dataclass(frozen=True, eq=False)
class Board:
    """Contests and entries.

    Attributes:
        entries: all entries, sorted by title.
    """

    contests: tuple[Contest, ...]
    entries: tuple[Entry, ...]

    @cached_property
    def n_runs(self) -> int:
        """The number of scored runs."""
        return sum(length > 0 for e in self.entries for spans in e.spans.values() for _, length in spans)

    def areas_of(self, contest: Contest) -> tuple[str, ...]:
        """The metrics of a contest: the overview's, and those of sequences or concepts where it has them."""
        return self._areas[contest.name]

    @cached_property
    def _areas(self) -> Mapping[str, tuple[str, ...]]:
        columns = [NAMES.index(metric) for metric in _OF_CONCEPTS]
        areas = {}
        for contest in self.contests:
            more = _OF_SEQUENCES if registry.create("benchmark", contest.tested).sequential else ()
            if any(not np.isnan(e.values[contest.name][:, columns]).all() for e in self.of(contest)):
                more = (*more, *_OF_CONCEPTS)
            areas[contest.name] = (*AREAS[:2], *more, *AREAS[2:])
        return areas

    def of(self, contest: Contest, track: str | None = None) -> list[Entry]:
        """The entries of a contest."""
        return [e for e in self.entries if contest.name in e.values and (track is None or e.track == track)]

    def tracks(self, contest: Contest) -> list[str]:
        """The tracks that a contest has entries in, in the protocol's order."""
        return [track for track in get_args(Track) if self.of(contest, track)]

    def main_metric(self, track: str) -> str:
        """The metric that ranks: framework accuracy, or hypothesis accuracy in a track without images."""
        return "hypothesis_accuracy" if track == "symbolic" else "framework_accuracy"

    def matrix(
        self, contest: Contest, track: str, metric: str
    ) -> tuple[list[Entry], npt.NDArray[np.float64]]:
        """The entries of a contest that are ranked, and float64 [entries, repeats]."""
        rows = [(e, e.repeats(contest, metric)) for e in self.of(contest, track) if e.can_rank(contest)]
        whole = [(e, row) for e, row in rows if len(row)]
        values = np.array([row for _, row in whole]).reshape(len(whole), contest.repeats)
        return [e for e, _ in whole], values

    def area(self, entry: Entry, contest: Contest, metric: str) -> Area | None:
        """A metric's mean over shares; None if runs are missing."""
        values = entry.repeats(contest, metric)
        if not len(values):
            return None
        error = float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")
        spread = entry.spreads.get((contest.name, metric))
        return Area(float(values.mean()), error if spread is None else spread.std_err, spread)

    def kept_out(self, contest: Contest) -> list[Entry]:
        """The entries that say that the contest is not applicable to them."""
        return [entry for entry in self.entries if contest.name in entry.manifest.not_applicable]

    def front(self, contest: Contest, track: str) -> list[tuple[Entry, bool]]:
        """The entries that have all metrics of the Pareto front, and whether each is on it; best first.

        The metrics are the one that ranks and those of `FRONT`.
        """
        metrics = (self.main_metric(track), *FRONT)
        entries = [e for e in self.of(contest, track) if e.can_rank(contest)]
        areas = [(e, [self.area(e, contest, metric) for metric in metrics]) for e in entries]
        points = [(e, [a.mean for a in mine if a is not None]) for e, mine in areas if all(mine)]
        points.sort(key=lambda item: (-item[1][0], *item[1][1:]))
        values = np.array([means for _, means in points]).reshape(len(points), len(metrics))
        on_front = front(values, [METRICS[metric].higher_is_better is True for metric in metrics])
        return [(e, bool(on)) for (e, _), on in zip(points, on_front.tolist(), strict=True)]

    def open_to(self, track: str, sealed_round: str = "") -> list[Contest]:
        """The contests with entries of a track: the public ones, or those of a sealed round."""
        return [c for c in self.contests if c.sealed_round == sealed_round and self.of(c, track)]

    def over_contests(self, track: str) -> tuple[list[Entry], npt.NDArray[np.float64]]:
        """The entries that are ranked in every public contest of a track, and float64 [entries, contests].

        The numbers are means over shares of the metric that ranks.
        """
        metric = self.main_metric(track)
        contests = self.open_to(track)
        rows = []
        for entry in (e for e in self.entries if e.track == track and not e.manifest.round):
            areas = [self.area(entry, c, metric) if entry.can_rank(c) else None for c in contests]
            rows += [(entry, [a.mean for a in areas if a is not None])] if all(areas) else []
        values = np.array([row for _, row in rows]).reshape(len(rows), len(contests))
        return [entry for entry, _ in rows], values

    @cached_property
    def _placings(self) -> dict[tuple[str, str], dict[Entry, tuple[Placing, int]]]:
        tables = [
            (contest, track, *self.matrix(contest, track, self.main_metric(track)))
            for contest in self.contests
            for track in self.tracks(contest)
        ]
        corrected = adjusted_p_values([values for _, _, _, values in tables])
        placings = {}
        for (contest, track, entries, values), p_values in zip(tables, corrected, strict=True):
            higher = METRICS[self.main_metric(track)].higher_is_better is not False
            placed = place(values, higher_is_better=higher, p_values=p_values)
            placings[contest.name, track] = {entries[p.index]: (p, len(placed)) for p in placed}
        return placings

    def rank(self, entry: Entry, contest: Contest) -> Rank:
        """An entry's rank in its track by the mean over shares of the main metric."""
        placed = self._placings.get((contest.name, entry.track), {})
        if entry not in placed:
            return Rank(None, len(placed))
        return Rank(placed[entry][0].rank, placed[entry][1])

    def frame(self, contest: Contest) -> pd.DataFrame:
        """One row per run, with the columns of `Store.frame`; the learner is the entry's title."""
        import pandas as pd

        pieces = []
        for entry in self.of(contest):
            cells = contest.cells_of(entry.track)
            values = entry.values[contest.name]
            there = np.asarray(~np.isnan(values).all(axis=1))
            table = pd.DataFrame(values[there], columns=list(NAMES)).dropna(axis=1, how="all")
            run_cells = [cell for cell, present in zip(cells, there.tolist(), strict=True) if present]
            about = {
                "benchmark": contest.benchmark,
                "benchmark_version": contest.version,
                "test_task": contest.test_task,
                "source": contest.source,
                "size": contest.size,
                **dict.fromkeys(("splits", "splits_fingerprint", "source_fingerprint", "sealed"), ""),
                **dict.fromkeys(("learner_version", "network_version"), ""),
                "protocol": PROTOCOL,
                "seed": contest.seed,
                "track": entry.track,
                "network": entry.network,
                "learner": entry.title,
                **_shift_columns([contest.shift_pair(cell) for cell in run_cells]),
                "shift": [cell.shift for cell in run_cells],
                "percent": [cell.percent for cell in run_cells],
                "repeat": [cell.repeat for cell in run_cells],
                "status": "ok",
            }
            pieces.append(pd.concat([pd.DataFrame(about, index=table.index), table], axis=1))
        return pd.concat(pieces, ignore_index=True) if pieces else pd.DataFrame()


def _shift_columns(pairs: Sequence[ShiftPair]) -> dict[str, list[Any]]:
    """The columns that say how train and test sets are shifted."""
    return {f.name: [getattr(one, f.name) for one in pairs] for f in fields(ShiftPair)}


def read_board(submissions: Path = SUBMISSIONS, board: Path = BOARD) -> Board:
    """Read the board of a folder of accepted submissions."""
    rounds = read_rounds(board)
    sealed = [contest for round_ in rounds if round_.is_revealed for contest in round_.board_contests("code")]
    contests = (*read_contests(board), *sealed)
    names = [contest.name for contest in contests]
    for name in (contest.name for contest in sealed):
        if names.count(name) > 1:
            raise UserError(f"The contest {name} in {board} also belongs to a sealed round; rename it.")
    folders = _accepted(submissions)
    entries = [entry for folder in folders for entry in read_entries(folder, contests, rounds)]
    if folders and not entries:
        raise UserError(
            f"None of the {len(folders)} submissions in {submissions} has a run of a contest in "
            f"{board}; score them again with that board."
        )
    entries = _told_apart(entries)
    entries.sort(key=lambda entry: (entry.title.lower(), entry.slug))
    return Board(contests, tuple(entries))


def _accepted(submissions: Path) -> list[Path]:
    """The folders of the accepted submissions; none in an empty folder, which is a board before its first."""
    check_there(submissions)
    if (submissions / MANIFEST).is_file():
        raise UserError(
            f"{submissions} is one submission; give the folder that contains the accepted submissions, "
            "one per subfolder."
        )
    scored = sorted(path.parent for path in submissions.glob(f"*/{SCORES}"))
    others = [path.name for path in submissions.iterdir() if not path.name.startswith(".")]
    if others and not scored and not any(map(_waits, submissions.glob(f"*/{MANIFEST}"))):
        raise UserError(
            f"No folder in {submissions} contains a scored submission ({SCORES}); add one with "
            f"`nsl-bench score-submission SUBMISSION --accept {submissions}`."
        )
    return scored


def _waits(path: Path) -> bool:
    """Whether a manifest is of a submission to a sealed round, which has no scores before the reveal."""
    try:
        return bool(accepted_manifest(path).round)
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
        free = next(text for text in itertools.chain([first], numbered) if text not in taken)
        taken.add(free)
        yield free
