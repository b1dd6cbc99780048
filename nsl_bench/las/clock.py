"""When to stop: a deadline, Ctrl-C, and how much memory tables may take."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

from nsl_bench.las.program import Undecided

__all__ = ["Budget", "heeding_interrupts", "late"]

_SHARE = 0.5


def late(deadline: float | None) -> bool:
    """Whether `deadline`, a `time.monotonic` value, has passed."""
    return deadline is not None and time.monotonic() >= deadline


@dataclass
class Budget:
    """What a solver may use; shared by its phases.

    Attributes:
        deadline: `time.monotonic` value at which to stop; None: never.
        memory: bytes that tables may take.
        interrupted: Ctrl-C was pressed: finish with what is known.
        taken: bytes that tables have taken.
    """

    deadline: float | None
    memory: int
    interrupted: bool = False
    taken: int = 0

    @classmethod
    def of(cls, deadline: float | None, memory_limit: int | None) -> Budget:
        """A budget; without a memory limit, half of the machine's memory."""
        return cls(deadline, _machine_memory() if memory_limit is None else memory_limit)

    def expired(self) -> bool:
        """Whether to stop now."""
        return self.interrupted or (self.deadline is not None and time.monotonic() > self.deadline)

    def before(self, share: float) -> Budget:
        """A budget that ends after `share` of the time that is left."""
        if self.deadline is None:
            return self
        now = time.monotonic()
        return _Early(self, now + max(0.0, share * (self.deadline - now)))

    def take(self, n_bytes: int, what: str) -> None:
        """Counts memory.

        Raises:
            Undecided: there is not that much.
        """
        self.taken += n_bytes
        if self.taken > self.memory:
            mib = self.taken >> 20
            raise Undecided(f"{what} would take {mib} MiB, more than the limit of {self.memory >> 20} MiB")


@contextmanager
def heeding_interrupts(budget: Budget) -> Iterator[None]:
    """Makes the first Ctrl-C end the work in good order, with the best answer so far.

    A second one is a `KeyboardInterrupt` as ever. Outside of the main thread nothing changes.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)

    def note(number: int, frame: FrameType | None) -> None:
        if budget.interrupted:
            raise KeyboardInterrupt
        budget.interrupted = True

    signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


class _Early(Budget):
    """A budget with an earlier deadline that shares the rest with another one."""

    def __init__(self, whole: Budget, deadline: float) -> None:
        super().__init__(deadline, whole.memory, whole.interrupted, whole.taken)
        self._whole = whole

    def expired(self) -> bool:
        return super().expired() or self._whole.interrupted

    def take(self, n_bytes: int, what: str) -> None:
        self._whole.take(n_bytes, what)


def _machine_memory() -> int:
    try:
        machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        machine = 8 << 30
    try:
        import resource

        allowed, _ = resource.getrlimit(resource.RLIMIT_DATA)
    except ImportError:
        allowed = -1
    return int(_SHARE * (machine if allowed < 0 else min(machine, allowed)))
