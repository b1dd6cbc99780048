"""NTOC on the Tower of Hanoi with digits drawn anew in every pass, as in its published code.

    python benchmarks/ntoc_redrawn.py --mnist FOLDER --repeats 1
    python benchmarks/ntoc_redrawn.py --variant published --mnist FOLDER --repeats 1

Every pass shows the same windows in other digits and other images of them. `--variant`: besides, the train
sets of the published code, 32-bit convolutions, or the test accuracy of the best pass. What was found is kept
in docs/results/runs.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from nsl_bench.generators.tasks.hanoi import PEGS, Hanoi, compared
from ntoc import SETTINGS, VARIANTS, Study

from nsl_bench.core import registry
from nsl_bench.core.sequences import grid
from nsl_bench.core.source import ImageSource
from nsl_bench.core.types import BLANK, FewLabels, Part, Split
from nsl_bench.data.splits import make_source, make_split
from nsl_bench.learners.papers.ntoc.learner import NTOC
from nsl_bench.learners.view import View


class ManyComparisons(Hanoi):
    """The Tower of Hanoi with as many samples for pre-training as 200 passes show if all are drawn anew."""

    samples = 100_000


class AsPublished(ManyComparisons):
    """The Tower of Hanoi as the published code draws train sets by default.

    In half of the samples for pre-training a peg is empty, never two. Windows are those of towers of 3 and
    of 5 disks, as many of each as it has states.
    """

    _FEW = 3

    def generate(
        self, part: Part, size: str, repeat: int, rng: np.random.Generator, exclude: Split | None = None
    ) -> Split:
        """Windows of both towers; a tower of 3 disks has blank slots above them."""
        whole = super().generate(part, size, repeat, rng, exclude)
        if part != "train":
            return whole
        few = Hanoi(self._FEW, self.window).generate(part, size, repeat, rng)
        states = [2**disks - 1 for disks in (self._FEW, self.disks)]
        of_few = rng.random(whole.n_sequences)[whole.sequences] < states[0] / sum(states)
        concepts = np.full((len(few), PEGS, self.disks), BLANK, np.int16)
        concepts[:, :, : self._FEW] = few.concepts.reshape(len(few), PEGS, self._FEW)
        return replace(
            whole,
            concepts=np.where(of_few[:, None], concepts.reshape(len(few), -1), whole.concepts),
            labels=np.where(of_few, few.labels, whole.labels),
            metadata={
                name: np.where(of_few, few.metadata[name], own) for name, own in whole.metadata.items()
            },
        )

    def few_labels(self, rng: np.random.Generator) -> FewLabels:
        """Three disks on the pegs, or two of them and an empty peg."""
        drawn = rng.permuted(np.tile(np.arange(9, dtype=np.int16), (self.samples, 1)), axis=1)[:, :PEGS]
        empty = rng.integers(0, PEGS, self.samples)
        rows = np.flatnonzero(rng.random(self.samples) < 0.5)
        drawn[rows, empty[rows]] = BLANK
        return compared(drawn)


class Redrawn(NTOC):
    """NTOC to which every pass shows the same windows in other digits and other images of them.

    The train set holds the windows of all passes. What its first sequences are is kept.
    """

    def __init__(self, sequences: int, passes: int, seed: int) -> None:
        super().__init__(epochs=passes, pretraining=1, seed=seed)
        self._n = sequences

    def _sequences(self, train: View) -> Any:
        import torch

        rows = grid(train.steps)
        before = np.asarray(train.metadata["previous"])
        blank = np.array([[image is None for image in images] for images in train.images])
        windows = [(*train.labels[r].tolist(), *before[r].tolist(), blank[r].tobytes()) for r in rows]
        alike: dict[tuple[Any, ...], list[int]] = {}
        for number, window in enumerate(windows):
            alike.setdefault(window, []).append(number)
        rng = np.random.default_rng(self.seed)
        drawn = [rng.choice(alike[window], self.epochs) for window in windows[: self._n]]
        return torch.as_tensor(rows[np.stack(drawn, axis=1)])


class Watched(Redrawn):
    """One that is tested after every third pass.

    Attributes:
        right: share of the test sequences that were right after each of these passes, by test task.
    """

    _EVERY = 3

    def __init__(
        self, sequences: int, passes: int, seed: int, tests: Mapping[str, tuple[View, Split]]
    ) -> None:
        super().__init__(sequences, passes, seed)
        self._tests = tests
        self.right: dict[str, list[float]] = {spec: [] for spec in tests}

    def _checkpoint(self, train: View, how: Any) -> Any:
        return self

    def read(self, parts: Mapping[str, Any], order: np.random.Generator) -> int:
        """As a checkpoint: training starts with the first pass."""
        return 0

    def write(self, done: int, parts: Mapping[str, Any], order: np.random.Generator) -> None:
        """As a checkpoint: test what there is after a pass."""
        if done % self._EVERY:
            return
        for spec, (view, split) in self._tests.items():
            right = self.predict_proba(view).argmax(axis=1) == split.labels
            self.right[spec].append(float(right.reshape(split.n_sequences, -1).all(axis=1).mean()))
        print(done, {spec: found[-1] for spec, found in self.right.items()}, flush=True)

    def remove(self) -> None:
        """As a checkpoint: nothing was written."""


def tests_of(study: Study, spec: str, repeat: int, source: ImageSource) -> dict[str, tuple[View, Split]]:
    """The test set of a task with test images, ``""``, and with train images, ``" seen"``."""
    tested = registry.create("benchmark", spec)
    found = {}
    for images, part, last in (("", "test", repeat), (" seen", "train", study.repeats + repeat)):
        split = make_split(tested, source, part, str(tested.test_size), last)  # type: ignore[arg-type]
        found[images] = View(split, tested, "few_labels", source=source, labelled=False), split
    return found


def redrawn(study: Study, settings: Sequence[str], variant: str, passes: int = 30) -> None:
    """Print the sequence accuracy of NTOC on the Tower of Hanoi with digits that are drawn anew."""
    before = pd.read_csv(study.redrawn) if study.redrawn.is_file() else pd.DataFrame({"variant": []})
    before, rows = before[before["variant"] != variant], []
    for repeat in range(1, study.repeats + 1):
        clock = time.process_time()
        task = AsPublished() if variant == "published" else ManyComparisons()
        n = int(study.size or Hanoi.sizes["large"])
        source = make_source(task, study.source)
        train = View(
            make_split(task, source, "train", str(n * passes), repeat), task, "few_labels", source=source
        )
        tested = {
            (name, spec): tests_of(study, spec, repeat, source)
            for name in settings
            for spec in study.tests(SETTINGS[name])
        }
        if variant == "best":
            shown = {spec: tests[""] for (_, spec), tests in tested.items()}
            learner: Redrawn = Watched(n, study.epochs or passes, repeat, shown)
        else:
            learner = Redrawn(n, study.epochs or passes, repeat)
        learner.precision = "float32" if variant == "float32" else "bfloat16"
        learner.fit(train)
        spent = (time.process_time() - clock) / 60
        for (name, spec), tests in tested.items():
            found: dict[str, object] = {"variant": variant, "setting": name, "test": spec, "repeat": repeat}
            if isinstance(learner, Watched):
                found["sequences"] = max(learner.right[spec])
            else:
                for images, (view, split) in tests.items():
                    right = learner.predict_proba(view).argmax(axis=1) == split.labels
                    found[f"steps{images}"] = right.mean()
                    found[f"sequences{images}"] = right.reshape(split.n_sequences, -1).all(axis=1).mean()
            rows.append({**found, "CPU min": spent})
            print(rows[-1], flush=True)
            study.redrawn.parent.mkdir(parents=True, exist_ok=True)
            pd.concat([before, pd.DataFrame(rows)]).to_csv(study.redrawn, index=False)
    print(pd.DataFrame(rows).to_markdown(index=False))


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    ours = [name for name, setting in SETTINGS.items() if setting.task == "hanoi"]
    parser.add_argument("--settings", nargs="+", choices=ours, default=ours)
    parser.add_argument("--variant", choices=VARIANTS, default="redrawn")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--size", help="windows, the paper's number unless given")
    parser.add_argument("--test", type=int, help="test sequences")
    parser.add_argument("--epochs", type=int)
    parser.add_argument("--mnist", type=Path, help="folder of MNIST")
    parser.add_argument("--docs", type=Path, default=Path("docs/results"))
    given = vars(parser.parse_args())
    settings, variant = given.pop("settings"), given.pop("variant")
    redrawn(Study(results=Path(), **given), settings, variant)


if __name__ == "__main__":
    main()
