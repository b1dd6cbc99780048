"""How long the leaderboard's site takes to build: 300 synthetic submissions with 100,000 runs.

    python benchmarks/leaderboard.py --folder /tmp/board

The submissions have predictions of every test example; only their numbers are random. Prints time and
memory of ``nsl-bench leaderboard build``, and how long the overview takes to open where there is a browser.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from nsl_bench.leaderboard.contests import Contest, read_contests
from nsl_bench.leaderboard.likeness import look_at
from nsl_bench.leaderboard.packing import row_of, write_lines
from nsl_bench.leaderboard.predictions import rows_of
from nsl_bench.leaderboard.score_report import (
    SCORES,
    ExampleScores,
    Look,
    ScoredRun,
    ScoreReport,
    write_scores,
)
from nsl_bench.leaderboard.submission import MANIFEST, PREDICTIONS, RUNS, Manifest

from nsl_bench.core import registry
from nsl_bench.run.job import Job

BOARD = """\
[[contest]]
name = "follow_suit"
benchmark = "follow_suit"
version = "1.0.0"
source = "drawn_decks"
shifts = ["noir", "comic", "adversarial_noir", "adversarial_comic"]
percents = [0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100]
repeats = 5

[[contest]]
name = "sudoku_4x4"
benchmark = "sudoku_4x4"
version = "1.0.0"
source = "sklearn_digits"
shifts = ["rotate90"]
percents = [0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100]
repeats = 6

[[contest]]
name = "sudoku_9x9"
benchmark = "sudoku_9x9"
version = "1.0.0"
source = "sklearn_digits"
shifts = ["rotate90"]
percents = [0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100]
repeats = 6
"""


def run_id(*words: object) -> str:
    """A run's name, like those of real runs."""
    return hashlib.blake2b(repr(words).encode(), digest_size=10).hexdigest()


def write_predictions(contests: tuple[Contest, ...], path: Path) -> None:
    """Predictions of every run; all submissions share the file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    rows: dict[str, list[Any]] = {name: [] for name in ("run", "evaluation", "predicted", "probabilities")}
    for contest in contests:
        task = registry.create("benchmark", contest.task)
        for cell in contest.cells:
            for evaluation in ("hypothesis", "framework"):
                drawn = rng.dirichlet(np.ones(len(task.labels)), task.test_size)
                row = row_of(
                    run_id(contest.name, cell), evaluation, drawn.argmax(axis=1).astype(np.int8), drawn
                )
                for name, value in row.items():
                    rows[name].append(value)
    kinds = {"predicted": pa.list_(pa.int8()), "probabilities": pa.list_(pa.int16())}
    table = pa.table({name: pa.array(values, kinds.get(name, pa.string())) for name, values in rows.items()})
    pq.write_table(table, path, compression="zstd", row_group_size=len(table))


def looks_of(path: Path) -> dict[str, dict[str, Look]]:
    """What scoring keeps of the predictions, by run and evaluation."""
    found: dict[str, dict[str, Look]] = {}
    for run, evaluation, predicted in rows_of(path):
        found.setdefault(run, {})[evaluation] = look_at(predicted)
    return found


def scored(
    contest: Contest, skill: float, seed: int, looks: dict[str, dict[str, Look]]
) -> Iterator[ScoredRun]:
    """Runs whose accuracy falls with the share of shift."""
    rng = np.random.default_rng(seed)
    for cell in contest.cells:
        accuracy = float(np.clip(skill - 0.004 * cell.percent + rng.normal(0, 0.02), 0, 1))
        yield ScoredRun(
            run=run_id(contest.name, cell),
            contest=contest.name,
            shift=cell.shift,
            percent=cell.percent,
            repeat=cell.repeat,
            network="softmax",
            metrics={
                "hypothesis_accuracy": min(1.0, accuracy + 0.1),
                "framework_accuracy": accuracy,
                "brier_score": 2 - 2 * accuracy,
                "atoms": float(rng.integers(5, 500)),
                "learning_time": float(rng.exponential(2)),
            },
            looks=looks[run_id(contest.name, cell)],
        )


def example_scores(contest: Contest, skill: float, seed: int) -> Iterator[ExampleScores]:
    """Each test example's mean score over shares, so that all pairs of learners are compared."""
    rng = np.random.default_rng(seed)
    n = registry.create("benchmark", contest.task).test_size
    for metric, better in (("framework_accuracy", 0.0), ("hypothesis_accuracy", 0.1)):
        right = rng.binomial(len(contest.percents), min(1.0, skill + better), (contest.repeats, n))
        parts = (right * (10_000 // len(contest.percents))).tolist()
        yield ExampleScores(contest.name, "softmax", metric, tuple(map(tuple, parts)))


def submitted(contest: Contest, rules: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    """What a submission says of its runs."""
    for cell in contest.cells:
        shift_pair = asdict(contest.shift_pair(cell))
        what = {"benchmark": contest.benchmark, "benchmark_version": contest.version}
        images = {"source": contest.source, "source_fingerprint": "0" * 16}
        who = {"learner": "synthetic", "track": "pretrained", "network": "softmax"}
        job = Job(
            **what, **images, **shift_pair, size=contest.size, repeat=cell.repeat, **who, seed=contest.seed
        )
        yield {
            "run": run_id(contest.name, cell),
            "job": asdict(job),
            "content_hash": dict.fromkeys(("train", "test"), (run_id(cell) * 4)[:64]),
            "hypothesis": {"language": "asp", "rules": rules if cell.percent < 80 else rules[:-1]},
            "learning_time": 1.0,
            "versions": {"nsl-bench": "0.1.0", "python": "3.12.1", "numpy": "2.1.0", "torch": "2.5.0"},
            "environment": {"system": "Linux", "machine": "x86_64", "cores": "2"},
            "started": "2026-01-01T00:00:00+00:00",
        }


def make(folder: Path, submissions: int) -> int:
    """Write the board and its submissions; how many runs."""
    (folder / "board.toml").write_text(BOARD)
    contests = read_contests(folder / "board.toml")
    rules = {
        contest.name: tuple(registry.create("benchmark", contest.task).true_rule.strip().splitlines())
        for contest in contests
    }
    shared = folder / PREDICTIONS
    runs = (run for contest in contests for run in submitted(contest, rules[contest.name]))
    said = [json.dumps(run) for run in runs]
    if not shared.is_file():
        write_predictions(contests, shared)
    looks = looks_of(shared)
    total = 0
    for seed in range(submissions):
        place = folder / "submissions" / f"learner-{seed:03}"
        total += sum(len(contest.cells) for contest in contests)
        if (place / SCORES).is_file():
            continue
        place.mkdir(parents=True, exist_ok=True)
        learner = f"learner_{seed}" if seed else "ffnsl"
        manifest = Manifest(f"Learner {seed}", learner, "pretrained", "CC-BY-4.0", date="2026-01-01")
        (place / MANIFEST).write_text(json.dumps(asdict(manifest)))
        os.link(shared, place / PREDICTIONS)
        write_lines(place / RUNS, said)
        skill = 0.5 + 0.5 * seed / submissions
        scores = tuple(run for contest in contests for run in scored(contest, skill, seed, looks))
        examples = tuple(e for contest in contests for e in example_scores(contest, skill, seed))
        write_scores(ScoreReport(manifest.name, (), runs=scores, examples=examples), place / SCORES)
    return total


def opening_time(site: Path) -> float | None:
    """Seconds until the overview is loaded and filtered; None without a browser."""
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver is None:
        return None
    try:
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service
    except ImportError:
        return None
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    browser = webdriver.Chrome(options=options, service=Service(driver))
    try:
        times = []
        for _ in range(3):
            browser.get("about:blank")
            browser.get((site / "index.html").resolve().as_uri())
            times.append(
                browser.execute_script(
                    "return performance.timing.loadEventEnd - performance.timing.navigationStart"
                )
            )
        return float(min(times)) / 1000
    finally:
        browser.quit()


def main() -> None:
    """Make the submissions, build the site, print what it took."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--folder", type=Path, default=Path("results/leaderboard"))
    parser.add_argument("--submissions", type=int, default=300)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    runs = make(options.folder, options.submissions)
    site = options.folder / "site"
    words = ["leaderboard", "build", "--board", options.folder / "board.toml", "--out", site]
    words += ["--submissions", options.folder / "submissions"]
    clock = time.perf_counter()
    subprocess.run([sys.executable, "-m", "nsl_bench", *map(str, words)], check=True)
    wall = time.perf_counter() - clock
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu, memory = used.ru_utime + used.ru_stime, used.ru_maxrss / 1024**2
    size = sum(p.stat().st_size for p in site.rglob("*") if p.is_file()) / 1024**2
    overview = (site / "index.html").stat().st_size / 1000
    pair = (site / "data/learners.js", *sorted((site / "data/learner").iterdir())[:2])
    pair_kb = sum(path.stat().st_size for path in pair) / 1000
    print(f"{options.submissions} submissions, {runs:,} runs")
    print(f"build: {wall:.1f} s wall, {cpu:.1f} s CPU, at most {memory:.2f} GB a process")
    print(f"site: {size:,.0f} MB; overview: {overview:.0f} kB; data of a pair: {pair_kb:.0f} kB")
    seconds = opening_time(site)
    print("overview opens: " + ("no browser here" if seconds is None else f"{seconds:.2f} s"))


if __name__ == "__main__":
    main()
