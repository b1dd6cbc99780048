"""Contests: grids of runs of one task, which every learner in the contest does.

``board.toml`` lists the contests. A run is a *cell* of a contest's grid: shift, share of shifted examples,
and train split. All shifts have the cell at 0 % in common.
"""

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from nsl_bench.core import registry
from nsl_bench.core.benchmark import Benchmark
from nsl_bench.core.declared import Declared, Is, checked, read_toml
from nsl_bench.core.errors import UserError, unknown
from nsl_bench.core.shift import STANDARD, resolve, short_name
from nsl_bench.data.splits import make_source
from nsl_bench.report.published.papers import ffnsl2023
from nsl_bench.run.job import Job, ShiftPair, source_identity
from nsl_bench.run.structural_shift import member_of

from .packing import MOST_LABELS

_NAMED = 5
_MOST_REPEATS = 1000

BOARD = Path(__file__).parent / "board.toml"
"""The board's own contests."""


@dataclass(frozen=True, order=True)
class Cell:
    """A run's position in a contest's grid; the shift is ``"standard"`` at 0 %."""

    shift: str
    percent: float
    repeat: int

    def __str__(self) -> str:
        where = "0 %" if self.percent == 0 else f"{self.shift} {self.percent:g} %"
        return f"{where} repeat {self.repeat}"


def _line(text: str) -> bool:
    return bool(text) and text.isprintable()


def _each_once(values: tuple[Any, ...]) -> bool:
    return bool(values) and len(set(values)) == len(values)


_LINE = Annotated[str, Is("a string of printable characters", test=_line)]
_SHARE = Annotated[float, Is("a number between 0 and 100", least=0, most=100)]


@dataclass(frozen=True)
class Contest(Declared):
    """A grid of runs of one task.

    Attributes:
        name: short and unique name, used in file names.
        benchmark: task, e.g. ``"follow_suit"``.
        version: version of the task's data.
        source: image source.
        shifts: short names of the shifts.
        percents: shares of shifted examples, 0..100.
        repeats: number of train splits.
        size: size of the train splits.
        seed: seed of the data.
        setting: which images are shifted: ``"both"`` train and test images, ``"test"`` test images only, or
            ``"train"`` train images only.
        paper: for each shift, the shift whose published curve is shown with it.
        same_images: whether the paper's images are of the same kind.
        networks: its perception networks by name, each with its fingerprint (`Network.fingerprint`), the main
            one first. Runs that see through another network do not belong to the contest. Empty: any network.
        test_task: task of the same family that learners are tested on, as results write it; empty for the
            task itself.
    """

    name: Annotated[
        str,
        Is(
            "at most 50 lower case letters, digits, _ and -",
            test=re.compile(r"[a-z0-9][a-z0-9_-]{0,49}").fullmatch,
        ),
    ]
    benchmark: _LINE
    version: Annotated[str, Is("a string such as '1.0.0'", test=_line)]
    source: _LINE
    shifts: Annotated[tuple[_LINE, ...], Is("a list of different shifts", test=_each_once)]
    percents: Annotated[
        tuple[_SHARE, ...], Is("a list of different numbers between 0 and 100", test=_each_once)
    ]
    repeats: Annotated[int, Is(f"a whole number between 1 and {_MOST_REPEATS}", least=1, most=_MOST_REPEATS)]
    size: _LINE = "small"
    seed: Annotated[int, Is("a whole number of 0 or more", least=0, most=2**63 - 1)] = 0
    setting: Annotated[Literal["both", "train", "test"], Is('"both", "train" or "test"')] = "both"
    paper: Annotated[
        Mapping[str, _LINE], Is("a table that names a published shift for shifts of the contest")
    ] = field(default_factory=dict)
    same_images: bool = False
    networks: Annotated[
        Mapping[str, _LINE], Is("a table that names the fingerprint of each network of the contest")
    ] = field(default_factory=dict)
    test_task: Annotated[str, Is("a task of the same family", test=str.isprintable)] = ""

    @property
    def task(self) -> str:
        """The spec of its task with its version."""
        return registry.pinned(self.benchmark, self.version)

    @property
    def tested(self) -> str:
        """The spec of the task that the test set is of."""
        return self.test_task or self.task

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """Every run of a complete entry; the symbolic track only has those at 0 % (`cells_of`)."""
        return tuple(self._cells())

    def _cells(self) -> Iterator[Cell]:
        for percent in self.percents:
            for shift in self.shifts if percent else (STANDARD,):
                for repeat in range(1, self.repeats + 1):
                    yield Cell(shift, percent, repeat)

    def cells_of(self, track: str) -> tuple[Cell, ...]:
        """The runs of a complete entry in a track. Without images, only those at 0 %."""
        if track != "symbolic":
            return self.cells
        return tuple(Cell(STANDARD, 0.0, repeat) for repeat in range(1, self.repeats + 1))

    def cell(self, job: Job) -> Cell | None:
        """A run's cell; None if the run does not belong to this contest."""
        mine = (self.task, self.test_task, source_identity(self.source), self.size, self.seed)
        of_run = (job.task, job.test_task, source_identity(job.source), job.size, job.seed)
        if of_run != mine or job.splits or job.sealed or job.learner_draw or job.annotation:
            return None
        trained, tested = (job.train_shift, job.train_percent), (job.test_shift, job.test_percent)
        shift, percent = trained if self.setting == "train" else tested
        cell = Cell(shift if percent else STANDARD, float(percent), job.repeat)
        return cell if cell in self._known and self.shift_pair(cell) == job.shift_pair else None

    def shift_pair(self, cell: Cell) -> ShiftPair:
        """The shifts and shares of a cell's train and test set."""
        shifted, standard = (cell.shift, cell.percent), (STANDARD, 0.0)
        train = standard if self.setting == "test" else shifted
        return ShiftPair.of(*train, *(standard if self.setting == "train" else shifted))

    @cached_property
    def kept_weights(self) -> dict[str, Any]:
        """Weights of the cells by track, where `entries.contest_weights` keeps them."""
        return {}

    @cached_property
    def _known(self) -> frozenset[Cell]:
        return frozenset((*self.cells, *self.cells_of("symbolic")))

    @property
    def sealed_round(self) -> str:
        """The sealed round that it belongs to (`nsl_bench.leaderboard.rounds`); empty: none."""
        return ""

    @property
    def handed_out_network(self) -> str:
        """The network whose view of the test images entrants of its sealed round were handed; empty: none."""
        return ""

    def data_seed(self, cell: Cell) -> int | str:
        """The seed that a cell's data follow; a text is a secret one."""
        return self.seed

    def hashes(self, cell: Cell) -> Mapping[str, str] | None:
        """Hashes of what was handed out for a cell, where they are not those of the data themselves."""
        return None

    def test_examples(self, cell: Cell) -> int | None:
        """How many test examples were handed out for a cell, where its data cannot be made by everybody."""
        return None

    def evaluations(self, track: str) -> tuple[str, ...]:
        """The evaluations of a whole entry in a track; the last one's probabilities are scored."""
        by_track = {"symbolic": ("hypothesis",), "pretrained": ("hypothesis", "framework")}
        return by_track.get(track, ("framework",))

    @cached_property
    def _written(self) -> str:
        """The task as a command line names it: with its version only if that is superseded."""
        task: Benchmark = registry.create("benchmark", self.task)
        return task.spec

    def command(
        self,
        learner: str,
        track: str = "pretrained",
        network: str | None = None,
        cell: Cell | None = None,
        out: str = "results/",
        time_limit: float | None = None,
    ) -> str:
        """The command line that does a learner's runs of this contest, or the repeats up to one cell."""
        words = ["nsl-bench", "run", self._written, "--learner", learner]
        words += ["--test-task", self.test_task] if self.test_task else []
        if track == "symbolic":
            words += ["--track", "symbolic"]
        else:
            shifts = self.shifts if cell is None else tuple(s for s in (cell.shift,) if s != STANDARD)
            part = "" if self.setting == "both" else f"{self.setting}-"
            words += [word for shift in shifts for word in (f"--{part}shift", shift)]
            percents = self.percents if cell is None else (cell.percent,)
            words += [f"--{part}shares", ",".join(f"{p:g}" for p in percents)]
        words += ["--size", self.size, "--repeats", str(self.repeats if cell is None else cell.repeat)]
        words += ["--source", self.source]
        words += ["--network", network] if network else []
        words += ["--seed", str(self.seed)] if self.seed else []
        words += ["--time-limit", f"{time_limit:g}"] if time_limit else []
        return shlex.join([*words, "--out", out])


def listed(items: Sequence[object]) -> str:
    """The first of many things, and how many more there are."""
    first = ", ".join(str(item) for item in items[:_NAMED])
    return first if len(items) <= _NAMED else f"{first} and {len(items) - _NAMED} more"


def incomplete(entered: Iterable[tuple[Contest, str, Cell]], track: str) -> list[str]:
    """What is missing of the contests that a learner enters, a sentence a contest and network.

    Args:
        entered: contest, network (empty: none) and cell of each run.
    """
    by_line: dict[str, tuple[Contest, set[Cell]]] = {}
    for contest, network, cell in entered:
        line = f"{contest.name} with {network}" if network else contest.name
        by_line.setdefault(line, (contest, set()))[1].add(cell)
    sentences = []
    for line, (contest, cells) in by_line.items():
        wanted = contest.cells_of(track)
        missing = [cell for cell in wanted if cell not in cells]
        if missing:
            are = "runs is" if len(missing) == 1 else "runs are"
            sentences.append(f"{line}: {len(missing)} of {len(wanted)} {are} missing: {listed(missing)}.")
    return sentences


def of_several_versions(entered: Iterable[tuple[Contest, str]]) -> list[str]:
    """A sentence if runs, given as contest and version of the learner, are not all of one version."""
    versions: dict[str, str] = {}
    for contest, version in entered:
        versions.setdefault(version, contest.name)
    if len(versions) < 2:
        return []
    named = listed([f"{version} in {name}" for version, name in versions.items()])
    return [f"The runs are of {len(versions)} versions of the learner ({named}); all must be of the last."]


def contest_of(contests: Sequence[Contest], job: Job) -> tuple[Contest, Cell] | None:
    """The contest and the cell that a run belongs to; None if it belongs to none."""
    for contest in contests:
        cell = contest.cell(job)
        if cell is not None:
            return contest, cell
    return None


def read_contests(path: Path = BOARD) -> tuple[Contest, ...]:
    """Read the contests of a board.

    Raises:
        UserError: the file does not exist, or a key is missing, unknown or wrong.
    """
    values = read_toml(path, "The board's file")
    entries = values.pop("contest", None)
    if values:
        raise unknown(f"key in the board's file {path}:", next(iter(values)), ["contest"])
    listed = isinstance(entries, list) and all(isinstance(entry, dict) for entry in entries)
    contests = (
        tuple(_contest(f"{path}, contest {i}", entry) for i, entry in enumerate(entries, 1)) if listed else ()
    )
    if not contests or len({contest.name for contest in contests}) < len(contests):
        raise UserError(f"The contests in {path} must have different names.")
    return contests


def _contest(where: str, values: Mapping[str, Any]) -> Contest:
    contest = checked(Contest, values, f"{where}: ")
    try:
        _look_up(contest)
    except UserError as error:
        raise UserError(f"{where} ({contest.name}): {error}") from error
    return contest


def _look_up(contest: Contest) -> None:
    """Look up every name of a contest.

    Shifts of images in a folder are not looked at: a board is read where the folder is not, too.
    """
    task = registry.create("benchmark", contest.task)
    task.size(contest.size)
    if len(task.labels) > MOST_LABELS:
        raise UserError(
            f"benchmark must have at most {MOST_LABELS:,} labels; {task.spec} has {len(task.labels):,}."
        )
    if contest.test_task:
        other = member_of(task, contest.test_task)
        if other is task:
            raise UserError("test_task must name another task than benchmark; leave it out.")
        if other.spec != contest.test_task:
            raise UserError(f"test_task must be written as in results: '{other.spec}'.")
    spec = registry.Spec.parse(contest.source)
    registry.entry_point("source", spec.name.partition("@")[0])
    if not spec.args:
        source = make_source(task, contest.source)
        for shift in contest.shifts:
            name = short_name(resolve(shift, task, source), task, source)
            if name == STANDARD:
                raise UserError(f"shifts must not include '{shift}', which has no effect; name other shifts.")
            if name != shift:
                raise UserError(f"shifts must use names as in results: write '{name}' instead of '{shift}'.")
    if not contest.paper:
        return
    published = set(ffnsl2023(contest.benchmark)["shift"])
    for ours, theirs in contest.paper.items():
        if ours not in contest.shifts:
            raise unknown("shift in paper", ours, contest.shifts)
        if theirs not in published:
            raise unknown("published shift in paper", theirs, published)
