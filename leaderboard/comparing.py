"""Comparisons of learners in a contest: differences with intervals, words for them, and ranges of ranks.

Learners are compared on the same runs, example by example. A difference of means over shares varies with the
train splits and with the test examples; its standard error covers both (`nsl_bench.run.statistics`). The
question of a contest is asked before any run: is a learner better or worse than FFNSL, by the metric that
ranks? Its p values are corrected by Holm's method over the contest's learners. A range of ranks holds with
95 %, since it counts the learners that differ when all pairs are corrected. All other intervals are
descriptive. `benchmarks/intervals.py` simulates how often the intervals cover.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

from nsl_bench.core.types import Bools, Ints32
from nsl_bench.run.statistics import NOTHING, Pairs, half_width, holm, pairwise, verdict

_LEVEL = 0.05
Matrix = npt.NDArray[np.float64]
L = TypeVar("L")


@dataclass(frozen=True)
class Difference:
    """How much better a learner is than another one.

    Attributes:
        mean: above 0 where it is better, whatever the direction of the metric.
        low, high: ends of the 95 % interval; NaN where the runs cannot say.
        word: ``"better"``, ``"worse"`` or ``"tie"``, corrected where the question is; empty if not known.
    """

    mean: float
    low: float
    high: float
    word: str = ""

    def reversed(self) -> Difference:
        """How much better the other one is."""
        word = {"better": "worse", "worse": "better"}.get(self.word, self.word)
        return Difference(-self.mean, -self.high, -self.low, word)

    @classmethod
    def of(cls, mean: float, error: float, df: float, p_value: float) -> Difference:
        """Of a mean with its standard error and degrees of freedom; without a word if `p_value` is NaN."""
        if not error > NOTHING:  # no draw of splits or examples differs from another one
            return cls(mean, math.nan, math.nan, "tie" if abs(mean) <= NOTHING else "")
        reach = half_width(error, df)
        return cls(mean, mean - reach, mean + reach, verdict(mean, p_value))


class Comparison(Generic[L]):
    """The learners of a contest, compared by one metric.

    Args:
        learners: one or more.
        scores: float64 [learners, train splits, examples], each example's mean over shares.
        higher_is_better: direction of the metric.
        images, shared_test, overlap: as for `nsl_bench.run.statistics.pairwise`.
    """

    def __init__(
        self,
        learners: Sequence[L],
        scores: Matrix,
        *,
        higher_is_better: bool = True,
        images: Ints32 | None = None,
        shared_test: bool = True,
        overlap: float = 0.0,
    ) -> None:
        self.learners = list(learners)
        self._place = {learner: k for k, learner in enumerate(self.learners)}
        signed = scores if higher_is_better else -scores
        self.pairs: Pairs = pairwise(signed, images=images, shared_test=shared_test, overlap=overlap)

    def __contains__(self, learner: L) -> bool:
        return learner in self._place

    @property
    def best(self) -> L:
        """The learner with the best mean."""
        return self.learners[int(self.pairs.differences[:, 0].argmax())]

    def difference(self, learner: L, other: L) -> Difference:
        """How much better a learner is than another one, with the interval and without a word."""
        return self._difference(self._place[learner], self._place[other], math.nan)

    def against(self, other: L) -> dict[L, Difference]:
        """How much better each learner is than one of them, corrected over the others."""
        k = self._place[other]
        rest = [i for i in range(len(self.learners)) if i != k]
        corrected = holm(self.pairs.p_values[rest, k])
        return {
            self.learners[i]: self._difference(i, k, float(p)) for i, p in zip(rest, corrected, strict=True)
        }

    def beside(self, learner: L) -> dict[L, Difference]:
        """How much better a learner is than each other one, corrected over all pairs, as ranks are."""
        k = self._place[learner]
        return {
            other: self._difference(k, i, float(self._corrected[k, i]))
            for other, i in self._place.items()
            if i != k
        }

    def _difference(self, i: int, k: int, corrected: float) -> Difference:
        pairs = self.pairs
        mean, error, df = (float(m[i, k]) for m in (pairs.differences, pairs.std_errs, pairs.df))
        return Difference.of(mean, error, df, corrected)

    @cached_property
    def _corrected(self) -> Matrix:
        """float64 [learners, learners]: p values corrected over all pairs."""
        n = len(self.learners)
        rows, columns = np.triu_indices(n, 1)
        corrected = np.ones((n, n))
        corrected[rows, columns] = corrected[columns, rows] = holm(self.pairs.p_values[rows, columns])
        return corrected

    @cached_property
    def ranks(self) -> dict[L, tuple[int, int]]:
        """The best and the worst rank that a learner can have; all of them hold together with 95 %.

        Mohamad, Goeman and van Zwet: "Simultaneous confidence intervals for ranks", 2022.
        """
        n = len(self.learners)
        differ = self._corrected < _LEVEL
        better = (differ & (self.pairs.differences < 0)).sum(axis=1)  # of the others than this one
        worse = (differ & (self.pairs.differences > 0)).sum(axis=1)
        return {self.learners[k]: (1 + int(better[k]), n - int(worse[k])) for k in range(n)}


def front(values: Matrix, higher_is_better: Sequence[bool]) -> Bools:
    """bool [n]: whether no other row dominates a row, i.e. is as good in every column and better in one.

    Args:
        values: float64 [n, metrics], without NaN.
        higher_is_better: the direction of each column.
    """
    if np.isnan(values).any():
        raise ValueError("all points must have a number in every metric")
    costs = np.where(np.asarray(higher_is_better), -values, values)
    on_front = np.ones(len(costs), np.bool_)
    for k, row in enumerate(costs):
        on_front[k] = not ((costs <= row).all(axis=1) & (costs < row).any(axis=1)).any()
    return on_front
