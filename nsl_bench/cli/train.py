"""``nsl-bench train``: train a perception network and measure its accuracy, unshifted and shifted."""

from __future__ import annotations

from typing import Annotated, Any

import click

from nsl_bench.api.networks import train_network
from nsl_bench.cli.declared import FILE, WHOLE, declared, options_of


@declared(
    examples=[
        "nsl-bench train sudoku_4x4",
        "nsl-bench train sudoku_9x9 --source mnist:data/,download=true",
        "nsl-bench train follow_suit --network edl_gen --seed 1",
        "nsl-bench train follow_suit --images-per-concept 20 --epochs 3 --out cards.safetensors",
    ]
)
@options_of(
    train_network,
    images_per_concept=WHOLE,
    epochs=WHOLE,
    seed=click.IntRange(0),
    held_out=click.IntRange(0),
    out=FILE,
    progress=None,
)
def command(
    benchmark: str,
    *,
    network: Annotated[str, "Network to train, with its options."] = "softmax",
    held_out: int,
    **options: Any,
) -> None:
    """Train a network for BENCHMARK on the network's part of the image pool.

    Prints its accuracy on held-out images (pool B), unshifted and under each shift. Use the file with
    --network softmax:weights=FILE. If the folder of --out has an index.json of weights, the file is
    added to it and found automatically. After Ctrl-C, run the same command again to resume.
    """
    from nsl_bench.core import cache
    from nsl_bench.core.errors import Interrupted

    try:
        told = train_network(network, benchmark, held_out=held_out, **options)
    except KeyboardInterrupt:
        raise Interrupted(
            "Interrupted; the state after the last full epoch is kept in "
            f"{cache.folder('training')}; run the same command again to resume."
        ) from None
    if held_out and not told.accuracies:
        source = told.network.details["source"]["name"]
        click.echo(f"The image source {source} has no held-out images (pool B) to measure accuracy on.")
    width = max(map(len, told.accuracies), default=0)
    for name, value in told.accuracies.items():
        click.echo(f"{name:<{width}}  {value:.4f}")
    click.echo(f"{told.file}  {told.file.stat().st_size / 1e6:.2f} MB")
