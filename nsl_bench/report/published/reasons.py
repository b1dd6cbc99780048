"""Tested reasons for differences between reproduced and published figures.

A reason is a condition under which the published figure was obtained and ours was not. It is tested by
repeating the runs under that condition. The reason holds if the figure changes significantly (paired t test
over the same train splits; for another network, Welch's t test over trainings of both), then no longer
differs from the published one, and less than half of the difference is left. Otherwise the difference has no
reason.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from nsl_bench.run.job import Job
from nsl_bench.run.statistics import paired_p_values

from .equivalence import LEVEL, Comparison, Mean, compare_means

PUBLISHED_CODE = "cnn_lstm:published=true"
"""The CNN-LSTM as the paper's code has it; as ``cnn_lstm`` it is what the paper's text describes."""

AS_PUBLISHED = {
    "cnn_lstm": PUBLISHED_CODE,
    "ffnsl": "ffnsl:answers=published",
    "ffnsl:penalty=constant": "ffnsl:penalty=constant,answers=published",
}
"""Learners as the paper's code has them, by what they are called where they are as its text has them."""

PUBLISHED_NETWORKS = {"edl_gen:preset=paper": "edl_gen:preset=paper,published=true"}
"""Networks as the paper's code has them, likewise."""

_CONDITIONS = {
    "cnn_lstm": "the network of the paper's code instead of the one in its text",
    "edl_gen": "first weights, critic and order of images as in the paper's code",
    "ffnsl": "rules that are tested without their type guards, as in the paper's code",
}


def conditions(job: Job) -> dict[str, Job]:
    """A run as the paper's code has it where its text says something else or nothing, by descriptions."""
    learner, network = AS_PUBLISHED.get(job.learner), PUBLISHED_NETWORKS.get(job.network or "")
    found = {learner: replace(job, learner=learner)} if learner else {}
    if network:
        found[network] = replace(job, network=network)
    return {f"{_CONDITIONS[spec.partition(':')[0]]} ({spec})": job for spec, job in found.items()}


@dataclass(frozen=True)
class Tested:
    """A reason and its tests.

    Attributes:
        condition: description, which follows "with".
        measured: the figure under the condition.
        compared: its comparison with the published figure.
        p_moved: p value of the t test of the figure with and without the condition.
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
    condition: str,
    plain: Mapping[int, float],
    under: Mapping[int, float],
    published: Mean,
    margin: float,
    *trainings: Mean,
    other_network: Sequence[Mean] | None = None,
) -> Tested | None:
    """Test a reason.

    Args:
        condition: description, which follows "with".
        plain: the figure by train split, without the condition.
        under: the figure by train split, under the condition.
        margin, trainings: as in `compare_means`, under the condition.
        other_network: if the condition is another network, the mean over trainings of the network without it.

    Returns:
        The tests; None if both have fewer than two train splits in common, or of two networks one has not
        enough trainings to tell how they differ.
    """
    both = sorted(plain.keys() & under.keys())
    if len(both) < 2 or (other_network is not None and not (other_network and trainings)):
        return None
    first, second = (np.array([values[repeat] for repeat in both]) for values in (plain, under))
    measured = Mean.of(second.tolist())
    if other_network is None:
        p_moved = float(paired_p_values((first - second)[None])[0])
    else:
        p_moved = compare_means(other_network[0], trainings[0], margin).p_different
    compared = compare_means(measured, published, margin, 0.0, *trainings)
    before = float(first.mean()) - published.value
    return Tested(condition, measured, compared, p_moved, before)
