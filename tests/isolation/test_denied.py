"""An error that comes from the sandbox names the option that allows what was denied."""

import contextlib
import errno
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from nsl_bench.core.processes.memory import starved
from nsl_bench.learners.command import spec_of
from nsl_bench.run.store import Store
from nsl_bench.sandbox import kernel
from nsl_bench.sandbox.command import CommandLearner
from nsl_bench.sandbox.denied import advice, denied_by, denied_in
from nsl_bench.sandbox.host import IsolatedLearner
from nsl_bench.sandbox.limits import Failure, Limits
from nsl_bench.testing.toy import patches, view

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="learners are isolated on POSIX systems")
needs_landlock = pytest.mark.skipif(not kernel.landlock_version(), reason="the kernel has no Landlock")

LIMITS = Limits(time=120)
DENIED = """
import os
import socket
import tempfile
from pathlib import Path

HERE = Path(__file__).parent

class Reads:
    def fit(self, train):
        (HERE / "notes.txt").read_text()

class Wraps:
    def fit(self, train):
        try:
            (HERE / "notes.txt").read_text()
        except OSError:
            raise RuntimeError("cannot start")

class Hidden:
    def fit(self, train):
        (HERE / "secret.txt").read_text()

class Deeper:
    def fit(self, train):
        (HERE / "data" / "notes.txt").read_text()

class Elsewhere:
    def fit(self, train):
        (HERE.parent / "elsewhere.txt").read_text()

class Missing:
    def fit(self, train):
        (HERE / "missing.txt").read_text()

class Writes:
    def fit(self, train):
        with open("out.txt", "w") as file:
            file.write("model")

class WritesElsewhere:
    def fit(self, train):
        (HERE.parent / "elsewhere" / "out.txt").write_text("model")

class Calls:
    def fit(self, train):
        socket.create_connection(("127.0.0.1", 9))

class Temporary:
    def fit(self, train):
        os.environ["TMPDIR"] = "/"
        tempfile.tempdir = None
        tempfile._candidate_tempdir_list = lambda: ["/"]
        tempfile.mkstemp()

class Starves:
    def fit(self, train):
        raise RuntimeError("Unable to allocate 9 GiB for an array")
"""
SENTENCES = {
    "Reads": "PermissionError.*only its code and what is installed; --allow read={0}/notes.txt opens more",
    "Wraps": "RuntimeError: cannot start.*--allow read={0}/notes.txt opens more",
    "Deeper": "--allow read={0}/data/notes.txt opens more",
    "Elsewhere": "--allow read={1}/elsewhere.txt opens more",
    "Missing": r"No such file or directory: '{0}/missing.txt'\Z",
    "WritesElsewhere": "names; --allow write={1}/elsewhere opens another one",
    "Hidden": "It holds data or results of the benchmark, which no learner may read",
    "Writes": "out.txt.*environment variable TMPDIR names; --allow write={0} opens another one",
    "Calls": "PermissionError.*The sandbox has no network; --allow network opens it",
    "Temporary": "Temporary files belong in the folder that the environment variable TMPDIR names",
    "Starves": "Out of memory: RuntimeError: Unable to allocate",
}


@needs_landlock
@pytest.mark.parametrize("name", SENTENCES)
def test_the_sentence_names_the_option(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in (tmp_path / "data", tmp_path.parent / "elsewhere"):
        folder.mkdir(exist_ok=True)
    (tmp_path / "data" / "notes.txt").write_text("notes")
    (tmp_path.parent / "elsewhere.txt").write_text("notes")
    for file, text in (("denied.py", DENIED), ("notes.txt", "notes"), ("secret.txt", "labels")):
        (tmp_path / file).write_text(text)
    limits = Limits(time=120, hidden=(tmp_path / "secret.txt",))
    with contextlib.closing(IsolatedLearner(f"{tmp_path}/denied.py:{name}", 0, limits)) as learner:
        sentence = SENTENCES[name].format(tmp_path, tmp_path.parent)
        with pytest.raises(Failure, match=f"(?s){sentence}") as caught:
            learner.fit(view(patches()))
        assert caught.value.status == ("out_of_memory" if name == "Starves" else "crashed")


@needs_landlock
def test_a_file_of_rules_can_be_read(tmp_path: Path) -> None:
    """The user named it, and who reads it comes with nsl-bench."""
    rules = tmp_path / "rules.lp"
    rules.write_text("differ :- patch(left,X), patch(right,Y), unlike(X,Y).")
    with contextlib.closing(IsolatedLearner(f"rules:{rules}", 0, LIMITS)) as learner:
        learner.fit(view(patches()))
        assert len(learner.rules()) == 1


FASTLAS = """#!/bin/sh
file=/tmp/nsl_bench_fastlas_$$
echo "yield(1) :- species(corn)." > $file && cat $file
rm -f $file
"""
FAILING = "#!/bin/sh\necho cannot create >&2\necho UNSATISFIABLE\n"


@needs_landlock
@pytest.mark.parametrize("works", [True, False])
def test_a_rule_learner_that_is_a_program_runs(tmp_path: Path, works: bool) -> None:
    """One that keeps files in /tmp, too. One whose own programs fail has not learned the empty hypothesis."""
    folder = tmp_path / "programs"
    folder.mkdir()
    program = folder / "FastLAS"
    program.write_text(FASTLAS if works else FAILING)
    program.chmod(0o755)
    words = ["run", "crop_yield", "--learner", "ffnsl:rule_learner=fastlas", "--repeats", "1"]
    told = subprocess.run(
        [sys.executable, "-P", "-m", "nsl_bench", *words, "--out", str(tmp_path / "out")],
        env={**os.environ, "NSL_BENCH_FASTLAS": str(program)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode in (0, 1), told.stderr
    (record,) = Store(tmp_path / "out", must_exist=True).latest().values()
    if works:
        assert record.hypothesis is not None and len(record.hypothesis.rules) == 1
    else:
        assert "FastLAS failed with code 0: cannot create" in record.message


@needs_landlock
def test_commands_are_told_too(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("notes")
    words = f"{sys.executable} -c \"open('{tmp_path}/notes.txt')\""
    with contextlib.closing(CommandLearner(spec_of(words), 0, LIMITS)) as learner:
        learner.fit(view(patches()))
        with pytest.raises(Failure, match=f"exit code 1.*--allow read={tmp_path}/notes.txt opens more"):
            learner.predict_proba(view(patches("test"), labelled=False))


def test_what_is_not_the_sandbox() -> None:
    assert denied_by(ValueError("no")) == denied_by(FileNotFoundError(errno.ENOENT, "no", "x")) == {}
    assert denied_in("ValueError: no") == {} and advice({}, LIMITS) == "" and advice("read", LIMITS) == ""
    assert denied_by(socket.gaierror(-3, "Temporary failure in name resolution"))["what"] == "network"
    assert advice({"what": "network"}, Limits(network=True)) == ""


def test_what_says_that_memory_is_missing() -> None:
    assert starved("numpy.core._exceptions._ArrayMemoryError: Unable to allocate 3.2 GiB")
    assert starved("terminate called after throwing an instance of 'std::bad_alloc'")
    assert starved("DefaultCPUAllocator: can't allocate memory") and not starved("IndexError: 3")
