"""A learning task as one optimisation on clingo: choose rules, cover examples, pay for the rest.

Each rule of the space is a choice `in(k)`; every example has a guarded copy of the program
(`nsl_bench.asp.replicas`) whose `covers(i)` says that it is covered. Because positive examples are brave, one
answer set of the whole is a hypothesis with a witness for each covered example, and weak constraints make
the cheapest one best. The control is multi-shot: examples are grounded in chunks, so that time and memory
can be watched between them, and more of them, or of anything else, can follow.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from clingo import Control, Function, Model, Number, Observer, SolveHandle, SolveResult, Symbol

from nsl_bench.asp.ground_program import GroundProgram
from nsl_bench.asp.names import Names
from nsl_bench.asp.replicas import Replicas, replicate
from nsl_bench.budget import Budget, Expired
from nsl_bench.las.bias.space import SpaceRule
from nsl_bench.las.semantics.coverage import Content, content
from nsl_bench.las.task import LasTask

__all__ = ["Demand", "Joint", "Outcome", "await_search", "demands"]

_FIRST_CHUNK = 8
_MANY_RULES = 1_000
_CHUNK_SECONDS = 0.5
_FIRST_CONFLICTS = 20_000
_POLL = 0.05


@dataclass(frozen=True)
class Demand:
    """What the examples with one content ask for together.

    Attributes:
        content: inclusions, exclusions and context.
        covered: summed penalties of positive examples: the price of not covering it.
        uncovered: summed penalties of negative examples: the price of an answer set that satisfies it.
        must: some positive example has no penalty.
        must_not: some negative example has no penalty.
    """

    content: Content
    covered: int = 0
    uncovered: int = 0
    must: bool = False
    must_not: bool = False

    @property
    def positive(self) -> bool:
        """Whether a positive example asks for it."""
        return self.must or self.covered > 0

    @property
    def negative(self) -> bool:
        """Whether a negative example asks for it."""
        return self.must_not or self.uncovered > 0


def demands(task: LasTask) -> list[Demand]:
    """The distinct contents of a task's examples with what they ask for, in order of occurrence."""
    sums: dict[Content, list[int]] = {}
    for example in task.examples:
        entry = sums.setdefault(content(example), [0, 0, 0, 0])
        if example.penalty is None:
            entry[2 if example.positive else 3] = 1
        else:
            entry[0 if example.positive else 1] += example.penalty
    return [Demand(key, a, b, bool(c), bool(d)) for key, (a, b, c, d) in sums.items()]


def await_search(handle: SolveHandle, budget: Budget) -> None:
    """Waits until clingo has searched, or ends its search when `budget` expires."""
    while not handle.wait(_POLL):
        if budget.expired():
            handle.cancel()
            return


@dataclass
class Outcome:
    """What one optimisation found.

    Attributes:
        chosen: numbers of the chosen rules, None if no model was found.
        cost: the model's cost: an upper bound.
        lower: a lower bound.
        proven: `cost` is the optimum, or, without a model, there is none (that is cheap enough).
    """

    chosen: tuple[int, ...] | None = None
    cost: int = 0
    lower: int = 0
    proven: bool = False


class Joint:
    """The program of a task over some rules, on one clingo control.

    Args:
        task: the task.
        rules: the rules to choose from.
        observer: is told the ground rules.
        more: makes statements for the base program, given the names of ours.
    """

    def __init__(
        self,
        task: LasTask,
        rules: Sequence[SpaceRule],
        observer: Observer | None = None,
        more: Callable[[Names], str] | None = None,
    ) -> None:
        self.program: Replicas = replicate(
            task.program,
            dict.fromkeys(example.context for example in task.examples),
            rules,
            asked=dict.fromkeys(a for e in task.examples for a in (*e.inclusions, *e.exclusions)),
            derived_sets=task.bias.dialect == "fastlas",
        )
        self.rules = rules
        self.control = Control(["--warn=none", "--opt-strategy=usc,stratify", "--stats"])
        self._limit = GroundProgram(keep=False)
        self.control.register_observer(self._limit)  # type: ignore[arg-type]
        if observer is not None:
            self.control.register_observer(observer)
        self.numbers: dict[Content, int] = {}
        self._names = self.program.names
        self._more = more(self._names) if more else ""
        self._prepared = False
        self._chunk = _FIRST_CHUNK if len(rules) < _MANY_RULES else 1

    @property
    def deterministic(self) -> bool:
        """Whether every hypothesis has at most one answer set with each context."""
        return self.program.deterministic

    def literal(self, name: str, *numbers: int) -> int:
        """The program literal of the atom `name(numbers)`, which must have been grounded."""
        own = self._names(name)
        atom = self.control.symbolic_atoms[Function(own, [Number(i) for i in numbers])]
        if atom is None:
            raise KeyError(name)
        return int(atom.literal)

    def add(self, wanted: Iterable[Demand], budget: Budget) -> bool:
        """Ground the copies of some examples; False if time or memory ran out before all were there.

        A demand for *no* answer set is only exact if the program is `deterministic`.
        """
        if not self._prepared and not self._prepare(budget):
            return False
        pending = [demand for demand in wanted if demand.content not in self.numbers]
        while pending:
            if budget.expired() or budget.full():
                return False
            chunk, pending = pending[: self._chunk], pending[self._chunk :]
            parts: list[tuple[str, Sequence[Symbol]]] = []
            for demand in chunk:
                number = self.numbers[demand.content] = len(self.numbers)
                name = f"example{number}"
                self.control.add(name, [], self._example(number, demand))
                parts += [(name, []), ("replica", [Number(number)])]
            started = time.monotonic()
            if not self._ground(parts, budget):
                return False
            seconds = time.monotonic() - started
            # time and memory are watched between rules, Ctrl-C between calls: keep these short
            self._chunk = max(1, min(2 * self._chunk, int(len(chunk) * _CHUNK_SECONDS / max(seconds, 1e-3))))
        return True

    def _prepare(self, budget: Budget) -> bool:
        """Ground what all copies share; False if time or memory ran out."""
        program, rules, chosen = self.program, self.rules, self._names("in")
        number = self._names.variable("number")
        lines = [program.shared, self._more, f"{{ {self._names('relax')} }}.", "#show."]
        lines.append(f"#show {number} : {chosen}({number}).")
        if rules:
            lines.append(f"{{ {chosen}(0..{len(rules) - 1}) }}.")
        lines += [f":~ {chosen}({k}). [{rule.cost},r({k})]" for k, rule in enumerate(rules) if rule.cost]
        self.control.add("base", [], "\n".join(lines))
        example = self._names("e")
        copied = [program.rule(rule, number=example) for rule in program.local]
        for k, rule in enumerate(rules):
            if k % _MANY_RULES == 0 and budget.expired():
                return False
            copied.append(program.learned(rule, number=example, condition=f"{chosen}({k})"))
        frame = [f"{program.example(example)}.", program.frame(example)]
        self.control.add("replica", [example], "\n".join([*frame, *copied]))
        self._prepared = self._ground([("base", [])], budget)
        return self._prepared

    def _ground(self, parts: Sequence[tuple[str, Sequence[Symbol]]], budget: Budget) -> bool:
        """Ground; False if time or memory ran out, and the control is spent then."""
        self._limit.check = budget.check
        try:
            self.control.ground(parts)
        except Expired:
            return False
        return True

    def _example(self, number: int, demand: Demand) -> str:
        inclusions, exclusions, context = demand.content
        covered, relax = self.program.covers(number), self._names("relax")
        lines = [
            self.program.context(number, context),
            self.program.covered(number, inclusions, exclusions),
        ]
        if demand.must:
            lines.append(f":- not {covered}, not {relax}.")
        if demand.covered:
            lines.append(f":~ not {covered}. [{demand.covered},c({number})]")
        if self.deterministic:
            if demand.must_not:
                lines.append(f":- {covered}, not {relax}.")
            if demand.uncovered:
                lines.append(f":~ {covered}. [{demand.uncovered},u({number})]")
        return "\n".join(lines)

    def optimise(self, budget: Budget, upper: int | None = None) -> Outcome:
        """The cheapest hypothesis, with a bound, until `budget` expires.

        Unsatisfiable cores and branch and bound take turns, each with more conflicts.

        Args:
            budget: when to stop.
            upper: only hypotheses cheaper than this are looked for.
        """
        outcome = Outcome()
        conflicts = _FIRST_CONFLICTS
        solver = self.control.configuration.solver
        solving = self.control.configuration.solve
        turn = 0
        while True:
            solver.opt_strategy = "usc,stratify" if turn % 2 == 0 else "bb,lin"  # type: ignore[union-attr]
            bound = outcome.cost if outcome.chosen is not None else upper
            solving.opt_mode = "opt" if bound is None else f"opt,{bound - 1}"  # type: ignore[union-attr]
            if bound is not None and bound <= outcome.lower:
                outcome.proven = True
                return outcome
            solving.solve_limit = f"{conflicts}"  # type: ignore[union-attr]
            finished = self._solve(outcome, budget)
            if not finished and budget.expired():
                return outcome
            if finished:
                outcome.proven = True
                outcome.lower = outcome.cost if outcome.chosen is not None else upper or 0
                return outcome
            turn += 1
            if turn % 2 == 0:
                conflicts *= 3

    def _solve(self, outcome: Outcome, budget: Budget) -> bool:
        """One call of clingo; True if it ended by itself: with an optimum, or without a better model."""

        def keep(model: Model) -> None:
            outcome.chosen = tuple(sorted(symbol.number for symbol in model.symbols(shown=True)))
            outcome.cost = sum(model.cost)

        relax = [(Function(self._names("relax")), False)]
        with self.control.solve(relax, on_model=keep, async_=True) as handle:
            await_search(handle, budget)
            result: SolveResult = handle.get()
        lower = self.control.statistics["summary"].get("lower", [])
        if lower:
            outcome.lower = max(outcome.lower, int(sum(lower)))
        return bool(result.exhausted)

    def clash(self, wanted: Sequence[Demand], budget: Budget) -> tuple[Demand, ...]:
        """A set of hard demands that no hypothesis meets together, made small while time lasts."""
        solving = self.control.configuration.solve
        solving.opt_mode = "ignore"  # type: ignore[union-attr]
        solving.solve_limit = "umax"  # type: ignore[union-attr]
        core = [demand for demand in wanted if demand.must or (demand.must_not and self.deterministic)]
        core = self._core(core, budget) or core
        for demand in list(core):
            if len(core) > 60 or budget.expired():
                break
            rest = [each for each in core if each is not demand]
            smaller = self._core(rest, budget)
            if smaller is not None:
                core = smaller
        return tuple(core)

    def _core(self, wanted: Sequence[Demand], budget: Budget) -> list[Demand] | None:
        """The part of `wanted` that clingo used to refute it; None if it can be met or time is up."""
        literals = {}
        for demand in wanted:
            symbol = Function(self._names("covered"), [Number(self.numbers[demand.content])])
            atom = self.control.symbolic_atoms[symbol]
            if atom is None or (atom.is_fact and demand.must_not):
                if atom is not None or demand.must:
                    return [demand]
                continue
            literals[atom.literal if demand.must else -atom.literal] = demand
        relax = self.control.symbolic_atoms[Function(self._names("relax"))]
        assumptions = [*literals, *([relax.literal] if relax is not None else [])]
        with self.control.solve(assumptions, async_=True) as handle:
            await_search(handle, budget)
            if not handle.get().unsatisfiable:
                return None
            core = handle.core()
        return [literals[literal] for literal in core if literal in literals]
