"""Compiled: the forward dynamic programme over the residual programs of examples.

Imported only where it is used, since it loads numba. The compiled code is kept beside this file.
"""

import hashlib
from pathlib import Path
from typing import Any

import numpy as np

from nsl_bench.core.compiling import numba
from nsl_bench.logic.inference.forward.arrays import Example, Limits, Outcomes, Program, Results, Scratch
from nsl_bench.logic.inference.forward.deciding import deciding_signal
from nsl_bench.logic.inference.forward.folds import NEVER, decides_of, folds_of
from nsl_bench.logic.inference.forward.outcomes import merged, outcome_of
from nsl_bench.logic.inference.forward.residual import new_scratch, read_example, residual_program, steps_of
from nsl_bench.logic.inference.forward.rollouts import sample_dropped
from nsl_bench.logic.inference.forward.states import (
    drop,
    expand,
    first_state,
    last_states,
    new_states,
    survivors,
)

Array = Any


@merged
def _answer(
    program: Program, outcomes: Outcomes, vectors: Array, seed: int, limits: Limits, scratch: Scratch,
    results: Results, i: int,
) -> None:  # fmt: skip
    """Answer example i, whose probabilities are `vectors`, float64 [slots, values]."""
    n_bits = outcomes.n_signals + outcomes.remembered.shape[0]
    true = np.zeros(max(1, (n_bits + 63) >> 6), np.uint64)
    outcomes.frozen[:] = NEVER
    read_example(program, vectors, true, scratch)
    decided = outcome_of(true, False, -1, outcomes)
    if decided >= 0:
        results.low[i, decided] = 1.0
        return
    live = np.zeros(program.term_signal.shape[0], np.bool_)
    residual, n_suffixes = residual_program(program, outcomes, true, live, scratch)
    decides = decides_of(program, residual, outcomes, live, scratch)
    steps = steps_of(program, residual, n_suffixes, scratch, decides)
    deciding = deciding_signal(residual, steps, outcomes)
    states = new_states(residual, steps.n_words + true.shape[0], limits, scratch)
    folds = folds_of(program, residual, outcomes, live, scratch)
    example = Example(residual, steps, deciding, folds, outcomes, states)
    lost, random = np.zeros(residual.n_slots + 1), np.zeros(1, np.uint64)
    random[0] = seed
    wanted, dropped = 0.0, 0.0
    while True:
        _follow(example, limits.budget[i], wanted, results, i, lost, random)
        if wanted > 0:
            break
        for t in range(residual.n_slots):
            dropped += lost[t]
        results.dropped[i] = dropped
        if limits.rollouts == 0 or dropped <= limits.widest[i]:
            break
        wanted = min(max(np.ceil((dropped / (2 * limits.std_err)) ** 2), 50.0), float(limits.rollouts))


@merged
def _follow(
    example: Example, budget: float, wanted: float, results: Results, i: int, lost: Array, random: Array
) -> None:
    """Read slot after slot and carry the states along.

    Args:
        example: what is known of it.
        budget: mass that may be dropped.
        wanted: worlds to sample from what is dropped; 0 the first time, which finds how much that is.
        results: row i is filled.
        i: the example's number.
        random: uint64 [1]: the state of the random numbers.
    """
    low = results.low[i]
    low[:] = 0.0
    # Taken out once: each time costs counting the references to all of their arrays.
    residual, steps, deciding, folds = example.residual, example.steps, example.deciding, example.folds
    outcomes, states = example.outcomes, example.states
    first_state(states, residual.true)
    # A plain 1 has a type of its own, for which `expand` would be compiled once more.
    n_states: Any = np.int64(1)
    for t in range(residual.n_slots):
        n_new = expand(states, n_states, t, residual, steps, folds, outcomes, low)
        cut, gone = drop(states, n_new, t, budget, residual, steps, deciding, low)
        budget = max(0.0, budget - gone)
        if wanted == 0:
            lost[t] = gone
        elif lost[t] > 0:
            draws = int(np.ceil(wanted * lost[t] / results.dropped[i]))
            hits = np.zeros(low.shape[0], np.int64)
            picked = sample_dropped(example, n_new, cut, gone / draws, draws, t, random, hits)
            for k in range(low.shape[0]):
                if picked:
                    wide = (hits[k] + 8.0) / (picked + 16.0)
                    results.sampled[i, k] += gone * (hits[k] / picked)
                    results.variances[i, k] += gone * gone * wide * (1 - wide) / (picked + 16.0)
        n_states = survivors(states, n_new, cut)
        if n_states == 0:
            break
    last_states(states, n_states, residual, steps, outcomes, low)


def _compiled() -> Any:
    """The compiled loop over examples.

    numba keeps compiled code by the file of the function that is called; what that function calls in other
    files is part of it, so that these files are made part of the key. Where no folder for compiled code can
    be written to, each process compiles it anew.
    """
    texts = b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py")))
    sources = int.from_bytes(hashlib.sha256(texts).digest()[:7], "little")

    def forward(
        program: Program, outcomes: Outcomes, vectors: Array, seeds: Array, rows: Array, limits: Limits,
        results: Results,
    ) -> int:  # fmt: skip
        """Answer the examples `rows`; returns the hash of what it was compiled from.

        Args:
            program: the terms.
            outcomes: what follows from signals.
            vectors: float64 [n, slots, values]: probabilities.
            seeds: uint64 [n]: of the examples' random numbers.
            rows: int64: numbers of examples.
            limits: what an example may cost.
            results: its rows are filled.
        """
        scratch = new_scratch(program, vectors.shape[1], vectors.shape[2])
        for i in rows:
            _answer(program, outcomes, vectors[i], seeds[i], limits, scratch, results, i)
        return sources

    try:
        return numba.njit(cache=True, nogil=True, error_model="numpy")(forward)
    except RuntimeError:
        return numba.njit(nogil=True, error_model="numpy")(forward)


forward = _compiled()
