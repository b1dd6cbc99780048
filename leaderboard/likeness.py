"""What predictions themselves give away: that they are those of another entry, or contradict themselves.

Both may have good reasons. Deterministic learners that find the same rules predict the same; a label derived
from the likeliest concepts need not be the most probable label. So nothing is refused here: a learner's
page says what was found.
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
from nsl_bench.isolation.guard import guarded
from nsl_bench.isolation.guard_worker import needing
from nsl_bench.workers import spread

from .board import Board, Entry
from .contests import Cell
from .predictions import DAMAGED, READING, contradictions, rows_of
from .submission import PREDICTIONS

__all__ = ["Alike", "Likeness", "likenesses"]

_FEW_FILES = 8
"""Up to so many files more processes are not worth their start."""


@dataclass(frozen=True)
class Alike:
    """Another entry with the same predictions.

    Attributes:
        slug, title: of the other entry.
        runs: in how many runs labels and probabilities of every evaluation are the same.
    """

    slug: str
    title: str
    runs: int


@dataclass(frozen=True)
class Likeness:
    """What is said of an entry's predictions.

    Attributes:
        alike: other submissions' entries with the same predictions, those with the most runs first.
        runs: how many runs the entry has.
        contrary: evaluation to the share of labels that are not the most probable ones; those above 0.
    """

    alike: tuple[Alike, ...] = ()
    runs: int = 0
    contrary: Mapping[str, float] | None = None


_Look = dict[tuple[str, str], tuple[bytes, float]]
"""Run and evaluation to a digest of the predictions and the share of labels that contradict them."""

_Place = tuple[tuple[str, Cell], Mapping[str, tuple[bytes, float]]]
"""A run's contest and cell; its evaluations to what was seen of them."""


def likenesses(board: Board, workers: int = 1) -> dict[str, Likeness]:
    """What is said of each entry's predictions, by its slug.

    Args:
        board: the accepted submissions; one without a readable file of predictions has nothing said of it.
        workers: processes that read.
    """
    folders = list(dict.fromkeys(entry.folder for entry in board.entries))
    found = spread(_look, None, folders, workers if len(folders) > _FEW_FILES else 1)
    looks = dict(zip(folders, found, strict=True))
    same: dict[tuple[object, ...], set[str]] = defaultdict(set)
    runs = {entry.slug: _runs(board, entry, looks[entry.folder]) for entry in board.entries}
    for slug, places in runs.items():
        for place, evaluations in places:
            for evaluation, (digest, _) in evaluations.items():
                same[place, evaluation, digest].add(slug)
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
        for evaluation, (_, share) in evaluations.items():
            shares[evaluation].append(share)
        both = [same[place, evaluation, digest] for evaluation, (digest, _) in evaluations.items()]
        if both:
            count.update(other for other in set.intersection(*both) if entries[other].folder != mine)
    alike = tuple(Alike(other, entries[other].title, n) for other, n in count.most_common())
    means = {evaluation: float(np.mean(each)) for evaluation, each in sorted(shares.items())}
    return Likeness(alike, len(places), {evaluation: mean for evaluation, mean in means.items() if mean > 0})


def _runs(board: Board, entry: Entry, look: _Look) -> list[_Place]:
    """Each run's contest and cell, and what was seen of its evaluations."""
    evaluations: dict[str, dict[str, tuple[bytes, float]]] = defaultdict(dict)
    for (run, evaluation), seen in look.items():
        evaluations[run][evaluation] = seen
    return [
        ((contest.name, cell), evaluations[run])
        for contest in board.contests
        for cell, run in zip(contest.cells_of(entry.track), entry.runs.get(contest.name, ()), strict=False)
        if run in evaluations
    ]


def _look(shared: None, folder: Path) -> _Look:
    path = folder / PREDICTIONS
    try:
        seen = guarded(_seen, str(path), doing=f"Reading {path}", allowance=READING, advice=DAMAGED)
    except UserError:
        return {}
    return {(run, evaluation): (bytes.fromhex(digest), share) for run, evaluation, digest, share in seen}


def _share(marked: npt.NDArray[np.bool_]) -> float:
    return np.count_nonzero(marked) / len(marked) if len(marked) else 0.0


@needing("numpy", "pyarrow.parquet")
def _seen(path: str) -> list[tuple[str, str, str, float]]:
    """Run, evaluation, digest, and the share of contradicting labels, row by row; none of damaged files."""
    import pyarrow as pa

    found = []
    try:
        for run, evaluation, (labels, probabilities) in rows_of(path):
            digest = hashlib.blake2b(labels.tobytes(), digest_size=16)
            digest.update(probabilities.tobytes())
            contrary, _ = contradictions((labels, probabilities))
            found.append((run, evaluation, digest.hexdigest(), _share(contrary)))
    except (pa.ArrowException, OSError, KeyError, ValueError, AttributeError):
        return []
    return found
