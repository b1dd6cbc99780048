"""Splits the needs of an instance into blocks, and lists how a solution may meet the needs of a block.

A *configuration* of a block is a set of rules without a redundant one, that is, each of them is the only one
to support some need of the block. A solution uses one configuration of each block: a part of its rules that
supports the same needs of the block. A configuration incurs *charges*: the cost of each of its rules, and the
weight of each target that one of them violates or that it leaves without a need of the block. A solution pays
each charge once, however many of its configurations incur it.

So choosing one configuration for each block, to pay the least, is the same problem as choosing rules. What is
lost where blocks are looked at one by one is that they use the same rules; large blocks lose less. Needs with
nearly the same supporters make large blocks with few configurations.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nsl_bench.core.budget import Budget
from nsl_bench.core.types import Ints, Ints32
from nsl_bench.logic.las.bits import pack
from nsl_bench.logic.las.set_cover.instance import Flags, Indices, Instance

_MOST_CELLS = 1 << 25
_MOST_WEIGHT = 1 << 56
_PARTNERS = 2


@dataclass(frozen=True, eq=False)
class Configurations:
    """The configurations of all blocks.

    Charge ``i`` is the cost of rule ``i`` for ``i < n_rules``, and after these come the targets.

    Attributes:
        block: int32 [s], ascending: the block of each configuration.
        starts: intp [s + 1]: where the charges of each configuration start in `charges`.
        charges: int32: charges that the configurations incur, one configuration after the other.
        weights: int64 [c]: what each charge costs.
        implied: for each charge, those that are paid wherever it is: by a rule, the targets that it violates.
        excluded: for each charge, the rules that are not chosen where it is paid: by a target with one need
            that no rule violates, the rules that support the need, for it is uncovered without them only.
    """

    n_rules: int
    n_blocks: int
    block: Ints32
    starts: Indices
    charges: Ints32
    weights: Ints
    implied: tuple[Indices, ...]
    excluded: tuple[Indices, ...]


def is_searchable(instance: Instance) -> bool:
    """Whether the configurations fit and integers suffice for the weights."""
    if not len(instance.needs):
        return False
    total = int(instance.costs.sum()) + int(instance.weights.sum())
    cells = int(instance.supports.sum()) * (len(instance.rules) + len(instance.weights))
    return total < _MOST_WEIGHT and cells < _MOST_CELLS


def configurations(instance: Instance, most: int, budget: Budget | None = None) -> Configurations:
    """Blocks and their configurations.

    Args:
        most: needs join into larger blocks as long as there are no more configurations than this.
    """
    n_rules = len(instance.rules)
    joiner = _Joiner(instance.supports, most)
    joiner.join(budget)
    blocks = list(joiner.blocks.values())
    users = _users(instance)
    sizes: list[npt.NDArray[np.intp]] = []
    charges: list[Ints32] = []
    for block in blocks:
        uncovered = _counted(block.rules, instance.violates) > 0
        for need, lacking in zip(block.needs, ~block.met(instance.supports).T, strict=True):
            for target in users[need]:
                uncovered[:, target] |= lacking
        incurred = np.concatenate([block.rules, uncovered], axis=1)
        charges.append(np.nonzero(incurred)[1].astype(np.int32))
        sizes.append(incurred.sum(axis=1))
    return Configurations(
        n_rules=n_rules,
        n_blocks=len(blocks),
        block=np.repeat(np.arange(len(blocks), dtype=np.int32), [len(block.rules) for block in blocks]),
        starts=np.concatenate([np.zeros(1, np.intp), np.cumsum(np.concatenate(sizes))]),
        charges=np.concatenate(charges),
        weights=np.concatenate([instance.costs, instance.weights]).astype(np.int64),
        implied=_implied(instance),
        excluded=_excluded(instance),
    )


def _users(instance: Instance) -> list[list[int]]:
    """For each need, the targets that have it."""
    users: list[list[int]] = [[] for _ in instance.supports]
    for target, needs in enumerate(instance.needs):
        for need in needs:
            users[need].append(target)
    return users


def _implied(instance: Instance) -> tuple[Indices, ...]:
    """For each charge, the targets' charges that are paid wherever it is."""
    n_rules = len(instance.rules)
    result = [n_rules + np.flatnonzero(violated) for violated in instance.violates.T]
    return (*result, *[np.empty(0, np.intp)] * len(instance.needs))


def _excluded(instance: Instance) -> tuple[Indices, ...]:
    """For each charge, the rules that are not chosen where it is paid."""
    nothing = np.empty(0, np.intp)
    result = [nothing] * len(instance.rules)
    for needs, violators in zip(instance.needs, instance.violates, strict=True):
        single = len(needs) == 1 and not violators.any()
        result.append(np.flatnonzero(instance.supports[needs[0]]) if single else nothing)
    return tuple(result)


@dataclass(frozen=True, eq=False)
class _Block:
    """Needs, and the configurations (bool [s, r]) for them."""

    needs: tuple[int, ...]
    rules: Flags

    def met(self, supports: Flags) -> Flags:
        """bool [s, needs]: which of the needs each configuration meets."""
        return _counted(self.rules, supports[list(self.needs)]) > 0

    def with_need(self, need: int, supports: Flags) -> _Block:
        """The block with one need more."""
        needs = (*self.needs, need)
        meets = _counted(self.rules, supports[[need]])[:, 0] > 0
        without = self.rules[~meets]
        # a further rule meets no need that the configuration leaves, for that would be another one's
        offers = np.flatnonzero(supports[need])
        unmet = ~self.met(supports)[~meets]
        meets_need = _counted(unmet, supports[np.ix_(np.array(self.needs, np.intp), offers)].T) == 0
        which, offer = np.nonzero(meets_need)
        extended = without[which]
        extended[np.arange(len(which)), offers[offer]] = True
        extended = extended[_irredundant(extended, supports[list(needs)])]
        return _Block(needs, np.concatenate([without, self.rules[meets], extended]))


def _counted(sets: Flags, rows: Flags) -> Ints32:
    """int32 [s, n]: how many members each set (bool [s, m]) shares with each row (bool [n, m]).

    Bits are counted: exact on every processor, and as fast as a product of floats.
    """
    these, those = pack(sets), pack(rows)
    counts = np.zeros((len(these), len(those)), np.int32)
    for word in range(these.shape[1]):
        counts += np.bitwise_count(these[:, word, None] & those[None, :, word])
    return counts


def _irredundant(sets: Flags, supports: Flags) -> Flags:
    """bool [s]: sets of rules (bool [s, r]), each of them alone in supporting some need (bool [k, r])."""
    alone = _counted(sets, supports) == 1
    useful = sets & (_counted(alone, supports.T) > 0)
    irredundant: Flags = useful.sum(axis=1) == sets.sum(axis=1)
    return irredundant


class _Joiner:
    """Blocks of one need each, joined greedily: the join first that adds the fewest configurations."""

    def __init__(self, supports: Flags, most: int) -> None:
        self.supports = supports
        self.most = most
        self.blocks = {need: _single(need, supports) for need in range(len(supports))}
        self.total = sum(len(block.rules) for block in self.blocks.values())
        common = _counted(supports, supports)
        sizes = supports.sum(axis=1)
        # configurations of two rules that a pair of needs has; averages for blocks
        self._apart = ((sizes[:, None] - common) * (sizes[None, :] - common)).astype(np.float64)
        np.fill_diagonal(self._apart, np.inf)
        self._offers: list[tuple[int, int, int, int, int]] = []
        self._open = [0] * len(supports)

    def join(self, budget: Budget | None) -> None:
        """Joins until there would be more than `most` configurations, or the budget is used up."""
        for first in self.blocks:
            self._offer(first)
        while self._offers and not (budget is not None and budget.expired()):
            added, first, second, *sizes = heapq.heappop(self._offers)
            block, other = self.blocks.get(first), self.blocks.get(second)
            if block is None or len(block.needs) != sizes[0]:
                continue
            self._open[first] -= 1
            if other is not None and len(other.needs) == sizes[1]:
                if self.total + added > self.most:
                    break
                self._replace(first, second)
            if not self._open[first]:
                self._offer(first)

    def _replace(self, first: int, second: int) -> None:
        joined = self._joined(first, second)
        before = len(self.blocks[first].rules) + len(self.blocks[second].rules)
        self.total += len(joined.rules) - before
        share = len(self.blocks[second].needs) / len(joined.needs)
        mixed = (1 - share) * self._apart[first] + share * self._apart[second]
        self._apart[first], self._apart[:, first] = mixed, mixed
        self._apart[second], self._apart[:, second] = np.inf, np.inf
        self._apart[first, first] = np.inf
        self.blocks[first] = joined
        del self.blocks[second]
        self._open[first] = 0

    def _joined(self, first: int, second: int) -> _Block:
        joined = self.blocks[first]
        for need in self.blocks[second].needs:
            joined = joined.with_need(need, self.supports)
            if len(joined.rules) > self.most:
                break
        return joined

    def _offer(self, first: int) -> None:
        """Looks at the joins of a block with those whose supporters differ least from its own."""
        nearest = np.argsort(self._apart[first], kind="stable")[:_PARTNERS]
        for second in nearest[self._apart[first, nearest] < np.inf].tolist():
            block, other = self.blocks[first], self.blocks[second]
            added = len(self._joined(first, second).rules) - len(block.rules) - len(other.rules)
            offer = (added, first, second, len(block.needs), len(other.needs))
            heapq.heappush(self._offers, offer)
            self._open[first] += 1


def _single(need: int, supports: Flags) -> _Block:
    """The block of one need: no rule, or one that supports it."""
    offers = np.flatnonzero(supports[need])
    rules = np.zeros((1 + len(offers), supports.shape[1]), np.bool_)
    rules[np.arange(1, len(rules)), offers] = True
    return _Block((need,), rules)
