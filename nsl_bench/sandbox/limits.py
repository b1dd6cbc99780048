"""Resource limits of a learner's process, and its failures."""

from dataclasses import dataclass
from pathlib import Path

from nsl_bench.core.errors import UserError
from nsl_bench.core.types import Status

GIB = 1 << 30

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


@dataclass(frozen=True)
class Limits:
    """Resource limits and access rights of a learner in each run.

    Attributes:
        time: time limit in seconds (wall time) for `fit` and for each call of `predict`; None for no limit.
        memory: limit in bytes of the resident memory of all its processes together, with shared memory
            counted once; None for no limit.
        network: whether it may open sockets.
        read: further files and folders that it may read.
        write: further files and folders that it may change.
        hidden: files and folders that it may not read even if their parent is readable: data with labels,
            results.
        threads: number of threads of numerical libraries.
    """

    time: float | None = 3600.0
    memory: int | None = 8 * GIB
    network: bool = False
    read: tuple[Path, ...] = ()
    write: tuple[Path, ...] = ()
    hidden: tuple[Path, ...] = ()
    threads: int = 1


class Failure(Exception):
    """A learner failed.

    Attributes:
        status: how the run ended, e.g. ``"timeout"``.
        output: the last lines that the learner printed.
    """

    def __init__(self, status: Status, message: str, output: str = "") -> None:
        super().__init__(message)
        self.status: Status = status
        self.output = output


class Lost(Failure):
    """The process ended through no fault of the learner: the process that started it was killed."""


def memory_size(text: str) -> int:
    """Convert ``"512M"``, ``"4G"`` or a number of bytes to bytes.

    Raises:
        UserError: the text is not a size, or less than 64 MiB, which is too little for any learner.
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
