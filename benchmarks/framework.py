"""Framework evaluation: accuracy, Brier score and calibration over 0-100 % shift, beside the paper's.

    python benchmarks/framework.py --shared ../shared

Learners on every task, the examples shifted as much in the test set as in training, five repeats; writes
docs/results/framework.md with curves and reliability diagrams. Runs are kept in results/framework: a second
call does only what is missing, `--minutes` stops it in time, and the page says how many repeats each number
is of. Sudoku uses real MNIST digits where `--shared` has them; cards, leaves and rooms are the drawn ones.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import time
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from nsl_bench import registry
from nsl_bench.benchmark import Benchmark
from nsl_bench.errors import UserError
from nsl_bench.report.analysis import (
    ERRORS,
    draw_errors,
    error_shares,
    perceived_shares,
    rule_shares,
)
from nsl_bench.report.curves import draw
from nsl_bench.report.reliability import draw_reliability
from nsl_bench.report.tables import area_under_shift, summarise
from nsl_bench.run.evaluate import Bench
from nsl_bench.run.job import Job, plan
from nsl_bench.run.record import Record
from nsl_bench.run.store import Store
from nsl_bench.run.sweep import sweep

METRICS = (
    *("hypothesis_accuracy", "framework_accuracy", "framework_accuracy_probabilistic", "brier_score"),
    *("probabilistic_accuracy", "calibration_error", "log_loss", "invalid_mass"),
)
TRUST = ("weight_penalty_ratio", "incorrect_examples", "equivalent")
PAPER_LEARNER = {"ffnsl": "ffnsl", "random_forest": "rf", "fcn": "fcn", "cnn_lstm": "cnn_lstm"}
PAPER_METRIC = {
    "framework_accuracy": "framework_accuracy",
    "framework_accuracy_probabilistic": "framework_accuracy_problog",
    "brier_score": "brier_score",
}


@dataclass(frozen=True)
class Part:
    """A task of the study.

    Attributes:
        benchmark: its name.
        shift: what happens to the images.
        learners: who learns.
        published: the name of the shift in the published table that is closest; empty: there is none.
        size: of the published train set.
        predicates: those whose rules are counted.
    """

    benchmark: str
    shift: str
    learners: tuple[str, ...]
    published: str = ""
    size: int = 0
    predicates: tuple[str, ...] = ()


TABULAR = ("ffnsl", "random_forest", "fcn")
SEQUENCES = ("ffnsl", "random_forest", "cnn_lstm")
CARD_RULES = ("rank_higher", "suit")
GRID_RULES = ("row", "col", "block")
SCENE_LEARNERS = ("ffnsl:time_limit=20", "random_forest", "fcn")

PARTS = (
    Part("follow_suit", "noir", TABULAR, "batman_joker", 104, CARD_RULES),
    Part("follow_suit", "adversarial_noir", TABULAR, "adversarial_batman_joker", 104, CARD_RULES),
    Part("sudoku_4x4", "rotate90", SEQUENCES, "rotated", 320, GRID_RULES),
    Part("crop_yield", "hue", TABULAR, predicates=("location", "species", "disease")),
    Part("indoor_scene", "blur_hue_rotate", SCENE_LEARNERS, predicates=("image",)),
    Part("sudoku_9x9", "rotate90", SEQUENCES, "rotated", 320, GRID_RULES),
)


def jobs_of(
    part: Part, networks: Sequence[str], percents: Sequence[float], repeats: Sequence[int], shared: Path
) -> list[Job]:
    """The runs of a task; baselines use the first network only, as in the paper."""
    mnist = shared / "data" / "mnist"
    real = f"mnist:{mnist}" if part.benchmark.startswith("sudoku") and mnist.is_dir() else None
    task: Benchmark = registry.create("benchmark", part.benchmark)
    found = []
    for k, network in enumerate(networks):
        own = part.learners if k == 0 else [x for x in part.learners if x.startswith("ffnsl")]
        # EDL-GEN comes trained on the embedded images; both networks are compared on those.
        for source in dict.fromkeys([real, None] if k == 0 else [None]):
            found += plan(
                part.benchmark,
                own if source == real else [x for x in own if x.startswith("ffnsl")],
                shifts=[part.shift],
                percents=percents,
                repeats=[r for r in repeats if r <= task.repeats],
                source=source,
                network=network,
            )
    return found


def published(shared: Path) -> pd.DataFrame | None:
    """The paper's numbers: main runs, penalties from the network."""
    path = shared / "paper" / "ffnsl_results.csv"
    if not path.is_file():
        return None
    table = pd.read_csv(path)
    return table[(table["run"] == "main") & (table["penalties"] != "constant")]


def known(table: pd.DataFrame, part: Part, learner: str, network: str, percent: float, metric: str) -> str:
    """The paper's mean and standard error, or nothing."""
    deck = "standard" if percent == 0 else part.published
    found = table[
        (table["task"] == part.benchmark)
        & (table["learner"] == PAPER_LEARNER.get(learner.partition(":")[0], ""))
        & (table["network"] == network)
        & (table["deck_or_shift"] == deck)
        & (table["shift_percent"] == percent)
        & (table["train_size"] == part.size)
        & (table["metric"] == PAPER_METRIC.get(metric, ""))
    ]
    return number(found["mean"].iloc[0], found["std_err"].iloc[0]) if len(found) else ""


def number(mean: float, error: float) -> str:
    """A mean with its standard error."""
    return f"{mean:.3f}" if pd.isna(error) else f"{mean:.3f} ± {error:.3f}"


def markdown(rows: Sequence[dict[str, object]]) -> str:
    """Rows as a table."""
    table = pd.DataFrame(rows).fillna("")
    return str(table.to_markdown(index=False, tablefmt="github", disable_numparse=True))


def section(part: Part, runs: pd.DataFrame, paper: pd.DataFrame | None) -> str:
    """The table of a task."""
    own = runs[(runs["benchmark"] == part.benchmark) & runs["shift"].isin([part.shift, "standard"])]
    rows = []
    for (percent, learner, network, source), group in summarise(own, METRICS).groupby(
        ["percent", "learner", "network", "source"], sort=True
    ):
        values = group.set_index(group["metric"].astype(str))
        row: dict[str, object] = {
            "shifted (%)": f"{percent:g}",
            "learner": learner,
            "network": network,
            "images": str(source).partition(":")[0],
            "repeats": int(group["n"].max()),
        }
        for metric in METRICS:
            if metric in values.index:
                row[metric.replace("_", " ")] = number(values["mean"][metric], values["std_err"][metric])
                if paper is not None and part.published and metric in PAPER_METRIC:
                    row[f"paper: {metric.replace('_', ' ')}"] = known(
                        paper, part, str(learner), str(network), float(percent), metric
                    )
        rows.append(row)
    return markdown(rows)


def area_section(runs: pd.DataFrame) -> str:
    """Means over all percentages."""
    rows = []
    table = area_under_shift(runs, ("framework_accuracy", "brier_score", "calibration_error"))
    for (benchmark, shift, learner, network, source), group in table.groupby(
        ["benchmark", "shift", "learner", "network", "source"], sort=True
    ):
        values = group.set_index(group["metric"].astype(str))
        rows.append(
            {
                "task": benchmark,
                "shift": shift,
                "learner": learner,
                "network": network,
                "images": str(source).partition(":")[0],
                **{
                    m.replace("_", " "): number(values["mean"][m], values["std_err"][m]) for m in values.index
                },
            }
        )
    return markdown(rows)


def write(store: Store, shared: Path, docs: Path, networks: Sequence[str]) -> Path:
    """The page, from what is in the store."""
    runs, paper, said = store.frame(), published(shared), remarks()
    runs = runs[runs["status"] == "ok"]
    pictures = docs / "framework"
    shutil.rmtree(pictures, ignore_errors=True)
    drawn = draw(runs, pictures, ("framework_accuracy", "brier_score", "calibration_error"))
    drawn += draw_reliability(store, pictures)
    errors = error_shares(store)
    drawn += draw_errors(errors, pictures)
    pieces = [
        "# Framework evaluation",
        "Made by `python benchmarks/framework.py`; the shares and repeats that are not here yet are added by "
        "the same command. Accuracy of network and learner together, and of their "
        "label probabilities, with as many test examples shifted as train examples. Probabilities of FFNSL "
        "come from probabilistic inference (engine `auto`), those of the others from themselves. Means over "
        "repeats with the standard error of the mean; the test set is the same for all.",
        "## Means over all shares of shift",
        area_section(runs),
    ]
    for part in PARTS:
        mine = runs[runs["benchmark"] == part.benchmark]
        if not mine["shift"].isin([part.shift]).any() and not (mine["percent"] == 0).any():
            continue
        pieces += [f"## {part.benchmark}, {part.shift}", section(part, runs, paper)]
        remark = said.get(f"{part.benchmark}/{part.shift}")
        pieces += [remark.strip()] if remark else []
    pieces += ["## Where errors come from", errors_section(errors)]
    pieces += ["## Which rules are learned", rules_section(store)]
    pieces += ["## What the network sees", seen_section(store)]
    pieces += ["## Pictures", *(f"![{p.stem}](framework/{p.name})" for p in drawn)]
    path = docs / "framework.md"
    path.write_text("\n\n".join(pieces) + "\n", encoding="utf-8")
    return path


def errors_section(errors: pd.DataFrame) -> str:
    """Shares of test examples by what would repair their error."""
    rows = [
        {
            "task": row["benchmark"],
            "shift": row["shift"],
            "shifted (%)": f"{row['percent']:g}",
            "learner": row["learner"],
            "network": row["network"],
            "images": row["source"].partition(":")[0],
            "true concepts": f"{row[ERRORS[0]]:.3f}",
            "true rule": f"{row[ERRORS[1]]:.3f}",
            "either": f"{row[ERRORS[2]]:.3f}",
            "only both": f"{row[ERRORS[3]]:.3f}",
            "the most probable label": f"{row['error_inference']:.3f}",
        }
        for _, row in errors[errors["percent"].isin([0, 50, 100])].iterrows()
    ]
    return "Share of all test examples whose label is wrong, by what would repair it:\n\n" + markdown(rows)


def rules_section(store: Store) -> str:
    """Shares of repeats with each rule, and the trustworthiness of the weighted examples."""
    pieces = []
    frame = store.frame()
    for benchmark in dict.fromkeys(part.benchmark for part in PARTS):
        predicates = next(part.predicates for part in PARTS if part.benchmark == benchmark)
        shares = rule_shares(store, predicates)
        shares = shares[(shares["benchmark"] == benchmark) & shares["percent"].isin([0, 50, 90, 100])]
        table = summarise(frame[frame["benchmark"] == benchmark], TRUST)
        table["metric"] = table["metric"].astype(str)
        means = table.set_index(["source", "learner", "network", "shift", "percent", "metric"])["mean"]
        rows = []
        for _, row in shares.iterrows():
            place = (row["source"], row["learner"], row["network"], row["shift"], row["percent"])
            rows.append(
                {
                    "shift": row["shift"],
                    "shifted (%)": f"{row['percent']:g}",
                    "learner": row["learner"],
                    "network": row["network"],
                    "images": row["source"].partition(":")[0],
                    **{f"repeats with {p}": f"{row[p]:.0%}" for p in predicates},
                    **{
                        m.replace("_", " "): f"{means[(*place, m)]:.3f}"
                        for m in TRUST
                        if (*place, m) in means.index
                    },
                }
            )
        if rows:
            pieces += [f"### {benchmark}", markdown(rows)]
    return "\n\n".join(pieces)


def seen_section(store: Store) -> str:
    """How evenly the predicted concepts are spread: the most frequent ones."""
    shares = perceived_shares(store)
    rows = []
    for place, group in shares[shares["percent"].isin([0, 100])].groupby(
        ["benchmark", "network", "shift", "percent"], sort=True
    ):
        best = group.sort_values("share", ascending=False).head(5)
        spread = -(group["share"] * np.log2(group["share"].clip(lower=1e-12))).sum()
        rows.append(
            {
                **dict(zip(("task", "network", "shift", "shifted (%)"), place, strict=True)),
                "most frequent predictions on train images": ", ".join(
                    f"{c} {s:.0%}" for c, s in zip(best["concept"], best["share"], strict=True)
                ),
                "entropy (bits)": f"{spread:.2f}",
            }
        )
    return markdown(rows)


def remarks() -> dict[str, str]:
    """A sentence on each difference from the paper, by task and shift."""
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def say(record: Record) -> None:
    """A failed run, to standard error."""
    print(record.job, record.message, file=sys.stderr)


def main() -> int:
    """Do what is missing, in the time that is given; write the page."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--shared", type=Path, default=Path("../shared"))
    parser.add_argument("--results", type=Path, default=Path("results/framework"))
    parser.add_argument("--docs", type=Path, default=Path("docs/results"))
    parser.add_argument("--networks", default="softmax,edl_gen", help="the first is that of the baselines")
    parser.add_argument("--percents", default="0,10,20,30,40,50,60,70,80,90,100")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--minutes", type=float, default=600.0, help="no new run is started after so long")
    parser.add_argument("--only", default="", help="tasks, separated by commas; default: all")
    parser.add_argument("--page", action="store_true", help="write the page from what is there")
    options = parser.parse_args()
    store, end = Store(options.results), time.monotonic() + 60 * options.minutes
    bench = Bench(workers=os.cpu_count() or 1)
    percents = [float(p) for p in options.percents.split(",")]
    for network in [] if options.page else options.networks.split(","):
        for part in PARTS:
            if options.only and part.benchmark not in options.only.split(","):
                continue
            chosen = list(dict.fromkeys([options.networks.split(",")[0], network]))
            try:
                jobs = jobs_of(part, chosen, percents, range(1, options.repeats + 1), options.shared)
            except UserError as error:
                print(f"{part.benchmark}, {network}: {error}", file=sys.stderr)
                continue
            for job in (job for job in jobs if job.network in (network, None)):
                if time.monotonic() > end:
                    break
                try:
                    sweep([job], store, bench, say)
                except UserError as error:
                    print(f"{job}: {error}", file=sys.stderr)
                    break
    print(write(store, options.shared, options.docs, options.networks.split(",")))
    return 0


if __name__ == "__main__":
    sys.exit(main())
