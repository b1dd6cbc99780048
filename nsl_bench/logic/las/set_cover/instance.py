"""Instances of weighted partial set cover with forbidden sets, and what is chosen in them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Flags = npt.NDArray[np.bool_]
Indices = npt.NDArray[np.intp]
# int64, or Python's integers where sums could exceed int64
Integers = npt.NDArray[Any]

_EXACT = 1 << 62


def integers(values: Iterable[int], beside: int = 0) -> Integers:
    """The values as int64, or as Python's integers if their sum and `beside` could exceed int64."""
    listed = [int(value) for value in values]
    return np.array(listed, np.int64 if sum(listed) + beside < _EXACT else object)


class Choice(NamedTuple):
    """Rules chosen.

    Attributes:
        rules: indices of candidates, ascending; None if there is no choice better than asked for.
        score: their cost and the penalties of uncovered examples.
        bound: no choice has a lower score.
        proven: `rules` is optimal.
    """

    rules: tuple[int, ...] | None
    score: int
    bound: int
    proven: bool


@dataclass(frozen=True, eq=False)
class Instance:
    """Rules to choose from and targets to cover.

    A target is covered if each of its needs is supported by a chosen rule and no chosen rule violates it.

    Attributes:
        rules: intp [r]: indices of the candidates.
        costs: integers [r].
        weights: integers [t]: what a target costs uncovered.
        needs: for each target, rows of `supports`.
        supports: bool [k, r]: the rules that support each need.
        violates: bool [t, r]: the rules that violate each target.
    """

    rules: Indices
    costs: Integers
    weights: Integers
    needs: tuple[tuple[int, ...], ...]
    supports: Flags
    violates: Flags
    constant: int

    @cached_property
    def padded(self) -> Indices:
        """intp [t, most needs]: needs of each target, padded with the number of rows of `supports`."""
        width = max((len(needs) for needs in self.needs), default=0)
        result = np.full((len(self.weights), width), len(self.supports), np.intp)
        for t, needs in enumerate(self.needs):
            result[t, : len(needs)] = needs
        return result

    @cached_property
    def needy(self) -> Flags:
        """bool [t]: targets with needs."""
        return np.array([bool(needs) for needs in self.needs], np.bool_)

    def supporters(self) -> Flags:
        """bool [t, r]: rules that support some need of a target."""
        rows = np.concatenate([self.supports, np.zeros((1, len(self.rules)), np.bool_)])
        result = np.zeros((len(self.weights), len(self.rules)), np.bool_)
        for column in self.padded.T:
            result |= rows[column]
        return result

    def named(self, chosen: Iterable[int]) -> tuple[int, ...]:
        """The candidates that these rules (indices into `rules`) are, ascending."""
        return tuple(sorted(self.rules[list(chosen)].tolist()))

    def covered(self, chosen: Sequence[int]) -> Flags:
        """bool [t]: targets that these rules (indices into `rules`) cover."""
        index = list(chosen)
        supported = np.append(self.supports[:, index].any(axis=1), True)
        violated = np.asarray(self.violates[:, index].any(axis=1), np.bool_)
        return np.asarray(supported[self.padded].all(axis=1) & ~violated, np.bool_)

    def score(self, chosen: Sequence[int]) -> int:
        """Cost and penalties of choosing these rules (indices into `rules`)."""
        lost = self.weights[~self.covered(chosen)].sum()
        return int(lost) + int(self.costs[list(chosen)].sum()) + self.constant

    def capped(self, limit: int) -> Instance:
        """The instance in which no target weighs more than what is left below `limit`.

        Scores below `limit` are the same, and no other score falls below it.
        """
        cap = limit - self.constant
        if not len(self.weights) or self.weights.max() <= cap:
            return self
        weights = [min(weight, cap) for weight in self.weights.tolist()]
        return replace(self, weights=integers(weights, int(self.costs.sum())))

    def restricted(self, rules: Flags) -> Instance:
        """The instance with these rules (bool [r]) alone."""
        supports, violates = self.supports[:, rules], self.violates[:, rules]
        supportable = np.append(supports.any(axis=1), True)
        possible = supportable[self.padded].all(axis=1)
        rows = np.flatnonzero(possible & (self.needy | violates.any(axis=1)))
        used, needs = self._needs_of(rows)
        return Instance(
            rules=self.rules[rules],
            costs=self.costs[rules],
            weights=self.weights[rows],
            needs=needs,
            supports=supports[used],
            violates=violates[rows],
            constant=self.constant + int(self.weights[~possible].sum()),
        )

    def part(self, rules: Indices, targets: Indices) -> Instance:
        """The instance with these rules and targets (their indices) alone, at no constant."""
        used, needs = self._needs_of(targets)
        return Instance(
            rules=self.rules[rules],
            costs=self.costs[rules],
            weights=self.weights[targets],
            needs=needs,
            supports=self.supports[np.ix_(np.array(used, np.intp), rules)],
            violates=self.violates[np.ix_(targets, rules)],
            constant=0,
        )

    def _needs_of(self, targets: Indices) -> tuple[list[int], tuple[tuple[int, ...], ...]]:
        """The rows of `supports` that these targets need, and their needs as indices into those rows."""
        needs = [self.needs[t] for t in targets.tolist()]
        used = sorted({need for each in needs for need in each})
        place = {need: i for i, need in enumerate(used)}
        return used, tuple(tuple(place[need] for need in each) for each in needs)


def prune(instance: Instance, limit: int, *, dominance: bool = True) -> Instance:
    """The instance without rules that no choice of a score below `limit` needs.

    Args:
        limit: only lower scores are of interest.
        dominance: also drops dominated rules.
    """
    while len(instance.rules):
        rules = _worthwhile(instance, limit)
        if dominance:
            rules &= ~dominated(instance, rules)
        if rules.all():
            break
        instance = instance.restricted(rules)
    return instance


def _worthwhile(instance: Instance, limit: int) -> Flags:
    """bool [r]: rules that a choice with a score below `limit` may hold."""
    lost = instance.weights @ instance.violates
    gain = (instance.weights * instance.needy) @ instance.supporters()
    remaining = (instance.costs + lost + instance.constant < limit) & (gain > instance.costs)
    return np.asarray(remaining, np.bool_)


def dominated(instance: Instance, considered: Flags) -> Flags:
    """bool [r]: rules that another one of those `considered` can always replace.

    The other one costs no more, supports all that the rule supports and violates nothing else. Of rules
    that dominate each other, one is kept (Beasley: "An algorithm for set covering problem", EJOR 1987).

    Args:
        considered: bool [r], the rules that are still in use.
    """
    n = len(instance.rules)
    result = np.zeros(n, np.bool_)
    if n < 2:
        return result
    supports = np.packbits(instance.supports, axis=0).T.copy()
    violates = np.packbits(instance.violates, axis=0).T.copy()
    n_supports = instance.supports.sum(axis=0)
    n_violates = instance.violates.sum(axis=0)
    ranks = np.unique(instance.costs, return_inverse=True)[1].reshape(-1)
    order = np.lexsort((np.arange(n), n_violates, -n_supports, ranks))
    # a rule that dominates supports whatever the rule supports, so it is found among those of its rarest need
    popularity = instance.supports.sum(axis=1)
    undominated: list[list[int]] = [[] for _ in range(len(instance.supports))]
    for r in order[considered[order]].tolist():
        needs = np.flatnonzero(instance.supports[:, r])
        if not len(needs):
            continue
        rivals = np.array(undominated[needs[popularity[needs].argmin()]], np.intp)
        rivals = rivals[(n_supports[rivals] >= n_supports[r]) & (n_violates[rivals] <= n_violates[r])]
        if len(rivals):
            misses = (supports[r] & ~supports[rivals]).any(axis=1)
            if not (misses | (violates[rivals] & ~violates[r]).any(axis=1)).all():
                result[r] = True
                continue
        for need in needs.tolist():
            undominated[need].append(r)
    return result


def split(instance: Instance) -> list[Instance]:
    """The parts that share no target and no rule; their scores add up, beside the constant."""
    if not len(instance.weights) or not len(instance.rules):
        return []
    touched = instance.supporters() | instance.violates
    roots = _components(touched)
    of_target = roots[touched.argmax(axis=1)]
    tops = sorted(set(of_target.tolist()))
    if len(tops) == 1:
        return [replace(instance, constant=0)]
    rule_order = np.argsort(roots, kind="stable")
    target_order = np.argsort(of_target, kind="stable")
    parts = []
    for top in tops:
        rules = rule_order[slice(*np.searchsorted(roots[rule_order], [top, top + 1]))]
        targets = target_order[slice(*np.searchsorted(of_target[target_order], [top, top + 1]))]
        parts.append(instance.part(rules, targets))
    return parts


def _components(touched: Flags) -> Indices:
    """intp [r]: the first rule of the connected component of each rule.

    Args:
        touched: bool [t, r]: rules that share a target are connected.
    """
    parent = list(range(touched.shape[1]))

    def root(rule: int) -> int:
        while parent[rule] != rule:
            parent[rule] = parent[parent[rule]]
            rule = parent[rule]
        return rule

    for first, row in zip(touched.argmax(axis=1).tolist(), touched, strict=True):
        top = root(first)
        for rule in np.flatnonzero(row).tolist():
            other = root(rule)
            if other != top:
                parent[max(top, other)] = min(top, other)
                top = min(top, other)
    return np.array([root(rule) for rule in range(len(parent))], np.intp)
