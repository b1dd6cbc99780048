"""Tier D: conflict-driven learning, for cautious examples and for groundings that are too large.

As ILASP 4 (Law: "Conflict-driven inductive logic programming", 2021) it proposes the best hypothesis
under what is known so far, looks for what that misses, and adds it: an example that is not covered is
grounded (and with it the dearest others that are missed), and an answer set that satisfies a negative
example becomes a condition on the rules under which it is an answer set no more. Each proposal's score
is a lower bound; once one scores on all examples what it was proposed for, it is an optimum.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from clingo import Backend, Model, Observer

from nsl_bench.asp.names import Names
from nsl_bench.budget import Budget
from nsl_bench.errors import UserError
from nsl_bench.las.bias.space import SpaceRule
from nsl_bench.las.clingo_tiers.encoding import Demand, Joint, await_search, demands
from nsl_bench.las.clingo_tiers.one_shot import Best, chosen_rules, spaces, unsatisfiable
from nsl_bench.las.task import LasTask, Solution

__all__ = ["solve_tier_d"]

_FIRST_EXAMPLES = 16
_WITNESSES = 32


def solve_tier_d(task: LasTask, budget: Budget | None = None, best: Best | None = None) -> Solution:
    """Solve any task.

    Args:
        task: the task.
        budget: when it expires or memory is full, the best so far is returned.
        best: what another tier found.

    Raises:
        UserError: the task's rules cannot be written down, or a disjunction meets a negative example.
    """
    budget = budget or Budget()
    wanted = demands(task)
    best = best or Best(task, budget)
    statistics: dict[str, float] = {"distinct_examples": len(wanted), "proposals": 0, "counterexamples": 0}
    started = time.monotonic()
    for space in spaces(task, budget, statistics):
        search = _Search(task, space.rules, wanted, budget)
        step = _FIRST_EXAMPLES
        pending = search.order
        while True:
            batch, step = pending[:step], step * 2
            if not search.joint.add(batch, budget):
                return best.finish(statistics, "D", budget.ended_by)
            outcome = search.joint.optimise(budget)
            statistics["proposals"] += 1
            best.raise_bound(outcome, space)
            found = best.offer(chosen_rules(space.rules, outcome))
            statistics["seconds"] = time.monotonic() - started
            if not outcome.proven or budget.expired():
                return best.finish(statistics, "D", budget.ended_by)
            if found is None:
                if space.horizon is None:
                    return unsatisfiable(task, search.joint.clash(search.active, budget), statistics, "D")
                break
            if best.is_proven or (found.total == outcome.cost and not found.broken):
                break
            missed = {
                (e.inclusions, e.exclusions, e.context)
                for e, ok in zip(task.examples, found.covered, strict=True)
                if not ok
            }
            pending = [
                d for d in search.order if d.content in missed and d.content not in search.joint.numbers
            ]
            refuted = [d for d in search.cautious if d.content in missed]
            statistics["counterexamples"] += search.refute(refuted, outcome.chosen or ())
        if best.is_proven:
            break
    return best.finish(statistics, "D", budget.ended_by)


@dataclass
class _Ground(Observer):
    """The ground rules that clingo reports: (choice, heads, lower bound or None, weighted body)."""

    rules: list[tuple[bool, tuple[int, ...], int | None, tuple[tuple[int, int], ...]]] = field(
        default_factory=list
    )

    def rule(self, choice: bool, head: Sequence[int], body: Sequence[int]) -> None:
        self.rules.append((choice, tuple(head), None, tuple((literal, 1) for literal in body)))

    def weight_rule(
        self, choice: bool, head: Sequence[int], lower_bound: int, body: Sequence[tuple[int, int]]
    ) -> None:
        self.rules.append((choice, tuple(head), lower_bound, tuple(body)))


class _Search:
    """The proposer with the examples added so far, and the oracle that finds counterexamples.

    Attributes:
        joint: the proposer.
        order: the demands that are grounded, the hard and the dear ones first.
        cautious: the demands for no answer set that counterexamples stand for.
    """

    def __init__(
        self, task: LasTask, rules: Sequence[SpaceRule], wanted: Sequence[Demand], budget: Budget
    ) -> None:
        self.cautious: list[Demand] = []
        self._budget = budget
        self._oracle: Joint | None = None
        self._observer = _Ground()
        self._grounds: dict[int, slice] = {}
        negative = [demand for demand in wanted if demand.negative]

        def payments(names: Names) -> str:
            pay = names("pay")
            return "\n".join(
                f"{{ {pay}({i}) }}. :~ {pay}({i}). [{demand.uncovered},p({i})]"
                for i, demand in enumerate(negative)
                if demand.uncovered
            )

        self._index = {demand.content: i for i, demand in enumerate(negative)}
        self.joint = Joint(task, rules, more=payments)
        if self.joint.deterministic:
            chosen = list(wanted)
        else:
            chosen = [demand for demand in wanted if demand.positive]
            self.cautious = negative
        self.order = sorted(chosen, key=lambda d: (not (d.must or d.must_not), -max(d.covered, d.uncovered)))
        self._task = task

    @property
    def active(self) -> list[Demand]:
        """The demands that are grounded."""
        return [demand for demand in self.order if demand.content in self.joint.numbers]

    def refute(self, violated: Sequence[Demand], chosen: Sequence[int]) -> int:
        """Adds counterexamples: answer sets that satisfy negative examples under the chosen rules."""
        if not violated:
            return 0
        if self._oracle is None:
            self._oracle = Joint(self._task, self.joint.rules, self._observer)
        oracle = self._oracle
        for demand in violated:
            if demand.content not in oracle.numbers:
                before = len(self._observer.rules)
                if not oracle.add([demand], self._budget):
                    return 0
                number = oracle.numbers[demand.content]
                self._grounds[number] = slice(before, len(self._observer.rules))
        picked = set(chosen)
        rules = {k: oracle.literal("in", k) for k in range(len(oracle.rules))}
        fixed = [literal if k in picked else -literal for k, literal in rules.items()]
        oracle.control.configuration.solve.opt_mode = "ignore"  # type: ignore[union-attr]
        done = 0
        for demand in violated[:_WITNESSES]:
            number = oracle.numbers[demand.content]
            ground = self._observer.rules[self._grounds[number]]
            atoms = {
                abs(literal) for _, heads, _, body in ground for literal in (*heads, *(x for x, _ in body))
            }
            true: set[int] | None = None

            def keep(model: Model, atoms: set[int] = atoms) -> None:
                nonlocal true
                true = {atom for atom in atoms if model.is_true(atom)}

            assumed = [*fixed, oracle.literal("covered", number)]
            with oracle.control.solve(assumed, on_model=keep, async_=True) as handle:
                await_search(handle, self._budget)
            if true is None:
                continue
            owner = {literal: k for k, literal in rules.items()}
            with self.joint.control.backend() as backend:
                self._forbid(backend, demand, ground, true, owner)
            done += 1
        return done

    def _forbid(
        self,
        backend: Backend,
        demand: Demand,
        ground: Sequence[tuple[bool, tuple[int, ...], int | None, tuple[tuple[int, int], ...]]],
        true: set[int],
        owner: dict[int, int],
    ) -> None:
        """The chosen rules must break the answer set `true`, or its example's penalty is paid.

        It is broken if a rule's body holds but its head does not, or if the reduct's least model, which is
        spelled out over fresh atoms, no longer derives all of it.
        """
        own = {head for _, heads, _, _ in ground for head in heads}
        derived = {atom: backend.add_atom() for atom in sorted(true & own)}
        broken = backend.add_atom()

        def holds(literal: int) -> bool:
            return literal in true if literal > 0 else -literal not in true

        for choice, heads, lower, body in ground:
            if len(heads) > 1 and not choice:
                raise UserError("Disjunctive heads are not supported together with #neg examples.")
            conditions = [self.joint.literal("in", owner[literal]) for literal, _ in body if literal in owner]
            rest = [(literal, weight) for literal, weight in body if literal not in owner]
            if lower is None:
                if not all(holds(literal) for literal, _ in rest):
                    continue
            elif sum(weight for literal, weight in rest if holds(literal)) < lower:
                continue
            if not choice and not any(head in true for head in heads):
                backend.add_rule([broken], conditions)
            positive = [(derived[literal], weight) for literal, weight in rest if literal in derived]
            for head in heads:
                if head not in derived:
                    continue
                if lower is None:
                    backend.add_rule([derived[head]], [*conditions, *(literal for literal, _ in positive)])
                else:
                    sure = sum(w for x, w in rest if holds(x) and x not in derived)
                    backend.add_weight_rule([derived[head]], max(lower - sure, 0), positive)
        stays = backend.add_atom()
        backend.add_rule([stays], [-broken, *derived.values()])
        if demand.must_not:
            backend.add_rule([], [stays, -self.joint.literal("relax")])
        if demand.uncovered:
            backend.add_rule([], [stays, -self.joint.literal("pay", self._index[demand.content])])
