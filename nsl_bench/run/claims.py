"""Which sweep does a run, where several work on one results folder.

A *claim* is a lock of the system on one byte of the file ``.runs.lock``; its place follows the run's key. It
ends with the process that holds it, however that ends, on another host of a shared file system, too. So no
claim outlives its sweep, and no clock decides whether one is old.

If the file is removed during a sweep, the sweep makes it again and claims its runs there. A sweep that begins
meanwhile finds no file, but a lock on the folder, and gives the others time to do so.
"""

from __future__ import annotations

import contextlib
import errno
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from nsl_bench.core.errors import UserError
from nsl_bench.run.job import Job
from nsl_bench.run.store import Store

__all__ = ["Claims", "Turns"]

_FILE = ".runs.lock"
_DIGITS = 15
"""Hexadecimal digits of a key that give the place of its byte; a file has 2 ** 63 places."""

_LOCKS = find_spec("fcntl") is not None
"""Whether the system has such locks."""

_HELD = {errno.EACCES, errno.EAGAIN}
"""Errors that say that another process holds a lock."""


_LOOK_SECONDS = 0.5
"""Time between two looks whether the file is still there."""


@dataclass(eq=False)
class _Open:
    """A file of locks that this process has open.

    It is opened once: closing any descriptor of a file ends all locks that the process has on it.
    """

    path: Path
    users: int = 0
    keys: set[str] = field(default_factory=set)
    ended: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self._folder = os.open(self.path.parent, os.O_RDONLY)
        alone = _LOCKS and self._hold_folder()
        there = self.path.exists()
        self._descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o666)
        if _LOCKS and not (alone or there):
            time.sleep(3 * _LOOK_SECONDS)
        threading.Thread(target=self._watch, daemon=True).start()

    def _hold_folder(self) -> bool:
        """Lock the folder together with other sweeps; whether there are none, or no such locks."""
        import fcntl

        try:
            fcntl.flock(self._folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            with contextlib.suppress(OSError):
                fcntl.flock(self._folder, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return error.errno not in _HELD
        fcntl.flock(self._folder, fcntl.LOCK_SH)
        return True

    def _watch(self) -> None:
        while not self.ended.wait(_LOOK_SECONDS):
            with _guard, contextlib.suppress(OSError):
                self.renew()

    def renew(self) -> None:
        """Make the file again, and lock in it what was locked, if somebody removed it."""
        if self.ended.is_set():
            return
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(self.path.stat(), os.fstat(self._descriptor)):
                return
        removed = self._descriptor
        self._descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o666)
        for key in self.keys:
            self.lock(key)
        os.close(removed)

    def lock(self, key: str) -> bool:
        """Lock a run's byte; True on systems and file systems that have no such locks."""
        if not _LOCKS:
            return True
        import fcntl

        try:
            fcntl.lockf(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, int(key[:_DIGITS], 16))
        except OSError as error:
            return error.errno not in _HELD
        return True

    def unlock(self, key: str) -> None:
        """Unlock a run's byte."""
        self.keys.discard(key)
        if _LOCKS:
            import fcntl

            with contextlib.suppress(OSError):
                fcntl.lockf(self._descriptor, fcntl.LOCK_UN, 1, int(key[:_DIGITS], 16))

    def close(self) -> None:
        """End all locks."""
        self.ended.set()
        os.close(self._descriptor)
        os.close(self._folder)


_guard = threading.Lock()
_opened: dict[tuple[int, int], _Open] = {}
"""By device and inode of the folder."""


class Claims:
    """The claims of one sweep on the runs of a results folder.

    Args:
        folder: the results folder.

    Raises:
        UserError: the folder cannot be written.
    """

    def __init__(self, folder: Path) -> None:
        self._mine: set[str] = set()
        path = folder / _FILE
        try:
            with _guard:
                self._place = (folder.stat().st_dev, folder.stat().st_ino)
                if self._place not in _opened:
                    _opened[self._place] = _Open(path)
                self._file = _opened[self._place]
                self._file.users += 1
        except OSError as error:
            raise UserError(f"{path} cannot be written: {error.strerror}.") from error

    def take(self, key: str) -> bool:
        """Claim a run; False if it is claimed already."""
        with _guard:
            with contextlib.suppress(OSError):
                self._file.renew()
            if key in self._file.keys or not self._file.lock(key):
                return False
            self._file.keys.add(key)
            self._mine.add(key)
            return True

    def free(self, key: str) -> None:
        """Give up a claim."""
        with _guard:
            self._free(key)

    def _free(self, key: str) -> None:
        self._mine.discard(key)
        self._file.unlock(key)

    def free_all(self) -> None:
        """Give up all claims."""
        with _guard:
            for key in list(self._mine):
                self._free(key)

    def close(self) -> None:
        """Give up all claims, and the file."""
        self.free_all()
        with _guard:
            self._file.users -= 1
            if not self._file.users:
                _opened.pop(self._place).close()


class Turns:
    """The runs that a sweep may start: those that no other sweep does, or did since this one began.

    Args:
        store: the results folder.
        again: whether a run that has a record with a status is to be repeated.

    Raises:
        UserError: the folder cannot be written.
    """

    def __init__(self, store: Store, again: Callable[[str], bool]) -> None:
        self._store, self._again = store, again
        self._claims = Claims(store.folder)
        store.records_file.touch()
        self._end = store.end()
        self._own: set[str] = set()
        self._known: dict[str, str] = {}

    def __enter__(self) -> Turns:
        return self

    def __exit__(self, *what: object) -> None:
        self._claims.close()

    def begin(self, job: Job) -> bool:
        """Claim a run, unless another sweep does it, or did it."""
        key = job.key()
        if not self._claims.take(key):
            return False
        if key in self.done_elsewhere():  # looked up only now that no other sweep can begin it
            self._claims.free(key)
            return False
        return True

    def end(self, key: str) -> None:
        """Give up a run whose record is written."""
        self._own.add(key)
        self._claims.free(key)

    def drop(self) -> None:
        """Give up the runs that did not end."""
        self._claims.free_all()

    def is_free(self, job: Job) -> bool:
        """Whether no other sweep does a run at this moment."""
        free = self._claims.take(job.key())
        if free:
            self._claims.free(job.key())
        return free

    def done_elsewhere(self) -> dict[str, str]:
        """The statuses of runs that other sweeps did since this one began, by key."""
        result, appended, self._end = self._store.since(self._end)
        for key, status in result.items():
            if key not in self._own and (appended or not self._again(status)):
                self._known[key] = status
        return self._known
