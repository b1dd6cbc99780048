"""Remove and measure untrusted folders, whatever is in them.

``python -m nsl_bench.core.folders FOLDER`` removes a folder once its standard input ends (`temporary`).
"""

import contextlib
import math
import os
import secrets
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

_AFTERWARDS_SECONDS = 600.0
"""How long processes that the killed process left may still write into its temporary folder."""

_MOST_NAMES = 1000
_DEEPEST = 64
"""Levels of folders that are open at once."""

_OPENED = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)


class _LateError(Exception):
    """The time for removing is over."""


def remove(folder: Path, seconds: float = math.inf) -> bool:
    """Remove a folder and what is in it, as far as the system permits; never an error.

    Folders that lie deep are moved to its top first. So neither depth nor the length of paths matters, and a
    few descriptors and little memory suffice for any number of files.

    Args:
        seconds: wall time in seconds after which the rest is left.

    Returns:
        Whether nothing is left of it.
    """
    deadline = time.monotonic() + seconds
    with contextlib.suppress(OSError, _LateError):
        if not stat.S_ISDIR(os.lstat(folder).st_mode):
            folder.unlink()
        elif os.scandir not in os.supports_fd or os.rename not in os.supports_dir_fd:
            import shutil

            shutil.rmtree(folder, ignore_errors=True)
        else:
            top = _Level(str(folder), None)
            try:
                while _emptied(top, deadline):
                    pass
            finally:
                os.close(top.descriptor)
            folder.rmdir()
    return not os.path.lexists(folder)


def remove_for_sure(folder: Path, seconds: float = _AFTERWARDS_SECONDS) -> None:
    """Remove a folder again and again, as processes that are about to end may still use it.

    Args:
        seconds: wall time in seconds after which it is left.
    """
    deadline = time.monotonic() + seconds
    while not remove(folder, deadline - time.monotonic()) and time.monotonic() < deadline:
        time.sleep(0.01)


@contextlib.contextmanager
def temporary() -> Iterator[Path]:
    """A temporary folder for the block; if this process is killed, another process removes it.

    That process starts before the folder is made, and removes it again and again until nothing is left: the
    killed process's own processes may write into it for a while.
    """
    folder = Path(tempfile.gettempdir(), f"nsl-bench-{secrets.token_hex(8)}")
    words = [sys.executable, "-P", "-m", __name__, str(folder)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, start_new_session=True) as remover:
        try:
            folder.mkdir(0o700)
            yield folder
        finally:
            remove(folder)
            remover.kill()


def size_of(folder: Path) -> tuple[int, int]:
    """Number of files below a folder, and their bytes, as far as they can be seen; no link is followed."""
    files = size = 0
    waiting = [str(folder)]
    while waiting:
        with contextlib.suppress(OSError), os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                elif entry.is_file(follow_symlinks=False):
                    files, size = files + 1, size + entry.stat(follow_symlinks=False).st_size
    return files, size


class _Level:
    """An open folder that is being emptied.

    Args:
        name: its name.
        place: descriptor of the folder that it is in; None: that of this process.

    Attributes:
        names: folders in it that are not removed yet.
        more: whether there may be others.
        removed: how many files and folders have been removed.
        looked: how many had been at the last look.
    """

    def __init__(self, name: str, place: int | None) -> None:
        with contextlib.suppress(OSError):
            _permit(name, place)
        self.name = name
        self.descriptor = os.open(name, _OPENED, dir_fd=place)
        self.names: list[str] = []
        self.more, self.removed, self.looked = True, 0, 0

    def look(self, deadline: float) -> None:
        """Remove the files, and note the names of folders."""
        self.more, self.looked = False, self.removed
        with contextlib.suppress(OSError), os.scandir(self.descriptor) as entries:
            for entry in entries:
                if len(self.names) == _MOST_NAMES:
                    self.more = True
                    break
                _hold(deadline)
                with contextlib.suppress(OSError):
                    if entry.is_dir(follow_symlinks=False):
                        self.names.append(entry.name)
                    else:
                        os.unlink(entry.name, dir_fd=self.descriptor)
                        self.removed += 1


def _hold(deadline: float) -> None:
    if time.monotonic() > deadline:
        raise _LateError


def _emptied(top: _Level, deadline: float) -> bool:
    """Remove what is found in a folder; whether anything was removed."""
    levels = [top]
    try:
        return _emptied_below(levels, deadline)
    finally:
        for level in levels[1:]:
            os.close(level.descriptor)


def _emptied_below(levels: list[_Level], deadline: float) -> bool:
    """Remove what is found in the first of the folders; at an error the list has those that are open."""
    top = levels[0]
    before = top.removed
    top.look(deadline)
    while levels:
        _hold(deadline)
        here = levels[-1]
        if here.names:
            name = here.names.pop()
            with contextlib.suppress(OSError):
                if len(levels) > _DEEPEST:
                    _permit(name, here.descriptor)
                    new = secrets.token_hex(16)
                    os.rename(name, new, src_dir_fd=here.descriptor, dst_dir_fd=top.descriptor)
                    top.names += [new] if len(top.names) < _MOST_NAMES else []
                    continue
                levels.append(_Level(name, here.descriptor))
                levels[-1].look(deadline)
            continue
        if here.more and here.removed > here.looked:
            here.look(deadline)
            continue
        levels.pop()
        if levels:
            os.close(here.descriptor)
            with contextlib.suppress(OSError):
                os.rmdir(here.name, dir_fd=levels[-1].descriptor)
                levels[-1].removed += 1
    return top.removed > before


def _permit(name: str, place: int | None) -> None:
    """Give this user all rights to a folder; a link in its place is not followed."""
    if stat.S_IMODE(os.stat(name, dir_fd=place, follow_symlinks=False).st_mode) & 0o700 == 0o700:
        return
    if not hasattr(os, "O_PATH"):
        os.chmod(name, 0o700, dir_fd=place)
        return
    folder = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=place)
    try:
        Path(f"/proc/self/fd/{folder}").chmod(0o700)
    finally:
        os.close(folder)


if __name__ == "__main__":
    sys.stdin.buffer.read()
    remove_for_sure(Path(sys.argv[1]))
