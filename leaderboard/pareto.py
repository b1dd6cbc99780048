"""Pareto fronts: the learners that no other learner dominates."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

__all__ = ["front"]


def front(values: npt.NDArray[np.float64], higher_is_better: Sequence[bool]) -> npt.NDArray[np.bool_]:
    """bool [n]: whether no other row dominates a row, i.e. is as good in every column and better in one.

    Args:
        values: float64 [n, metrics], without NaN.
        higher_is_better: the direction of each column.

    Raises:
        ValueError: a value is NaN.
    """
    if np.isnan(values).any():
        raise ValueError("all points must have a number in every metric")
    costs = np.where(np.asarray(higher_is_better), -values, values)
    found = np.ones(len(costs), np.bool_)
    for k, row in enumerate(costs):
        found[k] = not ((costs <= row).all(axis=1) & (costs < row).any(axis=1)).any()
    return found
