"""A child process: its channel, its output, and the one loop that waits for both and holds it to limits.

A subclass starts and kills the process. `detach` is what the process itself calls first.
"""

import contextlib
import math
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from nsl_bench.core.processes import messages
from nsl_bench.core.processes.output import Output

_DEAR = 20
"""Looks at memory are apart by so many times the time that one takes: at gigabytes it takes 50 ms."""

_FASTEST_GROWTH = 8 << 30
"""Bytes a second by which the memory of a process may grow: when to look again follows from it."""


class Child(ABC):
    """The parent's side of a child process.

    Args:
        largest: bytes that a message of the child may have.
        strange: whether the child runs a stranger's code (`nsl_bench.core.processes.messages.Decoder`).
        poll: shortest and longest time between two looks at its memory, in seconds.

    Attributes:
        output: what the child prints.
        theirs: the child's end of the channel, until `started`.
        deadline: when `late` is called, on the clock of `time.monotonic`.
        watched: further files to wait for, each with what is called when it can be read.
    """

    def __init__(self, largest: int, *, strange: bool = False, poll: tuple[float, float]) -> None:
        self.output = Output()
        self.channel, self.theirs = socket.socketpair()
        self.decoder = messages.Decoder(largest, strange=strange)
        self.deadline = math.inf
        self.watched: dict[Any, Callable[[], None]] = {}
        self._poll, self._pause = poll, poll[0]
        self._unsent = memoryview(b"")

    @abstractmethod
    def received(self, message: Any) -> bool:
        """Take a message in; whether it is the one that is waited for."""

    def malformed(self, error: Exception) -> None:
        """Called if the child sends something that is no message."""
        raise error

    @abstractmethod
    def late(self) -> None:
        """Called after the deadline: raise, or kill the child and wait for its end."""

    @abstractmethod
    def gone(self) -> None:
        """Called when the child has closed its channel: raise, or wait for its end in another way."""

    @abstractmethod
    def look(self) -> float:
        """Hold the child to its memory; the bytes that are left to it."""

    def execute(self, code: str) -> subprocess.Popen[bytes]:
        """Start a Python that executes code; its last argument is the descriptor of its channel."""
        descriptor = self.theirs.fileno()
        return subprocess.Popen(
            [sys.executable, "-P", "-c", code, str(descriptor)],
            pass_fds=[descriptor],
            stdin=subprocess.DEVNULL,
            stdout=self.output.sink,
            stderr=self.output.sink,
            start_new_session=True,
        )

    def started(self) -> None:
        """Close what the child alone shall hold, once it is there."""
        self.theirs.close()
        self.output.close_sink()
        self.channel.setblocking(False)

    def send(self, message: bytes) -> None:
        """Have `wait` send a message."""
        self._unsent = memoryview(message)

    def wait(self) -> Any:
        """The message for which `received` returns true; sends what is to be sent meanwhile.

        Nothing is read while something is to be sent, so a child that floods its parent fills no memory.
        """
        next_look = time.monotonic() + self._pause
        with selectors.DefaultSelector() as selector:
            selector.register(self.channel, self._wanted)
            selector.register(self.output.descriptor, selectors.EVENT_READ)
            for file in self.watched:
                selector.register(file, selectors.EVENT_READ)
            while True:
                if time.monotonic() > self.deadline:
                    self.late()
                if time.monotonic() >= next_look:
                    clock = time.monotonic()
                    left = self.look() / _FASTEST_GROWTH
                    now = time.monotonic()
                    longest = max(self._poll[1], _DEAR * (now - clock))
                    self._pause = max(self._poll[0], min(longest, self._pause * 2, left))
                    next_look = now + self._pause
                seconds = min(next_look, self.deadline) - time.monotonic()
                for key, events in selector.select(max(0.0, seconds)):
                    if key.fileobj is self.channel:
                        if events & selectors.EVENT_WRITE:
                            self._write()
                        elif not self._read():
                            selector.unregister(self.channel)
                            self.gone()
                    elif key.fileobj in self.watched:
                        self.watched[key.fileobj]()
                    elif not self.output.drain():
                        selector.unregister(key.fileobj)
                while not self._unsent and (message := self._next()) is not None:
                    if self.received(message):
                        return message
                at = selector.get_map().get(self.channel)
                if at is not None and at.events != self._wanted:
                    selector.modify(self.channel, self._wanted)

    @property
    def _wanted(self) -> int:
        return selectors.EVENT_WRITE if self._unsent else selectors.EVENT_READ

    def _write(self) -> None:
        try:
            self._unsent = self._unsent[self.channel.send(self._unsent) :]
        except BlockingIOError:
            pass
        except OSError:  # it is dead; reading finds why
            self._unsent = memoryview(b"")

    def _read(self) -> bool:
        """Read what has come; whether the channel is open."""
        try:
            data = self.channel.recv(1 << 20)
        except BlockingIOError:
            return True
        except OSError:
            return False
        self.decoder.feed(data)
        return bool(data)

    def _next(self) -> Any:
        try:
            return self.decoder.next()
        except ValueError as error:
            self.malformed(error)
            self.decoder.clear()
            with contextlib.suppress(OSError):
                self.channel.shutdown(socket.SHUT_RD)
            return None

    def close(self) -> None:
        """Close the channel and the output, whose last lines are kept."""
        self.channel.close()
        self.theirs.close()
        self.output.close()


def kill_group(process: int) -> None:
    """Kill a process that began a session, and the processes that it started in it."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process, signal.SIGKILL)


def detach(output: int, keep: int | None = None) -> None:
    """Give this process, a fork, nothing of its parent's: no input, its own output, no other descriptor.

    Args:
        output: descriptor of what it prints to.
        keep: descriptor that stays open.
    """
    nothing = os.open(os.devnull, os.O_RDONLY)
    for descriptor, replacement in enumerate((nothing, output, output)):
        os.dup2(replacement, descriptor)
    last = os.sysconf("SC_OPEN_MAX")
    os.closerange(3, last if keep is None else keep)
    if keep is not None:
        os.closerange(keep + 1, last)
