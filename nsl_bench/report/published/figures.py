"""A published figure beside the reproduced one, and the badge that says what to make of them."""

from dataclasses import dataclass
from typing import Any, Literal

from .equivalence import POWER, Comparison, Mean

Badge = Literal["reproduced", "differs", "undecided", "not enough data", "undecidable", "not comparable"]

TRUE_CONCEPTS = "true concepts"
"""The network of figures without one."""

FEWEST = 3
"""Fewer repeats tell nothing of their spread: two may agree by chance."""


@dataclass(frozen=True)
class Figure:
    """A published figure and the reproduced one.

    Attributes:
        benchmark, learner, penalties, network, size, shift, percent, metric: what it is, in our words.
        counting: ``"paper"`` or ``"ours"``, where the two count differently.
        published, published_std_err, published_repeats: mean and standard error over the paper's repeats.
        measured, measured_std_err, repeats: ours.
        margin: differences below it count as none; NaN where nothing is compared, as all below.
        p_equivalent, p_different, power: of the tests (`equivalence.Comparison`).
        needed: how many repeats of ours would have the power to show equivalence; NaN where none would.
        badge: what to make of it.
        reason: a tested one of a difference, or why nothing can be compared.
    """

    benchmark: str
    learner: str
    penalties: str
    network: str
    size: str
    shift: str
    percent: float
    metric: str
    counting: str
    published: float
    published_std_err: float
    published_repeats: int
    measured: float
    measured_std_err: float
    repeats: int
    margin: float
    p_equivalent: float
    p_different: float
    power: float
    needed: float
    badge: Badge
    reason: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "percent", float(self.percent))  # plans have whole numbers, reports do not

    @property
    def which(self) -> str:
        """Which published figure it is of which learner, however it was measured."""
        names = ("benchmark", "learner", "penalties", "network", "size", "shift", "percent", "metric")
        return str([getattr(self, name) for name in (*names, "counting", "published_repeats")])

    @property
    def difference(self) -> float:
        """Measured minus published."""
        return self.measured - self.published


def both_sides(published: Mean, ours: Mean) -> dict[str, Any]:
    """The fields of a `Figure` that say what was published and what was measured."""
    return {
        "published": published.value,
        "published_std_err": published.std_err,
        "published_repeats": published.repeats,
        "measured": ours.value,
        "measured_std_err": ours.std_err,
        "repeats": ours.repeats,
    }


def badge_of(compared: Comparison, repeats: int, *, decidable: bool = True) -> Badge:
    """What the tests say of the fewer `repeats` of both sides.

    A difference that is shown, and shown to be below the margin, is none.

    Args:
        decidable: whether more train splits of ours could show equivalence.
    """
    if repeats < FEWEST:
        return "not enough data"
    if compared.equivalent:
        return "reproduced"
    if compared.different:
        return "differs"
    if compared.power >= POWER:
        return "undecided"
    return "not enough data" if decidable else "undecidable"
