"""Compiled: worlds of dropped states, sampled to their end.

Imported only where it is used, since it loads numba.
"""

from typing import Any

import numpy as np

from nsl_bench.logic.inference.forward.arrays import Example
from nsl_bench.logic.inference.forward.deciding import escape
from nsl_bench.logic.inference.forward.outcomes import copy, jit, merged, outcome_of
from nsl_bench.logic.inference.forward.states import step

Array = Any


@jit
def _uniform(state: Array) -> float:
    """A number in [0, 1) by splitmix64.

    Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014.
    """
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return float(z >> np.uint64(11)) / 9007199254740992.0


@merged
def sample_dropped(
    example: Example, n_new: int, cut: int, gap: float, draws: int, t: int, random: Array, hits: Array
) -> int:
    """Sample worlds of the dropped states, a state the more often the more mass it has.

    Systematic sampling with a random start gives each state its share of the worlds in expectation (Madow,
    Madow: "On the theory of systematic sampling", 1944), so the estimate is unbiased.

    Args:
        example: after `drop`.
        n_new: the number of successors.
        cut: those with at least this key are dropped.
        gap: there is one world for so much mass, from a random start (systematic sampling).
        draws: at most so many worlds.
        t: the place of the slot that was read.
        random: uint64 [1]: the state of the random numbers.
        hits: int64 [outcomes]: gets the number of sampled worlds of each outcome.

    Returns:
        The number of sampled worlds.
    """
    states, deciding = example.states, example.deciding
    done, running = 0, 0.0
    point = gap * _uniform(random)
    for q in range(n_new):
        if states.key[q] < cut:
            continue
        running += states.open[q]
        if point < running and done < draws:
            deciding.killed[:] = 0
            if states.open[q] < states.new_mass[q]:
                escape(states.new_words[q], t, example.residual, example.steps, deciding)
        while point < running and done < draws:
            done += 1
            point += gap
            copy(states.new_words[q], states.next_word)
            hits[_sample_world(example, t, random)] += 1
    return done


@jit
def _sample_world(example: Example, t: int, random: Array) -> int:
    """The outcome of a random world of the state in `states.next_word`, slots up to t being read."""
    residual, steps, killed = example.residual, example.steps, example.deciding.killed
    state, before = example.states.next_word, example.states.word
    for u in range(t + 1, residual.n_slots):
        s, left = residual.order[u], 0.0
        for j in range(residual.n_values[s]):
            if j > 63 or not (killed[u] >> np.uint64(j)) & np.uint64(1):
                left += residual.chance[s, j]
        r, chosen = _uniform(random) * left, -1
        for j in range(residual.n_values[s]):
            if j > 63 or not (killed[u] >> np.uint64(j)) & np.uint64(1):
                chosen = j
                r -= residual.chance[s, j]
                if r < 0:
                    break
        copy(state, before)
        if step(before, state, u, chosen, residual.value[s, chosen], steps) and steps.decides[u]:
            outcome = outcome_of(state[steps.n_words :], False, t, example.outcomes)
            if outcome >= 0:
                return int(outcome)
    return int(outcome_of(state[steps.n_words :], True, t, example.outcomes))
