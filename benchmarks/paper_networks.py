"""The papers' networks: their weights as a pack, and their accuracy and confidence beside the published.

    python benchmarks/paper_networks.py train --shared ../shared --pack results/paper_networks
    python benchmarks/paper_networks.py install --pack results/paper_networks
    python benchmarks/paper_networks.py confidence --shared ../shared

``train`` trains what is missing, three seeds of each: digits 1-4, digits 1-9 and all digits of MNIST, and
cards of the real deck vector_byron. An interrupted training goes on where it was; a GPU is used where there
is one. ``install`` copies a pack to where runs find networks. ``confidence`` measures networks on the
paper's own Sudoku grids and writes docs/results/confidence.md; with `--page` from its table.
"""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pages import Top, kept, kept_table, markdown, page, with_kept

from nsl_bench.core import cache, registry
from nsl_bench.core.registry import Spec
from nsl_bench.core.types import BLANK
from nsl_bench.data.splits import make_source
from nsl_bench.perception.trained_networks import BINS, add_to_index, histogram, identity, trained
from nsl_bench.report.published.papers import ffnsl2023
from nsl_bench.report.published.reproduce import CONFIDENCES
from nsl_bench.report.style import COLOURS, legend, save, subplots
from nsl_bench.run.bench import Bench
from nsl_bench.run.plan import plan, seeded

PAPER = ("softmax:preset=paper", "edl_gen:preset=paper")
NETWORKS = {
    ("sudoku_4x4", "mnist:{shared}/data/mnist"): PAPER,
    ("sudoku_9x9", "mnist:{shared}/data/mnist"): PAPER,
    ("zoo", "mnist:{shared}/data/mnist"): ("softmax:kind=lenet5,preset=paper", PAPER[1]),
    ("follow_suit", "decks:{shared}/data/decks,standard=vector_byron"): PAPER,
}
"""Specs by task and source."""

TASKS = ("sudoku_4x4", "sudoku_9x9")
SHIFT, PERCENTS, REPEATS = "rotate90", range(0, 101, 10), range(1, 6)
CLOSE = 0.02
_ON = {"concept_accuracy_test": "test", "concept_accuracy_train": "train"}


def train(shared: Path, pack: Path, seeds: int, tasks: list[str]) -> None:
    """Train what is missing, and put it into the pack."""
    pack.mkdir(parents=True, exist_ok=True)
    for (name, images), specs in NETWORKS.items():
        if tasks and name not in tasks:
            continue
        task = registry.create("benchmark", name)
        source = make_source(task, images.format(shared=shared))
        for spec in (seeded(spec, seed) for seed in range(seeds) for spec in specs):
            network = trained(spec, task, source)
            entry = identity(network, source)
            file = f"{network.name}-{entry.key}.safetensors"
            network.save(pack / file)
            add_to_index(pack, identity(network, source, file))
            print(pack / file, spec, name, flush=True)


def install(pack: Path) -> None:
    """Copy a pack's networks into the cache."""
    for file in sorted(pack.glob("*.safetensors")):
        with cache.replacing(cache.folder("networks") / file.name) as temporary:
            shutil.copyfile(file, temporary)
        print(cache.folder("networks") / file.name)


def figures(shared: Path, task: str, spec: str, seed: int, bench: Bench) -> Iterator[dict[str, Any]]:
    """A network's figures on the paper's grids beside the published ones, with a seed."""
    published = ffnsl2023(task)
    published = published[
        (published["learner"] == "network") & (published["network"] == Spec.parse(spec).name)
    ]
    for percent in PERCENTS:
        jobs = plan(
            task,
            ["majority"],
            networks=seeded(spec, seed),
            sources=f"mnist:{shared}/data/mnist",
            shifts=[SHIFT],
            percents=[percent],
            splits=shared / "data" / "ffnsl_splits" / task,
            repeats=REPEATS,
        )
        seen: dict[str, list[Any]] = {"train": [], "test": []}
        for job in jobs:
            material = bench.material(job)
            for part, data in (("train", material.train), ("test", material.test)):
                filled = data.split.concepts != BLANK
                right = (data.predictions.concepts == data.split.concepts)[filled]
                seen[part].append((right.mean(), data.predictions.confidence[filled]))
        counts = histogram(np.concatenate([confidence for _, confidence in seen["train"]]))
        rows = published[published["percent"] == percent]
        for row in rows.to_dict("records"):
            metric = str(row["metric"])
            if metric in CONFIDENCES:
                measured = float(counts[CONFIDENCES.index(metric)] / counts.sum())
            elif metric in _ON:
                measured = float(np.mean([accuracy for accuracy, _ in seen[_ON[metric]]]))
            else:
                continue
            yield {
                "task": task,
                "network": spec,
                "seed": seed,
                "percent": percent,
                "metric": metric,
                "published": row["mean"],
                "measured": measured,
            }


def write(docs: Path) -> Path:
    """The page, from its table."""
    table = kept_table(docs, "confidence", "figures").astype({"published": float, "measured": float})
    by = ["task", "network", "percent", "metric"]
    table = table.groupby(by, sort=False)[["published", "measured"]].mean().reset_index()
    table["off"] = (table["measured"] - table["published"]).abs()
    summary = []
    for (task, network), rows in table.groupby(["task", "network"], sort=False):
        bins = rows["metric"].str.startswith("confidence")
        summary.append(
            {
                "task": task,
                "network": network,
                "published": len(rows),
                f"within {CLOSE}": int((rows["off"] <= CLOSE).sum()),
                "mean difference, accuracy": f"{rows['off'][~bins].mean():.3f}",
                "mean difference, share of a bin": f"{rows['off'][bins].mean():.3f}",
            }
        )
    picture = docs / "confidence" / "histograms.png"
    _draw(table, picture)
    papers = table[table["network"].isin(PAPER)]
    counted = papers if len(papers) else table
    close = int((counted["off"] <= CLOSE).sum())
    worst = table.sort_values("off", ascending=False).groupby(["task", "network"], sort=False).head(1)
    worst = worst[["task", "network", "percent", "metric", "published", "measured"]].round(3)
    return page(
        docs,
        "confidence",
        Top(
            "Confidence beside the FFNSL paper",
            "Are our networks on MNIST as accurate and as sure as the paper's?",
            f"{close} of {len(counted)} compared figures are within {CLOSE} of the published ones.",
            "python benchmarks/paper_networks.py confidence --page",
            "Histograms of confidence, published and measured",
        ),
        picture,
        f"The largest difference of each network:\n\n{markdown(worst)}\n\nAll:\n\n{markdown(summary)}",
        "Networks predict the digits of the paper's own grids at each share of shifted examples: accuracy on "
        "the test grids and on the five small train sets, histogram of confidence on the train sets, pooled. "
        "Means over the networks' seeds. Which image of a digit a grid shows is drawn anew.",
        {"figures": "each published figure and ours"},
        first="Where they differ",
        again="python benchmarks/paper_networks.py confidence --shared ../shared",
    )


def _draw(table: pd.DataFrame, path: Path) -> None:
    """Published and measured histograms without and with shift, a panel a task and published network."""
    table = table[table["metric"].isin(CONFIDENCES)]
    panels = [(task, name, str(p)) for task in TASKS for name in ("softmax", "edl_gen") for p in (0, 100)]
    drawn, axes = subplots(2, 4, figsize=(12, 5))
    handles = {}
    place = np.arange(len(BINS))
    for axis, (task, name, percent) in zip(axes.flat, panels, strict=True):
        rows = table[(table["task"] == task) & (table["percent"] == percent)]
        rows = rows[rows["network"].str.split(":").str[0] == name]
        specs = list(dict.fromkeys(rows["network"]))
        width = 0.8 / (len(specs) + 1)
        for k, spec in enumerate(specs):
            own = rows[rows["network"] == spec].set_index("metric").loc[list(CONFIDENCES)]
            label = spec.partition(":")[2] or "default"
            bar = axis.bar(place + (k + 1) * width, own["measured"], width, color=COLOURS[k + 1])
            handles.setdefault(f"measured, {label}", bar)
            if not k:
                handles["published"] = axis.bar(place, own["published"], width, color=COLOURS[0])
        axis.set_title(f"{task}, {name}, {percent} % shifted", fontsize=9)
        axis.set_xticks(place + 0.3, BINS, fontsize=6, rotation=30)
        axis.set_ylim(0, 1)
    legend(drawn, handles)
    save(drawn, path)


def main() -> None:
    """Do what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=("train", "install", "confidence"))
    parser.add_argument("--shared", type=Path, default=Path("../shared"))
    parser.add_argument("--pack", type=Path, default=Path("results/paper_networks"))
    parser.add_argument("--docs", type=Path, default=Path("docs/results"))
    parser.add_argument("--seeds", type=int, default=3, help="networks of each kind")
    parser.add_argument("--task", action="append", default=[], help="only of this task; repeatable")
    parser.add_argument("--network", action="append", default=[], help="to measure; the papers' by default")
    parser.add_argument("--page", action="store_true", help="write the page from its table")
    options = parser.parse_args()
    if options.what == "train":
        train(options.shared, options.pack, options.seeds, options.task)
    elif options.what == "install":
        install(options.pack)
    else:
        if not options.page:
            bench = Bench()
            rows = [
                row
                for task in options.task or TASKS
                for spec in options.network or PAPER
                for seed in range(options.seeds)
                for row in figures(options.shared, task, spec, seed, bench)
            ]
            keys = ["task", "network", "seed", "percent", "metric"]
            own = with_kept(options.docs, "confidence", "figures", rows, keys)
            kept(options.docs, "confidence", "figures", own)
        write(options.docs)


if __name__ == "__main__":
    main()
