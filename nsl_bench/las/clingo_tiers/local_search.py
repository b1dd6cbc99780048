"""A good hypothesis soon: rules are added one by one, always the best, while that makes it better.

Where every hypothesis has one answer set with each context, clingo decides by propagation alone what rules
cover. One call enumerates the choices with one rule more.
"""

from __future__ import annotations

from collections.abc import Iterator

from clingo import Model

from nsl_bench.budget import Budget
from nsl_bench.las.clingo_tiers.encoding import Encoding

__all__ = ["climb"]

_MOST_CHOSEN = 6
_MOST_RULES = 1_000
"""Rules of a space that are tried."""

Value = tuple[int, int, tuple[int, ...]]
"""Demands that must be met and are not, cost, and the chosen rules."""


def climb(encoding: Encoding, budget: Budget) -> Iterator[tuple[tuple[int, ...], int]]:
    """Yield better and better choices of rules that meet what must hold, each with its cost.

    There are none where hypotheses may have several answer sets, or where there are many rules.

    Args:
        encoding: where to choose; examples are grounded.
        budget: when to stop.
    """
    if len(encoding.rules) > _MOST_RULES or not encoding.prepare_limits(_MOST_CHOSEN, budget):
        return
    best: Value | None = None
    for size in range(_MOST_CHOSEN + 1):
        found = _best(encoding, best[2] if best else (), size, budget)
        if found is None or (best is not None and found[:2] >= best[:2]):
            return
        best = found
        if not best[0]:
            yield best[2], best[1]


def _best(encoding: Encoding, chosen: tuple[int, ...], size: int, budget: Budget) -> Value | None:
    """The best choice of at most so many rules with the given ones, the first of several; None if unknown."""
    found: list[Value] = []

    def keep(model: Model) -> None:
        rules = tuple(sorted(symbol.number for symbol in model.symbols(shown=True)))
        value = (*encoding.value(model, rules), rules)
        if not found or value < found[-1]:
            found.append(value)

    literals = [encoding.literal("chosen", k) for k in chosen]
    relaxed = encoding.literal("relaxed")
    fixed = [literal for literal in (relaxed, *literals) if literal is not None]
    with encoding.limited(size):
        result, _ = encoding.search(fixed, budget, keep)
    return found[-1] if found and result.exhausted else None
