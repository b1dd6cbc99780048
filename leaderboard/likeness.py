"""Find predictions that equal another entry's, fully or nearly, or contradict their own probabilities.

Digests and shares of contradictions are stored when a submission is scored; labels are read from
its predictions.

All can have good reasons. Deterministic learners that find the same rules give equal predictions. A label
derived from the most likely concepts need not be the most probable label. Nothing is therefore rejected here;
the learner's page shows what was found.
"""

import contextlib
import hashlib
import itertools
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial, reduce
from operator import and_
from pathlib import Path

import numpy as np

from nsl_bench.core.errors import UserError
from nsl_bench.core.types import Bools, UInts16

from .board import Board
from .contests import Cell, Contest
from .entries import Entry
from .predictions import Predicted, contradictions, letters_in, letters_of, read_accepted
from .score_report import Look, ScoreReport
from .submission import PREDICTIONS
from .truth import labels_of

_EQUAL, _EQUAL_WHERE_WRONG = 0.985, 0.9
"""Shares of equal labels from which two entries are said to be near, of all and where either is wrong.

On the committed board, of some 2,000 pairs of entries in a contest, 20 are as near. Eleven are one learner,
tuned or not; the others learned the same rules, or the majority class, or are trees on few features.
"""

_MOST_SAID = 5


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
        contrary: by evaluation, the share of labels that are not the most probable ones, if above 0.
    """

    alike: tuple[Alike, ...] = ()
    runs: int = 0
    contrary: Mapping[str, float] | None = None
    near: tuple[Near, ...] = ()


_Labels = dict[Cell, UInts16]
"""The predicted labels of each cell's run, as characters (`predictions.LETTERS`)."""

Answers = dict[str, UInts16]
"""The predicted labels of each run of a submission, as characters."""

_Place = tuple[tuple[str, Cell], Mapping[str, Look]]
"""A run's contest and cell; its evaluations to what was seen of them."""


def likenesses(board: Board, answers: Mapping[str, Answers] | None = None) -> dict[str, Likeness]:
    """Findings about the predictions of each entry, by its slug.

    Args:
        answers: those of each entry, by its slug, where they were read already. An entry without a readable
            file of predictions is near to none.
    """
    if answers is None:
        read = cache(_answers)
        answers = {entry.slug: read(entry.folder) for entry in board.entries}
    same: dict[tuple[object, ...], int] = defaultdict(int)
    runs = {entry.slug: _runs(board, entry) for entry in board.entries}
    for k, places in enumerate(runs.values()):
        for place, evaluations in places:
            for evaluation, look in evaluations.items():
                same[place, evaluation, look.digest] |= 1 << k
    whole = {slug: _whole(places) for slug, places in runs.items()}
    pairs = [_near(board, answers, whole, contest) for contest in board.contests]
    likeness = {e.slug: _likeness(board.entries, e, runs[e.slug], same) for e in board.entries}
    for slug, own in likeness.items():
        mine = sorted((pair for each in pairs for pair in each.get(slug, ())), key=lambda pair: -pair.equal)
        full = {one.slug for one in own.alike if one.runs == own.runs}
        likeness[slug] = replace(own, near=tuple(pair for pair in mine if pair.slug not in full))
    return likeness


def _whole(places: Sequence[_Place]) -> str:
    """A digest of the predictions of all runs."""
    looks = [sorted((name, look.digest) for name, look in each.items()) for _, each in places]
    return hashlib.blake2b(str(looks).encode(), digest_size=16).hexdigest()


def _near(
    board: Board, answers: Mapping[str, Answers], whole: Mapping[str, str], contest: Contest
) -> dict[str, list[Near]]:
    """The entries of a contest with nearly the same labels as others, by slug.

    Those with equal predictions in all runs are left out: they are alike.
    """
    entries = board.of(contest)
    labels = [_labels(entry, contest, answers[entry.slug]) for entry in entries]
    cells = [tuple((cell, len(one)) for cell, one in mine.items()) for mine in labels]
    joined = [np.concatenate([*mine.values(), np.empty(0, np.uint16)]) for mine in labels]
    true = cache(partial(_true, contest))
    near: dict[str, list[Near]] = defaultdict(list)
    for i, j in itertools.combinations(range(len(entries)), 2):
        one, other = entries[i], entries[j]
        same = whole[one.slug] == whole[other.slug] and set(one.values) == set(other.values)
        if one.folder == other.folder or same:
            continue
        if cells[i] == cells[j]:
            shares = _compared(joined[i], joined[j], partial(true, cells[i])) if cells[i] else None
        else:
            shares = _shares(contest, labels[i], labels[j])
        if shares:
            near[one.slug].append(Near(other.slug, other.title, contest.name, *shares))
            near[other.slug].append(Near(one.slug, one.title, contest.name, *shares))
    return near


def nearly_equal(report: ScoreReport, board: Board, own: str) -> list[str]:
    """A sentence for each entry of a board with nearly the labels of a scored submission, the nearest first.

    Args:
        own: the folder's name that the submission has among them.
    """
    mine: dict[tuple[str, str], _Labels] = defaultdict(dict)
    for run in report.runs:
        if run.status == "ok":
            look = run.looks.get("framework", run.looks.get("hypothesis", Look("", 0.0)))
            mine[run.contest, run.network][run.cell] = letters_in(look.labels)
    near, entered, answers = [], {contest for contest, _ in mine}, cache(_answers)
    both = ((contest, entry) for contest in board.contests for entry in board.of(contest))
    for contest, entry in ((c, e) for c, e in both if c.name in entered and e.folder.name != own):
        theirs = _labels(entry, contest, answers(entry.folder))
        for labels in (labels for (name, _), labels in mine.items() if name == contest.name):
            if shares := _shares(contest, labels, theirs):
                near.append((shares, entry.title, contest.name))
    return [
        f"Labels on {contest} agree with those of {title} on {100 * equal:.1f} % of all examples, and on "
        f"{100 * where_wrong:.0f} % of those on which either is wrong."
        for (equal, where_wrong), title, contest in sorted(near, reverse=True)[:_MOST_SAID]
    ]


def _shares(contest: Contest, mine: _Labels, theirs: _Labels) -> tuple[float, float] | None:
    """The shares of equal labels, of all and where either is wrong; None if they are not near."""
    cells = [cell for cell in mine if cell in theirs and len(mine[cell]) == len(theirs[cell]) > 0]
    if not cells:
        return None
    a, b = (np.concatenate([labels[cell] for cell in cells]) for labels in (mine, theirs))
    return _compared(a, b, lambda: _true(contest, tuple((cell, len(mine[cell])) for cell in cells)))


def _true(contest: Contest, cells: tuple[tuple[Cell, int], ...]) -> UInts16:
    """The true labels of cells with their numbers of examples, one after the other."""
    return np.concatenate([letters_of(labels_of(contest, cell)) for cell, _ in cells])


def _compared(a: UInts16, b: UInts16, true_labels: Callable[[], UInts16]) -> tuple[float, float] | None:
    """See `_shares`."""
    equal = np.count_nonzero(a == b) / len(a)
    if equal < _EQUAL:
        return None
    true = true_labels()
    wrong = (a != true) | (b != true)
    shares = equal, float(np.mean(a[wrong] == b[wrong])) if wrong.any() else 0.0
    return shares if shares[1] >= _EQUAL_WHERE_WRONG else None


def _labels(entry: Entry, contest: Contest, answers: Answers) -> _Labels:
    """The predicted labels of the runs that did not fail."""
    names = entry.runs.get(contest.name, ()), entry.failed.get(contest.name, ())
    places = zip(contest.cells_of(entry.track), *names, strict=False)
    return {cell: answers[run] for cell, run, failed in places if run in answers and not failed}


def _likeness(
    entries: Sequence[Entry], entry: Entry, places: Sequence[_Place], same: Mapping[tuple[object, ...], int]
) -> Likeness:
    """Args: same: the entries, as bits, by run, evaluation and digest of its predictions."""
    sets: Counter[int] = Counter()
    shares: dict[str, list[float]] = defaultdict(list)
    for place, evaluations in places:
        for evaluation, look in evaluations.items():
            shares[evaluation].append(look.contrary)
        sets[reduce(and_, (same[place, name, look.digest] for name, look in evaluations.items()))] += 1
    count: Counter[int] = Counter()
    for bits, n in sets.items():  # runs often have one set, so that few are taken apart
        count.update({k: n for k in range(len(entries)) if bits >> k & 1})
    others = [(entries[k], n) for k, n in count.items() if entries[k].folder != entry.folder]
    others.sort(key=lambda one: (-one[1], one[0].title))
    alike = tuple(Alike(other.slug, other.title, n) for other, n in others)
    means = {evaluation: float(np.mean(each)) for evaluation, each in sorted(shares.items())}
    return Likeness(alike, len(places), {evaluation: mean for evaluation, mean in means.items() if mean > 0})


def _runs(board: Board, entry: Entry) -> list[_Place]:
    """Each run's contest and cell, and what was seen of its evaluations."""
    return [
        ((contest.name, cell), looks)
        for contest in board.contests
        for cell, looks in zip(contest.cells_of(entry.track), entry.looks.get(contest.name, ()), strict=False)
        if looks
    ]


def look_at(predicted: Predicted) -> Look:
    """Summarise predictions."""
    labels, probabilities = predicted
    small = labels.astype(np.int8)  # as digests of entries have them, whose files had no larger labels
    digest = hashlib.blake2b((small if (small == labels).all() else labels).tobytes(), digest_size=16)
    digest.update(b"" if probabilities is None else probabilities.tobytes())
    return Look(digest.hexdigest(), _share(contradictions(predicted)[0]))


def _answers(folder: Path) -> Answers:
    """The labels of a submission's runs; none of a damaged file."""
    with contextlib.suppress(UserError):
        return answers_of(read_accepted(folder / PREDICTIONS))
    return {}


def answers_of(rows: Mapping[str, dict[str, dict[str, str]]]) -> Answers:
    """The labels of runs as `read_accepted` has them, those of images where there are such."""
    main = {run: row.get("framework") or next(iter(row.values())) for run, row in rows.items()}
    return {run: letters_in(row["labels"]) for run, row in main.items()}


def _share(marked: Bools) -> float:
    return np.count_nonzero(marked) / len(marked) if len(marked) else 0.0
