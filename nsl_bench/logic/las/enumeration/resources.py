"""What a conjunction of literals uses up, and the bounds that a rule has to keep to."""

from __future__ import annotations

from typing import NamedTuple

from nsl_bench.core.budget import Budget


class Resources(NamedTuple):
    """What a conjunction uses up.

    Attributes:
        cost: of its literals.
        literals: how many.
        variables: how many, leaves included.
        recall: uses of each declaration with a recall, by its place among those.
    """

    cost: int = 0
    literals: int = 0
    variables: int = 0
    recall: tuple[int, ...] = ()

    def plus(self, other: Resources, variables: int = 0) -> Resources:
        """Both together, with `variables` more variables."""
        return Resources(
            self.cost + other.cost,
            self.literals + other.literals,
            self.variables + other.variables + variables,
            tuple(a + b for a, b in zip(self.recall, other.recall, strict=True)),
        )


class Limits(NamedTuple):
    """Bounds on a rule.

    Attributes:
        variables: most variables.
        literals: most body literals; None: no limit.
        recall: most uses of each declaration with a recall.
        budget: time and memory.
    """

    variables: int
    literals: int | None
    recall: tuple[int, ...]
    budget: Budget

    def allow(self, used: Resources, more: Resources, variables: int = 0) -> bool:
        """Whether `used`, `more` and `variables` more variables together keep to the bounds.

        Args:
            variables: number of variables besides those of both.
        """
        return (
            used.variables + more.variables + variables <= self.variables
            and (self.literals is None or used.literals + more.literals <= self.literals)
            and all(a + b <= c for a, b, c in zip(used.recall, more.recall, self.recall, strict=True))
        )

    def key(self, used: Resources) -> tuple[int, ...]:
        """What a dominating conjunction must not use more of."""
        literals = () if self.literals is None else (used.literals,)
        return (used.cost, used.variables, *literals, *used.recall)
