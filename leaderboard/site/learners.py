"""Learners as data: small curves of a learner's page, and one script file each for the page of two learners.

A file has a learner's curves, rules and supervision, and its differences to all others as `Comparison` has
them. So the page of any two reads two files, and no script computes a difference.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..board import Board
from ..comparing import Difference
from ..contests import Contest
from ..entries import Entry
from .pages import ContestOfLearner, Hypotheses
from .rundata import write_script
from .supervision import words_of

Points = tuple[tuple[float, float, float], ...]
"""Share, mean and standard error, by share."""

_WORDS = {"worse": -1, "tie": 0, "better": 1}
_WIDTH, _HEIGHT = 200.0, 100.0
"""Of a small curve, in its own units."""


@dataclass(frozen=True)
class SmallCurve:
    """A learner's curve over one shift of a contest, beside that of the reference.

    Attributes:
        lines: title, slot of the style, and points of each.
        low: the lower end of the vertical axis; the upper one is 1.
    """

    contest: Contest
    shift: str
    lines: Sequence[tuple[str, int, Points]]
    low: float

    @classmethod
    def all_of(cls, board: Board, entry: Entry, slots: Mapping[str, int]) -> Iterator[SmallCurve]:
        """Those of a learner, a contest and a shift each; none of one on true concepts."""
        for contest in board.contests:
            reference = board.reference(contest)
            both = [entry, *([reference] if reference and reference is not entry else [])]
            for shift in contest.shifts if entry.track != "symbolic" else ():
                found = [(e, tuple(e.curve(contest, shift, "framework_accuracy"))) for e in both]
                lines = [(e.title, slots[e.slug], points) for e, points in found if points]
                if lines and found[0][1]:
                    least = min(mean for _, _, points in lines for _, mean, _ in points)
                    yield cls(contest, shift, lines, max(0.0, int(5 * least - 0.25) / 5))

    def path(self, points: Points) -> str:
        """The points of a polyline."""
        up = _HEIGHT / (1 - self.low)
        return " ".join(f"{_WIDTH * p / 100:.1f},{up * (1 - mean):.1f}" for p, mean, _ in points)

    @property
    def text(self) -> str:
        """The curves in words."""
        ends = [f"{name} from {line[0][1]:.2f} to {line[-1][1]:.2f}" for name, _, line in self.lines]
        return (
            f"{self.contest.name}, {self.shift}, accuracy on images over the share of shifted examples: "
            + ("; ".join(ends))
        )


def write_learners(board: Board, path: Path) -> None:
    """The list of all learners, in the order in which differences are listed."""
    listed = [{"slug": e.slug, "title": e.title, "track": words_of(e.track)} for e in board.entries]
    write_script(path, "learners", {"contests": [c.name for c in board.contests], "learners": listed})


def write_learner(
    board: Board, entry: Entry, contests: Sequence[ContestOfLearner], style: int, folder: Path
) -> None:
    """A learner's file, ``SLUG.js``."""
    told = {c.contest.name: _in_contest(board, entry, c) for c in contests}
    value = {"slug": entry.slug, "title": entry.title, "style": style, "contests": told}
    write_script(folder / f"{entry.slug}.js", "learner", value)


def _in_contest(board: Board, entry: Entry, of: ContestOfLearner) -> dict[str, Any]:
    contest, area = of.contest, of.row.areas[of.row.metric]
    shifts = contest.shifts if entry.track != "symbolic" else ()
    columns = of.hypotheses[0][1] if of.hypotheses else []
    return {
        "metric": of.row.metric,
        "mean": round(area.mean, 4) if area else None,
        "curves": {
            shift: [[p, round(mean, 4), round(error, 4)] for p, mean, error in curve]
            for shift in shifts
            if (curve := entry.curve(contest, shift, "framework_accuracy"))
        },
        "rules": [_often(column) for column in (*columns[:1], *columns[1:][-1:])],
        "given": of.given,
        "differences": _differences(board, entry, contest),
    }


def _often(column: Hypotheses) -> dict[str, Any]:
    """The hypothesis that most train splits learned."""
    most = max(column.distinct, key=lambda one: len(one["repeats"]))
    kept = ("rules", "more", "language", "repeats")
    return {"title": column.title, **{name: most[name] for name in kept}}


def _differences(board: Board, entry: Entry, contest: Contest) -> list[list[int | None] | None]:
    """To every entry, in the board's order: difference and its interval in tenths of a point, and word."""
    metric = board.main_metric(entry.track)
    comparison = board.comparison(contest, metric, entry.track)
    if comparison is None or entry not in comparison:
        return []
    found, asked = comparison.beside(entry), board.differences(contest, metric)
    reference = board.reference(contest)
    if entry is reference:
        found |= {other: told.reversed() for other, told in asked.items() if other in found}
    elif reference in found and entry in asked:
        found[reference] = asked[entry]
    return [_short(found[e]) if e in found else None for e in board.entries]


def _short(difference: Difference) -> list[int | None]:
    mean, low, high = (difference.mean, difference.low, difference.high)
    ends = [round(1000 * end) if end == end else None for end in (low, high)]
    return [round(1000 * mean), *ends, _WORDS.get(difference.word)]
