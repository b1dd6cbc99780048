"""Costs of a learner: wall time and CPU time of learning and prediction, and memory."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence
from typing import Any

from nsl_bench.learners.view import View

__all__ = ["Effort"]

_MIB = 1 << 20


class Effort:
    """Measures the costs of a learner.

    Wall time includes what the harness does for the learner, such as rendering the images that it asks for,
    and increases on a busy machine. It excludes computing a view's literals. CPU time is the learner's own if
    the learner has its own process.

    Args:
        learner: the learner. With a method ``usage()``, it has processes of its own. Otherwise it works in
            this process, and its memory cannot be measured.
    """

    def __init__(self, learner: Any) -> None:
        self._learner = learner
        self.numbers: dict[str, float] = {}

    def _cpu(self) -> float:
        if not hasattr(self._learner, "usage"):
            return time.process_time()
        used = self._learner.usage()
        if used.peak_memory:
            self.numbers["peak_memory"] = used.peak_memory / _MIB
        return float(used.cpu_seconds)

    @contextlib.contextmanager
    def of(self, doing: str, *views: View) -> Iterator[None]:
        """Measure a block. The results are ``DOING_time`` and ``DOING_cpu_time``, in seconds.

        Args:
            doing: name of the numbers.
            views: what the learner is handed; the time of computing their literals does not count.
        """
        clock, cpu = time.perf_counter() - _given(views, 0), self._cpu() - self._given_cpu(views)
        yield
        self.numbers[f"{doing}_time"] = max(0.0, time.perf_counter() - _given(views, 0) - clock)
        self.numbers[f"{doing}_cpu_time"] = max(0.0, self._cpu() - self._given_cpu(views) - cpu)

    def _given_cpu(self, views: Sequence[View]) -> float:
        """What was used in this process, which is not that of a learner with processes of its own."""
        return 0.0 if hasattr(self._learner, "usage") else _given(views, 1)


def _given(views: Sequence[View], which: int) -> float:
    return sum(view.given_time[which] for view in views)
