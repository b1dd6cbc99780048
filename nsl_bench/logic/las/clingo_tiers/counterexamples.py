"""Counterexamples to hypotheses with negative examples: answer sets that satisfy one, as conditions on rules.

An answer set that satisfies a negative example under the chosen rules is one no more under other rules if one
of them has a body that holds in it and a head that does not, or if they no longer support all of it. The
second is said by the least model of the reduct, which is spelled out, so that the condition is exact.
"""

from collections.abc import Sequence

from clingo import Backend, Model

from nsl_bench.core.budget import Budget
from nsl_bench.core.errors import UserError
from nsl_bench.logic.asp.ground_program import GroundProgram, GroundRule, WeightRule
from nsl_bench.logic.las.bias.space import SpaceRule
from nsl_bench.logic.las.clingo_tiers.demands import Demand, Problem
from nsl_bench.logic.las.clingo_tiers.encoding import Encoding

_MOST_WITNESSES = 32


class Oracle:
    """Finds answer sets that satisfy negative examples under chosen rules."""

    def __init__(self, problem: Problem, rules: Sequence[SpaceRule]) -> None:
        self._observer = GroundProgram()
        self._encoding = Encoding(problem, rules, self._observer)
        self._encoding.control.configuration.solve.opt_mode = "ignore"  # type: ignore[union-attr]
        self._grounds: dict[int, slice] = {}
        self.chosen_literals: dict[int, int] = {}
        """The rule of each program literal that says that a rule is chosen."""
        self.is_spent = False
        """Time or memory ran out in grounding: no more can be grounded, nor solved."""

    def witnesses(
        self, violated: Sequence[Demand], chosen: Sequence[int], budget: Budget
    ) -> list[tuple[Demand, Sequence[GroundRule | WeightRule], set[int]]]:
        """Answer sets that satisfy examples under the chosen rules.

        Args:
            violated: examples that some answer set satisfies.
            chosen: the rules.
            budget: when to be content with fewer.

        Returns:
            For some of the examples: the example, its ground rules and the true ones of their atoms.
        """
        result: list[tuple[Demand, Sequence[GroundRule | WeightRule], set[int]]] = []
        for demand in violated[:_MOST_WITNESSES]:
            if not self._ground(demand, budget):
                self.is_spent = True
                break
            true = self._answer_set(demand, chosen, budget)
            if true is not None:
                result.append((demand, self._rules_of(demand), true))
            if budget.expired():
                break
        return result

    def _ground(self, demand: Demand, budget: Budget) -> bool:
        if self._encoding.is_grounded(demand):
            return True
        before = len(self._observer.rules)
        if not self._encoding.ground([demand], budget):
            return False
        self._grounds[self._encoding.numbers[demand.content]] = slice(before, len(self._observer.rules))
        if not self.chosen_literals:
            literals = ((self._encoding.literal("chosen", k), k) for k in range(len(self._encoding.rules)))
            self.chosen_literals = {literal: k for literal, k in literals if literal is not None}
        return True

    def _rules_of(self, demand: Demand) -> Sequence[GroundRule | WeightRule]:
        return self._observer.rules[self._grounds[self._encoding.numbers[demand.content]]]

    def _answer_set(self, demand: Demand, chosen: Sequence[int], budget: Budget) -> set[int] | None:
        """The true atoms of the example's ground rules in an answer set that satisfies it."""
        satisfied = self._encoding.covered(demand)
        if satisfied is None:
            return None
        atoms = {atom for rule in self._rules_of(demand) for atom in (*rule.heads, *rule.atoms)}
        picked = set(chosen)
        assumed = [literal if k in picked else -literal for literal, k in self.chosen_literals.items()]
        result: list[set[int]] = []

        def keep(model: Model) -> None:
            result.append({atom for atom in atoms if model.is_true(atom)})

        self._encoding.search([*assumed, satisfied], budget, keep)
        return result[-1] if result else None


def forbid(
    backend: Backend, ground: Sequence[GroundRule | WeightRule], true: set[int], chosen: dict[int, int]
) -> int:
    """Add rules that derive an atom where the answer set `true` is still one.

    Args:
        backend: of the control that chooses rules.
        ground: an example's ground rules, over the oracle's atoms.
        true: which of their atoms are true.
        chosen: the oracle's literals for chosen rules, each with the literal of the backend's control.

    Returns:
        The atom.
    """
    heads = {head for rule in ground for head in rule.heads}
    derived = {atom: backend.add_atom() for atom in sorted(true & heads)}
    broken = backend.add_atom()

    def holds(literal: int) -> bool:
        return literal in true if literal > 0 else -literal not in true

    for rule in ground:
        if len(rule.heads) > 1 and not rule.choice:
            raise UserError("Disjunctive heads cannot be combined with #neg examples.")
        weights = rule.body if isinstance(rule, WeightRule) else tuple((x, 1) for x in rule.literals)
        conditions = [chosen[literal] for literal, _ in weights if literal in chosen]
        rest = [(literal, weight) for literal, weight in weights if literal not in chosen]
        lower = rule.bound if isinstance(rule, WeightRule) else len(rest)
        if sum(weight for literal, weight in rest if holds(literal)) < lower:
            continue
        if not rule.choice and not any(head in true for head in rule.heads):
            backend.add_rule([broken], conditions)
        supports = [(derived[literal], weight) for literal, weight in rest if literal in derived]
        for head in rule.heads:
            if head not in derived:
                continue
            if isinstance(rule, GroundRule):
                backend.add_rule([derived[head]], [*conditions, *(literal for literal, _ in supports)])
            else:
                sure = sum(w for x, w in rest if holds(x) and x not in derived)
                backend.add_weight_rule([derived[head]], max(lower - sure, 0), supports)
    stays = backend.add_atom()
    backend.add_rule([stays], [-broken, *derived.values()])
    return stays
