"""Untrusted files: only regular ones are opened, and read or unpacked only up to a limit."""

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

from nsl_bench.core.errors import UserError

_KINDS = (
    (stat.S_ISREG, "a regular file"),
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
)


def kind_of(mode: int) -> str:
    """What a file of this mode is, e.g. ``"a pipe"``."""
    return next((name for is_kind, name in _KINDS if is_kind(mode)), "a device")


def check_regular(path: Path, status: os.stat_result, what: str, *, empty: bool = False) -> None:
    """Raise a `UserError` unless a file is a regular one, and not empty unless it may be."""
    if not stat.S_ISREG(status.st_mode):
        raise UserError(f"{what} {path} must be a regular file; it is {kind_of(status.st_mode)}.")
    if not (status.st_size or empty):
        raise UserError(f"{what} {path} is empty (0 bytes).")


def check_kind(path: Path, what: str) -> None:
    """Raise a `UserError` for a pipe, a socket or a device, which might never end."""
    with contextlib.suppress(OSError, ValueError):  # said when it is opened
        mode = path.stat().st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            raise UserError(f"{what} {path} must be a regular file; it is {kind_of(mode)}.")


def missing(path: Path, what: str) -> UserError:
    """The error for a file that does not exist; a link that leads nowhere is named as one."""
    if path.is_symlink():
        return UserError(f"{what} {path} is a link to {path.readlink()}, which does not exist.")
    return UserError(f"{what} {path} does not exist.")


@contextlib.contextmanager
def opened(path: Path, what: str = "The file", *, empty: bool = False) -> Iterator[BinaryIO]:
    """A regular file, open for reading.

    Args:
        what: what it is, as a sentence begins, e.g. ``"The image"``.
        empty: whether it may be empty.
    """
    try:
        # a pipe that nobody writes to must not hold this up
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except FileNotFoundError:
        raise missing(path, what) from None
    except (OSError, ValueError) as error:
        with contextlib.suppress(OSError, ValueError):  # sockets cannot be opened at all
            check_regular(path, path.stat(), what, empty=True)
        reason = getattr(error, "strerror", None) or error
        raise UserError(f"{what} {path} cannot be read ({reason}).") from None
    try:  # a folder can be opened, but not be made a file of Python's
        check_regular(path, os.fstat(descriptor), what, empty=empty)
    except UserError:
        os.close(descriptor)
        raise
    with os.fdopen(descriptor, "rb") as file:
        yield file


@contextlib.contextmanager
def unpacked(path: Path, what: str = "The file") -> Iterator[BinaryIO]:
    """A regular file, open for reading; unpacked while it is read if its name ends in ``.gz``."""
    with opened(path, what) as file:
        if path.suffix.lower() != ".gz":
            yield file
            return
        import gzip
        import zlib

        try:
            with gzip.open(file) as content:
                yield cast(BinaryIO, content)
        except (OSError, EOFError, zlib.error) as error:
            raise UserError(f"{what} {path} cannot be read ({error}); it may be incomplete.") from error


def read(path: Path, most: int, what: str = "The file") -> bytes:
    """The bytes of a regular file, unpacked if its name ends in ``.gz``.

    Args:
        most: most bytes that it may have, unpacked.
        what: what it is, as a sentence begins.
    """
    with unpacked(path, what) as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise UserError(f"{what} {path} must have at most {most >> 20} MiB; it has more.")
    return content
