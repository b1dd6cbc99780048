"""Times the rule learner on tasks of growing size and noise, each in a process of its own.

    python benchmarks/learn.py [--only NAME ...] [--oracles FOLDER] [--fastlas PATH] [--keep FOLDER]

For each task it prints examples, rule bodies evaluated, distinct rules, rules given to the solver, the
seconds of each phase, peak memory and score; with ``--fastlas``, FastLAS's CPU seconds on the same task
(one thread, as the adapter writes it) in the same run, the ratio of CPU seconds, and its rules' score.

Tasks are made from seeds: clean symbolic data of the benchmarks, or of
the hidden tables below, with the concepts of a share of the examples replaced at random.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from nsl_bench.core.errors import UserError
from nsl_bench.core.types import BLANK, Split, WeightedExample
from nsl_bench.logic.las.task import LasTask

if TYPE_CHECKING:
    from nsl_bench.core.benchmark import Benchmark

MIB = 1 << 20


def benchmark_task(spec: str, n: int, noise: int, seed: int = 0) -> LasTask:
    """The task that FFNSL makes of `n` examples when `noise` % of them are predicted at random."""
    from nsl_bench.core import registry

    benchmark: Benchmark = registry.create("benchmark", spec)
    benchmark.sizes = {**benchmark.sizes, "timed": n}
    split = benchmark.generate("train", "timed", 1, np.random.default_rng(seed))
    return task_of(benchmark, split, noise, seed)


def task_of(benchmark: Benchmark, split: Split, noise: int, seed: int) -> LasTask:
    """A split as a learning task; penalties are as a network's confidences would make them."""
    rng = np.random.default_rng([seed, noise])
    concepts = split.concepts.copy()
    wrong = rng.permutation(len(split)) < noise * len(split) // 100
    chance = rng.integers(0, len(benchmark.concept_space), concepts.shape)
    concepts = np.where(wrong[:, None] & (concepts != BLANK), chance, concepts).astype(np.int16)
    penalties = np.where(wrong, rng.integers(26, 60, len(split)), rng.integers(85, 101, len(split)))
    examples = [
        WeightedExample(
            id=f"id{i}",
            penalty=int(penalties[i]),
            inclusions=benchmark.labels.inclusions(int(label)),
            exclusions=benchmark.labels.exclusions(int(label)),
            context=benchmark.context(concepts[i], {}),
        )
        for i, label in enumerate(split.labels)
    ]
    return LasTask.build(examples, benchmark.background, benchmark.bias, benchmark.name)


def table_task(kind: str, n: int, noise: int, seed: int = 0) -> LasTask:
    """Crop yields or scenes: labels from a hidden table, `noise` % of them replaced at random."""
    rng = np.random.default_rng([seed, n, noise])
    crop = kind == "crop"
    labels = 3 if crop else 5
    target = "yield" if crop else "label"
    table = rng.integers(0, labels, (19, 14, 21) if crop else (67,))
    grown = rng.integers(0, 14, (19, 2))
    examples = []
    for i in range(n):
        if crop:
            location = int(rng.integers(19))
            species = int(grown[location, rng.integers(2)])
            disease = (3 * species + int(rng.integers(5))) % 21
            label = int(table[location, species, disease])
            context: tuple[str, ...] = (
                f"location(l{location})",
                f"species(s{species})",
                f"disease(d{disease})",
            )
        else:
            scene = int(rng.integers(67))
            label, context = int(table[scene]), (f"image(scene{scene})",)
        if rng.integers(100) < noise:
            label = int(rng.integers(labels))
        others = tuple(f"{target}({k})" for k in range(labels) if k != label)
        examples.append(
            WeightedExample(f"id{i}", int(rng.integers(50, 101)), (f"{target}({label})",), others, context)
        )
    if crop:
        background = ":- yield(X), yield(Y), X < Y.\nyield_type(0..2).\n" + "\n".join(
            f"{name}_type({name[0]}{k})."
            for name, size in (("location", 19), ("species", 14), ("disease", 21))
            for k in range(size)
        )
        modes = "#modeh(yield(const(yield_type))).\n" + "\n".join(
            f"#modeb({name}(const({name}_type)))." for name in ("location", "species", "disease")
        )
    else:
        background = "label_type(0..4).\n" + "\n".join(f"scene(scene{k})." for k in range(67))
        modes = "#modeh(label(const(label_type))).\n#modeb(image(const(scene)))."
    costs = '#bias("penalty(1, head).").\n#bias("penalty(1, body(X)) :- in_body(X).").'
    return LasTask.build(examples, background, f"{modes}\n#maxv(0).\n{costs}", kind)


def threshold_task(n: int, noise: int, *, defined: bool, seed: int = 0) -> LasTask:
    """Speeds in 0..1000 that are right between two thresholds, but for `noise` % of the examples.

    With `defined`, bodies compare by predicates of the background, else by ``num_var``.
    """
    rng = np.random.default_rng([seed, n, noise])
    examples = []
    for i in range(n):
        speed = int(rng.integers(1_001))
        right = (300 < speed < 700) != (rng.integers(100) < noise)
        atoms = (("ok",), ()) if right else ((), ("ok",))
        examples.append(WeightedExample(f"id{i}", int(rng.integers(50, 101)), *atoms, (f"speed({speed})",)))
    background = "num(0..1000).\n"
    modes = "#modeb(speed(num_var(num)))."
    if defined:
        background += "above(X,Y) :- num(X), num(Y), X > Y.\nbelow(X,Y) :- num(X), num(Y), X < Y."
        modes = "#modeb(speed(var(num))). " + " ".join(
            f"#modeb({name}(var(num), const(num)))." for name in ("above", "below")
        )
    costs = '#bias("penalty(1, head)."). #bias("penalty(1, body(X)) :- in_body(X).").'
    return LasTask.build(examples, background, f"#modeh(ok). {modes} #maxv(1). {costs}", "thresholds")


REDUCED = "sudoku_4x4:knowledge=reduced"


def reduced_task(n: int, noise: int) -> LasTask:
    """4x4 grids without knowledge of the grid, with literals grounded without replacement."""
    task = benchmark_task(REDUCED, n, noise)
    return replace(task, bias=replace(task.bias, ground_without_replacement=True))


def tasks() -> Iterator[tuple[str, Callable[[], LasTask]]]:
    """Names of tasks and what makes them."""
    for n in (104, 10_400):
        for noise in (0, 50, 100):
            yield f"follow_suit-{n}-{noise}", lambda n=n, noise=noise: benchmark_task("follow_suit", n, noise)
    for n in (320, 3_200, 32_000):
        for noise in (0, 20, 100):
            yield f"sudoku_4x4-{n}-{noise}", lambda n=n, noise=noise: benchmark_task("sudoku_4x4", n, noise)
    for n, noises in ((320, (0, 20, 50, 100)), (3_200, (0, 20, 50))):
        for noise in noises:
            yield f"sudoku_4x4_reduced-{n}-{noise}", lambda n=n, noise=noise: reduced_task(n, noise)
    for n in (320, 3_200):
        for noise in (0, 20, 100):
            yield f"sudoku_9x9-{n}-{noise}", lambda n=n, noise=noise: benchmark_task("sudoku_9x9", n, noise)
    for n in (2_000, 10_000):
        yield f"crop-{n}-30", lambda n=n: table_task("crop", n, 30)
    for noise in (0, 10):
        for name, defined in (("num_var", False), ("const", True)):
            yield (
                f"thresholds_{name}-200-{noise}",
                lambda noise=noise, defined=defined: threshold_task(200, noise, defined=defined),
            )
    for n in (5_000, 50_000):
        yield f"scene-{n}-50", lambda n=n: table_task("scene", n, 50)


def peak_bytes() -> int:
    """Peak memory of this process; its parent's does not count where Linux tells them apart."""
    status = Path("/proc/self/status")
    if status.exists():
        lines = dict(line.split(":", 1) for line in status.read_text(encoding="ascii").splitlines())
        return int(lines["VmHWM"].split()[0]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def solve_one(path: Path) -> dict[str, object]:
    """Reads and solves the task at `path`; what this process measured."""
    from nsl_bench.logic.las.solver import solve

    start = time.perf_counter()
    task = LasTask.read(path)
    read = time.perf_counter() - start
    solution = solve(task)
    return {
        "status": solution.status,
        "score": solution.score,
        "tier": solution.tier,
        "read": read,
        "peak": peak_bytes(),
        **solution.statistics,
    }


def children_cpu() -> float:
    """CPU seconds of the processes that this one has started and that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def environment(bytecode: Path) -> dict[str, str]:
    """Environment variables under which modules are compiled once, as in an installation, into a folder."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPYCACHEPREFIX": str(bytecode)}


def compile_modules(variables: Mapping[str, str]) -> None:
    """Compiles all modules of the project and of the MaxSAT solver, so that no timed process does."""
    for name in ("nsl_bench", "pysat"):
        found = importlib.util.find_spec(name)
        for folder in (found and found.submodule_search_locations) or ():
            subprocess.run([sys.executable, "-m", "compileall", "-q", folder], check=True, env=variables)


def timed(path: Path, variables: Mapping[str, str]) -> dict[str, object]:
    """`solve_one` in a process of its own, with its wall and CPU seconds."""
    before = children_cpu()
    start = time.perf_counter()
    run = subprocess.run(
        [sys.executable, __file__, "--one", str(path)],
        capture_output=True,
        text=True,
        check=True,
        env=variables,
    )
    seconds = time.perf_counter() - start
    return {**json.loads(run.stdout), "seconds": seconds, "cpu": children_cpu() - before}


def beside_fastlas(binary: str, path: Path, limit: float, ours: float) -> list[str]:
    """FastLAS's CPU seconds on the adapter's rendering of the file, how many times ours, and its score."""
    from nsl_bench.logic.las.adapters.programs import fastlas

    before = children_cpu()
    try:
        solution = fastlas(LasTask.read(path), time_limit=limit, executable=binary)
    except UserError as refusal:
        return ["refused" if "does not know" in str(refusal) else "failed", "", ""]
    if "stopped" in solution.message:
        return [f"> {limit:.0f}", f"> {limit / ours:.0f}", "none"]
    seconds = children_cpu() - before
    return [f"{seconds:.1f}", f"{seconds / ours:.0f}", str(solution.score)]


COLUMNS = (
    *("task", "examples", "evaluated", "distinct", "solved", "read", "ground", "tables", "enumerate"),
    *("reduce", "solve", "seconds", "cpu", "MiB", "score"),
)


def row(name: str, result: dict[str, object]) -> list[str]:
    """The table's row."""

    def number(key: str) -> str:
        value = result.get(key, "")
        return f"{value:.2f}" if isinstance(value, float) else str(value)

    keys = ["examples", "evaluated", "distinct", "solved", "read"]
    keys += [f"seconds_{p}" for p in ("grounding", "tables", "enumeration", "reducing", "solving")]
    cells = [name, *(number(key) for key in [*keys, "seconds", "cpu"])]
    proven = "" if result["status"] == "optimal" else f" ({result['status']})"
    return [*cells, f"{int(str(result['peak'])) / MIB:.0f}", f"{result['score']}{proven}"]


def main() -> None:
    """Runs what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", nargs="*", default=[], help="tasks whose name contains one of these")
    parser.add_argument("--oracles", type=Path, help="a folder of .las files to time too")
    parser.add_argument("--fastlas", help="FastLAS's binary")
    parser.add_argument("--fastlas-limit", type=float, default=100.0, help="seconds that FastLAS may take")
    parser.add_argument("--keep", type=Path, help="a folder for the task files")
    parser.add_argument("--one", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(solve_one(options.one)))
        return
    header = [*COLUMNS, *(["FastLAS", "ratio", "FastLAS's score"] if options.fastlas else [])]
    print("| " + " | ".join(header) + " |")
    print("|" + " --- |" * len(header))
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep or Path(scratch)
        variables = environment(Path(scratch) / "bytecode")
        folder.mkdir(parents=True, exist_ok=True)
        paths: list[tuple[str, Callable[[], LasTask] | None, Path]] = [
            (name, make, folder / f"{name}.las") for name, make in tasks()
        ]
        if options.oracles:
            paths += [(path.stem, None, path) for path in sorted(options.oracles.glob("*.las"))]
        warm_up = Path(scratch) / "warm-up.las"
        warm_up.write_text(table_task("scene", 100, 50).to_las(), encoding="utf-8")
        compile_modules(variables)
        timed(warm_up, variables)
        for name, make, path in paths:
            if options.only and not any(part in name for part in options.only):
                continue
            if make is not None and not path.exists():
                path.write_text(make().to_las(), encoding="utf-8")
            result = timed(path, variables)
            cells = row(name, result)
            if options.fastlas:
                cells += beside_fastlas(
                    options.fastlas, path, options.fastlas_limit, float(str(result["cpu"]))
                )
            print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
