"""``nsl-bench show``: draw examples of a benchmark on one page."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click

from nsl_bench.cli import Command
from nsl_bench.core.errors import UserError

__all__ = ["command"]


@click.command(
    cls=Command,
    examples=[
        "nsl-bench show follow_suit --shift noir --n 12 --out sheet.png",
        "nsl-bench show sudoku_9x9 --shift rotate90 --percent 50 --n 4 --out grids.png",
    ],
)
@click.argument("benchmark")
@click.option("--shift", default="standard", show_default=True, help="Shift, as a short name or spec.")
@click.option(
    "--percent", type=float, help="Share of shifted examples in percent. Default: 100 if --shift is given."
)
@click.option("--n", default=12, show_default=True, type=click.IntRange(1, 400), help="Number of examples.")
@click.option(
    "--columns", type=click.IntRange(1), help="Number of examples per row. Default: as many as fit."
)
@click.option("--source", help="Image source. Default: the embedded one.")
@click.option(
    "--split",
    type=click.Choice(["train", "validation", "test"]),
    default="train",
    show_default=True,
    help="Split to show examples of.",
)
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0), help="Seed of the examples.")
@click.option(
    "--out", required=True, type=click.Path(dir_okay=False, path_type=Path), help="Picture file to write."
)
def command(
    benchmark: str,
    shift: str,
    percent: float | None,
    n: int,
    columns: int | None,
    source: str | None,
    split: Literal["train", "validation", "test"],
    seed: int,
    out: Path,
) -> None:
    """Draw examples of BENCHMARK: images with concepts, label and shift. The deciding slots are marked."""
    import numpy as np

    from nsl_bench.core import registry
    from nsl_bench.core.pictures import check_ending, save
    from nsl_bench.core.shift import resolve
    from nsl_bench.data.reuse import reuse
    from nsl_bench.data.show import sheet
    from nsl_bench.data.splits import make_source, make_split

    task = registry.create("benchmark", benchmark)
    images = make_source(task, source)
    change = resolve(shift, task, images)
    if percent is None:
        percent = 100.0 if change else 0.0
    if percent and change is None:
        raise UserError(f"--percent {percent:g} requires a shift; name one with --shift.")
    check_ending(out)
    examples = make_split(task, images, split, next(iter(task.sizes)), 1, percent=percent, seed=seed)
    shown = min(n, examples.n_sequences)
    page = sheet(task, images, change, examples.take_sequences(np.arange(shown)), columns)
    save(page, out)
    click.echo(f"{out}: {shown} of {reuse(examples)}.")
