"""Trying a learner on tiny tasks: says in words what is missing or wrong before a real run does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from nsl_bench.errors import UserError
from nsl_bench.isolation.command import CommandLearner
from nsl_bench.isolation.host import IsolatedLearner
from nsl_bench.isolation.limits import Failure, Limits
from nsl_bench.learners.base import Unanswered, hypothesis_of, labels_of, probabilities_of, track_of
from nsl_bench.learners.command import is_command
from nsl_bench.run.mock import MOCKS, mock_views
from nsl_bench.types import Hypothesis

__all__ = ["Finding", "check"]


@dataclass(frozen=True)
class Finding:
    """One thing that `check` found.

    Attributes:
        wrong: whether it must be mended; else it is only worth knowing.
        where: the mock task, or ``"learner"``.
        sentence: what it is.
    """

    wrong: bool
    where: str
    sentence: str


@dataclass(frozen=True)
class _Trial:
    """What a learner answered on one task."""

    probabilities: dict[str, npt.NDArray[np.float64]]
    labels: dict[str, npt.NDArray[np.int16]]
    hypothesis: Hypothesis | None


def check(spec: str, limits: Limits) -> Iterator[Finding]:
    """Try a learner on each mock task, twice with one seed.

    Args:
        spec: the learner.
        limits: what it may use.

    Yields:
        What is wrong, what is worth knowing, and what works.
    """
    for benchmark in MOCKS:
        try:
            first = _try(spec, limits, benchmark)
            second = _try(spec, limits, benchmark)
        except Failure as failure:
            yield Finding(True, benchmark.name, _told(failure))
            continue
        except UserError as error:
            yield Finding(True, benchmark.name, str(error))
            continue
        yield from _compared(first, second, benchmark.name)


def _told(failure: Failure) -> str:
    lines = failure.output.splitlines()
    return "\n    ".join([f"{failure.status}: {failure}", *lines])


def _try(spec: str, limits: Limits, benchmark: Any) -> _Trial:
    learner: Any = CommandLearner(spec, 0, limits) if is_command(spec) else IsolatedLearner(spec, 0, limits)
    try:
        train, views = mock_views(benchmark, track_of(learner))
        fitted = learner.fit(train)
        learner = learner if fitted is None else fitted
        probabilities, labels = {}, {}
        for name, view in views.items():
            try:
                probabilities[name] = probabilities_of(learner, view)
            except Unanswered:
                continue
            labels[name] = labels_of(learner, view, probabilities[name])
        hypothesis = hypothesis_of(learner)
        if hypothesis is not None and hypothesis.language == "asp":
            _parsed(hypothesis)
        return _Trial(probabilities, labels, hypothesis)
    finally:
        learner.close()


def _parsed(hypothesis: Hypothesis) -> None:
    from nsl_bench.guarded.rules import one_by_one

    for i, rule in enumerate(hypothesis.rules, 1):
        one_by_one(rule, f"rule {i} of the learner ('{rule[:60]}')")


def _compared(first: _Trial, second: _Trial, where: str) -> Iterator[Finding]:
    for name, values in first.probabilities.items():
        sums = values.sum(axis=1)
        short = (sums < 1 - 1e-3) & (sums > 1e-9)
        if short.any() and first.hypothesis is None:
            yield Finding(
                True,
                where,
                f"{name} evaluation: the probabilities of {int(short.sum())} of {len(sums)} examples sum to "
                f"less than one, e.g. {sums[int(short.argmax())]:.3g}; a row sums to one, or is all zeros "
                "for no answer.",
            )
        if not np.array_equal(values, second.probabilities[name]):
            differ = int((values != second.probabilities[name]).any(axis=1).sum())
            yield Finding(
                True,
                where,
                f"{name} evaluation: with the same seed a second run answers differently for {differ} of "
                f"{len(values)} examples; take `seed` in the constructor, and use it for all that is random.",
            )
        if np.ptp(values, axis=0).max(initial=0) == 0:
            yield Finding(False, where, f"{name} evaluation: every example gets the same answer.")
        empty = int((values.max(axis=1) <= 0).sum())
        if empty:
            yield Finding(False, where, f"{name} evaluation: no answer for {empty} of {len(values)}.")
    if first.hypothesis != second.hypothesis:
        yield Finding(True, where, "With the same seed a second run learns different rules.")
    rules = "no rules" if first.hypothesis is None else f"{len(first.hypothesis.rules)} rules"
    yield Finding(False, where, f"answered in {' and '.join(first.probabilities)} evaluation, {rules}.")
