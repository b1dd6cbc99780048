"""Rules of strangers, answered in a process of its own with a time and a memory limit.

The rules are parsed without `#script` and `#include`; grounding and solving can still take for ever or
eat all memory, which is why nothing of it happens in the process that keeps the scores. Question and
answer are JSON, so that nothing but text comes back.
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import signal
import textwrap
from collections.abc import Sequence
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt

from nsl_bench import registry
from nsl_bench.errors import UserError
from nsl_bench.interrupts import leave_to_parent, starting_processes

__all__ = ["Judge", "JudgementError"]

_MEMORY_BYTES = 4 * 1024**3
_START_SECONDS = 60.0
_END_SECONDS = 10.0
_LONGEST_ERROR = 250


class JudgementError(UserError):
    """Rules that cannot be used; the text says why."""


class Judge:
    """Answers what rules derive on a benchmark's symbolic test set, and what they cost.

    Args:
        seconds: for one hypothesis; what takes longer is ended.
    """

    def __init__(self, seconds: float = 60.0) -> None:
        self.seconds = seconds
        self._process: Any = None
        self._pipe: Connection | None = None

    def __enter__(self) -> Judge:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stop()

    def __call__(
        self, benchmark: str, seed: int, rules: Sequence[str]
    ) -> tuple[npt.NDArray[np.int16], int, int]:
        """The labels int16 [n] that texts of rules derive from true concepts, their atoms, and their rules.

        Raises:
            JudgementError: they do not parse, cannot be used, or take too long or too much memory.
        """
        if self._pipe is None:
            self._start()
        assert self._pipe is not None
        try:
            self._pipe.send_bytes(json.dumps([benchmark, seed, list(rules)]).encode())
            answered = self._pipe.poll(self.seconds)
            answer = json.loads(self._pipe.recv_bytes()) if answered else None
        except (EOFError, OSError):
            raise JudgementError(self._death()) from None
        if answer is None:
            self._stop()
            raise JudgementError(f"The rules take more than the {self.seconds:g} s allowed.")
        if "error" in answer:
            raise JudgementError(answer["error"])
        return np.array(answer["labels"], np.int16), int(answer["atoms"]), int(answer["rules"])

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_answer_all, args=(theirs,), daemon=True)
        with starting_processes(resource_tracker):
            self._process.start()
        theirs.close()
        with contextlib.suppress(EOFError, OSError):
            if self._pipe.poll(_START_SECONDS):
                self._pipe.recv_bytes()
                return
        self._stop()
        raise JudgementError("The process that answers rules did not start.")

    def _death(self) -> str:
        """Why the process ended; it is cleared away."""
        self._process.join(_END_SECONDS)
        crashed = self._process.exitcode == -signal.SIGSEGV
        self._stop()
        if crashed:
            return "The rules crash clingo; rules that are nested less deep are right."
        return f"The rules take more than the {_MEMORY_BYTES // 1024**3} GB of memory allowed."

    def _stop(self) -> None:
        if self._pipe is not None:
            self._pipe.close()
            self._pipe = None
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process = None


def _answer_all(pipe: Connection) -> None:
    leave_to_parent()
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    import clingo  # noqa: F401 - imported before the clock of the first question runs

    pipe.send_bytes(b"ready")
    while True:
        try:
            benchmark, seed, rules = json.loads(pipe.recv_bytes())
        except (EOFError, OSError):
            return
        try:
            labels, n_atoms, n_rules = judge(benchmark, seed, rules)
            answer: dict[str, Any] = {"labels": labels.tolist(), "atoms": n_atoms, "rules": n_rules}
        except UserError as error:
            answer = {"error": textwrap.shorten(str(error), _LONGEST_ERROR, placeholder=" ... .")}
        except MemoryError:
            return
        except Exception as error:  # clingo raises RuntimeError for whatever it cannot do
            answer = {"error": f"The rules cannot be used: {type(error).__name__}: {str(error)[:200]}."}
        pipe.send_bytes(json.dumps(answer).encode())


def judge(benchmark: str, seed: int, rules: Sequence[str]) -> tuple[npt.NDArray[np.int16], int, int]:
    """What `Judge` answers, in this process."""
    from nsl_bench.data.splits import symbolic_split
    from nsl_bench.inference.crisp import crisp_labels
    from nsl_bench.las.bias.hypothesis import count_atoms, rules_in

    task = registry.create("benchmark", benchmark)
    split = symbolic_split(task, "test", seed=seed)
    names = list(split.metadata)
    contexts = [
        task.context(split.concepts[i], {name: split.metadata[name][i].item() for name in names})
        for i in range(len(split))
    ]
    labels = crisp_labels(rules, task.background, contexts, task.labels)
    return labels, count_atoms(task, rules), len(rules_in(rules))
