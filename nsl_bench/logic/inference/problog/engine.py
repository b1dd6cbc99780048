"""The ProbLog package as an engine: the reference for the others, and slow.

Examples go one at a time to another process, which is stopped, with the compilers that it started, when
an example takes longer than the limit.
"""

from __future__ import annotations

import contextlib
import importlib.util
import math
import os
import socket
import subprocess
import time
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from nsl_bench.core.errors import UserError
from nsl_bench.core.processes import messages
from nsl_bench.core.processes.child import Child, kill_group
from nsl_bench.core.types import Floats
from nsl_bench.logic.inference.problog.translation import NONE, Translation, label_name, translate
from nsl_bench.logic.inference.query import Answer, Query, checked_vectors, slack, with_nothing
from nsl_bench.logic.inference.sampling import standard_error

Mode = Literal["exact", "sampling"]

_MOST_SECONDS = 1e6
_START_SECONDS = 60.0
_CODE = f"import sys; from {__name__} import serve; serve(int(sys.argv[1]))"
_LARGEST_ANSWER = 1 << 30


class ProbLog:
    """ProbLog, exact (SDD where PySDD is installed, else d-DNNF) or by sampling.

    Args:
        mode: exact, or an estimate.
        seconds: wall-clock limit of an example; past it nothing is known of it: the interval is 0 to 1.
        samples: of an example, in sampling mode.
        seed: of the samples.
        grounded: give ProbLog the ground program in place of the rules as they are written.
    """

    def __init__(
        self,
        mode: Mode = "exact",
        seconds: float = 60.0,
        samples: int = 1000,
        seed: int = 0,
        grounded: bool = False,
    ) -> None:
        if not 0 < seconds <= _MOST_SECONDS:
            raise UserError(
                f"problog: seconds must be above 0 and at most {_MOST_SECONDS:g}; got {seconds:g}."
            )
        if samples < 1:
            raise UserError(f"problog: samples must be 1 or more; got {samples}.")
        self.mode, self.seconds, self.samples = mode, seconds, samples
        self.seed, self.grounded = seed, grounded

    def __call__(
        self, query: Query, probabilities: npt.ArrayLike, facts: Sequence[tuple[str, ...]] | None = None
    ) -> Answer:
        """The label probabilities of examples; see `nsl_bench.logic.inference.engines.Engine`."""
        if importlib.util.find_spec("problog") is None:
            raise UserError("The engine problog needs the package problog: pip install problog.")
        given = checked_vectors(query, probabilities)
        n, k = len(given.kept), len(query.labels)
        own = [()] * n if facts is None else list(facts)
        asked = _Asked(self, query, own)
        estimate, error, high = np.zeros((n, k)), np.zeros((n, k)), np.ones((n, k))
        low, undecided, answered = np.zeros((n, k)), np.zeros(n), np.zeros(n, np.bool_)
        clock = np.zeros(n)
        with contextlib.closing(_Worker()) as worker:
            for i in range(n):
                reply = asked.reply(worker, i, given.kept[i])
                if reply is None:
                    clock[i] = self.seconds
                    continue
                answered[i], clock[i] = True, reply["seconds"]
                of_labels = reply["probabilities"]
                estimate[i] = [of_labels.get(label_name(label), 0.0) for label in range(k)]
                undecided[i] = of_labels.get(NONE, 0.0)
        ambiguous = np.where(answered, np.clip(1 - estimate.sum(axis=1) - undecided, 0, 1), 0)
        if self.mode == "exact":
            apart = slack(with_nothing(given.full), with_nothing(given.kept))[:, None]
            low[answered] = np.maximum(estimate - apart, 0.0)[answered]
            high[answered] = np.where(apart > 0, np.minimum(estimate + apart, 1.0), estimate)[answered]
        else:
            error[answered] = standard_error(estimate[answered] * self.samples, self.samples)
        name = "problog" if self.mode == "exact" else "problog sampling"
        engines = tuple(name if there else "timeout" for there in answered.tolist())
        details = {"seconds": clock.tolist(), "grounded": asked.grounded, "fallback": asked.fallback}
        if not answered.all():
            details["timeout"] = (
                f"{n - int(answered.sum())} of {n} examples took ProbLog longer than {self.seconds:g} s; "
                "their intervals are 0 to 1."
            )
        return Answer(estimate, low, high, error, undecided, ambiguous, engines, details)


class _Asked:
    """Asks ProbLog for one example after the other, with the ground program where rules as written fail.

    Attributes:
        grounded: for each example so far whether it went through the ground program.
        fallback: why examples do that were to go as written; None if none does.
    """

    def __init__(self, engine: ProbLog, query: Query, facts: Sequence[tuple[str, ...]]) -> None:
        self._engine, self._query, self._facts = engine, query, facts
        self._text = self._translate(engine.grounded)
        self.grounded: list[bool] = []
        self.fallback = self._text.reason or None

    def _translate(self, grounded: bool) -> Translation:
        every = [fact for some in self._facts for fact in some]
        return translate(self._query, every, grounded=grounded)

    def reply(self, worker: _Worker, i: int, vectors: Floats) -> dict[str, Any] | None:
        """ProbLog's answer for example i; None if it took too long."""
        reply = self._ask(worker, i, vectors)
        if reply is not None and "error" in reply and not self._text.grounded:
            # ProbLog compares numbers only, where ASP has an order of all terms.
            self.fallback = f"ProbLog rejects the rules as they are written at example {i}: {reply['error']}"
            self._text = self._translate(True)
            reply = self._ask(worker, i, vectors)
        if reply is not None and "error" in reply:
            before = f" ({self.fallback})" if self.fallback else ""
            raise UserError(f"ProbLog failed on example {i}: {reply['error']}{before}")
        self.grounded.append(self._text.grounded)
        return reply

    def _ask(self, worker: _Worker, i: int, vectors: Floats) -> dict[str, Any] | None:
        engine = self._engine
        samples = engine.samples if engine.mode == "sampling" else None
        program = self._text.example(vectors, self._facts[i])
        return worker.ask({"program": program, "samples": samples, "seed": engine.seed + i}, engine.seconds)


class _Worker:
    """A process that runs ProbLog, started anew after an example that took too long."""

    def __init__(self) -> None:
        self._process: _Process | None = None

    def ask(self, job: dict[str, Any], seconds: float) -> dict[str, Any] | None:
        """ProbLog's answer; None if it took too long."""
        try:
            if self._process is None:
                self._process = _Process()
                self._process.reply(b"", _START_SECONDS, "does not start within a minute")
            reply: dict[str, Any] = self._process.reply(messages.encode(job), seconds)
        except _Late:
            self.close()
            return None
        except UserError:
            self.close()
            raise
        return reply

    def close(self) -> None:
        """End the process and all that it started."""
        process, self._process = self._process, None
        if process is not None:
            process.close()


class _Late(Exception):
    """ProbLog took longer than an example may take."""


class _Process(Child):
    """ProbLog's process."""

    def __init__(self) -> None:
        super().__init__(_LARGEST_ANSWER, poll=(1.0, 1.0))
        self._popen = self.execute(_CODE)
        self.started()

    def reply(self, message: bytes, seconds: float, too_late: str = "") -> Any:
        """The answer to a message.

        Args:
            message: the message.
            seconds: wall time that the answer may take.
            too_late: how it ended if it takes longer; otherwise that is `_Late`.
        """
        self.deadline, self._too_late = time.monotonic() + seconds, too_late
        self.send(message)
        return self.wait()

    def received(self, message: Any) -> bool:
        """Take any message as the answer."""
        return True

    def look(self) -> float:
        """Set no limit on memory."""
        return math.inf

    def late(self) -> None:
        """Raise."""
        raise self._ended(self._too_late) if self._too_late else _Late

    def gone(self) -> None:
        """Raise: it ended, with its last words."""
        raise self._ended("ended without an answer")

    def _ended(self, how: str) -> UserError:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._popen.wait(1.0)
        status = self._popen.returncode
        self.output.drain()
        killed = f" (signal {-status}: out of memory?)" if status is not None and status < 0 else ""
        line = self.output.last_lines(1)
        return UserError(f"ProbLog's process {how}{killed}{f': {line}' if line else ''}.")

    def close(self) -> None:
        """End it and all that it started."""
        kill_group(self._popen.pid)
        self._popen.wait()
        super().close()


def serve(descriptor: int) -> None:
    """Answer jobs until the other side ends."""
    # What ProbLog prints to standard output is no error.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    with socket.socket(fileno=descriptor) as channel, contextlib.suppress(EOFError):
        decoder = messages.Decoder(_LARGEST_ANSWER)
        messages.send(channel, "ready")
        while True:
            job = messages.receive(channel, decoder)
            try:
                clock = time.perf_counter()
                probabilities = answer(job["program"], job["samples"], job["seed"])
                seconds = time.perf_counter() - clock
                reply: dict[str, Any] = {"probabilities": probabilities, "seconds": seconds}
            except Exception as error:  # ProbLog raises what it likes; its message goes to the user
                reply = {"error": f"{type(error).__name__}: {' '.join(str(error).split())}"}
            messages.send(channel, reply)


def answer(program: str, samples: int | None = None, seed: int = 0) -> dict[str, float]:
    """The probabilities of a ProbLog program's queries, exact or from samples.

    Labels that no sample holds are left out by ProbLog; they have probability 0.

    Args:
        program: a ProbLog program with queries.
        samples: number of samples; None for exact inference.
        seed: of the samples.

    Returns:
        Probabilities by the query's text.
    """
    from problog import get_evaluatable
    from problog.program import PrologString

    model = PrologString(program)
    if samples is None:
        compiler = "sdd" if importlib.util.find_spec("pysdd") else "ddnnf"
        probabilities = get_evaluatable(compiler).create_from(model).evaluate()
    else:
        import random

        from problog.tasks.sample import estimate

        random.seed(seed)
        probabilities = estimate(model, n=samples)
    return {str(term).replace(" ", ""): float(value) for term, value in probabilities.items()}
