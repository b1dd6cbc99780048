"""``nsl-bench run`` and what goes with it: ``plan``, ``check``, ``export``, ``score`` and ``bench``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

import click

from nsl_bench.cli import command_line, problems_found
from nsl_bench.cli.declared import FOLDER, OLD_FOLDER, WHOLE, declared, options_of
from nsl_bench.cli.grid import data_seed_option, grid_options, grids_of, whole_numbers
from nsl_bench.core.errors import Interrupted, UserError, counted
from nsl_bench.core.tracks import Track

if TYPE_CHECKING:
    from nsl_bench.learners.folder_formats import Format
    from nsl_bench.run.record import Record
    from nsl_bench.sandbox.limits import Limits
    from nsl_bench.sandbox.sealing import DataSeed


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


def limits_of(options: dict[str, Any], hidden: Sequence[Path] = ()) -> Limits | None:
    """The limits that the options say; takes them out of `options`. None without isolation.

    Args:
        options: of the command.
        hidden: what learners may never read.
    """
    names = ("time_limit", "memory_limit", "allowed", "isolation")
    return _limits(**{name: options.pop(name) for name in names}, hidden=hidden)


@declared()
@grid_options
@data_seed_option
@limit_options
@options_of(
    "nsl_bench.run.grid:Options", limits=None, data_seed=None, jobs=WHOLE, interventions=whole_numbers
)
def run(
    *,
    executor: Annotated[
        Literal["processes", "dask"],
        "Where to run: processes on this machine, or the Dask cluster at --scheduler.",
    ] = "processes",
    scheduler: str | None,
    dry_run: Annotated[bool, "List the runs to do, without doing them."] = False,
    log: Annotated[
        Literal["csv", "tensorboard", "wandb"] | None, "Also log each run as it ends, in --out."
    ] = None,
    out: Annotated[Path, "Results folder. An existing one is resumed."],
    **options: Any,
) -> int:
    """Score learners on BENCHMARK, or run a plan (PLAN.toml).

    Each result is saved as soon as its run finishes. Run the same command again to resume. Learners run in a
    sandbox: no network, and read access only to their own code and installed packages.
    """
    from nsl_bench.api.evaluation import Evaluation
    from nsl_bench.run.grid import Options
    from nsl_bench.run.logs import logger
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
    evaluation.store.create()  # before the log, without which it would be a folder of something else
    logged = None if log is None else logger(log, out)

    def count(record: Record, done: int, total: int, left: str) -> None:
        if not sys.stderr.isatty():  # a line a run in place of the bar
            text = f"[{done}/{total}] {record.status}: {record.job} ({record.seconds:.1f} s)"
            click.echo(f"{text}, about {left} left" if done < total else text, err=True)
        if logged is not None:
            logged(record)

    try:
        tally = evaluation.run(say, count, lambda sentence: click.echo(sentence, err=True))
    except KeyboardInterrupt:
        stored = len(evaluation.store.statuses())
        raise Interrupted(
            f"Interrupted; {counted(stored, 'run is', 'runs are')} kept in {out} ({stored - before} new); "
            "run the same command again to resume."
        ) from None
    except SchedulerLost as error:
        raise UserError(f"{str(error).removesuffix('.')}: {command_line()}") from error
    click.echo(f"{tally}; results in {out}.")
    return tally.exit_code


def say(record: Record) -> None:
    """Say why a run failed."""
    click.echo(f"{record.status}: {record.job}: {record.message}", err=True)
    for line in record.output.splitlines()[-10:]:
        click.echo(f"    {line}", err=True)


@declared()
@grid_options
def plan(**options: Any) -> None:
    """Print a plan of runs of BENCHMARK as TOML. Edit it, then run it with `nsl-bench run plan.toml`."""
    from nsl_bench.run.plan import jobs_of, write

    grids = grids_of(options)
    count = len(jobs_of(grids))
    click.echo(write(grids), nl=False)
    click.echo(f"{counted(count, 'run')}.", err=True)


_SECONDS = 60.0
"""Default time limit: a learner that hangs is to be found out soon."""


@declared()
@options_of(partial(_limits, time_limit=_SECONDS), hidden=None)
def check(
    learner: str | None = None,
    *,
    text: Annotated[
        str | None,
        "--learner-command",
        "Check this command instead of LEARNER. Write TRACK=COMMAND if its track is not pretrained.",
    ] = None,
    benchmarks: Annotated[
        tuple[str, ...],
        "--benchmark",
        "Try the learner on this task instead, with the small train set and unshifted images. Repeatable.",
    ] = (),
    **options: Any,
) -> int:
    """Test LEARNER on tiny mock tasks, or on each --benchmark, and list the problems found.

    Whatever the learner prints is shown. The check ends at the first time limit reached. Exit code 1 if there
    is a problem.
    """
    from nsl_bench.learners.command import spec_of
    from nsl_bench.run.check import check
    from nsl_bench.sandbox.limits import Limits

    if (learner is None) == (text is None):
        raise UserError("Name one learner to check: my.py:MyLearner, or --learner-command COMMAND.")
    spec = learner if text is None else spec_of(text)
    assert spec is not None
    wrong, crashed = 0, False
    for finding in check(spec, limits_of(options) or Limits(time=_SECONDS), benchmarks):
        click.echo(f"{'wrong' if finding.wrong else 'note'}: {finding.where}: {finding.sentence}")
        wrong += finding.wrong
        crashed |= finding.sentence.startswith("crashed:")
    click.echo(problems_found(wrong))
    if crashed and not benchmarks:
        click.echo("Name the task with --benchmark if the learner is made for one.", err=True)
    return 1 if wrong else 0


@declared()
@grid_options
@data_seed_option
def export(
    *,
    data_seed: DataSeed | None,
    name: Annotated[str, "Name of the learner in the results."] = "mine",
    supervision: Annotated[
        Track, "Track of the learner. It decides what the folders contain.", click.Choice(get_args(Track))
    ] = "pretrained",
    images: Annotated[
        bool | None,
        "--images/--no-images",
        "Instead of runs, write the images of pools A and B with their hashes (--images). Leave images out "
        "of the runs (--no-images).",
    ] = None,
    form: Annotated[
        Format, "--format", "Format of the examples.", click.Choice(["parquet", "csv", "json"])
    ] = "parquet",
    device: Annotated[str, "Device for networks: auto, cpu or cuda."] = "auto",
    out: Annotated[Path, "Folder to create; each run becomes a subfolder."],
    **options: Any,
) -> None:
    """Write one folder of train and test examples of BENCHMARK for each run.

    Put your predictions beside them as predictions.parquet, .csv or .json, and rules as hypothesis.lp.
    Then run `nsl-bench score`. With --images, write the images, standard and under each --shift, of which
    `--network predictions:FOLDER` needs the predictions.
    """
    from nsl_bench.learners.base import About
    from nsl_bench.run.bench import Bench
    from nsl_bench.run.exchange import export as write
    from nsl_bench.run.exchange import export_images
    from nsl_bench.run.plan import jobs_of

    options["learners"] = (name,)
    if images:
        written = sum(export_images(grid, out) for grid in grids_of(options))
        click.echo(f"{counted(written, 'image')} written to {out}.")
        return
    sealed = "" if data_seed is None else data_seed.commitment
    jobs = jobs_of(grids_of(options), lambda _: About(supervision, ""), sealed)
    bench = Bench(device, data_seed=data_seed)
    count = sum(1 for _ in write(jobs, out, bench, images=images is None, form=form))
    click.echo(f"{counted(count, 'folder')} written to {out}; {len(jobs) - count} already existed.")


@declared()
@data_seed_option
def score(
    folder: Annotated[Path, OLD_FOLDER],
    *,
    data_seed: DataSeed | None,
    name: Annotated[str | None, "Name of the learner in the results. Default: the exported name."] = None,
    device: Annotated[str, "Device for networks: auto, cpu or cuda."] = "auto",
    out: Annotated[Path, "Results folder to write to."],
) -> int:
    """Score the predictions and the hypothesis.lp in exported folders.

    Scoring a folder again replaces its earlier record.
    """
    from nsl_bench.learners.folder_formats import ANSWERS
    from nsl_bench.run.bench import Bench
    from nsl_bench.run.exchange import jobs_in
    from nsl_bench.run.exchange import score as scored
    from nsl_bench.run.store import Store
    from nsl_bench.run.sweep import keep
    from nsl_bench.sandbox.limits import Limits

    jobs, store, limits = jobs_in(folder, name), Store(out), Limits()
    bench = Bench(device, data_seed=data_seed)
    done = failed = empty = 0
    for place, job in jobs.items():
        if not any((place / file).exists() for file in (*ANSWERS, "hypothesis.lp")):
            empty += 1
            continue
        outcome = scored(place, job, bench, limits)
        keep(store, outcome)
        if outcome.record.status == "ok":
            done += 1
        else:
            failed += 1
            say(outcome.record)
    scored_now = counted(done, "folder")
    click.echo(f"{scored_now} scored, {failed} failed, {empty} without answers; results in {out}.")
    return 1 if failed or not done else 0


@declared()
def bench(
    *,
    repeats: Annotated[int, "Number of train splits per task.", WHOLE] = 3,
    out: Annotated[Path, "Results folder. An existing one is resumed.", FOLDER] = Path("results/bench"),
) -> int:
    """Compare FFNSL with baselines on three tasks, with 0, 50 and 90 % of the examples shifted.

    The images come with nsl-bench, so nothing is downloaded. The command prints a table and draws curves. Run
    the same command again to resume.
    """
    from nsl_bench.api.main_job import run_main_job

    done = run_main_job(
        out,
        repeats=repeats,
        on_failure=lambda record: click.echo(f"{record.job} {record.message}", err=True),
        notify=lambda line: click.echo(line, err=True),
    )
    click.echo(done.results.table())
    for path in done.pictures:
        click.echo(f"Curves: {path}")
    click.echo(f"Done in {done.seconds:.0f} s.")
    return 1 if done.failed else 0
