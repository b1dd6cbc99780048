"""``nsl-bench predict``: label probabilities for images or concept probabilities."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import click

from nsl_bench.api.rules import predict
from nsl_bench.cli.declared import WHOLE, declared, options_of
from nsl_bench.core.errors import UserError


def _pairs(ctx: click.Context, parameter: click.Parameter, texts: tuple[str, ...]) -> dict[str, str]:
    result: dict[str, str] = {}
    for text in texts:
        name, _, value = map(str.strip, text.partition("="))
        if not name or not value:
            raise UserError(f"--metadata must be NAME=VALUE, e.g. location=5; got '{text}'.")
        if name in result:
            raise UserError(f"--metadata: {name} is given twice, as {result[name]} and as {value}.")
        result[name] = value
    return result


@declared(
    examples=[
        "nsl-bench predict learned.lp follow_suit --probabilities vectors.csv",
        "nsl-bench predict learned.lp follow_suit --images tricks/    # tricks/1/player_1.png ...",
        "nsl-bench predict learned.lp crop_yield --images leaves/ --metadata location=5 --json",
        "nsl-bench predict learned.lp addition:digits=5 --images sums/    # sums/7/1/first.png ...",
    ]
)
@options_of(predict, metadata=None, time_limit=click.FloatRange(min=0, min_open=True), memory_limit=WHOLE)
def command(
    hypothesis: Path,
    benchmark: str,
    *,
    metadata: Annotated[
        dict[str, str] | None, "Metadata of all examples, NAME=VALUE. Repeatable.", _pairs
    ] = None,
    as_json: Annotated[bool, "--json", "Print one line of JSON for each example or step."] = False,
    **options: Any,
) -> None:
    """Print the label probabilities that the rules in the file HYPOTHESIS give to examples of BENCHMARK.

    The probability of a label is the total probability of the worlds in which the rules derive exactly that
    label. The rest up to 1 belongs to worlds with no label or several.

    In a task of sequences, every step gets a label. It takes into account the images of its sequence up to
    that step.
    """
    result = predict(hypothesis, benchmark, metadata=metadata, **options)
    if result.note:
        click.echo(f"Note: {result.note}", err=True)
    if as_json:
        for row in result.rows():
            click.echo(json.dumps(row))
    else:
        click.echo(str(result))
