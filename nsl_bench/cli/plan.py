"""``nsl-bench plan``: write a plan of runs."""

from __future__ import annotations

from typing import Any

import click

from nsl_bench.cli.declared import declared
from nsl_bench.cli.grid import grid_options, grids_of


@declared(
    examples=[
        "nsl-bench plan follow_suit --learner ffnsl --learner random_forest --shift noir --percents 0-100/10 "
        "> plan.toml",
        "nsl-bench plan sudoku_4x4 --learner ffnsl --learner mine.py:Mine --track symbolic > plan.toml",
    ]
)
@grid_options
def command(**options: Any) -> None:
    """Print a plan of runs of BENCHMARK as TOML. Edit it, then run it with `nsl-bench run plan.toml`."""
    from nsl_bench.run.plan import jobs_of, write

    grids = grids_of(options)
    count = len(jobs_of(grids))
    click.echo(write(grids), nl=False)
    click.echo(f"{count} runs.", err=True)
