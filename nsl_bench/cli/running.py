"""``nsl-bench run``: run learners on a benchmark at several shares of shifted examples."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import click

from nsl_bench.cli import command_line
from nsl_bench.cli.declared import WHOLE, declared, options_of
from nsl_bench.cli.grid import data_seed_option, grid_options, grids_of, whole_numbers
from nsl_bench.core.errors import Interrupted, UserError
from nsl_bench.run.grid import Options

if TYPE_CHECKING:
    from nsl_bench.run.record import Record
    from nsl_bench.sandbox.limits import Limits


def _limits(
    *,
    time_limit: Annotated[
        float, "Time limit in seconds for each fit and each predict.", click.FloatRange(min=0, min_open=True)
    ] = 3600.0,
    memory_limit: Annotated[str, "Resident memory limit of each learner, e.g. 512M or 8G."] = "8G",
    allowed: Annotated[
        tuple[str, ...],
        "--allow",
        "Resource that learners may use in the sandbox: network, read=PATH or write=PATH. Repeatable.",
    ] = (),
    isolation: Annotated[
        Literal["process", "none"],
        "process: each learner runs in a sandbox. none: learners share the main process, without limits.",
    ] = "process",
    hidden: Sequence[Path] = (),
) -> Limits | None:
    from nsl_bench.sandbox.limits import Limits, memory_size

    paths: dict[str, list[Path]] = {"read": [], "write": []}
    for word in allowed:
        kind, equals, path = word.partition("=")
        if word == "network":
            continue
        if kind not in paths or not equals or not Path(path).exists():
            raise UserError(
                f"--allow must be network, read=PATH or write=PATH, and the path must exist; got '{word}'."
            )
        paths[kind].append(Path(path))
    memory = memory_size(memory_limit)
    if isolation == "none":
        return None
    return Limits(
        time=time_limit,
        memory=memory,
        network="network" in allowed,
        read=(*paths["read"], *paths["write"]),
        write=tuple(paths["write"]),
        hidden=tuple(path.resolve() for path in hidden if path.exists()),
    )


limit_options = options_of(_limits, hidden=None)
"""Gives a command the options of what learners may use."""


def limit_options_within(seconds: float) -> Callable[[Any], Any]:
    """The same, with another default time limit."""

    def within(function: Any) -> Any:
        function = limit_options(function)
        (option,) = (each for each in function.__click_params__ if each.name == "time_limit")
        option.default = seconds
        return function

    return within


def limits_of(options: dict[str, Any], hidden: Sequence[Path] = ()) -> Limits | None:
    """The limits that the options say; takes them out of `options`. None without isolation.

    Args:
        options: of the command.
        hidden: what learners may never read.
    """
    names = ("time_limit", "memory_limit", "allowed", "isolation")
    return _limits(**{name: options.pop(name) for name in names}, hidden=hidden)


@declared(
    examples=[
        "nsl-bench run follow_suit --learner ffnsl --learner random_forest --shift noir "
        "--shares 0,50,90 --out results/",
        "nsl-bench run sudoku_9x9 --source mnist:data/ --learner ffnsl --shift rotate90 --shares 0-100/10 "
        "--out results/",
        "nsl-bench run sudoku_4x4 --track symbolic --learner mine.py:Mine --time-limit 60 --out results/",
        "nsl-bench run plan.toml --executor dask --scheduler tcp://127.0.0.1:8786 --out results/",
    ]
)
@grid_options
@data_seed_option
@limit_options
@options_of(Options, limits=None, data_seed=None, jobs=WHOLE, interventions=whole_numbers)
def command(
    *,
    executor: Annotated[
        Literal["processes", "dask"],
        "Where to run: processes on this machine, or the Dask cluster at --scheduler.",
    ] = "processes",
    scheduler: str | None,
    dry_run: Annotated[bool, "List the runs to do, without doing them."] = False,
    out: Annotated[Path, "Results folder. An existing one is resumed."],
    **options: Any,
) -> int:
    """Score learners on BENCHMARK, or run a plan (PLAN.toml).

    Each result is saved as soon as its run finishes. Run the same command again to resume. Learners run in a
    sandbox: no network, and read access only to their own code and installed packages.
    """
    from nsl_bench.api.evaluation import Evaluation
    from nsl_bench.run.sweep import SchedulerLost

    if (executor == "dask") != (scheduler is not None):
        raise UserError("--executor dask and --scheduler ADDRESS must be given together.")
    grids = grids_of(options)
    limits = limits_of(options)
    evaluation = Evaluation(grids, out, Options(limits, scheduler=scheduler, **options))
    todo = evaluation.todo
    if dry_run:
        for job in todo:
            click.echo(str(job))
    if dry_run or not sys.stderr.isatty():
        click.echo(f"{len(todo)} of {len(evaluation.jobs)} runs to do.", err=True)
    if dry_run:
        return 0
    before = len(evaluation.store.statuses())
    try:
        tally = evaluation.run(say, _count, lambda sentence: click.echo(sentence, err=True))
    except KeyboardInterrupt:
        kept = len(evaluation.store.statuses())
        raise Interrupted(
            f"Interrupted; {kept} runs are kept in {out} ({kept - before} new); "
            "run the same command again to resume."
        ) from None
    except SchedulerLost as error:
        raise UserError(f"{str(error).removesuffix('.')}: {command_line()}") from error
    click.echo(f"{tally}; results in {out}.")
    return tally.exit_code


def _count(record: Record, done: int, total: int) -> None:
    """Without a terminal, a line a run in place of the bar."""
    if not sys.stderr.isatty():
        click.echo(f"[{done}/{total}] {record.status}: {record.job} ({record.seconds:.1f} s)", err=True)


def say(record: Record) -> None:
    """Say why a run failed."""
    click.echo(f"{record.status}: {record.job}: {record.message}", err=True)
    for line in record.output.splitlines()[-10:]:
        click.echo(f"    {line}", err=True)
