"""Weighted partial set cover with forbidden sets: reduced, split, and solved to a proven optimum.

Rules that another one dominates or that cost more than a known solution are dropped; what falls apart is
solved in parts. A part goes to branch and bound first, which is quick where few rules compete under
heavy noise, and then to MaxSAT, which is quick where many rules hardly interact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from nsl_bench.budget import Budget
from nsl_bench.las.set_cover.branch_and_bound import branch_and_bound
from nsl_bench.las.set_cover.maxsat import Backend, MaxSat

__all__ = ["Choice", "Flags", "Instance", "greedy", "prune", "solve_part", "split"]

_POLISHED = 400
_EXCHANGED = 16
_BRANCHED = 12

Flags = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Choice:
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

    A target is covered if each of its needs is met by a chosen rule and no chosen rule hits it.

    Attributes:
        rules: intp [r]: indices of the candidates.
        costs: int64 [r].
        weights: int64 [t]: what a target costs uncovered.
        asks: for each target, rows of `fills`: its needs.
        fills: bool [k, r]: the rules that meet each need.
        hits: bool [t, r]: the rules that spoil each target.
        constant: penalties that no choice avoids.
    """

    rules: npt.NDArray[np.intp]
    costs: Ints
    weights: Ints
    asks: tuple[tuple[int, ...], ...]
    fills: Flags
    hits: Flags
    constant: int

    @cached_property
    def padded(self) -> npt.NDArray[np.intp]:
        """intp [t, most needs]: needs of each target, padded with the number of rows of `fills`."""
        width = max((len(needs) for needs in self.asks), default=0)
        found = np.full((len(self.weights), width), len(self.fills), np.intp)
        for t, needs in enumerate(self.asks):
            found[t, : len(needs)] = needs
        return found

    def some(self) -> Flags:
        """bool [t, r]: rules that meet some need of a target."""
        rows = np.concatenate([self.fills, np.zeros((1, len(self.rules)), np.bool_)])
        found = np.zeros((len(self.weights), len(self.rules)), np.bool_)
        for column in self.padded.T:
            found |= rows[column]
        return found

    def score(self, chosen: Sequence[int]) -> int:
        """Cost and penalties of choosing these rules (indices into `rules`)."""
        index = list(chosen)
        filled = np.append(self.fills[:, index].any(axis=1), True)
        covered = filled[self.padded].all(axis=1) & ~self.hits[:, index].any(axis=1)
        return int(self.weights[~covered].sum() + self.costs[index].sum()) + self.constant

    def only(self, rules: Flags) -> Instance:
        """The instance with these rules (bool [r]) alone."""
        fills, hits = self.fills[:, rules], self.hits[:, rules]
        met = np.append(fills.any(axis=1), True)
        possible = met[self.padded].all(axis=1)
        needy = np.array([bool(needs) for needs in self.asks], np.bool_)
        kept = possible & (needy | hits.any(axis=1))
        lost = int(self.weights[~possible].sum())
        smaller = replace(self, rules=self.rules[rules], costs=self.costs[rules], fills=fills, hits=hits)
        return replace(smaller._targets(kept), constant=self.constant + lost)

    def _targets(self, kept: Flags) -> Instance:
        asks = tuple(needs for needs, keep in zip(self.asks, kept.tolist(), strict=True) if keep)
        used = sorted({need for needs in asks for need in needs})
        place = {need: i for i, need in enumerate(used)}
        return replace(
            self,
            weights=self.weights[kept],
            asks=tuple(tuple(place[need] for need in needs) for needs in asks),
            fills=self.fills[used],
            hits=self.hits[kept],
        )

    def part(self, rules: npt.NDArray[np.intp], targets: npt.NDArray[np.intp]) -> Instance:
        """The instance with these rules and targets (their indices) alone, at no constant."""
        asks = [self.asks[t] for t in targets.tolist()]
        used = sorted({need for needs in asks for need in needs})
        place = {need: i for i, need in enumerate(used)}
        return Instance(
            rules=self.rules[rules],
            costs=self.costs[rules],
            weights=self.weights[targets],
            asks=tuple(tuple(place[need] for need in needs) for needs in asks),
            fills=self.fills[np.ix_(used, rules)],
            hits=self.hits[np.ix_(targets, rules)],
            constant=0,
        )


def greedy(instance: Instance, budget: Budget | None = None) -> tuple[tuple[int, ...], int]:
    """A good choice by adding, dropping and exchanging rules (indices into `rules`), and its score."""
    return min((_greedy(instance, caution, budget) for caution in (0, 1)), key=lambda found: found[1])


def _greedy(instance: Instance, caution: int, budget: Budget | None) -> tuple[tuple[int, ...], int]:
    """Greedy choice; with `caution`, rules that spoil what is not covered yet come later."""
    weights, costs, n_rules = instance.weights, instance.costs, len(instance.rules)
    target, need, rule = _offers(instance)
    spoilt, spoiler = np.nonzero(instance.hits)
    chosen: set[int] = set()
    current = instance.score(())
    filled = np.zeros(len(instance.fills) + 1, np.bool_)
    filled[-1] = True
    spoiled = np.zeros(len(weights), np.bool_)
    improving = True
    while n_rules and improving and not (budget is not None and budget.expired()):
        unmet = (~filled[instance.padded]).sum(axis=1)
        last = (unmet == 1) & ~spoiled
        covered = (unmet == 0) & ~spoiled
        met = weights[target] * (last[target] & ~filled[need])
        gain = np.bincount(rule, met, n_rules) - costs
        gain -= np.bincount(spoiler, (weights * covered)[spoilt], n_rules)
        worth = gain - caution * np.bincount(spoiler, (weights * ~spoiled)[spoilt], n_rules)
        ranked = np.where(gain > 0, -worth, np.inf)
        best = int(ranked.argmin())
        if best not in chosen and gain[best] > 0:
            chosen.add(best)
            filled[:-1] |= instance.fills[:, best]
            spoiled |= instance.hits[:, best]
            continue
        improving = False
        if n_rules <= _POLISHED and len(chosen) <= _EXCHANGED:
            better = _polished(instance, chosen, np.argsort(ranked, kind="stable")[:48].tolist(), current)
            if better is not None:
                chosen, current = better
                index = sorted(chosen)
                filled[:-1] = instance.fills[:, index].any(axis=1)
                spoiled = np.asarray(instance.hits[:, index].any(axis=1), np.bool_)
                improving = True
    return tuple(sorted(chosen)), instance.score(sorted(chosen))


def _offers(instance: Instance) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """(target, need, rule) of each way in which a rule meets a need of a target."""
    pairs = [(t, need) for t, needs in enumerate(instance.asks) for need in needs]
    fillers = [np.flatnonzero(row) for row in instance.fills]
    sizes = [len(fillers[need]) for _, need in pairs]
    targets = np.repeat(np.array([t for t, _ in pairs], np.intp), sizes)
    needs = np.repeat(np.array([need for _, need in pairs], np.intp), sizes)
    rules = np.concatenate([np.empty(0, np.intp), *(fillers[need] for _, need in pairs)])
    return targets, needs, rules


def _polished(
    instance: Instance, chosen: set[int], offers: Sequence[int], current: int
) -> tuple[set[int], int] | None:
    """A choice better than `current`, after dropping and exchanging rules, with its score."""
    best = set(chosen)
    score = instance.score(sorted(best))
    for rule in sorted(best):
        without = instance.score(sorted(best - {rule}))
        if without <= score:
            best.discard(rule)
            score = without
    exchanged = _exchange(instance, best, offers, score)
    if exchanged is not None:
        best, score = exchanged
    return (best, score) if score < current else None


def _exchange(
    instance: Instance, chosen: set[int], offers: Sequence[int], current: int
) -> tuple[set[int], int] | None:
    """A better choice that exchanges one rule for another, with its score."""
    for old in sorted(chosen):
        for new in offers:
            if new not in chosen:
                other = (chosen - {old}) | {new}
                score = instance.score(sorted(other))
                if score < current:
                    return other, score
    return None


def prune(instance: Instance, limit: int, *, dominance: bool = True) -> Instance:
    """Without rules that no choice of a score below `limit` needs."""
    while len(instance.rules):
        kept = _worth(instance, limit)
        if dominance:
            kept &= ~_dominated(instance, kept)
        if kept.all():
            break
        instance = instance.only(kept)
    return instance


def _worth(instance: Instance, limit: int) -> Flags:
    """bool [r]: rules that a choice with a score below `limit` may hold."""
    needy = np.array([bool(needs) for needs in instance.asks], np.bool_)
    lost = instance.weights @ instance.hits
    reach = (instance.weights * needy) @ instance.some()
    kept: Flags = (instance.costs + lost + instance.constant < limit) & (reach > instance.costs)
    return kept


def _dominated(instance: Instance, kept: Flags) -> Flags:
    """bool [r]: rules that another kept one can always replace."""
    n = len(instance.rules)
    dominated = np.zeros(n, np.bool_)
    if n < 2:
        return dominated
    fills = np.packbits(instance.fills, axis=0).T.copy()
    hits = np.packbits(instance.hits, axis=0).T.copy()
    sizes = instance.fills.sum(axis=0)
    spoils = instance.hits.sum(axis=0)
    order = np.lexsort((np.arange(n), spoils, -sizes, instance.costs))
    order = order[kept[order]]
    # a rival fills whatever the rule fills, so it is found among those that fill its rarest need
    popularity = instance.fills.sum(axis=1)
    alive: list[list[int]] = [[] for _ in range(len(instance.fills))]
    for r in order.tolist():
        needs = np.flatnonzero(instance.fills[:, r])
        if not len(needs):
            continue
        rivals = np.array(alive[needs[popularity[needs].argmin()]], np.intp)
        rivals = rivals[(sizes[rivals] >= sizes[r]) & (spoils[rivals] <= spoils[r])]
        if len(rivals):
            better = ~((fills[r] & ~fills[rivals]).any(axis=1) | (hits[rivals] & ~hits[r]).any(axis=1))
            if better.any():
                dominated[r] = True
                continue
        for need in needs.tolist():
            alive[need].append(r)
    return dominated


def split(instance: Instance) -> list[Instance]:
    """The parts that share no target and no rule; their scores add up, beside the constant."""
    n = len(instance.rules)
    if not len(instance.weights) or not n:
        return []
    touched = instance.some() | instance.hits
    parent = list(range(n))

    def root(rule: int) -> int:
        while parent[rule] != rule:
            parent[rule] = parent[parent[rule]]
            rule = parent[rule]
        return rule

    firsts = touched.argmax(axis=1)
    for first, row in zip(firsts.tolist(), touched, strict=True):
        top = root(first)
        for rule in np.flatnonzero(row).tolist():
            other = root(rule)
            if other != top:
                parent[max(top, other)] = min(top, other)
                top = min(top, other)
    roots = np.array([root(rule) for rule in range(n)], np.intp)
    of_target = roots[firsts]
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


def solve_part(instance: Instance, backend: Backend = "rc2", budget: Budget | None = None) -> Choice:
    """The choice of least score; `rules` are candidates' indices.

    On a deadline, the best choice so far, with a bound.
    """
    upper = instance.score(())
    best = np.empty(0, np.intp)
    instance = prune(instance, upper)
    if len(instance.rules) > _BRANCHED:
        picked, score = greedy(instance, budget)
        if score < upper:
            best, upper = instance.rules[list(picked)], score
        instance = prune(instance, upper)
    if not len(instance.rules):
        return Choice(tuple(sorted(best.tolist())), upper, upper, True)
    parts = split(instance)
    if len(parts) > 1:
        return _by_parts(instance, parts, tuple(sorted(best.tolist())), upper, backend, budget)
    if len(instance.rules):
        branched = branch_and_bound(
            instance.costs,
            instance.weights,
            instance.padded,
            instance.fills,
            instance.hits,
            upper - instance.constant,
            budget,
        )
        if branched.rules is not None:
            best, upper = instance.rules[list(branched.rules)], branched.score + instance.constant
        if not branched.proven:
            instance = prune(instance, upper)
            timed = budget is not None and budget.deadline is not None
            first = _by_maxsat(
                instance, best, upper, backend, budget.before(0.6) if timed and budget else budget
            )
            if first.proven or not timed:
                return first
            return _by_branching(instance, first, budget)
    return Choice(tuple(sorted(best.tolist())), upper, upper, True)


def _by_parts(
    instance: Instance,
    parts: Sequence[Instance],
    best: tuple[int, ...],
    upper: int,
    backend: Backend,
    budget: Budget | None,
) -> Choice:
    """What the parts give together, or `best` of score `upper` if that is no worse."""
    choices = [solve_part(part, backend, budget) for part in parts]
    score = instance.constant + sum(choice.score for choice in choices)
    bound = instance.constant + sum(choice.bound for choice in choices)
    proven = all(choice.proven for choice in choices)
    if score < upper:
        best, upper = tuple(sorted(rule for choice in choices for rule in choice.rules or ())), score
    return Choice(best, upper, upper if proven else min(bound, upper), proven)


def _by_branching(instance: Instance, known: Choice, budget: Budget | None) -> Choice:
    """Branch and bound with all the time that is left, from a known choice and bound."""
    limit = known.score - instance.constant
    branched = branch_and_bound(
        instance.costs,
        instance.weights,
        instance.padded,
        instance.fills,
        instance.hits,
        limit,
        budget,
        work=1 << 60,
    )
    score = branched.score + instance.constant
    rules = known.rules
    if branched.rules is not None:
        rules = tuple(sorted(instance.rules[list(branched.rules)].tolist()))
    return Choice(rules, score, score if branched.proven else min(known.bound, score), branched.proven)


def _by_maxsat(
    instance: Instance, best: npt.NDArray[np.intp], upper: int, backend: Backend, budget: Budget | None
) -> Choice:
    problem = MaxSat()
    xs = [problem.new() for _ in instance.rules]
    for x, cost in zip(xs, instance.costs.tolist(), strict=True):
        problem.prefer(-x, cost)
    met = [_group(problem, row, xs, some=True) for row in instance.fills]
    clean: dict[bytes, int] = {}
    for needs, hit, weight in zip(instance.asks, instance.hits, instance.weights.tolist(), strict=True):
        parts = [met[need] for need in needs]
        if hit.any():
            key = hit.tobytes()
            if key not in clean:
                clean[key] = _group(problem, hit, xs, some=False)
            parts.append(clean[key])
        if len(parts) == 1:
            problem.prefer(parts[0], weight)
            continue
        y = problem.new()
        problem.hard.extend([-y, part] for part in parts)
        problem.prefer(y, weight)
    optimum = problem.solve(backend, budget)
    score = optimum.cost + instance.constant
    if optimum.model is not None and score < upper:
        best, upper = instance.rules[[i for i, x in enumerate(xs) if x in optimum.model]], score
    bound = upper if optimum.proven else min(upper, optimum.bound + instance.constant)
    return Choice(tuple(sorted(best.tolist())), upper, bound, optimum.proven)


def _group(problem: MaxSat, row: Flags, xs: Sequence[int], *, some: bool) -> int:
    """A literal that implies that some (or none) of the rules in `row` is chosen."""
    members = [xs[i] for i in np.flatnonzero(row).tolist()]
    if len(members) == 1:
        return members[0] if some else -members[0]
    literal = problem.new()
    if some:
        problem.hard.append([-literal, *members])
    else:
        problem.hard.extend([-literal, -member] for member in members)
    return literal
