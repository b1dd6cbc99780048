"""Literals, and stars of them, that another one makes superfluous, told before any body is made.

Where two literals may stand for each other, one that holds in fewer unwanted and in no fewer wanted cases, at
no higher cost, serves every body at least as well: of 1,000 comparisons with a constant, few are left.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nsl_bench.logic.las.bits import Bits, digest
from nsl_bench.logic.las.thresholds import token

if TYPE_CHECKING:
    from clingo import Symbol


Rank = tuple[int, int, str]
"""A value's place in clingo's order of terms: -1, 0 or 1 (below, among, above all numbers), number, text."""
_Groups = Mapping[tuple[Rank, ...], Bits]


class Interest(NamedTuple):
    """The columns with a cell that an example asks to be filled, and those with one to be empty.

    Attributes:
        wanted, unwanted: uint64 [words].
        asked: the learned atoms (of the program) that some example asks about.
    """

    wanted: Bits
    unwanted: Bits
    asked: frozenset[int]


def rank(value: Symbol) -> Rank:
    """The place of a value among those of one ``num_var(type)``."""
    from clingo import SymbolType

    if value.type == SymbolType.Number:
        return 0, value.number, ""
    return (-1 if value.type == SymbolType.Infimum else 1), 0, str(value)


def bounded(groups: _Groups, interest: Interest | None) -> Iterator[tuple[tuple[str, ...], Bits]]:
    """Tokens of the places, and where an atom holds whose values keep to them.

    Args:
        groups: where the atom holds, by the values at its places.
        interest: bounds that only take wanted columns away, or keep unwanted ones, are left out; None: none.
    """
    if () in groups:
        yield (), groups[()]
        return
    rows: dict[Rank, dict[tuple[Rank, ...], Bits]] = {}
    for key, table in groups.items():
        rows.setdefault(key[0], {})[key[1:]] = table
    order = sorted(rows)
    numbers = [k for k, value in enumerate(order) if not value[0]]
    starts, ends = _bounds([list(rows[value].values()) for value in order], numbers, interest)
    for start in (None, *starts):
        merged: dict[tuple[Rank, ...], Bits] = {}
        for k in range(0 if start is None else start, len(order)):
            for rest, table in rows[order[k]].items():
                merged[rest] = merged[rest] | table if rest in merged else table
            if k in ends or k == len(order) - 1:
                low = "" if start is None else str(order[start][1])
                high = str(order[k][1]) if k in ends else ""
                for others, table in bounded(merged, interest):
                    yield (token(low, high), *others), table


def _bounds(
    tables: Sequence[Sequence[Bits]], numbers: Sequence[int], interest: Interest | None
) -> tuple[list[int], set[int]]:
    """The places in order at which a bound from below may begin, and at which one from above may end."""
    if interest is None or len(numbers) < len(tables):
        return list(numbers[1:]), set(numbers[:-1])
    columns = [_columns(each) for each in tables]
    good = [bool((each & interest.wanted).any()) for each in columns]
    bad = [bool((each & interest.unwanted).any()) for each in columns]
    pairs = list(pairwise(k for k in numbers if good[k] or bad[k]))
    starts = [b for a, b in pairs if bad[a] and good[b]]
    ends = {a for a, b in pairs if good[a] and bad[b]}
    return starts, ends


def _columns(tables: Sequence[Bits]) -> Bits:
    """uint64 [words]: the columns in which some table holds anywhere."""
    rows = [np.bitwise_or.reduce(table.reshape(-1, table.shape[-1]), axis=0) for table in tables]
    result: Bits = np.bitwise_or.reduce(np.stack(rows), axis=0)
    return result


_MOST_WORDS = 1 << 26
"""Words that are looked at to compare each two literals."""
_SAMPLED_WORDS = 128
_COMPARED_WORDS = 1 << 16
"""Words of samples that are compared at a time."""


def undominated(
    kinds: Iterable[Hashable], tables: Sequence[Bits], costs: Sequence[tuple[int, ...]], interest: Interest
) -> list[int]:
    """The literals without those that another one of their kind makes superfluous, in the given order.

    Args:
        kinds: which ones may stand for each other: those of one kind.
        tables: uint64 [sizes..., words]: where each holds; those of one kind have one shape.
        costs: what each adds to a rule's cost, under each way to share variables, and to its length.
        interest: the columns in which it helps or hurts that a literal holds.
    """
    groups: dict[Hashable, list[int]] = {}
    for i, kind in enumerate(kinds):
        groups.setdefault(kind, []).append(i)
    result: list[int] = []
    for group in groups.values():
        own = [tables[i] for i in group]
        result += [group[k] for k in _best_of_kind(own, [costs[i] for i in group], interest)]
    return sorted(result)


def _best_of_kind(tables: Sequence[Bits], costs: Sequence[tuple[int, ...]], interest: Interest) -> list[int]:
    """The ones that no other makes superfluous; of most, a few words tell it."""
    if len(tables) == 1:
        return [0]
    size = tables[0].size
    some = np.arange(0, size, max(1, size // _SAMPLED_WORDS))
    places = np.unravel_index(some, tables[0].shape)
    sampled = np.stack([table[places] for table in tables])
    good, bad = (sampled & mask[some % len(mask)] for mask in (interest.wanted, interest.unwanted))
    names: list[Hashable] = [(a.tobytes(), b.tobytes()) for a, b in zip(good, bad, strict=True)]
    whole = len(some) == size
    several = Counter(names)
    fronts = Fronts()
    best: list[int] = []
    for i in sorted(range(len(tables)), key=lambda k: costs[k]):
        name = names[i]
        if several[name] > 1 and not whole:
            masked = ((tables[i] & mask).tobytes() for mask in (interest.wanted, interest.unwanted))
            name = tuple(map(digest, masked))
        if fronts.admits(name, costs[i]):
            best.append(i)
    if len(best) < 2 or len(best) ** 2 * size > _MOST_WORDS:
        return best
    good, bad = good[best], bad[best]

    def serves(j: int, i: int) -> bool:
        return covers(costs[j], costs[i]) and (
            whole
            or not (
                (tables[i] & ~tables[j] & interest.wanted).any()
                or (tables[j] & ~tables[i] & interest.unwanted).any()
            )
        )

    left: list[int] = []
    step = max(1, _COMPARED_WORDS // good.size)
    for start in range(0, len(best), step):
        part = slice(start, start + step)
        worse = np.any(good[part, None] & ~good | ~bad[part, None] & bad, axis=2)
        for i, flags in zip(best[part], worse, strict=True):
            alike = (best[k] for k in np.flatnonzero(~flags).tolist())
            if not any(j != i and serves(j, i) for j in alike):
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
