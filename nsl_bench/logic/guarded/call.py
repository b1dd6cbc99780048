"""Call functions in a separate process, because untrusted rules and files can hang or crash a process.

Grounding of rules may never terminate, and clingo cannot always be stopped meanwhile. An integer division
that overflows crashes clingo's process. A damaged parquet file can crash the process that reads it. `guarded`
therefore calls a function in a child process with limits on wall time and memory, which is kept for the next
call. Rules and tables are not code, so the child has no sandbox (`nsl_bench.sandbox.sandbox`).

If processes cannot be forked (Windows), functions run in this process, with their own limits only.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import pickle
import selectors
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, Literal

from nsl_bench.core.errors import UserError
from nsl_bench.logic.guarded import worker
from nsl_bench.logic.guarded.child import Child
from nsl_bench.logic.guarded.memory import resident

__all__ = ["GROUNDING_SECONDS", "RULES", "Advice", "Allowance", "Ended", "call_here", "guarded", "prepare"]

GROUNDING_SECONDS = 60.0
"""What grounding rules may take where nobody says otherwise."""

_LEAST_MEMORY = 512 << 20
_MOST_KEPT = 1 << 30
"""A child that holds more between two calls is replaced, in bytes."""

_POLL = (0.01, 0.1)
_START_SECONDS = 120.0
"""What importing a function may take, on a machine that does much else."""

_CHILDREN = hasattr(os, "fork")
"""Whether a child process can be held to limits; Windows has neither sockets to inherit nor groups to end."""

_KILLED = "another process killed it (out of memory?)"


@dataclass(frozen=True)
class Advice:
    """Parts of the message about a call that did not finish.

    Attributes:
        less: what would need less time or memory, as the end of a sentence.
        crashed: what crashed, e.g. ``"crashed clingo"``, which follows the description of the call.
        why: name of a signal to its likely cause.
    """

    less: str
    crashed: str
    why: Mapping[str, str]


RULES = Advice(
    "rules with fewer variables, or smaller numbers in them, need less",
    "crashed clingo",
    {
        "SIGFPE": "an integer division overflows or divides by zero, as in -2147483648 / -1 or 1 \\ 0",
        "SIGSEGV": "terms and statements that are nested less deep may help",
    },
)
"""For functions that ground rules."""


@dataclass(frozen=True)
class Allowance:
    """Resource limits of a call.

    Attributes:
        seconds: wall time in seconds; None for no limit.
        memory: memory in bytes, beyond what the child has at the start; None for half of the machine's
            memory.
        grace: further seconds for a function that observes the time limit itself.
    """

    seconds: float | None = GROUNDING_SECONDS
    memory: int | None = None
    grace: float = 0.0


class Ended(UserError):
    """A call did not finish. The message says what was called and what ended it.

    Attributes:
        status: what ended it.
    """

    def __init__(self, status: Literal["timeout", "out_of_memory", "crashed"], text: str) -> None:
        super().__init__(text)
        self.status = status


def guarded(
    function: Callable[..., Any],
    /,
    *arguments: Any,
    doing: str,
    allowance: Allowance | None = None,
    heard: Callable[[Any], None] | None = None,
    interruptible: bool = False,
    advice: Advice = RULES,
    **named: Any,
) -> Any:
    """Call ``function(*arguments, **named)`` in a separate process.

    Args:
        function: a function of a module. It must return JSON values or arrays; tuples become lists. Modules
            that it imports late can be declared with `nsl_bench.logic.guarded.worker.needing`.
        arguments: arguments that can be pickled.
        doing: description of the call, which starts a message, e.g. ``"Grounding the hypothesis"``.
        allowance: resource limits.
        heard: called with the values that the function passes to `nsl_bench.logic.guarded.worker.tell`.
        advice: further parts of a message.
        interruptible: whether the function handles the first Ctrl-C itself, and only a second one ends it.
        named: further arguments, by name.

    Raises:
        UserError: raised by the function.
        Ended: the process exceeded its limits or crashed.
    """
    if not _CHILDREN or _in_place or worker.inside():
        with worker.told_to(heard):
            return function(*arguments, **named)
    call = pickle.dumps((function, arguments, named), pickle.HIGHEST_PROTOCOL)
    with _pool.child() as child:
        return _Call(child, doing, allowance or Allowance(), heard, advice).run(
            call, interruptible=interruptible
        )


def prepare() -> None:
    """Start a child process now, to save time later."""
    if _CHILDREN and not _in_place and not worker.inside():
        with _pool.child():
            pass


def call_here() -> None:
    """From now on, let `guarded` call functions in this process, without a child."""
    global _in_place
    _in_place = True


_in_place = False


class _Call:
    """One call of a function in a child.

    Args:
        child: where it runs.
        doing: what it does, as a sentence begins.
        allowance: what it may use.
        heard: is handed what it tells.
        advice: what sentences say besides.
    """

    def __init__(
        self,
        child: Child,
        doing: str,
        allowance: Allowance,
        heard: Callable[[Any], None] | None,
        advice: Advice,
    ) -> None:
        self._child, self._doing, self._heard, self._advice = child, doing, heard, advice
        self._seconds, self._grace = allowance.seconds, allowance.grace
        self._memory = max(_LEAST_MEMORY, allowance.memory or _half_of_memory())
        self._base = resident(child.process)
        self._most = 0
        self._interrupts = 0

    def run(self, call: bytes, *, interruptible: bool) -> Any:
        """Send the call and wait for its answer."""
        room = 2 * self._memory + (1 << 30)
        request = pickle.dumps((_here(), list(sys.path), room, call), pickle.HIGHEST_PROTOCOL)
        heeding = self._forwarding() if interruptible else contextlib.nullcontext()
        try:
            with heeding:
                with contextlib.suppress(OSError):  # it is dead; waiting finds why
                    self._child.channel.sendall(worker.HEAD.pack(len(request)) + request)
                return self._result(self._wait())
        except Ended as ended:
            self._child.close(asked=interruptible and ended.status == "timeout")
            raise
        except KeyboardInterrupt:
            self._child.close(asked=interruptible and self._interrupts == 0)
            raise
        except (OSError, ValueError):
            self._child.close()
            raise

    @contextlib.contextmanager
    def _forwarding(self) -> Iterator[None]:
        """Ctrl-C reaches the child; a second one is a `KeyboardInterrupt` here."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def forward(number: int, frame: FrameType | None) -> None:
            self._interrupts += 1
            if self._interrupts > 1:
                raise KeyboardInterrupt
            self._child.signal(signal.SIGINT)

        before = signal.signal(signal.SIGINT, forward)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    def _wait(self) -> Any:
        """The answer, once it is there; on the way, what the function tells."""
        child, pause = self._child, _POLL[0]
        deadline = time.monotonic() + _START_SECONDS
        with selectors.DefaultSelector() as selector:
            selector.register(child.channel, selectors.EVENT_READ)
            selector.register(child.output.descriptor, selectors.EVENT_READ)
            while True:
                while (found := child.decoder.next()) is not None:
                    message: dict[str, Any] = found
                    if "stage" in message:
                        self._doing, self._seconds = message["stage"], message["seconds"]
                        self._grace = message["grace"]
                        deadline = self._deadline()
                    elif "begun" in message:
                        deadline = self._deadline()
                    elif "event" not in message:
                        return message
                    elif self._heard is not None:
                        self._heard(message["event"])
                left = deadline - time.monotonic()
                if left <= 0:
                    raise Ended("timeout", self._late())
                ready = [key.fileobj for key, _ in selector.select(min(pause, left))]
                pause = min(_POLL[1], 2 * pause)
                if child.output.descriptor in ready and not child.output.drain():
                    selector.unregister(child.output.descriptor)
                if child.channel in ready and not child.receive():
                    raise self._death()
                self._look()

    def _late(self) -> str:
        seconds = _START_SECONDS if self._seconds is None else self._seconds
        return f"{self._doing} takes longer than the {seconds:g} s allowed; {self._advice.less}."

    def _deadline(self) -> float:
        if self._seconds is None:
            return float("inf")
        return time.monotonic() + self._seconds + self._grace

    def _look(self) -> None:
        """Hold the child to its memory."""
        self._most = max(self._most, resident(self._child.process) - self._base)
        if self._most > self._memory:
            raise self._starved()

    def _starved(self) -> Ended:
        gib = f"{self._memory / (1 << 30):.3g} GiB"
        less = self._advice.less
        return Ended("out_of_memory", f"{self._doing} takes more than the {gib} of memory allowed; {less}.")

    def _death(self) -> Ended:
        """Why the child is gone."""
        child = self._child
        child.wait(10.0)
        child.output.drain()
        code = child.code() or 0
        lines = child.output.last_lines(1)
        if "bad_alloc" in lines or "MemoryError" in lines:
            return self._starved()
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = f"exit code {code}"
        why = self._advice.why.get(name) or (_KILLED if name == "SIGKILL" else lines or "no reason was given")
        return Ended("crashed", f"{self._doing} {self._advice.crashed} ({name}): {why}.")

    def _result(self, message: Any) -> Any:
        self._child.output.drain()
        if printed := self._child.output.take():
            sys.stderr.write(printed)
        if message.get("spent"):
            self._child.close()
        if "done" in message:
            return message["done"]
        kind = message["kind"]
        if kind == "user":
            raise UserError(message["error"])
        if kind == "interrupt":
            raise KeyboardInterrupt
        if kind == "memory":
            raise self._starved()
        error = UserError(f"{self._doing} failed: {message['error']}.")
        error.add_note(message["trace"])
        raise error


def _here() -> str:
    try:
        return str(Path.cwd())
    except OSError:  # somebody removed it
        return "/"


def _half_of_memory() -> int:
    from nsl_bench.core.budget import Budget

    return Budget().memory


class _Pool:
    """The children that are not busy; a call takes one, or starts one, for as long as it lasts."""

    def __init__(self) -> None:
        self._owner = os.getpid()
        self._idle: list[Child] = []
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def child(self) -> Iterator[Child]:
        """A child for the block."""
        child = self._take() or Child()
        try:
            yield child
        finally:
            if child.channel.fileno() < 0:
                pass
            elif resident(child.process) > _MOST_KEPT:
                child.close()
            else:
                with self._lock:
                    self._idle.append(child)

    def _take(self) -> Child | None:
        with self._lock:
            if self._owner != os.getpid():  # forked: the parent's children are not ours
                self._owner, self._idle = os.getpid(), []
            while self._idle:
                child = self._idle.pop()
                if child.alive:
                    return child
                child.close()
        return None

    def close(self) -> None:
        """End the children."""
        if self._owner == os.getpid():
            while (child := self._take()) is not None:
                child.close()


_pool = _Pool()
atexit.register(_pool.close)
