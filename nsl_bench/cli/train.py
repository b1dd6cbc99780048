"""``nsl-bench train``: train a perception network and say how well it sees, standard and shifted."""

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
@click.option("--source", help="Image source; the benchmark's embedded one by default.")
@click.option("--network", default="softmax", show_default=True, help="Network, with options if need be.")
@click.option("--images-per-concept", type=click.IntRange(1), help="Train images of each concept, at most.")
@click.option("--epochs", type=click.IntRange(1), help="Passes over the train images.")
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0), help="Of the training.")
@click.option(
    "--held-out",
    default=1000,
    show_default=True,
    type=click.IntRange(0),
    help="Held-out images to measure accuracy on, at most, standard and for each shift; 0 measures nothing.",
)
@click.option("--device", default="auto", show_default=True, help="auto, cpu, cuda ...")
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Weights file to write; by default one in the cache, where runs find it.",
)
def command(benchmark: str, network: str, held_out: int, **options: Any) -> None:
    """Train a network for BENCHMARK on the network's part of the image pool.

    Prints its accuracy on held-out images (pool B), standard and under each named shift. Held-out images that
    cannot be read are found before training. Runs use a file that --out names as --network
    softmax:weights=FILE. If its folder has an index.json of weights, the file is listed there, so that runs
    find it by itself. Ctrl-C loses the present epoch only.
    """
    from nsl_bench import cache
    from nsl_bench.api.networks import train_network
    from nsl_bench.errors import Interrupted

    try:
        told = train_network(network, benchmark, held_out=held_out, **options)
    except KeyboardInterrupt:
        raise Interrupted(
            "Interrupted; the state after the last whole epoch is kept in "
            f"{cache.folder('training')}, the same command goes on from there."
        ) from None
    if held_out and not told.accuracies:
        source = told.network.details["source"]["name"]
        click.echo(f"The image source {source} has no held-out images (part b) to measure accuracy on.")
    width = max(map(len, told.accuracies), default=0)
    for name, value in told.accuracies.items():
        click.echo(f"{name:<{width}}  {value:.4f}")
    click.echo(f"{told.file}  {told.file.stat().st_size / 1e6:.2f} MB")
