"""Plans: the jobs of grids of runs, from the command line, from Python or from a TOML file.

A plan file has one or several grids. A grid is every combination of its lists::

    [[grid]]
    benchmark = "follow_suit"
    learners = ["ffnsl", "random_forest:trees=50"]
    shifts = ["noir"]
    percents = [0, 50, 90]
    repeats = [1, 2, 3, 4, 5]

Missing keys have the defaults of the command line.
"""

import inspect
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

from nsl_bench.core import registry
from nsl_bench.core.annotation import Annotation
from nsl_bench.core.benchmark import Benchmark, not_here
from nsl_bench.core.declared import checked, read_toml
from nsl_bench.core.errors import UserError
from nsl_bench.core.shift import STANDARD, named_shifts, resolve, short_name
from nsl_bench.core.source import ImageSource
from nsl_bench.core.tracks import Track
from nsl_bench.core.types import ConceptSpace
from nsl_bench.data.splits import check_percent, make_source
from nsl_bench.learners.base import About, describe_here, version_of
from nsl_bench.learners.command import command_of, is_command, version_of_command
from nsl_bench.perception.networks.given import GivenPredictions
from nsl_bench.run.grid import Grid
from nsl_bench.run.job import PROTOCOL, TEST_TASK, Job, ShiftPair, splits_fingerprint
from nsl_bench.run.structural_shift import member_of

Describe = Callable[[str], About]
"""A function from a learner's spec to its track and version."""

Made = dict[tuple[str, ConceptSpace], ImageSource]
"""Image sources by spec and concepts, made once: each reads and hashes all its images."""

_TENTHS = tuple(float(share) for share in range(0, 101, 10))


PRESETS: Mapping[str, Mapping[str, tuple[float, ...]]] = {
    "shift": {"percents": _TENTHS},
    "run-time-shift": {"test_percents": _TENTHS},
    "train-shift": {"train_percents": _TENTHS},
}
"""The shares that a preset sets. Tasks have presets of test tasks besides (`Benchmark.test_presets`)."""


def plan(
    benchmark: str,
    learners: Sequence[str],
    *,
    describe: Describe | None = None,
    sealed: str = "",
    made: Made | None = None,
    **lists: Any,
) -> list[Job]:
    """The jobs of one grid, with the first train split alone unless `repeats` says otherwise.

    Args:
        describe, sealed, made: as in `jobs_of`.
        lists: other fields of `Grid`; a list may be a single text, and empty or None for its default.
    """
    given = {"repeats": (1,), **{name: value for name, value in lists.items() if value not in (None, ())}}
    plain = {name: str(value) if isinstance(value, Path) else value for name, value in given.items()}
    single = {f.name for f in fields(Grid) if not isinstance(f.default, tuple)}
    values: dict[str, Any] = {
        name: value if name in single else (value,) if isinstance(value, str) else tuple(value)
        for name, value in plain.items()
    }
    return jobs_of([Grid(benchmark, tuple(learners), **values)], describe, sealed, made)


def jobs_of(
    grids: Sequence[Grid], describe: Describe | None = None, sealed: str = "", made: Made | None = None
) -> list[Job]:
    """The jobs of all grids, each once. Every name is looked up before anything runs.

    Args:
        describe: function from a learner's spec to its track and version; by default it asks the learner in
            this process.
        sealed: commitment of a secret seed of the data.
        made: image sources of other plans, for this one, too; new ones are added.

    Raises:
        UserError: an unknown name, a share out of range, more train splits than the task has folds, a test
            task that is not in the family, or a folder of splits together with a secret seed or another test
            task.
    """
    jobs, made = {}, {} if made is None else made
    for grid in grids:
        if sealed and grid.splits:
            raise UserError(
                f"The splits in {grid.splits} are fixed, so a secret data seed does not apply to them."
            )
        task: Benchmark = registry.create("benchmark", grid.benchmark)
        for source in grid.sources or (task.sources[0],):
            chosen = _by_preset(grid, task, _made(made, task, source))
            for job in _jobs_on(chosen, task, source, made, describe, sealed):
                jobs[job.key()] = job
    return list(jobs.values())


def _made(made: Made, task: Benchmark, source: str) -> ImageSource:
    """An image source, from those that were made if it is there."""
    key = source, task.concept_space
    if key not in made:
        made[key] = make_source(task, source)
    return made[key]


def _jobs_on(
    grid: Grid, task: Benchmark, source: str, made: Made, describe: Describe | None, sealed: str
) -> Iterator[Job]:
    """The jobs of a grid on one image source."""
    images = _made(made, task, source)
    for shift in (*grid.shifts, *grid.train_shifts, *grid.test_shifts):
        resolve(shift, task, images)
    tested = dict.fromkeys(_tested(task, spec, source, grid, made) for spec in grid.test_tasks or ("",))
    named = dict.fromkeys(_named(pair, task, images) for pair in shift_pairs(grid))
    annotations = _annotations(grid, named)
    for size in grid.sizes:
        task.size(size)
    if not grid.splits and task.own_tests:
        task.for_split(max(grid.repeats, default=1), grid.seed)
    versions = {network: version_of_network(network, images) for network in _seeded_networks(grid)}
    learners = _described(grid.learners, describe or describe_here)
    fingerprint = _checked_splits(Path(grid.splits), task, grid) if grid.splits else ""
    for network, version in versions.items():
        every = itertools.product(
            *(grid.sizes, grid.repeats, named, annotations, learners.items(), grid.learner_draws, tested)
        )
        for size, repeat, pair, annotation, (learner, about), draw, test in every:
            symbolic = grid.track == "symbolic" and about.track == "pretrained"
            track: Track = "symbolic" if symbolic else about.track
            yield Job(
                benchmark=task.spec,
                benchmark_version=task.version,
                source=source,
                source_fingerprint=images.fingerprint(),
                **asdict(pair),
                size=size,
                repeat=repeat,
                learner=learner,
                track=track,
                network=network if track == "pretrained" else None,
                seed=grid.seed,
                splits=grid.splits or None,
                splits_fingerprint=fingerprint,
                learner_version=about.version,
                network_version=version if track == "pretrained" else "",
                sealed=sealed,
                learner_draw=draw,
                protocol=PROTOCOL,
                **dict(zip(TEST_TASK, test, strict=True)),
                annotation=annotation,
            )


def _annotations(grid: Grid, pairs: Iterable[ShiftPair]) -> list[str]:
    """The annotations of a grid as jobs have them, each once."""
    parsed = [Annotation.parse(text) for text in grid.annotations or ("",)]
    for part in ("train", "test"):
        cued = any(getattr(one, f"{part}_cue") for one in parsed)
        if cued and not any(getattr(pair, f"{part}_percent") for pair in pairs):
            raise UserError(f"{part}_cue requires shifted {part} examples; add --shift and --{part}-shares.")
    for network in grid.networks if any(one.wrong_concepts or one.missing_concepts for one in parsed) else ():
        spec = registry.Spec.parse(network)
        make = registry.factory("network", spec.name)
        if make is GivenPredictions or "weights" in {*spec.kwargs} - {*inspect.signature(make).parameters}:
            raise UserError(f"wrong_concepts and missing_concepts require a trained network; got {network}.")
    return list(dict.fromkeys(map(str, parsed)))


def _by_preset(grid: Grid, task: Benchmark, images: ImageSource) -> Grid:
    """The grid with the shares or test tasks of its preset, on an image source."""
    if not grid.preset:
        return grid
    if grid.preset in task.test_presets:
        if grid.test_tasks:
            raise UserError(
                f"The preset {grid.preset} of {task.name} sets the test tasks; leave out --test-task."
            )
        return replace(grid, test_tasks=task.test_presets[grid.preset], preset="")
    if grid.preset not in PRESETS:
        raise not_here("preset", grid.preset, task, lambda one: one.test_presets, PRESETS)
    if any(map(any, (grid.percents, grid.train_percents, grid.test_percents))):
        raise UserError(
            f"The preset {grid.preset} sets the shares; leave out --shares, --train-shares and --test-shares."
        )
    shifts = grid.shifts
    if {*shifts, *grid.train_shifts, *grid.test_shifts} == {STANDARD}:
        shifts = tuple(named_shifts(task, images))[:1]
        if shifts in ((), (STANDARD,)):
            raise UserError(f"{grid.benchmark} has no named shift; name one with --shift.")
    shares: dict[str, Any] = {"percents": (0,), "train_percents": (), "test_percents": ()}
    return replace(grid, shifts=shifts, preset="", **{**shares, **PRESETS[grid.preset]})


def _seeded_networks(grid: Grid) -> list[str]:
    """The networks' specs, each with every seed."""
    every = [seeded(network, seed) for network in grid.networks for seed in grid.network_seeds]
    return list(dict.fromkeys(every)) or list(grid.networks)


def seeded(network: str, seed: int) -> str:
    """A network's spec with a seed; 0 is the network's own, and not written."""
    spec = registry.Spec.parse(network)
    options = {key: value for key, value in spec.kwargs.items() if key != "seed"}
    return str(replace(spec, kwargs={**options, **({"seed": str(seed)} if seed else {})}))


def _described(learners: Sequence[str], describe: Describe) -> dict[str, About]:
    """Track and version of each learner, once, by its canonical spec."""
    specs = dict.fromkeys(map(registry.canonical, learners))
    return {
        spec: About(command_of(spec)[0], version_of_command(spec)) if is_command(spec) else describe(spec)
        for spec in specs
    }


def version_of_network(network: str, images: ImageSource) -> str:
    """The version of the installed network of a spec for a source's images.

    Raises:
        UserError: the network does not exist, or an option is wrong.
    """
    made = registry.create("network", network)
    factory = registry.factory("network", registry.Spec.parse(network).name)
    if factory is GivenPredictions:
        return str(made.version)
    version_for = getattr(factory, "version_for", None)
    version = None if version_for is None else version_for(images.shape)
    return version_of(factory, network, "network", version)


def _tested(task: Benchmark, spec: str, source: str, grid: Grid, made: Made) -> tuple[str, str, str]:
    """The fields of a job that say which task it is tested on; empty for its own."""
    other = member_of(task, spec) if spec else task
    if other is task:
        return "", "", ""
    if grid.splits:
        raise UserError(
            f"The splits in {grid.splits} are those of {task.name}; leave out the test task {spec}."
        )
    images = _made(made, other, source)
    for shift in (*grid.shifts, *grid.train_shifts, *grid.test_shifts):
        resolve(shift, other, images)
    return other.spec, other.version, images.fingerprint()


def _named(pair: ShiftPair, task: Benchmark, source: ImageSource) -> ShiftPair:
    """The same with the shifts' short names."""
    train, test = (
        short_name(resolve(shift, task, source), task, source)
        for shift in (pair.train_shift, pair.test_shift)
    )
    return ShiftPair.of(train, pair.train_percent, test, pair.test_percent)


def _checked_splits(folder: Path, task: Benchmark, grid: Grid) -> str:
    """The fingerprint of a folder all of whose splits can be read, so that no run finds a fault in them."""
    for size, repeat in itertools.product(grid.sizes, grid.repeats):
        task.read(folder, "train", size, repeat)
    for size in grid.sizes:
        task.read(folder, "test", size, grid.repeats[0])
    return splits_fingerprint(folder)


def shift_pairs(grid: Grid) -> list[ShiftPair]:
    """All combinations of a grid's shifts and shares, each once.

    By default, train and test set have the same share. If one of them has shares of its own, every share of
    the train set is combined with every share of the test set. Shifts are combined in the same way.
    """
    apart = bool(grid.train_percents or grid.test_percents)
    if apart and grid.percents not in ((), (0,)):
        raise UserError(
            "--shares cannot be combined with --train-shares or --test-shares; give --train-shares and "
            "--test-shares."
        )
    shares = [(percent, percent) for percent in grid.percents]
    if apart:
        shares = [*itertools.product(grid.train_percents or (0,), grid.test_percents or (0,))]
    shifts = [(shift, shift) for shift in grid.shifts]
    if grid.train_shifts or grid.test_shifts:
        shifts = [*itertools.product(grid.train_shifts or grid.shifts, grid.test_shifts or grid.shifts)]
        apart = True
    trained, tested = {train for train, _ in shifts}, {test for _, test in shifts}
    _check_shifts("train", grid.train_percents, trained)
    _check_shifts("test", grid.test_percents, tested)
    _check_shifts("", grid.percents, trained | tested)
    pairs = [
        ShiftPair.of(train, share, test, other)
        for (share, other), (train, test) in itertools.product(shares, shifts)
        # In a list of shifts with the standard one, a share meets no shift.
        if apart or (train, test) != (STANDARD, STANDARD) or (share, other) == (0, 0)
    ]
    return list(dict.fromkeys(pairs))


def _check_shifts(part: str, percents: Sequence[float], shifts: set[str]) -> None:
    """Refuse shares of shifted examples without a shift."""
    if any(map(check_percent, percents)) and shifts <= {STANDARD}:
        own = f" or --{part}-shift" if part else ""
        raise UserError(f"Shares above 0 require a shift; name one with --shift{own}.")


def write(grids: Sequence[Grid]) -> str:
    """The text of a TOML file with these grids."""
    import tomli_w

    tables = [
        {f.name: _plain(value) for f in fields(Grid) if (value := getattr(grid, f.name)) not in ((), "")}
        for grid in grids
    ]
    heading = "# A plan of nsl-bench: each grid is every combination of its lists.\n"
    return f"{heading}{tomli_w.dumps({'grid': tables})}"


def _plain(value: Any) -> Any:
    """A value as TOML has it; a share without a fraction as a whole number."""
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def read(path: Path) -> list[Grid]:
    """Read the grids of a TOML file."""
    content = read_toml(path, "The plan")
    grids = content.pop("grid", None)
    if content or not isinstance(grids, list) or not grids or not all(isinstance(g, dict) for g in grids):
        raise UserError(f"The plan {path} must consist of [[grid]] tables; `nsl-bench plan` writes one.")
    return [checked(Grid, values, f"{path}, grid {i}: ") for i, values in enumerate(grids, 1)]
