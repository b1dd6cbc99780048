"""Which sweep does a run, where several work on one results folder.

A *claim* is a lock of the system on one byte of the file ``store.json``, without which a folder is no results
folder; its place follows the run's key. It ends with the process that holds it, however that ends, on another
host of a shared file system, too. So no claim outlives its sweep, and no clock decides whether one is old.

On Linux such a lock belongs to the open file, so that reading the file elsewhere does not end it
(https://man7.org/linux/man-pages/man2/fcntl_locking.2.html). On other systems it belongs to the process, and
is on a file ``.runs.lock``, which nobody else opens.
"""

import contextlib
import errno
import os
import struct
import threading
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Self

from nsl_bench.core.errors import refusing
from nsl_bench.run.job import Job
from nsl_bench.run.store import Store

_FILE, _FILE_OF_LOCKS = "store.json", ".runs.lock"
_DIGITS = 15
"""Hexadecimal digits of a key that give the place of its byte; a file has 2 ** 63 places."""

_HELD = {errno.EACCES, errno.EAGAIN}
"""Errors that say that another process holds a lock."""


class Claims:
    """The claims of one sweep on the runs of a results folder."""

    def __init__(self, folder: Path) -> None:
        self._mine: set[str] = set()
        self._guard = threading.Lock()
        marked = _of_open_files() is not None and (folder / _FILE).is_file()
        path = folder / (_FILE if marked else _FILE_OF_LOCKS)
        with refusing(f"{path} cannot be written"):
            self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)

    def take(self, key: str) -> bool:
        """Claim a run; False if it is claimed already."""
        with self._guard:
            if key in self._mine or not self._locked(key):
                return False
            self._mine.add(key)
            return True

    def free(self, key: str) -> None:
        """Give up a claim."""
        with self._guard, contextlib.suppress(OSError):
            self._mine.discard(key)
            self._set(key, lock=False)

    def free_all(self) -> None:
        """Give up all claims."""
        for key in list(self._mine):
            self.free(key)

    def close(self) -> None:
        """Give up all claims, and the file."""
        self.free_all()
        os.close(self._file)

    def _locked(self, key: str) -> bool:
        """Lock a run's byte; True on systems and file systems that have no such locks."""
        try:
            self._set(key, lock=True)
        except OSError as error:
            return error.errno not in _HELD
        return True

    def _set(self, key: str, *, lock: bool) -> None:
        if find_spec("fcntl") is None:
            return
        import fcntl

        place, command = int(key[:_DIGITS], 16), _of_open_files()
        if command is not None:
            kind = fcntl.F_WRLCK if lock else fcntl.F_UNLCK
            fcntl.fcntl(self._file, command, struct.pack("hhqqi4x", kind, os.SEEK_SET, place, 1, 0))
        else:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB if lock else fcntl.LOCK_UN, 1, place)


def _of_open_files() -> int | None:
    """The command of ``fcntl`` for locks that belong to open files; None where there are none."""
    if find_spec("fcntl") is None:
        return None
    import fcntl

    return getattr(fcntl, "F_OFD_SETLK", None)


class Turns:
    """The runs that a sweep may start: those that no other sweep does, or did since this one began.

    Args:
        again: whether a run that has a record with a status is to be repeated.
    """

    def __init__(self, store: Store, again: Callable[[str], bool]) -> None:
        self._store, self._again = store, again
        self._claims = Claims(store.folder)
        store.records_file.touch()
        self._end = store.end()
        self._own: set[str] = set()
        self._known: dict[str, str] = {}

    def __enter__(self) -> Self:
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
