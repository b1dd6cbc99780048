"""Compiled: signals that are forgotten, since a later atom says all that they still say.

The carry into a sum's ninth step is all that the steps before leave to those behind. Otherwise states would
tell apart all the ways in which it came about.

Imported only where it is used, since it loads numba.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nsl_bench.inference.forward.arrays import Folds, Outcomes, Program, Residual, Scratch
from nsl_bench.inference.forward.outcomes import copy, insert, jit, outcome_of
from nsl_bench.inference.forward.residual import OPEN

__all__ = ["decides_of", "fold", "folds_of"]

Array = Any

_NEVER = 1 << 40


@jit
def folds_of(
    program: Program, residual: Residual, outcomes: Outcomes, live: Array, scratch: Scratch
) -> Folds:
    """What an example's states forget after each slot.

    Args:
        program: the terms.
        residual: of the example.
        outcomes: what follows from signals.
        live: bool [terms]: the terms that are open.
        scratch: filled by `residual_program`.
    """
    n_slots, n_read, n_signals = residual.n_slots, outcomes.n_read, outcomes.n_signals
    stands_for = outcomes.stands_for
    kept = np.full((n_slots + 1, residual.true.shape[0]), np.uint64(0xFFFFFFFFFFFFFFFF), np.uint64)
    here = np.zeros(n_slots + 1, np.bool_)
    atoms, start = np.zeros(n_slots * (n_signals - n_read) + 1, np.int64), np.zeros(n_slots + 1, np.int64)
    folds = Folds(kept, atoms, start, here)
    if n_read == n_signals:
        return folds
    when = _settled(program, outcomes, live, scratch)
    asked = np.zeros(stands_for.shape[0], np.bool_)
    for t in range(n_slots):
        _asked_behind(t, when, outcomes, asked)
        start[t + 1] = start[t]
        for a in range(stands_for.shape[0]):
            if when[a] > t or n_read <= a < n_signals:
                continue
            signal = a if a < n_read else stands_for[a]
            if asked[a] and a >= n_signals:
                atoms[start[t + 1]] = a
                start[t + 1] += 1
            elif not asked[a] and signal >= 0:
                kept[t, signal >> 6] &= ~(np.uint64(1) << np.uint64(signal & 63))
        for w in range(kept.shape[1]):
            here[t] |= kept[t, w] != (kept[t - 1, w] if t else np.uint64(0xFFFFFFFFFFFFFFFF))
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
    known = residual.true.copy()
    for t in range(residual.n_slots):
        for f in range(outcomes.n_signals):
            if first[f] == t or f >= outcomes.n_read:
                insert(known, f)
        decides[t] = outcome_of(known, False, outcomes) >= 0
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
    """int64 [atoms]: the place of the slot after which an atom's truth is known; -1 if it always is.

    It is never known of atoms with a negation behind them, whose signals are not forgotten.
    """
    rules, bodies, components = outcomes.rules, outcomes.bodies, outcomes.components
    when = np.full(outcomes.stands_for.shape[0], -1, np.int64)
    for c in range(live.shape[0]):
        if live[c]:
            signal = program.term_signal[c]
            when[signal] = max(when[signal], _last_slot(program, c, scratch))
    for a in range(outcomes.n_signals, when.shape[0]):
        if outcomes.stands_for[a] < 0:
            when[a] = _NEVER
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
        signals: uint64 words: the state's true signals; changed.
        t: the slot's place in the order.
        folds: of the example.
        outcomes: what follows from signals.
    """
    outcome_of(signals, False, outcomes)
    for k in range(folds.start[t], folds.start[t + 1]):
        if outcomes.lower[folds.atoms[k]]:
            insert(signals, outcomes.stands_for[folds.atoms[k]])
    for w in range(signals.shape[0]):
        signals[w] &= folds.kept[t, w]
