"""``nsl-bench show``: draw examples of a benchmark on one page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import click

from nsl_bench.cli.declared import FILE, WHOLE, declared
from nsl_bench.core.errors import UserError


@declared(
    examples=[
        "nsl-bench show follow_suit --shift noir --n 12 --out sheet.png",
        "nsl-bench show sudoku_9x9 --shift rotate90 --percent 50 --n 4 --out grids.png",
    ]
)
def command(
    benchmark: str,
    *,
    shift: Annotated[str, "Shift, as a short name or spec."] = "standard",
    percent: Annotated[
        float | None, "Share of shifted examples in percent. Default: 100 if --shift is given."
    ] = None,
    n: Annotated[int, "Number of examples.", click.IntRange(1, 400)] = 12,
    columns: Annotated[int | None, "Number of examples per row. Default: as many as fit.", WHOLE] = None,
    source: Annotated[str | None, "Image source. Default: the embedded one."] = None,
    split: Annotated[Literal["train", "validation", "test"], "Split to show examples of."] = "train",
    seed: Annotated[int, "Seed of the examples.", click.IntRange(0)] = 0,
    out: Annotated[Path, "Picture file to write.", FILE],
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
