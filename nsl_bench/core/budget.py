"""When to stop: a deadline, Ctrl-C, and how much memory may be taken."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, TypeVar

from nsl_bench.core.processes.memory import resident

_SHARE = 0.5
_POLL = 0.05

Event = TypeVar("Event")
Result = TypeVar("Result")


MEBIBYTE = 1 << 20


allowed: int | None = None
"""Bytes that all work in this process may hold, where it has a limit; the sandbox of a learner says so."""


class Undecided(Exception):
    """The task is outside of what the fast path decides; its text says why, for the statistics."""


class Expired(Undecided):
    """A budget is used up."""


class Abandoned(Exception):
    """Work did not end in time, and goes on in its thread until it looks at its budget."""


@dataclass
class Budget:
    """What a solver may use; shared by its phases and by all tiers.

    Attributes:
        deadline: `time.monotonic` value at which to stop; None: never.
        memory: bytes that this process may hold.
        interrupted: Ctrl-C was pressed: finish with what is known.
        cut_short: a phase ended because its share of the time was used up.
        aside: other work, and from when on it may be done (`pause`).
    """

    deadline: float | None = None
    memory: int = field(default_factory=lambda: resident(os.getpid()) + _machine_memory())
    interrupted: bool = False
    cut_short: bool = False
    aside: tuple[float, Callable[[], None]] | None = field(default=None, repr=False)

    @classmethod
    def of(cls, time_limit: float | None, memory_limit: int | None) -> Budget:
        """A budget from now on; without a memory limit, half of the machine's memory is for the solver."""
        deadline = None if time_limit is None else time.monotonic() + time_limit
        return cls(deadline) if memory_limit is None else cls(deadline, memory_limit)

    def expired(self) -> bool:
        """Whether to stop now."""
        return self.interrupted or (self.deadline is not None and time.monotonic() >= self.deadline)

    def allows(self, seconds: float) -> bool:
        """Whether so much time is left."""
        return self.deadline is None or time.monotonic() + seconds < self.deadline

    def check(self) -> None:
        """Raises `Expired` where it is time to stop or memory is full."""
        if self.expired():
            raise Expired("time ran out")
        if self.full():
            raise Expired(f"the memory limit of {self.memory >> 20} MiB is reached")

    def pause(self) -> None:
        """Lets a long search rest while the work `aside` is done, if that is due; it is done once."""
        if self.aside is not None and time.monotonic() >= self.aside[0]:
            (_, work), self.aside = self.aside, None
            work()

    @property
    def ended_by(self) -> str:
        """Why the best answer so far is not proven; empty if there was time enough."""
        if self.interrupted:
            return "Interrupted."
        if self.cut_short or self.expired():
            return "Time ran out."
        return f"The memory limit of {self.memory >> 20} MiB is reached." if self.full() else ""

    def full(self) -> bool:
        """Whether this process holds more memory than it may."""
        return not self.room()

    def room(self) -> int:
        """The bytes of memory that this process may still take."""
        return max(0, self.memory - resident(os.getpid()))

    def before(self, share: float) -> Budget:
        """A budget that ends after `share` of the time that is left."""
        if self.deadline is None:
            return self
        now = time.monotonic()
        return _Early(self, now + max(0.0, share * (self.deadline - now)))

    def with_grace(self, seconds: float) -> Budget:
        """A budget for what an answer needs: it ends so much later than this one, and is never full."""
        return _Late(self, seconds)

    def take(self, n_bytes: int, what: str) -> None:
        """Says that so much memory will be taken."""
        if n_bytes >= self.room():
            mib = n_bytes >> 20
            raise Undecided(f"{what} would take {mib} MiB more, beyond the limit of {self.memory >> 20} MiB")


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


def abandonable(
    budget: Budget,
    grace: float,
    work: Callable[[Callable[[Event], None]], Result],
    notify: Callable[[Event], None],
) -> Result:
    """Call a function in a thread of its own, and leave it behind if it does not end in time.

    Clingo looks at nothing while it joins literals without making a rule, so grounding can take any time. The
    thread ends when `work` looks at the budget the next time; the interpreter waits for that before it exits.

    Args:
        budget: what `work` heeds.
        grace: seconds that `work` may take after the budget is used up.
        work: is handed a function that reports an event.
        notify: is called with each event, in the thread of the caller.

    Returns:
        What `work` returns.
    """
    import queue

    events: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()

    def run() -> None:
        try:
            events.put(("result", work(lambda event: events.put(("event", event)))))
        except BaseException as error:  # handed to the caller's thread
            events.put(("error", error))

    late = budget.with_grace(grace)
    threading.Thread(target=run).start()
    try:
        while True:
            try:
                kind, value = events.get(timeout=_POLL)
            except queue.Empty:
                kind, value = "", None
            if kind == "event":
                notify(value)
            if kind in ("", "event"):
                if late.expired():
                    raise Abandoned
            elif kind == "error":
                raise value
            else:
                result: Result = value
                return result
    except Abandoned:
        raise
    except BaseException:  # of `notify`, or Ctrl-C: nobody waits for the work any more
        budget.interrupted = True
        raise


class _Early(Budget):
    """A budget with an earlier deadline that shares the rest with another one."""

    def __init__(self, whole: Budget, deadline: float) -> None:
        super().__init__(deadline, whole.memory, whole.interrupted)
        self._whole: Budget = whole._whole if isinstance(whole, _Early) else whole

    def expired(self) -> bool:
        if not super().expired():
            return self._whole.interrupted
        self._whole.cut_short = True
        return True

    def pause(self) -> None:
        self._whole.pause()


class _Late(Budget):
    """A budget that ends some seconds after another one has, whatever the memory."""

    def __init__(self, whole: Budget, grace: float) -> None:
        super().__init__(whole.deadline, sys.maxsize)
        self._whole = whole
        self._grace = grace
        self._ends: float | None = None

    def expired(self) -> bool:
        if self._ends is None and self._whole.expired():
            self._ends = time.monotonic() + self._grace
        return self._ends is not None and time.monotonic() >= self._ends


def _machine_memory() -> int:
    try:
        machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        import psutil

        machine = int(psutil.virtual_memory().total)
    machine = min(machine, allowed or machine)
    try:
        import resource

        most, _ = resource.getrlimit(resource.RLIMIT_DATA)
    except ImportError:
        most = -1
    return int(_SHARE * (machine if most < 0 else min(machine, most)))
