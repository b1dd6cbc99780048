"""Tested reasons for differences between reproduced and published figures.

A reason is a condition under which the published figure was obtained and ours was not. It is tested by
repeating the runs under that condition. The reason holds if the figure changes significantly (paired t test
over the same train splits), then no longer differs from the published one, and less than half of the
difference is left. Otherwise the difference has no reason.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from nsl_bench.core.types import Bools, Floats
from nsl_bench.run.record import Record
from nsl_bench.run.statistics import paired_p_values

from .equivalence import LEVEL, Comparison, Mean, compare_means
from .papers import margin_of

PUBLISHED_CODE = "cnn_lstm:published=true"
"""The CNN-LSTM as the paper's code has it; as ``cnn_lstm`` it is what the paper's text describes."""

AS_PUBLISHED = {
    "cnn_lstm": PUBLISHED_CODE,
    "ffnsl": "ffnsl:answers=published",
    "ffnsl:penalty=constant": "ffnsl:penalty=constant,answers=published",
}
"""Learners as the paper's code has them, by what they are called where they are as its text has them."""

_CONDITIONS = {
    "cnn_lstm": "the network of the paper's code instead of the one in its text",
    "ffnsl": "rules that are tested without their type guards, as in the paper's code",
}


@dataclass(frozen=True)
class Tested:
    """A reason and its tests.

    Attributes:
        condition: description, which follows "with".
        measured: the figure under the condition.
        compared: its comparison with the published figure.
        p_moved: p value of the paired t test of the figure with and without the condition.
        before: the difference to the published figure without the condition.
    """

    condition: str
    measured: Mean
    compared: Comparison
    p_moved: float
    before: float

    @property
    def holds(self) -> bool:
        """Whether the condition changes the figure so that it no longer differs from the published one."""
        less = abs(self.compared.difference) < abs(self.before) / 2
        return self.p_moved < LEVEL and not self.compared.different and less

    def __str__(self) -> str:
        value, error, differs = self.measured.value, self.measured.std_err, self.compared.p_different
        return (
            f"tested: with {self.condition} it is {value:.4g} ± {error:.2g} (moved, p = {self.p_moved:.2g}; "
            f"against the published figure p = {differs:.2g})"
        )


def check_reason(
    condition: str, plain: Mapping[int, float], under: Mapping[int, float], published: Mean, margin: float
) -> Tested | None:
    """Test a reason.

    Args:
        condition: description, which follows "with".
        plain: the figure by train split, without the condition.
        under: the figure by train split, under the condition.

    Returns:
        The tests; None if both have fewer than two train splits in common.
    """
    both = sorted(plain.keys() & under.keys())
    if len(both) < 2:
        return None
    first, second = (np.array([values[repeat] for repeat in both]) for values in (plain, under))
    measured = Mean.of(second.tolist())
    p_moved = float(paired_p_values((first - second)[None])[0])
    compared, before = compare_means(measured, published, margin), float(first.mean()) - published.value
    return Tested(condition, measured, compared, p_moved, before)


def from_samples(wrong: Floats, tied: Bools, n: int) -> tuple[float, float]:
    """The expected Brier score and accuracy if probabilities are estimated from samples.

    Args:
        wrong: float64 [m], the exact probability of the wrong one of two labels.
        tied: bool [m], whether the answer is wrong if both labels have half of the samples.
        n: number of samples of each example.
    """
    from scipy.special import bdtr, bdtrc

    error = bdtrc(n // 2, n, wrong)
    if n % 2 == 0:
        error += tied * (bdtr(n // 2, n, wrong) - bdtr(n // 2 - 1, n, wrong))
    return float(np.mean(2 * (wrong**2 + wrong * (1 - wrong) / n))), float(1 - np.mean(error))


def tested_reasons(
    records: Sequence[Record],
    metric: str,
    plain: Mapping[int, float],
    by_code: Mapping[int, float],
    sampled: tuple[int, Mapping[int, float]],
    published: Mean,
) -> str:
    """The reasons of a difference that hold when they are tested; empty if none does.

    Args:
        plain: our values by repeat.
        by_code: those of the learner as the paper's code has it.
        sampled: the number of samples that probabilities are estimated from, and the values with them.
    """
    job = records[0].job
    margin = margin_of(metric, job.learner, published.value)
    reasons: list[Tested | None] = []
    if job.learner in AS_PUBLISHED and by_code:
        condition = f"{_CONDITIONS[job.learner.partition(':')[0]]} ({AS_PUBLISHED[job.learner]})"
        reasons.append(check_reason(condition, plain, by_code, published, margin))
    n, under = sampled
    if under:
        condition = f"probabilities of labels from {n} samples, as many as its values tell of"
        reasons.append(check_reason(condition, plain, under, published, margin))
    return "; ".join(str(one) for one in reasons if one is not None and one.holds)
