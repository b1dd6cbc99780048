"""A child process that calls functions for `nsl_bench.logic.guarded.call`, and the connection to it.

It is a fork of this process as long as this process has one thread, which is cheap and safe. Otherwise it is
a new process.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import sys
import threading
import time
from typing import Any, NoReturn

from nsl_bench.core.errors import UserError
from nsl_bench.core.interrupts import uninterrupted
from nsl_bench.logic.guarded import wire, worker
from nsl_bench.logic.guarded.output import Output

__all__ = ["Child"]

_LARGEST_ANSWER = 4 << 30
_GRACE_SECONDS = 0.5
_FRESH = "import sys; from nsl_bench.logic.guarded.worker import main; main(int(sys.argv[1]))"


class Child:
    """A child process and the connection to it."""

    def __init__(self) -> None:
        self.output = Output()
        self.channel, theirs = socket.socketpair()
        self.decoder = wire.Decoder(_LARGEST_ANSWER)
        self._code: int | None = None
        try:
            with theirs, uninterrupted():
                self._popen: Any = None
                if _has_one_thread():
                    self.process = self._fork(theirs)
                else:
                    import subprocess

                    self._popen = subprocess.Popen(
                        [sys.executable, "-P", "-c", _FRESH, str(theirs.fileno())],
                        pass_fds=[theirs.fileno()],
                        stdin=subprocess.DEVNULL,
                        stdout=self.output.sink,
                        stderr=self.output.sink,
                        start_new_session=True,
                    )
                    self.process = self._popen.pid
        except OSError as error:
            self.output.close()
            raise UserError(f"The worker process cannot be started: {error.strerror}.") from error
        os.close(self.output.sink)
        self.output.sink = -1
        self.channel.setblocking(True)

    def _fork(self, theirs: socket.socket) -> int:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):  # what is written there is not the child's to write again
                stream.flush()
        process = os.fork()
        if process == 0:
            self._live(theirs)
        return process

    def _live(self, theirs: socket.socket) -> NoReturn:
        """Be the child."""
        try:
            os.setsid()
            for number in (signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, signal.SIG_DFL)
            nothing = os.open(os.devnull, os.O_RDONLY)
            os.dup2(nothing, 0)
            for descriptor in (1, 2):
                os.dup2(self.output.sink, descriptor)
            sys.stdout = open(1, "w", closefd=False, encoding="utf-8", errors="replace")  # noqa: SIM115
            sys.stderr = open(2, "w", closefd=False, encoding="utf-8", errors="replace")  # noqa: SIM115
            kept = theirs.fileno()
            os.closerange(3, kept)
            os.closerange(kept + 1, os.sysconf("SC_OPEN_MAX"))
            worker.serve(theirs)
        finally:
            os._exit(70)

    @property
    def alive(self) -> bool:
        """Whether it is running."""
        return self.code() is None

    def code(self) -> int | None:
        """Its exit code, negative for a signal; None while it is running."""
        if self._code is None:
            if self._popen is not None:
                self._code = self._popen.poll()
            else:
                try:
                    process, status = os.waitpid(self.process, os.WNOHANG)
                except ChildProcessError:  # somebody else took its exit code
                    process, status = self.process, 0
                if process:
                    self._code = os.waitstatus_to_exitcode(status)
        return self._code

    def receive(self) -> bool:
        """Receive what it has sent; False if it has ended."""
        try:
            data = self.channel.recv(1 << 20)
        except OSError:
            data = b""
        self.decoder.feed(data)
        return bool(data)

    def signal(self, number: int) -> None:
        """Send it a signal."""
        if self.alive:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(self.process, number)

    def wait(self, seconds: float) -> bool:
        """Wait for its end; False if it is still running after this time."""
        deadline = time.monotonic() + seconds
        while self.alive and time.monotonic() < deadline:
            time.sleep(0.005)
        return not self.alive

    def close(self, *, asked: bool = False) -> None:
        """End it.

        Args:
            asked: whether to send SIGINT first, so that it can end its own children.
        """
        if asked:
            self.signal(signal.SIGINT)
            with contextlib.suppress(OSError):
                select.select([self.channel], [], [], _GRACE_SECONDS)
        self.channel.close()
        if self.alive:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process, signal.SIGKILL)
            self.signal(signal.SIGKILL)
            self.wait(10.0)
        self.output.close()


def _has_one_thread() -> bool:
    """Whether this process can be forked: it has no other thread, which would be missing in the child."""
    if sys.platform != "linux" or threading.active_count() > 1:
        return False
    try:
        return len(os.listdir("/proc/self/task")) == 1  # noqa: PTH208
    except OSError:
        return False
