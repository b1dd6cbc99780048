"""Whatever happens to a sweep, nothing that was completed is lost or done twice, and no file is left behind.

Each fault comes in a small sweep and in one of 200 runs, which is slow. Counts are printed (``pytest -s``).
"""

import contextlib
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from click.testing import CliRunner

from nsl_bench.cli import main
from nsl_bench.core.errors import counted
from nsl_bench.run.store import Store

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="signals and processes are POSIX")

SIZES = [8, pytest.param(200, marks=pytest.mark.slow)]
PATIENCE = 600
APART: dict[str, Any] = {"text": True, "stdout": -1, "stderr": -1, "start_new_session": True}
WITHOUT_SANDBOX = ("--isolation", "none")
"""Where processes of learners, which take long to start, are not what is tried."""

GATED = """
import time
from pathlib import Path
import numpy as np
here = Path({here!r})
class Gated:
    track = "symbolic"
    def fit(self, train):
        with (here / "fits").open("a") as file:
            file.write("x")
        while (here / "fits").stat().st_size > {most} and not (here / "gate").exists():
            time.sleep(0.05)
        return self
    def predict_proba(self, test):
        return np.full((len(test), test.n_labels), 1 / test.n_labels)
"""


class Sweep:
    """A sweep that stops after some runs, so many at once, until its gate is opened."""

    def __init__(self, folder: Path, runs: int, jobs: int) -> None:
        self.folder, self.runs = folder, runs
        self.out = folder / "results"
        learner = folder / "gated.py"
        learner.write_text(GATED.format(here=str(folder), most=runs // 2))
        self.words = [sys.executable, "-m", "nsl_bench", "run", "sudoku_4x4", "--learner", f"{learner}:Gated"]
        self.words += ["--repeats", str(runs), "--jobs", str(jobs), "--allow", f"write={folder}"]
        self.words += ["--out", str(self.out)]
        self.process: subprocess.Popen[str] | None = None
        self.temporary = folder / "temporary"
        self.temporary.mkdir()
        self.env = {**os.environ, "TMPDIR": str(self.temporary)}

    def start(self) -> subprocess.Popen[str]:
        """Start it, and wait until it has come to its gate with something done."""
        self.process = subprocess.Popen(self.words, **APART, env=self.env)
        least = self.runs // 2 - 2
        self.until(lambda: self.kept() >= least)
        return self.process

    def until(self, happened: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE
        while not happened():
            assert time.monotonic() < deadline, "it never happened"
            assert self.process is None or self.process.poll() is None, self.process.communicate()
            time.sleep(0.05)

    def kept(self) -> int:
        """Whole records, counted cheaply: this is asked again and again."""
        records = self.out / "records.jsonl"
        return records.read_bytes().count(b"\n") if records.exists() else 0

    def open(self) -> None:
        (self.folder / "gate").touch()

    def finish(self, what: str) -> None:
        """The same command again does exactly what is missing."""
        self.tidied()
        kept = len(Store(self.out).done())
        self.open()
        said = self.whole()
        print(f"{what}: {kept} of {self.runs} runs kept; {said.strip()}")
        assert f"{counted(self.runs - kept, 'run')} done, 0 failed, {kept} already done" in said
        self.check()

    def whole(self) -> str:
        """What the command says if nothing happens to it; a small one starts no process for it."""
        if self.runs >= 100:
            done = subprocess.run(self.words, capture_output=True, text=True, timeout=PATIENCE, env=self.env)
            assert done.returncode == 0, done.stderr
            return done.stdout
        words = [*self.words[3:], "--jobs", "1", *WITHOUT_SANDBOX]
        result = CliRunner().invoke(main, words, standalone_mode=False)
        assert result.return_value == 0, result.output
        return result.stdout

    def check(self) -> None:
        """Every run is recorded once, and no temporary file is left."""
        self.tidied()
        records = list(Store(self.out))
        assert len(records) == self.runs
        assert len({record.key for record in records}) == self.runs
        assert all(record.status == "ok" for record in records)

    def tidied(self) -> None:
        """Wait until all temporary files are gone."""
        waited(lambda: not list(self.temporary.iterdir()))


def waited(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def words_of(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


Make = Callable[..., Sweep]


@pytest.fixture
def sweep(tmp_path: Path) -> Iterator[Make]:
    made: list[Sweep] = []

    def make(runs: int, jobs: int | None = None) -> Sweep:
        made.append(Sweep(tmp_path, runs, jobs or (1 if runs < 100 else 2)))
        return made[-1]

    yield make
    for one in made:
        if one.process is not None and one.process.poll() is None:
            os.killpg(one.process.pid, signal.SIGKILL)
            one.process.communicate()


@pytest.mark.parametrize("runs", SIZES)
def test_the_driver_is_killed(sweep: Make, runs: int) -> None:
    one = sweep(runs)
    process = one.start()
    process.kill()
    process.communicate()
    one.finish("driver killed")


def killed_midway(one: Sweep, what: Callable[[psutil.Process], bool], least: int = 1) -> None:
    """Some of a sweep's processes are killed; its runs are all done none the less."""
    process = one.start()
    found = [each for each in psutil.Process(process.pid).children(recursive=True) if what(each)]
    assert len(found) >= least
    for each in found:
        each.kill()
    one.open()
    output, errors = process.communicate(timeout=PATIENCE)
    print(f"{len(found)} killed: {output.strip()}")
    assert f"{counted(one.runs, 'run')} done, 0 failed" in output, errors
    one.check()


@pytest.mark.parametrize("runs", SIZES)
def test_workers_are_killed(sweep: Make, runs: int) -> None:
    killed_midway(sweep(runs, 2), lambda each: any("LokyProcess" in word for word in words_of(each)), 2)


def test_the_process_that_starts_learners_is_killed(sweep: Make) -> None:
    name = "nsl_bench.sandbox.fork_server_process"
    killed_midway(sweep(8), lambda each: name in words_of(each) and each.ppid() != 1)


ORPHAN = """
import os, sys
from nsl_bench.run.processes import _worker
print(_worker({}).submit(os.getpid).result(), flush=True)
os.kill(os.getpid(), 9)
"""


LEFT = """
import os, subprocess, sys
from nsl_bench.core.folders import temporary
with temporary() as place:
    subprocess.Popen(["sh", "-c", f"for i in $(seq 200); do mkdir {place}/$i; sleep 0.005; done; sleep 0.2"])
    os.kill(os.getpid(), 9)
"""


def test_a_folder_into_which_a_killed_driver_s_processes_write_is_removed(tmp_path: Path) -> None:
    env = {**os.environ, "TMPDIR": str(tmp_path)}
    assert subprocess.run([sys.executable, "-c", LEFT], env=env, stderr=subprocess.DEVNULL).returncode == -9
    waited(lambda: not list(tmp_path.iterdir()))


def test_a_worker_without_a_job_ends_with_its_driver() -> None:
    words = [sys.executable, "-c", ORPHAN]
    worker = int(subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout)
    waited(lambda: not psutil.pid_exists(worker))


@pytest.mark.parametrize("runs", SIZES)
def test_ctrl_c_twice(sweep: Make, runs: int) -> None:
    one = sweep(runs, 2)
    process = one.start()
    os.killpg(process.pid, signal.SIGINT)
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130 and "Traceback" not in errors, errors
    assert one.kept() >= runs // 2 - 2
    one.finish("Ctrl-C twice")


def test_a_sweep_that_ends_well(sweep: Make) -> None:
    """Its workers keep what FFNSL learned for their next run, and end with it."""
    one = sweep(2, 2)
    one.words[one.words.index("--learner") + 1] = "ffnsl"
    subprocess.run([*one.words, "--track", "symbolic"], check=True, timeout=PATIENCE, env=one.env)
    one.check()


@pytest.mark.parametrize("runs", SIZES)
def test_the_last_record_is_cut_short(sweep: Make, runs: int) -> None:
    one = sweep(runs)
    one.open()
    one.whole()
    content = Store(one.out).records_file.read_bytes()
    Store(one.out).records_file.write_bytes(content[:-40])
    assert len(Store(one.out).done()) == runs - 1
    one.finish("record cut short")


FULL = """
set -e
mount -t tmpfs -o size={size}k none {out}
status=0
{command} > {folder}/first.txt 2>&1 || status=$?
cp {out}/records.jsonl {folder}/full.jsonl
mount -o remount,size=200m {out}
{command} > {folder}/second.txt 2>&1
cp {out}/records.jsonl {folder}/after.jsonl
echo $status
"""


@pytest.mark.parametrize("runs", SIZES)
def test_the_disk_is_full(sweep: Make, runs: int) -> None:
    if shutil.which("unshare") is None or subprocess.run(["unshare", "-rm", "true"]).returncode:
        pytest.skip("no small file system can be mounted here; test_store limits the size of files")
    one = sweep(runs)
    one.open()
    one.out.mkdir()
    command = " ".join([*one.words, *WITHOUT_SANDBOX])
    script = FULL.format(size=24 * runs // 2, out=one.out, folder=one.folder, command=command)
    words = ["unshare", "-rm", "sh", "-c", script]
    done = subprocess.run(words, capture_output=True, text=True, env=one.env)
    first, second = ((one.folder / f"{name}.txt").read_text() for name in ("first", "second"))
    kept = (one.folder / "full.jsonl").read_bytes()
    count = kept.count(b"\n")
    print(f"full disk: {count} of {runs} runs kept; {second.strip()}")
    assert done.stdout.strip() == "2" and "cannot be written" in first and "Traceback" not in first, first
    assert 0 < count < runs and kept.endswith(b"}\n")
    assert f"{counted(runs - count, 'run')} done, 0 failed, {count} already done" in second
    assert (one.folder / "after.jsonl").read_bytes().count(b"\n") == runs
    one.tidied()


def results_of(folder: Path) -> dict[str, tuple[object, ...]]:
    """What must not depend on what happened to a sweep; each run is recorded once."""
    store = Store(folder)
    found = {}
    for key, record in store.latest().items():
        kept = {k: v for k, v in record.metrics.items() if not k.endswith(("_time", "_memory"))}
        answers = store.predictions(key).to_csv()
        found[key] = (record.status, kept, record.hypothesis, record.content_hash, answers)
    assert len(list(store)) == len(found)
    return found


def workers_of(name: str) -> list[psutil.Process]:
    family = psutil.Process().children(recursive=True)
    return [p for p in family if any(name in word for word in words_of(p))]


OURS = re.compile(
    r"\d+ of \d+ runs to do\.|\[\d+/\d+\] ok: .*|nsl-bench: Interrupted.*|.* in another sweep; waiting .*|"
)
"""Lines that a sweep prints on standard error."""

STORM = [sys.executable, "-m", "nsl_bench", "run", "sudoku_4x4", "--track", "symbolic", "--jobs", "2"]
STORM += ["--repeats", "40", "--learner", "majority", "--learner", "random_forest:trees=30"]


@pytest.fixture(scope="module")
def quiet(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[object, ...]]:
    """The results of a sweep to which nothing happens."""
    out = tmp_path_factory.mktemp("quiet")
    subprocess.run([*STORM, "--out", str(out)], check=True, capture_output=True)
    return results_of(out)


@pytest.mark.slow
@pytest.mark.parametrize("where", ["joblib", "dask"])
def test_a_storm_of_kills_and_signals(
    where: str, quiet: dict[str, tuple[object, ...]], tmp_path: Path
) -> None:
    """30 times a driver or a worker is killed or interrupted at random, or another sweep begins."""
    rng, faults = random.Random(0), 30
    words, out = [*STORM, "--out", str(tmp_path / "storm")], tmp_path / "storm" / "records.jsonl"
    signals = {"driver killed": signal.SIGKILL, "SIGINT": signal.SIGINT, "SIGTERM": signal.SIGTERM}
    happened = dict.fromkeys((*signals, "worker killed", "second sweep"), 0)
    started: list[Any] = []

    def count() -> int:
        return out.read_bytes().count(b"\n") if out.exists() else 0

    with contextlib.ExitStack() as stack:
        name = "LokyProcess"
        if where == "dask":
            distributed, name = pytest.importorskip("distributed"), "spawn_main"
            made = distributed.LocalCluster(2, threads_per_worker=1, processes=True, dashboard_address=None)
            words += ["--executor", "dask", "--scheduler", stack.enter_context(made).scheduler_address]
        while sum(happened.values()) < faults:
            running = [process for process in started if process.poll() is None]
            fault = rng.choice([*signals, "worker killed", *(["second sweep"] if len(running) == 1 else [])])
            if not running or fault == "second sweep":
                happened["second sweep"] += len(running)
                started.append(subprocess.Popen(words, **APART))
                before = count()
                while count() < before + rng.choice((1, 2)) and started[-1].poll() is None:
                    time.sleep(0.05)
                continue
            with contextlib.suppress(IndexError, ProcessLookupError, psutil.Error):
                if fault == "worker killed":
                    rng.choice(workers_of(name)).kill()
                else:
                    os.kill(rng.choice(running).pid, signals[fault])
                happened[fault] += 1
            time.sleep(rng.uniform(0, 1))
        kept = count()
        for process in started:
            process.kill()
        errors = [process.communicate()[1] for process in started]
        last = subprocess.run(words, capture_output=True, text=True)
    print(f"{where}: {happened}; {kept} of {len(quiet)} runs kept; {last.stdout.strip()}")
    # What Python says before it has come to the program is not the program's.
    said = [text for text in errors if "init_import_site" not in text]
    strange = [
        line for text in (*said, last.stderr) for line in text.splitlines() if not OURS.fullmatch(line)
    ]
    assert last.returncode == 0 and strange == []
    assert results_of(tmp_path / "storm") == quiet
