"""Entries: an entry is a submission with one perception network, which has one row in a table.

An entry has one array of metrics per contest, [cells, metrics], so that a hundred thousand runs need little
memory. They are read from the scores of an accepted submission, without its predictions.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from nsl_bench.core.declared import checked, from_json, parse_json
from nsl_bench.core.errors import UserError
from nsl_bench.core.metrics import METRICS
from nsl_bench.core.types import Floats, Floats32
from nsl_bench.run.statistics import padded

from .contests import Cell, Contest
from .packing import opened_lines
from .reading import Run
from .rounds.model import Round
from .score_report import SCORES, TEN_THOUSAND, Look, Spread
from .standing import Standing, standing_of
from .submission import MANIFEST, RUNS, Manifest, slug

NAMES = tuple(METRICS)
"""The columns of an entry's values."""


@dataclass(frozen=True)
class Area:
    """A metric's mean over shares: over all shifts and shares of shifted examples of a contest.

    Attributes:
        std_err: its standard error, over all factors if known (`spread`), otherwise over train splits; NaN
            for one train split.
        spread: interval and components, computed when the submission was scored; None if not known.
    """

    mean: float
    std_err: float
    spread: Spread | None = None


@dataclass(frozen=True, eq=False)
class Entry:
    """A submission with one perception network.

    Attributes:
        slug: unique name, used in file names.
        title: name on the board.
        standing: whether it is verified, and how.
        values: for each contest, float64 [cells, metrics], NaN if missing; cells in the order of
            `Contest.cells_of`, metrics in the order of `METRICS`.
        spans: for each contest, the position of each cell in the submission's scores: offset and length in
            bytes.
        runs: for each contest, the submitter's name of each cell's run; empty if missing.
        looks: for each contest, a summary of each cell's predictions, by evaluation.
        failed: for each contest, the status of each cell's failed run, ``""`` if it succeeded. A failed run
            counts as the majority class, and no better than the entry's worst successful run.
        spreads: intervals by contest and metric.
        examples: by contest and metric, each test example's mean score over shares, float32 [train splits,
            examples]; a smaller test set ends in NaN.
    """

    slug: str
    title: str
    manifest: Manifest
    network: str
    folder: Path
    standing: Standing
    values: Mapping[str, Floats]
    spans: Mapping[str, Sequence[tuple[int, int]]] = field(default_factory=dict)
    runs: Mapping[str, Sequence[str]] = field(default_factory=dict)
    looks: Mapping[str, Sequence[Mapping[str, Look]]] = field(default_factory=dict)
    failed: Mapping[str, Sequence[str]] = field(default_factory=dict)
    spreads: Mapping[tuple[str, str], Spread] = field(default_factory=dict)
    examples: Mapping[tuple[str, str], Floats32] = field(default_factory=dict)

    @property
    def track(self) -> str:
        """The supervision used."""
        return self.manifest.track

    @property
    def is_ours(self) -> bool:
        """Whether its learner is FFNSL, with whatever options: the one that others are compared with."""
        return self.manifest.learner.partition(":")[0] == "ffnsl"

    def whole(self, contest: Contest) -> bool:
        """Whether it has every run of a contest."""
        return contest.name in self.values and all(length for _, length in self.spans[contest.name])

    def failures(self, contest: Contest) -> int:
        """How many of its runs of a contest failed."""
        return sum(map(bool, self.failed.get(contest.name, ())))

    def all_failed(self, contest: Contest) -> bool:
        """Whether all of its runs of a contest failed: their scores are the majority class's."""
        return self.failures(contest) == len(contest.cells_of(self.track))

    def can_rank(self, contest: Contest) -> bool:
        """Whether it has every run of a contest, one of which did not fail, and was not told the answer."""
        told_answer = self.manifest.told_the_answer
        return self.whole(contest) and not self.all_failed(contest) and not told_answer

    def submitted(self) -> dict[str, Run]:
        """What the submission says of each run: rules, hashes, versions; it was checked when accepted."""
        try:
            with opened_lines(self.folder / RUNS) as file:
                return {run.id: run for run in (from_json(Run, line) for line in file)}
        except (OSError, ValueError) as error:
            raise UserError(f"The runs of {self.folder} cannot be read: {error}.") from error

    def records(
        self, contest: Contest, submitted: Mapping[str, Run]
    ) -> Iterator[tuple[Cell, dict[str, Any]]]:
        """The runs of a contest, cell by cell: what was scored, with what the submission says of it."""
        with opened_lines(self.folder / SCORES) as file:
            text = file.read()
        for cell, (begin, length) in zip(
            contest.cells_of(self.track), self.spans.get(contest.name, ()), strict=False
        ):
            if not length:
                continue
            record = json.loads(text[begin : begin + length])
            run = submitted[record["run"]]
            command = contest.command(
                run.job.learner, run.job.track, run.job.network, cell, time_limit=run.time_limit
            )
            yield (
                cell,
                {
                    **record,
                    "command": command,
                    "language": run.language,
                    "rules": run.rules,
                    "content_hash": dict(vars(run.content_hash)),
                    "standing": self.standing.word,
                    "standing_how": self.standing.how,
                    "versions": run.versions,
                    "environment": run.environment,
                    "time_limit": run.time_limit,
                    "started": run.started,
                },
            )

    def repeats(self, contest: Contest, metric: str) -> Floats:
        """float64 [repeats]: the metric's mean over shifts and percentages, each shift with the 0 % point.

        Empty where runs are missing or have no such number.
        """
        table = self.values.get(contest.name)
        if table is None:
            return np.empty(0)
        column = table[:, NAMES.index(metric)]
        weights = contest_weights(contest, self.track)
        result: Floats = weights @ np.where(np.isnan(column), 0.0, column)
        return result if not np.isnan(column).any() else np.empty(0)

    def without_shift(self, contest: Contest, metric: str) -> float:
        """The metric's mean over train splits at 0 %; NaN where runs are missing or have no such number."""
        table = self.values.get(contest.name)
        if table is None:
            return math.nan
        rows = [k for k, cell in enumerate(contest.cells_of(self.track)) if cell.percent == 0]
        return float(table[rows, NAMES.index(metric)].mean()) if rows else math.nan

    def succeeded(self, contest: Contest, metric: str) -> float | None:
        """The metric's mean over the runs that did not fail, where some did and some did not."""
        failed = np.array(self.failed.get(contest.name, ()), np.str_) != ""
        if not failed.any() or failed.all():
            return None
        return float(self.values[contest.name][~failed, NAMES.index(metric)].mean())

    def curve(self, contest: Contest, shift: str, metric: str) -> list[tuple[float, float, float]]:
        """Percentage, mean and standard error (0 for one value), by percentage."""
        table = self.values.get(contest.name)
        if table is None:
            return []
        column = table[:, NAMES.index(metric)]
        points: dict[float, list[float]] = {}
        for cell, value in zip(contest.cells_of(self.track), column.tolist(), strict=True):
            if (cell.percent == 0 or cell.shift == shift) and value == value:
                points.setdefault(cell.percent, []).append(value)
        curve = []
        for percent, values in sorted(points.items()):
            error = float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0
            curve.append((percent, float(np.mean(values)), error))
        return curve


def contest_weights(contest: Contest, track: str) -> Floats:
    """float64 [repeats, cells]: what each cell contributes to each repeat's mean over shares."""
    cached = contest.kept_weights
    if track not in cached:
        cells = contest.cells_of(track)
        weights = np.zeros((contest.repeats, len(cells)))
        for column, cell in enumerate(cells):
            shared = cell.percent == 0 or track == "symbolic"
            weights[cell.repeat - 1, column] = 1.0 if shared else 1.0 / len(contest.shifts)
        cached[track] = weights / weights.sum(axis=1, keepdims=True)
    result: Floats = cached[track]
    return result


def accepted_manifest(path: Path) -> Manifest:
    """An accepted submission's manifest; what a manifest does not have is left out."""
    return checked(Manifest, parse_json(path.read_bytes()), f"{MANIFEST}: ")


class _Grid:
    """The runs of one network in one contest, as their lines are read."""

    def __init__(self, n: int) -> None:
        self.values = np.full((n, len(NAMES)), np.nan)
        self.spans = [(0, 0)] * n
        self.runs = [""] * n
        self.looks: list[Mapping[str, Look]] = [{}] * n
        self.failed = [""] * n

    def add(self, row: int, run: Mapping[str, Any], span: tuple[int, int]) -> None:
        """Take a run's line, which stands at `span` of the file."""
        self.spans[row], self.runs[row] = span, run["run"]
        self.looks[row] = {name: Look(**look) for name, look in run["looks"].items()}
        self.failed[row] = "" if run["status"] == "ok" else run["status"]
        for name, value in run["metrics"].items():
            column = _COLUMN.get(name)
            if column is not None:
                self.values[row, column] = value

    def counted(self) -> Floats:
        """The values, in which a failed run has the worse of its own and the worst of what did not fail.

        So a mean over runs never gets better because one of them failed.
        """
        failed = np.array(self.failed) != ""
        if not failed.any() or failed.all():
            return self.values
        there = np.array([length > 0 for _, length in self.spans])
        finished, imputed = self.values[there & ~failed], self.values[failed]
        values = self.values.copy()
        for column, name in enumerate(NAMES):
            succeeded = finished[:, column]
            if np.isnan(succeeded).any():  # what not every finished run has is no number of a failed one
                values[failed, column] = np.nan
                continue
            higher = METRICS[name].higher_is_better
            pick, worst = (np.fmin, succeeded.min()) if higher is not False else (np.fmax, succeeded.max())
            values[failed, column] = pick(imputed[:, column], worst)
        return values


_COLUMN = {name: k for k, name in enumerate(NAMES)}


def read_entries(folder: Path, contests: Sequence[Contest], rounds: Sequence[Round] = ()) -> list[Entry]:
    """A submission's entries, one a network."""
    try:
        manifest = accepted_manifest(folder / MANIFEST)
        standing = standing_of(manifest, rounds, folder)
        grids, spreads, examples = _read_scores(folder / SCORES, manifest.track, contests)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, UserError) as error:
        raise UserError(
            f"The submission {folder} cannot be read ({type(error).__name__}: {error}); score it again "
            "with `nsl-bench leaderboard rescore`."
        ) from error
    several = len(grids) > 1
    return [
        Entry(
            slug=slug(f"{folder.name} {network}" if several else folder.name),
            title=f"{manifest.name} ({network or 'none'})" if several else manifest.name,
            manifest=manifest,
            network=network,
            folder=folder,
            standing=standing,
            values={name: grid.counted() for name, grid in mine.items()},
            spans={name: grid.spans for name, grid in mine.items()},
            runs={name: grid.runs for name, grid in mine.items()},
            looks={name: grid.looks for name, grid in mine.items()},
            failed={name: grid.failed for name, grid in mine.items()},
            spreads=spreads.get(network, {}),
            examples=examples.get(network, {}),
        )
        for network, mine in sorted(grids.items())
    ]


_Grids = dict[str, dict[str, _Grid]]
_Spreads = dict[str, dict[tuple[str, str], Spread]]
_Examples = dict[str, dict[tuple[str, str], Floats32]]


def _read_scores(path: Path, track: str, contests: Sequence[Contest]) -> tuple[_Grids, _Spreads, _Examples]:
    """By network: the grid of each contest, the spreads, and the scores of examples."""
    index = {
        contest.name: {cell: k for k, cell in enumerate(contest.cells_of(track))} for contest in contests
    }
    grids: _Grids = {}
    spreads: _Spreads = {}
    examples: _Examples = {}
    begin = 0
    with opened_lines(path) as file:
        for line in file:
            values = json.loads(line)
            network, contest = values["network"], values["contest"]
            if "scores" in values:
                rows = [np.array(row, np.float32) / TEN_THOUSAND for row in values["scores"]]
                examples.setdefault(network, {})[contest, values["metric"]] = padded(rows, np.nan)
            elif "run" not in values:
                spreads.setdefault(network, {})[contest, values["metric"]] = Spread(**values)
            else:
                row = index.get(contest, {}).get(Cell(values["shift"], values["percent"], values["repeat"]))
                if row is not None:
                    mine = grids.setdefault(network, {})
                    grid = mine.setdefault(contest, _Grid(len(index[contest])))
                    grid.add(row, values, (begin, len(line)))
            begin += len(line)
    return grids, spreads, examples
