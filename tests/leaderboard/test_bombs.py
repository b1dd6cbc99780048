"""Predictions that claim little and unpack to much cost little; each is measured in processes of its own."""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from nsl_bench.leaderboard.contests import Contest
from nsl_bench.leaderboard.scoring import score
from nsl_bench.leaderboard.submission import PREDICTIONS, RUNS
from nsl_bench.leaderboard.untrusted import Limits

Change = Callable[[Path], object]

OTHER = "ab" * 10
MANY = 20_000_000
MOST_MB, MOST_SECONDS = 700, 30
"""What one of these may take, the start of Python and the libraries among it."""


@pytest.fixture
def folder(good: dict[str, Path], tmp_path: Path) -> Path:
    return Path(shutil.copytree(good["ffnsl"], tmp_path / "submission"))


def table_of(run: str, labels: int, numbers: int, schema: pa.Schema) -> pa.Table:
    """One row with so many labels and probabilities, all of them 0."""
    columns = [
        pa.ListArray.from_arrays(pa.array([0, n], pa.int32()), pa.array(np.zeros(n, kind)))
        for n, kind in ((labels, np.int8), (numbers, np.float32))
    ]
    return pa.table([[run], ["hypothesis"], *columns], schema=schema)


def write(folder: Path, *more: pa.Table, kept: bool = True, **options: Any) -> None:
    """The good predictions, and then more tables, a row group each."""
    table = pq.read_table(folder / PREDICTIONS)
    with pq.ParquetWriter(folder / PREDICTIONS, table.schema, compression="zstd", **options) as writer:
        for one in ([table] if kept else []) + list(more):
            writer.write_table(one)


def add_run(folder: Path) -> None:
    """A run that no contest asks for."""
    lines = (folder / RUNS).read_text().splitlines()
    run = json.loads(lines[0])
    run["run"], run["job"]["seed"] = OTHER, 999
    (folder / RUNS).write_text("\n".join([*lines, json.dumps(run)]) + "\n")


def cost(folder: Path, board: Path) -> tuple[int, str, float, float]:
    """Exit code and output of `score-submission`, and the MB and CPU seconds of all its processes."""
    words = ["score-submission", str(folder), "--board", str(board)]
    with subprocess.Popen(
        [sys.executable, "-m", "nsl_bench", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        most, spent = 0.0, {}
        while process.poll() is None:
            held = 0
            with contextlib.suppress(psutil.Error):
                top = psutil.Process(process.pid)
                for one in (top, *top.children(recursive=True)):
                    held += one.memory_info().rss
                    spent[one.pid] = sum(one.cpu_times()[:2])
            most = max(most, held / 1e6)
            time.sleep(0.02)
        assert process.stdout is not None
        return process.returncode, process.stdout.read(), most, sum(spent.values())


def padded(value: int, width: int) -> bytes:
    """A whole number as Thrift's compact protocol has it, in so many bytes."""
    value = value << 1
    found = bytearray((value >> 7 * k & 0x7F) | 0x80 for k in range(width))
    found[-1] &= 0x7F
    return bytes(found)


def lie(folder: Path, true: int, claimed: int) -> None:
    """Another number of values in the end of the file than in its pages."""
    data = bytearray((folder / PREDICTIONS).read_bytes())
    end = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    width = next(k for k in range(1, 10) if true << 1 < 1 << 7 * k)
    footer = bytes(data[end:])
    assert padded(true, width) in footer
    data[end:] = footer.replace(padded(true, width), padded(claimed, width))
    (folder / PREDICTIONS).write_bytes(data)


def bomb_in_another_run(folder: Path) -> None:
    add_run(folder)
    schema = pq.read_schema(folder / PREDICTIONS)
    write(folder, table_of(OTHER, MANY, MANY, schema))


def bomb_in_a_run_that_lies(folder: Path) -> None:
    table = pq.read_table(folder / PREDICTIONS)
    run = table["run"][0].as_py()
    write(folder, table_of(run, MANY, MANY, table.schema), table.slice(1), kept=False)
    lie(folder, MANY, 500)


def bomb_in_a_run(folder: Path) -> None:
    table = pq.read_table(folder / PREDICTIONS)
    run = table["run"][0].as_py()
    write(folder, table_of(run, MANY, MANY, table.schema), table.slice(1), kept=False)


def bomb_in_the_same_group(folder: Path) -> None:
    add_run(folder)
    table = pq.read_table(folder / PREDICTIONS)
    bomb = table_of(OTHER, MANY, MANY, table.schema)
    write(folder, pa.concat_tables([table, bomb]).combine_chunks(), kept=False)


def empty_groups(folder: Path) -> None:
    write(folder, *[pq.read_schema(folder / PREDICTIONS).empty_table()] * 100_000)


def empty_groups_of_many_runs(folder: Path) -> None:
    lines = (folder / RUNS).read_text().splitlines()
    run = json.loads(lines[0])
    run["job"]["seed"] = 999
    del run["hypothesis"], run["versions"], run["environment"]
    more = (json.dumps({**run, "run": f"{k:020x}"}) for k in range(19_000))
    (folder / RUNS).write_text("\n".join([*lines, *more]) + "\n")
    write(folder, *[pq.read_schema(folder / PREDICTIONS).empty_table()] * 38_000)


def long_names(folder: Path) -> None:
    table = pq.read_table(folder / PREDICTIONS)
    write(folder, table.slice(0, 1).set_column(0, "run", pa.array(["a" * 200_000_000])))


def many_rows(folder: Path) -> None:
    """200,000 rows of a run that no contest asks for, each with one label."""
    add_run(folder)
    row = table_of(OTHER, 1, 2, pq.read_schema(folder / PREDICTIONS))
    write(folder, pa.concat_tables([row] * 200_000).combine_chunks())


@pytest.mark.parametrize(
    ("bomb", "code", "words"),
    [
        (bomb_in_another_run, 0, "1 runs belong to no contest"),
        (bomb_in_a_run, 1, "row group 0: 20,000,000 values"),
        (bomb_in_a_run_that_lies, 1, "predictions.parquet"),
        (bomb_in_the_same_group, 1, "row group 0: 20,00"),
        (empty_groups, 1, "write a row group for each run"),
        (empty_groups_of_many_runs, 0, "19000 runs belong to no contest"),
        (long_names, 1, "bytes of run for 1 rows"),
        (many_rows, 1, "write a row group for each run"),
    ],
)
def test_a_bomb_costs_little(
    folder: Path,
    board_file: Path,
    resign: Change,
    bomb: Change,
    code: int,
    words: str,
    record_property: Callable[[str, object], None],
) -> None:
    bomb(folder)
    resign(folder)
    found, said, megabytes, seconds = cost(folder, board_file)
    plain = said.replace("\\", "")
    assert found == code and words in plain and "Traceback" not in said, said
    assert megabytes < MOST_MB and seconds < MOST_SECONDS, (megabytes, seconds)
    record_property("MB", round(megabytes))
    record_property("seconds", round(seconds, 1))
    print(f"\n{bomb.__name__}: {megabytes:.0f} MB, {seconds:.1f} s CPU")


def test_a_limit_of_time_and_of_memory_for_the_whole(
    good: dict[str, Path], contests: tuple[Contest, ...], folder: Path, resign: Change
) -> None:
    lines = [json.loads(line) for line in (folder / RUNS).read_text().splitlines()]
    slow = "p(X,Y,Z,W,V) :- r(X), r(Y), r(Z), r(W), r(V). r(1..2000)."
    for k, run in enumerate(lines):
        run["hypothesis"]["rules"].append(slow.replace("2000", f"{2000 + k}"))
    (folder / RUNS).write_text("".join(json.dumps(line) + "\n" for line in lines))
    resign(folder)
    heard: list[str] = []
    verdict = score(folder, contests, Limits(seconds=20, memory=8 << 30), heard.append)
    (problem,) = verdict.problems
    assert "allowed" in problem and ("longer than" in problem or "memory" in problem)
    assert heard and heard[0].startswith("Judging rules: 1 of 2 hypotheses, sudoku_4x4 ffnsl")
    (problem,) = score(folder, contests, Limits(solver_seconds=1)).problems
    assert "Answering with the rules of the run" in problem and "longer than the 1 s allowed" in problem
    (problem,) = score(folder, contests, Limits(memory=512 << 20)).problems
    assert "memory allowed" in problem
    assert score(good["ffnsl"], contests).accepted


@pytest.mark.skipif(sys.platform != "linux", reason="a process is killed as Linux does")
def test_a_death_is_one_sentence(
    good: dict[str, Path], contests: tuple[Contest, ...], folder: Path, resign: Change
) -> None:
    """clingo divides -2147483648 by -1, which ends the process."""
    lines = [json.loads(line) for line in (folder / RUNS).read_text().splitlines()]
    lines[0]["hypothesis"]["rules"].append(
        "invalid :- digit(X,Y), Y*65536*65536 = 0, (0-2147483647-1)/(-1) = 0."
    )
    (folder / RUNS).write_text("".join(json.dumps(line) + "\n" for line in lines))
    resign(folder)
    (problem,) = score(folder, contests).problems
    assert problem.startswith("The rules of the run") or "Answering with the rules" in problem, problem
    assert score(good["ffnsl"], contests).accepted
