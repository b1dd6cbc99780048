"""``nsl-bench explain``: explain the label of one example."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import click

from nsl_bench.api.explanation import explain
from nsl_bench.cli.declared import WHOLE, declared, options_of
from nsl_bench.cli.grid import data_seed_option


@declared(
    examples=[
        "nsl-bench explain test-17 --benchmark follow_suit --hypothesis learned.lp --shift noir --share 50",
        "nsl-bench explain test-3 --results results/ --run 3f2a    # a run's key, or how it begins",
    ]
)
@options_of(
    explain,
    task="--benchmark",
    rules=("--hypothesis", "File with the rules. Default: the true rule."),
    share=("--share", "--percent"),
    repeat=WHOLE,
    data_seed=None,
)
@data_seed_option
def command(
    example: str, *, out: Annotated[Path | None, "Also save the images to this file."] = None, **options: Any
) -> None:
    """Explain EXAMPLE (train-0, test-17 ...): its images, concepts, rules that fire, and label probabilities.

    With --run, the prediction that the run stored is shown next to what its rules give now.
    """
    from nsl_bench.core.pictures import check_ending, save

    if out is not None:
        check_ending(out)
    result = explain(example, **options)
    if result.rules is not None and result.rules.note:
        click.echo(f"Note: {result.rules.note}", err=True)
    click.echo(str(result))
    if out is not None:
        save(result.image, out)
        click.echo(f"\nImages: {out}")
