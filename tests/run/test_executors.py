"""Results are the same whatever executor does the runs: this process, others, or a Dask cluster."""

from __future__ import annotations

import os
import re
import subprocess
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from nsl_bench.isolation.limits import Limits
from nsl_bench.run.evaluate import Bench
from nsl_bench.run.job import plan
from nsl_bench.run.processes import Groups
from nsl_bench.run.record import Record
from nsl_bench.run.store import Store
from nsl_bench.run.sweep import Executor, Tally, sweep

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="learners are isolated on POSIX systems")

LEARNER = """
import time
from pathlib import Path
import numpy as np
here = Path({here!r})
class Gated:
    def fit(self, train):
        (here / "fits").open("a").write("x")
        while (here / "fits").stat().st_size > 4 and not (here / "gate").exists():
            time.sleep(0.05)
        return self
    def predict_proba(self, test):
        return np.random.random((len(test), test.n_labels)) / test.n_labels
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A Dask cluster of two worker processes."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1"
    ) as made:
        yield made


def same(record: Record) -> tuple[Any, ...]:
    """What must not depend on where a run was done."""
    numbers = {
        name: value
        for name, value in record.metrics.items()
        if name != "peak_memory" and not name.endswith("_time")
    }
    return record.key, record.status, numbers, record.hypothesis, record.content_hash


def test_every_executor_gives_the_same(cluster: Any, tmp_path: Path) -> None:
    (tmp_path / "gate").touch()
    (tmp_path / "mine.py").write_text(LEARNER.format(here=str(tmp_path)))
    learners = ["majority", "random_forest:trees=3", f"{tmp_path}/mine.py:Gated"]
    jobs = plan("sudoku_4x4", learners, shifts=["rotate90"], percents=[50], repeats=[1, 2])
    limits = Limits(time=600, write=(tmp_path,), read=(tmp_path,))
    found = {}
    for name, executor in {
        "here": Executor(),
        "processes": Executor(2),
        "dask": Executor(2, cluster.scheduler_address),
    }.items():
        store = Store(tmp_path / name)
        tally = sweep(jobs, store, Bench("cpu", limits=limits), executor=executor)
        assert tally == Tally(6, 0, 0, 0)
        assert sweep(jobs, store, Bench("cpu", limits=limits), executor=executor).before == 6
        found[name] = {key: same(record) for key, record in store.latest().items()}
        for key in found[name]:
            assert len(store.predictions(key)) == 2000
    assert found["here"] == found["processes"] == found["dask"]


def test_a_process_keeps_to_runs_that_share_their_data() -> None:
    jobs = [
        job
        for task in ("sudoku_4x4", "follow_suit")
        for job in plan(task, ["majority"], symbolic=True, repeats=range(1, 5))
    ]
    groups, taken = Groups(jobs), []
    while (job := groups.next_for(len(taken) % 2)) is not None:
        taken.append(job)
    own = [{job.task for job in taken[worker::2]} for worker in (0, 1)]
    assert all(len(tasks) == 1 for tasks in own) and own[0] != own[1]
    assert sorted(map(str, taken)) == sorted(map(str, jobs))


def test_a_process_without_a_group_of_its_own_takes_half_of_another() -> None:
    jobs = plan("sudoku_4x4", ["majority"], symbolic=True, repeats=range(1, 9))
    groups = Groups(jobs)
    assert groups.next_for(0) == jobs[0]
    assert [groups.next_for(1) for _ in range(4)] == jobs[4:]
    assert [groups.next_for(0) for _ in range(2)] == jobs[1:3]
    assert [groups.next_for(1), groups.next_for(0)] == [jobs[3], None]


def test_a_dask_worker_dies(cluster: Any, tmp_path: Path) -> None:
    from distributed import Client

    (tmp_path / "mine.py").write_text(LEARNER.format(here=str(tmp_path)))
    jobs = plan("sudoku_4x4", [f"{tmp_path}/mine.py:Gated"], symbolic=True, repeats=range(1, 11))
    limits = Limits(time=600, write=(tmp_path,), read=(tmp_path,))
    store = Store(tmp_path / "results")
    tallies: list[Any] = []
    executor = Executor(2, cluster.scheduler_address)
    work = threading.Thread(
        target=lambda: tallies.append(sweep(jobs, store, Bench("cpu", limits=limits), executor=executor))
    )
    work.start()
    deadline = time.monotonic() + 300
    while len(list(store)) < 3:
        assert time.monotonic() < deadline and work.is_alive()
        time.sleep(0.1)
    with Client(cluster.scheduler_address, set_as_default=False) as client:
        victim = next(iter(client.run(os.getpid).values()))
    os.kill(victim, 9)
    (tmp_path / "gate").touch()
    work.join(300)
    print(f"Dask worker killed: {tallies}")
    assert tallies and (tallies[0].done, tallies[0].failed) == (10, 0)
    records = list(store)
    assert len(records) == len({record.key for record in records}) == 10


def test_an_executor_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from nsl_bench.errors import UserError

    pytest.importorskip("distributed")
    monkeypatch.setattr("nsl_bench.run.sweep._DASK_SECONDS", 1)
    jobs = plan("sudoku_4x4", ["majority"], symbolic=True)
    with pytest.raises(UserError, match="The Dask scheduler tcp"):
        sweep(jobs, Store(tmp_path / "r"), Bench(), executor=Executor(1, "tcp://127.0.0.1:9"))


@pytest.mark.slow
def test_slurm_as_documented(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page's lines for submitit, with processes of this machine in Slurm's place."""
    submitit = pytest.importorskip("submitit", reason="submitit is not installed")
    page = (Path(__file__).parents[2] / "docs" / "add-a-learner.md").read_text(encoding="utf-8")
    (lines,) = re.findall(r"```text\n(from pathlib import Path\nimport submitit.*?)```", page, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    Path("plans").mkdir()
    words = ["nsl-bench", "plan", "sudoku_4x4", "--learner", "majority", "--track", "symbolic", "--repeats"]
    for repeats in ("1", "2"):
        plan = subprocess.run([*words, repeats], check=True, capture_output=True, text=True).stdout
        Path("plans", f"{repeats}.toml").write_text(plan)
    monkeypatch.setattr(submitit, "AutoExecutor", partial(submitit.AutoExecutor, cluster="local"))
    known: dict[str, Any] = {}
    exec(lines, known)
    for job in known["jobs"]:
        job.result()
    assert len(Store(tmp_path / "results").done()) == 2
