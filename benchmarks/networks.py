"""Softmax and EDL-GEN beside each other, and what they do to FFNSL at high shares of shift.

    python benchmarks/networks.py mnist drawn decks digits --shared ../shared

``digits``  scikit-learn's digits, rotated by 90 degrees, `sudoku_4x4`
``mnist``   real MNIST digits, rotated by 90 degrees, `sudoku_4x4`
``drawn``   the drawn decks noir and comic, `follow_suit`
``decks``   real decks, `follow_suit`
``rooms``   drawn rooms, blurred, hue-shifted and turned, `indoor_scene`; with ``--also sasr --repeats 0``

For each: accuracy, calibration error and histogram of confidence of every network on held-out images (pool
B), then hypothesis accuracy of FFNSL with Softmax and with EDL-GEN at 90 to 99 % shift, 10 repeats. A page
and a picture a setting go to docs/results/. Networks and predictions are kept in the cache, runs in
results/networks: a second call does only what is missing.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from pages import Top, write

from nsl_bench.core import registry
from nsl_bench.core.shift import STANDARD, resolve
from nsl_bench.data.splits import make_source
from nsl_bench.perception.trained_networks import BINS, Figures, figures, trained
from nsl_bench.report.networks import draw_histograms, frame, markdown
from nsl_bench.run.bench import Bench
from nsl_bench.run.plan import plan
from nsl_bench.run.store import Store
from nsl_bench.run.sweep import sweep

PERCENTS = (90, 95, 97, 99)
REPEATS = 10
METRICS = {
    "hypothesis_accuracy": "hypothesis accuracy",
    "weight_penalty_ratio": "weight penalty ratio",
    "concept_accuracy_train": "concept accuracy, train images",
}


@dataclass(frozen=True)
class Setting:
    """A task with its images and shifts.

    Attributes:
        title: of the page.
        benchmark: the task.
        source: spec of its images; ``{shared}`` stands for the folder of real data.
        shifts: of the figures.
        learned: the shift of the runs.
    """

    title: str
    benchmark: str
    source: str | None
    shifts: tuple[str, ...]
    learned: tuple[str, ...]


SETTINGS = {
    "digits": Setting("Networks on scikit-learn's digits", "sudoku_4x4", None, ("rotate90",), ("rotate90",)),
    "mnist": Setting(
        "Networks on MNIST", "sudoku_4x4", "mnist:{shared}/data/mnist", ("rotate90",), ("rotate90",)
    ),
    "drawn": Setting("Networks on drawn decks", "follow_suit", None, ("noir", "comic"), ("noir", "comic")),
    "decks": Setting(
        "Networks on real decks",
        "follow_suit",
        "decks:{shared}/data/decks,standard=vector_byron",
        ("kde_oxygen", "ais_neoclassical_4_color"),
        ("kde_oxygen", "ais_neoclassical_4_color"),
    ),
    "rooms": Setting(
        "Networks on drawn rooms", "indoor_scene", None, ("blur_hue_rotate",), ("blur_hue_rotate",)
    ),
}


def compare(setting: Setting, source: str | None, networks: Sequence[str]) -> dict[tuple[str, str], Figures]:
    """The figures of each network, standard and shifted, by network and shift."""
    task = registry.create("benchmark", setting.benchmark)
    images = make_source(task, source)
    ready = {spec: trained(spec, task, images) for spec in networks}
    return {
        (spec, name): figures(network, images, resolve(name, task, images))
        for name in (STANDARD, *setting.shifts)
        for spec, network in ready.items()
    }


def claims(found: dict[tuple[str, str], Figures], shifts: Sequence[str], softmax: str) -> str:
    """What EDL-GEN is for, as numbers."""
    lost = found[softmax, STANDARD].accuracy - found["edl_gen", STANDARD].accuracy
    rows = []
    for shift in shifts:
        own, plain = found["edl_gen", shift], found[softmax, shift]
        worse = own.calibration_error - plain.calibration_error
        rows.append(
            {
                "images": shift,
                "above 0.95: edl_gen / softmax": _ratio(own.sure, plain.sure),
                "calibration error: edl_gen - softmax": f"{worse:+.3f}",
            }
        )
    table = pd.DataFrame(rows).to_markdown(index=False, tablefmt="github", disable_numparse=True)
    return f"Accuracy that EDL-GEN loses on standard images: {lost:+.4f}.\n\n{table}"


def _ratio(part: float, whole: float) -> str:
    return f"{part:.3f} / {whole:.3f}" + (f" = {part / whole:.2f}" if whole else "")


def learning(setting: Setting, source: str | None, results: Path, repeats: int, softmax: str) -> str:
    """FFNSL with both networks at high shares of shift."""
    store = Store(results)
    pieces = []
    for network in (softmax, "edl_gen"):
        jobs = plan(
            setting.benchmark,
            ["ffnsl"],
            sources=source,
            shifts=setting.learned,
            percents=PERCENTS,
            repeats=range(1, repeats + 1),
            networks=network,
        )
        sweep(jobs, store, Bench(), lambda record: print(record.job, record.message, file=sys.stderr))
        runs = store.frame()
        pieces.append(runs[runs["key"].isin({job.key() for job in jobs})])
    runs = pd.concat(pieces)
    rows = []
    for (shift, percent), group in runs.groupby(["shift", "percent"]):
        row: dict[str, object] = {"shift": shift, "shifted (%)": f"{percent:g}"}
        for metric, title in METRICS.items():
            for network in (softmax, "edl_gen"):
                values = group.loc[group["network"] == network, metric].astype(float)
                row[f"{title}, {network.partition(':')[0]}"] = f"{values.mean():.3f} ± {values.sem():.3f}"
        rows.append(row)
    return str(pd.DataFrame(rows).to_markdown(index=False, tablefmt="github", disable_numparse=True))


def top(name: str, rows: Sequence[dict[str, Any]], softmax: str, command: str) -> Top:
    """In how many predictions on shifted images each of both networks is sure."""
    shares = {
        network: max(
            float(row[BINS[-1]].rstrip("%"))
            for row in rows
            if row["network"] == network and row["images"] != STANDARD
        )
        for network in ("edl_gen", softmax)
    }
    sure, plain = shares["edl_gen"], shares[softmax]
    return Top(
        SETTINGS[name].title,
        "Is EDL-GEN less sure of shifted images than Softmax?",
        f"Of shifted images EDL-GEN is sure in at most {sure:g} %, Softmax in {plain:g} %.",
        command,
        f"networks_{name}.png",
    )


def page(name: str, options: argparse.Namespace) -> Path:
    """Make a setting's page and picture."""
    setting = SETTINGS[name]
    source = setting.source and setting.source.format(shared=options.shared)
    networks = (options.softmax, "edl_gen", *options.also)
    found = compare(setting, source, networks)
    command = f"python benchmarks/networks.py {name}"
    command += "".join(f" --also {spec}" for spec in options.also)
    command += f" --softmax {options.softmax}" if options.softmax != "softmax" else ""
    command += f" --repeats {options.repeats}" if options.repeats != REPEATS else ""
    picture = options.docs / f"networks_{name}.png"
    draw_histograms(found, picture)
    rows = frame(found).astype(str).to_dict("records")
    text = [
        "On held-out images (pool B), standard and shifted; the last columns are a histogram of confidence:",
        markdown(frame(found)),
        claims(found, setting.shifts, options.softmax),
    ]
    if options.repeats:
        text += [
            f"FFNSL on `{setting.benchmark}`, small train sets, {options.repeats} repeats:",
            learning(setting, source, options.results / name, options.repeats, options.softmax),
        ]
    return write(options.docs, f"networks_{name}", top(name, rows, options.softmax, command), *text)


def main() -> None:
    """Make the pages that are named."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("setting", nargs="+", choices=SETTINGS)
    parser.add_argument("--shared", type=Path, default=Path("../shared"))
    parser.add_argument("--results", type=Path, default=Path("results/networks"))
    parser.add_argument("--docs", type=Path, default=Path("docs/results"))
    parser.add_argument("--repeats", type=int, default=REPEATS, help="0 leaves FFNSL out")
    parser.add_argument("--also", action="append", default=[], help="a further network; repeatable")
    parser.add_argument("--softmax", default="softmax", help="spec of the network to compare with")
    options = parser.parse_args()
    for name in options.setting:
        page(name, options)


if __name__ == "__main__":
    main()
