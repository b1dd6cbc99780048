"""``nsl-bench bench``: the main job, which `make bench` runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import click

from nsl_bench.cli.declared import FOLDER, WHOLE, declared


@declared(examples=["nsl-bench bench --out results/bench", "nsl-bench bench --repeats 1 --out results/bench"])
def command(
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
        heard=lambda line: click.echo(line, err=True),
    )
    click.echo(done.results.table())
    for path in done.pictures:
        click.echo(f"Curves: {path}")
    click.echo(f"Done in {done.seconds:.0f} s.")
    return 1 if done.failed else 0
