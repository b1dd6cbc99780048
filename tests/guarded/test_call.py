"""A function called in a child process answers as it would here; when it dies, nothing else does."""

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import guarded_calls as calls
import numpy as np
import psutil
import pytest

from nsl_bench.core.errors import UserError
from nsl_bench.logic.guarded.call import guarded
from nsl_bench.logic.guarded.child import Allowance, Ended
from nsl_bench.logic.guarded.worker import inside

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the child process needs a POSIX system")
HERE = Path(__file__).parents[1]
LITTLE = Allowance(seconds=1.0)


def child() -> int:
    return int(guarded(calls.where, doing="Looking")[0])


def gone(pid: int) -> bool:
    """Whether a process is gone, and no zombie of ours."""
    try:
        return (
            psutil.Process(pid).status() == psutil.STATUS_ZOMBIE and psutil.Process(pid).ppid() != os.getpid()
        )
    except psutil.NoSuchProcess:
        return True


def test_values_come_back() -> None:
    value = {"a": [1, 2.5, None, "é"], "b": {"c": True}}
    assert guarded(calls.said, value, doing="Saying") == value
    assert guarded(calls.said, value=3, doing="Saying") == 3
    array = np.arange(200_000.0).reshape(1000, 200)
    np.testing.assert_array_equal(guarded(calls.doubled, array, doing="Doubling")["array"], 2 * array)
    with pytest.raises(UserError, match="Sending failed: TypeError: a object cannot be sent"):
        guarded(calls.sent, 1, doing="Sending")


def test_it_is_another_process_and_kept() -> None:
    pid, there = guarded(calls.where, doing="Looking")
    assert pid != os.getpid() and there and not inside()
    assert child() == pid


def test_its_folder_and_modules_are_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    child()
    (tmp_path / "a_module_made_late.py").write_text(
        "from pathlib import Path\ndef f(): return str(Path.cwd())\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    import a_module_made_late

    assert guarded(a_module_made_late.f, doing="Looking") == str(tmp_path)


def test_what_it_raises() -> None:
    with pytest.raises(UserError, match=r"^No such thing\.$"):
        guarded(calls.refuses, doing="Refusing")
    with pytest.raises(UserError, match=r"^Failing failed: KeyError: 'x'\.") as caught:
        guarded(calls.fails, doing="Failing")
    assert "in fails" in caught.value.__notes__[0]


def test_what_it_tells_and_prints(capsys: pytest.CaptureFixture[str]) -> None:
    heard: list[object] = []
    assert guarded(calls.told, doing="Telling", on_event=heard.append) == 3
    assert heard == [{"step": 0}, {"step": 1}, {"step": 2}]
    guarded(calls.prints, doing="Printing")
    assert capsys.readouterr().err == "a line\nanother\n"


@pytest.mark.parametrize(
    ("number", "sentence"),
    [
        (signal.SIGFPE, "Trying crashed clingo .SIGFPE.: an integer division"),
        (signal.SIGSEGV, "SIGSEGV.*nested less deep"),
        (signal.SIGABRT, "SIGABRT"),
        (signal.SIGKILL, "SIGKILL.*out of memory"),
    ],
)
def test_a_death(number: int, sentence: str) -> None:
    pid = child()
    with pytest.raises(Ended, match=sentence) as caught:
        guarded(calls.killed, number, doing="Trying")
    assert caught.value.status == "crashed"
    assert gone(pid) and child() != pid


def test_clingo_crashes_there() -> None:
    with pytest.raises(Ended, match=r"^Grounding the rules crashed clingo \(SIGFPE\): an integer division"):
        guarded(calls.grounded, "p(-2147483648 / -1).", doing="Grounding the rules")


@pytest.mark.parametrize("text", [calls.JOIN, "p(a). p(f(X)) :- p(X)."])
def test_endless_grounding(text: str) -> None:
    pid, started = child(), time.monotonic()
    with pytest.raises(Ended, match=r"^Grounding takes longer than the 1 s allowed; ") as caught:
        guarded(calls.grounded, text, doing="Grounding", allowance=LITTLE)
    assert caught.value.status == "timeout" and time.monotonic() - started < 10
    assert gone(pid)


@pytest.mark.parametrize("function", [calls.starved, calls.refused_memory])
def test_too_much_memory(function: object) -> None:
    pid = child()
    with pytest.raises(Ended, match=r"^Eating takes more than the 0\.5 GiB of memory allowed; ") as caught:
        guarded(function, doing="Eating", allowance=Allowance(60, 1))  # type: ignore[arg-type]
    assert caught.value.status == "out_of_memory"
    assert gone(pid)


def test_stages_have_their_own_time() -> None:
    with pytest.raises(Ended, match=r"^Running takes longer than the 0\.2 s allowed"):
        guarded(calls.slow_stages, doing="Sitting", allowance=Allowance(0.1, grace=5))


def test_threads_have_a_child_each() -> None:
    with ThreadPoolExecutor(3) as pool:
        pids = list(pool.map(lambda _: (time.sleep(0.01), child())[1], range(12)))
    assert len(set(pids)) <= 3 and os.getpid() not in pids


def in_a_process(code: str, *words: str) -> subprocess.Popen[str]:
    """A script that may import `guarded_calls`."""
    setting = f"import sys, os, time; sys.path.insert(0, {str(HERE)!r})\n"
    return subprocess.Popen(
        [sys.executable, "-c", setting + code, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


GROUNDS_FOR_EVER = """
from pathlib import Path
from nsl_bench.logic.guarded.call import *
if sys.argv[2] == "fresh":
    import threading; threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
import guarded_calls as calls
guarded(calls.grounded, calls.JOIN, Path(sys.argv[1]), doing="Grounding")
"""


@pytest.mark.parametrize("how", ["forked", "fresh"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_it_ends_with_its_parent(how: str, number: int, tmp_path: Path) -> None:
    """Ctrl-C, or whatever ends the parent, ends the child while it grounds."""
    note = tmp_path / "pid"
    with in_a_process(GROUNDS_FOR_EVER, str(note), how) as process:
        deadline = time.monotonic() + 60
        while not (note.exists() and note.read_text()) and time.monotonic() < deadline:
            time.sleep(0.02)
        pid = int(note.read_text())
        time.sleep(0.3)
        process.send_signal(number)
        process.communicate(timeout=30)
    deadline = time.monotonic() + 10
    while not gone(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert gone(pid)
    assert process.returncode == -number


FORKED = """
from nsl_bench.logic.guarded.call import *
from nsl_bench.logic.guarded import call
print("before")
pid = os.getpid()
import nsl_bench.logic.guarded.worker as w
prepare()
assert call._pool._idle[0]._popen is None, "not forked"
import guarded_calls as calls
assert guarded(calls.where, doing="Looking")[0] != pid
guarded(calls.prints, doing="Printing")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="forks on Linux only")
def test_a_fork_takes_nothing_with_it() -> None:
    with in_a_process(FORKED) as process:
        output, errors = process.communicate(timeout=60)
    assert (process.returncode, output, errors) == (0, "before\n", "a line\nanother\n")


def test_the_first_ctrl_c_may_be_the_functions() -> None:
    def interrupt(event: object) -> None:
        threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()

    answer = guarded(calls.heeding, doing="Sleeping", on_event=interrupt, interruptible=True)
    assert answer == "heard"


def test_a_second_ctrl_c_is_ours() -> None:
    def interrupt(event: object) -> None:
        for seconds in (0.1, 0.4):
            threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT)).start()

    pid, started = child(), time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        guarded(calls.ignoring, doing="Sleeping", on_event=interrupt, interruptible=True)
    assert gone(pid) and time.monotonic() - started < 10


def test_ctrl_c_ends_a_call() -> None:
    pid = child()
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        guarded(calls.grounded, calls.JOIN, doing="Grounding")
    assert gone(pid)


LOOKS = """
from nsl_bench.logic.guarded.call import *
import guarded_calls as calls
print(guarded(calls.where, doing="Looking")[0])
"""


def test_no_child_is_left() -> None:
    with in_a_process(LOOKS) as process:
        output, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert gone(int(output))
