"""Evaluation of learners: select runs, skip those already done, do the rest."""

from __future__ import annotations

import inspect
import os
import re
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import Field, fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from nsl_bench.api.results import Results
from nsl_bench.core import cache, registry
from nsl_bench.core.declared import checked
from nsl_bench.core.errors import UserError, did_you_mean, unknown
from nsl_bench.core.shift import named_shifts
from nsl_bench.core.tracks import Track
from nsl_bench.data.splits import make_source
from nsl_bench.learners.base import About, track_of
from nsl_bench.learners.command import command_of, is_command
from nsl_bench.run.grid import Grid, Options
from nsl_bench.run.plan import jobs_of
from nsl_bench.run.sweep import Executor, Notify, Tally, sweep, to_do

if TYPE_CHECKING:
    from nsl_bench.learners.view import View
    from nsl_bench.run.job import Job
    from nsl_bench.run.record import Record


class Evaluation:
    """A set of runs and the results folder that they go to.

    Args:
        out: results folder; created by the first run.
        own: learners that exist only in this process: their name in the grids, and a function from a seed to
            a learner.

    Attributes:
        jobs: every run, once.
    """

    def __init__(
        self,
        grids: Sequence[Grid],
        out: Path,
        options: Options,
        own: Mapping[str, Callable[[int], Any]] | None = None,
    ) -> None:
        from nsl_bench.perception.training import pick_device
        from nsl_bench.run.store import Store
        from nsl_bench.sandbox.command import found
        from nsl_bench.sandbox.host import about
        from nsl_bench.sandbox.sealing import check_limits

        self.own = dict(own or {})
        secrets = [] if options.data_seed is None else [options.data_seed.file]
        hidden = [path.resolve() for path in (out, *_labels_of(grids), *secrets) if path.exists()]
        if options.limits is not None:
            options = replace(options, limits=replace(options.limits, hidden=tuple(hidden)))
        if options.data_seed is not None:
            check_limits(options.limits)
            if self.own:
                raise UserError(
                    "A secret data seed requires learners from a file or module, which run in a "
                    "sandbox; give a name such as my.py:MyLearner instead of a class or object."
                )
        if options.device != "auto" and options.scheduler is None:
            pick_device(options.device)
        self.options = options
        ask = None if options.limits is None else partial(about, limits=options.limits)
        sealed = "" if options.data_seed is None else options.data_seed.commitment
        self.jobs = jobs_of(grids, self._describe(ask) if self.own else ask, sealed)
        commands = () if options.scheduler else {job.learner for job in self.jobs if is_command(job.learner)}
        for spec in sorted(commands):
            found(command_of(spec)[1])
        self.store = Store(out, create=False)

    def _describe(self, ask: Callable[[str], About] | None) -> Callable[[str], About]:
        from nsl_bench.learners.base import describe_here

        def describe(learner: str) -> About:
            if learner not in self.own:
                return (ask or describe_here)(learner)
            learner_object = self.own[learner](0)
            version = str(getattr(learner_object, "version", ""))
            return About(track_of(learner_object), f"{version}+{_source_key(learner_object)}")

        return describe

    @property
    def todo(self) -> list[Job]:
        """The runs that `run` will do."""
        return to_do(self.jobs, self.store.statuses(), self.options.rerun)

    def run(
        self,
        on_failure: Callable[[Record], None] = lambda record: None,
        notify: Notify = lambda *_: None,
        preparing: Callable[[str], None] = lambda sentence: None,
    ) -> Tally:
        """Do the missing runs. Each result is saved as soon as its run finishes.

        Args:
            notify: called with every record, the numbers of runs done and to do, and the time that is left.
            preparing: called with a sentence before an environment of a learner is made.
        """
        from nsl_bench.run.bench import Bench
        from nsl_bench.sandbox.building import prepared

        options = self.options
        cores = os.cpu_count() or 1
        inside = [job for job in self.jobs if job.learner in self.own]
        apart = [job for job in self.jobs if job.learner not in self.own]
        if registry.registered_here():  # no other process has what was registered in this one
            if options.scheduler is not None:
                raise UserError("Parts of nsl_bench.register are in this process alone; leave out scheduler.")
            cores, options = 1, replace(options, jobs=1)
        parallel = min(options.jobs or cores, max(1, len(apart)))
        bench = Bench.of(options, max(1, cores // parallel))
        dask = None if options.scheduler is None else Executor.dask(options.scheduler)
        if dask is None:
            prepared((job.learner for job in self.todo), preparing)
        self.store.create()
        executor = dask or Executor.processes(parallel)
        more: dict[str, Any] = {"rerun": options.rerun, "notify": notify}
        tally = sweep(apart, self.store, bench, on_failure, executor=executor, **more)
        if inside:
            here = Bench(options.device, workers=cores, interventions=options.interventions, own=self.own)
            tally += sweep(inside, self.store, here, on_failure, **more)
        return tally


_NOT_BY_NAME = ("benchmark", "learners", "track")
"""Fields of a grid for which `evaluate` has the arguments `tasks`, `learners` and `symbolic`."""


def _grid_arguments() -> dict[str, Field[Any]]:
    """The other fields, by the argument that stands for each."""
    asked = (one for one in fields(Grid) if one.name not in _NOT_BY_NAME)
    return {one.metadata["flags"][0].removeprefix("--").replace("-", "_"): one for one in asked}


def _with_grid_arguments(function: Callable[..., Results]) -> Callable[..., Results]:
    """Put the fields of a grid into the signature and the docstring of a function that takes them by name."""
    signature = inspect.signature(function)
    parameters = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
    lines = []
    for name, one in _grid_arguments().items():
        default: Any = one.default
        meaning = one.metadata["meaning"]
        if name == "repeats":
            default, meaning = len(default), "Number of train splits, or which ones, counted from 1."
        elif isinstance(default, tuple) and len(default) == 1:
            default = default[0]
        parameters.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default))
        meaning = re.sub(r"--([a-z-]+)", lambda flag: f"`{flag[1].replace('-', '_')}`", meaning)
        text = f"{name}: {meaning[0].lower()}{meaning[1:]}"
        lines.append(textwrap.fill(text, 102, subsequent_indent="    "))
    function.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    described = textwrap.indent("\n".join(lines), " " * 8)
    function.__doc__ = (function.__doc__ or "").replace("        grid: those of a grid.", described)
    return function


@_with_grid_arguments
def evaluate(
    learners: Any,
    tasks: str | Sequence[str],
    *,
    symbolic: bool = False,
    out: str | Path | None = None,
    options: Options | None = None,
    callback: Callable[[Record], None] | None = None,
    **grid: Any,
) -> Results:
    """Score learners on tasks, at several shares of shifted examples.

    An argument that takes several values also takes one: ``shift="noir"``, ``shares=[0, 50, 90]``.

    Args:
        learners: one or several of: a name (``"ffnsl"``, ``"random_forest:trees=50"``), a file or module and
            a class in it (``"my.py:MyLearner"``), a class, or an object with ``fit`` and ``predict_proba``. A
            mapping gives them display names. Names, files and importable classes run in a sandbox. Objects
            and classes defined in a notebook run in this process.
        tasks: one or several task names (`nsl_bench.list_tasks`).
        symbolic: give learners true concepts instead of network predictions.
        out: results folder; only missing runs are done. By default a temporary folder that is deleted with
            the returned results.
        options: limits, device and parallelism.
        callback: called with the record of each run as soon as it is kept, e.g.
            ``nsl_bench.logger("tensorboard", "logs/")``.
        grid: those of a grid.

    Returns:
        The results of these runs. Failed runs count as majority-class predictions and are listed on standard
        error.

    Raises:
        UserError: an unknown name, an option out of range, or a learner that cannot be created.
    """
    names, own, names_shown = _named(learners)
    values = _grid_values(grid)
    temporary = tempfile.TemporaryDirectory(prefix="nsl-bench-results-") if out is None else None
    folder = Path(out) if out is not None else Path(temporary.name if temporary else "")
    track = "symbolic" if symbolic else "own"
    grids = [
        _checked_grid({"benchmark": task, "learners": names, "track": track, **values})
        for task in ([tasks] if isinstance(tasks, str) else tasks)
    ]
    evaluation = Evaluation(grids, folder, options or Options(), own)
    evaluation.run(_say, lambda record, *_: callback(record) if callback else None)
    results = Results(folder, names=names_shown)
    results.keep(frozenset(job.key() for job in evaluation.jobs), temporary)
    return results


def _say(record: Record) -> None:
    print(f"{record.status}: {record.job}: {record.message}", file=sys.stderr)


def _grid_values(given: Mapping[str, Any], function: str = "evaluate") -> dict[str, Any]:
    """The fields of a grid that arguments ask for."""
    arguments = _grid_arguments()
    values: dict[str, Any] = {}
    for name, value in given.items():
        if name not in arguments:
            raise UserError(f"{function} has no argument '{name}'.{did_you_mean(name, arguments)}")
        default = arguments[name].default
        if value is None or value == default:
            continue
        if name == "repeats":
            value = _repeats(value)
        elif name == "splits":
            value = str(value)
        elif isinstance(default, tuple):
            value = (value,) if isinstance(value, str | int | float) else tuple(value)
            if name.endswith("shares"):
                _check_shares(value)
        values[arguments[name].name] = value
    return values


def _checked_grid(values: Mapping[str, Any]) -> Grid:
    """A grid of values; its errors name the arguments."""
    try:
        return checked(Grid, values)
    except UserError as error:
        field_name, rest = re.fullmatch(r"(\w+)(.*)", str(error), re.DOTALL).groups()  # type: ignore[union-attr]
        argument = {one.name: name for name, one in _grid_arguments().items()}.get(field_name, field_name)
        raise UserError(f"{argument}{rest}") from None


def _check_shares(values: Iterable[Any]) -> None:
    for share in values:
        if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share <= 100:
            raise UserError(f"shares must be numbers between 0 and 100; got {share!r}.")


def _repeats(value: int | Iterable[int]) -> tuple[int, ...]:
    several = tuple(range(1, value + 1)) if isinstance(value, int) else tuple(value)
    if not several or any(isinstance(k, bool) or not isinstance(k, int) or k < 1 for k in several):
        raise UserError(f"repeats must be a whole number of 1 or more, or a list of them; got {value!r}.")
    return several


def _named(learners: Any) -> tuple[list[str], dict[str, Callable[[int], Any]], dict[str, str]]:
    """The learners' specs, how those of this process are made, and what tables call them."""
    if isinstance(learners, Mapping):
        pairs: list[tuple[str | None, Any]] = [(str(name), one) for name, one in learners.items()]
    elif isinstance(learners, list | tuple | set):
        pairs = [(None, one) for one in learners]
    else:
        pairs = [(None, learners)]
    if not pairs:
        raise UserError("learners is empty; give at least one learner.")
    specs: list[str] = []
    own: dict[str, Callable[[int], Any]] = {}
    names_shown: dict[str, str] = {}
    for title, one in pairs:
        spec = registry.canonical(one) if isinstance(one, str) else _importable(one)
        if spec is not None and registry.registered_here("learner", registry.learner_spec(spec).name):
            own[spec] = partial(_registered, spec)
        elif spec is None:
            spec = (title or _class_of(one).__name__).replace(":", " ")
            if spec in own or spec in registry.names("learner"):
                raise UserError(
                    f"Two learners are named '{spec}'; give them different names: "
                    f"evaluate({{'mine': ..., ...}}, ...)."
                )
            own[spec] = partial(_make, one)
        if title is not None and title != spec:
            names_shown[spec] = title
        specs.append(spec)
    return specs, own, names_shown


def _class_of(learner: Any) -> type:
    return learner if isinstance(learner, type) else type(learner)


def _importable(learner: Any) -> str | None:
    """The spec of a class that another process can import; None for objects, and classes of notebooks."""
    if not isinstance(learner, type):
        if not hasattr(learner, "fit"):
            raise UserError(f"A learner must have a method fit; got {learner!r:.80}.")
        return None
    for name in registry.names("learner"):
        point = registry.entry_point("learner", name)
        if point.value == f"{learner.__module__}:{learner.__qualname__}":
            return name
    module = sys.modules.get(learner.__module__)
    file = getattr(module, "__file__", None)
    if file is None or learner.__module__ == "__main__" or "." in learner.__qualname__:
        return None
    return f"{file}:{learner.__name__}" if Path(file).suffix == ".py" else None


def _make(learner: Any, seed: int) -> Any:
    """A learner that has not learned yet, with its own seed if it takes one."""
    import copy

    if not isinstance(learner, type):
        return copy.deepcopy(learner)
    takes = inspect.signature(learner).parameters
    return learner(seed=seed) if "seed" in takes else learner()


def _registered(spec: str, seed: int) -> Any:
    return registry.create("learner", spec, seed=seed)


def _source_key(learner: Any) -> str:
    """A hash of a learner's code and of what its constructor was given."""
    try:
        code = inspect.getsource(_class_of(learner))
    except (OSError, TypeError):
        code = repr(_class_of(learner))
    return cache.key(code, sorted((name, repr(value)) for name, value in vars(learner).items()))


def _labels_of(grids: Sequence[Grid]) -> list[Path]:
    """Files and folders with labels that the runs of some grids read."""
    result = [Path(grid.splits) for grid in grids if grid.splits]
    for source in (source for grid in grids for source in grid.sources):
        spec = registry.Spec.parse(source)
        result += [Path(word) for word in (*spec.args, *spec.kwargs.values())]
    return result


def views(
    task: str, *, share: float = 0, repeat: int = 1, track: Track = "pretrained", **grid: Any
) -> tuple[View, View]:
    """The train and the test set of a run as its learner gets them, to call ``fit`` and others by hand.

    Args:
        task: name of the task.
        share: share of shifted examples (%) in both sets.
        repeat: train split, counted from 1.
        track: supervision, which decides what the views contain.
        grid: other arguments of `evaluate`, each with one value, such as ``size``, ``network``, ``source``,
            ``seed`` or ``shift``, by default the task's first shift.

    Raises:
        UserError: an unknown name, a value out of range, or several values.
    """
    from nsl_bench.run.bench import Bench

    if track not in get_args(Track):
        raise unknown("track", str(track), get_args(Track))
    values = _grid_values({"shares": share, "repeats": [repeat], **grid}, "views")
    if share and "shift" not in grid:
        made = registry.create("benchmark", task)
        values["shifts"] = tuple(named_shifts(made, make_source(made, grid.get("source"))))[:1]
    symbolic = {"track": "symbolic"} if track == "symbolic" else {}
    chosen = _checked_grid({"benchmark": task, "learners": ("views",), **values, **symbolic})
    jobs = jobs_of([chosen], lambda _: About("pretrained" if symbolic else track, ""))
    if len(jobs) != 1:
        raise UserError(f"views needs one value of each argument; got {len(jobs)} combinations.")
    train, _, test = Bench().views(jobs[0])
    return train, test
