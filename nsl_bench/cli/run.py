"""``nsl-bench run``: learners on a benchmark at several shares of shift."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nsl_bench import registry
from nsl_bench.cli import Command
from nsl_bench.cli.grid import data_seed_option, grid_options, grids_of, whole_numbers
from nsl_bench.errors import Interrupted, UserError

if TYPE_CHECKING:
    from nsl_bench.isolation.limits import Limits
    from nsl_bench.run.plan import Grid
    from nsl_bench.run.record import Record
    from nsl_bench.sealing import DataSeed

__all__ = ["command", "limit_options", "limits_of", "say"]

_LIMITS = [
    click.option(
        "--time-limit",
        default=3600.0,
        show_default=True,
        type=click.FloatRange(min=0, min_open=True),
        help="Seconds that each fit and predict may take.",
    ),
    click.option("--memory-limit", default="8G", show_default=True, help="Of each learner: 512M, 8G ..."),
    click.option(
        "--allow",
        "allowed",
        multiple=True,
        help="What learners may reach beside their code: network, read=PATH, write=PATH; repeatable.",
    ),
    click.option(
        "--isolation",
        type=click.Choice(["process", "none"]),
        default="process",
        show_default=True,
        help="none: learners run in the harness's process, without limits.",
    ),
]


def limit_options(function: Any) -> Any:
    """Give a command the options of what learners may use."""
    for option in reversed(_LIMITS):
        function = option(function)
    return function


def limits_of(options: dict[str, Any], hidden: list[Path]) -> Limits | None:
    """The limits that the options say; takes them out of `options`. None without isolation.

    Args:
        options: of the command.
        hidden: what learners may never read.

    Raises:
        UserError: an option with a value that there is not.
    """
    from nsl_bench.isolation.limits import Limits, memory_size

    time, memory = options.pop("time_limit"), memory_size(options.pop("memory_limit"))
    allowed, isolation = options.pop("allowed"), options.pop("isolation")
    paths: dict[str, list[Path]] = {"read": [], "write": []}
    for word in allowed:
        kind, equals, path = word.partition("=")
        if word == "network":
            continue
        if kind not in paths or not equals or not Path(path).exists():
            raise UserError(
                f"--allow is network, or read=PATH or write=PATH of what is there; found '{word}'."
            )
        paths[kind].append(Path(path))
    if isolation == "none":
        return None
    return Limits(
        time=time,
        memory=memory,
        network="network" in allowed,
        read=(*paths["read"], *paths["write"]),
        write=tuple(paths["write"]),
        hidden=tuple(path.resolve() for path in hidden if path.exists()),
    )


def secrets_of(grids: list[Grid]) -> list[Path]:
    """Files and folders with labels that the runs of some grids read."""
    found = [Path(grid.splits) for grid in grids if grid.splits]
    for source in (source for grid in grids for source in grid.sources):
        spec = registry.Spec.parse(source)
        found += [Path(word) for word in (*spec.args, *spec.kwargs.values()) if Path(word).exists()]
    return found


@click.command(
    cls=Command,
    examples=[
        "nsl-bench run follow_suit --learner ffnsl --learner random_forest --shift noir "
        "--percents 0,50,90 --out results/",
        "nsl-bench run sudoku_9x9 --source mnist:data/ --learner ffnsl --shift rotate90 --percents 0-100/10 "
        "--out results/",
        "nsl-bench run sudoku_4x4 --track symbolic --learner mine.py:Mine --time-limit 60 --out results/",
        "nsl-bench run plan.toml --engine dask --scheduler tcp://127.0.0.1:8786 --out results/",
    ],
)
@grid_options
@data_seed_option
@limit_options
@click.option(
    "--interventions",
    callback=whole_numbers,
    help="Also ask learners with the true concepts of so many slots of each test example: 1,2,4.",
)
@click.option("--device", default="auto", show_default=True, help="Of networks: auto, cpu or cuda.")
@click.option("--jobs", type=click.IntRange(1), help="Runs at once; default: one a core.")
@click.option(
    "--engine",
    type=click.Choice(["processes", "dask"]),
    default="processes",
    show_default=True,
    help="Where runs are done: processes of this machine, or the Dask cluster of --scheduler.",
)
@click.option("--scheduler", help="Address of the Dask scheduler, e.g. tcp://127.0.0.1:8786.")
@click.option(
    "--rerun",
    type=click.Choice(["missing", "failed", "all"]),
    default="missing",
    show_default=True,
    help="Do only runs without a record, also those that failed, or all of them.",
)
@click.option(
    "--out", required=True, type=click.Path(path_type=Path), help="Results folder; resumed if it is there."
)
def command(out: Path, device: str, jobs: int | None, data_seed: DataSeed | None, **options: Any) -> int:
    """Run learners on BENCHMARK, or what a plan (PLAN.toml) says, and keep a record a run.

    A record is written as soon as its run ends; the same command again does only what is missing. Each
    learner runs in a process of its own, without network, and can read nothing but its own code and what is
    installed.
    """
    from functools import partial

    from nsl_bench.isolation.host import about
    from nsl_bench.run.evaluate import Bench
    from nsl_bench.run.plan import jobs_of
    from nsl_bench.run.store import Store
    from nsl_bench.run.sweep import Engine, sweep
    from nsl_bench.sealing import check_limits

    interventions = options.pop("interventions")
    engine, scheduler, rerun = (options.pop(name) for name in ("engine", "scheduler", "rerun"))
    if (engine == "dask") != (scheduler is not None):
        raise UserError("--engine dask and --scheduler ADDRESS go together.")
    grids = grids_of(options)
    secrets = [] if data_seed is None else [data_seed.file]
    limits = limits_of(options, [out, *secrets_of(grids), *secrets])
    if data_seed is not None:
        check_limits(limits)
    sealed = "" if data_seed is None else data_seed.commitment
    todo = jobs_of(grids, None if limits is None else partial(about, limits=limits), sealed)
    store = Store(out)
    before = len(store.statuses())
    cores = os.cpu_count() or 1
    parallel = min(jobs or cores, max(1, len(todo)))
    bench = Bench(
        device,
        workers=max(1, cores // parallel),
        limits=limits,
        data_seed=data_seed,
        interventions=interventions,
    )
    try:
        tally = sweep(todo, store, bench, say, engine=Engine(parallel, scheduler), rerun=rerun)
    except KeyboardInterrupt:
        kept = len(store.statuses())
        raise Interrupted(
            f"Interrupted; {kept} runs are kept in {out} ({kept - before} new), "
            "the same command goes on from there."
        ) from None
    click.echo(f"{tally}; results in {out}.")
    return tally.exit_code


def say(record: Record) -> None:
    """Say why a run failed."""
    click.echo(f"{record.status}: {record.job}: {record.message}", err=True)
    for line in record.output.splitlines()[-10:]:
        click.echo(f"    {line}", err=True)
