"""Predictions that unpack to much cost little, and damaged ones a sentence, each in a process of its own."""

import io
import os
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from forked import Calls
from guarded_calls import aborts
from mutations import damaged
from nsl_bench.leaderboard import predictions, scoring
from nsl_bench.leaderboard.submission import PREDICTIONS
from packed import Rows, Scored, edit_runs
from sealed import resign

from nsl_bench.logic.guarded.child import Ended

Change = Callable[[Path], object]
posix = pytest.mark.skipif(os.name != "posix", reason="the child process needs a POSIX system")

OTHER = "ab" * 10
MANY, FILES = 20_000_000, 2000
MOST_MB, MOST_SECONDS = 750, 8
"""What one of these may take, beyond what Python and the libraries take before a submission is opened."""


def table_of(run: str, labels: int, numbers: int, schema: pa.Schema) -> pa.Table:
    """One row with so many labels and probabilities, all of them 0."""
    columns = [
        pa.ListArray.from_arrays(pa.array([0, n], pa.int32()), pa.array(np.zeros(n, kind)))
        for n, kind in ((labels, np.int16), (numbers, np.int16))
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
    other = {"run": OTHER}
    edit_runs(folder, lambda runs: runs.append(runs[0] | other | {"job": runs[0]["job"] | {"seed": 999}}))


@pytest.fixture(scope="module")
def warm(
    good: dict[str, Path], board_file: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Calls]:
    harmless = shutil.copytree(good["ffnsl"], tmp_path_factory.mktemp("harmless") / "submission")
    words = [["score-submission", str(harmless), "--board", str(board_file)]]
    warm = Calls(tmp_path_factory.mktemp("warm"), "mutations:said", words)
    assert warm.prepared["code"] == 0
    yield warm
    warm.close()


def apart(warm: Calls, folder: Path, board_file: Path, *options: str) -> dict[str, Any]:
    """A folder is signed and scored in a process of its own; exit code, output, and what it cost."""
    words = ["score-submission", str(resign(folder)), "--board", str(board_file), *options]
    done = warm.call("mutations:said", [words])
    assert not done["signal"] and not done["trace"] and not done["given"]["trace"], done
    return {**done, "code": done["given"]["code"], "said": "\n".join(done["given"]["said"])}


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


def nothing(folder: Path) -> None:
    """A harmless submission."""


def another_group(folder: Path) -> None:
    add_run(folder)
    write(folder, table_of(OTHER, 1, 2, pq.read_schema(folder / PREDICTIONS)))


def bomb_in_a_run(folder: Path) -> None:
    table = pq.read_table(folder / PREDICTIONS)
    bomb = table_of(table["run"][0].as_py(), MANY, MANY, table.schema)
    write(folder, pa.concat_tables([bomb, table.slice(1)]).combine_chunks(), kept=False)


def bomb_in_a_run_that_lies(folder: Path) -> None:
    bomb_in_a_run(folder)
    lie(folder, MANY + 1000, 500)


def bomb_in_another_run(folder: Path) -> None:
    add_run(folder)
    table = pq.read_table(folder / PREDICTIONS)
    bomb = table_of(OTHER, MANY, MANY, table.schema)
    write(folder, pa.concat_tables([table, bomb]).combine_chunks(), kept=False)


def empty_groups(folder: Path, count: int = 100_000) -> None:
    """The good predictions and row groups of no rows; their list is doubled, not written one by one."""
    empty, listed = io.BytesIO(), io.BytesIO()
    pq.write_table(pq.read_schema(folder / PREDICTIONS).empty_table(), empty)
    groups = pq.read_metadata(empty)
    while groups.num_row_groups < count:
        half = io.BytesIO()
        groups.write_metadata_file(half)
        groups.append_row_groups(pq.read_metadata(half))
    own = pq.read_metadata(folder / PREDICTIONS)
    own.append_row_groups(groups)
    own.write_metadata_file(listed)
    data = (folder / PREDICTIONS).read_bytes()
    values = data[: len(data) - 8 - int.from_bytes(data[-8:-4], "little")]
    (folder / PREDICTIONS).write_bytes(values + listed.getvalue()[4:])


def long_names(folder: Path) -> None:
    table = pq.read_table(folder / PREDICTIONS)
    write(folder, table.slice(0, 1).set_column(0, "run", pa.array(["a" * 200_000_000])), kept=False)


def many_rows(folder: Path) -> None:
    """200,000 rows of a run that no contest asks for, each with one label."""
    add_run(folder)
    table = pq.read_table(folder / PREDICTIONS)
    row = table_of(OTHER, 1, 2, table.schema)
    write(folder, pa.concat_tables([table, *[row] * 200_000]).combine_chunks(), kept=False)


@pytest.mark.parametrize(
    ("bomb", "code", "words"),
    [
        (another_group, 1, "must have one row group of at most 9 rows for 3 runs; got 3 rows in 2"),
        (bomb_in_another_run, 0, "1 run belongs to no contest"),
        (bomb_in_a_run, 1, "must have 1000 labels and 2000 probabilities; got 20000000 and 20000000"),
        (bomb_in_a_run_that_lies, 1, "predictions.parquet"),
        (nothing, 0, "2 runs scored"),
        (empty_groups, 1, "write one row group"),
        (long_names, 1, "bytes of run for 1 rows"),
        (many_rows, 1, "must have one row group of at most 9 rows for 3 runs; got 200,002 rows in 1"),
    ],
)
def test_a_bomb_costs_little(
    rules: Path, board_file: Path, warm: Calls, bomb: Change, code: int, words: str
) -> None:
    bomb(rules)
    done = apart(warm, rules, board_file)
    assert done["code"] == code and words in done["said"].replace("\\", ""), done
    told = f"{bomb.__name__}: {done['more'] / 1e6:.0f} MB and {done['cpu']:.1f} s more than nothing"
    assert done["more"] < MOST_MB * 1e6 and done["cpu"] < MOST_SECONDS, told
    print(f"\n{told}")


@pytest.mark.parametrize(
    ("option", "seconds", "words"),
    [
        ("--time-limit", "3", "takes longer than"),
        ("--solver-seconds", "1", "Answering with the rules of the run"),
        ("--memory-limit", "512M", "memory allowed"),
    ],
)
def test_a_limit_of_time_and_of_memory_for_the_whole(
    rules: Path, board_file: Path, warm: Calls, option: str, seconds: str, words: str
) -> None:
    slow = f"p(f({','.join('XYZ' * 40)})) :- r(X), r(Y), r(Z). r(1..{{}}). invalid :- p(0)."

    def add(runs: Rows) -> None:
        for k, run in enumerate(runs):
            run["hypothesis"]["rules"].append(slow.format(2000 + k))

    edit_runs(rules, add)
    done = apart(warm, rules, board_file, option, seconds)
    assert done["code"] == 1 and words in done["said"] and "allowed" in done["said"], done
    assert "Judging rules: 1 of 2 hypotheses, sudoku_4x4 ffnsl" in done["said"]


@pytest.mark.skipif(sys.platform != "linux", reason="a process is killed as Linux does")
def test_a_death_is_one_sentence(rules: Path, board_file: Path, warm: Calls) -> None:
    """clingo divides -2147483648 by -1, which ends the process."""
    deadly = "invalid :- digit(X,Y), Y*65536*65536 = 0, (0-2147483647-1)/(-1) = 0."
    edit_runs(rules, lambda runs: runs[0]["hypothesis"]["rules"].append(deadly))
    done = apart(warm, rules, board_file)
    assert done["code"] == 1 and "Answering with the rules of the run" in done["said"]
    assert "crashed (SIGFPE)" in done["said"]


# Damaged files.


@posix
def test_a_submission_that_ends_the_scorer_is_not_accepted(
    good: dict[str, Path], scored: Scored, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scoring, "_scored_here", aborts)
    (problem,) = scored(good["majority"]).problems
    assert problem == "Scoring the submission crashed (SIGABRT): a file is damaged."


@posix
@pytest.mark.parametrize("column", ["run", "predicted", "probabilities"])
def test_a_row_group_of_another_column_is_refused(forest: Path, scored: Scored, column: str) -> None:
    data = (forest / PREDICTIONS).read_bytes()
    before, _, behind = data.rpartition(column.encode())
    (forest / PREDICTIONS).write_bytes(before + b"x" * len(column) + behind)
    (problem,) = scored(resign(forest)).problems
    assert problem == f"{PREDICTIONS}: its row group has a missing or extra column."


@posix
def test_a_site_says_which_predictions_are_damaged(
    good: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(predictions, "_read", aborts)
    path = good["majority"] / PREDICTIONS
    with pytest.raises(Ended, match=rf"^Reading {path} crashed \(SIGABRT\): it is damaged\.$"):
        predictions.read_accepted(path)


@posix
@pytest.mark.slow
def test_no_damaged_file_ends_the_scorer(good: dict[str, Path], scored: Scored, tmp_path: Path) -> None:
    """2,000 files; minutes."""
    folder = Path(shutil.copytree(good["majority"], tmp_path / "submission"))
    whole = (folder / PREDICTIONS).read_bytes()
    ends: Counter[str] = Counter()
    for seed in range(FILES):
        (folder / PREDICTIONS).write_bytes(damaged(whole, seed))
        report = scored(resign(folder))
        assert all(len(problem.splitlines()) == 1 for problem in report.problems), report
        died = any(" crashed " in problem for problem in report.problems)
        ends["accepted" if report.accepted else "a child died" if died else "refused"] += 1
    print(f"\n{dict(ends)}")
    assert ends["refused"] > FILES // 20
