"""``nsl-bench networks``: accuracy, calibration and confidence of networks with and without a shift."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import click

from nsl_bench.cli.declared import FOLDER, WHOLE, declared


@declared(
    examples=[
        "nsl-bench networks sudoku_4x4 --network softmax --network edl_gen --out results/networks",
        "nsl-bench networks follow_suit --network softmax --network edl_gen --shift noir --shift comic "
        "--out results/networks",
        "nsl-bench networks sudoku_4x4 --source mnist:data/ --network edl_gen --network mc_dropout "
        "--network ensemble --network temperature --out results/mnist",
    ]
)
def command(
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
