"""Compiled: states, their successors when a slot is read, and which of them are dropped.

Imported only where it is used, since it loads numba.
"""

from typing import Any

import numpy as np

from nsl_bench.logic.inference.forward.arrays import (
    KEYS,
    Deciding,
    Folds,
    Limits,
    Outcomes,
    Residual,
    Scratch,
    States,
    Steps,
)
from nsl_bench.logic.inference.forward.deciding import escape
from nsl_bench.logic.inference.forward.folds import fold
from nsl_bench.logic.inference.forward.outcomes import copy, inlined, jit, outcome_of

Array = Any

_NOTHING = 1e-14
"""So much mass is dropped in every step, whatever the budget."""


@jit
def new_states(residual: Residual, width: int, limits: Limits, scratch: Scratch) -> States:
    """Place for an example's states, of `width` words each.

    Whatever the states, all their successors have a place: either all joint states of the slots have one, or
    `capacity` is at least `top`, the most states that are kept, times the candidates of any slot.
    """
    total, most, joint = 1, 1, 1.0
    for t in range(residual.n_slots):
        n = residual.n_values[residual.order[t]]
        total += n
        most = max(most, n)
        joint = min(joint * n, float(limits.most_states))
    capacity = min(int(joint) + 1, max(2 * most, limits.most_words // width))
    capacity = max(capacity, most)
    if joint < limits.most_states and joint <= capacity:
        top = capacity
    else:
        top = min(limits.most_kept, max(1, capacity // most))
    soft = min(max(8.0, limits.work / total), float(top))
    top = min(top, int(3 * soft) + 1)
    return States(
        capacity,
        soft,
        top,
        np.zeros((capacity, width), np.uint64),
        np.zeros(capacity),
        np.zeros((capacity, width), np.uint64),
        np.zeros(capacity),
        np.zeros(capacity),
        np.zeros(capacity, np.int64),
        np.zeros(capacity, np.int64),
        np.full(2 * capacity, -1, np.int32),
        scratch.histogram,
        scratch.counts,
        np.zeros(width, np.uint64),
        np.zeros(width, np.uint64),
    )


@inlined
def _place(words: Array, n_places: int) -> Any:
    """Where to look for a state in a hash table."""
    h = np.uint64(0x9E3779B97F4A7C15)
    for w in range(words.shape[0]):
        h ^= words[w]
        h *= np.uint64(0xFF51AFD7ED558CCD)
        h ^= h >> np.uint64(32)
    return np.int64(h % np.uint64(n_places))


@inlined
def step(old: Array, new: Array, t: int, j: int, value: int, steps: Steps) -> bool:
    """Make the state after slot t shows its j-th candidate; whether a signal has become true.

    Args:
        old: uint64 [width]: the state before.
        new: uint64 [width]: gets the state after, whose dead suffixes are those of true signals.
        t: the slot's place in the order.
        j: the number of the candidate.
        value: the value that it stands for.
        steps: of the example.
    """
    keep, gain, bit_start, suffix, own = steps.keep, steps.gain, steps.bit_start, steps.suffix, steps.own
    literal_of, after_of, bit, accept = steps.literal, steps.after, steps.bit, steps.accept
    n_words, width = steps.n_words, new.shape[0]
    for w in range(width):
        new[w] = (old[w] & keep[t, w]) | gain[t, j, w]
    for b in range(bit_start[t], bit_start[t + 1]):
        if (old[b >> 6] >> np.uint64(b & 63)) & np.uint64(1):
            k = suffix[b]
            if accept[literal_of[k], value]:
                after = after_of[k]
                if after < 0:
                    f = -after - 1
                    new[n_words + (f >> 6)] |= np.uint64(1) << np.uint64(f & 63)
                elif bit[after] >= 0:
                    n = bit[after]
                    new[n >> 6] |= np.uint64(1) << np.uint64(n & 63)
    changed = False
    for w in range(n_words, width):
        if new[w] & ~old[w]:
            changed = True
    if changed:
        for w in range(n_words, width):
            signals = new[w]
            f = (w - n_words) * 64
            while signals:
                if signals & np.uint64(1):
                    for k in range(n_words):
                        new[k] &= ~own[f, k]
                signals >>= np.uint64(1)
                f += 1
    return changed


@jit
def first_state(states: States, true: Array) -> None:
    """Make the state in which nothing has been read the only one.

    Args:
        states: place for them.
        true: uint64 [signal words]: the signals that are true in every world.
    """
    n_words = states.words.shape[1] - true.shape[0]
    states.mass[0] = 1.0
    states.words[0, :n_words] = 0
    copy(true, states.words[0, n_words:])


@inlined
def expand(
    states: States,
    n_states: int,
    t: int,
    residual: Residual,
    steps: Steps,
    folds: Folds,
    outcomes: Outcomes,
    low: Array,
) -> int:
    """Make the successors of all states when slot t is read; equal ones become one, decided ones leave.

    Args:
        states: its `new_words` and `new_mass` are filled.
        n_states: how many states there are.
        t: the slot's place in the order.
        residual: of the example.
        steps: of the example.
        folds: of the example.
        outcomes: what follows from signals.
        low: float64 [outcomes]: gets the mass of the worlds that are decided.

    Returns:
        The number of successors.
    """
    words, mass, new_words, new_mass = states.words, states.mass, states.new_words, states.new_mass
    table, place_of, new, decides = states.table, states.place, states.next_word, steps.decides[t]
    n_new: Any = np.int64(0)
    signals = new[steps.n_words :]
    s = residual.order[t]
    value, chance, n_values = residual.value[s], residual.chance[s], residual.n_values[s]
    for q in range(n_states):
        for j in range(n_values):
            weight = mass[q] * chance[j]
            if step(words[q], new, t, j, value[j], steps) and decides:
                decided = outcome_of(signals, False, t - 1, outcomes)
                if decided >= 0:
                    low[decided] += weight
                    continue
            n_new = _add(new, new_words, new_mass, table, place_of, n_new, weight)
    for q in range(n_new):
        table[place_of[q]] = -1
    if folds.here[t]:
        n_new = _folded(states, n_new, t, steps, folds, outcomes)
    return int(n_new)


@inlined
def _add(
    new: Array, new_words: Array, new_mass: Array, table: Array, place_of: Array, n_new: int, weight: float
) -> int:
    """Add mass to a successor; how many there are then.

    Args:
        new: uint64 [width]: the successor.
        new_words: `States.new_words`, as are the three arrays behind it those of `States`.
        n_new: how many successors there are.
        weight: the mass.
    """
    width, n_places = new.shape[0], table.shape[0]
    place = _place(new, n_places)
    while table[place] >= 0:
        other = table[place]
        same = True
        for w in range(width):
            if new_words[other, w] != new[w]:
                same = False
                break
        if same:
            new_mass[other] += weight
            return n_new
        place += 1
        if place == n_places:
            place = 0
    table[place] = n_new
    place_of[n_new] = place
    for w in range(width):
        new_words[n_new, w] = new[w]
    new_mass[n_new] = weight
    return n_new + 1


@jit
def _folded(states: States, n_new: int, t: int, steps: Steps, folds: Folds, outcomes: Outcomes) -> int:
    """Make successors forget what they need not know; how many different ones are left."""
    new, new_words, new_mass = states.next_word, states.new_words, states.new_mass
    table, place_of = states.table, states.place
    n_left: Any = np.int64(0)
    for q in range(n_new):
        copy(new_words[q], new)
        fold(new[steps.n_words :], t, folds, outcomes)
        n_left = _add(new, new_words, new_mass, table, place_of, n_left, new_mass[q])
    for q in range(n_left):
        table[place_of[q]] = -1
    return int(n_left)


@inlined
def drop(
    states: States,
    n_new: int,
    t: int,
    budget: float,
    residual: Residual,
    steps: Steps,
    deciding: Deciding,
    low: Array,
) -> tuple[int, float]:
    """Drop the least likely successors, within the budget or where there are more than `states.top`.

    The mass of all dropped states bounds what any outcome can lack, whatever their future: the answer's
    interval is certified without looking at it.

    Args:
        states: its `open` and `key` are filled.
        n_new: how many successors there are.
        t: the place of the slot that was read.
        budget: mass that may be dropped from here to the last slot.
        residual: of the example.
        steps: of the example.
        deciding: what need not be followed; no longer part of the mass where successors are many.
        low: float64 [outcomes]: gets what is decided of the mass of dropped successors.

    Returns:
        The least key of what is dropped, and the mass that is dropped.
    """
    words, new_mass, open_, key_of = states.new_words, states.new_mass, states.open, states.key
    histogram, counts = states.histogram, states.counts
    many, greatest = n_new > states.soft, -1
    for q in range(n_new):
        open_[q] = new_mass[q]
        if many and deciding.signal >= 0:
            open_[q] *= escape(words[q], t, residual, steps, deciding)
        key = int(-8.0 * np.log2(open_[q])) if open_[q] > 0 else KEYS - 1
        key = min(max(key, 0), KEYS - 1)
        key_of[q] = key
        histogram[key] += open_[q]
        counts[key] += 1
        greatest = max(greatest, key)
    allowed = 2.0 * budget / (residual.n_slots - t)
    cut, gone, surplus = _threshold(states, n_new, greatest + 1, allowed)
    for q in range(n_new):
        histogram[key_of[q]] = 0.0
        counts[key_of[q]] = 0
    for q in range(n_new):
        if surplus and key_of[q] == cut - 1:
            key_of[q] = KEYS
            gone += open_[q]
            surplus -= 1
    if deciding.signal >= 0:
        for q in range(n_new):
            if key_of[q] >= cut:
                low[deciding.outcome] += new_mass[q] - open_[q]
    return cut, gone


@inlined
def _threshold(states: States, n_new: int, cut: int, allowed: float) -> tuple[int, float, int]:
    """The key from which on successors are dropped.

    Args:
        states: with the histogram of its successors.
        n_new: how many successors there are.
        cut: all have lesser keys.
        allowed: mass that may be dropped in this step.

    Returns:
        The least key that is dropped, the mass of these successors, and how many of the key before it are
        too many.
    """
    histogram, counts, soft, top = states.histogram, states.counts, states.soft, states.top
    gone, left = 0.0, n_new
    while cut > 0:
        key = cut - 1
        less = gone + histogram[key]
        if less > _NOTHING and not (left > soft and less <= allowed):
            if left <= top:
                break
            if left - counts[key] < top:
                return cut, gone, left - top
        gone = less
        left -= counts[key]
        cut = key
    return cut, gone, 0


@inlined
def survivors(states: States, n_new: int, cut: int) -> int:
    """Make the successors that are not dropped the states; how many there are."""
    words, mass, new_words, new_mass = states.words, states.mass, states.new_words, states.new_mass
    key, width, n_states = states.key, words.shape[1], 0
    for q in range(n_new):
        if key[q] < cut:
            for w in range(width):
                words[n_states, w] = new_words[q, w]
            mass[n_states] = new_mass[q]
            n_states += 1
    return n_states


@jit
def last_states(
    states: States, n_states: int, residual: Residual, steps: Steps, outcomes: Outcomes, low: Array
) -> None:
    """Give the mass of the states in which all slots are read to their outcomes."""
    words, mass = states.words, states.mass
    for q in range(n_states):
        low[outcome_of(words[q, steps.n_words :], True, residual.n_slots - 1, outcomes)] += mass[q]
