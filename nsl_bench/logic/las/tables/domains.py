"""What variables range over, as indices of bit tables; tables of atoms and comparisons over them.

A type whose members differ from context to context (the filled cells of a grid) is indexed locally: value
``i`` is the context's ``i``-th member.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from nsl_bench.core.budget import Undecided
from nsl_bench.logic.las.bias.lookups import ordered
from nsl_bench.logic.las.bits import Bits, pack, unpack
from nsl_bench.logic.las.tables.evaluation import Columns
from nsl_bench.logic.las.tables.grounding import Grounding

if TYPE_CHECKING:
    from clingo import Symbol

_LOCAL_SHARE = 0.75
_CHUNK = 1 << 21
"""Cells that are unpacked at a time."""


@dataclass(frozen=True, eq=False)
class Domain:
    """What a variable of one type ranges over.

    Attributes:
        values: all members in any column, in clingo's order.
        guarded: variables carry the guard ``type(V)``.
        guards: uint64 [size, words]: which index has a value where.
        local: intp [values, n]: index of each value in each column, -1 where it is no member; None if
            values are their own indices everywhere.
    """

    type: str
    values: tuple[Symbol, ...]
    guarded: bool
    guards: Bits
    local: npt.NDArray[np.intp] | None

    @property
    def size(self) -> int:
        """The table's extent along a variable of this type."""
        return int(self.guards.shape[0])

    @cached_property
    def is_single(self) -> bool:
        """Whether there is no column in which a variable can have two values."""
        guarded = np.zeros_like(self.guards[:1])
        for guard in self.guards:
            if (guarded & guard).any():
                return False
            guarded = guarded | guard
        return True

    @cached_property
    def position(self) -> Mapping[Symbol, int]:
        """The place of each value in `values`."""
        return {value: i for i, value in enumerate(self.values)}

    def values_at(self, n: int) -> npt.NDArray[np.intp]:
        """intp [size, n]: the value at each index in each column; 0 where there is none."""
        if self.local is None:
            return np.repeat(np.arange(self.size)[:, None], n, axis=1)
        result = np.zeros((self.size, n), np.intp)
        value, column = np.nonzero(self.local >= 0)
        result[self.local[value, column], column] = value
        return result


def make_domain(
    name: str, grounding: Grounding, open_values: Iterable[Symbol] | None, *, everywhere: bool
) -> Domain:
    """The domain of variables of type `name`.

    Args:
        grounding: what is true in which column.
        open_values: its values where no statement derives any; None: the members are its values.
        everywhere: values are to be their own indices in all columns.
    """
    columns = grounding.columns
    if grounding.depends(name, 1):
        raise Undecided("a type depends on what is learned")
    if open_values is not None:
        values = tuple(sorted(open_values))
        guards = np.broadcast_to(columns.full, (len(values), columns.words))
        return Domain(name, values, False, np.ascontiguousarray(guards), None)
    members = sorted(grounding.atoms(name, 1), key=lambda member: member[0][0])
    values = tuple(arguments[0] for arguments, _ in members)
    guards = np.array([bits for _, bits in members], np.uint64).reshape(len(members), columns.words)
    flags = unpack(guards, columns.n)
    counts = flags.sum(axis=0)
    most = int(counts.max(initial=0))
    if everywhere or not values or most > _LOCAL_SHARE * len(values):
        return Domain(name, values, True, guards, None)
    local = np.where(flags, np.cumsum(flags, axis=0) - 1, -1)
    return Domain(name, values, True, pack(np.arange(most)[:, None] < counts[None, :]), local)


def atom_table(
    domains: Sequence[Domain], entries: Sequence[tuple[Sequence[Symbol], Bits]], columns: Columns
) -> Bits:
    """Where an atom holds.

    Args:
        entries: the variables' values and the columns, uint64 [words], of each instance; each values once.

    Returns:
        uint64 [sizes..., words]; values that are no members of a domain are left out.
    """
    shape = tuple(domain.size for domain in domains)
    places = [
        [d.position.get(s, -1) for d, s in zip(domains, symbols, strict=True)] for symbols, _ in entries
    ]
    places_known = [i for i, where in enumerate(places) if min(where, default=0) >= 0]
    index = np.array([places[i] for i in places_known], np.intp).reshape(len(places_known), len(domains)).T
    if all(domain.local is None for domain in domains):
        table = np.zeros((*shape, columns.words), np.uint64)
        if places_known:
            table[tuple(index)] = np.stack([entries[i][1] for i in places_known])
        return table
    flags = np.zeros((*shape, columns.n), np.bool_)
    step = max(1, _CHUNK // max(1, columns.n))
    for start in range(0, len(places_known), step):
        part = slice(start, start + step)
        holds = unpack(np.stack([entries[i][1] for i in places_known[part]]), columns.n)
        entry, column = np.nonzero(holds)
        where = [
            values[part][entry] if domain.local is None else domain.local[values[part][entry], column]
            for domain, values in zip(domains, index, strict=True)
        ]
        member = np.logical_and.reduce([place >= 0 for place in where])
        flags[(*(place[member] for place in where), column[member])] = True
    return pack(flags)


def comparison_table(operator: str, left: Domain | Symbol, right: Domain | Symbol, columns: Columns) -> Bits:
    """Where a comparison of two variables or values holds.

    Returns:
        uint64 [size of each variable..., words].
    """
    sides = [side.values if isinstance(side, Domain) else (side,) for side in (left, right)]
    holds = ordered(operator, *sides)
    domains = [side for side in (left, right) if isinstance(side, Domain)]
    if all(domain.local is None for domain in domains):
        keep = holds.reshape([len(domain.values) for domain in domains])
        return np.where(keep[..., None], columns.full, np.uint64(0))
    n = columns.n
    values = [
        side.values_at(n) if isinstance(side, Domain) else np.zeros((1, n), np.intp) for side in (left, right)
    ]
    flags = holds[values[0][:, None, :], values[1][None, :, :]]
    return pack(flags.reshape(*(domain.size for domain in domains), n))
