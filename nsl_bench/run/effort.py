"""Costs of a learner: wall time and CPU time of learning and prediction, and memory."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from time import perf_counter, process_time  # as they are now: a learner in this process may replace them
from typing import Any

from nsl_bench.learners.view import View
from nsl_bench.sandbox.host import IsolatedLearner

__all__ = ["Effort"]

_MIB = 1 << 20


class Effort:
    """Measures the costs of a learner.

    Wall time includes what the harness does for the learner, such as rendering the images that it asks for,
    and increases on a busy machine. It excludes computing a view's literals and trying a stranger's rules.
    CPU time is the learner's own if the learner has its own process: the kernel's count, without a gap from
    one measured block to the next, so that work between them counts, too.

    Args:
        learner: the learner. One without a process of its own works in this process, and its memory cannot be
            measured.
    """

    def __init__(self, learner: Any) -> None:
        self._learner = learner
        self._apart = isinstance(learner, IsolatedLearner)
        self._counted: float | None = None
        self.numbers: dict[str, float] = {}

    def _cpu(self) -> float:
        if not self._apart:
            return process_time()
        used = self._learner.usage()
        if used.peak_memory:
            self.numbers["peak_memory"] = used.peak_memory / _MIB
        return float(used.cpu_seconds)

    @contextlib.contextmanager
    def of(self, doing: str, *views: View) -> Iterator[None]:
        """Measure a block. The results are ``DOING_time`` and ``DOING_cpu_time``, in seconds.

        Blocks of one name are added up.

        Args:
            doing: name of the numbers.
            views: what the learner is handed; the time of computing their literals does not count.
        """
        clock = self._clock(views)
        before = self._counted if self._apart and self._counted is not None else self._cpu()
        cpu = before - self._given_cpu(views)
        yield
        self._add(f"{doing}_time", self._clock(views) - clock)
        self._counted = self._cpu()
        self._add(f"{doing}_cpu_time", self._counted - self._given_cpu(views) - cpu)

    def _clock(self, views: Sequence[View]) -> float:
        vetting = self._learner.vetting_time if self._apart else 0.0
        return perf_counter() - _given(views, 0) - vetting

    def _add(self, name: str, seconds: float) -> None:
        self.numbers[name] = self.numbers.get(name, 0.0) + max(0.0, seconds)

    def _given_cpu(self, views: Sequence[View]) -> float:
        """What was used in this process, which is not that of a learner with processes of its own."""
        return 0.0 if self._apart else _given(views, 1)


def _given(views: Sequence[View], which: int) -> float:
    return sum(view.given_time[which] for view in views)
