"""``nsl-bench explain``: explain the label of one example."""

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
@click.option("--benchmark", "task", help="Benchmark of the example.")
@click.option(
    "--hypothesis",
    "rules",
    type=click.Path(path_type=Path),
    help="File with the rules. Default: the true rule.",
)
@click.option("--results", type=click.Path(path_type=Path), help="Results folder that contains the run.")
@click.option(
    "--run",
    "run",
    help="Key of a run in --results, or its first characters. The run supplies all other settings.",
)
@click.option("--source", help="Image source. Default: the embedded one.")
@click.option("--network", default="softmax", show_default=True, help="Perception network.")
@click.option("--shift", default="standard", show_default=True, help="Shift, as a short name or spec.")
@click.option(
    "--share",
    "--percent",
    "share",
    type=float,
    help="Share of shifted examples in percent. Default: 100 if --shift is given.",
)
@click.option("--size", help="Train size, for a train example.")
@click.option(
    "--repeat", default=1, show_default=True, type=click.IntRange(1), help="Train split, for a train example."
)
@click.option("--seed", default=0, show_default=True, help="Seed of the data.")
@data_seed_option
@click.option(
    "--engine", default="auto", show_default=True, help="Inference engine: auto, exact, sampling or problog."
)
@click.option("--out", type=click.Path(path_type=Path), help="Also save the images to this file.")
def command(example: str, out: Path | None, **options: Any) -> None:
    """Explain EXAMPLE (train-0, test-17 ...): its images, concepts, rules that fire, and label probabilities.

    With --run, the prediction that the run stored is shown next to what its rules give now.
    """
    from nsl_bench.api.explanation import explain
    from nsl_bench.core.pictures import check_ending, save

    if out is not None:
        check_ending(out)
    found = explain(example, **options)
    if found.rules is not None and found.rules.note:
        click.echo(f"Note: {found.rules.note}", err=True)
    click.echo(str(found))
    if out is not None:
        save(found.image, out)
        click.echo(f"\nImages: {out}")
