"""What a learner's process may use, and how it can fail."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from nsl_bench.errors import UserError
from nsl_bench.types import Status

__all__ = ["GIB", "Failure", "Limits", "Lost", "memory_size"]

GIB = 1 << 30

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


@dataclass(frozen=True)
class Limits:
    """What a learner may use in each run.

    Attributes:
        time: wall seconds that `fit`, and each call of `predict`, may take; None: any.
        memory: bytes of memory that its processes may hold together (resident, what they share counted
            once; what is only reserved does not count); None: any.
        network: whether it may open sockets.
        read: further files and folders that it may read.
        write: further files and folders that it may change.
        hidden: files and folders that it may not read even where their parent is readable: data with
            labels, results.
        threads: that numerical libraries may use.
    """

    time: float | None = 3600.0
    memory: int | None = 8 * GIB
    network: bool = False
    read: tuple[Path, ...] = ()
    write: tuple[Path, ...] = ()
    hidden: tuple[Path, ...] = ()
    threads: int = 1


class Failure(Exception):
    """A learner's process did not do what it was asked.

    Attributes:
        status: how it ended.
        output: the last lines that it printed.
    """

    def __init__(self, status: Status, message: str, output: str = "") -> None:
        super().__init__(message)
        self.status: Status = status
        self.output = output


class Lost(Failure):
    """The process is gone through no fault of the learner: somebody killed the one that started it."""


def memory_size(text: str) -> int:
    """``"512M"``, ``"4G"`` or a number of bytes as bytes.

    Raises:
        UserError: it is none, or less than 64 MiB, with which no learner starts.
    """
    word = text.strip().upper().removesuffix("B").removesuffix("I")
    unit = word[-1:] if word[-1:].isalpha() else ""
    try:
        size = int(float(word.removesuffix(unit)) * _UNITS[unit])
    except (ValueError, KeyError, OverflowError):
        raise UserError(f"A memory size must be a number with K, M, G or T, e.g. 4G; got '{text}'.") from None
    if size < 64 << 20:
        raise UserError(f"A learner's memory limit must be at least 64M; got '{text}'.")
    return size
