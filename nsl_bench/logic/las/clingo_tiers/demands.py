"""What the examples of a task ask for together: one demand for each distinct content, with its penalties."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Self

from nsl_bench.core.budget import Budget
from nsl_bench.core.types import WeightedExample
from nsl_bench.logic.asp.program import Program
from nsl_bench.logic.las.clingo_tiers.alike import alike
from nsl_bench.logic.las.language_bias import LanguageBias
from nsl_bench.logic.las.semantics.coverage import Content, content
from nsl_bench.logic.las.task import LasTask


@dataclass(frozen=True)
class Demand:
    """What the examples with one content ask for together.

    Attributes:
        content: inclusions, exclusions and context.
        penalty: summed penalties of positive examples: the price of leaving it uncovered.
        price: summed penalties of negative examples: the price of an answer set that satisfies it.
        required: some positive example has no penalty, so that it must be covered.
        forbidden: some negative example has no penalty, so that no answer set may satisfy it.
    """

    content: Content
    penalty: int = 0
    price: int = 0
    required: bool = False
    forbidden: bool = False

    @property
    def positive(self) -> bool:
        """Whether a positive example asks for it."""
        return self.required or self.penalty > 0

    @property
    def negative(self) -> bool:
        """Whether a negative example asks for it."""
        return self.forbidden or self.price > 0

    @property
    def is_hard(self) -> bool:
        """Whether some example has no penalty."""
        return self.required or self.forbidden


def demands(
    examples: Iterable[WeightedExample], standing: Mapping[Content, Content] | None = None
) -> tuple[Demand, ...]:
    """The distinct contents of examples with what they ask for, in order of occurrence.

    Args:
        standing: contents that another one stands for (`alike`).
    """
    standing = standing or {}
    sums: dict[Content, list[int]] = {}
    for example in examples:
        own = content(example)
        entry = sums.setdefault(standing.get(own, own), [0, 0, 0, 0])
        if example.penalty is None:
            entry[2 if example.positive else 3] = 1
        else:
            entry[0 if example.positive else 1] += example.penalty
    result = (Demand(key, a, b, bool(c), bool(d)) for key, (a, b, c, d) in sums.items())
    return tuple(demand for demand in result if demand.positive or demand.negative)


@dataclass(frozen=True, eq=False)
class Problem:
    """A task as tiers C and D see it, whatever part of the hypothesis space they choose from.

    Attributes:
        name: what messages call the task.
        background: the background knowledge.
        demands: what the examples ask for.
        derived_sets: ``inclusion(A)`` and ``exclusion(A)`` that the program derives extend an example.
        standing: contents of examples that the content of a demand stands for.
        max_cost: the most that a hypothesis may cost; None for any cost.
        bias: the language bias.
    """

    name: str
    background: Program
    demands: tuple[Demand, ...]
    derived_sets: bool
    standing: Mapping[Content, Content] = field(default_factory=dict)
    max_cost: int | None = None
    bias: LanguageBias = field(default_factory=LanguageBias)

    @classmethod
    def of(cls, task: LasTask, budget: Budget) -> Self:
        """The problem that a task poses.

        Args:
            budget: when to stop looking for examples that no hypothesis tells apart.
        """
        standing = alike(task, budget)
        asked = demands(task.examples, standing)
        extends = task.bias.dialect == "fastlas"
        return cls(task.name, task.program, asked, extends, standing, task.bias.max_cost, task.bias)

    def content(self, example: WeightedExample) -> Content:
        """The content of the demand that holds what an example asks for."""
        own = content(example)
        return self.standing.get(own, own)

    @property
    def contexts(self) -> list[tuple[str, ...]]:
        """The distinct contexts."""
        return list(dict.fromkeys(demand.content[2] for demand in self.demands))

    @property
    def asked(self) -> list[str]:
        """The distinct inclusions and exclusions."""
        return list(dict.fromkeys(a for demand in self.demands for part in demand.content[:2] for a in part))
