"""``nsl-bench train`` and ``networks``: train perception networks, and compare them under shifts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import click

from nsl_bench.cli.declared import FILE, FOLDER, WHOLE, declared, options_of


@declared()
@options_of(
    "nsl_bench.api.networks:train_network",
    images_per_concept=WHOLE,
    epochs=WHOLE,
    seed=click.IntRange(0),
    held_out=click.IntRange(0),
    out=FILE,
    progress=None,
)
def train(
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
    from nsl_bench.api.networks import train_network
    from nsl_bench.core import cache
    from nsl_bench.core.errors import Interrupted

    try:
        trained = train_network(network, benchmark, held_out=held_out, **options)
    except KeyboardInterrupt:
        raise Interrupted(
            "Interrupted; the state after the last full epoch is kept in "
            f"{cache.folder('training')}; run the same command again to resume."
        ) from None
    if held_out and not trained.accuracies:
        source = trained.network.details["source"]["name"]
        click.echo(f"The image source {source} has no held-out images (pool B) to measure accuracy on.")
    width = max(map(len, trained.accuracies), default=0)
    for name, value in trained.accuracies.items():
        click.echo(f"{name:<{width}}  {value:.4f}")
    click.echo(f"{trained.file}  {trained.file.stat().st_size / 1e6:.2f} MB")


@declared()
def networks(
    benchmark: str,
    *,
    source: Annotated[str | None, "Image source. Default: the benchmark's embedded one."] = None,
    specs: Annotated[tuple[str, ...], "--network", "Network to compare. Repeatable."] = (
        "softmax",
        "edl_gen",
    ),
    shifts: Annotated[
        tuple[str, ...],
        "--shift",
        "Shift, as a short name or spec. Repeatable. Default: all of the benchmark's shifts.",
    ] = (),
    limit: Annotated[int, "Maximum number of held-out images.", WHOLE] = 2000,
    device: Annotated[str, "Device: auto, cpu, cuda ..."] = "auto",
    out: Annotated[Path, "Folder for the tables and figures.", FOLDER],
) -> None:
    """Compare networks for BENCHMARK on held-out images (pool B).

    Prints accuracy, calibration error, mean confidence and a histogram of confidence for each network, on
    unshifted and shifted images. Writes networks.md, networks.csv and confidence.png to OUT. Untrained
    networks are trained first; networks and predictions are kept in the cache.
    """
    import os

    from nsl_bench.core import registry
    from nsl_bench.core.shift import STANDARD, named_shifts, resolve
    from nsl_bench.data.splits import make_source
    from nsl_bench.perception.trained_networks import figures, sample, trained
    from nsl_bench.report.escaping import csv_text
    from nsl_bench.report.networks import draw_histograms, frame, markdown

    task = registry.create("benchmark", benchmark)
    images = make_source(task, source)
    names = (STANDARD, *(shifts or named_shifts(task, images)))
    resolved = {name: resolve(name, task, images) for name in names}
    sample(images, "b", 1)  # that there is none should not show after a training
    networks = {spec: trained(spec, task, images, device=device) for spec in dict.fromkeys(specs)}
    result = {
        (spec, name): figures(network, images, shift, limit=limit, workers=os.cpu_count() or 1)
        for name, shift in resolved.items()
        for spec, network in networks.items()
    }
    table = frame(result)
    out.mkdir(parents=True, exist_ok=True)
    (out / "networks.csv").write_text(csv_text(table), encoding="utf-8")
    text = markdown(table)
    (out / "networks.md").write_text(text + "\n", encoding="utf-8")
    draw_histograms(result, out / "confidence.png")
    click.echo(text)
    click.echo(f"Also in {out}: networks.csv, networks.md, confidence.png", err=True)
