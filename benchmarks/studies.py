"""Follow Suit on real decks: the network on each deck, and learners with it, as Markdown in docs/results/.

    python benchmarks/studies.py decks --shared ../shared

Results are kept in results/studies; a second call does only what is missing. `--shared` has the real images.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from pages import Top, write

from nsl_bench.core import registry
from nsl_bench.core.metrics import METRICS
from nsl_bench.core.shift import resolve
from nsl_bench.core.types import PoolPart
from nsl_bench.data.splits import make_source
from nsl_bench.perception.trained_networks import accuracy, trained
from nsl_bench.report.tables import summarise
from nsl_bench.run.bench import Bench
from nsl_bench.run.job import Job
from nsl_bench.run.plan import plan
from nsl_bench.run.store import Store
from nsl_bench.run.sweep import sweep

REPEATS = range(1, 6)


@dataclass(frozen=True)
class Place:
    """Where a study reads and writes."""

    shared: Path | None
    results: Path
    docs: Path

    def real(self, *parts: str) -> Path:
        """A path in the folder of real data, relative where that is possible."""
        if self.shared is None or not self.shared.is_dir():
            sys.exit(f"studies.py: --shared: {self.shared} does not exist; give the folder of real data.")
        return self.shared.joinpath(*parts)

    def run(self, name: str, jobs: Sequence[Job]) -> pd.DataFrame:
        """The runs of a study, those that are missing done now."""
        store = Store(self.results / name)
        sweep(
            jobs,
            store,
            Bench(workers=os.cpu_count() or 1),
            lambda record: print(record.job, record.message, file=sys.stderr),
        )
        wanted = {job.key() for job in jobs}
        runs = store.frame()
        return runs[runs["key"].isin(wanted)]


def number(mean: float, error: float = float("nan"), digits: int = 3) -> str:
    """A mean with its standard error."""
    return f"{mean:.{digits}f}" if pd.isna(error) else f"{mean:.{digits}f} ± {error:.{digits}f}"


def table(rows: Sequence[dict[str, object]]) -> str:
    """Rows as Markdown."""
    return str(
        pd.DataFrame(rows).fillna("").to_markdown(index=False, tablefmt="github", disable_numparse=True)
    )


def ranges(shares: Sequence[float], tested: Sequence[float]) -> str:
    """Shares in words: ``0 to 40, 95`` for those from 0 to 40 between which no tested share is missing."""
    places = {share: i for i, share in enumerate(sorted(tested))}
    runs: list[list[float]] = []
    for share in sorted(shares):
        if runs and places[share] == places[runs[-1][-1]] + 1:
            runs[-1].append(share)
        else:
            runs.append([share])
    return ", ".join(
        f"{run[0]:g} to {run[-1]:g}" if len(run) > 2 else ", ".join(f"{share:g}" for share in run)
        for run in runs
    )


def shares_in(text: str, tested: Sequence[float]) -> list[float]:
    """The shares that `ranges` put into words."""
    found: list[float] = []
    for part in filter(None, text.split(", ")):
        low, _, high = part.partition(" to ")
        found += [share for share in tested if float(low) <= share <= float(high or low)]
    return found


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


def decks_top(rows: Sequence[dict[str, Any]]) -> Top:
    """At how many shares of shifted examples a baseline is more accurate on images than FFNSL."""
    title = METRICS["framework_accuracy"].title
    places: dict[tuple[str, str], dict[str, float]] = {}
    for row in rows:
        mean = float(str(row[title]).split()[0])
        places.setdefault((row["shift"], row["shifted (%)"]), {})[row["learner"]] = mean
    lost = sum(means["ffnsl"] < max(means.values()) for means in places.values())
    return Top(
        "Follow Suit on real decks",
        "Where do baselines beat FFNSL on real decks?",
        f"A baseline beats FFNSL in accuracy on images at {lost} of {len(places)} shares.",
        "python benchmarks/studies.py decks",
    )


def network_table(benchmark: str, source: str | None, parts: Sequence[PoolPart] = ("b",)) -> str:
    """The accuracy of the Softmax CNN on held-out images, standard and under each shift."""
    task = registry.create("benchmark", benchmark)
    images = make_source(task, source)
    network = trained("softmax", task, images)
    shifts = {"standard": None, **{name: resolve(name, task, images) for name in named(task, images)}}
    rows = []
    for name, shift in shifts.items():
        row: dict[str, object] = {"images": name}
        for part in parts:
            row[f"accuracy, pool {part.upper()}"] = number(accuracy(network, images, shift, part))
        rows.append(row)
    return table(rows)


def named(task: object, images: object) -> list[str]:
    """The short names of all shifts of a task on a source."""
    return [*task.named_shifts, *images.named_shifts]  # type: ignore[attr-defined]


def decks(place: Place) -> None:
    """Real decks."""
    source = f"decks:{place.real('data', 'decks')},standard=vector_byron"
    accuracies = network_table("follow_suit", source)
    runs = place.run(
        "decks",
        plan(
            "follow_suit",
            ["ffnsl", "random_forest", "fcn"],
            sources=source,
            shifts=["kde_oxygen", "ais_neoclassical_4_color"],
            percents=[0, 20, 40, 60, 80, 90, 100],
            repeats=REPEATS,
        ),
    )
    text = (
        "`vector_byron` is the standard deck. Accuracy of the Softmax CNN, trained on its augmented images "
        "only, on held-out images (pool B) of every deck, and learners with 104 tricks in each train split:"
    )
    rows = measured(runs)
    write(place.docs, "decks", decks_top(rows), text, accuracies, table(rows))


STUDIES: dict[str, Callable[[Place], None]] = {"decks": decks}


def main() -> None:
    """Run the studies that are named."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("study", nargs="+", choices=list(STUDIES))
    parser.add_argument("--shared", type=Path, default=Path("../shared"))
    parser.add_argument("--results", type=Path, default=Path("results/studies"))
    parser.add_argument("--docs", type=Path, default=Path("docs/results"))
    options = parser.parse_args()
    for name in options.study:
        STUDIES[name](Place(options.shared, options.results, options.docs))


if __name__ == "__main__":
    main()
