"""Client of the fork servers, from which learners' processes are forked.

Each thread has its own fork server (`pool`), because it has one learner at a time.
"""

import atexit
import contextlib
import json
import os
import re
import secrets
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nsl_bench.core.errors import UserError
from nsl_bench.sandbox.limits import Limits

_COMMAND = (sys.executable, "-P", "-m", "nsl_bench.sandbox.fork_server_process")
_GRACE_SECONDS = 10.0
_SECRET = ("TOKEN", "SECRET", "PASSW", "CREDENTIAL", "API_KEY", "ACCESS_KEY", "PRIVATE_KEY", "AUTH", "COOKIE")
_PASSWORD = re.compile(r"://[^/@\s]+:[^/@\s]+@")

START_SECONDS = 120.0
"""What starting a process may take, on a machine that does much else."""


class ForkServer:
    """A fork server (`nsl_bench.sandbox.fork_server_process`) and the connection to it.

    Args:
        network: whether its children may open sockets.
        threads: number of threads of numerical libraries in its children.
    """

    def __init__(self, network: bool, threads: int) -> None:
        if not hasattr(os, "fork"):
            raise UserError(
                "The sandbox needs Linux or macOS; use --isolation none to run learners without it."
            )
        self._line, theirs = socket.socketpair()
        self._received = b""
        self._ended: dict[int, dict[str, Any]] = {}
        self._preloaded: set[str] = set()
        self._gone = False
        words = ["network"] if network else []
        with theirs:
            # A session of its own: Ctrl-C in the terminal is for the harness, which ends learners itself.
            self._process = subprocess.Popen(
                [*_COMMAND, str(theirs.fileno()), *words],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                env=_environment(threads),
                start_new_session=True,
            )
        ready = self.next_event(START_SECONDS)
        if ready is None:
            self.close()
            raise UserError("The process that starts learners cannot be started; run `nsl-bench doctor`.")
        self.force: dict[str, str] = ready["ready"]

    @property
    def usable(self) -> bool:
        """Whether it is running."""
        return not self._gone and self._process.poll() is None

    def fileno(self) -> int:
        """The file descriptor of the connection, for a selector."""
        return self._line.fileno()

    def spawn(self, request: dict[str, Any], channel: socket.socket, output: int) -> int:
        """Fork a learner's process; returns the process id of its supervisor."""
        data = json.dumps({"spawn": request}).encode() + b"\n"
        sent = socket.send_fds(self._line, [data], [channel.fileno(), output])
        self._line.sendall(data[sent:])
        while (event := self.next_event(START_SECONDS)) is not None:
            if "spawned" in event:
                self._ended.pop(event["spawned"], None)  # of an earlier process with its number
                return int(event["spawned"])
        raise OSError("the process that starts learners does not respond")

    def remove_at_end(self, folder: Path) -> None:
        """Have a folder removed, which need not exist yet, when this process ends and leaves it."""
        self._send({"temporary": str(folder)})

    def has_news(self, process: int) -> bool:
        """Whether messages wait that were received with others, or the end of a process was said."""
        return process in self._ended or b"\n" in self._received

    def kill(self, process: int) -> None:
        """End a learner's process and all processes that it started."""
        self._send({"kill": process})

    def preload(self, modules: Sequence[str]) -> None:
        """Import modules now, for later processes."""
        new = [name for name in modules if name not in self._preloaded]
        self._preloaded.update(new)
        if new:
            self._send({"preload": new})

    def how_ended(self, process: int, seconds: float) -> dict[str, Any] | None:
        """How a process ended; None if the next message within some seconds, or an earlier one, does not say.

        The ends of several processes may be said at once, or while another one is started.
        """
        if process not in self._ended:
            self.next_event(seconds)
        return self._ended.pop(process, None)

    def next_event(self, seconds: float) -> dict[str, Any] | None:
        """The next message; None after a timeout in seconds, or if it has ended (then not `usable`)."""
        deadline = time.monotonic() + seconds
        while b"\n" not in self._received:
            self._line.settimeout(max(0.001, deadline - time.monotonic()))
            try:
                data = self._line.recv(1 << 16)
            except TimeoutError:
                return None
            except OSError:
                data = b""
            if not data:
                self._gone = True
                return None
            self._received += data
        line, _, self._received = self._received.partition(b"\n")
        message: dict[str, Any] = json.loads(line)
        if "exit" in message:
            self._ended[message["exit"]] = message
        return message

    def _send(self, message: dict[str, Any]) -> None:
        with contextlib.suppress(OSError):
            self._line.settimeout(None)
            self._line.sendall(json.dumps(message).encode() + b"\n")

    def close(self) -> None:
        """End it and all its children."""
        self._line.close()
        try:
            self._process.wait(_GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def _environment(threads: int) -> dict[str, str]:
    """The harness's environment without secrets, with what makes runs repeatable."""
    variables = {
        name: v for name, v in os.environ.items() if not any(word in name.upper() for word in _SECRET)
    }
    variables = {name: value for name, value in variables.items() if _PASSWORD.search(value) is None}
    counts = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS")
    # Arrow's own allocator starts a thread, which does not survive a fork.
    fixed = {"PYTHONHASHSEED": "0", "ARROW_DEFAULT_MEMORY_POOL": "system"}
    return {**variables, **dict.fromkeys(counts, str(threads)), **fixed}


class _Pool(threading.local):
    """Each thread's server processes; a thread has one learner at a time."""

    def __init__(self) -> None:
        self._owner = os.getpid()
        self._servers: dict[tuple[bool, int], ForkServer] = {}

    def get(self, limits: Limits) -> ForkServer:
        """A server process that fits."""
        if self._owner != os.getpid():  # forked: the parent's are not ours
            self.__init__()  # type: ignore[misc]
        key = (limits.network, limits.threads)
        if key not in self._servers or not self._servers[key].usable:
            self._servers[key] = ForkServer(*key)
        return self._servers[key]

    def discard(self, server: ForkServer) -> None:
        """Have the next learner start from a new server process."""
        self._servers = {key: other for key, other in self._servers.items() if other is not server}
        server.close()

    def close(self) -> None:
        """End this thread's server processes."""
        for server in self._servers.values():
            server.close()
        self._servers.clear()


pool = _Pool()
"""Where learners' processes come from."""


def scratch_folder(limits: Limits, prefix: str = "nsl-bench-", place: Path | None = None) -> Path:
    """A new folder, which the fork server removes should this process be killed and leave it.

    Args:
        place: where to make it; None for the folder of temporary files.
    """
    folder = Path(place or tempfile.gettempdir(), f"{prefix}{secrets.token_hex(8)}").resolve()
    pool.get(limits).remove_at_end(folder)
    folder.mkdir(0o700)
    return folder


atexit.register(pool.close)
