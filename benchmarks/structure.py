"""The structural-shift curves: trained on one size of a task, tested on others, with and without images.

    python benchmarks/structure.py
    python benchmarks/structure.py follow_suit --repeats 3

Sudoku 4x4 -> 9x9 and Follow Suit of 4 players -> 3, 5, 6, FFNSL and every baseline: on true concepts, on what
the network sees of standard images, and with half of the test images shifted. Runs are kept in
results/structure; a second call does only what is missing. Then docs/results/structure.md and its pictures
are written; ``--page`` writes them from what is there.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from pages import Top, write

from nsl_bench.core.metrics import METRICS as REGISTERED
from nsl_bench.report.structure import draw_structure, over_members, render_structure
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
        lambda record: print(record.job, record.message, file=sys.stderr),
        executor=Executor.processes(jobs),
        notify=lambda record, done, total: print(f"[{done}/{total}] {record.status}: {record.job}"),
    )
    return tally.failed + tally.failed_before


def where_behind(runs: pd.DataFrame) -> list[str]:
    """A sentence for each test task, share and metric on which another learner is ahead of FFNSL."""
    table = over_members(runs, COMPARED)
    found = []
    by = ["tested", "track", "shift", "percent", "metric"]
    table = table.assign(track=table["track"] == "symbolic")
    for (tested, symbolic, shift, percent, metric), part in table.groupby(by, sort=False, observed=True):
        means = part.groupby("learner")["mean"].mean().dropna()
        if "ffnsl" not in means:
            continue
        better = 1 if REGISTERED[metric].higher_is_better else -1
        ahead = means[better * (means - means["ffnsl"]) >= 0.0005]
        what = "true concepts" if symbolic else f"{shift} {percent:g} %" if percent else "standard images"
        found += [
            f"{tested}, {what}, {REGISTERED[metric].title}: {learner} {mean:.3f}, FFNSL {means['ffnsl']:.3f}."
            for learner, mean in ahead.items()
        ]
    return found


def page(frames: dict[str, pd.DataFrame], docs: Path) -> Path:
    """Write the results page and its pictures."""
    behind = [sentence for runs in frames.values() for sentence in where_behind(runs)]
    lines = ["## Where FFNSL is behind", ""]
    lines += [f"* {sentence}" for sentence in behind] or ["Nowhere in these runs."]
    lines += [
        "",
        "Learners are trained on one member of a family of tasks and tested on all; see",
        "[the guide](../structure.md). *Not applicable*: the learner's inputs or labels have a fixed size.",
    ]
    picture = ""
    for name, runs in frames.items():
        tracks = {"true concepts": runs["track"] == "symbolic", "images": runs["track"] != "symbolic"}
        lines += ["", f"## {name}"]
        for words, chosen in tracks.items():
            mine = runs[chosen]
            if mine.empty:
                continue
            metrics = [metric for metric in METRICS if metric in mine and mine[metric].notna().any()]
            text = render_structure(mine, metrics).replace("\n## ", "\n#### ").removeprefix("## ")
            lines += ["", f"### On {words}", "", f"#### {text}".rstrip("\n")]
            folder = docs / "structure"
            for path in draw_structure(mine, folder / words.replace(" ", "_"), metrics):
                picture = path.relative_to(docs).as_posix()
                lines += ["", f"![{name}, {words}: results by test task]({picture})"]
    return write(docs, "structure", top(behind, picture), "\n".join(lines))


def top(behind: Sequence[str], picture: str) -> Top:
    """How often another learner is ahead of FFNSL, and in how many of these in Brier score."""
    brier = sum(REGISTERED["brier_score"].title in sentence for sentence in behind)
    return Top(
        "Structural shift",
        "Which learners hold on sizes that they were not trained on?",
        f"Another learner is ahead of FFNSL in {len(behind)} comparisons, {brier} of them Brier scores.",
        "python benchmarks/structure.py --repeats 3",
        picture,
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
    failed, frames = 0, {}
    for name in options.families or FAMILIES:
        store = Store(options.results / name)
        chosen = grids(FAMILIES[name], options.repeats, options.share, options.learner)
        if not options.page:
            failed += run(store, chosen, options.jobs)
        keys = {job.key() for job in jobs_of(chosen)}
        runs = store.frame()
        frames[name] = runs[runs["key"].isin(keys)] if len(runs) else runs
    if any(runs.empty for runs in frames.values()):
        sys.exit(f"structure.py: {options.results} has no runs; leave out --page.")
    page(frames, options.docs)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
