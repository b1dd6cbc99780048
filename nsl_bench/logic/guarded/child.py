"""A child process that calls functions for `nsl_bench.logic.guarded.call`.

It is a fork of this process as long as this process has one thread, which is cheap and safe. Otherwise it is
a new process.
"""

import contextlib
import math
import os
import pickle
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from subprocess import Popen
from types import FrameType
from typing import Any, Literal, NoReturn

from nsl_bench.core.errors import UserError
from nsl_bench.core.interrupts import uninterrupted
from nsl_bench.core.processes import child as processes
from nsl_bench.core.processes.memory import resident, starved
from nsl_bench.logic.guarded import worker

GROUNDING_SECONDS = 60.0
"""The time limit of grounding unless another one is given."""

_LARGEST_ANSWER = 4 << 30
_LEAST_MEMORY = 512 << 20
_POLL = (0.01, 0.1)
_GRACE_SECONDS = 0.5
_END_SECONDS = 10.0
_START_SECONDS = 120.0
"""What importing a function may take, on a machine that does much else."""

_KILLED = "another process killed it (out of memory?)"
_FRESH = "import sys; from nsl_bench.logic.guarded.worker import main; main(int(sys.argv[1]))"


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


class Child(processes.Child):
    """A child process that calls one function after another."""

    def __init__(self) -> None:
        super().__init__(_LARGEST_ANSWER, poll=_POLL)
        self._code: int | None = None
        self._popen: Popen[bytes] | None = None
        try:
            with uninterrupted():
                self.process = self._fork() if _has_one_thread() else self._execute()
        except OSError as error:
            super().close()
            raise UserError(f"The worker process cannot be started: {error.strerror}.") from error
        self.started()

    def _execute(self) -> int:
        self._popen = self.execute(_FRESH)
        return self._popen.pid

    def _fork(self) -> int:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):  # what is written there is not the child's to write again
                stream.flush()
        process = os.fork()
        if process == 0:
            self._live()
        return process

    def _live(self) -> NoReturn:
        """Be the child."""
        try:
            os.setsid()
            for number in (signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, signal.SIG_DFL)
            processes.detach(self.output.sink, self.theirs.fileno())
            sys.stdout = open(1, "w", closefd=False, encoding="utf-8", errors="replace")  # noqa: SIM115
            sys.stderr = open(2, "w", closefd=False, encoding="utf-8", errors="replace")  # noqa: SIM115
            worker.serve(self.theirs)
        finally:
            os._exit(70)

    def call(
        self,
        call: bytes,
        doing: str,
        allowance: Allowance,
        on_event: Callable[[Any], None] | None,
        advice: Advice,
        *,
        interruptible: bool,
    ) -> Any:
        """Send a pickled call and wait for its result; the arguments are those of `guarded`."""
        self._doing, self._on_event, self._advice = doing, on_event, advice
        self._seconds, self._grace = allowance.seconds, allowance.grace
        self._memory = max(_LEAST_MEMORY, allowance.memory or _half_of_memory())
        self._base, self._pause, self._interrupts = resident(self.process), _POLL[0], 0
        self.deadline = time.monotonic() + _START_SECONDS
        room = 2 * self._memory + (1 << 30)
        request = pickle.dumps((_here(), list(sys.path), room, call), pickle.HIGHEST_PROTOCOL)
        self.send(worker.HEAD.pack(len(request)) + request)
        try:
            with self._forwarding() if interruptible else contextlib.nullcontext():
                return self._result(self.wait())
        except Ended as ended:
            self.close(asked=interruptible and ended.status == "timeout")
            raise
        except KeyboardInterrupt:
            self.close(asked=interruptible and self._interrupts == 0)
            raise
        except (OSError, ValueError):
            self.close()
            raise

    @contextlib.contextmanager
    def _forwarding(self) -> Iterator[None]:
        """Forward the first Ctrl-C to the child; a second one is a `KeyboardInterrupt` here."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def forward(number: int, frame: FrameType | None) -> None:
            self._interrupts += 1
            if self._interrupts > 1:
                raise KeyboardInterrupt
            self.signal(signal.SIGINT)

        before = signal.signal(signal.SIGINT, forward)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    def received(self, message: Any) -> bool:
        """Start the clock of a stage, hand on an event, or have the result."""
        if "stage" in message:
            self._doing, self._seconds, self._grace = (message[n] for n in ("stage", "seconds", "grace"))
        elif "event" in message:
            if self._on_event is not None:
                self._on_event(message["event"])
            return False
        elif "begun" not in message:
            return True
        limit = math.inf if self._seconds is None else self._seconds + self._grace
        self.deadline = time.monotonic() + limit
        return False

    def late(self) -> None:
        """Raise: the call exceeded its time."""
        seconds = _START_SECONDS if self._seconds is None else self._seconds
        raise Ended(
            "timeout", f"{self._doing} takes longer than the {seconds:g} s allowed; {self._advice.less}."
        )

    def look(self) -> float:
        """Raise if the call exceeded its memory; the bytes that are left."""
        left = self._memory - (resident(self.process) - self._base)
        if left < 0:
            raise self._starved()
        return left

    def _starved(self) -> Ended:
        gib = f"{self._memory / (1 << 30):.3g} GiB"
        less = self._advice.less
        return Ended("out_of_memory", f"{self._doing} takes more than the {gib} of memory allowed; {less}.")

    def gone(self) -> None:
        """Raise: the process ended, and the exception says by what."""
        self._wait_for_end()
        self.output.drain()
        code = self.code() or 0
        line = self.output.last_lines(1)
        if starved(line):
            raise self._starved()
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = f"exit code {code}"
        why = self._advice.why.get(name) or (_KILLED if name == "SIGKILL" else line or "no reason was given")
        raise Ended("crashed", f"{self._doing} {self._advice.crashed} ({name}): {why}.")

    def _result(self, message: Any) -> Any:
        self.output.drain()
        if printed := self.output.take():
            sys.stderr.write(printed)
        if message.get("spent"):
            self.close()
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

    @property
    def alive(self) -> bool:
        """Whether it is running."""
        return self.code() is None

    def code(self) -> int | None:
        """Its exit code, negative for a signal; None while it is running."""
        if self._code is None and self._popen is not None:
            self._code = self._popen.poll()
        elif self._code is None:
            try:
                process, status = os.waitpid(self.process, os.WNOHANG)
            except ChildProcessError:  # somebody else took its exit code
                process, status = self.process, 0
            if process:
                self._code = os.waitstatus_to_exitcode(status)
        return self._code

    def signal(self, number: int) -> None:
        """Send it a signal."""
        if self.alive:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(self.process, number)

    def _wait_for_end(self) -> None:
        deadline = time.monotonic() + _END_SECONDS
        while self.alive and time.monotonic() < deadline:
            time.sleep(0.005)

    def close(self, *, asked: bool = False) -> None:
        """End it.

        Args:
            asked: whether to send SIGINT first, so that it can end its own children.
        """
        if asked:
            self.signal(signal.SIGINT)
            with contextlib.suppress(OSError):
                select.select([self.channel], [], [], _GRACE_SECONDS)
        self.channel.close()
        if self.alive:
            processes.kill_group(self.process)
            self.signal(signal.SIGKILL)
            self._wait_for_end()
        super().close()


def _here() -> str:
    try:
        return str(Path.cwd())
    except OSError:  # somebody removed it
        return "/"


def _half_of_memory() -> int:
    from nsl_bench.core.budget import Budget

    return Budget().memory


def _has_one_thread() -> bool:
    """Whether this process can be forked: it has no other thread, which would be missing in the child."""
    if sys.platform != "linux" or threading.active_count() > 1:
        return False
    try:
        return len(os.listdir("/proc/self/task")) == 1  # noqa: PTH208
    except OSError:
        return False
