"""The installed tasks and their properties."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from nsl_bench.core import registry
from nsl_bench.core.benchmark import Benchmark


@dataclass(frozen=True)
class TaskInfo:
    """Properties of a task.

    Attributes:
        name: name for `nsl_bench.evaluate`, `nsl_bench.load` and the command line.
        version: version of its data.
        description: one sentence.
        labels: names of the labels.
        slots: names of the image slots.
        concepts: number of concepts that an image can show.
        sizes: number of train examples by size.
        test_size: number of test examples.
        sources: names of image sources; the first is embedded and the default.
    """

    name: str
    version: str
    description: str
    labels: tuple[str, ...]
    slots: tuple[str, ...]
    concepts: int
    sizes: Mapping[str, int]
    test_size: int
    sources: tuple[str, ...]

    def __str__(self) -> str:
        sizes = ", ".join(f"{size} {n}" for size, n in self.sizes.items())
        return f"{self.description} Train {sizes}; test {self.test_size}. Sources: {', '.join(self.sources)}."


def list_tasks() -> list[TaskInfo]:
    """List all installed tasks, without superseded versions.

    Raises:
        UserError: a task's package cannot be imported.
    """
    return [task_info(name) for name in registry.names("benchmark") if "@" not in name]


def task_info(name: str) -> TaskInfo:
    """Properties of a task.

    Args:
        name: a name or spec, e.g. ``"crop_yield:unseen=0.25"``.
    """
    task: Benchmark = registry.create("benchmark", name)
    return TaskInfo(
        name,
        task.version,
        task.description,
        task.labels.names,
        task.slots,
        len(task.concept_space),
        dict(task.sizes),
        task.test_size,
        tuple(task.sources),
    )
