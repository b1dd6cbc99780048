"""Tasks on real images: the network on each shift, and learners with it, a page of docs/results for each.

    python benchmarks/real_images.py decks leaves --shared ../shared

``decks``   real decks, `follow_suit`
``leaves``  photographs of leaves (15 classes of PlantVillage), `crop_yield`

Results are kept in results/decks and results/leaves; a second call does only what is missing. `--shared` has
the real images, which `--page` does not need: it writes the pages from their tables.
"""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pictures
from kept import say
from networks import SETTINGS
from pages import INTERVALS, Top, kept, kept_table, lead, listed, losses, mean_of, number, page

from nsl_bench.core import registry
from nsl_bench.core.metrics import METRICS
from nsl_bench.core.shift import resolve
from nsl_bench.data.splits import make_source
from nsl_bench.perception.trained_networks import accuracy, trained
from nsl_bench.report.tables import summarise
from nsl_bench.run.bench import Bench
from nsl_bench.run.plan import plan
from nsl_bench.run.store import Store
from nsl_bench.run.sweep import sweep


@dataclass(frozen=True)
class Words:
    """What the page of a setting of `networks.py` says.

    Attributes:
        title: of the page.
        images: what they are.
        method: what is said of the task; ``{standard}``, ``{least}`` and ``{most}`` stand for the network's
            accuracy without shift and with each, ``{train}`` for the number of train examples.
    """

    title: str
    images: str
    method: str


WORDS = {
    "decks": Words(
        "Follow Suit on real decks",
        "real decks",
        "`vector_byron` is the standard deck. The Softmax CNN is trained on its augmented images only: on "
        "held-out images (pool B) its accuracy is {standard:.3f} on that deck and {least:.3f} to {most:.3f} "
        "on others. Learners have {train} tricks in each train split.",
    ),
    "leaves": Words(
        "Crop Yield on photographs of leaves",
        "photographs of leaves",
        "The images are 1,190 of PlantVillage, of 15 crops: pepper, potato and tomato plants, healthy or "
        "with a disease. The Softmax CNN is trained on 831 of them: on held-out images (pool B, 119) its "
        "accuracy is {standard:.3f}, and {least:.3f} where they have another hue. Learners have {train} "
        "fields in each train split, and each split has a hidden table of yields of its own, so that "
        "intervals cover tables, too.",
    ),
}


def measured(runs: pd.DataFrame) -> list[dict[str, object]]:
    """Means and standard errors, a row a learner and share of shifted examples."""
    metrics = ["hypothesis_accuracy", "framework_accuracy", "brier_score", "atoms", "learning_time"]
    means = summarise(runs, [*metrics, "equivalent"])
    rows = []
    for (shift, percent, learner), group in means.groupby(["shift", "percent", "learner"], sort=True):
        values = group.set_index(group["metric"].astype(str))
        row: dict[str, object] = {
            "shift": shift,
            "shifted (%)": f"{percent:g}",
            "learner": learner,
            "repeats": int(group["n"].max()),
        }
        for metric in (metric for metric in metrics if metric in values.index):
            mean, error = values["mean"][metric], values["std_err"][metric]
            row[METRICS[metric].title] = number(mean, error, METRICS[metric].digits)
        if "equivalent" in values.index:
            row["equivalent to the true rule"] = f"{values['mean']['equivalent']:.0%}"
        rows.append(row)
    return rows


def network_rows(benchmark: str, source: str) -> list[dict[str, object]]:
    """The accuracy of the Softmax CNN on held-out images (pool B), standard and under each shift."""
    task = registry.create("benchmark", benchmark)
    images = make_source(task, source)
    network = trained("softmax", task, images)
    names = [*task.named_shifts, *images.named_shifts]
    shifts = {"standard": None, **{name: resolve(name, task, images) for name in names}}
    return [
        {"images": name, "accuracy": number(accuracy(network, images, shift, "b"))}
        for name, shift in shifts.items()
    ]


def measure(name: str, shared: Path, results: Path, docs: Path, repeats: int) -> None:
    """Write the tables of a task."""
    setting = SETTINGS[name]
    source = str(setting.source).format(shared=shared)
    folder = Path(source.partition(":")[2].partition(",")[0])
    if not folder.is_dir():
        sys.exit(f"real_images.py: --shared: {folder} does not exist; give the folder of real data.")
    kept(docs, name, "networks", network_rows(setting.benchmark, source))
    jobs = plan(
        setting.benchmark,
        ["ffnsl", "random_forest", "fcn"],
        sources=source,
        shifts=setting.learned,
        percents=[0, 20, 40, 60, 80, 90, 100],
        repeats=range(1, repeats + 1),
    )
    store, bench = Store(results / name), Bench(workers=os.cpu_count() or 1)
    sweep(jobs, store, bench, say)
    runs = store.frame()
    kept(docs, name, "means", measured(runs[runs["key"].isin({job.key() for job in jobs})]))


def write(name: str, docs: Path) -> Path:
    """Write the page of a task."""
    words = WORDS[name]
    means, networks = (kept_table(docs, name, table) for table in ("means", "networks"))
    task = registry.create("benchmark", SETTINGS[name].benchmark)
    titles = [METRICS[metric].title for metric in ("framework_accuracy", "brier_score")]
    found = means.melt(["shift", "shifted (%)", "learner", "repeats"], titles, "metric")
    found = found.sort_values("learner", key=lambda names: names != "ffnsl", kind="stable")
    found[["mean", "error"]] = [mean_of(text) for text in found["value"]]
    found["panel"], found["line"] = found["metric"] + ", " + found["shift"], found["learner"]
    found["share"] = found["shifted (%)"].astype(float)
    cells = {(row.shift, row.share, row.metric, row.line): row.value for row in found.itertuples()}
    rows = []
    for (shift, share, metric, learner), cell in cells.items():
        if learner != "ffnsl":
            own, most = cells[shift, share, metric, "ffnsl"], 1.0 if metric == titles[0] else 2.0
            told = lead(own, cell, int(means["repeats"][0]), task.test_size, most=most)
            about = {"shift": shift, "share (%)": f"{share:g}", "metric": metric, "baseline": learner}
            rows.append({**about, "lead": told})
    accuracies = [row for row in rows if row["metric"] == titles[0]]
    places, lost = (
        {(row["shift"], row["share (%)"]) for row in accuracies if row["lead"][0] < least} for least in (2, 0)
    )
    seen = networks["accuracy"].astype(float)
    standard, least, most = seen[0], seen[1:].min(), seen[1:].max()
    told = words.method.format(standard=standard, least=least, most=most, train=task.size("small"))
    return page(
        docs,
        name,
        Top(
            words.title,
            f"Where do baselines beat FFNSL on {words.images}?",
            f"A baseline beats FFNSL in accuracy on images at {len(lost)} of {len(places)} shares.",
            f"python benchmarks/real_images.py {name} --page",
            f"Lines of {listed(titles)} over the share of shifted examples on {words.images}",
        ),
        pictures.lines(found, docs / name / "curves.png", columns=2),
        losses(rows),
        f"{told} {INTERVALS}",
        {
            "means": "means with standard errors over train splits, by shift, share and learner",
            "networks": "accuracy of the Softmax CNN on held-out images, standard and shifted",
        },
    )


def main() -> None:
    """Do the runs that are missing, write tables and pages."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("settings", nargs="+", choices=WORDS)
    parser.add_argument("--shared", type=Path, default=Path("../shared"))
    parser.add_argument("--results", type=Path, default=Path("results"))
    parser.add_argument("--docs", type=Path, default=Path("docs/results"))
    parser.add_argument("--repeats", type=int, default=5, help="train splits")
    parser.add_argument("--page", action="store_true", help="write the pages from their tables")
    options = parser.parse_args()
    for name in options.settings:
        if not options.page:
            measure(name, options.shared, options.results, options.docs, options.repeats)
        write(name, options.docs)


if __name__ == "__main__":
    main()
