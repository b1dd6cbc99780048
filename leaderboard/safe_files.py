"""Read submissions safely: limited sizes, regular files only, no paths outside the folder, no pickle.

A submission is a folder or a zip file. Everything is checked before it is read. Problems raise `Rejected`
with one sentence.
"""

import contextlib
import lzma
import math
import stat
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from nsl_bench.core.declared import quoted
from nsl_bench.core.errors import UserError

from .submission import MANIFEST, PREDICTIONS, RUNS


class Rejected(UserError):
    """The board does not accept the submission; the message is one sentence with the reason."""


@dataclass(frozen=True)
class Limits:
    """Resource limits for scoring a submission.

    Attributes:
        manifest_bytes, runs_bytes, predictions_bytes: maximum size of each file in bytes.
        line_bytes: maximum size of one run's line in bytes.
        rules_bytes: maximum size of one run's rules in bytes.
        unpacked_bytes: maximum size of all unpacked predictions in bytes.
        group_bytes: memory limit in bytes while one row group of the predictions is unpacked.
        runs: maximum number of runs.
        words: maximum number of characters of a text that describes a run.
        solver_seconds: time limit in seconds for the rules of one run.
        seconds: time limit in seconds (wall time) for the whole scoring.
        memory: memory limit in bytes for the whole scoring, in a separate process.
    """

    manifest_bytes: int = 64 * 1024
    runs_bytes: int = 64 * 1024**2
    predictions_bytes: int = 256 * 1024**2
    line_bytes: int = 2 * 1024**2
    rules_bytes: int = 1024**2
    unpacked_bytes: int = 1024**3
    group_bytes: int = 384 * 1024**2
    runs: int = 20_000
    words: int = 400
    solver_seconds: float = 60.0
    seconds: float = 3600.0
    memory: int = 4 * 1024**3

    def of(self, file: str) -> int:
        """The greatest size of a file."""
        sizes = {MANIFEST: self.manifest_bytes, RUNS: self.runs_bytes, PREDICTIONS: self.predictions_bytes}
        return sizes[file]


LIMITS = Limits()
_FILES = (MANIFEST, RUNS, PREDICTIONS)


@contextlib.contextmanager
def opened(path: Path, limits: Limits = LIMITS) -> Iterator[Path]:
    """The folder of a submission. A zip file is unpacked for the duration of the block.

    Raises:
        UserError: the path does not exist or cannot be read.
        Rejected: a file is too large, missing, a link, or has a path outside the folder.
    """
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            _check_folder(path, limits)
    except FileNotFoundError:
        raise UserError(f"The submission {path} does not exist; give a folder or a zip file.") from None
    except OSError as error:
        raise UserError(f"The submission {path} cannot be read: {error.strerror}.") from error
    if stat.S_ISDIR(mode):
        yield path
        return
    if not stat.S_ISREG(mode) or not zipfile.is_zipfile(path):
        raise Rejected(f"{path.name} must be a folder or a zip file.")
    with tempfile.TemporaryDirectory(prefix="nsl-bench-") as temporary:
        folder = Path(temporary)
        _unpack(path, folder, limits)
        _check_folder(folder, limits)
        yield folder


def _check_folder(folder: Path, limits: Limits) -> None:
    for entry in sorted(folder.iterdir()):
        if entry.is_symlink():
            raise Rejected(f"{entry.name!r} is a symbolic link; a submission must have regular files only.")
        if entry.name not in _FILES:
            if not _harmless(entry.name):
                raise Rejected(
                    f"{entry.name!r} does not belong in a submission, which has only {', '.join(_FILES)}."
                )
            continue
        status = entry.lstat()
        if not stat.S_ISREG(status.st_mode):
            raise Rejected(f"{entry.name!r} is not a regular file.")
        _check_size(entry.name, status.st_size, limits)
    for name in _FILES:
        if not (folder / name).is_file():
            raise Rejected(f"The file {name} is missing.")


def _harmless(name: str) -> bool:
    """Whether a file that is none of a submission's may lie beside them; it is not read."""
    return name.startswith(".") or name == "scores.jsonl.zst"


def _check_size(name: str, size: int, limits: Limits) -> None:
    limit = limits.of(name)
    unit, word = (1024**2, "MB") if limit >= 1024**2 else (1024, "kB")
    if size > limit:
        raise Rejected(
            f"{name} has {math.ceil(size / unit):,} {word}, more than the {limit / unit:,.1f} {word} allowed."
        )


_UNREADABLE = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError, ValueError, struct.error)
"""What reading a broken zip file raises."""


def _unpack(path: Path, folder: Path, limits: Limits) -> None:
    try:
        with zipfile.ZipFile(path) as archive:
            members = [member for member in archive.infolist() if not _passed_over(member, limits)]
            names = [PurePosixPath(member.filename).name for member in members]
            for name in names:
                if names.count(name) > 1:
                    raise Rejected(f"The zip file must contain {name} only once.")
            for name, member in zip(names, members, strict=True):
                # The declared size may lie: reading stops at the limit.
                with archive.open(member) as packed, (folder / name).open("xb") as out:
                    bounded = _Bounded(packed, limits.of(name), name)
                    while piece := bounded.read(1 << 20):
                        out.write(piece)
    except NotImplementedError as error:
        raise Rejected(f"{path.name} must be compressed with deflate.") from error
    except RuntimeError as error:
        raise Rejected(f"{path.name} must not have a password.") from error
    except _UNREADABLE as error:
        raise Rejected(f"{path.name} is not a readable zip file: {type(error).__name__}.") from error


def _passed_over(member: zipfile.ZipInfo, limits: Limits) -> bool:
    """Whether a member is none of a submission's files but may be there: a folder, a hidden file."""
    place, named = PurePosixPath(member.filename), quoted(member.filename)
    if place.is_absolute() or ".." in place.parts or "\\" in member.filename:
        raise Rejected(f"The zip file contains {named}, which is outside the submission's folder.")
    if stat.S_ISLNK(member.external_attr >> 16):
        raise Rejected(f"{named} is a symbolic link; a submission must have regular files only.")
    if member.is_dir() or _harmless(place.name):
        return True
    if place.name not in _FILES:
        raise Rejected(f"{named} does not belong in a submission, which has only {', '.join(_FILES)}.")
    if len(place.parts) > 2:
        raise Rejected(f"{named} is too deep in the zip file; put the files at the top or in one folder.")
    _check_size(place.name, member.file_size, limits)
    return False


class _Bounded:
    """A stream that refuses to give more than it may."""

    def __init__(self, stream: Any, limit: int, name: str) -> None:
        self._stream, self._left, self._name = stream, limit, name

    def read(self, size: int = -1, /) -> bytes:
        data: bytes = self._stream.read(size)
        self._left -= len(data)
        if self._left < 0:
            raise Rejected(f"{self._name} is larger when unpacked than the size allowed.")
        return data
