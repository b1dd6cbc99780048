"""What FFNSL and others get on rule induction as text, by level of difficulty: docs/language-models.md.

    nice -n 5 python benchmarks/text_tasks.py --out results/text_tasks

A level is a task, a shift, a share of shifted examples and a number of examples. Each solver gets what a
language model is told (examples/language_model.py), and its rules the score of `nsl_bench.verify`. Every
answer is kept as soon as it is known; the same command again does what is missing and writes the table.
"""

from __future__ import annotations

import argparse
import csv
import functools
import sys
import time
from collections.abc import Callable
from pathlib import Path

import nsl_bench
from nsl_bench.core import registry
from nsl_bench.learners.answering import answering
from nsl_bench.learners.base import hypothesis_of

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "examples"))
from language_model import TextTask, text_task  # noqa: E402

SHIFTS = {"sudoku_4x4": "rotate90", "crop_yield": "hue", "follow_suit": "noir"}
EXAMPLES = {"sudoku_4x4": 320, "crop_yield": 114, "follow_suit": 104}
"""The train sets of size small."""
SHARES = (0, 30, 60, 90)
SEEDS = (0, 1, 2)
SECONDS = 60
FIELDS = ("task", "share", "examples", "seed", "solver", "score", "equivalent", "atoms", "seconds")


def ffnsl(task: TextTask) -> tuple[str, ...]:
    """FFNSL: penalties are the network's confidences."""
    return nsl_bench.learn(task.las, time_limit=SECONDS).hypothesis


def learner(spec: str) -> Callable[[TextTask], tuple[str, ...]]:
    """A learner of nsl-bench, fitted to the same examples."""

    def solve(task: TextTask) -> tuple[str, ...]:
        task.train.time_limit = SECONDS / 0.8
        made = registry.create("learner", spec, seed=0)
        found = hypothesis_of(answering(made.fit(task.train) or made))
        return () if found is None else found.rules

    return solve


SOLVERS: dict[str, Callable[[TextTask], tuple[str, ...]]] = {
    "FFNSL": ffnsl,
    "FFNSL, all penalties equal": learner("ffnsl:penalty=constant"),
    "decision tree (CART)": learner("cart:asp=true"),
    "no rules": lambda task: (),
}


@functools.lru_cache(1)
def level(task: str, shift: str, share: float, seed: int) -> TextTask:
    """The task of a level; its solvers come one after the other."""
    return text_task(task, share=share, seed=seed, **({"shift": shift} if share else {}))


def solve(row: dict[str, str], shift: str) -> None:
    """Fill in what a solver gets."""
    task = level(row["task"], shift, float(row["share"]), int(row["seed"]))
    clock = time.perf_counter()
    try:
        rules = SOLVERS[row["solver"]](task)
    except nsl_bench.UserError as error:
        print(f"{row['solver']} on {row['task']}: {error}", file=sys.stderr)
        return
    seconds = time.perf_counter() - clock
    verdict = nsl_bench.verify(rules, row["task"], seed=int(row["seed"]))
    atoms = sum(rule.count("(") for rule in rules)
    row |= {"score": f"{verdict.score:.4f}", "equivalent": str(verdict.equivalent), "atoms": str(atoms)}
    row |= {"seconds": f"{seconds:.2f}"}


def page(rows: list[dict[str, str]], text: list[str]) -> str:
    """A table: mean score over seeds, and how often the rules are equivalent to the true rule."""
    heads = ("task", "examples", "shifted", *SOLVERS)
    lines = [*text, f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for task in SHIFTS:
        for share in map(str, SHARES):
            here = [row for row in rows if (row["task"], row["share"]) == (task, share) and row["score"]]
            cells = []
            for solver in SOLVERS:
                scores = [float(row["score"]) for row in here if row["solver"] == solver]
                same = sum(row["equivalent"] == "True" for row in here if row["solver"] == solver)
                cells.append(f"{sum(scores) / len(scores):.3f} ({same}/{len(scores)})" if scores else "")
            lines.append(f"| `{task}` | {EXAMPLES[task]} | {share} % | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Do what is missing, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("results/text_tasks"))
    parser.add_argument("--page", type=Path, default=ROOT / "docs" / "language-models.md")
    parser.add_argument("--seconds", type=float, help="stop after these seconds; the page has what is done")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    kept, begun = given.out / "answers.csv", time.monotonic()
    if not kept.is_file():
        kept.write_text(",".join(FIELDS) + "\n")
    rows = list(csv.DictReader(kept.open()))
    done = {tuple(row[name] for name in FIELDS[:5]) for row in rows}
    for seed in SEEDS:
        for task, share, solver in ((t, s, v) for t in SHIFTS for s in SHARES for v in SOLVERS):
            row = dict(zip(FIELDS, (task, str(share), str(EXAMPLES[task]), str(seed), solver), strict=False))
            if tuple(row.values()) in done or (given.seconds and time.monotonic() - begun > given.seconds):
                continue
            row = {**dict.fromkeys(FIELDS, ""), **row}
            solve(row, SHIFTS[task])
            with kept.open("a") as file:
                csv.DictWriter(file, FIELDS, lineterminator="\n").writerow(row)
            rows.append(row)
    head = given.page.read_text(encoding="utf-8").partition("| task |")[0].splitlines()
    given.page.write_text(page(rows, head), encoding="utf-8")


if __name__ == "__main__":
    main()
