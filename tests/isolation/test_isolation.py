"""A learner in a process of its own answers as it would in this one, and costs nobody else when it fails."""

import os
import select
import socket
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import nsl_bench.generators
import numpy as np
import psutil
import pytest

from nsl_bench.core import registry
from nsl_bench.core.errors import UserError
from nsl_bench.learners.base import InvalidOutput, hypothesis_of, labels_of, probabilities_of
from nsl_bench.run.mock_tasks import PatchSource
from nsl_bench.sandbox import kernel
from nsl_bench.sandbox.child import PRELOADED
from nsl_bench.sandbox.fork_server import pool
from nsl_bench.sandbox.host import IsolatedLearner
from nsl_bench.sandbox.limits import GIB, Failure, Limits, memory_size
from nsl_bench.sandbox.sandbox import reach_of
from nsl_bench.testing.toy import patches, view

HERE = Path(__file__).parent
BAD, HOSTILE = HERE / "bad.py", HERE / "hostile.py"
ROOMY = Limits(time=120, memory=4 * GIB)

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="learners are isolated on POSIX systems")
needs_landlock = pytest.mark.skipif(not kernel.landlock_version(), reason="the kernel has no Landlock")


def outcome(spec: str, limits: Limits = ROOMY, **of_view: Any) -> tuple[Any, ...]:
    """Fit, predict and read a learner in a process of its own."""
    learner = IsolatedLearner(spec, 0, limits)
    try:
        learner.fit(view(patches(), **of_view))
        test = view(patches("test"), labelled=False, **of_view)
        probabilities = probabilities_of(learner, test)
        labels = labels_of(learner, test, probabilities)
        return probabilities, labels, hypothesis_of(learner), learner
    finally:
        learner.close(keep_modules=True)


def here(spec: str) -> tuple[Any, ...]:
    """The same in this process."""
    learner = registry.create("learner", spec, seed=0)
    learner.fit(view(patches()))
    test = view(patches("test"), labelled=False)
    probabilities = probabilities_of(learner, test)
    return probabilities, labels_of(learner, test, probabilities), hypothesis_of(learner)


@pytest.mark.parametrize(
    "spec", ["majority", "random_forest:trees=5", "random_forest_knowledge:trees=5", "ffnsl"]
)
def test_isolation_changes_no_result(spec: str) -> None:
    apart, together = outcome(spec), here(spec)
    assert np.array_equal(apart[0], together[0]) and np.array_equal(apart[1], together[1])
    assert apart[2] == together[2]


def test_generated_examples_come_back() -> None:
    learner = registry.create("learner", "ffnsl").fit(view(patches()))
    assert outcome("ffnsl")[3].examples_ == list(learner.examples_)


def test_the_end_of_a_process_is_heard_that_was_said_while_another_one_started() -> None:
    """Without it the harness would wait for ever for the learner to end."""
    learner = IsolatedLearner("majority", 0, Limits(time=20, memory=4 * GIB))
    learner.fit(view(patches()))
    server = pool.get(learner._limits)
    for process in psutil.Process(learner._process._process).children():
        process.kill()
    assert select.select([server], [], [], 10)[0]
    IsolatedLearner("majority", 0, Limits(time=20, memory=4 * GIB)).close()
    test = view(patches("test"), labelled=False)
    for ask in (learner.predict_proba, learner.predict_proba, learner.fit, lambda _: learner.rules()):
        with pytest.raises(Failure, match="was ended by the signal SIGKILL"):
            ask(test)
    learner.close(keep_modules=True)  # asks what it imported, which nobody answers any more


READER = """
import numpy as np
from nsl_bench.core.budget import Budget
from nsl_bench.learners.view import TrackError


class Reader:
    def fit(self, train):
        assert train.part == "train" and train.time_limit == 120 and len(train.labels) == len(train)
        assert train.images[3][0].shape == (12, 12, 1) and train.images[0][1] is None
        assert len(train.images[5:9]) == 4 and len(list(train.images)) == len(train)
        assert train.images[-1][0].tolist() == train.images[len(train) - 1][0].tolist()
        assert train.concepts[1][0] in ("dark", "grey", "bright")
        assert train.features.shape[0] == train.knowledge_features.shape[0] == len(train)
        assert train.feature_names()[0] == "left=dark"
        assert train.facts(1, "grey") == ("patch(right,grey)",)
        assert "unlike" in train.background and "#modeh" in train.bias
        assert train.metadata["shelf"].min() >= 1 and train.contexts[1][0].startswith("patch(")
        assert train.probabilities.shape[1:] == (2, 3) and train.concept_space.name == "shade"
        assert Budget().memory < 4 << 30  # of a solver here, half of what the process may hold
        self.train = train
        return self

    def rules(self):
        return [f"differ :- shelf({len(self.train.features)})."]

    def predict_proba(self, test):
        try:
            test.labels
        except TrackError as error:
            print(error)
        return np.zeros((len(test), test.n_labels))
"""


def test_everything_of_a_view_is_there(tmp_path: Path) -> None:
    learner = tmp_path / "reader.py"
    learner.write_text(READER)
    _, _, hypothesis, learner_of = outcome(f"{learner}:Reader", source=PatchSource())
    assert hypothesis.rules == ("differ :- shelf(60).",) and hypothesis.atoms == 2
    assert "The test split has no labels" in learner_of.log()


STATUSES = tomllib.loads(Path(__file__).with_name("statuses.toml").read_text())
LIMITED = {"Hangs", "HangsInPredict"}
PRINTED = {"Raises": "about to fail", "EatsMemoryWithoutProcess": "memfd True\nsegment True"}
PRINTED |= {"Hangs": "going to sleep"}


@pytest.mark.parametrize("name", STATUSES)
def test_a_learner_that_goes_wrong_costs_only_its_run(name: str) -> None:
    status, sentence = STATUSES[name]
    limits = Limits(time=3) if name in LIMITED else Limits(time=120, memory=256 << 20)
    with pytest.raises((Failure, InvalidOutput)) as caught:
        outcome(f"{BAD}:{name}", limits)
    assert getattr(caught.value, "status", "invalid_output") == status
    assert sentence in str(caught.value)
    assert PRINTED.get(name, "") in getattr(caught.value, "output", "")
    assert outcome("majority")[0].shape == (60, 2)


def test_what_a_learner_says_commands_no_terminal_and_can_be_stored() -> None:
    learner = IsolatedLearner(f"{BAD}:Speaks", 0, ROOMY)
    assert learner.version.startswith("1\ufffd\ufffd[2J")
    with pytest.raises(Failure) as failure:
        learner.fit(view(patches()))
    assert str(failure.value).startswith("\ufffd[2J \U0001f600\ufffd nsl-bench: \ufffd ok")
    assert learner.log().splitlines()[:3] == ["\ufffd]0;mine\ufffd 10 %", "20 %", "\ufffd2J\ufffd"]
    learner.close()


@pytest.mark.parametrize("name", ["NoRules", "OddRules", "DeepRules"])
def test_rules_that_are_none_are_refused(name: str) -> None:
    with pytest.raises(UserError, match=f"[Tt]he rules of the learner {name}"):
        outcome(f"{BAD}:{name}")


def test_gigabytes_of_output_keep_their_ends() -> None:
    learner = outcome(f"{BAD}:PrintsGigabytes")[3]
    assert learner.log().startswith("first line") and learner.last_lines().endswith("last line")
    assert len(learner.log()) < 1 << 20


def test_a_warm_process_ends_quietly_with_its_harness() -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        words = [sys.executable, "-m", "nsl_bench.sandbox.fork_server_process", str(theirs.fileno())]
        warm = subprocess.Popen(words, pass_fds=(theirs.fileno(),), stderr=subprocess.PIPE, text=True)
    select.select([ours], [], [], 60)
    ours.close()  # without having read that it is ready
    _, errors = warm.communicate(timeout=60)
    assert (warm.returncode, errors) == (0, "")


def test_children_end_with_their_learner() -> None:
    before = {process.pid for process in psutil.process_iter() if "time.sleep(600)" in _words(process)}
    outcome(f"{BAD}:ForksChildren")
    after = {process.pid for process in psutil.process_iter() if "time.sleep(600)" in _words(process)}
    assert after <= before


def _words(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


def test_the_best_hypothesis_so_far_of_a_late_learner_counts() -> None:
    _, labels, hypothesis, learner = outcome(f"{BAD}:Late", Limits(time=3))
    assert learner.timed_out_ and hypothesis.status == "feasible" and len(hypothesis.rules) == 1
    assert np.array_equal(labels, patches("test").labels)


ABSTRACT = f"\0nsl-bench-test-{os.getpid()}"


@needs_landlock
@pytest.mark.parametrize("name", ["ReadsLabels", "Writes", "LooksAround", "AsksForMore"])
def test_hostile_learners_get_nothing(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder, file in (("splits", "test.csv"), ("results", "records.jsonl")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / file).write_text("label")
    (tmp_path / "notes.txt").write_text("labels")
    learner = tmp_path / "hostile.py"
    learner.write_text(HOSTILE.read_text().replace("nsl-bench-test", ABSTRACT[1:]))
    hidden = tuple(tmp_path / name for name in ("splits", "results", "notes.txt"))
    secret = Limits(time=120, read=(tmp_path,), hidden=hidden)
    (tmp_path.parent / "elsewhere.txt").write_text("elsewhere")
    with socket.socket(socket.AF_UNIX) as agent, socket.socket(socket.AF_UNIX) as abstract:
        for each, address in ((agent, str(tmp_path / "results" / "agent.sock")), (abstract, ABSTRACT)):
            each.bind(address)
            each.listen()
        monkeypatch.setenv("NSL_TEST_PLACE", str(tmp_path))
        monkeypatch.setenv("NSL_TEST_PID", str(os.getpid()))
        pool.close()  # the next one has the new environment
        for limits in (secret, Limits(time=120)):
            source = PatchSource() if name == "AsksForMore" else None
            track = "end_to_end" if name == "AsksForMore" else "pretrained"
            log = outcome(f"{learner}:{name}", limits, track=track, source=source)[3].log()
            assert len(log.splitlines()) >= 2
        pool.close()
    assert (tmp_path / "splits" / "test.csv").read_text() == "label"
    assert (tmp_path / "results" / "records.jsonl").read_text() == "label"
    assert not (tmp_path / "stolen.txt").exists() and not Path("/tmp/nsl-bench-stolen.txt").exists()


LINKED = """
from pathlib import Path
import numpy as np
from beside import told

class Linked:
    def fit(self, train):
        print(told, Path("{allowed}").read_text(), Path("{allowed}").with_name("neighbour.txt").exists())

    def predict_proba(self, test):
        return np.zeros((len(test), test.n_labels))
"""


@needs_landlock
def test_what_is_reached_through_links_is_there(tmp_path: Path) -> None:
    """A learner, and a file that is allowed; their neighbours are not."""
    for name in ("code", "data"):
        (tmp_path / "real" / name).mkdir(parents=True)
        (tmp_path / name).symlink_to(Path("real") / name)
    (tmp_path / "again").symlink_to(tmp_path / "data")
    allowed = tmp_path / "again" / "mine.txt"
    for file in (allowed, tmp_path / "data" / "neighbour.txt"):
        file.write_text("mine")
    (tmp_path / "code" / "beside.py").write_text("told = 'beside'\n")
    (tmp_path / "code" / "linked.py").write_text(LINKED.format(allowed=allowed))
    log = outcome(f"{tmp_path}/code/linked.py:Linked", Limits(time=120, read=(allowed,)))[3].log()
    assert log == "beside mine False\n"


def test_sockets_can_be_allowed(tmp_path: Path) -> None:
    learner = tmp_path / "caller.py"
    learner.write_text(
        "import socket\nimport numpy as np\nclass Caller:\n    def fit(self, train):\n"
        "        socket.socket().close()\n        return self\n"
        "    def predict_proba(self, test):\n        return np.zeros((len(test), test.n_labels))\n"
    )
    outcome(f"{learner}:Caller", Limits(time=120, network=True))
    with pytest.raises(Failure, match="PermissionError"):
        outcome(f"{learner}:Caller")


BESIDE = """
import multiprocessing
import tempfile

import numpy as np
from beside_mine import twice


def thrice(x):
    return 3 * x


class Mine:
    def __init__(self, alpha=0, seed=0):
        self.alpha = alpha

    def fit(self, train):
        self.reserved = np.empty(1 << 32, np.uint8)  # 4 GiB that are never touched
        with multiprocessing.get_context("spawn").Pool(1) as workers:
            print(twice(self.alpha), workers.map(thrice, [1]))
        with tempfile.NamedTemporaryFile() as file:
            file.write(b"model")

    def predict_proba(self, test):
        return np.zeros((len(test), test.n_labels))
"""


def test_what_a_learner_from_a_file_may_do(tmp_path: Path) -> None:
    """Options, modules beside it, worker processes, temporary files, memory that it does not touch."""
    (tmp_path / "mine_here.py").write_text(BESIDE)
    (tmp_path / "beside_mine.py").write_text("def twice(x):\n    return 2 * x\n")
    learner = outcome(f"{tmp_path}/mine_here.py:Mine:alpha=2", Limits(time=120, memory=1 << 30))[3]
    assert learner.log() == "4 [3]\n"


LEAKY = """
import multiprocessing
import tempfile
import torch
tempfile.gettempdir()
multiprocessing.current_process()._config["tempdir"] = "/"
"""
SAME = """
import random
import tempfile
import numpy as np
import torch


class Same:
    def fit(self, train):
        with tempfile.NamedTemporaryFile() as file:
            file.write(b"model")
        print(random.random(), np.random.rand(), torch.rand(1).item())

    def predict_proba(self, test):
        return np.zeros((len(test), test.n_labels))
"""


def test_what_one_learner_imports_changes_nothing_for_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server imports what a learner imported; random numbers and temporary files are as before."""
    (tmp_path / "leaky.py").write_text(LEAKY)
    (tmp_path / "same.py").write_text(SAME)
    place = [str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(place))
    pool.close()
    alone = outcome(f"{tmp_path}/same.py:Same")[3].log()
    pool.get(ROOMY).preload(["leaky"])
    assert outcome(f"{tmp_path}/same.py:Same")[3].log() == alone
    pool.close()


def test_modules_that_are_kept_are_there() -> None:
    assert [name for name in PRELOADED if find_spec(name) is None] == []


def test_sizes_of_memory() -> None:
    assert memory_size("512M") == 512 << 20 and memory_size("1.5 GiB") == 3 << 29
    assert memory_size("4g") == 4 << 30
    for wrong in ("", "lots", "3X", "1K", "-4G", "infG"):
        with pytest.raises(UserError):
            memory_size(wrong)


def test_ffnsl_stops_in_time_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(
        "import time\nfrom nsl_bench.learners.ffnsl import FFNSL\nfrom nsl_bench.logic.las import Solution\n"
        "from nsl_bench.core import registry\n"
        "def solve(task, *, time_limit=None):\n"
        "    assert time_limit == 96\n"
        "    now = time.monotonic()\n"
        "    time.monotonic = lambda: now + time_limit\n"
        "    rule = 'differ :- patch(left,X), patch(right,Y), unlike(X,Y).'\n"
        "    return Solution(status='feasible', score=9, bound=0, hypothesis=(rule,), cost=4)\n"
        "class Slow(FFNSL):\n"
        "    def fit(self, train):\n"
        "        registry.factory = lambda kind, name: solve\n"
        "        return super().fit(train)\n"
    )
    _, labels, hypothesis, learner = outcome(f"{tmp_path}/slow.py:Slow", Limits(time=120))
    assert learner.timed_out_ and hypothesis.status == "feasible" and hypothesis.score == 9
    assert np.array_equal(labels, patches("test").labels)


def test_the_tasks_of_an_editable_install_can_be_read(tmp_path: Path) -> None:
    readable = reach_of(ROOMY, tmp_path).readable
    (place,) = nsl_bench.generators.__path__
    assert any(Path(place).is_relative_to(path) for path in readable)
