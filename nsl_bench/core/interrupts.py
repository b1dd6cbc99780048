"""Ctrl-C: held back in critical sections, handled once, and left to the parent process.

SIGTERM is heard as Ctrl-C is, so that what was begun is tidied up.
"""

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

_DEAF_SECONDS = 10.0
_IMPORT_SECONDS = 5.0
_LEFT_BEHIND = "ignore:resource_tracker:UserWarning"
"""What a tracker says of a killed process's semaphores, which it then removes."""


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Ctrl-C waits until the block is over; processes that the block starts do not notice it."""
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _Patient:
    """Handles Ctrl-C: one during an import waits for its end, and a second one does nothing.

    An import can swallow the exception, in a callback of its own or in a compiled module.
    """

    def __init__(self) -> None:
        self._deaf_until = 0.0
        self._first: float | None = None

    def __call__(self, number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if now < self._deaf_until:
            return
        self._first = self._first or now
        if _importing(frame) and now < self._first + _IMPORT_SECONDS:
            again = threading.Timer(0.02, signal.pthread_kill, (threading.main_thread().ident, number))
            again.daemon = True
            again.start()
            return
        self._first, self._deaf_until = None, now + _DEAF_SECONDS
        raise KeyboardInterrupt


def _importing(frame: FrameType | None) -> bool:
    while frame is not None and not frame.f_code.co_filename.startswith("<frozen importlib"):
        frame = frame.f_back
    return frame is not None and hasattr(signal, "pthread_kill")


def be_patient() -> None:
    """From now on impatient second Ctrl-Cs do not disturb what the first one made to end."""
    in_charge = threading.current_thread() is threading.main_thread()
    if in_charge and signal.getsignal(signal.SIGINT) in (signal.default_int_handler, end_at_once):
        signal.signal(signal.SIGINT, _Patient())


def end_at_once(number: int, frame: FrameType | None) -> None:
    """A handler of Ctrl-C for the first imports of a program, when there is nothing to tidy up yet."""
    os.write(2, b"nsl-bench: Interrupted.\n")
    os._exit(130)


_terminated = threading.Event()


def hear_termination() -> None:
    """Make SIGTERM end the program as Ctrl-C does, with another exit code."""

    def terminate(number: int, frame: FrameType | None) -> None:
        _terminated.set()
        handler = signal.getsignal(signal.SIGINT)
        held_back = hasattr(signal, "pthread_sigmask") and signal.SIGINT in signal.pthread_sigmask(
            signal.SIG_BLOCK, ()
        )
        if held_back:
            signal.raise_signal(signal.SIGINT)
        elif isinstance(handler, _Patient):
            handler(signal.SIGINT, frame)
        else:
            raise KeyboardInterrupt

    in_charge = threading.current_thread() is threading.main_thread()
    if in_charge and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, terminate)


def exit_code() -> int:
    """The exit code of a program that was interrupted: 130 for Ctrl-C, 143 for SIGTERM."""
    return 143 if _terminated.is_set() else 130


@contextmanager
def patient() -> Iterator[None]:
    """`be_patient` in a block."""
    before = signal.getsignal(signal.SIGINT)
    be_patient()
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, before)


@contextmanager
def starting_processes(*trackers: Any) -> Iterator[None]:
    """`uninterrupted`, while processes start; they call `leave_to_parent` as soon as they can.

    Args:
        trackers: modules ``resource_tracker`` that they use; starting one lets Ctrl-C through.
    """
    if hasattr(signal, "pthread_sigmask"):
        before = os.environ.get("PYTHONWARNINGS", "")
        os.environ["PYTHONWARNINGS"] = f"{before},{_LEFT_BEHIND}".lstrip(",")
        try:
            for tracker in trackers:
                tracker.ensure_running()
        finally:
            os.environ["PYTHONWARNINGS"] = before
            if not before:
                del os.environ["PYTHONWARNINGS"]
    with uninterrupted():
        yield


def leave_to_parent() -> None:
    """Ctrl-C reaches the whole group of processes; in this one, started `uninterrupted`, it does nothing."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
