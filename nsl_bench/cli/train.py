"""``nsl-bench train``: train a perception network and say how well it sees, standard and shifted."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nsl_bench.cli import Command

if TYPE_CHECKING:
    from nsl_bench.perception.network import Network
    from nsl_bench.shift import Shift
    from nsl_bench.source import ImageSource

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
def command(
    benchmark: str,
    source: str | None,
    network: str,
    images_per_concept: int | None,
    epochs: int | None,
    seed: int,
    held_out: int,
    device: str,
    out: Path | None,
) -> int:
    """Train a network for BENCHMARK on the network's part of the image pool.

    Prints its accuracy on held-out images (pool B), standard and under each named shift. Held-out images that
    cannot be read are found before training. Runs use a file that --out names as --network
    softmax:weights=FILE. If its folder has an index.json of weights, the file is listed there, so that runs
    find it by itself. Ctrl-C loses the present epoch only.
    """
    from nsl_bench import cache, registry
    from nsl_bench.data.splits import make_source
    from nsl_bench.errors import Interrupted, UserError
    from nsl_bench.perception import trained_networks
    from nsl_bench.shift import STANDARD, named_shifts, resolve

    task = registry.create("benchmark", benchmark)
    images = make_source(task, source)
    if out is not None and not out.parent.is_dir():
        raise UserError(f"--out: there is no folder {out.parent}.")
    shifts = {name: resolve(name, task, images) for name in (STANDARD, *named_shifts(task, images))}
    try:
        trained = trained_networks.train_network(
            network,
            task,
            images,
            images_per_concept=images_per_concept,
            epochs=epochs,
            seed=seed,
            device=device,
            progress=True,
        )
    except KeyboardInterrupt:
        raise Interrupted(
            "Interrupted; the state after the last whole epoch is kept in "
            f"{cache.folder('training')}, the same command goes on from there."
        ) from None
    entry = trained_networks.identity(trained, images, out.name if out else "")
    path = out or cache.folder("networks") / f"{trained.name}-{entry.key}.safetensors"
    # Saved before it is measured too: Ctrl-C while measuring must not lose the training.
    trained.save(path)
    if not len(images.labels("b")):
        click.echo(f"The image source {images.name} has no held-out images (part b) to measure accuracy on.")
        held_out = 0
    accuracies = _measured(trained, images, shifts, held_out) if held_out else {}
    trained.details["accuracy"] = {name: round(value, 4) for name, value in accuracies.items()}
    trained.save(path)
    if out is not None and (out.parent / trained_networks.INDEX).is_file():
        trained_networks.add_to_index(out.parent, entry)
    width = max(map(len, accuracies), default=0)
    for name, value in accuracies.items():
        click.echo(f"{name:<{width}}  {value:.4f}")
    click.echo(f"{path}  {path.stat().st_size / 1e6:.2f} MB")
    return 0


def _measured(
    network: Network, images: ImageSource, shifts: Mapping[str, Shift | None], limit: int
) -> dict[str, float]:
    """The accuracy on held-out images under each shift, with a bar."""
    from tqdm import tqdm

    from nsl_bench.perception.trained_networks import accuracy

    total = len(shifts) * min(limit, len(images.labels("b")))
    found = {}
    with tqdm(total=total, desc="measuring", unit="image", disable=None, leave=False) as bar:
        for name, shift in shifts.items():
            bar.set_postfix_str(name)
            found[name] = accuracy(network, images, shift, limit=limit, seen=bar.update)
    return found
