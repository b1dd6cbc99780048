"""A learner's costs: seconds of learning and of prediction, by the clock and of the processor, and memory."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from typing import Any

__all__ = ["Effort"]

_MIB = 1 << 20


class Effort:
    """Measures a learner while it works.

    Seconds by the clock hold what the harness does for the learner meanwhile, such as rendering the images
    that it asks for, and grow on a machine that does much else; those of the processor are the learner's own
    where it has a process of its own.

    Args:
        learner: one with ``usage()`` has processes of its own; any other works in this process, of whose
            memory nobody knows which part is the learner's.
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
        """Measure a block: ``DOING_time`` and ``DOING_cpu_time``, in seconds."""
        clock, cpu = time.perf_counter(), self._cpu()
        yield
        self.numbers[f"{doing}_time"] = time.perf_counter() - clock
        self.numbers[f"{doing}_cpu_time"] = max(0.0, self._cpu() - cpu)
