"""Tested reasons for differences between reproduced and published figures.

A reason is a condition under which the published figure was obtained and ours was not. It is tested by
repeating the runs, or by reading what they predicted, under that condition. The reason holds if the figure
changes significantly (paired t test over the same train splits), then no longer differs from the published
one or only by less than the margin, and less than half of the difference is left. Otherwise the difference
has no reason.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from nsl_bench.core.types import Bools, Floats
from nsl_bench.run.statistics import paired_p_values

from .equivalence import LEVEL, Comparison, Mean, compare_means

PUBLISHED_CODE = "cnn_lstm:published=true"
"""The CNN-LSTM as the paper's code has it; as ``cnn_lstm`` it is what the paper's text describes."""

AS_PUBLISHED = {
    "cnn_lstm": PUBLISHED_CODE,
    "ffnsl": "ffnsl:answers=published",
    "ffnsl:penalty=constant": "ffnsl:penalty=constant,answers=published",
    "ffnsl:penalty=floor": "ffnsl:penalty=floor,answers=published",
}
"""Learners as the paper's code has them, by what they are called where they are as its text has them."""

SAMPLES = {
    ("sudoku_4x4", "softmax"): 36,
    ("sudoku_4x4", "edl_gen"): 10,
    ("sudoku_9x9", "softmax"): 4,
    ("sudoku_9x9", "edl_gen"): 2,
}
"""How many samples of a grid the paper's ProbLog drew in its time, by task and network.

The first is the middle of those that the published scores of single splits show (`ffnsl2023.toml`). Sums of
the others have too many terms to see it; they are what meets the accuracy without shift best: with 9, 10 and
11 samples 0.938, 0.934 and 0.930, published 0.933; with 3, 4 and 5 samples 0.907, 0.902 and 0.898, published
0.901; with 1, 2 and 3 samples 0.663, 0.580 and 0.545, published 0.568.
"""

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
        """Whether the condition changes the figure to the published one (see the module)."""
        as_published = self.compared.equivalent or not self.compared.different
        less = abs(self.compared.difference) < abs(self.before) / 2
        return self.p_moved < LEVEL and as_published and less

    def __str__(self) -> str:
        value, error, differs = self.measured.value, self.measured.std_err, self.compared.p_different
        within = f", equivalent within {self.compared.margin:g}" * self.compared.different
        return (
            f"tested: with {self.condition} it is {value:.4g} ± {error:.2g} (moved, p = {self.p_moved:.2g}; "
            f"against the published figure p = {differs:.2g}{within})"
        )


def check_reason(
    condition: str,
    plain: Mapping[int, float],
    under: Mapping[int, float],
    published: Mean,
    margin: float,
    *trainings: Mean,
) -> Tested | None:
    """Test a reason.

    Args:
        condition: description, which follows "with".
        plain: the figure by train split, without the condition.
        under: the figure by train split, under the condition.
        margin, trainings: as in `compare_means`.

    Returns:
        The tests; None if both have fewer than two train splits in common.
    """
    both = sorted(plain.keys() & under.keys())
    if len(both) < 2:
        return None
    first, second = (np.array([values[repeat] for repeat in both]) for values in (plain, under))
    measured = Mean.of(second.tolist())
    p_moved = float(paired_p_values((first - second)[None])[0])
    compared = compare_means(measured, published, margin, 0.0, *trainings)
    before = float(first.mean()) - published.value
    return Tested(condition, measured, compared, p_moved, before)


def reason_of(
    condition: str,
    plain: Mapping[int, float],
    under: Mapping[int, float],
    published: Mean,
    margin: float,
    *trainings: Mean,
) -> str:
    """A reason that holds when it is tested, else an empty text; arguments as of `check_reason`."""
    tested = check_reason(condition, plain, under, published, margin, *trainings)
    return str(tested) if tested is not None and tested.holds else ""


def as_published(learner: str) -> str:
    """The condition of a learner of `AS_PUBLISHED`."""
    return f"{_CONDITIONS[learner.partition(':')[0]]} ({AS_PUBLISHED[learner]})"


def as_read(invalid: Floats, is_valid: Bools, samples: int) -> tuple[float, float]:
    """The expected Brier score and accuracy of grids if ProbLog's samples are read as in the paper.

    The share of samples in which a grid is invalid is the probability of that label. The probability of the
    other one is 1 if there is no such sample, else 0, and not the rest.

    Args:
        invalid: [m], the probability that a sample is invalid.
        is_valid: [m], whether the grid is not.
    """
    none = (1 - invalid) ** samples
    squares = invalid**2 + invalid * (1 - invalid) / samples
    brier = np.where(is_valid, 1 - none + squares, 1 - 2 * invalid + squares + none)
    return float(brier.mean()), float(np.where(is_valid, none, 1 - none).mean())
