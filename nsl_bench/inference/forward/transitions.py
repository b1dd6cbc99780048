"""Compiled pieces of the forward dynamic programme: outcomes, orders of slots, steps between states.

Imported only where it is used, since it loads numba. Compiled code is kept beside the file.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

__all__ = ["escape", "hash_of", "jit", "order_of", "outcome_of", "step", "uniform"]

Array = Any

jit = numba.njit(cache=True, nogil=True, error_model="numpy")


@jit
def outcome_of(flags: Array, final: bool, m: int, gates: Array, bodies: Array, parts: Array, goals: Array,
             violated: int, lo: Array, hi: Array) -> int:  # fmt: skip
    """The outcome of a world of which the true signals are known; -1 if it is still open."""
    for i in range(m):
        true = (flags[i >> 6] >> np.uint64(i & 63)) & np.uint64(1)
        lo[i] = true
        hi[i] = true if final else 1
    for c in range(parts.shape[0] - 1):
        for g in range(parts[c, 0], parts[c + 1, 0]):
            lo[gates[g, 0]] = 0
            hi[gates[g, 0]] = 0
        changed = True
        while changed:
            changed = False
            for g in range(parts[c, 0], parts[c + 1, 0]):
                head = gates[g, 0]
                if lo[head]:
                    continue
                sure, possible = 0, 0
                for k in range(gates[g, 2], gates[g, 3]):
                    atom, weight = bodies[k, 0], bodies[k, 2]
                    if bodies[k, 1]:
                        sure += weight * lo[atom]
                        possible += weight * hi[atom]
                    else:
                        sure += weight * (1 - hi[atom])
                        possible += weight * (1 - lo[atom])
                if sure >= gates[g, 1]:
                    lo[head] = 1
                    changed = True
                if possible >= gates[g, 1] and not hi[head]:
                    hi[head] = 1
                    changed = True
            changed = changed and parts[c, 1] == 1
    n: int = goals.shape[0]
    if violated >= 0:
        if lo[violated]:
            return n
        if hi[violated]:
            return -1
    count, open_, found, default = 0, 0, -1, n
    for k in range(n):
        goal = goals[k]
        if goal == -2:
            default = k
        elif goal >= 0:
            if lo[goal]:
                count += 1
                found = k
            elif hi[goal]:
                open_ += 1
    if count > 1:
        return n + 1
    if open_:
        return -1
    result: int = found if count else default
    return result


@jit
def order_of(adjacent: Array, wanted: Array, order: Array) -> int:
    """Put the wanted slots into an order with few slots at once half-way through; how many there are."""
    slots = wanted.shape[0]
    done = np.zeros(slots, np.bool_)
    touched = np.zeros(slots, np.bool_)
    total = 0
    for s in range(slots):
        total += wanted[s]
    for t in range(total):
        best, best_new, best_degree = -1, 1 << 30, 1 << 30
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
            if new < best_new or (new == best_new and degree < best_degree):
                best, best_new, best_degree = s, new, degree
        order[t] = best
        done[best] = True
        for u in range(slots):
            if adjacent[best, u]:
                touched[u] = True
    return int(total)


@jit
def hash_of(words: Array, width: int) -> np.uint64:
    h = np.uint64(0x9E3779B97F4A7C15)
    for w in range(width):
        h ^= words[w]
        h *= np.uint64(0xFF51AFD7ED558CCD)
        h ^= h >> np.uint64(32)
    return h


@jit
def uniform(state: Array) -> float:
    """A number in [0, 1) (splitmix64)."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return float(z >> np.uint64(11)) / 9007199254740992.0


@jit
def step(old: Array, new: Array, t: int, j: int, value: int, keep: Array, gen: Array, dstart: Array,
          bit_node: Array, node_lit: Array, node_next: Array, node_bit: Array, accept: Array, own: Array,
          n_words: int, width: int) -> bool:  # fmt: skip
    """The state after slot t shows its j-th candidate; whether a signal has become true."""
    for w in range(width):
        new[w] = (old[w] & keep[t, w]) | gen[t, j, w]
    for b in range(dstart[t], dstart[t + 1]):
        if (old[b >> 6] >> np.uint64(b & 63)) & np.uint64(1):
            node = bit_node[b]
            if accept[node_lit[node], value]:
                after = node_next[node]
                if after < 0:
                    f = -after - 1
                    new[n_words + (f >> 6)] |= np.uint64(1) << np.uint64(f & 63)
                elif node_bit[after] >= 0:
                    n = node_bit[after]
                    new[n >> 6] |= np.uint64(1) << np.uint64(n & 63)
    changed = False
    for w in range(n_words, width):
        fresh = new[w] & ~old[w]
        if fresh:
            changed = True
    if changed:
        for w in range(n_words, width):
            flags = new[w]
            f = (w - n_words) * 64
            while flags:
                if flags & np.uint64(1):
                    for k in range(n_words):
                        new[k] &= ~own[f, k]
                flags >>= np.uint64(1)
                f += 1
    return changed


@jit
def escape(state: Array, t: int, T: int, order: Array, n_cand: Array, cand_p: Array, dstart: Array,
           kills: Array, always: Array, killed: Array) -> float:  # fmt: skip
    """The probability that no slot behind t shows by itself what makes the deciding signal true.

    Fills `killed` with each slot's candidates that do, as bits.
    """
    chance = 1.0
    for u in range(t + 1, T):
        mask = always[u]
        for b in range(dstart[u], dstart[u + 1]):
            if (state[b >> 6] >> np.uint64(b & 63)) & np.uint64(1):
                mask |= kills[b]
        killed[u] = mask
        if mask:
            s = order[u]
            left = 0.0
            for j in range(n_cand[s]):
                if not (mask >> np.uint64(j)) & np.uint64(1):
                    left += cand_p[s, j]
            chance *= left
            if chance <= 0.0:
                return 0.0
    return chance
