"""Makes instances smaller without losing an optimum: dominated and redundant rules, independent parts.

Domination is that of columns in set cover (Beasley: "An algorithm for set covering problem", EJOR 1987), with
what rules violate besides: a choice is no worse where the dominating rule takes the dominated one's place.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from nsl_bench.logic.las.set_cover.instance import Flags, Indices, Instance


def prune(instance: Instance, limit: int, *, dominance: bool = True) -> Instance:
    """The instance without rules that no choice of a score below `limit` needs.

    Args:
        limit: only lower scores are of interest.
        dominance: also drops dominated rules.
    """
    while len(instance.rules):
        kept = _worthwhile(instance, limit)
        if dominance:
            kept &= ~dominated(instance, kept)
        if kept.all():
            break
        instance = instance.restricted(kept)
    return instance


def _worthwhile(instance: Instance, limit: int) -> Flags:
    """bool [r]: rules that a choice with a score below `limit` may hold."""
    lost = instance.weights @ instance.violates
    gain = (instance.weights * instance.needy) @ instance.supporters()
    kept = (instance.costs + lost + instance.constant < limit) & (gain > instance.costs)
    return np.asarray(kept, np.bool_)


def dominated(instance: Instance, considered: Flags) -> Flags:
    """bool [r]: rules that another one of those `considered` can always replace.

    The other one costs no more, supports all that the rule supports and violates nothing else. Of rules
    that dominate each other, one is kept.

    Args:
        considered: bool [r], the rules that are still in use.
    """
    n = len(instance.rules)
    found = np.zeros(n, np.bool_)
    if n < 2:
        return found
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
                found[r] = True
                continue
        for need in needs.tolist():
            undominated[need].append(r)
    return found


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
