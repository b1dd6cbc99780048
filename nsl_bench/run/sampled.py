"""The test sets of train splits, as far as errors of means over them depend on them."""

from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np

from nsl_bench.core import registry
from nsl_bench.core.benchmark import Benchmark
from nsl_bench.core.errors import UserError
from nsl_bench.core.metrics import METRICS
from nsl_bench.core.sequences import joined
from nsl_bench.core.types import Ints32
from nsl_bench.data.splits import make_source, make_split
from nsl_bench.run.statistics import padded


@cache
def task_named(spec: str) -> Benchmark:
    """The task of a spec: the same object for the same spec, so that its examples are made once."""
    task: Benchmark = registry.create("benchmark", spec)
    return task


@dataclass(frozen=True)
class Sampled:
    """The test sets of some train splits of a task.

    Attributes:
        spec: of the task.
        source: its image source; empty where it is not known which images were shown.
        seed: of the data.
        repeats: the train splits.
        splits: folder whose splits were used in place of generated ones.
    """

    spec: str
    source: str
    seed: int
    repeats: tuple[int, ...]
    splits: str | None = None

    @property
    def task(self) -> Benchmark:
        """The task."""
        return task_named(self.spec)

    @property
    def shared(self) -> bool:
        """Whether all train splits have one test set."""
        return not self.task.own_tests

    @cached_property
    def images(self) -> Ints32 | None:
        """int32 [examples, slots], the images that test examples show, those of a sequence side by side.

        [splits, examples, slots] where each train split has its own test set. None where no image is shown
        twice, so that examples are independent, and where the images are not on this machine.
        """
        task, size = self.task, next(iter(self.task.sizes))
        folder, rows = Path(self.splits) if self.splits else None, []
        try:
            source = make_source(task, self.source)
            for repeat in self.repeats[: 1 if self.shared else None]:
                split = make_split(task, source, "test", size, repeat, seed=self.seed, splits=folder)
                rows.append(joined(split.steps, split.images, -1) if task.sequential else split.images)
        except UserError:
            return None
        wide = max(row.shape[1] for row in rows)
        filled = [np.pad(row, ((0, 0), (0, wide - row.shape[1])), constant_values=-1) for row in rows]
        images = padded(filled, -1)
        shown = images[images >= 0]
        return None if len(np.unique(shown)) == len(shown) else images[0] if self.shared else images

    def of(self, metric: str, track: str) -> dict[str, Any]:
        """What `interval` and `pairwise` are to know of them; images count only where they are looked at."""
        looked_at = self.source and track != "symbolic" and METRICS[metric].evaluation != "hypothesis"
        images = self.images if looked_at else None
        return {"images": images, "shared_test": self.shared, "overlap": self.task.overlap}


sampled = cache(Sampled)
"""Make a `Sampled`; the same one for the same arguments, so that images are made once."""
