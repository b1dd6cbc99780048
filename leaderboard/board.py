"""The board in memory: the entries of all accepted submissions, and the tables made from them."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import numpy as np

from nsl_bench.core import registry
from nsl_bench.core.errors import UserError
from nsl_bench.core.metrics import METRICS
from nsl_bench.core.tracks import Track
from nsl_bench.run.job import PROTOCOL, ShiftPair
from nsl_bench.run.sampled import Sampled
from nsl_bench.run.statistics import std_err

from .accepted import SUBMISSIONS, check_there
from .comparing import Comparison, Difference, front
from .contests import BOARD, Contest, read_contests
from .entries import NAMES, Area, Entry, accepted_manifest, read_entries
from .rounds.model import read_rounds
from .score_report import COMPARED, SCORES
from .submission import MANIFEST
from .truth import tests_of

if TYPE_CHECKING:
    import pandas as pd

AREAS = (
    *("hypothesis_accuracy", "framework_accuracy", "brier_score"),
    *("atoms", "learning_time", "prediction_time"),
)
"""The metrics of the overview."""

_OF_SEQUENCES = ("hypothesis_sequence_accuracy", "sequence_accuracy", "effective_image_accuracy")

FRONT = ("atoms", "learning_time")
"""What a Pareto front weighs against the metric that ranks."""

_OF_CONCEPTS = ("learner_concept_accuracy", "concept_collapse")

_LONGEST_SLUG = 60


@dataclass(frozen=True)
class Rank:
    """The ranks that an entry can have in a contest, by the metric that ranks.

    Attributes:
        first, last: the best and the worst; those of all entries hold together with 95 %. None if it has
            none, since runs are missing or failed.
        of: number of entries with a rank.
    """

    first: int | None
    last: int | None
    of: int

    def __str__(self) -> str:
        if self.first is None:
            return ""
        return str(self.first) if self.first == self.last else f"{self.first} to {self.last}"


@dataclass(frozen=True, eq=False)
class Board:
    """Contests and entries."""

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

    def reference(self, contest: Contest) -> Entry | None:
        """The entry that others are compared with: FFNSL with the contest's main network."""
        mine = [e for e in self.of(contest, "pretrained") if e.is_ours and e.can_rank(contest)]
        often = Counter(e.network for e in self.of(contest, "pretrained"))
        main = next(iter(contest.networks), "") or max(often, key=lambda name: often[name], default="")
        mine.sort(key=lambda e: (e.network != main, len(e.manifest.learner), e.slug))
        return mine[0] if mine else None

    def comparison(self, contest: Contest, metric: str, track: str) -> Comparison[Entry] | None:
        """The entries of a contest by a metric; None if none has its scores.

        Those on true concepts are compared with each other only: they have no shares of shifted images.
        """
        return self._comparisons.get((contest.name, metric, track == "symbolic"))

    @cached_property
    def _comparisons(self) -> Mapping[tuple[str, str, bool], Comparison[Entry] | None]:
        return {
            (contest.name, metric, symbolic): self._compared(contest, tested, metric, symbolic)
            for contest, tested in ((c, tests_of(c)) for c in self.contests if self.of(c))
            for metric in COMPARED
            for symbolic in (False, True)
        }

    def _compared(
        self, contest: Contest, tested: Sampled, metric: str, symbolic: bool
    ) -> Comparison[Entry] | None:
        key = contest.name, metric
        entries = [e for e in self.of(contest) if e.can_rank(contest) and key in e.examples]
        entries = [e for e in entries if (e.track == "symbolic") == symbolic]
        if not entries:
            return None
        return Comparison(
            entries,
            np.stack([e.examples[key] for e in entries]).astype(np.float64),
            higher_is_better=METRICS[metric].higher_is_better is not False,
            **tested.of(metric, entries[0].track),
        )

    def differences(self, contest: Contest, metric: str) -> Mapping[Entry, Difference]:
        """How much better than the reference each entry is by a metric of `COMPARED`, where that is known."""
        key = contest.name, metric
        if key not in self._differences:
            self._differences[key] = self._to_reference(contest, metric)
        return self._differences[key]

    @cached_property
    def _differences(self) -> dict[tuple[str, str], Mapping[Entry, Difference]]:
        return {}

    def _to_reference(self, contest: Contest, metric: str) -> Mapping[Entry, Difference]:
        reference = self.reference(contest)
        if reference is None:
            return {}
        comparison = self.comparison(contest, metric, reference.track)
        return comparison.against(reference) if comparison and reference in comparison else {}

    def area(self, entry: Entry, contest: Contest, metric: str) -> Area | None:
        """A metric's mean over shares; None if runs are missing."""
        values = entry.repeats(contest, metric)
        if not len(values):
            return None
        spread = entry.spreads.get((contest.name, metric))
        error = std_err(values) if spread is None else spread.std_err
        return Area(float(values.mean()), error, spread)

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

    def summaries(self) -> Iterator[str]:
        """The answers to the board's question, in sentences: where another learner is better than FFNSL."""
        rest = []
        for contest in self.contests:
            all_of = self.differences(contest, "framework_accuracy")
            others = {e: d for e, d in all_of.items() if not e.is_ours and e.track != "symbolic"}
            better = sorted((d.mean, e.title) for e, d in others.items() if d.word == "better")
            if better:
                mean, title = better[-1]
                are = "learners is" if len(better) == 1 else "learners are"
                yield (
                    f"On {contest.name} {len(better)} of {len(others)} {are} better than FFNSL, "
                    f"{title} by {100 * mean:.1f} points."
                )
            elif others:
                worse = sum(d.word == "worse" for d in others.values())
                rest.append(f"{contest.name} ({worse} of {len(others)} are worse)")
        if rest:
            yield f"None is better on {', '.join(rest)}."

    def rank(self, entry: Entry, contest: Contest) -> Rank:
        """The ranks that an entry can have by the metric that ranks."""
        comparison = self.comparison(contest, self.main_metric(entry.track), entry.track)
        if comparison is None:
            return Rank(None, None, 0)
        first, last = comparison.ranks.get(entry, (None, None))
        return Rank(first, last, len(comparison.learners))

    def frame(self, contest: Contest) -> pd.DataFrame:
        """One row per run, with the columns of `Store.frame`; the learner is the entry's title."""
        import pandas as pd

        pieces = []
        pair_of = {cell: contest.shift_pair(cell) for cell in contest.cells}
        for entry in self.of(contest):
            cells = contest.cells_of(entry.track)
            values = entry.values[contest.name]
            there = np.asarray(~np.isnan(values).all(axis=1))
            table = pd.DataFrame(values[there], columns=list(NAMES)).dropna(axis=1, how="all")
            run_cells = [cell for cell, present in zip(cells, there.tolist(), strict=True) if present]
            pairs = [pair_of[cell] for cell in run_cells]
            about = {
                "benchmark": contest.benchmark,
                "benchmark_version": contest.version,
                "test_task": contest.test_task,
                "source": contest.source,
                "size": contest.size,
                **dict.fromkeys(("splits", "splits_fingerprint", "source_fingerprint", "sealed"), ""),
                **dict.fromkeys(("learner_version", "network_version", "annotation"), ""),
                "protocol": PROTOCOL,
                "seed": contest.seed,
                "track": entry.track,
                "network": entry.network,
                "learner": entry.title,
                **{f.name: [getattr(one, f.name) for one in pairs] for f in fields(ShiftPair)},
                "shift": [cell.shift for cell in run_cells],
                "percent": [cell.percent for cell in run_cells],
                "repeat": [cell.repeat for cell in run_cells],
                "status": "ok",
                "timed_out": False,
            }
            pieces.append(pd.concat([pd.DataFrame(about, index=table.index), table], axis=1))
        return pd.concat(pieces, ignore_index=True) if pieces else pd.DataFrame()


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
    slugs: set[str] = set()
    for name in names:
        first = name[:_LONGEST_SLUG].strip("-")
        numbered = (f"{first}-{k}" for k in itertools.count(2))
        free = next(text for text in itertools.chain([first], numbered) if text not in slugs)
        slugs.add(free)
        yield free
