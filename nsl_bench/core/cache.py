"""The cache folder: where trained networks and their predictions are kept between runs.

Files are written beside their place and renamed, so a reader never sees half a file, and are named by a
hash of everything that decides their content, so nothing in the folder ever goes stale. A lock file
keeps two processes from merging into one file at the same time.
"""

import contextlib
import errno
import hashlib
import json
import os
import secrets
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nsl_bench.core.errors import UserError
from nsl_bench.core.folders import remove, size_of

VARIABLE = "NSL_BENCH_CACHE"
"""Environment variable that names the cache folder."""

KINDS = (
    *("checked", "copies", "datasets", "digests", "environments", "hub", "networks", "predictions"),
    "training",
)
"""Its subfolders; what else there is in the folder is not ours."""

_STALE_SECONDS = 600.0
"""After so long a temporary file is one that a killed process left behind."""

_POLL_SECONDS = 0.01
"""How often a process that waits for a lock looks."""


def folder(*parts: str) -> Path:
    """The cache folder, or a folder in it; it exists afterwards.

    It is the one that the environment variable ``NSL_BENCH_CACHE`` names, else the system's place for
    caches.
    """
    import platformdirs

    root = os.environ.get(VARIABLE)
    path = Path(root).expanduser() if root else Path(platformdirs.user_cache_dir("nsl-bench"))
    path = path.joinpath(*parts)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(
            f"The cache folder {path} cannot be created ({error.strerror}); set {VARIABLE} to a "
            "writable folder."
        ) from error
    return path


def contents() -> dict[str, tuple[int, int]]:
    """The kinds of things in the cache folder: number of files, and bytes, of each; locks are none."""
    result = {}
    for path in (folder() / kind for kind in KINDS):
        if path.is_dir() and not path.is_symlink():
            files, size = size_of(path)
            result[path.name] = files - sum(1 for _ in path.rglob("*.lock")), size
    return result


def clear(kind: str) -> None:
    """Remove everything of a kind, but not what another process holds the lock of."""
    top = folder() / kind
    try:
        for path in sorted(top.iterdir()):
            if path.is_symlink():
                path.unlink()
            elif path.is_dir():
                if not remove(path):
                    raise OSError(f"{path} cannot be removed")
            elif path.suffix == ".tmp":
                if time.time() - path.stat().st_mtime > _STALE_SECONDS:
                    path.unlink(missing_ok=True)
            elif path.suffix != ".lock":
                with lock(path):
                    path.unlink(missing_ok=True)
    except OSError as error:
        raise UserError(f"The cache folder {top} cannot be cleared: {error.strerror or error}.") from error


def key(*parts: Any, size: int = 10) -> str:
    """A hash of JSON values, the same on every machine.

    Args:
        size: bytes of the hash, each two hexadecimal digits. At least 16 where a stranger chooses the values.
    """
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=size).hexdigest()


def content_key(*files: Path) -> str:
    """A short hash of the bytes of files, one after the other: 12 hexadecimal digits."""
    digest = hashlib.blake2b(digest_size=6)
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary path that takes the place of `path` at the end, unless the block raises."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}.tmp")
    try:
        yield temporary
        temporary.replace(path)
    except OSError as error:
        raise UserError(f"The file {path} cannot be written: {error.strerror or error}.") from error
    finally:
        temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def lock(path: Path, *, wait: bool = True) -> Iterator[bool]:
    """Hold `path` for oneself while the block runs; other threads and processes that ask for it wait.

    The lock is that of the library filelock: the system's own, which ends with the process that holds it.
    Its file ``.NAME.lock`` stays. Where the system has none, it is a file that names its holder.

    Args:
        path: what to hold; it need not exist.
        wait: whether to wait for another holder. If not, the block runs all the same, and gets False.
    """
    from filelock import FileLock, Timeout

    held = FileLock(path.with_name(f".{path.name}.lock"), poll_interval=_POLL_SECONDS)
    try:
        if not path.parent.is_dir():  # the library would make it
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        held.acquire(blocking=wait)
    except Timeout:
        yield False
        return
    except OSError as error:
        reason = error.strerror or error
        raise UserError(f"The folder {path.parent} cannot be written: {reason}.") from error
    try:
        yield True
    finally:
        held.release()
