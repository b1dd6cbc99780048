"""Results are the same whatever executor does the runs: this process, others, or a Dask cluster."""

import contextlib
import importlib
import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from nsl_bench.core.errors import UserError
from nsl_bench.run.bench import Bench
from nsl_bench.run.claims import Claims
from nsl_bench.run.plan import plan
from nsl_bench.run.processes import Groups, identity, run_on_dask
from nsl_bench.run.record import Record
from nsl_bench.run.store import Store
from nsl_bench.run.sweep import Executor, SchedulerLost, Tally, sweep
from nsl_bench.sandbox.limits import Limits

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
class Hungry:
    track = "symbolic"
    def __init__(self, name: str = "ate"):
        self.name = name
    def fit(self, train):
        first = not (here / self.name).exists()
        (here / self.name).touch()
        self.eaten = [np.ones(1 << 24) for _ in range(12) if first and time.sleep(0.1) is None]
        return self
    def predict_proba(self, test):
        return np.full((len(test), test.n_labels), 1 / test.n_labels)
"""


def written(folder: Path, name: str) -> str:
    (folder / "mine.py").write_text(LEARNER.format(here=str(folder)))
    return f"{folder}/mine.py:{name}"


def limits_of(folder: Path, **more: Any) -> Limits:
    return Limits(time=600, write=(folder,), read=(folder,), **more)


def waited(holds: Callable[[], bool], work: threading.Thread) -> None:
    deadline = time.monotonic() + 300
    while not holds():
        assert time.monotonic() < deadline and work.is_alive()
        time.sleep(0.05)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A Dask cluster of two worker processes."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0", host="127.0.0.1"
    ) as made:
        yield made


def same(record: Record) -> tuple[Any, ...]:
    """What must not depend on where a run was done."""
    numbers = {
        name: value
        for name, value in record.metrics.items()
        if name != "peak_memory" and not name.endswith("_time")
    }
    apart = record.environment["isolation"]
    return record.key, record.status, numbers, record.hypothesis, record.content_hash, apart


def test_every_executor_gives_the_same(cluster: Any, tmp_path: Path) -> None:
    (tmp_path / "gate").touch()
    learners = ["majority", "random_forest:trees=3", written(tmp_path, "Gated")]
    jobs = plan("sudoku_4x4", learners, shifts=["rotate90"], percents=[50], repeats=[1])
    limits, found = limits_of(tmp_path), {}
    for name, executor in {
        "here": Executor(),
        "processes": Executor(2),
        "dask": Executor(2, cluster.scheduler_address),
    }.items():
        store = Store(tmp_path / name)
        tally = sweep(jobs, store, Bench("cpu", limits=limits), executor=executor)
        assert tally == Tally(3, 0, 0, 0)
        assert sweep(jobs, store, Bench("cpu", limits=limits), executor=executor).before == 3
        records = store.latest()
        answers = {key: store.predictions(key) for key in records}
        assert all(len(table) == 2000 for table in answers.values())
        found[name] = {key: (*same(records[key]), answers[key].to_csv()) for key in records}
    assert found["here"] == found["processes"] == found["dask"]


@pytest.mark.parametrize("where", ["here", "processes", "dask"])
def test_what_another_sweep_does_is_left_to_it_until_it_gives_up(
    where: str, cluster: Any, tmp_path: Path
) -> None:
    address = cluster.scheduler_address
    executor = {"here": Executor(), "processes": Executor(2), "dask": Executor(2, address)}[where]
    jobs = plan("sudoku_4x4", ["majority"], track="symbolic", repeats=range(1, 5))
    store, other = Store(tmp_path), Claims(tmp_path)
    assert other.take(jobs[0].key())
    tallies: list[Tally] = []
    work = threading.Thread(target=lambda: tallies.append(sweep(jobs, store, Bench(), executor=executor)))
    work.start()
    waited(lambda: len(store.statuses()) >= 3, work)
    assert jobs[0].key() not in store.statuses()
    other.close()
    work.join(120)
    assert tallies == [Tally(4, 0, 0, 0)] and len(list(store)) == 4


def test_a_process_keeps_to_runs_that_share_their_data() -> None:
    jobs = [
        job
        for task in ("sudoku_4x4", "follow_suit")
        for job in plan(task, ["majority"], track="symbolic", repeats=range(1, 5))
    ]
    groups, taken = Groups(jobs), []
    while (job := groups.next_for(len(taken) % 2)) is not None:
        taken.append(job)
    own = [{job.task for job in taken[worker::2]} for worker in (0, 1)]
    assert all(len(tasks) == 1 for tasks in own) and own[0] != own[1]
    assert sorted(map(str, taken)) == sorted(map(str, jobs))


def test_a_process_without_a_group_of_its_own_takes_half_of_another() -> None:
    jobs = plan("sudoku_4x4", ["majority"], track="symbolic", repeats=range(1, 9))
    groups = Groups(jobs)
    assert groups.next_for(0) == jobs[0]
    assert [groups.next_for(1) for _ in range(4)] == jobs[4:]
    assert [groups.next_for(0) for _ in range(2)] == jobs[1:3]
    assert [groups.next_for(1), groups.next_for(0)] == [jobs[3], None]


def test_a_dask_worker_dies(cluster: Any, tmp_path: Path) -> None:
    from distributed import Client

    jobs = plan("sudoku_4x4", [written(tmp_path, "Gated")], track="symbolic", repeats=range(1, 11))
    bench, store = Bench("cpu", limits=limits_of(tmp_path)), Store(tmp_path / "results")
    tallies: list[Any] = []
    executor = Executor(2, cluster.scheduler_address)
    work = threading.Thread(target=lambda: tallies.append(sweep(jobs, store, bench, executor=executor)))
    work.start()
    waited(lambda: len(list(store)) >= 3, work)
    with Client(cluster.scheduler_address, set_as_default=False) as client:
        victim = next(iter(client.run(os.getpid).values()))
    os.kill(victim, 9)
    (tmp_path / "gate").touch()
    work.join(300)
    print(f"Dask worker killed: {tallies}")
    assert tallies and (tallies[0].done, tallies[0].failed) == (10, 0)
    records = list(store)
    assert len(records) == len({record.key for record in records}) == 10


@pytest.mark.slow
@pytest.mark.parametrize("apart", [False, True])
def test_a_dask_worker_runs_out_of_memory(apart: bool, tmp_path: Path) -> None:
    """Its nanny starts it again and it does the run again; a learner in the sandbox fails alone."""
    distributed = pytest.importorskip("distributed")
    jobs = plan("sudoku_4x4", [written(tmp_path, "Hungry")], track="symbolic", repeats=range(1, 4))
    limits = limits_of(tmp_path, memory=1 << 30) if apart else None
    with distributed.LocalCluster(
        1, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1", memory_limit="1GiB"
    ) as made:
        executor = Executor(1, made.scheduler_address)
        before = {worker.pid for worker in made.workers.values()}
        tally = sweep(jobs, Store(tmp_path / "dask"), Bench(limits=limits), executor=executor)
        started_again = {worker.pid for worker in made.workers.values()} != before
    print(f"Dask worker out of memory: started again: {started_again}; {tally}")
    assert started_again is not apart and tally == (Tally(2, 1, 0, 0) if apart else Tally(3, 0, 0, 0))
    statuses = sorted(record.status for record in Store(tmp_path / "dask"))
    assert statuses == (["ok", "ok", "out_of_memory"] if apart else ["ok"] * 3)
    if not apart:
        sweep(jobs, Store(tmp_path / "here"), Bench())
        found = [
            {key: (*same(record), store.predictions(key).to_csv()) for key, record in store.latest().items()}
            for store in (Store(tmp_path / "dask"), Store(tmp_path / "here"))
        ]
        assert found[0] == found[1]


def dask(*words: str, folder: Path) -> subprocess.Popen[bytes]:
    """A scheduler or a worker as a user starts it."""
    with (folder / "dask.txt").open("ab") as log:
        command = [sys.executable, "-m", f"distributed.cli.dask_{words[0]}", *words[1:], "--no-dashboard"]
        return subprocess.Popen(command, stderr=log, stdout=log, start_new_session=True)


def test_a_scheduler_dies(tmp_path: Path) -> None:
    """One sentence, and the same sweep goes on with another scheduler."""
    pytest.importorskip("distributed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"tcp://127.0.0.1:{port}"
    jobs = plan("sudoku_4x4", [written(tmp_path, "Gated")], track="symbolic", repeats=range(1, 8))
    bench, store = Bench("cpu", limits=limits_of(tmp_path)), Store(tmp_path / "r")
    scheduler = ["scheduler", "--host", "127.0.0.1", "--port", str(port)]
    worker = ["worker", address, "--nthreads", "1"]
    running = [dask(*words, folder=tmp_path) for words in (scheduler, worker)]
    try:
        heard = lambda record, done, total, left: done == 3 and running[0].kill()  # noqa: E731
        with pytest.raises(SchedulerLost, match=r"ended or cannot be reached any more; .* same command\.$"):
            sweep(jobs, store, bench, executor=Executor(1, address), notify=heard)
        kept = len(store.done())
        assert 3 <= kept < 7
        (tmp_path / "gate").touch()
        running[0].wait()
        running += [dask(*words, folder=tmp_path) for words in (scheduler, worker)]
        tally = sweep(jobs, store, bench, executor=Executor(1, address))
        print(f"Dask scheduler killed: {kept} of 7 runs kept; {tally}")
        assert tally == Tally(7 - kept, 0, kept, 0) and len(list(store)) == 7
    finally:
        for process in running:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, 9)
            process.wait()


def test_a_scheduler_ends_before_its_client_hears_of_it(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from distributed import Client
    from distributed.comm.core import CommClosedError

    def lost(client: Any) -> None:
        raise CommClosedError("Connection reset by peer")

    monkeypatch.setattr(Client, "nthreads", lost)
    jobs = plan("sudoku_4x4", ["majority"], track="symbolic")
    with pytest.raises(SchedulerLost):
        sweep(jobs, Store(tmp_path), Bench(), executor=Executor(1, cluster.scheduler_address))


@pytest.mark.parametrize(
    ("module", "name"), [("nsl_bench", "__version__"), ("nsl_bench.run.job", "PROTOCOL")]
)
def test_a_worker_of_another_version(module: str, name: str, cluster: Any, tmp_path: Path) -> None:
    from distributed import Client

    def becomes(value: Any) -> Any:
        known = importlib.import_module(module)
        before = getattr(known, name)
        setattr(known, name, value)
        return before

    jobs = plan("sudoku_4x4", ["majority"], track="symbolic")
    with Client(cluster.scheduler_address, set_as_default=False) as client:
        one = next(iter(client.nthreads()))
        before = client.run(becomes, 99, workers=[one])[one]
        try:
            with pytest.raises(UserError, match=f"{one} has nsl-bench .*99.* .* restart the worker"):
                sweep(jobs, Store(tmp_path), Bench(), executor=Executor(2, cluster.scheduler_address))
            with pytest.raises(UserError, match="restart the worker"):  # one that joins later
                client.submit(run_on_dask, jobs[0], Bench().options, identity(), workers=[one]).result()
        finally:
            client.run(becomes, before, workers=[one])


LOGS = """
import asyncio, gc, logging, time
from distributed import Client
from distributed.client import AllExit
from nsl_bench.run.sweep import _hushed

async def fails(error):
    raise error

async def forgotten(error):
    task = asyncio.ensure_future(fails(error))
    await asyncio.sleep(0)
    await asyncio.sleep(0)

with _hushed():
    logging.getLogger("distributed.client").warning("Could not gather")
    logging.getLogger("distributed.scheduler").error("one that is told")
asyncio.run(forgotten(AllExit()))
asyncio.run(forgotten(ValueError("another that is told")))
gc.collect()
logging.getLogger("distributed.client").warning("a third that is told")
"""


def test_what_dask_prints_of_lost_workers_is_kept() -> None:
    pytest.importorskip("distributed")
    said = subprocess.run([sys.executable, "-c", LOGS], capture_output=True, text=True, check=True).stderr
    assert all(word in said for word in ("one that", "another that", "a third that")), said
    assert "AllExit" not in said and "gather" not in said, said


def test_an_executor_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr("nsl_bench.run.sweep._DASK_SECONDS", 1)
    jobs = plan("sudoku_4x4", ["majority"], track="symbolic")
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
