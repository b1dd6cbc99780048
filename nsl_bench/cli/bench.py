"""``nsl-bench bench``: the main job, which `make bench` runs."""

from __future__ import annotations

from pathlib import Path

import click

from nsl_bench.cli import Command

__all__ = ["command"]


@click.command(
    cls=Command,
    examples=["nsl-bench bench --out results/bench", "nsl-bench bench --repeats 1 --out results/bench"],
)
@click.option(
    "--repeats", default=3, show_default=True, type=click.IntRange(1), help="Number of train splits per task."
)
@click.option(
    "--out",
    default=Path("results/bench"),
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Results folder. An existing one is resumed.",
)
def command(repeats: int, out: Path) -> int:
    """Compare FFNSL with baselines on three tasks, with 0, 50 and 90 % of the examples shifted.

    The images come with nsl-bench, so nothing is downloaded. The command prints a table and draws curves. Run
    the same command again to resume.
    """
    from nsl_bench.api.main_job import run_main_job

    done = run_main_job(
        out,
        repeats=repeats,
        on_failure=lambda record: click.echo(f"{record.job} {record.message}", err=True),
        heard=lambda line: click.echo(line, err=True),
    )
    click.echo(done.results.table())
    for path in done.pictures:
        click.echo(f"Curves: {path}")
    click.echo(f"Done in {done.seconds:.0f} s.")
    return 1 if done.failed else 0
