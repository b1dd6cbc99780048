"""Compiled: signals that are forgotten, since a later atom says all that they still say.

The carry into a sum's ninth step is all that the steps before leave to those behind. Otherwise states would
tell apart all the ways in which it came about.

Imported only where it is used, since it loads numba.
"""

from typing import Any

import numpy as np

from nsl_bench.logic.inference.forward.arrays import Folds, Outcomes, Program, Residual, Scratch
from nsl_bench.logic.inference.forward.outcomes import copy, derive, insert, jit, load, outcome_of
from nsl_bench.logic.inference.forward.residual import OPEN

Array = Any

NEVER = 1 << 40


@jit
def folds_of(
    program: Program, residual: Residual, outcomes: Outcomes, live: Array, scratch: Scratch
) -> Folds:
    """What an example's states forget after each slot; fills `outcomes.frozen`.

    Args:
        program: the terms.
        residual: of the example.
        outcomes: what follows from signals.
        live: bool [terms]: the terms that are open.
        scratch: filled by `residual_program`.
    """
    n_slots, n_components, frozen = residual.n_slots, outcomes.frozen.shape[0] - 1, outcomes.frozen
    masks = np.full((n_slots + 1, residual.true.shape[0]), np.uint64(0xFFFFFFFFFFFFFFFF), np.uint64)
    here, start = np.zeros(n_slots + 1, np.bool_), np.zeros(n_slots + 1, np.int64)
    folds = Folds(masks, np.zeros(n_components + 1, np.int64), start, here)
    if outcomes.remembered.shape[0] == 0:
        return folds
    when = _settled(program, outcomes, live, scratch)
    for c in range(n_components):
        frozen[c] = max(when[outcomes.rules[outcomes.components[c, 0], 0]], 0)
    asked = np.zeros(when.shape[0], np.bool_)
    for t in range(n_slots):
        start[t + 1] = start[t]
        for c in range(n_components):
            if frozen[c] == t:
                folds.settled[start[t + 1]] = c
                start[t + 1] += 1
        _asked_behind(t, when, outcomes, asked)
        for a in range(when.shape[0]):
            bit = outcomes.bit[a]
            if bit >= 0 and when[a] <= t and not asked[a]:
                masks[t, bit >> 6] &= ~(np.uint64(1) << np.uint64(bit & 63))
        here[t] = start[t + 1] > start[t]
        for w in range(masks.shape[1]):
            here[t] |= masks[t, w] != (masks[t - 1, w] if t else np.uint64(0xFFFFFFFFFFFFFFFF))
    return folds


@jit
def decides_of(
    program: Program, residual: Residual, outcomes: Outcomes, live: Array, scratch: Scratch
) -> Array:
    """`Steps.decides`: whether any signals that can be true after a slot decide the outcome.

    The more signals are known to be true, the more follows; so if all together decide nothing, none do.
    """
    decides = np.zeros(residual.n_slots + 1, np.bool_)
    first = np.full(outcomes.n_signals, residual.n_slots, np.int64)
    for c in range(live.shape[0]):
        if live[c]:
            signal = program.term_signal[c]
            first[signal] = min(first[signal], _last_slot(program, c, scratch))
    is_true = residual.true.copy()
    for t in range(residual.n_slots):
        for f in range(outcomes.n_signals):
            if first[f] == t:
                insert(is_true, f)
        decides[t] = outcome_of(is_true, False, -1, outcomes) >= 0
    return decides


@jit
def _last_slot(program: Program, c: int, scratch: Scratch) -> int:
    """The place of the last slot that an open term asks for."""
    last = -1
    for k in range(program.term_start[c], program.term_start[c + 1]):
        literal = program.term_literal[k]
        if scratch.status[literal] == OPEN:
            last = max(last, scratch.position[program.literal_slot[literal]])
    return last


@jit
def _settled(program: Program, outcomes: Outcomes, live: Array, scratch: Scratch) -> Array:
    """int64 [atoms]: the place of the slot after which an atom's truth is known; -1 if it always is."""
    rules, bodies, components = outcomes.rules, outcomes.bodies, outcomes.components
    when = np.full(outcomes.bit.shape[0], -1, np.int64)
    for c in range(live.shape[0]):
        if live[c]:
            signal = program.term_signal[c]
            when[signal] = max(when[signal], _last_slot(program, c, scratch))
    for c in range(components.shape[0] - 1):
        latest = -1
        for r in range(components[c, 0], components[c + 1, 0]):
            latest = max(latest, when[rules[r, 0]])
            for k in range(rules[r, 2], rules[r, 3]):
                latest = max(latest, when[bodies[k, 0]])
        for r in range(components[c, 0], components[c + 1, 0]):
            when[rules[r, 0]] = latest
    return when


@jit
def _asked_behind(t: int, when: Array, outcomes: Outcomes, asked: Array) -> None:
    """Mark the atoms that labels, or rules of atoms that are not settled after slot t, ask for."""
    rules, bodies = outcomes.rules, outcomes.bodies
    copy(outcomes.asked, asked)
    for r in range(rules.shape[0]):
        if when[rules[r, 0]] > t:
            for k in range(rules[r, 2], rules[r, 3]):
                asked[bodies[k, 0]] = True


@jit
def fold(signals: Array, t: int, folds: Folds, outcomes: Outcomes) -> None:
    """Forget what a state need not know behind slot t.

    Args:
        signals: uint64 words: the state's true signals and remembered atoms; changed.
        t: the slot's place in the order.
        folds: of the example.
        outcomes: what follows from signals.
    """
    rules, components = outcomes.rules, outcomes.components
    load(signals, True, outcomes)
    for k in range(folds.start[t], folds.start[t + 1]):
        c = folds.settled[k]
        derive(c, outcomes)
        for r in range(components[c, 0], components[c + 1, 0]):
            head = rules[r, 0]
            if outcomes.lower[head] and outcomes.bit[head] >= 0:
                insert(signals, outcomes.bit[head])
    for w in range(signals.shape[0]):
        signals[w] &= folds.kept[t, w]
