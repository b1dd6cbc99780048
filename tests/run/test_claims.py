"""Two sweeps on one results folder share its runs: none is done twice, and no claim outlives its sweep."""

import itertools
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from datetime import datetime, timedelta, tzinfo
from pathlib import Path

import pytest

from nsl_bench.run import bench as bench_module
from nsl_bench.run.bench import Bench
from nsl_bench.run.claims import Claims
from nsl_bench.run.grid import Rerun
from nsl_bench.run.job import Job
from nsl_bench.run.plan import plan
from nsl_bench.run.store import Store
from nsl_bench.run.sweep import Tally, sweep

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="claims are locks of POSIX systems")

HOLDER = """
import sys, time
from pathlib import Path
from nsl_bench.run.claims import Claims
print(Claims(Path(sys.argv[1])).take("ab" * 10), flush=True)
time.sleep(600)
"""


@pytest.mark.parametrize("removed", [False, True])
def test_a_claim_ends_with_its_process_alone(tmp_path: Path, removed: bool) -> None:
    """No hidden file that somebody removes, and no look at the folder, ends a claim."""
    Store(tmp_path)
    words = [sys.executable, "-c", HOLDER, str(tmp_path)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None and holder.stdout.readline() == "True\n"
        mine, also = Claims(tmp_path), Claims(tmp_path)
        assert not mine.take("ab" * 10) and mine.take("cd" * 10) and not also.take("cd" * 10)
        also.close()  # which ends none of the other's
        for file in tmp_path.glob(".*") if removed else ():
            file.unlink()
        Store(tmp_path).statuses()
        assert not mine.take("ab" * 10)
        words[2] = HOLDER.replace("ab", "cd").replace("time.sleep(600)", "")
        assert subprocess.run(words, capture_output=True, text=True).stdout == "False\n"
        holder.kill()
        holder.wait()
        assert removed or mine.take("ab" * 10)
    mine.close()


class Gated(Bench):
    """Stops in its first run until it is told to go on."""

    def __init__(self) -> None:
        super().__init__()
        self.ran: list[str] = []
        self.begun, self.go_on = threading.Event(), threading.Event()

    def run(self, job: Job, given: object = None):  # type: ignore[no-untyped-def]
        self.ran.append(job.key())
        self.begun.set()
        assert self.go_on.wait(60)
        return super().run(job, given)


def both(
    folder: Path, rerun: Rerun = "missing", between: Callable[[], object] = lambda: None
) -> tuple[list[Tally], list[str], list[str]]:
    """Two sweeps, the second of which begins while the first is in its first run; what each ran."""
    jobs = plan("sudoku_4x4", ["majority"], track="symbolic", repeats=range(1, 6))
    first, second = Gated(), Gated()
    second.go_on.set()
    tallies: list[Tally] = []

    def one(bench: Gated) -> None:
        tallies.append(sweep(jobs, Store(folder), bench, rerun=rerun))

    threads = [threading.Thread(target=one, args=(bench,)) for bench in (first, second)]
    threads[0].start()
    assert first.begun.wait(60)
    threads[1].start()
    deadline = time.monotonic() + 60
    while len(second.ran) < len(jobs) - 1:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    between()
    first.go_on.set()
    for thread in threads:
        thread.join(60)
    return tallies, first.ran, second.ran


@pytest.mark.parametrize("rerun", ["missing", "failed", "all"])
def test_two_sweeps_share_the_runs(
    tmp_path: Path, rerun: Rerun, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nsl_bench.run.sweep._WAIT_SECONDS", 0.01)
    tallies, first, second = both(tmp_path)
    assert len(first) == 1 and len(second) == 4 and not set(first) & set(second)
    assert sorted(map(str, tallies)) == [
        "1 run done, 0 failed, 0 already done, 4 done by another sweep",
        "4 runs done, 0 failed, 0 already done, 1 done by another sweep",
    ]
    assert "1 run is in progress in another sweep; waiting." in capfd.readouterr().err
    assert len(list(Store(tmp_path))) == 5
    if rerun == "all":
        _, first, second = both(tmp_path, rerun)
        assert len(list(Store(tmp_path))) == 10 and not set(first) & set(second)


def test_what_another_sweep_did_is_known_after_a_compaction(tmp_path: Path) -> None:
    _, first, second = both(tmp_path, between=lambda: Store(tmp_path).compact())
    assert not set(first) & set(second) and len(list(Store(tmp_path))) == 5


def test_the_clock_is_set_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a day with every look at it: nothing is done twice, takes less than no time, or comes before."""
    looks = itertools.count()

    class Clock(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> "Clock":
            return cls(2026, 1, 31, tzinfo=tz) - timedelta(days=next(looks))

    monkeypatch.setattr(bench_module, "datetime", Clock)
    monkeypatch.setattr(time, "time", lambda: Clock.now().timestamp())
    monkeypatch.setattr("nsl_bench.run.sweep._WAIT_SECONDS", 0.01)
    _, first, second = both(tmp_path, between=lambda: Store(tmp_path).compact())
    assert len(first) + len(second) == 5 and not set(first) & set(second)
    _, first, second = both(tmp_path, "all")
    records = list(Store(tmp_path))
    assert sorted(first + second) == sorted(record.key for record in records[5:])
    assert [r.started for r in records] == sorted((r.started for r in records), reverse=True)
    times = [value for r in records for name, value in r.metrics.items() if name.endswith("_time")]
    assert len(times) >= 40 and min(times) >= 0 and min(r.seconds for r in records) >= 0
    assert all(Store(tmp_path).latest()[record.key] == record for record in records[5:])
    assert sweep(plan("sudoku_4x4", ["majority"], track="symbolic"), Store(tmp_path), Bench()).before == 1


def test_the_runs_of_a_sweep_that_is_given_up_are_taken_over(tmp_path: Path) -> None:
    class Ends(Bench):
        def run(self, job: Job, given: object = None):  # type: ignore[no-untyped-def]
            raise KeyboardInterrupt

    jobs = plan("sudoku_4x4", ["majority"], track="symbolic", repeats=[1, 2])
    with pytest.raises(KeyboardInterrupt):
        sweep(jobs, Store(tmp_path), Ends())
    assert sweep(jobs, Store(tmp_path), Bench()) == Tally(2, 0, 0, 0)
