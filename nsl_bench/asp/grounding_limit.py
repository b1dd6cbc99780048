"""Stopping clingo's grounder, which clingo itself cannot: its next ground rules ask whether to go on."""

from __future__ import annotations

from collections.abc import Sequence

from clingo import Observer

from nsl_bench.budget import Budget, Expired

__all__ = ["Brake"]

_EVERY = 512


class Brake(Observer):
    """Makes `Control.ground` raise `Expired` when time is up or memory is full.

    Attributes:
        budget: what is heeded.
    """

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self._seen = 0

    def rule(self, choice: bool, head: Sequence[int], body: Sequence[int]) -> None:
        self._seen += 1
        if self._seen % _EVERY == 0 and (self.budget.expired() or self.budget.full()):
            raise Expired("time or memory ran out")
