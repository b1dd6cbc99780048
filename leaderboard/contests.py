"""What the board compares: contests, each a grid of runs of one benchmark that every learner does.

``board.toml`` lists them. A run is a *cell* of a contest's grid: shift, percentage and repeat. At 0 % nothing
is shifted, so that cell is shared by all shifts.
"""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from nsl_bench.errors import UserError
from nsl_bench.run.job import Job
from nsl_bench.shift import STANDARD

__all__ = ["BOARD", "Cell", "Contest", "contest_of", "read_contests"]

BOARD = Path(__file__).parent / "board.toml"
"""The board's own contests."""


@dataclass(frozen=True, order=True)
class Cell:
    """One run's place in a contest's grid; the shift is ``"standard"`` at 0 %."""

    shift: str
    percent: float
    repeat: int

    def __str__(self) -> str:
        where = "0 %" if self.percent == 0 else f"{self.shift} {self.percent:g} %"
        return f"{where} repeat {self.repeat}"


@dataclass(frozen=True)
class Contest:
    """A grid of runs of one benchmark.

    Attributes:
        name: short and unique, part of file names.
        benchmark: e.g. ``"follow_suit"``.
        version: of its data.
        source: image source.
        size: of the train sets.
        shifts: short names.
        percents: shares of shifted examples, 0 among them or not.
        repeats: how many train sets.
        seed: of the data.
        paper: shift to the shift whose published curve stands beside it.
        same_images: whether the paper's images are the same kind of images.
    """

    name: str
    benchmark: str
    version: str
    source: str
    size: str
    shifts: tuple[str, ...]
    percents: tuple[float, ...]
    repeats: int
    seed: int = 0
    paper: Mapping[str, str] = field(default_factory=dict)
    same_images: bool = False

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """Every run that a whole entry has; in the symbolic track only those at 0 % (`cells_of`)."""
        return tuple(self._cells())

    def _cells(self) -> Iterator[Cell]:
        for percent in self.percents:
            for shift in self.shifts if percent else (STANDARD,):
                for repeat in range(1, self.repeats + 1):
                    yield Cell(shift, percent, repeat)

    def cells_of(self, track: str) -> tuple[Cell, ...]:
        """The runs of a whole entry in a track: without images nothing can be shifted."""
        if track != "symbolic":
            return self.cells
        return tuple(Cell(STANDARD, 0.0, repeat) for repeat in range(1, self.repeats + 1))

    def cell(self, job: Job) -> Cell | None:
        """A run's place in the grid; None if it is no run of this contest."""
        mine = (self.benchmark, self.version, self.source, self.size, self.seed)
        if (job.benchmark, job.benchmark_version, job.source, job.size, job.seed) != mine or job.splits:
            return None
        cell = Cell(job.shift if job.percent else STANDARD, float(job.percent), job.repeat)
        return cell if cell in self._known else None

    @cached_property
    def _known(self) -> frozenset[Cell]:
        return frozenset((*self.cells, *self.cells_of("symbolic")))

    def command(
        self,
        learner: str,
        track: str = "pretrained",
        network: str | None = None,
        cell: Cell | None = None,
        out: str = "results/",
    ) -> str:
        """The command line that does a learner's runs of this contest, or the repeats up to one cell."""
        words = ["nsl-bench", "run", self.benchmark, "--learner", learner]
        if track == "symbolic":
            words += ["--track", "symbolic"]
        else:
            shifts = self.shifts if cell is None else tuple(s for s in (cell.shift,) if s != STANDARD)
            words += [word for shift in shifts for word in ("--shift", shift)]
            percents = self.percents if cell is None else (cell.percent,)
            words += ["--percents", ",".join(f"{p:g}" for p in percents)]
        words += ["--size", self.size, "--repeats", str(self.repeats if cell is None else cell.repeat)]
        words += ["--source", self.source]
        words += ["--network", network] if network else []
        words += ["--seed", str(self.seed)] if self.seed else []
        return shlex.join([*words, "--out", out])


def contest_of(contests: Sequence[Contest], job: Job) -> tuple[Contest, Cell] | None:
    """The contest and the cell that a run belongs to; None if there is none."""
    for contest in contests:
        cell = contest.cell(job)
        if cell is not None:
            return contest, cell
    return None


def read_contests(path: Path = BOARD) -> tuple[Contest, ...]:
    """The contests of a board.

    Raises:
        UserError: the file is not there, or a field is missing or wrong.
    """
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"The board's file {path} cannot be read: {error.strerror}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"The board's file {path} is no TOML: {error}.") from error
    entries = values.get("contest")
    contests = tuple(_contest(path, entry) for entry in entries) if isinstance(entries, list) else ()
    if not contests or len({contest.name for contest in contests}) < len(contests):
        raise UserError(f"The board's file {path} needs contests with different names.")
    return contests


def _contest(path: Path, values: Mapping[str, Any]) -> Contest:
    try:
        if not re.fullmatch(r"[a-z0-9][a-z0-9_-]*", str(values["name"])):
            raise ValueError(f"the name '{values['name']}' has more than lower case letters, digits, _ and -")
        return Contest(
            name=str(values["name"]),
            benchmark=str(values["benchmark"]),
            version=str(values["version"]),
            source=str(values["source"]),
            size=str(values.get("size", "small")),
            shifts=tuple(str(shift) for shift in values["shifts"]),
            percents=tuple(float(percent) for percent in values["percents"]),
            repeats=int(values["repeats"]),
            seed=int(values.get("seed", 0)),
            paper={str(ours): str(theirs) for ours, theirs in values.get("paper", {}).items()},
            same_images=bool(values.get("same_images", False)),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(f"A contest in {path} is broken: {error}.") from error
