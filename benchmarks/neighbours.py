"""Tasks of other papers: learners of ours beside published values, losses first, a page a task.

    python benchmarks/neighbours.py mnist_addition --shared ../shared --jobs 2   what is missing, and the page
    python benchmarks/neighbours.py mnist_addition --dry-run                     how many runs that would be
    python benchmarks/neighbours.py mnist_addition --page                        the page from its tables

``neighbours.toml`` says which learners run on which task for each published setting; the values are in
nsl_bench/report/published/numbers/TASK.csv, each with its source. Runs are kept in results/neighbours, a
folder a task: a second call does only what is missing. ``--setting``, ``--learner`` and ``--repeats`` do a
part; the page has all that is done. A learner's mean and a published one are compared by two one-sided tests
(TOST) within the setting's margin, and by Welch's test. Where a paper gives no spread, nothing is tested.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import time
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import pictures
from kept import say
from pages import DOCS, Top, in_order, kept, kept_table, losses, markdown, number, page, with_kept

from nsl_bench.core.declared import Declared, Is, checked
from nsl_bench.core.errors import UserError
from nsl_bench.core.registry import Spec
from nsl_bench.report.published.equivalence import Comparison, Mean, compare_means, known_error
from nsl_bench.report.published.papers import table
from nsl_bench.run.bench import Bench
from nsl_bench.run.job import Job
from nsl_bench.run.plan import plan
from nsl_bench.run.statistics import half_width
from nsl_bench.run.store import Store
from nsl_bench.run.sweep import Executor, sweep

_TEXT = Annotated[str, Is("a text", make=str.strip)]


@dataclass(frozen=True)
class Setting(Declared):
    """A published setting, and the runs that stand beside it.

    Attributes:
        name: the value of the CSV's column ``setting``.
        benchmark: our task.
        grid: other fields of the grid of runs; ``{data}`` is the folder of data.
        tested: test examples behind each published mean.
        learners: names of those that run here; all where it is empty.
    """

    name: str
    benchmark: str
    grid: Mapping[str, Any] = field(default_factory=dict)
    tested: int = 0
    learners: tuple[str, ...] = ()


@dataclass(frozen=True)
class Task(Declared):
    """A page.

    Attributes:
        title, question, method: of the page.
        learners: specs by name, the first the one that the page is about; a network behind ``@``.
        metrics: our metric for each of the CSV's; of several, ``|`` between them, the first that a run has.
        settings: the published ones.
        unit: what published values call 1; 100 for percent.
        margin: differences below it count as none, in that unit.
        printed: the last digit that papers print.
        repeats: train splits.
    """

    title: str
    question: str
    method: _TEXT
    learners: Mapping[str, str]
    metrics: Mapping[str, str]
    settings: tuple[Setting, ...]
    unit: float = 1.0
    margin: float = 0.01
    printed: float = 0.0
    repeats: int = 5

    def jobs(self, setting: Setting, learner: str, repeats: int, data: Path) -> list[Job]:
        """The runs of a learner in a setting."""
        spec, _, network = self.learners[learner].partition(" @ ")
        grid = {k: v.format(data=data) if isinstance(v, str) else v for k, v in setting.grid.items()}
        repeated = range(1, repeats + 1)
        try:
            return plan(setting.benchmark, [spec], networks=network or None, repeats=repeated, **grid)
        except UserError as error:
            print(f"{setting.name}, {learner} is left out: {error}", file=sys.stderr)
            return []


def tasks() -> dict[str, Task]:
    """The pages by name."""
    path = Path(__file__).with_suffix(".toml")
    read = tomllib.loads(path.read_text(encoding="utf-8"))
    return {name: checked(Task, one, f"{path}: {name}: ") for name, one in read.items()}


def measured(task: Task, store: Store, parts: Parts) -> Iterator[dict[str, object]]:
    """What our learners had: a row for each setting, learner and metric with finished runs."""
    records = {key: one for key, one in store.latest().items() if one.status == "ok"}
    for setting, learner, jobs in parts:
        done = [records[job.key()] for job in jobs if job.key() in records]
        for theirs, ours in task.metrics.items():
            named = [next((m for m in ours.split("|") if m in one.metrics), None) for one in done]
            values = [task.unit * one.metrics[m] for one, m in zip(done, named, strict=True) if m]
            if not values:
                continue
            mean = Mean.of(values)
            network = done[0].job.network
            yield {
                "setting": setting.name,
                "learner": learner,
                "network": Spec.parse(network).name if network else "",
                "metric": theirs,
                "mean": mean.value,
                "std_err": mean.std_err,
                "train_splits": mean.repeats,
                "seconds": sum(one.metrics.get("learning_time", 0.0) for one in done) / len(done),
            }


def beside(task: Task, own: pd.DataFrame, published: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Each mean of ours beside each published one of its setting and metric, with a verdict."""
    tested = {setting.name: setting.tested for setting in task.settings}
    for row in own.to_dict("records"):
        same = (published["setting"] == row["setting"]) & (published["metric"] == row["metric"])
        for other in published[same].dropna(subset=["mean"]).to_dict("records"):
            found: dict[str, Any] = {
                **{name: row[name] for name in ("setting", "metric", "learner")},
                "measured": number(row["mean"], row["std_err"]),
                "method": other["method"],
                "published": other["mean"],
                "published_std": other["std"],
                "published_repeats": other["n_repeats"],
                "source": other["source"],
                "difference": row["mean"] - other["mean"],
            }
            known = known_error(row["mean"], task.unit, tested[row["setting"]], task.printed)
            yield {**found, **verdict(row, other, task.margin, known)}


def verdict(
    row: Mapping[str, Any], other: Mapping[str, Any], margin: float, known: float
) -> dict[str, object]:
    """What the tests say of a mean of ours and a published one, and the interval of the difference."""
    if math.isnan(other["std"]) or row["train_splits"] < 2:
        why = "no spread published" if math.isnan(other["std"]) else "one train split"
        return {"low": math.nan, "high": math.nan, "verdict": why}
    repeats = int(other["n_repeats"])
    ours = Mean(row["mean"], row["std_err"], int(row["train_splits"]))
    found = compare_means(
        ours, Mean(other["mean"], other["std"] / repeats**0.5, repeats), margin, known_std_err=known
    )
    reach = half_width(found.std_err, found.df)
    tests = {name: getattr(found, name) for name in ("margin", "p_equivalent", "p_different", "power")}
    return {
        "low": found.difference - reach,
        "high": found.difference + reach,
        **tests,
        "verdict": word_of(found),
    }


def word_of(found: Comparison) -> str:
    """``equivalent``, ``ahead`` or ``behind``, or ``open`` where neither test says anything."""
    if found.word != "different":
        return found.word
    return "ahead" if found.difference > 0 else "behind"


def interval(row: Mapping[str, Any]) -> str:
    """The ends of the interval of a difference, in the unit of published values."""
    return "" if math.isnan(row["low"]) else f"{row['low']:+.3g} to {row['high']:+.3g}"


def answer(learner: str, rows: Sequence[Mapping[str, Any]]) -> str:
    """How the page's learner stands beside published values, in few words."""
    words = [row["verdict"] for row in rows if row["learner"] == learner]
    count = {word: words.count(word) for word in ("behind", "ahead", "equivalent")}
    told = f"behind {count['behind']}, ahead of {count['ahead']}, equivalent to {count['equivalent']}"
    return f"{learner} is {told} of {len(words)} published values."


def write(name: str, task: Task, docs: Path) -> Path:
    """Write a page from its tables."""
    rows = kept_table(docs, name, "verdicts").to_dict("records")
    own = kept_table(docs, name, "measured")
    own["mean"] = [number(*map(float, pair)) for pair in zip(own["mean"], own.pop("std_err"), strict=True)]
    own["seconds"] = [f"{float(value):.0f}" for value in own["seconds"]]
    numbers = ("difference", "low", "high", "published", "published_std")
    for row in rows:
        row |= {key: float(row[key] or "nan") for key in numbers}
    first = next(iter(task.learners))
    compared = [
        {
            "setting": row["setting"],
            "metric": row["metric"].replace("_", " "),
            "published method": row["method"],
            "lead": tuple(row[key] / task.unit for key in ("difference", "low", "high")),
        }
        for row in rows
        if row["learner"] == first
    ]
    spoken = {metric: metric.replace("_", " ") for metric in task.metrics}
    one = len(spoken) == 1
    dots = [
        {"panel": row["setting"] if one else f"{row['setting']}, {spoken[row['metric']]}", "row": who}
        | {"series": whose, "mean": mean, "error": error}
        for row in rows
        for who, whose, mean, error in (
            (row["learner"], "measured", *map(float, (row["measured"] + " ± nan").split(" ± ")[:2])),
            (row["method"], "published", row["published"], row["published_std"]),
        )
    ]
    picture = pictures.dots(
        pd.DataFrame(dots).drop_duplicates(["panel", "row", "series"]),
        docs / name / "results.png",
        spoken.popitem()[1] if one else "mean",
    )
    counted = pd.crosstab(
        pd.Series([row["learner"] for row in rows], name="learner"),
        pd.Series([row["verdict"] for row in rows], name="verdict"),
    )
    units = "percent" if task.unit == 100 else "hundredths"
    return page(
        docs,
        name,
        Top(
            task.title,
            task.question,
            answer(first, rows),
            f"python benchmarks/neighbours.py {name} --page",
            "Means that were measured and published ones, a panel a setting",
        ),
        picture,
        losses(compared, first),
        f"{task.method} Differences below {100 * task.margin / task.unit:g} {units} count as none. "
        "Verdicts are those of two one-sided tests (TOST) and of Welch's test at 5 %; intervals cover "
        "train splits and test examples. *Open* is what neither test decides. Behind ± are errors of "
        "our means, and standard deviations of published values, whose sources are in verdicts.csv.",
        {
            "measured": "means of our learners",
            "verdicts": "each of them beside each published value, with source, interval and verdict",
        },
        {
            f"{first} beside published values": markdown(
                [
                    {"setting": row["setting"], first: row["measured"], "method": row["method"]}
                    | {"published": number(row["published"], row["published_std"])}
                    | {"interval of the difference": interval(row), "verdict": row["verdict"]}
                    for row in rows
                    if row["learner"] == first
                ]
            ),
            "Measured": markdown(own.rename(columns={"train_splits": "train splits"})),
            "Verdicts of all learners": markdown(counted.reset_index()),
        },
        first=f"Where {first} loses",
        again=f"python benchmarks/neighbours.py {name} --shared ../shared --jobs 2",
    )


Parts = list[tuple[Setting, str, list[Job]]]
"""Settings with learners and their runs."""


def main() -> int:
    """Do what is missing, write the pages."""
    known = tasks()
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("task", nargs="*", help=f"of {', '.join(known)}; all by default")
    parser.add_argument("--shared", type=Path, default=Path("../shared"))
    parser.add_argument("--results", type=Path, default=Path("results/neighbours"))
    parser.add_argument("--docs", type=Path, default=DOCS)
    parser.add_argument("--setting", action="append", default=[], help="only this one; may be repeated")
    parser.add_argument("--learner", action="append", default=[], help="only this one; may be repeated")
    parser.add_argument("--repeats", type=int, help="train splits; those of neighbours.toml by default")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="runs at once")
    parser.add_argument("--dry-run", action="store_true", help="say how many runs are missing")
    parser.add_argument("--page", action="store_true", help="write the pages from their tables")
    options = parser.parse_args()
    if strangers := set(options.task) - set(known):
        parser.error(f"there is no task {min(strangers)}; the tasks are {', '.join(known)}")
    bench, clock = Bench(), time.perf_counter()
    for name in options.task or known:
        task = known[name]
        if not options.page:
            store = Store(options.results / name)
            parts: Parts = [
                (setting, learner, task.jobs(setting, learner, task.repeats, options.shared / "data"))
                for setting in task.settings
                for learner in setting.learners or task.learners
            ]
            asked = [
                job
                for setting, learner, own in parts
                if setting.name in (options.setting or [setting.name])
                and learner in (options.learner or [learner])
                for job in own
                if job.repeat <= (task.repeats if options.repeats is None else options.repeats)
            ]
            jobs = list({job.key(): job for job in asked}.values())
            if options.dry_run:
                print(f"{name}: {len(jobs)} runs, {len({j.key() for j in jobs} - store.done())} missing")
                continue
            tally = sweep(jobs, store, bench, say, executor=Executor(options.jobs))
            print(f"{name}: {tally}; {time.perf_counter() - clock:.0f} s", flush=True)
            orders = {
                "setting": [one.name for one in task.settings],
                "learner": [*task.learners],
                "metric": [*task.metrics],
            }
            rows = list(measured(task, store, parts))
            own = with_kept(options.docs, name, "measured", rows, [*orders])
            if own.empty:
                print(f"{name}: no run has finished, so no page is written")
                continue
            own = in_order(own, orders)
            kept(options.docs, name, "measured", own)
            kept(options.docs, name, "verdicts", list(beside(task, own, table(name))))
        write(name, task, options.docs)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
