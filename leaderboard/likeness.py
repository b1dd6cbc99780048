"""Find predictions that equal another entry's, fully or nearly, or contradict their own probabilities.

Digests and shares of contradictions are stored when a submission is scored. For scores without them, the
predictions are read again.

All can have good reasons. Deterministic learners that find the same rules give equal predictions. A label
derived from the most likely concepts need not be the most probable label. Nothing is therefore rejected here;
the learner's page shows what was found.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from nsl_bench.errors import UserError
from nsl_bench.guarded.call import guarded
from nsl_bench.guarded.worker import needing
from nsl_bench.workers import spread

from .board import Board
from .contests import Cell, Contest
from .entries import Entry
from .predictions import DAMAGED, READING, Predicted, contradictions, rows_of
from .score_report import SCORES, Look, ScoreReport
from .shown import letters_of, unpacked
from .submission import PREDICTIONS
from .truth import labels_of

__all__ = ["Alike", "Likeness", "Near", "likenesses", "look_at", "near", "nearly_equal", "outdated"]

_EQUAL, _EQUAL_WHERE_WRONG = 0.985, 0.9
"""Shares of equal labels from which two entries are said to be near, of all and where either is wrong.

On the committed board, of some 2,000 pairs of entries in a contest, 20 are as near. Eleven are one learner,
tuned or not; the others learned the same rules, or the majority class, or are trees on few features.
"""

_MOST_SAID = 5

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
class Near:
    """Another entry with nearly the same labels in a contest.

    Attributes:
        slug, title: slug and title of the other entry.
        contest: name of the contest.
        equal: share of equal labels in the runs of both.
        where_wrong: the same share of those labels of which either is wrong.
    """

    slug: str
    title: str
    contest: str
    equal: float
    where_wrong: float


@dataclass(frozen=True)
class Likeness:
    """Findings about an entry's predictions.

    Attributes:
        near: entries of other submissions with nearly the same labels, a contest each, the nearest first.
        alike: entries of other submissions with equal predictions, those with the most runs first.
        runs: number of runs of the entry.
        contrary: by evaluation, the share of labels that are not the most probable ones, if above 0.
    """

    alike: tuple[Alike, ...] = ()
    runs: int = 0
    contrary: Mapping[str, float] | None = None
    near: tuple[Near, ...] = ()


_Look = dict[tuple[str, str], Look]
"""Run and evaluation to what was seen of the predictions."""

_Labels = dict[Cell, npt.NDArray[np.uint8]]
"""The predicted labels of each cell's run, as the characters that scores have."""

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
    pairs = list(spread(near, board, board.contests, workers if len(board.entries) > _FEW_FILES else 1))
    likeness = {slug: _likeness(by_slug, slug, places, same) for slug, places in runs.items()}
    for slug, said in likeness.items():
        mine = sorted((pair for each in pairs for pair in each.get(slug, ())), key=lambda pair: -pair.equal)
        full = {one.slug for one in said.alike if one.runs == said.runs}
        likeness[slug] = replace(said, near=tuple(pair for pair in mine if pair.slug not in full))
    return likeness


def near(board: Board, contest: Contest) -> dict[str, list[Near]]:
    """The entries of a contest with nearly the same labels as others, by slug."""
    entries = board.of(contest)
    labels = [_labels(entry, contest) for entry in entries]
    found: dict[str, list[Near]] = defaultdict(list)
    for (one, mine), (other, theirs) in itertools.combinations(zip(entries, labels, strict=True), 2):
        if one.folder != other.folder and (shares := _shares(contest, mine, theirs)):
            found[one.slug].append(Near(other.slug, other.title, contest.name, *shares))
            found[other.slug].append(Near(one.slug, one.title, contest.name, *shares))
    return found


def nearly_equal(report: ScoreReport, board: Board, own: str) -> list[str]:
    """A sentence for each entry of a board with nearly the labels of a scored submission, the nearest first.

    Args:
        report: the report on the submission.
        board: the accepted submissions.
        own: the folder's name that the submission has among them.
    """
    mine: dict[tuple[str, str], _Labels] = defaultdict(dict)
    for run in report.runs:
        if run.status == "ok":
            mine[run.contest, run.network][run.cell] = _letters(run.looks, lambda look: look.shown)
    found = []
    for contest, entry in ((c, e) for c in board.contests for e in board.of(c) if e.folder.name != own):
        theirs = _labels(entry, contest)
        for labels in (labels for (name, _), labels in mine.items() if name == contest.name):
            if shares := _shares(contest, labels, theirs):
                found.append((shares, entry.title, contest.name))
    return [
        f"Labels on {contest} agree with those of {title} on {100 * equal:.1f} % of all examples, and on "
        f"{100 * where_wrong:.0f} % of those on which either is wrong."
        for (equal, where_wrong), title, contest in sorted(found, reverse=True)[:_MOST_SAID]
    ]


def _shares(contest: Contest, mine: _Labels, theirs: _Labels) -> tuple[float, float] | None:
    """The shares of equal labels, of all and where either is wrong; None if they are not near."""
    cells = [cell for cell in mine if cell in theirs and len(mine[cell]) == len(theirs[cell]) > 0]
    if not cells:
        return None
    a, b = (np.concatenate([known[cell] for cell in cells]) for known in (mine, theirs))
    if np.mean(a == b) < _EQUAL:
        return None
    true = np.concatenate([letters_of(labels_of(contest, cell)) for cell in cells])
    wrong = (a != true) | (b != true)
    shares = float(np.mean(a == b)), float(np.mean(a[wrong] == b[wrong])) if wrong.any() else 0.0
    return shares if shares[1] >= _EQUAL_WHERE_WRONG else None


def _labels(entry: Entry, contest: Contest) -> _Labels:
    """The predicted labels of the runs that did not fail."""
    found = {}
    places = zip(contest.cells_of(entry.track), entry.spans.get(contest.name, ()), strict=False)
    with (entry.folder / SCORES).open("rb") as file:
        for cell, (begin, length) in places:
            file.seek(begin)
            run = json.loads(file.read(length)) if length else {}
            looks = run.get("looks", {}) if run.get("status", "ok") == "ok" else {}
            found[cell] = _letters(looks, lambda look: look.get("shown", {}))
    return found


def _letters(looks: Mapping[str, Any], shown_of: Callable[[Any], Mapping[str, str]]) -> npt.NDArray[np.uint8]:
    """The labels that scores have of a run, as their characters; empty in older scores."""
    look = looks.get("framework", looks.get("hypothesis"))
    with contextlib.suppress(ValueError, KeyError, zlib.error):
        return np.frombuffer(
            unpacked({"labels": shown_of(look)["labels"]} if look else {})["labels"], np.uint8
        )
    return np.empty(0, np.uint8)


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
