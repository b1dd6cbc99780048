"""Two studies: Follow Suit on real decks, and rivals with 100 times the data, as Markdown in docs/results/.

    python benchmarks/studies.py decks --shared ../shared
    python benchmarks/studies.py data --shared ../shared --jobs 2 [--task NAME --repeats 1 --shares 0,50]
    python benchmarks/studies.py data --page

Results are kept in results/studies; a second call does only what is missing. `--shared` has the real images.
With `--page`, or with fewer splits or shares than all, tasks keep the tables of the page that are there.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from kept import keep, take
from nsl_bench.leaderboard.comparing import Comparison
from pages import Top, kept, points, write

from nsl_bench.api.results import Results
from nsl_bench.core import registry
from nsl_bench.core.metrics import METRICS
from nsl_bench.core.shift import resolve
from nsl_bench.core.types import PoolPart
from nsl_bench.data.splits import make_source
from nsl_bench.perception.trained_networks import accuracy, trained
from nsl_bench.report.intervals import example_scores
from nsl_bench.report.published.papers import ffnsl2023
from nsl_bench.report.style import COLOURS, legend, save, subplots
from nsl_bench.report.tables import summarise
from nsl_bench.run.bench import Bench
from nsl_bench.run.job import Job
from nsl_bench.run.plan import plan
from nsl_bench.run.sampled import sampled
from nsl_bench.run.statistics import padded
from nsl_bench.run.store import Store
from nsl_bench.run.sweep import Executor, sweep
from nsl_bench.sandbox.limits import Limits

REPEATS = range(1, 6)


@dataclass(frozen=True)
class Place:
    """Where a study reads and writes."""

    shared: Path | None
    results: Path
    docs: Path
    jobs: int = 1
    tasks: tuple[str, ...] = ()
    repeats: int = len(REPEATS)
    shares: tuple[float, ...] = ()
    page: bool = False

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


LARGE = {
    "random_forest": "random forest",
    "fcn": "FCN",
    "cnn_lstm": "CNN-LSTM",
    "env:xgboost": "XGBoost",
    "slot_cnn": "CNN, end to end",
}
"""Who learns from large train splits; the last one from as many labels as a perceiver had."""

END_TO_END = ("crop_yield", "indoor_scene")
"""Tasks whose images of a large train split fit into memory for a network from images to labels."""

SECONDS = 600.0
"""Of learning and of answering, ten times what they have on the board."""

ASKED = {"framework_accuracy": "accuracy on images", "brier_score": "Brier score"}
SHARES = (*range(0, 100, 10), 95, 100)
DATA_KEPT = Path("docs/results/runs/data")


def data_jobs(place: Place, benchmark: str) -> Iterator[Job]:
    """FFNSL with the small train splits of a task, and its rivals with the large ones."""
    from framework import TASKS

    (task,) = (one for one in TASKS if one.benchmark == benchmark)
    rivals = [name for name in LARGE if name in (*task.baselines, "env:xgboost")]
    rivals += ["slot_cnn"] if benchmark in END_TO_END else []
    for learners, size in ((["ffnsl"], "small"), (rivals, "large")):
        yield from plan(
            benchmark,
            learners,
            sources=task.source(place.shared or Path()),
            shifts=task.shifts,
            percents=place.shares or SHARES,
            repeats=range(1, place.repeats + 1),
            sizes=[size],
        )


def mean_of_runs(runs: Sequence[tuple[np.ndarray, float]]) -> np.ndarray:
    """The mean scores of a train split's examples over runs with their weights."""
    return np.average([scores for scores, _ in runs], axis=0, weights=[weight for _, weight in runs])


def measure_data(store: Store, jobs: Sequence[Job]) -> dict[str, list[dict[str, object]]]:
    """What the page shows of a task: curves, and FFNSL's lead over each rival in the mean over shares."""
    results, records = Results(store.folder), store.latest()
    runs = results.frame[results.frame["key"].isin({job.key() for job in jobs})]
    benchmark, shifts = jobs[0].benchmark, len({job.test_shift for job in jobs if job.percent})
    curves = [
        {"task": benchmark, "shift": row.shift, "learner": row.learner, "share": row.percent}
        | {"metric": str(row.metric), "mean": row.mean, "std_err": row.std_err, "splits": row.n}
        for row in summarise(runs, [*ASKED, "learning_time"]).itertuples()
    ]
    tests = sampled(jobs[0].tested, jobs[0].source, jobs[0].seed, tuple(sorted(set(runs["repeat"]))))
    leads: list[dict[str, object]] = []
    for metric in ASKED:
        scores, means = {}, {}
        for learner, group in runs.groupby("learner", sort=False):
            own = [records[key] for key in group["key"]]
            failed = sum(record.status != "ok" for record in own)
            each: dict[int, list[Any]] = {}
            for record in own if not failed else ():
                found = example_scores(results, record, record.key, metric)
                each.setdefault(record.job.repeat, []).append((found, 1 if record.job.percent else shifts))
            if failed or any(found is None for of_split in each.values() for found, _ in of_split):
                leads.append({"task": benchmark, "metric": metric, "learner": learner, "failed": failed})
                continue
            rows = [mean_of_runs(each[repeat]) for repeat in sorted(each)]
            scores[learner] = padded(rows, np.nan)
            means[learner] = np.nanmean(scores[learner], axis=1).mean()
        if "ffnsl" not in scores:
            continue
        higher = METRICS[metric].higher_is_better is not False
        told = tests.of(metric, "pretrained")
        compared = Comparison(list(scores), np.stack([*scores.values()]), higher_is_better=higher, **told)
        for learner, d in compared.against("ffnsl").items():
            numbers = {"failed": 0, "ffnsl": means["ffnsl"], "other": means[learner]}
            numbers |= {"lead": -d.mean, "low": -d.high, "high": -d.low, "word": d.word}
            leads.append({"task": benchmark, "metric": metric, "learner": learner, **numbers})
    return {"curves": curves, "leads": leads}


def data_published() -> Iterator[dict[str, object]]:
    """The paper's curves: FFNSL with small train splits, baselines with large ones."""
    from framework import TASKS
    from framework_pages import Words

    for task in TASKS:
        table = ffnsl2023(task.benchmark)
        for ours, theirs in Words.of(task.benchmark).paper.items():
            rows = table[table["shift"].isin([theirs, "standard"]) & (table["network"] == "softmax")]
            rows = rows[(rows["metric"] == "framework_accuracy") & (rows["run"] == "main")]
            rows = rows[rows["penalties"].fillna("") != "constant"]
            for row in rows.itertuples():
                size = "small" if row.learner == "ffnsl" else "large"
                if row.learner in ("ffnsl", *LARGE) and row.size == size and row.percent in SHARES:
                    about = {"task": task.benchmark, "shift": ours, "learner": row.learner}
                    yield about | {"share": row.percent, "mean": row.mean, "std_err": row.std_err}


def draw_data(curves: pd.DataFrame, published: pd.DataFrame, path: Path) -> None:
    """Accuracy on images over the share: a panel a task and shift, the paper's curves dashed."""
    panels = list(curves[curves["metric"] == "framework_accuracy"].groupby(["task", "shift"], sort=False))
    figure, axes = subplots(-(-len(panels) // 3), 3, figsize=(10.5, 3.2 * -(-len(panels) // 3)))
    colours = {name: COLOURS[k] for k, name in enumerate(("ffnsl", *LARGE))}
    for axis in axes.flat[len(panels) :]:
        axis.remove()
    handles = {}
    for axis, ((task, shift), rows) in zip(axes.flat, panels, strict=False):
        for learner, line in rows.groupby("learner", sort=False):
            name = f"{LARGE[learner]}, large" if learner in LARGE else "FFNSL, small"
            handles[name] = axis.errorbar(
                line["share"], line["mean"], line["std_err"], color=colours[learner], marker="o", ms=3
            )
        theirs = published[(published["task"] == task) & (published["shift"] == shift)]
        for learner, line in theirs.groupby("learner", sort=False):
            (handles["published"],) = axis.plot(line["share"], line["mean"], "--", color=colours[learner])
        axis.set_title(f"{task}, {shift}", fontsize=10)
        axis.set_xlabel("share of shifted examples (%)", fontsize=8)
        axis.set_ylabel("accuracy on images", fontsize=8)
        axis.grid(alpha=0.3)
    legend(figure, handles)
    save(figure, path)


def with_kept(docs: Path, name: str, rows: Sequence[dict[str, object]]) -> pd.DataFrame:
    """A table of the page: these rows, and those that it has of other tasks."""
    frame, before = pd.DataFrame(rows), docs / "data" / f"{name}.csv"
    if not before.is_file():
        return frame
    old = pd.read_csv(before)
    return pd.concat([old[~old["task"].isin({row["task"] for row in rows})], frame], ignore_index=True)


def data_top(leads: pd.DataFrame) -> Top:
    """On how many tasks a rival with 100 times the data is better than FFNSL."""
    asked = leads[leads["metric"] == "framework_accuracy"]
    tasks, lost = asked["task"].nunique(), asked[asked["word"] == "better"]["task"].nunique()
    return Top(
        "100 times the data",
        "Does FFNSL with small train splits beat learners with large ones?",
        f"A learner with large train splits beats FFNSL on {lost} of {tasks} tasks.",
        "python benchmarks/studies.py data",
        "data/curves.png",
    )


DATA_METHOD = f"""\
FFNSL learns from the small train split, the others from the large one, which has 100 times the examples (four
times on Indoor Scene, all that there are). All but the CNN see the concepts that the same Softmax network
predicts. The CNN sees images: on Crop Yield it has as many labels as the network had labelled images, on
Indoor Scene half as many; elsewhere its images do not fit into memory. Learning and answering may take
{SECONDS:g} seconds each. A lead is FFNSL's mean over shares less the other's, in points, positive where FFNSL
is better, for Brier scores too. Intervals (95 %) cover train splits and test examples; words are corrected
over a task's learners by Holm's method. Published curves (dashed) are the paper's, for FFNSL with small and
its baselines with large train splits; its images and train splits are others."""


def data(place: Place) -> None:
    """Rivals with 100 times the data."""
    from framework import TASKS

    names = [task.benchmark for task in TASKS if not place.tasks or task.benchmark in place.tasks]
    tables: dict[str, list[dict[str, object]]] = {"curves": [], "leads": []}
    complete = place.repeats == len(REPEATS) and not place.shares
    for name in names if not place.page else ():
        jobs, store = list(data_jobs(place, name)), Store(place.results / "data" / name)
        take(DATA_KEPT, store)
        clock = time.perf_counter()
        tally = sweep(
            sorted(jobs, key=lambda job: (job.repeat, job.size, job.percent)),
            store,
            Bench(limits=Limits(time=SECONDS)),
            lambda record: print(record.job, record.message, file=sys.stderr),
            executor=Executor(place.jobs),
        )
        print(f"{name}: {tally}; {time.perf_counter() - clock:.0f} s", flush=True)
        measured_now = measure_data(store, jobs)
        if any("lead" in row for row in measured_now["leads"]):  # else there are records without predictions
            for table_name, rows in measured_now.items():
                tables[table_name] += rows
        if complete:
            keep(store, {job.key() for job in jobs}, DATA_KEPT, rules=False)
    frames = {name: with_kept(place.docs, name, rows) for name, rows in tables.items()}
    frames["published"] = pd.DataFrame(data_published())
    leads = frames["leads"].sort_values(["metric", "lead"], ascending=[False, True], kind="stable")
    frames["leads"] = leads
    links = [kept(place.docs, "data", name, frame) for name, frame in frames.items()]
    draw_data(frames["curves"], frames["published"], place.docs / "data" / "curves.png")
    rows = [
        {"task": row.task, "metric": ASKED[row.metric], "learner": LARGE.get(row.learner, "FFNSL")}
        | {"FFNSL, small": f"{row.ffnsl:.3f}", "learner, large": f"{row.other:.3f}"}
        | {"FFNSL's lead": points(row.lead, row.low, row.high), "learner is": row.word}
        if not row.failed
        else {"task": row.task, "metric": ASKED[row.metric], "learner": LARGE.get(row.learner, "FFNSL")}
        | {"learner is": f"not known, {row.failed} runs failed"}
        for row in leads.itertuples()
    ]
    write(
        place.docs,
        "data",
        data_top(leads),
        "FFNSL's lead in the mean over shares of shifted examples, its largest losses first:",
        table(rows),
        "All numbers: " + ", ".join(links) + ".",
        DATA_METHOD,
    )


STUDIES: dict[str, Callable[[Place], None]] = {"decks": decks, "data": data}


def main() -> None:
    """Run the studies that are named."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("study", nargs="+", choices=list(STUDIES))
    parser.add_argument("--shared", type=Path, default=Path("../shared"))
    parser.add_argument("--results", type=Path, default=Path("results/studies"))
    parser.add_argument("--docs", type=Path, default=Path("docs/results"))
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="runs at once")
    parser.add_argument("--task", action="append", default=[], help="repeatable; all by default")
    parser.add_argument("--repeats", type=int, default=len(REPEATS), help="train splits")
    parser.add_argument("--shares", default="", help="e.g. 0,50; all by default")
    parser.add_argument("--page", action="store_true", help="write the page from its tables")
    options = parser.parse_args()
    shares = tuple(float(share) for share in options.shares.split(",") if share)
    place = Place(
        options.shared,
        options.results,
        options.docs,
        options.jobs,
        tuple(options.task),
        options.repeats,
        shares,
        options.page,
    )
    for name in options.study:
        STUDIES[name](place)


if __name__ == "__main__":
    main()
