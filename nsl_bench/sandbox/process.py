"""The harness's side of one learner's process: start it, send requests, enforce its limits, end it.

Processes are forked from a fork server (`nsl_bench.sandbox.fork_server`), which also says when they end.
"""

import contextlib
import math
import signal
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nsl_bench.core.budget import MEBIBYTE
from nsl_bench.core.folders import remove
from nsl_bench.core.processes import messages
from nsl_bench.core.processes.child import Child
from nsl_bench.core.processes.memory import memory_of, starved
from nsl_bench.core.types import Status
from nsl_bench.sandbox import denied, sandbox
from nsl_bench.sandbox.control_groups import MOST_PROCESSES, ControlGroup
from nsl_bench.sandbox.fork_server import START_SECONDS, pool, scratch_folder
from nsl_bench.sandbox.limits import Failure, Limits, Lost
from nsl_bench.sandbox.outward import Gate

_LONGEST_TEXT = 1 << 20
_LARGEST_QUESTION = (8 << 20, 64 << 20)
"""Bytes of a question: of its text, such as reported rules, and of its arrays."""

_LONGEST_ERROR = 10_000
_POLL = (0.02, 0.25)
"""Shortest and longest time between two looks at a process, in seconds."""

_GRACE_SECONDS = 10.0
REMOVING_SECONDS = 10.0
"""How long to wait until a scratch folder is removed."""


Answer = Callable[[dict[str, Any]], dict[str, Any]]
"""Answers a learner's question."""


@dataclass(frozen=True)
class Usage:
    """CPU time and memory used by a learner's processes.

    Attributes:
        cpu_seconds: CPU time in seconds, on all cores.
        peak_memory: greatest resident memory observed, in bytes, with shared memory counted once.
    """

    cpu_seconds: float
    peak_memory: int


class Process(Child):
    """A learner's process.

    Args:
        code: files or packages of its code, besides installed packages.
        seed: seed of Python's and numpy's global random generators.
        command: a program to run instead of a Python learner; it gets no requests.
        interpreter: another Python and its arguments, which serves the requests in place of this one
            (`nsl_bench.sandbox.foreign`).
        scratch: its folder; None to create one and remove it at the end.
        cwd: its working folder; None for that of this process.
        packages: folders of which it may read the packages.
        environment: environment variables of a command; None for those of learners.
        outward: whether a command may reach public addresses, and those in `environment`, through a proxy
            (`nsl_bench.sandbox.outward`). Without namespaces it may open sockets.
    """

    def __init__(
        self,
        limits: Limits,
        *,
        code: Sequence[Path] = (),
        seed: int = 0,
        command: Sequence[str] = (),
        interpreter: Sequence[str] = (),
        scratch: Path | None = None,
        cwd: Path | None = None,
        packages: Sequence[Path] = (),
        environment: Mapping[str, str] | None = None,
        outward: bool = False,
    ) -> None:
        super().__init__(_LONGEST_TEXT, strange=True, poll=_POLL)
        self.limits = limits
        self._warm = pool.get(limits)
        self._own_scratch = scratch is None
        self.scratch = scratch or scratch_folder(limits)
        self._process: int | None = None
        self._reason: tuple[Status, str] | None = None
        self._expected = (_LONGEST_TEXT, 0)
        self._answer: Answer | None = None
        self._code: int | None = None
        self._gate: Gate | None = None
        self._group: ControlGroup | None = None
        if limits.memory is not None:
            self._group = ControlGroup.made(limits.memory, self._warm.remove_at_end)
        self._peak = 0
        self._cpu: float | None = None
        self.watched = {self._warm: self._hear}
        apart = self._warm.force["mounts"] != "shared"  # what is secret is covered there
        reach = sandbox.reach_of(limits, self.scratch.resolve(), code, packages, secrets=not apart)
        working = str(cwd or Path.cwd())
        request = {
            "scratch": str(self.scratch.resolve()),
            "cwd": working,
            "seed": seed,
            "memory": limits.memory,
            "group": None if self._group is None else [str(self._group.entry), self._group.version],
            "network": limits.network,
            "environment": None if environment is None else dict(environment),
            "outward": outward,
            "command": list(command),
            "interpreter": list(interpreter),
            "readable": [str(path) for path in reach.readable],
            "listable": [str(path) for path in reach.listable],
            "writable": [str(path) for path in reach.writable],
            "named": [working, *(str(path) for path in reach.listable if path not in packages)],
            "links": [[str(link), target] for link, target in reach.links],
            "folders": [str(path.resolve()) for path in (self.scratch, *limits.write)],
        }
        try:
            self._process = self._warm.spawn(request, self.theirs, self.output.sink)
        except OSError as error:
            self._shut()
            raise Lost("crashed", f"The learner's process cannot be started: {error}.") from error
        try:
            self.started()
            if outward:
                self._gate = self._outward(environment or {})
            self.force: dict[str, str] = self._wait(START_SECONDS)["done"]
        except BaseException:
            self.close()
            raise

    def _outward(self, environment: Mapping[str, str]) -> Gate | None:
        """The proxy to the process's network; None where it has none of its own."""
        self.channel.settimeout(START_SECONDS)
        _, descriptors, _, _ = socket.recv_fds(self.channel, 1, 1)
        self.channel.setblocking(False)
        return Gate(socket.socket(fileno=descriptors[0]), environment) if descriptors else None

    def call(
        self,
        do: str,
        answer: Answer | None = None,
        *,
        least: float = 0,
        most_text: int = _LONGEST_TEXT,
        most_arrays: int = 0,
        **given: Any,
    ) -> Any:
        """Call a method in the learner's process, within the time limit.

        Args:
            do: a method of `nsl_bench.sandbox.child`.
            answer: answers requests of the process.
            least: seconds that it has in any case, even with a shorter time limit.
            most_text: bytes that its reply may have without arrays.
            most_arrays: bytes that the arrays of its reply may have.

        Raises:
            Failure: the process failed, ended, exceeded a limit, or sent an invalid message.
        """
        message = messages.encode({"do": do, **given})
        time_limit = None if self.limits.time is None else max(least, self.limits.time)
        self._expected = (most_text, most_arrays)
        asked = (0, 0) if answer is None else _LARGEST_QUESTION
        self.decoder.most_text = max(most_text, asked[0])
        self.decoder.most = self.decoder.most_text + max(most_arrays, asked[1])
        self._answer = answer
        self.send(message)
        reply = self._wait(time_limit)
        if "error" in reply:
            reported = reply.get("status")
            status: Status = "crashed"
            if reported in ("out_of_memory", "timeout", "invalid_output") or (
                reported == "not_applicable" and do in ("make", "fit")
            ):
                status = reported
            text = " ".join(str(reply["error"])[:_LONGEST_ERROR].split())
            text = f"Out of memory: {text}" if status == "out_of_memory" else text
            why = reply.get("denied") or denied.hidden(reply.get("missing"))
            if hint := denied.advice(why, self.limits):
                text = f"{text.rstrip('.')}.{hint}"
            self.output.drain()
            raise Failure(status, text, self.output.last_lines())
        return reply.get("done")

    def run(self) -> None:
        """Wait for a command to end."""
        try:
            self._wait(self.limits.time)
        except Failure as ended:
            failure = ended
        if self._code != 0:
            raise failure

    def _wait(self, seconds: float | None) -> dict[str, Any]:
        """The reply, within a time limit; of a process that has ended before, how it did."""
        if self._code is not None:
            raise self._failure()
        self._seconds = seconds
        self.deadline = math.inf if seconds is None else time.monotonic() + seconds
        reply: dict[str, Any] = self.wait()
        return reply

    def late(self) -> None:
        """End the process; the fork server then says that it is gone."""
        self._kill("timeout", f"Longer than the time limit of {self._seconds:g} s.")
        self.deadline = math.inf

    def gone(self) -> None:
        """Do nothing: a command has no channel, and the fork server says when a process has ended."""

    def malformed(self, error: Exception) -> None:
        """End the process."""
        self._kill("invalid_output", f"The learner's process sent no message: {error}.")

    def received(self, message: Any) -> bool:
        """Answer a question, or check the size of a reply."""
        if self._reason is not None:
            return False
        if isinstance(message, dict) and "ask" in message:
            answer = {"error": "nothing can be asked now", "kind": "user"}
            if self._answer is not None:
                answer = self._answer(message)
                self.deadline += float(answer.pop("given", 0.0))  # what the harness itself needed
            self.send(messages.encode(answer))
            return False
        if any(size > most for size, most in zip(self.decoder.sizes, self._expected, strict=True)):
            sizes, most = sum(self.decoder.sizes), sum(self._expected)
            self._kill("invalid_output", f"The learner answered with {sizes} bytes; {most} are allowed.")
        elif not isinstance(message, dict):
            self._kill("invalid_output", "The learner's process sent no message of the agreed form.")
        return self._reason is None

    def _hear(self) -> None:
        """Listen to the fork server."""
        self._listen()
        if self._code is not None:
            raise self._failure()

    def _listen(self) -> None:
        event = None if self._process is None else self._warm.how_ended(self._process, 1.0)
        if event is not None:
            self._code, self._cpu = int(event["code"]), float(event["cpu"])
        elif not self._warm.usable:  # somebody killed it, and with it the learner
            self._code = 128 + signal.SIGKILL

    def look(self) -> float:
        """Hear what was said with other messages; hold the process to its memory; the bytes left to it."""
        while self._process is not None and self._code is None and self._warm.has_news(self._process):
            self._hear()
        return self._left()

    def _left(self) -> float:
        """Hold the process and its children to their memory; the bytes that are left to them."""
        if self._process is None or self._code is not None:
            return math.inf
        import psutil

        with contextlib.suppress(psutil.Error):
            family = psutil.Process(self._process).children(recursive=True)
            if len(family) > MOST_PROCESSES:
                self._kill("crashed", f"More than {MOST_PROCESSES} processes were started.")
                return math.inf
            used = memory_of(process.pid for process in family)
            self._peak = max(self._peak, used)
            if self.limits.memory is None:
                return math.inf
            if used > self.limits.memory or self._exceeds_group:
                self._kill("out_of_memory", self._too_much_memory)
            return max(0, self.limits.memory - used)
        return math.inf

    @property
    def _too_much_memory(self) -> str:
        return f"More than the memory limit of {(self.limits.memory or 0) / MEBIBYTE:g} MiB."

    @property
    def _exceeds_group(self) -> bool:
        return self._group is not None and self._group.exceeded

    def usage(self) -> Usage:
        """What the process and all processes that it started have used so far."""
        import psutil

        self._left()
        cpu = self._cpu
        if cpu is None and self._process is not None:
            with contextlib.suppress(psutil.Error):
                supervisor = psutil.Process(self._process)
                ended = supervisor.cpu_times()
                cpu = ended.children_user + ended.children_system
                for process in supervisor.children(recursive=True):
                    with contextlib.suppress(psutil.Error):
                        cpu += sum(process.cpu_times()[:4])
        return Usage(cpu or 0.0, self._peak)

    def _kill(self, status: Status, reason: str) -> None:
        if self._reason is None:
            self._reason = (status, reason)
        if self._process is not None and self._code is None:
            self._warm.kill(self._process)

    def _failure(self) -> Failure:
        """The exception for the end of the process, with its last lines."""
        self.output.drain()
        lines = self.output.last_lines()
        if self._reason is not None:
            return Failure(*self._reason, lines)
        if self._exceeds_group:
            return Failure("out_of_memory", self._too_much_memory, lines)
        if not self._warm.usable:
            return Lost("crashed", "The process that starts learners was killed.", lines)
        code = self._code or 0
        if code > 128 and code - 128 in set(signal.Signals):
            how = f"was ended by the signal {signal.Signals(code - 128).name}"
        else:
            how = f"left with exit code {code}"
        status: Status = "out_of_memory" if starved(lines) else "crashed"
        hint = denied.advice(denied.denied_in(lines), self.limits)
        return Failure(status, f"The learner's process {how}.{hint}", lines)

    def close(self) -> None:
        """End the process and remove its scratch folder."""
        if self._process is not None and self._code is None:
            self._warm.kill(self._process)
            deadline = time.monotonic() + _GRACE_SECONDS
            while self._code is None and time.monotonic() < deadline:
                self._listen()
            if self._code is None:
                pool.discard(self._warm)
        self._shut()

    def _shut(self) -> None:
        if self._gate is not None:
            self._gate.close()
        super().close()
        if self._group is not None:
            self._group.close()
        if self._own_scratch:  # what takes longer, the fork server removes at the end
            remove(self.scratch, REMOVING_SECONDS)
