"""Annotation: how right and complete the labels are that learners train on, and shift that depends on labels.

It is written as dials with values: ``wrong_labels=10,missing_labels=5``. Dials are nested: what is wrong or
missing at one share is so at every larger one. Labels of test sets stay as they are.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from typing import Annotated, Any

import numpy as np

from nsl_bench.core.benchmark import Benchmark
from nsl_bench.core.declared import Declared, Is, checked
from nsl_bench.core.errors import UserError
from nsl_bench.core.seeding import generator, seed_word
from nsl_bench.core.types import BLANK, AnyInts, Bools, Ints, Ints16, Split, n_of_percent

_SHARE = Annotated[float, Is("a number between 0 and 100", least=0, most=100)]
_CUE = Annotated[float, Is("a number between -100 and 100", least=-100, most=100)]


@dataclass(frozen=True)
class Annotation(Declared):
    """The dials, in per cent. A sequence is wrong or missing with all its steps, as it is shifted with them.

    Attributes:
        wrong_labels: train and validation examples with another label, drawn among all others.
        missing_labels: train and validation examples without a label, which are left out.
        wrong_concepts: labelled images of networks (also those of the track ``few_labels``) with another
            concept; where learners see true concepts of train examples, images of these.
        missing_concepts: such images without a concept, which is then blank.
        train_cue: by how many points more of the train examples with a label of the second half of the task's
            labels are shifted than of the others, as far as the share allows; below 0, by how many less.
        test_cue: the same of test examples.
    """

    wrong_labels: _SHARE = 0.0
    missing_labels: _SHARE = 0.0
    wrong_concepts: _SHARE = 0.0
    missing_concepts: _SHARE = 0.0
    train_cue: _CUE = 0.0
    test_cue: _CUE = 0.0

    @classmethod
    def parse(cls, text: str) -> Annotation:
        """The annotation in a text such as ``"wrong_labels=10,missing_labels=5"``; none is ``""``."""
        where, values = f"annotation '{text}': ", dict[str, Any]()
        for piece in text.split(",") if text.strip() else ():
            dial, _, value = (part.strip() for part in piece.partition("="))
            if dial in values:
                raise UserError(f"{where}{dial} is given twice; give it once.")
            values[dial] = value
            with contextlib.suppress(ValueError):
                values[dial] = float(value)
        result = checked(cls, values, where)
        for what in ("labels", "concepts"):
            if (total := getattr(result, f"wrong_{what}") + getattr(result, f"missing_{what}")) > 100:
                both = f"wrong_{what} and missing_{what}"
                raise UserError(f"{where}{both} must be at most 100 together; got {total:g}.")
        return result

    def __str__(self) -> str:
        return ",".join(f"{dial}={value:g}" for dial in DIALS if (value := getattr(self, dial)))

    def without(self, *dials: str) -> Annotation:
        """The same with some dials at 0."""
        return replace(self, **dict.fromkeys(dials, 0.0))

    def ordered(self, split: Split, order: Ints, benchmark: Benchmark) -> Ints:
        """int64 [sequences]: the rank of each sequence in the order of shifting, with the part's cue.

        Args:
            order: int64 [sequences], the ranks without a cue.
        """
        cue = self.test_cue if split.part == "test" else self.train_cue
        if not cue:
            return order
        last = np.append(split.first_rows[1:], len(split)) - 1  # a sequence has the label of its last step
        second = 2 * split.labels[last].astype(np.int64) >= len(benchmark.labels)
        place = np.empty(len(order))
        for first in (True, False):  # those that the cue shifts first, and the others
            rows = np.flatnonzero(second == (first == (cue > 0)))
            rows = rows[np.argsort(order[rows])]
            k = n_of_percent(len(rows), abs(cue))
            between = (np.arange(len(rows) - k) + 0.5) / max(1, len(rows) - k)
            place[rows] = [*np.full(k, -1.0), *between] if first else [*between, *np.full(k, 2.0)]
        return np.argsort(np.lexsort((order, place)))

    def labelled(self, split: Split, benchmark: Benchmark, size: str, repeat: int, seed: int | str) -> Split:
        """The examples of a train or validation set as they are annotated; a test set as it is."""
        if split.part == "test":
            return split
        words = ("annotation", benchmark.name, benchmark.version, seed_word(seed), split.part, size, repeat)
        if self.wrong_concepts or self.missing_concepts:
            filled, concepts = split.concepts != BLANK, split.concepts.copy()
            rng, n_concepts = generator(*words, "concepts"), len(split.concept_space)
            concepts[filled] = self.concepts(concepts[filled], n_concepts, rng)
            split = replace(split, concepts=concepts)
        if self.wrong_labels or self.missing_labels:
            rng = generator(*words, "labels")
            wrong, missing = _chosen(split.n_sequences, self.wrong_labels, self.missing_labels, rng)
            if missing.all():
                raise UserError(f"missing_labels={self.missing_labels:g} leaves no example; lower it.")
            other = _other(split.labels, len(benchmark.labels), rng)
            split = replace(split, labels=np.where(wrong[split.sequences], other, split.labels))
            split = split.take_sequences(np.flatnonzero(~missing)) if missing.any() else split
        return split

    def concepts(self, concepts: Ints16, n_concepts: int, rng: np.random.Generator) -> Ints16:
        """int16 [n]: the concepts of images as they are annotated, `BLANK` for a missing one."""
        wrong, missing = _chosen(len(concepts), self.wrong_concepts, self.missing_concepts, rng)
        named = np.where(wrong, _other(concepts, n_concepts, rng), concepts)
        return np.where(missing, np.int16(BLANK), named)


COMPLETE = Annotation()
"""All labels are there and right, and no shift depends on them."""

DIALS = tuple(one.name for one in fields(Annotation))
"""The names of the dials, in their order."""


def dial_among(shifts: Iterable[str]) -> str:
    """The dial that stands in place of shifts in results; empty if there is none."""
    return next((shift for shift in shifts if shift in DIALS), "")


def _chosen(n: int, wrong: float, missing: float, rng: np.random.Generator) -> tuple[Bools, Bools]:
    """bool [n] each: which are wrong, the first in a random order, and which are missing, the last in it."""
    order, n_wrong = rng.permutation(n), n_of_percent(n, wrong)
    return order < n_wrong, order >= max(n_wrong, n - n_of_percent(n, missing))


def _other(values: AnyInts, n: int, rng: np.random.Generator) -> Ints16:
    """int16 [m]: another one of n values for each, all with the same probability."""
    return ((values + rng.integers(1, max(2, n), len(values))) % n).astype(np.int16)
