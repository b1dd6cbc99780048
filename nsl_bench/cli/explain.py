"""``nsl-bench explain``: one example as a person wants to see it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from nsl_bench.cli import Command
from nsl_bench.cli.grid import data_seed_option

__all__ = ["command"]


@click.command(
    cls=Command,
    examples=[
        "nsl-bench explain test-17 --benchmark follow_suit --hypothesis learned.lp --shift noir --share 50",
        "nsl-bench explain test-3 --results results/ --run 3f2a    # a run's key, or how it begins",
    ],
)
@click.argument("example")
@click.option("--benchmark", "task", help="The task.")
@click.option(
    "--hypothesis", "rules", type=click.Path(path_type=Path), help="Rules; by default the true rule."
)
@click.option("--results", type=click.Path(path_type=Path), help="Results folder of the run.")
@click.option("--run", "run", help="Key of a run in it, or how it begins: all else comes from there.")
@click.option("--source", help="Image source; the embedded one by default.")
@click.option("--network", default="softmax", show_default=True, help="Perception network.")
@click.option("--shift", default="standard", show_default=True, help="Short name or spec.")
@click.option(
    "--share",
    "--percent",
    "share",
    type=float,
    help="Share of shifted examples (%); 100 if a shift is named.",
)
@click.option("--size", help="Of the train set that a train example is from.")
@click.option("--repeat", default=1, show_default=True, type=click.IntRange(1), help="Likewise.")
@click.option("--seed", default=0, show_default=True, help="Of the data.")
@data_seed_option
@click.option("--engine", default="auto", show_default=True, help="auto, exact, sampling or problog.")
@click.option("--out", type=click.Path(path_type=Path), help="Draw the images into this file, too.")
def command(example: str, out: Path | None, **options: Any) -> None:
    """Show EXAMPLE (train-0, test-17 ...): images, concepts, the rules that fire, the labels' probability.

    With --run, the run's own answer is shown as it was stored, apart from what its rules say now.
    """
    from nsl_bench.api.explanation import explain
    from nsl_bench.pictures import check_ending, save

    if out is not None:
        check_ending(out)
    found = explain(example, **options)
    if found.rules is not None and found.rules.note:
        click.echo(f"Note: {found.rules.note}", err=True)
    click.echo(str(found))
    if out is not None:
        save(found.image, out)
        click.echo(f"\nImages: {out}")
