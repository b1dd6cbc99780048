"""Rivals with 100 times the data, and train labels that are wrong: pages of docs/results.

    python benchmarks/studies.py data --shared ../shared --jobs 2 [--task NAME --repeats 1 --shares 0,50]
    python benchmarks/studies.py data --page
    python benchmarks/studies.py annotation [--repeats 1 --shares 0,20]

Results are kept in results/studies; a second call does only what is missing. `--shared` has the real images.
With `--page`, or with fewer splits or shares than all, tasks keep the tables of the page that are there.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pictures
from kept import say
from nsl_bench.leaderboard.comparing import Comparison
from pages import (
    INTERVALS,
    Top,
    kept,
    kept_table,
    lead,
    losses,
    markdown,
    mean_of,
    number,
    page,
    points,
    with_kept,
)

from nsl_bench.api.results import Results
from nsl_bench.core import registry
from nsl_bench.core.metrics import METRICS
from nsl_bench.core.types import Part
from nsl_bench.data.splits import symbolic_split
from nsl_bench.report.intervals import example_scores
from nsl_bench.report.published.papers import ffnsl2023
from nsl_bench.report.tables import over, summarise
from nsl_bench.run.bench import Bench
from nsl_bench.run.job import Job
from nsl_bench.run.plan import plan
from nsl_bench.run.sampled import sampled
from nsl_bench.run.statistics import padded
from nsl_bench.run.store import Store
from nsl_bench.run.sweep import Executor, sweep
from nsl_bench.sandbox.limits import Limits

REPEATS = 5
LARGE = {
    "random_forest": "random forest",
    "fcn": "FCN",
    "cnn_lstm": "CNN-LSTM",
    "env:xgboost": "XGBoost",
    "slot_cnn": "CNN, end to end",
}
"""Who learns from large train splits; the last one from as many labels as a perceiver had."""

SLOW = {"crop_yield": ("slot_cnn",), "sudoku_9x9": ("fcn", "cnn_lstm")}
"""Who takes minutes a run: networks from 32,000 grids of 81 digits, and the one from images, where labels are
as many as a perceiver had and images fit into memory."""

SECONDS = 600.0
"""Of learning and of answering, ten times what they have on the board."""

ASKED = {"framework_accuracy": "accuracy on images", "brier_score": "Brier score"}
SHARES = range(0, 101, 20)
"""The board's."""

PARTS: tuple[Part, Part] = ("test", "train")
FEW_SHARES = (0, 80)
"""Where slow ones learn."""


def data_jobs(options: argparse.Namespace, benchmark: str) -> Iterator[Job]:
    """FFNSL with the small train splits of a task, and its rivals with the large ones."""
    from framework import TASKS

    (task,) = (one for one in TASKS if one.benchmark == benchmark)
    rivals = [name for name in LARGE if name in (*task.baselines, "env:xgboost")]
    slow = [*SLOW.get(benchmark, ())]
    quick = [name for name in rivals if name not in slow]
    asked = [(["ffnsl"], "small", SHARES), (quick, "large", SHARES)]
    asked += [(slow, "large", FEW_SHARES)] if slow else []
    for learners, size, shares in asked:
        yield from plan(
            benchmark,
            learners,
            sources=task.source(options.shared or Path()),
            shifts=task.shifts,
            percents=options.shares or shares,
            repeats=range(1, options.repeats + 1),
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
    own = {name: [records[key] for key in rows["key"]] for name, rows in runs.groupby("learner", sort=False)}
    grids = {name: frozenset(record.job.percent for record in found) for name, found in own.items()}
    for grid, metric in product(dict.fromkeys(grids[name] for name in own if name != "ffnsl"), ASKED):
        scores = {}
        for learner in (name for name in own if name == "ffnsl" or grids[name] == grid):
            failed = sum(record.status != "ok" for record in own[learner])
            each: dict[int, list[Any]] = {}
            for record in own[learner] if not failed else ():
                if record.job.percent in grid:
                    found = example_scores(results, record, record.key, metric)
                    each.setdefault(record.job.repeat, []).append(
                        (found, 1 if record.job.percent else shifts)
                    )
            if failed or any(found is None for of_split in each.values() for found, _ in of_split):
                leads.append({"task": benchmark, "metric": metric, "learner": learner, "failed": failed})
                continue
            scores[learner] = padded([mean_of_runs(each[repeat]) for repeat in sorted(each)], np.nan)
        if "ffnsl" not in scores:
            continue
        means = {learner: np.nanmean(rows, axis=1).mean() for learner, rows in scores.items()}
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


def seen_tests(splits: Path) -> Iterator[dict[str, object]]:
    """How many test examples the first train split has, in the paper's folder of splits and in ours."""
    for benchmark in ("follow_suit", "sudoku_4x4", "sudoku_9x9"):
        task = registry.create("benchmark", benchmark)
        for size in ("small", "large"):
            found: dict[str, object] = {"task": benchmark, "size": size}
            for whose, folder in (("the paper's", splits / benchmark), ("ours", None)):
                if folder is None or (folder / size).is_dir():
                    test, train = (symbolic_split(task, part, size, splits=folder) for part in PARTS)
                    known = {row.tobytes() for row in train.concepts}
                    found[whose] = float(np.mean([row.tobytes() in known for row in test.concepts]))
            yield found


def draw_data(curves: pd.DataFrame, published: pd.DataFrame, path: Path) -> Path:
    """Accuracy on images over the share: a panel a task and shift, the paper's curves dashed."""
    own = curves[curves["metric"] == "framework_accuracy"]
    found = pd.concat([own, published.assign(paper=pictures.PAPER)])
    found = found.sort_values("share", kind="stable").reset_index(drop=True)
    names = {"ffnsl": "FFNSL, small", **{name: f"{title}, large" for name, title in LARGE.items()}}
    line = found["learner"].map(names) + found["paper"].fillna("")
    panel = found["task"] + ", " + found["shift"]
    found = found.assign(line=line, panel=panel, error=found["std_err"])
    return pictures.lines(found[panel.isin(own["task"] + ", " + own["shift"])], path)


def data_top(leads: pd.DataFrame) -> Top:
    """On how many tasks a rival with 100 times the data is better than FFNSL."""
    asked = leads[leads["metric"] == "framework_accuracy"]
    tasks, lost = asked["task"].nunique(), asked[asked["word"] == "better"]["task"].nunique()
    return Top(
        "100 times the data",
        "Does FFNSL with small train splits beat learners with large ones?",
        f"A learner with large train splits beats FFNSL on {lost} of {tasks} tasks.",
        "python benchmarks/studies.py data --page",
        "Accuracy on images over the share of shifted examples, with small and with large train splits",
    )


DATA_METHOD = f"""\
FFNSL learns from the small train split, the others from the large one, which has 100 times the examples (four
times on Indoor Scene, all that there are). {{cnn}} see the concepts that the same Softmax network predicts.
On Sudoku 9x9, FCN and CNN-LSTM learn at shares of 0 and 80 % only, since each run takes minutes.
Learning and answering may take {SECONDS:g} seconds each. A lead is FFNSL's mean over a learner's shares less
the learner's, in points, positive where FFNSL is better, for Brier scores too. Intervals (95 %) cover train
splits and test examples; words are corrected by Holm's method over a task's learners with the same shares.
Published curves (dashed) are the paper's, for FFNSL with small and its baselines with large train splits. Its
images are others, and its large train splits have many of its test examples, which learners can remember;
ours have none."""

DATA_SEEN = "Test examples that the first train split has"

DATA_CNN = """\
The CNN sees images, on Crop Yield
at shares of 0 and 80 %: there the large train split has as many labels as the network had labelled images.
Elsewhere it has fewer, or its images do not fit into memory. The time ended its training. All others"""
"""Where the CNN has learned."""


def data(options: argparse.Namespace) -> None:
    """Rivals with 100 times the data."""
    from framework import TASKS

    names = [task.benchmark for task in TASKS if not options.task or task.benchmark in options.task]
    tables: dict[str, list[dict[str, object]]] = {"curves": [], "leads": []}
    complete = options.repeats == REPEATS and not options.shares
    for name in names if not options.page else ():
        jobs, store = list(data_jobs(options, name)), Store(options.results / "data" / name)
        clock = time.perf_counter()
        tally = sweep(
            sorted(jobs, key=lambda job: (job.learner == "slot_cnn", job.repeat, job.size, job.percent)),
            store,
            Bench(limits=Limits(time=SECONDS)),
            say,
            executor=Executor(options.jobs),
        )
        print(f"{name}: {tally}; {time.perf_counter() - clock:.0f} s", flush=True)
        for table_name, rows in measure_data(store, jobs).items() if complete else ():
            tables[table_name] += rows
    splits = options.shared / "data" / "ffnsl_splits"
    tables["seen"] = list(seen_tests(splits)) if not options.page and splits.is_dir() else []
    frames = {name: with_kept(options.docs, "data", name, rows, ["task"]) for name, rows in tables.items()}
    frames["published"] = pd.DataFrame(data_published())
    leads = frames["leads"].sort_values(["metric", "lead"], ascending=[False, True], kind="stable")
    frames["leads"] = leads
    for name, frame in frames.items():
        kept(options.docs, "data", name, frame)
    rows = [
        {"task": row.task, "metric": ASKED[row.metric], "learner": LARGE.get(row.learner, "FFNSL")}
        | {"FFNSL, small": f"{row.ffnsl:.3f}", "learner, large": f"{row.other:.3f}"}
        | {"FFNSL's lead": points(row.lead, row.low, row.high), "learner is": row.word}
        if not row.failed
        else {"task": row.task, "metric": ASKED[row.metric], "learner": LARGE.get(row.learner, "FFNSL")}
        | {"learner is": f"not known, {row.failed} runs failed"}
        for row in leads.itertuples()
    ]
    seen = [
        {"task": row["task"], "size": row["size"]}
        | {
            whose: "" if np.isnan(row[whose]) else f"{100 * row[whose]:.1f} %"
            for whose in ("the paper's", "ours")
        }
        for row in frames["seen"].to_dict("records")
    ]
    page(
        options.docs,
        "data",
        data_top(leads),
        draw_data(frames["curves"], frames["published"], options.docs / "data" / "curves.png"),
        "FFNSL's lead in the mean over shares of shifted examples, its largest losses first:\n\n"
        + markdown(rows),
        DATA_METHOD.format(cnn=DATA_CNN if "slot_cnn" in set(leads["learner"]) else "All"),
        {
            "leads": "FFNSL's lead over each learner",
            "curves": "means with standard errors over train splits by share",
            "published": "the paper's curves",
            "seen": "the share of test examples that the first train split has",
        },
        {DATA_SEEN: markdown(seen)},
    )


WRONG = (0, 10, 20, 40, 60, 80)
"""Shares of wrong train labels (%)."""

WRONG_TASKS = ("follow_suit", "sudoku_4x4", "crop_yield")
WRONG_RIVALS = ("random_forest", "env:xgboost")


def annotation(options: argparse.Namespace) -> None:
    """FFNSL and its rivals with wrong train labels."""
    if not options.page:
        store = Store(options.results / "annotation")
        texts = [f"wrong_labels={share}" for share in map(int, options.shares or WRONG)]
        repeats = range(1, options.repeats + 1)
        jobs = [
            job
            for task in options.task or WRONG_TASKS
            for job in plan(task, ["ffnsl", *WRONG_RIVALS], annotations=texts, repeats=repeats)
        ]
        sweep(jobs, store, Bench(limits=Limits()), say, executor=Executor(options.jobs))
        runs = store.frame()
        runs = over(runs[runs["key"].isin({job.key() for job in jobs})], "wrong_labels")
        rows = [
            {"task": row.benchmark, "metric": str(row.metric), "wrong labels (%)": f"{row.percent:g}"}
            | {"learner": row.learner, "splits": row.n, "mean": number(row.mean, row.std_err)}
            for row in summarise(runs, [*ASKED]).itertuples()
        ]
        kept(options.docs, "annotation", "means", rows)
    means = kept_table(options.docs, "annotation", "means")
    leads = []
    for (task, metric, share), group in means.groupby(["task", "metric", "wrong labels (%)"], sort=False):
        of = dict(zip(group["learner"], group["mean"], strict=True))
        tested = registry.create("benchmark", task).test_size
        most = 2.0 if metric == "brier_score" else 1.0
        for rival in WRONG_RIVALS:
            found = lead(of["ffnsl"], of[rival], int(group["splits"].iloc[0]), tested, most=most)
            about = {"task": task, "metric": ASKED[metric], "wrong labels (%)": share}
            leads.append({**about, "rival": LARGE[rival], "lead": found})
    panel = means["task"] + ", " + means["metric"].map(ASKED)
    line = means["learner"].map({"ffnsl": "FFNSL", **LARGE})
    shown = means.assign(panel=panel, line=line, share=means["wrong labels (%)"].astype(float))
    shown[["mean", "error"]] = [mean_of(text) for text in means["mean"]]
    behind = sum(row["lead"][2] < 0 for row in leads)
    path = options.docs / "annotation" / "means.png"
    page(
        options.docs,
        "annotation",
        Top(
            "Wrong train labels",
            "Does FFNSL stay ahead when train labels are wrong?",
            f"FFNSL is behind, with an interval below 0, in {behind} of {len(leads)} comparisons.",
            "python benchmarks/studies.py annotation --page",
            "Accuracy on images and Brier score over the share of wrong train labels",
        ),
        pictures.lines(shown, path, columns=2, x="wrong train labels (%)"),
        losses(leads),
        f"Embedded images without shift, {means['splits'].iloc[0]} small train splits, the Softmax network. "
        f"Labels of test examples are right. {INTERVALS}",
        {"means": "means with standard errors over train splits, by task, metric, share and learner"},
    )


def main() -> None:
    """Run the studies that are named."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("study", choices=["data", "annotation"])
    parser.add_argument("--shared", type=Path, default=Path("../shared"))
    parser.add_argument("--results", type=Path, default=Path("results/studies"))
    parser.add_argument("--docs", type=Path, default=Path("docs/results"))
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="runs at once")
    parser.add_argument("--task", action="append", default=[], help="repeatable; all by default")
    parser.add_argument("--repeats", type=int, default=REPEATS, help="train splits")
    parser.add_argument("--shares", type=_shares, default=(), help="e.g. 0,50; all by default")
    parser.add_argument("--page", action="store_true", help="write the page from its tables")
    options = parser.parse_args()
    {"data": data, "annotation": annotation}[options.study](options)


def _shares(text: str) -> tuple[float, ...]:
    return tuple(float(share) for share in text.split(","))


if __name__ == "__main__":
    main()
