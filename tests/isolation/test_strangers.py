"""What strangers' learners attempt against the machine, with namespaces and on systems without them."""

import fcntl
import os
import socket
import subprocess
import sys
import tempfile
import termios
import time
from contextlib import closing
from pathlib import Path

import pytest

from nsl_bench.sandbox import kernel, process
from nsl_bench.sandbox.fork_server import pool
from nsl_bench.sandbox.host import IsolatedLearner
from nsl_bench.sandbox.limits import Limits
from nsl_bench.testing.toy import patches, view

HERE = Path(__file__).parent

pytestmark = pytest.mark.skipif(not kernel.landlock_version(), reason="Linux with Landlock and seccomp")

TOLD = """
import sys
from pathlib import Path
from nsl_bench.sandbox import kernel
from nsl_bench.sandbox.host import IsolatedLearner
from nsl_bench.sandbox.limits import Limits
from nsl_bench.testing.toy import patches, view

if sys.argv[3] == "without":  # as on a system that lets nobody make them
    kernel.deny_calls(sockets=False)
learner = IsolatedLearner(sys.argv[1], 0, Limits(time=120))
learner.fit(view(patches()))
Path(sys.argv[2]).write_text(learner.isolation["mounts"] + chr(10) + learner.log())
learner.close()
"""


@pytest.mark.parametrize("name", ["Folders", "FoldersLate"])
def test_a_nest_of_folders_ends_no_sweep(name: str) -> None:
    """Neither the harness nor the fork server, which removes the folder if the harness was killed."""
    code = f"import sys; sys.argv[1:] = ['{HERE / 'strangers.py'}:{name}', '/dev/null', 'with']\n"
    if name == "Folders":
        with closing(IsolatedLearner(f"{HERE / 'strangers.py'}:{name}", 0, Limits(time=120))) as learner:
            learner.fit(view(patches()))
            place = Path(learner.log().strip())
        assert place.is_absolute() and not place.exists()
        return
    before = set(Path(tempfile.gettempdir()).glob("nsl-bench-*"))
    killed = subprocess.Popen([sys.executable, "-c", code + TOLD], start_new_session=True)
    places: set[Path] = set()
    while not any((place / ("d" * 20)).exists() for place in places):
        assert killed.poll() is None
        places = set(Path(tempfile.gettempdir()).glob("nsl-bench-*")) - before
    killed.kill()
    killed.wait()
    while any(place.exists() for place in places):
        time.sleep(0.05)


def test_no_sweep_waits_for_a_scratch_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes longer to remove is removed at the end, in a process for which nobody waits."""
    monkeypatch.setattr(process, "REMOVING_SECONDS", -1)
    with closing(IsolatedLearner(f"{HERE / 'strangers.py'}:Folders", 0, Limits(time=120))) as learner:
        learner.fit(view(patches()))
        place = Path(learner.log().strip())
    assert place.exists()
    pool.close()
    code = "import sys; from nsl_bench.sandbox.fork_server_process import remove_at_last as end; "
    more = tmp_path / "more"
    (more / "in").mkdir(parents=True)
    code += f"end([{str(more)!r}], -1); print(1)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout == b"1\n"
    while place.exists() or more.exists():
        time.sleep(0.05)


@pytest.mark.parametrize("namespaces", ["with", "without"])
@pytest.mark.parametrize("name", ["Terminals", "Namespaces", "Reaches"])
def test_a_stranger_is_refused(name: str, namespaces: str, tmp_path: Path) -> None:
    """The harness runs in a terminal, as a user's does."""
    ours, terminal = os.openpty()
    words = [f"{HERE / 'strangers.py'}:{name}", str(tmp_path / "told"), namespaces]
    before = os.get_terminal_size(terminal)
    (tmp_path / "hidden").mkdir()
    (tmp_path / "hidden" / "secret").write_text("secret")
    told_to = {"TERMINAL": os.ttyname(terminal), "PLACE": str(tmp_path / "hidden"), "PID": str(os.getpid())}
    told_to |= {"TOKEN": "secret", "ADDRESS": "http://me:secret@localhost/"}
    ends = dict.fromkeys(("stdin", "stdout", "stderr"), terminal)
    env = {**os.environ, **{f"NSL_TEST_{name}": value for name, value in told_to.items()}}
    apart = {"start_new_session": True, "preexec_fn": lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0)}
    line = [sys.executable, "-c", TOLD, *words]
    with socket.create_server(("127.0.0.1", 0)) as server:
        env["NSL_TEST_PORT"] = str(server.getsockname()[1])
        subprocess.run(line, **ends, env=env, **apart, check=True, timeout=120)
    mounts, *told = (tmp_path / "told").read_text().splitlines()
    assert (mounts == "read-only") == (namespaces == "with" and os.geteuid() == 0) or os.geteuid()
    assert len(told) > 10 and not [line for line in told if " got " in line], told
    assert os.get_terminal_size(terminal) == before
    assert [path.name for path in (tmp_path / "hidden").iterdir()] == ["secret"]
    os.set_blocking(ours, False)
    with pytest.raises(BlockingIOError):
        os.read(ours, 1)
