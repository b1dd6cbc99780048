"""Explain the score of a hypothesis: the examples that depend on each rule, and the uncovered examples.

A rule *covers* an example if the hypothesis covers the example and would not without the rule. It *spoils* an
example if the hypothesis does not cover the example and would without the rule. An example that several rules
cover, or that is covered without any rule, depends on none of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nsl_bench.core.budget import Budget
from nsl_bench.logic.las.bias.hypothesis import hypothesis_cost
from nsl_bench.logic.las.semantics.coverage import covered
from nsl_bench.logic.las.task import LasTask, Solution

_SHOWN = 12


@dataclass(frozen=True)
class RuleExplanation:
    """The explanation of one rule.

    Attributes:
        rule: the rule.
        cost: its cost.
        covers: ids of the examples that are covered because of it.
        spoils: ids of the examples that are uncovered because of it.
    """

    rule: str
    cost: int
    covers: tuple[str, ...]
    spoils: tuple[str, ...]


@dataclass(frozen=True)
class Explanation:
    """The explanation of a hypothesis.

    Attributes:
        rules: explanations of the rules, in the hypothesis's order.
        unaided: ids of the examples that stay covered if any single rule is left out.
        uncovered: ids of uncovered examples with their penalties; None if the example must be covered.
    """

    rules: tuple[RuleExplanation, ...]
    unaided: tuple[str, ...]
    uncovered: tuple[tuple[str, int | None], ...]

    def __str__(self) -> str:
        lines = []
        for each in self.rules:
            lines.append(f"{each.rule}  % cost {each.cost}")
            lines.append(f"  covers {_counted(each.covers)}")
            if each.spoils:
                lines.append(f"  spoils {_counted(each.spoils)}")
        lines.append(f"covered without need of any one rule: {_counted(self.unaided)}")
        total = sum(penalty or 0 for _, penalty in self.uncovered)
        shown = [f"{name} ({'must be' if penalty is None else penalty})" for name, penalty in self.uncovered]
        lines.append(f"uncovered, at a price of {total}: {_counted(shown)}")
        return "\n".join(lines)


def explain(task: LasTask, hypothesis: Sequence[str] | Solution, budget: Budget | None = None) -> Explanation:
    """Explain a hypothesis by leaving out one rule at a time.

    Args:
        task: the task.
        hypothesis: rules with full stops, or a solution of the task.
        budget: limits on time and memory; None for none.

    Raises:
        Expired: the budget is used up.
        UserError: a rule does not parse.
    """
    rules = tuple(hypothesis.hypothesis if isinstance(hypothesis, Solution) else hypothesis)
    complete = covered(task, rules, budget=budget)
    needed = [False] * len(task.examples)
    found = []
    for i, rule in enumerate(rules):
        without = covered(task, rules[:i] + rules[i + 1 :], budget=budget)
        covers, spoils = [], []
        for j, example in enumerate(task.examples):
            if complete[j] and not without[j]:
                covers.append(example.id)
                needed[j] = True
            elif without[j] and not complete[j]:
                spoils.append(example.id)
        found.append(RuleExplanation(rule, hypothesis_cost(task, [rule]), tuple(covers), tuple(spoils)))
    pairs = list(zip(task.examples, complete, needed, strict=True))
    return Explanation(
        tuple(found),
        tuple(e.id for e, ok, need in pairs if ok and not need),
        tuple((e.id, e.penalty) for e, ok, _ in pairs if not ok),
    )


def _counted(names: Sequence[str]) -> str:
    more = ", ..." if len(names) > _SHOWN else ""
    return f"{len(names)}{': ' if names else ''}{', '.join(names[:_SHOWN])}{more}"
