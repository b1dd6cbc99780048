"""Costs of a learner: wall time and CPU time of learning and prediction, and memory."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from typing import Any

__all__ = ["Effort"]

_MIB = 1 << 20


class Effort:
    """Measures the costs of a learner.

    Wall time includes what the harness does for the learner, such as rendering the images that it asks for,
    and increases on a busy machine. CPU time is the learner's own if the learner has its own process.

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
    def of(self, doing: str) -> Iterator[None]:
        """Measure a block. The results are ``DOING_time`` and ``DOING_cpu_time``, in seconds."""
        clock, cpu = time.perf_counter(), self._cpu()
        yield
        self.numbers[f"{doing}_time"] = time.perf_counter() - clock
        self.numbers[f"{doing}_cpu_time"] = max(0.0, self._cpu() - cpu)
