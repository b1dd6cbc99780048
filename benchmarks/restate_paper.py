"""Restate the papers' published numbers in the project's words, as CSV files of nsl_bench.report.published.

    python benchmarks/restate_paper.py --shared ../shared

Names of learners, shifts, sizes and metrics become the project's, percentages become fractions; no number
is left out or rounded. The TOML files beside them say where the numbers come from and how they count.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import pandas as pd

PAPER = Path(__file__).parents[1] / "nsl_bench/report/published/numbers"

LEARNERS = {"rf": "random_forest", "rf_with_knowledge": "random_forest_knowledge"}
METRICS = {
    "learning_time_s": "learning_time",
    "incorrect_examples_percent": "incorrect_examples",
    "network_accuracy_test": "concept_accuracy_test",
    "network_accuracy_train": "concept_accuracy_train",
}
SIZES = {104: "small", 320: "small", 10_400: "large", 32_000: "large"}
COLUMNS = ["learner", "network", "penalties", "size", "shift", "percent", "metric", "mean", "std_err"]


def ffnsl_results(table: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The published results, a table a benchmark."""
    named = table.assign(
        learner=table["learner"].replace(LEARNERS),
        size=table["train_size"].map(SIZES).fillna(""),
        shift=table["deck_or_shift"].replace({"rotated": "rotate90"}),
        percent=table["shift_percent"],
        metric=table["metric"].replace(METRICS),
        repeats=table["n_repeats"],
    )
    shares = named["metric"] == "incorrect_examples"
    for column in ("mean", "std_err"):
        named[column] = named[column].where(~shares, (named[column] / 100).map(lambda x: float(f"{x:.6g}")))
    kept = [*COLUMNS, "repeats", "run"]
    return {
        str(benchmark): group[kept].reset_index(drop=True)
        for benchmark, group in named.groupby("task", sort=True)
    }


def write(shared: Path, folder: Path) -> list[Path]:
    """Write the data files; returns them."""
    folder.mkdir(parents=True, exist_ok=True)
    source = shared / "paper"
    written = []
    for benchmark, table in ffnsl_results(pd.read_csv(source / "ffnsl_results.csv")).items():
        written.append(folder / f"ffnsl2023-{benchmark}.csv")
        table.to_csv(written[-1], index=False, lineterminator="\n")
    for name, other in (
        ("ffnsl_prose", "ffnsl2023-prose"),
        ("neuid3_results", "neuid3"),
        ("ntoc_results", "ntoc"),
    ):
        written.append(folder / f"{other}.csv")
        pd.read_csv(source / f"{name}.csv", dtype=str, keep_default_na=False).to_csv(
            written[-1], index=False, lineterminator="\n"
        )
    return written


def main() -> None:
    """Write the CSV files."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--shared", type=Path, default=Path("../shared"))
    parser.add_argument("--out", type=Path, default=PAPER)
    options = parser.parse_args()
    for path in write(options.shared, options.out):
        print(path)


if __name__ == "__main__":
    main()
