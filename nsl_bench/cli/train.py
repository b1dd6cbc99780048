"""``nsl-bench train``: train a perception network and measure its accuracy, unshifted and shifted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from nsl_bench.cli import Command

__all__ = ["command"]


@click.command(
    cls=Command,
    examples=[
        "nsl-bench train sudoku_4x4",
        "nsl-bench train sudoku_9x9 --source mnist:data/,download=true",
        "nsl-bench train follow_suit --network edl_gen --seed 1",
        "nsl-bench train follow_suit --images-per-concept 20 --epochs 3 --out cards.safetensors",
    ],
)
@click.argument("benchmark")
@click.option("--source", help="Image source. Default: the benchmark's embedded one.")
@click.option("--network", default="softmax", show_default=True, help="Network to train, with its options.")
@click.option(
    "--images-per-concept", type=click.IntRange(1), help="Maximum number of train images of each concept."
)
@click.option("--epochs", type=click.IntRange(1), help="Passes over the train images.")
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0), help="Seed of the training.")
@click.option(
    "--held-out",
    default=1000,
    show_default=True,
    type=click.IntRange(0),
    help=(
        "Maximum number of held-out images for measuring accuracy, unshifted and for each shift; 0 for none."
    ),
)
@click.option("--device", default="auto", show_default=True, help="Device: auto, cpu, cuda ...")
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Weights file to write. Default: the cache, where runs find it.",
)
def command(benchmark: str, network: str, held_out: int, **options: Any) -> None:
    """Train a network for BENCHMARK on the network's part of the image pool.

    Prints its accuracy on held-out images (pool B), unshifted and under each shift. Use the file with
    --network softmax:weights=FILE. If the folder of --out has an index.json of weights, the file is
    added to it and found automatically. After Ctrl-C, run the same command again to resume.
    """
    from nsl_bench.api.networks import train_network
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
