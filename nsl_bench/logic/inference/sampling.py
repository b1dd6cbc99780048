"""Monte Carlo inference: a ground program is evaluated on all sampled worlds at once, with bit sets."""

from functools import reduce

import numpy as np
import numpy.typing as npt

from nsl_bench.core.types import Array, Bools, Floats, Ints
from nsl_bench.logic.inference.program.domains import Domains
from nsl_bench.logic.inference.program.ground import NEVER, GroundRule

Words = npt.NDArray[np.uint64]

_PRIOR = 8.0
"""Counts are drawn towards one half by 8 hits and 8 misses (Agresti and Coull's interval at 4 standard
errors), so that "never in 1000 draws" has an error, too."""


def standard_error(hits: Array, draws: int) -> Floats:
    """The standard error of ``hits / draws``; it is not 0 even if all draws agree.

    Args:
        hits: int, any shape.
        draws: number of samples, above 0.
    """
    n = draws + 2 * _PRIOR
    share = (hits + _PRIOR) / n
    return np.asarray(np.sqrt(share * (1 - share) / n), np.float64)


def draw(domains: Domains, probabilities: Floats, samples: int, rng: np.random.Generator) -> Ints:
    """Count the outcomes of sampled worlds of one example.

    Args:
        domains: the ground program.
        probabilities: float64 [slots, classes].
        samples: number of worlds.
        rng: random generator.

    Returns:
        int64 [outcomes], the counts.
    """
    program = domains.program
    values: dict[int, Words | None] = {}
    for slot, atoms in enumerate(program.picks):
        if not atoms:
            continue
        size = domains.sizes[slot]
        bounds = np.cumsum(probabilities[slot, :size])
        drawn = np.searchsorted(bounds / bounds[-1], rng.random(samples), side="right")
        for value, atom in enumerate(atoms, start=1):
            values[atom] = _pack(drawn == value) if probabilities[slot, value] > 0 else None
    nothing = _pack(np.zeros(samples, np.bool_))
    for component in program.components:
        heads = dict.fromkeys(rule.head for rule in component)
        recursive = any(atom in heads for rule in component for atom, _ in rule.body)
        values.update(dict.fromkeys(heads))
        while True:
            changed = False
            for rule in component:
                fires = _fires(rule, values, nothing, samples)
                before = values[rule.head]
                if fires is None:
                    continue
                after = fires if before is None else before | fires
                changed |= before is None or not np.array_equal(before, after)
                values[rule.head] = after
            if not (recursive and changed):
                break
    return _count(domains, values, nothing, samples)


def _pack(flags: Bools) -> Words:
    padded = np.zeros(-(-len(flags) // 64) * 64, np.bool_)
    padded[: len(flags)] = flags
    return np.packbits(padded).view(np.uint64)


def _fires(rule: GroundRule, values: dict[int, Words | None], nothing: Words, samples: int) -> Words | None:
    """The worlds in which a rule fires; None for none."""
    if rule.weights:
        total = np.zeros(len(nothing) * 64, np.int64)
        for (atom, positive), weight in zip(rule.body, rule.weights, strict=True):
            own = values.get(atom)
            held = np.unpackbits((nothing if own is None else own).view(np.uint8))
            total += weight * (held if positive else 1 - held.astype(np.int64))
        return _pack(total >= rule.bound)
    factors = []
    for atom, positive in rule.body:
        own = values.get(atom)
        if own is None:
            if positive:
                return None
            continue
        factors.append(own if positive else ~own)
    return reduce(np.bitwise_and, factors, ~nothing) if factors else ~nothing


def _count(domains: Domains, values: dict[int, Words | None], nothing: Words, samples: int) -> Ints:
    goals = domains.program.goals
    n = len(goals)
    once, twice = nothing, nothing
    held: dict[int, Words] = {}
    for k, goal in enumerate(goals):
        own = None if goal in (None, NEVER) else values.get(goal)
        if own is not None:
            held[k] = own
            twice = twice | (once & own)
            once = once | own
    everything = _pack(np.ones(samples, np.bool_))
    bad = values.get(domains.program.violated)
    good = everything if bad is None else everything & ~bad
    counts = np.zeros(n + 2, np.int64)
    for k, own in held.items():
        counts[k] = _ones(own & ~twice & good)
    default = goals.index(None) if None in goals else n
    counts[default] += _ones(~once & good)
    counts[n + 1] = _ones(twice & good)
    counts[n] += samples - _ones(good)
    return counts


def _ones(words: Words) -> int:
    return int(np.unpackbits(words.view(np.uint8)).sum())
