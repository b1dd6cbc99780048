"""Restate the papers' published numbers in the project's words, as CSV files of nsl_bench.report.published.

    python benchmarks/restate_paper.py --shared ../shared
    python benchmarks/restate_paper.py --repository FFNSL --splits ffnsl_splits

The second command reads a clone of github.com/DanCunnington/FFNSL: it writes the values behind each mean, a
train split each, for the settings that are compared on the paper's own splits, and a folder of splits that
names the image in every cell of Sudoku. Beside it are train sets of 4,000 grids, `nsl_splits`, and
`ffnsl_drawn`, if the clone lacks the large train sets of Sudoku 9x9.

Names of learners, shifts, sizes and metrics become the project's, percentages become fractions; no number
is left out or rounded. The TOML files beside them say where the numbers come from and how they count.
"""

from __future__ import annotations

import argparse
import csv
import json
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from nsl_bench.report.published.grid import DRAWN

PAPER = Path(__file__).parents[1] / "nsl_bench/report/published/numbers"

LEARNERS = {"rf": "random_forest", "rf_with_knowledge": "random_forest_knowledge"}
METRICS = {
    "learning_time_s": "learning_time",
    "incorrect_examples_percent": "incorrect_examples",
    "network_accuracy_test": "concept_accuracy_test",
    "network_accuracy_train": "concept_accuracy_train",
}
TASKS = ("follow_suit", "sudoku_4x4", "sudoku_9x9")
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
    prose = pd.read_csv(source / "ffnsl_prose.csv", dtype=str, keep_default_na=False)
    parts = [prose[prose["where"].str.startswith("workshop")]]
    for benchmark in TASKS:
        made = pd.read_csv(folder / f"ffnsl2023-{benchmark}.csv", dtype=str, keep_default_na=False)
        made = made[(made["metric"] == "framework_accuracy_problog") & (made["learner"] == "ffnsl")]
        names = {"metric": "quantity", "shift": "dataset", "percent": "shift_percent", "mean": "value"}
        made = made.rename(columns=names).assign(task=benchmark, where="repository")
        parts.append(made[prose.columns])
    written.append(folder / "ffnsl2021.csv")
    pd.concat(parts).to_csv(written[-1], index=False, lineterminator="\n")
    for name, other in (
        ("ffnsl_prose", "ffnsl2023-prose"),
        ("neuid3_results", "neuid3"),
        ("ntoc_results", "ntoc2023"),
    ):
        written.append(folder / f"{other}.csv")
        pd.read_csv(source / f"{name}.csv", dtype=str, keep_default_na=False).to_csv(
            written[-1], index=False, lineterminator="\n"
        )
    return written


RAW = {
    "structured_test_accuracy": "hypothesis_accuracy",
    "unstructured_test_accuracy": "framework_accuracy",
    "unstructured_test_brier_score": "brier_score",
    "num_predicates": "atoms",
    "num_rules": "rules",
    "digit_accuracy": "concept_accuracy_train",
    "correct": "weight_penalty_ratio",
    "constant_correct": "weight_penalty_ratio",
}
"""Our metric for the name of a list of values, or of what it is in."""


def raw_values(results: Path) -> Iterator[tuple[dict[str, Any], list[float]]]:
    """The lists of values in a task's folder ``paper_results``, each with the columns of its row."""
    for path in sorted(results.rglob("*.json")):
        parts, shift = path.relative_to(results).parts[:-1], path.stem.removesuffix("_more_repeats")
        kind, last = parts[0], parts[-1]
        shift = shift.removesuffix("_interpretability").removesuffix("_train")
        if kind == "graphs" or shift.endswith(("_roc", "_backup", "_extra")):
            continue
        network = last.removeprefix("constant_") if last.endswith(("softmax", "edl_gen")) else ""
        row: dict[str, Any] = {
            "network": network,
            "size": "small",
            "penalties": "network",
            "learner": "ffnsl",
        }
        row["run"] = "more_repeats" if path.stem.endswith("_more_repeats") else "main"
        row["shift"] = {"rotated": "rotate90"}.get(shift, shift)
        if last in SIZES.values():
            row |= {"learner": LEARNERS.get(kind, kind), "size": last, "network": "softmax", "penalties": ""}
        elif "network_acc" in parts:
            row |= {"learner": "network", "penalties": ""}
        elif kind == "incorrect_ILP_example_analysis":
            row["penalties"] = ""
        elif last.startswith("constant_"):
            row["penalties"] = "constant"
        elif not network:
            row |= {"learner": f"ffnsl_{last}", "network": "edl_gen" if last.startswith("red") else "softmax"}
        for share, found in json.loads(path.read_text()).items():
            if not share.startswith("noise_pct_") or not isinstance(found, dict):
                continue
            row["percent"] = int(share.removeprefix("noise_pct_"))
            for names, values in _lists(found):
                constant = kind == "weight_penalty_ratios" and names[0].startswith("constant")
                own = {**row, "penalties": "constant"} if constant else row
                metric = next((RAW[name] for name in names if name in RAW), None)
                if kind == "incorrect_ILP_example_analysis":
                    metric = "incorrect_examples"
                elif metric is None and names[-1] in ("accuracy", "brier_score"):
                    tested = (
                        "framework_accuracy" if "unstructured_test_data" in parts else "hypothesis_accuracy"
                    )
                    problog = (
                        "_problog"
                        if tested == "framework_accuracy" and "without_problog" not in parts
                        else ""
                    )
                    metric = tested + problog if names[-1] == "accuracy" else "brier_score"
                if metric is not None:
                    yield {**own, "metric": metric}, values
                if metric == "rules":
                    yield {**own, "metric": "output_lines"}, values


def _lists(
    found: Mapping[str, Any], names: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], list[float]]]:
    """The lists of values in a JSON object, with the names that lead to each."""
    if isinstance(found.get("raw"), list):
        yield names or ("",), found["raw"]
    for name, part in found.items():
        if isinstance(part, dict):
            yield from _lists(part, (*names, name))


KEY = ["learner", "network", "penalties", "size", "shift", "percent", "metric", "run"]


def write_values(repository: Path, folder: Path) -> Path:
    """Write the values behind the means that can be compared on the paper's own splits, a line each mean.

    A list is kept only where its mean is the published one.
    """
    lines = []
    for task in TASKS:
        published = pd.read_csv(folder / f"ffnsl2023-{task}.csv").fillna(dict.fromkeys(KEY[:5], ""))
        means = published.set_index(KEY)["mean"].to_dict()
        for row, values in raw_values(repository / "examples" / task / "paper_results"):
            mean = means.get(tuple(row[name] for name in KEY))
            wanted = task != "follow_suit" or (row["percent"] == 0 and row["learner"] != "network")
            if (
                wanted
                and mean is not None
                and abs(mean - sum(values) / len(values)) < 1e-5 * max(1, abs(mean))
            ):
                lines.append({"benchmark": task, **{name: row[name] for name in KEY}})
                lines[-1]["values"] = " ".join(f"{value:.6g}" for value in values)
    path = folder / "ffnsl2023-values.csv"
    pd.DataFrame(lines).drop_duplicates([*lines[0]][:-1]).to_csv(path, index=False, lineterminator="\n")
    return path


def write_splits(repository: Path, folder: Path) -> Path:
    """Write the paper's splits, those of Sudoku with the image in every cell."""
    for task in TASKS:
        data = repository / "examples" / task / "data"
        for path in sorted((data / "structured_data").rglob("*.csv")):
            size, name = path.relative_to(data / "structured_data").parts
            to = folder / task / name if name == "test.csv" else folder / task / size / name
            to.parent.mkdir(parents=True, exist_ok=True)
            if task == "follow_suit":
                shutil.copyfile(path, to)
                continue
            symbols, images = (
                list(csv.DictReader(file.open(newline="")))
                for file in (path, data / "unstructured_data" / size / name)
            )
            rows = [
                {"puzzle": row["puzzle"], "label": row["label"], "images": seen["puzzle"]}
                for row, seen in zip(symbols, images, strict=True)
            ]
            pd.DataFrame(rows).to_csv(to, index=False, lineterminator="\n")
    return folder


def write_nsl_splits(repository: Path, folder: Path) -> Path:
    """Write train sets of 4,000 grids, as NSL's paper has for its network: half of each label.

    Its own grids are not public. These are drawn from the large train sets of FFNSL, of the same authors and
    the same generator of puzzles.
    """
    data, task = repository / "examples" / "sudoku_4x4" / "data" / "structured_data", folder / "sudoku_4x4"
    (task / "small").mkdir(parents=True, exist_ok=True)
    shutil.copyfile(next(data.rglob("test.csv")), task / "test.csv")
    for path in sorted((data / "large").glob("train_*.csv")):
        grids = pd.read_csv(path).groupby("label").sample(2000, random_state=0).sample(frac=1, random_state=0)
        grids.to_csv(task / "small" / path.name, index=False, lineterminator="\n")
    return folder


def write_drawn(splits: Path, folder: Path) -> Path:
    """Write large train sets of Sudoku 9x9, which stand for those of the paper where a clone lacks them.

    Each of the 16,000 grids in the paper's small sets comes twice in a set, with digits, rows, columns and
    both axes exchanged as Sudoku allows: labels stay, and what makes a grid invalid. Cells show images that
    the small sets have of their digits.
    """
    task = splits / "sudoku_9x9"
    small = pd.concat(map(pd.read_csv, sorted((task / "small").glob("train_*.csv"))), ignore_index=True)
    grids = np.array(small["puzzle"].str.split().tolist(), np.int64).reshape(-1, 9, 9)
    seen = np.array(small["images"].str.split().tolist()).reshape(grids.shape)
    images = [np.unique(seen[grids == digit]) for digit in range(10)]
    to = folder / "sudoku_9x9"
    (to / "large").mkdir(parents=True, exist_ok=True)
    shutil.copyfile(task / "test.csv", to / "test.csv")
    for repeat in range(1, 6):
        rng, rows = np.random.default_rng(repeat), []
        for k in rng.permutation(np.repeat(np.arange(len(grids)), 2)):
            digits = np.r_[0, rng.permutation(9) + 1]
            lines, columns = (
                (3 * rng.permutation(3)[:, None] + np.argsort(rng.random((3, 3)))).ravel() for _ in range(2)
            )
            grid = digits[grids[k][lines][:, columns]]
            grid = (grid.T if rng.random() < 0.5 else grid).ravel()
            shown = [images[d][int(u * len(images[d]))] for d, u in zip(grid, rng.random(81), strict=True)]
            puzzle = {"puzzle": " ".join(map(str, grid)), "label": small["label"][k]}
            rows.append({**puzzle, "images": " ".join(shown)})
        pd.DataFrame(rows).to_csv(to / "large" / f"train_{repeat}.csv", index=False, lineterminator="\n")
    return folder


def main() -> None:
    """Write the CSV files."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--shared", type=Path, default=Path("../shared"))
    parser.add_argument("--out", type=Path, default=PAPER)
    parser.add_argument("--repository", type=Path, help="clone of github.com/DanCunnington/FFNSL")
    parser.add_argument("--splits", type=Path, help="folder for the clone's splits")
    options = parser.parse_args()
    if options.repository:
        print(write_values(options.repository, options.out))
        if options.splits:
            print(write_splits(options.repository, options.splits))
            print(write_nsl_splits(options.repository, options.splits.with_name("nsl_splits")))
            if not (options.splits / "sudoku_9x9" / "large").is_dir():
                print(write_drawn(options.splits, options.splits.with_name(DRAWN)))
        return
    for path in write(options.shared, options.out):
        print(path)


if __name__ == "__main__":
    main()
