"""Ranks of learners: paired tests over train splits, shared ranks, groups without significant differences.

Learners are compared on the same runs only. Values are a matrix [learners, train splits]. Effects that all
learners share, such as an easy train split, cancel out in the differences.

Two learners are compared by the paired t test, which keeps its level with three to ten pairs of normally
distributed differences. An exact permutation test of three pairs could never find a difference (its least p
value is 1/4). Holm's method corrects the p values over all pairs of all tables of a board, which bounds the
probability of any false positive on the board. `benchmarks/significance.py` simulates the false-positive rate
and the power; docs/leaderboard.md has the results.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nsl_bench.run.statistics import holm, paired_p_values

_LEVEL = 0.05
Matrix = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Placing:
    """A learner's rank in its track.

    Attributes:
        index: row of the matrix.
        rank: 1 is best; learners that do not differ significantly from the best of their group share its
            rank.
        mean: mean of its values.
        std_err: standard error of the mean over train splits; NaN for one split.
    """

    index: int
    rank: int
    mean: float
    std_err: float


def adjusted_p_values(tables: Sequence[Matrix]) -> list[Matrix]:
    """P values of all pairs of learners in several tables, corrected over all pairs of all tables.

    Args:
        tables: the values, float64 [learners, repeats] each.

    Returns:
        For each table, a symmetric matrix float64 [learners, learners] with 1 on the diagonal.
    """
    pairs = [np.triu_indices(len(values), 1) for values in tables]
    plain = [
        paired_p_values(values[rows] - values[columns])
        for values, (rows, columns) in zip(tables, pairs, strict=True)
    ]
    corrected = holm(np.concatenate([*plain, np.empty(0)]))
    matrices, begin = [], 0
    for values, (rows, columns) in zip(tables, pairs, strict=True):
        matrix = np.ones((len(values), len(values)))
        own = corrected[begin : begin + len(rows)]
        matrix[rows, columns] = matrix[columns, rows] = own
        begin += len(rows)
        matrices.append(matrix)
    return matrices


def _order(values: Matrix, higher_is_better: bool) -> list[int]:
    means = values.mean(axis=1)
    order = np.argsort(-means if higher_is_better else means, kind="stable")
    return [int(k) for k in order]


def place(
    values: Matrix, *, higher_is_better: bool = True, level: float = _LEVEL, p_values: Matrix | None = None
) -> list[Placing]:
    """Rank learners, best first.

    Learners are ordered by mean. A learner shares the rank of the best of its group unless it is
    significantly worse. Then it starts the next group, whose rank is its position.

    Args:
        values: float64 [learners, repeats].
        higher_is_better: direction of the metric.
        level: significance level of all comparisons together.
        p_values: corrected p values of each pair (`adjusted_p_values`); by default corrected over this table.
    """
    p_values = adjusted_p_values([values])[0] if p_values is None else p_values
    placed: list[Placing] = []
    leader, rank = -1, 1
    for position, index in enumerate(_order(values, higher_is_better), start=1):
        if leader < 0 or p_values[leader, index] < level:
            leader, rank = index, position
        row = values[index]
        error = float(row.std(ddof=1) / np.sqrt(len(row))) if len(row) > 1 else float("nan")
        placed.append(Placing(index, rank, float(row.mean()), error))
    return placed


def groups(values: Matrix, *, higher_is_better: bool = True, level: float = _LEVEL) -> list[tuple[int, ...]]:
    """The largest groups of neighbours by mean without significant differences (critical-difference plot).

    Returns:
        Rows of the matrix in each group, best first; groups of one are left out.
    """
    order, p_values = _order(values, higher_is_better), adjusted_p_values([values])[0]
    spans: list[tuple[int, int]] = []
    for start in range(len(order)):
        stop = start + 1
        while stop < len(order) and not any(
            p_values[order[k], order[stop]] < level for k in range(start, stop)
        ):
            stop += 1
        if stop - start > 1 and (not spans or stop > spans[-1][1]):
            spans.append((start, stop))
    return [tuple(order[start:stop]) for start, stop in spans]


def mean_ranks(values: Matrix, *, higher_is_better: bool = True) -> Matrix:
    """float64 [learners]: mean over columns of each learner's rank; ties share their mean rank.

    Demsar: "Statistical Comparisons of Classifiers over Multiple Data Sets", JMLR 2006.
    """
    from scipy.stats import rankdata

    ranks: Matrix = rankdata(-values if higher_is_better else values, axis=0).mean(axis=1)
    return ranks


def front(values: npt.NDArray[np.float64], higher_is_better: Sequence[bool]) -> npt.NDArray[np.bool_]:
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
