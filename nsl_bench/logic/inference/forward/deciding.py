"""Compiled: a signal whose truth decides the outcome, and the worlds in which one slot makes it true.

Imported only where it is used, since it loads numba.
"""

from typing import Any

import numpy as np

from nsl_bench.logic.inference.forward.arrays import Deciding, Outcomes, Residual, Steps
from nsl_bench.logic.inference.forward.outcomes import copy, has, inlined, insert, jit, outcome_of

Array = Any


@jit
def deciding_signal(residual: Residual, steps: Steps, outcomes: Outcomes) -> Deciding:
    """The first signal whose truth decides the outcome, and what makes it true.

    Slots with more candidates than a word has bits are left out of account, which is sound: their
    candidates are followed.
    """
    true, n_slots, n_bits = residual.true, residual.n_slots, steps.bit_start[residual.n_slots]
    signal, outcome = -1, -1
    trial = np.zeros(true.shape[0], np.uint64)
    for f in range(outcomes.n_signals):
        if signal < 0:
            copy(true, trial)
            insert(trial, f)
            outcome = outcome_of(trial, False, -1, outcomes)
            if outcome >= 0:
                signal = f
    kills, always = np.zeros(n_bits + 1, np.uint64), np.zeros(n_slots + 1, np.uint64)
    if signal >= 0:
        for t in range(n_slots):
            s = residual.order[t]
            if residual.n_values[s] > 64:
                continue
            for j in range(residual.n_values[s]):
                here = np.uint64(1) << np.uint64(j)
                if has(steps.gain[t, j], steps.n_words * 64 + signal):
                    always[t] |= here
                for b in range(steps.bit_start[t], steps.bit_start[t + 1]):
                    k = steps.suffix[b]
                    if steps.after[k] == -signal - 1 and steps.accept[steps.literal[k], residual.value[s, j]]:
                        kills[b] |= here
    return Deciding(signal, outcome, kills, always, np.zeros(n_slots + 1, np.uint64))


@inlined
def escape(state: Array, t: int, residual: Residual, steps: Steps, deciding: Deciding) -> float:
    """The probability that no slot behind t by itself makes the deciding signal true.

    Fills `deciding.killed` with the candidates of those slots that do, up to where the probability is 0.
    """
    killed, bit_start, chance = deciding.killed, steps.bit_start, 1.0
    for u in range(t + 1, residual.n_slots):
        mask = deciding.always[u]
        for b in range(bit_start[u], bit_start[u + 1]):
            if (state[b >> 6] >> np.uint64(b & 63)) & np.uint64(1):
                mask |= deciding.kills[b]
        killed[u] = mask
        if mask:
            s = residual.order[u]
            left = 0.0
            for j in range(residual.n_values[s]):
                if not (mask >> np.uint64(j)) & np.uint64(1):
                    left += residual.chance[s, j]
            chance *= left
            if chance <= 0.0:
                return 0.0
    return chance
