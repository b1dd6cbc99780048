"""Sequences: rows that are the steps of one example, such as the digits of a sum.

A row says which sequence it belongs to (0, 1, 2, ...) and its place in it (1, 2, 3, ...). The rows of a
sequence are adjacent and in order. A row that is an example by itself is a sequence of one step.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from nsl_bench.core.errors import UserError

Ints = npt.NDArray[np.int32]
Rows = npt.NDArray[np.integer[Any]]


def alone(n: int) -> tuple[Ints, Ints]:
    """Sequences and steps, int32 [n] each, of rows that are examples by themselves."""
    return np.arange(n, dtype=np.int32), np.ones(n, np.int32)


def first_rows(steps: Rows) -> npt.NDArray[np.int64]:
    """int64 [sequences]: the row at which each sequence begins."""
    return np.flatnonzero(np.asarray(steps) == 1)


def sequences_of(steps: Rows) -> Ints:
    """int32 [n]: the sequence of each row, from the rows' steps."""
    return (np.cumsum(np.asarray(steps) == 1) - 1).astype(np.int32)


def rows_of(steps: Rows, which: Rows) -> npt.NDArray[np.int64]:
    """int64 [rows]: the rows of whole sequences, one sequence after the other.

    Args:
        steps: of all rows, [n].
        which: sequences, in the order wanted; one may come more than once.
    """
    starts = first_rows(steps)
    ends = np.append(starts[1:], len(steps))
    chosen = np.asarray(which, np.int64)
    lengths = (ends - starts)[chosen]
    within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    rows: npt.NDArray[np.int64] = np.repeat(starts[chosen], lengths) + within
    return rows


def all_of(steps: Rows, holds: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """bool [sequences]: whether something holds in all rows of a sequence."""
    return np.logical_and.reduceat(holds, first_rows(steps))


def mean_of(steps: Rows, scores: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """float64 [sequences]: scores of sequences whose mean is that of the rows' scores.

    They are the sequences' mean scores; where sequences differ in length, longer ones weigh more.
    """
    starts = first_rows(steps)
    sums: npt.NDArray[np.float64] = np.add.reduceat(scores, starts)
    return sums * (len(starts) / len(scores))


def joined(steps: Rows, columns: npt.NDArray[Any], filling: float) -> npt.NDArray[Any]:
    """[sequences, longest * k]: columns [n, k] of all rows of a sequence side by side, the rest filled."""
    sequences = sequences_of(steps)
    n, k = len(first_rows(steps)), columns.shape[1]
    longest = int(np.max(steps, initial=1))
    result = np.full((n, longest, k), filling, columns.dtype)
    result[sequences, np.asarray(steps) - 1] = columns
    return result.reshape(n, longest * k)


def with_earlier(steps: Rows, columns: npt.NDArray[Any], filling: float) -> npt.NDArray[Any]:
    """[n, longest * k]: columns [n, k] of each row's sequence up to the row, side by side; else `filling`."""
    wide = joined(steps, columns, filling)[sequences_of(steps)]
    later = np.arange(wide.shape[1]) >= (np.asarray(steps) * columns.shape[1])[:, None]
    wide[later] = filling
    return wide


def check_sequences(sequences: Rows, steps: Rows) -> None:
    """Check that the rows of every sequence are adjacent and that its steps are 1, 2, 3, ...

    Args:
        sequences: the sequence of each row, [n].
        steps: the place of each row in its sequence, [n].
    """
    sequences, steps = np.asarray(sequences, np.int64), np.asarray(steps, np.int64)
    if not len(steps):
        return
    new = np.diff(sequences, prepend=sequences[0] - 1) != 0
    starts = np.flatnonzero(new)
    expected = np.arange(len(steps)) - np.repeat(starts, np.diff(np.append(starts, len(steps)))) + 1
    wrong = steps != expected
    if wrong.any():
        row = int(wrong.argmax())
        raise ValueError(
            f"row {row} is step {steps[row]} of sequence {sequences[row]}, but step {expected[row]} must "
            "come next; give every sequence whole, with its steps 1, 2, 3, ... in order"
        )
    named = sequences[starts]
    if (named != np.arange(len(named))).any():
        at = int((named != np.arange(len(named))).argmax())
        raise ValueError(
            f"row {starts[at]} begins sequence {named[at]}, but sequence {at} must come next; number the "
            "sequences 0, 1, 2, ... and keep the rows of each together"
        )


def take_whole(sequences: Rows, steps: Rows, rows: Rows) -> tuple[Ints, Ints]:
    """The sequences, numbered anew, and the steps of some rows, int32 [rows] each.

    Args:
        sequences: the sequence of each row, [n].
        steps: the place of each row in its sequence, [n].
        rows: rows of whole sequences; a sequence may come more than once.
    """
    sequences, steps, rows = np.asarray(sequences), np.asarray(steps), np.asarray(rows)
    taken, own = steps[rows], sequences[rows]
    lengths = np.bincount(sequences)
    last = np.append(taken[1:], 1) == 1
    follows = np.append(True, (taken[1:] == taken[:-1] + 1) & (own[1:] == own[:-1]))
    cut = np.where(taken == 1, False, ~follows) | (last & (taken != lengths[own]))
    if len(rows) and (taken[0] != 1 or cut.any()):
        at = 0 if taken[0] != 1 else int(cut.argmax())
        raise ValueError(
            f"sequence {own[at]} has {lengths[own[at]]} steps and cannot be cut at step {taken[at]}; take "
            "whole sequences"
        )
    return sequences_of(taken), taken.astype(np.int32)


def grid(steps: Rows) -> npt.NDArray[np.int64]:
    """int64 [sequences, steps]: the rows of each sequence."""
    starts, length = first_rows(steps), int(np.asarray(steps).max(initial=1))
    if len(starts) * length != len(steps):
        raise UserError(
            f"All sequences must have the same number of steps; the longest has {length}, and others "
            "have fewer."
        )
    return np.asarray(starts[:, None] + np.arange(length))
