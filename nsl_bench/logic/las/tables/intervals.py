"""Tables of atoms with ``num_var(type)``: one for each choice of bounds on the numbers there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nsl_bench.logic.las.bits import Bits
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
    found: Bits = np.bitwise_or.reduce(np.stack(rows), axis=0)
    return found
