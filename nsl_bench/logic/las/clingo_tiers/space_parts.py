"""Larger and larger parts of a hypothesis space, as tiers C and D try them."""

import time
from collections.abc import Iterator

from nsl_bench.core.budget import Budget
from nsl_bench.logic.las.bias.space import Space, growing_space
from nsl_bench.logic.las.task import LasTask

_FEW = 40
"""Rules of the first part of a space that is tried."""
_GROWTH = 2
"""By what factor the next ones grow at least."""


def space_parts(task: LasTask, budget: Budget, statistics: dict[str, float]) -> Iterator[Space]:
    """Larger and larger parts of the hypothesis space, until it is complete or `budget` has expired.

    Args:
        statistics: is told the seconds that it took, and the number of rules.
    """
    if budget.expired():
        return
    started = time.monotonic()
    least = _FEW
    untried: Space | None = None
    for space in growing_space(task, budget=budget, useful=True):
        statistics["seconds_space"] = statistics.get("seconds_space", 0.0) + time.monotonic() - started
        statistics["rules"] = len(space.rules)
        untried = space
        if len(space.rules) >= least and not budget.expired():
            untried = None
            least = _GROWTH * len(space.rules)
            yield space
        started = time.monotonic()
    if untried is not None and not budget.expired():
        yield untried
