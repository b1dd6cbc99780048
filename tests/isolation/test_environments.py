"""Learners with an interpreter of their own: made once, run in the sandbox, refused in a sentence."""

import os
import signal
import socket
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from contextlib import closing
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nsl_bench.core import cache
from nsl_bench.core.code_files import comes_with_us
from nsl_bench.core.errors import UserError
from nsl_bench.learners import environments, literals
from nsl_bench.learners.base import probabilities_of
from nsl_bench.learners.environments import entrant, entrants
from nsl_bench.run.bench import Bench
from nsl_bench.run.job import Job
from nsl_bench.run.plan import plan
from nsl_bench.run.store import Store
from nsl_bench.run.sweep import Executor, sweep
from nsl_bench.sandbox import building, kernel
from nsl_bench.sandbox.fork_server import pool
from nsl_bench.sandbox.host import IsolatedLearner, about
from nsl_bench.sandbox.limits import Failure, Limits
from nsl_bench.testing.toy import patches, view

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="learners are isolated on POSIX systems")

HERE = f"{sys.version_info.major}.{sys.version_info.minor}"
LIMITS = Limits(time=300)
MANIFEST = f"""
learner = "Seen"
track = "pretrained"
licence = "MIT"
citation = "none"
description = "The share of each label in the train set."
python = ["{HERE}"]
"""
ADAPTER = """
import sys
import numpy as np
import tiny


class Seen:
    search_space = {"extra": (0, 0)}

    def __init__(self, extra: int = 0, seed=0):
        self.extra = extra

    def fit(self, train):
        print(sys.prefix, tiny.__file__, "torch" in sys.modules)
        assert train.literals.shape == (len(train), len(train.literal_names))
        self.shares = tiny.shares(train.labels, train.n_labels + self.extra)
        return self

    def predict_proba(self, test):
        return np.tile(self.shares, (len(test), 1))

    def rules(self):
        return ["differ :- patch(left,X), patch(right,Y), unlike(X,Y)."]
"""


TINY = {
    "tiny.py": "import numpy\ndef shares(told, n): return numpy.bincount(told, minlength=n) / len(told)\n",
    "tiny-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n",
    "tiny-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    "tiny-1.0.dist-info/RECORD": "tiny.py,,\n",
}


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A package index without a network: numpy as it is installed here, and a package of one function."""
    folder = tmp_path_factory.mktemp("wheels")
    found = distribution("numpy")
    tag = next(line for line in (found.read_text("WHEEL") or "").splitlines() if line.startswith("Tag: "))
    with zipfile.ZipFile(folder / f"numpy-{found.version}-{tag.removeprefix('Tag: ')}.whl", "w") as wheel:
        for file in found.files or ():
            if ".." not in file.parts and "__pycache__" not in file.parts and file.name not in ("INSTALLER",):
                wheel.write(str(file.locate()), str(file))
    with zipfile.ZipFile(folder / "tiny-1.0-py3-none-any.whl", "w") as wheel:
        for name, text in TINY.items():
            wheel.writestr(name, text)
    return folder


@pytest.fixture(scope="module")
def folder(wheels: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("learners") / "seen", wheels)


def made(folder: Path, wheels: Path, **files: str) -> Path:
    """A learner's folder; `files` replace what is in it."""
    folder.mkdir()
    pinned = f"--no-index\n--find-links {wheels}\nnumpy=={np.__version__}  # for nsl-bench\ntiny==1.0\n"
    told = {"manifest": MANIFEST, "adapter": ADAPTER, "requirements": pinned, **files}
    names = {"manifest": "learner.toml", "adapter": "adapter.py", "requirements": "requirements.txt"}
    for key, name in names.items():
        (folder / name).write_text(told[key])
    return folder


def jobs_of(*learners: Path | str, **more: Any) -> list[Job]:
    """Runs of Follow Suit on true concepts, of learners in folders or by name."""
    specs = [f"env:{one}" if isinstance(one, Path) else one for one in learners]
    return plan("follow_suit", specs, track="symbolic", describe=lambda s: about(s, LIMITS), **more)


def with_line(line: str) -> str:
    """The adapter with something else in its `fit`."""
    return ADAPTER.replace("        print(", f"        {line}\n        print(")


@pytest.fixture(autouse=True)
def no_uv(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """uv would look for the packages in its own way."""
    which = building.shutil.which
    monkeypatch.setattr(building.shutil, "which", lambda name: None if name == "uv" else which(name))
    return


@pytest.fixture
def one_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Learners with equal requirements share an environment, so that not every test waits for its own."""
    told = lambda folder: [[(folder / "requirements.txt").read_text()]]  # noqa: E731
    monkeypatch.setattr(environments, "_contents", told)


shares = pytest.mark.usefixtures("one_environment")


@shares
def test_an_adapter_runs_in_its_own_interpreter(folder: Path) -> None:
    with closing(IsolatedLearner(f"env:{folder}", 0, LIMITS)) as learner:
        learner.fit(view(patches()))
        probabilities = probabilities_of(learner, view(patches("test"), labelled=False))
        assert np.allclose(probabilities.sum(axis=1), 1) and learner.rules()
        prefix, tiny, torch = learner.log().splitlines()[0].split()
        assert cache.folder(building.KIND) in Path(prefix).parents and Path(prefix) in Path(tiny).parents
        assert torch == "False"
        assert learner.libraries["tiny"] == "1.0" and learner.libraries["numpy"] == np.__version__
        assert (learner.track, learner.version) == ("pretrained", entrant(f"env:{folder}").version)
    assert building.described(str(folder)).startswith(f"env:{folder}: installed, Python {HERE}")


@shares
def test_a_run_is_recorded_with_the_versions_in_it(folder: Path) -> None:
    job, _ = jobs_of(folder, "majority")
    record = Bench(limits=LIMITS).run(job).record
    assert record.status == "ok", record.message
    assert job.learner_version == about(f"env:{folder}", LIMITS).version and job.track == "symbolic"
    assert record.environment["libraries"]["tiny"] == "1.0" and record.environment["isolation"]["files"]


@shares
def test_options_are_checked_by_the_adapter(folder: Path) -> None:
    with pytest.raises(Failure, match="has no option 'size'"):
        IsolatedLearner(f"env:{folder}:size=2", 0, LIMITS)
    with closing(IsolatedLearner(f"env:{folder}:extra=1", 0, LIMITS)) as learner:
        learner.fit(view(patches()))


@shares
def test_the_environment_is_made_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = entrant(f"env:{folder}")
    first = building.built(found)
    monkeypatch.setattr(building, "_make", lambda *_: pytest.fail("made twice"))
    assert building.built(found) == first == building.installed(found)


def test_code_beside_the_adapter_and_requirements_are_part_of_the_version(
    wheels: Path, tmp_path: Path
) -> None:
    place = made(tmp_path / "mine", wheels, adapter="import beside\nclass Seen: pass\n")
    (place / "beside.py").write_text("A = 1\n")
    first = entrant(f"env:{place}")
    (place / "beside.py").write_text("A = 2\n")
    second = entrant(f"env:{place}")
    assert first.version != second.version and first.environment_key != second.environment_key
    (place / "requirements.txt").write_text("numpy==1.26.0\n")
    assert entrant(f"env:{place}").environment_key != first.environment_key


@pytest.mark.parametrize(
    ("file", "text", "sentence"),
    [
        ("requirements", "numpy>=2\n", "txt, line 1: every requirement needs its version.*'numpy>=2'"),
        ("manifest", "learner = 'Seen'\n", "track is missing"),
        ("manifest", MANIFEST.replace('track = "pretrained"', 'track = "pretraned"'), "track must be"),
        ("manifest", MANIFEST.replace(HERE, "2.7"), "python must be a list of Python versions from 3.11 on"),
        ("manifest", MANIFEST + "color = 1\n", "unknown key 'color'"),
    ],
)
def test_a_wrong_folder_is_one_sentence(
    wheels: Path, tmp_path: Path, file: str, text: str, sentence: str
) -> None:
    place = made(tmp_path / "wrong", wheels, **{file: text})
    with pytest.raises(UserError, match=sentence):
        about(f"env:{place}", LIMITS)


def test_unknown_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match="the folder nowhere/mine"):
        entrant("env:nowhere/mine")
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match=r"it has no learner.toml"):
        entrant(f"env:{tmp_path / 'empty'}")
    with pytest.raises(UserError, match="Did you mean 'ripper'"):
        entrant("env:riper")


def test_an_environment_without_numpy(wheels: Path, tmp_path: Path) -> None:
    place = made(tmp_path / "bare", wheels, requirements=f"--no-index\n--find-links {wheels}\ntiny==1.0\n")
    with pytest.raises(Failure, match="has no numpy, which every adapter needs"):
        building.built(entrant(f"env:{place}"))


def test_ctrl_c_leaves_no_half_made_environment(wheels: Path, tmp_path: Path) -> None:
    """Interrupted or killed, the next attempt starts anew."""
    place = made(tmp_path / "slow", wheels)
    (place / "requirements.txt").write_text((place / "requirements.txt").read_text() + "# another key\n")
    code = "import sys; from nsl_bench.learners.environments import entrant\n"
    code += "from nsl_bench.sandbox.building import built\nbuilt(entrant(sys.argv[1]))"
    found = entrant(f"env:{place}")
    folder = building._folder(found, building.interpreter(found)[1])
    for end in (signal.SIGINT, signal.SIGKILL):
        process = subprocess.Popen([sys.executable, "-c", code, f"env:{place}"], stderr=subprocess.DEVNULL)
        while not (folder / "bin").exists():
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(end)
        process.wait()
        assert building.installed(found) is None
        if end == signal.SIGINT:
            assert not folder.exists()
    assert building.built(found).python.exists()


BACKEND = """
import os
import pathlib
import socket
import urllib.request
import zipfile

PLACE = pathlib.Path("@PLACE@")
ADDRESS = ("127.0.0.1", @PORT@)

def fetched(host):
    return urllib.request.urlopen(f"http://{host}:@PORT@/", timeout=20).status

def attempts():
    with socket.socket(socket.AF_UNIX) as one:
        for attempt in (
            lambda: (PLACE / "secret.txt").read_text(),
            lambda: (PLACE / "secret.txt").stat(),
            lambda: (PLACE / "stolen.txt").write_text("x"),
            lambda: (PLACE / "mine" / "adapter.py").write_text("x"),
            lambda: one.connect(str(PLACE / "agent.sock")),
            lambda: one.connect(chr(0) + "nsl-bench-test-installer"),
            lambda: socket.create_connection(ADDRESS, 20),
            lambda: socket.create_connection(("::1", ADDRESS[1]), 20),
            lambda: fetched("127.0.0.1"),
            lambda: fetched("localhost"),
            lambda: fetched("[::ffff:127.0.0.1]"),
            lambda: fetched("0.0.0.0"),
            lambda: fetched("169.254.169.254"),
            lambda: pathlib.Path("/etc/shadow").read_bytes(),
            lambda: pathlib.Path("/etc/gshadow").read_bytes(),
            lambda: next(pathlib.Path.home().parent.glob("*/.bashrc")).read_text(),
            lambda: sorted(name for name in os.environ if name.startswith("NSL_")),
        ):
            try:
                yield repr(attempt())
            except (OSError, StopIteration) as error:
                yield type(error).__name__

def build_wheel(folder, settings=None, metadata=None):
    with zipfile.ZipFile(pathlib.Path(folder) / "hostile-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("hostile.txt", chr(10).join(attempts()))
        wheel.writestr("hostile.pth", "import sys; open('{}', 'a').write('x')".format(PLACE / "started.txt"))
        told = "Metadata-Version: 2.1\\nName: hostile\\nVersion: 1.0\\n"
        wheel.writestr("hostile-1.0.dist-info/METADATA", told)
        told = "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n"
        wheel.writestr("hostile-1.0.dist-info/WHEEL", told)
        wheel.writestr("hostile-1.0.dist-info/RECORD", "hostile.txt,,\\nhostile.pth,,\\n")
    return "hostile-1.0-py3-none-any.whl"
"""
PROJECT = '[project]\nname = "hostile"\nversion = "1.0"\n[build-system]\nrequires = []\n'
PROJECT += 'build-backend = "backend"\nbackend-path = ["."]\n'


@pytest.mark.skipif(not kernel.landlock_version(), reason="the kernel has no Landlock")
def test_packages_are_built_in_the_sandbox(
    wheels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A package in the learner's folder gets nothing while it is built, nor does what starts with Python."""
    place = made(tmp_path / "mine", wheels)
    with (place / "requirements.txt").open("a") as pinned:
        pinned.write("./hostile\n")
    (place / "hostile").mkdir()
    (place / "hostile" / "pyproject.toml").write_text(PROJECT)
    (tmp_path / "secret.txt").write_text("secret")
    monkeypatch.setenv("NSL_TEST_MINE", "mine")
    pool.close()  # the next server has the new environment
    with (
        socket.socket(socket.AF_UNIX) as agent,
        socket.socket(socket.AF_UNIX) as abstract,
        socket.create_server(("127.0.0.1", 0)) as server,
    ):
        agent.bind(str(tmp_path / "agent.sock"))
        abstract.bind("\0nsl-bench-test-installer")
        agent.listen()
        abstract.listen()
        code = BACKEND.replace("@PLACE@", str(tmp_path)).replace("@PORT@", str(server.getsockname()[1]))
        (place / "hostile" / "backend.py").write_text(code)
        before = {path: path.read_bytes() for path in place.rglob("*") if path.is_file()}
        found = building.built(entrant(f"env:{place}"))
    (told,) = found.folder.glob("lib/*/site-packages/hostile.txt")
    *denied, variables = told.read_text().splitlines()
    assert len(denied) == 16 and all(name.endswith(("Error", "StopIteration")) for name in denied), denied
    assert variables == "[]"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["agent.sock", "mine", "secret.txt"]
    assert {path: path.read_bytes() for path in place.rglob("*") if path.is_file()} == before
    assert not list(found.folder.parent.glob("*.scratch-*"))
    pool.close()


NESTING = """
import os, sys
for place in (os.environ["TMPDIR"], sys.argv[1]):
    os.chdir(place)
    for _ in range(2000):
        os.mkdir("d")
        os.chdir("d")
raise SystemExit("error: enough")
"""


def test_nobody_waits_for_what_an_installer_leaves_behind(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In its scratch folder and in the environment; all of it is gone with the fork server."""

    def make(found: environments.Entrant, place: Path, program: str, scratch: Path) -> None:
        place.mkdir()
        do = building._Installer(found.name, scratch, scratch, place, (), ())
        do([sys.executable, "-I", "-c", NESTING, str(place)], network=False)

    monkeypatch.setattr(environments, "_contents", lambda folder: [["another"]])
    monkeypatch.setattr(building, "_make", make)
    monkeypatch.setattr(building, "REMOVING_SECONDS", 0)
    found = entrant(f"env:{folder}")
    with pytest.raises(Failure, match="cannot be created"):
        building.built(found)
    place = building._folder(found, building.interpreter(found)[1])
    (left,) = place.parent.glob(f"{place.name}.scratch-*")
    assert not place.exists() and len(list(left.iterdir())) == 2
    pool.close()
    deadline = time.monotonic() + 60
    while left.exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)


MINE = """
import pathlib, runpy, site, sys
for name in {*site.getsitepackages(), *sys.path}:
    if name.endswith("site-packages"):
        pathlib.Path(name, "led.pth").write_text("import sys; sys.led = True")
sys.path[:] = [name for name in sys.path if name not in ("", str(pathlib.Path(__file__).parents[1]))]
"""
LEADS = {
    "pip/__init__.py": "",
    "pip/__main__.py": MINE,
    "venv/__main__.py": MINE,
    "sitecustomize.py": MINE,
    "numpy/__init__.py": MINE,
    "json/__init__.py": MINE,
    "pip.conf": "[global]\nno-such-setting = 1\nindex-url = nonsense\n",
    "setup.cfg": "[install]\nprefix = /nowhere\n",
    "pyproject.toml": "[tool.uv]\nno-such-setting = 1\n",
    "uv.toml": "no-such-setting = 1\n",
}


def test_nothing_in_a_folder_or_a_home_leads_the_installer(
    wheels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two entrants with equal requirements; what lies beside one leads no installer."""
    led, other = made(tmp_path / "led", wheels), made(tmp_path / "other", wheels)
    for name, text in LEADS.items():
        (led / name).parent.mkdir(exist_ok=True)
        (led / name).write_text(text)
    (tmp_path / "home" / ".config" / "pip").mkdir(parents=True)
    (tmp_path / "home" / ".config" / "pip" / "pip.conf").write_text("[global]\nno-deps = nonsense\n")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    pool.close()
    with monkeypatch.context() as here:
        here.chdir(led)
        found = building.built(entrant(f"env:{led}"))
    pool.close()
    assert not list(found.folder.rglob("led.pth"))
    assert entrant(f"env:{led}").environment_key != entrant(f"env:{other}").environment_key
    keys = {entrant(f"env:{other}").environment_key}
    for change in (lambda: (other / "empty").mkdir(), lambda: (other / "adapter.py").chmod(0o755)):
        change()
        keys.add(entrant(f"env:{other}").environment_key)
    (other / "link").symlink_to("/")
    keys.add(entrant(f"env:{other}").environment_key)
    assert len(keys) == 4


def test_a_short_hash_of_files_shares_no_environment(
    wheels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "content_key", lambda *files: "0" * 12)
    first, second = (made(tmp_path / name, wheels) for name in ("first", "second"))
    assert entrant(f"env:{first}").environment_key == entrant(f"env:{second}").environment_key
    (second / "other.py").write_bytes(b"1")
    (first / "other.py").write_bytes(b"2")
    keys = {entrant(f"env:{place}").environment_key for place in (first, second)}
    places = {building._folder(entrant(f"env:{place}"), HERE).name for place in (first, second)}
    assert len(keys) == len(places) == 2 and min(map(len, keys | places)) >= 32


def test_a_folder_with_a_pipe_is_not_waited_for(wheels: Path, tmp_path: Path) -> None:
    place = made(tmp_path / "piped", wheels, adapter="# another\n" + ADAPTER)
    with (place / "requirements.txt").open("a") as pinned:
        pinned.write("# a third key\n")
    os.mkfifo(place / "pipe")
    with pytest.raises(Failure, match=r"environment of piped cannot be created: .*piped cannot be copied"):
        building.built(entrant(f"env:{place}"))


def test_a_package_outside_of_the_folder_is_refused(wheels: Path, tmp_path: Path) -> None:
    (tmp_path / "beside").mkdir()
    place = made(tmp_path / "mine", wheels, requirements=f"numpy=={np.__version__}\n../beside\n")
    with pytest.raises(UserError, match=r"line 2: the package ../beside is outside of the learner's folder"):
        entrant(f"env:{place}")


@shares
def test_an_adapter_is_tuned(folder: Path, tmp_path: Path) -> None:
    """The trials are fits in the adapter's own interpreter, where nsl-bench is not installed."""
    spec = f"tuned:env:{folder},trials=2"
    described = about(spec, LIMITS)
    assert described == type(described)("pretrained", f"1+{entrant(f'env:{folder}').version}")
    (job,) = jobs_of(spec)
    assert not comes_with_us(spec)
    store = Store(tmp_path)
    assert sweep([job], store, Bench(limits=LIMITS)).failed == 0
    (record,) = store.latest().values()
    assert record.tuning["trials"] == 2 and set(record.tuning["chosen"]) <= {"extra"}
    assert record.environment["libraries"]["tiny"] == "1.0"


@shares
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_worker_processes_of_an_adapter_import_what_it_imports(
    method: str, wheels: Path, tmp_path: Path
) -> None:
    more = "import multiprocessing\nfrom nsl_bench.learners.asp_rules import additive\n"
    more += "def double(number):\n    return 2 * number\n"
    doubled = f"multiprocessing.get_context('{method}').Pool(1).map(double, [1, 2])"
    code = with_line(f"assert {doubled} == [2, 4]").replace("import tiny\n", f"import tiny\n{more}")
    place = made(tmp_path / "several", wheels, adapter=code)
    building.built(entrant(f"env:{place}"))
    with closing(IsolatedLearner(f"env:{place}", 0, LIMITS)) as learner:
        learner.fit(view(patches()))


@shares
@pytest.mark.parametrize(
    ("line", "limits", "status"),
    [
        ("import time; time.sleep(60)", Limits(time=2), "timeout"),
        ("self.much = np.ones(1 << 27)", Limits(time=60, memory=400 << 20), "out_of_memory"),
    ],
)
def test_limits_hold(line: str, limits: Limits, status: str, wheels: Path, tmp_path: Path) -> None:
    place = made(tmp_path / "greedy", wheels, adapter=with_line(line))
    building.built(entrant(f"env:{place}"))
    with closing(IsolatedLearner(f"env:{place}", 0, limits)) as learner:
        with pytest.raises(Failure) as failed:
            learner.fit(view(patches()))
        assert failed.value.status == status


@shares
def test_literals_take_no_time_of_the_learner(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    values = literals.Literals.values

    def slow(self: Any, *given: Any) -> Any:
        time.sleep(3)
        return values(self, *given)

    monkeypatch.setattr(literals.Literals, "values", slow)
    for limits in (Limits(time=2), None):
        (job,) = jobs_of(folder)
        record = Bench(limits=limits).run(job).record
        assert record.status == "ok", record.message
        assert record.metrics["learning_time"] < 2


@shares
def test_a_learner_that_cannot_take_a_task_is_not_applicable(wheels: Path, tmp_path: Path) -> None:
    code = with_line("raise NotApplicable('Seen takes two labels only.')")
    code = "from nsl_bench.core.errors import NotApplicable\n" + code
    (job,) = jobs_of(made(tmp_path / "choosy", wheels, adapter=code))
    outcome = Bench(limits=LIMITS).run(job)
    assert outcome.record.status == "not_applicable" and outcome.predictions is None
    assert outcome.record.message == "Seen takes two labels only."


ENDS = ("The environment of none cannot be created", "No module named 'pandas'", "needs Python 3.98; this is")


@shares
def test_runs_that_fail_cost_no_others_and_are_resumed(
    folder: Path, wheels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one sweep: no such version, a missing import, no such Python, and two learners that work."""
    gone = made(tmp_path / "none", wheels, requirements=f"--no-index\n--find-links {wheels}\ntiny==9.8\n")
    lost = made(tmp_path / "lost", wheels, adapter="import pandas\n" + ADAPTER)
    old = made(tmp_path / "older", wheels, manifest=MANIFEST.replace(HERE, "3.98"))
    jobs = jobs_of(gone, lost, old, folder, "majority")
    specs = [job.learner for job in jobs]
    store = Store(tmp_path / "results")
    tally = sweep(jobs, store, Bench(limits=LIMITS))
    records = {record.job.learner: record for record in store.latest().values()}
    assert [records[spec].status for spec in specs] == ["failed", "crashed", "failed", "ok", "ok"]
    for spec, sentence in zip(specs, ENDS, strict=False):
        assert sentence in records[spec].message
        assert records[spec].message.count("\n") == 0 and records[spec].message.endswith(".")
    assert "tiny==9.8" in records[specs[0]].output and tally.failed == 3
    wanted = entrant(specs[0])
    left = building._folder(wanted, building.interpreter(wanted)[1])
    assert not left.exists() and left.with_suffix(".failed").exists()
    assert ENDS[2] in building.described(str(old))
    monkeypatch.setattr(Bench, "run", lambda *_: pytest.fail("done twice"))
    again = sweep([job for job in jobs if job.learner in specs[3:]], store, Bench(limits=LIMITS))
    assert again.failed == 0


def test_a_dask_cluster_gives_the_same_results(folder: Path, tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    jobs, found = jobs_of(folder, repeats=[1, 2]), []
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0", host="127.0.0.1"
    ) as cluster:
        for name, executor in {"here": None, "dask": Executor(2, cluster.scheduler_address)}.items():
            store = Store(tmp_path / name)
            assert sweep(jobs, store, Bench(limits=LIMITS), executor=executor).failed == 0
            found.append({key: r.metrics["hypothesis_accuracy"] for key, r in store.latest().items()})
    assert found[0] == found[1] and len(found[0]) == 2


def test_entrants_of_the_repository() -> None:
    here = Path(environments.__file__).parents[2] / "entrants"
    tracks = {name: entrant(f"env:{name}").track for name in entrants() if (here / name).is_dir()}
    tables = {"contree", "ebm", "figs", "gosdt", "len", "ripper", "ruleopt", "streed", "xgboost", "xhail"}
    known = {"abl", "deeplog", "deepproblog", "deepproblog_timed", "ltn"}
    assert tables | known <= set(tracks)
    assert {name for name, track in tracks.items() if track == "known_rules"} == known
    assert all((here / name / "test_adapter.py").is_file() for name in tracks)


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (
            [
                "ERROR: Ignored the following versions that require a different python version: 2.5.0",
                "ERROR: Could not find a version that satisfies the requirement a==99 (from versions: 1.3)",
                "ERROR: No matching distribution found for a==99",
            ],
            "requirement a==99",
        ),
        (
            [
                "WARNING: Retrying (Retry(total=0)) after connection broken by 'NewConnectionError(...)'",
                "ERROR: Could not find a version that satisfies the requirement numpy==2.1.1",
            ],
            "requirement numpy==2.1.1 (the package index cannot be reached)",
        ),
        (["error: no such option: --x"], "error: no such option: --x"),
        (["Killed."], "Killed"),
        ([], "no reason was printed"),
    ],
)
def test_the_reason_is_the_one_that_the_reader_can_mend(lines: list[str], reason: str) -> None:
    found = "Could not find a version that satisfies the "
    assert building._reason(lines).removeprefix(found) == reason
