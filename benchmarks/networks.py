"""Softmax and EDL-GEN beside each other, and what they do to FFNSL at high shares of shift.

    python benchmarks/networks.py mnist drawn decks digits --shared ../shared

``digits``  scikit-learn's digits, rotated by 90 degrees, `sudoku_4x4`
``mnist``   real MNIST digits, rotated by 90 degrees, `sudoku_4x4`
``drawn``   the drawn decks noir and comic, `follow_suit`
``decks``   real decks, `follow_suit`
``leaves``  photographs of leaves (15 classes of PlantVillage), hue-shifted, `crop_yield`
``rooms``   drawn rooms, blurred, hue-shifted and turned, `indoor_scene`; with ``--also sasr --repeats 0``

For each: accuracy, calibration error and histogram of confidence of every network on held-out images (pool
B), then hypothesis accuracy of FFNSL with Softmax and with EDL-GEN at 90 to 99 % shift, 10 repeats. A page
and a picture a setting go to docs/results/. Networks and predictions are kept in the cache, runs in
results/networks: a second call does only what is missing. `--page` writes the pages from their tables.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from kept import say
from pages import INTERVALS, Top, kept, kept_table, lead, losses, number, page

from nsl_bench.core import registry
from nsl_bench.core.shift import STANDARD, resolve
from nsl_bench.data.splits import make_source
from nsl_bench.perception.trained_networks import BINS, Figures, figures, trained
from nsl_bench.report.networks import draw_histograms, frame
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
    "leaves": Setting(
        "Networks on photographs of leaves",
        "crop_yield:species=pepper+potato+tomato",
        "plants:{shared}/data/plants/plantvillage15",
        ("hue",),
        ("hue",),
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


def learning(
    setting: Setting, source: str | None, results: Path, repeats: int, softmax: str
) -> list[dict[str, object]]:
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
        sweep(jobs, store, Bench(), say)
        runs = store.frame()
        pieces.append(runs[runs["key"].isin({job.key() for job in jobs})])
    runs = pd.concat(pieces)
    rows = []
    for (shift, percent), group in runs.groupby(["shift", "percent"]):
        row: dict[str, object] = {"shift": shift, "shifted (%)": f"{percent:g}", "repeats": repeats}
        for metric, title in METRICS.items():
            for network in (softmax, "edl_gen"):
                values = group.loc[group["network"] == network, metric].astype(float)
                row[f"{title}, {network.partition(':')[0]}"] = number(values.mean(), values.sem())
        rows.append(row)
    return rows


def measure(name: str, options: argparse.Namespace) -> None:
    """Write a setting's tables."""
    setting = SETTINGS[name]
    source = setting.source and setting.source.format(shared=options.shared)
    found = compare(setting, source, (options.softmax, "edl_gen", *options.also))
    kept(options.docs, f"networks_{name}", "figures", frame(found))
    if options.repeats:
        rows = learning(setting, source, options.results / name, options.repeats, options.softmax)
        kept(options.docs, f"networks_{name}", "learning", rows)


def ahead(setting: Setting, figures: pd.DataFrame, learned: pd.DataFrame) -> list[dict[str, Any]]:
    """How far EDL-GEN is ahead of Softmax, in accuracy on images and of what FFNSL learns with it."""
    by_network = dict(list(figures.groupby("network", sort=False)))
    plain, own = by_network[figures["network"][0]], by_network["edl_gen"]
    rows = []
    for (_, other), (_, mine) in zip(plain.iterrows(), own.iterrows(), strict=True):
        told = lead(mine["accuracy"], other["accuracy"], 1, float(mine["n"]))
        rows.append({"images": mine["images"], "metric": "accuracy of the network", "lead": told})
    tested = registry.create("benchmark", setting.benchmark).test_size
    for _, row in learned.iterrows():
        title = METRICS["hypothesis_accuracy"]
        cells = row[f"{title}, edl_gen"], row[f"{title}, softmax"]
        place = {"images": f"{row['shift']} {row['shifted (%)']} %", "metric": f"{title} of FFNSL"}
        rows.append({**place, "lead": lead(*cells, int(row["repeats"]), tested)})
    return rows


def write(name: str, docs: Path) -> Path:
    """Write a setting's page and picture from its tables."""
    setting, own = SETTINGS[name], f"networks_{name}"
    rows = kept_table(docs, own, "figures")
    learned = pd.DataFrame()
    if (docs / own / "learning.csv").is_file():
        learned = kept_table(docs, own, "learning")
    numbers = rows.astype(dict.fromkeys(rows.columns[2:], float))
    found = {
        (row["network"], row["images"]): Figures(*row.iloc[2:6], tuple(row.iloc[6:]))
        for _, row in numbers.iterrows()
    }
    softmax, *others = dict.fromkeys(rows["network"])
    draw_histograms(found, docs / own / "confidence.png")
    shifted = numbers[numbers["images"] != STANDARD].groupby("network")
    sure, wrong = shifted[BINS[-1]].max(), shifted["calibration error"].mean()
    again = f"python benchmarks/networks.py {name}"
    again += "".join(f" --also {spec}" for spec in others if spec != "edl_gen")
    again += f" --softmax {softmax}" if softmax != "softmax" else ""
    repeats = int(learned["repeats"][0]) if len(learned) else 0
    again += f" --repeats {repeats}" if repeats != REPEATS else ""
    told = f"FFNSL learns on `{setting.benchmark}` from small train sets, {repeats} train splits. "
    return page(
        docs,
        own,
        Top(
            setting.title,
            "Is EDL-GEN less sure of shifted images than Softmax?",
            f"Of shifted images EDL-GEN is sure in at most {100 * sure['edl_gen']:.1f} %, Softmax in "
            f"{100 * sure[softmax]:.1f} %.",
            f"python benchmarks/networks.py {name} --page",
            "Histograms of the confidence of each network, on standard and on shifted images",
        ),
        docs / own / "confidence.png",
        losses(ahead(setting, rows, learned), "EDL-GEN")
        + f"\n\nOn shifted images its mean calibration error is {wrong['edl_gen']:.3f}, that of Softmax "
        f"{wrong[softmax]:.3f}.",
        "Networks predict the concepts of held-out images (pool B), standard and shifted. A network is "
        f"*sure* of what it predicts with a confidence of the last bin. {told if repeats else ''}{INTERVALS}",
        {
            "figures": "accuracy, calibration error and histogram of confidence of each network",
            **({"learning": "what FFNSL learns at high shares of shifted examples"} if repeats else {}),
        },
        first="Where EDL-GEN loses",
        again=again,
    )


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
    parser.add_argument("--page", action="store_true", help="write the pages from their tables")
    options = parser.parse_args()
    for name in options.setting:
        if not options.page:
            measure(name, options)
        write(name, options.docs)


if __name__ == "__main__":
    main()
