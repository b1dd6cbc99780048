"""The compiled loop of the forward dynamic programme; `forward` says what it does.

Imported only where it is used, since it loads numba. Compiled code is kept beside the file.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nsl_bench.inference.forward.transitions import escape, hash_of, jit, order_of, outcome_of, step, uniform

__all__ = ["forward"]

Array = Any

_BUCKETS = 1024
_CAPACITY = 1 << 16
_WORDS = 1 << 21


@jit
def forward(P: Array, seeds: Array, rows: Array, cstart: Array, clits: Array, cfunc: Array, lit_slot: Array,
            accept: Array, m: int, n_atoms: int, gates: Array, bodies: Array, parts: Array, goals: Array,
            violated: int, budget: float, work: float, hard: int, widest: float, error: float,
            rollouts: int, low: Array, dropped: Array, means: Array, variances: Array) -> None:  # fmt: skip
    """Answer the examples `rows`; fills `low`, `dropped` and, with rollouts, `means` and `variances`."""
    slots, D = P.shape[1], P.shape[2]
    C, L = cfunc.shape[0], lit_slot.shape[0]
    K = goals.shape[0] + 2
    mw = max(1, (m + 63) >> 6)
    lo, hi = np.zeros(n_atoms + 1, np.uint8), np.zeros(n_atoms + 1, np.uint8)
    cand, cand_p, n_cand = np.zeros((slots, D), np.int64), np.zeros((slots, D)), np.zeros(slots, np.int64)
    lit_state = np.zeros(L, np.uint8)
    position, order = np.zeros(slots, np.int64), np.zeros(slots, np.int64)
    longest = 1
    for c in range(C):
        longest = max(longest, cstart[c + 1] - cstart[c])
    sorted_ = np.zeros(longest, np.int64)
    n_lits = clits.shape[0]
    node_lit, node_next = np.zeros(n_lits + 1, np.int64), np.zeros(n_lits + 1, np.int64)
    node_func, node_bit = np.zeros(n_lits + 1, np.int64), np.zeros(n_lits + 1, np.int64)
    static = np.zeros(n_lits + 1, np.bool_)
    size = 16
    while size < 2 * n_lits + 2:
        size *= 2
    trie = np.full(size, -1, np.int64)
    places = np.zeros(n_lits + 1, np.int64)
    for i in rows:
        # What each slot can show, and what that leaves of the cubes.
        for s in range(slots):
            count = 0
            for v in range(D):
                if P[i, s, v] > 0:
                    cand[s, count] = v
                    cand_p[s, count] = P[i, s, v]
                    count += 1
            n_cand[s] = count
        for lit in range(L):
            s = lit_slot[lit]
            some, every = False, True
            for j in range(n_cand[s]):
                if accept[lit, cand[s, j]]:
                    some = True
                else:
                    every = False
            lit_state[lit] = 1 if every else (2 if some else 0)
        flags0 = np.zeros(mw, np.uint64)
        for c in range(C):
            true = True
            for k in range(cstart[c], cstart[c + 1]):
                if lit_state[clits[k]] != 1:
                    true = False
                    break
            if true:
                f = cfunc[c]
                flags0[f >> 6] |= np.uint64(1) << np.uint64(f & 63)
        decided = outcome_of(flags0, False, m, gates, bodies, parts, goals, violated, lo, hi)
        if decided >= 0:
            low[i, decided] = 1.0
            continue
        adjacent = np.zeros((slots, slots), np.bool_)
        wanted = np.zeros(slots, np.bool_)
        live = np.zeros(C, np.bool_)
        for c in range(C):
            f = cfunc[c]
            if (flags0[f >> 6] >> np.uint64(f & 63)) & np.uint64(1):
                continue
            possible = True
            for k in range(cstart[c], cstart[c + 1]):
                if lit_state[clits[k]] == 0:
                    possible = False
                    break
            if not possible:
                continue
            live[c] = True
            for k in range(cstart[c], cstart[c + 1]):
                if lit_state[clits[k]] == 2:
                    s = lit_slot[clits[k]]
                    wanted[s] = True
                    for h in range(cstart[c], k):
                        if lit_state[clits[h]] == 2:
                            adjacent[s, lit_slot[clits[h]]] = True
                            adjacent[lit_slot[clits[h]], s] = True
        T = order_of(adjacent, wanted, order)
        for t in range(T):
            position[order[t]] = t
        # Suffixes of cubes in this order, each once.
        n_nodes = 0
        for c in range(C):
            if not live[c]:
                continue
            length = 0
            for k in range(cstart[c], cstart[c + 1]):
                lit = clits[k]
                if lit_state[lit] == 2:
                    j = length
                    while j > 0 and position[lit_slot[sorted_[j - 1]]] > position[lit_slot[lit]]:
                        sorted_[j] = sorted_[j - 1]
                        j -= 1
                    sorted_[j] = lit
                    length += 1
            after = -cfunc[c] - 1
            for j in range(length - 1, -1, -1):
                lit = sorted_[j]
                place = (lit * 0x9E3779B1 + (after + 1_000_003) * 0x85EBCA77) & (size - 1)
                while trie[place] >= 0 and (node_lit[trie[place]] != lit or node_next[trie[place]] != after):
                    place = (place + 1) & (size - 1)
                if trie[place] < 0:
                    trie[place] = n_nodes
                    places[n_nodes] = place
                    node_lit[n_nodes], node_next[n_nodes] = lit, after
                    node_func[n_nodes] = cfunc[c]
                    static[n_nodes] = False
                    n_nodes += 1
                after = trie[place]
            static[after] = True
        for node in range(n_nodes):
            trie[places[node]] = -1
        # Suffixes that are not alive in every state get a bit, those of one slot side by side.
        dstart = np.zeros(T + 2, np.int64)
        for node in range(n_nodes):
            node_bit[node] = -1
            if not static[node]:
                dstart[position[lit_slot[node_lit[node]]] + 1] += 1
        for t in range(T):
            dstart[t + 1] += dstart[t]
        n_bits = dstart[T]
        fill = dstart.copy()
        bit_node = np.zeros(n_bits + 1, np.int64)
        for node in range(n_nodes):
            if not static[node]:
                t = position[lit_slot[node_lit[node]]]
                node_bit[node] = fill[t]
                bit_node[fill[t]] = node
                fill[t] += 1
        n_words = (n_bits + 63) >> 6
        width = n_words + mw
        own = np.zeros((m + 1, n_words + 1), np.uint64)
        for b in range(n_bits):
            own[node_func[bit_node[b]], b >> 6] |= np.uint64(1) << np.uint64(b & 63)
        keep = np.full((T + 1, width), np.uint64(0xFFFFFFFFFFFFFFFF), np.uint64)
        for t in range(T):
            for b in range(dstart[t], dstart[t + 1]):
                keep[t, b >> 6] &= ~(np.uint64(1) << np.uint64(b & 63))
        total_cand, most_cand = 1, 1
        for t in range(T):
            total_cand += n_cand[order[t]]
            most_cand = max(most_cand, n_cand[order[t]])
        gen = np.zeros((T + 1, most_cand, width), np.uint64)
        for node in range(n_nodes):
            if static[node]:
                s = lit_slot[node_lit[node]]
                after = node_next[node]
                for j in range(n_cand[s]):
                    if accept[node_lit[node], cand[s, j]]:
                        b = n_words * 64 - after - 1 if after < 0 else node_bit[after]
                        if b >= 0:
                            gen[position[s], j, b >> 6] |= np.uint64(1) << np.uint64(b & 63)
        # A signal whose truth decides the outcome: a state's mass in worlds where a single image makes it
        # true need not be followed. Slots with more candidates than bits are left out of account.
        sure, sure_outcome = -1, -1
        fresh = np.zeros(width, np.uint64)
        for f in range(m):
            if sure < 0:
                for w in range(mw):
                    fresh[w] = flags0[w]
                fresh[f >> 6] |= np.uint64(1) << np.uint64(f & 63)
                sure_outcome = outcome_of(fresh, False, m, gates, bodies, parts, goals, violated, lo, hi)
                if sure_outcome >= 0:
                    sure = f
        kills, always = np.zeros(n_bits + 1, np.uint64), np.zeros(T + 1, np.uint64)
        killed = np.zeros(T + 1, np.uint64)
        if sure >= 0:
            for t in range(T):
                s = order[t]
                if n_cand[s] > 64:
                    continue
                for j in range(n_cand[s]):
                    here = np.uint64(1) << np.uint64(j)
                    if (gen[t, j, n_words + (sure >> 6)] >> np.uint64(sure & 63)) & np.uint64(1):
                        always[t] |= here
                    for b in range(dstart[t], dstart[t + 1]):
                        node = bit_node[b]
                        if node_next[node] == -sure - 1 and accept[node_lit[node], cand[s, j]]:
                            kills[b] |= here
        states = 1.0
        for t in range(T):
            states = min(states * n_cand[order[t]], float(_CAPACITY))
        capacity = min(int(states) + 1, max(2 * most_cand, _WORDS // width))
        # A step never makes more states than there is place for.
        top = min(hard, max(1, capacity // most_cand)) if states == _CAPACITY else capacity
        soft = min(max(8.0, work / total_cand), float(top))
        top = min(top, int(3 * soft) + 1)
        n_passes = 2 if rollouts > 0 else 1
        lost = np.zeros(T + 1)
        table = np.full(2 * capacity, -1, np.int32)
        slot_of = np.zeros(capacity, np.int64)
        now, after_ = np.zeros((capacity, width), np.uint64), np.zeros((capacity, width), np.uint64)
        mass, mass_after = np.zeros(capacity), np.zeros(capacity)
        walk, open_ = np.zeros(width, np.uint64), np.zeros(capacity)
        keys = np.zeros(capacity, np.int64)
        histogram, counts = np.zeros(_BUCKETS), np.zeros(_BUCKETS, np.int64)
        random = np.zeros(1, np.uint64)
        random[0] = seeds[i]
        for p in range(n_passes):
            if p == 1 and dropped[i] <= widest:
                break
            wanted_rollouts = min(max(np.ceil((dropped[i] / (2 * error)) ** 2), 50.0), float(rollouts))
            for k in range(K):
                low[i, k] = 0.0
                means[i, k] = 0.0
                variances[i, k] = 0.0
            whole = 0.0
            for t in range(T):
                whole += lost[t]
            budget_left = budget
            n_states = 1
            mass[0] = 1.0
            for w in range(width):
                now[0, w] = np.uint64(0)
            for w in range(mw):
                now[0, n_words + w] = flags0[w]
            for t in range(T):
                n_new = 0
                s = order[t]
                for q in range(n_states):
                    for j in range(n_cand[s]):
                        weight = mass[q] * cand_p[s, j]
                        if step(now[q], fresh, t, j, cand[s, j], keep, gen, dstart, bit_node, node_lit,
                                 node_next, node_bit, accept, own, n_words, width):  # fmt: skip
                            decided = outcome_of(fresh[n_words:], False, m, gates, bodies, parts, goals,
                                               violated, lo, hi)  # fmt: skip
                            if decided >= 0:
                                low[i, decided] += weight
                                continue
                        place = np.int64(hash_of(fresh, width) % np.uint64(2 * capacity))
                        while table[place] >= 0:
                            other = table[place]
                            same = True
                            for w in range(width):
                                if after_[other, w] != fresh[w]:
                                    same = False
                                    break
                            if same:
                                break
                            place += 1
                            if place == 2 * capacity:
                                place = 0
                        if table[place] >= 0:
                            mass_after[table[place]] += weight
                        else:
                            table[place] = n_new
                            slot_of[n_new] = place
                            for w in range(width):
                                after_[n_new, w] = fresh[w]
                            mass_after[n_new] = weight
                            n_new += 1
                for q in range(n_new):
                    table[slot_of[q]] = -1
                # Drop the least likely states, within the budget or where there are far too many.
                histogram[:] = 0.0
                counts[:] = 0
                for q in range(n_new):
                    open_[q] = mass_after[q]
                    if sure >= 0 and n_new > soft:
                        open_[q] *= escape(after_[q], t, T, order, n_cand, cand_p, dstart, kills, always,
                                           killed)  # fmt: skip
                    key = int(-8.0 * np.log2(open_[q])) if open_[q] > 0 else _BUCKETS - 1
                    key = min(max(key, 0), _BUCKETS - 1)
                    keys[q] = key
                    histogram[key] += open_[q]
                    counts[key] += 1
                allowed = 2.0 * budget_left / (T - t)
                gone, left, cut, partly = 0.0, n_new, _BUCKETS, 0
                while cut > 0:
                    key = cut - 1
                    less = gone + histogram[key]
                    if less > 1e-14 and not (left > soft and less <= allowed):
                        if left > top:
                            if left - counts[key] < top:
                                partly = left - top
                                break
                        else:
                            break
                    gone = less
                    left -= counts[key]
                    cut = key
                if partly:
                    for q in range(n_new):
                        if partly and keys[q] == cut - 1:
                            keys[q] = _BUCKETS
                            gone += open_[q]
                            partly -= 1
                budget_left = max(0.0, budget_left - gone)
                for q in range(n_new):
                    if keys[q] >= cut and sure >= 0:
                        low[i, sure_outcome] += mass_after[q] - open_[q]
                if p == 1 and lost[t] > 0:
                    # Finish a sample of the dropped worlds by chance.
                    draws = int(np.ceil(wanted_rollouts * lost[t] / whole))
                    hits = np.zeros(K, np.int64)
                    picked, running, done = 0, 0.0, 0
                    gap = gone / draws
                    point = gap * uniform(random)
                    for q in range(n_new):
                        if keys[q] < cut:
                            continue
                        running += open_[q]
                        if point < running and done < draws:
                            killed[:] = 0
                            if open_[q] < mass_after[q]:
                                escape(after_[q], t, T, order, n_cand, cand_p, dstart, kills, always, killed)
                        while point < running and done < draws:
                            done += 1
                            point += gap
                            for w in range(width):
                                fresh[w] = after_[q, w]
                            outcome = -1
                            for u in range(t + 1, T):
                                su, left_p = order[u], 0.0
                                for j in range(n_cand[su]):
                                    if j > 63 or not (killed[u] >> np.uint64(j)) & np.uint64(1):
                                        left_p += cand_p[su, j]
                                r, chosen = uniform(random) * left_p, -1
                                for j in range(n_cand[su]):
                                    if j > 63 or not (killed[u] >> np.uint64(j)) & np.uint64(1):
                                        chosen = j
                                        r -= cand_p[su, j]
                                        if r < 0:
                                            break
                                for w in range(width):
                                    walk[w] = fresh[w]
                                if step(walk, fresh, u, chosen, cand[su, chosen], keep, gen, dstart, bit_node,
                                         node_lit, node_next, node_bit, accept, own, n_words,
                                         width):  # fmt: skip
                                    outcome = outcome_of(fresh[n_words:], False, m, gates, bodies, parts,
                                                       goals, violated, lo, hi)  # fmt: skip
                                    if outcome >= 0:
                                        break
                            if outcome < 0:
                                outcome = outcome_of(fresh[n_words:], True, m, gates, bodies, parts, goals,
                                                   violated, lo, hi)  # fmt: skip
                            hits[outcome] += 1
                            picked += 1
                    for k in range(K):
                        if picked:
                            share = hits[k] / picked
                            wide = (hits[k] + 8.0) / (picked + 16.0)
                            means[i, k] += gone * share
                            variances[i, k] += gone * gone * wide * (1 - wide) / (picked + 16.0)
                if p == 0:
                    lost[t] = gone
                    dropped[i] += gone
                # The survivors become the states of the next slot.
                n_states = 0
                for q in range(n_new):
                    if keys[q] < cut:
                        for w in range(width):
                            now[n_states, w] = after_[q, w]
                        mass[n_states] = mass_after[q]
                        n_states += 1
                if n_states == 0:
                    break
            for q in range(n_states):
                decided = outcome_of(now[q, n_words:], True, m, gates, bodies, parts, goals, violated, lo, hi)
                low[i, decided] += mass[q]
