"""Compiled: the residual program of one example, which is what its images leave open of the terms.

Imported only where it is used, since it loads numba.
"""

from typing import Any

import numpy as np

from nsl_bench.logic.inference.forward.arrays import KEYS, Outcomes, Program, Residual, Scratch, Steps
from nsl_bench.logic.inference.forward.outcomes import has, insert, jit, merged

Array = Any

_FALSE, _TRUE, OPEN = 0, 1, 2

_UNWANTED = 1 << 40


@jit
def new_scratch(program: Program, slots: int, values: int) -> Scratch:
    """Arrays that `read_example` and `residual_program` fill for one example after the other."""
    n = program.term_literal.shape[0]
    longest = 1
    for c in range(program.term_signal.shape[0]):
        longest = max(longest, program.term_start[c + 1] - program.term_start[c])
    size = 16
    while size < 2 * n + 2:
        size *= 2
    return Scratch(
        np.zeros((slots, values), np.int64),
        np.zeros((slots, values)),
        np.zeros(slots, np.int64),
        np.zeros(program.literal_slot.shape[0], np.uint8),
        np.zeros(slots, np.int64),
        np.zeros(slots, np.int64),
        np.zeros(longest, np.int64),
        np.zeros(n + 1, np.int64),
        np.zeros(n + 1, np.int64),
        np.zeros(n + 1, np.int64),
        np.zeros(n + 1, np.int64),
        np.zeros(n + 1, np.bool_),
        np.full(size, -1, np.int64),
        np.zeros(n + 1, np.int64),
        np.zeros(KEYS),
        np.zeros(KEYS, np.int64),
    )


@jit
def read_example(program: Program, vectors: Array, true: Array, scratch: Scratch) -> None:
    """What each slot can show, and what literals and signals that leaves open.

    Args:
        program: for all examples.
        vectors: float64 [slots, values]: the example's probabilities.
        true: uint64 [signal words], zeros: gets the signals that are true in every world.
        scratch: its `value`, `chance`, `n_values` and `status` are filled.
    """
    value, chance, n_values, status = scratch.value, scratch.chance, scratch.n_values, scratch.status
    for s in range(vectors.shape[0]):
        count = 0
        for v in range(vectors.shape[1]):
            if vectors[s, v] > 0:
                value[s, count] = v
                chance[s, count] = vectors[s, v]
                count += 1
        n_values[s] = count
    for literal in range(program.literal_slot.shape[0]):
        s = program.literal_slot[literal]
        some, every = False, True
        for j in range(n_values[s]):
            if program.accept[literal, value[s, j]]:
                some = True
            else:
                every = False
        status[literal] = _TRUE if every else (OPEN if some else _FALSE)
    for c in range(program.term_signal.shape[0]):
        holds = True
        for k in range(program.term_start[c], program.term_start[c + 1]):
            if status[program.term_literal[k]] != _TRUE:
                holds = False
                break
        if holds:
            insert(true, program.term_signal[c])


@merged
def residual_program(
    program: Program, outcomes: Outcomes, true: Array, live: Array, scratch: Scratch
) -> tuple[Residual, int]:
    """The slots that matter in an order, and the suffixes of the terms that are open.

    Args:
        program: for all examples.
        outcomes: what follows from signals.
        true: the signals that are true in every world.
        live: bool [terms], zeros: gets the terms that are open.
        scratch: filled by `read_example`; its other arrays are filled.

    Returns:
        The slots, and the number of suffixes.
    """
    slots = scratch.n_values.shape[0]
    adjacent = np.zeros((slots, slots), np.bool_)
    rank = np.full(slots, _UNWANTED, np.int64)
    _live_terms(program, outcomes.rank, true, scratch.status, adjacent, rank, live)
    n_slots = _order(adjacent, rank, scratch.order)
    for t in range(n_slots):
        scratch.position[scratch.order[t]] = t
    n_suffixes = _suffixes(program, live, scratch)
    slots_read = Residual(n_slots, scratch.order, scratch.value, scratch.chance, scratch.n_values, true)
    return slots_read, n_suffixes


@jit
def _live_terms(
    program: Program,
    signal_rank: Array,
    true: Array,
    status: Array,
    adjacent: Array,
    rank: Array,
    live: Array,
) -> None:
    """Mark the terms that are open, rank their slots, and mark which slots stand together in one."""
    term_start, term_literal, slot = program.term_start, program.term_literal, program.literal_slot
    for c in range(live.shape[0]):
        if has(true, program.term_signal[c]):
            continue
        possible = True
        for k in range(term_start[c], term_start[c + 1]):
            if status[term_literal[k]] == _FALSE:
                possible = False
                break
        if not possible:
            continue
        live[c] = True
        for k in range(term_start[c], term_start[c + 1]):
            if status[term_literal[k]] == OPEN:
                s = slot[term_literal[k]]
                rank[s] = min(rank[s], signal_rank[program.term_signal[c]])
                for h in range(term_start[c], k):
                    if status[term_literal[h]] == OPEN:
                        adjacent[s, slot[term_literal[h]]] = True
                        adjacent[slot[term_literal[h]], s] = True


@jit
def _order(adjacent: Array, rank: Array, order: Array) -> int:
    """Put the wanted slots into an order with few slots at once half-way through; how many there are.

    Greedy, as in the elimination of variables: next comes a slot that brings the fewest new neighbours, of
    these one with the fewest left (minimum degree). A good order saves states; any order is right.
    """
    wanted = rank < _UNWANTED
    slots = wanted.shape[0]
    done = np.zeros(slots, np.bool_)
    touched = np.zeros(slots, np.bool_)
    total = 0
    for s in range(slots):
        total += wanted[s]
    for t in range(total):
        best, best_rank, best_new, best_degree = -1, _UNWANTED, 1 << 30, 1 << 30
        inside = False
        for s in range(slots):
            if wanted[s] and not done[s] and touched[s]:
                inside = True
                break
        for s in range(slots):
            if not wanted[s] or done[s] or (inside and not touched[s]):
                continue
            new, degree = 0, 0
            for u in range(slots):
                if adjacent[s, u] and not done[u] and u != s:
                    degree += 1
                    if not touched[u]:
                        new += 1
            if rank[s] < best_rank or (
                rank[s] == best_rank and (new < best_new or (new == best_new and degree < best_degree))
            ):
                best, best_rank, best_new, best_degree = s, rank[s], new, degree
        order[t] = best
        done[best] = True
        for u in range(slots):
            if adjacent[best, u]:
                touched[u] = True
    return int(total)


@jit
def _suffixes(program: Program, live: Array, scratch: Scratch) -> int:
    """Find the suffixes of the live terms, each once; how many there are."""
    term_start, slot, literal_of, after_of = (
        program.term_start,
        program.literal_slot,
        scratch.literal,
        scratch.after,
    )
    ordered, table, place_of, is_term = scratch.sorted, scratch.table, scratch.place, scratch.is_term
    mask, n = table.shape[0] - 1, 0
    for c in range(live.shape[0]):
        if not live[c]:
            continue
        terms = program.term_literal[term_start[c] : term_start[c + 1]]
        length = _open_literals(terms, scratch.status, scratch.position, slot, ordered)
        after = -program.term_signal[c] - 1
        for j in range(length - 1, -1, -1):
            literal = ordered[j]
            place = (literal * 0x9E3779B1 + (after + 1_000_003) * 0x85EBCA77) & mask
            # There are twice as many places as literals: one is always free.
            while table[place] >= 0 and (
                literal_of[table[place]] != literal or after_of[table[place]] != after
            ):
                place = (place + 1) & mask
            if table[place] < 0:
                table[place] = n
                place_of[n] = place
                literal_of[n], after_of[n] = literal, after
                scratch.signal[n] = program.term_signal[c]
                is_term[n] = False
                n += 1
            after = table[place]
        is_term[after] = True
    for k in range(n):
        table[place_of[k]] = -1
    return n


@jit
def _open_literals(term: Array, status: Array, position: Array, slot: Array, ordered: Array) -> int:
    """Put the open literals of a term into the order of their slots; how many they are."""
    length = 0
    for literal in term:
        if status[literal] == OPEN:
            j = length
            while j > 0 and position[slot[ordered[j - 1]]] > position[slot[literal]]:
                ordered[j] = ordered[j - 1]
                j -= 1
            ordered[j] = literal
            length += 1
    return length


@merged
def steps_of(
    program: Program, residual: Residual, n_suffixes: int, scratch: Scratch, decides: Array
) -> Steps:
    """How states change from slot to slot.

    A whole term is alive in every state until its first slot is read. Any other suffix has a bit; the bits
    of the suffixes that begin with one slot stand side by side.
    """
    n_slots, slot, signal_words = residual.n_slots, program.literal_slot, residual.true.shape[0]
    position, literal, bit = scratch.position, scratch.literal, scratch.bit
    bit_start = np.zeros(n_slots + 2, np.int64)
    for k in range(n_suffixes):
        bit[k] = -1
        if not scratch.is_term[k]:
            bit_start[position[slot[literal[k]]] + 1] += 1
    for t in range(n_slots):
        bit_start[t + 1] += bit_start[t]
    n_bits = bit_start[n_slots]
    free = bit_start.copy()
    suffix = np.zeros(n_bits + 1, np.int64)
    for k in range(n_suffixes):
        if not scratch.is_term[k]:
            t = position[slot[literal[k]]]
            bit[k] = free[t]
            suffix[free[t]] = k
            free[t] += 1
    n_words = (n_bits + 63) >> 6
    own = np.zeros((64 * signal_words, n_words + 1), np.uint64)
    for b in range(n_bits):
        insert(own[scratch.signal[suffix[b]]], b)
    keep = np.full((n_slots + 1, n_words + signal_words), np.uint64(0xFFFFFFFFFFFFFFFF), np.uint64)
    most_values = 1
    for t in range(n_slots):
        most_values = max(most_values, residual.n_values[residual.order[t]])
        for b in range(bit_start[t], bit_start[t + 1]):
            keep[t, b >> 6] &= ~(np.uint64(1) << np.uint64(b & 63))
    gain = np.zeros((n_slots + 1, most_values, n_words + signal_words), np.uint64)
    _fill_gain(program, residual, n_suffixes, scratch, n_words, gain)
    return Steps(
        keep, gain, bit_start, suffix, own, n_words, literal, scratch.after, bit, program.accept, decides
    )


@jit
def _fill_gain(
    program: Program, residual: Residual, n_suffixes: int, scratch: Scratch, n_words: int, gain: Array
) -> None:
    """What each candidate of a slot adds to any state: what is behind the first literals of whole terms."""
    for k in range(n_suffixes):
        if scratch.is_term[k]:
            literal = scratch.literal[k]
            s = program.literal_slot[literal]
            after = scratch.after[k]
            for j in range(residual.n_values[s]):
                if program.accept[literal, residual.value[s, j]]:
                    b = n_words * 64 - after - 1 if after < 0 else scratch.bit[after]
                    if b >= 0:
                        insert(gain[scratch.position[s], j], b)
