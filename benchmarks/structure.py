"""The structural-shift curves: trained on one size of a task, tested on others, with and without images.

    python benchmarks/structure.py
    python benchmarks/structure.py follow_suit --repeats 3

Sudoku 4x4 -> 9x9 and Follow Suit of 4 players -> 3, 5, 6, FFNSL and every baseline: on true concepts, on what
the network sees of standard images, and with half of the test images shifted. Runs are kept in
results/structure; a second call does only what is missing. Then docs/results/structure.md, its table and its
picture are written; ``--page`` writes page and picture from the table.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pictures
from kept import say
from pages import INTERVALS, Top, kept, kept_table, lead, listed, losses, mean_of, number, page

from nsl_bench.core import registry
from nsl_bench.core.metrics import METRICS as REGISTERED
from nsl_bench.report.structure import over_members
from nsl_bench.report.tables import NOT_APPLICABLE
from nsl_bench.run.bench import Bench
from nsl_bench.run.grid import Grid
from nsl_bench.run.plan import jobs_of
from nsl_bench.run.store import Store
from nsl_bench.run.sweep import Executor, sweep

COMMON = ("ffnsl", "random_forest", "cart", "fcn", "cnn_lstm", "majority")

METRICS = ("hypothesis_accuracy", "framework_accuracy", "brier_score", "equivalent")

COMPARED = METRICS[:3]


@dataclass(frozen=True)
class Family:
    """What is run of a family.

    Attributes:
        trained: task of the train sets.
        tested: tasks of the test sets.
        shift: of the test images in the runs that have any.
        learners: specs.
    """

    trained: str
    tested: tuple[str, ...]
    shift: str
    learners: tuple[str, ...]


FAMILIES = {
    "sudoku": Family(
        "sudoku_4x4", ("sudoku_4x4", "sudoku_9x9"), "rotate90", (*COMMON, "random_forest_knowledge")
    ),
    "follow_suit": Family(
        "follow_suit",
        ("follow_suit:players=3", "follow_suit", "follow_suit:players=5", "follow_suit:players=6"),
        "noir",
        COMMON,
    ),
}


def grids(family: Family, repeats: int, share: float, learners: Sequence[str] = ()) -> list[Grid]:
    """The runs on true concepts, and those on images at two shares of shifted test images."""
    about = {
        "benchmark": family.trained,
        "learners": tuple(learners) or family.learners,
        "repeats": tuple(range(1, repeats + 1)),
        "test_tasks": family.tested,
    }
    symbolic = Grid(**about, track="symbolic")  # type: ignore[arg-type]
    images = Grid(**about, shifts=(family.shift,), test_percents=(0.0, share))  # type: ignore[arg-type]
    return [symbolic, images] if share else [symbolic]


def run(store: Store, chosen: Sequence[Grid], jobs: int) -> int:
    """Do the missing runs; how many failed."""
    tally = sweep(
        jobs_of(chosen),
        store,
        Bench(limits=None, workers=1),
        say,
        executor=Executor.processes(jobs),
        notify=lambda record, done, total, left: print(f"[{done}/{total}] {record.status}: {record.job}"),
    )
    return tally.failed + tally.failed_before


def measured(name: str, runs: pd.DataFrame) -> list[dict[str, object]]:
    """A row for each test task, state of the images, metric and learner."""
    found = over_members(runs, METRICS)
    rows = {}
    for row in found.to_dict("records"):
        images = f"{row['shift']} {row['percent']:g} %" if row["percent"] else "standard"
        about = {
            "family": name,
            "images": "true concepts" if row["track"] == "symbolic" else images,
            "metric": REGISTERED[row["metric"]].title,
            "tested": row["tested"],
            "learner": row["learner"],
        }
        cell = NOT_APPLICABLE if pd.isna(row["mean"]) else number(row["mean"], row["std_err"])
        rows[tuple(about.values())] = {**about, "repeats": row["n"], "mean": cell}
    return list(rows.values())


def ahead(means: pd.DataFrame) -> list[dict[str, object]]:
    """FFNSL's lead over each other learner, in each test task, state of the images and metric."""
    rows = []
    for place, group in means.groupby(["tested", "images", "metric"], sort=False):
        cells = dict(zip(group["learner"], group["mean"], strict=True))
        most = {REGISTERED[name].title: 2.0 if name == "brier_score" else 1.0 for name in COMPARED}
        if "ffnsl" not in cells or place[2] not in most:
            continue
        tested = registry.create("benchmark", place[0]).test_size
        for learner, cell in cells.items():
            if learner != "ffnsl" and cell != NOT_APPLICABLE:
                told = lead(cells["ffnsl"], cell, int(group["repeats"].iloc[0]), tested, most=most[place[2]])
                about = dict(zip(("tested", "images", "metric"), place, strict=True))
                rows.append({**about, "learner": learner, "lead": told})
    return rows


def picture(means: pd.DataFrame, path: Path) -> Path:
    """Accuracy and Brier score by test task, on standard and on shifted test images."""
    shown = [REGISTERED[name].title for name in ("framework_accuracy", "brier_score")]
    found = means[means["metric"].isin(shown) & (means["images"] != "true concepts")]
    if found.empty:
        found = means[means["metric"] == REGISTERED["hypothesis_accuracy"].title]
    found = found[found["mean"] != NOT_APPLICABLE].sort_values(
        "learner", key=lambda names: names != "ffnsl", kind="stable"
    )
    state = found["images"].where(found["images"].isin(["standard", "true concepts"]), "shifted test")
    found = found.assign(
        panel=found["metric"] + ", " + state.str.replace("standard", "standard test") + " images",
        row=found["tested"].str.replace(":", ", "),
        series=found["learner"],
    )
    found[["mean", "error"]] = [mean_of(text) for text in found["mean"]]
    return pictures.dots(found, path, "mean", columns=2)


def write(docs: Path) -> Path:
    """Write the page and its picture from its table."""
    means = kept_table(docs, "structure", "means")
    leads = ahead(means)
    behind = [row for row in leads if row["lead"][0] < 0]
    brier = sum(row["metric"] == REGISTERED["brier_score"].title for row in behind)
    cannot = means[means["mean"] == NOT_APPLICABLE].groupby("family", sort=False)["learner"].unique()
    told = "; ".join(f"{family}: {listed(sorted(learners))}" for family, learners in cannot.items())
    repeats = means["repeats"].astype(float).max()
    return page(
        docs,
        "structure",
        Top(
            "Structural shift",
            "Which learners hold on sizes that they were not trained on?",
            f"Another learner is ahead of FFNSL in {len(behind)} comparisons, {brier} of them Brier scores.",
            "python benchmarks/structure.py --page",
            "Mean accuracy and Brier score of each learner by test task",
        ),
        picture(means, docs / "structure" / "means.png"),
        losses(leads) if behind else "Nowhere in these runs.",
        "Learners are trained on one member of a family of tasks and tested on all; see "
        "[the guide](../structure.md). Not applicable to other sizes, as inputs or labels have a fixed size: "
        f"{told or 'none'}. {INTERVALS} Train splits: {repeats:g}.",
        {"means": "means with standard errors over train splits, by test task, images, metric and learner"},
        again=f"python benchmarks/structure.py --repeats {repeats:g}",
    )


def main() -> None:
    """Run the study and write its page."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("families", nargs="*", help=f"of {', '.join(FAMILIES)}; all by default")
    parser.add_argument("--repeats", type=int, default=5, help="train splits")
    parser.add_argument("--share", type=float, default=50.0, help="shifted test images, %%; 0: no images")
    parser.add_argument("--learner", action="append", default=[], help="only these; repeatable")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="parallel runs")
    parser.add_argument("--results", type=Path, default=Path("results/structure"))
    parser.add_argument("--docs", type=Path, default=Path("docs/results"))
    parser.add_argument("--page", action="store_true", help="only write the page")
    options = parser.parse_args()
    others = [name for name in options.families if name not in FAMILIES]
    if others:
        parser.error(f"unknown family {others[0]}; known: {', '.join(FAMILIES)}")
    failed, rows = 0, []
    for name in [] if options.page else options.families or FAMILIES:
        store = Store(options.results / name)
        chosen = grids(FAMILIES[name], options.repeats, options.share, options.learner)
        failed += run(store, chosen, options.jobs)
        runs = store.frame()
        rows += measured(name, runs[runs["key"].isin({job.key() for job in jobs_of(chosen)})])
    if rows:
        kept(options.docs, "structure", "means", rows)
    write(options.docs)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
