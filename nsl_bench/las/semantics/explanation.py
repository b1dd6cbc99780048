"""Why a hypothesis scores what it scores: which examples each rule matters for, and what stays uncovered.

A rule *covers* an example if the hypothesis covers it and would not without that rule; it *spoils* one
that only its absence would cover. An example that is covered by several rules alike, or by none being
there, needs none of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nsl_bench.budget import Budget
from nsl_bench.las.bias.hypothesis import hypothesis_cost
from nsl_bench.las.semantics.coverage import covered
from nsl_bench.las.task import LasTask, Solution

__all__ = ["Explanation", "RuleExplanation", "explain"]

_SHOWN = 12


@dataclass(frozen=True)
class RuleExplanation:
    """What one rule is for.

    Attributes:
        rule: the rule.
        cost: what it costs.
        covers: ids of the examples that are covered because of it.
        spoils: ids of the examples that are uncovered because of it.
    """

    rule: str
    cost: int
    covers: tuple[str, ...]
    spoils: tuple[str, ...]


@dataclass(frozen=True)
class Explanation:
    """A hypothesis, rule by rule.

    Attributes:
        rules: in the hypothesis's order.
        unaided: ids of the examples that are covered whichever single rule is left out.
        uncovered: ids of uncovered examples with their penalties; None: it must be covered.
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
    """Explain a hypothesis, by leaving out one rule at a time.

    Args:
        task: the task.
        hypothesis: rules with full stops, or a solution of the task.
        budget: when to give up; None: never.

    Raises:
        Expired: time or memory ran out; never without a `budget`.
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
