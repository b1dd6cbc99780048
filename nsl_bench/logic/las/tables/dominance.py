"""Literals, and stars of them, that another one makes superfluous, told before any body is made.

Where two literals may stand for each other, one that holds in fewer unwanted and in no fewer wanted cases, at
no higher cost, serves every body at least as well: of 1,000 comparisons with a constant, few are left.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

import numpy as np

from nsl_bench.logic.las.bits import Bits, digest
from nsl_bench.logic.las.tables.intervals import Interest

_MOST_WORDS = 1 << 26
"""Words that are looked at to compare each two literals."""
_SAMPLED_WORDS = 128


def undominated(
    kinds: Iterable[Hashable],
    tables: Sequence[Bits],
    costs: Sequence[tuple[int, ...]],
    interest: Interest,
    where: Bits | None = None,
) -> list[int]:
    """The literals without those that another one of their kind makes superfluous, in the given order.

    Args:
        kinds: which ones may stand for each other: those of one kind.
        tables: uint64 [sizes..., words]: where each holds; those of one kind have one shape.
        costs: what each adds to a rule's cost, under each way to share variables, and to its length.
        interest: the columns in which it helps or hurts that a literal holds.
        where: uint64, as a table: the cases that some body can tell apart; None: all.
    """
    groups: dict[Hashable, list[int]] = {}
    for i, kind in enumerate(kinds):
        groups.setdefault(kind, []).append(i)
    found: list[int] = []
    for group in groups.values():
        own = [tables[i] if where is None else tables[i] & where for i in group]
        found += [group[k] for k in _best_of_kind(own, [costs[i] for i in group], interest)]
    return sorted(found)


def _best_of_kind(tables: Sequence[Bits], costs: Sequence[tuple[int, ...]], interest: Interest) -> list[int]:
    """The ones that no other makes superfluous."""
    if len(tables) == 1:
        return [0]
    fronts = Fronts()
    kept: list[int] = []
    for i in sorted(range(len(tables)), key=lambda k: costs[k]):
        name = tuple(digest((tables[i] & cells).tobytes()) for cells in (interest.wanted, interest.unwanted))
        if fronts.admits(name, costs[i]):
            kept.append(i)
    if len(kept) < 2 or len(kept) ** 2 * tables[0].size > _MOST_WORDS:
        return kept
    shape = (*tables[0].shape[:-1], len(interest.wanted))
    wanted, unwanted = (
        np.broadcast_to(mask, shape).reshape(-1) for mask in (interest.wanted, interest.unwanted)
    )
    rows = [tables[i].reshape(-1) for i in kept]
    some = slice(None, None, max(1, len(wanted) // _SAMPLED_WORDS))
    sampled = np.stack([row[some] for row in rows])
    good, bad = sampled & wanted[some], sampled & unwanted[some]
    left: list[int] = []
    for k, i in enumerate(kept):
        worse = (good[k] & ~good).any(axis=1) | (~bad[k] & bad).any(axis=1)  # of most, a few words tell it
        others = (j for j in np.flatnonzero(~worse).tolist() if j != k and covers(costs[kept[j]], costs[i]))
        if not any(
            not (rows[k] & ~rows[j] & wanted).any() and not (rows[j] & ~rows[k] & unwanted).any()
            for j in others
        ):
            left.append(i)
    return left


class Fronts(dict[Hashable, list[tuple[int, ...]]]):
    """For each kind, the weights that no other one of the kind covers (a Pareto front)."""

    def admits(self, kind: Hashable, weight: tuple[int, ...]) -> bool:
        """Whether no weight of the kind covers this one; takes it in then."""
        front = self.setdefault(kind, [])
        if any(covers(other, weight) for other in front):
            return False
        front[:] = [other for other in front if not covers(weight, other)]
        front.append(weight)
        return True

    def surpasses(self, kind: Hashable, weight: tuple[int, ...]) -> bool:
        """Whether another weight of the kind, taken in later, covers this one."""
        return any(other != weight and covers(other, weight) for other in self[kind])


def covers(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    """Whether what uses `a` uses nowhere more than `b`."""
    return all(x <= y for x, y in zip(a, b, strict=True))
