"""Compiled: what outcome a world has of which some signals are known.

Imported only where it is used, since it loads numba.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from nsl_bench.core.compiling import numba
from nsl_bench.logic.inference.forward.arrays import Outcomes

Array = Any

Function = TypeVar("Function", bound=Callable[..., Any])


def _compiler(**options: Any) -> Callable[[Function], Function]:
    """A decorator for functions that only compiled code calls.

    They get no wrappers for Python and C, which take named tuples of arrays apart and put them together
    again: more code than the functions have. From Python only their `py_func` may be called; the compiled
    function would end the process.
    """
    compiler: Callable[[Function], Function] = numba.njit(  # type: ignore[call-overload]  # knows no wrappers
        nogil=True, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True, **options
    )
    return compiler


jit = _compiler()
"""Compiles a function as part of `nsl_bench.logic.inference.forward.kernel.forward`, which is what is
cached."""

inlined = _compiler(forceinline=True)
"""As `jit`, and puts the machine code where it is called: what is done for every state."""

merged = _compiler(inline="always")
"""As `jit`, and makes a function part of its only caller before that is compiled, which is quicker."""


@inlined
def has(words: Array, k: int) -> bool:
    """Whether a set of bits has bit k."""
    return bool((words[k >> 6] >> np.uint64(k & 63)) & np.uint64(1))


@inlined
def insert(words: Array, k: int) -> None:
    """Add bit k to a set of bits."""
    words[k >> 6] |= np.uint64(1) << np.uint64(k & 63)


@inlined
def copy(words: Array, to: Array) -> None:
    """Copy words. Assigning a slice instead has numba compile its message on shapes, which takes seconds."""
    for w in range(words.shape[0]):
        to[w] = words[w]


@jit
def outcome_of(signals: Array, final: bool, t: int, outcomes: Outcomes) -> int:
    """The outcome of a world; -1 if it is still open.

    Args:
        signals: uint64 words: the signals that are known to be true, and the remembered atoms that are.
        final: whether all other signals are known to be false.
        t: the place of the last slot behind which a state has forgotten (`fold`); -1 for none.
        outcomes: what follows from signals.

    Returns:
        A label's number, then `undecided`, then `ambiguous`.
    """
    lower, upper, frozen = outcomes.lower, outcomes.upper, outcomes.frozen
    load(signals, final, outcomes)
    for c in range(frozen.shape[0] - 1):
        if frozen[c] > t:
            derive(c, outcomes)
    goals, violated = outcomes.goals, outcomes.violated
    n: int = goals.shape[0]
    if violated >= 0:
        if lower[violated]:
            return n
        if upper[violated]:
            return -1
    count, open_, true_goal, default = 0, 0, -1, n
    for k in range(n):
        goal = goals[k]
        if goal == -2:
            default = k
        elif goal >= 0:
            if lower[goal]:
                count += 1
                true_goal = k
            elif upper[goal]:
                open_ += 1
    if count > 1:
        return n + 1
    if open_:
        return -1
    return true_goal if count else default


@jit
def load(signals: Array, final: bool, outcomes: Outcomes) -> None:
    """Bounds of the signals and of the remembered atoms."""
    lower, upper, n = outcomes.lower, outcomes.upper, outcomes.n_signals
    for i in range(n):
        true = (signals[i >> 6] >> np.uint64(i & 63)) & np.uint64(1)
        lower[i] = true
        upper[i] = true if final else 1
    for k in range(outcomes.remembered.shape[0]):
        i = n + k
        true = (signals[i >> 6] >> np.uint64(i & 63)) & np.uint64(1)
        lower[outcomes.remembered[k]] = true
        upper[outcomes.remembered[k]] = true


@jit
def derive(c: int, outcomes: Outcomes) -> None:
    """Bounds of the atoms that a component's rules define, from those of what it asks for."""
    rules, bodies, components = outcomes.rules, outcomes.bodies, outcomes.components
    lower, upper = outcomes.lower, outcomes.upper
    for r in range(components[c, 0], components[c + 1, 0]):
        lower[rules[r, 0]] = 0
        upper[rules[r, 0]] = 0
    changed = True
    while changed:
        changed = False
        for r in range(components[c, 0], components[c + 1, 0]):
            head = rules[r, 0]
            if lower[head]:
                continue
            sure, possible = 0, 0
            for k in range(rules[r, 2], rules[r, 3]):
                atom, weight = bodies[k, 0], bodies[k, 2]
                if bodies[k, 1]:
                    sure += weight * lower[atom]
                    possible += weight * upper[atom]
                else:
                    sure += weight * (1 - upper[atom])
                    possible += weight * (1 - lower[atom])
            if sure >= rules[r, 1]:
                lower[head] = 1
                changed = True
            if possible >= rules[r, 1] and not upper[head]:
                upper[head] = 1
                changed = True
        changed = changed and components[c, 1] == 1
