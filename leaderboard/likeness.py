"""Find predictions that equal another entry's, or whose labels contradict their probabilities.

Digests and shares of contradictions are stored when a submission is scored. For scores without them, the
predictions are read again.

Both can have good reasons. Deterministic learners that find the same rules give equal predictions. A label
derived from the most likely concepts need not be the most probable label. Nothing is therefore rejected here;
the learner's page shows what was found.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from nsl_bench.errors import UserError
from nsl_bench.guarded.call import guarded
from nsl_bench.guarded.worker import needing
from nsl_bench.workers import spread

from .board import Board
from .contests import Cell
from .entries import Entry
from .predictions import DAMAGED, READING, Predicted, contradictions, rows_of
from .score_report import Look
from .submission import PREDICTIONS

__all__ = ["Alike", "Likeness", "likenesses", "look_at", "outdated"]

_FEW_FILES = 8
"""Up to so many files more processes are not worth their start."""


@dataclass(frozen=True)
class Alike:
    """Another entry with the same predictions.

    Attributes:
        slug, title: slug and title of the other entry.
        runs: number of runs with equal labels and probabilities in every evaluation.
    """

    slug: str
    title: str
    runs: int


@dataclass(frozen=True)
class Likeness:
    """Findings about an entry's predictions.

    Attributes:
        alike: entries of other submissions with equal predictions, those with the most runs first.
        runs: number of runs of the entry.
        contrary: by evaluation, the share of labels that are not the most probable ones, if above 0.
    """

    alike: tuple[Alike, ...] = ()
    runs: int = 0
    contrary: Mapping[str, float] | None = None


_Look = dict[tuple[str, str], Look]
"""Run and evaluation to what was seen of the predictions."""

_Place = tuple[tuple[str, Cell], Mapping[str, Look]]
"""A run's contest and cell; its evaluations to what was seen of them."""


def outdated(board: Board) -> list[Path]:
    """The folders of submissions whose scores lack the digests of predictions."""
    old = (e.folder for e in board.entries if any(look is None for own in e.looks.values() for look in own))
    return list(dict.fromkeys(old))


def likenesses(board: Board, workers: int = 1) -> dict[str, Likeness]:
    """Findings about the predictions of each entry, by its slug.

    Args:
        board: the accepted submissions. `outdated` ones without a readable file of predictions are left out.
        workers: number of processes that read predictions.
    """
    folders = outdated(board)
    found = spread(_look, None, folders, workers if len(folders) > _FEW_FILES else 1)
    looks = dict(zip(folders, found, strict=True))
    same: dict[tuple[object, ...], set[str]] = defaultdict(set)
    runs = {entry.slug: _runs(board, entry, looks.get(entry.folder)) for entry in board.entries}
    for slug, places in runs.items():
        for place, evaluations in places:
            for evaluation, look in evaluations.items():
                same[place, evaluation, look.digest].add(slug)
    by_slug = {entry.slug: entry for entry in board.entries}
    return {slug: _likeness(by_slug, slug, places, same) for slug, places in runs.items()}


def _likeness(
    entries: Mapping[str, Entry],
    slug: str,
    places: Sequence[_Place],
    same: Mapping[tuple[object, ...], set[str]],
) -> Likeness:
    mine = entries[slug].folder
    count: Counter[str] = Counter()
    shares: dict[str, list[float]] = defaultdict(list)
    for place, evaluations in places:
        for evaluation, look in evaluations.items():
            shares[evaluation].append(look.contrary)
        both = [same[place, evaluation, look.digest] for evaluation, look in evaluations.items()]
        if both:
            count.update(other for other in set.intersection(*both) if entries[other].folder != mine)
    alike = tuple(Alike(other, entries[other].title, n) for other, n in count.most_common())
    means = {evaluation: float(np.mean(each)) for evaluation, each in sorted(shares.items())}
    return Likeness(alike, len(places), {evaluation: mean for evaluation, mean in means.items() if mean > 0})


def _runs(board: Board, entry: Entry, read: _Look | None) -> list[_Place]:
    """Each run's contest and cell, and what was seen of its evaluations, read again if it had to be."""
    by_run: dict[str, dict[str, Look]] = defaultdict(dict)
    for (run, evaluation), look in (read or {}).items():
        by_run[run][evaluation] = look
    found: list[_Place] = []
    for contest in board.contests:
        own = entry.runs.get(contest.name, ()), entry.looks.get(contest.name, ())
        for cell, run, kept in zip(contest.cells_of(entry.track), *own, strict=False):
            looks = by_run.get(run, {}) if kept is None else kept
            if looks:
                found.append(((contest.name, cell), looks))
    return found


def look_at(predicted: Predicted) -> Look:
    """Summarise predictions."""
    labels, probabilities = predicted
    digest = hashlib.blake2b(labels.tobytes(), digest_size=16)
    digest.update(b"" if probabilities is None else probabilities.tobytes())
    return Look(digest.hexdigest(), _share(contradictions(predicted)[0]))


def _look(shared: None, folder: Path) -> _Look:
    path = folder / PREDICTIONS
    try:
        seen = guarded(_seen, str(path), doing=f"Reading {path}", allowance=READING, advice=DAMAGED)
    except UserError:
        return {}
    return {(run, evaluation): Look(digest, share) for run, evaluation, digest, share in seen}


def _share(marked: npt.NDArray[np.bool_]) -> float:
    return np.count_nonzero(marked) / len(marked) if len(marked) else 0.0


@needing("numpy", "pyarrow.parquet")
def _seen(path: str) -> list[tuple[str, str, str, float]]:
    """Run, evaluation, digest, and the share of contradicting labels, row by row; none of damaged files."""
    import pyarrow as pa

    found = []
    try:
        for run, evaluation, predicted in rows_of(path):
            look = look_at(predicted)
            found.append((run, evaluation, look.digest, look.contrary))
    except (pa.ArrowException, OSError, KeyError, ValueError, AttributeError):
        return []
    return found
