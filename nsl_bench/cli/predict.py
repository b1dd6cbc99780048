"""``nsl-bench predict``: labels with probabilities for images or probability vectors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from nsl_bench.cli import Command
from nsl_bench.errors import UserError

__all__ = ["command"]


def _pairs(ctx: click.Context, parameter: click.Parameter, texts: tuple[str, ...]) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in texts:
        name, _, value = map(str.strip, text.partition("="))
        if not name or not value:
            raise UserError(f"--metadata must be NAME=VALUE, e.g. location=5; got '{text}'.")
        if name in found:
            raise UserError(f"--metadata: {name} is given twice, as {found[name]} and as {value}.")
        found[name] = value
    return found


@click.command(
    cls=Command,
    examples=[
        "nsl-bench predict learned.lp follow_suit --probabilities vectors.csv",
        "nsl-bench predict learned.lp follow_suit --images tricks/    # tricks/1/player_1.png ...",
        "nsl-bench predict learned.lp crop_yield --images leaves/ --metadata location=5 --json",
    ],
)
@click.argument("hypothesis", type=click.Path(path_type=Path))
@click.argument("benchmark")
@click.option("--probabilities", type=click.Path(path_type=Path), help="CSV: example, slot, concepts.")
@click.option("--images", type=click.Path(path_type=Path), help="Folder: EXAMPLE/SLOT.png.")
@click.option("--metadata", multiple=True, callback=_pairs, help="NAME=VALUE of all examples; repeatable.")
@click.option("--source", help="Image source that the network was trained on; the embedded one by default.")
@click.option("--network", default="softmax", show_default=True, help="Perception network.")
@click.option("--engine", default="auto", show_default=True, help="auto, exact, sampling or problog.")
@click.option("--json", "as_json", is_flag=True, help="A line of JSON an example.")
@click.option(
    "--time-limit",
    type=click.FloatRange(min=0, min_open=True),
    help="Seconds for grounding the rules (60 by default), and as many for inference (any by default).",
)
@click.option("--memory-limit", type=click.IntRange(min=1), help="Megabytes for grounding and inference.")
def command(
    hypothesis: Path, benchmark: str, metadata: dict[str, str], as_json: bool, **options: Any
) -> None:
    """Print the labels that the rules in the file HYPOTHESIS give examples of BENCHMARK.

    Probabilities are those of the worlds in which exactly that label is derived, over everything that the
    images may show; what is missing to 1 has no label, or several.
    """
    from nsl_bench.api.rules import predict

    found = predict(hypothesis, benchmark, metadata=metadata, **options)
    if found.note:
        click.echo(f"Note: {found.note}", err=True)
    if as_json:
        for row in found.rows():
            click.echo(json.dumps(row))
    else:
        click.echo(str(found))
