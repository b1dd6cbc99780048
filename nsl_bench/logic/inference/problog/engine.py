"""The ProbLog package as an engine: the reference for the others, and slow.

Examples go one at a time to another process, which is stopped, with the compilers that it started, when
an example takes longer than the limit.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from nsl_bench.core.errors import UserError
from nsl_bench.logic.inference.problog.translation import NONE, Translation, label_name, translate
from nsl_bench.logic.inference.query import Answer, Query, checked_vectors, slack, with_nothing
from nsl_bench.logic.inference.sampling import standard_error

__all__ = ["ProbLog", "answer", "serve"]

Mode = Literal["exact", "sampling"]

_MOST_SECONDS = 1e6


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
        self,
        query: Query,
        probabilities: npt.ArrayLike,
        facts: Sequence[tuple[str, ...]] | None = None,
    ) -> Answer:
        """The label probabilities of examples; see `nsl_bench.logic.inference.engines.Engine`.

        Raises:
            UserError: ProbLog is not installed, or rejects the program.
        """
        if importlib.util.find_spec("problog") is None:
            raise UserError("The engine problog needs the package problog: pip install problog.")
        given = checked_vectors(query, probabilities)
        n, k = len(given.kept), len(query.labels)
        own = [()] * n if facts is None else list(facts)
        asked = _Asked(self, query, own)
        estimate, error, high = np.zeros((n, k)), np.zeros((n, k)), np.ones((n, k))
        low, undecided, known = np.zeros((n, k)), np.zeros(n), np.zeros(n, np.bool_)
        clock = np.zeros(n)
        with contextlib.closing(_Worker()) as worker:
            for i in range(n):
                reply = asked.reply(worker, i, given.kept[i])
                if reply is None:
                    clock[i] = self.seconds
                    continue
                known[i], clock[i] = True, reply["seconds"]
                found = reply["probabilities"]
                estimate[i] = [found.get(label_name(label), 0.0) for label in range(k)]
                undecided[i] = found.get(NONE, 0.0)
        ambiguous = np.where(known, np.clip(1 - estimate.sum(axis=1) - undecided, 0, 1), 0)
        if self.mode == "exact":
            apart = slack(with_nothing(given.full), with_nothing(given.kept))[:, None]
            low[known] = np.maximum(estimate - apart, 0.0)[known]
            high[known] = np.where(apart > 0, np.minimum(estimate + apart, 1.0), estimate)[known]
        else:
            error[known] = standard_error(estimate[known] * self.samples, self.samples)
        name = "problog" if self.mode == "exact" else "problog sampling"
        engines = tuple(name if there else "timeout" for there in known.tolist())
        details = {"seconds": clock.tolist(), "grounded": asked.grounded, "fallback": asked.fallback}
        if not known.all():
            details["timeout"] = (
                f"{n - int(known.sum())} of {n} examples took ProbLog longer than {self.seconds:g} s; their "
                "intervals are 0 to 1."
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

    def reply(self, worker: _Worker, i: int, vectors: npt.NDArray[np.float64]) -> dict[str, Any] | None:
        """What ProbLog says of example i; None if it took too long.

        Raises:
            UserError: ProbLog rejects the program, with the reason; with both where it was tried twice.
        """
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

    def _ask(self, worker: _Worker, i: int, vectors: npt.NDArray[np.float64]) -> dict[str, Any] | None:
        engine = self._engine
        samples = engine.samples if engine.mode == "sampling" else None
        program = self._text.example(vectors, self._facts[i])
        return worker.ask({"program": program, "samples": samples, "seed": engine.seed + i}, engine.seconds)


class _Worker:
    """A process that runs ProbLog, started anew after an example that took too long."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._words = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the worker

    def ask(self, job: dict[str, Any], seconds: float) -> dict[str, Any] | None:
        """What ProbLog answers; None if it took too long."""
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-c", f"from {__name__} import serve; serve()"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._words,
                start_new_session=True,
            )
            if self._read(60.0) is None:
                raise self._ended("does not start within a minute")
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(job).encode() + b"\n")
        self._process.stdin.flush()
        line = self._read(seconds)
        if line is None:
            self._stop()
            return None
        reply: dict[str, Any] = json.loads(line)
        return reply

    def _read(self, seconds: float) -> bytes | None:
        """A line of the process; None if none came in time."""
        assert self._process is not None and self._process.stdout is not None
        end, text = time.monotonic() + seconds, b""
        pipe = self._process.stdout.fileno()
        with selectors.DefaultSelector() as selector:
            selector.register(pipe, selectors.EVENT_READ)
            while not text.endswith(b"\n"):
                if not selector.select(max(0.0, end - time.monotonic())):
                    return None
                piece = os.read(pipe, 1 << 16)
                if not piece:
                    raise self._ended("ended without an answer")
                text += piece
        return text

    def _ended(self, how: str) -> UserError:
        """End the process; a sentence with how it ended, and its last words."""
        process = self._process
        if process is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(1.0)
        status = process.returncode if process is not None else None
        self._stop()
        killed = f" (signal {-status}: out of memory?)" if status is not None and status < 0 else ""
        self._words.seek(0)
        lines = self._words.read().decode(errors="replace").strip().splitlines()
        return UserError(f"ProbLog's process {how}{killed}{f': {lines[-1]}' if lines else ''}.")

    def close(self) -> None:
        """End the process and all that it started."""
        self._stop()
        self._words.close()

    def _stop(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    with contextlib.suppress(OSError):
                        pipe.close()
            process.wait()


def serve() -> None:
    """Answer jobs, a line of JSON each, until the input ends."""
    # ProbLog prints to standard output; answers go to where that was, and its words nowhere.
    out = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    print("ready", file=out, flush=True)
    for line in sys.stdin:
        job = json.loads(line)
        try:
            clock = time.perf_counter()
            found = answer(job["program"], job["samples"], job["seed"])
            reply: dict[str, Any] = {"probabilities": found, "seconds": time.perf_counter() - clock}
        except Exception as error:  # ProbLog raises what it likes; its message goes to the user
            reply = {"error": f"{type(error).__name__}: {' '.join(str(error).split())}"}
        print(json.dumps(reply), file=out, flush=True)


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
        found = get_evaluatable(compiler).create_from(model).evaluate()
    else:
        import random

        from problog.tasks.sample import estimate

        random.seed(seed)
        found = estimate(model, n=samples)
    return {str(term).replace(" ", ""): float(value) for term, value in found.items()}
