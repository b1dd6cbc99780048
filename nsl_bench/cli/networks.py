"""``nsl-bench networks``: accuracy, calibration and confidence of networks with and without a shift."""

from __future__ import annotations

from pathlib import Path

import click

from nsl_bench.cli import Command

__all__ = ["command"]


@click.command(
    cls=Command,
    examples=[
        "nsl-bench networks sudoku_4x4 --network softmax --network edl_gen --out results/networks",
        "nsl-bench networks follow_suit --network softmax --network edl_gen --shift noir --shift comic "
        "--out results/networks",
        "nsl-bench networks sudoku_4x4 --source mnist:data/ --network edl_gen --network mc_dropout "
        "--network ensemble --network temperature --out results/mnist",
    ],
)
@click.argument("benchmark")
@click.option("--source", help="Image source. Default: the benchmark's embedded one.")
@click.option(
    "--network",
    "specs",
    multiple=True,
    default=["softmax", "edl_gen"],
    show_default=True,
    help="Network to compare. Repeatable.",
)
@click.option(
    "--shift",
    "shifts",
    multiple=True,
    help="Shift, as a short name or spec. Repeatable. Default: all of the benchmark's shifts.",
)
@click.option(
    "--limit",
    default=2000,
    show_default=True,
    type=click.IntRange(1),
    help="Maximum number of held-out images.",
)
@click.option("--device", default="auto", show_default=True, help="Device: auto, cpu, cuda ...")
@click.option(
    "--out",
    required=True,
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder for the tables and figures.",
)
def command(
    benchmark: str,
    source: str | None,
    specs: tuple[str, ...],
    shifts: tuple[str, ...],
    limit: int,
    device: str,
    out: Path,
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
    from nsl_bench.perception.figures import figures, sample
    from nsl_bench.perception.trained_networks import trained
    from nsl_bench.report.escaping import csv_text
    from nsl_bench.report.networks import draw_histograms, frame, markdown

    task = registry.create("benchmark", benchmark)
    images = make_source(task, source)
    names = (STANDARD, *(shifts or named_shifts(task, images)))
    resolved = {name: resolve(name, task, images) for name in names}
    sample(images, "b", 1)  # that there is none should not show after a training
    networks = {spec: trained(spec, task, images, device=device) for spec in dict.fromkeys(specs)}
    found = {
        (spec, name): figures(network, images, shift, limit=limit, workers=os.cpu_count() or 1)
        for name, shift in resolved.items()
        for spec, network in networks.items()
    }
    table = frame(found)
    out.mkdir(parents=True, exist_ok=True)
    (out / "networks.csv").write_text(csv_text(table), encoding="utf-8")
    text = markdown(table)
    (out / "networks.md").write_text(text + "\n", encoding="utf-8")
    draw_histograms(found, out / "confidence.png")
    click.echo(text)
    click.echo(f"Also in {out}: networks.csv, networks.md, confidence.png", err=True)
